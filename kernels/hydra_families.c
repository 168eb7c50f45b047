/*
 * The Hydra families: a grid of Count-Min sketches, of CountSketches, and the row that refuses. Bytes: kernels/hydra.c.
 */
#include "kernels/counted.h"
#include "kernels/families.h"
#include "kernels/frequency.h"
#include "kernels/hydra.h"

COUNTED_ENTRIES(cms, hydra, false)
COUNTED_ENTRIES(countsketch, hydra, true)

/* --- a grid of KLLs: no state, so nothing to merge; a plan that names one is refused by its parameters --- */

static int kll_check_params(const struct sketch_params *params, const char **reason)
{
    *reason = "Hydra over KLL is not kept: its states could not be merged";
    return SKETCH_BAD_DATA;
}

static int kll_build(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                     const int64_t *times_ms, const double *values, uint32_t n, uint64_t seed, void *scratch)
{
    return SKETCH_BAD_DATA;
}

static int kll_merge_k(uint8_t *dst, size_t cap, size_t *ret_size, const struct sketch_params *params, int64_t end_ms,
                       const struct state_ref *src, uint32_t k, uint64_t seed, void *scratch)
{
    return SKETCH_BAD_DATA;
}

static int kll_estimate(const struct state_ref *src, uint32_t k, const struct sketch_params *params,
                        enum statistic statistic, const struct sketch_args *args, void *scratch, double *ret)
{
    return SKETCH_BAD_DATA;
}

static int kll_validate(const uint8_t *bytes, size_t n, const struct sketch_params *params, const char **reason)
{
    *reason = "there are no states of Hydra over KLL";
    return SKETCH_CORRUPT;
}

static const struct family_readout cms_readouts[] = {
    {STATISTIC_POINT_COUNT, MERGED_AS_UNION},
    {STATISTIC_L1, MERGED_AS_UNION},
};
static const struct family_readout countsketch_readouts[] = {
    {STATISTIC_POINT_COUNT, MERGED_AS_UNION},
    {STATISTIC_L2, MERGED_AS_UNION},
};
static const struct family_readout kll_readouts[] = {{STATISTIC_QUANTILE, MERGED_APPROXIMATE}};

const struct family_info hydra_cms_family = {
    .family = FAMILY_HYDRA_CMS,
    .name = "hydra_cms",
    .merge = MERGE_DISJOINT,
    .subtracts = true,
    .readouts = cms_readouts,
    .readouts_n = sizeof cms_readouts / sizeof cms_readouts[0],
    .check_params = hydra_check_params,
    COUNTED_ROW(cms, hydra),
};

const struct family_info hydra_countsketch_family = {
    .family = FAMILY_HYDRA_COUNTSKETCH,
    .name = "hydra_countsketch",
    .merge = MERGE_DISJOINT,
    .subtracts = true,
    .readouts = countsketch_readouts,
    .readouts_n = sizeof countsketch_readouts / sizeof countsketch_readouts[0],
    .check_params = hydra_check_params,
    COUNTED_ROW(countsketch, hydra),
};

const struct family_info hydra_kll_family = {
    .family = FAMILY_HYDRA_KLL,
    .name = "hydra_kll",
    .merge = MERGE_NONE,
    .readouts = kll_readouts,
    .readouts_n = sizeof kll_readouts / sizeof kll_readouts[0],
    .check_params = kll_check_params,
    .size_bound = hydra_size_bound,
    .scratch_bound = hydra_scratch_bound,
    .build = kll_build,
    .merge_k = kll_merge_k,
    .estimate = kll_estimate,
    .validate = kll_validate,
    .flags = frequency_flags,
    .count = hydra_count,
};
