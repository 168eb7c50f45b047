/* Reading the log back after a restart. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "store/wal_log.h"

struct replay {
    struct wal *wal;
    uint64_t after_seq;
    uint64_t expected_seq; /* of the next record */
    wal_each_fn *each;
    void *ctx;
    uint64_t lost_n;
    char first_place[128]; /* where the first loss was noticed */
};

/* Seqs from..to-1 are missing. Those the store already holds are no loss. */
static void replay_note_gap(struct replay *r, uint64_t from, uint64_t to, uint64_t segment, uint64_t at)
{
    if (from <= r->after_seq)
        from = r->after_seq + 1;
    if (from >= to)
        return;
    if (r->lost_n == 0)
        snprintf(r->first_place, sizeof(r->first_place), "seq %llu before byte %llu of segment %llu",
                 (unsigned long long)from, (unsigned long long)at, (unsigned long long)segment);
    r->lost_n += to - from;
}

static int replay_one(struct replay *r, struct wal_record *record, struct err *e)
{
    if (record->seq <= r->after_seq)
        return 0;
    if (record->rejects_n == 0 || (uintptr_t)record->rejects % sizeof(uint32_t) == 0)
        return r->each(r->ctx, record, e);
    uint32_t *aligned = mem_dup(record->rejects, sizeof(uint32_t) * (size_t)record->rejects_n);
    record->rejects = aligned;
    int code = r->each(r->ctx, record, e);
    mem_free(aligned);
    return code;
}

static int replay_segment(struct replay *r, const struct wal_segment *segment, struct err *e)
{
    uint8_t *bytes;
    uint64_t n, skipped;
    replay_note_gap(r, r->expected_seq, segment->first_seq, segment->first_seq, 0);
    if (segment->first_seq > r->expected_seq)
        r->expected_seq = segment->first_seq;
    if (segment->last_seq <= r->after_seq) {
        r->expected_seq = segment->last_seq + 1;
        return 0;
    }
    int code = wal_segment_read(r->wal->dir, segment->first_seq, &bytes, &n, e);
    if (code)
        return code;
    struct wal_scan scan;
    struct wal_record record;
    wal_scan_start(&scan, bytes, n, segment->first_seq);
    while ((code = wal_scan_next(&scan, &record, &skipped, e)) == 1) {
        uint64_t record_at = scan.at - wal_record_bytes(record.body.n, record.rejects_n);
        replay_note_gap(r, r->expected_seq, record.seq, segment->first_seq, record_at);
        r->expected_seq = record.seq + 1;
        code = replay_one(r, &record, e);
        if (code)
            break;
    }
    mem_free(bytes);
    return code;
}

int wal_replay(struct wal *w, uint64_t after_seq, wal_each_fn *each, void *ctx, char damage[256], struct err *e)
{
    struct replay r = {.wal = w, .after_seq = after_seq, .each = each, .ctx = ctx};
    r.expected_seq = after_seq + 1;
    if (w->segments_n && w->segments[0].first_seq < r.expected_seq)
        r.expected_seq = w->segments[0].first_seq;
    int code = 0;
    for (size_t i = 0; i < w->segments_n && !code; i++)
        code = replay_segment(&r, &w->segments[i], e);
    if (code)
        return code;
    damage[0] = 0;
    if (r.lost_n)
        snprintf(damage, 256, "the write-ahead log is damaged: %llu record%s lost, the first %s",
                 (unsigned long long)r.lost_n, r.lost_n == 1 ? "" : "s", r.first_place);
    pthread_mutex_lock(&w->mutex);
    if (w->last_seq < after_seq)
        w->last_seq = w->synced_seq = after_seq;
    pthread_mutex_unlock(&w->mutex);
    return 0;
}
