/*
 * Checkpoints: sealed chunks, open chunks, catalog, dirty sets and the log's position go to the store in one commit;
 * then the log is cut. Meta values (little-endian):
 *
 *     "checkpoint"  u64 log seq, i64 event clock ms, i64 largest event ms, i64 first event ms
 *     "dirty"       for each window: i64 width ms, i64 phase ms, i64 end ms, u32 bytes, roaring bitmap (portable form)
 *     "root_dirty"  of stored roots (root_plan.c)
 */
#include "base/alloc.h"
#include "base/bytes.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"

static struct stat checkpoints = STAT_COUNTER("mullion_checkpoints_total", "", "Checkpoints written");

/* Chunks of one metric shard, collected from the head blocks that hold its series. */
struct moved_chunk {
    uint32_t metric, shard, slot;
    int64_t first_ms, last_ms;
    uint32_t size;
    size_t at; /* in bytes */
};
struct moving {
    struct ingest *in;
    struct moved_chunk *chunks;
    size_t n, cap;
    struct strbuf bytes;
};

static int move_chunk(void *ctx, uint32_t series, int64_t first_ms, int64_t last_ms, struct str bytes, struct err *e)
{
    struct moving *m = ctx;
    struct series_place p = catalog_place(m->in->catalog, series);
    m->chunks = mem_grow(m->chunks, &m->cap, m->n + 1, sizeof *m->chunks);
    m->chunks[m->n++] = (struct moved_chunk){
        p.metric, p.ordinal / SHARD_SERIES, p.ordinal % SHARD_SERIES, first_ms, last_ms, (uint32_t)bytes.n, m->bytes.n};
    strbuf_add_str(&m->bytes, bytes);
    return 0;
}

static int compare_moved(const void *pa, const void *pb)
{
    const struct moved_chunk *a = pa, *b = pb;
    if (a->metric != b->metric)
        return a->metric < b->metric ? -1 : 1;
    if (a->shard != b->shard)
        return a->shard < b->shard ? -1 : 1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->first_ms != b->first_ms)
        return a->first_ms < b->first_ms ? -1 : 1;
    return (a->last_ms > b->last_ms) - (a->last_ms < b->last_ms);
}

/* One raw block per shard, or several where one would be too large. */
static int put_chunks(struct moving *m, struct store_txn *t, struct err *e)
{
    struct raw_chunk *run = mem_alloc((m->n + 1) * sizeof *run);
    int rc = 0;
    if (m->n)
        qsort(m->chunks, m->n, sizeof *m->chunks, compare_moved);
    for (size_t i = 0, j; i < m->n && rc == 0; i = j) {
        uint32_t n = 0;
        uint64_t bytes = 0;
        for (j = i; j < m->n && m->chunks[j].metric == m->chunks[i].metric && m->chunks[j].shard == m->chunks[i].shard;
             j++) {
            const struct moved_chunk *c = &m->chunks[j];
            bytes += c->size + 64; /* with its entry of the index */
            if (n == RAW_CHUNKS_MAX || (n > 0 && bytes > RAW_BLOCK_MAX_BYTES / 2))
                break;
            run[n++] =
                (struct raw_chunk){c->slot, c->first_ms, c->last_ms, (const uint8_t *)m->bytes.p + c->at, c->size};
        }
        rc = raw_put(t, m->chunks[i].metric, m->chunks[i].shard, run, n, e);
    }
    mem_free(run);
    return rc;
}

/* Head blocks that changed, each under the lock for a moment; *touched lists them. */
static int put_head(struct ingest *in, struct store_txn *t, struct moving *m, uint32_t *touched, uint32_t blocks_n,
                    uint32_t *ret_n, struct err *e)
{
    struct strbuf bytes = {0};
    int rc = 0;
    *ret_n = 0;
    for (uint32_t b = 0; b < blocks_n && rc == 0; b++) {
        strbuf_clear(&bytes);
        pthread_rwlock_wrlock(&in->lock);
        bool changed = head_block_touched(&in->head, b);
        if (changed)
            rc = head_block_write(&in->head, b, &bytes, move_chunk, m, e);
        pthread_rwlock_unlock(&in->lock);
        if (!changed || rc)
            continue;
        touched[(*ret_n)++] = b;
        rc = raw_checkpoint_put(t, b, (struct str){bytes.p, bytes.n}, e);
    }
    strbuf_done(&bytes);
    return rc;
}

static void dirty_write(const struct windows *w, struct strbuf *out)
{
    for (uint32_t i = 0; i < w->groups_n; i++) {
        const struct group_state *g = &w->groups[i];
        for (uint32_t j = 0; j < g->dirty.n && g->dirty.windows[j].end_ms <= g->sealed_to_ms; j++) {
            const struct dirty_window *d = &g->dirty.windows[j];
            roaring_bitmap_t *all =
                d->rebuilding ? roaring_bitmap_or(d->series, d->rebuilding) : roaring_bitmap_copy(d->series);
            uint8_t head[28];
            size_t size = roaring_bitmap_portable_size_in_bytes(all);
            store_i64(head, g->window.step_ms);
            store_i64(head + 8, g->window.phase_ms);
            store_i64(head + 16, d->end_ms);
            store_u32(head + 24, (uint32_t)size);
            strbuf_add(out, head, sizeof head);
            strbuf_reserve(out, size);
            roaring_bitmap_portable_serialize(all, out->p + out->n);
            out->n += size;
            roaring_bitmap_free(all);
        }
    }
}

int unplanned_put(struct store_txn *t, int64_t oldest_ms, struct err *e)
{
    uint8_t bytes[8];
    store_i64(bytes, oldest_ms);
    return store_meta_put(t, "unplanned", (struct str){(const char *)bytes, sizeof bytes}, e);
}

int unplanned_load(struct ingest *in, struct store_txn *t, struct err *e)
{
    struct str bytes;
    int rc = store_meta_get(t, "unplanned", &bytes, e);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : rc;
    if (bytes.n != 8)
        return err_set(e, ERR_CORRUPT, "the store's time of samples without a plan has %zu bytes instead of 8",
                       bytes.n);
    in->unplanned_ms = load_i64(bytes.p);
    return 0;
}

int dirty_load(struct store_txn *t, struct windows *w, struct err *e)
{
    struct str bytes;
    int rc = store_meta_get(t, "dirty", &bytes, e);
    if (rc)
        return rc == ERR_NOT_FOUND ? 0 : rc;
    struct byte_reader r = {(const uint8_t *)bytes.p, (const uint8_t *)bytes.p + bytes.n, false};
    while (reader_left(&r)) {
        int64_t width_ms = read_i64(&r), phase_ms = read_i64(&r), end_ms = read_i64(&r);
        uint32_t size = read_u32(&r);
        const uint8_t *p = read_bytes(&r, size);
        roaring_bitmap_t *series = p ? roaring_bitmap_portable_deserialize_safe((const char *)p, size) : NULL;
        if (!series)
            return err_set(e, ERR_CORRUPT, "the list of series with late samples is damaged");
        struct group_state *g = windows_group(w, (struct grid){width_ms, phase_ms});
        if (g && end_ms <= g->sealed_to_ms) {
            roaring_uint32_iterator_t *it = roaring_create_iterator(series);
            for (; it->has_value; roaring_advance_uint32_iterator(it))
                dirty_add(&g->dirty, end_ms, it->current_value);
            roaring_free_uint32_iterator(it);
        }
        roaring_bitmap_free(series);
    }
    return 0;
}

/* Everything but the head blocks, from one moment under the lock. */
static int put_rest(struct ingest *in, struct store_txn *t, const uint8_t position[32], uint32_t *ret_saved_n,
                    struct err *e)
{
    struct strbuf dirty = {0};
    pthread_rwlock_rdlock(&in->lock);
    int rc = catalog_save(in->catalog, t, ret_saved_n, e);
    /* Without a plan the sets of the last one stay as they are; what would have been added to them is remembered by
     * its oldest time alone, the log's samples included: it is about to be trimmed. */
    bool planned = in->plan != NULL;
    if (planned)
        dirty_write(&in->windows, &dirty);
    if (rc == 0 && planned)
        rc = roots_save(&in->roots, t, e);
    int64_t unplanned_ms = in->unplanned_ms;
    for (size_t i = 0; i < in->replayed_n; i++)
        unplanned_ms = in->replayed[i].time_ms < unplanned_ms ? in->replayed[i].time_ms : unplanned_ms;
    pthread_rwlock_unlock(&in->lock);
    if (rc == 0 && planned)
        rc = store_meta_put(t, "dirty", (struct str){dirty.p, dirty.n}, e);
    else if (rc == 0 && unplanned_ms != INT64_MAX)
        rc = unplanned_put(t, unplanned_ms, e);
    if (rc == 0)
        rc = store_meta_put(t, "checkpoint", (struct str){(const char *)position, 32}, e);
    strbuf_done(&dirty);
    return rc;
}

static uint64_t position_take(struct ingest *in, uint8_t position[32], uint32_t *ret_blocks_n)
{
    pthread_rwlock_rdlock(&in->lock);
    uint64_t seq = wal_last_seq(in->wal);
    store_u64(position, seq);
    store_i64(position + 8, in->event_clock_ms);
    store_i64(position + 16, in->largest_event_ms);
    store_i64(position + 24, in->first_event_ms);
    *ret_blocks_n = in->head.blocks_n;
    pthread_rwlock_unlock(&in->lock);
    return seq;
}

static void head_settle(struct ingest *in, const uint32_t *touched, uint32_t n, bool committed, uint32_t saved_n)
{
    for (uint32_t i = 0; i < n; i++) {
        pthread_rwlock_wrlock(&in->lock);
        if (committed)
            head_block_written(&in->head, touched[i]);
        else
            head_block_unwrite(&in->head, touched[i]);
        pthread_rwlock_unlock(&in->lock);
    }
    if (!committed)
        return;
    pthread_rwlock_wrlock(&in->lock);
    catalog_saved(in->catalog, saved_n);
    pthread_rwlock_unlock(&in->lock);
}

int checkpoint_run(struct ingest *in, struct err *e)
{
    struct moving m = {.in = in};
    struct store_txn *t;
    uint8_t position[32];
    uint32_t blocks_n, touched_n = 0, saved_n = 0;
    int rc = store_write_begin(in->store, &t, e);
    if (rc)
        return rc;
    uint64_t seq = position_take(in, position, &blocks_n);
    uint32_t *touched = mem_alloc((blocks_n + 1u) * sizeof *touched);
    rc = put_head(in, t, &m, touched, blocks_n, &touched_n, e);
    if (rc == 0)
        rc = put_chunks(&m, t, e);
    if (rc == 0)
        rc = put_rest(in, t, position, &saved_n, e);
    if (rc == 0)
        rc = store_write_commit(t, e);
    else
        store_write_abort(t);
    head_settle(in, touched, touched_n, rc == 0, saved_n);
    mem_free(touched);
    mem_free(m.chunks);
    strbuf_done(&m.bytes);
    if (rc)
        return rc;
    in->checkpoint_seq = seq;
    pthread_rwlock_wrlock(&in->lock);
    in->log_broken = false;
    pthread_rwlock_unlock(&in->lock);
    stat_add(&checkpoints, 1);
    return wal_trim(in->wal, seq, e);
}

static int load_block(void *ctx, uint32_t id_block, struct str bytes, struct err *e)
{
    struct ingest *in = ctx;
    if ((uint64_t)id_block * SHARD_SERIES >= catalog_series_n(in->catalog))
        return err_set(e, ERR_CORRUPT, "head checkpoint: block %u is of series that the catalog does not know",
                       id_block);
    return head_block_read(&in->head, id_block, bytes, e);
}

int checkpoint_load(struct ingest *in, struct err *e)
{
    struct store_txn *t;
    struct str position;
    int rc = store_read_begin(in->store, &t, e);
    if (rc)
        return rc;
    rc = store_meta_get(t, "checkpoint", &position, e);
    if (rc == 0 && position.n != 32)
        rc = err_set(e, ERR_CORRUPT, "the checkpoint's position has %zu bytes instead of 32", position.n);
    if (rc == 0) {
        in->checkpoint_seq = load_u64(position.p);
        in->event_clock_ms = load_i64(position.p + 8);
        in->largest_event_ms = load_i64(position.p + 16);
        in->first_event_ms = load_i64(position.p + 24);
        rc = raw_checkpoint_walk(t, load_block, in, e);
        if (rc == 0)
            rc = unplanned_load(in, t, e);
    } else if (rc == ERR_NOT_FOUND) {
        rc = 0;
    }
    store_read_end(t);
    return rc;
}

/* What retention is about to drop is no longer listed as stored, and not built again. */
static void reach_settle(struct ingest *in)
{
    pthread_rwlock_wrlock(&in->lock);
    for (uint32_t i = 0; i < in->windows.groups_n; i++) {
        struct group_state *g = &in->windows.groups[i];
        int64_t oldest_ms = INT64_MAX;
        for (uint32_t j = 0; j < g->views_n && g->sealed_to_ms != INT64_MIN; j++) {
            struct view_state *v = &g->views[j];
            int64_t kept_ms = grid_ceil(g->window, g->sealed_to_ms - v->retention_ms);
            v->complete_from_ms = v->complete_from_ms < kept_ms ? kept_ms : v->complete_from_ms;
            v->backfill_from_ms = v->backfill_from_ms < kept_ms ? kept_ms : v->backfill_from_ms;
            oldest_ms = oldest_ms < v->complete_from_ms ? oldest_ms : v->complete_from_ms;
        }
        if (oldest_ms != INT64_MAX)
            dirty_drop(&g->dirty, oldest_ms);
    }
    pthread_rwlock_unlock(&in->lock);
}

/* Windows, and the label sets that no window has any more. */
static int view_drop_old(const struct view_state *v, struct store_txn *t, struct err *e)
{
    uint32_t dropped;
    int rc = pane_drop(t, v->store_view, v->complete_from_ms, &dropped, e);
    return rc ? rc : label_sets_drop(&v->groups, t, v->store_view, v->complete_from_ms, e);
}

static void forget_label_sets(struct ingest *in)
{
    pthread_rwlock_wrlock(&in->lock);
    for (uint32_t i = 0; i < in->windows.groups_n; i++) {
        struct group_state *g = &in->windows.groups[i];
        for (uint32_t j = 0; j < g->views_n && g->sealed_to_ms != INT64_MIN; j++)
            label_sets_forget(&g->views[j].groups, g->views[j].complete_from_ms);
    }
    pthread_rwlock_unlock(&in->lock);
}

/* Whole blocks and windows that no reader may ask for any more. */
int retention_run(struct ingest *in, struct err *e)
{
    int64_t watermark_ms = ingest_watermark(in);
    if (watermark_ms == INT64_MIN)
        return 0;
    reach_settle(in);
    struct store_txn *t;
    int rc = store_write_begin(in->store, &t, e);
    if (rc)
        return rc;
    uint32_t dropped;
    bool more = false;
    rc = raw_drop(t, watermark_ms - in->options.raw_retention_ms, &dropped, &more, e);
    for (uint32_t i = 0; i < in->windows.groups_n && rc == 0; i++) {
        struct group_state *g = &in->windows.groups[i];
        for (uint32_t j = 0; j < g->views_n && rc == 0 && g->sealed_to_ms != INT64_MIN; j++)
            rc = view_drop_old(&g->views[j], t, e);
    }
    if (rc == 0)
        rc = roots_drop(in, t, e);
    if (rc) {
        store_write_abort(t);
        return rc;
    }
    rc = store_write_commit(t, e);
    if (rc == 0) {
        forget_label_sets(in);
        roots_dropped(in);
    }
    return rc;
}
