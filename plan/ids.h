/*
 * Identities: the hash of what a view computes, the one thing that ties a plan to stored panes. The byte string is
 * built here and nowhere else (docs/FORMATS.md, "View identity"): XXH3-128 with seed 0 over version, sorted matchers
 * (name, op, value), input extractor, family, sorted parameters, sorted reduction labels, width, phase, look-back,
 * sketch seed. Retention, count and when it is built are not in it.
 */
#ifndef PLAN_IDS_H
#define PLAN_IDS_H

#include "base/labels.h"
#include "base/matcher.h"
#include "kernels/sketch.h"

enum { IDENTITY_BYTES = 16 };

struct view_definition {
    const struct matcher *matchers;
    uint32_t matchers_n;
    struct str input; /* extractor: "value" (the only one yet) */
    enum family family;
    struct sketch_params params;
    const struct str *reduce; /* labels kept; NULL with reduce_n 0 and per_series true: one state a series */
    uint32_t reduce_n;
    bool per_series;
    int64_t width_ms, phase_ms, lookback_ms;
    uint64_t sketch_seed;
};

void view_identity(const struct view_definition *d, uint8_t ret[IDENTITY_BYTES]);
void identity_text(const uint8_t identity[IDENTITY_BYTES], char ret[2 * IDENTITY_BYTES + 1]); /* lower-case hex */
bool identity_parse(struct str text, uint8_t ret[IDENTITY_BYTES]);

/* Seed of one state: XXH3 of (LE sketch seed, 16 identity bytes, LE XXH3 of the canonical labels, LE window end). */
uint64_t state_seed(uint64_t sketch_seed, const uint8_t identity[IDENTITY_BYTES], const struct labels *labels,
                    int64_t end_ms);

#endif
