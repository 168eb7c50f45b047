/*
 * mullion-plan: a workload file in, a plan out. Its own executable because it alone may link GLPK (GPL-3), and so that
 * a hopeless workload never touches a server: `mullion plan` and the server run it as a child.
 *
 * Exit status: 0 planned, 1 the workload has problems or something failed, 2 wrong usage. Problems go to stderr, each
 * as file:line:column: sentence. The output file appears whole or not at all.
 */
#include <argp.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/alloc.h"
#include "cmd/output_file.h"
#include "cmd/what_if.h"
#include "plan/explain.h"
#include "plan/file.h"
#include "planner/cost_model.h"
#include "planner/planner.h"

const char *argp_program_version = "mullion-plan 0.1.0";
static const char summary[] =
    "Plan which summaries of series to keep for a workload of PromQL queries.\v"
    "WORKLOAD.yaml lists queries with their intervals and accuracy, and what is known of the data; - reads standard "
    "input. Without -o, --explain or --dot the plan is printed as JSON. --compare and what-ifs print tables of costs "
    "instead; "
    "with an output of the plan as well, that is of the workload as the what-ifs change it.\n\n"
    "Exit status: 0 planned, 1 the workload has problems or something failed, 2 wrong usage.";

static const struct argp_option option_list[] = {
    {"output", 'o', "FILE", 0, "Write the plan file here, atomically", 0},
    {"explain", 'e', NULL, 0, "Print every query's plan as text: views, costs, rejected candidates and why", 0},
    {"json", 'j', NULL, 0, "Print the plan as JSON (the default when nothing else is asked for)", 0},
    {"dot", 'd', NULL, 0, "Print the plan's graph in Graphviz' language", 0},
    {"compare", 'c', NULL, 0, "Print what the plan costs against all raw, each family alone, and a greedy choice", 0},
    {"memory-limit", 'm', "SIZE", 0, "What if models.memory_limit were this (none: no limit)", 1},
    {"accuracy", 'a', "QUERY=TARGET", 0, "What if a query's accuracy were this: exact, none, or KIND:ERROR[,failure:F]",
     1},
    {"interval", 'i', "QUERY=DURATION", 0, "What if a query were asked every so often", 1},
    {"seed", 's', "N", 0, "Seed of the sketches (default 0); the server's store has its own", 0},
    {0}};

struct options {
    const char *workload, *output;
    bool explain, json, dot, compare;
    uint64_t seed;
    struct what_if what_ifs[WHAT_IFS_MAX];
    uint32_t what_ifs_n;
};

static void add_what_if(struct argp_state *state, enum what_if_kind kind, const char *text)
{
    struct options *o = state->input;
    if (o->what_ifs_n == WHAT_IFS_MAX)
        argp_error(state, "more than %d what-ifs", WHAT_IFS_MAX);
    o->what_ifs[o->what_ifs_n++] = (struct what_if){kind, text};
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    struct options *o = state->input;
    char *end;
    switch (key) {
    case 'o':
        o->output = arg;
        return 0;
    case 'e':
        o->explain = true;
        return 0;
    case 'j':
        o->json = true;
        return 0;
    case 'd':
        o->dot = true;
        return 0;
    case 'c':
        o->compare = true;
        return 0;
    case 'm':
        add_what_if(state, WHAT_IF_MEMORY, arg);
        return 0;
    case 'a':
        add_what_if(state, WHAT_IF_ACCURACY, arg);
        return 0;
    case 'i':
        add_what_if(state, WHAT_IF_INTERVAL, arg);
        return 0;
    case 's':
        errno = 0;
        o->seed = strtoull(arg, &end, 0);
        if (errno != 0 || end == arg || *end != 0 || strchr(arg, '-'))
            argp_error(state, "--seed must be a whole number from 0 to 2^64 - 1, not %s", arg);
        return 0;
    case ARGP_KEY_ARG:
        if (state->arg_num > 0)
            argp_error(state, "one workload file at a time; %s is too many", arg);
        o->workload = arg;
        return 0;
    case ARGP_KEY_END:
        if (!o->workload)
            argp_error(state, "which workload? Name a file, or - for standard input");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* The whole of a file, or of standard input (-), up to one byte more than `most`. */
static int read_file(const char *path, size_t most, struct strbuf *ret, struct err *e)
{
    bool standard = strcmp(path, "-") == 0;
    int fd = standard ? STDIN_FILENO : open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return err_set_errno(e, errno, "%s", path);
    int rc = 0;
    while (ret->n <= most) {
        strbuf_reserve(ret, 1 << 16);
        ssize_t n = read(fd, ret->p + ret->n, 1 << 16);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            rc = err_set_errno(e, errno, "%s", path);
        if (n <= 0)
            break;
        ret->n += (size_t)n;
    }
    if (!standard)
        close(fd);
    return rc;
}

static int write_outputs(const struct options *o, const struct plan *plan, struct err *e)
{
    struct strbuf text = {0};
    int rc = 0;
    if (o->output || o->json || (!o->explain && !o->dot))
        plan_write(plan, &text);
    if (o->output)
        rc = output_file(o->output, (struct str){text.p, text.n}, "the plan", e);
    if (o->output && !o->json)
        strbuf_clear(&text);
    if (o->explain)
        plan_explain(plan, &text);
    if (o->dot)
        plan_dot(plan, &text);
    if (rc == 0)
        rc = output_stdout((struct str){text.p, text.n}, e);
    strbuf_done(&text);
    return rc;
}

/* The costs that models.calibration names, a path beside the workload file. */
static int read_costs(const struct options *o, const struct workload *w, struct cost_model *ret,
                      struct problems *problems, struct err *e)
{
    *ret = cost_defaults;
    if (w->calibration.n == 0)
        return 0;
    struct strbuf path = {0}, text = {0};
    const char *slash = strrchr(o->workload, '/');
    if (slash && w->calibration.p[0] != '/')
        strbuf_add(&path, o->workload, (size_t)(slash + 1 - o->workload));
    strbuf_add_str(&path, w->calibration);
    int rc = read_file(strbuf_z(&path), CALIBRATION_MAX_BYTES, &text, e);
    if (rc == 0 && text.n > CALIBRATION_MAX_BYTES)
        rc = err_set(e, ERR_TOO_LARGE, "%s: a calibration file has at most %d bytes", strbuf_z(&path),
                     CALIBRATION_MAX_BYTES);
    if (rc == 0)
        rc = calibration_read((struct str){text.p, text.n}, strbuf_z(&path), ret, problems, e);
    strbuf_done(&path);
    strbuf_done(&text);
    return rc;
}

/* Tables are instead of a plan, unless a plan is asked for too: then standard output is for whatever is printed of it.
 */
static bool wants_plan(const struct options *o)
{
    return o->output || o->json || o->explain || o->dot || (!o->compare && o->what_ifs_n == 0);
}

/* What-ifs against the workload as written; it is then changed by all of them, for what comes after. */
static int write_tables(const struct options *o, struct workload *w, const struct planner_options *options,
                        struct err *e)
{
    struct strbuf text = {0};
    int rc = 0;
    bool printed = o->json || o->explain || o->dot;
    if (o->what_ifs_n > 0 && !printed)
        rc = what_if_table(w, o->what_ifs, o->what_ifs_n, options, &text, e);
    if (rc == 0)
        rc = what_if_apply(w, o->what_ifs, o->what_ifs_n, e);
    if (rc == 0 && o->compare && !printed)
        rc = compare_table(w, options, &text, e);
    if (rc == 0 && text.n > 0)
        rc = output_stdout((struct str){text.p, text.n}, e);
    strbuf_done(&text);
    return rc;
}

static int plan_workload(const struct options *o, struct err *e)
{
    struct strbuf text = {0};
    struct problems problems = {0};
    struct workload *w = NULL;
    struct plan *plan = NULL;
    const char *name = strcmp(o->workload, "-") == 0 ? "<stdin>" : o->workload;
    struct cost_model costs;
    int rc = read_file(o->workload, WORKLOAD_MAX_BYTES, &text, e);
    if (rc == 0)
        rc = workload_read((struct str){text.p, text.n}, name, &w, &problems, e);
    if (rc == 0)
        rc = read_costs(o, w, &costs, &problems, e);
    if (problems.text.n)
        fwrite(problems.text.p, 1, problems.text.n, stderr);
    struct planner_options options = {.sketch_seed = o->seed, .costs = &costs};
    if (rc == 0 && (o->compare || o->what_ifs_n > 0))
        rc = write_tables(o, w, &options, e);
    if (rc == 0 && wants_plan(o))
        rc = planner_plan(w, &options, &plan, e);
    if (plan)
        rc = write_outputs(o, plan, e);
    plan_free(plan);
    workload_free(w);
    strbuf_done(&problems.text);
    strbuf_done(&text);
    return rc;
}

int main(int argc, char **argv)
{
    struct options o = {0};
    struct argp argp = {option_list, take_option, "WORKLOAD.yaml", summary, NULL, NULL, NULL};
    argp_err_exit_status = 2;
    argp_parse(&argp, argc, argv, 0, NULL, &o);
    struct err e = {0};
    if (plan_workload(&o, &e) == 0)
        return 0;
    fprintf(stderr, "mullion-plan: %s\n", e.message);
    return 1;
}
