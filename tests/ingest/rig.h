/*
 * A whole engine without sockets for ingest suites: a store in a directory of its own, ingest over it, a plan made by
 * the real planner from a workload text, and queries through the real executor. Time is told by the test.
 */
#ifndef TESTS_INGEST_RIG_H
#define TESTS_INGEST_RIG_H

#include <check.h>

#include "executor/query.h"
#include "ingest/ingest.h"
#include "planner/planner.h"

struct rig {
    char dir[64];
    struct store *store;
    struct ingest *ingest;
    struct ingest_options options;
    struct ingest_report report;
    struct plan *plan;
    const char *workload;                         /* NULL: no plan, or that of `plan_of` */
    struct plan *(*plan_of)(const struct rig *r); /* a plan made by hand, each time the engine opens */
    struct pane_cache *kept;                      /* the test's; NULL: panes are not kept on first read */
};

void rig_open(struct rig *r, const char *workload); /* options: defaults unless set before (raw_retention_ms != 0) */
void rig_reopen(struct rig *r);                     /* close in good order, open again */
void rig_crash(struct rig *r);                      /* open again without closing: what a kill leaves */
/* As rig_crash, and from now on read-only; `before` gets the name of another copy, the caller's to remove. */
void rig_crash_read_only(struct rig *r, char *before, size_t size);
void rig_done(struct rig *r); /* close and remove the directory */

/* Another workload's plan in place of the one in force, without closing anything. */
void rig_replan(struct rig *r, const char *workload);

struct rig_sample {
    const char *series; /* name{a="b"} */
    int64_t time_ms;
    double value;
    const struct histogram_exact *histogram; /* instead of the value; NULL: none */
};
/* One request; returns ingest_write's code. */
int rig_send(struct rig *r, const struct rig_sample *samples, size_t n, int64_t receive_ms, struct write_result *ret);
void rig_tick(struct rig *r, int64_t now_ms); /* until nothing is due */

/* The single value of an instant query; NAN with *found false when the answer is empty. */
double rig_value(struct rig *r, const char *query, int64_t time_ms, bool exact, bool *found);
/* Number of series and the sources of the answer. */
uint32_t rig_count(struct rig *r, const char *query, int64_t time_ms, bool exact, uint32_t *sources);

/* A write request's wire bytes (snappy and protobuf by an encoder of the test's own). */
void rig_encode(const struct rig_sample *samples, size_t n, struct strbuf *out);

#endif
