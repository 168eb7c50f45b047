/*
 * The head: the newest samples of every series, in memory.
 *
 *     series:  [sealed chunks not yet in the store] [open chunk: blocks of 8] [tail: up to 8 samples]      in time
 * order [late: samples that came out of order, sorted]
 *
 * A sample goes to the tail; a full tail becomes one encoded block of the open chunk; a full open chunk is re-encoded
 * as one raw chunk (kernels/frame.h) and waits for the next checkpoint, which moves it to the store. Late samples
 * become chunks of their own there. Every sample is in the head, in the store, or for a moment in both; at equal times
 * a number wins over a stale marker.
 *
 * Native histograms of a series stand beside its floats, in chunks of their own (base/histogram_chunk.h), and readers
 * put the two together by time; a series without any pays one pointer. A histogram that is a stale marker is kept as a
 * float's: that is all it says.
 *
 * Not locked inside: ingest's lock is held for writing around changes and for reading around reads.
 */
#ifndef INGEST_HEAD_H
#define INGEST_HEAD_H

#include "base/arena.h"
#include "base/err.h"
#include "base/histogram_chunk.h"
#include "base/str.h"
#include "store/catalog.h"

enum { HEAD_TAIL = 8, HEAD_CHUNK_N = 240, HEAD_OPEN_MAX_BYTES = 1024, HEAD_HISTOGRAMS_MAX_BYTES = 4096 };

/* A sealed chunk; to_store is set while a checkpoint is writing it. */
struct head_chunk {
    struct head_chunk *next; /* newer */
    int64_t first_ms, last_ms;
    uint32_t size;
    bool to_store;
    uint8_t bytes[];
};

struct head_chunks {
    struct head_chunk *first, *newest;
};

struct late_samples {
    uint32_t n, cap;
    int64_t *times_ms;
    double *values;
};

struct late_histogram {
    int64_t time_ms;
    struct str chunk; /* of this sample alone; its own memory */
};
struct late_histograms {
    struct late_histogram *v; /* ascending */
    uint32_t n;
    size_t cap;
};
struct head_histograms {
    int64_t first_ms, last_ms; /* the oldest and the newest that ever came */
    struct head_chunks chunks;
    struct histogram_chunk open;
    struct late_histograms late, late_moving;
};

struct head_series {
    int64_t last_ms;     /* newest sample of the series ever; INT64_MIN: none */
    int64_t store_to_ms; /* the head holds every sample newer than this; INT64_MIN: nothing is in the store */
    struct head_chunks chunks;
    struct head_histograms *histograms;      /* NULL: it never had any */
    struct late_samples *late, *late_moving; /* the second is on its way to the store */
    uint8_t *open;                           /* encoded blocks of HEAD_TAIL samples */
    uint16_t open_size, open_cap, open_n;
    uint8_t tail_n;
    int64_t tail_times_ms[HEAD_TAIL];
    double tail_values[HEAD_TAIL];
};

struct head_block;
struct head {
    struct head_block **blocks; /* [series / 1024] */
    size_t blocks_cap;
    uint32_t blocks_n;
    uint64_t samples_n; /* in memory */
    void *scratch;      /* the encoder's; changes are one at a time */
};

void head_init(struct head *h);
void head_done(struct head *h);
/* The record of a series for changing it, made when absent. Stable address. Its block counts as touched. */
struct head_series *head_at(struct head *h, uint32_t series);
const struct head_series *head_find(const struct head *h, uint32_t series); /* NULL when absent */

/* To a record from head_at; time_ms > last_ms. */
void head_append(struct head *h, struct head_series *s, int64_t time_ms, double value);
/* Any other time; a sample at the same time in the late list is replaced, one elsewhere is outvoted at read (number
 * over marker). */
void head_insert_late(struct head *h, struct head_series *s, int64_t time_ms, double value);
/* The same for histograms, which are sound (histogram_exact_fault) and no stale markers. */
void head_append_histogram(struct head *h, struct head_series *s, int64_t time_ms, const struct histogram_exact *v);
void head_insert_late_histogram(struct head *h, struct head_series *s, int64_t time_ms,
                                const struct histogram_exact *v);
/* The sample at exactly time_ms, if the head has it. */
bool head_lookup(const struct head_series *s, int64_t time_ms, double *ret);
bool head_lookup_histogram(const struct head_series *s, int64_t time_ms, struct arena *a, struct histogram_exact *ret);
/* May there be a histogram with start < t <= end, in head or store? */
static inline bool head_met_histogram(const struct head_series *s, int64_t start_ms, int64_t end_ms)
{
    return s->histograms && s->histograms->first_ms <= end_ms && s->histograms->last_ms > start_ms;
}

/* ---- reading (head_pack.c) ---- */

/* Samples of one series over a span, copied in their encoded form. */
struct head_span {
    const void *packed; /* in the arena; NULL without samples */
    uint32_t room_n;    /* most samples in it: head_unpack needs room for so many and FRAME_SLACK more */
    int64_t newest_from_ms;
};
/*
 * The samples with start < t <= end (others may be among them until head_unpack). newest_only: the newest of them is
 * enough; newest_from_ms then is a time that this one is not older than, INT64_MIN when that is not known. false when
 * the arena's limit is reached.
 */
bool head_pack(const struct head_series *s, int64_t start_ms, int64_t end_ms, bool newest_only, struct arena *a,
               struct head_span *ret);
/* Needs no lock. Returns how many samples there are with start < t <= end, a span within the packed one: ascending,
 * unique times. */
uint32_t head_unpack(const void *packed, int64_t start_ms, int64_t end_ms, int64_t *times_ms, double *values);

/* The same for histograms (head_histogram.c): whole chunks are copied. */
bool head_pack_histograms(const struct head_series *s, int64_t start_ms, int64_t end_ms, bool newest_only,
                          struct arena *a, struct head_span *ret);
/* In any order; of two at one time they are the same. As source_result.unpack_histograms. */
int head_unpack_histograms(const void *packed, int64_t start_ms, int64_t end_ms, struct arena *a, int64_t *times_ms,
                           const struct histogram **histograms, uint32_t *ret_n, struct err *e);

/* ---- checkpoint ---- */

/* Has any series of the block changed since its last head_block_write? */
bool head_block_touched(const struct head *h, uint32_t block);
/*
 * The open state of one block of 1,024 series as bytes (head_checkpoint.c has the table), and its chunks that must go
 * to the store: each sealed chunk and each late list (encoded), handed to `each` and marked as moving. Needs the lock
 * for writing, block by block: a block may be newer than the log position of its checkpoint, and replay then finds its
 * samples there already.
 */
typedef int head_chunk_fn(void *ctx, uint32_t series, int64_t first_ms, int64_t last_ms, struct str bytes,
                          struct err *e);
int head_block_write(struct head *h, uint32_t block, struct strbuf *out, head_chunk_fn *each, void *ctx, struct err *e);
/* The commit succeeded: forget what it moved. Else head_block_unwrite. */
void head_block_written(struct head *h, uint32_t block);
void head_block_unwrite(struct head *h, uint32_t block);
/* Restore a block from bytes. ERR_CORRUPT leaves the block as it was. */
int head_block_read(struct head *h, uint32_t block, struct str bytes, struct err *e);

#endif
