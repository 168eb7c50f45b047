/* One remote-write request: decide, apply, log. */
#include <stdio.h>

#include "base/alloc.h"
#include "base/map.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"

static struct stat series_created = STAT_COUNTER("mullion_series_created_total", "", "Series seen for the first time");
static struct stat requests = STAT_COUNTER("mullion_write_requests_total", "", "Remote-write requests applied");

/* Buffers that are reused from request to request; large ones are not kept. */
struct sender {
    struct strbuf body;
    struct write_request request;
};
enum { SENDER_KEEP_BYTES = 8 << 20 };

struct sender *ingest_sender_new(void)
{
    return mem_zalloc(sizeof(struct sender));
}

static void sender_done(struct sender *s)
{
    strbuf_done(&s->body);
    write_request_done(&s->request);
}

void ingest_sender_free(struct sender *s)
{
    if (!s)
        return;
    sender_done(s);
    mem_free(s);
}

/* ---- applying ---- */

/* A series of the request, found or made. */
struct target {
    struct labels labels;
    uint32_t id;
    struct head_series *head;
};

static void refuse(struct apply *a, const struct labels *l, const char *reason, uint64_t n)
{
    struct str name = l ? labels_get(l, STR(LABEL_NAME)) : (struct str){"", 0};
    struct refusal *r = a->refusals, *end = r + a->refusals_n;
    while (r < end && strcmp(r->reason, reason) != 0)
        r++;
    if (r == a->refusals + REFUSALS_MAX) {
        a->refused_otherwise += n;
        return;
    }
    name.n = name.n < sizeof r->metric ? name.n : sizeof r->metric - 1;
    if (r == end) {
        a->refusals_n++;
        r->n = 0;
        r->metrics_differ = false;
        snprintf(r->reason, sizeof r->reason, "%s", reason);
        snprintf(r->metric, sizeof r->metric, "%.*s", (int)name.n, name.p);
    }
    r->n += n;
    r->metrics_differ = r->metrics_differ || !str_eq(name, str_of(r->metric));
}

/* What does not fit is left out whole. */
static void refusals_write(const struct apply *a)
{
    struct write_result *ret = a->result;
    struct strbuf text = {0}, one = {0};
    for (uint32_t i = 0; i < a->refusals_n; i++) {
        const struct refusal *r = &a->refusals[i];
        strbuf_clear(&one);
        strbuf_add_z(&one, text.n ? "; " : "");
        if (r->n > 1)
            strbuf_printf(&one, "%llu x ", (unsigned long long)r->n);
        strbuf_add_z(&one, r->reason);
        if (r->metric[0])
            strbuf_printf(&one, ": %s%s", r->metric, r->metrics_differ ? " and others" : "");
        if (text.n + one.n < sizeof ret->refused - 48 && utf8_valid(one.p, one.n))
            strbuf_add(&text, one.p, one.n);
    }
    if (a->refused_otherwise)
        strbuf_printf(&text, "; %llu for other reasons", (unsigned long long)a->refused_otherwise);
    snprintf(ret->refused, sizeof ret->refused, "%s", strbuf_z(&text));
    strbuf_done(&text);
    strbuf_done(&one);
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
    a->verdicts[v] += n;
    a->result->samples_refused += n;
}

static void store_sample(struct apply *a, const struct target *t, const struct sample *w)
{
    struct ingest *in = a->in;
    bool newest = w->time_ms > t->head->last_ms;
    if (w->histogram && newest)
        head_append_histogram(&in->head, t->head, w->time_ms, w->histogram);
    else if (w->histogram)
        head_insert_late_histogram(&in->head, t->head, w->time_ms, w->histogram);
    else if (newest)
        head_append(&in->head, t->head, w->time_ms, w->value);
    else
        head_insert_late(&in->head, t->head, w->time_ms, w->value);
    windows_mark(&in->windows, t->id, w->time_ms);
    if (w->time_ms <= ingest_watermark_locked(in))
        late_mark(&in->late, w->time_ms);
    roots_mark(in, t->id, w->time_ms);
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

static void decide_sample(struct apply *a, const struct target *t, const struct sample *w, uint32_t ordinal)
{
    struct held_at held = {a, t->id};
    enum verdict v = admit_sample(&a->admission, t->head->last_ms, w, held_at, &held);
    a->verdicts[v]++;
    if (v == VERDICT_STORE || v == VERDICT_STORE_LATE) {
        store_sample(a, t, w);
        return;
    }
    reject(a, ordinal);
    if (v == VERDICT_IGNORE) {
        a->result->samples_duplicate++;
        return;
    }
    a->result->samples_refused++;
    refuse(a, &t->labels, verdict_sentence(v), 1);
}

/* What the log says was applied is applied again, unless a newer checkpoint has it already. */
static void replay_sample(struct apply *a, const struct target *t, const struct sample *w)
{
    struct ingest *in = a->in;
    struct held_at held = {a, t->id};
    struct sample kept;
    if (w->time_ms <= t->head->last_ms && held_at(&held, w->time_ms, &kept) &&
        (sample_same(&kept, w) || !sample_is_stale(&kept)))
        return;
    if (w->time_ms <= a->admission.watermark_ms) {
        in->replayed = mem_grow(in->replayed, &in->replayed_cap, in->replayed_n + 1, sizeof *in->replayed);
        in->replayed[in->replayed_n++] = (struct replayed_late){t->id, w->time_ms};
    }
    store_sample(a, t, w);
}

/* ---- finding the series ---- */

/*
 * The labels of a wire series, checked, and its id, SERIES_NONE when it is new; false when they are refused. Labels
 * that equal those of a known series byte for byte and in its order were checked when it came.
 */
static bool series_find(struct apply *a, const struct wire_series *w, struct target *ret, uint64_t *ret_hash,
                        char reason[200])
{
    struct ingest *in = a->in;
    struct label *v = a->request->labels + w->labels_at;
    *ret = (struct target){{v, w->labels_n}, series_cache_find(&in->series_cache, w->wire_hash), NULL};
    if (ret->id == SERIES_NONE || w->too_many_labels || !catalog_same(in->catalog, ret->id, &ret->labels)) {
        if (!admit_labels(&a->admission, v, w->labels_n, w->too_many_labels, &ret->labels, reason))
            return false;
        *ret_hash = labels_hash(&ret->labels, map_seed());
        ret->id = catalog_find(in->catalog, &ret->labels, *ret_hash);
        if (ret->id != SERIES_NONE)
            series_cache_put(&in->series_cache, w->wire_hash, ret->id);
    }
    if (ret->id != SERIES_NONE)
        ret->head = head_at(&in->head, ret->id);
    return true;
}

static int series_make(struct apply *a, const struct wire_series *w, struct target *t, uint64_t hash, struct err *e)
{
    int rc = catalog_add(a->in->catalog, &t->labels, hash, &t->id, e);
    if (rc)
        return rc;
    series_cache_put(&a->in->series_cache, w->wire_hash, t->id);
    t->head = head_at(&a->in->head, t->id);
    a->result->series_new++;
    stat_add(&series_created, 1);
    return 0;
}

/* Sample i of a wire series: its floats, then its histograms. *ret_fault: why a histogram is none, or NULL. */
static struct sample sample_at(const struct write_request *r, const struct wire_series *w, uint32_t i,
                               const char **ret_fault)
{
    *ret_fault = NULL;
    if (i < w->samples_n) {
        const struct wire_sample *s = &r->samples[w->samples_at + i];
        return (struct sample){.time_ms = s->time_ms, .value = s->value};
    }
    const struct wire_histogram *h = &r->histograms[w->histograms_at + i - w->samples_n];
    *ret_fault = h->fault;
    return sample_of_wire(h);
}

/* Any sample of the series that time alone does not refuse? A series of refused samples only is not made. */
static bool any_acceptable(const struct apply *a, const struct wire_series *w)
{
    for (uint32_t i = 0; i < w->samples_n + w->histograms_n; i++) {
        const char *fault;
        struct sample s = sample_at(a->request, w, i, &fault);
        if (!fault && s.time_ms <= a->admission.receive_ms + a->admission.options->max_future_ms)
            return true;
    }
    return false;
}

static bool replay_skips(const struct apply *a, uint32_t ordinal, uint32_t *at)
{
    while (*at < a->rejects_n && a->rejects[*at] < ordinal)
        (*at)++;
    return *at < a->rejects_n && a->rejects[*at] == ordinal;
}

static int replay_series(struct apply *a, const struct wire_series *w, uint32_t *at, struct err *e)
{
    struct target t = {.id = SERIES_NONE};
    uint64_t hash = 0;
    char reason[200];
    for (uint32_t i = 0; i < w->samples_n + w->histograms_n; i++) {
        const char *fault;
        if (replay_skips(a, w->first_ordinal + i, at))
            continue;
        if (!t.head) {
            if (!series_find(a, w, &t, &hash, reason))
                return 0;
            int rc = t.id == SERIES_NONE ? series_make(a, w, &t, hash, e) : 0;
            if (rc)
                return rc;
        }
        struct sample sample = sample_at(a->request, w, i, &fault);
        if (!fault)
            replay_sample(a, &t, &sample);
    }
    return 0;
}

/* None of a series that is not made: `v` for all but what is refused for itself. */
static void refuse_series(struct apply *a, const struct wire_series *w, const struct labels *l, enum verdict v,
                          const char *reason)
{
    for (uint32_t i = 0; i < w->samples_n + w->histograms_n; i++) {
        const char *fault;
        sample_at(a->request, w, i, &fault);
        reject_run(a, w->first_ordinal + i, 1, fault ? VERDICT_HISTOGRAM : v);
        refuse(a, l, fault ? fault : reason, 1);
    }
}

static int decide_series(struct apply *a, const struct wire_series *w, struct err *e)
{
    struct target t;
    uint64_t hash = 0;
    char reason[200];
    if (!series_find(a, w, &t, &hash, reason)) {
        reject_run(a, w->first_ordinal, w->samples_n + w->histograms_n, VERDICT_LABELS);
        refuse(a, NULL, reason, w->samples_n + w->histograms_n);
        return 0;
    }
    if (t.id == SERIES_NONE) {
        bool full = catalog_series_n(a->in->catalog) >= a->in->options.series_max;
        if (full || !any_acceptable(a, w)) {
            enum verdict v = full ? VERDICT_SERIES_LIMIT : VERDICT_FUTURE;
            refuse_series(a, w, &t.labels, v, full ? "series limit reached" : verdict_sentence(v));
            return 0;
        }
        int rc = series_make(a, w, &t, hash, e);
        if (rc)
            return rc;
    }
    for (uint32_t i = 0; i < w->samples_n + w->histograms_n; i++) {
        const char *fault;
        struct sample sample = sample_at(a->request, w, i, &fault);
        if (!fault) {
            decide_sample(a, &t, &sample, w->first_ordinal + i);
            continue;
        }
        reject_run(a, w->first_ordinal + i, 1, VERDICT_HISTOGRAM);
        refuse(a, &t.labels, fault, 1);
    }
    return 0;
}

enum { PREFETCH_AHEAD = 4 }; /* series */

int apply_request(struct apply *a, struct err *e)
{
    const struct write_request *r = a->request;
    uint32_t reject_at = 0;
    int rc = 0;
    a->largest_ms = INT64_MIN;
    a->oldest_ms = INT64_MAX;
    for (uint32_t i = 0; i < r->metadata_n; i++)
        metadata_set(a->in->metadata, &r->metadata[i]);
    for (uint32_t i = 0; i < r->series_n && rc == 0; i++) {
        if (i + PREFETCH_AHEAD < r->series_n)
            series_cache_prefetch(&a->in->series_cache, r->series[i + PREFETCH_AHEAD].wire_hash);
        rc = a->replay ? replay_series(a, &r->series[i], &reject_at, e) : decide_series(a, &r->series[i], e);
    }
    if (a->refusals_n)
        refusals_write(a);
    for (int v = VERDICT_STORE; v < VERDICT_END; v++)
        verdict_count(v, a->verdicts[v]);
    store_read_end(a->lookup_txn);
    a->lookup_txn = NULL;
    arena_done(&a->arena);
    return rc;
}

void apply_clock(struct ingest *in, const struct apply *a)
{
    if (a->largest_ms == INT64_MIN)
        return;
    if (in->first_event_ms > a->oldest_ms)
        in->first_event_ms = a->oldest_ms;
    if (!in->plan && !a->replay && in->unplanned_ms > a->oldest_ms)
        in->unplanned_ms = a->oldest_ms;
    if (in->largest_event_ms < a->largest_ms)
        in->largest_event_ms = a->largest_ms;
    int64_t clock_ms = in->largest_event_ms < a->admission.receive_ms ? in->largest_event_ms : a->admission.receive_ms;
    if (in->event_clock_ms < clock_ms) {
        in->event_clock_ms = clock_ms;
        in->clock_moved_ms = a->admission.receive_ms;
    }
}

/* ---- one request ---- */

static int write_locked(struct apply *a, struct str body, struct err *e)
{
    struct ingest *in = a->in;
    uint32_t samples_n = a->request->ordinals_n;
    if (in->log_broken)
        return err_set(e, ERR_OVERLOAD,
                       "the write-ahead log could not be written; writes go on after the next checkpoint");
    int rc = samples_n ? wal_reserve(in->wal, body.n, samples_n, e) : 0;
    if (rc)
        return rc;
    a->admission.watermark_ms = ingest_watermark_locked(in);
    rc = apply_request(a, e);
    if (rc) {
        /* What came before the failure is in the head but will not be in the log: only a checkpoint makes it safe. */
        in->log_broken = a->result->samples_applied > 0;
        return rc;
    }
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
    MUST(!in->options.read_only);
    struct sender own = {0}, *s = sender ? sender : &own;
    *ret = (struct write_result){0};
    int rc = write_body_decompress(body, in->options.body_max, &s->body, e);
    if (rc == 0)
        rc = write_request_parse(&s->request, (struct str){s->body.p, s->body.n}, e);
    if (rc == 0) {
        struct apply a = {.in = in,
                          .admission = {.options = &in->options, .receive_ms = receive_ms},
                          .request = &s->request,
                          .result = ret};
        pthread_rwlock_wrlock(&in->lock);
        rc = write_locked(&a, body, e);
        pthread_rwlock_unlock(&in->lock);
        mem_free(a.rejects);
    }
    if (s == &own || s->body.cap + write_request_memory_bytes(&s->request) > SENDER_KEEP_BYTES)
        sender_done(s);
    if (rc == 0 && ret->samples_applied && in->options.wal_fsync == WAL_FSYNC_ALWAYS)
        rc = ingest_sync(in, e);
    if (rc == 0)
        stat_add(&requests, 1);
    return rc;
}
