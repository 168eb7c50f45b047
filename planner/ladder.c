/*
 * Ladders: a chain of many panes and roll-ups of it, each merged from `ratio` panes of the one below, so that a window
 * reads few coarse panes inside and fine ones at its ends only. Levels go on while two of the coarsest fit a window.
 */
#include "planner/candidates.h"
#include "planner/cost.h"

enum { LADDER_PANES_MIN = 61 /* fewer are read as fast one by one */ };
static const uint32_t ratios[] = {4, 8};

static void level_key(struct planning *p, uint32_t state, struct grid grid)
{
    strbuf_clear(&p->key);
    KEY_ADD(p, state);
    KEY_ADD(p, grid.step_ms);
    KEY_ADD(p, grid.phase_ms);
}

static bool is_chain(const struct planning *p, uint32_t state, struct grid grid)
{
    const struct state *s = &p->states[state];
    for (uint32_t i = s->first; i < s->first + s->n; i++)
        if (p->chains[i].grid.step_ms == grid.step_ms && p->chains[i].grid.phase_ms == grid.phase_ms)
            return true;
    return false;
}

/* Is any of these levels some other view already: a chain, or a roll-up of something else? */
static bool is_taken(struct planning *p, uint32_t base, const struct grid *levels, uint32_t levels_n)
{
    uint32_t state = p->chains[base].state, below = base;
    bool is_new = false;
    for (uint32_t i = 0; i < levels_n; i++) {
        level_key(p, state, levels[i]);
        int64_t id = intern_find(&p->level_ids, p->key.p, p->key.n);
        if (is_chain(p, state, levels[i]) || (id >= 0 && (is_new || p->chains[p->levels[id]].below != below)))
            return true;
        is_new |= id < 0;
        below = id >= 0 ? p->levels[id] : below;
    }
    return false;
}

static uint32_t add_level(struct planning *p, uint32_t below, struct grid grid, uint32_t ratio)
{
    uint32_t state = p->chains[below].state;
    bool added;
    level_key(p, state, grid);
    uint32_t id = intern(&p->level_ids, p->key.p, p->key.n, &added);
    if (!added)
        return p->levels[id];
    p->levels = arena_grow(p->arena, p->levels, &p->levels_cap, (size_t)id + 1, sizeof *p->levels);
    p->chains = arena_grow(p->arena, p->chains, &p->chains_cap, (size_t)p->chains_n + 1, sizeof *p->chains);
    if (!p->levels || !p->chains)
        return below;
    struct chain *c = &p->chains[p->chains_n];
    *c = (struct chain){.state = state,
                        .grid = grid,
                        .when = WHEN_INGESTION,
                        .ratio = ratio,
                        .below = below,
                        .read = PLAN_NONE,
                        .view = PLAN_NONE};
    cost_level(p, c);
    return p->levels[id] = p->chains_n++;
}

static void offer_ladder(struct planning *p, const struct candidate *flat, uint32_t ratio)
{
    enum { LEVELS_MAX = 16 };
    const struct grid base = p->chains[flat->chain].grid;
    const int64_t range_ms = p->demands[flat->demand].site->range_ms;
    struct grid levels[LEVELS_MAX];
    uint32_t levels_n = 0;
    struct candidate made = *flat;
    made.form = FORM_LADDER;
    made.top = flat->chain;
    for (int64_t width_ms = base.step_ms * ratio;
         levels_n < LEVELS_MAX && 2 * width_ms <= range_ms && width_ms <= PLAN_PANE_MAX_MS; width_ms *= ratio)
        levels[levels_n++].step_ms = width_ms;
    /* A level's ends are ends of the level below wherever it begins, so ladders keep out of each other's way. */
    bool taken = levels_n > 0;
    for (uint32_t shift = ratio == ratios[0] ? 0 : 1; taken && shift < ratio; shift += 2) {
        for (uint32_t i = 0; i < levels_n; i++)
            levels[i].phase_ms = base.phase_ms + shift * base.step_ms;
        taken = is_taken(p, flat->chain, levels, levels_n);
    }
    if (levels_n == 0)
        made.reason = "pane_too_wide: no roll-up of these panes can be kept";
    else if (taken)
        made.reason = "level_taken: its roll-ups are other views of the plan already";
    for (uint32_t i = 0; !made.reason && i < levels_n && !arena_failed(p->arena); i++)
        made.top = add_level(p, made.top, levels[i], ratio);
    if (arena_failed(p->arena))
        return;
    if (!made.reason)
        made.run_cost = cost_ladder_run(p, &p->demands[made.demand], &made);
    candidate_add(p, made);
}

void offer_ladders(struct planning *p, const struct candidate *flat)
{
    const struct family_info *f = family_get(flat->family);
    const struct family_readout *readout = family_readout(f, p->demands[flat->demand].site->statistic);
    if (flat->count < LADDER_PANES_MIN || f->merge == MERGE_NONE || !readout || readout->merged == MERGED_APPROXIMATE)
        return;
    for (size_t i = 0; i < sizeof ratios / sizeof *ratios; i++)
        offer_ladder(p, flat, ratios[i]);
}
