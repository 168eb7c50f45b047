/*
 * A plan's stored roots come into force, at the start or in place of others: each gets its number, and what the store
 * has of it is taken over. Roots of the store that the plan does not have are let go: nobody would mark what arrives
 * late for them. The meta value "root_dirty" holds what was dirty at the last checkpoint with a plan, little-endian,
 * for each root:
 *
 *     16 B identity, u32 n, n times i64 from, i64 to
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "ingest/ingest_internal.h"

#define META_NAME "root_dirty"

static void add_selectors(struct root_state *r, const struct expr *e)
{
    if (e->kind == EXPR_SELECTOR) {
        r->selectors = mem_grow(r->selectors, &r->selectors_cap, r->selectors_n + 1u, sizeof *r->selectors);
        r->selectors[r->selectors_n++] = (struct root_selector){e->matchers, e->matchers_n};
    }
    for (uint32_t i = 0; i < e->args_n; i++)
        add_selectors(r, e->args[i]);
}

static void root_make(const struct plan *plan, uint32_t id, struct root_state *ret)
{
    const struct plan_stored_root *from = &plan->stored_roots[id];
    const struct expr *expr = plan->nodes[from->node].expr;
    *ret = (struct root_state){.expr = expr,
                               .grid = from->grid,
                               .reach_ms = root_expr_reach_ms(expr),
                               .ahead_ms = root_expr_ahead_ms(expr),
                               .retention_ms = from->retention_ms,
                               .complete_from_ms = INT64_MIN,
                               .sealed_to_ms = INT64_MIN,
                               .claimed_to_ms = INT64_MIN,
                               .backfill_from_ms = INT64_MIN,
                               .recomputed_ms = INT64_MIN};
    plan_root_identity(plan, id, ret->identity);
    label_sets_init(&ret->groups, GROUP_OF_ROOT, UINT32_MAX);
    add_selectors(ret, expr);
}

/* As they are when the plan comes. */
struct clocks {
    int64_t watermark_ms, first_event_ms, unplanned_ms, raw_retention_ms;
};

/* ---- what the store has ---- */

struct rows {
    struct root_state *root;
    int64_t next_ms;
    uint64_t *numbered; /* bits of the groups that have labels, below groups.next */
};

/* A number whose labels are gone would be given to others, which then had its results. */
static bool names_lost_group(const struct rows *r, const struct root_block *b)
{
    bool lost = false;
    for (uint32_t i = 0; i < b->n && !lost; i++) {
        uint32_t group = root_block_group(b, i);
        lost = group >= r->root->groups.next || (r->numbered[group / 64] >> (group % 64) & 1) == 0;
    }
    return lost;
}

static int see_row(void *ctx, int64_t time_ms, struct str bytes, struct err *e)
{
    struct rows *r = ctx;
    struct root_block b;
    if (floor_mod(time_ms - r->root->grid.phase_ms, r->root->grid.step_ms) != 0)
        return 0;
    spans_add(&r->root->dirty, r->next_ms, time_ms);
    r->next_ms = time_ms + 1;
    struct err ignored;
    if (root_block_parse(bytes, r->root->number, time_ms, &b, &ignored) != 0 || names_lost_group(r, &b))
        spans_add(&r->root->dirty, time_ms, time_ms + 1);
    else if (b.flags & ROOT_HOLE)
        spans_add(&r->root->holes, time_ms, time_ms + 1);
    return 0;
}

/* Times without a row, with a damaged one, or with one whose labels are lost, are dirty: they are computed again. */
static int root_verify(struct root_state *r, struct store_txn *t, struct err *e)
{
    struct rows rows = {r, r->complete_from_ms + r->grid.step_ms,
                        mem_zalloc((r->groups.next / 64 + 1) * sizeof(uint64_t))};
    for (uint32_t i = 0; i < r->groups.n; i++)
        rows.numbered[r->groups.v[i].number / 64] |= UINT64_C(1) << (r->groups.v[i].number % 64);
    int rc = root_result_walk(t, r->number, r->complete_from_ms + 1, r->sealed_to_ms, see_row, &rows, e);
    if (rc == 0)
        spans_add(&r->dirty, rows.next_ms, r->sealed_to_ms + 1);
    mem_free(rows.numbered);
    return rc;
}

static int let_go(const struct root_record *known, struct store_txn *t, struct err *e)
{
    struct root_record empty = *known;
    uint32_t ignored;
    empty.complete_from_ms = INT64_MAX;
    empty.sealed_to_ms = INT64_MIN;
    int rc = root_result_drop(t, known->number, INT64_MAX, &ignored, e);
    if (rc == 0)
        rc = group_drop(t, GROUP_OF_ROOT, known->number, e);
    return rc ? rc : root_update(t, &empty, e);
}

/* How far back results are wanted, and can be had: raw samples must reach over a time's whole look-back. */
static void backfill_plan(const struct clocks *now, struct root_state *r)
{
    int64_t from_ms = grid_floor(r->grid, r->sealed_to_ms - r->retention_ms) - r->grid.step_ms;
    int64_t first_ms = grid_floor(r->grid, now->first_event_ms - 1);
    int64_t raw_ms = grid_floor(r->grid, now->watermark_ms - now->raw_retention_ms + r->reach_ms);
    from_ms = from_ms < first_ms ? first_ms : from_ms;
    from_ms = from_ms < raw_ms ? raw_ms : from_ms;
    r->backfill_from_ms = from_ms < r->complete_from_ms ? from_ms : r->complete_from_ms;
    r->claimed_to_ms = r->sealed_to_ms;
}

/*
 * After a loss of power the log may lack samples whose results were stored: they come again, and would be taken for new
 * ones by the next replay. So what lies above the watermark does not count; it is computed anew when it is due.
 */
static int root_take(struct root_state *r, const struct root_record *known, int64_t watermark_ms, struct store_txn *t,
                     struct err *e)
{
    struct root_record mine = *known;
    int64_t sealed_ms = grid_floor(r->grid, watermark_ms);
    mine.sealed_to_ms = known->sealed_to_ms < sealed_ms ? known->sealed_to_ms : sealed_ms;
    if (mine.complete_from_ms > mine.sealed_to_ms)
        mine.complete_from_ms = mine.sealed_to_ms;
    r->complete_from_ms = mine.complete_from_ms;
    r->sealed_to_ms = mine.sealed_to_ms;
    int rc = root_update(t, &mine, e);
    if (rc == 0)
        rc = label_sets_load(&r->groups, t, r->number, r->sealed_to_ms, e);
    return rc ? rc : root_verify(r, t, e);
}

static int root_restore(const struct clocks *now, struct root_state *r, struct store_txn *t, struct err *e)
{
    struct root_record known;
    int64_t watermark_ms = root_watermark_ms(r, now->watermark_ms);
    int rc = root_create(t, r->identity, &known, e);
    if (rc)
        return rc;
    r->number = known.number;
    bool any = known.complete_from_ms < known.sealed_to_ms && watermark_ms != INT64_MIN;
    if (any && known.sealed_to_ms >= watermark_ms - r->retention_ms) {
        rc = root_take(r, &known, watermark_ms, t, e);
        if (rc == 0) {
            backfill_plan(now, r);
            return 0;
        }
        if (rc != ERR_CORRUPT)
            return rc;
        label_sets_done(&r->groups);
        label_sets_init(&r->groups, GROUP_OF_ROOT, UINT32_MAX);
        spans_done(&r->dirty);
        spans_done(&r->holes);
    }
    rc = let_go(&known, t, e);
    if (rc == 0 && watermark_ms != INT64_MIN) {
        r->complete_from_ms = r->sealed_to_ms = grid_floor(r->grid, watermark_ms); /* and back from there */
        backfill_plan(now, r);
    }
    return rc;
}

/* ---- dirty times ---- */

static struct root_state *root_by_identity(struct roots *r, const uint8_t *identity)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (memcmp(r->v[i].identity, identity, IDENTITY_BYTES) == 0)
            return &r->v[i];
    return NULL;
}

static int dirty_read(struct store_txn *t, struct roots *roots, struct err *e)
{
    struct str bytes;
    int rc = store_meta_get(t, META_NAME, &bytes, e);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : rc;
    struct byte_reader r = {(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n, false};
    while (reader_left(&r) && !r.failed) {
        const uint8_t *identity = read_bytes(&r, IDENTITY_BYTES);
        struct root_state *root = identity ? root_by_identity(roots, identity) : NULL;
        uint32_t n = read_u32(&r);
        for (uint32_t i = 0; i < n && !r.failed; i++) {
            int64_t from_ms = read_i64(&r), to_ms = read_i64(&r);
            if (root && to_ms > root->sealed_to_ms)
                to_ms = root->sealed_to_ms + 1;
            if (root && !r.failed)
                spans_add(&root->dirty, from_ms, to_ms);
        }
    }
    return r.failed ? err_set(e, ERR_CORRUPT, "the list of stored results with late samples is damaged") : 0;
}

static void put_spans(const struct root_state *r, struct strbuf *out)
{
    struct spans all = {0};
    uint8_t head[IDENTITY_BYTES + 4], span[16];
    spans_add_all(&all, &r->dirty);
    spans_add_all(&all, &r->rebuilding);
    memcpy(head, r->identity, IDENTITY_BYTES);
    store_u32(head + IDENTITY_BYTES, all.n);
    strbuf_add(out, head, sizeof head);
    for (uint32_t i = 0; i < all.n; i++) {
        store_i64(span, all.v[i].from_ms);
        store_i64(span + 8, all.v[i].to_ms);
        strbuf_add(out, span, sizeof span);
    }
    spans_done(&all);
}

int roots_save(const struct roots *r, struct store_txn *t, struct err *e)
{
    struct strbuf out = {0};
    for (uint32_t i = 0; i < r->n; i++)
        put_spans(&r->v[i], &out);
    int rc = store_meta_put(t, META_NAME, (struct str){out.p, out.n}, e);
    strbuf_done(&out);
    return rc;
}

/* ---- all of them ---- */

struct others {
    struct roots *ours;
    struct root_record *v;
    uint32_t n;
    size_t cap;
};

static int list_other(void *ctx, const struct root_record *r, struct err *e)
{
    struct others *o = ctx;
    if (root_by_identity(o->ours, r->identity) || r->sealed_to_ms == INT64_MIN)
        return 0;
    o->v = mem_grow(o->v, &o->cap, o->n + 1u, sizeof *o->v);
    o->v[o->n++] = *r;
    return 0;
}

static int let_go_others(struct roots *ours, struct store_txn *t, struct err *e)
{
    struct others o = {.ours = ours};
    int rc = root_walk(t, list_other, &o, e);
    for (uint32_t i = 0; i < o.n && rc == 0; i++)
        rc = let_go(&o.v[i], t, e);
    mem_free(o.v);
    return rc;
}

int roots_install(struct ingest *in, const struct plan *plan, struct store_txn *t, struct roots *ret, struct err *e)
{
    struct roots roots = {.v = mem_zalloc((plan->stored_roots_n + 1u) * sizeof *roots.v), .newest_read_ms = INT64_MIN};
    pthread_rwlock_rdlock(&in->lock);
    struct clocks now = {ingest_watermark_locked(in), in->first_event_ms, in->unplanned_ms,
                         in->options.raw_retention_ms};
    pthread_rwlock_unlock(&in->lock);
    int rc = 0;
    for (uint32_t i = 0; i < plan->stored_roots_n && rc == 0; i++) {
        struct root_state *r = &roots.v[roots.n++];
        root_make(plan, i, r);
        rc = root_restore(&now, r, t, e);
        /* Samples that came while no plan was in force were marked by nobody. */
        if (rc == 0)
            spans_add(&r->dirty, now.unplanned_ms - r->ahead_ms, r->sealed_to_ms + 1);
        if (r->claimed_to_ms != INT64_MIN && roots.newest_read_ms < r->claimed_to_ms + r->ahead_ms)
            roots.newest_read_ms = r->claimed_to_ms + r->ahead_ms;
    }
    /* Of a plan in force what is dirty is known better: roots_move. */
    if (rc == 0 && !in->plan)
        rc = dirty_read(t, &roots, e);
    if (rc == 0)
        rc = let_go_others(&roots, t, e);
    if (rc)
        roots_done(&roots);
    else
        *ret = roots;
    return rc;
}

void roots_move(const struct roots *from, struct roots *to)
{
    for (uint32_t i = 0; i < from->n; i++) {
        struct root_state *r = root_by_identity(to, from->v[i].identity);
        if (!r)
            continue;
        spans_add_all(&r->dirty, &from->v[i].dirty);
        r->doubted |= from->v[i].doubted;
    }
}
