/*
 * The evaluation context, and the two ways in: eval_expr evaluates any tree from raw samples; apply_expr does one
 * operator over operands that exist already, wherever they came from (raw or panes). A `raw` plan node is eval_expr, a
 * `vector` node is apply_expr: one set of functions, so planned and ad-hoc answers cannot differ.
 */
#ifndef EXECUTOR_EVAL_H
#define EXECUTOR_EVAL_H

#include <stdatomic.h>

#include "base/pool.h"
#include "executor/value.h"
#include "store/source.h"

/* Warnings and infos with Prometheus' texts; each text once. */
struct notes {
    struct str *warnings, *infos;
    uint32_t warnings_n, infos_n;
    size_t warnings_cap, infos_cap;
    struct arena *arena;
};
void notes_warn(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));
void notes_info(struct notes *n, const char *format, ...) __attribute__((format(printf, 2, 3)));

struct query_limits {
    uint64_t samples_max;  /* raw samples and states looked at */
    uint32_t series_max;   /* of one selector */
    uint64_t memory_bytes; /* the query's arena */
    uint64_t deadline_ns;  /* on the monotonic clock; 0 = none */
    uint32_t points_max;   /* evaluation times (11,000 as Prometheus) */
};

struct eval {
    struct arena *arena;
    const struct query_limits *limits;
    const _Atomic bool *canceled; /* may be NULL */
    int64_t lookback_ms;
    int64_t default_step_ms; /* of subqueries without a step */
    struct times query;      /* the whole query's times (start(), step()) */
    int64_t query_end_ms;    /* as asked (end(), range()): it may lie after the last step */
    struct notes *notes;
    struct pool *pool; /* may be NULL */
    const char *text;  /* the query's text, for positions in notes; may be NULL */

    /* one snapshot: results[i] answers the selector selectors[i]; sorted by the selectors' addresses */
    const struct expr **selectors;
    struct source_result *results;
    uint32_t selectors_n;
    struct store *store;
    struct store_txn *txn;
    /* Calls and subqueries around the expression at hand, see eval_enter. */
    uint32_t statistics_n, wholes_n;
    uint64_t samples_n; /* looked at so far */
    uint64_t clock_at;  /* of the work counted by eval_check: where the clock is read next */
    uint64_t work_n;
};

/* " (line:column)" of a byte of the query's text, as Prometheus ends its notes; empty when the text is not known. */
enum { EVAL_PLACE_MAX = 40 };
struct str eval_place(const struct eval *ev, uint32_t byte, char ret[EVAL_PLACE_MAX]);

/* Deadline, cancellation, samples and arena at once; cheap enough per series. */
int eval_check(struct eval *ev, uint64_t more_samples, struct err *e);

/*
 * Step into (by 1) or out of (by -1) what is around a selector. Under histogram_count() and the like, where only counts
 * and sums of histograms are wanted, Prometheus finds out from sample to sample whether a counter was reset, and
 * aggregations warn of conflicts between them; not so within a subquery or histogram_quantile().
 */
void eval_enter(struct eval *ev, const struct expr *around, int by);
static inline bool eval_finds_resets(const struct eval *ev)
{
    return ev->statistics_n > 0 && ev->wholes_n == 0;
}

/* Evaluate a resolved tree (expr_resolve) from raw samples at `t`. */
int eval_expr(struct eval *ev, const struct expr *expr, const struct times *t, struct value *ret, struct err *e);

/* Apply the outermost operator of `expr` to args[0..expr->args_n), which are its arguments' values (literals included).
 * For aggregates, binary and unary operators and every function that takes no range vector. */
int apply_expr(struct eval *ev, const struct expr *expr, const struct times *t, const struct value *args,
               struct value *ret, struct err *e);

/* ---- helpers for operators ---- */
/* The snapshot's answer to a selector of the tree, or NULL when it was not asked for. */
const struct source_result *eval_selected(const struct eval *ev, const struct expr *selector);
/* Labels of absent() and absent_over_time() over `arg`: the names that are matched once and by equality. */
void absent_labels(struct eval *ev, const struct expr *arg, struct labels *ret);
double *value_array(struct eval *ev, uint32_t n);        /* n doubles, uninitialised; NULL at the limit */
double *value_array_absent(struct eval *ev, uint32_t n); /* all VALUE_ABSENT */
bool series_any_number(const struct vec_series *s, uint32_t n);
/* The numbers of a series alone: its own array, or, when histograms stand in it, a copy without them. NULL at the
 * limit. */
double *series_numbers(struct eval *ev, const struct vec_series *s, uint32_t n);
/* A histogram at step i of n; `h` outlives the query's arena or lies in it. false at the limit. */
bool series_put_histogram(struct eval *ev, struct vec_series *s, uint32_t n, uint32_t i, const struct histogram *h);
/* Labels without what describes the metric: __name__, __type__, __unit__. `ret` may be `l`. */
void labels_drop_metric(const struct labels *l, struct arena *a, struct labels *ret);
/* That, when drop_name (delayed removal settled). */
void series_settle_name(struct eval *ev, struct vec_series *s);
/* By labels, those that keep their name before those that do not. Series that are equal in both have no time in common,
 * so their order does not show. */
void series_sort(struct vec_series *v, uint32_t n);
/* ERR_EXECUTION "vector cannot contain metrics with the same labelset" when two series have equal labels at one time.
 * Series with equal labels but disjoint times are joined into one (as Prometheus does for range queries). */
int value_merge_duplicates(struct eval *ev, struct value *v, const struct times *t, struct err *e);
/* The same, and the series are sorted by labels afterwards: no hashing, as equal ones then stand side by side. */
int value_sort_merge(struct eval *ev, struct value *v, const struct times *t, struct err *e);

#endif
