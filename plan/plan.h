/*
 * The physical plan: one read-only set of flat arrays that planner and executor share, the only IR there is.
 *
 *     precompute half (per refresh group, once per window)          query half (at each evaluation)
 *     scan ──> build ──> [view, kept in the pane store] ─ ─ ─ ─ ─>  pane_read ──> estimate ──┐
 *                                                                    raw ────────────────────┴─> vector ──> root
 *
 * Edges are indices; a node's inputs have smaller ids. Run state lives elsewhere. A plan comes from planner/emit or
 * from a plan file (plan/file.h), which is read as if hostile and must pass plan_check before anything runs.
 *
 * Query-half nodes carry `expr`, the canonical text of the sub-expression they compute, and its parsed tree: what an
 * operator must do is said in PromQL itself. A `vector` node applies the outermost operator of its tree to its inputs,
 * which stand in the order of that operator's operands (expr_operands in plan/logical.h); a `raw` node evaluates its
 * whole tree from samples; an `estimate` node reads its statistic from panes, its tree (a range function over one
 * selector) says the same; a `stored` node's tree is that of its stored root. So any node can be recomputed from raw,
 * which is what edges, dirty series and open windows use.
 *
 * Edges never cross the two halves: a query reaches kept states through a pane_read's view and kept results through a
 * stored node's root. The nodes below a stored root are precompute ones.
 */
#ifndef PLAN_PLAN_H
#define PLAN_PLAN_H

#include "base/arena.h"
#include "kernels/sketch.h"
#include "plan/grid.h"
#include "plan/ids.h"
#include "plan/input.h"
#include "promql/parse.h"

/* X(NAME, "keyword", output) */
#define PLAN_OP_LIST(X)                                                                                                \
    X(SCAN, "scan", OUT_SAMPLES)         /* -> samples; source, offset_ms, anchor */                                   \
    X(BUILD, "build", OUT_STATE)         /* samples -> state; view */                                                  \
    X(MERGE, "merge", OUT_STATE)         /* state... -> state; view (ladders) */                                       \
    X(PANE_READ, "pane_read", OUT_STATE) /* -> states; view, offset_ms, anchor, count */                               \
    X(ESTIMATE, "estimate", OUT_VECTOR)  /* states -> vector; statistic, q */                                          \
    X(STORED, "stored", OUT_VECTOR)      /* -> vector; stored root */                                                  \
    X(RAW, "raw", OUT_VECTOR)            /* -> vector; expr */                                                         \
    X(VECTOR, "vector", OUT_VECTOR)      /* vector... -> vector; expr's outermost operator */

enum plan_op {
    PLAN_OP_INVALID = 0,
#define X(name, keyword, out) PLAN_OP_##name,
    PLAN_OP_LIST(X)
#undef X
        PLAN_OP_END
};
enum plan_out { OUT_SAMPLES = 1, OUT_STATE, OUT_VECTOR, OUT_SCALAR };
enum plan_half { HALF_PRECOMPUTE = 1, HALF_QUERY };
enum plan_when {
    WHEN_INGESTION = 1, /* at refresh; kept in the pane store */
    WHEN_QUERY_KEPT,    /* on first read; kept in the process that read it */
    WHEN_QUERY          /* at each read; its BUILD is in the query half, as is a kept one's */
};

#define PLAN_NONE UINT32_MAX
/* Times, ranges and offsets of a plan are within +-PLAN_MS_MAX, so that sums and differences of a few never overflow.
 */
#define PLAN_MS_MAX (INT64_C(1) << 53)
#define PLAN_PANE_MAX_MS (INT64_C(24) * 24 * 3600 * 1000) /* states hold i32 ms from their window's end */
enum { PLAN_PANES_MAX = 100000 /* panes of one window */, PLAN_MATCHERS_MAX = 1024 };

struct plan_source {
    const struct matcher *matchers; /* compiled; sorted by name, op, value */
    uint32_t matchers_n;
    int64_t lookback_ms;
};

struct plan_node {
    enum plan_op op;
    enum plan_half half;
    enum plan_out out;
    uint32_t in_first, in_n; /* run in plan->edges */
    uint32_t source;         /* SCAN */
    uint32_t view;           /* BUILD, MERGE, PANE_READ */
    uint32_t count;          /* PANE_READ: panes of one window */
    int64_t offset_ms;       /* SCAN, PANE_READ */
    bool anchored;           /* SCAN, PANE_READ: `at_ms` replaces the evaluation time */
    int64_t at_ms;
    enum statistic statistic; /* ESTIMATE */
    double q;                 /* ESTIMATE: the site's (plan/logical.h) */
    uint32_t stored_root;     /* STORED */
    struct str expr_text;     /* ESTIMATE, STORED, RAW, VECTOR: canonical, no outer parentheses */
    const struct expr *expr;  /* its tree */
};

struct plan_view {
    uint8_t identity[IDENTITY_BYTES];
    uint32_t node;   /* its BUILD (or MERGE) */
    uint32_t source; /* scan's source */
    struct view_input input;
    enum family family;
    struct sketch_params params;
    bool per_series;          /* one state a series; false: one of each group of series equal in reduce[] */
    const struct str *reduce; /* sorted, distinct */
    uint32_t reduce_n;
    struct grid panes;    /* width (step_ms) and phase of pane ends */
    uint32_t panes_n;     /* most panes any reader's window has */
    int64_t retention_ms; /* reach of any reader + panes that may be open */
    int64_t backfill_ms;  /* span of windows to build when nothing is stored: panes_n * width + range lengths */
    enum plan_when when;
    uint32_t level_of; /* the view it rolls up, or PLAN_NONE */
};

struct plan_stored_root {
    uint32_t node; /* rising: a node is kept on one grid at most */
    struct grid grid;
    int64_t retention_ms;
};

enum accuracy_kind {
    ACCURACY_EXACT = 1,
    ACCURACY_RANK,
    ACCURACY_RELATIVE,
    ACCURACY_CARDINALITY,
    ACCURACY_FREQUENCY,
    ACCURACY_ANY,
    ACCURACY_NONE /* nothing is asked, or promised: every answer will do */
};
struct accuracy {
    enum accuracy_kind kind;
    double error;   /* 0 for EXACT and NONE */
    double failure; /* probability of missing it; 0 = deterministic, default 0.01 */
};
const char *accuracy_kind_name(enum accuracy_kind k);
/* Does an answer guaranteed to `have` satisfy `want`? Metrics are never mixed (ANY accepts each). */
bool accuracy_meets(const struct accuracy *have, const struct accuracy *want);
/*
 * What a number of distinct things promises whose standard error is known: it lies within one, two, three of them in
 * 65, 95, 99 % of cases, of which the failure accepted chooses. HyperLogLog: Flajolet, Fusy, Gandouet, Meunier, 2007,
 * section 1. KMV: its estimate's error is close to normal for k of some dozens (Beyer et al., 2007, section 4).
 */
double accuracy_sigmas(double failure); /* how many */
struct accuracy accuracy_of_cardinality(double standard_error, double failure);
/*
 * What states of a known family promise of a statistic, however many of them are merged, to those who trade error for
 * failure with this `failure`: the one answer for planner, checks and executor. ACCURACY_NONE: nothing; kind 0: the
 * family has no such statistic.
 */
struct accuracy accuracy_of_states(enum family family, const struct sketch_params *params, enum statistic statistic,
                                   double failure);

enum cadence_kind { CADENCE_EVERY = 1, CADENCE_AT, CADENCE_RATE, CADENCE_ONCE };
struct cadence {
    enum cadence_kind kind;
    int64_t every_ms, phase_ms;
    const int64_t *at_ms;
    uint32_t at_n;
    double rate_per_s;
    int64_t length_ms, step_ms; /* a range query's; 0, 0 for an instant one */
};
/* The grid of all evaluation times (steps of range queries included); "no grid" for rate and once. */
struct grid cadence_grid(const struct cadence *c);

struct plan_cost {
    double ingest, query, memory; /* CPU-ms per second of wall time */
};
struct plan_rejected {
    struct str candidate, reason;
};
struct plan_query {
    struct str name, text; /* text canonical */
    struct cadence cadence;
    struct accuracy target, guarantee;
    uint32_t root;
    const uint32_t *uses; /* view ids, ascending */
    uint32_t uses_n;
    struct plan_cost cost;
    const struct plan_rejected *rejected;
    uint32_t rejected_n;
};

/* Views refreshed at ingestion with one refresh window: derived by plan_groups, never stored. */
struct plan_group {
    struct grid window;
    const uint32_t *views; /* dependency order */
    uint32_t views_n;
};

struct plan_solver {
    struct str status; /* optimal, deadline, unproved: REASON */
    double bound, gap;
    uint32_t variables, rows;
};

struct plan {
    const struct plan_source *sources;
    const struct plan_node *nodes;
    const uint32_t *edges;
    const struct plan_view *views;
    const struct plan_stored_root *stored_roots;
    const struct plan_query *queries;
    const struct plan_group *groups; /* in an order in which each follows what it reads */
    uint32_t sources_n, nodes_n, edges_n, views_n, stored_roots_n, queries_n, groups_n;
    uint64_t sketch_seed;
    struct plan_solver solver;
    const uint32_t *by_text; /* query ids by text, strictest accuracy first: derived with the groups */
    uint32_t by_text_n;      /* those whose tree is the same at every request */
    uint64_t *refused_queries, *refused_views; /* bitmaps of what plan_refuse gave up; NULL: nothing */
    struct arena *arena;                       /* owns everything above */
    struct parsed *parsed;                     /* trees whose regexes are freed with the plan */
    size_t parsed_n, parsed_cap;
    struct matcher **compiled; /* matchers of sources, the same */
    size_t compiled_n, compiled_cap;
};

/* An empty plan with its own arena (a failed arena is for plan_check or the maker to see: arena_check). */
struct plan *plan_new(void);
void plan_free(struct plan *p); /* NULL-safe: regexes, arena, itself */
/* Parse an expression into the plan, which then owns its tree. *ret_text (may be NULL) is its canonical text, without
 * outer parentheses, as is *ret. */
int plan_add_expr(struct plan *p, struct str text, const struct expr **ret, struct str *ret_text, struct err *e);
/* Copy matchers[n] into the plan, compiled and sorted by (name, op, value): a source's. */
int plan_add_matchers(struct plan *p, const struct matcher *matchers, uint32_t n, const struct matcher **ret,
                      struct err *e);

const char *plan_op_name(enum plan_op op);
enum plan_op plan_op_by_name(struct str name);
enum plan_out plan_op_out(enum plan_op op);
/* Bytes a view's refresh needs from raw: the widest refresh window of the plan; 0 without views. */
int64_t plan_widest_window_ms(const struct plan *p);
/* Derive what is never stored: groups, groups_n, by_text, by_text_n. Call it once, on a plan that is otherwise
 * complete. */
int plan_groups(struct plan *p, struct err *e);
/* Give up a planned query and the views it reads: it, and whatever else would read them, is answered from raw samples.
 * Before the plan is in force. */
int plan_refuse(struct plan *p, uint32_t query, struct err *e);
bool plan_view_refused(const struct plan *p, uint32_t view);
/* Does the query read a refused view, or was it refused itself? */
bool plan_query_refused(const struct plan *p, uint32_t query);
/* The query of this canonical text, or PLAN_NONE. Strictest accuracy when several have it. After plan_groups.
 * A query with @ start(), @ end(), step() or range() is never found: what it computes is another tree at each request.
 */
uint32_t plan_query_by_text(const struct plan *p, struct str text);
/* Does the query's root read panes or a stored root at all? */
bool plan_query_reads_kept(const struct plan *p, uint32_t query);
/* What view `v` computes, as its identity sees it. Borrows from the plan. */
struct view_definition plan_view_definition(const struct plan *p, uint32_t v);

#endif
