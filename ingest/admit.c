#include "ingest/admit.h"

#include <stdio.h>
#include <xxhash.h>

#include "base/float_text.h"
#include "base/stats.h"

static struct stat counts[] = {
    [VERDICT_STORE] = STAT_COUNTER("mullion_samples_stored_total", "", "Samples stored"),
    [VERDICT_STORE_LATE] =
        STAT_COUNTER("mullion_samples_late_total", "", "Samples stored although late (also in stored)"),
    [VERDICT_IGNORE] = STAT_COUNTER("mullion_samples_duplicate_total", "", "Samples that were held already"),
#define REFUSED(v, label)                                                                                              \
    [VERDICT_##v] = STAT_COUNTER("mullion_samples_refused_total", "reason=\"" label "\"", "Samples refused, by reason")
    REFUSED(FUTURE, "future"),
    REFUSED(TOO_OLD, "too_old"),
    REFUSED(CONFLICT, "conflict"),
    REFUSED(LABELS, "labels"),
    REFUSED(HISTOGRAM, "histogram"),
    REFUSED(SERIES_LIMIT, "series_limit"),
#undef REFUSED
};

static const struct {
    const char *reason;
    bool refused;
} verdicts[] = {
#define X(name, label, is_refused) [VERDICT_##name] = {label, is_refused},
    VERDICT_LIST(X)
#undef X
};

const char *verdict_reason(enum verdict v)
{
    return verdicts[v].reason;
}

bool verdict_refuses(enum verdict v)
{
    return verdicts[v].refused;
}

void verdict_count(enum verdict v, uint64_t n)
{
    if (n == 0)
        return;
    stat_add(&counts[v], (int64_t)n);
    if (v == VERDICT_STORE_LATE)
        stat_add(&counts[VERDICT_STORE], (int64_t)n);
}

void verdict_register(void)
{
    for (int v = VERDICT_STORE; v < VERDICT_END; v++)
        stat_register(&counts[v]);
}

static bool check_label(const struct label *l, char reason[200])
{
    const char *fault = NULL;
    if (l->name.n == 0)
        fault = "a label name is empty";
    else if (!utf8_valid(l->name.p, l->name.n))
        fault = "a label name is not UTF-8";
    if (fault) {
        snprintf(reason, 200, "%s", fault);
        return false;
    }
    if (!utf8_valid(l->value.p, l->value.n)) {
        snprintf(reason, 200, "value of label %.*s is not UTF-8", (int)(l->name.n > 100 ? 100 : l->name.n), l->name.p);
        return false;
    }
    return true;
}

bool admit_labels(const struct admission *a, struct label *v, uint32_t n, bool too_many, struct labels *ret,
                  char reason[200])
{
    size_t bytes = 0;
    uint32_t kept = 0;
    if (too_many) {
        snprintf(reason, 200, "more than %d labels", WRITE_LABELS_MAX);
        return false;
    }
    for (uint32_t i = 0; i < n; i++) {
        if (!check_label(&v[i], reason))
            return false;
        bytes += v[i].name.n + v[i].value.n;
        if (v[i].value.n)
            v[kept++] = v[i];
    }
    if (bytes > a->options->label_bytes_max) {
        snprintf(reason, 200, "labels of %zu bytes, more than the limit of %u", bytes, a->options->label_bytes_max);
        return false;
    }
    bool sorted = true;
    for (uint32_t i = 1; i < kept && sorted; i++)
        sorted = str_cmp(v[i - 1].name, v[i].name) < 0;
    if (!sorted && !labels_sort(v, kept)) {
        snprintf(reason, 200, "a label name stands twice");
        return false;
    }
    *ret = (struct labels){v, kept};
    if (labels_get(ret, STR(LABEL_NAME)).n == 0) {
        snprintf(reason, 200, "a series has no metric name (label " LABEL_NAME ")");
        return false;
    }
    return true;
}

/* Window arithmetic has room beyond it; queries cannot ask further back either. */
static const int64_t OLDEST_MS = -(INT64_C(1) << 60);

struct sample sample_of_wire(const struct wire_histogram *h)
{
    if (float_is_stale(h->v.sum))
        return (struct sample){.time_ms = h->time_ms, .value = h->v.sum};
    return (struct sample){.time_ms = h->time_ms, .histogram = &h->v};
}

bool sample_is_stale(const struct sample *s)
{
    return !s->histogram && float_is_stale(s->value);
}

bool sample_same(const struct sample *held, const struct sample *s)
{
    if (held->histogram && s->histogram)
        return histogram_exact_eq(held->histogram, s->histogram);
    return !held->histogram && !s->histogram && memcmp(&held->value, &s->value, sizeof s->value) == 0;
}

enum verdict admit_sample(const struct admission *a, int64_t series_last_ms, const struct sample *s,
                          admit_held_fn *held, void *ctx)
{
    int64_t horizon_ms = a->watermark_ms == INT64_MIN ? INT64_MIN : a->watermark_ms - a->options->late_horizon_ms;
    struct sample kept;
    if (s->time_ms > a->receive_ms + a->options->max_future_ms)
        return VERDICT_FUTURE;
    if (s->time_ms < OLDEST_MS)
        return VERDICT_TOO_OLD;
    if (s->time_ms > series_last_ms)
        return s->time_ms <= a->watermark_ms ? VERDICT_STORE_LATE : VERDICT_STORE;
    if (s->time_ms <= horizon_ms)
        return VERDICT_TOO_OLD;
    if (!held(ctx, s->time_ms, &kept))
        return VERDICT_STORE_LATE;
    if (sample_same(&kept, s) || sample_is_stale(s))
        return VERDICT_IGNORE;
    return sample_is_stale(&kept) ? VERDICT_STORE_LATE : VERDICT_CONFLICT;
}

uint64_t admission_settings_hash(const struct ingest_options *o)
{
    const int64_t settings[] = {o->max_future_ms, o->late_horizon_ms, o->lateness_ms, (int64_t)o->series_max,
                                (int64_t)o->label_bytes_max};
    return XXH3_64bits(settings, sizeof settings);
}
