#include "planner/accuracy.h"

#include <math.h>

#include "promql/function.h"

enum { KIND_RANK = 1, KIND_RELATIVE = 2, KIND_CARDINALITY = 4, KIND_ALL = 7 };
enum rule_form {
    RULE_NONE = 1,
    RULE_PASS,
    RULE_CERTAIN, /* pass, but only an error that never fails */
    RULE_PRODUCT,
    RULE_QUOTIENT,
    RULE_INVERSE,
    RULE_EITHER /* or */
};
struct rule {
    enum rule_form form;
    unsigned kinds; /* of error that it takes */
};

/* Targets are split with a little room, so that composing the parts again cannot pass the whole by rounding. */
#define SPLIT_ROOM (1 - 1e-9)

bool accuracy_statistic_may_sketch(enum statistic s)
{
    return s == STATISTIC_QUANTILE || s == STATISTIC_QUANTILE_RANK || s == STATISTIC_DISTINCT || s == STATISTIC_TOPK ||
           s == STATISTIC_ENTROPY || s == STATISTIC_L2;
}

bool accuracy_may_sketch(const struct logical *l, uint32_t node)
{
    const struct logical_node *n = &l->nodes[node];
    if (!n->has_site)
        return false;
    if (n->is_site)
        return accuracy_statistic_may_sketch(n->site.statistic);
    if (n->is_group_site && accuracy_statistic_may_sketch(n->group_site.statistic))
        return true;
    for (uint32_t i = 0; i < n->in_n; i++) {
        if (accuracy_may_sketch(l, l->edges[n->in_first + i]))
            return true;
    }
    return false;
}

static const struct rule no_rule = {RULE_NONE, 0};

static struct rule binary_rule(const struct expr *e, bool on_left, bool other_sketches)
{
    const struct expr *other = expr_unwrap(e->args[on_left ? 1 : 0]);
    bool literal = other->kind == EXPR_NUMBER;
    switch (e->binary) {
    case BINARY_MUL:
        if (other_sketches)
            return (struct rule){RULE_PRODUCT, KIND_RELATIVE};
        return (struct rule){RULE_PASS, literal ? KIND_ALL : KIND_RELATIVE | KIND_CARDINALITY};
    case BINARY_DIV:
        if (other_sketches)
            return (struct rule){RULE_QUOTIENT, KIND_RELATIVE};
        if (!on_left)
            return (struct rule){RULE_INVERSE, KIND_RELATIVE};
        return (struct rule){RULE_PASS, literal ? KIND_ALL : KIND_RELATIVE | KIND_CARDINALITY};
    case BINARY_ADD:
    case BINARY_SUB:
        return literal ? (struct rule){RULE_PASS, KIND_RANK} : no_rule;
    case BINARY_OR:
        return (struct rule){RULE_EITHER, KIND_ALL};
    case BINARY_AND:
    case BINARY_UNLESS:
        return on_left ? (struct rule){RULE_PASS, KIND_ALL} : no_rule;
    default:
        return no_rule;
    }
}

static struct rule call_rule(const struct expr *e)
{
    switch (e->function->id) {
    case FUNCTION_abs:
        return (struct rule){RULE_PASS, KIND_RELATIVE | KIND_CARDINALITY};
    case FUNCTION_clamp:
    case FUNCTION_clamp_max:
    case FUNCTION_clamp_min:
        for (uint32_t i = 1; i < e->args_n; i++) {
            if (expr_unwrap(e->args[i])->kind != EXPR_NUMBER)
                return no_rule;
        }
        return (struct rule){RULE_PASS, KIND_RANK | KIND_RELATIVE};
    case FUNCTION_label_join:
    case FUNCTION_label_replace:
    case FUNCTION_scalar:
    case FUNCTION_sort:
    case FUNCTION_sort_by_label:
    case FUNCTION_sort_by_label_desc:
    case FUNCTION_sort_desc:
    case FUNCTION_vector:
        return (struct rule){RULE_PASS, KIND_ALL};
    default:
        return no_rule;
    }
}

/* The rule for an error in operand i. */
static struct rule operand_rule(const struct logical *l, uint32_t node, uint32_t i)
{
    const struct logical_node *n = &l->nodes[node];
    const struct expr *e = n->expr;
    switch (e->kind) {
    case EXPR_UNARY:
        return (struct rule){RULE_PASS, KIND_ALL};
    case EXPR_CALL:
        return call_rule(e);
    case EXPR_AGGREGATE:
        if (e->aggregate == AGGREGATE_MIN || e->aggregate == AGGREGATE_MAX)
            return (struct rule){RULE_CERTAIN, KIND_RELATIVE};
        return no_rule;
    case EXPR_BINARY: {
        /* A literal is no operand, so the only operand may be either side. */
        bool on_left = n->in_n == 2 ? i == 0 : expr_unwrap(e->args[0])->kind != EXPR_NUMBER;
        bool other_sketches = n->in_n == 2 && accuracy_may_sketch(l, l->edges[n->in_first + 1 - i]);
        return binary_rule(e, on_left, other_sketches);
    }
    default:
        return no_rule;
    }
}

static unsigned kinds_of(enum accuracy_kind k)
{
    switch (k) {
    case ACCURACY_RANK:
        return KIND_RANK;
    case ACCURACY_RELATIVE:
        return KIND_RELATIVE;
    case ACCURACY_CARDINALITY:
        return KIND_CARDINALITY;
    case ACCURACY_ANY:
        return KIND_ALL;
    case ACCURACY_EXACT:
    case ACCURACY_FREQUENCY:
    case ACCURACY_NONE:
        break;
    }
    return 0;
}

static enum accuracy_kind kind_of_mask(unsigned kinds)
{
    switch (kinds) {
    case KIND_RANK:
        return ACCURACY_RANK;
    case KIND_RELATIVE:
        return ACCURACY_RELATIVE;
    case KIND_CARDINALITY:
        return ACCURACY_CARDINALITY;
    default:
        return ACCURACY_ANY;
    }
}

/* Under `error` a rule for two of three kinds leaves two; a demand names one or any, so the one that quantiles have. */
static unsigned narrow(unsigned kinds)
{
    if (kinds == (KIND_RELATIVE | KIND_CARDINALITY) || kinds == (KIND_RELATIVE | KIND_RANK))
        return KIND_RELATIVE;
    return kinds;
}

struct accuracy accuracy_down(const struct logical *l, uint32_t node, uint32_t i, const struct accuracy *target,
                              const char **ret_strict)
{
    struct accuracy exact = {ACCURACY_EXACT, 0, 0};
    uint32_t operand = l->edges[l->nodes[node].in_first + i];
    if (target->kind == ACCURACY_EXACT || !accuracy_may_sketch(l, operand))
        return exact;
    if (target->kind == ACCURACY_NONE)
        return *target;
    struct rule rule = operand_rule(l, node, i);
    unsigned kinds = narrow(rule.kinds & kinds_of(target->kind));
    if (rule.form == RULE_NONE || kinds == 0) {
        *ret_strict = "no_rule: no accuracy rule leads from an approximate operand through the operator above it";
        return exact;
    }
    struct accuracy t = {kind_of_mask(kinds), target->error, target->failure};
    double error = target->error;
    switch (rule.form) {
    case RULE_CERTAIN:
        t.failure = 0;
        break;
    case RULE_PRODUCT: /* (1 + a)^2 - 1 */
        t.error = error / (sqrt(1 + error) + 1) * SPLIT_ROOM;
        t.failure /= 2;
        break;
    case RULE_QUOTIENT: /* (1 + a) / (1 - a) - 1 */
        t.error = error / (2 + error) * SPLIT_ROOM;
        t.failure /= 2;
        break;
    case RULE_INVERSE: /* 1 / (1 - a) - 1 */
        t.error = error / (1 + error) * SPLIT_ROOM;
        break;
    case RULE_NONE:
    case RULE_PASS:
    case RULE_EITHER:
        break;
    }
    return t;
}

/* Two operands with errors. */
static bool combine(enum rule_form form, const struct accuracy *a, const struct accuracy *b, struct accuracy *ret)
{
    if (a->kind != b->kind)
        return false;
    *ret = *a;
    switch (form) {
    case RULE_EITHER:
        ret->error = fmax(a->error, b->error);
        ret->failure = fmax(a->failure, b->failure);
        return true;
    case RULE_PRODUCT:
        ret->error = (1 + a->error) * (1 + b->error) - 1;
        ret->failure = fmin(1, a->failure + b->failure);
        return true;
    case RULE_QUOTIENT:
        ret->error = (1 + a->error) / (1 - b->error) - 1;
        ret->failure = fmin(1, a->failure + b->failure);
        return true;
    default:
        return false;
    }
}

bool accuracy_up(const struct logical *l, uint32_t node, const struct accuracy *operands, struct accuracy *ret)
{
    const struct logical_node *n = &l->nodes[node];
    struct accuracy have = {ACCURACY_EXACT, 0, 0};
    uint32_t inexact_n = 0;
    for (uint32_t i = 0; i < n->in_n; i++) {
        if (operands[i].kind == ACCURACY_EXACT)
            continue;
        struct rule rule = operand_rule(l, node, i);
        if (rule.form == RULE_NONE || !(rule.kinds & kinds_of(operands[i].kind)) ||
            (rule.form == RULE_CERTAIN && operands[i].failure > 0))
            return false;
        if (inexact_n++ > 0) {
            struct accuracy first = have;
            if (inexact_n > 2 || !combine(rule.form, &first, &operands[i], &have))
                return false;
            continue;
        }
        have = operands[i];
        /* The other operand may turn out exact; then a quotient's right side is an inverse. */
        if (rule.form == RULE_INVERSE || (rule.form == RULE_QUOTIENT && i == 1 && operands[0].kind == ACCURACY_EXACT))
            have.error = 1 / (1 - have.error) - 1;
    }
    *ret = have;
    return true;
}
