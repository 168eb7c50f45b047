/*
 * The PromQL syntax tree. One struct for every kind; nodes live in the arena given to the parser and are read-only
 * afterwards, so any number of threads may read one tree.
 *
 * The tree is Prometheus' own in shape: what a user may write prints back in canonical form (promql/print.h), and
 * print(parse(x)) is a fixpoint. Types are checked by the parser, so an evaluator meets well-typed trees only.
 */
#ifndef PROMQL_AST_H
#define PROMQL_AST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/labels.h"
#include "base/matcher.h"
#include "base/str.h"

enum expr_kind {
    EXPR_NUMBER = 1, /* number */
    EXPR_STRING,     /* string */
    EXPR_SELECTOR,   /* vector selector, or matrix selector when type is VALUE_MATRIX */
    EXPR_SUBQUERY,   /* args[0] [range:step] */
    EXPR_CALL,       /* function, args */
    EXPR_AGGREGATE,  /* aggregate op, args[0] = vector, args[1] = parameter if it has one */
    EXPR_BINARY,     /* binary op, args[0], args[1] */
    EXPR_UNARY,      /* minus (plus is dropped), args[0] */
    EXPR_PAREN       /* args[0] */
};

enum value_type { VALUE_NONE = 1, VALUE_SCALAR, VALUE_VECTOR, VALUE_MATRIX, VALUE_STRING };
const char *value_type_name(enum value_type t); /* "none", "scalar", "instant vector", "range vector", "string" */

/* X(NAME, "text", has parameter, experimental) */
#define AGGREGATE_LIST(X)                                                                                              \
    X(SUM, "sum", 0, 0)                                                                                                \
    X(AVG, "avg", 0, 0)                                                                                                \
    X(COUNT, "count", 0, 0)                                                                                            \
    X(MIN, "min", 0, 0)                                                                                                \
    X(MAX, "max", 0, 0)                                                                                                \
    X(GROUP, "group", 0, 0)                                                                                            \
    X(STDDEV, "stddev", 0, 0)                                                                                          \
    X(STDVAR, "stdvar", 0, 0)                                                                                          \
    X(TOPK, "topk", 1, 0)                                                                                              \
    X(BOTTOMK, "bottomk", 1, 0)                                                                                        \
    X(COUNT_VALUES, "count_values", 1, 0)                                                                              \
    X(QUANTILE, "quantile", 1, 0)                                                                                      \
    X(LIMITK, "limitk", 1, 1)                                                                                          \
    X(LIMIT_RATIO, "limit_ratio", 1, 1)
enum aggregate_op {
    AGGREGATE_INVALID = 0,
#define X(name, text, param, exp) AGGREGATE_##name,
    AGGREGATE_LIST(X)
#undef X
};

/* X(NAME, "text") */
#define BINARY_LIST(X)                                                                                                 \
    X(ADD, "+")                                                                                                        \
    X(SUB, "-")                                                                                                        \
    X(MUL, "*")                                                                                                        \
    X(DIV, "/")                                                                                                        \
    X(MOD, "%")                                                                                                        \
    X(POW, "^")                                                                                                        \
    X(ATAN2, "atan2")                                                                                                  \
    X(EQ, "==")                                                                                                        \
    X(NE, "!=")                                                                                                        \
    X(GT, ">")                                                                                                         \
    X(LT, "<")                                                                                                         \
    X(GE, ">=")                                                                                                        \
    X(LE, "<=")                                                                                                        \
    X(AND, "and")                                                                                                      \
    X(OR, "or")                                                                                                        \
    X(UNLESS, "unless")                                                                                                \
    X(TRIM_UPPER, "</")                                                                                                \
    X(TRIM_LOWER, ">/")
enum binary_op {
    BINARY_INVALID = 0,
#define X(name, text) BINARY_##name,
    BINARY_LIST(X)
#undef X
};
const char *aggregate_op_name(enum aggregate_op op);
const char *binary_op_text(enum binary_op op);
bool binary_op_is_comparison(enum binary_op op);
bool binary_op_is_set(enum binary_op op);

enum match_cardinality { CARD_ONE_TO_ONE = 1, CARD_MANY_TO_ONE, CARD_ONE_TO_MANY, CARD_MANY_TO_MANY };

/* How the sides of a binary operator between two vectors meet. */
struct vector_matching {
    enum match_cardinality card;
    bool on;                  /* labels are the ones to match on; false: the ones to ignore */
    const struct str *labels; /* as written */
    uint32_t labels_n;
    const struct str *include; /* group_left / group_right labels */
    uint32_t include_n;
    bool has_fill_left, has_fill_right; /* fill(), fill_left(), fill_right() */
    double fill_left, fill_right;
};

enum at_kind { AT_NONE = 0, AT_TIME, AT_START, AT_END };

/* A duration that depends on the query: arithmetic over literals, step(), range(), min(), max(). */
enum duration_op {
    DURATION_LITERAL = 1, /* value_s seconds */
    DURATION_STEP,
    DURATION_RANGE,
    DURATION_ADD,
    DURATION_SUB,
    DURATION_MUL,
    DURATION_DIV,
    DURATION_MOD,
    DURATION_POW,
    DURATION_MIN,
    DURATION_MAX,
    DURATION_NEG
};
struct duration_expr {
    enum duration_op op;
    double value_s;
    bool is_number;                           /* the literal was written as a bare number */
    bool wrapped;                             /* was in parentheses */
    const struct duration_expr *left, *right; /* DURATION_NEG: left alone */
    uint32_t start, end;                      /* byte span in the query text */
    uint32_t height;                          /* nodes on the longest way down, itself included */
};

/* offset and @ of a selector or subquery. */
struct time_modifier {
    int64_t offset_ms;                       /* after resolving; any sign */
    const struct duration_expr *offset_expr; /* NULL when a plain literal, and after resolving */
    enum at_kind at;
    int64_t at_ms; /* AT_TIME; filled for AT_START / AT_END by expr_resolve */
};

struct function; /* promql/function.h */

struct expr {
    enum expr_kind kind;
    enum value_type type;
    uint32_t start, end; /* byte span in the query text */
    uint32_t height;     /* nodes on the longest way down, itself included: at most PARSE_DEPTH_MAX */
    uint32_t args_n;
    struct expr **args;

    double number;        /* EXPR_NUMBER */
    bool number_duration; /* it was written as a duration (5m): prints as one */
    struct str string;    /* EXPR_STRING: unescaped */

    const struct matcher *matchers; /* EXPR_SELECTOR: sorted by name, op, value; __name__ included; compiled */
    uint32_t matchers_n;
    struct str metric; /* name before the braces ("" if none): printing */
    /* Matrix selectors and subqueries: > 0; 0 for vector selectors. A duration expression that needs no query (no
     * step(), no range()) has its value here at once; one that does has 0 until expr_resolve. The same goes for step
     * and offset. */
    int64_t range_ms;
    const struct duration_expr *range_expr; /* NULL when a plain literal, and after resolving */
    bool anchored, smoothed;                /* extended selectors; a vector selector may carry them too */
    int64_t step_ms;                        /* subqueries: 0 = default step */
    const struct duration_expr *step_expr;
    struct time_modifier time; /* selectors and subqueries */

    const struct function *function; /* EXPR_CALL */

    enum aggregate_op aggregate; /* EXPR_AGGREGATE */
    bool without;
    const struct str *grouping; /* as written */
    uint32_t grouping_n;

    enum binary_op binary;            /* EXPR_BINARY */
    bool return_bool;                 /* bool modifier */
    struct vector_matching *matching; /* NULL unless both sides are vectors */
};

/* The expression inside any parentheses. */
const struct expr *expr_unwrap(const struct expr *e);
/* Equality of what is computed: positions, parentheses, and how a name, number or duration was written aside. Label
 * lists are compared in the order written. */
bool expr_equal(const struct expr *a, const struct expr *b);
/* XXH3 of a text that equal expressions share: expr_equal(a, b) implies expr_hash(a) == expr_hash(b). */
uint64_t expr_hash(const struct expr *e);

#endif
