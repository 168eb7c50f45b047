/*
 * The cost model: CPU-ms per second of wall time, from expected rows alone (docs/PLANNER.md, stage 3).
 *
 *   ingestion   op_ms * ops + byte_ms * bytes, per second, and byte_s_ms * bytes kept
 *   query       runs per second * (op_ms * ops + byte_ms * bytes)
 *
 * Ops: one a row and node (scan, range, readout), one an output row, one an input state of a readout; what a family's
 * kernels take instead comes from the cost model. A raw row is 48 bytes; a state what state_size.h expects of the rows
 * of its pane. A function that sorts raw rows takes what building the exact multiset of them does. Rows are those of
 * cost_load.h.
 *
 * A run at T finds its newest pane still open (it seals LATENESS_MS after its end), so that pane's rows are read from
 * the head and built again at every run: a chain's price includes its open rows.
 */
#ifndef PLANNER_COST_H
#define PLANNER_COST_H

#include "planner/cost_load.h"
#include "planner/cost_model.h"
#include "planner/planning.h"

enum { COST_RAW_ROW_BYTES = 48, COST_RESULT_BYTES = 64, COST_RESULT_ROW_BYTES = 16 };
/* One-off work is priced as if spread over this time. */
#define COST_HORIZON_S 3600.0

double cost_runs_per_s(const struct cadence *c);

/* Building the states of `panes` windows of width_ms from rows that are read already, without what each state takes:
 * one row_ms a row. By labels every series of a pane is put into its group besides; where states are keyed, its samples
 * are added up and it is one item. */
double cost_build(const struct planning *p, const struct state *state, double panes, double width_ms);
/* One run of a demand from raw samples. */
double cost_raw_run(const struct planning *p, const struct demand *d);
/* One run from `count` panes a window of this chain. */
double cost_chain_run(const struct planning *p, const struct demand *d, const struct chain *c, int64_t count);
/* Panes built when they are read. Building all panes of one run, with the scan; reading them, however they came to be;
 * and what a run must build of kept ones all the same, since their windows are not sealed. */
double cost_query_build(const struct planning *p, const struct demand *d, const struct chain *c);
double cost_query_read(const struct planning *p, const struct demand *d, const struct chain *c, int64_t count);
double cost_kept_open(const struct planning *p, const struct demand *d, const struct chain *c);
/* rows, filled, state_bytes, build_cost, memory_bytes_s of a chain, from its state and grid. */
void cost_chain(const struct planning *p, struct chain *c);
/* The same of a roll-up; merging takes each state of the chain below once. */
void cost_level(const struct planning *p, struct chain *c);
/* One run of a FORM_LADDER candidate: of each level below the top ratio - 1 panes, at both ends together and on average
 * over where the window lies; as many of the top as fit between. */
double cost_ladder_run(const struct planning *p, const struct demand *d, const struct candidate *c);
/* A demand alone from such panes, all built: reading, building and keeping them, without the scan, which is the same
 * for any width. */
double cost_width(const struct planning *p, const struct demand *d, uint32_t state, struct grid panes);
/* The scan that all chains of one (source, refresh window) share. */
double cost_read(const struct planning *p, uint32_t source);
/* Keeping a chain for `retention_ms`. */
double cost_memory(const struct planning *p, const struct chain *c, int64_t retention_ms);
double cost_steps(const struct cadence *c); /* windows one run reads */
/* newest.c: adds what the instant selectors of an expression cost from panes, had it any, and from raw samples. False:
 * there is no saying, of ranges, subqueries and times off any grid. */
bool cost_newest(const struct planning *p, const struct expr *e, const struct cadence *c, struct plan_cost *panes,
                 double *raw);
/* All of one run that no site's candidates do: selectors that are read raw, and every operator over series. */
double cost_raw_rest(const struct planning *p, const struct expr *e, const struct cadence *c);
/* Of that what is this node's own: the sum over a query's nodes is the whole. What cannot be told apart, a node without
 * operands, is one. */
double cost_own_rest(const struct planning *p, const struct logical_node *n, const struct cadence *c);
/* Series of its result. */
double cost_rows(const struct planning *p, const struct expr *e);

/* A whole expression from raw samples at `steps_n` times that span length_ms. */
double cost_raw_expr(const struct planning *p, const struct expr *e, double steps_n, double length_ms);
/* A stored root's build_cost, memory_bytes_s and rows. */
void cost_kept(const struct planning *p, const struct expr *e, struct kept *k);
/* One run over its results, the newest of which are not sealed and are computed. */
double cost_kept_run(const struct planning *p, const struct expr *e, const struct kept *k, const struct cadence *c);
/* Keeping it for `retention_ms`. */
double cost_kept_memory(const struct planning *p, const struct kept *k, int64_t retention_ms);

/* How long a view must keep panes for a reader, and how many windows to build when nothing is stored: whole panes. */
int64_t cost_reach_ms(const struct demand *d, int64_t width_ms);
int64_t cost_retention_ms(int64_t reach_ms, int64_t width_ms);
/* How long a chain's panes are held for a reader that looks so far back: kept on first read, as long as it reads. */
int64_t cost_held_ms(const struct chain *c, int64_t reach_ms);

#endif
