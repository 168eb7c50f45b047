#include "executor/ladder.h"

#include <stdlib.h>

#include "base/sorted.h"

static int widest_first(const void *pa, const void *pb)
{
    const struct plan_view *a = *(const struct plan_view *const *)pa, *b = *(const struct plan_view *const *)pb;
    if (a->panes.step_ms != b->panes.step_ms)
        return a->panes.step_ms > b->panes.step_ms ? -1 : 1;
    return (a > b) - (a < b); /* of one array */
}

/* A view rolls up a narrower one, so this ends. */
bool ladder_rolls_up(const struct plan *plan, uint32_t view, uint32_t below)
{
    for (uint32_t at = plan->views[view].level_of; at != PLAN_NONE; at = plan->views[at].level_of)
        if (at == below)
            return true;
    return false;
}

const struct plan_view *const *ladder_views(const struct plan *plan, uint32_t view, struct arena *a, uint32_t *ret_n)
{
    uint32_t n = 0;
    *ret_n = 0;
    for (uint32_t i = 0; plan->views[view].when == WHEN_INGESTION && i < plan->views_n; i++)
        n += ladder_rolls_up(plan, i, view) && !plan_view_refused(plan, i);
    const struct plan_view **views = n > 0 ? ARENA_ARRAY(a, const struct plan_view *, n) : NULL;
    if (!views)
        return NULL;
    for (uint32_t i = 0; i < plan->views_n; i++)
        if (ladder_rolls_up(plan, i, view) && !plan_view_refused(plan, i))
            views[(*ret_n)++] = &plan->views[i];
    qsort(views, n, sizeof *views, widest_first);
    return views;
}

/* Windows of a level by the base window they begin with; those that begin between two are of no use. Who asks for a
 * window of the view itself that is missing does not read it. */
static void index_level(const struct ladder *l, struct ladder_level *level)
{
    const struct pane_shard *s = &level->shard;
    int64_t width_ms = s->view->panes.step_ms;
    level->base_n = (uint32_t)(width_ms / l->base_ms);
    for (uint32_t w = 0; w < s->windows_n; w++) {
        int64_t from_ms = s->windows[w].end_ms - width_ms - l->start_ms;
        if ((s->windows[w].status == WINDOW_MISSING && level->base_n > 1) || from_ms < 0 || from_ms % l->base_ms != 0 ||
            from_ms / l->base_ms >= l->windows_n || width_ms % l->base_ms != 0)
            continue;
        level->starting[from_ms / l->base_ms] = w + 1;
    }
}

static int level_init(struct ladder *l, uint32_t i, const struct plan_view *view, const struct source_level *from,
                      struct store_txn *txn, struct arena *a, struct err *e)
{
    struct ladder_level *level = &l->levels[i];
    int rc = pane_shard_init(&level->shard, view, from->windows, from->windows_n, from->view, txn, a, e);
    if (rc != 0)
        return rc;
    level->cells = arena_zalloc(a, (from->windows_n + 1u) * sizeof *level->cells);
    level->starting = arena_zalloc(a, (l->windows_n + 1u) * sizeof *level->starting);
    rc = arena_check(a, "query", e);
    if (rc == 0)
        index_level(l, level);
    return rc;
}

int ladder_init(struct ladder *l, const struct plan_view *view, const struct plan_view *const *rollups,
                uint32_t rollups_n, const struct source_result *result, struct store_txn *txn, struct arena *a,
                struct err *e)
{
    struct source_level own = {.view = SOURCE_NO_VIEW};
    if (result->windows_n > 0)
        own = (struct source_level){result->windows[0], result->windows_n, result->views[0]};
    *l = (struct ladder){.levels_n = rollups_n + 1,
                         .levels = arena_zalloc(a, (rollups_n + 1) * sizeof *l->levels),
                         .base_ms = view->panes.step_ms,
                         .windows_n = own.windows_n};
    int rc = arena_check(a, "query", e);
    if (rc == 0 && own.windows_n > 0)
        l->start_ms = own.windows[0].end_ms - l->base_ms;
    for (uint32_t i = 0; i < rollups_n && rc == 0; i++)
        rc = level_init(l, i, rollups[i], &result->levels[i], txn, a, e);
    return rc != 0 ? rc : level_init(l, rollups_n, view, &own, txn, a, e);
}

void ladder_series(struct ladder *l, const struct source_series *s)
{
    l->series = s;
    l->series_at++;
    for (uint32_t i = 0; i < l->levels_n; i++)
        pane_shard_turn(&l->levels[i].shard, s->metric, s->ordinal / SHARD_SERIES);
}

static int cell_load(struct ladder *l, struct ladder_level *level, uint32_t w, struct ladder_cell *cell, struct err *e)
{
    const struct source_window *window = &level->shard.windows[w];
    const struct family_info *family = level->shard.family;
    bool coarse = level != &l->levels[l->levels_n - 1];
    const struct pane_block *b;
    *cell = (struct ladder_cell){.series = l->series_at};
    if (coarse && sorted_has(window->dirty, window->dirty_n, l->series->id))
        return 0;
    int rc = pane_shard_block(&level->shard, w, &b, e);
    if (rc == ERR_CORRUPT || rc == ERR_NOT_COVERED)
        return coarse ? 0 : (e->code = ERR_NOT_COVERED);
    if (rc != 0)
        return rc;
    if (b->flags & PANE_INCOMPLETE)
        return err_set(e, ERR_NOT_COVERED, "a window lacks states that could not be made");
    struct str state = b->present_n > 0 ? pane_block_state(b, l->series->ordinal % SHARD_SERIES) : (struct str){0};
    const uint8_t *bytes = (const uint8_t *)state.p;
    cell->usable = true;
    if (state.n == 0)
        return 0;
    if (l->finite_only && b->flags & (PANE_NONFINITE | PANE_COLLAPSED) && family->flags(bytes, state.n))
        return err_set(e, ERR_NOT_COVERED, "a state holds non-finite samples or a collapsed sketch");
    cell->ref = (struct state_ref){bytes, (uint32_t)state.n, window->end_ms};
    cell->samples_n = family->count(bytes, state.n);
    return 0;
}

/* The coarsest usable pane that begins with base window `at` and ends by `end`. */
static int take_one(struct ladder *l, uint32_t at, uint32_t end, const struct ladder_cell **ret, uint32_t *ret_base_n,
                    struct err *e)
{
    for (uint32_t i = 0; i < l->levels_n; i++) {
        struct ladder_level *level = &l->levels[i];
        uint32_t w = level->starting[at];
        if (w == 0 || level->base_n > end - at)
            continue;
        struct ladder_cell *cell = &level->cells[w - 1];
        int rc = cell->series == l->series_at ? 0 : cell_load(l, level, w - 1, cell, e);
        if (rc != 0)
            return rc;
        if (!cell->usable)
            continue;
        *ret = cell;
        *ret_base_n = level->base_n;
        return 0;
    }
    return err_set(e, ERR_NOT_COVERED, "a window has no states");
}

int ladder_cover(struct ladder *l, int64_t from_ms, int64_t to_ms, struct ladder_states *ret, struct err *e)
{
    if (l->windows_n == 0 || from_ms >= to_ms || to_ms <= l->start_ms)
        return 0;
    uint32_t at = from_ms > l->start_ms ? (uint32_t)((from_ms - l->start_ms) / l->base_ms) : 0;
    uint32_t end = (uint32_t)((to_ms - l->start_ms) / l->base_ms);
    end = end < l->windows_n ? end : l->windows_n;
    while (at < end) {
        const struct ladder_cell *cell = NULL;
        uint32_t base_n = 0;
        int rc = take_one(l, at, end, &cell, &base_n, e);
        if (rc != 0)
            return rc;
        if (cell->ref.size > 0) {
            ret->refs[ret->n++] = cell->ref;
            ret->samples_n += cell->samples_n;
        }
        at += base_n;
    }
    return 0;
}
