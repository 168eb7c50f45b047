/* Vector selectors: the metric name and the matchers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "promql/literal.h"
#include "promql/parse_internal.h"

bool parse_string(struct parser *p, struct token t, struct str *ret)
{
    if (literal_unquote(t.text, p->arena, ret))
        return true;
    parse_fail_arena(p);
    return false;
}

struct matcher_list {
    struct matcher *v;
    size_t n, cap;
};

static bool add_matcher(struct parser *p, struct matcher_list *list, enum matcher_op op, struct str name,
                        struct str value, uint32_t at)
{
    struct matcher m;
    struct err why;
    if (matcher_init(&m, op, name, value, &why)) {
        parse_fail(p, at, "%s", why.message);
        return false;
    }
    struct parsed *parsed = p->parsed;
    parsed->matchers = mem_grow(parsed->matchers, &parsed->matchers_cap, parsed->matchers_n + 1, sizeof m);
    parsed->matchers[parsed->matchers_n++] = m; /* owns the regex */
    parsed->regex_size += m.regex ? regex_size(m.regex) : 0;
    if (parsed->regex_size > PARSE_REGEX_SIZE_MAX) {
        parse_fail(p, at, "the regular expressions of the query are too large together");
        return false;
    }
    struct matcher *v = arena_grow(p->arena, list->v, &list->cap, list->n + 1, sizeof m);
    if (!v) {
        parse_fail_arena(p);
        return false;
    }
    list->v = v;
    list->v[list->n++] = m;
    return true;
}

static enum matcher_op match_op_of(enum token_kind kind)
{
    switch (kind) {
    case TOKEN_ASSIGN:
        return MATCH_EQ;
    case TOKEN_NE:
        return MATCH_NE;
    case TOKEN_RE:
        return MATCH_RE;
    case TOKEN_NRE:
        return MATCH_NRE;
    default:
        return 0;
    }
}

/* name op "value", "quoted name" op "value", or "quoted metric name" alone. */
static bool parse_matcher(struct parser *p, struct matcher_list *list)
{
    struct token t = p->cur;
    struct str name = t.text, value;
    if (t.kind != TOKEN_IDENTIFIER && t.kind != TOKEN_STRING) {
        parse_unexpected_in(p, "label matching", "identifier or \"}\"");
        return false;
    }
    parse_take(p);
    if (t.kind == TOKEN_STRING && !parse_string(p, t, &name))
        return false;
    enum matcher_op op = match_op_of(p->cur.kind);
    if (!op && t.kind == TOKEN_STRING)
        return add_matcher(p, list, MATCH_EQ, STR(LABEL_NAME), name, t.start);
    if (!op) {
        parse_unexpected_in(p, "label matching", "label matching operator");
        return false;
    }
    parse_take(p);
    if (p->cur.kind != TOKEN_STRING) {
        parse_unexpected_in(p, "label matching", "string");
        return false;
    }
    struct token literal = parse_take(p);
    return parse_string(p, literal, &value) && add_matcher(p, list, op, name, value, t.start);
}

static bool parse_braces(struct parser *p, struct matcher_list *list)
{
    parse_take(p);
    if (parse_accept(p, TOKEN_RIGHT_BRACE))
        return true;
    for (;;) {
        if (!parse_matcher(p, list))
            return false;
        bool comma = parse_accept(p, TOKEN_COMMA);
        if (parse_accept(p, TOKEN_RIGHT_BRACE))
            return true;
        if (!comma) {
            parse_unexpected_in(p, "label matching", "\",\" or \"}\"");
            return false;
        }
    }
}

static int matcher_order(const void *pa, const void *pb)
{
    const struct matcher *a = pa, *b = pb;
    int order = str_cmp(a->name, b->name);
    if (order == 0)
        order = (a->op > b->op) - (a->op < b->op);
    return order ? order : str_cmp(a->value, b->value);
}

struct expr *parse_vector_selector(struct parser *p)
{
    struct matcher_list list = {0};
    uint32_t start = p->cur.start;
    struct str metric = {"", 0};
    if (p->cur.kind != TOKEN_LEFT_BRACE)
        metric = parse_take(p).text;
    if (p->cur.kind == TOKEN_LEFT_BRACE && !parse_braces(p, &list))
        return NULL;
    if (metric.n) {
        for (size_t i = 0; i < list.n; i++) {
            if (str_eq(list.v[i].name, STR(LABEL_NAME))) {
                parse_fail(p, start, "metric name must not be set twice: %s or %s", parse_quoted(p, metric),
                           parse_quoted(p, list.v[i].value));
                return NULL;
            }
        }
        if (!add_matcher(p, &list, MATCH_EQ, STR(LABEL_NAME), metric, start))
            return NULL;
    }
    struct expr *e = parse_node(p, EXPR_SELECTOR, VALUE_VECTOR, start);
    if (!e)
        return NULL;
    if (list.n)
        qsort(list.v, list.n, sizeof *list.v, matcher_order);
    e->metric = metric;
    e->matchers = list.v;
    e->matchers_n = (uint32_t)list.n;
    return e;
}
