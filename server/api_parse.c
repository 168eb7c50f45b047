/*
 * /api/v1/format_query and /api/v1/parse_query: a query's text laid out for people, and its tree as JSON in the shape
 * of Prometheus' translated AST (keys in alphabetical order, as its encoder writes them).
 */
#include <inttypes.h>

#include "base/float_text.h"
#include "promql/function.h"
#include "promql/parse.h"
#include "promql/print.h"
#include "server/api.h"
#include "server/json.h"

enum { PARSE_MEMORY_MAX = 64 << 20 };

static const char *type_text(enum value_type t)
{
    switch (t) {
    case VALUE_SCALAR:
        return "scalar";
    case VALUE_VECTOR:
        return "vector";
    case VALUE_MATRIX:
        return "matrix";
    case VALUE_STRING:
        return "string";
    default:
        return "none";
    }
}

static void add_bool(struct strbuf *b, const char *key, bool v)
{
    json_key(b, key);
    strbuf_add_z(b, v ? "true" : "false");
}

static void add_tree(struct strbuf *b, const struct expr *e);

static void add_child(struct strbuf *b, const char *key, const struct expr *e)
{
    json_key(b, key);
    if (e)
        add_tree(b, e);
    else
        strbuf_add_z(b, "null");
    strbuf_add_char(b, ',');
}

static void add_list(struct strbuf *b, const char *key, const struct str *v, uint32_t n)
{
    json_key(b, key);
    json_strings(b, v, n);
    strbuf_add_char(b, ',');
}

static void add_matching(struct strbuf *b, const struct vector_matching *m)
{
    static const char *const cards[] = {[CARD_ONE_TO_ONE] = "one-to-one",
                                        [CARD_MANY_TO_ONE] = "many-to-one",
                                        [CARD_ONE_TO_MANY] = "one-to-many",
                                        [CARD_MANY_TO_MANY] = "many-to-many"};
    json_key(b, "matching");
    if (!m) {
        strbuf_add_z(b, "null,");
        return;
    }
    strbuf_add_char(b, '{');
    json_key_text(b, "card", cards[m->card]);
    strbuf_add_char(b, ',');
    add_list(b, "include", m->include, m->include_n);
    add_list(b, "labels", m->labels, m->labels_n);
    add_bool(b, "on", m->on);
    strbuf_add_z(b, "},");
}

static void add_function(struct strbuf *b, const struct function *f)
{
    json_key(b, "func");
    strbuf_add_char(b, '{');
    json_key(b, "argTypes");
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < f->args_n; i++)
        strbuf_printf(b, "%s\"%s\"", i ? "," : "", type_text(f->args[i]));
    strbuf_add_z(b, "],");
    json_key_text(b, "name", f->name);
    strbuf_add_char(b, ',');
    json_key_text(b, "returnType", type_text(f->result));
    strbuf_printf(b, ",\"variadic\":%d},", f->variadic);
}

/* What comes after the range and step of a selector or subquery. */
static void add_at(struct strbuf *b, const struct time_modifier *t)
{
    json_key(b, "startOrEnd");
    strbuf_add_z(b, t->at == AT_START ? "\"start\"," : t->at == AT_END ? "\"end\"," : "null,");
}

static void add_timestamp(struct strbuf *b, const struct time_modifier *t)
{
    json_key(b, "timestamp");
    if (t->at == AT_TIME)
        strbuf_printf(b, "%" PRId64 ",", t->at_ms);
    else
        strbuf_add_z(b, "null,");
}

static void add_selector(struct strbuf *b, const struct expr *e)
{
    json_key(b, "matchers");
    strbuf_add_char(b, '[');
    for (uint32_t i = 0; i < e->matchers_n; i++) {
        strbuf_add_z(b, i ? ",{\"name\":" : "{\"name\":");
        strbuf_add_json_string(b, e->matchers[i].name);
        strbuf_printf(b, ",\"type\":\"%s\",\"value\":", matcher_op_text(e->matchers[i].op));
        strbuf_add_json_string(b, e->matchers[i].value);
        strbuf_add_char(b, '}');
    }
    strbuf_add_z(b, "],\"name\":");
    strbuf_add_json_string(b, e->metric);
    strbuf_printf(b, ",\"offset\":%" PRId64 ",", e->time.offset_ms);
    if (e->type == VALUE_MATRIX)
        strbuf_printf(b, "\"range\":%" PRId64 ",", e->range_ms);
    add_at(b, &e->time);
    add_timestamp(b, &e->time);
    json_key_text(b, "type", e->type == VALUE_MATRIX ? "matrixSelector" : "vectorSelector");
}

static void add_binary(struct strbuf *b, const struct expr *e)
{
    add_bool(b, "bool", e->return_bool);
    strbuf_add_char(b, ',');
    add_child(b, "lhs", e->args[0]);
    add_matching(b, e->matching);
    json_key_text(b, "op", binary_op_text(e->binary));
    strbuf_add_char(b, ',');
    add_child(b, "rhs", e->args[1]);
    json_key_text(b, "type", "binaryExpr");
}

static void add_call(struct strbuf *b, const struct expr *e)
{
    strbuf_add_z(b, "\"args\":[");
    for (uint32_t i = 0; i < e->args_n; i++) {
        if (i)
            strbuf_add_char(b, ',');
        add_tree(b, e->args[i]);
    }
    strbuf_add_z(b, "],");
    add_function(b, e->function);
    json_key_text(b, "type", "call");
}

static void add_aggregate(struct strbuf *b, const struct expr *e)
{
    add_child(b, "expr", e->args[0]);
    add_list(b, "grouping", e->grouping, e->grouping_n);
    json_key_text(b, "op", aggregate_op_name(e->aggregate));
    strbuf_add_char(b, ',');
    add_child(b, "param", e->args_n > 1 ? e->args[1] : NULL);
    json_key_text(b, "type", "aggregation");
    strbuf_add_char(b, ',');
    add_bool(b, "without", e->without);
}

static void add_number(struct strbuf *b, double v)
{
    char text[FLOAT_TEXT_MAX];
    float_format_f(v, text);
    json_key_text(b, "type", "numberLiteral");
    strbuf_add_char(b, ',');
    json_key_text(b, "val", text);
}

static void add_tree(struct strbuf *b, const struct expr *e)
{
    strbuf_add_char(b, '{');
    switch (e->kind) {
    case EXPR_NUMBER:
        add_number(b, e->number);
        break;
    case EXPR_STRING:
        json_key_text(b, "type", "stringLiteral");
        strbuf_add_z(b, ",\"val\":");
        strbuf_add_json_string(b, e->string);
        break;
    case EXPR_SELECTOR:
        add_selector(b, e);
        break;
    case EXPR_SUBQUERY:
        add_child(b, "expr", e->args[0]);
        strbuf_printf(b, "\"offset\":%" PRId64 ",\"range\":%" PRId64 ",", e->time.offset_ms, e->range_ms);
        add_at(b, &e->time);
        strbuf_printf(b, "\"step\":%" PRId64 ",", e->step_ms);
        add_timestamp(b, &e->time);
        json_key_text(b, "type", "subquery");
        break;
    case EXPR_CALL:
        add_call(b, e);
        break;
    case EXPR_AGGREGATE:
        add_aggregate(b, e);
        break;
    case EXPR_BINARY:
        add_binary(b, e);
        break;
    case EXPR_UNARY:
        add_child(b, "expr", e->args[0]);
        strbuf_add_z(b, "\"op\":\"-\",");
        json_key_text(b, "type", "unaryExpr");
        break;
    case EXPR_PAREN:
        add_child(b, "expr", e->args[0]);
        json_key_text(b, "type", "parenExpr");
        break;
    }
    strbuf_add_char(b, '}');
}

static void add_pretty(struct strbuf *b, const struct expr *e)
{
    struct strbuf text = {0};
    expr_print_pretty(e, &text);
    strbuf_add_json_string(b, (struct str){text.p, text.n});
    strbuf_done(&text);
}

static void answer(struct http_request *q, struct http_response *r, void (*add)(struct strbuf *, const struct expr *))
{
    struct arena a;
    struct parsed parsed;
    struct err e = {0};
    arena_init(&a, PARSE_MEMORY_MAX);
    if (promql_parse(http_param(q, "query"), &a, &parsed, &e) != 0) {
        err_prefix(&e, "invalid parameter \"query\"");
        http_error_json(r, &e);
    } else {
        json_begin(&r->body);
        add(&r->body, parsed.root);
        json_end(&r->body, NULL);
        parsed_done(&parsed);
    }
    arena_done(&a);
}

void api_format_query(struct server *s, struct http_request *q, struct http_response *r)
{
    answer(q, r, add_pretty);
}

void api_parse_query(struct server *s, struct http_request *q, struct http_response *r)
{
    answer(q, r, add_tree);
}
