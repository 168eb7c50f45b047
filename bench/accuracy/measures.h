/* What is measured of each family, how it is set beside the truth, and what is promised. */
#ifndef BENCH_ACCURACY_MEASURES_H
#define BENCH_ACCURACY_MEASURES_H

#include <stdbool.h>
#include <stdint.h>

#include "bench/accuracy/streams.h"
#include "kernels/sketch.h"

/* States of one round, and what they are states of. */
struct round {
    const struct family_info *f;
    const struct sketch_params *params;
    const struct stream *stream;
    const struct state_ref *src;
    uint32_t k;
    void *scratch;
};

struct errors {
    double *v; /* absolute values */
    uint32_t n, room;
};

struct measure {
    const char *name;
    enum family family;
    struct sketch_params params;
    void (*errors)(const struct round *r, struct errors *e);
    double bound;     /* NAN: none is known */
    double failure;   /* probability of an error beyond it; NAN: the bound is a standard error */
    uint32_t streams; /* bits 1 << enum stream_kind */
    bool has_groups;  /* items are built with their groups */
};

const struct measure *measures(uint32_t *ret_n);

#endif
