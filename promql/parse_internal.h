/*
 * What the parser's files share: the state of one parse, and its rules.
 *
 * Recursive descent with precedence climbing. A rule returns NULL (or false) after the first mistake, which parse_fail
 * has then recorded; nobody looks for a second one. `context` and `expected` are the words of the innermost construct
 * that has its own ("in aggregation", "in offset, expected ..."), as Prometheus' grammar picks them.
 */
#ifndef PROMQL_PARSE_INTERNAL_H
#define PROMQL_PARSE_INTERNAL_H

#include "promql/function.h"
#include "promql/lexer.h"
#include "promql/parse.h"

struct error_context {
    const char *context, *expected;
};

struct parser {
    struct str text;
    struct lexer lexer;
    struct token cur, ahead; /* ahead.kind 0: not read yet */
    uint32_t last_end;       /* end of the token taken last */
    uint32_t depth, nodes_n;
    struct error_context context;
    struct arena *arena;
    struct parsed *parsed;
    struct err *err;
    int code; /* 0 until something failed */
};

/* parse.c */
void parse_fail(struct parser *p, uint32_t at, const char *format, ...)
    __attribute__((format(printf, 3, 4), nonnull(3)));
void parse_fail_arena(struct parser *p);
/* "unexpected <token>" in the current context, or in the one given. A lexer's error speaks for itself. */
void parse_unexpected(struct parser *p);
void parse_unexpected_in(struct parser *p, const char *context, const char *expected);
struct token parse_take(struct parser *p);
bool parse_accept(struct parser *p, enum token_kind kind);
enum token_kind parse_peek(struct parser *p); /* the kind after cur */
struct expr *parse_node(struct parser *p, enum expr_kind kind, enum value_type type, uint32_t start);
/* Give a node its operands; its height follows from theirs. */
bool parse_set_args(struct parser *p, struct expr *e, struct expr *const *args, uint32_t n);
struct expr *parse_expr(struct parser *p);
/* One level deeper; false past PARSE_DEPTH_MAX. */
bool parse_enter(struct parser *p);
void parse_leave(struct parser *p);
/* Go-quoted copy in the arena, for messages; at most 200 bytes of s. */
const char *parse_quoted(struct parser *p, struct str s);

/* parse_selector.c */
struct expr *parse_vector_selector(struct parser *p);
bool parse_string(struct parser *p, struct token t, struct str *ret);

/* parse_call.c */
struct expr *parse_aggregate(struct parser *p);
struct expr *parse_call(struct parser *p);
struct binary_modifiers {
    bool return_bool;
    struct vector_matching matching;
};
bool parse_binary_modifiers(struct parser *p, struct binary_modifiers *ret);

/* parse_duration.c */
bool parse_literal_seconds(struct parser *p, struct token t, double *ret);
struct expr *parse_bracket(struct parser *p, struct expr *e);
bool parse_offset(struct parser *p, struct expr *e);
bool parse_at(struct parser *p, struct expr *e);
bool parse_extended(struct parser *p, struct expr *e);

/* check.c: types, arguments and matchers of the whole tree, in Prometheus' order. */
bool parse_check(struct parser *p, struct expr *root);

#endif
