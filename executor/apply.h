/*
 * What the operators share: the call at hand, and small helpers over series.
 *
 * An operator works in two layers. Once per series it looks at labels: which group, which partner, which result. Then
 * it runs over the steps in plain loops over arrays of doubles. Arguments are never written to: a shared part of a plan
 * may be the argument of several operators, and results share an argument's array where nothing changes.
 *
 * Names are dropped late, as Prometheus does with delayed name removal: an operator that changes what a value means
 * sets drop_name and leaves __name__ in place, so that label_replace and by (__name__) still see it; whoever ends the
 * query settles it. Only arithmetic between vectors removes the name at once.
 */
#ifndef EXECUTOR_APPLY_H
#define EXECUTOR_APPLY_H

#include "executor/eval.h"
#include "promql/function.h"

struct apply {
    struct eval *ev;
    const struct expr *expr;
    const struct times *t;
    const struct value *args;
};
/* *ret is zeroed before the call. */
typedef int apply_fn(const struct apply *c, struct value *ret, struct err *e);

apply_fn aggregate_apply, binary_apply, unary_apply;
apply_fn math_apply, clamp_apply, round_apply, scalars_apply; /* function_math.c */
apply_fn time_apply, date_apply, query_time_apply;            /* function_time.c */
apply_fn label_replace_apply, label_join_apply;               /* function_label.c */
apply_fn sort_apply, sort_by_label_apply;                     /* function_sort.c */
apply_fn info_apply;                                          /* function_info.c */
apply_fn histogram_quantile_apply, histogram_fraction_apply;  /* function_histogram.c */
apply_fn native_apply;                                        /* function_native.c */
apply_fn scalar_apply, vector_apply, absent_apply;            /* function_vector.c */

/* ERR_LIMIT of a full arena. */
static inline int apply_full(const struct apply *c, struct err *e)
{
    return arena_check(c->ev->arena, "query", e);
}
/* Room for the series of a vector; ret->series_n is 0. */
int apply_make_vector(const struct apply *c, uint32_t series_cap, struct value *ret, struct err *e);
/* A vector with the labels of args[0] and a fresh array in each series; names to be dropped. */
int apply_make_alike(const struct apply *c, const struct value *vector, struct value *ret, struct err *e);
int apply_make_scalar(const struct apply *c, struct value *ret, struct err *e);
/* Is there a value at any of n times? */
bool apply_any(const double *v, uint32_t n);

/* Go's %g, and the position of an argument or expression, for the texts of notes. */
struct note_text {
    char number[FLOAT_TEXT_MAX], place[EVAL_PLACE_MAX];
};
/* "PromQL warning: quantile value should be between 0 and 1, got ...", when it is not. */
void apply_note_quantile(const struct apply *c, const struct expr *argument, double q);
static inline bool label_name_utf8(struct str name)
{
    return name.n && utf8_valid(name.p, name.n);
}

#endif
