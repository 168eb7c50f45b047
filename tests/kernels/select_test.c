/* The sort and the selection over weighted runs, against sorting everything out in full. */
#include <math.h>

#include "kernels/order.h"
#include "kernels/select.h"
#include "states.h"
#include "suite.h"

static int rising_u64(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

START_TEST(keys_order_values)
{
    const double falling[] = {INFINITY, 1e300, 2, 1, 5e-324, 0.0, -0.0, -5e-324, -1, -1e300, -INFINITY, NAN};
    for (int i = 0; i < 12; i++) {
        double back = order_value(order_key(falling[i]));
        ck_assert(falling[i] != falling[i] ? back != back : memcmp(&back, &falling[i], 8) == 0);
        for (int j = i + 1; j < 12; j++)
            ck_assert(order_key(falling[i]) < order_key(falling[j]));
    }
    ck_assert(order_key(-NAN) == ORDER_NAN);
}
END_TEST

START_TEST(sorts)
{
    uint64_t random = suite_seed("select.sorts");
    static uint64_t v[2001], expect[2001], tmp[2001], ends[2001];
    for (uint32_t round = 0; round < 4000; round++) {
        uint32_t n = round < 300 ? round : random_below(&random, 2000), spread = 1 + random_below(&random, 3000);
        for (uint32_t i = 0; i < n; i++)
            v[i] = expect[i] = round % 3 ? random_below(&random, spread) : random_u64(&random);
        v[n] = 77; /* guard */
        qsort(expect, n, sizeof *expect, rising_u64);
        order_sort(v, n, tmp);
        ck_assert(n == 0 || memcmp(v, expect, n * sizeof *v) == 0);
        ck_assert(v[n] == 77);
        for (uint32_t i = 0; i < n; i++)
            v[i] = expect[(i * 7919u + round) % n]; /* any order: 7919 is a prime above n */
        if (n > 0) {
            uint32_t at = random_below(&random, n);
            order_select(v, n, at, tmp);
            ck_assert(v[at] == expect[at] && (at + 1 == n || v[at + 1] == expect[at + 1]));
            ck_assert(v[n] == 77);
            qsort(v, n, sizeof *v, rising_u64);
            ck_assert(memcmp(v, expect, n * sizeof *v) == 0);
        }
        uint32_t k = 0, start = 0;
        for (uint32_t i = 0; i < n; i++)
            v[i] = random_below(&random, spread);
        for (uint32_t at = 0; at < n; start = at) {
            at += 1 + random_below(&random, n);
            at = at < n ? at : n;
            qsort(v + start, at - start, sizeof *v, rising_u64);
            ends[k++] = at;
        }
        memcpy(expect, v, n * sizeof *v);
        qsort(expect, n, sizeof *expect, rising_u64);
        order_merge_runs(v, ends, k, tmp);
        ck_assert(n == 0 || memcmp(v, expect, n * sizeof *v) == 0);
    }
}
END_TEST

struct weighted {
    double v;
    uint64_t weight;
};

static int weighted_rising(const void *a, const void *b)
{
    return states_rising(&((const struct weighted *)a)->v, &((const struct weighted *)b)->v);
}

static double at_rank(const struct weighted *w, uint64_t rank)
{
    while (rank >= w->weight)
        rank -= w++->weight;
    return w->v;
}

static void check_ranks(struct select_run *runs, uint32_t k, const struct weighted *all, uint64_t total,
                        uint64_t *random)
{
    ck_assert_uint_eq(select_total(runs, k), total);
    for (int i = 0; i < 40; i++) {
        uint64_t rank = i == 0 ? 0 : i == 1 ? total - 1 : i < 8 ? total - 1 - total / (uint64_t)(1 << i) : 0;
        rank = i < 8 ? rank : random_u64(random) % total;
        double low, high;
        select_pair(runs, k, total, rank, &low, &high);
        ck_assert(low == at_rank(all, rank));
        ck_assert(high == at_rank(all, rank + 1 < total ? rank + 1 : rank));
    }
}

START_TEST(selects)
{
    uint64_t random = suite_seed("select.selects");
    static double v[80][300];
    static struct weighted all[80 * 300];
    static uint8_t bytes[80][300 * 8 + 1];
    struct select_run runs[80];
    for (uint32_t round = 0; round < 600; round++) {
        uint32_t k = 1 + random_below(&random, 80), longest = 1 + random_below(&random, 300), all_n = 0;
        uint32_t values = round % 4 == 0 ? 3 : 1000000;
        uint64_t total = 0;
        for (uint32_t i = 0; i < k; i++) {
            uint32_t n = random_below(&random, longest) + (i == 0);
            uint64_t weight = round % 2 ? 1 : UINT64_C(1) << random_below(&random, 12);
            for (uint32_t j = 0; j < n; j++) {
                v[i][j] = random_below(&random, values) + (round % 5 == 0 ? i * 1e7 : 0); /* or disjoint runs */
                all[all_n++] = (struct weighted){v[i][j], weight};
                total += weight;
            }
            qsort(v[i], n, sizeof v[i][0], states_rising);
            for (uint32_t j = 0; j < n; j++)
                memcpy(bytes[i] + 1 + 8 * j, &v[i][n - 1 - j], 8); /* largest first, not aligned */
            runs[i] = (struct select_run){.bytes = bytes[i] + 1, .n = n, .weight = weight};
        }
        qsort(all, all_n, sizeof *all, weighted_rising);
        check_ranks(runs, k, all, total, &random);
    }
}
END_TEST

START_TEST(places)
{
    ck_assert_uint_eq(select_inclusive_rank(0.99, 100), 98);
    ck_assert_uint_eq(select_inclusive_rank(0.99, 20), 19);
    ck_assert_uint_eq(select_inclusive_rank(0, 20), 0);
    ck_assert_uint_eq(select_inclusive_rank(1, 20), 19);
    ck_assert_uint_eq(select_inclusive_rank(0.5, 1), 0);
    struct select_place p = select_interpolated(0.25, 5);
    ck_assert_uint_eq(p.rank, 1);
    ck_assert_double_eq(p.high_weight, 0);
    p = select_interpolated(1, 7);
    ck_assert_uint_eq(p.rank, 6);
    ck_assert_double_eq(p.high_weight, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("select");
    TCase *tc = tcase_create("select");
    tcase_add_test(tc, keys_order_values);
    tcase_add_test(tc, sorts);
    tcase_add_test(tc, selects);
    tcase_add_test(tc, places);
    tcase_set_timeout(tc, 60);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
