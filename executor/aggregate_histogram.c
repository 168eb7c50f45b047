/* sum and avg of the native histograms of a group, beside the tally of its numbers: one running total per step. */
#include "executor/aggregate.h"
#include "executor/note_histogram.h"

int histogram_tally_add(struct histogram_tally *t, const struct apply *c, const struct vec_series *s, struct err *e)
{
    struct arena *arena = c->ev->arena;
    uint32_t n = c->t->n;
    if (!t->totals) {
        t->totals = arena_zalloc(arena, n * sizeof(struct histogram_total *));
        t->here = arena_zalloc(arena, n * sizeof *t->here);
        if (!t->totals || !t->here)
            return apply_full(c, e);
    }
    for (uint32_t i = 0; i < n; i++) {
        const struct histogram *h = vec_histogram(s, i);
        if (!h)
            continue;
        if (!t->totals[i] && !(t->totals[i] = histogram_total_new(arena, c->expr->aggregate == AGGREGATE_AVG)))
            return apply_full(c, e);
        if (!t->here[i])
            histogram_total_clear(t->totals[i]);
        histogram_total_add(t->totals[i], h);
        t->here[i] = true;
        t->any = true;
    }
    t->name = labels_get(&s->labels, STR(LABEL_NAME));
    return apply_full(c, e);
}

int histogram_tally_end(struct histogram_tally *t, const struct apply *c, struct vec_series *group, struct err *e)
{
    uint32_t byte = expr_unwrap(c->expr->args[0])->start;
    const double absent = float_stale();
    if (!t->any)
        return 0;
    for (uint32_t i = 0; i < c->t->n; i++) {
        unsigned notes = 0;
        if (!t->here[i])
            continue;
        t->here[i] = false;
        if (!value_absent(group->v[i])) { /* numbers and histograms have no sum */
            note_mixed_group(c->ev, byte);
            memcpy(&group->v[i], &absent, sizeof absent);
            continue;
        }
        const struct histogram *sum = histogram_total_result(t->totals[i], c->ev->arena, &notes);
        if (sum)
            sum = histogram_compact(sum, c->ev->arena);
        note_histogram_bits(c->ev, notes, t->name, byte);
        if (sum)
            series_put_histogram(c->ev, group, c->t->n, i, sum);
    }
    t->any = false;
    return apply_full(c, e);
}
