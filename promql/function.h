/*
 * The function table: names, argument types and return type, one row each, read by the parser (types), by the planner
 * (which statistic) and by the executor (dispatch by id).
 */
#ifndef PROMQL_FUNCTION_H
#define PROMQL_FUNCTION_H

#include "promql/ast.h"

enum { FUNCTION_ARGS_MAX = 6 };

/* X(ID, "name", return type, variadic, experimental, args...) lives in function.c's table; ids are generated from
 * FUNCTION_IDS. */
/* clang-format off */
#define FUNCTION_IDS(X)                                                                                                \
    X(abs) X(absent) X(absent_over_time) X(acos) X(acosh) X(asin) X(asinh) X(atan) X(atanh) X(avg_over_time)           \
    X(ceil) X(changes) X(clamp) X(clamp_max) X(clamp_min) X(cos) X(cosh) X(count_over_time) X(day_of_month)            \
    X(day_of_week) X(day_of_year) X(days_in_month) X(deg) X(delta) X(deriv) X(double_exponential_smoothing) X(end)     \
    X(exp) X(first_over_time) X(floor) X(histogram_avg) X(histogram_count) X(histogram_fraction)                       \
    X(histogram_quantile) X(histogram_quantiles) X(histogram_stddev) X(histogram_stdvar) X(histogram_sum)              \
    X(holt_winters) X(hour) X(idelta) X(increase) X(info) X(irate) X(label_join) X(label_replace)                      \
    X(last_over_time) X(ln) X(log10) X(log2) X(mad_over_time) X(max_of) X(max_over_time) X(min_of)                     \
    X(min_over_time) X(minute) X(month) X(pi) X(predict_linear) X(present_over_time) X(quantile_over_time) X(rad)      \
    X(range) X(rate) X(resets) X(round) X(scalar) X(sgn) X(sin) X(sinh) X(sort) X(sort_by_label)                       \
    X(sort_by_label_desc) X(sort_desc) X(sqrt) X(start) X(stddev_over_time) X(stdvar_over_time) X(step)                \
    X(sum_over_time) X(tan) X(tanh) X(time) X(timestamp) X(ts_of_first_over_time) X(ts_of_last_over_time)              \
    X(ts_of_max_over_time) X(ts_of_min_over_time) X(vector) X(year)                                                    \
    /* mullion's own */                                                                                                \
    X(distinct_over_time) X(entropy_over_time) X(l1_over_time) X(l2_over_time) X(quantiles_over_time)                  \
    X(distinct_label_over_time) X(topk_label_over_time) X(entropy_label_over_time) X(l2_label_over_time)
/* clang-format on */

enum function_id {
    FUNCTION_INVALID = 0,
#define X(name) FUNCTION_##name,
    FUNCTION_IDS(X)
#undef X
        FUNCTION_END
};

struct function {
    enum function_id id;
    const char *name;
    enum value_type result;
    enum value_type args[FUNCTION_ARGS_MAX];
    uint8_t args_n;
    int8_t variadic; /* as Prometheus: 0 = args_n arguments; n > 0 = args_n - 1 to args_n - 1 + n; -1 = args_n - 1 or
                        more */
    uint8_t repeat;  /* variadic -1: index of the argument that repeats, when it is not the last; else 0 */
    bool experimental;
    bool own; /* not in Prometheus */
};

/* How many arguments a call may have (UINT32_MAX: no limit), and the type of argument i of a call with n of them. */
uint32_t function_args_min(const struct function *f);
uint32_t function_args_max(const struct function *f);
enum value_type function_arg_type(const struct function *f, uint32_t i, uint32_t n);

/* NULL when there is none. Case matters. */
const struct function *function_by_name(struct str name);
const struct function *function_by_id(enum function_id id);

#endif
