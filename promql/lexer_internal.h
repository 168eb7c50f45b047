/* What lexer.c and lexer_literal.c share. */
#ifndef PROMQL_LEXER_INTERNAL_H
#define PROMQL_LEXER_INTERNAL_H

#include "promql/lexer.h"

/* The token from l->start to l->at. */
struct token lexer_emit(struct lexer *l, enum token_kind kind);
/* An error placed at l->start. */
struct token lexer_fail(struct lexer *l, const char *format, ...) __attribute__((format(printf, 2, 3), nonnull(2)));

struct token lexer_number(struct lexer *l); /* a number or a duration; a digit or '.' is next */
struct token lexer_string(struct lexer *l); /* a quote is next */

static inline bool lexer_is_digit(int c)
{
    return c >= '0' && c <= '9';
}
static inline bool lexer_is_alpha(int c)
{
    return c == '_' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
static inline bool lexer_is_alnum(int c)
{
    return lexer_is_alpha(c) || lexer_is_digit(c);
}

#endif
