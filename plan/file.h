/*
 * The plan file: JSON, "mullion-plan/1", one node, view, source or query a line; write(read(f)) is byte-identical.
 * Fields: docs/FORMATS.md. Reading treats the bytes as hostile: sizes and ids are bounded before use, unknown keys and
 * newer versions are refused by name, errors carry line and column where JSON has them; plan_check runs before it
 * returns.
 */
#ifndef PLAN_FILE_H
#define PLAN_FILE_H

#include "plan/plan.h"

enum { PLAN_FILE_MAX_BYTES = 256 << 20, PLAN_NODES_MAX = 4 << 20, PLAN_VIEWS_MAX = 1 << 20 };

void plan_write(const struct plan *p, struct strbuf *out);
int plan_read(struct str text, struct plan **ret, struct err *e); /* plan_free */
int plan_read_path(const char *path, struct plan **ret, struct err *e);

#endif
