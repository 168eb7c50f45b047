#include "plan/coverage.h"

#include <stdlib.h>

#include "base/bytes.h"

static int by_time(const void *pa, const void *pb)
{
    const struct region *a = pa, *b = pb;
    if (a->start_ms != b->start_ms)
        return a->start_ms < b->start_ms ? -1 : 1;
    if (a->end_ms != b->end_ms)
        return a->end_ms < b->end_ms ? -1 : 1;
    return labels_cmp(&a->where, &b->where);
}

static int by_labels_then_time(const void *pa, const void *pb)
{
    const struct region *a = pa, *b = pb;
    int order = labels_cmp(&a->where, &b->where);
    return order != 0 ? order : by_time(pa, pb);
}

/* Two conjunctions share no series exactly when some label has two values. Both are sorted by name. */
static bool boxes_meet(const struct labels *a, const struct labels *b)
{
    for (uint32_t i = 0, j = 0; i < a->n && j < b->n;) {
        int order = str_cmp(a->v[i].name, b->v[j].name);
        if (order == 0 && !str_eq(a->v[i].value, b->v[j].value))
            return false;
        i += order <= 0;
        j += order >= 0;
    }
    return true;
}

static int fail_overlap(enum merge_rule required, const struct region *a, const struct region *b, struct err *e)
{
    return err_set(e, ERR_BAD_DATA,
                   "inputs_overlap{%s}: the states over (%lld, %lld] and (%lld, %lld] ms before the evaluation have "
                   "samples or a span in common",
                   merge_rule_name(required), (long long)a->start_ms, (long long)a->end_ms, (long long)b->start_ms,
                   (long long)b->end_ms);
}

/* Sorted by time: if any two overlap, so do two neighbours. */
static int check_disjoint_in_time(const struct region *regions, uint32_t n, struct err *e)
{
    for (uint32_t i = 1; i < n; i++)
        if (regions[i].start_ms < regions[i - 1].end_ms)
            return fail_overlap(MERGE_DISJOINT_TIME, &regions[i - 1], &regions[i], e);
    return 0;
}

/* `open` holds the indices of regions that reach past the sweep's place. */
static int check_disjoint(const struct region *regions, uint32_t n, uint32_t *open, uint64_t *compared, struct err *e)
{
    uint32_t open_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t still_n = 0;
        for (uint32_t k = 0; k < open_n; k++)
            if (regions[open[k]].end_ms > regions[i].start_ms)
                open[still_n++] = open[k];
        open_n = still_n;
        *compared += open_n;
        for (uint32_t k = 0; k < open_n; k++)
            if (boxes_meet(&regions[open[k]].where, &regions[i].where))
                return fail_overlap(MERGE_DISJOINT, &regions[open[k]], &regions[i], e);
        open[open_n++] = i;
    }
    return 0;
}

/* Join what touches or overlaps under equal labels, in place; then by start. */
static uint32_t join(struct region *regions, uint32_t n)
{
    qsort(regions, n, sizeof *regions, by_labels_then_time);
    uint32_t joined_n = 0;
    for (uint32_t i = 0; i < n; i++) {
        struct region *last = joined_n > 0 ? &regions[joined_n - 1] : NULL;
        if (!last || !labels_eq(&last->where, &regions[i].where) || last->end_ms < regions[i].start_ms)
            regions[joined_n++] = regions[i];
        else if (regions[i].end_ms > last->end_ms)
            last->end_ms = regions[i].end_ms;
    }
    qsort(regions, joined_n, sizeof *regions, by_time);
    return joined_n;
}

static int merge_rule_of(enum family family, enum merge_rule *ret, struct err *e)
{
    const struct family_info *info = family_get(family);
    if (!info || info->merge == MERGE_NONE)
        return err_set(e, ERR_BAD_DATA, "no_merge: states of family %s cannot be merged",
                       info ? info->name : "unknown");
    *ret = info->merge;
    return 0;
}

/* All inputs' regions in one array, by time. */
static int gather(const struct coverage *inputs, uint32_t n, struct arena *a, struct region **ret, uint32_t *ret_n,
                  struct err *e)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (inputs[i].definition != inputs[0].definition || inputs[i].family != inputs[0].family)
            return err_set(e, ERR_BAD_DATA, "definition_mismatch: input %u is another state than input 0", i);
        total += inputs[i].regions_n;
    }
    if (total == 0)
        return err_set(e, ERR_BAD_DATA, "empty_merge: the inputs cover nothing");
    if (total > UINT32_MAX)
        return err_set(e, ERR_LIMIT, "a merge of %llu regions", (unsigned long long)total);
    struct region *regions = ARENA_ARRAY(a, struct region, total);
    int rc = arena_check(a, "coverage", e);
    if (rc != 0)
        return rc;
    *ret_n = 0;
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t k = 0; k < inputs[i].regions_n; k++)
            regions[(*ret_n)++] = inputs[i].regions[k];
    qsort(regions, *ret_n, sizeof *regions, by_time);
    *ret = regions;
    return 0;
}

int coverage_merge(const struct coverage *inputs, uint32_t n, struct arena *a, struct coverage *ret, struct err *e)
{
    if (n == 0)
        return err_set(e, ERR_BAD_DATA, "empty_merge: a merge needs at least one input");
    enum merge_rule rule = MERGE_NONE;
    struct region *regions = NULL;
    uint32_t regions_n = 0;
    uint64_t compared = 0;
    int rc = merge_rule_of(inputs[0].family, &rule, e);
    if (rc != 0)
        return rc;
    rc = gather(inputs, n, a, &regions, &regions_n, e);
    if (rc != 0)
        return rc;
    if (rule == MERGE_DISJOINT_TIME) {
        compared = regions_n - 1;
        rc = check_disjoint_in_time(regions, regions_n, e);
    }
    if (rule == MERGE_DISJOINT) {
        uint32_t *open = ARENA_ARRAY(a, uint32_t, regions_n);
        rc = arena_check(a, "coverage", e);
        if (rc == 0)
            rc = check_disjoint(regions, regions_n, open, &compared, e);
    }
    if (rc != 0)
        return rc;
    *ret = (struct coverage){inputs[0].definition, inputs[0].family, regions, join(regions, regions_n), compared};
    return 0;
}

int coverage_chain(uint64_t definition, enum family family, int64_t end_ms, int64_t width_ms, uint32_t count,
                   struct region *region, struct coverage *ret, struct err *e)
{
    int64_t span_ms, start_ms;
    enum merge_rule rule = MERGE_NONE;
    if (count == 0)
        return err_set(e, ERR_BAD_DATA, "empty_merge: a chain needs at least one pane");
    if (width_ms <= 0 || __builtin_mul_overflow(width_ms, (int64_t)count, &span_ms) ||
        __builtin_sub_overflow(end_ms, span_ms, &start_ms))
        return err_set(e, ERR_BAD_DATA, "chain_does_not_tile: %u panes of %lld ms are no span of time", count,
                       (long long)width_ms);
    /* One pane is read as it is. */
    int rc = count > 1 ? merge_rule_of(family, &rule, e) : 0;
    if (rc != 0)
        return rc;
    *region = (struct region){start_ms, end_ms, {NULL, 0}};
    *ret = (struct coverage){definition, family, region, 1, 0};
    return 0;
}

int coverage_groups(enum family family, const struct str *reduce, uint32_t reduce_n, const struct str *by,
                    uint32_t by_n, struct err *e)
{
    uint32_t found_n = 0;
    for (uint32_t i = 0; i < reduce_n && found_n < by_n; i++)
        found_n += str_eq(reduce[i], by[found_n]);
    if (found_n < by_n)
        return err_set(e, ERR_BAD_DATA,
                       "definition_mismatch: its states are not of one value of the label " STR_FMT
                       ", by which it groups",
                       STR_ARG(by[found_n]));
    enum merge_rule rule = MERGE_NONE;
    int rc = reduce_n > by_n ? merge_rule_of(family, &rule, e) : 0;
    if (rc == 0 && rule == MERGE_DISJOINT_TIME)
        rc = err_set(e, ERR_BAD_DATA, "inputs_overlap{%s}: the groups of one window are at the same time",
                     merge_rule_name(rule));
    return rc;
}

bool coverage_is(const struct coverage *c, int64_t start_ms, int64_t end_ms, const struct labels *where)
{
    return c->regions_n == 1 && c->regions[0].start_ms == start_ms && c->regions[0].end_ms == end_ms &&
           labels_eq(&c->regions[0].where, where);
}

uint64_t coverage_definition(const struct view_definition *d)
{
    struct view_definition any_window = *d;
    uint8_t identity[IDENTITY_BYTES];
    any_window.width_ms = any_window.phase_ms = 0;
    view_identity(&any_window, identity);
    return load_u64(identity);
}
