#include "ingest/rig.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "ingest/wire.h"
#include "promql/parse.h"

static void check_ok(int code, const struct err *e, const char *what)
{
    ck_assert_msg(code == 0, "%s: %s", what, e->message);
}

static void plan_make(struct rig *r)
{
    struct workload *w = NULL;
    struct problems problems = {0};
    struct err e = {0};
    struct planner_options options = {.sketch_seed = store_sketch_seed(r->store)};
    int code = workload_read(str_of(r->workload), "workload.yaml", &w, &problems, &e);
    ck_assert_msg(code == 0, "workload: %s %s", e.message, problems.text.n ? strbuf_z(&problems.text) : "");
    check_ok(planner_plan(w, &options, &r->plan, &e), &e, "plan");
    workload_free(w);
    strbuf_done(&problems.text);
    check_ok(ingest_set_plan(r->ingest, r->plan, &e), &e, "set plan");
}

void rig_replan(struct rig *r, const char *workload)
{
    struct plan *before = r->plan;
    r->workload = workload;
    plan_make(r);
    plan_free(before);
}

static void parts_open(struct rig *r)
{
    struct err e = {0};
    bool read_only = r->options.read_only;
    struct store_options options = {.map_bytes = UINT64_C(1) << 30, .read_only = read_only, .alone = read_only};
    struct store_open_report report;
    check_ok(store_open(r->dir, &options, &r->store, &report, &e), &e, "store");
    check_ok(ingest_open(r->store, &r->options, NULL, &r->ingest, &r->report, &e), &e, "ingest");
    if (r->workload) {
        plan_make(r);
    } else if (r->plan_of) {
        r->plan = r->plan_of(r);
        check_ok(ingest_set_plan(r->ingest, r->plan, &e), &e, "set plan");
    }
}

static void parts_close(struct rig *r)
{
    ingest_close(r->ingest);
    plan_free(r->plan);
    r->plan = NULL;
    store_close(r->store);
}

void rig_open(struct rig *r, const char *workload)
{
    r->workload = workload;
    if (r->options.raw_retention_ms == 0)
        ingest_options_default(&r->options);
    snprintf(r->dir, sizeof r->dir, "/tmp/mullion-ingest-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(r->dir));
    parts_open(r);
}

void rig_reopen(struct rig *r)
{
    parts_close(r);
    parts_open(r);
}

static void copy_make(const struct rig *r, char *ret, size_t size)
{
    char command[256];
    snprintf(ret, size, "/tmp/mullion-ingest-XXXXXX");
    ck_assert_ptr_nonnull(mkdtemp(ret));
    snprintf(command, sizeof command, "cp -a --sparse=always %s/. %s/", r->dir, ret);
    ck_assert_int_eq(system(command), 0);
}

/* The directory is copied while it is open: the copy is what a process killed now would leave behind. */
void rig_crash(struct rig *r)
{
    char copy[64], command[256], old[64];
    copy_make(r, copy, sizeof copy);
    memcpy(old, r->dir, sizeof old);
    parts_close(r);
    snprintf(command, sizeof command, "rm -rf %s", old);
    ck_assert_int_eq(system(command), 0);
    memcpy(r->dir, copy, sizeof copy);
    parts_open(r);
}

void rig_crash_read_only(struct rig *r, char *before, size_t size)
{
    copy_make(r, before, size);
    r->options.read_only = true; /* of what is opened next */
    rig_crash(r);
}

void rig_done(struct rig *r)
{
    char command[128];
    parts_close(r);
    snprintf(command, sizeof command, "rm -rf %s", r->dir);
    ck_assert_int_eq(system(command), 0);
}

/* ---- wire ---- */

/* name{a="b",c="d"} without escapes; labels go out sorted, __name__ first as '_' sorts before letters. */
static void put_labels(struct strbuf *b, const char *series)
{
    const char *brace = strchr(series, '{');
    size_t name_n = brace ? (size_t)(brace - series) : strlen(series);
    wire_label(b, STR("__name__"), (struct str){series, name_n});
    for (const char *p = brace ? brace + 1 : ""; *p && *p != '}';) {
        const char *equals = strchr(p, '='), *end = strchr(equals + 2, '"');
        wire_label(b, (struct str){p, (size_t)(equals - p)}, (struct str){equals + 2, (size_t)(end - equals - 2)});
        p = end + 1 + (end[1] == ',');
    }
}

void rig_encode(const struct rig_sample *samples, size_t n, struct strbuf *out)
{
    struct strbuf plain = {0}, series = {0};
    for (size_t i = 0; i < n; i++) {
        strbuf_clear(&series);
        put_labels(&series, samples[i].series);
        if (samples[i].histogram)
            wire_histogram(&series, samples[i].time_ms, samples[i].histogram, true);
        else
            wire_sample(&series, samples[i].time_ms, samples[i].value);
        wire_bytes(&plain, 1, series.p, series.n);
    }
    wire_compress(&plain, out);
    strbuf_done(&plain);
    strbuf_done(&series);
}

int rig_send(struct rig *r, const struct rig_sample *samples, size_t n, int64_t receive_ms, struct write_result *ret)
{
    struct strbuf body = {0};
    struct write_result ignored;
    struct err e = {0};
    rig_encode(samples, n, &body);
    int code = ingest_write(r->ingest, NULL, (struct str){body.p, body.n}, receive_ms, ret ? ret : &ignored, &e);
    strbuf_done(&body);
    return code;
}

void rig_tick(struct rig *r, int64_t now_ms)
{
    struct err e = {0};
    do
        check_ok(ingest_tick(r->ingest, now_ms, &e), &e, "tick");
    while (ingest_backfill_left(r->ingest));
}

/* ---- queries ---- */

static void run_query(struct rig *r, const char *query, int64_t time_ms, bool exact, struct arena *a,
                      struct result *ret)
{
    struct executor x = {.plan = r->plan, .source = ingest_source(r->ingest), .kept = r->kept};
    struct query_options o = {.start_ms = time_ms, .end_ms = time_ms, .exact = exact};
    struct err e = {0};
    check_ok(query_run(&x, str_of(query), &o, a, ret, &e), &e, query);
}

double rig_value(struct rig *r, const char *query, int64_t time_ms, bool exact, bool *found)
{
    struct arena a;
    struct result result;
    arena_init(&a, 0);
    run_query(r, query, time_ms, exact, &a, &result);
    ck_assert_msg(result.series_n <= 1, "%s: %u series", query, result.series_n);
    double v = result.series_n ? result.series[0].v[0] : NAN;
    *found = result.series_n == 1;
    arena_done(&a);
    return v;
}

uint32_t rig_count(struct rig *r, const char *query, int64_t time_ms, bool exact, uint32_t *sources)
{
    struct arena a;
    struct result result;
    arena_init(&a, 0);
    run_query(r, query, time_ms, exact, &a, &result);
    uint32_t n = result.series_n;
    *sources = result.sources;
    arena_done(&a);
    return n;
}
