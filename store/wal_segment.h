/*
 * Segments of the log: their names, their bytes, and the search for whole records in bytes that may be torn, damaged or
 * hostile (bodies come from peers).
 */
#ifndef STORE_WAL_SEGMENT_H
#define STORE_WAL_SEGMENT_H

#include "store/wal.h"

enum { WAL_HEAD_BYTES = 48 };
/* A segment is preallocated at its size or, for one larger record, at that record's. */
#define WAL_SEGMENT_MAX_BYTES                                                                                          \
    ((uint64_t)WAL_HEAD_BYTES + WAL_BODY_MAX_BYTES + 4 * (uint64_t)WAL_REJECTS_MAX + WAL_SEGMENT_BYTES)

static inline uint64_t wal_record_bytes(uint64_t body_bytes, uint64_t rejects_n)
{
    return WAL_HEAD_BYTES + 4 * rejects_n + body_bytes;
}
/* The header of a record, checksum included. */
void wal_record_head(const struct wal_record *r, uint8_t ret[WAL_HEAD_BYTES]);

/* Walks the whole records of a segment in memory. */
struct wal_scan {
    const uint8_t *bytes;
    uint64_t n;
    uint64_t at;       /* behind the last whole record, or where its search began */
    uint64_t last_seq; /* of the last whole record; before the first: the segment's name - 1 */
    uint64_t hash_budget;
};
void wal_scan_start(struct wal_scan *s, const uint8_t *bytes, uint64_t n, uint64_t first_seq);
/* The next whole record with a seq above the last: 1 and *ret (borrowed), 0 when there is none, or ERR_VERSION.
 * *ret_skipped: bytes stepped over before it. */
int wal_scan_next(struct wal_scan *s, struct wal_record *ret, uint64_t *ret_skipped, struct err *e);

struct wal_segment {
    uint64_t first_seq; /* its name */
    uint64_t last_seq;  /* first_seq - 1 when it holds no record */
    uint64_t end_bytes; /* behind the last whole record */
    uint64_t file_bytes;
};
enum { WAL_PATH_BYTES = 4096 };
int wal_segment_path(const char *wal_dir, uint64_t first_seq, char ret[WAL_PATH_BYTES], struct err *e);
/* Seq of a segment's file name, or 0 if it is another file. */
uint64_t wal_segment_of_name(const char *name);
/* All of its bytes, on the heap (mem_free). */
int wal_segment_read(const char *wal_dir, uint64_t first_seq, uint8_t **ret, uint64_t *ret_n, struct err *e);
/* Read and scan: fills last_seq, end_bytes and file_bytes of a segment whose first_seq is set. */
int wal_segment_scan(const char *wal_dir, struct wal_segment *s, struct err *e);

#endif
