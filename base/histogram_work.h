/*
 * A histogram taken apart for adding to it: each side an array of buckets in rising order, every number with its rest.
 * The results of `+`, rate, sum and so on are first worked out here, then stored. For base/histogram*.c only.
 */
#ifndef BASE_HISTOGRAM_WORK_H
#define BASE_HISTOGRAM_WORK_H

#include "base/histogram_parts.h"

/* The buckets of one side. `apart` marks the start of a span that is kept even when the one before it ends there:
 * Prometheus' layouts keep such seams until a Compact, and its equality sees them. */
struct bucket_run {
    int32_t *index;
    double *count, *rest;
    bool *apart;
    uint32_t n, cap;
};

struct histogram_work {
    struct arena *arena; /* of the arrays, which only grow */
    int32_t schema;
    enum histogram_reset reset;
    bool keep_rests; /* else each sum is rounded as plain doubles are */
    bool failed;     /* the arena is at its limit */
    double zero_threshold;
    struct compensated zero_count, count, sum;
    struct bucket_run positive, negative, spare;
    double *custom;
    size_t custom_cap;
    uint32_t custom_n;
};

/* Buckets of either form, one after another from the zero bucket outwards, in a schema `shift` lower than theirs. */
struct bucket_feed {
    const struct bucket_run *run; /* or NULL: */
    uint32_t at;
    struct histogram_walk walk;
    double divisor; /* of what `walk` gives */
    int shift;
    bool ahead; /* one is read already: */
    int32_t next_index;
    struct compensated next;
};
static inline struct bucket_feed feed_side(const struct histogram_side *side, double divisor, int shift)
{
    return (struct bucket_feed){.walk = walk_begin(side), .divisor = divisor, .shift = shift};
}
static inline struct bucket_feed feed_run(const struct bucket_run *run, int shift)
{
    return (struct bucket_feed){.run = run, .shift = shift};
}
bool feed_next(struct bucket_feed *f, int32_t *index, struct compensated *count);

/* Room for `need` buckets; what `r` held is lost when it has to grow. False when the arena is at its limit. */
bool run_reserve(struct histogram_work *w, struct bucket_run *r, uint64_t need);
static inline void run_put(struct bucket_run *r, int32_t index, struct compensated count, bool apart)
{
    r->index[r->n] = index;
    r->count[r->n] = count.v;
    r->rest[r->n] = count.rest;
    r->apart[r->n++] = apart;
}
/* `r` becomes what was put into the spare run, and lends its memory for the next time. */
void run_take_spare(struct histogram_work *w, struct bucket_run *r);

/* What the zero count would be were the zero bucket as wide as *threshold, or as much wider as it takes not to cut a
 * populated bucket: then *threshold becomes that. *zero has the zero count as it is. The feeds are fresh. */
void zero_count_at(int32_t schema, const struct bucket_feed *positive, const struct bucket_feed *negative,
                   double *threshold, struct compensated *zero);

/* Empty, with no memory yet. */
void work_init(struct histogram_work *w, struct arena *a, bool keep_rests);
/* Becomes `h`, reduced to `schema` (h's own: as it is). The arrays are used again. */
void work_load(struct histogram_work *w, const struct histogram *h, int32_t schema);
void work_copy(struct histogram_work *w, const struct histogram_work *from);
void work_reduce(struct histogram_work *w, int32_t schema); /* a lower one */

/* What work_add met. */
enum { WORK_INCOMPATIBLE = 1, WORK_RESETS_CONFLICT = 2, WORK_BOUNDS_RECONCILED = 4 };
/* w += h / divisor, or -=: the lower of the two schemas, the wider zero bucket, the custom bounds both have. Returns
 * bits; with WORK_INCOMPATIBLE nothing was done. */
unsigned work_add(struct histogram_work *w, const struct histogram *h, double divisor, bool negative);
void work_scale(struct histogram_work *w, double factor, double divisor); /* v * factor / divisor, rests too */
bool work_overflows(const struct histogram_work *w);

/* The result in `to`; NULL when that or the work's arena is at its limit. */
enum work_finish {
    WORK_AS_IS = 0,
    WORK_COMPACT = 1,   /* without empty buckets and seams */
    WORK_ADD_RESTS = 2, /* each number with its rest; both are divided by `divisor` first */
};
const struct histogram *work_store(const struct histogram_work *w, int finish, double divisor, struct arena *to);

#endif
