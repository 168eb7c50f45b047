/*
 * The family table, its names, and the accuracy formulas behind parameters.
 */
#include "kernels/sketch.h"

#include <math.h>
#include <string.h>

#include "kernels/bits.h"
#include "kernels/families.h"

enum {
    KLL_K_MIN = 8,
    KLL_K_MAX = 65535,
    HLL_P_MIN = 4,
    HLL_P_MAX = 18,
    KMV_K_MIN = 16,
    KMV_K_MAX = 65536,
    WIDTH_MIN = 8,
    WIDTH_MAX = 1 << 22,
    DEPTH_MAX = 16
};

static const struct family_info *const family_table[FAMILY_END] = {
    [FAMILY_SUM] = &sum_family,
    [FAMILY_MIN] = &min_family,
    [FAMILY_MAX] = &max_family,
    [FAMILY_COUNT] = &count_family,
    [FAMILY_MOMENTS] = &moments_family,
    [FAMILY_COUNTER] = &counter_family,
    [FAMILY_KLL] = &kll_family,
    [FAMILY_DDSKETCH] = &ddsketch_family,
    [FAMILY_HLL] = &hll_family,
    [FAMILY_VALUES] = &values_family,
    [FAMILY_CMS] = &cms_family,
    [FAMILY_COUNTSKETCH] = &countsketch_family,
    [FAMILY_CMS_HEAP] = &cms_heap_family,
    [FAMILY_COUNTSKETCH_HEAP] = &countsketch_heap_family,
    [FAMILY_KMV] = &kmv_family,
    [FAMILY_UNIVMON] = &univmon_family,
    [FAMILY_HYDRA_CMS] = &hydra_cms_family,
    [FAMILY_HYDRA_COUNTSKETCH] = &hydra_countsketch_family,
    [FAMILY_HYDRA_KLL] = &hydra_kll_family,
    [FAMILY_REGRESSION] = &regression_family,
    [FAMILY_DISTINCT_SET] = &distinct_set_family,
};

static const struct {
    const char *keyword, *function;
} statistic_table[STATISTIC_END] = {
#define X(name, keyword_, function_) [STATISTIC_##name] = {keyword_, function_},
    STATISTIC_LIST(X)
#undef X
};

static bool name_is(const char *name, size_t n, const char *known)
{
    return strlen(known) == n && memcmp(name, known, n) == 0;
}

uint64_t sketch_key(double value)
{
    return bits_item(value);
}

const struct family_info *family_get(enum family family)
{
    return (unsigned)family < FAMILY_END ? family_table[family] : NULL;
}

const struct family_info *family_by_name(const char *name, size_t n)
{
    for (int f = FAMILY_INVALID + 1; f < FAMILY_END; f++)
        if (name_is(name, n, family_table[f]->name))
            return family_table[f];
    return NULL;
}

const struct family_readout *family_readout(const struct family_info *f, enum statistic statistic)
{
    for (uint32_t i = 0; i < f->readouts_n; i++)
        if (f->readouts[i].statistic == statistic)
            return &f->readouts[i];
    return NULL;
}

static bool statistic_known(enum statistic s)
{
    return (unsigned)s < STATISTIC_END && s != STATISTIC_INVALID;
}

const char *statistic_name(enum statistic s)
{
    return statistic_known(s) ? statistic_table[s].keyword : "";
}

enum statistic statistic_by_name(const char *name, size_t n)
{
    for (int s = STATISTIC_INVALID + 1; s < STATISTIC_END; s++)
        if (name_is(name, n, statistic_table[s].keyword))
            return (enum statistic)s;
    return STATISTIC_INVALID;
}

const char *statistic_function(enum statistic s)
{
    return statistic_known(s) ? statistic_table[s].function : "";
}

enum statistic statistic_by_function(const char *name, size_t n)
{
    for (int s = STATISTIC_INVALID + 1; n && s < STATISTIC_END; s++) /* "" means that there is none */
        if (name_is(name, n, statistic_table[s].function))
            return (enum statistic)s;
    return STATISTIC_INVALID;
}

const char *merge_rule_name(enum merge_rule r)
{
    switch (r) {
    case MERGE_NONE:
        return "none";
    case MERGE_DISJOINT:
        return "disjoint";
    case MERGE_DISJOINT_TIME:
        return "disjoint_time";
    case MERGE_MAY_OVERLAP:
        return "may_overlap";
    }
    return "";
}

const char *merged_error_name(enum merged_error e)
{
    switch (e) {
    case MERGED_EXACT:
        return "exact";
    case MERGED_AS_UNION:
        return "as_if_union";
    case MERGED_APPROXIMATE:
        return "approximate";
    }
    return "";
}

double kll_rank_error(uint32_t k)
{
    return k < KLL_K_MIN || k > KLL_K_MAX ? NAN : 2.296 / pow(k, 0.9723);
}

double hll_standard_error(uint32_t p)
{
    return p < HLL_P_MIN || p > HLL_P_MAX ? NAN : 1.04 / sqrt((double)(UINT32_C(1) << p));
}

/* The least parameter in [low, high] whose error, which falls as the parameter rises, is at most `error`; 0 = none. */
static uint32_t least_parameter(double (*error_of)(uint32_t), uint32_t low, uint32_t high, double error)
{
    if (!(error_of(high) <= error))
        return 0;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (error_of(middle) <= error)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

uint32_t kll_k_for_rank_error(double error)
{
    return least_parameter(kll_rank_error, KLL_K_MIN, KLL_K_MAX, error);
}

uint32_t hll_p_for_standard_error(double error)
{
    return least_parameter(hll_standard_error, HLL_P_MIN, HLL_P_MAX, error);
}

double kmv_standard_error(uint32_t k)
{
    return k < KMV_K_MIN || k > KMV_K_MAX ? NAN : 1 / sqrt(k - 2.0);
}

uint32_t kmv_k_for_standard_error(double error)
{
    return least_parameter(kmv_standard_error, KMV_K_MIN, KMV_K_MAX, error);
}

double cms_error(uint32_t width)
{
    return width < WIDTH_MIN || width > WIDTH_MAX ? NAN : M_E / width;
}

double cms_failure(uint32_t depth)
{
    return depth < 1 || depth > DEPTH_MAX ? NAN : exp(-(double)depth);
}

uint32_t cms_width_for_error(double error)
{
    return least_parameter(cms_error, WIDTH_MIN, WIDTH_MAX, error);
}

uint32_t cms_depth_for_failure(double failure)
{
    return least_parameter(cms_failure, 1, DEPTH_MAX, failure);
}

double countsketch_error(uint32_t width)
{
    return width < WIDTH_MIN || width > WIDTH_MAX ? NAN : sqrt(3.0 / width);
}

/* More than half of `depth` rows miss, each with probability p at most. An even depth fails where half of them do. */
static double median_failure(uint32_t depth, double p)
{
    double failure = 0, ways = 1; /* ways to choose `missing` of depth rows */
    for (uint32_t missing = 0; missing <= depth; missing++) {
        if (2 * missing >= depth)
            failure += ways * pow(p, missing) * pow(1 - p, depth - missing);
        ways = ways * (depth - missing) / (missing + 1);
    }
    return failure;
}

double countsketch_failure(uint32_t depth)
{
    return depth < 1 || depth > DEPTH_MAX ? NAN : median_failure(depth, 1 / 3.0);
}

uint32_t countsketch_width_for_error(double error)
{
    return least_parameter(countsketch_error, WIDTH_MIN, WIDTH_MAX, error);
}

static double odd_depth_failure(uint32_t half)
{
    return countsketch_failure(2 * half + 1);
}

uint32_t countsketch_depth_for_failure(double failure)
{
    if (!(odd_depth_failure(DEPTH_MAX / 2 - 1) <= failure))
        return 0;
    return 2 * least_parameter(odd_depth_failure, 0, DEPTH_MAX / 2 - 1, failure) + 1;
}

/* The greatest probability that a row may miss with, for the median of `depth` to miss with `failure` at most. */
static double row_failure(uint32_t depth, double failure)
{
    double low = 0, high = 0.5;
    for (int i = 0; i < 60; i++) {
        double p = (low + high) / 2;
        *(median_failure(depth, p) <= failure ? &low : &high) = p;
    }
    return low;
}

double countsketch_l2_error(uint32_t width, uint32_t depth, double failure)
{
    if (width < WIDTH_MIN || width > WIDTH_MAX || depth < 1 || depth > DEPTH_MAX || !(failure > 0 && failure < 1))
        return NAN;
    double squares = sqrt(2 / (width * row_failure(depth, failure)));
    return squares <= 1 ? 1 - sqrt(1 - squares) : NAN;
}

bool countsketch_l2_shape(double error, double failure, uint32_t cells_max, uint32_t *ret_width, uint32_t *ret_depth)
{
    double least = INFINITY;
    if (!(error > 0 && error < 1) || !(failure > 0 && failure < 1))
        return false;
    double squares = error * (2 - error); /* 1 - (1 - error)^2 */
    for (uint32_t depth = 1; depth < DEPTH_MAX; depth += 2) {
        double width = fmax(WIDTH_MIN, ceil(2 / (squares * squares * row_failure(depth, failure))));
        if (!(width <= WIDTH_MAX && width * depth <= cells_max && width * depth < least))
            continue;
        least = width * depth;
        *ret_width = (uint32_t)width;
        *ret_depth = depth;
    }
    return isfinite(least);
}
