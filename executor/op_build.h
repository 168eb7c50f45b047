/*
 * The build and merge operators: samples of one series in one window -> one state, and states of the panes of one
 * window -> one state; in buffers that are reused from series to series.
 */
#ifndef EXECUTOR_OP_BUILD_H
#define EXECUTOR_OP_BUILD_H

#include "base/err.h"
#include "base/str.h"
#include "kernels/sketch.h"

struct state_builder {
    const struct family_info *family;
    struct sketch_params params;
    uint8_t *state;
    void *scratch;
    size_t state_cap, scratch_cap;
};

/* ERR_BAD_DATA for an unknown family or refused parameters. */
int state_builder_init(struct state_builder *b, enum family family, const struct sketch_params *params, struct err *e);
void state_builder_done(struct state_builder *b); /* safe on a zeroed one */
/* n >= 1 samples, times rising, no stale markers. *ret is good until the next run. */
int state_builder_run(struct state_builder *b, int64_t end_ms, const int64_t *times_ms, const double *values,
                      uint32_t n, uint64_t seed, struct str *ret, struct err *e);
/* n >= 1 items, of a family that takes them. *ret as above. ERR_NOT_COVERED: weights that the family cannot hold. */
int state_builder_run_items(struct state_builder *b, const struct sketch_items *items, uint64_t seed, struct str *ret,
                            struct err *e);
/* k >= 1 states, `samples_n` behind them as the family counts. *ret is good until the next run. */
int state_builder_merge(struct state_builder *b, int64_t end_ms, const struct state_ref *refs, uint32_t k,
                        uint64_t samples_n, uint64_t seed, struct str *ret, struct err *e);

#endif
