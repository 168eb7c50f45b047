/*
 * What the planner's stages hand on: flat arrays that only grow, edges are indices.
 *
 *     query ──> spots ──> its sites ──> demand ──> candidates: raw
 *                 └────> at once: a stored root                a chain of panes of some state
 *                                                                ^
 *     source ──> state (family, parameters) ──> chain (width, phase)   when the chain's panes tile the window
 *
 * A *demand* is one site read by one cadence with one accuracy target: queries that agree in all three share it and its
 * cost. A *state* is what a pane holds (source, family, parameters); its *chains* are the pane grids offered for it,
 * the closure over all its readers. A *read* is the one scan of a source for all chains of one refresh window.
 *
 * A *spot* is a logical node read by one cadence that may be answered *at once*, so that nothing below it needs an
 * answer, or from its *parts*: the nearest spots and demands below it. The root of each query is one, with or without a
 * way to answer it at once. The ways are *kept* roots (a stored root offered: an expression and a grid), in at_once,
 * and states by labels, whose demand is the spot's group.
 *
 * Another way takes a value of enum at_once_form with its fields in struct at_once, and a place for it in each switch
 * over the form: spots.c where it may be offered (may_be_at_once) and what is listed (offer_at_once), choose.c the
 * items that it needs (need_items), who uses them (count_users) and what they hold (held_by), emit_query.c the nodes
 * that read it and its share of their cost, emit_reasons.c its price alone and its text. Parts, reasons, sharing,
 * selection and explain are then as with the others. One that is not exact has to meet the target that a query has at
 * the node: accuracy_down.
 *
 * Order is everywhere the order of first appearance in the workload, so the same workload gives the same plan.
 */
#ifndef PLANNER_PLANNING_H
#define PLANNER_PLANNING_H

#include "plan/logical.h"
#include "planner/intern.h"
#include "planner/planner.h"
#include "planner/selection.h"

/* How long a window may stay open after its end: the server's default lateness. */
enum { LATENESS_MS = 30000 };

/* Candidates and the logical DAG of the largest workload allowed. */
#define PLANNING_ARENA_BYTES ((size_t)8 << 30)

enum candidate_form {
    FORM_RAW = 1,
    FORM_WHOLE, /* one pane is the window */
    FORM_CHAIN, /* several panes tile it */
    FORM_LADDER /* and roll-ups of them inside it */
};

struct source {
    const struct matcher *matchers;
    uint32_t matchers_n;
    struct str text; /* the selector as PromQL without its range */
    double series_n, interval_ms;
    const struct workload_metric *metric; /* NULL: `data` does not have it */
};

/* Which series go into one state, and what it holds of them. Number 0: one state a series, of its values. */
struct grouping {
    struct view_input input;
    const struct str *by; /* sorted, distinct */
    uint32_t by_n;
};

struct demand {
    uint32_t node;           /* the site, in the logical DAG */
    const struct site *site; /* with a group: its states are by labels, and it is answered at once or, when operands
                                stand below it, from those: then raw is no candidate of its own */
    uint32_t source;
    struct grid grid; /* evaluation times, steps of range queries included; step 0: none known */
    double runs_per_s;
    double steps_n;         /* windows one run reads */
    int64_t length_ms;      /* how far before a run's time its first window ends */
    int64_t step_ms;        /* of a range query; 0: one window a run */
    int64_t latency_ms;     /* of one run; 0: no bound */
    struct accuracy target; /* of the site's own result */
    const char *strict;     /* why an exact result is needed although the query has a target; NULL otherwise */
    uint32_t first, n;      /* run in candidates */
    uint32_t allowed_n;     /* of them without a reason */
    uint32_t chosen;        /* candidate; PLAN_NONE: all its queries are answered from stored roots */
    uint32_t free_choice;   /* the same without a memory limit */
    uint32_t queries_n;     /* it is a site of */
    uint32_t readers_n;     /* of them those that read it: the others are answered at once above it */
    bool needed;            /* whatever is chosen it is answered: no spot above it, in some query, has another way */
    const char *raw_note;   /* nothing else may be chosen, so raw is all the same: why it had been rejected; or NULL */
};

struct state {
    uint32_t source, grouping;
    enum family family;
    struct sketch_params params;
    uint32_t first, n; /* run in chains */
};

struct chain {
    uint32_t state;
    struct grid grid; /* pane ends */
    enum plan_when when;
    bool finer;            /* than any of its readers needs: finer.c */
    uint32_t ratio, below; /* of a roll-up: panes of the chain below in one of its own; ratio 0: it is none */
    uint32_t read;         /* of chains built at ingestion; else PLAN_NONE */
    double build_cost;     /* CPU-ms per second, without the scan; with it, when kept on first read; 0, when not kept */
    double memory_bytes_s; /* bytes kept per second of retention */
    double state_bytes;
    double rows, filled; /* expected rows of a state, and share of series (or groups) that have one */
    uint32_t first, n;   /* run in chain_readers */
    /* choice */
    uint32_t users_n; /* demands that chose it */
    int64_t reach_ms; /* of the one that reaches back farthest */
    uint32_t view;    /* in the plan, or PLAN_NONE */
};

struct read {
    uint32_t source;
    double cost;
    uint32_t users_n; /* chains in use */
};

struct candidate {
    enum candidate_form form;
    uint32_t demand, chain;
    uint32_t grouping;   /* of its states */
    uint32_t top;        /* FORM_LADDER: the coarsest roll-up, down to `chain` by `below` */
    enum plan_when when; /* the chain's; 0: it has none */
    enum family family;  /* invalid for raw */
    struct sketch_params params;
    int64_t count; /* panes of one window */
    int64_t width_ms;
    struct accuracy guarantee;
    double run_cost;    /* CPU-ms of one run */
    double query_cost;  /* per second */
    const char *reason; /* why it is rejected; NULL: it may be chosen */
};

/* A stored root that may be made. */
struct kept {
    uint32_t node; /* in the logical DAG */
    struct grid grid;
    double build_cost, memory_bytes_s; /* as a chain's */
    double rows;                       /* expected series of a result */
    /* choice */
    uint32_t users_n;  /* queries, each once for each spot of its that is read from it */
    int64_t length_ms; /* of the one that reaches back farthest */
    uint32_t root;     /* in the plan, or PLAN_NONE */
};

enum at_once_form { AT_ONCE_STORED = 1, AT_ONCE_PANES };

/* A way to answer a spot other than from its parts. */
struct at_once {
    enum at_once_form form;
    uint32_t kept;      /* AT_ONCE_STORED */
    uint32_t demand;    /* AT_ONCE_PANES: of states by labels; its candidate has the cost */
    double query_cost;  /* per second */
    const char *reason; /* why it is rejected; NULL: it may be chosen */
};

/* What a spot is made of: a demand, or a spot below it. The other is PLAN_NONE. */
struct part {
    uint32_t demand, spot;
};
struct spot {
    uint32_t node, query; /* query: the first that has it */
    struct grid grid;
    int64_t length_ms;
    double runs_per_s;
    double rest_cost; /* what is read and computed between it and its parts, itself included, per second */
    uint32_t parts_first, parts_n;
    uint32_t first, n;  /* run in at_once */
    const char *reason; /* of a query's root: no stored root is offered; NULL: some are */
    uint32_t group;     /* the demand of states by labels that may answer it, or PLAN_NONE */
    uint32_t misfit;    /* a kept of its expression that has not all of its times, or PLAN_NONE */
    bool needed;        /* as a demand's */
    uint32_t readers_n; /* queries that read it, and none of what is above it at once */
    uint32_t chosen;    /* in at_once, or PLAN_NONE: its parts, or nobody reads it */
};

/* A site, a spot of one query. Is it read, or is what is above it answered at once? */
struct query_site {
    uint32_t node, demand;
    bool read;
};
struct query_spot {
    uint32_t spot;
    bool read;
};

struct planning {
    const struct workload *w;
    const struct planner_options *options; /* NULL: none */
    const struct cost_model *model;
    uint64_t begun_ns;
    struct arena *arena;
    struct logical logical;
    const struct workload_metric **metrics_by_name; /* sorted */
    uint32_t *roots;                                /* logical node of each query */
    uint32_t *sites_first;                          /* queries_n + 1: run of each query in sites */
    struct query_site *sites;                       /* by query, ascending node */
    struct source *sources;
    struct demand *demands;
    struct grouping *groupings;
    struct state *states;
    struct chain *chains;
    struct read *reads;
    struct candidate *candidates;
    uint32_t *query_chains; /* chain by what query_chain_ids numbers */
    size_t query_chains_cap;
    uint32_t *chain_readers; /* candidates that read each chain */
    struct spot *spots;      /* what is below comes first */
    struct part *parts;
    struct at_once *at_once;
    struct kept *kept;
    uint32_t *query_spots_first;    /* queries_n + 1: run of each query in query_spots */
    struct query_spot *query_spots; /* by query, what is below first; the last is its root */
    uint32_t spots_n, parts_n, at_once_n, kept_n, query_spots_n;
    size_t spots_cap, parts_cap, at_once_cap, kept_cap, query_spots_cap;
    uint32_t sites_n, sources_n, demands_n, groupings_n, states_n, chains_n, reads_n, candidates_n;
    size_t sites_cap, sources_cap, demands_cap, groupings_cap, states_cap, chains_cap, reads_cap, candidates_cap;
    struct intern source_ids, demand_ids, grouping_ids, state_ids, read_ids, query_chain_ids, spot_ids, kept_ids,
        level_ids;
    uint32_t *levels; /* by level_ids: the chain of a roll-up */
    size_t levels_cap;
    struct strbuf key; /* scratch for intern keys */
    struct selection_answer answer;
};

/* lower.c: queries to demands. */
int planner_lower(struct planning *p, struct err *e);
/* candidates.c: states, chains and candidates of every demand, rejected ones with their reason. */
int planner_offer(struct planning *p, struct err *e);
/* spots.c: spots, their parts and the ways to answer them at once; needed. */
int planner_offer_spots(struct planning *p, struct err *e);
/* choose.c: demand.chosen and spot.chosen for all, what queries read, chains, reads and kept in use, answer. ERR_LIMIT
 * names the queries that the memory limit leaves no answer. */
int planner_choose(struct planning *p, struct err *e);
/* Is it of the form that options->forced asks for? True when it asks for none. */
bool choose_is_forced(const struct planning *p, const struct candidate *c);
/* emit.c: the plan of what was chosen. */
int planner_emit(struct planning *p, const struct planner_options *options, struct plan *plan, struct err *e);

/* The coarsest chain that a candidate reads; the others follow by `below`, `chain` is the last. */
static inline uint32_t candidate_top(const struct candidate *c)
{
    return c->form == FORM_LADDER ? c->top : c->chain;
}
/* The next of them; PLAN_NONE behind the last. */
static inline uint32_t candidate_next(const struct planning *p, const struct candidate *c, uint32_t chain)
{
    return chain == c->chain ? PLAN_NONE : p->chains[chain].below;
}
/* Is it answered from samples or panes alone, with nothing below it? */
static inline bool planning_is_leaf(const struct logical_node *n)
{
    return n->is_site || (n->is_group_site && n->in_n == 0);
}
/* The site that a demand of this node reads: an aggregation's states by labels, or what it is itself. */
static inline const struct site *planning_site(const struct logical_node *n)
{
    return n->is_site ? &n->site : &n->group_site;
}
/* The spot at a query's root. */
static inline struct spot *query_root_spot(const struct planning *p, uint32_t query)
{
    return &p->spots[p->query_spots[p->query_spots_first[query + 1] - 1].spot];
}
/* candidates.c: why an evaluation of this cost misses the bound (0: there is none); NULL: it does not. */
const char *planning_too_slow(const struct planning *p, double run_cost, int64_t latency_ms);
/* One line: "kll k=269 30 x 10s of quantile_over_time(...)". */
void candidate_text(const struct planning *p, const struct candidate *c, struct strbuf *out);

/* All stages but emit, for tests that look at candidates. planning_done frees. `arena` and `options` outlive the
 * planning. */
int planning_run(struct planning *p, const struct workload *w, const struct planner_options *options,
                 struct arena *arena, struct err *e);
void planning_done(struct planning *p);

/* The bytes of one field at the end of the intern key being built. */
#define KEY_ADD(p, field) strbuf_add(&(p)->key, &(field), sizeof(field))

#endif
