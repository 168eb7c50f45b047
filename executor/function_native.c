/* histogram_count(), _sum(), _avg(), _stddev() and _stdvar(): a number from each native histogram; numbers have no
 * place in their result. */
#include "executor/apply.h"

typedef double histogram_readout(const struct histogram *h);

static double read_count(const struct histogram *h)
{
    return h->count;
}

static double read_sum(const struct histogram *h)
{
    return h->sum;
}

static histogram_readout *readout_of(enum function_id id)
{
    switch (id) {
    case FUNCTION_histogram_count:
        return read_count;
    case FUNCTION_histogram_sum:
        return read_sum;
    case FUNCTION_histogram_avg:
        return histogram_avg;
    case FUNCTION_histogram_stddev:
        return histogram_stddev;
    default:
        return histogram_stdvar;
    }
}

int native_apply(const struct apply *c, struct value *ret, struct err *e)
{
    const struct value *vector = &c->args[0];
    histogram_readout *read = readout_of(c->expr->function->id);
    int code = apply_make_vector(c, vector->series_n, ret, e);
    for (uint32_t s = 0; s < vector->series_n && code == 0; s++) {
        const struct vec_series *in = &vector->series[s];
        if (!in->h)
            continue;
        double *v = value_array_absent(c->ev, c->t->n);
        if (!v)
            return apply_full(c, e);
        for (uint32_t i = 0; i < c->t->n; i++) {
            const struct histogram *h = vec_histogram(in, i);
            if (h)
                v[i] = read(h);
        }
        if (apply_any(v, c->t->n))
            ret->series[ret->series_n++] = (struct vec_series){in->labels, true, v};
        code = eval_check(c->ev, 0, e);
    }
    ret->ordered = vector->ordered;
    return code;
}
