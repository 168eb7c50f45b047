/*
 * Text to tokens, one at a time. The tokens and the mistakes found here are Prometheus': what a character means depends
 * on whether a brace or a bracket is open, and after `[` until the first number only a duration may stand.
 *
 * Tokens borrow the text. After TOKEN_ERROR or TOKEN_EOF every further token is the same one. One thread per lexer.
 */
#ifndef PROMQL_LEXER_H
#define PROMQL_LEXER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

/* How a token is described in "unexpected ...": see token_describe. */
enum token_class {
    TOKEN_CLASS_NAMED = 1,  /* kind and text: identifier "x" */
    TOKEN_CLASS_SIGN,       /* text alone: "(" */
    TOKEN_CLASS_OPERATOR,   /* <op:+> */
    TOKEN_CLASS_AGGREGATOR, /* <aggr:sum> */
    TOKEN_CLASS_KEYWORD     /* <by> */
};

enum token_use {
    TOKEN_USE_METRIC = 1, /* the word may also name a metric */
    TOKEN_USE_LABEL = 2,  /* ... or a label in by (...), on (...) */
    TOKEN_USE_CALL = 4    /* ... or a function */
};

#define TOKEN_USE_NAME (TOKEN_USE_METRIC | TOKEN_USE_LABEL)
#define TOKEN_USE_ALL (TOKEN_USE_NAME | TOKEN_USE_CALL)

/* X(NAME, class, text of the fixed ones or what it is called, uses) */
#define TOKEN_LIST(X)                                                                                                  \
    X(EOF, NAMED, "end of input", 0)                                                                                   \
    X(ERROR, NAMED, "error", 0)                                                                                        \
    X(IDENTIFIER, NAMED, "identifier", TOKEN_USE_ALL)                                                                  \
    X(METRIC_IDENTIFIER, NAMED, "metric identifier", TOKEN_USE_NAME)                                                   \
    X(STRING, NAMED, "string", 0)                                                                                      \
    X(NUMBER, NAMED, "number", 0)                                                                                      \
    X(DURATION, NAMED, "duration", 0)                                                                                  \
    X(LEFT_PAREN, SIGN, "(", 0)                                                                                        \
    X(RIGHT_PAREN, SIGN, ")", 0)                                                                                       \
    X(LEFT_BRACE, SIGN, "{", 0)                                                                                        \
    X(RIGHT_BRACE, SIGN, "}", 0)                                                                                       \
    X(LEFT_BRACKET, SIGN, "[", 0)                                                                                      \
    X(RIGHT_BRACKET, SIGN, "]", 0)                                                                                     \
    X(COMMA, SIGN, ",", 0)                                                                                             \
    X(COLON, SIGN, ":", 0)                                                                                             \
    X(ASSIGN, SIGN, "=", 0)                                                                                            \
    X(ADD, OPERATOR, "+", 0)                                                                                           \
    X(SUB, OPERATOR, "-", 0)                                                                                           \
    X(MUL, OPERATOR, "*", 0)                                                                                           \
    X(DIV, OPERATOR, "/", 0)                                                                                           \
    X(MOD, OPERATOR, "%", 0)                                                                                           \
    X(POW, OPERATOR, "^", 0)                                                                                           \
    X(EQ, OPERATOR, "==", 0)                                                                                           \
    X(NE, OPERATOR, "!=", 0)                                                                                           \
    X(GT, OPERATOR, ">", 0)                                                                                            \
    X(LT, OPERATOR, "<", 0)                                                                                            \
    X(GE, OPERATOR, ">=", 0)                                                                                           \
    X(LE, OPERATOR, "<=", 0)                                                                                           \
    X(TRIM_UPPER, OPERATOR, "</", 0)                                                                                   \
    X(TRIM_LOWER, OPERATOR, ">/", 0)                                                                                   \
    X(RE, OPERATOR, "=~", 0)                                                                                           \
    X(NRE, OPERATOR, "!~", 0)                                                                                          \
    X(AT, OPERATOR, "@", 0)                                                                                            \
    TOKEN_WORD_LIST(X)

/* The words, matched in any case. X as above. */
#define TOKEN_WORD_LIST(X)                                                                                             \
    X(AND, OPERATOR, "and", TOKEN_USE_NAME)                                                                            \
    X(OR, OPERATOR, "or", TOKEN_USE_NAME)                                                                              \
    X(UNLESS, OPERATOR, "unless", TOKEN_USE_NAME)                                                                      \
    X(ATAN2, OPERATOR, "atan2", TOKEN_USE_LABEL)                                                                       \
    X(SUM, AGGREGATOR, "sum", TOKEN_USE_NAME)                                                                          \
    X(AVG, AGGREGATOR, "avg", TOKEN_USE_NAME)                                                                          \
    X(COUNT, AGGREGATOR, "count", TOKEN_USE_NAME)                                                                      \
    X(MIN, AGGREGATOR, "min", TOKEN_USE_NAME)                                                                          \
    X(MAX, AGGREGATOR, "max", TOKEN_USE_NAME)                                                                          \
    X(GROUP, AGGREGATOR, "group", TOKEN_USE_NAME)                                                                      \
    X(STDDEV, AGGREGATOR, "stddev", TOKEN_USE_NAME)                                                                    \
    X(STDVAR, AGGREGATOR, "stdvar", TOKEN_USE_NAME)                                                                    \
    X(TOPK, AGGREGATOR, "topk", TOKEN_USE_NAME)                                                                        \
    X(BOTTOMK, AGGREGATOR, "bottomk", TOKEN_USE_NAME)                                                                  \
    X(COUNT_VALUES, AGGREGATOR, "count_values", TOKEN_USE_NAME)                                                        \
    X(QUANTILE, AGGREGATOR, "quantile", TOKEN_USE_NAME)                                                                \
    X(LIMITK, AGGREGATOR, "limitk", TOKEN_USE_NAME)                                                                    \
    X(LIMIT_RATIO, AGGREGATOR, "limit_ratio", TOKEN_USE_NAME)                                                          \
    X(OFFSET, KEYWORD, "offset", TOKEN_USE_NAME)                                                                       \
    X(SMOOTHED, KEYWORD, "smoothed", TOKEN_USE_NAME)                                                                   \
    X(ANCHORED, KEYWORD, "anchored", TOKEN_USE_NAME)                                                                   \
    X(BY, KEYWORD, "by", TOKEN_USE_NAME)                                                                               \
    X(WITHOUT, KEYWORD, "without", TOKEN_USE_NAME)                                                                     \
    X(ON, KEYWORD, "on", TOKEN_USE_LABEL)                                                                              \
    X(IGNORING, KEYWORD, "ignoring", TOKEN_USE_LABEL)                                                                  \
    X(GROUP_LEFT, KEYWORD, "group_left", TOKEN_USE_LABEL)                                                              \
    X(GROUP_RIGHT, KEYWORD, "group_right", TOKEN_USE_LABEL)                                                            \
    X(FILL, KEYWORD, "fill", TOKEN_USE_NAME)                                                                           \
    X(FILL_LEFT, KEYWORD, "fill_left", TOKEN_USE_NAME)                                                                 \
    X(FILL_RIGHT, KEYWORD, "fill_right", TOKEN_USE_NAME)                                                               \
    X(BOOL, KEYWORD, "bool", TOKEN_USE_LABEL)                                                                          \
    X(START, SIGN, "start", TOKEN_USE_ALL)                                                                             \
    X(END, SIGN, "end", TOKEN_USE_ALL)                                                                                 \
    X(STEP, SIGN, "step", TOKEN_USE_ALL)                                                                               \
    X(RANGE, SIGN, "range", TOKEN_USE_ALL)                                                                             \
    X(MIN_OF, SIGN, "min_of", TOKEN_USE_ALL)                                                                           \
    X(MAX_OF, SIGN, "max_of", TOKEN_USE_ALL)

enum token_kind {
    TOKEN_INVALID = 0,
#define X(name, cls, text, uses) TOKEN_##name,
    TOKEN_LIST(X)
#undef X
        TOKEN_END_OF_LIST
};

struct token {
    enum token_kind kind;
    uint32_t start, end; /* byte span; of an error: where it is */
    struct str text;     /* as written; of an error: the message, borrowed from the lexer */
};

struct lexer {
    const char *p;
    uint32_t n, at, start; /* length, next byte, first byte of the token */
    uint32_t paren_depth;
    bool brace_open, bracket_open;
    bool in_duration; /* after `[`, before its first number */
    bool got_colon, got_duration;
    bool ended;
    struct token last;
    char message[200];
};

/* text.n <= UINT32_MAX - 1; the text must outlive the tokens. */
void lexer_init(struct lexer *l, struct str text);
struct token lexer_next(struct lexer *l);

bool token_may(enum token_kind kind, enum token_use use);
/* The words of "unexpected ...": end of input, identifier "x", <op:+>, "(". Writes at most n bytes with the NUL. */
void token_describe(const struct token *t, char *ret, size_t n);

/* 'c' as Go's %q shows a character; a malformed one shows as U+FFFD. */
void lexer_quote_char(const char *p, size_t n, char ret[16]);

#endif
