/*
 * Binary operators in parts: the element loops, scalars, matching of vectors, set operators.
 */
#ifndef EXECUTOR_BINARY_H
#define EXECUTOR_BINARY_H

#include "executor/apply.h"
#include "executor/label_index.h"

/*
 * left op right for n steps; absent where either is absent. Comparisons give `kept` where they hold and nothing where
 * not, or 1 and 0 with return_bool. Returns how many values there are. Of numbers alone: the trimming operators give
 * nothing.
 */
uint32_t binary_values(const struct expr *binary, const double *left, const double *right, const double *kept,
                       uint32_t n, double *out);
/* Does the operator make another quantity, so that the metric's name no longer fits? */
bool binary_changes_metric(enum binary_op op);
/* Is there a result at all, of numbers or histograms on either side? */
bool binary_has_meaning(enum binary_op op, bool left_histogram, bool right_histogram);
/* The same over series that may have histograms, into out->v (room for n) and out->h. */
int binary_pair(const struct apply *c, const struct vec_series *left, const struct vec_series *right,
                const struct vec_series *kept, struct vec_series *out, uint32_t *ret_n, struct err *e);

/* Both arguments, their series grouped by the labels they match on; a group has one number on both sides. */
struct match_side {
    const struct vec_series *series;
    uint32_t n;
    struct label_groups by;
};
struct match {
    const struct apply *c;
    const struct vector_matching *matching;
    struct match_side left, right; /* as written */
    uint32_t groups_n;
};
int match_make(const struct apply *c, struct match *ret, struct err *e);
/* The labels a pair matches on, of either side. */
struct label_key match_key(const struct vector_matching *matching);
/* present[i] = 1 where some series of group g has a value. Returns whether there is one at all. */
bool match_present(const struct match_side *side, uint32_t g, uint32_t n, uint8_t *present);

apply_fn binary_match_apply, binary_set_apply;

#endif
