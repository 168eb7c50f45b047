#include "ingest/view_groups.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/stats.h"
#include "ingest/ingest_internal.h"

static struct stat refused =
    STAT_COUNTER("mullion_group_states_refused_total", "",
                 "States by labels that could not be kept, the family not holding what they weigh: raw samples answer");
static struct stat unnumbered =
    STAT_COUNTER("mullion_group_states_over_limit_total", "",
                 "States by labels that were not kept, the view having all the groups it may: raw samples answer");

void view_groups_register(void)
{
    stat_register(&refused);
    stat_register(&unnumbered);
}

void view_groups_count(const struct refresh_output *o)
{
    stat_add(&refused, o->groups_refused_n);
    stat_add(&unnumbered, o->groups_unnumbered_n);
}

struct numbers {
    struct store_txn *txn;
    uint32_t view;
    uint32_t *rising, n;
};

static int check_window(void *ctx, int64_t end_ms, const struct pane_manifest *m, struct err *e)
{
    const struct numbers *numbers = ctx;
    return group_window_check(numbers->txn, numbers->view, end_ms, numbers->rising, numbers->n, e);
}

/* A row that is gone says nothing of itself: its number would be given to other labels, which then had its states. */
static int check_none_is_lost(const struct view_state *v, struct store_txn *t, struct err *e)
{
    struct numbers numbers = {t, v->store_view, mem_alloc((v->groups.n + 1u) * sizeof(uint32_t)), v->groups.n};
    for (uint32_t i = 0; i < v->groups.n; i++) /* as they were walked: by rising number */
        numbers.rising[i] = v->groups.v[i].number;
    int rc = pane_manifest_walk(t, v->store_view, INT64_MIN, INT64_MAX, check_window, &numbers, e);
    mem_free(numbers.rising);
    return rc;
}

int view_groups_load(struct view_state *v, uint32_t most, struct store_txn *t, struct err *e)
{
    label_sets_init(&v->groups, GROUP_OF_VIEW, most);
    int rc = label_sets_load(&v->groups, t, v->store_view, v->sealed_to_ms, e);
    return rc != 0 ? rc : check_none_is_lost(v, t, e);
}

/* Only this thread changes the dictionary, so it may look without the lock. */
static int place(void *ctx, const struct labels *labels, uint32_t *ret_number, struct err *e)
{
    const struct view_numbers *n = ctx;
    struct label_sets *groups = &n->view->groups;
    int64_t known = label_sets_find(groups, labels, false);
    uint32_t at = (uint32_t)known;
    if (known < 0) {
        pthread_rwlock_wrlock(&n->in->lock);
        int rc = label_sets_place(groups, labels, false, &at, e);
        pthread_rwlock_unlock(&n->in->lock);
        if (rc)
            return rc;
    }
    label_sets_use(groups, at, n->end_ms);
    *ret_number = groups->v[at].number;
    return 0;
}

void view_groups_numbers(struct view_numbers *numbers, struct refresh_groups *ret)
{
    *ret = (struct refresh_groups){numbers, place};
}

static int by_number(const void *pa, const void *pb)
{
    const struct source_group *a = pa, *b = pb;
    return (a->number > b->number) - (a->number < b->number);
}

/* Labels outlive the lock, so their bytes are copied. */
static int group_copy(const struct label_set *from, struct arena *a, struct source_group *ret, struct err *e)
{
    *ret = (struct source_group){.number = from->number};
    if (from->size == 0)
        return 0;
    const uint8_t *canonical = arena_dup(a, from->canonical, from->size);
    return canonical ? labels_canonical_read(canonical, from->size, a, &ret->labels, e) : arena_check(a, "query", e);
}

int view_groups_list(const struct view_state *v, struct arena *a, const struct source_group **ret, uint32_t *ret_n,
                     struct err *e)
{
    const struct label_sets *from = &v->groups;
    struct source_group *groups = ARENA_ARRAY(a, struct source_group, from->n + 1u);
    int rc = arena_check(a, "query", e);
    bool sorted = true;
    for (uint32_t i = 0; i < from->n && rc == 0; i++) {
        rc = group_copy(&from->v[i], a, &groups[i], e);
        sorted = sorted && (i == 0 || from->v[i - 1].number < from->v[i].number);
    }
    if (rc == 0 && !sorted)
        qsort(groups, from->n, sizeof *groups, by_number);
    *ret = groups;
    *ret_n = from->n;
    return rc;
}
