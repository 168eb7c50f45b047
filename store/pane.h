/*
 * Panes on disk: one block per (view, window, metric, shard of 1,024 series), one manifest per (view, window), and the
 * table of views. Bytes are pinned in docs/FORMATS.md. The same block bytes stand for early windows in memory
 * (pane_builder makes both), so a reader has one way to read a state.
 *
 * A window between a view's complete_from and sealed_to without its manifest is damage, never "no data".
 */
#ifndef STORE_PANE_H
#define STORE_PANE_H

#include "store/store.h"

enum { PANE_BLOCK_MIN_BYTES = 2048, PANE_SLOTS = 1024 };
enum pane_flag { PANE_NONFINITE = 1, PANE_COLLAPSED = 2, PANE_INCOMPLETE = 4, PANE_OFFSETS = 8 };

struct pane_key {
    uint32_t view; /* store view number */
    int64_t end_ms;
    uint32_t metric, shard;
};

/* A parsed, checked view of block bytes (borrowed; mapped page or memory). */
struct pane_block {
    struct pane_key key;
    uint32_t family, revision, width_ms, present_n, flags;
    uint64_t samples_n;
    uint64_t present[PANE_SLOTS / 64]; /* copied: pages may be unaligned for u64 */
    uint16_t rank[PANE_SLOTS / 64];    /* states before each word */
    const uint8_t *states;             /* first state */
    const uint8_t *offsets;            /* u32[present_n + 1], or NULL for fixed-size states */
    uint32_t fixed_size;
    uint32_t states_size;
};
/* Structure, bounds and key (`want` may be NULL) are checked always; the XXH3 when `checksum`. States end where the
 * block ends (padding up to the minimum lies before them), so the size of fixed-size states follows from the bytes
 * alone; fixed_size 0 = variable. ERR_CORRUPT; ERR_VERSION for a block of a newer program. */
int pane_block_parse(struct str bytes, const struct pane_key *want, bool checksum, struct pane_block *ret,
                     struct err *e);
/* State bytes of a slot; n == 0 when absent. */
struct str pane_block_state(const struct pane_block *b, uint32_t slot);

/* Build one block: states in slot order. The bytes stay in the builder until its next start. */
struct pane_builder {
    struct strbuf states, out;
    uint32_t offsets[PANE_SLOTS + 1];
    uint64_t present[PANE_SLOTS / 64];
    struct pane_key key;
    uint32_t family, revision, width_ms, fixed_size, present_n, flags, last_slot;
    uint64_t samples_n;
};
enum { PANE_WIDTH_MAX_MS = 24 * 24 * 3600 * 1000 };
/* A zeroed builder may be started; a started one may be started again. fixed_size 0 = variable-size states. */
void pane_builder_start(struct pane_builder *b, const struct pane_key *key, uint32_t family, uint32_t fixed_size,
                        uint32_t width_ms, uint32_t revision);
/* Slots rise; a state has at least one byte, and fixed_size of them if that is set. */
void pane_builder_add(struct pane_builder *b, uint32_t slot, struct str state, uint32_t flags, uint64_t samples_n);
void pane_builder_flag(struct pane_builder *b, uint32_t flags); /* of the block, whatever its states say */
struct str pane_builder_finish(struct pane_builder *b); /* whole block with checksum, at least PANE_BLOCK_MIN_BYTES */
void pane_builder_done(struct pane_builder *b);

/* ---- store ---- */
int pane_block_put(struct store_txn *t, const struct pane_key *key, struct str bytes, struct err *e);
/* ERR_NOT_FOUND if absent. Bytes live until the transaction ends. */
int pane_block_get(struct store_txn *t, const struct pane_key *key, struct str *ret, struct err *e);
/* All blocks of one (view, window): `each` in key order. */
int pane_window_walk(struct store_txn *t, uint32_t view, int64_t end_ms,
                     int (*each)(void *ctx, const struct pane_key *key, struct str bytes, struct err *e), void *ctx,
                     struct err *e);

struct pane_manifest {
    uint32_t shards, revision;
    uint64_t states, samples;
    uint64_t checksum; /* XXH3 over the block checksums in key order */
};
int pane_manifest_put(struct store_txn *t, uint32_t view, int64_t end_ms, const struct pane_manifest *m, struct err *e);
int pane_manifest_get(struct store_txn *t, uint32_t view, int64_t end_ms, struct pane_manifest *ret, struct err *e);
/* Ends of all windows with a manifest in (after_ms, upto_ms], ascending. */
int pane_manifest_walk(struct store_txn *t, uint32_t view, int64_t after_ms, int64_t upto_ms,
                       int (*each)(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e), void *ctx,
                       struct err *e);
/* The manifest that the blocks put so far make; to be put with them, last. */
int pane_manifest_make(struct store_txn *t, uint32_t view, int64_t end_ms, uint32_t revision, struct pane_manifest *ret,
                       struct err *e);
/* Manifest against its blocks, every checksum read: 0, ERR_NOT_FOUND without a manifest, or ERR_CORRUPT with what
 * differs. */
int pane_window_check(struct store_txn *t, uint32_t view, int64_t end_ms, struct err *e);
/* Drop blocks and manifests of a view with end <= before_ms (all of it: INT64_MAX). */
int pane_drop(struct store_txn *t, uint32_t view, int64_t before_ms, uint32_t *ret_windows, struct err *e);

/* ---- views: identity (16 bytes) <-> store view number ---- */
struct pane_view {
    uint8_t identity[16];
    uint32_t number;
    int64_t complete_from_ms; /* INT64_MAX: nothing yet. Windows with end > this are there, up to sealed_to_ms */
    int64_t sealed_to_ms;     /* INT64_MIN: nothing yet */
};
int pane_view_find(struct store_txn *t, const uint8_t identity[16], struct pane_view *ret,
                   struct err *e); /* ERR_NOT_FOUND */
/* Finds it when it is there already. */
int pane_view_create(struct store_txn *t, const uint8_t identity[16], struct pane_view *ret, struct err *e);
int pane_view_update(struct store_txn *t, const struct pane_view *v, struct err *e);
/* By rising number. `each` must not write. */
int pane_view_walk(struct store_txn *t, int (*each)(void *ctx, const struct pane_view *v, struct err *e), void *ctx,
                   struct err *e);

#endif
