/*
 * Panes finer than the grid of a demand's times asks for. They hold the same samples in more states: more to build, to
 * keep and to merge. Two things fall with the width all the same: a sketch of no more samples than it keeps in full is
 * small, and what is kept beside the reach of a window, the panes that may still be open, is less. Where the cost model
 * says that finer panes are clearly the cheaper they are offered beside the demand's own. The open pane, which a run
 * builds from its samples, is not counted: a run's times are on the grid, where the newest pane is built as soon as
 * samples behind it arrive.
 */
#include "planner/candidates.h"

#include "base/duration.h"
#include "planner/cost.h"
#include "planner/windows.h"

static const uint32_t divisors[] = {2, 3, 4, 5, 6, 8, 10};

/* What each window costs the runtime beside its states, a refresh and a commit, has no price: by less they are no gain.
 */
static const double clearly = 0.9;

/* Panes narrower than the interval of samples are empty ones. */
static bool may_be_kept(const struct planning *p, const struct demand *d, struct grid panes)
{
    return (double)panes.step_ms >= p->sources[d->source].interval_ms && !window_limits(d, panes, p->arena);
}

struct grid finer_grid(const struct planning *p, const struct demand *d, uint32_t state)
{
    struct pane_chain chain = window_chain(d);
    struct grid own = chain.ends, best = own;
    if (chain.count <= 1) /* the window is a pane: nothing to compose */
        return own;
    double least = cost_width(p, d, state, own) * clearly;
    for (size_t i = 0; i < sizeof divisors / sizeof *divisors; i++) {
        struct grid finer = {own.step_ms / divisors[i], 0};
        if (own.step_ms % divisors[i] != 0 || !may_be_kept(p, d, finer))
            continue;
        finer.phase_ms = floor_mod(own.phase_ms, finer.step_ms);
        double cost = cost_width(p, d, state, finer);
        if (cost < least) {
            least = cost;
            best = finer;
        }
    }
    return best;
}
