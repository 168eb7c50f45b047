/*
 * A fixture whose samples are also in windows of views by labels: the source of a plan made by hand, one 1-minute pane
 * grid, states in memory up to `covered_ms`. What the windows hold is built by executor/group_states, under numbers
 * that lie in several shards.
 */
#ifndef TESTS_EXECUTOR_GROUP_STAGE_H
#define TESTS_EXECUTOR_GROUP_STAGE_H

#include "executor/query.h"
#include "fixture.h"
#include "promql/parse.h"

enum { STAGE_VIEWS_MAX = 8, STAGE_PANE_MS = 60000 };
struct group_stage {
    struct fixture f;
    struct source source;
    struct plan plan;
    struct plan_view views[STAGE_VIEWS_MAX];
    struct plan_source sources[STAGE_VIEWS_MAX];
    struct parsed parsed[STAGE_VIEWS_MAX]; /* their selectors */
    int64_t covered_ms;                    /* windows that end later have no states */
    int64_t unnumbered_ms;                 /* the window that ends here has a group without a number; 0: none has */
    int64_t damaged_ms;                    /* the window that ends here has broken blocks; 0: none has */
    uint32_t grouped_n;                    /* grouped requests so far */
    bool forget_series;                    /* the snapshot has no series */
};

void group_stage_init(struct group_stage *s);
void group_stage_done(struct group_stage *s);
/* A view of `selector` by labels (separated by blanks). */
void group_stage_view(struct group_stage *s, const char *selector, enum family family, struct sketch_params params,
                      const char *input, const char *by);
/* Through the plan; exact: from raw samples. */
int group_stage_query(struct group_stage *s, const char *query, double start_s, double end_s, double step_s, bool exact,
                      const struct accuracy *want, struct arena *a, struct result *ret, struct err *e);

#endif
