/* count_values: a series for each different value of a group, counting how many have it; the value is a label. */
#include <math.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "executor/aggregate.h"

struct tallied {
    uint32_t group;
    uint64_t bits;   /* of a number */
    struct str text; /* of a histogram; p NULL: it is a number */
    double *count;
};

struct value_counts {
    const struct apply *c;
    const struct groups *groups;
    bool labelled; /* the value shows: it does not under without (its own label) */
    struct map map;
    struct strbuf text;
    struct tallied *list;
    uint32_t n;
    size_t cap;
};

struct tallied_key {
    const struct value_counts *counts;
    uint32_t group;
    uint64_t bits;
    struct str text;
};

static bool same_value(const void *ctx, uint32_t i)
{
    const struct tallied_key *k = ctx;
    const struct tallied *t = &k->counts->list[i];
    return t->group == k->group && t->bits == k->bits && !t->text.p == !k->text.p && str_eq(t->text, k->text);
}

/* Two rounds of a 64-bit mix (splitmix64's) with the map's seed. */
static uint64_t value_hash(uint32_t group, uint64_t bits)
{
    uint64_t h = (map_seed() ^ bits) + group * UINT64_C(0x9e3779b97f4a7c15);
    for (int round = 0; round < 2; round++) {
        h = (h ^ (h >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
        h = (h ^ (h >> 27)) * UINT64_C(0x94d049bb133111eb);
        h ^= h >> 31;
    }
    return h;
}

static uint64_t hash_of_value(const void *ctx, uint32_t i)
{
    const struct tallied_key *k = ctx;
    return value_hash(k->counts->list[i].group, k->counts->list[i].bits);
}

/* What a value's text tells apart: all NaNs are one. */
static uint64_t text_bits(const struct value_counts *x, double v)
{
    uint64_t bits = 0;
    if (x->labelled) {
        v = isnan(v) ? NAN : v;
        memcpy(&bits, &v, sizeof bits);
    }
    return bits;
}

static int count_one(struct value_counts *x, uint32_t group, uint32_t step, double v, const struct histogram *h,
                     struct err *e)
{
    struct tallied_key k = {x, group, h ? 0 : text_bits(x, v), {NULL, 0}};
    if (h && x->labelled) {
        strbuf_clear(&x->text);
        histogram_text(h, &x->text);
        k.text = (struct str){strbuf_z(&x->text), x->text.n};
        k.bits = XXH3_64bits(k.text.p, k.text.n);
    }
    uint64_t hash = value_hash(group, k.bits);
    int64_t found = map_find(&x->map, hash, same_value, &k);
    if (found < 0) {
        struct tallied *list = arena_grow(x->c->ev->arena, x->list, &x->cap, (size_t)x->n + 1, sizeof *list);
        double *count = value_array_absent(x->c->ev, x->c->t->n);
        if (!list || !count)
            return apply_full(x->c, e);
        x->list = list;
        list[x->n] = (struct tallied){group, k.bits, k.text, count};
        if (k.text.p && !(list[x->n].text.p = arena_strndup(x->c->ev->arena, k.text.p, k.text.n)))
            return apply_full(x->c, e);
        map_add(&x->map, hash, x->n, hash_of_value, &k);
        found = x->n++;
    }
    double *count = &x->list[found].count[step];
    *count = value_absent(*count) ? 1 : *count + 1;
    return 0;
}

static int count_group(struct value_counts *x, uint32_t g, struct err *e)
{
    const struct vec_series *series = x->c->args[0].series;
    int code = 0;
    for (uint32_t m = x->groups->by.starts[g]; m < x->groups->by.starts[g + 1] && code == 0; m++) {
        const struct vec_series *s = &series[x->groups->by.members[m]];
        const double *v = s->v;
        for (uint32_t i = 0; i < x->c->t->n && code == 0; i++) {
            if (!value_absent(v[i]))
                code = count_one(x, g, i, v[i], vec_histogram(s, i), e);
        }
        if (code == 0)
            code = eval_check(x->c->ev, 0, e);
    }
    return code;
}

static int give_counts(const struct value_counts *x, struct str label, struct value *ret, struct err *e)
{
    struct arena *arena = x->c->ev->arena;
    int code = apply_make_vector(x->c, x->n, ret, e);
    for (uint32_t i = 0; i < x->n && code == 0; i++) {
        struct labels labels = x->groups->labels[x->list[i].group];
        if (x->labelled) {
            char text[FLOAT_TEXT_MAX];
            double v;
            memcpy(&v, &x->list[i].bits, sizeof v);
            struct str shown = x->list[i].text;
            if (!shown.p)
                shown = (struct str){text, (size_t)float_format_f(v, text)};
            labels_with(&labels, label, (struct str){arena_strndup(arena, shown.p, shown.n), shown.n}, arena, &labels);
        }
        ret->series[ret->series_n++] = (struct vec_series){.labels = labels, .v = x->list[i].count};
        if ((i & 255) == 255)
            code = eval_check(x->c->ev, 0, e);
    }
    return code != 0 ? code : apply_full(x->c, e);
}

/* The grouping with the value's label taken out: by has it anyway, without drops the one that was there. */
static int group_besides(const struct apply *c, struct str label, struct groups *ret, bool *ret_labelled, struct err *e)
{
    struct expr besides = *c->expr;
    struct str *names = ARENA_ARRAY(c->ev->arena, struct str, (size_t)besides.grouping_n + 1);
    uint32_t n = 0;
    bool listed = false;
    if (!names)
        return apply_full(c, e);
    for (uint32_t i = 0; i < besides.grouping_n; i++) {
        bool same = str_eq(besides.grouping[i], label);
        listed |= same;
        if (!same)
            names[n++] = besides.grouping[i];
    }
    if (besides.without)
        names[n++] = label;
    besides.grouping = names;
    besides.grouping_n = n;
    *ret_labelled = !besides.without || (!listed && !str_eq(label, STR(LABEL_NAME)));
    struct apply with = {c->ev, &besides, c->t, c->args};
    return groups_make(&with, ret, e);
}

int aggregate_count_values_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct str label = c->args[1].string;
    if (!label_name_utf8(label)) {
        struct strbuf quoted = {0};
        strbuf_add_go_quoted(&quoted, label);
        err_set(e, ERR_EXECUTION, "invalid label name " STR_FMT, (int)quoted.n, quoted.p);
        strbuf_done(&quoted);
        return ERR_EXECUTION;
    }
    struct groups groups;
    struct value_counts x = {.c = c, .groups = &groups};
    int code = group_besides(c, label, &groups, &x.labelled, e);
    if (code != 0)
        return code;
    map_init(&x.map);
    for (uint32_t g = 0; g < groups.by.n && code == 0; g++)
        code = count_group(&x, g, e);
    if (code == 0)
        code = give_counts(&x, label, ret, e);
    map_done(&x.map);
    strbuf_done(&x.text);
    return code;
}
