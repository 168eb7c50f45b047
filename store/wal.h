/*
 * The write-ahead log: one record per accepted request, the body as it came. Record bytes stand in docs/FORMATS.md.
 *
 *     DIR/wal/00000000000000000001.wal    records with seq 1, 2, ... n, then zeros (preallocated)
 *     DIR/wal/<n+1>.wal                   a segment is named by the first seq it may hold
 *
 * Space is reserved before a request is applied (wal_reserve), so that a full disk is found while nothing has changed
 * yet; wal_append into reserved space then fails only on a broken disk. Seqs rise by one without gaps. That is how loss
 * is told from a crash: bytes that are no whole record (torn or failing their checksum) are stepped over, and only if a
 * later record shows that seqs are missing is it damage, reported by place. Behind the last whole record there is only
 * the torn end of a crash; it is cut off when the log is opened, so that it can never be read as a record later.
 *
 * Appends from one thread at a time (ingest's lock); wal_sync from any thread.
 */
#ifndef STORE_WAL_H
#define STORE_WAL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/str.h"

enum { WAL_SEGMENT_BYTES = 64 << 20, WAL_KIND_WRITE = 1 };

struct wal;
struct wal_record {
    uint64_t seq;
    int64_t receive_ms;
    uint64_t settings_hash; /* of the admission settings in force */
    uint32_t kind;
    const uint32_t *rejects; /* ordinals of samples that were not applied, over the whole request in wire order */
    uint32_t rejects_n;
    struct str body; /* compressed, as received */
};

enum { WAL_BODY_MAX_BYTES = 64 << 20, WAL_REJECTS_MAX = 4 << 20 };

/* `dir` is the data directory; DIR/wal is made when absent. ERR_VERSION, ERR_IO. */
int wal_open(const char *dir, struct wal **ret, struct err *e);
/* To replay only: nothing is made, cut or reserved; a directory without a log has an empty one. */
int wal_open_read(const char *dir, struct wal **ret, struct err *e);
/* With another size of segments (tests). */
int wal_open_sized(const char *dir, uint64_t segment_bytes, struct wal **ret, struct err *e);
void wal_close(struct wal *w);
/* Call `each` for every whole record with seq > after_seq, in order; what it is given lives until it returns. `damage`
 * gets a sentence when records after after_seq were lost, else "". Afterwards seqs go on above after_seq, even if the
 * log ends before it (its last records were not synced, the store was). Once, before the first append. A non-zero code
 * of `each` stops the replay and is returned. */
typedef int wal_each_fn(void *ctx, const struct wal_record *r, struct err *e);
int wal_replay(struct wal *w, uint64_t after_seq, wal_each_fn *each, void *ctx, char damage[256], struct err *e);
/* Room for a record of this body and at most rejects_max ordinals. ERR_DISK_FULL: nothing changed. ERR_TOO_LARGE. */
int wal_reserve(struct wal *w, size_t body_bytes, uint32_t rejects_max, struct err *e);
/* Assigns r->seq. The record is in the page cache when it returns (survives kill -9). On failure nothing is kept.
 * Reserves by itself what was not reserved. */
int wal_append(struct wal *w, struct wal_record *r, struct err *e);
/* fdatasync what was appended before the call (group commit: concurrent callers share one sync). After a failed sync
 * the kernel may have dropped the pages, so every later sync and append fails too. */
int wal_sync(struct wal *w, struct err *e);
uint64_t wal_last_seq(const struct wal *w); /* 0: none yet */
/* Delete segments whose every record has seq <= upto; only after the store holding their effect is synced. */
int wal_trim(struct wal *w, uint64_t upto, struct err *e);
uint64_t wal_bytes(const struct wal *w); /* of all segments, preallocated room included */

#endif
