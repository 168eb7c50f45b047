/*
 * Raw samples on disk. A raw block holds the chunks of up to 1,024 series of one metric that were sealed between two
 * checkpoints; a query walks the blocks of a shard whose newest sample is not too old and decodes the chunks of the
 * slots it wants. Chunks of one series may overlap in time (late samples are chunks of their own): readers merge by
 * time.
 *
 * key   be32 metric, be32 shard, be64 (newest sample ms ^ 2^63), be32 block number
 * value raw block (byte table at the head of raw.c): head with its key again and oldest sample; index of (slot, first,
 *       last, offset) sorted by slot then first; chunk bytes (kernels/frame.h). Head, index and each chunk are
 * checksummed
 *
 * The same file holds the head's open chunks (checkpoint) under their own table, so that sealed and open samples and
 * the log position change in one commit.
 */
#ifndef STORE_RAW_H
#define STORE_RAW_H

#include "store/store.h"

struct raw_chunk {
    uint32_t slot;
    int64_t first_ms, last_ms;
    const uint8_t *bytes; /* borrowed */
    uint32_t size;
};

enum { RAW_CHUNKS_MAX = 1 << 16, RAW_BLOCK_MAX_BYTES = 256 << 20 };

/* Add one block. chunks sorted by slot, then first_ms; n >= 1. ERR_LIMIT above the limits: put several blocks. */
int raw_put(struct store_txn *t, uint32_t metric, uint32_t shard, const struct raw_chunk *chunks, uint32_t n,
            struct err *e);

/*
 * Every chunk of (metric, shard) that meets (start_ms, end_ms], for the slots set in `want` (1024 bits, NULL = all), in
 * no particular order of blocks. A block or chunk that fails its check is skipped and counted: it is added to *damaged
 * (may be NULL). `each` returning non-zero stops the walk with that code.
 */
typedef int raw_each_fn(void *ctx, const struct raw_chunk *chunk, struct err *e);
int raw_walk(struct store_txn *t, uint32_t metric, uint32_t shard, int64_t start_ms, int64_t end_ms,
             const uint64_t want[16], raw_each_fn *each, void *ctx, uint32_t *damaged, struct err *e);

/* Drop every block whose newest sample is <= before_ms. Bounded work per call: *more tells to call again. */
int raw_drop(struct store_txn *t, int64_t before_ms, uint32_t *ret_blocks, bool *more, struct err *e);
/* Oldest sample time kept of any series; INT64_MAX when empty. Damaged blocks do not count. */
int raw_oldest(struct store_txn *t, int64_t *ret_ms, struct err *e);

/* Head checkpoint: one opaque value per 1,024 series ids (ingest owns its bytes; they should repeat id_block under a
 * checksum). Empty bytes remove it. The walk goes by rising id_block. */
int raw_checkpoint_put(struct store_txn *t, uint32_t id_block, struct str bytes, struct err *e);
int raw_checkpoint_walk(struct store_txn *t, int (*each)(void *ctx, uint32_t id_block, struct str bytes, struct err *e),
                        void *ctx, struct err *e);

#endif
