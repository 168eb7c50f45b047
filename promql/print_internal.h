/* What the printers share. */
#ifndef PROMQL_PRINT_INTERNAL_H
#define PROMQL_PRINT_INTERNAL_H

#include "base/str.h"
#include "promql/ast.h"

struct printer {
    struct strbuf *out;
    bool identity;   /* one text for all spellings of what is computed: for expr_hash, not for people */
    size_t enough_n; /* > 0: stop soon after this many bytes */
};

void print_expr(struct printer *p, const struct expr *e);
/* The parts before the operands, for the pretty printer: "sum by (job) ", "+ on (a)", "[5m:] offset 1m". */
void print_aggregate_head(struct printer *p, const struct expr *e);
void print_operator(struct printer *p, const struct expr *e);
void print_subquery_tail(struct printer *p, const struct expr *e);

void expr_print_identity(const struct expr *e, struct strbuf *out);

#endif
