/* The element loops: one for each operator, over whole ranges. */
#include "executor/binary.h"
#include "promql/constant.h"

bool binary_changes_metric(enum binary_op op)
{
    switch (op) {
    case BINARY_ADD:
    case BINARY_SUB:
    case BINARY_MUL:
    case BINARY_DIV:
    case BINARY_MOD:
    case BINARY_POW:
    case BINARY_ATAN2:
        return true;
    default:
        return false;
    }
}

#define COMPARISON_LIST(X)                                                                                             \
    X(EQ, a == b)                                                                                                      \
    X(NE, a != b)                                                                                                      \
    X(GT, a > b)                                                                                                       \
    X(LT, a < b)                                                                                                       \
    X(GE, a >= b)                                                                                                      \
    X(LE, a <= b)

#define X(name, value)                                                                                                 \
    case BINARY_##name:                                                                                                \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            double a = left[i], b = right[i];                                                                          \
            bool there = !value_absent(a) && !value_absent(b);                                                         \
            out[i] = there ? (value) : absent;                                                                         \
            count += there;                                                                                            \
        }                                                                                                              \
        break;
static uint32_t arithmetic(enum binary_op op, const double *left, const double *right, uint32_t n, double *out)
{
    uint32_t count = 0;
    double absent = float_stale();
    switch (op) {
        BINARY_ARITHMETIC_LIST(X)
    default:
        for (uint32_t i = 0; i < n; i++)
            out[i] = absent;
    }
    return count;
}
#undef X

#define X(name, holds)                                                                                                 \
    case BINARY_##name:                                                                                                \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            double a = left[i], b = right[i];                                                                          \
            bool there = !value_absent(a) && !value_absent(b) && (holds);                                              \
            out[i] = there ? kept[i] : absent;                                                                         \
            count += there;                                                                                            \
        }                                                                                                              \
        break;
static uint32_t filter(enum binary_op op, const double *left, const double *right, const double *kept, uint32_t n,
                       double *out)
{
    uint32_t count = 0;
    double absent = float_stale();
    switch (op) {
        COMPARISON_LIST(X)
    default:
        break;
    }
    return count;
}
#undef X

#define X(name, holds)                                                                                                 \
    case BINARY_##name:                                                                                                \
        for (uint32_t i = 0; i < n; i++) {                                                                             \
            double a = left[i], b = right[i];                                                                          \
            bool there = !value_absent(a) && !value_absent(b);                                                         \
            out[i] = there ? (double)(holds) : absent;                                                                 \
            count += there;                                                                                            \
        }                                                                                                              \
        break;
static uint32_t truth(enum binary_op op, const double *left, const double *right, uint32_t n, double *out)
{
    uint32_t count = 0;
    double absent = float_stale();
    switch (op) {
        COMPARISON_LIST(X)
    default:
        break;
    }
    return count;
}
#undef X

uint32_t binary_values(const struct expr *binary, const double *left, const double *right, const double *kept,
                       uint32_t n, double *out)
{
    if (!binary_op_is_comparison(binary->binary))
        return arithmetic(binary->binary, left, right, n, out);
    if (binary->return_bool)
        return truth(binary->binary, left, right, n, out);
    return filter(binary->binary, left, right, kept, n, out);
}
