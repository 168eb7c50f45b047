#include "ingest/roots.h"

#include "base/alloc.h"
#include "ingest/ingest_internal.h"

void roots_done(struct roots *r)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct root_state *s = &r->v[i];
        spans_done(&s->dirty);
        spans_done(&s->rebuilding);
        spans_done(&s->holes);
        label_sets_done(&s->groups);
        mem_free(s->selectors);
    }
    mem_free(r->v);
    *r = (struct roots){.newest_read_ms = INT64_MIN};
}

static bool reads_series(const struct root_state *r, const struct labels *labels)
{
    for (uint32_t i = 0; i < r->selectors_n; i++)
        if (matchers_accept(r->selectors[i].matchers, r->selectors[i].n, labels))
            return true;
    return false;
}

void roots_mark(struct ingest *in, uint32_t series, int64_t time_ms)
{
    if (time_ms > in->roots.newest_read_ms)
        return;
    struct arena a;
    struct labels labels;
    bool known = false;
    arena_init(&a, 0);
    for (uint32_t i = 0; i < in->roots.n; i++) {
        struct root_state *r = &in->roots.v[i];
        int64_t from_ms = time_ms - r->ahead_ms, end_ms = r->claimed_to_ms + 1;
        if (from_ms >= end_ms)
            continue;
        if (time_ms + r->reach_ms < end_ms)
            end_ms = time_ms + r->reach_ms;
        /* Most late samples come in a crowd: the times are dirty already. */
        if (spans_hold(&r->dirty, from_ms, end_ms))
            continue;
        if (!known)
            catalog_labels(in->catalog, series, &a, &labels);
        known = true;
        if (reads_series(r, &labels))
            spans_add(&r->dirty, from_ms, end_ms);
    }
    arena_done(&a);
}

struct root_state *root_of(struct ingest *in, const uint8_t identity[16])
{
    for (uint32_t i = 0; i < in->roots.n; i++)
        if (memcmp(in->roots.v[i].identity, identity, IDENTITY_BYTES) == 0)
            return &in->roots.v[i];
    return NULL;
}

static uint32_t list_spans(const struct spans *s, int64_t start_ms, int64_t end_ms, struct source_span *out)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < s->n; i++)
        if (s->v[i].to_ms > start_ms && s->v[i].from_ms <= end_ms)
            out[n++] = s->v[i];
    return n;
}

int roots_source(void *ctx, const uint8_t identity[16], int64_t start_ms, int64_t end_ms, struct arena *a,
                 struct source_root *ret, struct err *e)
{
    struct ingest *in = ctx;
    struct source_root out = {.number = SOURCE_NO_VIEW};
    struct source_span *spans = NULL;
    pthread_rwlock_rdlock(&in->lock);
    const struct root_state *r = root_of(in, identity);
    if (r) {
        const struct spans *const kinds[] = {&r->dirty, &r->rebuilding, &r->holes};
        spans = ARENA_ARRAY(a, struct source_span, (size_t)r->dirty.n + r->rebuilding.n + r->holes.n + 1);
        for (size_t i = 0; i < 3 && spans; i++)
            out.unfit_n += list_spans(kinds[i], start_ms, end_ms, spans + out.unfit_n);
        out.number = r->number;
        out.complete_from_ms = r->complete_from_ms;
        out.sealed_to_ms = r->sealed_to_ms;
        out.unfit = spans;
    }
    pthread_rwlock_unlock(&in->lock);
    int rc = arena_check(a, "query", e);
    if (rc == 0)
        *ret = out;
    return rc;
}

void ingest_root_status(struct ingest *in, const uint8_t identity[IDENTITY_BYTES], struct ingest_root_status *ret)
{
    *ret = (struct ingest_root_status){.complete_from_ms = INT64_MAX, .sealed_to_ms = INT64_MIN};
    pthread_rwlock_rdlock(&in->lock);
    const struct root_state *r = root_of(in, identity);
    if (r && r->complete_from_ms < r->sealed_to_ms) {
        ret->complete_from_ms = r->complete_from_ms;
        ret->sealed_to_ms = r->sealed_to_ms;
    }
    if (r) {
        ret->dirty_spans = r->dirty.n + r->rebuilding.n;
        ret->holes = r->holes.n;
    }
    pthread_rwlock_unlock(&in->lock);
}
