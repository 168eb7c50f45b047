/*
 * Which series of two vectors meet, and the operators that need no more: and, or, unless keep series of one side, step
 * by step, by whether their group has a value on the other.
 */
#include "executor/binary.h"

struct label_key match_key(const struct vector_matching *matching)
{
    return (struct label_key){matching->on ? LABEL_KEY_ONLY : LABEL_KEY_BUT_NAME, matching->labels, matching->labels_n};
}

int match_make(const struct apply *c, struct match *ret, struct err *e)
{
    const struct value *left = &c->args[0], *right = &c->args[1];
    struct label_key key = match_key(c->expr->matching);
    struct match m = {.c = c, .matching = c->expr->matching};
    struct label_index index;
    const uint32_t *of_left, *of_right;
    label_index_init(&index, c->ev->arena);
    int code = label_groups_number(&index, &key, left, c->ev, &of_left, e);
    if (code == 0)
        code = label_groups_number(&index, &key, right, c->ev, &of_right, e);
    m.groups_n = index.n;
    label_index_done(&index);
    if (code == 0)
        code = label_groups_lay_out(c->ev, of_left, left->series_n, m.groups_n, &m.left.by, e);
    if (code == 0)
        code = label_groups_lay_out(c->ev, of_right, right->series_n, m.groups_n, &m.right.by, e);
    if (code != 0)
        return code;
    m.left.series = left->series;
    m.left.n = left->series_n;
    m.right.series = right->series;
    m.right.n = right->series_n;
    *ret = m;
    return 0;
}

bool match_present(const struct match_side *side, uint32_t g, uint32_t n, uint8_t *present)
{
    bool any = false;
    memset(present, 0, n);
    for (uint32_t m = side->by.starts[g]; m < side->by.starts[g + 1]; m++) {
        const double *v = side->series[side->by.members[m]].v;
        for (uint32_t i = 0; i < n; i++) {
            present[i] |= !value_absent(v[i]);
            any |= present[i];
        }
    }
    return any;
}

/* out = v where present is `wanted`. Returns 0: nothing is left, 1: something, 2: everything. */
static int mask(const double *v, const uint8_t *present, bool wanted, uint32_t n, double *out)
{
    double absent = float_stale();
    bool any = false, all = true;
    for (uint32_t i = 0; i < n; i++) {
        bool take = present[i] == wanted;
        out[i] = take ? v[i] : absent;
        any |= !value_absent(out[i]);
        all &= take || value_absent(v[i]);
    }
    return any ? 1 + all : 0;
}

struct set_sieve {
    const struct match *m;
    const struct match_side *kept, *other;
    bool wanted; /* keep where the other side has a value; else where it has none */
    uint8_t *present;
    double *spare;
    struct vec_series *out; /* [kept->n], v NULL where nothing is left */
};

static int sieve_group(struct set_sieve *x, uint32_t g, struct err *e)
{
    const struct apply *c = x->m->c;
    uint32_t n = c->t->n;
    bool any = match_present(x->other, g, n, x->present);
    for (uint32_t i = x->kept->by.starts[g]; i < x->kept->by.starts[g + 1]; i++) {
        uint32_t s = x->kept->by.members[i];
        if (any == false && x->wanted)
            continue;
        if (!x->spare && !(x->spare = value_array(c->ev, n)))
            return apply_full(c, e);
        int left = mask(x->kept->series[s].v, x->present, x->wanted, n, x->spare);
        if (left == 0)
            continue;
        x->out[s] = x->kept->series[s];
        if (left == 1) {
            x->out[s].v = x->spare;
            x->spare = NULL;
        }
    }
    return eval_check(c->ev, 0, e);
}

/* The series of `kept` where the group's presence on the other side is as wanted, after those already in ret. */
static int sieve(const struct match *m, const struct match_side *kept, const struct match_side *other, bool wanted,
                 struct value *ret, struct err *e)
{
    struct arena *arena = m->c->ev->arena;
    struct set_sieve x = {
        m, kept, other, wanted, arena_alloc(arena, m->c->t->n), NULL, ARENA_ARRAY(arena, struct vec_series, kept->n)};
    if (!x.present || !x.out)
        return apply_full(m->c, e);
    memset(x.out, 0, kept->n * sizeof *x.out);
    int code = 0;
    for (uint32_t g = 0; g < m->groups_n && code == 0; g++)
        code = sieve_group(&x, g, e);
    for (uint32_t s = 0; s < kept->n && code == 0; s++) {
        if (x.out[s].v)
            ret->series[ret->series_n++] = x.out[s];
    }
    return code;
}

int binary_set_apply(const struct apply *c, struct value *ret, struct err *e)
{
    struct match m;
    enum binary_op op = c->expr->binary;
    int code = match_make(c, &m, e);
    if (code == 0)
        code = apply_make_vector(c, m.left.n + m.right.n, ret, e);
    if (code != 0)
        return code;
    ret->ordered = c->args[0].ordered && op != BINARY_OR;
    if (op != BINARY_OR)
        return sieve(&m, &m.left, &m.right, op == BINARY_AND, ret, e);
    if (m.left.n)
        memcpy(ret->series, m.left.series, m.left.n * sizeof *ret->series);
    ret->series_n = m.left.n;
    code = sieve(&m, &m.right, &m.left, false, ret, e);
    /* One label set may come from both sides, at different times. */
    return code != 0 || c->t->n == 1 ? code : value_merge_duplicates(c->ev, ret, c->t, e);
}
