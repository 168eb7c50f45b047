#include "executor/refresh_groups.h"

#include <stdlib.h>

int window_groups_init(struct window_groups *g, const struct plan_view *view, uint64_t sketch_seed, int64_t end_ms,
                       const struct refresh_groups *numbers, struct arena *a, struct err *e)
{
    *g = (struct window_groups){.numbers = numbers, .end_ms = end_ms};
    return group_states_init(&g->states, view, sketch_seed, &g->end_ms, 1, a, e);
}

void window_groups_done(struct window_groups *g)
{
    group_states_done(&g->states);
}

int window_groups_add(struct window_groups *g, const struct labels *labels, const int64_t *times_ms,
                      const double *values, uint32_t n, struct err *e)
{
    bool is_member = false;
    if (g->too_many)
        return 0;
    int rc = group_states_series(&g->states, labels, &is_member, e);
    if (rc == 0 && is_member)
        rc = group_states_add(&g->states, 0, times_ms, values, n, e);
    g->too_many = rc == ERR_NOT_COVERED;
    return g->too_many ? 0 : rc;
}

/* Where a group's state goes. */
struct seat {
    uint32_t number, group;
};

static int by_number(const void *pa, const void *pb)
{
    const struct seat *a = pa, *b = pb;
    return (a->number > b->number) - (a->number < b->number);
}

static int seats_take(struct window_groups *g, struct seat *seats, uint32_t *ret_n, struct refresh_output *o,
                      struct err *e)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < g->states.groups.n; i++) {
        int rc = g->numbers->place(g->numbers->ctx, &g->states.groups.sets[i], &seats[n].number, e);
        if (rc == 0)
            seats[n++].group = i;
        else if (rc == ERR_LIMIT)
            o->groups_unnumbered_n++;
        else
            return rc;
    }
    if (n > 1)
        qsort(seats, n, sizeof *seats, by_number);
    *ret_n = n;
    return 0;
}

static int seat_put(struct window_groups *g, const struct seat *s, struct pane_builder *b, struct refresh_output *o,
                    struct err *e)
{
    const struct family_info *family = g->states.one.family;
    struct str state;
    uint64_t samples_n;
    int rc = group_states_get(&g->states, 0, s->group, &state, &samples_n, e);
    if (rc == ERR_NOT_COVERED) {
        o->groups_refused_n++;
        pane_builder_flag(b, PANE_INCOMPLETE);
        return 0;
    }
    if (rc != 0)
        return rc;
    pane_builder_add(b, s->number % PANE_SLOTS, state, family->flags((const uint8_t *)state.p, state.n), samples_n);
    o->states_n++;
    o->samples_n += samples_n;
    return 0;
}

/* One block: the seats of `shard` from *at on. */
static int shard_put(struct window_groups *g, const struct seat *seats, uint32_t n, uint32_t shard, uint32_t *at,
                     struct pane_builder *b, struct refresh_output *o, struct err *e)
{
    int rc = 0;
    if (o->groups_unnumbered_n > 0)
        pane_builder_flag(b, PANE_INCOMPLETE);
    for (; *at < n && seats[*at].number / PANE_SLOTS == shard && rc == 0; ++*at)
        rc = seat_put(g, &seats[*at], b, o, e);
    return rc;
}

int window_groups_finish(struct window_groups *g, struct pane_builder *b, uint32_t revision, struct arena *a,
                         struct refresh_output *o, struct err *e)
{
    const struct plan_view *v = g->states.view;
    struct seat *seats = ARENA_ARRAY(a, struct seat, g->states.groups.n + 1u);
    uint32_t n = 0, at = 0;
    if (!seats)
        return arena_check(a, "refresh", e);
    o->groups_unnumbered_n = g->too_many;
    group_states_finish(&g->states);
    int rc = g->too_many ? 0 : seats_take(g, seats, &n, o, e);
    /* A window that is short of groups has a block of shard 0 whatever it holds. */
    bool is_short = o->groups_unnumbered_n > 0, more = n > 0 || is_short;
    for (bool first = true; rc == 0 && more; first = false) {
        struct pane_key key = {.view = o->store_view, .end_ms = g->end_ms};
        key.shard = first && is_short ? 0 : seats[at].number / PANE_SLOTS;
        pane_builder_start(b, &key, v->family, g->states.one.family->fixed_size, (uint32_t)v->panes.step_ms, revision);
        rc = shard_put(g, seats, n, key.shard, &at, b, o, e);
        if (rc == 0)
            rc = refresh_output_add(o, b, a, e);
        more = at < n;
    }
    return rc;
}
