/*
 * A record, little-endian (docs/FORMATS.md):
 *
 *     0  u32 magic "MWAL"    16  i64 receive_ms    40  u64 XXH3 of header (this field zero), rejects and body
 *     4  u8  version 1       24  u32 body_n        48  u32 rejects[reject_n], ordinals
 *     5  u8  kind            28  u32 reject_n          body[body_n]
 *     6  u16 flags 0         32  u64 settings hash
 *     8  u64 seq
 *
 * After bytes that are no record the next magic is searched. What is found must be whole, and its seq can be above the
 * expected one by no more than the records that fit in the bytes stepped over: so neither old bytes nor a record that a
 * peer wrote into its body can make the log jump ahead.
 */
#include "store/wal_segment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_STATIC_LINKING_ONLY /* the streaming state is on the stack */
#include <xxhash.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/sum.h"

#define WAL_MAGIC UINT32_C(0x4c41574d)
enum { WAL_VERSION = 1, WAL_SUM_AT = 40, WAL_NAME_DIGITS = 20 };
/* A search hashes at most this many times a segment's bytes, however many magics a peer put into its bodies. */
enum { SEARCH_HASH_FACTOR = 8 };

void wal_record_head(const struct wal_record *r, uint8_t ret[WAL_HEAD_BYTES])
{
    store_u32(ret, WAL_MAGIC);
    ret[4] = WAL_VERSION;
    ret[5] = (uint8_t)r->kind;
    store_u16(ret + 6, 0);
    store_u64(ret + 8, r->seq);
    store_i64(ret + 16, r->receive_ms);
    store_u32(ret + 24, (uint32_t)r->body.n);
    store_u32(ret + 28, r->rejects_n);
    store_u64(ret + 32, r->settings_hash);
    store_u64(ret + WAL_SUM_AT, 0);
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, ret, WAL_HEAD_BYTES);
    if (r->rejects_n)
        XXH3_64bits_update(&state, r->rejects, 4 * (size_t)r->rejects_n);
    if (r->body.n)
        XXH3_64bits_update(&state, r->body.p, r->body.n);
    store_u64(ret + WAL_SUM_AT, XXH3_64bits_digest(&state));
}

/* ---- scanning ---- */

void wal_scan_start(struct wal_scan *s, const uint8_t *bytes, uint64_t n, uint64_t first_seq)
{
    *s = (struct wal_scan){
        .bytes = bytes, .n = n, .last_seq = first_seq - 1, .hash_budget = n * SEARCH_HASH_FACTOR + WAL_HEAD_BYTES};
}

/* A whole record at `at`? 1, 0, or ERR_VERSION for one that a newer program wrote. */
static int record_at(struct wal_scan *s, uint64_t at, struct wal_record *ret, uint64_t *ret_bytes, struct err *e)
{
    uint64_t left = s->n - at;
    const uint8_t *p = s->bytes + at;
    if (left < WAL_HEAD_BYTES || load_u32(p) != WAL_MAGIC)
        return 0;
    uint32_t body_n = load_u32(p + 24), rejects_n = load_u32(p + 28);
    uint64_t seq = load_u64(p + 8), bytes = wal_record_bytes(body_n, rejects_n);
    uint64_t ahead_most = 1 + (at - s->at) / WAL_HEAD_BYTES;
    if (body_n > WAL_BODY_MAX_BYTES || rejects_n > WAL_REJECTS_MAX || bytes > left)
        return 0;
    if (seq <= s->last_seq || seq - s->last_seq > ahead_most || bytes > s->hash_budget)
        return 0;
    s->hash_budget -= at == s->at ? 0 : bytes;
    if (store_sum(p, bytes, WAL_SUM_AT) != load_u64(p + WAL_SUM_AT))
        return 0;
    uint32_t version = p[4], kind = p[5], flags = load_u16(p + 6);
    if (version != WAL_VERSION || kind != WAL_KIND_WRITE || flags != 0)
        return err_set(
            e, ERR_VERSION,
            "the log holds a record of version %u, kind %u, flags %u, and this program reads version %d; use "
            "a newer mullion",
            version, kind, flags, WAL_VERSION);
    /* rejects[] is 4-aligned in the segment only by chance: the caller copies when it is not. */
    *ret = (struct wal_record){.seq = seq,
                               .receive_ms = load_i64(p + 16),
                               .settings_hash = load_u64(p + 32),
                               .kind = kind,
                               .rejects = (const uint32_t *)(const void *)(p + WAL_HEAD_BYTES),
                               .rejects_n = rejects_n,
                               .body = {(const char *)p + WAL_HEAD_BYTES + 4 * (size_t)rejects_n, body_n}};
    *ret_bytes = bytes;
    return 1;
}

int wal_scan_next(struct wal_scan *s, struct wal_record *ret, uint64_t *ret_skipped, struct err *e)
{
    static const uint32_t magic = WAL_MAGIC;
    uint64_t at = s->at, bytes = 0;
    for (;;) {
        int found = record_at(s, at, ret, &bytes, e);
        if (found < 0)
            return found;
        if (found) {
            *ret_skipped = at - s->at;
            s->at = at + bytes;
            s->last_seq = ret->seq;
            return 1;
        }
        if (at + 1 >= s->n)
            return 0;
        const uint8_t *next = memmem(s->bytes + at + 1, s->n - at - 1, &magic, sizeof(magic));
        if (!next)
            return 0;
        at = (uint64_t)(next - s->bytes);
    }
}

/* ---- files ---- */

int wal_segment_path(const char *wal_dir, uint64_t first_seq, char ret[WAL_PATH_BYTES], struct err *e)
{
    int n = snprintf(ret, WAL_PATH_BYTES, "%s/%0*llu.wal", wal_dir, WAL_NAME_DIGITS, (unsigned long long)first_seq);
    if (n < 0 || n >= WAL_PATH_BYTES)
        return err_set(e, ERR_BAD_DATA, "the path of the data directory is too long");
    return 0;
}

uint64_t wal_segment_of_name(const char *name)
{
    if (strlen(name) != WAL_NAME_DIGITS + 4 || strcmp(name + WAL_NAME_DIGITS, ".wal") != 0)
        return 0;
    for (int i = 0; i < WAL_NAME_DIGITS; i++)
        if (name[i] < '0' || name[i] > '9')
            return 0;
    errno = 0;
    unsigned long long seq = strtoull(name, NULL, 10);
    return errno ? 0 : seq;
}

int wal_segment_read(const char *wal_dir, uint64_t first_seq, uint8_t **ret, uint64_t *ret_n, struct err *e)
{
    char path[WAL_PATH_BYTES];
    int code = wal_segment_path(wal_dir, first_seq, path, e);
    if (code)
        return code;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0)
        return err_set_errno(e, errno, "cannot open %s", path);
    if (fstat(fd, &st) != 0 || (uint64_t)st.st_size > WAL_SEGMENT_MAX_BYTES) {
        close(fd);
        return err_set(e, ERR_CORRUPT, "%s is larger than any log segment; move it away", path);
    }
    uint64_t n = (uint64_t)st.st_size, got = 0;
    uint8_t *bytes = mem_alloc(n);
    while (got < n) {
        ssize_t more = pread(fd, bytes + got, n - got, (off_t)got);
        if (more < 0 && errno == EINTR)
            continue;
        if (more < 0) {
            code = err_set_errno(e, errno, "cannot read %s", path);
            break;
        }
        if (more == 0)
            break;
        got += (uint64_t)more;
    }
    close(fd);
    if (code) {
        mem_free(bytes);
        return code;
    }
    *ret = bytes;
    *ret_n = got;
    return 0;
}

int wal_segment_scan(const char *wal_dir, struct wal_segment *s, struct err *e)
{
    uint8_t *bytes;
    uint64_t n, skipped;
    int code = wal_segment_read(wal_dir, s->first_seq, &bytes, &n, e);
    if (code)
        return code;
    struct wal_scan scan;
    struct wal_record r;
    wal_scan_start(&scan, bytes, n, s->first_seq);
    while ((code = wal_scan_next(&scan, &r, &skipped, e)) == 1) {
    }
    mem_free(bytes);
    if (code)
        return code;
    s->last_seq = scan.last_seq;
    s->end_bytes = scan.at;
    s->file_bytes = n;
    return 0;
}
