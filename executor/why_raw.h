/*
 * Why a query is read from raw samples although the server has a plan: for /api/v1/explain, where people look when a
 * planned query is slow. Asked after binding; says nothing of a query that reads panes as planned.
 */
#ifndef EXECUTOR_WHY_RAW_H
#define EXECUTOR_WHY_RAW_H

#include "executor/bind.h"

/* Lines "why raw: ..." after the nodes of an explanation; none when there is nothing to say. `plan` may be NULL;
 * `a` for what is looked at meanwhile. */
void why_raw(const struct plan *plan, const struct bound *b, const struct times *t, const struct query_options *o,
             struct arena *a, struct strbuf *out);

#endif
