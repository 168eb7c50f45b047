#include "plan/series_order.h"

#include "promql/function.h"

static bool call_order_is_fixed(const struct expr *e)
{
    switch (e->function->id) {
    case FUNCTION_histogram_quantile: /* in the order their first buckets come */
    case FUNCTION_histogram_quantiles:
    case FUNCTION_histogram_fraction:
    case FUNCTION_quantiles_over_time:
    case FUNCTION_distinct_label_over_time:
    case FUNCTION_entropy_label_over_time:
    case FUNCTION_l2_label_over_time:
    case FUNCTION_topk_label_over_time:
    case FUNCTION_sort: /* at an instant, where alone they do something */
    case FUNCTION_sort_desc:
    case FUNCTION_sort_by_label:
    case FUNCTION_sort_by_label_desc:
        return false;
    default:
        break;
    }
    for (uint32_t i = 0; i < e->args_n; i++) {
        const struct expr *arg = expr_unwrap(e->args[i]);
        if ((arg->type == VALUE_VECTOR || arg->type == VALUE_MATRIX) && !series_order_is_fixed(arg))
            return false;
    }
    return true;
}

/* The result of operators between vectors follows the many side; series that share a result's labels are one there, and
 * stand where the first of the span stood. */
static bool binary_order_is_fixed(const struct expr *e)
{
    const struct vector_matching *m = e->matching;
    const struct expr *left = e->args[0], *right = e->args[1];
    if (!m)
        return series_order_is_fixed(left->type == VALUE_VECTOR ? left : right);
    if (binary_op_is_set(e->binary))
        return series_order_is_fixed(left) && (e->binary != BINARY_OR || series_order_is_fixed(right));
    if (m->has_fill_left || m->has_fill_right || (m->card == CARD_ONE_TO_ONE && (m->on || m->labels_n)))
        return false;
    return series_order_is_fixed(m->card == CARD_ONE_TO_MANY ? right : left);
}

/* One group, one series. */
static bool is_one_series(const struct expr *e)
{
    bool chooses = e->aggregate == AGGREGATE_TOPK || e->aggregate == AGGREGATE_BOTTOMK ||
                   e->aggregate == AGGREGATE_LIMITK || e->aggregate == AGGREGATE_LIMIT_RATIO;
    return e->kind == EXPR_AGGREGATE && !e->without && e->grouping_n == 0 && !chooses &&
           e->aggregate != AGGREGATE_COUNT_VALUES;
}

static bool aggregate_order_is_fixed(const struct expr *e)
{
    if (e->aggregate == AGGREGATE_LIMITK || e->aggregate == AGGREGATE_LIMIT_RATIO)
        return series_order_is_fixed(e->args[0]);
    return is_one_series(e); /* of topk an instant query shows the best first */
}

bool series_order_is_fixed(const struct expr *e)
{
    e = expr_unwrap(e);
    switch (e->kind) {
    case EXPR_SELECTOR:
        return true;
    case EXPR_SUBQUERY:
    case EXPR_UNARY:
        return series_order_is_fixed(e->args[0]);
    case EXPR_CALL:
        return call_order_is_fixed(e);
    case EXPR_BINARY:
        return binary_order_is_fixed(e);
    case EXPR_AGGREGATE:
        return aggregate_order_is_fixed(e);
    default:
        return true;
    }
}

/* Sums do in their last bits, topk among equals. */
static bool minds_order(const struct expr *e)
{
    if (e->kind == EXPR_AGGREGATE)
        return e->aggregate != AGGREGATE_COUNT && e->aggregate != AGGREGATE_GROUP && e->aggregate != AGGREGATE_MIN &&
               e->aggregate != AGGREGATE_MAX && e->aggregate != AGGREGATE_QUANTILE;
    if (e->kind != EXPR_CALL)
        return false;
    enum function_id id = e->function->id;
    return id == FUNCTION_sort || id == FUNCTION_sort_desc || id == FUNCTION_sort_by_label ||
           id == FUNCTION_sort_by_label_desc;
}

bool series_order_is_given(const struct expr *e)
{
    return minds_order(e) && !series_order_is_fixed(e->args[0]);
}

bool series_order_minded(const struct expr *e, const struct expr *operand, bool minded)
{
    operand = expr_unwrap(operand);
    return (minded || minds_order(e)) && operand->type == VALUE_VECTOR && !is_one_series(operand) &&
           series_order_is_fixed(operand);
}
