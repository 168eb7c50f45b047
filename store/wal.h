/*
 * The write-ahead log: one record per accepted request, the body as it came. Record bytes stand in docs/FORMATS.md.
 *
 * Space is reserved before a request is applied (wal_reserve), so that a full disk is found while nothing has changed
 * yet; wal_append into reserved space then fails only on a broken disk. Segments are preallocated files of
 * WAL_SEGMENT_BYTES. Replay stops at the first record that is torn or fails its checksum: at the end of the last
 * segment that is the normal end of a crash; anywhere else it is damage, reported by place, the segment set aside from
 * there on.
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

int wal_open(const char *dir, struct wal **ret, struct err *e);
void wal_close(struct wal *w);
/* Call `each` for every whole record with seq > after_seq, in order. `damage` gets a sentence when bytes before the end
 * were lost. */
typedef int wal_each_fn(void *ctx, const struct wal_record *r, struct err *e);
int wal_replay(struct wal *w, uint64_t after_seq, wal_each_fn *each, void *ctx, char damage[256], struct err *e);
/* Room for a record of this body and at most rejects_max ordinals. ERR_DISK_FULL: nothing changed. */
int wal_reserve(struct wal *w, size_t body_bytes, uint32_t rejects_max, struct err *e);
/* Assigns r->seq. The record is in the page cache when it returns (survives kill -9). */
int wal_append(struct wal *w, struct wal_record *r, struct err *e);
/* fdatasync what was appended before the call (group commit: concurrent callers share one sync). */
int wal_sync(struct wal *w, struct err *e);
uint64_t wal_last_seq(const struct wal *w);
/* Delete segments whose every record has seq <= upto; only after the store holding their effect is synced. */
int wal_trim(struct wal *w, uint64_t upto, struct err *e);
uint64_t wal_bytes(const struct wal *w);

#endif
