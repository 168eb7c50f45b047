/* The indented form of format_query: a node whose line would be longer than 100 bytes is split over several. */
#include "promql/function.h"
#include "promql/print.h"
#include "promql/print_internal.h"

enum { LINE_BYTES_MAX = 100 };

static void indent(struct strbuf *out, unsigned level)
{
    for (; level > 0; level--)
        strbuf_add_z(out, "  ");
}

static bool needs_split(const struct expr *e)
{
    struct strbuf line = {0};
    print_expr(&(struct printer){.out = &line, .enough_n = LINE_BYTES_MAX}, e);
    bool longer = line.n > LINE_BYTES_MAX;
    strbuf_done(&line);
    return longer;
}

static void pretty(const struct expr *e, struct strbuf *out, unsigned level);

static void pretty_args(struct expr *const *args, uint32_t n, struct strbuf *out, unsigned level)
{
    strbuf_add_z(out, "(\n");
    for (uint32_t i = 0; i < n; i++) {
        strbuf_add_z(out, i ? ",\n" : "");
        pretty(args[i], out, level + 1);
    }
    strbuf_add_z(out, "\n");
    indent(out, level);
    strbuf_add_z(out, ")");
}

/* The node is known to be too long for one line. */
static void pretty_split(const struct expr *e, struct strbuf *out, unsigned level)
{
    struct printer line = {.out = out};
    switch (e->kind) {
    case EXPR_AGGREGATE: {
        struct expr *written[2] = {e->args[e->args_n - 1], e->args[0]};
        indent(out, level);
        print_aggregate_head(&line, e);
        pretty_args(written, e->args_n, out, level);
        break;
    }
    case EXPR_BINARY:
        pretty(e->args[0], out, level + 1);
        strbuf_add_z(out, "\n");
        indent(out, level);
        print_operator(&line, e);
        strbuf_add_z(out, "\n");
        pretty(e->args[1], out, level + 1);
        break;
    case EXPR_CALL:
        indent(out, level);
        strbuf_add_z(out, e->function->name);
        pretty_args(e->args, e->args_n, out, level);
        break;
    case EXPR_PAREN:
        indent(out, level);
        pretty_args(e->args, e->args_n, out, level);
        break;
    case EXPR_SUBQUERY:
        pretty(e->args[0], out, level);
        print_subquery_tail(&line, e);
        break;
    default:
        indent(out, level);
        print_expr(&line, e);
        break;
    }
}

/* The operand is laid out at the sign's level, its first indent moved before the sign. */
static void pretty_unary(const struct expr *e, struct strbuf *out, unsigned level)
{
    struct strbuf operand = {0};
    pretty(e->args[0], &operand, level);
    size_t blanks = 0;
    while (blanks < operand.n && operand.p[blanks] == ' ')
        blanks++;
    indent(out, level);
    strbuf_add_z(out, "-");
    strbuf_add(out, operand.p + blanks, operand.n - blanks);
    strbuf_done(&operand);
}

static void pretty(const struct expr *e, struct strbuf *out, unsigned level)
{
    if (e->kind == EXPR_UNARY) {
        pretty_unary(e, out, level);
    } else if (needs_split(e)) {
        pretty_split(e, out, level);
    } else {
        /* Prometheus does not indent a subquery that fits its line. */
        if (e->kind != EXPR_SUBQUERY)
            indent(out, level);
        expr_print(e, out);
    }
}

void expr_print_pretty(const struct expr *e, struct strbuf *out)
{
    pretty(e, out, 0);
}
