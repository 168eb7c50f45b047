/*
 * The canonical text of a tree: one line, Prometheus' own String() form, operators and modifiers in one order, so that
 * two spellings of one query have one text. parse(print(t)) equals t, and print is a fixpoint.
 */
#ifndef PROMQL_PRINT_H
#define PROMQL_PRINT_H

#include "base/str.h"
#include "promql/ast.h"

void expr_print(const struct expr *e, struct strbuf *out);
/* In an arena, NUL-terminated. */
struct str expr_text(const struct expr *e, struct arena *a);
/* Indented over several lines, as Prometheus' format_query does. */
void expr_print_pretty(const struct expr *e, struct strbuf *out);

#endif
