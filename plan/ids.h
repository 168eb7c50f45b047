/*
 * Identities: the hash of what a view computes, the one thing that ties a plan to stored panes. The byte string is
 * built here and nowhere else (docs/FORMATS.md, "View identity"): XXH3-128 with seed 0 over version, sorted matchers
 * (name, op, value), input extractor, family, sorted parameters, sorted reduction labels, width, phase, look-back,
 * sketch seed. Retention, count and when it is built are not in it. A stored root's is made the same way.
 */
#ifndef PLAN_IDS_H
#define PLAN_IDS_H

#include "base/labels.h"
#include "base/matcher.h"
#include "kernels/sketch.h"
#include "plan/input.h"

/*
 * The byte string, version 1 (str = u32 length, bytes; everything little-endian):
 *     u32 version
 *     u32 matchers_n, then each by (name, op, value): str name, u32 op (enum matcher_op), str value
 *     str input (plan/input.h: "value", "series", "label NAME")
 *     u32 family (its stable number)
 *     u32 params_n, then each that is not zero by name: str "alpha", f64 | str "k" | "max_bins" | "p", u64
 *     u32 per_series (0 or 1), u32 reduce_n, then each sorted: str label
 *     i64 width_ms, i64 phase_ms, i64 lookback_ms, u64 sketch_seed
 * A DDSketch's max_bins of 0 means the default 2048 and is written so: it is the same sketch.
 */
enum { IDENTITY_BYTES = 16, IDENTITY_VERSION = 1, ROOT_IDENTITY_VERSION = 1, IDENTITY_DDSKETCH_BINS = 2048 };

struct view_definition {
    const struct matcher *matchers;
    uint32_t matchers_n;
    struct view_input input;
    enum family family;
    struct sketch_params params;
    const struct str *reduce; /* labels kept; NULL with reduce_n 0 and per_series true: one state a series */
    uint32_t reduce_n;
    bool per_series;
    int64_t width_ms, phase_ms, lookback_ms;
    uint64_t sketch_seed;
};

/* The order of matchers in a source and in an identity: by name, op, value. */
int matcher_cmp(const struct matcher *a, const struct matcher *b);
/* Are two lists, in one order, the same? */
bool matchers_eq(const struct matcher *a, uint32_t a_n, const struct matcher *b, uint32_t b_n);

/*
 * What a stored root computes. Its byte string, version 1: u32 version, str "stored root", str canonical text,
 * i64 step_ms, i64 phase_ms of its grid, i64 look-back of instant selectors, i64 default step of subqueries.
 */
struct root_definition {
    struct str text;
    int64_t step_ms, phase_ms, lookback_ms, default_step_ms;
};
void root_identity(const struct root_definition *d, uint8_t ret[IDENTITY_BYTES]);

void view_identity(const struct view_definition *d, uint8_t ret[IDENTITY_BYTES]);
void identity_text(const uint8_t identity[IDENTITY_BYTES], char ret[2 * IDENTITY_BYTES + 1]); /* lower-case hex */
bool identity_parse(struct str text, uint8_t ret[IDENTITY_BYTES]);

/* Seed of one state: XXH3 of (LE sketch seed, 16 identity bytes, LE XXH3 of the canonical labels, LE window end). */
uint64_t state_seed(uint64_t sketch_seed, const uint8_t identity[IDENTITY_BYTES], const struct labels *labels,
                    int64_t end_ms);

#endif
