/*
 * Stored roots on disk: what an expression is at the times of a grid, computed once and read at exactly those times.
 *
 *     roots         identity -> number, complete_from, sealed_to
 *     root_results  (root, time) -> block: (group, value)[]
 *     root_groups   (root, group) -> labels (store/group.h)
 *
 * Every grid time in (complete_from, sealed_to] has its row, with no groups when the expression is empty there: a time
 * without a row is damage, never "no result". Bytes are pinned in docs/FORMATS.md.
 */
#ifndef STORE_ROOT_H
#define STORE_ROOT_H

#include "store/store.h"

enum { ROOT_GROUPS_MAX = 1 << 24 /* of one block */ };
/* The time has no result that could be kept (the expression fails there, or says a warning): it is to be computed. */
enum root_flag { ROOT_HOLE = 1 };

/* ---- roots ---- */
struct root_record {
    uint8_t identity[16];
    uint32_t number;
    int64_t complete_from_ms; /* INT64_MAX: nothing yet */
    int64_t sealed_to_ms;     /* INT64_MIN: nothing yet */
};
int root_find(struct store_txn *t, const uint8_t identity[16], struct root_record *ret, struct err *e);
/* Finds it when it is there already. */
int root_create(struct store_txn *t, const uint8_t identity[16], struct root_record *ret, struct err *e);
int root_update(struct store_txn *t, const struct root_record *r, struct err *e);
/* By identity. `each` must not write. */
int root_walk(struct store_txn *t, int (*each)(void *ctx, const struct root_record *r, struct err *e), void *ctx,
              struct err *e);

/* ---- results ---- */
/* A parsed, checked block (borrowed; unaligned: read by root_block_group and root_block_value). */
struct root_block {
    uint32_t root, flags, n;
    int64_t time_ms;
    const uint8_t *groups, *values;
};
/* ERR_CORRUPT unless it is whole and of this root and time; ERR_VERSION for a block of a newer program. */
int root_block_parse(struct str bytes, uint32_t root, int64_t time_ms, struct root_block *ret, struct err *e);
uint32_t root_block_group(const struct root_block *b, uint32_t i);
double root_block_value(const struct root_block *b, uint32_t i);

/* The row of one time; n may be 0. *ret_bytes (may be NULL) is its size. */
int root_result_put(struct store_txn *t, uint32_t root, int64_t time_ms, uint32_t flags, const uint32_t *groups,
                    const double *values, uint32_t n, uint64_t *ret_bytes, struct err *e);
/* Rows with times in [from_ms, upto_ms], ascending: their bytes, not looked at. */
int root_result_walk(struct store_txn *t, uint32_t root, int64_t from_ms, int64_t upto_ms,
                     int (*each)(void *ctx, int64_t time_ms, struct str bytes, struct err *e), void *ctx,
                     struct err *e);
/* A reader of rising times: one cursor, opened at the first. */
struct root_reader {
    void *cursor;
};
/* The row at exactly this time; n == 0: there is none. Bytes live until the transaction ends. */
int root_reader_at(struct root_reader *r, struct store_txn *t, uint32_t root, int64_t time_ms, bool next,
                   struct str *ret, struct err *e);
void root_reader_done(struct root_reader *r);
/* Drop rows with times <= upto_ms (all: INT64_MAX). */
int root_result_drop(struct store_txn *t, uint32_t root, int64_t upto_ms, uint32_t *ret_n, struct err *e);

#endif
