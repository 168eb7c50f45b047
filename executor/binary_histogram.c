/*
 * Binary operators where native histograms may be among the operands: step by step, beside the loops over numbers. What
 * has no meaning gives nothing, and says so in a note.
 */
#include "executor/binary.h"
#include "executor/note_histogram.h"

static bool is_trim(enum binary_op op)
{
    return op == BINARY_TRIM_UPPER || op == BINARY_TRIM_LOWER;
}

bool binary_has_meaning(enum binary_op op, bool left_histogram, bool right_histogram)
{
    if (left_histogram && right_histogram)
        return op == BINARY_ADD || op == BINARY_SUB || op == BINARY_EQ || op == BINARY_NE;
    if (left_histogram)
        return op == BINARY_MUL || op == BINARY_DIV || is_trim(op);
    return right_histogram ? op == BINARY_MUL : !is_trim(op);
}

/* The histogram that `left op right` is, of which one or both are histograms; NULL: none. *ret_known is false when the
 * operator has no meaning for the operands. */
static const struct histogram *combine(const struct apply *c, const struct histogram *lh, const struct histogram *rh,
                                       double l, double r, bool *ret_known, unsigned *notes)
{
    struct arena *to = c->ev->arena;
    *ret_known = true;
    switch (c->expr->binary) {
    case BINARY_ADD:
        if (lh && rh)
            return histogram_add(lh, rh, to, notes);
        break;
    case BINARY_SUB:
        if (lh && rh)
            return histogram_sub(lh, rh, to, notes);
        break;
    case BINARY_MUL:
        if (!lh || !rh)
            return lh ? histogram_mul(lh, r, to) : histogram_mul(rh, l, to);
        break;
    case BINARY_DIV:
        if (!rh)
            return histogram_div(lh, r, to);
        break;
    case BINARY_TRIM_UPPER:
    case BINARY_TRIM_LOWER:
        if (!rh)
            return histogram_trim(lh, r, c->expr->binary == BINARY_TRIM_UPPER, to);
        break;
    default:
        break;
    }
    *ret_known = false;
    return NULL;
}

/* One step with at least one histogram. Returns whether there is a value. */
static bool element(const struct apply *c, const struct vec_series *left, const struct vec_series *right, uint32_t i,
                    struct vec_series *out)
{
    const struct histogram *lh = vec_histogram(left, i), *rh = vec_histogram(right, i), *made;
    const struct expr *expr = c->expr;
    bool known, equality = expr->binary == BINARY_EQ || expr->binary == BINARY_NE;
    unsigned notes = 0;
    if (lh && rh && equality) {
        bool holds = histogram_equal(lh, rh) == (expr->binary == BINARY_EQ);
        if (expr->return_bool)
            out->v[i] = holds;
        else if (holds)
            series_put_histogram(c->ev, out, c->t->n, i, lh);
        return expr->return_bool || holds;
    }
    made = combine(c, lh, rh, left->v[i], right->v[i], &known, &notes);
    if (!known)
        note_types(c->ev, lh, binary_op_text(expr->binary), rh, expr->start);
    if (notes & HISTOGRAM_INCOMPATIBLE)
        note_layouts_differ(c->ev, binary_op_text(expr->binary), expr->start);
    note_histogram_bits(c->ev, notes & ~(unsigned)HISTOGRAM_INCOMPATIBLE, (struct str){"", 0}, expr->start);
    if (made)
        series_put_histogram(c->ev, out, c->t->n, i, made);
    return made;
}

int binary_pair(const struct apply *c, const struct vec_series *left, const struct vec_series *right,
                const struct vec_series *kept, struct vec_series *out, uint32_t *ret_n, struct err *e)
{
    const struct expr *expr = c->expr;
    uint32_t n = c->t->n;
    out->h = NULL;
    if (!left->h && !right->h && !is_trim(expr->binary)) {
        *ret_n = binary_values(expr, left->v, right->v, kept->v, n, out->v);
        return 0;
    }
    const double *l = series_numbers(c->ev, left, n), *r = series_numbers(c->ev, right, n),
                 *k = series_numbers(c->ev, kept, n);
    if (!l || !r || !k)
        return apply_full(c, e);
    *ret_n = binary_values(expr, l, r, k, n, out->v);
    for (uint32_t i = 0; i < n; i++) {
        if (value_absent(left->v[i]) || value_absent(right->v[i]))
            continue;
        if (!float_is_histogram(left->v[i]) && !float_is_histogram(right->v[i])) {
            if (is_trim(expr->binary))
                note_types(c->ev, false, binary_op_text(expr->binary), false, expr->start);
            continue;
        }
        *ret_n += element(c, left, right, i, out);
    }
    return apply_full(c, e);
}
