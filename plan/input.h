/*
 * What a view's states are made of, and which series go into one state.
 *
 *     input        a state holds                                    group by               families
 *     "value"      every sample's value                             series                 all
 *                                                                   labels                 sum, count, min, max
 *     "label X"    items: the values of label X, each weighing      labels (or none: all)  keyed ones: HLL, KMV, CMS,
 *                  the sum of its samples in the window                                    CountSketch, UnivMon
 *     "series"     items: the series, weighing the same             labels                 the same
 *
 * A series without label X is in no state of "label X". A view by labels has one state of each group and window in
 * which a sample is; its slots are numbers of the view's own dictionary (store/group.h), not ordinals of a metric.
 * Pure functions; thread-safe.
 */
#ifndef PLAN_INPUT_H
#define PLAN_INPUT_H

#include "base/labels.h"
#include "kernels/sketch.h"

enum view_input_kind { INPUT_VALUE = 1, INPUT_LABEL, INPUT_SERIES };
struct view_input {
    enum view_input_kind kind;
    struct str label; /* INPUT_LABEL */
};

/* As in plan files and identities. False: no such input. *ret borrows from `text`. */
bool view_input_parse(struct str text, struct view_input *ret);
/* The text, in `a`; empty when that has failed. */
struct str view_input_text(const struct view_input *in, struct arena *a);
bool view_input_eq(const struct view_input *a, const struct view_input *b);

/* May states of this family be made of it, one a series or one a group of series equal in some labels? What a state by
 * labels is made of its values for: sums, counts and extremes of all of them. */
bool view_input_fits(const struct view_input *in, enum family family, bool per_series);

/* The item a series is or belongs to: XXH3-64, seed 0, of the label value or of the canonical labels. false: it has no
 * such label. Not for INPUT_VALUE. */
bool view_input_item(const struct view_input *in, const struct labels *labels, uint64_t *ret);

#endif
