#include "plan/file_format.h"

static const char *const halves[] = {"", "precompute", "query"};
static const char *const outs[] = {"", "samples", "state", "vector", "scalar"};
static const char *const whens[] = {"", "ingestion", "query_kept", "query"};

const struct keywords half_keywords = {halves, sizeof halves / sizeof halves[0]};
const struct keywords out_keywords = {outs, sizeof outs / sizeof outs[0]};
const struct keywords when_keywords = {whens, sizeof whens / sizeof whens[0]};

const char *keyword_of(const struct keywords *k, int value)
{
    return value > 0 && value < k->n ? k->names[value] : "";
}

uint32_t plan_op_args(enum plan_op op)
{
    switch (op) {
    case PLAN_OP_SCAN:
        return ARG_SOURCE | ARG_TIME;
    case PLAN_OP_BUILD:
    case PLAN_OP_MERGE:
        return ARG_VIEW;
    case PLAN_OP_PANE_READ:
        return ARG_VIEW | ARG_TIME | ARG_COUNT;
    case PLAN_OP_ESTIMATE:
        return ARG_STATISTIC | ARG_EXPR;
    case PLAN_OP_STORED:
        return ARG_ROOT | ARG_EXPR;
    case PLAN_OP_RAW:
    case PLAN_OP_VECTOR:
        return ARG_EXPR;
    case PLAN_OP_INVALID:
    case PLAN_OP_END:
        break;
    }
    return 0;
}
