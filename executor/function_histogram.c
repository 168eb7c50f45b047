/*
 * histogram_quantile(), histogram_quantiles() and histogram_fraction(), over classic and native histograms together.
 * Series of numbers that differ in `le` alone are one classic histogram: bounds are read and sorted once; a step takes
 * the buckets that have a value then. A series of native histograms is one by itself. Where a classic and a native one
 * have the same labels at the same time, neither is answered.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "executor/apply.h"
#include "executor/buckets.h"
#include "executor/label_index.h"
#include "executor/note_histogram.h"

struct bound {
    double bound;
    const struct vec_series *series;
    uint32_t place; /* equal bounds keep their order */
};
struct source_histogram {
    struct labels labels; /* of a classic one without le */
    const struct bound *bounds;
    uint32_t bounds_n;
    const struct vec_series *const *natives; /* more than one when they share no time */
    uint32_t natives_n;
};
/* One info for all histograms of a name that had to be repaired. */
struct repair_note {
    struct str name;
    struct bucket_repair repair;
    uint64_t samples_n;
    int64_t first_ms, last_ms;
};
struct histograms {
    const struct apply *c;
    const struct expr *argument; /* the vector's */
    struct source_histogram *list;
    uint32_t n;
    struct bucket *room; /* as many as the largest has */
    struct repair_note *notes;
    uint32_t notes_n;
    size_t notes_cap;
};

static void note_bad_bound(const struct apply *c, const struct expr *argument, const struct labels *l)
{
    struct note_text text;
    struct strbuf said = {0};
    struct str name = labels_get(l, STR(LABEL_NAME)), place = eval_place(c->ev, argument->start, text.place);
    strbuf_add_z(&said, "PromQL warning: bucket label \"le\" is missing or has a malformed value of ");
    strbuf_add_go_quoted(&said, labels_get(l, STR("le")));
    if (name.n) {
        strbuf_add_z(&said, " for metric name ");
        strbuf_add_go_quoted(&said, name);
    }
    notes_warn(c->ev->notes, STR_FMT STR_FMT, (int)said.n, said.p, STR_ARG(place));
    strbuf_done(&said);
}

/* Upwards; NaN, which bounds nothing, first. */
static int by_bound(const void *pa, const void *pb)
{
    const struct bound *a = pa, *b = pb;
    if (isnan(a->bound) != isnan(b->bound))
        return isnan(a->bound) ? -1 : 1;
    if (a->bound != b->bound && !isnan(a->bound))
        return a->bound < b->bound ? -1 : 1;
    return (a->place > b->place) - (a->place < b->place);
}

/* The series of the argument that have a readable le, and those bounds. */
static int read_bounds(const struct apply *c, const struct expr *argument, const struct value *vector,
                       struct value *ret_series, double **ret_bounds, struct err *e)
{
    double *bounds = ARENA_ARRAY(c->ev->arena, double, vector->series_n);
    int code = apply_make_vector(c, vector->series_n, ret_series, e);
    if (code != 0 || !bounds)
        return apply_full(c, e);
    for (uint32_t s = 0; s < vector->series_n; s++) {
        const struct vec_series *series = &vector->series[s];
        if (series->h && !series_any_number(series, c->t->n))
            continue;
        double *numbers = series_numbers(c->ev, series, c->t->n);
        if (!numbers)
            return apply_full(c, e);
        if (float_parse(labels_get(&series->labels, STR("le")), &bounds[ret_series->series_n]))
            ret_series->series[ret_series->series_n++] =
                (struct vec_series){series->labels, series->drop_name, numbers};
        else if (apply_any(numbers, c->t->n))
            note_bad_bound(c, argument, &series->labels);
    }
    *ret_bounds = bounds;
    return 0;
}

/* The series of the argument that have native histograms. */
static int find_natives(const struct apply *c, const struct value *vector, struct value *ret_series, struct err *e)
{
    int code = apply_make_vector(c, vector->series_n, ret_series, e);
    for (uint32_t s = 0; s < vector->series_n && code == 0; s++) {
        if (vector->series[s].h)
            ret_series->series[ret_series->series_n++] = vector->series[s];
    }
    return code;
}

static int lay_out(const struct apply *c, const struct value *classic, const double *bounds,
                   const struct label_groups *classic_by, const struct value *native,
                   const struct label_groups *native_by, const struct labels *labels, struct histograms *ret,
                   struct err *e)
{
    struct arena *arena = c->ev->arena;
    struct bound *all = ARENA_ARRAY(arena, struct bound, classic->series_n);
    const struct vec_series **natives = ARENA_ARRAY(arena, const struct vec_series *, native->series_n);
    struct source_histogram *list = ARENA_ARRAY(arena, struct source_histogram, classic_by->n);
    uint32_t largest = 0;
    if (!all || !natives || !list)
        return apply_full(c, e);
    for (uint32_t m = 0; m < classic->series_n; m++) {
        uint32_t s = classic_by->members[m];
        all[m] = (struct bound){bounds[s], &classic->series[s], m};
    }
    for (uint32_t m = 0; m < native->series_n; m++)
        natives[m] = &native->series[native_by->members[m]];
    for (uint32_t g = 0; g < classic_by->n; g++) {
        const uint32_t *starts = classic_by->starts + g, *native_starts = native_by->starts + g;
        uint32_t n = starts[1] - starts[0];
        list[g] = (struct source_histogram){labels[g], all + starts[0], n, natives + native_starts[0],
                                            native_starts[1] - native_starts[0]};
        if (n > 1)
            qsort(all + starts[0], n, sizeof *all, by_bound);
        largest = n > largest ? n : largest;
    }
    ret->list = list;
    ret->n = classic_by->n;
    ret->room = ARENA_ARRAY(arena, struct bucket, largest);
    return apply_full(c, e);
}

static int histograms_make(const struct apply *c, uint32_t argument, struct histograms *ret, struct err *e)
{
    const struct str le = STR("le");
    const struct label_key but_le = {LABEL_KEY_BUT, &le, 1}, all = {.kind = LABEL_KEY_ALL};
    struct value classic, native;
    double *bounds = NULL;
    *ret = (struct histograms){.c = c, .argument = c->expr->args[argument]};
    int code = read_bounds(c, ret->argument, &c->args[argument], &classic, &bounds, e);
    if (code == 0)
        code = find_natives(c, &c->args[argument], &native, e);
    if (code != 0)
        return code;
    struct label_index index;
    struct label_groups classic_by, native_by;
    const uint32_t *of, *native_of;
    label_index_init(&index, c->ev->arena);
    code = label_groups_number(&index, &but_le, &classic, c->ev, &of, e);
    if (code == 0)
        code = label_groups_number(&index, &all, &native, c->ev, &native_of, e);
    if (code == 0)
        code = label_groups_lay_out(c->ev, of, classic.series_n, index.n, &classic_by, e);
    if (code == 0)
        code = label_groups_lay_out(c->ev, native_of, native.series_n, index.n, &native_by, e);
    label_index_done(&index);
    return code != 0 ? code : lay_out(c, &classic, bounds, &classic_by, &native, &native_by, index.sets, ret, e);
}

/* The buckets that have a value at a step. */
static uint32_t gather(const struct source_histogram *h, uint32_t step, struct bucket *room)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->bounds_n; i++) {
        double count = h->bounds[i].series->v[step];
        if (!value_absent(count))
            room[n++] = (struct bucket){h->bounds[i].bound, count};
    }
    return n;
}

/* What there is at a step: the native histogram, or the classic one's buckets in the room. Neither when there are both.
 */
static const struct histogram *read_step(const struct histograms *all, const struct source_histogram *h, uint32_t step,
                                         uint32_t *ret_buckets_n)
{
    const struct histogram *native = NULL;
    for (uint32_t i = 0; i < h->natives_n && !native; i++)
        native = vec_histogram(h->natives[i], step);
    *ret_buckets_n = gather(h, step, all->room);
    if (native && *ret_buckets_n) {
        note_mixed_classic(all->c->ev, labels_get(&h->labels, STR(LABEL_NAME)), all->argument->start);
        *ret_buckets_n = 0;
        return NULL;
    }
    return native;
}

static int add_repair(struct histograms *all, const struct source_histogram *h, uint32_t step,
                      const struct bucket_repair *r, struct err *e)
{
    struct str name = labels_get(&h->labels, STR(LABEL_NAME));
    int64_t at_ms = times_at(all->c->t, step);
    uint32_t i = 0;
    while (i < all->notes_n && !str_eq(all->notes[i].name, name))
        i++;
    if (i == all->notes_n) {
        struct repair_note *notes =
            arena_grow(all->c->ev->arena, all->notes, &all->notes_cap, (size_t)i + 1, sizeof *notes);
        if (!notes)
            return apply_full(all->c, e);
        all->notes = notes;
        notes[all->notes_n++] = (struct repair_note){name, *r, 1, at_ms, at_ms};
        return 0;
    }
    struct repair_note *note = &all->notes[i];
    note->repair.low_bound = fmin(note->repair.low_bound, r->low_bound);
    note->repair.high_bound = fmax(note->repair.high_bound, r->high_bound);
    note->repair.difference = fmax(note->repair.difference, r->difference);
    note->samples_n++;
    note->first_ms = at_ms < note->first_ms ? at_ms : note->first_ms;
    note->last_ms = at_ms > note->last_ms ? at_ms : note->last_ms;
    return 0;
}

static void date_text(int64_t ms, char ret[64])
{
    time_t s = (time_t)(ms / 1000);
    struct tm parts;
    if (!gmtime_r(&s, &parts) || strftime(ret, 64, "%Y-%m-%dT%H:%M:%SZ", &parts) == 0)
        ret[0] = 0;
}

static void note_repairs(const struct histograms *all)
{
    struct note_text text;
    struct str place = eval_place(all->c->ev, all->argument->start, text.place);
    for (uint32_t i = 0; i < all->notes_n; i++) {
        const struct repair_note *note = &all->notes[i];
        struct strbuf name = {0};
        char low[FLOAT_TEXT_MAX], high[FLOAT_TEXT_MAX], first[64], last[64];
        if (note->name.n) {
            strbuf_add_z(&name, " for metric name ");
            strbuf_add_go_quoted(&name, note->name);
        }
        float_format_e(note->repair.low_bound, low);
        float_format_e(note->repair.high_bound, high);
        date_text(note->first_ms, first);
        date_text(note->last_ms, last);
        notes_info(all->c->ev->notes,
                   "PromQL info: input to histogram_quantile needed to be fixed for monotonicity (see "
                   "https://prometheus.io/docs/prometheus/latest/querying/functions/#histogram_quantile)" STR_FMT
                   ", from buckets %s to %s, with a max diff of %.2g, over %llu samples from %s to %s" STR_FMT,
                   (int)name.n, name.p, low, high, note->repair.difference, (unsigned long long)note->samples_n, first,
                   last, STR_ARG(place));
        strbuf_done(&name);
    }
}

static double native_quantile(const struct histograms *all, const struct source_histogram *source,
                              const struct histogram *h, double q)
{
    unsigned notes = 0;
    double v = histogram_quantile(h, q, &notes);
    note_histogram_bits(all->c->ev, notes, labels_get(&source->labels, STR(LABEL_NAME)), all->argument->start);
    return v;
}

static double native_fraction(const struct histograms *all, const struct source_histogram *source,
                              const struct histogram *h, double lower, double upper)
{
    unsigned notes = 0;
    double v = histogram_fraction(h, lower, upper, &notes);
    note_histogram_bits(all->c->ev, notes, labels_get(&source->labels, STR(LABEL_NAME)), all->argument->start);
    return v;
}

/* Quantiles q[step] of one histogram into out, at the steps where q[step] has the bits of `only` (NULL: at all). */
static int quantiles(struct histograms *all, const struct source_histogram *h, const double *q, const double *only,
                     double *out, struct err *e)
{
    int code = 0;
    for (uint32_t i = 0; i < all->c->t->n && code == 0; i++) {
        struct bucket_repair repair;
        if (only && memcmp(only, &q[i], sizeof q[i]) != 0)
            continue;
        uint32_t n;
        const struct histogram *native = read_step(all, h, i, &n);
        if (native)
            out[i] = native_quantile(all, h, native, q[i]);
        if (n == 0)
            continue;
        out[i] = bucket_quantile(q[i], all->room, n, &repair);
        if (repair.forced)
            code = add_repair(all, h, i, &repair, e);
    }
    return code != 0 ? code : eval_check(all->c->ev, 0, e);
}

static void note_quantiles(const struct apply *c, uint32_t argument)
{
    const double *q = c->args[argument].v;
    for (uint32_t i = 0; i < c->t->n; i++) {
        if (i == 0 || q[i] != q[i - 1])
            apply_note_quantile(c, c->expr->args[argument], q[i]);
    }
}

/* Go's shortest form, made to look like a number with a point: 0.0, 0.25, 1.0, 1e-05. */
static struct str quantile_text(double q, struct arena *a)
{
    char text[FLOAT_TEXT_MAX];
    int n = float_format_e(q, text);
    bool plain = isfinite(q) && !strpbrk(text, "e.");
    if (q == 0) /* either zero */
        return STR("0.0");
    const char *made = arena_printf(a, plain ? "%s.0" : "%s", text);
    return (struct str){made, made ? (size_t)n + (plain ? 2 : 0) : 0};
}

/* One output per histogram and different value of q; most often q is the same at all steps. */
static int labelled_quantiles(struct histograms *all, uint32_t argument, struct value *ret, size_t *cap, struct err *e)
{
    const struct apply *c = all->c;
    const double *q = c->args[argument].v;
    struct arena *arena = c->ev->arena;
    for (uint32_t i = 0; i < c->t->n; i++) {
        bool known = false;
        for (uint32_t k = i; k > 0 && !known; k--)
            known = memcmp(&q[k - 1], &q[i], sizeof q[i]) == 0;
        if (known)
            continue;
        struct str text = quantile_text(q[i], arena);
        for (uint32_t g = 0; g < all->n; g++) {
            double *out = value_array_absent(c->ev, c->t->n);
            ret->series = arena_grow(arena, ret->series, cap, (size_t)ret->series_n + 1, sizeof *ret->series);
            if (!out || !ret->series)
                return apply_full(c, e);
            struct vec_series *series = &ret->series[ret->series_n++];
            *series = (struct vec_series){.drop_name = true, .v = out};
            labels_with(&all->list[g].labels, c->args[1].string, text, arena, &series->labels);
            int code = quantiles(all, &all->list[g], q, &q[i], out, e);
            if (code != 0)
                return code;
        }
    }
    return apply_full(c, e);
}

static int many_quantiles(const struct apply *c, struct value *ret, struct err *e)
{
    struct histograms all;
    size_t cap = 0;
    if (!label_name_utf8(c->args[1].string))
        return err_set(e, ERR_EXECUTION, "invalid label name in histogram_quantiles(): " STR_FMT,
                       STR_ARG(c->args[1].string));
    for (uint32_t a = 2; a < c->expr->args_n; a++)
        note_quantiles(c, a);
    *ret = (struct value){.type = VALUE_VECTOR};
    int code = histograms_make(c, 0, &all, e);
    if (code != 0)
        return code;
    for (uint32_t a = 2; a < c->expr->args_n && code == 0; a++)
        code = labelled_quantiles(&all, a, ret, &cap, e);
    note_repairs(&all);
    return code != 0 ? code : value_merge_duplicates(c->ev, ret, c->t, e);
}

int histogram_quantile_apply(const struct apply *c, struct value *ret, struct err *e)
{
    if (c->expr->function->id == FUNCTION_histogram_quantiles)
        return many_quantiles(c, ret, e);
    struct histograms all;
    note_quantiles(c, 0);
    int code = histograms_make(c, 1, &all, e);
    if (code == 0)
        code = apply_make_vector(c, all.n, ret, e);
    if (code != 0)
        return code;
    for (uint32_t g = 0; code == 0 && g < all.n; g++) {
        double *out = value_array_absent(c->ev, c->t->n);
        if (!out)
            return apply_full(c, e);
        code = quantiles(&all, &all.list[g], c->args[0].v, NULL, out, e);
        if (apply_any(out, c->t->n))
            ret->series[ret->series_n++] = (struct vec_series){all.list[g].labels, true, out};
    }
    note_repairs(&all);
    return code;
}

int histogram_fraction_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct histograms all;
    int code = histograms_make(c, 2, &all, e);
    if (code == 0)
        code = apply_make_vector(c, all.n, ret, e);
    for (uint32_t g = 0; code == 0 && g < all.n; g++) {
        double *out = value_array_absent(c->ev, c->t->n);
        if (!out)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++) {
            uint32_t n;
            const struct histogram *native = read_step(&all, &all.list[g], i, &n);
            if (native)
                out[i] = native_fraction(&all, &all.list[g], native, c->args[0].v[i], c->args[1].v[i]);
            if (n)
                out[i] = bucket_fraction(c->args[0].v[i], c->args[1].v[i], all.room, n);
        }
        if (apply_any(out, c->t->n))
            ret->series[ret->series_n++] = (struct vec_series){all.list[g].labels, true, out};
        code = eval_check(c->ev, 0, e);
    }
    return code;
}
