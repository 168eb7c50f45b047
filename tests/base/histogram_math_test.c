/* Operators, sums, means, rates, resets and cuts of histograms. Expected values: Prometheus' conformance files, where a
 * comment says nothing else. */
#include "histogram_fixture.h"

#define SUB_A                                                                                                          \
    "count:41 sum:2345.6 z_bucket:5 z_bucket_w:0.001 buckets:[1 3 1 2 1 1 1] n_buckets:[0 1 4 2 7 0 0 0 0 5 5 2]"
#define SUB_B "count:11 sum:1234.5 z_bucket:3 z_bucket_w:0.001 buckets:[0 2 1] n_buckets:[0 0 3 2]"

START_TEST(subtraction_reconciles_schemas)
{
    unsigned notes = 0;
    check_histogram(histogram_sub(H(SUB_A), H(SUB_B), &arena, &notes),
                    "count:30 sum:1111.1 z_bucket:2 z_bucket_w:0.001 buckets:[1 1 0 2 1 1 1] "
                    "n_buckets:[0 1 1 0 7 0 0 0 0 5 5 2] counter_reset_hint:gauge",
                    &arena);
    check_histogram(histogram_sub(H(SUB_A), H("schema:1 " SUB_B), &arena, &notes),
                    "count:30 sum:1111.1 z_bucket:2 z_bucket_w:0.001 buckets:[1 0 1 2 1 1 1] "
                    "n_buckets:[0 -2 2 2 7 0 0 0 0 5 5 2]",
                    &arena);
    check_histogram(histogram_sub(H("schema:1 " SUB_B), H(SUB_A), &arena, &notes),
                    "count:-30 sum:-1111.1 z_bucket:-2 z_bucket_w:0.001 buckets:[-1 0 -1 -2 -1 -1 -1] "
                    "n_buckets:[0 2 -2 -2 -7 0 0 0 0 -5 -5 -2]",
                    &arena);
    ck_assert_uint_eq(notes, 0);
}
END_TEST

/* By hand: the wider zero bucket takes in what lies inside it, and grows to the end of a bucket it would cut. */
START_TEST(zero_buckets_are_reconciled)
{
    unsigned notes = 0;
    /* Schema 0: bucket -1 is (0.25, 0.5], 0 is (0.5, 1], 1 is (1, 2]. */
    const char *const wide = "count:3 sum:1 z_bucket:3 z_bucket_w:0.5 n_buckets:[]";
    check_histogram(histogram_add(H("count:10 sum:2 z_bucket:1 z_bucket_w:0.001 offset:-1 buckets:[2 4] n_offset:-1 "
                                    "n_buckets:[3]"),
                                  H(wide), &arena, &notes),
                    "count:13 sum:3 z_bucket:9 z_bucket_w:0.5 buckets:[4]", &arena);
    /* 0.7 would cut (0.5, 1], which is populated: the threshold becomes 1 for both. */
    check_histogram(histogram_add(H("count:3 sum:1 z_bucket:3 z_bucket_w:0.7 offset:2 buckets:[1]"),
                                  H("count:10 sum:2 z_bucket:1 z_bucket_w:0.001 buckets:[4 5]"), &arena, &notes),
                    "count:13 sum:3 z_bucket:8 z_bucket_w:1 offset:1 buckets:[5 1]", &arena);
    /* An empty bucket may be cut. */
    check_histogram(histogram_add(H("count:10 sum:2 z_bucket:1 z_bucket_w:0.001 buckets:[0 5]"),
                                  H("count:3 sum:1 z_bucket:3 z_bucket_w:0.7"), &arena, &notes),
                    "count:13 sum:3 z_bucket:4 z_bucket_w:0.7 offset:1 buckets:[5]", &arena);
    /* The negative side widens it, and what the positive side has inside is counted again. */
    check_histogram(histogram_add(H("count:10 sum:2 z_bucket:1 z_bucket_w:0.1 offset:-2 buckets:[1 2 4] n_offset:0 "
                                    "n_buckets:[3]"),
                                  H("count:3 sum:1 z_bucket:3 z_bucket_w:0.7"), &arena, &notes),
                    "count:13 sum:3 z_bucket:14 z_bucket_w:1", &arena);
    check_histogram(
        histogram_sub(H(wide), H("count:9 sum:2 z_bucket:1 z_bucket_w:0.25 offset:-2 buckets:[1 2 4]"), &arena, &notes),
        "count:-6 sum:-1 z_bucket:-1 z_bucket_w:0.5 buckets:[-4]", &arena);
    ck_assert_uint_eq(notes, 0);
}
END_TEST

START_TEST(custom_bounds_are_intersected)
{
    unsigned notes = 0;
    check_histogram(histogram_add(H("schema:-53 sum:1 count:3 custom_values:[2 5 10] buckets:[1 1 1]"),
                                  H("schema:-53 sum:2 count:15 custom_values:[1 5 20] buckets:[1 2 4 8]"), &arena,
                                  &notes),
                    "schema:-53 sum:3 count:18 custom_values:[5] buckets:[5 13]", &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_BOUNDS_IN_ADD);
    notes = 0;
    check_histogram(histogram_sub(H("schema:-53 sum:1 count:1 custom_values:[5 10] buckets:[1]"),
                                  H("schema:-53 sum:1 count:1 custom_values:[5] buckets:[1]"), &arena, &notes),
                    "schema:-53 custom_values:[5] counter_reset_hint:gauge", &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_BOUNDS_IN_SUB);
    notes = 0;
    check_histogram(histogram_add(H("schema:-53 sum:1 count:2 custom_values:[5 10] buckets:[1 |1 1]"),
                                  H("schema:-53 sum:1 count:1 custom_values:[6] buckets:[1]"), &arena, &notes),
                    "schema:-53 sum:2 count:3 buckets:[3]", &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_BOUNDS_IN_ADD);
    notes = 0;
    ck_assert_ptr_null(histogram_add(H("count:1 buckets:[1]"), H("schema:-53 count:1 buckets:[1]"), &arena, &notes));
    ck_assert_uint_eq(notes, HISTOGRAM_INCOMPATIBLE);
}
END_TEST

START_TEST(hints_of_sums)
{
    static const char *const names[4] = {"unknown", "reset", "not_reset", "gauge"};
    /* Rows and columns in that order: gauge wins, equals stay, all else is unknown. */
    static const int sum[4][4] = {{0, 0, 0, 3}, {0, 1, 0, 3}, {0, 0, 2, 3}, {3, 3, 3, 3}};
    for (int i = 0; i < 4; i++)
        for (int j = 0; j < 4; j++) {
            unsigned notes = 0, sub = 0;
            const struct histogram *a = H(arena_printf(&arena, "count:1 counter_reset_hint:%s", names[i]));
            const struct histogram *b = H(arena_printf(&arena, "count:1 counter_reset_hint:%s", names[j]));
            bool conflict = (i == 1 && j == 2) || (i == 2 && j == 1);
            ck_assert_int_eq(histogram_add(a, b, &arena, &notes)->reset, sum[i][j]);
            ck_assert_uint_eq(notes, conflict ? HISTOGRAM_RESETS_IN_ADD : 0);
            ck_assert_int_eq(histogram_sub(a, b, &arena, &sub)->reset, HISTOGRAM_GAUGE);
            ck_assert_uint_eq(sub, conflict ? HISTOGRAM_RESETS_IN_SUB : 0);
        }
}
END_TEST

/* Layouts before a Compact decide equality later, so seams are kept where Prometheus keeps them. */
START_TEST(merging_spans)
{
    static const struct {
        const char *a, *b, *sum;
    } cases[] = {
        {"buckets:[1 |3 2]", "buckets:[|1 5]", "buckets:[1 |0 5 |2 2]"},
        {"offset:5 buckets:[1]", "buckets:[1 2]", "buckets:[1 2 |3 1]"},
        {"offset:2 buckets:[1]", "buckets:[1 2]", "buckets:[1 2 1]"},
        {"buckets:[1 2]", "offset:2 buckets:[1]", "buckets:[1 2 1]"},
        {"buckets:[1 2 3]", "offset:1 buckets:[1]", "buckets:[1 3 3]"},
        {"buckets:[1 |2 3]", "offset:1 buckets:[4 4]", "buckets:[1 4 4 3]"},
        {"buckets:[1 |0 |1 3]", "", "buckets:[1 |1 3]"},
        {"", "offset:-3 buckets:[1 |4 2]", "offset:-3 buckets:[1 |4 2]"},
        {"offset:-1000 buckets:[1]", "offset:1073741823 buckets:[2]", "offset:-1000 buckets:[1 |1073742822 2]"},
        {"buckets:[1 |5 1 |5 1]", "offset:3 buckets:[2 |5 2 |5 2]", "buckets:[1 |2 2 |2 1 |2 2 |2 1 |2 2]"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned notes = 0;
        const struct histogram *a = H(cases[i].a), *b = H(cases[i].b),
                               *want = histogram_compact(H(cases[i].sum), &arena);
        const struct histogram *sum = histogram_add(a, b, &arena, &notes), *other = histogram_add(b, a, &arena, &notes);
        ck_assert_msg(histogram_equal(sum, want), "case %zu: %s", i, fixture_text(sum, &arena));
        ck_assert_msg(histogram_equal(other, want), "case %zu: %s", i, fixture_text(other, &arena));
        ck_assert_ptr_eq(histogram_compact(sum, &arena), sum);
        const struct histogram *back = histogram_sub(sum, b, &arena, &notes);
        ck_assert(histogram_equal(back, histogram_compact(a, &arena)));
    }
    /* The farthest gap there can be. A bound that no double holds is 0, and lies in the zero bucket of what it is added
     * to. */
    unsigned notes = 0;
    const struct histogram *low = H("offset:-1073741823 buckets:[1]"), *high = H("offset:1073741823 buckets:[2]");
    ck_assert(
        histogram_equal(histogram_add(low, high, &arena, &notes), H("offset:-1073741823 buckets:[1 |2147483645 2]")));
    ck_assert(histogram_equal(histogram_add(high, low, &arena, &notes), high));
    /* A sum over time is not compacted: seams and empty buckets of the first are still there, new ones join them. */
    struct histogram_total *t = histogram_total_new(&arena, false);
    histogram_total_add(t, H("buckets:[1 0 |0 3 |2 4]"));
    histogram_total_add(t, H("offset:3 buckets:[1]"));
    ck_assert(histogram_equal(histogram_total_result(t, &arena, &notes), H("buckets:[1 0 |0 3 1 |1 4]")));
    histogram_total_clear(t);
    histogram_total_add(t, H("buckets:[1 |3 4]"));
    histogram_total_add(t, H("offset:3 buckets:[1]"));
    ck_assert(histogram_equal(histogram_total_result(t, &arena, &notes), H("buckets:[1 |2 1 4]")));
}
END_TEST

#define SCALED "count:30 sum:33 z_bucket:3 z_bucket_w:0.001 buckets:[3 3 3] n_buckets:[6 6 6]"

START_TEST(scaling)
{
    check_histogram(histogram_mul(H(SCALED), 3, &arena),
                    "count:90 sum:99 z_bucket:9 z_bucket_w:0.001 buckets:[9 9 9] n_buckets:[18 18 18]", &arena);
    check_histogram(histogram_mul(H(SCALED), -1, &arena),
                    "count:-30 sum:-33 z_bucket:-3 z_bucket_w:0.001 buckets:[-3 -3 -3] n_buckets:[-6 -6 -6] "
                    "counter_reset_hint:gauge",
                    &arena);
    check_histogram(histogram_negate(H(SCALED), &arena),
                    "count:-30 sum:-33 z_bucket:-3 z_bucket_w:0.001 buckets:[-3 -3 -3] n_buckets:[-6 -6 -6] "
                    "counter_reset_hint:gauge",
                    &arena);
    check_histogram(histogram_div(H(SCALED), -3, &arena),
                    "count:-10 sum:-11 z_bucket:-1 z_bucket_w:0.001 buckets:[-1 -1 -1] n_buckets:[-2 -2 -2] "
                    "counter_reset_hint:gauge",
                    &arena);
    check_histogram(histogram_mul(H(SCALED), 0, &arena), "z_bucket_w:0.001", &arena);
    check_histogram(histogram_div(H(SCALED), 0, &arena), "count:Inf sum:Inf z_bucket:Inf z_bucket_w:0.001", &arena);
    check_histogram(histogram_div(H("count:1 sum:0"), 0, &arena), "count:Inf sum:NaN z_bucket:NaN", &arena);
    ck_assert_int_eq(histogram_mul(H("count:1 counter_reset_hint:not_reset"), 2, &arena)->reset, HISTOGRAM_RESET_NO);
    /* Unary minus leaves the layout as it is. */
    ck_assert(histogram_equal(histogram_negate(H("count:0 sum:1 buckets:[0 |0 2]"), &arena),
                              H("count:-0 sum:-1 z_bucket:-0 buckets:[-0 |0 -2]")));
}
END_TEST

static const struct histogram *total(bool mean, const char *const *texts, size_t n, unsigned *notes)
{
    struct histogram_total *t = histogram_total_new(&arena, mean);
    for (size_t i = 0; i < n; i++)
        histogram_total_add(t, H(texts[i]));
    return histogram_total_result(t, &arena, notes);
}
#define TOTAL(mean, texts, notes) total(mean, texts, sizeof(texts) / sizeof(*texts), notes)

START_TEST(sums_are_compensated)
{
    static const char *const three[] = {"count:1 sum:1", "count:2 sum:1e100", "count:3 sum:1", "count:4 sum:-1e100"};
    static const char *const four[] = {"count:1 sum:5.3", "count:2 sum:1e100", "count:3 sum:1",    "count:4 sum:-1e100",
                                       "count:5 sum:2",   "count:6 sum:1e50",  "count:7 sum:-1e50"};
    unsigned notes = 0;
    check_histogram(TOTAL(true, three, &notes), "count:2.5 sum:0.5", &arena);
    check_histogram(TOTAL(false, four, &notes), "count:28 sum:8.3", &arena);
    check_histogram(TOTAL(true, four, &notes), "count:4 sum:1.1857142857142857", &arena);
    /* In the buckets too: 2^53 + 1 + 1. */
    static const char *const buckets[] = {"count:9007199254740992 z_bucket:9007199254740992 buckets:[9007199254740992]",
                                          "count:1 z_bucket:1 buckets:[1]", "count:1 z_bucket:1 buckets:[1]"};
    check_histogram(TOTAL(false, buckets, &notes),
                    "count:9007199254740994 z_bucket:9007199254740994 buckets:[9007199254740994]", &arena);
    ck_assert_double_eq(TOTAL(false, buckets, &notes)->positive.counts[0], 9007199254740994.0);
    ck_assert_double_eq(TOTAL(false, buckets, &notes)->zero_count, 9007199254740994.0);
    static const char *const custom[] = {"schema:-53 custom_values:[5] buckets:[9007199254740992]",
                                         "schema:-53 custom_values:[5] buckets:[1]",
                                         "schema:-53 custom_values:[5 7] buckets:[1]"};
    ck_assert_double_eq(TOTAL(false, custom, &notes)->positive.counts[0], 9007199254740994.0);
    ck_assert_uint_eq(notes, HISTOGRAM_BOUNDS_IN_AGG);
}
END_TEST

static const char *const huge[] = {
    "count:1.7976931348623157e+308 sum:5.30921651659898 z_bucket:1.78264e50 z_bucket_w:0.001 buckets:[1.78264E+50 "
    "1.78264E+215 1.78264E+219 3363.5121756487] n_buckets:[1178.20696291113 731.697776280323 715.201503759399 "
    "1386.11378876781 855.572553278132]",
    "count:1e308 sum:0.961118537914768 z_bucket:0.76342771 z_bucket_w:0.001 buckets:[0.76342771 0.76342771 0.76342771 "
    "195.70084087969] n_buckets:[421.30382970055 0 450441.779]",
    "count:1e-6 sum:1.62091361305318 z_bucket:1.9592258 z_bucket_w:0.001 buckets:[1.9592258 1.9592258 1.9592258 "
    "1135.74692279] n_buckets:[0 4504.41779 588.599358265103 40.3760942760943]",
    "count:1e-6 sum:0.865089463758091 z_bucket:7.69805412 z_bucket_w:0.001 buckets:[2.258E+220 2.258E+220 "
    "2.3757689E+217 "
    "1078.68071312804] n_buckets:[349.905284031261 0 0 0.161173466838949 588.599358]",
    "count:1e-6 sum:0.323055185914577 z_bucket:458.90154 z_bucket_w:0.001 buckets:[7.69805412 7.69805412 2.258E+220 "
    "3173.28218135701]",
    "count:1e-6 sum:0.951811357687154 z_bucket:1.78264e50 z_bucket_w:0.001 buckets:[458.90154 458.90154 7.69805412 "
    "2178.35] n_buckets:[2054.92644438789 844.560108898123]",
    "count:1e-6 sum:0 z_bucket:5 z_bucket_w:0.001 buckets:[0 0 1.78264E+219 376.770478890989]",
    "count:1e-6 sum:0 z_bucket:0 z_bucket_w:0.001 buckets:[0 0 458.90154 250325.5] n_buckets:[0 0.0000000011353 0 "
    "608.697257]"};

START_TEST(means_that_would_overflow)
{
    unsigned notes = 0;
    check_histogram(TOTAL(true, huge, &notes),
                    "count:3.497116418577895e+307 sum:1.2539005843658437 z_bucket:4.4566e49 z_bucket_w:0.001 "
                    "buckets:[2.8225e+219 2.822522283e+219 3.271129711125e+219 32728.442914086805] "
                    "n_buckets:[500.5428151288539 760.0844593974477 56468.19748275306 254.4185391888429 "
                    "180.5214889097665]",
                    &arena);
    check_histogram(TOTAL(false, huge, &notes),
                    "count:Inf sum:10.03120467492675 z_bucket:3.56528e+50 z_bucket_w:0.001 buckets:[2.258e+220 "
                    "2.2580178264e+220 2.6169037689e+220 261827.54331269444] n_buckets:[4004.342521030831 "
                    "6080.675675179582 451745.57986202446 2035.3483135107433 1444.171911278132]",
                    &arena);
    static const char *const two[] = {"count:1.7976931348623157e+308 sum:5.3",
                                      "count:1e308 sum:1e100",
                                      "count:1e-6 sum:1",
                                      "count:1e-6 sum:-1e100",
                                      "count:1e-6 sum:2",
                                      "count:1e-6 sum:0",
                                      "count:1e-6 sum:0"};
    check_histogram(TOTAL(true, two, &notes), "count:3.9967044783747367e+307 sum:1.1857142857142857", &arena);
    static const char *const three[] = {"count:1.7976931348623157e+308 sum:5.3",
                                        "count:1e308 sum:1e100",
                                        "count:1e-6 sum:-1e100",
                                        "count:1e-6 sum:1",
                                        "count:1e-6 sum:1e100",
                                        "count:1e-6 sum:-1e100",
                                        "count:1e-6 sum:0"};
    check_histogram(TOTAL(true, three, &notes), "count:3.9967044783747367e+307 sum:0.9", &arena);
}
END_TEST

START_TEST(totals_of_little)
{
    unsigned notes = 0;
    struct histogram_total *t = histogram_total_new(&arena, true);
    ck_assert_ptr_null(histogram_total_result(t, &arena, &notes));
    histogram_total_add(t, H("schema:3 sum:5 count:4 buckets:[1 2 1]"));
    check_histogram(histogram_total_result(t, &arena, &notes), "schema:3 sum:5 count:4 buckets:[1 2 1]", &arena);
    histogram_total_clear(t);
    ck_assert_ptr_null(histogram_total_result(t, &arena, &notes));
    histogram_total_add(t, H("schema:-53 sum:1 count:5 custom_values:[5 10] buckets:[1 4]"));
    check_histogram(histogram_total_result(t, &arena, &notes),
                    "schema:-53 sum:1 count:5 custom_values:[5 10] buckets:[1 4]", &arena);
    ck_assert_uint_eq(notes, 0);
    histogram_total_add(t, H("count:1 buckets:[1]"));
    histogram_total_add(t, H("schema:-53 sum:1 count:5 custom_values:[5 10] buckets:[1 4]"));
    ck_assert_ptr_null(histogram_total_result(t, &arena, &notes));
    ck_assert_uint_eq(notes, HISTOGRAM_INCOMPATIBLE);
    histogram_total_clear(t);
    notes = 0;
    histogram_total_add(t, H("sum:1 count:1 buckets:[1] counter_reset_hint:reset"));
    histogram_total_add(t, H("sum:3 count:3 buckets:[1 2] counter_reset_hint:unknown"));
    histogram_total_add(t, H("schema:-1 sum:5 count:5 buckets:[|2 5] counter_reset_hint:not_reset"));
    const struct histogram *mean = histogram_total_result(t, &arena, &notes);
    check_histogram(mean, "schema:-1 sum:3 count:3 buckets:[0.6666666666666666 0.6666666666666666 1.6666666666666667]",
                    &arena);
    ck_assert_int_eq(mean->reset, HISTOGRAM_RESET_UNKNOWN);
    ck_assert_uint_eq(notes, HISTOGRAM_RESETS_IN_AGG);
}
END_TEST

/* Working memory grows with the buckets, not with how many histograms are added. */
START_TEST(totals_use_their_memory_again)
{
    struct arena own;
    arena_init(&own, 0);
    struct histogram_total *t = histogram_total_new(&own, true);
    const struct histogram *kinds[3] = {
        H("count:9 z_bucket:1 z_bucket_w:0.25 offset:-3 buckets:[1 2 3 4]"),
        H("schema:2 count:9 z_bucket_w:0.1 offset:-20 buckets:[1 2 3 |30 4] n_buckets:[3 3]"),
        H("count:9 z_bucket_w:0.6 n_offset:4 n_buckets:[1 |4 7]")};
    const struct histogram *bounds[2] = {H("schema:-53 custom_values:[1 2 3] buckets:[1 1 1 1]"),
                                         H("schema:-53 custom_values:[1 2.5 3] buckets:[1 1 1 1]")};
    size_t warm = 0;
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 30; i++)
            histogram_total_add(t, round % 2 ? kinds[i % 3] : bounds[i % 2]);
        histogram_total_clear(t);
        if (round == 3)
            warm = own.used_bytes;
    }
    ck_assert_uint_eq(own.used_bytes, warm);
    arena_done(&own);
}
END_TEST

static const struct histogram *increase(const char *const *texts, uint32_t n, bool counter, unsigned *notes)
{
    const struct histogram *samples[8];
    for (uint32_t i = 0; i < n; i++)
        samples[i] = H(texts[i]);
    return histogram_increase(samples, n, counter, &arena, notes);
}
#define INCREASE(texts, counter, notes) increase(texts, sizeof(texts) / sizeof(*texts), counter, notes)

START_TEST(increases)
{
    unsigned notes = 0;
    static const char *const in_bucket[] = {"count:4 sum:5 buckets:[1 2 1]", "count:5 sum:6 buckets:[1 1 3]",
                                            "count:6 sum:7 buckets:[1 2 3]"};
    /* The file extrapolates to 15 of 10 minutes: 1.5 of these. */
    check_histogram(INCREASE(in_bucket, true, &notes), "count:6 sum:7 buckets:[1 2 3] counter_reset_hint:gauge",
                    &arena);
    check_histogram(INCREASE(in_bucket, false, &notes), "count:2 sum:2 buckets:[0 0 2] counter_reset_hint:gauge",
                    &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_NOT_GAUGE);
    /* By hand: the second sample is the last before a reset; a resolution that rises again is one too. */
    notes = 0;
    static const char *const coarser[] = {
        "schema:1 count:3 sum:1 offset:1 buckets:[1 1 1]", "schema:1 count:7 sum:2 offset:1 buckets:[2 3 2]",
        "schema:0 count:2 sum:1 offset:1 buckets:[1 1]", "schema:1 count:9 sum:9 offset:1 buckets:[4 3 2]"};
    check_histogram(INCREASE(coarser, true, &notes), "schema:0 count:15 sum:11 offset:1 buckets:[11 4]", &arena);
    ck_assert_uint_eq(notes, 0);
    static const char *const exponential = "count:1 sum:1 buckets:[1]",
                             *const custom = "schema:-53 sum:1 count:1 custom_values:[5 10] buckets:[1]",
                             *const larger = "sum:5 count:4 buckets:[1 2 1]";
    const char *const between[] = {exponential, custom, larger}, *const around[] = {custom, larger, custom};
    ck_assert_ptr_null(INCREASE(between, true, &notes));
    ck_assert_uint_eq(notes, HISTOGRAM_INCOMPATIBLE);
    notes = 0;
    ck_assert_ptr_null(INCREASE(around, true, &notes));
    ck_assert_uint_eq(notes, HISTOGRAM_INCOMPATIBLE);
    notes = 0;
    /* A kind that changes after the first sample is a reset. */
    const char *const start[] = {custom, larger}, *const to_custom[] = {exponential, custom};
    check_histogram(INCREASE(start, true, &notes), "sum:5 count:4 buckets:[1 2 1]", &arena);
    check_histogram(INCREASE(to_custom, true, &notes), custom, &arena);
    ck_assert_uint_eq(notes, 0);
    static const char *const gauges[] = {"count:1 counter_reset_hint:gauge", "count:3",
                                         "count:4 counter_reset_hint:gauge"};
    check_histogram(INCREASE(gauges, true, &notes), "count:3", &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_NOT_COUNTER);
    notes = 0;
    check_histogram(INCREASE(gauges, false, &notes), "count:3", &arena);
    ck_assert_uint_eq(notes, 0);
    static const char *const bounds[] = {"schema:-53 sum:1 count:1 custom_values:[5] buckets:[1]",
                                         "schema:-53 sum:1 count:1 custom_values:[5] buckets:[1]",
                                         "schema:-53 sum:1 count:1 custom_values:[5 10] buckets:[1]"};
    check_histogram(INCREASE(bounds, true, &notes), "schema:-53 custom_values:[5]", &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_BOUNDS_IN_SUB);
}
END_TEST

START_TEST(last_steps)
{
    unsigned notes = 0;
    const struct histogram *one = H("count:1 sum:1 buckets:[1]"), *four = H("count:4 sum:5 buckets:[1 2 1]");
    check_histogram(histogram_last_step(one, four, true, &arena, &notes),
                    "count:3 sum:4 offset:1 buckets:[2 1] counter_reset_hint:gauge", &arena);
    check_histogram(histogram_last_step(four, one, true, &arena, &notes),
                    "count:1 sum:1 buckets:[1] counter_reset_hint:gauge", &arena);
    ck_assert_uint_eq(notes, 0);
    check_histogram(histogram_last_step(four, one, false, &arena, &notes), "count:-3 sum:-4 offset:1 buckets:[-2 -1]",
                    &arena);
    ck_assert_uint_eq(notes, HISTOGRAM_NOT_GAUGE);
    notes = 0;
    const struct histogram *custom = H("schema:-53 count:9 buckets:[9]");
    ck_assert_ptr_null(histogram_last_step(four, custom, false, &arena, &notes));
    ck_assert_uint_eq(notes, HISTOGRAM_NOT_GAUGE | HISTOGRAM_INCOMPATIBLE);
    notes = 0;
    check_histogram(histogram_last_step(four, custom, true, &arena, &notes), "schema:-53 count:9 buckets:[9]", &arena);
    ck_assert_uint_eq(notes, 0);
}
END_TEST

START_TEST(interpolation)
{
    unsigned notes = 0;
    const struct histogram *one = H("count:1 sum:1 offset:1 buckets:[1]"),
                           *two = H("count:2 sum:2 offset:1 buckets:[2]");
    check_histogram(histogram_interpolate(one, two, 7.0 / 15, true, &arena, &notes),
                    "count:1.4666666666666668 sum:1.4666666666666668 offset:1 buckets:[1.4666666666666668]", &arena);
    check_histogram(histogram_interpolate(two, one, 0.25, false, &arena, &notes),
                    "count:1.75 sum:1.75 offset:1 buckets:[1.75]", &arena);
    check_histogram(histogram_interpolate(two, one, 0.25, true, &arena, &notes),
                    "count:0.25 sum:0.25 offset:1 buckets:[0.25]", &arena);
    ck_assert_ptr_eq(histogram_interpolate(one, two, 0, true, &arena, &notes), one);
    ck_assert_ptr_eq(histogram_interpolate(one, two, 1, true, &arena, &notes), two);
    ck_assert_uint_eq(notes, 0);
    ck_assert_ptr_null(histogram_interpolate(one, H("schema:-53 count:9 buckets:[9]"), 0.5, false, &arena, &notes));
    ck_assert_uint_eq(notes, HISTOGRAM_INCOMPATIBLE);
}
END_TEST

START_TEST(resets)
{
    static const struct {
        const char *before, *now;
        bool reset;
    } cases[] = {
        {"count:4 buckets:[1 2 1]", "count:5 buckets:[1 2 2]", false},
        {"count:4 buckets:[1 2 1]", "count:5 buckets:[1 1 3]", true},
        {"count:4 buckets:[1 2 1]", "count:3 buckets:[1 2 1]", true},
        {"count:4 buckets:[1 2 1]", "count:3 buckets:[1 2 1] counter_reset_hint:not_reset", false},
        {"count:4 buckets:[1 2 1]", "count:9 buckets:[3 3 3] counter_reset_hint:reset", true},
        {"count:4 sum:9", "count:4 sum:1", false},
        {"count:4 n_buckets:[1 2 1]", "count:5 n_buckets:[1 2]", true},
        {"count:4 n_buckets:[1 2 0]", "count:5 n_buckets:[1 2]", false},
        {"count:4 buckets:[1 |3 2]", "count:5 buckets:[1 0 0 0 2 1]", false},
        {"count:4 buckets:[1 |3 2]", "count:5 buckets:[1 0 0 3]", true},
        {"count:4 buckets:[1 0 0]", "count:5", true},
        {"count:4 buckets:[0 0 0]", "count:5", false},
        {"schema:1 count:4 offset:1 buckets:[1 2 1]", "count:5 offset:1 buckets:[3 1]", false},
        {"schema:1 count:4 offset:1 buckets:[1 2 1]", "count:5 offset:1 buckets:[2 3]", true},
        {"count:4 buckets:[1]", "schema:1 count:5 buckets:[1]", true},
        {"count:4 z_bucket_w:0.5 z_bucket:1", "count:5 z_bucket_w:0.25 z_bucket:1", true},
        {"count:4 z_bucket_w:0.25 z_bucket:1 buckets:[3]", "count:5 z_bucket_w:0.5 z_bucket:1 buckets:[3]", false},
        {"count:4 z_bucket_w:0.25 z_bucket:1 offset:-1 buckets:[1 2]", "count:5 z_bucket_w:0.5 z_bucket:2 buckets:[3]",
         false},
        {"count:4 z_bucket_w:0.25 z_bucket:1 offset:-1 buckets:[1 2]", "count:5 z_bucket_w:0.5 z_bucket:1 buckets:[4]",
         true},
        {"count:4 z_bucket_w:0.25 z_bucket:1 buckets:[3]", "count:5 z_bucket_w:0.75 z_bucket:5", true},
        {"count:4 buckets:[1]", "schema:-53 count:5 buckets:[5]", true},
        {"schema:-53 count:4 buckets:[4]", "count:5 buckets:[5]", true},
        {"schema:-53 count:4 custom_values:[1 2] buckets:[1 2 1]",
         "schema:-53 count:5 custom_values:[1 2] buckets:[1 1 3]", true},
        {"schema:-53 count:4 custom_values:[1 2 4] buckets:[1 2 1]",
         "schema:-53 count:5 custom_values:[1 3 4] buckets:[1 1 2 1]", false},
        {"schema:-53 count:4 custom_values:[1 2 4] buckets:[1 2 1]",
         "schema:-53 count:5 custom_values:[1 3 4] buckets:[2 1 1 1]", true},
        {"schema:-53 count:4 custom_values:[1 2 4] buckets:[1 1 1 1]",
         "schema:-53 count:5 custom_values:[7] buckets:[5 0]", false},
        {"schema:-53 count:15 custom_values:[2 4 6] buckets:[1 2 5 7]",
         "schema:-53 count:15 custom_values:[2 3 4 6] buckets:[1 0 1 5 8]", true},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++)
        ck_assert_msg(histogram_was_reset(H(cases[i].now), H(cases[i].before)) == cases[i].reset, "case %zu: %s to %s",
                      i, cases[i].before, cases[i].now);
}
END_TEST

struct trim_case {
    const char *h;
    double at;
    bool below;
    const char *want;
};

#define H_TEST "sum:123.75 count:34 z_bucket:1 z_bucket_w:0.001 buckets:[2 4 8 16] n_buckets:[1 2]"
#define ONLY_POSITIVE "sum:8.0210678118654755 count:12 z_bucket:2 z_bucket_w:0.5 buckets:[10]"
#define ONLY_NEGATIVE "sum:-8.0210678118654755 count:12 z_bucket:2 z_bucket_w:0.5 n_buckets:[10]"
#define ONLY_ZERO "count:5 sum:0 z_bucket:5 z_bucket_w:0.1"
#define CUSTOM "schema:-53 sum:172.5 count:15 custom_values:[5 10 15 20] buckets:[1 6 4 3 1]"
#define CUSTOM_NEGATIVE "schema:-53 sum:172.5 count:15 custom_values:[-10 5 10 15 20] buckets:[2 1 6 4 3 1]"
#define ONE_BUCKET "schema:-53 sum:100.0 count:100 buckets:[100]"
#define AT_5 "schema:-53 sum:33 count:101 custom_values:[5] buckets:[1 100]"
#define AT_MINUS_5 "schema:-53 sum:33 count:101 custom_values:[-5] buckets:[1 100]"

static const struct trim_case trims[] = {
    {H_TEST, -INFINITY, false, H_TEST},
    {H_TEST, INFINITY, true, H_TEST},
    {H_TEST, INFINITY, false, "z_bucket_w:0.001"},
    {H_TEST, -INFINITY, true, "z_bucket_w:0.001"},
    {H_TEST, 0, false, "sum:120.20840280171308 count:30.5 z_bucket:0.5 z_bucket_w:0.001 buckets:[2 4 8 16]"},
    {H_TEST, 0, true, "sum:-3.53578390593273768 count:3.5 z_bucket:0.5 z_bucket_w:0.001 n_buckets:[1 2]"},
    {ONLY_POSITIVE, 0.5, false, "count:10 sum:7.0710678118654755 z_bucket_w:0.5 buckets:[10]"},
    {ONLY_POSITIVE, 0.1, false, "count:11.6 sum:7.551067811865476 z_bucket:1.6 z_bucket_w:0.5 buckets:[10]"},
    {ONLY_POSITIVE, 0, false, ONLY_POSITIVE},
    {ONLY_POSITIVE, 0.5, true, "count:2 sum:0.5 z_bucket:2 z_bucket_w:0.5"},
    {ONLY_POSITIVE, 0.1, true, "count:0.4 sum:0.02 z_bucket:0.4 z_bucket_w:0.5"},
    {ONLY_POSITIVE, 0, true, "z_bucket_w:0.5"},
    {ONLY_NEGATIVE, -0.5, true, "count:10 sum:-7.0710678118654755 z_bucket_w:0.5 n_buckets:[10]"},
    {ONLY_NEGATIVE, -0.1, true, "count:11.6 sum:-7.551067811865476 z_bucket:1.6 z_bucket_w:0.5 n_buckets:[10]"},
    {ONLY_NEGATIVE, 0, true, ONLY_NEGATIVE},
    {ONLY_NEGATIVE, -0.5, false, "count:2 sum:-0.5 z_bucket:2 z_bucket_w:0.5"},
    {ONLY_NEGATIVE, -0.1, false, "count:0.4 sum:-0.02 z_bucket:0.4 z_bucket_w:0.5"},
    {ONLY_NEGATIVE, 0, false, "z_bucket_w:0.5"},
    {ONLY_ZERO, 0.1, false, "z_bucket_w:0.1"},
    {ONLY_ZERO, 0.1, true, ONLY_ZERO},
    {ONLY_ZERO, 0.05, false, "count:1.25 sum:0.09375 z_bucket:1.25 z_bucket_w:0.1"},
    {ONLY_ZERO, 0.05, true, "count:3.75 sum:-0.09375 z_bucket:3.75 z_bucket_w:0.1"},
    {ONLY_ZERO, 0, false, "count:2.5 sum:0.125 z_bucket:2.5 z_bucket_w:0.1"},
    {ONLY_ZERO, 0, true, "count:2.5 sum:-0.125 z_bucket:2.5 z_bucket_w:0.1"},
    {ONLY_ZERO, -0.05, false, "count:3.75 sum:0.09375 z_bucket:3.75 z_bucket_w:0.1"},
    {ONLY_ZERO, -0.05, true, "count:1.25 sum:-0.09375 z_bucket:1.25 z_bucket_w:0.1"},
    {ONLY_ZERO, -0.1, true, "z_bucket_w:0.1"},
    {ONLY_ZERO, -0.1, false, ONLY_ZERO},
    {CUSTOM, 7.5, true, "schema:-53 count:4 sum:21.25 custom_values:[5 10 15 20] buckets:[1 3]"},
    {CUSTOM, 50, true, "schema:-53 count:14 sum:150.0 custom_values:[5 10 15 20] buckets:[1 6 4 3]"},
    {CUSTOM, -INFINITY, true, "schema:-53 custom_values:[5 10 15 20]"},
    {CUSTOM, INFINITY, false, "schema:-53 custom_values:[5 10 15 20]"},
    {CUSTOM_NEGATIVE, 2, true, "schema:-53 count:2.8 sum:-23.2 custom_values:[-10 5 10 15 20] buckets:[2 0.8]"},
    {CUSTOM_NEGATIVE, -4, true, "schema:-53 count:2.4 sum:-22.8 custom_values:[-10 5 10 15 20] buckets:[2 0.4]"},
    {CUSTOM_NEGATIVE, -15, true, "schema:-53 count:2 sum:-30 custom_values:[-10 5 10 15 20] buckets:[2]"},
    {ONE_BUCKET, 10, true, "schema:-53"},
    {ONE_BUCKET, 10, false, "schema:-53"},
    {ONE_BUCKET, INFINITY, true, ONE_BUCKET},
    {ONE_BUCKET, INFINITY, false, "schema:-53"},
    {ONE_BUCKET, -INFINITY, false, ONE_BUCKET},
    {ONE_BUCKET, -INFINITY, true, "schema:-53"},
    {AT_5, 10, true, "schema:-53 sum:2.5 count:1 custom_values:[5] buckets:[1 0]"},
    {AT_5, 2, true, "schema:-53 sum:0.4 count:0.4 custom_values:[5] buckets:[0.4 0]"},
    {AT_5, 0, true, "schema:-53 custom_values:[5]"},
    {AT_5, -10, true, "schema:-53 custom_values:[5]"},
    {AT_5, -10, false, "schema:-53 sum:500.0 count:100 custom_values:[5] buckets:[0 100]"},
    {AT_5, 0, false, AT_5},
    {AT_5, 2, false, "schema:-53 sum:502.1 count:100.6 custom_values:[5] buckets:[0.6 100]"},
    {AT_5, 10, false, "schema:-53 sum:1000.0 count:100 custom_values:[5] buckets:[0 100]"},
    {AT_MINUS_5, 10, true, "schema:-53 sum:-5.0 count:1 custom_values:[-5] buckets:[1 0]"},
    {AT_MINUS_5, 0, true, "schema:-53 sum:-5.0 count:1 custom_values:[-5] buckets:[1 0]"},
    {AT_MINUS_5, -2, true, "schema:-53 sum:-5.0 count:1 custom_values:[-5] buckets:[1 0]"},
    {AT_MINUS_5, -10, true, "schema:-53 sum:-10.0 count:1 custom_values:[-5] buckets:[1 0]"},
    {AT_MINUS_5, -10, false, "schema:-53 sum:-500 count:100 custom_values:[-5] buckets:[0 100]"},
    {AT_MINUS_5, -2, false, "schema:-53 sum:-200 count:100 custom_values:[-5] buckets:[0 100]"},
    {AT_MINUS_5, 0, false, "schema:-53 sum:0.0 count:100 custom_values:[-5] buckets:[0 100]"},
    {AT_MINUS_5, 10, false, "schema:-53 sum:1000.0 count:100 custom_values:[-5] buckets:[0 100]"},
    {"", -5, true, ""},
    {"", 5, false, ""},
    {"schema:-53 custom_values:[-3 2]", 0, true, "schema:-53 custom_values:[-3 2]"},
};

START_TEST(trimming)
{
    for (size_t i = 0; i < sizeof(trims) / sizeof(*trims); i++)
        check_histogram(histogram_trim(H(trims[i].h), trims[i].at, trims[i].below, &arena), trims[i].want, &arena);
    /* Inside a bucket, by interpolation: the files give these to 10 digits. */
    const struct histogram *h = histogram_trim(H(H_TEST), 1.4142135624, true, &arena);
    ck_assert_double_eq_tol(h->count, 8, 1e-9);
    ck_assert_double_eq_tol(h->sum, 0.2570938865989847, 1e-9);
    h = histogram_trim(H(H_TEST), 1.4142135624, false, &arena);
    ck_assert_double_eq_tol(h->count, 26, 1e-9);
    ck_assert_double_eq_tol(h->sum, 116.50067065070982, 1e-8);
    const char *fine =
        "schema:2 sum:12.8286080906 count:28 z_bucket:1 z_bucket_w:0.001 buckets:[1 2 4 7 3] n_buckets:[1 5 3 1]";
    ck_assert_double_eq_tol(histogram_trim(H(fine), 1.13, true, &arena)->count, 13.410582181123704, 1e-12);
    ck_assert_double_eq_tol(histogram_trim(H(fine), 1.13, false, &arena)->count, 14.589417818876296, 1e-12);
}
END_TEST

/* A full arena gives no histogram and is told by the arena, wherever it happens. */
START_TEST(full_arenas)
{
    const struct histogram *a = H(SUB_A), *b = H("schema:1 " SUB_B);
    for (size_t limit = 16; limit < 4000; limit += 48) {
        struct arena small;
        unsigned notes = 0;
        arena_init(&small, limit);
        const struct histogram *sum = histogram_add(a, b, &small, &notes);
        ck_assert_int_eq(sum == NULL, arena_failed(&small));
        arena_reset(&small);
        struct histogram_total *t = histogram_total_new(&small, true);
        const struct histogram *mean = NULL;
        if (t) {
            histogram_total_add(t, a);
            histogram_total_add(t, b);
            mean = histogram_total_result(t, &small, &notes);
        }
        ck_assert_int_eq(mean == NULL, arena_failed(&small));
        arena_reset(&small);
        ck_assert_int_eq(histogram_copy(a, &small) == NULL, arena_failed(&small));
        arena_done(&small);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/histogram_math");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, arena_open, arena_close);
    tcase_add_test(all, subtraction_reconciles_schemas);
    tcase_add_test(all, zero_buckets_are_reconciled);
    tcase_add_test(all, custom_bounds_are_intersected);
    tcase_add_test(all, hints_of_sums);
    tcase_add_test(all, merging_spans);
    tcase_add_test(all, scaling);
    tcase_add_test(all, sums_are_compensated);
    tcase_add_test(all, means_that_would_overflow);
    tcase_add_test(all, totals_of_little);
    tcase_add_test(all, totals_use_their_memory_again);
    tcase_add_test(all, increases);
    tcase_add_test(all, last_steps);
    tcase_add_test(all, interpolation);
    tcase_add_test(all, resets);
    tcase_add_test(all, trimming);
    tcase_add_test(all, full_arenas);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
