/*
 * Time in a query: ranges and subqueries in brackets, offset, @, anchored and smoothed, and the duration expressions in
 * them. After `offset` one duration stands, or a sign and a duration, or a parenthesised expression: arithmetic that
 * follows belongs to the query (`x offset 5m + 1`). Inside brackets all of it is duration arithmetic.
 */
#include <math.h>
#include <stdio.h>

#include "base/duration.h"
#include "promql/duration_expr.h"
#include "promql/literal.h"
#include "promql/parse_internal.h"

#define DURATION_WORDS "number, duration, step(), or range()"

bool parse_literal_seconds(struct parser *p, struct token t, double *ret)
{
    if (t.kind == TOKEN_DURATION) {
        int64_t ms;
        struct err why;
        if (duration_parse(t.text, &ms, &why)) {
            parse_fail(p, t.start, "%s", why.message);
            return false;
        }
        *ret = (double)ms / 1000;
        return true;
    }
    char reason[160];
    if (literal_number(t.text, ret, reason))
        return true;
    parse_fail(p, t.start, "error parsing number: %s", reason);
    return false;
}

static struct duration_expr *new_duration(struct parser *p, enum duration_op op, uint32_t start,
                                          const struct duration_expr *left, const struct duration_expr *right)
{
    if (++p->nodes_n > PARSE_NODES_MAX) {
        parse_fail(p, start, "expression has more than %d parts; split it up", PARSE_NODES_MAX);
        return NULL;
    }
    struct duration_expr *d = ARENA_NEW(p->arena, struct duration_expr);
    if (!d) {
        parse_fail_arena(p);
        return NULL;
    }
    uint32_t below = left ? left->height : 0;
    if (right && right->height > below)
        below = right->height;
    *d = (struct duration_expr){
        .op = op, .left = left, .right = right, .start = start, .end = p->last_end, .height = below + 1};
    if (d->height <= PARSE_DEPTH_MAX)
        return d;
    parse_fail(p, start, "duration expression is nested more than %d levels deep", PARSE_DEPTH_MAX);
    return NULL;
}

static struct duration_expr *parse_duration_literal(struct parser *p)
{
    struct token t = parse_take(p);
    double seconds;
    int64_t ms;
    if (!parse_literal_seconds(p, t, &seconds))
        return NULL;
    if (!duration_seconds_to_ms(seconds, &ms)) {
        parse_fail(p, t.start, "duration out of range");
        return NULL;
    }
    struct duration_expr *d = new_duration(p, DURATION_LITERAL, t.start, NULL, NULL);
    if (!d)
        return NULL;
    d->value_s = seconds;
    d->is_number = t.kind == TOKEN_NUMBER;
    return d;
}

static struct duration_expr *parse_duration_level(struct parser *p, int least);

static bool expect(struct parser *p, enum token_kind kind)
{
    if (parse_accept(p, kind))
        return true;
    parse_unexpected(p);
    return false;
}

static struct duration_expr *parse_duration_call(struct parser *p)
{
    struct token t = parse_take(p);
    if (!expect(p, TOKEN_LEFT_PAREN))
        return NULL;
    struct duration_expr *left = NULL, *right = NULL;
    enum duration_op op = t.kind == TOKEN_STEP ? DURATION_STEP : DURATION_RANGE;
    if (t.kind != TOKEN_STEP && t.kind != TOKEN_RANGE) {
        op = t.kind == TOKEN_MIN || t.kind == TOKEN_MIN_OF ? DURATION_MIN : DURATION_MAX;
        left = parse_duration_level(p, 1);
        if (!left || !expect(p, TOKEN_COMMA))
            return NULL;
        right = parse_duration_level(p, 1);
        if (!right)
            return NULL;
    }
    return expect(p, TOKEN_RIGHT_PAREN) ? new_duration(p, op, t.start, left, right) : NULL;
}

static struct duration_expr *parse_duration_primary(struct parser *p)
{
    switch (p->cur.kind) {
    case TOKEN_NUMBER:
    case TOKEN_DURATION:
        return parse_duration_literal(p);
    case TOKEN_STEP:
    case TOKEN_RANGE:
    case TOKEN_MIN:
    case TOKEN_MAX:
    case TOKEN_MIN_OF:
    case TOKEN_MAX_OF:
        return parse_duration_call(p);
    case TOKEN_LEFT_PAREN: {
        parse_take(p);
        struct duration_expr *d = parse_duration_level(p, 1);
        if (!d || !expect(p, TOKEN_RIGHT_PAREN))
            return NULL;
        d->wrapped = true;
        return d;
    }
    default:
        parse_unexpected(p);
        return NULL;
    }
}

/* A sign before a bare literal is the literal's; plus does nothing. */
static struct duration_expr *apply_sign(struct parser *p, struct token sign, struct duration_expr *d)
{
    if (!d || sign.kind == TOKEN_ADD)
        return d;
    if (d->op != DURATION_LITERAL || d->wrapped)
        return new_duration(p, DURATION_NEG, sign.start, d, NULL);
    d->value_s = -d->value_s;
    d->start = sign.start;
    return d;
}

enum { BINDS_POWER = 3 };

static int duration_operator_of(enum token_kind kind, enum duration_op *op)
{
    switch (kind) {
    case TOKEN_ADD:
        *op = DURATION_ADD;
        return 1;
    case TOKEN_SUB:
        *op = DURATION_SUB;
        return 1;
    case TOKEN_MUL:
        *op = DURATION_MUL;
        return 2;
    case TOKEN_DIV:
        *op = DURATION_DIV;
        return 2;
    case TOKEN_MOD:
        *op = DURATION_MOD;
        return 2;
    case TOKEN_POW:
        *op = DURATION_POW;
        return BINDS_POWER;
    default:
        return 0;
    }
}

static struct duration_expr *parse_duration_signed(struct parser *p)
{
    if (p->cur.kind != TOKEN_ADD && p->cur.kind != TOKEN_SUB)
        return parse_duration_primary(p);
    struct token sign = parse_take(p);
    return apply_sign(p, sign, parse_duration_level(p, BINDS_POWER));
}

static struct duration_expr *parse_duration_level(struct parser *p, int least)
{
    if (!parse_enter(p))
        return NULL;
    struct duration_expr *left = parse_duration_signed(p);
    enum duration_op op = DURATION_LITERAL;
    for (int binds; left && (binds = duration_operator_of(p->cur.kind, &op)) >= least && binds > 0;) {
        struct token sign = parse_take(p);
        struct duration_expr *right = parse_duration_level(p, op == DURATION_POW ? binds : binds + 1);
        if (!right)
            return NULL;
        if ((op == DURATION_DIV || op == DURATION_MOD) && right->op == DURATION_LITERAL && right->value_s == 0) {
            parse_fail(p, sign.start, op == DURATION_DIV ? "division by zero" : "modulo by zero");
            return NULL;
        }
        left = new_duration(p, op, left->start, left, right);
    }
    parse_leave(p);
    return left;
}

static bool may_start_duration(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_NUMBER:
    case TOKEN_DURATION:
    case TOKEN_ADD:
    case TOKEN_SUB:
    case TOKEN_LEFT_PAREN:
    case TOKEN_STEP:
    case TOKEN_RANGE:
    case TOKEN_MIN_OF:
    case TOKEN_MAX_OF:
    case TOKEN_MIN:
    case TOKEN_MAX:
        return true;
    default:
        return false;
    }
}

/* Value now if it can be known now: *ret_ms, and *ret_expr unless it is a lone literal. */
static bool settle(struct parser *p, struct duration_expr *d, bool positive, int64_t *ret_ms,
                   const struct duration_expr **ret_expr)
{
    bool literal = d->op == DURATION_LITERAL;
    *ret_expr = literal ? NULL : d;
    *ret_ms = 0;
    if (literal && !positive)
        return duration_seconds_to_ms(d->value_s, ret_ms);
    if (!literal && duration_expr_needs_query(d))
        return true;
    const struct duration_query none = {0, 0};
    const struct duration_expr *where;
    const char *reason;
    if (duration_expr_value_ms(d, &none, positive, ret_ms, &reason, &where))
        return !literal || duration_seconds_to_ms(d->value_s, ret_ms);
    parse_fail(p, where->start, "%s", reason);
    return false;
}

static bool parse_bracket_duration(struct parser *p, const char *context, const char *expected, int64_t *ret_ms,
                                   const struct duration_expr **ret_expr)
{
    struct error_context saved = p->context;
    p->context = (struct error_context){context, expected};
    if (!may_start_duration(p->cur.kind)) {
        parse_unexpected(p);
        return false;
    }
    struct duration_expr *d = parse_duration_level(p, 1);
    if (!d || !settle(p, d, true, ret_ms, ret_expr))
        return false;
    p->context = saved;
    return true;
}

static struct expr *new_subquery(struct parser *p, struct expr *inside, int64_t range_ms,
                                 const struct duration_expr *range_expr)
{
    int64_t step_ms = 0;
    const struct duration_expr *step_expr = NULL;
    if (p->cur.kind != TOKEN_RIGHT_BRACKET &&
        !parse_bracket_duration(p, "subquery selector", DURATION_WORDS ", or \"]\"", &step_ms, &step_expr))
        return NULL;
    if (!parse_accept(p, TOKEN_RIGHT_BRACKET)) {
        parse_unexpected_in(p, "subquery selector", "\"]\"");
        return NULL;
    }
    struct expr *e = parse_node(p, EXPR_SUBQUERY, VALUE_MATRIX, inside->start);
    if (!e || !parse_set_args(p, e, &inside, 1))
        return NULL;
    e->range_ms = range_ms;
    e->range_expr = range_expr;
    e->step_ms = step_ms;
    e->step_expr = step_expr;
    return e;
}

struct expr *parse_bracket(struct parser *p, struct expr *e)
{
    struct token open = parse_take(p);
    int64_t range_ms;
    const struct duration_expr *range_expr;
    if (!parse_bracket_duration(p, "subquery or range selector", DURATION_WORDS, &range_ms, &range_expr))
        return NULL;
    if (parse_accept(p, TOKEN_COLON))
        return new_subquery(p, e, range_ms, range_expr);
    if (!parse_accept(p, TOKEN_RIGHT_BRACKET)) {
        parse_unexpected_in(p, "subquery or range", "\":\" or \"]\"");
        return NULL;
    }
    if (e->kind != EXPR_SELECTOR || e->type != VALUE_VECTOR)
        parse_fail(p, open.start, "ranges only allowed for vector selectors");
    else if (e->time.offset_ms || e->time.offset_expr)
        parse_fail(p, open.start, "no offset modifiers allowed before range");
    else if (e->time.at == AT_TIME)
        parse_fail(p, open.start, "no @ modifiers allowed before range");
    if (p->code)
        return NULL;
    e->type = VALUE_MATRIX;
    e->range_ms = range_ms;
    e->range_expr = range_expr;
    e->end = p->last_end;
    return e;
}

/* Prometheus folds no arithmetic into an offset, so that `x offset -2 ^ 2` is (x offset -2) ^ 2. */
static struct duration_expr *parse_offset_duration(struct parser *p)
{
    if (p->cur.kind != TOKEN_ADD && p->cur.kind != TOKEN_SUB)
        return parse_duration_primary(p);
    struct token sign = parse_take(p);
    return apply_sign(p, sign, parse_duration_primary(p));
}

bool parse_offset(struct parser *p, struct expr *e)
{
    struct error_context saved = p->context;
    p->context = (struct error_context){"offset", DURATION_WORDS};
    int64_t offset_ms;
    const struct duration_expr *offset_expr;
    parse_take(p);
    struct duration_expr *d = parse_offset_duration(p);
    if (!d || !settle(p, d, false, &offset_ms, &offset_expr))
        return false;
    p->context = saved;
    if (e->kind != EXPR_SELECTOR && e->kind != EXPR_SUBQUERY) {
        parse_fail(
            p, e->start,
            "offset modifier must be preceded by an instant vector selector or range vector selector or a subquery");
        return false;
    }
    if (e->time.offset_ms || e->time.offset_expr) {
        parse_fail(p, e->start, "offset may not be set multiple times");
        return false;
    }
    e->time.offset_ms = offset_ms;
    e->time.offset_expr = offset_expr;
    e->end = p->last_end;
    return true;
}

static bool parse_timestamp(struct parser *p, struct expr *e, double *ret)
{
    bool minus = p->cur.kind == TOKEN_SUB;
    if (minus || p->cur.kind == TOKEN_ADD)
        parse_take(p);
    if (p->cur.kind != TOKEN_NUMBER && p->cur.kind != TOKEN_DURATION) {
        parse_unexpected(p);
        return false;
    }
    double seconds;
    if (!parse_literal_seconds(p, parse_take(p), &seconds))
        return false;
    *ret = minus ? -seconds : seconds;
    /* Milliseconds must fit an int64 as well. */
    if (fabs(*ret) < 9.2e15)
        return true;
    parse_fail(p, e->start, "timestamp out of bounds for @ modifier: %f", *ret);
    return false;
}

bool parse_at(struct parser *p, struct expr *e)
{
    struct error_context saved = p->context;
    p->context = (struct error_context){"@", "timestamp"};
    double seconds = 0;
    enum at_kind at = AT_TIME;
    parse_take(p);
    if (p->cur.kind == TOKEN_START || p->cur.kind == TOKEN_END) {
        at = parse_take(p).kind == TOKEN_START ? AT_START : AT_END;
        if (!expect(p, TOKEN_LEFT_PAREN) || !expect(p, TOKEN_RIGHT_PAREN))
            return false;
    } else if (!parse_timestamp(p, e, &seconds)) {
        return false;
    }
    p->context = saved;
    if (e->kind != EXPR_SELECTOR && e->kind != EXPR_SUBQUERY) {
        parse_fail(p, e->start,
                   "@ modifier must be preceded by an instant vector selector or range vector selector or a subquery");
        return false;
    }
    if (e->time.at != AT_NONE) {
        parse_fail(p, e->start, "@ <timestamp> may not be set multiple times");
        return false;
    }
    e->time.at = at;
    e->time.at_ms = (int64_t)round(seconds * 1000);
    e->end = p->last_end;
    return true;
}

bool parse_extended(struct parser *p, struct expr *e)
{
    bool anchored = parse_take(p).kind == TOKEN_ANCHORED;
    const char *word = anchored ? "anchored" : "smoothed";
    if (e->kind == EXPR_SUBQUERY) {
        parse_fail(p, e->start, "%s modifier is not supported for subqueries", word);
        return false;
    }
    if (e->kind != EXPR_SELECTOR) {
        parse_fail(p, e->start, "%s modifier not implemented", word);
        return false;
    }
    if (anchored)
        e->anchored = true;
    else
        e->smoothed = true;
    if (!(e->anchored && e->smoothed))
        return true;
    parse_fail(p, e->start, "anchored and smoothed modifiers cannot be used together");
    return false;
}
