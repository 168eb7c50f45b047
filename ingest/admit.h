/*
 * Admission: what may come in, decided series by series and sample by sample. The table of docs/RUNTIME.md, row by row.
 */
#ifndef INGEST_ADMIT_H
#define INGEST_ADMIT_H

#include "ingest/head.h"
#include "ingest/ingest.h"
#include "ingest/write_request.h"

/* X(NAME, "reason label", refused?) */
#define VERDICT_LIST(X)                                                                                                \
    X(STORE, "", 0)           /* in order, fresh */                                                                    \
    X(STORE_LATE, "", 0)      /* its windows may have been refreshed: dirty */                                         \
    X(IGNORE, "duplicate", 0) /* held already, or a stale marker where a number is held */                             \
    X(FUTURE, "future", 1)                                                                                             \
    X(TOO_OLD, "too_old", 1)                                                                                           \
    X(CONFLICT, "conflict", 1) /* another value at the same time: the first stays */                                   \
    X(LABELS, "labels", 1)                                                                                             \
    X(HISTOGRAM, "histogram", 1) /* not sound */                                                                       \
    X(SERIES_LIMIT, "series_limit", 1)
enum verdict {
    VERDICT_INVALID = 0,
#define X(name, label, refused) VERDICT_##name,
    VERDICT_LIST(X)
#undef X
        VERDICT_END
};
const char *verdict_reason(enum verdict v);
bool verdict_refuses(enum verdict v);
/* Count n samples under mullion_samples_*_total. */
void verdict_count(enum verdict v, uint64_t n);
void verdict_register(void);

struct admission {
    const struct ingest_options *options;
    int64_t receive_ms;
    int64_t watermark_ms; /* as it was when the request arrived */
};

/*
 * Sort and check a wire series' labels, in place: names unique and not empty, UTF-8, a metric name, sizes. Empty values
 * are dropped. On refusal `reason` gets a sentence that names the label.
 */
bool admit_labels(const struct admission *a, struct label *v, uint32_t n, bool too_many, struct labels *ret,
                  char reason[200]);

/* A sample of either kind. */
struct sample {
    int64_t time_ms;
    double value;
    const struct histogram_exact *histogram; /* NULL: a float, `value` */
};
/* A histogram whose sum is the stale marker says no more than a float that is one, and becomes it. */
struct sample sample_of_wire(const struct wire_histogram *h);

/*
 * One sample. `held` looks up the sample already kept at exactly this time, in head or store; it is asked only for
 * times that are not newer than the series' last.
 */
typedef bool admit_held_fn(void *ctx, int64_t time_ms, struct sample *ret);
enum verdict admit_sample(const struct admission *a, int64_t series_last_ms, const struct sample *s,
                          admit_held_fn *held, void *ctx);
/* By their bits. */
bool sample_same(const struct sample *held, const struct sample *s);
bool sample_is_stale(const struct sample *s);

/* Hash of the settings a verdict depends on, for the log. */
uint64_t admission_settings_hash(const struct ingest_options *o);

#endif
