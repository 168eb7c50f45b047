/* mullion check: a workload file, a plan file or a data directory; what it is shows by itself. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "cmd/command.h"
#include "cmd/planner_child.h"
#include "plan/file.h"
#include "store/catalog.h"
#include "store/group.h"
#include "store/pane.h"
#include "store/raw.h"
#include "store/root.h"

static const char summary[] =
    "Check a workload, a plan file or a data directory.\v"
    "A data directory is opened read-only and every block is read: it need not be in use, and may be.\n\n"
    "Exit status: 0 it is sound, 1 it is not, 2 wrong usage.";

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    const char **path = state->input;
    switch (key) {
    case ARGP_KEY_ARG:
        if (*path)
            argp_error(state, "one thing at a time; %s is too many", arg);
        *path = arg;
        return 0;
    case ARGP_KEY_END:
        if (!*path)
            argp_error(state, "check what? Name a workload, a plan file or a data directory");
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- a data directory ---- */

struct totals {
    struct store_txn *txn;
    uint32_t views, windows, damaged_windows, shards, damaged_blocks;
    uint64_t chunks;
    uint32_t view;    /* being walked */
    uint32_t *groups; /* numbers that have labels, rising: of that view, if it is one by labels */
    uint32_t groups_n, groups_total;
    size_t groups_cap;
    uint32_t roots, results, damaged_results;
    const struct root_record *root; /* being walked */
};

static int note_group(void *ctx, uint32_t number, struct str canonical, bool drop_name, struct err *e)
{
    struct totals *t = ctx;
    t->groups = mem_grow(t->groups, &t->groups_cap, t->groups_n + 1u, sizeof *t->groups);
    t->groups[t->groups_n++] = number;
    t->groups_total++;
    return 0;
}

static int check_window(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e)
{
    struct totals *t = ctx;
    struct err found = {0};
    t->windows++;
    int code = pane_window_check(t->txn, t->view, end_ms, &found);
    if (code == 0 && t->groups_n)
        code = group_window_check(t->txn, t->view, end_ms, t->groups, t->groups_n, &found);
    if (code == 0)
        return 0;
    if (code != ERR_CORRUPT && code != ERR_NOT_FOUND)
        return err_set(e, code, "%s", found.message);
    t->damaged_windows++;
    fprintf(stderr, "view %u, window ending at %lld ms: %s\n", t->view, (long long)end_ms, found.message);
    return 0;
}

static int check_view(void *ctx, const struct pane_view *v, struct err *e)
{
    struct totals *t = ctx;
    t->views++;
    t->view = v->number;
    t->groups_n = 0;
    struct err found = {0};
    int code = group_walk(t->txn, GROUP_OF_VIEW, v->number, note_group, t, &found);
    if (code == ERR_CORRUPT) {
        t->damaged_windows++;
        fprintf(stderr, "view %u: %s\n", v->number, found.message);
    } else if (code != 0) {
        return err_set(e, code, "%s", found.message);
    }
    return pane_manifest_walk(t->txn, v->number, INT64_MIN, INT64_MAX, check_window, t, e);
}

static int check_result(void *ctx, int64_t time_ms, struct str bytes, struct err *e)
{
    struct totals *t = ctx;
    struct root_block b;
    struct err found = {0};
    t->results++;
    int code = root_block_parse(bytes, t->root->number, time_ms, &b, &found);
    struct arena a;
    arena_init(&a, 0);
    for (uint32_t i = 0; code == 0 && i < b.n; i++) {
        struct labels labels;
        bool drop_name;
        arena_reset(&a);
        code =
            group_get(t->txn, GROUP_OF_ROOT, t->root->number, root_block_group(&b, i), &a, &labels, &drop_name, &found);
    }
    arena_done(&a);
    if (code == 0)
        return 0;
    if (code != ERR_CORRUPT && code != ERR_NOT_FOUND)
        return err_set(e, code, "%s", found.message);
    t->damaged_results++;
    fprintf(stderr, "stored root %u at %lld ms: %s\n", t->root->number, (long long)time_ms, found.message);
    return 0;
}

static int check_root(void *ctx, const struct root_record *r, struct err *e)
{
    struct totals *t = ctx;
    t->roots++;
    t->root = r;
    return root_result_walk(t->txn, r->number, INT64_MIN, INT64_MAX, check_result, t, e);
}

static int count_chunk(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    ((struct totals *)ctx)->chunks++;
    return 0;
}

static int check_raw(struct totals *t, const struct catalog *c, struct err *e)
{
    int code = 0;
    for (uint32_t metric = 0; code == 0 && metric < catalog_metrics_n(c); metric++)
        for (uint32_t shard = 0; code == 0 && catalog_at(c, metric, shard * SHARD_SERIES) != SERIES_NONE; shard++) {
            uint32_t damaged = 0;
            code = raw_walk(t->txn, metric, shard, INT64_MIN, INT64_MAX, NULL, count_chunk, t, &damaged, e);
            t->shards++;
            t->damaged_blocks += damaged;
        }
    return code;
}

static int check_store(struct store *store, struct err *e)
{
    struct totals t = {0};
    int code = store_read_begin(store, &t.txn, e);
    if (code != 0)
        return code;
    struct catalog *catalog = catalog_new();
    code = catalog_load(catalog, t.txn, e);
    if (code == 0)
        code = pane_view_walk(t.txn, check_view, &t, e);
    if (code == 0)
        code = root_walk(t.txn, check_root, &t, e);
    if (code == 0)
        code = check_raw(&t, catalog, e);
    store_read_end(t.txn);
    if (code == 0)
        printf(
            "%u series, %llu raw chunks in %u shards (%u damaged blocks), %u views with %u windows (%u damaged) and %u "
            "groups, "
            "%u stored roots with %u results (%u damaged)\n",
            catalog_series_n(catalog), (unsigned long long)t.chunks, t.shards, t.damaged_blocks, t.views, t.windows,
            t.damaged_windows, t.groups_total, t.roots, t.results, t.damaged_results);
    catalog_free(catalog);
    mem_free(t.groups);
    if (code == 0 && (t.damaged_blocks || t.damaged_windows || t.damaged_results))
        code = err_set(e, ERR_CORRUPT, "some of what is stored is damaged");
    return code;
}

static int check_directory(const char *path, struct err *e)
{
    struct store_options options = {.read_only = true};
    struct store_open_report report;
    struct store *store;
    int code = store_open(path, &options, &store, &report, e);
    if (code != 0)
        return code;
    code = check_store(store, e);
    store_close(store);
    return code;
}

/* ---- files ---- */

/* A plan file names its format near its beginning; anything else is meant to be a workload. */
static bool is_plan(const char *path)
{
    char head[256] = "";
    FILE *f = fopen(path, "re");
    size_t n = f ? fread(head, 1, sizeof head - 1, f) : 0;
    if (f)
        fclose(f);
    return memmem(head, n, "mullion-plan/", strlen("mullion-plan/")) != NULL;
}

static int check_plan(const char *path, struct err *e)
{
    struct plan *plan;
    int code = plan_read_path(path, &plan, e);
    if (code != 0)
        return code;
    printf("plan: %u queries, %u views, %u refresh groups\n", plan->queries_n, plan->views_n, plan->groups_n);
    plan_free(plan);
    return 0;
}

static int check_workload(const char *path, struct err *e)
{
    char name[] = "mullion-plan", explain[] = "--explain", end[] = "--", file[PLANNER_PATH_MAX];
    if (snprintf(file, sizeof file, "%s", path) >= PLANNER_PATH_MAX)
        return err_set(e, ERR_BAD_DATA, "%s: the path is too long", path);
    char *argv[] = {name, explain, end, file, NULL};
    int status, code = planner_run(argv, false, NULL, &status, e);
    if (code == 0 && status != 0)
        code = err_set(e, ERR_BAD_DATA, "%s is no sound workload; see the lines above", path);
    if (code == 0)
        printf("workload: sound; mullion plan --explain %s shows its plan\n", path);
    return code;
}

int command_check(int argc, char **argv)
{
    const char *path = NULL;
    struct argp argp = {NULL, take_option, "FILE|DIR", summary, NULL, NULL, NULL};
    struct stat info;
    struct err e = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &path);
    if (stat(path, &info) != 0) {
        err_set_errno(&e, errno, "%s", path);
        return command_failed(&e);
    }
    int code = S_ISDIR(info.st_mode) ? check_directory(path, &e)
               : is_plan(path)       ? check_plan(path, &e)
                                     : check_workload(path, &e);
    return code == 0 ? 0 : command_failed(&e);
}
