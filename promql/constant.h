/*
 * Scalar expressions that are known before any query runs: number literals and arithmetic over them, as 4 * 3600. The
 * operators' arithmetic stands here once; the executor's loops are made of it too.
 */
#ifndef PROMQL_CONSTANT_H
#define PROMQL_CONSTANT_H

#include <math.h>

#include "promql/ast.h"

/* X(operator, value of a and b) */
#define BINARY_ARITHMETIC_LIST(X)                                                                                      \
    X(ADD, a + b)                                                                                                      \
    X(SUB, a - b)                                                                                                      \
    X(MUL, a *b)                                                                                                       \
    X(DIV, a / b)                                                                                                      \
    X(MOD, fmod(a, b))                                                                                                 \
    X(POW, pow(a, b))                                                                                                  \
    X(ATAN2, atan2(a, b))

/* The value of such an expression; false for any other, *ret untouched. */
bool expr_constant(const struct expr *e, double *ret);

#endif
