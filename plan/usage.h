/*
 * Which planned queries are asked at all. A query of the workload that never comes, while one much like it does, is
 * most often a name or a duration written differently in the two places: everything then takes the slow way, and
 * nothing says so but this. Any thread.
 */
#ifndef PLAN_USAGE_H
#define PLAN_USAGE_H

#include "plan/plan.h"

struct plan_usage;

/* Of a plan in force since `now_ms`. `plan` outlives it. */
struct plan_usage *plan_usage_new(const struct plan *plan, int64_t now_ms);
void plan_usage_free(struct plan_usage *u); /* NULL-safe */

/* A query was asked: `query` of the plan, or PLAN_NONE and its canonical text. */
void plan_usage_note(struct plan_usage *u, uint32_t query, struct str text);

/* A planned query not asked once in three of its intervals. */
struct plan_unasked {
    uint32_t query;
    struct str nearest; /* the text asked instead that is most like it; empty: none was much like it. In `a` */
};
/* All of them now, for queries with a fixed interval; *ret in `a`, by query. `fresh` alone lists those not listed
 * before, for a log. */
int plan_usage_unasked(struct plan_usage *u, int64_t now_ms, bool fresh, struct arena *a, struct plan_unasked **ret,
                       uint32_t *ret_n, struct err *e);
/* Of two texts the part, in whole words, in which they differ; equal texts have none. */
void plan_text_difference(struct str *a, struct str *b);
uint64_t plan_usage_asked(struct plan_usage *u, uint32_t query); /* times */

#endif
