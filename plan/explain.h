/*
 * Plans as text for people: --explain (each query's root, views, costs, rejected candidates with reasons) and --dot.
 */
#ifndef PLAN_EXPLAIN_H
#define PLAN_EXPLAIN_H

#include "plan/plan.h"

void plan_explain(const struct plan *p, struct strbuf *out);
void plan_dot(const struct plan *p, struct strbuf *out);
/* One line: "KLL k=269 (rank error 0.01 with probability 0.99)" — what `infos` and explain say of a guarantee. */
void guarantee_text(enum family family, const struct sketch_params *params, const struct accuracy *guarantee,
                    struct strbuf *out);
/* "[by instance, job] ", "[of all series] ": which series are in one state by labels. */
void reduction_text(const struct str *reduce, uint32_t reduce_n, struct strbuf *out);

#endif
