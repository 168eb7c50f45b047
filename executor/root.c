#include "executor/root.h"

#include "base/histogram.h"
#include "base/map.h"
#include "executor/snapshot.h"
#include "plan/root_expr.h"

static const struct query_limits no_limits = {0};

/* One evaluation over `t`. *ret_kept is false when what it says cannot be kept. */
static int evaluate(const struct root_run *r, const struct times *t, struct arena *a, struct value *ret, bool *ret_kept,
                    uint64_t *samples_n, struct err *e)
{
    struct notes notes = {.arena = a};
    struct eval ev = {.arena = a,
                      .limits = &no_limits,
                      .lookback_ms = ROOT_LOOKBACK_MS,
                      .default_step_ms = ROOT_STEP_MS,
                      .query = *t,
                      .query_end_ms = times_at(t, t->n - 1),
                      .notes = &notes,
                      .pool = r->pool};
    struct snapshot snapshot;
    snapshot_init(&snapshot, a);
    int code = snapshot_add_expr(&snapshot, &ev, r->expr, t, e);
    if (code == 0)
        code = snapshot_take(&snapshot, r->source, &ev, e);
    if (code == 0)
        code = eval_expr(&ev, r->expr, t, ret, e);
    snapshot_done(&snapshot, &ev);
    *samples_n += ev.samples_n;
    *ret_kept = code == 0 && notes.warnings_n == 0;
    return code == ERR_EXECUTION || code == ERR_BAD_DATA ? 0 : code;
}

/* ---- two values of one label set ---- */

struct seen {
    const struct vec_series *series;
    const struct vec_series *wanted;
};

static bool same(const void *ctx, uint32_t i)
{
    const struct seen *s = ctx;
    return s->series[i].drop_name == s->wanted->drop_name && labels_eq(&s->series[i].labels, &s->wanted->labels);
}

static uint64_t hash_of(const void *ctx, uint32_t i)
{
    return labels_hash(&((const struct seen *)ctx)->series[i].labels, map_seed());
}

/* Series of equal labels become one; where both have a value is a hole. */
static void merge_equal(struct value *v, uint32_t n, bool *hole)
{
    struct map index;
    uint32_t kept = 0;
    map_init(&index);
    for (uint32_t i = 0; i < v->series_n; i++) {
        struct seen s = {v->series, &v->series[i]};
        uint64_t hash = hash_of(&s, i);
        int64_t before = map_find(&index, hash, same, &s);
        if (before < 0) {
            v->series[kept] = v->series[i];
            map_add(&index, hash, kept++, hash_of, &s);
            continue;
        }
        double *into = v->series[before].v, *from = v->series[i].v;
        for (uint32_t k = 0; k < n; k++) {
            hole[k] |= !value_absent(into[k]) && !value_absent(from[k]);
            if (value_absent(into[k]))
                into[k] = from[k];
        }
    }
    map_done(&index);
    v->series_n = kept;
}

/* ---- parts ---- */

struct part {
    uint32_t first, n;
    struct value v;
};

/* A range that cannot be kept as a whole is halved until the times that are to blame stand alone. */
static int evaluate_part(const struct root_run *r, uint32_t first, uint32_t n, struct arena *a, struct part *parts,
                         uint32_t *parts_n, struct root_output *out, struct err *e)
{
    const struct times t = {times_at(&r->times, first), r->times.step_ms, n};
    struct value v = {0};
    bool kept = false;
    int code = evaluate(r, &t, a, &v, &kept, &out->samples_n, e);
    if (code != 0)
        return code;
    if (kept) {
        parts[(*parts_n)++] = (struct part){first, n, v};
        return 0;
    }
    *e = (struct err){0};
    if (n == 1) {
        out->hole[first] = true;
        return 0;
    }
    code = evaluate_part(r, first, n / 2, a, parts, parts_n, out, e);
    return code != 0 ? code : evaluate_part(r, first + n / 2, n - n / 2, a, parts, parts_n, out, e);
}

static int join(const struct root_run *r, struct part *parts, uint32_t parts_n, struct arena *a,
                struct root_output *out, struct err *e)
{
    struct value all = {.type = VALUE_VECTOR};
    const double absent = float_stale();
    for (uint32_t i = 0; i < parts_n; i++)
        all.series_n += parts[i].v.series_n;
    if (parts_n == 1 && parts[0].n == r->times.n) {
        all = parts[0].v;
    } else {
        all.series = ARENA_ARRAY(a, struct vec_series, all.series_n + 1u);
        all.series_n = 0;
        for (uint32_t i = 0; all.series && i < parts_n; i++)
            for (uint32_t k = 0; k < parts[i].v.series_n; k++) {
                struct vec_series s = parts[i].v.series[k];
                double *v = ARENA_ARRAY(a, double, r->times.n);
                if (!v)
                    break;
                for (uint32_t j = 0; j < r->times.n; j++)
                    memcpy(&v[j], &absent, sizeof absent);
                memcpy(v + parts[i].first, s.v, parts[i].n * sizeof *v);
                s.v = v;
                all.series[all.series_n++] = s;
            }
    }
    int code = arena_check(a, "refresh", e);
    if (code != 0)
        return code;
    merge_equal(&all, r->times.n, out->hole);
    for (uint32_t i = 0; i < all.series_n; i++)
        for (uint32_t k = 0; k < r->times.n; k++)
            out->hole[k] |= float_is_histogram(all.series[i].v[k]);
    out->series = all.series;
    out->series_n = all.series_n;
    return 0;
}

int root_evaluate(const struct root_run *r, struct arena *a, struct root_output *ret, struct err *e)
{
    struct root_output out = {.hole = arena_zalloc(a, r->times.n + 1u)};
    struct part *parts = ARENA_ARRAY(a, struct part, r->times.n);
    uint32_t parts_n = 0;
    int code = arena_check(a, "refresh", e);
    if (code == 0)
        code = evaluate_part(r, 0, r->times.n, a, parts, &parts_n, &out, e);
    if (code == 0)
        code = join(r, parts, parts_n, a, &out, e);
    if (code == 0)
        *ret = out;
    return code;
}
