#include "executor/group_states.h"

#include <math.h>

#include "base/alloc.h"
#include "executor/raw.h"

/* Of one run: beyond it raw samples are less to look at. */
static const uint64_t CELLS_MAX = UINT64_C(1) << 24, ITEMS_MAX = UINT64_C(1) << 27;

static bool is_value(const struct group_states *g)
{
    return g->view->input.kind == INPUT_VALUE;
}

int group_states_init(struct group_states *g, const struct plan_view *view, uint64_t sketch_seed,
                      const int64_t *ends_ms, uint32_t windows_n, struct arena *a, struct err *e)
{
    *g = (struct group_states){.view = view,
                               .sketch_seed = sketch_seed,
                               .ends_ms = ends_ms,
                               .windows_n = windows_n,
                               .key = {LABEL_KEY_ONLY, view->reduce, view->reduce_n}};
    label_index_init(&g->groups, a);
    int rc = state_builder_init(&g->one, view->family, &view->params, e);
    if (rc == 0)
        rc = state_builder_init(&g->joined, view->family, &view->params, e);
    if (rc == 0 && (is_value(g) ? g->one.family->fixed_size == 0 : !g->one.family->build_items))
        rc = err_set(e, ERR_INTERNAL, "%s states are not made of groups of series", g->one.family->name);
    return rc;
}

void group_states_done(struct group_states *g)
{
    if (g->groups.arena)
        label_index_done(&g->groups);
    state_builder_done(&g->one);
    state_builder_done(&g->joined);
    mem_free(g->cells);
    mem_free(g->states);
    mem_free(g->items);
    mem_free(g->keys);
    mem_free(g->weights);
    *g = (struct group_states){0};
}

int group_states_series(struct group_states *g, const struct labels *labels, bool *ret_member, struct err *e)
{
    *ret_member = is_value(g) || view_input_item(&g->view->input, labels, &g->item);
    return *ret_member ? label_index_number(&g->groups, &g->key, labels, &g->group, e) : 0;
}

static uint64_t cell_of(const struct group_states *g, uint32_t window, uint32_t group)
{
    return (uint64_t)group * g->windows_n + window;
}

/* Cells for the group at hand; those before it have theirs. */
static int cells_reserve(struct group_states *g, struct err *e)
{
    uint64_t have = (uint64_t)g->cells_groups_n * g->windows_n, want = cell_of(g, 0, g->group + 1);
    if (want <= have)
        return 0;
    if (want > CELLS_MAX)
        return err_set(e, ERR_NOT_COVERED, "%u groups of series in %u windows are too many to be built at once",
                       g->groups.n, g->windows_n);
    g->cells = mem_grow(g->cells, &g->cells_cap, want, sizeof *g->cells);
    memset(g->cells + have, 0, (want - have) * sizeof *g->cells);
    if (is_value(g))
        g->states = mem_grow(g->states, &g->states_cap, want, g->one.family->fixed_size);
    g->cells_groups_n = g->group + 1;
    return 0;
}

static int add_value(struct group_states *g, uint32_t window, const int64_t *times_ms, const double *values, uint32_t n,
                     struct err *e)
{
    uint32_t size = g->one.family->fixed_size;
    uint64_t at = cell_of(g, window, g->group);
    int64_t end_ms = g->ends_ms[window];
    struct str state;
    int rc = state_builder_run(&g->one, end_ms, times_ms, values, n, g->sketch_seed, &state, e);
    if (rc == 0 && g->cells[at].samples_n > 0) {
        const struct state_ref refs[] = {{g->states + at * size, size, end_ms},
                                         {(const uint8_t *)state.p, (uint32_t)state.n, end_ms}};
        rc = state_builder_merge(&g->joined, end_ms, refs, 2, g->cells[at].samples_n + n, g->sketch_seed, &state, e);
    }
    if (rc == 0)
        memcpy(g->states + at * size, state.p, size);
    return rc;
}

/* The series' samples are one item that weighs their sum, as sum_over_time has it. */
static int add_item(struct group_states *g, uint32_t window, const double *values, uint32_t n, struct err *e)
{
    double sum = 0, c = 0;
    for (uint32_t i = 0; i < n; i++)
        kahan_add(values[i], &sum, &c);
    if (g->items_n == ITEMS_MAX)
        return err_set(e, ERR_NOT_COVERED, "more than %llu items are too many to be built at once",
                       (unsigned long long)ITEMS_MAX);
    g->items = mem_grow(g->items, &g->items_cap, g->items_n + 1, sizeof *g->items);
    g->items[g->items_n++] = (struct group_item){g->item, isinf(sum) ? sum : sum + c, g->group, window};
    g->cells[cell_of(g, window, g->group)].items_n++;
    return 0;
}

int group_states_add(struct group_states *g, uint32_t window, const int64_t *times_ms, const double *values, uint32_t n,
                     struct err *e)
{
    int rc = cells_reserve(g, e);
    if (rc == 0)
        rc = is_value(g) ? add_value(g, window, times_ms, values, n, e) : add_item(g, window, values, n, e);
    if (rc == 0)
        g->cells[cell_of(g, window, g->group)].samples_n += n;
    return rc;
}

/* Items go to their cells, where they keep their order. */
void group_states_finish(struct group_states *g)
{
    uint64_t cells_n = (uint64_t)g->cells_groups_n * g->windows_n, at = 0;
    size_t keys_cap = 0, weights_cap = 0;
    if (g->items_n == 0)
        return;
    g->keys = mem_grow(NULL, &keys_cap, g->items_n, sizeof *g->keys);
    g->weights = mem_grow(NULL, &weights_cap, g->items_n, sizeof *g->weights);
    for (uint64_t i = 0; i < cells_n; i++) {
        g->cells[i].items_end = at;
        at += g->cells[i].items_n;
    }
    for (uint64_t i = 0; i < g->items_n; i++) {
        const struct group_item *item = &g->items[i];
        uint64_t to = g->cells[cell_of(g, item->window, item->group)].items_end++;
        g->keys[to] = item->key;
        g->weights[to] = item->weight;
    }
}

int group_states_get(struct group_states *g, uint32_t window, uint32_t group, struct str *ret, uint64_t *ret_samples_n,
                     struct err *e)
{
    *ret = (struct str){0};
    *ret_samples_n = 0;
    if (group >= g->cells_groups_n)
        return 0;
    const struct group_cell *cell = &g->cells[cell_of(g, window, group)];
    if (cell->samples_n == 0)
        return 0;
    *ret_samples_n = cell->samples_n;
    if (is_value(g)) {
        uint32_t size = g->one.family->fixed_size;
        *ret = (struct str){(const char *)g->states + cell_of(g, window, group) * size, size};
        return 0;
    }
    uint64_t first = cell->items_end - cell->items_n;
    const struct sketch_items items = {.keys = g->keys + first, .weights = g->weights + first, .n = cell->items_n};
    return state_builder_run_items(&g->one, &items, g->sketch_seed, ret, e);
}
