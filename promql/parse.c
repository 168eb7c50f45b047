/* Expressions: precedence, unary minus, postfix modifiers; the token stream, errors and the entry points. */
#include "promql/parse.h"

#include <stdio.h>

#include "base/alloc.h"
#include "promql/literal.h"
#include "promql/parse_internal.h"

/* Line and column of a byte, as "LINE:COL: parse error: ". */
static void place_of(struct str text, uint32_t at, uint32_t *line, uint32_t *column)
{
    *line = 1;
    uint32_t line_start = 0;
    for (uint32_t i = 0; i < at && i < text.n; i++) {
        if (text.p[i] == '\n') {
            ++*line;
            line_start = i + 1;
        }
    }
    *column = at - line_start + 1;
}

void parse_fail(struct parser *p, uint32_t at, const char *format, ...)
{
    if (p->code)
        return;
    char message[900];
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    uint32_t line, column;
    place_of(p->text, at, &line, &column);
    if (p->text.n == 0)
        p->code = err_set(p->err, ERR_BAD_DATA, "unknown position: parse error: %s", message);
    else
        p->code = err_set_at(p->err, ERR_BAD_DATA, line, column, "%u:%u: parse error: %s", line, column, message);
}

void parse_fail_arena(struct parser *p)
{
    if (p->code == 0)
        p->code = arena_check(p->arena, "query", p->err);
    if (p->code == 0)
        p->code = err_set(p->err, ERR_LIMIT, "query needs more memory than it may use");
}

void parse_unexpected_in(struct parser *p, const char *context, const char *expected)
{
    const struct token *t = &p->cur;
    if (t->kind == TOKEN_ERROR) {
        parse_fail(p, t->start, STR_FMT, STR_ARG(t->text));
        return;
    }
    char what[400];
    token_describe(t, what, sizeof what);
    parse_fail(p, t->start, "unexpected %s%s%s%s%s", what, context ? " in " : "", context ? context : "",
               expected ? ", expected " : "", expected ? expected : "");
}

void parse_unexpected(struct parser *p)
{
    parse_unexpected_in(p, p->context.context, p->context.expected);
}

struct token parse_take(struct parser *p)
{
    struct token t = p->cur;
    p->last_end = t.end;
    p->cur = p->ahead.kind ? p->ahead : lexer_next(&p->lexer);
    p->ahead.kind = TOKEN_INVALID;
    return t;
}

bool parse_accept(struct parser *p, enum token_kind kind)
{
    if (p->cur.kind != kind)
        return false;
    parse_take(p);
    return true;
}

enum token_kind parse_peek(struct parser *p)
{
    if (p->ahead.kind == TOKEN_INVALID)
        p->ahead = lexer_next(&p->lexer);
    return p->ahead.kind;
}

bool parse_enter(struct parser *p)
{
    if (++p->depth <= PARSE_DEPTH_MAX)
        return true;
    parse_fail(p, p->cur.start,
               "expression is nested more than %d levels deep; split it up, e.g. with a recording rule",
               PARSE_DEPTH_MAX);
    return false;
}

void parse_leave(struct parser *p)
{
    p->depth--;
}

const char *parse_quoted(struct parser *p, struct str s)
{
    struct strbuf b = {0};
    if (s.n > 200)
        s.n = 200;
    strbuf_add_go_quoted(&b, s);
    const char *ret = arena_strndup(p->arena, b.p, b.n);
    strbuf_done(&b);
    return ret ? ret : "";
}

struct expr *parse_node(struct parser *p, enum expr_kind kind, enum value_type type, uint32_t start)
{
    if (++p->nodes_n > PARSE_NODES_MAX) {
        parse_fail(p, start, "expression has more than %d parts; split it up", PARSE_NODES_MAX);
        return NULL;
    }
    struct expr *e = ARENA_NEW(p->arena, struct expr);
    if (!e) {
        parse_fail_arena(p);
        return NULL;
    }
    e->kind = kind;
    e->type = type;
    e->start = start;
    e->end = p->last_end;
    e->height = 1;
    return e;
}

bool parse_set_args(struct parser *p, struct expr *e, struct expr *const *args, uint32_t n)
{
    if (n == 0)
        return true;
    e->args = arena_dup(p->arena, args, n * sizeof *args);
    if (!e->args) {
        parse_fail_arena(p);
        return false;
    }
    e->args_n = n;
    for (uint32_t i = 0; i < n; i++)
        if (e->args[i]->height >= e->height)
            e->height = e->args[i]->height + 1;
    if (e->height <= PARSE_DEPTH_MAX)
        return true;
    parse_fail(p, e->start, "expression is nested more than %d levels deep; split it up, e.g. with a recording rule",
               PARSE_DEPTH_MAX);
    return false;
}

/* Binary operators: the token, the operator, how tightly it binds. */
static const struct {
    enum token_kind token;
    enum binary_op op;
    int binds;
} operator_table[] = {
    {TOKEN_OR, BINARY_OR, 1},
    {TOKEN_AND, BINARY_AND, 2},
    {TOKEN_UNLESS, BINARY_UNLESS, 2},
    {TOKEN_EQ, BINARY_EQ, 3},
    {TOKEN_NE, BINARY_NE, 3},
    {TOKEN_GT, BINARY_GT, 3},
    {TOKEN_LT, BINARY_LT, 3},
    {TOKEN_GE, BINARY_GE, 3},
    {TOKEN_LE, BINARY_LE, 3},
    {TOKEN_TRIM_UPPER, BINARY_TRIM_UPPER, 3},
    {TOKEN_TRIM_LOWER, BINARY_TRIM_LOWER, 3},
    {TOKEN_ADD, BINARY_ADD, 4},
    {TOKEN_SUB, BINARY_SUB, 4},
    {TOKEN_MUL, BINARY_MUL, 5},
    {TOKEN_DIV, BINARY_DIV, 5},
    {TOKEN_MOD, BINARY_MOD, 5},
    {TOKEN_ATAN2, BINARY_ATAN2, 5},
    {TOKEN_POW, BINARY_POW, 6},
};
enum { BINDS_LEAST = 1, BINDS_POWER = 6 };

static int operator_of(enum token_kind kind, enum binary_op *op)
{
    for (size_t i = 0; i < sizeof operator_table / sizeof *operator_table; i++) {
        if (operator_table[i].token == kind) {
            *op = operator_table[i].op;
            return operator_table[i].binds;
        }
    }
    return 0;
}

static struct expr *parse_number(struct parser *p)
{
    struct token t = parse_take(p);
    struct expr *e = parse_node(p, EXPR_NUMBER, VALUE_SCALAR, t.start);
    if (!e || !parse_literal_seconds(p, t, &e->number))
        return NULL;
    e->number_duration = t.kind == TOKEN_DURATION;
    return e;
}

static struct expr *parse_string_literal(struct parser *p)
{
    struct token t = parse_take(p);
    struct expr *e = parse_node(p, EXPR_STRING, VALUE_STRING, t.start);
    return e && parse_string(p, t, &e->string) ? e : NULL;
}

static struct expr *parse_paren(struct parser *p)
{
    struct token t = parse_take(p);
    struct expr *inside = parse_expr(p);
    if (!inside)
        return NULL;
    if (!parse_accept(p, TOKEN_RIGHT_PAREN)) {
        parse_unexpected(p);
        return NULL;
    }
    struct expr *e = parse_node(p, EXPR_PAREN, inside->type, t.start);
    return e && parse_set_args(p, e, &inside, 1) ? e : NULL;
}

/* An aggregator's name is a metric's name unless one of these follows. */
static bool aggregation_follows(struct parser *p)
{
    enum token_kind after = parse_peek(p);
    return after == TOKEN_LEFT_PAREN || after == TOKEN_BY || after == TOKEN_WITHOUT;
}

static struct expr *parse_primary(struct parser *p)
{
    enum token_kind kind = p->cur.kind;
    switch (kind) {
    case TOKEN_LEFT_PAREN:
        return parse_paren(p);
    case TOKEN_STRING:
        return parse_string_literal(p);
    case TOKEN_NUMBER:
    case TOKEN_DURATION:
        return parse_number(p);
    case TOKEN_LEFT_BRACE:
        return parse_vector_selector(p);
    default:
        break;
    }
    if (kind >= TOKEN_SUM && kind <= TOKEN_LIMIT_RATIO && aggregation_follows(p))
        return parse_aggregate(p);
    if (token_may(kind, TOKEN_USE_CALL) && parse_peek(p) == TOKEN_LEFT_PAREN)
        return parse_call(p);
    if (token_may(kind, TOKEN_USE_METRIC))
        return parse_vector_selector(p);
    parse_unexpected(p);
    return NULL;
}

static struct expr *parse_postfix(struct parser *p)
{
    struct expr *e = parse_primary(p);
    while (e) {
        bool ok = true;
        switch (p->cur.kind) {
        case TOKEN_LEFT_BRACKET:
            e = parse_bracket(p, e);
            break;
        case TOKEN_OFFSET:
            ok = parse_offset(p, e);
            break;
        case TOKEN_AT:
            ok = parse_at(p, e);
            break;
        case TOKEN_ANCHORED:
        case TOKEN_SMOOTHED:
            ok = parse_extended(p, e);
            break;
        default:
            return e;
        }
        if (!ok)
            return NULL;
    }
    return NULL;
}

static struct expr *parse_binary_level(struct parser *p, int least);

/* The sign binds less than ^ and more than everything else. A signed number is one literal; plus does nothing. */
static struct expr *parse_unary(struct parser *p)
{
    if (p->cur.kind != TOKEN_ADD && p->cur.kind != TOKEN_SUB)
        return parse_postfix(p);
    struct token sign = parse_take(p);
    struct expr *operand = parse_binary_level(p, BINDS_POWER);
    if (!operand)
        return NULL;
    if (operand->kind == EXPR_NUMBER) {
        if (sign.kind == TOKEN_SUB)
            operand->number = -operand->number;
        operand->start = sign.start;
        return operand;
    }
    bool typed = operand->type == VALUE_SCALAR || operand->type == VALUE_VECTOR;
    if (sign.kind == TOKEN_ADD && typed)
        return operand;
    struct expr *e = parse_node(p, EXPR_UNARY, operand->type, sign.start);
    return e && parse_set_args(p, e, &operand, 1) ? e : NULL;
}

static struct expr *new_binary(struct parser *p, enum binary_op op, const struct binary_modifiers *m, struct expr *left,
                               struct expr *right)
{
    bool scalar = left->type == VALUE_SCALAR && right->type == VALUE_SCALAR;
    struct expr *e = parse_node(p, EXPR_BINARY, scalar ? VALUE_SCALAR : VALUE_VECTOR, left->start);
    struct expr *sides[2] = {left, right};
    if (!e || !parse_set_args(p, e, sides, 2))
        return NULL;
    e->binary = op;
    e->return_bool = m->return_bool;
    e->matching = arena_dup(p->arena, &m->matching, sizeof m->matching);
    if (!e->matching) {
        parse_fail_arena(p);
        return NULL;
    }
    return e;
}

static struct expr *parse_binary_level(struct parser *p, int least)
{
    if (!parse_enter(p))
        return NULL;
    struct expr *left = parse_unary(p);
    enum binary_op op = BINARY_INVALID;
    for (int binds; left && (binds = operator_of(p->cur.kind, &op)) >= least;) {
        struct binary_modifiers modifiers;
        parse_take(p);
        if (!parse_binary_modifiers(p, &modifiers))
            return NULL;
        /* ^ alone associates to the right. */
        struct expr *right = parse_binary_level(p, op == BINARY_POW ? binds : binds + 1);
        left = right ? new_binary(p, op, &modifiers, left, right) : NULL;
    }
    parse_leave(p);
    return left;
}

struct expr *parse_expr(struct parser *p)
{
    return parse_binary_level(p, BINDS_LEAST);
}

static int parser_init(struct parser *p, struct str text, struct arena *a, struct parsed *parsed, struct err *e)
{
    *p = (struct parser){.arena = a, .parsed = parsed, .err = e};
    if (text.n > PARSE_TEXT_MAX)
        return err_set(e, ERR_BAD_DATA, "parse error: expression is %zu bytes long; at most %d are read", text.n,
                       PARSE_TEXT_MAX);
    char *copy = arena_strndup(a, text.n ? text.p : "", text.n);
    if (!copy) {
        parse_fail_arena(p);
        return p->code;
    }
    p->text = (struct str){copy, text.n};
    lexer_init(&p->lexer, p->text);
    p->cur = lexer_next(&p->lexer);
    return 0;
}

static int parse_finish(struct parser *p, struct expr *root, struct parsed *made, struct parsed *ret)
{
    if (root && p->code == 0 && p->cur.kind != TOKEN_EOF)
        parse_unexpected_in(p, NULL, NULL);
    if (root && p->code == 0)
        parse_check(p, root);
    if (p->code) {
        parsed_done(made);
        return p->code;
    }
    MUST(root);
    made->root = root;
    *ret = *made;
    return 0;
}

int promql_parse(struct str text, struct arena *a, struct parsed *ret, struct err *e)
{
    struct parser p;
    struct parsed made = {0};
    int code = parser_init(&p, text, a, &made, e);
    if (code)
        return code;
    if (p.cur.kind == TOKEN_EOF) {
        parse_fail(&p, 0, "no expression found in input");
        return p.code;
    }
    return parse_finish(&p, parse_expr(&p), &made, ret);
}

int promql_parse_selector(struct str text, struct arena *a, struct parsed *ret, struct err *e)
{
    struct parser p;
    struct parsed made = {0};
    int code = parser_init(&p, text, a, &made, e);
    if (code)
        return code;
    if (p.cur.kind != TOKEN_LEFT_BRACE && !token_may(p.cur.kind, TOKEN_USE_METRIC)) {
        parse_unexpected(&p);
        return p.code;
    }
    return parse_finish(&p, parse_vector_selector(&p), &made, ret);
}

void parsed_done(struct parsed *p)
{
    if (!p)
        return;
    for (size_t i = 0; i < p->matchers_n; i++)
        matcher_done(&p->matchers[i]);
    mem_free(p->matchers);
    *p = (struct parsed){0};
}
