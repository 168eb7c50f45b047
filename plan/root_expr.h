/*
 * Which expressions may be stored roots. What an expression is at time T may be kept only if it is the same whoever
 * asks and whenever: no @ (its time does not move with T), no `smoothed`, nothing of the request's own
 * (start(), end(), step(), range()), no draw, no order of series. What a sum adds up comes in an order that does not
 * depend on the span that is evaluated (plan/series_order.h), so its last bits do not either.
 *
 * Shared by planner, checks, executor and ingestion, so that they cannot differ.
 */
#ifndef PLAN_ROOT_EXPR_H
#define PLAN_ROOT_EXPR_H

#include "base/duration.h"
#include "plan/plan.h"

/* Stored roots are evaluated with Prometheus' own look-back and default resolution of subqueries. */
#define ROOT_LOOKBACK_MS INT64_C(300000)
#define ROOT_STEP_MS INT64_C(60000)

/* NULL: it may be kept. Else why not, a constant. */
const char *root_expr_refusal(const struct expr *e);
/* Samples of (T - reach, T + ahead] are all that an eligible expression reads at T; so a sample at t counts at the
 * times [t - ahead, t + reach) and at no other, and T is due when samples up to T + ahead are there. Only negative
 * offsets look ahead. */
int64_t root_expr_reach_ms(const struct expr *e);
int64_t root_expr_ahead_ms(const struct expr *e);
/* Would a request with this look-back and default step (0: the defaults) compute the same? */
bool root_expr_serves(const struct expr *e, int64_t lookback_ms, int64_t default_step_ms);

/* The identity of a plan's stored root: what ties it to results in the store. */
void plan_root_identity(const struct plan *p, uint32_t root, uint8_t ret[IDENTITY_BYTES]);
/* Are all of these times of its grid? */
bool root_grid_holds(const struct grid *g, int64_t start_ms, int64_t step_ms, uint32_t n);

#endif
