#include "ingest/late.h"

#include "base/duration.h"

/* Spans are left-open as windows are: (n * LATE_SPAN_MS, (n + 1) * LATE_SPAN_MS]. */
static int64_t span_of(int64_t time_ms)
{
    return floor_div(time_ms - 1, LATE_SPAN_MS);
}

void late_mark(struct late_marks *l, int64_t time_ms)
{
    l->at[(uint64_t)span_of(time_ms) % LATE_SPANS] = ++l->n;
}

uint64_t late_revision(const struct late_marks *l, int64_t start_ms, int64_t end_ms)
{
    int64_t first = span_of(start_ms + 1), last = span_of(end_ms);
    uint64_t newest = 0;
    if (last - first >= LATE_SPANS)
        return 1 + l->n;
    for (int64_t i = first; i <= last; i++) {
        uint64_t at = l->at[(uint64_t)i % LATE_SPANS];
        newest = at > newest ? at : newest;
    }
    return 1 + newest;
}
