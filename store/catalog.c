/* The catalog in memory: interning, adding and finding series. Its layout stands in catalog_internal.h. */
#include "store/catalog.h"

#include <xxhash.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "store/catalog_internal.h"

struct catalog *catalog_new(void)
{
    struct catalog *c = mem_zalloc(sizeof(*c));
    c->seed = map_seed();
    arena_init(&c->strings, 0);
    map_init(&c->symbol_map);
    map_init(&c->pair_map);
    map_init(&c->series_map);
    return c;
}

void catalog_free(struct catalog *c)
{
    if (!c)
        return;
    for (size_t i = 0; i < c->pairs_n; i++)
        posting_done(&c->pairs[i].posting);
    for (size_t i = 0; i < c->names_n; i++) {
        posting_done(&c->names[i].all);
        mem_free(c->names[i].pairs);
    }
    for (size_t i = 0; i < c->metrics_n; i++)
        mem_free(c->metrics[i].ids);
    for (size_t i = 0; i < c->series_blocks_n; i++)
        mem_free(c->series[i]);
    for (size_t i = 0; i < c->pool_blocks_n; i++)
        mem_free(c->pool[i]);
    map_done(&c->symbol_map);
    map_done(&c->pair_map);
    map_done(&c->series_map);
    arena_done(&c->strings);
    mem_free(c->symbols);
    mem_free(c->pairs);
    mem_free(c->names);
    mem_free(c->metrics);
    mem_free(c->series);
    mem_free(c->pool);
    mem_free(c);
}

/* ---- symbols and pairs ---- */

static uint64_t text_hash(const struct catalog *c, struct str text)
{
    return XXH3_64bits_withSeed(text.p, text.n, c->seed);
}

struct text_key {
    const struct catalog *c;
    struct str text;
};

static bool symbol_same(const void *ctx, uint32_t number)
{
    const struct text_key *key = ctx;
    return str_eq(symbol_str(key->c->symbols[number]), key->text);
}

static uint64_t symbol_hash(const void *ctx, uint32_t number)
{
    const struct catalog *c = ctx;
    return text_hash(c, symbol_str(c->symbols[number]));
}

const struct symbol *catalog_symbol(const struct catalog *c, struct str text)
{
    struct text_key key = {c, text};
    int64_t number = map_find(&c->symbol_map, text_hash(c, text), symbol_same, &key);
    return number < 0 ? NULL : c->symbols[number];
}

static struct symbol *symbol_intern(struct catalog *c, struct str text)
{
    struct text_key key = {c, text};
    uint64_t hash = text_hash(c, text);
    int64_t number = map_find(&c->symbol_map, hash, symbol_same, &key);
    if (number >= 0)
        return c->symbols[number];
    struct symbol *s = arena_alloc(&c->strings, sizeof(*s) + text.n);
    MUST(s);
    *s = (struct symbol){.n = (uint32_t)text.n, .number = (uint32_t)c->symbols_n};
    if (text.n)
        memcpy(s->text, text.p, text.n);
    c->symbols = mem_grow(c->symbols, &c->symbols_cap, c->symbols_n + 1, sizeof(struct symbol *));
    c->symbols[c->symbols_n++] = s;
    map_add(&c->symbol_map, hash, s->number, symbol_hash, c);
    return s;
}

static uint64_t numbers_hash(const struct catalog *c, const struct symbol *name, const struct symbol *value)
{
    uint32_t numbers[2] = {name->number, value->number};
    return XXH3_64bits_withSeed(numbers, sizeof(numbers), c->seed);
}

struct pair_key {
    const struct catalog *c;
    const struct symbol *name, *value;
};

static bool pair_same(const void *ctx, uint32_t number)
{
    const struct pair_key *key = ctx;
    const struct pair *p = &key->c->pairs[number];
    return p->name == key->name && p->value == key->value;
}

static uint64_t pair_hash(const void *ctx, uint32_t number)
{
    const struct catalog *c = ctx;
    return numbers_hash(c, c->pairs[number].name, c->pairs[number].value);
}

const struct pair *catalog_pair(const struct catalog *c, const struct symbol *name, const struct symbol *value)
{
    if (!name || !value)
        return NULL;
    struct pair_key key = {c, name, value};
    int64_t number = map_find(&c->pair_map, numbers_hash(c, name, value), pair_same, &key);
    return number < 0 ? NULL : &c->pairs[number];
}

static struct catalog_name *name_intern(struct catalog *c, struct symbol *text)
{
    if (!text->name_plus_1) {
        c->names = mem_grow(c->names, &c->names_cap, c->names_n + 1, sizeof(*c->names));
        c->names[c->names_n++] = (struct catalog_name){.text = text};
        text->name_plus_1 = (uint32_t)c->names_n;
    }
    return &c->names[text->name_plus_1 - 1];
}

const struct catalog_name *catalog_name_of(const struct catalog *c, struct str name)
{
    const struct symbol *text = catalog_symbol(c, name);
    return text && text->name_plus_1 ? &c->names[text->name_plus_1 - 1] : NULL;
}

static uint32_t pair_intern(struct catalog *c, struct catalog_name *name, const struct symbol *value)
{
    struct pair_key key = {c, name->text, value};
    uint64_t hash = numbers_hash(c, name->text, value);
    int64_t found = map_find(&c->pair_map, hash, pair_same, &key);
    if (found >= 0)
        return (uint32_t)found;
    uint32_t number = (uint32_t)c->pairs_n;
    c->pairs = mem_grow(c->pairs, &c->pairs_cap, c->pairs_n + 1, sizeof(*c->pairs));
    c->pairs[c->pairs_n++] = (struct pair){.name = name->text, .value = value};
    name->pairs = mem_grow(name->pairs, &name->pairs_cap, name->pairs_n + 1, sizeof(*name->pairs));
    name->pairs[name->pairs_n++] = number;
    map_add(&c->pair_map, hash, number, pair_hash, c);
    return number;
}

/* ---- series ---- */

static uint32_t metric_intern(struct catalog *c, struct symbol *name)
{
    if (!name->metric_plus_1) {
        c->metrics = mem_grow(c->metrics, &c->metrics_cap, c->metrics_n + 1, sizeof(*c->metrics));
        c->metrics[c->metrics_n++] = (struct metric){.name = name};
        name->metric_plus_1 = (uint32_t)c->metrics_n;
    }
    return name->metric_plus_1 - 1;
}

/* Room for a run of n pair numbers in one block; the rest of a block that is too short stays unused. */
static uint64_t pool_place(const struct catalog *c, uint32_t n)
{
    uint64_t block = UINT64_C(1) << POOL_BLOCK_BITS, used = c->pool_n & (block - 1);
    return used + n > block ? c->pool_n - used + block : c->pool_n;
}

static uint32_t *pool_take(struct catalog *c, uint64_t at, uint32_t n)
{
    size_t block = (size_t)(at >> POOL_BLOCK_BITS);
    if (block == c->pool_blocks_n) {
        c->pool = mem_grow(c->pool, &c->pool_blocks_cap, block + 1, sizeof(*c->pool));
        c->pool[c->pool_blocks_n++] = mem_alloc(sizeof(uint32_t) << POOL_BLOCK_BITS);
    }
    c->pool_n = at + n;
    return &c->pool[block][at & ((1u << POOL_BLOCK_BITS) - 1)];
}

static uint64_t series_hash(const void *ctx, uint32_t id)
{
    return catalog_series(ctx, id)->hash;
}

static int add_check(const struct catalog *c, const struct labels *l, struct err *e)
{
    if (c->series_n == SERIES_NONE - 1)
        return err_set(e, ERR_LIMIT, "series ids are used up (%u); start a new data directory", c->series_n);
    if (l->n > CATALOG_LABELS_MAX)
        return err_set(e, ERR_LIMIT, "a series has %u labels; the most is %d", l->n, CATALOG_LABELS_MAX);
    for (uint32_t i = 0; i < l->n; i++)
        if (l->v[i].name.n > INT32_MAX || l->v[i].value.n > INT32_MAX)
            return err_set(e, ERR_LIMIT, "a label of a series is longer than %d bytes", INT32_MAX);
    if (pool_place(c, l->n) + l->n > UINT32_MAX || c->symbols_n + 2 * (size_t)l->n + 1 >= UINT32_MAX)
        return err_set(e, ERR_LIMIT, "the catalog is full at %u series; start a new data directory", c->series_n);
    return 0;
}

static uint32_t label_intern(struct catalog *c, const struct label *label)
{
    struct symbol *name = symbol_intern(c, label->name), *value = symbol_intern(c, label->value);
    return pair_intern(c, name_intern(c, name), value);
}

struct run {
    const uint32_t *run;
    uint32_t n;
};

static struct run run_of(const struct catalog *c, uint32_t id)
{
    const struct series *s = catalog_series(c, id);
    return (struct run){catalog_run(c, s), s->labels_n};
}

/* Series come target by target, so most labels are those of the series before: no hashing for them. */
static bool run_same(const struct catalog *c, const struct run *before, uint32_t i, const struct label *label)
{
    if (i >= before->n)
        return false;
    const struct pair *p = &c->pairs[before->run[i]];
    return str_eq(symbol_str(p->value), label->value) && str_eq(symbol_str(p->name), label->name);
}

int catalog_add(struct catalog *c, const struct labels *l, uint64_t hash, uint32_t *ret_id, struct err *e)
{
    int code = add_check(c, l, e);
    if (code)
        return code;
    uint32_t id = c->series_n;
    uint64_t at = pool_place(c, l->n);
    struct run before = id ? run_of(c, id - 1) : (struct run){NULL, 0};
    uint32_t *run = pool_take(c, at, l->n);
    struct symbol *metric_name = NULL;
    for (uint32_t i = 0; i < l->n; i++) {
        const struct label *label = &l->v[i];
        run[i] = run_same(c, &before, i, label) ? before.run[i] : label_intern(c, label);
        const struct pair *p = &c->pairs[run[i]];
        posting_add(&c->names[p->name->name_plus_1 - 1].all, id);
        posting_add(&c->pairs[run[i]].posting, id);
        if (str_eq(label->name, STR(LABEL_NAME)))
            metric_name = c->symbols[p->value->number];
    }
    uint32_t metric = metric_intern(c, metric_name ? metric_name : symbol_intern(c, STR("")));
    struct metric *m = &c->metrics[metric];
    m->ids = mem_grow(m->ids, &m->cap, m->n + 1, sizeof(*m->ids));
    if (id >> SERIES_BLOCK_BITS == c->series_blocks_n) {
        c->series = mem_grow(c->series, &c->series_blocks_cap, c->series_blocks_n + 1, sizeof(*c->series));
        c->series[c->series_blocks_n++] = mem_alloc(sizeof(struct series) << SERIES_BLOCK_BITS);
    }
    *catalog_series(c, id) = (struct series){
        .hash = hash, .pool_at = (uint32_t)at, .metric = metric, .ordinal = (uint32_t)m->n, .labels_n = l->n};
    m->ids[m->n++] = id;
    c->series_n = id + 1;
    map_add(&c->series_map, hash, id, series_hash, c);
    *ret_id = id;
    return 0;
}

static uint64_t bits_apart(const char *p, const char *q)
{
    return load_u64(p) ^ load_u64(q);
}

/* str_eq for texts that are short and mostly equal, as known labels are: no call, and no branch on what they hold. */
static inline bool text_same(const struct symbol *s, struct str text)
{
    const char *p = s->text, *q = text.p;
    size_t n = text.n;
    if (s->n != n)
        return false;
    if (n >= 8) {
        uint64_t apart = bits_apart(p + n - 8, q + n - 8);
        for (size_t i = 0; i + 8 < n; i += 8)
            apart |= bits_apart(p + i, q + i);
        return apart == 0;
    }
    if (n >= 4)
        return load_u32(p) == load_u32(q) && load_u32(p + n - 4) == load_u32(q + n - 4);
    return n == 0 || (p[0] == q[0] && p[n / 2] == q[n / 2] && p[n - 1] == q[n - 1]);
}

bool catalog_same(const struct catalog *c, uint32_t id, const struct labels *l)
{
    if (id >= c->series_n)
        return false;
    const struct series *s = catalog_series(c, id);
    if (s->labels_n != l->n)
        return false;
    const uint32_t *run = catalog_run(c, s);
    /* From the end: sets of one metric mostly differ in their later labels. */
    for (uint32_t i = l->n; i-- > 0;) {
        const struct pair *p = &c->pairs[run[i]];
        if (!text_same(p->value, l->v[i].value) || !text_same(p->name, l->v[i].name))
            return false;
    }
    return true;
}

struct labels_key {
    const struct catalog *c;
    const struct labels *labels;
};

static bool labels_same(const void *ctx, uint32_t id)
{
    const struct labels_key *key = ctx;
    return catalog_same(key->c, id, key->labels);
}

uint32_t catalog_find(const struct catalog *c, const struct labels *l, uint64_t hash)
{
    struct labels_key key = {c, l};
    int64_t id = map_find(&c->series_map, hash, labels_same, &key);
    return id < 0 ? SERIES_NONE : (uint32_t)id;
}

/* ---- reading ---- */

uint32_t catalog_series_n(const struct catalog *c)
{
    return c->series_n;
}

uint32_t catalog_persisted_n(const struct catalog *c)
{
    return c->persisted_n;
}

void catalog_saved(struct catalog *c, uint32_t n)
{
    MUST(n >= c->persisted_n && n <= c->series_n);
    c->persisted_n = n;
}

struct series_place catalog_place(const struct catalog *c, uint32_t id)
{
    MUST(id < c->series_n);
    const struct series *s = catalog_series(c, id);
    return (struct series_place){s->metric, s->ordinal};
}

void catalog_labels(const struct catalog *c, uint32_t id, struct arena *a, struct labels *ret)
{
    MUST(id < c->series_n);
    const struct series *s = catalog_series(c, id);
    struct label *v = ARENA_ARRAY(a, struct label, s->labels_n);
    *ret = (struct labels){v, v ? s->labels_n : 0};
    const uint32_t *run = catalog_run(c, s);
    for (uint32_t i = 0; i < ret->n; i++) {
        const struct pair *p = &c->pairs[run[i]];
        v[i] = (struct label){symbol_str(p->name), symbol_str(p->value)};
    }
}

const struct symbol *catalog_value_of(const struct catalog *c, uint32_t id, const struct symbol *name)
{
    const struct series *s = catalog_series(c, id);
    const uint32_t *run = catalog_run(c, s);
    for (uint32_t i = 0; i < s->labels_n; i++)
        if (c->pairs[run[i]].name == name)
            return c->pairs[run[i]].value;
    return NULL;
}

uint32_t catalog_metric(const struct catalog *c, struct str name)
{
    const struct symbol *text = catalog_symbol(c, name);
    return text && text->metric_plus_1 ? text->metric_plus_1 - 1 : SERIES_NONE;
}

struct str catalog_metric_name(const struct catalog *c, uint32_t metric)
{
    MUST(metric < c->metrics_n);
    return symbol_str(c->metrics[metric].name);
}

uint32_t catalog_metrics_n(const struct catalog *c)
{
    return (uint32_t)c->metrics_n;
}

uint32_t catalog_at(const struct catalog *c, uint32_t metric, uint32_t ordinal)
{
    if (metric >= c->metrics_n || ordinal >= c->metrics[metric].n)
        return SERIES_NONE;
    return c->metrics[metric].ids[ordinal];
}

static size_t map_memory_bytes(const struct map *m)
{
    return m->slots ? ((size_t)m->mask + 1) * sizeof(*m->slots) : 0;
}

size_t catalog_memory_bytes(const struct catalog *c)
{
    size_t bytes = sizeof(*c) + c->strings.used_bytes + c->symbols_cap * sizeof(*c->symbols) +
                   c->pairs_cap * sizeof(*c->pairs) + c->names_cap * sizeof(*c->names) +
                   c->metrics_cap * sizeof(*c->metrics) + map_memory_bytes(&c->symbol_map) +
                   map_memory_bytes(&c->pair_map) + map_memory_bytes(&c->series_map) +
                   c->series_blocks_n * (sizeof(struct series) << SERIES_BLOCK_BITS) +
                   c->pool_blocks_n * (sizeof(uint32_t) << POOL_BLOCK_BITS);
    for (size_t i = 0; i < c->pairs_n; i++)
        bytes += posting_memory_bytes(&c->pairs[i].posting);
    for (size_t i = 0; i < c->names_n; i++)
        bytes += posting_memory_bytes(&c->names[i].all) + c->names[i].pairs_cap * sizeof(uint32_t);
    for (size_t i = 0; i < c->metrics_n; i++)
        bytes += c->metrics[i].cap * sizeof(uint32_t);
    return bytes;
}
