/*
 * Write-ahead log: any bytes are walked inside their bounds; records made from chosen bodies, with chosen bytes of the
 * same or another length between them, are found whole and in order, whatever the bodies hold.
 */
#include "base/alloc.h"
#include "fuzz.h"
#include "store/wal_segment.h"

enum { RECORDS_MAX = 8, REJECTS_MAX = 4 };

static void walk(const uint8_t *bytes, size_t size, uint64_t first_seq, uint32_t *ret_n)
{
    struct wal_scan scan;
    struct wal_record r;
    struct err e = {0};
    uint64_t skipped = 0, last_seq = first_seq - 1;
    *ret_n = 0;
    wal_scan_start(&scan, bytes, size, first_seq);
    while (wal_scan_next(&scan, &r, &skipped, &e) == 1) {
        const uint8_t *body = (const uint8_t *)r.body.p;
        MUST(r.seq > last_seq && scan.at <= size);
        MUST(r.body.n == 0 || (body >= bytes && body + r.body.n <= bytes + size));
        last_seq = r.seq;
        ++*ret_n;
    }
}

static void add_record(struct choices *c, uint64_t seq, struct strbuf *out)
{
    uint8_t head[WAL_HEAD_BYTES];
    uint32_t rejects[REJECTS_MAX];
    size_t body_n = choose_u8(c);
    body_n = body_n < c->n ? body_n : c->n;
    struct wal_record r = {.seq = seq,
                           .receive_ms = (int64_t)choose_u64(c),
                           .kind = WAL_KIND_WRITE,
                           .rejects = rejects,
                           .rejects_n = choose_below(c, REJECTS_MAX + 1)};
    for (uint32_t i = 0; i < r.rejects_n; i++)
        rejects[i] = choose_u8(c);
    body_n = body_n < c->n ? body_n : c->n;
    r.body = (struct str){(const char *)c->p, body_n};
    wal_record_head(&r, head);
    strbuf_add(out, head, sizeof head);
    strbuf_add(out, rejects, r.rejects_n * sizeof *rejects);
    strbuf_add(out, r.body.p, r.body.n);
    c->p += body_n;
    c->n -= body_n;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct choices c = {data, size};
    struct strbuf log = {0};
    uint32_t found, records = 1 + choose_below(&c, RECORDS_MAX);
    walk(data, size, 1, &found);
    for (uint32_t i = 0; i < records; i++)
        add_record(&c, 1 + i, &log);
    size_t whole = log.n;
    strbuf_add(&log, c.p, c.n);
    uint8_t *bytes = malloc(log.n);
    MUST(bytes);
    memcpy(bytes, log.p, log.n);
    walk(bytes, log.n, 1, &found);
    MUST(found >= records);
    walk(bytes, whole, 1, &found);
    MUST(found == records);
    walk(bytes, whole - 1, 1, &found);
    MUST(found == records - 1);
    choose_damage(&c, bytes, log.n);
    walk(bytes, log.n, 1, &found);
    free(bytes);
    strbuf_done(&log);
    return 0;
}
