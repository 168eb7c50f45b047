/* Workload files: any bytes are read or refused with a place; a small workload that is read is planned, and the plan
 * (if there is one) is a plan file that loads. */
#include "fuzz.h"
#include "plan/file.h"
#include "planner/planner.h"

enum { TEXT_MAX = 1 << 14, QUERIES_PLANNED_MAX = 3 };

static void plan(struct workload *w)
{
    w->planning_deadline_ms = 100;
    struct planner_options options = {.sketch_seed = 1};
    struct plan *plan = NULL, *again = NULL;
    struct strbuf text = {0};
    struct err e = {0};
    if (planner_plan(w, &options, &plan, &e) != 0)
        return;
    plan_write(plan, &text);
    MUST(plan_read((struct str){text.p, text.n}, &again, &e) == 0);
    plan_free(plan);
    plan_free(again);
    strbuf_done(&text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload *w = NULL;
    struct problems problems = {0};
    struct err e = {0};
    if (size > TEXT_MAX)
        return 0;
    int code = workload_read((struct str){(const char *)data, size}, "fuzz.yaml", &w, &problems, &e);
    MUST((code == 0) == (w != NULL) && (code == 0) == (problems.n == 0));
    if (w && w->queries_n <= QUERIES_PLANNED_MAX)
        plan(w);
    workload_free(w);
    strbuf_done(&problems.text);
    return 0;
}
