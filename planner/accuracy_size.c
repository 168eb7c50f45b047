/* Parameters that meet a target, and what they promise. The formulas are the kernels' (kernels/sketch.h). */
#include <math.h>

#include "planner/accuracy.h"

/* What is asked of whoever asks nothing. */
static const struct accuracy anything = {ACCURACY_ANY, 0.01, 0.01};
/* Lists of heaviest items, of which nothing can be promised: points within 1 % of L1 in all but one of a thousand
 * cases, and a few times the items asked for, so that one that is heavy over the window is lost in few of its panes. */
enum { TOP_DEPTH = 7, TOP_SPARE = 4, TOP_HEAP_MIN = 16 };
/* A heap beside counters that are read for L2 alone. */
enum { NORM_HEAP = 64, UNIVMON_CELLS_MAX = 1 << 18, COUNTERS_CELLS_MAX = 1 << 22 };
/* Room for rounding, so that what is derived back from the parameters is no more than the target. */
#define SIZE_ROOM (1 - 1e-9)

static bool has_norm(enum family f)
{
    return f == FAMILY_COUNTSKETCH || f == FAMILY_COUNTSKETCH_HEAP || f == FAMILY_UNIVMON;
}

struct accuracy accuracy_guarantee(enum family family, enum statistic statistic, const struct sketch_params *params,
                                   const struct accuracy *target)
{
    return accuracy_of_states(family, params, statistic,
                              target->kind == ACCURACY_NONE ? anything.failure : target->failure);
}

/* Each of these: the reason why not, or NULL with the parameters set. */
static const char *size_kll(const struct accuracy *target, struct sketch_params *params)
{
    if (target->kind == ACCURACY_EXACT)
        return "misses_accuracy: KLL has a rank error, an exact answer is needed";
    if (target->kind != ACCURACY_RANK && target->kind != ACCURACY_ANY)
        return "misses_accuracy: KLL bounds the rank error, another kind is asked for";
    if (target->failure < 0.01)
        return "misses_accuracy: KLL's bound holds with probability 0.99, more is asked for";
    params->k = kll_k_for_rank_error(target->error);
    return params->k ? NULL : "misses_accuracy: no KLL up to k = 65535 has so small a rank error";
}

static const char *size_ddsketch(const struct accuracy *target, struct sketch_params *params)
{
    if (target->kind == ACCURACY_EXACT)
        return "misses_accuracy: DDSketch has a relative error, an exact answer is needed";
    if (target->kind != ACCURACY_RELATIVE && target->kind != ACCURACY_ANY)
        return "misses_accuracy: DDSketch bounds the relative error, another kind is asked for";
    const char *reason = NULL;
    params->alpha = target->error;
    return family_get(FAMILY_DDSKETCH)->check_params(params, &reason) == 0 ? NULL : reason;
}

static const char *size_hll(const struct accuracy *target, struct sketch_params *params)
{
    if (target->kind == ACCURACY_EXACT)
        return "misses_accuracy: HyperLogLog has an error, an exact answer is needed";
    if (target->kind != ACCURACY_CARDINALITY && target->kind != ACCURACY_ANY)
        return "misses_accuracy: HyperLogLog bounds the cardinality error, another kind is asked for";
    if (target->failure < 0.01)
        return "misses_accuracy: HyperLogLog's bound holds with probability 0.99, more is asked for";
    params->p = hll_p_for_standard_error(target->error / accuracy_sigmas(target->failure));
    return params->p ? NULL : "misses_accuracy: no HyperLogLog up to p = 18 has so small an error";
}

static const char *size_kmv(const struct accuracy *target, struct sketch_params *params)
{
    if (target->kind == ACCURACY_EXACT)
        return "misses_accuracy: KMV has an error, an exact answer is needed";
    if (target->kind != ACCURACY_CARDINALITY && target->kind != ACCURACY_ANY)
        return "misses_accuracy: KMV bounds the cardinality error, another kind is asked for";
    if (target->failure < 0.01)
        return "misses_accuracy: KMV's bound holds with probability 0.99, more is asked for";
    params->k = kmv_k_for_standard_error(target->error / accuracy_sigmas(target->failure));
    return params->k ? NULL : "misses_accuracy: no KMV up to k = 65536 has so small an error";
}

/* L2 of signed counters. */
static const char *size_norm(enum family family, const struct accuracy *target, struct sketch_params *params)
{
    uint32_t cells_max = family == FAMILY_UNIVMON ? UNIVMON_CELLS_MAX : COUNTERS_CELLS_MAX;
    if (target->kind == ACCURACY_EXACT)
        return "misses_accuracy: counters have an error in L2, an exact answer is needed";
    if (target->kind != ACCURACY_RELATIVE && target->kind != ACCURACY_ANY)
        return "misses_accuracy: counters bound the relative error of L2, another kind is asked for";
    if (!(target->failure > 0))
        return "misses_accuracy: the counters' bound of L2 may fail, one that never does is asked for";
    if (!countsketch_l2_shape(target->error * SIZE_ROOM, target->failure, cells_max, &params->width, &params->depth))
        return "misses_accuracy: no counters that can be kept have so small an error in L2";
    if (family != FAMILY_COUNTSKETCH)
        params->heap = params->width < 4 * NORM_HEAP ? params->width / 4 : NORM_HEAP;
    return NULL;
}

/* What merged heaps and levels say of items, where nothing is promised: `top` of them. */
static void size_top(uint32_t top, struct sketch_params *params)
{
    uint32_t heap = TOP_SPARE * top < TOP_HEAP_MIN ? TOP_HEAP_MIN : TOP_SPARE * top;
    uint32_t least = (4 * heap + TOP_DEPTH - 1) / TOP_DEPTH; /* at most a fourth of the counters */
    uint32_t width = cms_width_for_error(anything.error);
    *params = (struct sketch_params){.depth = TOP_DEPTH, .width = width > least ? width : least, .heap = heap};
}

/* Over states of which a statistic has no bound once they are merged, and none in one of them that is known. */
static const char *size_unbounded(const struct site *site, const struct accuracy *target, struct sketch_params *params)
{
    if (target->kind == ACCURACY_EXACT && site->group)
        return "misses_accuracy: what a sketch says of the items is no exact answer";
    if (target->kind != ACCURACY_NONE)
        return "approximate_merge: no bound is known for this statistic over merged panes";
    size_top(site->group ? site->group->top : 0, params);
    return NULL;
}

bool accuracy_size(enum family family, const struct site *site, const struct accuracy *target,
                   struct sketch_params *ret_params, struct accuracy *ret_guarantee, const char **ret_reason)
{
    const struct family_info *info = family_get(family);
    const struct family_readout *readout = info ? family_readout(info, site->statistic) : NULL;
    const struct view_input values = {.kind = INPUT_VALUE};
    *ret_reason = NULL;
    if (!readout || info->merge == MERGE_NONE)
        return false;
    if (!view_input_fits(site->group ? &site->group->input : &values, family, !site->group))
        return false;
    struct sketch_params params = {0};
    const char *reason = NULL;
    bool sketch = info->check_params(&params, &reason) != 0; /* without parameters there is none */
    if (sketch && !accuracy_statistic_may_sketch(site->statistic))
        return false; /* its exact side readings (count, min, ...) have cheaper families of their own */
    if ((family == FAMILY_VALUES || family == FAMILY_DISTINCT_SET) && target->kind != ACCURACY_EXACT)
        return false; /* every value kept is a state only for exact demands */
    const struct accuracy *bounded = target->kind == ACCURACY_NONE ? &anything : target;
    reason = NULL;
    if (readout->merged == MERGED_APPROXIMATE)
        reason = size_unbounded(site, target, &params);
    else if (family == FAMILY_KLL)
        reason = size_kll(bounded, &params);
    else if (family == FAMILY_DDSKETCH)
        reason = size_ddsketch(bounded, &params);
    else if (family == FAMILY_HLL)
        reason = size_hll(bounded, &params);
    else if (family == FAMILY_KMV && site->group)
        reason = size_kmv(bounded, &params);
    else if (site->statistic == STATISTIC_L2 && has_norm(family))
        reason = size_norm(family, bounded, &params);
    else if (sketch || readout->merged != MERGED_EXACT)
        reason = "no_guarantee: no rule says how exact this statistic is over merged panes";
    *ret_reason = reason;
    if (reason)
        return false;
    *ret_params = params;
    *ret_guarantee = accuracy_guarantee(family, site->statistic, &params, target);
    return true;
}

static uint32_t greater(uint32_t a, uint32_t b)
{
    return a > b ? a : b;
}

bool accuracy_join(enum family family, const struct sketch_params *a, const struct sketch_params *b,
                   struct sketch_params *ret)
{
    struct sketch_params joined = {
        .k = greater(a->k, b->k),
        .max_bins = greater(a->max_bins, b->max_bins),
        .alpha = fmin(a->alpha, b->alpha),
        .p = greater(a->p, b->p),
        .depth = greater(a->depth, b->depth),
        .width = greater(a->width, b->width),
        .heap = greater(a->heap, b->heap),
        .rows = greater(a->rows, b->rows),
        .columns = greater(a->columns, b->columns),
    };
    const char *reason;
    if (family_get(family)->check_params(&joined, &reason) != 0)
        return false;
    *ret = joined;
    return true;
}
