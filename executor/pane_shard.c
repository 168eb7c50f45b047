#include "executor/pane_shard.h"

#include <stdatomic.h>

#include "base/bytes.h"
#include "base/stats.h"

static struct stat blocks_damaged =
    STAT_COUNTER("mullion_pane_blocks_damaged_total", "", "Pane blocks that failed their check at read");

/*
 * Blocks already checked by this process: a direct-mapped table of fingerprints. The fingerprint covers key, revision
 * and checksum field, so a block that changed is checked anew; a lost entry only costs a second check.
 */
enum { CHECKED_SLOTS = 1 << 16, BLOCK_CHECKSUM_AT = 56 };
static _Atomic uint64_t checked[CHECKED_SLOTS];

static uint64_t fingerprint(const struct pane_key *key, struct str bytes)
{
    const uint64_t odd = UINT64_C(0x9E3779B97F4A7C15);
    uint64_t h = load_u64(bytes.p + BLOCK_CHECKSUM_AT);
    h = (h ^ (uint64_t)key->end_ms) * odd;
    h = (h ^ (h >> 29) ^ ((uint64_t)key->view << 32 | key->metric)) * odd;
    h = (h ^ (h >> 29) ^ ((uint64_t)key->shard << 32 | bytes.n)) * odd;
    return h ^ h >> 29;
}

static int check_states(const struct pane_shard *s, const struct pane_block *b, struct err *e)
{
    for (uint32_t slot = 0; slot < PANE_SLOTS; slot++) {
        struct str state = pane_block_state(b, slot);
        const char *reason = "";
        if (state.n && s->family->validate((const uint8_t *)state.p, state.n, &s->view->params, &reason))
            return err_set(e, ERR_CORRUPT, "state of slot %u: %s", slot, reason);
    }
    return 0;
}

static int block_open(struct pane_shard *s, const struct pane_key *key, struct str bytes, bool in_memory,
                      struct pane_block *ret, struct err *e)
{
    uint64_t print = !in_memory && bytes.n >= BLOCK_CHECKSUM_AT + 8 ? fingerprint(key, bytes) : 0;
    bool known = in_memory || atomic_load_explicit(&checked[print % CHECKED_SLOTS], memory_order_relaxed) == print;
    int rc = pane_block_parse(bytes, key, !known, ret, e);
    if (rc == 0 && ret->family != (uint32_t)s->view->family)
        rc = err_set(e, ERR_CORRUPT, "family %u where the view has %s", ret->family, s->family->name);
    if (rc == 0 && !known)
        rc = check_states(s, ret, e);
    if (rc == 0 && !known)
        atomic_store_explicit(&checked[print % CHECKED_SLOTS], print, memory_order_relaxed);
    if (rc) {
        stat_add(&blocks_damaged, 1);
        return err_prefix(e, "pane block of view %u, window end %lld ms, metric %u, shard %u", key->view,
                          (long long)key->end_ms, key->metric, key->shard);
    }
    return 0;
}

/*
 * A sealed window has a manifest. Without one it was dropped by retention after the snapshot, or it is damaged; either
 * way its missing blocks would read as "no samples", which is never true of a sealed window that lost them.
 */
static int check_manifest(const struct pane_shard *s, uint32_t w, struct err *e)
{
    struct pane_manifest m;
    int rc = pane_manifest_get(s->txn, s->store_view, s->windows[w].end_ms, &m, e);
    if (rc == ERR_NOT_FOUND || rc == ERR_CORRUPT)
        return err_set(e, ERR_NOT_COVERED, "the window of view %u ending at %lld ms is not whole in the store",
                       s->store_view, (long long)s->windows[w].end_ms);
    return rc;
}

int pane_shard_init(struct pane_shard *s, const struct plan_view *view, const struct source_window *windows,
                    uint32_t windows_n, uint32_t store_view, struct store_txn *txn, struct arena *a, struct err *e)
{
    stat_register(&blocks_damaged);
    *s = (struct pane_shard){.view = view,
                             .family = family_get(view->family),
                             .windows = windows,
                             .windows_n = windows_n,
                             .store_view = store_view,
                             .txn = txn,
                             .metric = UINT32_MAX,
                             .shard = UINT32_MAX,
                             .blocks = arena_zalloc(a, (windows_n + 1u) * sizeof *s->blocks),
                             .loaded = arena_zalloc(a, (windows_n + 1u) * sizeof *s->loaded)};
    return arena_check(a, "query", e);
}

void pane_shard_turn(struct pane_shard *s, uint32_t metric, uint32_t shard)
{
    if (s->turn > 0 && s->metric == metric && s->shard == shard)
        return;
    s->metric = metric;
    s->shard = shard;
    s->turn++;
}

static struct str early_block(const struct window_states *w, uint32_t metric, uint32_t shard)
{
    uint32_t low = 0, high = w->blocks_n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        const struct pane_key *k = &w->blocks[middle].key;
        if (k->metric < metric || (k->metric == metric && k->shard < shard))
            low = middle + 1;
        else
            high = middle;
    }
    if (low < w->blocks_n && w->blocks[low].key.metric == metric && w->blocks[low].key.shard == shard)
        return w->blocks[low].bytes;
    return (struct str){0};
}

static int block_load(struct pane_shard *s, uint32_t i, struct err *e)
{
    const struct source_window *w = &s->windows[i];
    struct pane_key key = {s->store_view, w->end_ms, s->metric, s->shard};
    struct str bytes = {0};
    int rc = 0;
    s->blocks[i].present_n = s->blocks[i].flags = 0;
    if (w->status == WINDOW_EARLY)
        bytes = early_block(w->early, s->metric, s->shard);
    else if (w->status == WINDOW_SEALED) {
        if (s->loaded[i] == 0)
            rc = check_manifest(s, i, e);
        if (rc == 0)
            rc = pane_block_get(s->txn, &key, &bytes, e);
        if (rc == ERR_NOT_FOUND)
            rc = 0;
    }
    if (rc == 0 && bytes.n > 0)
        rc = block_open(s, &key, bytes, w->status == WINDOW_EARLY, &s->blocks[i], e);
    return rc;
}

int pane_shard_block(struct pane_shard *s, uint32_t w, const struct pane_block **ret, struct err *e)
{
    *ret = &s->blocks[w];
    if (s->loaded[w] == s->turn)
        return 0;
    int rc = block_load(s, w, e);
    s->loaded[w] = rc == 0 ? s->turn : s->loaded[w];
    return rc;
}
