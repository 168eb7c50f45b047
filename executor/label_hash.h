/*
 * The hash that limit_ratio chooses series by, the same that Prometheus 3 has for a label set: XXH64 (seed 0) over
 * names and values in order, each with its length before it, one byte below 255, else 255 and three bytes
 * little-endian. So the same ratio gives the same series here and there.
 */
#ifndef EXECUTOR_LABEL_HASH_H
#define EXECUTOR_LABEL_HASH_H

#include "base/labels.h"

uint64_t labels_hash_prometheus(const struct labels *l, struct strbuf *scratch);

#endif
