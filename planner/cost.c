#include "planner/cost.h"

#include <math.h>

#include "base/duration.h"
#include "plan/root_expr.h"
#include "planner/state_size.h"

#define DEFAULT_OP_MS 1e-6
#define PLAIN                                                                                                          \
    {                                                                                                                  \
        DEFAULT_OP_MS, DEFAULT_OP_MS, DEFAULT_OP_MS, DEFAULT_OP_MS                                                     \
    }
#define COUNTING                                                                                                       \
    {                                                                                                                  \
        (COST_MODEL_DEPTH + 1) * DEFAULT_OP_MS, DEFAULT_OP_MS, DEFAULT_OP_MS, DEFAULT_OP_MS                            \
    }
const struct cost_model cost_defaults = {
    .op_ms = DEFAULT_OP_MS,
    .byte_ms = 1e-7,
    .byte_s_ms = 1.25e-7,
    .families = {[0 ... FAMILY_CMS - 1] = PLAIN,
                 [FAMILY_CMS... FAMILY_COUNTSKETCH_HEAP] = COUNTING,
                 [FAMILY_KMV] = PLAIN,
                 [FAMILY_UNIVMON... FAMILY_HYDRA_COUNTSKETCH] = COUNTING,
                 [FAMILY_HYDRA_KLL... FAMILY_END - 1] = PLAIN},
};

static double ops_and_bytes(const struct planning *p, double ops, double bytes)
{
    return p->model->op_ms * ops + p->model->byte_ms * bytes;
}

/* How many states a window has, if all are filled. */
static double units_of(const struct planning *p, const struct state *state)
{
    const struct grouping *g = &p->groupings[state->grouping];
    return state->grouping == 0 ? p->sources[state->source].series_n : cost_groups(p, state->source, g->by, g->by_n);
}

static bool is_keyed(const struct planning *p, const struct state *state)
{
    return p->groupings[state->grouping].input.kind != INPUT_VALUE;
}

/* A row of samples, or an item of one of keyed states. */
static double row_ms(const struct planning *p, const struct state *state)
{
    const double build_row_ms = p->model->families[state->family].build_row_ms;
    uint32_t depth = state->params.depth;
    return depth > 0 ? build_row_ms * (depth + 1) / (COST_MODEL_DEPTH + 1) : build_row_ms;
}

double cost_build(const struct planning *p, const struct state *state, double panes, double width_ms)
{
    const struct source *s = &p->sources[state->source];
    double rows = panes * s->series_n * width_ms / s->interval_ms;
    double series = panes * s->series_n * fmin(1, width_ms / s->interval_ms);
    if (state->grouping == 0)
        return row_ms(p, state) * rows;
    if (!is_keyed(p, state))
        return row_ms(p, state) * rows + p->model->op_ms * series;
    return p->model->op_ms * (rows + series) + row_ms(p, state) * series;
}

double cost_runs_per_s(const struct cadence *c)
{
    switch (c->kind) {
    case CADENCE_EVERY:
        return 1000.0 / (double)c->every_ms;
    case CADENCE_AT:
        return c->at_n / COST_HORIZON_S;
    case CADENCE_RATE:
        return c->rate_per_s;
    case CADENCE_ONCE:
        break;
    }
    return 1 / COST_HORIZON_S;
}

/* A range query scans its span once; every step goes over its own window. */
static double raw_windows(const struct planning *p, double series_n, double interval_ms, const struct site *site,
                          double steps_n, double length_ms)
{
    double range_ms = (double)site->range_ms;
    double scanned = series_n * (range_ms + length_ms) / interval_ms;
    double windows = series_n * steps_n * range_ms / interval_ms;
    bool sorts = !site->group && (site->statistic == STATISTIC_QUANTILE || site->statistic == STATISTIC_DISTINCT);
    double function_ms = sorts ? p->model->families[FAMILY_VALUES].build_row_ms : p->model->op_ms;
    return function_ms * windows +
           ops_and_bytes(p, scanned + windows + series_n * steps_n, scanned * COST_RAW_ROW_BYTES);
}

double cost_raw_run(const struct planning *p, const struct demand *d)
{
    const struct source *s = &p->sources[d->source];
    return raw_windows(p, s->series_n, s->interval_ms, d->site, d->steps_n, (double)d->length_ms);
}

/* The newest pane is open still: its rows are read and built again at each run. */
static double open_run(const struct planning *p, const struct demand *d, const struct chain *c)
{
    const struct source *s = &p->sources[p->states[c->state].source];
    if (d->site->anchored || d->site->offset_ms >= LATENESS_MS)
        return 0;
    double rows = s->series_n * (double)c->grid.step_ms / s->interval_ms;
    return cost_build(p, &p->states[c->state], 1, (double)c->grid.step_ms) +
           ops_and_bytes(p, rows, rows * COST_RAW_ROW_BYTES);
}

/* Series of one time of a demand's result. */
static double results_of(const struct planning *p, const struct demand *d)
{
    const struct site_group *g = d->site->group;
    if (!g)
        return p->sources[d->source].series_n;
    return cost_groups(p, d->source, g->by, g->by_n) * (g->top > 0 ? g->top : 1);
}

/* One run over states that are all built. */
static double built_run(const struct planning *p, const struct demand *d, const struct chain *c, int64_t count)
{
    double width_ms = (double)c->grid.step_ms, units = units_of(p, &p->states[c->state]);
    double panes = (double)d->length_ms / width_ms + (double)count;
    double states_read = units * c->filled * panes;
    double states_used = units * c->filled * (double)count * d->steps_n;
    double results = results_of(p, d) * d->steps_n;
    const struct cost_family *f = &p->model->families[p->states[c->state].family];
    return f->read_state_ms * states_used + f->read_result_ms * results +
           ops_and_bytes(p, 0, states_read * c->state_bytes);
}

double cost_chain_run(const struct planning *p, const struct demand *d, const struct chain *c, int64_t count)
{
    return built_run(p, d, c, count) + open_run(p, d, c);
}

double cost_ladder_run(const struct planning *p, const struct demand *d, const struct candidate *c)
{
    const struct source *s = &p->sources[d->source];
    const struct cost_family *f = &p->model->families[c->family];
    double span_ms = (double)(d->site->range_ms + d->length_ms);
    double cost = f->read_result_ms * s->series_n * d->steps_n + open_run(p, d, &p->chains[c->chain]);
    double panes = ((double)c->count + 1) * (double)c->width_ms / (double)p->chains[c->top].grid.step_ms - 1;
    for (uint32_t k = c->top; k != PLAN_NONE; k = candidate_next(p, c, k)) {
        const struct chain *level = &p->chains[k];
        double used = panes * d->steps_n, read = fmin(used, span_ms / (double)level->grid.step_ms);
        cost +=
            s->series_n * level->filled * (f->read_state_ms * used + ops_and_bytes(p, 0, read * level->state_bytes));
        panes = level->ratio - 1.0; /* of the level below */
    }
    return cost;
}

/* Rows of the windows of one run, each once. */
static double rows_read(const struct planning *p, const struct demand *d)
{
    const struct source *s = &p->sources[d->source];
    double range_ms = (double)d->site->range_ms, windows_ms = d->steps_n * range_ms;
    double span_ms = d->site->anchored ? range_ms : range_ms + (double)d->length_ms;
    return s->series_n * fmin(windows_ms, span_ms) / s->interval_ms;
}

double cost_query_build(const struct planning *p, const struct demand *d, const struct chain *c)
{
    const struct source *s = &p->sources[d->source];
    const struct cost_family *f = &p->model->families[p->states[c->state].family];
    double scanned = s->series_n * (double)(d->site->range_ms + d->length_ms) / s->interval_ms;
    double rows = rows_read(p, d), states = rows * s->interval_ms / (double)c->grid.step_ms * c->filled;
    return f->build_row_ms * rows + f->build_state_ms * states +
           ops_and_bytes(p, scanned + rows, scanned * COST_RAW_ROW_BYTES + states * c->state_bytes);
}

double cost_query_read(const struct planning *p, const struct demand *d, const struct chain *c, int64_t count)
{
    const struct source *s = &p->sources[d->source];
    const struct cost_family *f = &p->model->families[p->states[c->state].family];
    double states = rows_read(p, d) * s->interval_ms / (double)c->grid.step_ms * c->filled;
    double used = s->series_n * c->filled * (double)count * d->steps_n;
    return f->read_state_ms * used + f->read_result_ms * s->series_n * d->steps_n +
           ops_and_bytes(p, 0, states * c->state_bytes);
}

double cost_kept_open(const struct planning *p, const struct demand *d, const struct chain *c)
{
    const struct source *s = &p->sources[d->source];
    if (d->site->anchored)
        return 0;
    double open_ms = (double)(LATENESS_MS + c->grid.step_ms - d->site->offset_ms);
    open_ms = fmin(fmax(0, open_ms), (double)(d->site->range_ms + d->length_ms));
    double rows = s->series_n * open_ms / s->interval_ms;
    return p->model->families[p->states[c->state].family].build_row_ms * rows +
           ops_and_bytes(p, rows, rows * COST_RAW_ROW_BYTES);
}

void cost_chain(const struct planning *p, struct chain *c)
{
    const struct state *state = &p->states[c->state];
    const struct source *s = &p->sources[state->source];
    const struct view_input *in = &p->groupings[state->grouping].input;
    double width_ms = (double)c->grid.step_ms, units = units_of(p, state), series = s->series_n / units;
    double expected = series * width_ms / s->interval_ms;
    c->rows = fmax(1, expected);
    c->filled = fmin(1, expected);
    if (is_keyed(p, state))
        c->rows = fmax(1, fmin(series, expected)); /* its items */
    if (in->kind == INPUT_LABEL)
        c->rows = fmin(c->rows, cost_values(s, in->label));
    c->state_bytes = state_size_expected(state->family, &state->params, c->rows);
    double states_per_s = units * c->filled * 1000 / width_ms;
    const struct cost_family *f = &p->model->families[state->family];
    c->build_cost = cost_build(p, state, 1000 / width_ms, width_ms) + f->build_state_ms * states_per_s +
                    ops_and_bytes(p, 0, states_per_s * c->state_bytes);
    c->memory_bytes_s = states_per_s * c->state_bytes;
}

void cost_level(const struct planning *p, struct chain *c)
{
    const struct chain *below = &p->chains[c->below];
    const struct state *state = &p->states[c->state];
    const struct source *s = &p->sources[state->source];
    const struct cost_family *f = &p->model->families[state->family];
    cost_chain(p, c);
    double merged_per_s = s->series_n * below->filled * 1000 / (double)below->grid.step_ms;
    double states_per_s = s->series_n * c->filled * 1000 / (double)c->grid.step_ms;
    c->build_cost = f->read_state_ms * merged_per_s + f->build_state_ms * states_per_s +
                    ops_and_bytes(p, 0, merged_per_s * below->state_bytes + states_per_s * c->state_bytes);
}

double cost_width(const struct planning *p, const struct demand *d, uint32_t state, struct grid panes)
{
    struct chain c = {.state = state, .grid = panes, .when = WHEN_INGESTION};
    cost_chain(p, &c);
    return d->runs_per_s * built_run(p, d, &c, d->site->range_ms / panes.step_ms) + c.build_cost +
           cost_memory(p, &c, cost_retention_ms(cost_reach_ms(d, panes.step_ms), panes.step_ms));
}

double cost_read(const struct planning *p, uint32_t source)
{
    const struct source *s = &p->sources[source];
    double rows_per_s = s->series_n * 1000 / s->interval_ms;
    return ops_and_bytes(p, rows_per_s, rows_per_s * COST_RAW_ROW_BYTES);
}

double cost_memory(const struct planning *p, const struct chain *c, int64_t retention_ms)
{
    return p->model->byte_s_ms * c->memory_bytes_s * (double)retention_ms / 1000;
}

/* What flows out of a node at each step: how many series, and of which metric (NULL: unknown, or of several). */
struct flow {
    double cost, own, series_n; /* own: of the cost what is not its arguments' */
    const struct workload_metric *metric;
};

/* Is it a function of a label, which is a demand of its own? *ret_groups: series of its result, as far as the workload
 * says so. ret->group says no more than that there is one. */
static bool is_label_site(const struct planning *p, const struct expr *e, struct site *ret, double *ret_groups)
{
    static const struct site_group some = {0};
    struct arena a;
    if (e->kind != EXPR_CALL)
        return false;
    arena_init(&a, 0);
    bool is_one = group_site_of(e, &a, ret);
    if (is_one) {
        const struct expr *selector = ret->selector;
        struct source s = {.matchers = selector->matchers, .matchers_n = selector->matchers_n};
        s.metric = cost_load_of(p, s.matchers, s.matchers_n, &s.series_n, &s.interval_ms);
        *ret_groups =
            cost_groups_in(&s, ret->group->by, ret->group->by_n) * (ret->group->top > 0 ? ret->group->top : 1);
    }
    arena_done(&a);
    ret->group = &some;
    return is_one;
}

/* Groups of an aggregation: what its labels can be, as far as the workload says so. */
static double groups_of(const struct expr *e, const struct flow *in)
{
    const struct source s = {.metric = in->metric, .series_n = in->series_n};
    if (!e->without)
        return cost_groups_in(&s, e->grouping, e->grouping_n);
    double values_n = 1;
    for (uint32_t i = 0; i < e->grouping_n; i++)
        values_n *= cost_counted_values(&s, e->grouping[i], 1);
    return fmax(1, in->series_n / values_n);
}

/*
 * Reading and computing all that is no site: selectors read raw, and one op a row for each operator above them and
 * above the sites, one more an output row of an aggregation. Inside a subquery nothing is a site of the query: its
 * steps are not on the query's grid. As deep as the tree, which the parser bounds.
 */
static struct flow raw_rest(const struct planning *p, const struct expr *e, bool in_subquery, double steps_n,
                            double length_ms)
{
    struct site site;
    double groups = 0;
    bool is_site = !in_subquery && (site_of(e, &site) || is_label_site(p, e, &site, &groups));
    struct flow out = {0, 0, 0, NULL};
    if (e->kind == EXPR_SELECTOR) {
        double interval_ms;
        out.metric = cost_load_of(p, e->matchers, e->matchers_n, &out.series_n, &interval_ms);
        double window = fmax(1, (double)e->range_ms / interval_ms);
        double scanned = out.series_n * (window + length_ms / interval_ms);
        out.own = ops_and_bytes(p, scanned + out.series_n * steps_n * (window + 1), scanned * COST_RAW_ROW_BYTES);
        out.cost = out.own;
        return out;
    }
    if (e->kind == EXPR_SUBQUERY) {
        double step_ms = e->step_ms > 0 ? (double)e->step_ms : 60000;
        length_ms += (double)e->range_ms;
        steps_n = length_ms / step_ms + 1;
        in_subquery = true;
    }
    double rows = 0;
    for (uint32_t i = 0; i < e->args_n; i++) {
        struct flow in = raw_rest(p, e->args[i], in_subquery, steps_n, length_ms);
        bool is_vector = e->args[i]->type == VALUE_VECTOR;
        out.cost += in.cost;
        rows += is_vector ? in.series_n : 0;
        if (in.series_n > out.series_n) {
            out.series_n = in.series_n;
            out.metric = in.metric;
        }
    }
    if (is_site)
        out.cost = 0;
    if (groups > 0)
        out.series_n = fmin(out.series_n, groups);
    if (e->kind == EXPR_AGGREGATE) {
        out.series_n = groups_of(e, &out);
        rows += out.series_n;
    }
    if (e->kind == EXPR_AGGREGATE || e->kind == EXPR_BINARY || e->kind == EXPR_UNARY || e->kind == EXPR_CALL)
        out.own = ops_and_bytes(p, rows * steps_n, 0);
    out.cost += out.own;
    return out;
}

double cost_steps(const struct cadence *c)
{
    return c->step_ms ? (double)(c->length_ms / c->step_ms + 1) : 1;
}

double cost_raw_rest(const struct planning *p, const struct expr *e, const struct cadence *c)
{
    return raw_rest(p, e, false, cost_steps(c), (double)c->length_ms).cost;
}

double cost_own_rest(const struct planning *p, const struct logical_node *n, const struct cadence *c)
{
    struct flow f = raw_rest(p, n->expr, false, cost_steps(c), (double)c->length_ms);
    return n->in_n > 0 ? f.own : f.cost;
}

double cost_rows(const struct planning *p, const struct expr *e)
{
    return raw_rest(p, e, false, 1, 0).series_n;
}

/* ---- stored roots ---- */

static double raw_sites(const struct planning *p, const struct expr *e, double steps_n, double length_ms)
{
    struct site site;
    double groups;
    if (site_of(e, &site) || is_label_site(p, e, &site, &groups)) {
        double series_n, interval_ms;
        cost_load(p, site.selector, &series_n, &interval_ms);
        return raw_windows(p, series_n, interval_ms, &site, steps_n, length_ms);
    }
    double cost = 0;
    for (uint32_t i = 0; e->kind != EXPR_SUBQUERY && i < e->args_n; i++)
        cost += raw_sites(p, expr_unwrap(e->args[i]), steps_n, length_ms);
    return cost;
}

double cost_raw_expr(const struct planning *p, const struct expr *e, double steps_n, double length_ms)
{
    return raw_sites(p, expr_unwrap(e), steps_n, length_ms) + raw_rest(p, e, false, steps_n, length_ms).cost;
}

void cost_kept(const struct planning *p, const struct expr *e, struct kept *k)
{
    double per_s = 1000.0 / (double)k->grid.step_ms;
    k->rows = cost_rows(p, e);
    double bytes = COST_RESULT_BYTES + COST_RESULT_ROW_BYTES * k->rows;
    k->memory_bytes_s = per_s * bytes;
    k->build_cost = per_s * (cost_raw_expr(p, e, 1, 0) + ops_and_bytes(p, k->rows, bytes));
}

double cost_kept_run(const struct planning *p, const struct expr *e, const struct kept *k, const struct cadence *c)
{
    double steps_n = cost_steps(c);
    double open_n = fmin(steps_n, (double)((LATENESS_MS + root_expr_ahead_ms(e)) / c->step_ms + 1));
    double results = steps_n - open_n;
    double bytes = results * (COST_RESULT_BYTES + COST_RESULT_ROW_BYTES * k->rows);
    return ops_and_bytes(p, results * k->rows, bytes) + cost_raw_expr(p, e, open_n, (open_n - 1) * (double)c->step_ms);
}

double cost_kept_memory(const struct planning *p, const struct kept *k, int64_t retention_ms)
{
    return p->model->byte_s_ms * k->memory_bytes_s * (double)retention_ms / 1000;
}

static int64_t whole_panes(int64_t ms, int64_t width_ms)
{
    return -floor_div(-ms, width_ms) * width_ms;
}

int64_t cost_reach_ms(const struct demand *d, int64_t width_ms)
{
    int64_t offset_ms = d->site->offset_ms > 0 ? d->site->offset_ms : 0;
    return whole_panes(offset_ms + d->site->range_ms + d->length_ms, width_ms);
}

int64_t cost_held_ms(const struct chain *c, int64_t reach_ms)
{
    if (c->when == WHEN_INGESTION)
        return cost_retention_ms(reach_ms, c->grid.step_ms);
    return c->when == WHEN_QUERY_KEPT ? reach_ms : 0;
}

int64_t cost_retention_ms(int64_t reach_ms, int64_t width_ms)
{
    return reach_ms + whole_panes(LATENESS_MS, width_ms) + width_ms;
}
