/*
 * Sets of times as spans [from, to): disjoint, not touching, ascending. Late samples dirty spans of a stored root's
 * times, and those of one sender or one outage grow into one another.
 */
#ifndef INGEST_SPANS_H
#define INGEST_SPANS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "store/source.h"

struct spans {
    struct source_span *v;
    uint32_t n;
    size_t cap;
};
void spans_add(struct spans *s, int64_t from_ms, int64_t to_ms); /* nothing when from >= to */
void spans_remove(struct spans *s, int64_t from_ms, int64_t to_ms);
void spans_add_all(struct spans *s, const struct spans *from);
bool spans_hold(const struct spans *s, int64_t from_ms, int64_t to_ms); /* all of it */
void spans_done(struct spans *s);

#endif
