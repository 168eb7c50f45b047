/* Aggregations, function calls, and the modifiers of binary operators: everything with a list in parentheses. */
#include "promql/literal.h"
#include "promql/parse_internal.h"

struct label_list {
    struct str *v;
    size_t n, cap;
};

static bool parse_grouping_label(struct parser *p, struct label_list *list)
{
    struct token t = p->cur;
    struct str name = t.text;
    if (t.kind != TOKEN_STRING && !token_may(t.kind, TOKEN_USE_LABEL)) {
        parse_unexpected_in(p, "grouping opts", "label");
        return false;
    }
    parse_take(p);
    if (t.kind == TOKEN_STRING && !parse_string(p, t, &name))
        return false;
    if (name.n == 0 || !utf8_valid(name.p, name.n)) {
        parse_fail(p, t.start, "invalid label name for grouping: %s", parse_quoted(p, name));
        return false;
    }
    struct str *v = arena_grow(p->arena, list->v, &list->cap, list->n + 1, sizeof *v);
    if (!v) {
        parse_fail_arena(p);
        return false;
    }
    list->v = v;
    list->v[list->n++] = name;
    return true;
}

static bool parse_grouping(struct parser *p, const struct str **ret, uint32_t *ret_n)
{
    struct label_list list = {0};
    if (!parse_accept(p, TOKEN_LEFT_PAREN)) {
        parse_unexpected_in(p, "grouping opts", "\"(\"");
        return false;
    }
    for (bool more = !parse_accept(p, TOKEN_RIGHT_PAREN); more;) {
        if (!parse_grouping_label(p, &list))
            return false;
        bool comma = parse_accept(p, TOKEN_COMMA);
        more = !parse_accept(p, TOKEN_RIGHT_PAREN);
        if (more && !comma) {
            parse_unexpected_in(p, "grouping opts", "\",\" or \")\"");
            return false;
        }
    }
    *ret = list.v;
    *ret_n = (uint32_t)list.n;
    return true;
}

struct arg_list {
    struct expr **v;
    size_t n, cap;
};

static bool may_start_expr(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_LEFT_PAREN:
    case TOKEN_LEFT_BRACE:
    case TOKEN_STRING:
    case TOKEN_NUMBER:
    case TOKEN_DURATION:
    case TOKEN_ADD:
    case TOKEN_SUB:
        return true;
    default:
        return token_may(kind, TOKEN_USE_METRIC);
    }
}

static bool parse_args(struct parser *p, struct arg_list *list)
{
    if (!parse_accept(p, TOKEN_LEFT_PAREN)) {
        parse_unexpected(p);
        return false;
    }
    if (parse_accept(p, TOKEN_RIGHT_PAREN))
        return true;
    for (;;) {
        struct expr *e = parse_expr(p);
        if (!e)
            return false;
        struct expr **v = arena_grow(p->arena, list->v, &list->cap, list->n + 1, sizeof *v);
        if (!v) {
            parse_fail_arena(p);
            return false;
        }
        list->v = v;
        list->v[list->n++] = e;
        if (parse_accept(p, TOKEN_RIGHT_PAREN))
            return true;
        uint32_t comma = p->cur.start;
        if (!parse_accept(p, TOKEN_COMMA)) {
            parse_unexpected(p);
            return false;
        }
        if (p->cur.kind != TOKEN_ERROR && !may_start_expr(p->cur.kind)) {
            parse_fail(p, comma, "trailing commas not allowed in function call args");
            return false;
        }
    }
}

static bool aggregate_has_parameter(enum aggregate_op op)
{
    static const bool has[] = {
#define X(name, text, param, exp) [AGGREGATE_##name] = param,
        AGGREGATE_LIST(X)
#undef X
    };
    return has[op];
}

static enum aggregate_op aggregate_of(enum token_kind kind)
{
    switch (kind) {
#define X(name, text, param, exp)                                                                                      \
    case TOKEN_##name:                                                                                                 \
        return AGGREGATE_##name;
        AGGREGATE_LIST(X)
#undef X
    default:
        return AGGREGATE_INVALID;
    }
}

static bool parse_aggregate_modifier(struct parser *p, struct expr *e)
{
    /* Prometheus looks this far before it judges the arguments, so a lexer's error here comes first. */
    if (p->cur.kind == TOKEN_ERROR)
        parse_unexpected(p);
    if (p->cur.kind != TOKEN_BY && p->cur.kind != TOKEN_WITHOUT)
        return p->code == 0;
    e->without = parse_take(p).kind == TOKEN_WITHOUT;
    return parse_grouping(p, &e->grouping, &e->grouping_n);
}

/* by/without may stand before or after the arguments, once. */
static bool parse_aggregate_body(struct parser *p, struct expr *e, struct arg_list *list)
{
    if (p->cur.kind == TOKEN_BY || p->cur.kind == TOKEN_WITHOUT)
        return parse_aggregate_modifier(p, e) && parse_args(p, list);
    return parse_args(p, list) && parse_aggregate_modifier(p, e);
}

struct expr *parse_aggregate(struct parser *p)
{
    struct error_context saved = p->context;
    struct arg_list list = {0};
    struct token t = parse_take(p);
    struct expr *e = parse_node(p, EXPR_AGGREGATE, VALUE_VECTOR, t.start);
    if (!e)
        return NULL;
    e->aggregate = aggregate_of(t.kind);
    p->context = (struct error_context){"aggregation", NULL};
    if (!parse_aggregate_body(p, e, &list))
        return NULL;
    p->context = saved;
    e->end = p->last_end;
    size_t expected = aggregate_has_parameter(e->aggregate) ? 2 : 1;
    if (list.n == 0)
        parse_fail(p, e->start, "no arguments for aggregate expression provided");
    else if (list.n != expected)
        parse_fail(p, e->start, "wrong number of arguments for aggregate expression provided, expected %zu, got %zu",
                   expected, list.n);
    if (p->code)
        return NULL;
    /* Written (parameter, vector); kept (vector, parameter). */
    struct expr *args[2] = {list.v[expected - 1], list.v[0]};
    return parse_set_args(p, e, args, (uint32_t)expected) ? e : NULL;
}

struct expr *parse_call(struct parser *p)
{
    struct arg_list list = {0};
    struct token t = parse_take(p);
    if (!parse_args(p, &list))
        return NULL;
    const struct function *f = function_by_name(t.text);
    if (!f) {
        parse_fail(p, t.start, "unknown function with name %s", parse_quoted(p, t.text));
        return NULL;
    }
    struct expr *e = parse_node(p, EXPR_CALL, f->result, t.start);
    if (!e)
        return NULL;
    e->function = f;
    return parse_set_args(p, e, list.v, (uint32_t)list.n) ? e : NULL;
}

/* (number), with a sign if need be. */
static bool parse_fill_value(struct parser *p, bool *has, double *ret)
{
    parse_take(p);
    if (!parse_accept(p, TOKEN_LEFT_PAREN)) {
        parse_unexpected(p);
        return false;
    }
    bool minus = p->cur.kind == TOKEN_SUB;
    if (minus || p->cur.kind == TOKEN_ADD)
        parse_take(p);
    if (p->cur.kind != TOKEN_NUMBER && p->cur.kind != TOKEN_DURATION) {
        parse_unexpected(p);
        return false;
    }
    if (!parse_literal_seconds(p, parse_take(p), ret))
        return false;
    if (!parse_accept(p, TOKEN_RIGHT_PAREN)) {
        parse_unexpected(p);
        return false;
    }
    if (minus)
        *ret = -*ret;
    *has = true;
    return true;
}

static bool parse_fill(struct parser *p, struct vector_matching *m)
{
    enum token_kind first = p->cur.kind;
    if (first == TOKEN_FILL) {
        if (!parse_fill_value(p, &m->has_fill_left, &m->fill_left))
            return false;
        m->has_fill_right = true;
        m->fill_right = m->fill_left;
        return true;
    }
    for (int sides = 0; sides < 2; sides++) {
        if (p->cur.kind == TOKEN_FILL_LEFT && !m->has_fill_left) {
            if (!parse_fill_value(p, &m->has_fill_left, &m->fill_left))
                return false;
        } else if (p->cur.kind == TOKEN_FILL_RIGHT && !m->has_fill_right) {
            if (!parse_fill_value(p, &m->has_fill_right, &m->fill_right))
                return false;
        }
    }
    return true;
}

bool parse_binary_modifiers(struct parser *p, struct binary_modifiers *ret)
{
    *ret = (struct binary_modifiers){.matching = {.card = CARD_ONE_TO_ONE}};
    struct vector_matching *m = &ret->matching;
    ret->return_bool = parse_accept(p, TOKEN_BOOL);
    if (p->cur.kind == TOKEN_ON || p->cur.kind == TOKEN_IGNORING) {
        m->on = parse_take(p).kind == TOKEN_ON;
        if (!parse_grouping(p, &m->labels, &m->labels_n))
            return false;
        if (p->cur.kind == TOKEN_GROUP_LEFT || p->cur.kind == TOKEN_GROUP_RIGHT) {
            m->card = parse_take(p).kind == TOKEN_GROUP_LEFT ? CARD_MANY_TO_ONE : CARD_ONE_TO_MANY;
            if (p->cur.kind == TOKEN_LEFT_PAREN && !parse_grouping(p, &m->include, &m->include_n))
                return false;
        }
    }
    return parse_fill(p, m);
}
