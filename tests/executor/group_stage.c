#include "group_stage.h"

#include <check.h>
#include <math.h>
#include <stdlib.h>

#include "executor/group_states.h"

enum { NUMBERS_APART = 700 };

struct window_run {
    const struct group_stage *s;
    const struct source_result *raw;
    const struct plan_view *view;
    struct arena *a;
};

static int cmp_key(const void *pa, const void *pb)
{
    const struct source_group *a = pa, *b = pb;
    return (a->number > b->number) - (a->number < b->number);
}

/* The number of a label set: the first time it is met in any window gives it one. */
static uint32_t number_of(struct source_group *groups, uint32_t *n, const struct labels *l)
{
    for (uint32_t i = 0; i < *n; i++)
        if (labels_eq(&groups[i].labels, l))
            return groups[i].number;
    groups[*n] = (struct source_group){*n * NUMBERS_APART, *l};
    return groups[(*n)++].number;
}

static void add_block(struct window_states *w, struct pane_builder *b, struct arena *a)
{
    struct str bytes = pane_builder_finish(b);
    struct window_block *blocks = (struct window_block *)(uintptr_t)w->blocks;
    blocks[w->blocks_n++] = (struct window_block){b->key, {arena_dup(a, bytes.p, bytes.n), bytes.n}};
}

static void build_window(const struct window_run *r, uint32_t view, int64_t end_ms, struct source_group *groups,
                         uint32_t *groups_n, struct window_states *ret)
{
    enum { GROUPS_MAX = 64, SAMPLES_MAX = 1000 };
    struct group_states g;
    struct err e = {0};
    struct pane_builder b = {0};
    uint32_t of[GROUPS_MAX];
    struct source_group order[GROUPS_MAX];
    ck_assert_int_eq(group_states_init(&g, r->view, 7, &end_ms, 1, r->a, &e), 0);
    for (uint32_t i = 0; i < r->raw->series_n; i++) {
        int64_t times_ms[SAMPLES_MAX];
        double values[SAMPLES_MAX];
        bool member;
        uint32_t kept = 0,
                 n = r->raw->unpack(r->raw->series[i].packed, end_ms - STAGE_PANE_MS, end_ms, times_ms, values);
        for (uint32_t k = 0; k < n; k++) {
            times_ms[kept] = times_ms[k];
            values[kept] = values[k];
            kept += !value_absent(values[k]);
        }
        ck_assert_int_eq(group_states_series(&g, &r->raw->series[i].labels, &member, &e), 0);
        if (member && kept > 0)
            ck_assert_int_eq(group_states_add(&g, 0, times_ms, values, kept, &e), 0);
    }
    group_states_finish(&g);
    ck_assert_uint_le(g.groups.n, GROUPS_MAX);
    for (uint32_t i = 0; i < g.groups.n; i++)
        order[i] = (struct source_group){number_of(groups, groups_n, &g.groups.sets[i]), {0}};
    for (uint32_t i = 0; i < g.groups.n; i++)
        of[i] = order[i].number;
    qsort(order, g.groups.n, sizeof *order, cmp_key);
    ret->blocks = ARENA_ARRAY(r->a, struct window_block, GROUPS_MAX + 1);
    bool open = false;
    for (uint32_t i = 0; i < g.groups.n; i++) {
        uint32_t number = order[i].number, group = 0;
        struct str state;
        uint64_t samples_n;
        while (of[group] != number)
            group++;
        int rc = group_states_get(&g, 0, group, &state, &samples_n, &e);
        if (rc == 0 && state.n == 0)
            continue;
        struct pane_key key = {view, end_ms, 0, number / PANE_SLOTS};
        if (open && b.key.shard != key.shard)
            add_block(ret, &b, r->a);
        if (!open || b.key.shard != key.shard)
            pane_builder_start(&b, &key, r->view->family, g.one.family->fixed_size, STAGE_PANE_MS, 1);
        open = true;
        if (rc == 0)
            pane_builder_add(&b, number % PANE_SLOTS, state, 0, samples_n);
        else
            b.flags |= PANE_INCOMPLETE;
        if (end_ms == r->s->unnumbered_ms)
            b.flags |= PANE_INCOMPLETE;
    }
    if (open)
        add_block(ret, &b, r->a);
    for (uint32_t i = 0; end_ms == r->s->damaged_ms && i < ret->blocks_n; i++)
        memset((char *)(uintptr_t)ret->blocks[i].bytes.p, 0xff, 40);
    pane_builder_done(&b);
    group_states_done(&g);
}

static void list_windows(struct group_stage *s, const struct source_request *q, struct arena *a,
                         struct source_result *r)
{
    uint32_t view = 0, groups_n = 0;
    while (memcmp(s->views[view].identity, q->identities[0], IDENTITY_BYTES) != 0)
        view++;
    ck_assert_uint_lt(view, s->plan.views_n);
    ck_assert_uint_eq(q->identities_n, 1);
    s->grouped_n++;
    struct grid grid = {q->width_ms, q->phase_ms};
    int64_t first_ms = grid_ceil(grid, q->start_ms + q->width_ms);
    r->windows_n = first_ms <= q->end_ms ? (uint32_t)((q->end_ms - first_ms) / q->width_ms) + 1 : 0;
    struct source_window *windows = ARENA_ARRAY(a, struct source_window, r->windows_n + 1);
    struct source_group *groups = ARENA_ARRAY(a, struct source_group, 1000);
    struct window_run run = {s, r, &s->views[view], a};
    r->windows = ARENA_ARRAY(a, struct source_window *, 1);
    r->windows[0] = windows;
    r->covered_ms = q->start_ms;
    for (uint32_t i = 0; i < r->windows_n; i++) {
        struct window_states *states = ARENA_NEW(a, struct window_states);
        windows[i].end_ms = first_ms + (int64_t)i * q->width_ms;
        windows[i].status = windows[i].end_ms <= s->covered_ms ? WINDOW_EARLY : WINDOW_MISSING;
        windows[i].early = states;
        if (windows[i].status == WINDOW_MISSING)
            continue;
        r->covered_ms = windows[i].end_ms;
        build_window(&run, view, windows[i].end_ms, groups, &groups_n, states);
    }
    for (uint32_t i = 0; i < r->series_n; i++)
        r->series[i].raw_from_ms = r->covered_ms;
    if (s->forget_series)
        r->series_n = 0;
    qsort(groups, groups_n, sizeof *groups, cmp_key);
    r->views = arena_dup(a, &view, sizeof view);
    const struct source_group **lists = ARENA_ARRAY(a, const struct source_group *, 1);
    lists[0] = groups;
    r->groups = lists;
    r->groups_n = arena_dup(a, &groups_n, sizeof groups_n);
}

static int snapshot(void *ctx, const struct source_request *requests, uint32_t n, struct arena *a,
                    struct source_result *ret, struct err *e)
{
    struct group_stage *s = ctx;
    int rc = s->f.source.snapshot(s->f.source.ctx, requests, n, a, ret, e);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        if (requests[i].identities_n == 0)
            continue;
        ck_assert(requests[i].grouped);
        list_windows(s, &requests[i], a, &ret[i]);
    }
    return rc;
}

static void release(void *ctx, struct source_result *results, uint32_t n)
{
    struct group_stage *s = ctx;
    s->f.source.release(s->f.source.ctx, results, n);
}

void group_stage_init(struct group_stage *s)
{
    *s = (struct group_stage){.covered_ms = INT64_MAX};
    fixture_init(&s->f);
    s->source = (struct source){.ctx = s, .snapshot = snapshot, .release = release};
    s->plan = (struct plan){.sources = s->sources, .views = s->views, .sketch_seed = 7};
}

void group_stage_done(struct group_stage *s)
{
    for (uint32_t i = 0; i < s->plan.views_n; i++)
        parsed_done(&s->parsed[i]);
    fixture_done(&s->f);
}

void group_stage_view(struct group_stage *s, const char *selector, enum family family, struct sketch_params params,
                      const char *input, const char *by)
{
    struct err e = {0};
    uint32_t at = s->plan.views_n++;
    struct parsed *parsed = &s->parsed[at];
    struct plan_view *v = &s->views[at];
    struct str *reduce = ARENA_ARRAY(&s->f.arena, struct str, 8);
    ck_assert_uint_lt(at, STAGE_VIEWS_MAX);
    ck_assert_int_eq(promql_parse(str_of(selector), &s->f.arena, parsed, &e), 0);
    s->sources[at] = (struct plan_source){parsed->root->matchers, parsed->root->matchers_n, 300000};
    s->plan.sources_n = s->plan.views_n;
    *v = (struct plan_view){.source = at,
                            .family = family,
                            .params = params,
                            .reduce = reduce,
                            .panes = {STAGE_PANE_MS, 0},
                            .panes_n = 1000,
                            .when = WHEN_INGESTION,
                            .level_of = PLAN_NONE};
    ck_assert(view_input_parse(str_of(input), &v->input));
    for (const char *p = by; *p; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        reduce[v->reduce_n++] = (struct str){p, n};
        p += n;
    }
    memset(v->identity, (int)at + 1, sizeof v->identity);
}

int group_stage_query(struct group_stage *s, const char *query, double start_s, double end_s, double step_s, bool exact,
                      const struct accuracy *want, struct arena *a, struct result *ret, struct err *e)
{
    struct executor x = {.plan = &s->plan, .source = &s->source};
    struct query_options o = {.start_ms = llround(start_s * 1000),
                              .end_ms = llround(end_s * 1000),
                              .step_ms = llround(step_s * 1000),
                              .exact = exact};
    if (want)
        o.default_accuracy = *want;
    *e = (struct err){0};
    return query_run(&x, str_of(query), &o, a, ret, e);
}
