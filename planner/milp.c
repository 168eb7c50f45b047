#include "planner/milp.h"

#include <glpk.h>
#include <limits.h>
#include <math.h>
#include <setjmp.h>

#include "base/alloc.h"
#include "base/clock.h"

enum { SOLVER_MEMORY_MB = 4096 };
/* The objective is scaled to about this much, since the solver's tolerances are half absolute. */
#define OBJECTIVE_SCALE 1000.0

void milp_add_row(struct milp *m, double low, double high)
{
    m->rows = arena_grow(m->arena, m->rows, &m->rows_cap, (size_t)m->rows_n + 1, sizeof *m->rows);
    if (m->rows)
        m->rows[m->rows_n++] = (struct milp_row){low, high, (uint32_t)m->terms_n, 0};
}

void milp_add_term(struct milp *m, uint32_t column, double factor)
{
    m->terms = arena_grow(m->arena, m->terms, &m->terms_cap, m->terms_n + 1, sizeof *m->terms);
    if (!m->terms || !m->rows)
        return;
    m->terms[m->terms_n++] = (struct milp_term){column, factor};
    m->rows[m->rows_n - 1].n++;
}

int64_t milp_broken_row(const struct milp *m, const double *values, double tolerance)
{
    for (uint32_t i = 0; i < m->rows_n; i++) {
        const struct milp_row *row = &m->rows[i];
        double sum = 0, size = 1;
        for (uint32_t k = row->first; k < row->first + row->n; k++) {
            double term = m->terms[k].factor * values[m->terms[k].column];
            sum += term;
            size += fabs(term);
        }
        if (!(sum >= row->low - tolerance * size && sum <= row->high + tolerance * size))
            return i;
    }
    return -1;
}

const char *milp_solver_version(void)
{
    return glp_version();
}

struct solving {
    const struct milp *m;
    const struct milp_options *options;
    const double *start;
    struct milp_answer *answer;
    enum milp_status status;
    double unit; /* of the objective: the solver's is in these */
    uint64_t begun_ns;
    jmp_buf failed;
    bool started;
};

/* GLPK ends the process after this returns, so it does not. */
static void jump_out(void *info)
{
    longjmp(((struct solving *)info)->failed, 1);
}

/* Even with its terminal output off it prints what it is about to end the process for. */
static int swallow(void *info, const char *text)
{
    return 1;
}

static int time_left_ms(const struct solving *v)
{
    if (v->options->time_ms < 0)
        return INT_MAX;
    int64_t left = v->options->time_ms - (int64_t)((clock_monotonic_ns() - v->begun_ns) / 1000000);
    return left < 0 ? 0 : left > INT_MAX ? INT_MAX : (int)left;
}

static void watch(glp_tree *tree, void *info)
{
    struct solving *v = info;
    int best = glp_ios_best_node(tree);
    if (best > 0) {
        double bound = glp_ios_node_bound(tree, best) * v->unit;
        if (isfinite(bound) && bound > v->answer->bound)
            v->answer->bound = bound;
    }
    if (glp_ios_reason(tree) != GLP_IHEUR || v->started || !v->start)
        return;
    v->started = true;
    double *x = mem_alloc((v->m->columns_n + 1) * sizeof *x);
    for (uint32_t c = 0; c < v->m->columns_n; c++)
        x[c + 1] = v->start[c];
    glp_ios_heur_sol(tree, x);
    mem_free(x);
}

static void set_bounds(glp_prob *p, int row, double low, double high)
{
    if (isinf(low))
        glp_set_row_bnds(p, row, isinf(high) ? GLP_FR : GLP_UP, 0, high);
    else if (isinf(high))
        glp_set_row_bnds(p, row, GLP_LO, low, 0);
    else
        glp_set_row_bnds(p, row, low == high ? GLP_FX : GLP_DB, low, high);
}

static void state_problem(const struct solving *v, glp_prob *p)
{
    const struct milp *m = v->m;
    glp_add_cols(p, (int)m->columns_n);
    for (uint32_t c = 0; c < m->columns_n; c++) {
        glp_set_obj_coef(p, (int)c + 1, m->costs[c] / v->unit);
        if (m->whole[c])
            glp_set_col_kind(p, (int)c + 1, GLP_BV);
        else
            glp_set_col_bnds(p, (int)c + 1, GLP_DB, 0, 1);
    }
    if (m->rows_n)
        glp_add_rows(p, (int)m->rows_n);
    int *columns = mem_alloc((m->columns_n + 1) * sizeof *columns);
    double *factors = mem_alloc((m->columns_n + 1) * sizeof *factors);
    for (uint32_t i = 0; i < m->rows_n; i++) {
        const struct milp_row *row = &m->rows[i];
        for (uint32_t k = 0; k < row->n; k++) {
            columns[k + 1] = (int)m->terms[row->first + k].column + 1;
            factors[k + 1] = m->terms[row->first + k].factor;
        }
        set_bounds(p, (int)i + 1, row->low, row->high);
        glp_set_mat_row(p, (int)i + 1, (int)row->n, columns, factors);
    }
    mem_free(columns);
    mem_free(factors);
    if (v->options->fault == MILP_FAULT_CALL)
        glp_set_obj_coef(p, (int)m->columns_n + 2, 1);
    if (v->options->fault == MILP_FAULT_INFEASIBLE) {
        int row = glp_add_rows(p, 1), column[2] = {0, 1};
        double factor[2] = {0, 1};
        glp_set_row_bnds(p, row, GLP_LO, 2, 0);
        glp_set_mat_row(p, row, 1, column, factor);
    }
}

/* The relaxation, from which the search of the tree begins. */
static enum milp_status relax(struct solving *v, glp_prob *p)
{
    glp_smcp parm;
    glp_init_smcp(&parm);
    parm.msg_lev = GLP_MSG_OFF;
    parm.tm_lim = time_left_ms(v);
    glp_scale_prob(p, GLP_SF_AUTO);
    glp_adv_basis(p, 0);
    int rc = glp_simplex(p, &parm);
    if (rc == GLP_ETMLIM)
        return MILP_STOPPED;
    if (rc != 0) {
        v->answer->reason = "the solver's simplex method failed";
        return MILP_FAILED;
    }
    if (glp_get_status(p) == GLP_NOFEAS)
        return MILP_INFEASIBLE;
    if (glp_get_status(p) != GLP_OPT) {
        v->answer->reason = "the solver's relaxation has no optimum";
        return MILP_FAILED;
    }
    v->answer->bound = glp_get_obj_val(p) * v->unit;
    return MILP_OPTIMAL;
}

static void take_values(struct solving *v, glp_prob *p)
{
    const struct milp *m = v->m;
    for (uint32_t c = 0; c < m->columns_n; c++) {
        double x = glp_mip_col_val(p, (int)c + 1);
        v->answer->values[c] = m->whole[c] ? round(x) : x;
        if (v->options->fault == MILP_FAULT_ANSWER)
            v->answer->values[c] = 0;
    }
    v->answer->has_values = true;
    v->answer->objective = glp_mip_obj_val(p) * v->unit;
}

static void solve(struct solving *v)
{
    glp_prob *p = glp_create_prob();
    glp_iocp parm;
    glp_init_iocp(&parm);
    parm.msg_lev = GLP_MSG_OFF;
    parm.tol_obj = 1e-10;
    parm.tol_int = 1e-7;
    parm.br_tech = GLP_BR_PCH;
    parm.mir_cuts = GLP_ON; /* for the limit's row; the others did not pay */
    parm.cb_func = watch;
    parm.cb_info = v;
    state_problem(v, p);
    v->status = relax(v, p);
    if (v->status == MILP_OPTIMAL) {
        parm.tm_lim = time_left_ms(v);
        int rc = glp_intopt(p, &parm);
        int status = glp_mip_status(p);
        if (rc != 0 && rc != GLP_ETMLIM) {
            v->status = MILP_FAILED;
            v->answer->reason = "the solver's branch and cut failed";
        } else if (rc == 0 && status == GLP_NOFEAS) {
            v->status = MILP_INFEASIBLE;
        } else if (status == GLP_OPT || status == GLP_FEAS) {
            take_values(v, p);
            v->status = rc == 0 && status == GLP_OPT ? MILP_OPTIMAL : MILP_STOPPED;
            if (v->status == MILP_OPTIMAL)
                v->answer->bound = v->answer->objective;
        } else {
            v->status = MILP_STOPPED;
        }
    }
    glp_delete_prob(p);
}

/* About what the objective will be, over OBJECTIVE_SCALE. */
static double unit_of(const struct milp *m, const double *start)
{
    double sum = 0, largest = 0;
    for (uint32_t c = 0; c < m->columns_n; c++) {
        sum += start ? m->costs[c] * start[c] : 0;
        largest = fmax(largest, m->costs[c]);
    }
    double size = sum > 0 ? sum : largest;
    return size > 0 ? size / OBJECTIVE_SCALE : 1;
}

enum milp_status milp_solve(const struct milp *m, const double *start, const struct milp_options *options,
                            struct milp_answer *answer)
{
    struct solving v = {.m = m,
                        .options = options,
                        .start = start,
                        .answer = answer,
                        .unit = unit_of(m, start),
                        .begun_ns = clock_monotonic_ns()};
    answer->has_values = false;
    answer->bound = -INFINITY;
    answer->objective = 0;
    answer->reason = NULL;
    if (m->columns_n == 0 || m->columns_n >= INT_MAX / 2 || m->rows_n >= INT_MAX / 2) {
        answer->reason = "the model has no columns, or too many";
        return MILP_FAILED;
    }
    if (time_left_ms(&v) == 0)
        return MILP_STOPPED;
    if (setjmp(v.failed) == 0) {
        glp_term_hook(swallow, NULL);
        glp_term_out(GLP_OFF);
        glp_mem_limit(SOLVER_MEMORY_MB);
        glp_error_hook(jump_out, &v);
        solve(&v);
        glp_error_hook(NULL, NULL);
    } else {
        answer->has_values = false;
        answer->bound = -INFINITY;
        answer->reason = "the solver refused a call or ran out of memory";
        v.status = MILP_FAILED;
    }
    glp_free_env(); /* after an error nothing else may be called; otherwise it keeps no memory between solutions */
    return v.status;
}
