/*
 * Functions of the values of a label, by other labels:
 *
 *     distinct_label_over_time("label", m[R], "by", ...)   how many values had a sample in the window
 *     topk_label_over_time(k, "label", m[R], "by", ...)    the k values with the largest sum of samples, one series
 * each entropy_label_over_time, l2_label_over_time          of the values' sums, taken as frequencies
 *
 * Each value of the label in each group is one row: the compensated sum of its series' samples at every time. Series
 * without the label take no part. All rows are put together first, then each group is read out time by time.
 */
#include <math.h>
#include <stdlib.h>

#include "base/map.h"
#include "executor/raw.h"

struct row {
    struct labels by;   /* the group */
    struct labels full; /* with the label */
    double *sum, *c;    /* [t->n]; sum VALUE_ABSENT without samples */
};
struct row_index {
    const struct row *rows;
    const struct labels *wanted;
};
struct label_run {
    struct eval *ev;
    const struct expr *call, *range;
    const struct times *t;
    struct str label;
    struct str *by;
    uint32_t by_n;
    const double *k; /* topk: per step */
    struct range_series series;
    double *window; /* [t->n]: sums of the series at hand */
    struct row *rows;
    uint32_t rows_n;
    size_t rows_cap;
    struct map index;
};

static bool same_row(const void *ctx, uint32_t i)
{
    const struct row_index *x = ctx;
    return labels_eq(&x->rows[i].full, x->wanted);
}

static uint64_t row_hash(const void *ctx, uint32_t i)
{
    const struct row_index *x = ctx;
    return labels_hash(&x->rows[i].full, map_seed());
}

static struct row *row_of(struct label_run *r, const struct labels *labels, struct str value)
{
    struct arena *a = r->ev->arena;
    struct row row = {0};
    labels_keep(labels, r->by, r->by_n, a, &row.by);
    labels_with(&row.by, r->label, value, a, &row.full);
    struct row_index x = {r->rows, &row.full};
    uint64_t hash = labels_hash(&row.full, map_seed());
    int64_t found = map_find(&r->index, hash, same_row, &x);
    if (found >= 0)
        return &r->rows[found];
    row.sum = value_array_absent(r->ev, r->t->n);
    row.c = arena_zalloc(a, r->t->n * sizeof *row.c);
    struct row *grown = arena_grow(a, r->rows, &r->rows_cap, r->rows_n + 1u, sizeof *grown);
    if (arena_failed(a))
        return NULL;
    r->rows = grown;
    x.rows = grown;
    r->rows[r->rows_n] = row;
    map_add(&r->index, hash, r->rows_n, row_hash, &x);
    return &r->rows[r->rows_n++];
}

/* Sums are of numbers: a series' histograms are left out. */
static const struct range_function label_sum = {FUNCTION_sum_over_time, range_sum, range_prepare_sums};

static int label_series(void *ctx, const struct range_samples *samples, struct err *e)
{
    struct label_run *r = ctx;
    double absent = float_stale();
    struct str value = labels_get(samples->labels, r->label);
    struct vec_series window = {.v = r->window};
    if (value.n == 0)
        return 0;
    for (uint32_t i = 0; i < r->t->n; i++)
        memcpy(&r->window[i], &absent, sizeof absent);
    range_series_set(&r->series, r->range, samples);
    if (!range_windows(&r->series, &label_sum, r->range, r->t, &window))
        return 0;
    struct row *row = row_of(r, samples->labels, value);
    if (!row)
        return arena_check(r->ev->arena, "query", e);
    for (uint32_t i = 0; i < r->t->n; i++) {
        if (value_absent(r->window[i]))
            continue;
        if (value_absent(row->sum[i]))
            row->sum[i] = 0;
        kahan_add(r->window[i], &row->sum[i], &row->c[i]);
    }
    return 0;
}

static int rows_by_group(const void *pa, const void *pb)
{
    const struct row *a = pa, *b = pb;
    int order = labels_cmp(&a->by, &b->by);
    return order != 0 ? order : labels_cmp(&a->full, &b->full);
}

static double row_value(const struct row *row, uint32_t i)
{
    return value_absent(row->sum[i]) || isinf(row->sum[i]) ? row->sum[i] : row->sum[i] + row->c[i];
}

/* One number for the rows of a group at time i, or VALUE_ABSENT. */
static double read_out(enum function_id id, const struct row *rows, uint32_t n, uint32_t i)
{
    double total = 0, squares = 0, entropy = 0;
    uint32_t present = 0;
    for (uint32_t k = 0; k < n; k++) {
        double v = row_value(&rows[k], i);
        if (value_absent(v))
            continue;
        present++;
        total += v;
        squares += v * v;
    }
    if (present == 0)
        return float_stale();
    if (id == FUNCTION_distinct_label_over_time)
        return present;
    if (id == FUNCTION_l2_label_over_time)
        return sqrt(squares);
    for (uint32_t k = 0; k < n; k++) {
        double v = row_value(&rows[k], i), p = v / total;
        if (!value_absent(v) && !(p <= 0))
            entropy -= p * log2(p);
    }
    return entropy + 0.0;
}

static bool larger(double a, double b)
{
    return isnan(b) ? !isnan(a) : a > b;
}

/* At time i row a is of the list rather than row b: it is larger, or as large and comes first. */
static bool goes_before(const struct row *rows, uint32_t i, uint32_t a, uint32_t b)
{
    double x = row_value(&rows[a], i), y = row_value(&rows[b], i);
    return larger(x, y) || (!larger(y, x) && a < b);
}

/* Puts `at` where the top of a heap was, whose top is the row that goes last. */
static void sift_down(const struct row *rows, uint32_t i, uint32_t *heap, uint32_t n, uint32_t at)
{
    uint32_t hole = 0;
    for (uint64_t child = 1; child < n; child = 2 * (uint64_t)hole + 1) {
        if (child + 1 < n && goes_before(rows, i, heap[child], heap[child + 1]))
            child++;
        if (!goes_before(rows, i, at, heap[child]))
            break;
        heap[hole] = heap[child];
        hole = (uint32_t)child;
    }
    heap[hole] = at;
}

static void sift_up(const struct row *rows, uint32_t i, uint32_t *heap, uint32_t hole, uint32_t at)
{
    for (; hole > 0 && goes_before(rows, i, heap[(hole - 1) / 2], at); hole = (hole - 1) / 2)
        heap[hole] = heap[(hole - 1) / 2];
    heap[hole] = at;
}

/* Into heap the k rows that go before all others at time i, in no order; returns how many there are. */
static uint32_t top_at(const struct row *rows, uint32_t n, uint32_t i, double k, uint32_t *heap)
{
    uint32_t most = k >= n ? n : k >= 1 ? (uint32_t)k : 0, kept = 0;
    for (uint32_t at = 0; at < n && most > 0; at++) {
        if (value_absent(rows[at].sum[i]))
            continue;
        if (kept < most)
            sift_up(rows, i, heap, kept++, at);
        else if (goes_before(rows, i, at, heap[0]))
            sift_down(rows, i, heap, kept, at);
    }
    return kept;
}

static int top_of_group(struct label_run *r, const struct row *rows, uint32_t n, struct value *out, struct err *e)
{
    double **v = ARENA_ARRAY(r->ev->arena, double *, n); /* NULL: of no list */
    uint32_t *heap = ARENA_ARRAY(r->ev->arena, uint32_t, n);
    int code = arena_check(r->ev->arena, "query", e);
    if (code == 0)
        memset(v, 0, n * sizeof *v);
    for (uint32_t i = 0; code == 0 && i < r->t->n; i++) {
        code = eval_check(r->ev, 0, e);
        uint32_t kept = code == 0 ? top_at(rows, n, i, r->k[i], heap) : 0;
        for (uint32_t h = 0; code == 0 && h < kept; h++) {
            uint32_t at = heap[h];
            if (!v[at])
                v[at] = value_array_absent(r->ev, r->t->n);
            if (v[at])
                v[at][i] = row_value(&rows[at], i);
            else
                code = arena_check(r->ev->arena, "query", e);
        }
    }
    for (uint32_t at = 0; code == 0 && at < n; at++)
        if (v[at])
            out->series[out->series_n++] = (struct vec_series){.labels = rows[at].full, .v = v[at]};
    return code;
}

static int read_groups(struct label_run *r, struct value *out, struct err *e)
{
    enum function_id id = r->call->function->id;
    if (r->rows_n > 1)
        qsort(r->rows, r->rows_n, sizeof *r->rows, rows_by_group);
    out->series = ARENA_ARRAY(r->ev->arena, struct vec_series, r->rows_n);
    int code = arena_check(r->ev->arena, "query", e);
    for (uint32_t first = 0, end; code == 0 && first < r->rows_n; first = end) {
        const struct row *rows = r->rows + first;
        for (end = first + 1; end < r->rows_n && labels_eq(&rows->by, &r->rows[end].by);)
            end++;
        if (id == FUNCTION_topk_label_over_time) {
            code = top_of_group(r, rows, end - first, out, e);
            continue;
        }
        double *v = value_array(r->ev, r->t->n);
        code = eval_check(r->ev, 0, e);
        for (uint32_t i = 0; code == 0 && i < r->t->n; i++)
            v[i] = read_out(id, rows, end - first, i);
        out->series[out->series_n++] = (struct vec_series){.labels = rows->by, .v = v};
    }
    return code;
}

/* The first string is the label, those after it are the labels to group by. */
static int label_args(struct label_run *r, struct err *e)
{
    bool first = true;
    r->by = ARENA_ARRAY(r->ev->arena, struct str, r->call->args_n);
    r->window = value_array(r->ev, r->t->n);
    int code = arena_check(r->ev->arena, "query", e);
    for (uint32_t i = 0; code == 0 && i < r->call->args_n; i++) {
        const struct expr *arg = expr_unwrap(r->call->args[i]);
        struct value v;
        if (arg->type == VALUE_STRING) {
            if (arg->string.n == 0 || !utf8_valid(arg->string.p, arg->string.n))
                return err_set(e, ERR_EXECUTION, "invalid label name in %s(): \"" STR_FMT "\"", r->call->function->name,
                               STR_ARG(arg->string));
            if (first)
                r->label = arg->string;
            else
                r->by[r->by_n++] = arg->string;
            first = false;
        } else if (arg->type == VALUE_SCALAR) {
            code = eval_expr(r->ev, arg, r->t, &v, e);
            r->k = v.v;
        }
    }
    return code;
}

int label_over_time_call(struct eval *ev, const struct expr *call, const struct times *t, struct value *ret,
                         struct err *e)
{
    struct label_run r = {.ev = ev, .call = call, .range = range_argument(call), .t = t};
    range_series_init(&r.series, ev, call, e);
    struct value out = {.type = VALUE_VECTOR};
    map_init(&r.index);
    int code = label_args(&r, e);
    if (code == 0)
        code = range_scan(ev, r.range, t, NULL, label_series, &r, e);
    if (code == 0)
        code = read_groups(&r, &out, e);
    range_series_done(&r.series);
    map_done(&r.index);
    if (code == 0)
        *ret = out;
    return code;
}
