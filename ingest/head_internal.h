/* What the head's files share. */
#ifndef INGEST_HEAD_INTERNAL_H
#define INGEST_HEAD_INTERNAL_H

#include "base/bytes.h"
#include "ingest/head.h"

enum { HEAD_BLOCK_MAX = 512 };

struct head_block {
    bool touched; /* since its last checkpoint */
    struct head_series series[SHARD_SERIES];
};

struct head_block *head_block_at(struct head *h, uint32_t block);
void head_series_clear(struct head_series *s);
struct head_chunk *head_chunk_make(const struct head *h, const int64_t *times_ms, const double *values, uint32_t n);
struct head_chunk *head_chunk_of(struct str bytes, int64_t first_ms, int64_t last_ms);
void head_chunks_add(struct head_chunks *list, struct head_chunk *c);
void head_chunks_free(struct head_chunks *list);

/* Of a checkpoint, what concerns histograms; `s` has some. */
int head_histograms_write(struct head *h, struct head_series *s, uint32_t series, int64_t *store_to_ms,
                          head_chunk_fn *each, void *ctx, struct err *e);
void head_histograms_write_open(const struct head_histograms *x, struct strbuf *out);
void head_histograms_written(struct head *h, struct head_series *s);
void head_histograms_unwrite(struct head *h, struct head_series *s);
int head_histograms_read(struct byte_reader *r, struct head_series *s, struct err *e);
void head_histograms_free(struct head_histograms *x); /* NULL-safe */

/* A block of the open chunk tells its size and its first time, so that blocks can be stepped over. */
static inline size_t head_open_block_bytes(const uint8_t *block)
{
    return block[0];
}
static inline int64_t head_open_block_first_ms(const uint8_t *block)
{
    return load_i64(block + 1);
}
uint32_t head_open_decode(const uint8_t *open, size_t size, uint32_t n, int64_t *times_ms, double *values);

#endif
