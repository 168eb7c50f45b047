#include "executor/snapshot.h"

#include <stdlib.h>

#include "executor/raw.h"
#include "store/store.h"

/* Evaluation times lie within +-2^60 ms and every duration below 2^51 ms, so sums over the deepest tree cannot
 * overflow. */
static const int64_t TIME_MAX_MS = INT64_C(1) << 60, DURATION_MAX_MS = INT64_C(1) << 51;

struct snapshot_use {
    const struct expr *selector;
    uint32_t request;
};

void snapshot_init(struct snapshot *s, struct arena *a)
{
    *s = (struct snapshot){.arena = a};
    map_init(&s->by_matchers);
}

int snapshot_add_request(struct snapshot *s, const struct source_request *r, uint32_t *ret_index, struct err *e)
{
    struct source_request *grown =
        arena_grow(s->arena, s->requests, &s->requests_cap, s->requests_n + 1u, sizeof *grown);
    if (!grown)
        return arena_check(s->arena, "query", e);
    s->requests = grown;
    s->requests[s->requests_n] = *r;
    *ret_index = s->requests_n++;
    return 0;
}

struct wanted_request {
    const struct snapshot *snapshot;
    const struct source_request *request;
};

/* Matchers are equal, and what one selector may leave out the other does not need. */
static bool may_share(const void *ctx, uint32_t request)
{
    const struct wanted_request *w = ctx;
    const struct source_request *r = &w->snapshot->requests[request], *wanted = w->request;
    if (r->matchers_n != wanted->matchers_n || r->newest_only != wanted->newest_only)
        return false;
    if (r->newest_only && (r->start_ms != wanted->start_ms || r->end_ms != wanted->end_ms))
        return false;
    for (uint32_t i = 0; i < r->matchers_n; i++) {
        const struct matcher *a = &r->matchers[i], *b = &wanted->matchers[i];
        if (a->op != b->op || !str_eq(a->name, b->name) || !str_eq(a->value, b->value))
            return false;
    }
    return true;
}

static uint64_t matchers_hash(const struct matcher *m, uint32_t n)
{
    uint64_t hash = n;
    for (uint32_t i = 0; i < n; i++) {
        const struct labels pair = {&(const struct label){m[i].name, m[i].value}, 1};
        hash = labels_hash(&pair, hash + (uint64_t)m[i].op);
    }
    return hash;
}

static uint64_t request_hash(const void *ctx, uint32_t request)
{
    const struct wanted_request *w = ctx;
    return matchers_hash(w->snapshot->requests[request].matchers, w->snapshot->requests[request].matchers_n);
}

static int add_selector(struct snapshot *s, const struct eval *ev, const struct expr *selector, const struct times *t,
                        struct err *e)
{
    struct source_request r = {
        .matchers = selector->matchers, .matchers_n = selector->matchers_n, .want_histograms = true};
    struct wanted_request w = {s, &r};
    uint64_t hash = matchers_hash(r.matchers, r.matchers_n);
    selector_span(ev, selector, t, &r.start_ms, &r.end_ms);
    r.newest_only = selector_newest_only(selector, t) && !eval_finds_resets(ev);
    int64_t found = map_find(&s->by_matchers, hash, may_share, &w);
    uint32_t request = (uint32_t)found;
    if (found < 0) {
        int code = snapshot_add_request(s, &r, &request, e);
        if (code != 0)
            return code;
        map_add(&s->by_matchers, hash, request, request_hash, &w);
    } else {
        struct source_request *shared = &s->requests[request];
        shared->start_ms = shared->start_ms < r.start_ms ? shared->start_ms : r.start_ms;
        shared->end_ms = shared->end_ms > r.end_ms ? shared->end_ms : r.end_ms;
    }
    struct snapshot_use *grown = arena_grow(s->arena, s->uses, &s->uses_cap, s->uses_n + 1u, sizeof *grown);
    if (!grown)
        return arena_check(s->arena, "query", e);
    s->uses = grown;
    s->uses[s->uses_n++] = (struct snapshot_use){selector, request};
    return 0;
}

static bool is_within(int64_t v, int64_t most)
{
    return v >= -most && v <= most;
}

static int check_times(const struct expr *x, const struct times *t, struct err *e)
{
    if (is_within(t->start_ms, TIME_MAX_MS) && is_within(x->time.at_ms, TIME_MAX_MS) &&
        is_within(x->time.offset_ms, DURATION_MAX_MS) && is_within(x->range_ms, DURATION_MAX_MS) &&
        is_within(x->step_ms, DURATION_MAX_MS))
        return 0;
    return err_set(e, ERR_BAD_DATA, "a time or duration of the query is out of range");
}

int snapshot_add_expr(struct snapshot *s, const struct eval *ev, const struct expr *expr, const struct times *t,
                      struct err *e)
{
    struct times inner = *t;
    int code = 0;
    if (expr->kind == EXPR_SELECTOR || expr->kind == EXPR_SUBQUERY)
        code = check_times(expr, t, e);
    if (code == 0 && expr->kind == EXPR_SELECTOR)
        return add_selector(s, ev, expr, t, e);
    if (code == 0 && expr->kind == EXPR_SUBQUERY)
        code = subquery_times(ev, expr, t, &inner, e);
    struct eval within = *ev; /* for what is around the selectors alone */
    eval_enter(&within, expr, 1);
    for (uint32_t i = 0; code == 0 && inner.n > 0 && i < expr->args_n; i++)
        code = snapshot_add_expr(s, &within, expr->args[i], &inner, e);
    return code;
}

static int by_address(const void *pa, const void *pb)
{
    const struct snapshot_use *a = pa, *b = pb;
    uintptr_t x = (uintptr_t)a->selector, y = (uintptr_t)b->selector;
    return (x > y) - (x < y);
}

/* Each selector of a tree finds its answer by its address. */
static int index_selectors(struct snapshot *s, struct eval *ev, struct err *e)
{
    if (s->uses_n > 0)
        qsort(s->uses, s->uses_n, sizeof *s->uses, by_address);
    ev->selectors = ARENA_ARRAY(s->arena, const struct expr *, s->uses_n);
    ev->results = ARENA_ARRAY(s->arena, struct source_result, s->uses_n);
    int code = arena_check(s->arena, "query", e);
    if (code != 0)
        return code;
    for (uint32_t i = 0; i < s->uses_n; i++) {
        ev->selectors[i] = s->uses[i].selector;
        ev->results[i] = s->results[s->uses[i].request];
    }
    ev->selectors_n = s->uses_n;
    return 0;
}

static int check_series(const struct snapshot *s, const struct query_limits *limits, struct err *e)
{
    for (uint32_t i = 0; limits->series_max && i < s->requests_n; i++) {
        if (s->results[i].series_n > limits->series_max)
            return err_set(e, ERR_LIMIT, "a selector matches %u series, more than the limit of %u; add matchers",
                           s->results[i].series_n, limits->series_max);
    }
    return 0;
}

int snapshot_take(struct snapshot *s, const struct source *source, struct eval *ev, struct err *e)
{
    if (s->requests_n == 0 && !s->reads_store)
        return 0;
    s->results = arena_zalloc(s->arena, s->requests_n * sizeof *s->results);
    int code = arena_check(s->arena, "query", e);
    if (code == 0 && s->requests_n > 0) {
        s->source = source;
        code = source->snapshot(source->ctx, s->requests, s->requests_n, s->arena, s->results, e);
    }
    if (code == 0)
        code = check_series(s, ev->limits, e);
    if (code == 0 && source->store) {
        ev->store = source->store;
        code = store_read_begin(source->store, &ev->txn, e);
    }
    return code == 0 ? index_selectors(s, ev, e) : code;
}

void snapshot_done(struct snapshot *s, struct eval *ev)
{
    store_read_end(ev->txn);
    ev->txn = NULL;
    if (s->source)
        s->source->release(s->source->ctx, s->results, s->requests_n);
    s->source = NULL;
    map_done(&s->by_matchers);
}
