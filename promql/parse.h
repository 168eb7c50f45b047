/*
 * Text to tree: the whole PromQL of Prometheus 3.x (experimental syntax included: duration expressions, anchored and
 * smoothed, fill modifiers, limitk ...). Errors read like Prometheus' own, "1:8: parse error: unexpected ...", and the
 * line and column are in the err too. Bounded: text length, nesting depth, node count and regexes are limited by name.
 * Thread-safe.
 */
#ifndef PROMQL_PARSE_H
#define PROMQL_PARSE_H

#include "promql/ast.h"

enum { PARSE_TEXT_MAX = 1 << 20, PARSE_DEPTH_MAX = 250, PARSE_NODES_MAX = 1 << 17 };
enum { PARSE_REGEX_SIZE_MAX = 1 << 18 /* of all matchers together: a second of compiling at most */ };

struct parsed {
    struct expr *root;
    struct matcher *matchers; /* all compiled matchers, for parsed_done */
    size_t matchers_n, matchers_cap;
    size_t regex_size; /* of all of them */
};

/* Parse an expression. `text` is copied into `a`. ERR_BAD_DATA with position (columns count bytes, as Prometheus'), or
 * ERR_LIMIT when the arena is full. On success the caller calls
 * parsed_done when the tree is no longer used (it frees compiled regexes; the arena owns the rest). */
int promql_parse(struct str text, struct arena *a, struct parsed *ret, struct err *e);
/* A series selector alone (API match[]): vector selector without modifiers, with at least one matcher that does not
 * accept the empty string. */
int promql_parse_selector(struct str text, struct arena *a, struct parsed *ret, struct err *e);
void parsed_done(struct parsed *p);

/*
 * Fill in what depends on the query: duration expressions (step(), range()), @ start()/end(). Makes a copy of the nodes
 * that change (in `a`, which may be another arena than the parser's but must not outlive it); the tree parsed once may
 * be resolved many times. step_ms is 0 for instant queries (start == end). Durations are then plain (the *_expr
 * pointers of the copies are NULL) and at_ms is set whatever the kind of @. ERR_BAD_DATA for a duration that comes out
 * wrong: not greater than 0, out of range, division by zero.
 */
int expr_resolve(const struct expr *root, int64_t start_ms, int64_t end_ms, int64_t step_ms, struct arena *a,
                 struct expr **ret, struct err *e);

#endif
