/* One remote-write request: walk, decide, apply; the log in between. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/float_text.h"
#include "base/map.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"
#include "kernels/frame.h"

static struct stat series_created = STAT_COUNTER("mullion_series_created_total", "", "Series seen for the first time");
static struct stat requests = STAT_COUNTER("mullion_write_requests_total", "", "Remote-write requests applied");

/* Series ids by place in this connection's last request, and buffers that are reused from request to request. */
struct sender {
    uint32_t *ids;
    size_t cap;
    uint32_t n;
    struct strbuf body;
};

struct sender *ingest_sender_new(void)
{
    return mem_zalloc(sizeof(struct sender));
}

void ingest_sender_free(struct sender *s)
{
    if (!s)
        return;
    mem_free(s->ids);
    strbuf_done(&s->body);
    mem_free(s);
}

/* ---- finding the series ---- */

static uint32_t series_find(struct apply *a, uint32_t place, const struct labels *l, uint64_t *ret_hash)
{
    struct catalog *c = a->in->catalog;
    struct sender *s = a->sender;
    if (s && place < s->n && s->ids[place] != SERIES_NONE && catalog_same(c, s->ids[place], l))
        return s->ids[place];
    *ret_hash = labels_hash(l, map_seed());
    return catalog_find(c, l, *ret_hash);
}

static void sender_remember(struct sender *s, uint32_t place, uint32_t id)
{
    if (!s)
        return;
    if (place >= s->cap)
        s->ids = mem_grow(s->ids, &s->cap, place + 1u, sizeof *s->ids);
    while (s->n <= place)
        s->ids[s->n++] = SERIES_NONE;
    s->ids[place] = id;
}

/* ---- what is held at a time ---- */

struct held_at {
    struct apply *apply;
    uint32_t series;
};

struct chunk_search {
    int64_t time_ms;
    bool found;
    double value;
};

static int search_chunk(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    struct chunk_search *s = ctx;
    int64_t times_ms[FRAME_MAX_N + FRAME_SLACK];
    double values[FRAME_MAX_N + FRAME_SLACK];
    uint32_t n;
    if (chunk_decode(chunk->bytes, chunk->size, times_ms, values, &n))
        return 0;
    for (uint32_t i = 0; i < n; i++)
        if (times_ms[i] == s->time_ms && (!s->found || float_is_stale(s->value))) {
            s->found = true;
            memcpy(&s->value, &values[i], sizeof s->value);
        }
    return 0;
}

/* A sample in head or store. The store is asked only for times it may hold: late samples are few. */
static bool held_at(void *ctx, int64_t time_ms, double *ret)
{
    struct held_at *h = ctx;
    struct ingest *in = h->apply->in;
    const struct head_series *s = head_find(&in->head, h->series);
    if (s && head_lookup(s, time_ms, ret))
        return true;
    if (!s || time_ms > s->store_to_ms)
        return false;
    struct err ignored;
    if (!h->apply->lookup_txn && store_read_begin(in->store, &h->apply->lookup_txn, &ignored))
        return false;
    struct series_place place = catalog_place(in->catalog, h->series);
    uint64_t want[16] = {0};
    uint32_t slot = place.ordinal % SHARD_SERIES;
    want[slot / 64] = UINT64_C(1) << (slot % 64);
    struct chunk_search search = {.time_ms = time_ms};
    if (raw_walk(h->apply->lookup_txn, place.metric, place.ordinal / SHARD_SERIES, time_ms - 1, time_ms, want,
                 search_chunk, &search, NULL, &ignored))
        return false;
    if (search.found)
        memcpy(ret, &search.value, sizeof *ret);
    return search.found;
}

/* ---- applying ---- */

static void refuse_text(struct apply *a, const struct labels *l, const char *reason)
{
    struct write_result *r = a->result;
    size_t used = strlen(r->refused);
    if (used > sizeof r->refused - 200)
        return;
    struct str name = l ? labels_get(l, STR(LABEL_NAME)) : (struct str){"", 0};
    snprintf(r->refused + used, sizeof r->refused - used, "%s%s%s%.*s", used ? "; " : "", reason, name.n ? ": " : "",
             (int)(name.n > 100 ? 100 : name.n), name.p);
    if (!utf8_valid(r->refused, strlen(r->refused)))
        r->refused[used] = 0;
}

static void reject(struct apply *a, uint32_t ordinal)
{
    if (a->rejects_n == a->rejects_cap)
        a->rejects = mem_grow(a->rejects, &a->rejects_cap, a->rejects_n + 1u, sizeof *a->rejects);
    a->rejects[a->rejects_n++] = ordinal;
}

static void reject_run(struct apply *a, uint32_t first, uint32_t n, enum verdict v)
{
    for (uint32_t i = 0; i < n; i++)
        reject(a, first + i);
    verdict_count(v, n);
    a->result->samples_refused += n;
}

static void store_sample(struct apply *a, uint32_t series, const struct wire_sample *w)
{
    struct ingest *in = a->in;
    if (w->time_ms > head_at(&in->head, series)->last_ms)
        head_append(&in->head, series, w->time_ms, w->value);
    else
        head_insert_late(&in->head, series, w->time_ms, w->value);
    windows_mark(&in->windows, series, w->time_ms);
    if (a->largest_ms < w->time_ms)
        a->largest_ms = w->time_ms;
    if (a->oldest_ms > w->time_ms)
        a->oldest_ms = w->time_ms;
    a->result->samples_applied++;
}

static const char *verdict_sentence(enum verdict v)
{
    switch (v) {
    case VERDICT_FUTURE:
        return "sample too far in the future";
    case VERDICT_TOO_OLD:
        return "sample too old (out of order and behind the late horizon)";
    case VERDICT_CONFLICT:
        return "duplicate sample for timestamp (another value is held; the first was kept)";
    default:
        return verdict_reason(v);
    }
}

static void decide_sample(struct apply *a, uint32_t series, const struct labels *l, const struct wire_sample *w,
                          uint32_t ordinal)
{
    struct held_at held = {a, series};
    enum verdict v =
        admit_sample(&a->admission, head_at(&a->in->head, series)->last_ms, w->time_ms, w->value, held_at, &held);
    verdict_count(v, 1);
    if (v == VERDICT_STORE || v == VERDICT_STORE_LATE) {
        store_sample(a, series, w);
        return;
    }
    reject(a, ordinal);
    if (v == VERDICT_IGNORE) {
        a->result->samples_duplicate++;
        return;
    }
    a->result->samples_refused++;
    refuse_text(a, l, verdict_sentence(v));
}

/* What the log says was applied is applied again, unless a newer checkpoint has it already. */
static void replay_sample(struct apply *a, uint32_t series, const struct wire_sample *w)
{
    struct ingest *in = a->in;
    struct held_at held = {a, series};
    double kept;
    if (w->time_ms <= head_at(&in->head, series)->last_ms && held_at(&held, w->time_ms, &kept) &&
        (memcmp(&kept, &w->value, sizeof kept) == 0 || !float_is_stale(kept)))
        return;
    if (w->time_ms <= a->admission.watermark_ms) {
        in->replayed = mem_grow(in->replayed, &in->replayed_cap, in->replayed_n + 1, sizeof *in->replayed);
        in->replayed[in->replayed_n++] = (struct replayed_late){series, w->time_ms};
    }
    store_sample(a, series, w);
}

/* Any sample of the series that time alone does not refuse? A series of refused samples only is not made. */
static bool any_acceptable(const struct apply *a, const struct wire_series *w)
{
    for (uint32_t i = 0; i < w->samples_n; i++)
        if (w->samples[i].time_ms <= a->admission.receive_ms + a->admission.options->max_future_ms)
            return true;
    return false;
}

static int series_make(struct apply *a, const struct labels *l, uint64_t hash, uint32_t *ret, struct err *e)
{
    int rc = catalog_add(a->in->catalog, l, hash, ret, e);
    if (rc == 0) {
        a->result->series_new++;
        stat_add(&series_created, 1);
    }
    return rc;
}

static bool replay_skips(const struct apply *a, uint32_t ordinal, uint32_t *at)
{
    while (*at < a->rejects_n && a->rejects[*at] < ordinal)
        (*at)++;
    return *at < a->rejects_n && a->rejects[*at] == ordinal;
}

static int replay_series(struct apply *a, struct wire_series *w, const struct labels *l, uint32_t place, uint32_t *at,
                         struct err *e)
{
    uint64_t hash = 0;
    uint32_t id = SERIES_NONE;
    for (uint32_t i = 0; i < w->samples_n; i++) {
        if (replay_skips(a, w->first_sample + i, at))
            continue;
        if (id == SERIES_NONE) {
            id = series_find(a, place, l, &hash);
            int rc = id == SERIES_NONE ? series_make(a, l, hash, &id, e) : 0;
            if (rc)
                return rc;
        }
        replay_sample(a, id, &w->samples[i]);
    }
    return 0;
}

static int decide_series(struct apply *a, struct wire_series *w, bool too_many, uint32_t place, struct err *e)
{
    struct labels l;
    char reason[200];
    uint32_t all_n = w->samples_n + w->histograms_n;
    if (!admit_labels(&a->admission, w, too_many, &l, reason)) {
        reject_run(a, w->first_sample, all_n, VERDICT_LABELS);
        refuse_text(a, NULL, reason);
        return 0;
    }
    if (w->histograms_n)
        refuse_text(a, &l, "native histograms are not stored yet");
    uint64_t hash = 0;
    uint32_t id = series_find(a, place, &l, &hash);
    if (id == SERIES_NONE) {
        bool full = catalog_series_n(a->in->catalog) >= a->in->options.series_max;
        if (full || !any_acceptable(a, w)) {
            enum verdict v = full ? VERDICT_SERIES_LIMIT : VERDICT_FUTURE;
            if (w->samples_n)
                refuse_text(a, &l, full ? "series limit reached" : verdict_sentence(v));
            reject_run(a, w->first_sample, w->samples_n, v);
            reject_run(a, w->first_sample + w->samples_n, w->histograms_n, VERDICT_HISTOGRAM);
            return 0;
        }
        int rc = series_make(a, &l, hash, &id, e);
        if (rc)
            return rc;
    }
    sender_remember(a->sender, place, id);
    for (uint32_t i = 0; i < w->samples_n; i++)
        decide_sample(a, id, &l, &w->samples[i], w->first_sample + i);
    reject_run(a, w->first_sample + w->samples_n, w->histograms_n, VERDICT_HISTOGRAM);
    return 0;
}

int apply_request(struct apply *a, struct str body, struct err *e)
{
    struct write_walker w;
    enum write_item item = WRITE_END;
    uint32_t place = 0, reject_at = 0;
    int rc = 0;
    write_walker_init(&w, body);
    a->largest_ms = INT64_MIN;
    a->oldest_ms = INT64_MAX;
    while (rc == 0 && (rc = write_walker_next(&w, &item, e)) == 0 && item != WRITE_END) {
        if (item == WRITE_METADATA) {
            metadata_set(a->in->metadata, &w.metadata);
            continue;
        }
        struct labels l;
        char reason[200];
        if (!a->replay)
            rc = decide_series(a, &w.series, w.too_many_labels, place, e);
        else if (admit_labels(&a->admission, &w.series, w.too_many_labels, &l, reason))
            rc = replay_series(a, &w.series, &l, place, &reject_at, e);
        place++;
    }
    write_walker_done(&w);
    store_read_end(a->lookup_txn);
    a->lookup_txn = NULL;
    return rc;
}

void apply_clock(struct ingest *in, const struct apply *a)
{
    if (a->largest_ms == INT64_MIN)
        return;
    if (in->first_event_ms > a->oldest_ms)
        in->first_event_ms = a->oldest_ms;
    if (in->largest_event_ms < a->largest_ms)
        in->largest_event_ms = a->largest_ms;
    int64_t clock_ms = in->largest_event_ms < a->admission.receive_ms ? in->largest_event_ms : a->admission.receive_ms;
    if (in->event_clock_ms < clock_ms) {
        in->event_clock_ms = clock_ms;
        in->clock_moved_ms = a->admission.receive_ms;
    }
}

/* ---- one request ---- */

/* The whole body is walked once before anything changes, so a malformed one stores nothing. */
static int count_samples(struct str body, uint32_t *ret_n, struct err *e)
{
    struct write_walker w;
    enum write_item item = WRITE_END;
    int rc;
    write_walker_init(&w, body);
    while ((rc = write_walker_next(&w, &item, e)) == 0 && item != WRITE_END)
        ;
    *ret_n = w.samples_seen;
    write_walker_done(&w);
    return rc;
}

static int write_locked(struct apply *a, struct str body, struct str plain, uint32_t samples_n, struct err *e)
{
    struct ingest *in = a->in;
    if (in->log_broken)
        return err_set(e, ERR_OVERLOAD,
                       "the write-ahead log could not be written; writes go on after the next checkpoint");
    int rc = samples_n ? wal_reserve(in->wal, body.n, samples_n, e) : 0;
    if (rc)
        return rc;
    a->admission.watermark_ms = ingest_watermark_locked(in);
    rc = apply_request(a, plain, e);
    if (rc)
        return rc;
    if (a->result->samples_applied) {
        struct wal_record record = {.receive_ms = a->admission.receive_ms,
                                    .settings_hash = in->settings_hash,
                                    .kind = WAL_KIND_WRITE,
                                    .rejects = a->rejects,
                                    .rejects_n = a->rejects_n,
                                    .body = body};
        rc = wal_append(in->wal, &record, e);
        in->log_broken = rc != 0;
    }
    apply_clock(in, a);
    return rc;
}

int ingest_write(struct ingest *in, struct sender *sender, struct str body, int64_t receive_ms,
                 struct write_result *ret, struct err *e)
{
    struct strbuf own = {0}, *plain = sender ? &sender->body : &own;
    uint32_t samples_n = 0;
    *ret = (struct write_result){0};
    int rc = write_body_decompress(body, in->options.body_max, plain, e);
    struct str whole = {plain->p, plain->n};
    if (rc == 0)
        rc = count_samples(whole, &samples_n, e);
    if (rc == 0) {
        struct apply a = {.in = in,
                          .admission = {.options = &in->options, .receive_ms = receive_ms},
                          .sender = sender,
                          .result = ret};
        pthread_rwlock_wrlock(&in->lock);
        rc = write_locked(&a, body, whole, samples_n, e);
        pthread_rwlock_unlock(&in->lock);
        mem_free(a.rejects);
    }
    if (rc == 0 && ret->samples_applied && in->options.wal_fsync == WAL_FSYNC_ALWAYS)
        rc = ingest_sync(in, e);
    if (rc == 0)
        stat_add(&requests, 1);
    strbuf_done(&own);
    return rc;
}
