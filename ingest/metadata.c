/* Type, help and unit by metric, as senders tell it. In memory only: senders repeat it every minute. */
#include <xxhash.h>

#include "base/alloc.h"
#include "base/map.h"
#include "ingest/ingest_internal.h"

enum { METADATA_METRICS_MAX = 100000, METADATA_TEXT_MAX = 4096 };

struct metadata_row {
    struct str metric, help, unit; /* owned */
    uint32_t type;
};
struct metadata_table {
    struct metadata_row *rows;
    size_t cap;
    uint32_t n;
    struct map index;
};

/* prometheus.MetricMetadata.MetricType, in order. */
static const char *const type_names[] = {"unknown",        "counter", "gauge", "histogram",
                                         "gaugehistogram", "summary", "info",  "stateset"};

struct metadata_table *metadata_new(void)
{
    struct metadata_table *t = mem_zalloc(sizeof *t);
    map_init(&t->index);
    return t;
}

static void text_free(struct str s)
{
    mem_free((void *)(uintptr_t)s.p);
}

void metadata_free(struct metadata_table *t)
{
    if (!t)
        return;
    for (uint32_t i = 0; i < t->n; i++) {
        text_free(t->rows[i].metric);
        text_free(t->rows[i].help);
        text_free(t->rows[i].unit);
    }
    mem_free(t->rows);
    map_done(&t->index);
    mem_free(t);
}

struct lookup {
    const struct metadata_table *table;
    struct str metric;
};

static bool row_same(const void *ctx, uint32_t row)
{
    const struct lookup *l = ctx;
    return str_eq(l->table->rows[row].metric, l->metric);
}

static uint64_t name_hash(struct str metric)
{
    return XXH3_64bits_withSeed(metric.p, metric.n, map_seed());
}

static uint64_t row_hash(const void *ctx, uint32_t row)
{
    const struct lookup *l = ctx;
    return name_hash(l->table->rows[row].metric);
}

static bool text_ok(struct str s)
{
    return s.n <= METADATA_TEXT_MAX && utf8_valid(s.p, s.n);
}

static void text_replace(struct str *old, struct str text)
{
    if (old->p && str_eq(*old, text))
        return;
    text_free(*old);
    *old = (struct str){mem_dup(text.p, text.n), text.n};
}

void metadata_set(struct metadata_table *t, const struct wire_metadata *m)
{
    if (m->name.n == 0 || !text_ok(m->name) || !text_ok(m->help) || !text_ok(m->unit))
        return;
    struct lookup lookup = {t, m->name};
    uint64_t hash = name_hash(m->name);
    int64_t row = map_find(&t->index, hash, row_same, &lookup);
    if (row < 0) {
        if (t->n == METADATA_METRICS_MAX)
            return;
        t->rows = mem_grow(t->rows, &t->cap, t->n + 1u, sizeof *t->rows);
        t->rows[t->n] = (struct metadata_row){.metric = {mem_dup(m->name.p, m->name.n), m->name.n}};
        row = t->n++;
        map_add(&t->index, hash, (uint32_t)row, row_hash, &lookup);
    }
    t->rows[row].type = m->type;
    text_replace(&t->rows[row].help, m->help);
    text_replace(&t->rows[row].unit, m->unit);
}

static int compare_entries(const void *pa, const void *pb)
{
    const struct metadata_entry *a = pa, *b = pb;
    return str_cmp(a->metric, b->metric);
}

static struct str text_copy(struct arena *a, struct str s)
{
    return (struct str){arena_strndup(a, s.p ? s.p : "", s.n), s.n};
}

int ingest_metadata(struct ingest *in, struct arena *a, struct metadata_entry **ret, uint32_t *ret_n, struct err *e)
{
    pthread_rwlock_rdlock(&in->lock);
    const struct metadata_table *t = in->metadata;
    uint32_t n = t->n;
    struct metadata_entry *entries = ARENA_ARRAY(a, struct metadata_entry, n + 1u);
    for (uint32_t i = 0; i < n && entries; i++) {
        const struct metadata_row *r = &t->rows[i];
        uint32_t type = r->type < sizeof type_names / sizeof type_names[0] ? r->type : 0;
        entries[i] = (struct metadata_entry){text_copy(a, r->metric), str_of(type_names[type]), text_copy(a, r->help),
                                             text_copy(a, r->unit)};
    }
    pthread_rwlock_unlock(&in->lock);
    int rc = arena_check(a, "request", e);
    if (rc)
        return rc;
    qsort(entries, n, sizeof *entries, compare_entries);
    *ret = entries;
    *ret_n = n;
    return 0;
}
