#include "cmd/what_if.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/duration.h"
#include "planner/what_if.h"

static const char *const option_names[] = {
    [WHAT_IF_MEMORY] = "--memory-limit", [WHAT_IF_ACCURACY] = "--accuracy", [WHAT_IF_INTERVAL] = "--interval"};

static int apply_one(struct workload *w, const struct what_if *v, struct err *e)
{
    struct str text = str_of(v->text);
    uint64_t bytes;
    int rc;
    switch (v->kind) {
    case WHAT_IF_MEMORY:
        if (str_eq(text, STR("none"))) {
            w->memory_limit_bytes = 0;
            return 0;
        }
        rc = size_parse(text, &bytes, e);
        if (rc == 0 && bytes == 0)
            rc = err_set(e, ERR_BAD_DATA, "a limit is larger than 0; none is without one");
        if (rc == 0)
            w->memory_limit_bytes = bytes;
        break;
    case WHAT_IF_ACCURACY:
        rc = workload_set_accuracy(w, text, e);
        break;
    default:
        rc = workload_set_interval(w, text, e);
    }
    if (rc != 0)
        err_prefix(e, "%s %s", option_names[v->kind], v->text);
    return rc;
}

int what_if_apply(struct workload *w, const struct what_if *v, uint32_t n, struct err *e)
{
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < n; i++)
        rc = apply_one(w, &v[i], e);
    return rc;
}

/* ---- tables ---- */

static double total(const struct plan_cost *c)
{
    return c->ingest + c->query + c->memory;
}

static void add_head(struct strbuf *out)
{
    strbuf_printf(out, "%-40s %12s %10s %11s %11s %11s %12s %6s %6s %8s  %s\n", "plan", "CPU-ms/s", "", "ingest",
                  "query", "memory", "bytes held", "views", "roots", "on panes", "solver");
}

static void add_row(struct strbuf *out, const char *name, const struct planner_summary *s, bool proved,
                    const struct planner_summary *base)
{
    char change[32] = "";
    if (base && total(&base->cost) > 0)
        snprintf(change, sizeof change, "%+.1f %%", (total(&s->cost) / total(&base->cost) - 1) * 100);
    strbuf_printf(out, "%-40s %12.5g %10s %11.4g %11.4g %11.4g %12.4g %6u %6u %4u/%-4u %s", name, total(&s->cost),
                  change, s->cost.ingest, s->cost.query, s->cost.memory, s->bytes, s->views_n, s->roots_n,
                  s->on_panes_n, s->sites_n, proved ? selection_status_name(s->status) : "not proved");
    if (s->otherwise_n > 0)
        strbuf_printf(out, "; %u site%s otherwise", s->otherwise_n, s->otherwise_n == 1 ? "" : "s");
    strbuf_add_char(out, '\n');
}

/* A plan that cannot be is a row too. */
static int add_plan(struct strbuf *out, const char *name, const struct workload *w,
                    const struct planner_options *options, const struct planner_summary *base,
                    struct planner_summary *ret, struct err *e)
{
    int rc = planner_summarize(w, options, ret, e);
    if (rc == 0)
        add_row(out, name, ret, options->method != SELECTION_SEARCH, base);
    else if (base && (rc == ERR_LIMIT || rc == ERR_TIMEOUT))
        strbuf_printf(out, "%-40s impossible: %s\n", name, e->message);
    else
        return rc;
    return 0;
}

int what_if_table(struct workload *w, const struct what_if *v, uint32_t n, const struct planner_options *options,
                  struct strbuf *out, struct err *e)
{
    struct workload written = *w;
    struct workload_query *queries = mem_dup(w->queries, w->queries_n * sizeof *queries);
    struct planner_summary base, now;
    add_head(out);
    int rc = add_plan(out, "as written", w, options, NULL, &base, e);
    for (uint32_t i = 0; rc == 0 && i < n + (n > 1); i++) {
        bool all = i == n;
        struct strbuf name = {0};
        if (all)
            strbuf_add_z(&name, "all of these");
        else
            strbuf_printf(&name, "%s %s", option_names[v[i].kind], v[i].text);
        rc = what_if_apply(w, all ? v : &v[i], all ? n : 1, e);
        if (rc == 0)
            rc = add_plan(out, strbuf_z(&name), w, options, &base, &now, e);
        strbuf_done(&name);
        w->memory_limit_bytes = written.memory_limit_bytes;
        memcpy(w->queries, queries, w->queries_n * sizeof *queries);
    }
    mem_free(queries);
    return rc;
}

int compare_table(const struct workload *w, const struct planner_options *options, struct strbuf *out, struct err *e)
{
    struct planner_summary base, now;
    struct planner_options forced = *options, greedy = *options;
    add_head(out);
    int rc = add_plan(out, "chosen", w, options, NULL, &base, e);
    forced.forced = FORCED_RAW;
    if (rc == 0)
        rc = add_plan(out, "all raw", w, &forced, &base, &now, e);
    for (int f = FAMILY_INVALID + 1; rc == 0 && f < FAMILY_END; f++) {
        char name[64];
        if (!base.offered[f])
            continue;
        snprintf(name, sizeof name, "%s wherever it can", family_get((enum family)f)->name);
        forced.forced = f;
        rc = add_plan(out, name, w, &forced, &base, &now, e);
    }
    forced.forced = FORCED_PARTS;
    if (rc == 0 && base.stored_offered)
        rc = add_plan(out, "no stored roots", w, &forced, &base, &now, e);
    greedy.method = SELECTION_SEARCH;
    if (rc == 0)
        rc = add_plan(out, "greedy", w, &greedy, &base, &now, e);
    return rc;
}
