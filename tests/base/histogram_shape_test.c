/* Bounds, walks, text, compacting, resolution and equality of histograms. */
#include <float.h>

#include "base/histogram_parts.h"
#include "histogram_fixture.h"

static double bound(int32_t schema, int32_t index)
{
    return histogram_bound_exponential(index, schema);
}

START_TEST(exponential_bounds)
{
    /* Powers of two are exact in every schema. */
    for (int32_t schema = HISTOGRAM_SCHEMA_MIN; schema <= HISTOGRAM_SCHEMA_MAX; schema++)
        for (int exponent = -1074; exponent < 1024; exponent++) {
            int32_t step = schema < 0 ? 1 << -schema : 1;
            if (exponent % step == 0)
                ck_assert_double_eq(bound(schema, schema < 0 ? exponent / step : exponent * (1 << schema)),
                                    ldexp(1, exponent));
        }
    /* Between them within 4 units in the last place below the power, and shared by all schemas that have them. */
    for (int32_t i = -700; i < 700; i++) {
        double exact = (double)exp2l((long double)i / 256), shown = bound(8, i);
        ck_assert(shown <= exact * (1 + DBL_EPSILON) && shown >= exact * (1 - 4 * DBL_EPSILON));
        ck_assert_double_gt(bound(8, i + 1), shown);
        for (int32_t schema = 0; schema < 8; schema++)
            if (i % (1 << (8 - schema)) == 0)
                ck_assert_double_eq(bound(schema, i / (1 << (8 - schema))), shown);
    }
    /* As Prometheus shows them. */
    ck_assert_double_eq(bound(1, 1), 1.414213562373095);
    ck_assert_double_eq(bound(2, -1), 0.8408964152537144);
    ck_assert_double_eq(bound(8, 255), 1.9945921121709396);
    /* Finite observations end at the largest double; after it the infinite ones are. */
    for (int32_t schema = HISTOGRAM_SCHEMA_MIN; schema <= HISTOGRAM_SCHEMA_MAX; schema++) {
        int32_t last = schema < 0 ? 1024 >> -schema : 1024 * (1 << schema);
        ck_assert_double_eq(bound(schema, last), DBL_MAX);
        ck_assert(isinf(bound(schema, last + 1)));
        ck_assert_double_lt(bound(schema, last - 1), DBL_MAX);
        ck_assert(isinf(bound(schema, HISTOGRAM_INDEX_MAX)));
        ck_assert_double_eq(bound(schema, -HISTOGRAM_INDEX_MAX), 0);
    }
    const struct histogram *custom = H("schema:-53 custom_values:[5 10] buckets:[1 1 1]");
    ck_assert_double_eq(histogram_bound(custom, -1), -INFINITY);
    ck_assert_double_eq(histogram_bound(custom, 1), 10);
    ck_assert_double_eq(histogram_bound(custom, 2), INFINITY);
    ck_assert_double_eq(histogram_bound(custom, HISTOGRAM_INDEX_MAX), INFINITY);
}
END_TEST

/* All buckets as "rule lower upper count;", as the JSON answer has them. */
static const char *listed(const struct histogram *h, bool falling)
{
    const char *all = "";
    struct histogram_buckets it;
    struct histogram_bucket b;
    histogram_buckets_begin(&it, h, falling);
    while (histogram_buckets_next(&it, &b))
        all = arena_printf(&arena, "%s%d %g %g %g;", all, b.rule, b.lower, b.upper, b.count);
    ck_assert(!histogram_buckets_next(&it, &b));
    return all;
}

START_TEST(walking)
{
    const struct histogram *both =
        H("count:9 z_bucket:2 z_bucket_w:0.001 buckets:[1 |0 |2 3] n_offset:-1 n_buckets:[4 0 |1 5 |0]");
    ck_assert_str_eq(listed(both, false), "1 -4 -2 5;1 -1 -0.5 0;1 -0.5 -0.25 4;3 -0.001 0.001 2;0 0.5 1 1;0 4 8 3;");
    ck_assert_str_eq(listed(both, true), "0 4 8 3;0 0.5 1 1;3 -0.001 0.001 2;1 -0.5 -0.25 4;1 -1 -0.5 0;1 -4 -2 5;");
    /* The zero bucket reaches into a bucket on either side; an empty one is not there. */
    ck_assert_str_eq(listed(H("count:9 z_bucket:2 z_bucket_w:0.75 buckets:[1] n_buckets:[4]"), false),
                     "1 -1 -0.75 4;3 -0.75 0.75 2;0 0.75 1 1;");
    ck_assert_str_eq(listed(H("count:9 z_bucket_w:0.75 buckets:[1]"), false), "0 0.75 1 1;");
    ck_assert_str_eq(listed(H("schema:-53 count:9 custom_values:[-5 10] buckets:[1 2 3]"), false),
                     "3 -inf -5 1;0 -5 10 2;0 10 inf 3;");
    ck_assert_str_eq(listed(H("schema:-53 count:9 custom_values:[-5 10] offset:1 buckets:[2]"), true), "0 -5 10 2;");
    ck_assert_str_eq(listed(H("schema:-53 count:9 buckets:[2]"), false), "3 -inf inf 2;");
    ck_assert_str_eq(listed(H("buckets:[]"), false), "");
    ck_assert_str_eq(listed(H("buckets:[|3 |2] n_buckets:[|1]"), true), "");
}
END_TEST

static void check_text(const char *h, const char *want)
{
    struct strbuf text = {0};
    histogram_text(H(h), &text);
    ck_assert_str_eq(strbuf_z(&text), want);
    strbuf_done(&text);
}

START_TEST(text)
{
    check_text("count:20 sum:10 z_bucket:2 z_bucket_w:0.001 buckets:[2 2] n_buckets:[1 2]",
               "{count:20, sum:10, [-2,-1):2, [-1,-0.5):1, [-0.001,0.001]:2, (0.5,1]:2, (1,2]:2}");
    check_text("", "{count:0, sum:0}");
    check_text("count:2.5e6 sum:NaN z_bucket:1 buckets:[0.5 0 1e-7] offset:40 n_buckets:[0]",
               "{count:2.5e+06, sum:NaN, [-0,0]:1, (5.49755813888e+11,1.099511627776e+12]:0.5, "
               "(2.199023255552e+12,4.398046511104e+12]:1e-07}");
    check_text("schema:-53 count:3 sum:-Inf custom_values:[0.1 2] buckets:[1 0 2]",
               "{count:3, sum:-Inf, [-Inf,0.1]:1, (2,+Inf]:2}");
}
END_TEST

START_TEST(compacting)
{
    static const char *const already[] = {"", "buckets:[1 2 |1 3]", "n_offset:-9 n_buckets:[NaN |2 -1]",
                                          "sum:3 count:1"};
    for (size_t i = 0; i < sizeof(already) / sizeof(*already); i++) {
        const struct histogram *h = H(already[i]);
        ck_assert_ptr_eq(histogram_compact(h, &arena), h);
    }
    static const char *const cases[][2] = {
        {"buckets:[0 0 1 0 2 0 0]", "offset:2 buckets:[1 |1 2]"},
        {"buckets:[1 |0 2]", "buckets:[1 2]"},
        {"buckets:[|3 |2 1]", "offset:5 buckets:[1]"},
        {"buckets:[1 |3 |2 1]", "buckets:[1 |5 1]"},
        {"buckets:[0 |2 0 |1 0]", ""},
        {"buckets:[-0 1] n_buckets:[0 |1 4 0]", "offset:1 buckets:[1] n_offset:2 n_buckets:[4]"},
        {"buckets:[1 |2]", "buckets:[1]"},
        {"schema:-53 custom_values:[1 2] buckets:[0 0 7]", "schema:-53 custom_values:[1 2] offset:2 buckets:[7]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct histogram *h = histogram_compact(H(cases[i][0]), &arena);
        ck_assert_msg(histogram_equal(h, H(cases[i][1])), "%s", cases[i][0]);
        ck_assert_ptr_eq(histogram_compact(h, &arena), h);
    }
}
END_TEST

/* Adding an empty one of a lower schema does nothing else. */
static const struct histogram *reduced(const struct histogram *h, int32_t schema)
{
    unsigned notes = 0;
    const struct histogram empty = {.schema = schema};
    return histogram_add(h, &empty, &arena, &notes);
}

START_TEST(resolution)
{
    /* By hand: of schema 1 the buckets 2k-1 and 2k make bucket k of schema 0. */
    static const char *const cases[][2] = {
        {"schema:1 buckets:[1 2 4 8 16]", "schema:0 buckets:[1 6 24]"},
        {"schema:1 offset:-3 buckets:[1 2 4 8]", "schema:0 offset:-1 buckets:[3 12]"},
        {"schema:1 offset:1 buckets:[1 |1 2 |0 4 |4 8]", "schema:0 offset:1 buckets:[1 6 |2 8]"},
        {"schema:2 n_offset:-100 n_buckets:[1 |199 2]", "schema:0 n_offset:-25 n_buckets:[1 |49 2]"},
        {"schema:1 buckets:[0 |5]", "schema:0"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(histogram_equal(reduced(H(cases[i][0]), 0), H(cases[i][1])), "%s", cases[i][0]);
    const struct histogram *h = H("schema:8 offset:-700 buckets:[1 2 4 |300 8 |5 16 32 |9000 64] n_buckets:[1]");
    ck_assert(histogram_equal(reduced(h, 8), histogram_compact(h, &arena)));
    /* One step at a time is the same as at once. */
    const struct histogram *stepped = h;
    for (int32_t schema = 7; schema >= HISTOGRAM_SCHEMA_MIN; schema--) {
        stepped = reduced(stepped, schema);
        ck_assert(histogram_equal(stepped, reduced(h, schema)));
    }
    /* Every observation stays where it was: bounds of the lower schema are bounds of the higher one. */
    for (int32_t i = -3000; i < 3000; i++)
        for (int shift = 1; shift <= 12; shift++) {
            int32_t j = index_reduced(i, shift);
            ck_assert(bound(8 - shift, j) >= bound(8, i) && bound(8 - shift, j - 1) <= bound(8, i - 1));
        }
}
END_TEST

START_TEST(equality)
{
    static const struct {
        const char *a, *b;
        bool equal;
    } cases[] = {
        {"", "", true},
        {"count:1", "count:2", false},
        {"sum:NaN", "sum:NaN", true},
        {"sum:0", "sum:-0", false},
        {"z_bucket_w:0", "z_bucket_w:-0", true},
        {"z_bucket:1", "z_bucket:2", false},
        {"schema:1", "schema:2", false},
        {"counter_reset_hint:gauge", "counter_reset_hint:reset", true},
        {"buckets:[1 2 |1 3]", "buckets:[1 2 |1 3]", true},
        {"buckets:[1 2 |1 3]", "buckets:[1 2 |2 3]", false},
        {"buckets:[1 2 |1 3]", "buckets:[1 2 0 3]", false},
        {"buckets:[1 2]", "buckets:[1 |0 2]", false},
        {"buckets:[1 |3 2]", "buckets:[1 |1 |2 2]", true},
        {"buckets:[1 |3 2]", "buckets:[1 |1 |2 2 |7]", true},
        {"buckets:[1]", "buckets:[1 0]", false},
        {"buckets:[1]", "n_buckets:[1]", false},
        {"buckets:[]", "", true},
        {"schema:-53 custom_values:[1]", "schema:-53 custom_values:[1]", true},
        {"schema:-53 custom_values:[1]", "schema:-53 custom_values:[1 2]", false},
        {"schema:-53 custom_values:[1]", "schema:-53 custom_values:[2]", false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        const struct histogram *a = H(cases[i].a), *b = H(cases[i].b);
        ck_assert_msg(histogram_equal(a, b) == cases[i].equal, "%s and %s", cases[i].a, cases[i].b);
        ck_assert(histogram_equal(b, a) == cases[i].equal);
        ck_assert(histogram_equal(a, histogram_copy(a, &arena)));
    }
    const struct histogram *h = H("schema:-53 custom_values:[1 2] count:3 buckets:[1 2] counter_reset_hint:reset");
    const struct histogram *copy = histogram_copy(h, &arena), *gauge = histogram_with_reset(h, HISTOGRAM_GAUGE, &arena);
    ck_assert_ptr_ne(copy->custom, h->custom);
    ck_assert_ptr_ne(copy->positive.counts, h->positive.counts);
    ck_assert_int_eq(copy->reset, HISTOGRAM_RESET_YES);
    ck_assert(histogram_equal(gauge, h));
    ck_assert_int_eq(gauge->reset, HISTOGRAM_GAUGE);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/histogram_shape");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, arena_open, arena_close);
    tcase_add_test(all, exponential_bounds);
    tcase_add_test(all, walking);
    tcase_add_test(all, text);
    tcase_add_test(all, compacting);
    tcase_add_test(all, resolution);
    tcase_add_test(all, equality);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
