/* The function table. */
#include "promql/function.h"

#include "base/err.h"

#define ARGS(...) .args = {__VA_ARGS__}, .args_n = sizeof((enum value_type[]){__VA_ARGS__}) / sizeof(enum value_type)
#define NAMED(fn) [FUNCTION_##fn] = {.id = FUNCTION_##fn, .name = #fn, .result = VALUE_VECTOR
/* The common shapes: one vector, one range, a date of one optional vector, no argument. */
#define OF_VECTOR(fn)                                                                                                  \
    NAMED(fn), ARGS(VALUE_VECTOR)                                                                                      \
    }
#define OF_MATRIX(fn)                                                                                                  \
    NAMED(fn), ARGS(VALUE_MATRIX)                                                                                      \
    }
#define OF_MATRIX_NEW(fn)                                                                                              \
    NAMED(fn), ARGS(VALUE_MATRIX), .experimental = true                                                                \
    }
#define OF_MATRIX_OWN(fn)                                                                                              \
    NAMED(fn), ARGS(VALUE_MATRIX), .own = true                                                                         \
    }
#define OF_DATE(fn)                                                                                                    \
    NAMED(fn), ARGS(VALUE_VECTOR), .variadic = 1                                                                       \
    }
#define OF_NOTHING(fn, exp)                                                                                            \
    [FUNCTION_##fn] = {.id = FUNCTION_##fn, .name = #fn, .result = VALUE_SCALAR, .experimental = exp}
#define OF_SCALARS(fn)                                                                                                 \
    [FUNCTION_##fn] = {.id = FUNCTION_##fn,                                                                            \
                       .name = #fn,                                                                                    \
                       .result = VALUE_SCALAR,                                                                         \
                       ARGS(VALUE_SCALAR, VALUE_SCALAR),                                                               \
                       .experimental = true}
#define SMOOTHING(fn, exp)                                                                                             \
    NAMED(fn), ARGS(VALUE_MATRIX, VALUE_SCALAR, VALUE_SCALAR), .experimental = exp                                     \
    }
#define BY_LABEL(fn)                                                                                                   \
    NAMED(fn), ARGS(VALUE_VECTOR, VALUE_STRING), .variadic = -1, .experimental = true                                  \
    }
#define OF_LABEL_OWN(fn)                                                                                               \
    NAMED(fn), ARGS(VALUE_STRING, VALUE_MATRIX, VALUE_STRING), .variadic = -1, .own = true                             \
    }

/* clang-format off */
static const struct function function_table[FUNCTION_END] = {
    OF_VECTOR(abs), OF_VECTOR(absent), OF_VECTOR(acos), OF_VECTOR(acosh), OF_VECTOR(asin), OF_VECTOR(asinh),
    OF_VECTOR(atan), OF_VECTOR(atanh), OF_VECTOR(ceil), OF_VECTOR(cos), OF_VECTOR(cosh), OF_VECTOR(deg), OF_VECTOR(exp),
    OF_VECTOR(floor), OF_VECTOR(histogram_avg), OF_VECTOR(histogram_count), OF_VECTOR(histogram_stddev),
    OF_VECTOR(histogram_stdvar), OF_VECTOR(histogram_sum), OF_VECTOR(ln), OF_VECTOR(log10), OF_VECTOR(log2),
    OF_VECTOR(rad), OF_VECTOR(sgn), OF_VECTOR(sin), OF_VECTOR(sinh), OF_VECTOR(sort), OF_VECTOR(sort_desc),
    OF_VECTOR(sqrt), OF_VECTOR(tan), OF_VECTOR(tanh), OF_VECTOR(timestamp),

    OF_MATRIX(absent_over_time), OF_MATRIX(avg_over_time), OF_MATRIX(changes), OF_MATRIX(count_over_time),
    OF_MATRIX(delta), OF_MATRIX(deriv), OF_MATRIX(idelta), OF_MATRIX(increase), OF_MATRIX(irate),
    OF_MATRIX(last_over_time), OF_MATRIX(max_over_time), OF_MATRIX(min_over_time), OF_MATRIX(present_over_time),
    OF_MATRIX(rate), OF_MATRIX(resets), OF_MATRIX(stddev_over_time), OF_MATRIX(stdvar_over_time),
    OF_MATRIX(sum_over_time), OF_MATRIX_NEW(first_over_time), OF_MATRIX_NEW(mad_over_time),
    OF_MATRIX_NEW(ts_of_first_over_time), OF_MATRIX_NEW(ts_of_last_over_time), OF_MATRIX_NEW(ts_of_max_over_time),
    OF_MATRIX_NEW(ts_of_min_over_time),

    OF_DATE(day_of_month), OF_DATE(day_of_week), OF_DATE(day_of_year), OF_DATE(days_in_month), OF_DATE(hour),
    OF_DATE(minute), OF_DATE(month), OF_DATE(year),

    OF_NOTHING(pi, false), OF_NOTHING(time, false), OF_NOTHING(start, true), OF_NOTHING(end, true),
    OF_NOTHING(step, true), OF_NOTHING(range, true), OF_SCALARS(min_of), OF_SCALARS(max_of),

    /* Prometheus 2's name of double_exponential_smoothing; 3 dropped it. */
    SMOOTHING(holt_winters, false), SMOOTHING(double_exponential_smoothing, true),
    BY_LABEL(sort_by_label), BY_LABEL(sort_by_label_desc),

    NAMED(clamp), ARGS(VALUE_VECTOR, VALUE_SCALAR, VALUE_SCALAR)},
    NAMED(clamp_max), ARGS(VALUE_VECTOR, VALUE_SCALAR)},
    NAMED(clamp_min), ARGS(VALUE_VECTOR, VALUE_SCALAR)},
    NAMED(histogram_fraction), ARGS(VALUE_SCALAR, VALUE_SCALAR, VALUE_VECTOR)},
    NAMED(histogram_quantile), ARGS(VALUE_SCALAR, VALUE_VECTOR)},
    NAMED(histogram_quantiles), ARGS(VALUE_VECTOR, VALUE_STRING, VALUE_SCALAR, VALUE_SCALAR), .variadic = 9,
        .experimental = true},
    NAMED(info), ARGS(VALUE_VECTOR, VALUE_VECTOR), .variadic = 1, .experimental = true},
    NAMED(label_join), ARGS(VALUE_VECTOR, VALUE_STRING, VALUE_STRING, VALUE_STRING), .variadic = -1},
    NAMED(label_replace), ARGS(VALUE_VECTOR, VALUE_STRING, VALUE_STRING, VALUE_STRING, VALUE_STRING)},
    NAMED(predict_linear), ARGS(VALUE_MATRIX, VALUE_SCALAR)},
    NAMED(quantile_over_time), ARGS(VALUE_SCALAR, VALUE_MATRIX)},
    NAMED(round), ARGS(VALUE_VECTOR, VALUE_SCALAR), .variadic = 1},
    NAMED(vector), ARGS(VALUE_SCALAR)},
    [FUNCTION_scalar] = {.id = FUNCTION_scalar, .name = "scalar", .result = VALUE_SCALAR, ARGS(VALUE_VECTOR)},

    OF_MATRIX_OWN(distinct_over_time), OF_MATRIX_OWN(entropy_over_time), OF_MATRIX_OWN(l1_over_time),
    OF_MATRIX_OWN(l2_over_time),
    NAMED(quantiles_over_time), ARGS(VALUE_STRING, VALUE_SCALAR, VALUE_MATRIX), .variadic = -1, .repeat = 1, .own = true},
    OF_LABEL_OWN(distinct_label_over_time), OF_LABEL_OWN(entropy_label_over_time), OF_LABEL_OWN(l2_label_over_time),
    NAMED(topk_label_over_time), ARGS(VALUE_SCALAR, VALUE_STRING, VALUE_MATRIX, VALUE_STRING), .variadic = -1,
        .own = true},
};
/* clang-format on */

const struct function *function_by_id(enum function_id id)
{
    MUST(id > FUNCTION_INVALID && id < FUNCTION_END);
    return &function_table[id];
}

/* Ids are in alphabetical order of their names within each of the two blocks; the table is small and a query names few
 * functions, so it is walked. */
const struct function *function_by_name(struct str name)
{
    for (int id = FUNCTION_INVALID + 1; id < FUNCTION_END; id++)
        if (str_eq(str_of(function_table[id].name), name))
            return &function_table[id];
    return NULL;
}

/* A repeated argument in the middle must be there once; one at the end may be left out. */
static bool repeats_in_the_middle(const struct function *f)
{
    return f->repeat != 0;
}

uint32_t function_args_min(const struct function *f)
{
    return f->variadic == 0 || repeats_in_the_middle(f) ? f->args_n : f->args_n - 1u;
}

uint32_t function_args_max(const struct function *f)
{
    if (f->variadic < 0)
        return UINT32_MAX;
    return f->variadic == 0 ? f->args_n : f->args_n - 1u + (uint32_t)f->variadic;
}

enum value_type function_arg_type(const struct function *f, uint32_t i, uint32_t n)
{
    uint32_t repeat = repeats_in_the_middle(f) ? f->repeat : f->args_n - 1u, after = f->args_n - 1u - repeat;
    if (i <= repeat)
        return f->args[i];
    return n - i <= after ? f->args[f->args_n - (n - i)] : f->args[repeat];
}
