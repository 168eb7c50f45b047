/*
 * Label matchers =, !=, =~, !~ with RE2 semantics, fully anchored, and the regex work of label_replace.
 * An absent label has the value "". The only file that knows RE2 is base/shim.cc.
 * A compiled matcher is read-only and may be used by any number of threads. Programs are bounded (max_mem of RE2,
 * by the length of the pattern), and matching is linear in the value, so no pattern can stall the server.
 */
#ifndef BASE_MATCHER_H
#define BASE_MATCHER_H

#include <stdbool.h>

#include "base/err.h"
#include "base/labels.h"
#include "base/str.h"

enum matcher_op { MATCH_EQ = 1, MATCH_NE, MATCH_RE, MATCH_NRE };
const char *matcher_op_text(enum matcher_op op); /* "=", "!=", "=~", "!~" */

struct regex; /* opaque */
/* Fully anchored ^(?s:pattern)$. Heap object; regex_free NULL-safe. ERR_BAD_DATA carries RE2's reason in Go's words
 * where we can. */
int regex_new(struct str pattern, struct regex **ret, struct err *e);
void regex_free(struct regex *r);
bool regex_match(const struct regex *r, struct str text);
/* Full match with groups; then expand `replacement` with $1, ${1}, $name, ${name}, $$ as Go's Regexp.Expand.
 * Returns false if `text` does not match (out untouched). */
bool regex_replace(const struct regex *r, struct str text, struct str replacement, struct strbuf *out);
/* What it costs to make and to hold: steps of its program, and what every program costs. */
size_t regex_size(const struct regex *r);
/* The finite set of literals the pattern accepts (a|b|c, plain literals), if it is one: borrowed array, else 0. */
size_t regex_literals(const struct regex *r, const struct str **ret);
/* The literal every match begins with (may be empty). */
struct str regex_prefix(const struct regex *r);

struct matcher {
    enum matcher_op op;
    struct str name, value; /* borrowed from the maker */
    struct regex *regex;    /* owned; NULL for EQ and NE */
};
int matcher_init(struct matcher *m, enum matcher_op op, struct str name, struct str value, struct err *e);
void matcher_done(struct matcher *m);
bool matcher_accepts(const struct matcher *m, struct str value);
bool matchers_accept(const struct matcher *m, size_t n, const struct labels *l);

#endif
