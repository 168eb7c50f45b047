/* mullion-plan's what-ifs: a workload changed on the command line, and plans side by side. */
#ifndef CMD_WHAT_IF_H
#define CMD_WHAT_IF_H

#include "planner/planner.h"

enum { WHAT_IFS_MAX = 64 };
enum what_if_kind { WHAT_IF_MEMORY = 1, WHAT_IF_ACCURACY, WHAT_IF_INTERVAL };
struct what_if {
    enum what_if_kind kind;
    const char *text;
};

/* Change the workload as all of these say, in order. */
int what_if_apply(struct workload *w, const struct what_if *v, uint32_t n, struct err *e);
/* What the plan as written costs, with each of these alone, and with all if there are several. `w` ends as it was. */
int what_if_table(struct workload *w, const struct what_if *v, uint32_t n, const struct planner_options *options,
                  struct strbuf *out, struct err *e);
/* The plan chosen against all raw, each family wherever it can answer, and the plan made greedily. */
int compare_table(const struct workload *w, const struct planner_options *options, struct strbuf *out, struct err *e);

#endif
