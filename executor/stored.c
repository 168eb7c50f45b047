#include "executor/stored.h"

#include "base/alloc.h"
#include "base/map.h"
#include "plan/root_expr.h"
#include "store/group.h"
#include "store/root.h"

/* Runs of times to compute; with more of them all from the first to the last are one. */
enum { RUNS_MAX = 16 };

bool stored_fits(const struct plan *p, uint32_t root, const struct times *t, int64_t lookback_ms,
                 int64_t default_step_ms)
{
    const struct plan_stored_root *r = &p->stored_roots[root];
    return root_grid_holds(&r->grid, t->start_ms, t->step_ms, t->n) &&
           root_expr_serves(p->nodes[r->node].expr, lookback_ms, default_step_ms);
}

/* ---- what is kept ---- */

static bool is_kept(const struct stored_site *s, uint32_t i)
{
    return s->kept[i / 64] >> (i % 64) & 1;
}

static void unkeep(struct stored_site *s, uint32_t from, uint32_t to)
{
    for (uint32_t i = from; i < to; i++)
        s->kept[i / 64] &= ~(UINT64_C(1) << (i % 64));
}

/* Index of the first time >= at_ms. */
static uint32_t index_at(const struct times *t, int64_t at_ms)
{
    if (at_ms <= t->start_ms)
        return 0;
    if (t->n == 1 || at_ms > times_at(t, t->n - 1))
        return t->n;
    return (uint32_t)((at_ms - t->start_ms + t->step_ms - 1) / t->step_ms);
}

static void mark_kept(struct stored_site *s, const struct source_root *r)
{
    const struct times *t = s->all;
    uint32_t from = 0, to = 0;
    if (r->number != SOURCE_NO_VIEW && r->complete_from_ms < r->sealed_to_ms) {
        from = index_at(t, r->complete_from_ms + 1);
        to = index_at(t, r->sealed_to_ms + 1);
    }
    for (uint32_t i = from; i < to; i++)
        s->kept[i / 64] |= UINT64_C(1) << (i % 64);
    for (uint32_t k = 0; k < r->unfit_n; k++) {
        uint32_t first = index_at(t, r->unfit[k].from_ms), end = index_at(t, r->unfit[k].to_ms);
        unkeep(s, first, end);
    }
}

static uint32_t count_kept(const struct stored_site *s)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i <= s->all->n / 64; i++)
        n += (uint32_t)__builtin_popcountll(s->kept[i]);
    return n;
}

static int ask(const struct source *source, const struct stored_site *s, struct arena *a, struct source_root *ret,
               struct err *e)
{
    *ret = (struct source_root){.number = SOURCE_NO_VIEW};
    if (!source->root)
        return 0;
    return source->root(source->ctx, s->identity, s->all->start_ms, times_at(s->all, s->all->n - 1), a, ret, e);
}

/* ---- what is not ---- */

static struct expr *copy_tree(const struct expr *e, struct arena *a)
{
    struct expr *copy = arena_dup(a, e, sizeof *e);
    if (!copy || e->args_n == 0)
        return copy;
    copy->args = ARENA_ARRAY(a, struct expr *, e->args_n);
    for (uint32_t i = 0; copy->args && i < e->args_n; i++)
        copy->args[i] = copy_tree(e->args[i], a);
    return copy;
}

static uint32_t list_runs(struct stored_site *s, uint32_t max)
{
    uint32_t n = 0;
    for (uint32_t i = 0, j; i < s->all->n; i = j) {
        for (j = i + 1; j < s->all->n && is_kept(s, j) == is_kept(s, i); j++)
            continue;
        if (is_kept(s, i))
            continue;
        if (n < max)
            s->runs[n] = (struct stored_run){i, {times_at(s->all, i), s->all->step_ms, j - i}, NULL};
        n++;
    }
    return n;
}

static int name_runs(struct stored_site *s, const struct expr *expr, const struct eval *ev, struct snapshot *snapshot,
                     struct err *e)
{
    struct arena *a = ev->arena;
    s->runs = ARENA_ARRAY(a, struct stored_run, RUNS_MAX);
    int code = arena_check(a, "query", e);
    if (code != 0)
        return code;
    s->runs_n = list_runs(s, RUNS_MAX);
    if (s->runs_n > RUNS_MAX) {
        uint32_t first = s->runs[0].first, end = s->all->n;
        while (is_kept(s, end - 1))
            end--;
        unkeep(s, first, end);
        s->runs_n = list_runs(s, RUNS_MAX);
    }
    for (uint32_t i = 0; i < s->runs_n && code == 0; i++) {
        s->runs[i].expr = copy_tree(expr, a);
        code = arena_check(a, "query", e);
        if (code == 0)
            code = snapshot_add_expr(snapshot, ev, s->runs[i].expr, &s->runs[i].times, e);
    }
    return code;
}

int stored_open(const struct source *source, const struct plan *p, uint32_t root, const struct expr *expr,
                const struct times *t, const struct eval *ev, struct snapshot *snapshot, struct stored_site *ret,
                struct err *e)
{
    struct stored_site s = {.all = t};
    struct source_root known;
    plan_root_identity(p, root, s.identity);
    s.kept = arena_zalloc(ev->arena, (t->n / 64 + 1) * sizeof *s.kept);
    int code = arena_check(ev->arena, "query", e);
    if (code == 0)
        code = ask(source, &s, ev->arena, &known, e);
    if (code != 0)
        return code;
    s.number = known.number;
    mark_kept(&s, &known);
    code = name_runs(&s, expr, ev, snapshot, e);
    s.kept_n = count_kept(&s);
    snapshot->reads_store |= s.kept_n > 0;
    if (code == 0)
        *ret = s;
    return code;
}

int stored_still(const struct source *source, const struct stored_site *s, struct arena *a, bool *ret, struct err *e)
{
    struct source_root known;
    struct stored_site now = {.all = s->all};
    *ret = true;
    if (s->kept_n == 0)
        return 0;
    now.kept = arena_zalloc(a, (s->all->n / 64 + 1) * sizeof *now.kept);
    memcpy(now.identity, s->identity, IDENTITY_BYTES);
    int code = arena_check(a, "query", e);
    if (code == 0)
        code = ask(source, &now, a, &known, e);
    if (code != 0)
        return code;
    mark_kept(&now, &known);
    for (uint32_t i = 0; i <= s->all->n / 64; i++)
        *ret &= (s->kept[i] & ~now.kept[i]) == 0;
    return 0;
}

/* ---- the answer ---- */

/* Series under construction; those of the store are found by group, all by their labels. */
struct gathered {
    struct eval *ev;
    const struct stored_site *site;
    struct vec_series *series;
    uint32_t *group_of; /* [n from the store] */
    uint32_t n;
    size_t cap, groups_cap;
    struct map by_group, by_labels;
};

static uint64_t group_hash(uint32_t group)
{
    return (group + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t hash_of_group(const void *ctx, uint32_t i)
{
    return group_hash(((const struct gathered *)ctx)->group_of[i]);
}

struct wanted_group {
    const struct gathered *g;
    uint32_t group;
};

static bool same_group(const void *ctx, uint32_t i)
{
    const struct wanted_group *w = ctx;
    return w->g->group_of[i] == w->group;
}

static uint64_t hash_of_labels(const void *ctx, uint32_t i)
{
    return labels_hash(&((const struct gathered *)ctx)->series[i].labels, map_seed());
}

struct wanted_series {
    const struct gathered *g;
    const struct vec_series *series;
};

static bool same_series(const void *ctx, uint32_t i)
{
    const struct wanted_series *w = ctx;
    const struct vec_series *s = &w->g->series[i];
    return s->drop_name == w->series->drop_name && labels_eq(&s->labels, &w->series->labels);
}

static struct vec_series *add_series(struct gathered *g, const struct labels *labels, bool drop_name, struct err *e)
{
    g->series = arena_grow(g->ev->arena, g->series, &g->cap, (size_t)g->n + 1, sizeof *g->series);
    double *v = value_array_absent(g->ev, g->site->all->n);
    if (!g->series || !v) {
        arena_check(g->ev->arena, "query", e);
        return NULL;
    }
    struct vec_series *s = &g->series[g->n++];
    *s = (struct vec_series){.labels = *labels, .drop_name = drop_name, .v = v};
    return s;
}

static int group_place(struct gathered *g, uint32_t group, uint32_t *ret, struct err *e)
{
    struct wanted_group w = {g, group};
    uint64_t hash = group_hash(group);
    int64_t known = map_find(&g->by_group, hash, same_group, &w);
    if (known >= 0) {
        *ret = (uint32_t)known;
        return 0;
    }
    struct labels labels;
    bool drop_name = false;
    int code = group_get(g->ev->txn, GROUP_OF_ROOT, g->site->number, group, g->ev->arena, &labels, &drop_name, e);
    if (code != 0)
        return code == ERR_NOT_FOUND ? (e->code = ERR_CORRUPT) : code;
    if (!add_series(g, &labels, drop_name, e))
        return e->code;
    g->group_of = arena_grow(g->ev->arena, g->group_of, &g->groups_cap, g->n, sizeof *g->group_of);
    if (!g->group_of)
        return arena_check(g->ev->arena, "query", e);
    *ret = g->n - 1;
    g->group_of[*ret] = group;
    map_add(&g->by_group, hash, *ret, hash_of_group, g);
    return 0;
}

/* One time's row. Without groups it is there all the same: a row that is not there is lost. */
static int read_row(struct gathered *g, uint32_t i, struct str bytes, struct err *e)
{
    struct root_block b;
    if (bytes.n == 0)
        return err_set(e, ERR_CORRUPT, "a stored result is lost");
    int code = root_block_parse(bytes, g->site->number, times_at(g->site->all, i), &b, e);
    if (code == 0 && b.flags & ROOT_HOLE)
        return err_set(e, ERR_NOT_COVERED, "a time has no result that could be kept");
    if (code == 0)
        code = eval_check(g->ev, b.n, e);
    for (uint32_t k = 0, place = 0; k < b.n && code == 0; k++) {
        code = group_place(g, root_block_group(&b, k), &place, e);
        if (code == 0)
            g->series[place].v[i] = root_block_value(&b, k);
    }
    return code;
}

static int read_kept(struct gathered *g, const struct source *source, struct err *e)
{
    const struct stored_site *s = g->site;
    struct root_reader reader = {0};
    bool next = false;
    int code = 0;
    for (uint32_t i = 0; i < s->all->n && code == 0; i++) {
        struct str bytes;
        if (!is_kept(s, i)) {
            next = false;
            continue;
        }
        code = root_reader_at(&reader, g->ev->txn, s->number, times_at(s->all, i), next, &bytes, e);
        if (code == 0)
            code = read_row(g, i, bytes, e);
        next = true;
        if (code == ERR_CORRUPT) {
            struct root_record now;
            struct err ignored;
            /* Retention may have been there between the snapshot and the transaction; that is no damage. */
            bool dropped =
                root_find(g->ev->txn, s->identity, &now, &ignored) == 0 && times_at(s->all, i) <= now.complete_from_ms;
            if (!dropped)
                source->root_doubt(source->ctx, s->identity, times_at(s->all, i));
            code = e->code = ERR_NOT_COVERED;
        }
    }
    root_reader_done(&reader);
    return code;
}

static bool overlaps(const double *a, const double *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!value_absent(a[i]) && !value_absent(b[i]))
            return true;
    return false;
}

/* Two series of a vector may have equal labels as long as they have no time in common; those that have stay apart, as
 * they would in an answer from raw. */
static int add_computed(struct gathered *g, const struct stored_run *run, const struct vec_series *from, struct err *e)
{
    struct wanted_series w = {g, from};
    uint64_t hash = labels_hash(&from->labels, map_seed());
    int64_t known = map_find(&g->by_labels, hash, same_series, &w);
    struct vec_series *to = known < 0 ? NULL : &g->series[known];
    if (!to || overlaps(to->v + run->first, from->v, run->times.n)) {
        to = add_series(g, &from->labels, from->drop_name, e);
        if (!to)
            return e->code;
        if (known < 0)
            map_add(&g->by_labels, hash, g->n - 1, hash_of_labels, g);
    }
    for (uint32_t i = 0; i < run->times.n; i++) {
        const struct histogram *h = vec_histogram(from, i);
        if (h && !series_put_histogram(g->ev, to, g->site->all->n, run->first + i, h))
            return arena_check(g->ev->arena, "query", e);
        if (!h && !value_absent(from->v[i]))
            to->v[run->first + i] = from->v[i];
    }
    return 0;
}

static int compute_run(struct gathered *g, const struct stored_run *run, struct err *e)
{
    struct value v;
    int code = eval_expr(g->ev, run->expr, &run->times, &v, e);
    for (uint32_t i = 0; code == 0 && i < v.series_n; i++) {
        code = add_computed(g, run, &v.series[i], e);
        if (code == 0)
            code = eval_check(g->ev, 0, e);
    }
    return code;
}

int stored_eval(struct eval *ev, const struct source *source, const struct stored_site *s, struct value *ret,
                struct err *e)
{
    struct gathered g = {.ev = ev, .site = s};
    map_init(&g.by_group);
    map_init(&g.by_labels);
    int code = s->kept_n > 0 ? read_kept(&g, source, e) : 0;
    for (uint32_t i = 0; code == 0 && s->runs_n > 0 && i < g.n; i++)
        map_add(&g.by_labels, hash_of_labels(&g, i), i, hash_of_labels, &g);
    for (uint32_t i = 0; code == 0 && i < s->runs_n; i++)
        code = compute_run(&g, &s->runs[i], e);
    map_done(&g.by_group);
    map_done(&g.by_labels);
    if (code == 0)
        *ret = (struct value){.type = VALUE_VECTOR, .series = g.series, .series_n = g.n};
    return code;
}
