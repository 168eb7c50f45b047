/*
 * Every pane block of a data directory as text, each checked: for tests that compare the states of two runs.
 *
 *     view IDENTITY sealed_to MS complete_from MS
 *     block IDENTITY END_MS METRIC SHARD STATES WIDTH_MS HASH      XXH3 of which series have a state, and its bytes
 *
 * Store view numbers and revisions are not in the hash: they may differ between runs that computed the same. So may the
 * numbers of groups: a window of a view by labels is one line, of its groups' labels and states in order of labels.
 * Exit status 1 when a window's manifest and blocks disagree, or a window that should be there has no manifest.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include <xxhash.h>

#include "base/alloc.h"
#include "plan/ids.h"
#include "store/group.h"
#include "store/pane.h"

enum { VIEWS_MAX = 4096 };

struct group_row {
    uint32_t number;
    struct str canonical, state; /* the store's; state of the window at hand */
};
struct dump {
    struct store_txn *txn;
    struct pane_view views[VIEWS_MAX];
    uint32_t views_n;
    const struct pane_view *view;
    char identity[2 * IDENTITY_BYTES + 1];
    int64_t width_ms, last_end_ms; /* of the view at hand: 0 and INT64_MIN at first */
    int bad;
    struct group_row *groups; /* by rising number; of a view by labels */
    uint32_t groups_n;
    size_t groups_cap;
};

static int keep_view(void *ctx, const struct pane_view *v, struct err *e)
{
    struct dump *d = ctx;
    if (d->views_n == VIEWS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d views", VIEWS_MAX);
    d->views[d->views_n++] = *v;
    return 0;
}

static int keep_group(void *ctx, uint32_t number, struct str canonical, bool drop_name, struct err *e)
{
    struct dump *d = ctx;
    d->groups = mem_grow(d->groups, &d->groups_cap, d->groups_n + 1u, sizeof *d->groups);
    d->groups[d->groups_n++] = (struct group_row){number, canonical, {0}};
    return 0;
}

/* States to their groups. */
static int keep_states(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct dump *d = ctx;
    struct pane_block b;
    uint32_t found = 0;
    int code = pane_block_parse(bytes, key, true, &b, e);
    if (code)
        return code;
    for (uint32_t i = 0; i < d->groups_n; i++) {
        struct group_row *g = &d->groups[i];
        if (g->number / PANE_SLOTS == key->shard)
            g->state = pane_block_state(&b, g->number % PANE_SLOTS);
        found += g->number / PANE_SLOTS == key->shard && g->state.n > 0;
    }
    d->width_ms = b.width_ms;
    return found == b.present_n ? 0 : err_set(e, ERR_CORRUPT, "states of groups without labels");
}

static int by_labels(const void *pa, const void *pb)
{
    const struct group_row *a = *(const struct group_row *const *)pa, *b = *(const struct group_row *const *)pb;
    return str_cmp(a->canonical, b->canonical);
}

static void print_groups(struct dump *d, int64_t end_ms)
{
    const struct group_row **rows = mem_alloc((d->groups_n + 1u) * sizeof *rows);
    uint32_t n = 0;
    uint64_t hash = 0;
    for (uint32_t i = 0; i < d->groups_n; i++)
        if (d->groups[i].state.n)
            rows[n++] = &d->groups[i];
    if (n > 1)
        qsort(rows, n, sizeof *rows, by_labels);
    for (uint32_t i = 0; i < n; i++) {
        hash = XXH3_64bits_withSeed(rows[i]->canonical.p, rows[i]->canonical.n, hash);
        hash = XXH3_64bits_withSeed(rows[i]->state.p, rows[i]->state.n, hash);
    }
    printf("block %s %" PRId64 " 0 0 %u %" PRId64 " %016" PRIx64 "\n", d->identity, end_ms, n, d->width_ms, hash);
    mem_free(rows);
}

static int walk_groups(struct dump *d, int64_t end_ms, struct err *e)
{
    for (uint32_t i = 0; i < d->groups_n; i++)
        d->groups[i].state = (struct str){0};
    int code = pane_window_walk(d->txn, d->view->number, end_ms, keep_states, d, e);
    if (code == 0)
        print_groups(d, end_ms);
    return code;
}

static int print_block(void *ctx, const struct pane_key *key, struct str bytes, struct err *e)
{
    struct dump *d = ctx;
    struct pane_block b;
    int code = pane_block_parse(bytes, key, true, &b, e);
    if (code)
        return code;
    uint64_t hash = XXH3_64bits_withSeed(b.states, b.states_size, XXH3_64bits(b.present, sizeof b.present));
    if (b.offsets)
        hash = XXH3_64bits_withSeed(b.offsets, 4 * (b.present_n + 1), hash);
    printf("block %s %" PRId64 " %u %u %u %u %016" PRIx64 "\n", d->identity, key->end_ms, key->metric, key->shard,
           b.present_n, b.width_ms, hash);
    d->width_ms = b.width_ms;
    return 0;
}

static int print_window(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e)
{
    struct dump *d = ctx;
    int code = pane_window_check(d->txn, d->view->number, end_ms, e);
    if (code == 0)
        code = d->groups_n ? walk_groups(d, end_ms, e)
                           : pane_window_walk(d->txn, d->view->number, end_ms, print_block, d, e);
    if (code) {
        printf("bad %s %" PRId64 " %s\n", d->identity, end_ms, e->message);
        d->bad = 1;
    }
    if (d->width_ms && d->last_end_ms != INT64_MIN && end_ms != d->last_end_ms + d->width_ms) {
        printf("bad %s %" PRId64 " no manifest between %" PRId64 " and this\n", d->identity, end_ms, d->last_end_ms);
        d->bad = 1;
    }
    d->last_end_ms = end_ms;
    return 0;
}

static int print_view(struct dump *d, const struct pane_view *v, struct err *e)
{
    d->view = v;
    d->width_ms = 0;
    d->last_end_ms = INT64_MIN;
    d->groups_n = 0;
    identity_text(v->identity, d->identity);
    printf("view %s sealed_to %" PRId64 " complete_from %" PRId64 "\n", d->identity, v->sealed_to_ms,
           v->complete_from_ms);
    if (v->complete_from_ms == INT64_MAX || v->sealed_to_ms <= v->complete_from_ms)
        return 0;
    int code = group_walk(d->txn, GROUP_OF_VIEW, v->number, keep_group, d, e);
    if (code)
        return code;
    code = pane_manifest_walk(d->txn, v->number, v->complete_from_ms, v->sealed_to_ms, print_window, d, e);
    if (code == 0 && d->last_end_ms != v->sealed_to_ms) {
        printf("bad %s %" PRId64 " no manifest\n", d->identity, v->sealed_to_ms);
        d->bad = 1;
    }
    return code;
}

int main(int argc, char **argv)
{
    struct store_options options = {.read_only = true};
    struct store_open_report report;
    struct store *store = NULL;
    struct err e = {0};
    static struct dump d;
    if (argc != 2) {
        fprintf(stderr, "usage: %s DATA_DIR\n", argv[0]);
        return 2;
    }
    int code = store_open(argv[1], &options, &store, &report, &e);
    if (code == 0)
        code = store_read_begin(store, &d.txn, &e);
    if (code == 0)
        code = pane_view_walk(d.txn, keep_view, &d, &e);
    for (uint32_t i = 0; i < d.views_n && code == 0; i++)
        code = print_view(&d, &d.views[i], &e);
    store_read_end(d.txn);
    mem_free(d.groups);
    store_close(store);
    if (code)
        fprintf(stderr, "%s: %s\n", argv[1], e.message);
    return code || d.bad;
}
