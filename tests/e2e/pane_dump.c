/*
 * Every pane block of a data directory as text, each checked: for tests that compare the states of two runs.
 *
 *     view IDENTITY sealed_to MS complete_from MS
 *     block IDENTITY END_MS METRIC SHARD STATES WIDTH_MS HASH      XXH3 of which series have a state, and its bytes
 *
 * Store view numbers and revisions are not in the hash: they may differ between runs that computed the same. Exit
 * status 1 when a window's manifest and blocks disagree, or a window that should be there has no manifest.
 */
#include <inttypes.h>
#include <stdio.h>

#include <xxhash.h>

#include "plan/ids.h"
#include "store/pane.h"

enum { VIEWS_MAX = 4096 };

struct dump {
    struct store_txn *txn;
    struct pane_view views[VIEWS_MAX];
    uint32_t views_n;
    const struct pane_view *view;
    char identity[2 * IDENTITY_BYTES + 1];
    int64_t width_ms, last_end_ms; /* of the view at hand: 0 and INT64_MIN at first */
    int bad;
};

static int keep_view(void *ctx, const struct pane_view *v, struct err *e)
{
    struct dump *d = ctx;
    if (d->views_n == VIEWS_MAX)
        return err_set(e, ERR_LIMIT, "more than %d views", VIEWS_MAX);
    d->views[d->views_n++] = *v;
    return 0;
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
        code = pane_window_walk(d->txn, d->view->number, end_ms, print_block, d, e);
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
    identity_text(v->identity, d->identity);
    printf("view %s sealed_to %" PRId64 " complete_from %" PRId64 "\n", d->identity, v->sealed_to_ms,
           v->complete_from_ms);
    if (v->complete_from_ms == INT64_MAX || v->sealed_to_ms <= v->complete_from_ms)
        return 0;
    int code = pane_manifest_walk(d->txn, v->number, v->complete_from_ms, v->sealed_to_ms, print_window, d, e);
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
    store_close(store);
    if (code)
        fprintf(stderr, "%s: %s\n", argv[1], e.message);
    return code || d.bad;
}
