#include "bench/accuracy/measures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ITEMS_READ = 64 };

static double read_number(const struct round *r, enum statistic statistic, struct sketch_args args)
{
    double v = NAN;
    int rc = r->f->estimate(r->src, r->k, r->params, statistic, &args, r->scratch, &v);
    if (rc != SKETCH_OK) {
        fprintf(stderr, "accuracy_bench: %s: %s failed with %d\n", r->f->name, statistic_name(statistic), rc);
        exit(1);
    }
    return v;
}

static void add_error(struct errors *e, double miss)
{
    if (e->n == e->room) {
        e->room = e->room ? e->room * 2 : 64;
        e->v = realloc(e->v, e->room * sizeof *e->v);
        if (!e->v) {
            perror("accuracy_bench");
            exit(1);
        }
    }
    e->v[e->n++] = isnan(miss) ? INFINITY : fabs(miss);
}

/* --- quantiles --- */

static const double quantiles[] = {0.01, 0.1, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999};
enum { QUANTILES_N = sizeof quantiles / sizeof *quantiles };

static void rank_errors(const struct round *r, struct errors *e)
{
    for (size_t i = 0; i < QUANTILES_N; i++) {
        double v = read_number(r, STATISTIC_QUANTILE, (struct sketch_args){.q = quantiles[i]});
        add_error(e, stream_rank_error(r->stream, v, quantiles[i]));
    }
}

/* Of what a collapse has not voided: the greatest 2048 buckets. */
static void value_errors(const struct round *r, struct errors *e)
{
    double least = r->stream->sorted[STREAM_N - 1] * pow(1.01 / 0.99, -2046);
    for (size_t i = 0; i < QUANTILES_N; i++) {
        double truth = stream_quantile(r->stream, quantiles[i]);
        if (truth >= least)
            add_error(e, read_number(r, STATISTIC_QUANTILE, (struct sketch_args){.q = quantiles[i]}) / truth - 1);
    }
}

/* Of all quantiles, as equal or not. */
static void exact_quantile_errors(const struct round *r, struct errors *e)
{
    for (size_t i = 0; i < QUANTILES_N; i++) {
        double v = read_number(r, STATISTIC_QUANTILE, (struct sketch_args){.q = quantiles[i]}),
               truth = stream_quantile(r->stream, quantiles[i]);
        add_error(e, v == truth ? 0 : v / truth - 1);
    }
}

/* --- items --- */

static void distinct_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_DISTINCT, (struct sketch_args){0}) / r->stream->distinct - 1);
}

static double point_count(const struct round *r, double item)
{
    return read_number(r, STATISTIC_POINT_COUNT,
                       (struct sketch_args){.key = sketch_key(item), .group = stream_group(item)});
}

/* Of items spread over the distinct ones, as a share of `norm`. */
static void point_errors(const struct round *r, struct errors *e, double norm)
{
    uint32_t step = r->stream->distinct / ITEMS_READ + 1;
    for (uint32_t i = 0; i < r->stream->distinct; i += step)
        add_error(e, (point_count(r, r->stream->items[i]) - r->stream->counts[i]) / norm);
}

/* Never below the truth: that is an error without bound. */
static void cms_errors(const struct round *r, struct errors *e)
{
    uint32_t step = r->stream->distinct / ITEMS_READ + 1;
    for (uint32_t i = 0; i < r->stream->distinct; i += step) {
        double miss = point_count(r, r->stream->items[i]) - r->stream->counts[i];
        add_error(e, miss < 0 ? INFINITY : miss / STREAM_N);
    }
}

static void countsketch_errors(const struct round *r, struct errors *e)
{
    point_errors(r, e, r->stream->l2);
}

/* kernels/hydra.c: as a share of the mass that shares the group's sketch. */
static void hydra_errors(const struct round *r, struct errors *e)
{
    uint32_t step = r->stream->distinct / ITEMS_READ + 1;
    for (uint32_t i = 0; i < r->stream->distinct; i += step) {
        double item = r->stream->items[i], miss = point_count(r, item) - r->stream->counts[i],
               mass = r->stream->groups[stream_group(item)] + cms_error(r->params->columns) * STREAM_N;
        add_error(e, miss < 0 ? INFINITY : miss / mass);
    }
}

static void hydra_l1_errors(const struct round *r, struct errors *e)
{
    for (uint64_t g = 0; g < STREAM_GROUPS; g++) {
        double miss = read_number(r, STATISTIC_L1, (struct sketch_args){.group = g}) - r->stream->groups[g];
        add_error(e, miss < 0 ? INFINITY : miss / STREAM_N);
    }
}

static void l1_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_L1, (struct sketch_args){0}) / STREAM_N - 1);
}

static void l2_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_L2, (struct sketch_args){0}) / r->stream->l2 - 1);
}

static void entropy_errors(const struct round *r, struct errors *e)
{
    double truth = r->stream->entropy;
    add_error(e, (read_number(r, STATISTIC_ENTROPY, (struct sketch_args){0}) - truth) / (truth > 1 ? truth : 1));
}

static uint32_t heaviest(const struct round *r, double *items)
{
    uint64_t keys[STREAM_HEAVIEST];
    double estimates[STREAM_HEAVIEST];
    uint32_t n = 0;
    if (r->f->top(r->src, r->k, r->params, STREAM_HEAVIEST, keys, estimates, &n, r->scratch) != SKETCH_OK) {
        fprintf(stderr, "accuracy_bench: %s: the heaviest items failed\n", r->f->name);
        exit(1);
    }
    memcpy(items, keys, n * sizeof *keys); /* an item is a value's bits */
    return n;
}

/* Of the heaviest items, the share that is not among those named; items as heavy as the last of them count as well. */
static void recall_errors(const struct round *r, struct errors *e)
{
    double items[STREAM_HEAVIEST];
    uint32_t n = heaviest(r, items), found = 0,
             all = r->stream->distinct < STREAM_HEAVIEST ? r->stream->distinct : STREAM_HEAVIEST;
    for (uint32_t i = 0; i < n; i++)
        found += stream_count(r->stream, items[i]) >= r->stream->heaviest;
    add_error(e, 1 - found / (double)all);
}

/* Of the items that outweigh the last of the heaviest by more than estimates may be off, the share not named. */
static void certain_errors(const struct round *r, struct errors *e)
{
    double items[STREAM_HEAVIEST], off = r->f->family == FAMILY_CMS_HEAP
                                             ? cms_error(r->params->width) * STREAM_N
                                             : 2 * countsketch_error(r->params->width) * r->stream->l2;
    uint32_t n = heaviest(r, items), certain = 0, found = 0;
    for (uint32_t i = 0; i < r->stream->distinct; i++)
        certain += r->stream->counts[i] > r->stream->heaviest + off;
    for (uint32_t i = 0; i < n; i++)
        found += stream_count(r->stream, items[i]) > r->stream->heaviest + off;
    add_error(e, certain ? 1 - found / (double)certain : 0);
}

/* --- exact accumulators: errors in units of the bound of their summation --- */

#define UNIT 0x1p-53

/* Ogita, Rump, Oishi: Accurate Sum and Dot Product, 2005, proposition 4.5: compensated sums. */
static void sum_errors(const struct round *r, struct errors *e)
{
    double g = STREAM_N * UNIT, bound = UNIT * fabs(r->stream->sum) + g * g * r->stream->abs_sum;
    add_error(e, (read_number(r, STATISTIC_SUM, (struct sketch_args){0}) - r->stream->sum) / bound);
}

/* Chan, Golub, LeVeque: Algorithms for Computing the Sample Variance, 1983: n kappa u, kappa^2 = 1 + mean^2 / variance;
 * and for a variance of nothing, what squares of the mean's own rounding leave. */
static void variance_errors(const struct round *r, struct errors *e)
{
    double g = STREAM_N * UNIT, var = r->stream->variance, square = r->stream->mean * r->stream->mean,
           bound = g * sqrt(var * (var + square)) + g * g * square;
    add_error(e, (read_number(r, STATISTIC_STDVAR, (struct sketch_args){0}) - var) / bound);
}

/* The same for a sum of products over the spread of times: n u sqrt of (variance + mean^2) over the times' variance. */
static void slope_errors(const struct round *r, struct errors *e)
{
    const double n = STREAM_N, times_s = sqrt((n * n - 1) / 12) / 1000;
    double square = r->stream->mean * r->stream->mean, bound = n * UNIT * sqrt(r->stream->variance + square) / times_s;
    add_error(e, (read_number(r, STATISTIC_DERIV, (struct sketch_args){0}) - r->stream->slope) / bound);
}

static void set_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_DISTINCT, (struct sketch_args){0}) - r->stream->distinct);
}

static void min_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_MIN, (struct sketch_args){0}) - r->stream->sorted[0]);
}

static void max_errors(const struct round *r, struct errors *e)
{
    add_error(e, read_number(r, STATISTIC_MAX, (struct sketch_args){0}) - r->stream->sorted[STREAM_N - 1]);
}

/* --- the table --- */

#define BIT(kind) (UINT32_C(1) << STREAM_##kind)
#define ALL (BIT(GREAT_MEAN) * 2 - 1)
/* Those a sketch of positive values can meet. */
#define POSITIVE (ALL - BIT(CANCELLING) - BIT(SEQUENTIAL))
/* Item sketches see neither order nor size: of the streams whose items come once each, one order is enough. */
#define ITEMS (ALL - BIT(RISING) - BIT(FALLING) - BIT(ZOOM_IN) - BIT(RUNS) - BIT(WIDE_EDGES) - BIT(CANCELLING))
/* Those with heavier and lighter items. */
#define UNEQUAL (BIT(ZIPF) | BIT(INTEGERS) | BIT(HEAVY_TAIL) | BIT(MID_WEIGHT))

#define CMS_SMALL                                                                                                      \
    {                                                                                                                  \
        .depth = 4, .width = 512                                                                                       \
    }
#define SIGNED                                                                                                         \
    {                                                                                                                  \
        .depth = 5, .width = 512                                                                                       \
    }
#define UNIVMON                                                                                                        \
    {                                                                                                                  \
        .depth = 5, .width = 512, .heap = 8                                                                            \
    }
#define TOP                                                                                                            \
    {                                                                                                                  \
        .depth = 5, .width = 2048, .heap = STREAM_HEAVIEST                                                             \
    }
#define GRID                                                                                                           \
    {                                                                                                                  \
        .rows = 3, .columns = 64, .depth = 3, .width = 128                                                             \
    }

/* One row's sum of squares has a relative standard error of sqrt(2 / width), L2 of half that; a median's is less. */
#define L2_512 (1 / sqrt(2.0 * 512))
/* kernels/univmon.c; 5 * 512 / 4 items are listed at most, half as many at least. */
#define LISTED_512 (1.2 / sqrt(5 * 512 / 4.0))

const struct measure *measures(uint32_t *ret_n)
{
    static struct measure all[32];
    const double no_chance = 0, by_rms = NAN;
    const struct measure list[] = {
        {"values: quantiles", FAMILY_VALUES, {0}, exact_quantile_errors, 0x1p-52, no_chance, ALL},
        {"KLL 200: rank", FAMILY_KLL, {.k = 200}, rank_errors, kll_rank_error(200), 0.01, ALL},
        {"DDSketch 1 %: value", FAMILY_DDSKETCH, {.alpha = 0.01}, value_errors, 0.01, no_chance, POSITIVE},
        {"HLL 12: distinct", FAMILY_HLL, {.p = 12}, distinct_errors, hll_standard_error(12), by_rms, ITEMS},
        {"KMV 1024: distinct", FAMILY_KMV, {.k = 1024}, distinct_errors, kmv_standard_error(1024), by_rms, ITEMS},
        {"CMS 4x512: point / L1", FAMILY_CMS, CMS_SMALL, cms_errors, cms_error(512), cms_failure(4), ITEMS},
        {"CountSketch 5x512: pt / L2", FAMILY_COUNTSKETCH, SIGNED, countsketch_errors, countsketch_error(512),
         countsketch_failure(5), ITEMS},
        {"CountSketch 5x512: L2", FAMILY_COUNTSKETCH, SIGNED, l2_errors, L2_512, by_rms, ITEMS},
        {"CMS top-32: missed", FAMILY_CMS_HEAP, TOP, recall_errors, NAN, NAN, UNEQUAL},
        {"CMS top-32: certain missed", FAMILY_CMS_HEAP, TOP, certain_errors, 0, cms_failure(5), ITEMS},
        {"CountSk. top-32: missed", FAMILY_COUNTSKETCH_HEAP, TOP, recall_errors, NAN, NAN, UNEQUAL},
        {"CountSk. top-32: c. missed", FAMILY_COUNTSKETCH_HEAP, TOP, certain_errors, 0, countsketch_failure(5), ITEMS},
        {"UnivMon 5x512/8: L1", FAMILY_UNIVMON, UNIVMON, l1_errors, 0, no_chance, ITEMS},
        {"UnivMon 5x512/8: L2", FAMILY_UNIVMON, UNIVMON, l2_errors, L2_512, by_rms, ITEMS},
        {"UnivMon 5x512/8: distinct", FAMILY_UNIVMON, UNIVMON, distinct_errors, LISTED_512, by_rms, ITEMS},
        {"UnivMon 5x512/8: entropy", FAMILY_UNIVMON, UNIVMON, entropy_errors, NAN, NAN, ITEMS},
        {"Hydra CMS: point / L1", FAMILY_HYDRA_CMS, GRID, hydra_errors, cms_error(128),
         pow(cms_failure(3) + cms_failure(1), 3), ITEMS, true},
        {"Hydra CMS: a group's L1", FAMILY_HYDRA_CMS, GRID, hydra_l1_errors, cms_error(64), cms_failure(3), ITEMS,
         true},
        {"sum, of its bound", FAMILY_SUM, {0}, sum_errors, 1, no_chance, ALL},
        {"stdvar, of its bound", FAMILY_MOMENTS, {0}, variance_errors, 1, no_chance, ALL},
        {"deriv, of its bound", FAMILY_REGRESSION, {0}, slope_errors, 1, no_chance, ALL},
        {"distinct set", FAMILY_DISTINCT_SET, {0}, set_errors, 0, no_chance, ITEMS},
        {"min", FAMILY_MIN, {0}, min_errors, 0, no_chance, ALL},
        {"max", FAMILY_MAX, {0}, max_errors, 0, no_chance, ALL},
    };
    *ret_n = sizeof list / sizeof *list;
    memcpy(all, list, sizeof list);
    return all;
}
