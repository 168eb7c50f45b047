/*
 * Operators between two vectors, one to one and many to one.
 *
 * What may match is decided per step: two series of one group are fine as long as they have no values at the same time.
 * So each pair of series of a group is combined over all steps, and the rules about duplicates are checked where a
 * group has more than one series on a side. "One" is the side that may have only one value per group and step: the
 * right one, but with group_right the left.
 */
#include "executor/binary.h"

/* A pair that went into a result, to find steps that two pairs share. */
struct contribution {
    const double *many, *one;
    uint32_t group, previous; /* of the same result, + 1; 0: none */
};
struct outcome {
    struct vec_series series; /* v NULL until something is kept */
    uint32_t last;            /* contribution, + 1 */
};

struct joining {
    struct match m;
    const struct match_side *many, *one;
    bool swapped; /* group_right: many is the right side */
    const double *fill_many, *fill_one;
    uint8_t *active; /* [steps]: matching takes place at all */
    uint8_t *many_there, *one_there;
    struct vec_series spare;  /* room for a result's values */
    struct label_index index; /* labels of results */
    struct outcome *outcomes;
    size_t outcomes_cap;
    struct contribution *contributions;
    uint32_t contributions_n;
    size_t contributions_cap;
};

static void print_labels(const struct labels *l, struct strbuf *out)
{
    strbuf_add_char(out, '{');
    for (uint32_t i = 0; i < l->n; i++) {
        if (i > 0)
            strbuf_add_z(out, ", ");
        if (label_name_legacy(l->v[i].name))
            strbuf_add_str(out, l->v[i].name);
        else
            strbuf_add_go_quoted(out, l->v[i].name);
        strbuf_add_char(out, '=');
        strbuf_add_go_quoted(out, l->v[i].value);
    }
    strbuf_add_char(out, '}');
}

static int two_on_one_side(const struct joining *x, const struct labels *a, const struct labels *b, struct err *e)
{
    struct label_key key = match_key(x->m.matching);
    struct labels group;
    label_key_take(&key, a, x->m.c->ev->arena, &group);
    struct strbuf out = {0};
    bool in_order = labels_cmp(a, b) <= 0;
    strbuf_add_z(&out, "found duplicate series for the match group ");
    print_labels(&group, &out);
    strbuf_printf(&out, " on the %s hand-side of the operation: [", x->swapped ? "left" : "right");
    print_labels(in_order ? a : b, &out);
    strbuf_add_z(&out, ", ");
    print_labels(in_order ? b : a, &out);
    strbuf_add_z(&out, "];many-to-many matching not allowed: matching labels must be unique on one side");
    int code = err_set(e, ERR_EXECUTION, STR_FMT, (int)out.n, out.p);
    strbuf_done(&out);
    return code;
}

/* Refuse two values of one group at one step. */
static int check_one_side(const struct joining *x, uint32_t g, struct err *e)
{
    const struct label_groups *by = &x->one->by;
    uint32_t n = x->m.c->t->n;
    if (by->starts[g + 1] - by->starts[g] < 2)
        return 0;
    uint32_t *first = arena_zalloc(x->m.c->ev->arena, n * sizeof *first); /* series + 1 */
    if (!first)
        return apply_full(x->m.c, e);
    for (uint32_t m = by->starts[g]; m < by->starts[g + 1]; m++) {
        const struct vec_series *s = &x->one->series[by->members[m]];
        for (uint32_t i = 0; i < n; i++) {
            if (value_absent(s->v[i]) || !x->active[i])
                continue;
            if (first[i])
                return two_on_one_side(x, &x->one->series[first[i] - 1].labels, &s->labels, e);
            first[i] = by->members[m] + 1;
        }
        int code = eval_check(x->m.c->ev, 0, e);
        if (code != 0)
            return code;
    }
    return 0;
}

/* Do two values meet? Where the operator has no meaning for them they do not. */
static bool meets(const struct joining *x, double many, double one)
{
    bool many_histogram = float_is_histogram(many), one_histogram = float_is_histogram(one);
    return !value_absent(many) && !value_absent(one) &&
           binary_has_meaning(x->m.c->expr->binary, x->swapped ? one_histogram : many_histogram,
                              x->swapped ? many_histogram : one_histogram);
}

/* The value of the one side of group g at step i, or what is filled in there, or none. */
static double one_value(const struct joining *x, uint32_t g, uint32_t i)
{
    const struct label_groups *by = &x->one->by;
    for (uint32_t m = by->starts[g]; m < by->starts[g + 1]; m++) {
        double v = x->one->series[by->members[m]].v[i];
        if (!value_absent(v))
            return v;
    }
    return x->fill_one ? *x->fill_one : float_stale();
}

/* One to one: refuse two values on the other side that meet something. */
static int check_many_side(const struct joining *x, uint32_t g, struct err *e)
{
    const struct label_groups *by = &x->many->by;
    uint32_t n = x->m.c->t->n;
    if (x->m.matching->card != CARD_ONE_TO_ONE || by->starts[g + 1] - by->starts[g] < 2)
        return 0;
    uint8_t *seen = arena_zalloc(x->m.c->ev->arena, n);
    if (!seen)
        return apply_full(x->m.c, e);
    bool any = match_present(x->one, g, n, x->one_there);
    for (uint32_t m = by->starts[g]; m < by->starts[g + 1] && (any || x->fill_one); m++) {
        const double *v = x->many->series[by->members[m]].v;
        for (uint32_t i = 0; i < n; i++) {
            if (value_absent(v[i]) || (!x->one_there[i] && !x->fill_one) || !meets(x, v[i], one_value(x, g, i)))
                continue;
            if (seen[i])
                return err_set(e, ERR_EXECUTION,
                               "multiple matches for labels: many-to-one matching must be explicit "
                               "(group_left/group_right)");
            seen[i] = 1;
        }
    }
    return eval_check(x->m.c->ev, 0, e);
}

static void result_labels(const struct joining *x, const struct labels *many, const struct labels *one,
                          struct labels *ret)
{
    const struct vector_matching *matching = x->m.matching;
    struct arena *arena = x->m.c->ev->arena;
    struct labels l = *many;
    if (binary_changes_metric(x->m.c->expr->binary))
        labels_drop_metric(&l, arena, &l);
    if (matching->card == CARD_ONE_TO_ONE && (matching->on || matching->labels_n)) {
        struct label_key key = {matching->on ? LABEL_KEY_ONLY : LABEL_KEY_BUT, matching->labels, matching->labels_n};
        label_key_take(&key, &l, arena, &l);
    }
    for (uint32_t i = 0; i < matching->include_n; i++)
        labels_with(&l, matching->include[i], labels_get(one, matching->include[i]), arena, &l);
    *ret = l;
}

static bool matched(const struct contribution *k, uint32_t i)
{
    return !value_absent(k->many[i]) && !value_absent(k->one[i]);
}

/* A further pair with the labels of an outcome: their steps must not overlap. */
static int merge(struct joining *x, struct outcome *o, const struct contribution *k, bool kept, struct err *e)
{
    uint32_t n = x->m.c->t->n;
    for (uint32_t p = o->last; p; p = x->contributions[p - 1].previous) {
        const struct contribution *before = &x->contributions[p - 1];
        for (uint32_t i = 0; before->group == k->group && i < n; i++) {
            if (meets(x, before->many[i], before->one[i]) && meets(x, k->many[i], k->one[i]))
                return err_set(e, ERR_EXECUTION,
                               "multiple matches for labels: grouping labels must ensure unique matches");
        }
    }
    if (!kept)
        return 0;
    if (!o->series.v) {
        o->series.v = x->spare.v;
        o->series.h = x->spare.h;
        x->spare.v = NULL;
        return 0;
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct histogram *h = vec_histogram(&x->spare, i);
        if (value_absent(x->spare.v[i]))
            continue;
        if (!value_absent(o->series.v[i]))
            return err_set(e, ERR_EXECUTION, "vector cannot contain metrics with the same labelset");
        if (!h)
            o->series.v[i] = x->spare.v[i];
        else if (!series_put_histogram(x->m.c->ev, &o->series, n, i, h))
            return apply_full(x->m.c, e);
    }
    return 0;
}

static int add_outcome(struct joining *x, const struct labels *labels, const struct contribution *k, bool kept,
                       bool drop_name, struct err *e)
{
    const struct label_key all = {.kind = LABEL_KEY_ALL};
    struct arena *arena = x->m.c->ev->arena;
    uint32_t known_n = x->index.n, number;
    int code = label_index_number(&x->index, &all, labels, &number, e);
    if (code != 0)
        return code;
    struct outcome *outcomes = arena_grow(arena, x->outcomes, &x->outcomes_cap, x->index.n, sizeof *outcomes);
    struct contribution *contributions =
        arena_grow(arena, x->contributions, &x->contributions_cap, (size_t)x->contributions_n + 1, sizeof *k);
    if (!outcomes || !contributions)
        return apply_full(x->m.c, e);
    x->outcomes = outcomes;
    x->contributions = contributions;
    struct outcome *o = &outcomes[number];
    if (number == known_n)
        *o = (struct outcome){.series = {.labels = *labels, .drop_name = drop_name}};
    code = merge(x, o, k, kept, e);
    contributions[x->contributions_n] = *k;
    contributions[x->contributions_n].previous = o->last;
    o->last = ++x->contributions_n;
    o->series.drop_name |= drop_name;
    return code;
}

/* One pair of series over all steps; either may be a filled one. */
static int join_pair(struct joining *x, const struct vec_series *many, const struct vec_series *one, uint32_t group,
                     struct err *e)
{
    const struct apply *c = x->m.c;
    struct contribution k = {many->v, one->v, group, 0};
    uint32_t n = c->t->n, i = 0;
    while (i < n && !matched(&k, i))
        i++;
    if (i == n)
        return 0;
    if (!x->spare.v && !(x->spare.v = value_array(c->ev, n)))
        return apply_full(c, e);
    const struct vec_series *left = x->swapped ? one : many, *right = x->swapped ? many : one;
    uint32_t kept_n = 0;
    int code = binary_pair(c, left, right, left, &x->spare, &kept_n, e);
    if (code != 0)
        return code;
    struct labels labels;
    result_labels(x, &many->labels, &one->labels, &labels);
    if (arena_failed(c->ev->arena))
        return apply_full(c, e);
    bool named = false; /* the name comes from the other side */
    for (uint32_t l = 0; l < x->m.matching->include_n; l++)
        named |= str_eq(x->m.matching->include[l], STR(LABEL_NAME));
    bool drop_name = c->expr->return_bool || (named ? one->drop_name : many->drop_name);
    code = add_outcome(x, &labels, &k, kept_n > 0, drop_name, e);
    return code != 0 ? code : eval_check(c->ev, 0, e);
}

/* A series of the match group's labels with the fill value at the steps where the side has nothing. */
static int make_filled(const struct joining *x, const struct labels *other, double fill, const uint8_t *there,
                       struct vec_series *ret, struct err *e)
{
    const struct apply *c = x->m.c;
    struct label_key key = match_key(x->m.matching);
    double *v = value_array_absent(c->ev, c->t->n);
    if (!v)
        return apply_full(c, e);
    for (uint32_t i = 0; i < c->t->n; i++) {
        if (!there[i])
            v[i] = fill;
    }
    *ret = (struct vec_series){.v = v};
    label_key_take(&key, other, c->ev->arena, &ret->labels);
    return apply_full(c, e);
}

static int join_series(struct joining *x, uint32_t s, struct err *e)
{
    const struct vec_series *many = &x->many->series[s];
    const struct label_groups *by = &x->one->by;
    uint32_t g = x->many->by.of[s];
    int code = 0;
    for (uint32_t m = by->starts[g]; m < by->starts[g + 1] && code == 0; m++)
        code = join_pair(x, many, &x->one->series[by->members[m]], g, e);
    if (code != 0 || !x->fill_one)
        return code;
    struct vec_series filled;
    match_present(x->one, g, x->m.c->t->n, x->one_there);
    code = make_filled(x, &many->labels, *x->fill_one, x->one_there, &filled, e);
    return code != 0 ? code : join_pair(x, many, &filled, g, e);
}

/* Groups that have nothing on the many side, filled there. */
static int join_unmatched(struct joining *x, uint32_t s, struct err *e)
{
    const struct vec_series *one = &x->one->series[s];
    uint32_t g = x->one->by.of[s];
    struct vec_series filled;
    match_present(x->many, g, x->m.c->t->n, x->many_there);
    int code = make_filled(x, &one->labels, *x->fill_many, x->many_there, &filled, e);
    return code != 0 ? code : join_pair(x, &filled, one, g, e);
}

/* Without fill nothing is looked at where a whole side has no value. */
static void find_active(struct joining *x)
{
    uint32_t n = x->m.c->t->n;
    memset(x->many_there, 0, n);
    memset(x->one_there, 0, n);
    for (uint32_t s = 0; s < x->many->n; s++) {
        for (uint32_t i = 0; i < n; i++)
            x->many_there[i] |= !value_absent(x->many->series[s].v[i]);
    }
    for (uint32_t s = 0; s < x->one->n; s++) {
        for (uint32_t i = 0; i < n; i++)
            x->one_there[i] |= !value_absent(x->one->series[s].v[i]);
    }
    for (uint32_t i = 0; i < n; i++)
        x->active[i] = x->fill_many || x->fill_one || (x->many_there[i] && x->one_there[i]);
}

static int join(struct joining *x, struct err *e)
{
    int code = 0;
    find_active(x);
    for (uint32_t g = 0; g < x->m.groups_n && code == 0; g++) {
        code = check_one_side(x, g, e);
        if (code == 0)
            code = check_many_side(x, g, e);
    }
    for (uint32_t s = 0; s < x->many->n && code == 0; s++)
        code = join_series(x, s, e);
    for (uint32_t s = 0; s < x->one->n && x->fill_many && code == 0; s++)
        code = join_unmatched(x, s, e);
    return code;
}

int binary_match_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct vector_matching *matching = c->expr->matching;
    struct arena *arena = c->ev->arena;
    struct joining x = {.swapped = matching->card == CARD_ONE_TO_MANY,
                        .active = arena_alloc(arena, c->t->n),
                        .many_there = arena_alloc(arena, c->t->n),
                        .one_there = arena_alloc(arena, c->t->n)};
    int code = match_make(c, &x.m, e);
    if (code != 0 || (code = apply_full(c, e)) != 0)
        return code;
    x.many = x.swapped ? &x.m.right : &x.m.left;
    x.one = x.swapped ? &x.m.left : &x.m.right;
    /* fill_left is for the many side and fill_right for the one side, with group_right too: as Prometheus has it. */
    x.fill_many = matching->has_fill_left ? &matching->fill_left : NULL;
    x.fill_one = matching->has_fill_right ? &matching->fill_right : NULL;
    label_index_init(&x.index, arena);
    code = join(&x, e);
    label_index_done(&x.index);
    if (code == 0)
        code = apply_make_vector(c, x.index.n, ret, e);
    for (uint32_t i = 0; code == 0 && i < x.index.n; i++) {
        if (x.outcomes[i].series.v)
            ret->series[ret->series_n++] = x.outcomes[i].series;
    }
    ret->ordered = c->args[x.swapped].ordered && !x.fill_many;
    return code;
}
