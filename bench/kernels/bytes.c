#include "bench/kernels/bytes.h"

#include <math.h>
#include <stdlib.h>

#include "bench/kernels/bench.h"
#include "kernels/sketch.h"

enum { PANES = 2000, SIZES = 4, FORMS = 3, KINDS = 4, N_MAX = 200 };

static const unsigned sizes[SIZES] = {4, 10, 60, 200};

static double whole_gauge(void)
{
    return floor(bench_uniform() * 101);
}

/* In seconds, to the millisecond: what the targets are for. */
static double seconds(void)
{
    return round(exp(bench_normal() - 1) * 1000) / 1000;
}

static double full_mantissa(void)
{
    return exp(3 + bench_normal());
}

static const struct {
    const char *name;
    enum family family;
    struct sketch_params params;
    double targets[SIZES];
} forms[FORMS] = {
    {"exact", FAMILY_VALUES, {0}, {8, 16, 68, 174}},
    {"exact (KLL)", FAMILY_KLL, {.k = 200}, {8, 16, 68, 174}},
    {"DDSketch 1 %", FAMILY_DDSKETCH, {.alpha = 0.01}, {9, 15, 64, 190}},
};

static const struct {
    const char *name;
    double (*next)(void);
} kinds[KINDS] = {{"3-decimal latencies", seconds},
                  {"3-decimal ms", bench_latency},
                  {"integers 0..100", whole_gauge},
                  {"full mantissa", full_mantissa}};

static void measure(struct bytes_row *row, const struct family_info *f, const struct sketch_params *params,
                    double (*next)(void))
{
    static double values[N_MAX];
    static int64_t times_ms[N_MAX];
    size_t cap = f->size_bound(params, row->n);
    uint8_t *state = bench_room(cap), *scratch = bench_room(f->scratch_bound(params, row->n, 0));
    for (unsigned i = 0; i < PANES; i++) {
        size_t size;
        for (unsigned j = 0; j < row->n; j++) {
            values[j] = next();
            times_ms[j] = j + 1;
        }
        if (f->build(state, cap, &size, params, row->n, times_ms, values, row->n, 7, scratch) != SKETCH_OK)
            abort();
        row->mean += (double)size / PANES;
        row->most = (double)size > row->most ? (double)size : row->most;
    }
}

const struct bytes_row *bytes_rows(size_t *ret_n)
{
    static struct bytes_row rows[KINDS * FORMS * SIZES];
    static size_t n;
    *ret_n = n;
    if (n > 0)
        return rows;
    for (unsigned kind = 0; kind < KINDS; kind++)
        for (unsigned form = 0; form < FORMS; form++)
            for (unsigned s = 0; s < SIZES; s++) {
                struct bytes_row *row = &rows[n++];
                *row = (struct bytes_row){.form = forms[form].name,
                                          .data = kinds[kind].name,
                                          .n = sizes[s],
                                          .target = kind == 0 ? forms[form].targets[s] : 0};
                measure(row, family_get(forms[form].family), &forms[form].params, kinds[kind].next);
            }
    *ret_n = n;
    return rows;
}
