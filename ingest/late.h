/*
 * Late samples, as those who keep panes of sealed windows for themselves need to know of them: a window's revision
 * rises when a sample is applied in it after it was sealed. Time is cut into spans, and each remembers the number of
 * the last late sample that fell into it, or into another that shares its place: a window may so get a new revision for
 * nothing, but never keep one that no longer holds.
 *
 * Counted from 0 in each process: nothing that is kept by it outlives it. Not locked inside: ingest's lock.
 */
#ifndef INGEST_LATE_H
#define INGEST_LATE_H

#include <stdint.h>

enum { LATE_SPAN_MS = 10000, LATE_SPANS = 4096 /* a power of two; 11 hours have places of their own */ };
struct late_marks {
    uint64_t n;              /* late samples so far */
    uint64_t at[LATE_SPANS]; /* their number when the last one fell into the span */
};
/* A sample was applied at or before the watermark. */
void late_mark(struct late_marks *l, int64_t time_ms);
/* Of the window (start_ms, end_ms], which is sealed: >= 1. */
uint64_t late_revision(const struct late_marks *l, int64_t start_ms, int64_t end_ms);

#endif
