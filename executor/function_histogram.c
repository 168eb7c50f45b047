/*
 * histogram_quantile(), histogram_quantiles() and histogram_fraction() over classic histograms: series that differ in
 * `le` alone are one histogram. Bounds are read and sorted once; a step takes the buckets that have a value then.
 */
#include <math.h>
#include <stdlib.h>
#include <time.h>

#include "executor/apply.h"
#include "executor/buckets.h"
#include "executor/label_index.h"

struct bound {
    double bound;
    const struct vec_series *series;
    uint32_t place; /* equal bounds keep their order */
};
struct classic {
    struct labels labels; /* without le */
    const struct bound *bounds;
    uint32_t bounds_n;
};
/* One info for all histograms of a name that had to be repaired. */
struct repair_note {
    struct str name;
    struct bucket_repair repair;
    uint64_t samples_n;
    int64_t first_ms, last_ms;
};
struct classics {
    const struct apply *c;
    struct classic *list;
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
        if (float_parse(labels_get(&series->labels, STR("le")), &bounds[ret_series->series_n]))
            ret_series->series[ret_series->series_n++] = *series;
        else if (apply_any(series->v, c->t->n))
            note_bad_bound(c, argument, &series->labels);
    }
    *ret_bounds = bounds;
    return 0;
}

static int lay_out(const struct apply *c, const struct value *series, const double *bounds,
                   const struct label_groups *groups, const struct labels *labels, struct classics *ret, struct err *e)
{
    struct arena *arena = c->ev->arena;
    struct bound *all = ARENA_ARRAY(arena, struct bound, series->series_n);
    struct classic *list = ARENA_ARRAY(arena, struct classic, groups->n);
    uint32_t largest = 0;
    if (!all || !list)
        return apply_full(c, e);
    for (uint32_t m = 0; m < series->series_n; m++) {
        uint32_t s = groups->members[m];
        all[m] = (struct bound){bounds[s], &series->series[s], m};
    }
    for (uint32_t g = 0; g < groups->n; g++) {
        uint32_t n = groups->starts[g + 1] - groups->starts[g];
        list[g] = (struct classic){labels[g], all + groups->starts[g], n};
        qsort(all + groups->starts[g], n, sizeof *all, by_bound);
        largest = n > largest ? n : largest;
    }
    *ret = (struct classics){.c = c, .list = list, .n = groups->n, .room = ARENA_ARRAY(arena, struct bucket, largest)};
    return apply_full(c, e);
}

static int histograms_make(const struct apply *c, uint32_t argument, struct classics *ret, struct err *e)
{
    const struct str le = STR("le");
    const struct label_key key = {LABEL_KEY_BUT, &le, 1};
    struct value series;
    double *bounds = NULL;
    int code = read_bounds(c, c->expr->args[argument], &c->args[argument], &series, &bounds, e);
    if (code != 0)
        return code;
    struct label_index index;
    struct label_groups groups;
    const uint32_t *of;
    label_index_init(&index, c->ev->arena);
    code = label_groups_number(&index, &key, &series, c->ev, &of, e);
    if (code == 0)
        code = label_groups_lay_out(c->ev, of, series.series_n, index.n, &groups, e);
    label_index_done(&index);
    return code != 0 ? code : lay_out(c, &series, bounds, &groups, index.sets, ret, e);
}

/* The buckets that have a value at a step. */
static uint32_t gather(const struct classic *h, uint32_t step, struct bucket *room)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < h->bounds_n; i++) {
        double count = h->bounds[i].series->v[step];
        if (!value_absent(count))
            room[n++] = (struct bucket){h->bounds[i].bound, count};
    }
    return n;
}

static int add_repair(struct classics *all, const struct classic *h, uint32_t step, const struct bucket_repair *r,
                      struct err *e)
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

static void note_repairs(const struct classics *all, const struct expr *argument)
{
    struct note_text text;
    struct str place = eval_place(all->c->ev, argument->start, text.place);
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

/* Quantiles q[step] of one histogram into out, at the steps where q[step] has the bits of `only` (NULL: at all). */
static int quantiles(struct classics *all, const struct classic *h, const double *q, const double *only, double *out,
                     struct err *e)
{
    int code = 0;
    for (uint32_t i = 0; i < all->c->t->n && code == 0; i++) {
        struct bucket_repair repair;
        if (only && memcmp(only, &q[i], sizeof q[i]) != 0)
            continue;
        uint32_t n = gather(h, i, all->room);
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
static int labelled_quantiles(struct classics *all, uint32_t argument, struct value *ret, size_t *cap, struct err *e)
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
    struct classics all;
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
    note_repairs(&all, c->expr->args[0]);
    return code != 0 ? code : value_merge_duplicates(c->ev, ret, c->t, e);
}

int histogram_quantile_apply(const struct apply *c, struct value *ret, struct err *e)
{
    if (c->expr->function->id == FUNCTION_histogram_quantiles)
        return many_quantiles(c, ret, e);
    struct classics all;
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
    note_repairs(&all, c->expr->args[1]);
    return code;
}

int histogram_fraction_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct classics all;
    int code = histograms_make(c, 2, &all, e);
    if (code == 0)
        code = apply_make_vector(c, all.n, ret, e);
    for (uint32_t g = 0; code == 0 && g < all.n; g++) {
        double *out = value_array_absent(c->ev, c->t->n);
        if (!out)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++) {
            uint32_t n = gather(&all.list[g], i, all.room);
            if (n)
                out[i] = bucket_fraction(c->args[0].v[i], c->args[1].v[i], all.room, n);
        }
        if (apply_any(out, c->t->n))
            ret->series[ret->series_n++] = (struct vec_series){all.list[g].labels, true, out};
        code = eval_check(c->ev, 0, e);
    }
    return code;
}
