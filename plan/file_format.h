/*
 * What the writer and the reader of plan files share: keywords, and which arguments each operator has. Inside plan/
 * only.
 */
#ifndef PLAN_FILE_FORMAT_H
#define PLAN_FILE_FORMAT_H

#include "plan/plan.h"

#define PLAN_FORMAT_PREFIX "mullion-plan/"
enum { PLAN_FORMAT_VERSION = 1 };

enum plan_arg {
    ARG_SOURCE = 1 << 0,
    ARG_VIEW = 1 << 1,
    ARG_COUNT = 1 << 2,
    ARG_TIME = 1 << 3, /* offset_ms and at_ms (null: not anchored) */
    ARG_STATISTIC = 1 << 4,
    ARG_ROOT = 1 << 5,
    ARG_EXPR = 1 << 6
};
uint32_t plan_op_args(enum plan_op op); /* ARG_* bits */

/* Keyword tables: index = enum value, [0] empty. keyword_of a value out of range is "".  */
struct keywords {
    const char *const *names;
    int n;
};
extern const struct keywords half_keywords, out_keywords, when_keywords;
const char *keyword_of(const struct keywords *k, int value);

#endif
