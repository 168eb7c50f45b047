#include "ingest/view_groups.h"

#include <stdlib.h>

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

int view_groups_load(struct view_state *v, uint32_t most, struct store_txn *t, struct err *e)
{
    label_sets_init(&v->groups, GROUP_OF_VIEW, most);
    return label_sets_load(&v->groups, t, v->store_view, v->sealed_to_ms, e);
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
