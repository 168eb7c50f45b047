/* What the engine has: its snapshots, and the store's rows behind them. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "ingest/group_model.h"

static void identity_of(const struct rig *r, enum model_view id, uint8_t ret[IDENTITY_BYTES])
{
    struct plan *p = model_plan(r, 1u << id);
    memcpy(ret, p->views[0].identity, IDENTITY_BYTES);
    plan_free(p);
}

void model_status(struct rig *r, enum model_view view, struct ingest_view_status *ret)
{
    uint8_t identity[IDENTITY_BYTES];
    identity_of(r, view, identity);
    ingest_view_status(r->ingest, identity, ret);
}

/* ---- states ---- */

struct reading {
    struct rig *rig;
    enum model_view view;
    const struct source_group *groups;
    uint32_t groups_n, store_view;
    struct store_txn *txn;
    struct model_states *out;
    size_t cap;
};

static void group_text(const struct labels *l, char *ret, size_t size)
{
    ret[0] = 0;
    for (uint32_t i = 0; i < l->n; i++) {
        size_t used = strlen(ret);
        snprintf(ret + used, size - used, "%s%.*s=\"%.*s\"", i ? "," : "", (int)l->v[i].name.n, l->v[i].name.p,
                 (int)l->v[i].value.n, l->v[i].value.p);
    }
}

static void check_row(const struct reading *r, const struct source_group *g)
{
    struct arena a;
    struct labels labels;
    bool drop_name = true;
    struct err e = {0};
    arena_init(&a, 0);
    ck_assert_msg(group_get(r->txn, GROUP_OF_VIEW, r->store_view, g->number, &a, &labels, &drop_name, &e) == 0, "%s",
                  e.message);
    ck_assert(labels_eq(&labels, &g->labels) && !drop_name);
    arena_done(&a);
}

static int read_block(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct reading *r = ctx;
    struct model_states *out = r->out;
    struct pane_block b;
    ck_assert_int_eq(pane_block_parse(bytes, key, true, &b, e), 0);
    ck_assert_uint_eq(key->metric, 0);
    out->flags |= b.flags;
    out->samples_n += b.samples_n;
    out->blocks_n++;
    uint32_t found = 0;
    for (uint32_t i = 0; i < r->groups_n; i++) {
        const struct source_group *g = &r->groups[i];
        ck_assert(i == 0 || g->number > r->groups[i - 1].number);
        struct str state = g->number / 1024 == key->shard ? pane_block_state(&b, g->number % 1024) : (struct str){0};
        if (state.n == 0)
            continue;
        if (out->status == WINDOW_SEALED)
            check_row(r, g);
        out->v = mem_grow(out->v, &r->cap, out->n + 1, sizeof *out->v);
        struct model_state *s = &out->v[out->n++];
        s->number = g->number;
        s->size = (uint32_t)state.n;
        ck_assert_uint_le(state.n, sizeof s->bytes);
        memcpy(s->bytes, state.p, state.n);
        group_text(&g->labels, s->group, sizeof s->group);
        found++;
    }
    ck_assert_uint_eq(found, b.present_n); /* no state of a group that is not listed */
    return 0;
}

static void request_of(struct rig *r, enum model_view view, int64_t start_ms, int64_t end_ms,
                       const struct matcher *name, uint8_t (*identity)[IDENTITY_BYTES], struct source_request *ret)
{
    identity_of(r, view, *identity);
    *ret = (struct source_request){.matchers = name,
                                   .matchers_n = 1,
                                   .start_ms = start_ms,
                                   .end_ms = end_ms,
                                   .identities = (const uint8_t(*)[IDENTITY_BYTES])identity,
                                   .identities_n = 1,
                                   .width_ms = WIDTH,
                                   .grouped = true};
}

void model_read(struct rig *r, enum model_view view, int64_t end_ms, struct model_states *ret)
{
    const struct source *source = ingest_source(r->ingest);
    const struct matcher name = {.name = STR("__name__"), .op = MATCH_EQ, .value = str_of(model_views[view].metric)};
    uint8_t identity[1][IDENTITY_BYTES];
    struct source_request q;
    struct source_result result;
    struct arena a;
    struct err e = {0};
    arena_init(&a, 0);
    request_of(r, view, end_ms - WIDTH, end_ms, &name, identity, &q);
    ck_assert_int_eq(source->snapshot(source->ctx, &q, 1, &a, &result, &e), 0);
    const struct source_window *w = &result.windows[0][0];
    *ret = (struct model_states){.status = w->status};
    struct reading reading = {.rig = r,
                              .view = view,
                              .groups = result.groups[0],
                              .groups_n = result.groups_n[0],
                              .store_view = result.views[0],
                              .out = ret};
    ck_assert_int_eq(store_read_begin(r->store, &reading.txn, &e), 0);
    if (w->status == WINDOW_SEALED) {
        int code = pane_window_check(reading.txn, reading.store_view, end_ms, &e);
        if (code == ERR_NOT_FOUND)
            ret->status = WINDOW_MISSING; /* let go since the snapshot */
        else
            ck_assert_msg(code == 0, "%s", e.message);
        ck_assert_int_eq(pane_window_walk(reading.txn, reading.store_view, end_ms, read_block, &reading, &e), 0);
        ck_assert(code == 0 || ret->blocks_n == 0);
    }
    for (uint32_t i = 0; w->status == WINDOW_EARLY && i < w->early->blocks_n; i++)
        ck_assert_int_eq(read_block(&reading, &w->early->blocks[i].key, w->early->blocks[i].bytes, &e), 0);
    store_read_end(reading.txn);
    source->release(source->ctx, &result, 1);
    arena_done(&a);
}

/* ---- against states of one series each ---- */

static struct str stored_state(struct store_txn *t, uint32_t view, int64_t end_ms, const struct source_series *s)
{
    struct pane_key key = {view, end_ms, s->metric, s->ordinal / 1024};
    struct pane_block b;
    struct str bytes;
    struct err e = {0};
    int code = pane_block_get(t, &key, &bytes, &e);
    if (code == ERR_NOT_FOUND)
        return (struct str){0};
    ck_assert_int_eq(code, 0);
    ck_assert_int_eq(pane_block_parse(bytes, &key, true, &b, &e), 0);
    return pane_block_state(&b, s->ordinal % 1024);
}

static void check_group_merged(const struct source_result *result, struct store_txn *t, int64_t end_ms,
                               const struct model_state *have)
{
    const struct family_info *f = family_get(model_views[VIEW_SUM].family);
    struct state_ref refs[100];
    uint8_t bytes[64];
    void *scratch = mem_alloc(f->scratch_bound(&model_views[VIEW_SUM].params, 100000, 100) + 64);
    size_t size = 0;
    uint32_t n = 0;
    for (uint32_t i = 0; i < result->series_n; i++) {
        char group[200] = "";
        struct str g = labels_get(&result->series[i].labels, STR("g"));
        struct str state = stored_state(t, result->views[0], end_ms, &result->series[i]);
        if (g.n)
            snprintf(group, sizeof group, "g=\"%.*s\"", (int)g.n, g.p);
        if (strcmp(group, have->group) == 0 && state.n)
            refs[n++] = (struct state_ref){(const uint8_t *)state.p, (uint32_t)state.n, end_ms};
        ck_assert_uint_lt(n, 100);
    }
    ck_assert_int_eq(f->merge_k(bytes, sizeof bytes, &size, &model_views[VIEW_SUM].params, end_ms, refs, n, 0, scratch),
                     0);
    ck_assert(size == have->size && memcmp(bytes, have->bytes, size) == 0);
    mem_free(scratch);
}

void model_check_merged(struct rig *r, int64_t end_ms)
{
    const struct source *source = ingest_source(r->ingest);
    const struct matcher name = {.name = STR("__name__"), .op = MATCH_EQ, .value = STR("m")};
    uint8_t identity[1][IDENTITY_BYTES];
    struct model_states have;
    struct source_request q;
    struct source_result result;
    struct store_txn *t;
    struct arena a;
    struct err e = {0};
    arena_init(&a, 0);
    model_read(r, VIEW_SUM, end_ms, &have);
    request_of(r, VIEW_ONE_BY_ONE, end_ms - WIDTH, end_ms, &name, identity, &q);
    q.grouped = false;
    ck_assert_int_eq(source->snapshot(source->ctx, &q, 1, &a, &result, &e), 0);
    ck_assert_int_eq(result.windows[0][0].status, WINDOW_SEALED);
    ck_assert_int_eq(store_read_begin(r->store, &t, &e), 0);
    for (uint32_t i = 0; i < have.n; i++)
        check_group_merged(&result, t, end_ms, &have.v[i]);
    store_read_end(t);
    source->release(source->ctx, &result, 1);
    mem_free(have.v);
    arena_done(&a);
}

static int count_row(void *ctx, uint32_t number, struct str canonical, bool drop_name, struct err *e)
{
    ++*(uint32_t *)ctx;
    return 0;
}

uint32_t model_rows(struct rig *r, enum model_view view)
{
    uint8_t identity[IDENTITY_BYTES];
    struct pane_view known;
    struct store_txn *t;
    struct err e = {0};
    uint32_t n = 0;
    identity_of(r, view, identity);
    ck_assert_int_eq(store_read_begin(r->store, &t, &e), 0);
    ck_assert_int_eq(pane_view_find(t, identity, &known, &e), 0);
    ck_assert_int_eq(group_walk(t, GROUP_OF_VIEW, known.number, count_row, &n, &e), 0);
    store_read_end(t);
    return n;
}

int64_t model_covered(struct rig *r, enum model_view view, int64_t start_ms, int64_t end_ms, const char *metric)
{
    const struct source *source = ingest_source(r->ingest);
    const struct matcher name = {.name = STR("__name__"), .op = MATCH_EQ, .value = str_of(metric)};
    uint8_t identity[1][IDENTITY_BYTES];
    struct source_request q;
    struct source_result result;
    struct arena a;
    struct err e = {0};
    arena_init(&a, 0);
    request_of(r, view, start_ms, end_ms, &name, identity, &q);
    ck_assert_int_eq(source->snapshot(source->ctx, &q, 1, &a, &result, &e), 0);
    int64_t covered_ms = result.covered_ms;
    for (uint32_t i = 0; i < result.series_n; i++)
        ck_assert_int_eq(result.series[i].raw_from_ms, covered_ms);
    source->release(source->ctx, &result, 1);
    arena_done(&a);
    return covered_ms;
}
