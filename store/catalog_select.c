/*
 * Which series do matchers accept? An absent label has the value "", so each matcher is one of two kinds:
 *
 *     it refuses ""    the series must carry one of the accepted pairs: intersect with their union
 *     it accepts ""    the series must not carry a refused pair: subtract their union
 *
 * Either union is cheap when the matcher names its values (=, !=, and regexes that are lists of literals), is the whole
 * name when it names none (="" and friends), and otherwise tries each value of the name once. When fewer series than
 * values are left, the series are tried instead.
 */
#include "base/alloc.h"
#include "store/catalog_internal.h"

/* A matcher with .* and .+ rewritten to what they mean. */
struct filter {
    const struct matcher *m;
    enum matcher_op op;
    struct str value;
    bool accepts_empty;
    bool lists; /* the values it names are known: `value`, or the literals of its regex */
};

static struct filter filter_of(const struct matcher *m)
{
    struct filter f = {.m = m, .op = m->op, .value = m->value};
    bool negative = m->op == MATCH_NRE;
    if (m->regex && str_eq(m->value, STR(".+"))) {
        f.op = negative ? MATCH_EQ : MATCH_NE;
        f.value = STR("");
    }
    f.accepts_empty = matcher_accepts(m, STR(""));
    const struct str *literals;
    f.lists = f.op == MATCH_EQ || f.op == MATCH_NE || regex_literals(m->regex, &literals) > 0;
    return f;
}

static size_t filter_values(const struct filter *f, const struct str **ret)
{
    if (f->op == MATCH_EQ || f->op == MATCH_NE) {
        *ret = &f->value;
        return 1;
    }
    return regex_literals(f->m->regex, ret);
}

static bool filter_accepts(const struct filter *f, struct str value)
{
    switch (f->op) {
    case MATCH_EQ:
        return str_eq(value, f->value);
    case MATCH_NE:
        return !str_eq(value, f->value);
    case MATCH_RE:
    case MATCH_NRE:
        /* The prefix refuses most values without running the program. */
        if (!str_has_prefix(value, regex_prefix(f->m->regex)))
            return f->op == MATCH_NRE;
        return matcher_accepts(f->m, value);
    }
    return false;
}

/* The series with a pair of `name` that the filter accepts (wanted) or refuses (!wanted). */
static roaring_bitmap_t *filter_union(const struct catalog *c, const struct filter *f, const struct catalog_name *name,
                                      bool wanted)
{
    roaring_bitmap_t *set = roaring_bitmap_create();
    MUST(set);
    bool positive = f->op == MATCH_EQ || f->op == MATCH_RE;
    const struct str *values;
    size_t n = f->lists ? filter_values(f, &values) : 0;
    if (f->lists && positive == wanted) {
        for (size_t i = 0; i < n; i++) {
            const struct pair *p = catalog_pair(c, name->text, catalog_symbol(c, values[i]));
            if (p)
                posting_union(&p->posting, set);
        }
        return set;
    }
    if (f->lists && n == 1 && values[0].n == 0) {
        posting_union(&name->all, set);
        return set;
    }
    for (size_t i = 0; i < name->pairs_n; i++) {
        const struct pair *p = &c->pairs[name->pairs[i]];
        if (filter_accepts(f, symbol_str(p->value)) == wanted)
            posting_union(&p->posting, set);
    }
    return set;
}

/* Keep the series of `set` whose own value the filter accepts. */
static roaring_bitmap_t *filter_each(const struct catalog *c, const struct filter *f, const struct catalog_name *name,
                                     roaring_bitmap_t *set, uint64_t n)
{
    uint32_t *ids = mem_alloc(n * sizeof(*ids));
    roaring_bitmap_to_uint32_array(set, ids);
    roaring_bitmap_free(set);
    size_t kept = 0;
    const struct symbol *last = NULL;
    bool last_accepted = false;
    for (uint64_t i = 0; i < n; i++) {
        const struct symbol *value = catalog_value_of(c, ids[i], name->text);
        if (value && value != last) {
            last = value;
            last_accepted = filter_accepts(f, symbol_str(value));
        }
        if (value ? last_accepted : f->accepts_empty)
            ids[kept++] = ids[i];
    }
    set = roaring_bitmap_of_ptr(kept, ids);
    MUST(set);
    mem_free(ids);
    return set;
}

static roaring_bitmap_t *filter_apply(const struct catalog *c, const struct filter *f, roaring_bitmap_t *set)
{
    const struct catalog_name *name = catalog_name_of(c, f->m->name);
    if (!name) {
        if (!f->accepts_empty)
            roaring_bitmap_clear(set);
        return set;
    }
    bool wanted = !f->accepts_empty;
    bool tries_values = !(f->lists && (f->op == MATCH_EQ || f->op == MATCH_RE) == wanted);
    uint64_t n = tries_values ? roaring_bitmap_get_cardinality(set) : 0;
    if (tries_values && n <= name->pairs_n)
        return filter_each(c, f, name, set, n);
    roaring_bitmap_t *carry = filter_union(c, f, name, wanted);
    if (wanted)
        roaring_bitmap_and_inplace(set, carry);
    else
        roaring_bitmap_andnot_inplace(set, carry);
    roaring_bitmap_free(carry);
    return set;
}

/* Cheapest and sharpest first: 0 intersections with named values, 1 other intersections, 2 subtractions. */
static int filter_turn(const struct filter *f)
{
    if (f->accepts_empty)
        return 2;
    return f->lists && (f->op == MATCH_EQ || f->op == MATCH_RE) ? 0 : 1;
}

static roaring_bitmap_t *select_set(const struct catalog *c, const struct filter *filters, size_t n)
{
    roaring_bitmap_t *set = roaring_bitmap_from_range(0, c->series_n, 1);
    if (!set) /* an empty range */
        set = roaring_bitmap_create();
    MUST(set);
    for (int turn = 0; turn <= 2; turn++)
        for (size_t i = 0; i < n; i++)
            if (filter_turn(&filters[i]) == turn && !roaring_bitmap_is_empty(set))
                set = filter_apply(c, &filters[i], set);
    return set;
}

/* From id order to (metric, ordinal) order. Ids of one metric rise with their ordinals, so a stable count is enough. */
static void order_by_place(const struct catalog *c, uint32_t *ids, uint32_t n)
{
    uint32_t i = 1;
    while (i < n && catalog_series(c, ids[i - 1])->metric <= catalog_series(c, ids[i])->metric)
        i++;
    if (i >= n)
        return;
    uint32_t *starts = mem_zalloc((c->metrics_n + 1) * sizeof(*starts));
    uint32_t *sorted = mem_alloc((size_t)n * sizeof(*sorted));
    for (i = 0; i < n; i++)
        starts[catalog_series(c, ids[i])->metric + 1]++;
    for (size_t m = 0; m < c->metrics_n; m++)
        starts[m + 1] += starts[m];
    for (i = 0; i < n; i++)
        sorted[starts[catalog_series(c, ids[i])->metric]++] = ids[i];
    memcpy(ids, sorted, (size_t)n * sizeof(*ids));
    mem_free(sorted);
    mem_free(starts);
}

int catalog_select(const struct catalog *c, const struct matcher *m, size_t n, struct arena *a, uint32_t **ret_ids,
                   uint32_t *ret_n, struct err *e)
{
    struct filter *filters = ARENA_ARRAY(a, struct filter, n);
    if (!filters)
        return arena_check(a, "selecting series", e);
    for (size_t i = 0; i < n; i++)
        filters[i] = filter_of(&m[i]);
    roaring_bitmap_t *set = select_set(c, filters, n);
    uint32_t found = (uint32_t)roaring_bitmap_get_cardinality(set);
    uint32_t *ids = ARENA_ARRAY(a, uint32_t, found);
    if (ids)
        roaring_bitmap_to_uint32_array(set, ids);
    roaring_bitmap_free(set);
    if (!ids)
        return arena_check(a, "selecting series", e);
    order_by_place(c, ids, found);
    *ret_ids = ids;
    *ret_n = found;
    return 0;
}
