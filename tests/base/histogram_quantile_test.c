/* Quantiles, fractions and variances of histograms: values of Prometheus' conformance files, and what must hold for
 * histograms made by chance. */
#include "histogram_fixture.h"

static void check_near(double got, double want, const char *what)
{
    ck_assert_msg(fixture_near(got, want), "%s: got %.17g, want %.17g", what, got, want);
}

static void check_quantile(const char *h, double q, double want)
{
    unsigned notes = 0;
    check_near(histogram_quantile(H(h), q, &notes), want, arena_printf(&arena, "quantile %g of %s", q, h));
    ck_assert_uint_eq(notes, 0);
}

static void check_fraction(const char *h, double lower, double upper, double want)
{
    unsigned notes = 0;
    check_near(histogram_fraction(H(h), lower, upper, &notes), want,
               arena_printf(&arena, "fraction %g..%g of %s", lower, upper, h));
    ck_assert_uint_eq(notes, 0);
}

#define TWO_SIDES "count:24 sum:100 z_bucket:4 z_bucket_w:0.001 buckets:[2 3 0 1 4] n_buckets:[2 3 0 1 4]"
#define POSITIVE "count:12 sum:100 z_bucket:2 z_bucket_w:0.001 buckets:[2 3 0 1 4]"
#define NEGATIVE "count:12 sum:100 z_bucket:2 z_bucket_w:0.001 n_buckets:[2 3 0 1 4]"

START_TEST(quantiles)
{
    check_quantile(TWO_SIDES, 1.001, INFINITY);
    check_quantile(TWO_SIDES, 1, 16);
    check_quantile(TWO_SIDES, 0.99, 15.34822590920423);
    check_quantile(TWO_SIDES, 0.9, 10.556063286183155);
    check_quantile(TWO_SIDES, 0.7, 1.2030250360821164);
    check_quantile(TWO_SIDES, 0.55, 0.0006);
    check_quantile(TWO_SIDES, 0.5, 0);
    check_quantile(TWO_SIDES, 0.45, -0.0006);
    check_quantile(TWO_SIDES, 0.3, -1.2030250360821169);
    check_quantile(TWO_SIDES, 0.1, -10.556063286183155);
    check_quantile(TWO_SIDES, 0.01, -15.34822590920423);
    check_quantile(TWO_SIDES, 0, -16);
    check_quantile(TWO_SIDES, -1, -INFINITY);
    check_quantile(TWO_SIDES, NAN, NAN);
    check_quantile("", 0.5, NAN);
    check_quantile("schema:-1 sum:6 count:5 buckets:[0 5]", 0.5, 2);
    check_quantile("sum:4 count:5 buckets:[0 5]", 0.5, 1.4142135623730951);
    check_quantile("sum:4 count:5 buckets:[0 0 5]", 0.5, 2.82842712474619);
    check_quantile("schema:1 sum:4 count:5 buckets:[0 0 5]", 0.5, 1.6817928305074292);
    check_quantile("schema:0 z_bucket:1 z_bucket_w:0.5 sum:0.25 count:1", 0.5, 0);
    check_quantile("sum:0 count:8 buckets:[1 2 1] n_buckets:[1 2 1]", 0.5, 0.5);
    check_quantile("schema:-53 sum:5 count:4 custom_values:[5 10] buckets:[1 2 1]", 0.5, 7.5);
    /* By hand, of custom buckets: the first begins at 0 when it ends above; the last one ends nowhere. */
    check_quantile("schema:-53 sum:5 count:4 custom_values:[5 10] buckets:[1 2 1]", 0.125, 2.5);
    check_quantile("schema:-53 sum:5 count:4 custom_values:[5 10] buckets:[1 2 1]", 0.9, 10);
    check_quantile("schema:-53 sum:5 count:4 custom_values:[-5 10] buckets:[1 2 1]", 0.1, -5);
    check_quantile("schema:-53 sum:5 count:4 buckets:[4]", 0.5, INFINITY);
}
END_TEST

START_TEST(fractions)
{
    check_fraction(POSITIVE, 0, INFINITY, 1);
    check_fraction(POSITIVE, -INFINITY, 0, 0);
    check_fraction(POSITIVE, -0.001, 0, 0);
    check_fraction(POSITIVE, 0, 0.001, 0.16666666666666666);
    check_fraction(POSITIVE, 0.001, INFINITY, 0.8333333333333334);
    check_fraction(POSITIVE, 1.5, 2, 0.10375937481971091);
    check_fraction(POSITIVE, 1, 8, 0.3333333333333333);
    check_fraction(POSITIVE, 0, 6, 0.6320802083934297);
    check_quantile(POSITIVE, 0.6320802083934297, 6);
    check_fraction(POSITIVE, 1, 6, 0.29874687506009634);
    check_fraction(POSITIVE, -8, -1, 0);
    check_fraction(NEGATIVE, 0, INFINITY, 0);
    check_fraction(NEGATIVE, -INFINITY, 0, 1);
    check_fraction(NEGATIVE, -0.0005, 0, 0.08333333333333333);
    check_fraction(NEGATIVE, -INFINITY, -0.0005, 0.9166666666666666);
    check_quantile(NEGATIVE, 0.9166666666666666, -0.0005);
    check_fraction(NEGATIVE, -2, -1.5, 0.10375937481971091);
    check_fraction(NEGATIVE, -INFINITY, -6, 0.36791979160657035);
    check_quantile(NEGATIVE, 0.36791979160657035, -6);
    check_fraction(NEGATIVE, 42, 3.1415, 0);
    check_fraction(NEGATIVE, -3.1, -3.1, 0);
    check_fraction(NEGATIVE, 3.1415, NAN, NAN);
    check_fraction(NEGATIVE, NAN, 42, NAN);
    check_fraction(TWO_SIDES, -INFINITY, 0.0005, 0.5416666666666666);
    check_fraction(TWO_SIDES, 1.5, 2, 0.051879687409855414);
    check_fraction(TWO_SIDES, 1, 6, 0.14937343753004825);
    check_fraction(TWO_SIDES, -6, -1.5, 0.07625312493990362);
    check_fraction(TWO_SIDES, -INFINITY, INFINITY, 1);
    check_fraction("", 3.1415, 42, NAN);
    check_fraction("schema:-53 sum:5 count:4 custom_values:[5 10] buckets:[1 2 1]", 5, 10, 0.5);
    check_fraction("schema:-53 sum:172.5 count:15 custom_values:[5 10 15 20] buckets:[1 6 4 3 1]", -INFINITY, 13,
                   9.4 / 15);
    check_fraction("schema:-53 sum:172.5 count:15 custom_values:[5 10 15 20] buckets:[1 6 4 3 1]", 13, INFINITY,
                   5.6 / 15);
}
END_TEST

START_TEST(observations_of_nan)
{
    static const struct {
        const char *h;
        double q, want;
        unsigned notes;
    } cases[] = {
        {"count:3 sum:NaN", 1, NAN, HISTOGRAM_NAN_RESULT},
        {"count:3 sum:NaN", 0.4, NAN, HISTOGRAM_NAN_RESULT},
        {"count:15 sum:NaN buckets:[12]", 1, NAN, HISTOGRAM_NAN_RESULT},
        {"count:15 sum:NaN buckets:[12]", 0.81, NAN, HISTOGRAM_NAN_RESULT},
        {"count:15 sum:NaN buckets:[12]", 0.8, 1, HISTOGRAM_NAN_SKEW},
        {"count:15 sum:NaN buckets:[12]", 0.4, 0.7071067811865475, HISTOGRAM_NAN_SKEW},
        /* Both infinities make the sum NaN too, but all of them are in buckets. */
        {"count:12 sum:NaN buckets:[12]", 0.5, 0.7071067811865475, 0},
        /* Measured: with NaN observations the last bucket is interpolated in, whichever it was. */
        {"count:6 sum:NaN offset:1 buckets:[2 2]", 0.25, 3.3635856610148585, HISTOGRAM_NAN_SKEW},
        {"count:6 sum:NaN offset:1 buckets:[2 2]", 0.5, 2.82842712474619, HISTOGRAM_NAN_SKEW},
        {"count:6 sum:NaN offset:1 buckets:[2 2]", 0.75, NAN, HISTOGRAM_NAN_RESULT},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        unsigned notes = 0;
        check_near(histogram_quantile(H(cases[i].h), cases[i].q, &notes), cases[i].want, cases[i].h);
        ck_assert_uint_eq(notes, cases[i].notes);
    }
    unsigned notes = 0;
    check_near(histogram_fraction(H("count:3 sum:NaN"), -INFINITY, 0.7, &notes), 0, "all NaN");
    ck_assert_uint_eq(notes, HISTOGRAM_NAN_FRACTION);
    notes = 0;
    const struct histogram *some = H("count:15 sum:NaN buckets:[12]");
    check_near(histogram_fraction(some, -INFINITY, 0.7071067811865475, &notes), 0.4, "some NaN");
    check_near(histogram_fraction(some, -INFINITY, INFINITY, &notes), 0.8, "some NaN");
    ck_assert_uint_eq(notes, HISTOGRAM_NAN_FRACTION);
}
END_TEST

START_TEST(moments)
{
    static const struct {
        const char *h;
        double stddev, stdvar;
    } cases[] = {
        {"schema:2 count:4 sum:10 buckets:[1 0 0 0 1 0 0 1 1]", 1.0787993180043811, 1.163807968526718},
        {"schema:8 count:10 sum:10 buckets:[1 2 3 4]", 0.0048960313898237465, 2.3971123370139447e-05},
        {"count:10 sum:-112946 n_buckets:[0 0 1 1 1 0 1 1 0 0 3 0 0 0 1 0 0 1]", 27556.344499842, 759352122.1939945},
        {"count:10 sum:-100 n_buckets:[0 0 0 0 10]", 1.3137084989848, 1.725830020304794},
        {"schema:3 count:7 sum:NaN z_bucket:1 buckets:[0 1]", NAN, NAN},
        {"", NAN, NAN},
        /* By hand: 2 around 0 and 2 at the middle of (2, 4]; mean 1.5; (2 * 1.5^2 + 2 * 1.5^2) / 4. */
        {"schema:-53 count:4 sum:6 custom_values:[-2 2 4] buckets:[0 2 2]", 1.5, 2.25},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
        double stddev = histogram_stddev(H(cases[i].h)), stdvar = histogram_stdvar(H(cases[i].h));
        ck_assert_msg(isnan(stddev) ? isnan(cases[i].stddev) : fabs(stddev - cases[i].stddev) <= 1e-11 * stddev,
                      "case %zu: %.17g", i, stddev);
        ck_assert_msg(isnan(stdvar) ? isnan(cases[i].stdvar) : fabs(stdvar - cases[i].stdvar) <= 1e-11 * stdvar,
                      "case %zu: %.17g", i, stdvar);
    }
    ck_assert_double_eq(histogram_avg(H("count:4 sum:5")), 1.25);
    ck_assert(isnan(histogram_avg(H(""))));
}
END_TEST

/* ---- What must hold for any histogram ---- */

static uint64_t state;
static uint32_t below(uint32_t n)
{
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)((state >> 33) % n);
}

static void random_side(struct histogram_side *side, int32_t first, uint32_t custom_n)
{
    uint32_t spans_n = below(4), room = 40;
    struct histogram_span *spans = ARENA_ARRAY(&arena, struct histogram_span, 4);
    double *counts = ARENA_ARRAY(&arena, double, room);
    *side = (struct histogram_side){spans, counts, spans_n, 0};
    uint32_t end = 0;
    for (uint32_t i = 0; i < spans_n; i++) {
        spans[i] = (struct histogram_span){i == 0 ? first : (int32_t)below(5), below(9)};
        if (custom_n > 0) { /* within the bounds */
            end += (uint32_t)spans[i].offset;
            if (end + spans[i].length > custom_n + 1)
                spans[i].length = end > custom_n + 1 ? 0 : custom_n + 1 - end;
            end += spans[i].length;
        }
        for (uint32_t j = 0; j < spans[i].length; j++)
            counts[side->counts_n++] = below(4) == 0 ? 0 : below(50);
    }
    if (custom_n > 0 && end > custom_n + 1)
        side->spans_n = side->counts_n = 0;
}

static struct histogram *random_histogram(bool custom)
{
    static const double thresholds[] = {0, 1e-3, 0.25, 0.3, 2};
    struct histogram *h = ARENA_NEW(&arena, struct histogram);
    h->reset = (enum histogram_reset)below(4);
    if (custom) {
        double *bounds = ARENA_ARRAY(&arena, double, 12);
        h->schema = HISTOGRAM_SCHEMA_CUSTOM;
        h->custom = bounds;
        h->custom_n = 1 + below(12);
        double at = below(2) ? -8 : 0;
        for (uint32_t i = 0; i < h->custom_n; i++)
            bounds[i] = at += 1 + below(3);
        random_side(&h->positive, (int32_t)below(2), h->custom_n);
    } else {
        h->schema = HISTOGRAM_SCHEMA_MIN + (int32_t)below(13);
        h->zero_threshold = thresholds[below(5)];
        h->zero_count = below(20);
        random_side(&h->positive, (int32_t)below(20) - 10, 0);
        random_side(&h->negative, (int32_t)below(20) - 10, 0);
    }
    h->count = h->zero_count;
    for (uint32_t i = 0; i < h->positive.counts_n; i++)
        h->count += h->positive.counts[i];
    for (uint32_t i = 0; i < h->negative.counts_n; i++)
        h->count += h->negative.counts[i];
    h->sum = below(1000) - 500.0;
    return h;
}

/* Counts are whole, so that sums of them are exact. */
START_TEST(sums_of_any)
{
    state = suite_seed("sums_of_any");
    for (int round = 0; round < 4000; round++) {
        bool custom = below(3) == 0;
        unsigned notes = 0;
        const struct histogram *a = random_histogram(custom), *b = random_histogram(custom),
                               *c = random_histogram(custom);
        const struct histogram *ab = histogram_add(a, b, &arena, &notes), *ba = histogram_add(b, a, &arena, &notes);
        /* No observation is lost. */
        double total = ab->zero_count;
        for (uint32_t i = 0; i < ab->positive.counts_n; i++)
            total += ab->positive.counts[i];
        for (uint32_t i = 0; i < ab->negative.counts_n; i++)
            total += ab->negative.counts[i];
        bool inside = !custom && (a->zero_threshold > 0 || b->zero_threshold > 0);
        if (!inside) {
            ck_assert_double_eq(total, a->count + b->count);
            ck_assert_msg(histogram_equal(ab, ba), "%s\n%s", fixture_text(ab, &arena), fixture_text(ba, &arena));
            /* Adding and taking away again gives back. */
            const struct histogram *back = histogram_sub(ab, b, &arena, &notes);
            const struct histogram *same = histogram_compact(a, &arena);
            if (!custom && a->schema > b->schema)
                same = histogram_add(a, &(struct histogram){.schema = b->schema}, &arena, &notes);
            if (!custom)
                ck_assert_msg(histogram_equal(back, same), "%s\n%s", fixture_text(back, &arena),
                              fixture_text(same, &arena));
            /* The order of adding does not matter. */
            ck_assert(histogram_equal(histogram_add(ab, c, &arena, &notes),
                                      histogram_add(a, histogram_add(b, c, &arena, &notes), &arena, &notes)) ||
                      c->zero_threshold > 0);
        }
        /* A total of three is what adding them gives. */
        struct histogram_total *t = histogram_total_new(&arena, false);
        histogram_total_add(t, a);
        histogram_total_add(t, b);
        histogram_total_add(t, c);
        const struct histogram *sum = histogram_compact(histogram_total_result(t, &arena, &notes), &arena);
        const struct histogram *added = histogram_add(ab, c, &arena, &notes);
        ck_assert_msg(histogram_equal(sum, added), "%s\n%s", fixture_text(sum, &arena), fixture_text(added, &arena));
        /* What only grew was not reset; what fell was. */
        const struct histogram *before = histogram_with_reset(a, HISTOGRAM_RESET_UNKNOWN, &arena);
        const struct histogram *grown =
            histogram_with_reset(histogram_add(a, a, &arena, &notes), HISTOGRAM_RESET_UNKNOWN, &arena);
        ck_assert(!histogram_was_reset(grown, before));
        ck_assert(histogram_was_reset(before, grown) == (a->count > 0));
        arena_reset(&arena);
    }
}
END_TEST

/* Histograms of one layout are added in place, others by merging; a far bucket more makes one layout into two. Counts
 * that are not whole leave rests. */
START_TEST(in_place_or_merged)
{
    state = suite_seed("in_place_or_merged");
    for (int round = 0; round < 2000; round++) {
        const struct histogram *first = random_histogram(false), *samples[2][5];
        unsigned notes = 0;
        struct histogram_total *in_place = histogram_total_new(&arena, round % 2),
                               *merged = histogram_total_new(&arena, round % 2);
        for (int i = 0; i < 5; i++)
            for (int j = 0; j < 2; j++) {
                struct histogram *h = histogram_copy(first, &arena);
                uint32_t n = h->positive.counts_n;
                double *counts = ARENA_ARRAY(&arena, double, n + 1);
                for (uint32_t k = 0; k < n; k++)
                    counts[k] = j == 0 ? first->positive.counts[k] * pow(10, below(40)) / 3 * (below(3) - 1.0)
                                       : samples[0][i]->positive.counts[k];
                if (j == 1) {
                    struct histogram_span *spans = ARENA_ARRAY(&arena, struct histogram_span, h->positive.spans_n + 1);
                    if (h->positive.spans_n > 0)
                        memcpy(spans, h->positive.spans, h->positive.spans_n * sizeof(*spans));
                    spans[h->positive.spans_n++] = (struct histogram_span){100 + i, 1};
                    counts[h->positive.counts_n++] = 0;
                    h->positive.spans = spans;
                }
                h->positive.counts = counts;
                samples[j][i] = h;
                if (j == 0)
                    histogram_total_add(in_place, h);
                else
                    histogram_total_add(merged, h);
            }
        ck_assert(histogram_equal(histogram_compact(histogram_total_result(in_place, &arena, &notes), &arena),
                                  histogram_compact(histogram_total_result(merged, &arena, &notes), &arena)));
        ck_assert(histogram_equal(histogram_sub(samples[0][0], samples[0][1], &arena, &notes),
                                  histogram_sub(samples[1][0], samples[1][1], &arena, &notes)));
        ck_assert(histogram_was_reset(samples[0][1], samples[0][0]) ==
                  histogram_was_reset(samples[1][1], samples[1][0]));
        ck_assert_uint_eq(notes & ~(unsigned)(HISTOGRAM_RESETS_IN_AGG | HISTOGRAM_RESETS_IN_SUB), 0);
        arena_reset(&arena);
    }
}
END_TEST

START_TEST(quantiles_of_any)
{
    state = suite_seed("quantiles_of_any");
    for (int round = 0; round < 4000; round++) {
        bool custom = below(3) == 0;
        struct histogram *h = random_histogram(custom);
        /* Buckets within the zero bucket overlap it; then there is no order to hold to. */
        h->zero_threshold = 0;
        unsigned notes = 0;
        if (h->count == 0)
            continue;
        double before = -INFINITY;
        for (int i = 0; i <= 40; i++) {
            double q = i / 40.0, v = histogram_quantile(h, q, &notes);
            /* Downwards from the top and upwards from the bottom meet at 0.5; a gap between buckets is bridged there.
             */
            ck_assert_msg(v >= before - 1e-9 * fabs(before), "%g of %s: %.17g after %.17g", q, fixture_text(h, &arena),
                          v, before);
            before = v;
            if (!isfinite(v) || (custom && (h->custom[0] < 0 || v >= h->custom[h->custom_n - 1])))
                continue; /* open buckets, and custom ones around zero, are not seen alike by both */
            double fraction = histogram_fraction(h, -INFINITY, v, &notes);
            ck_assert_msg(fabs(fraction - q) < 1e-9 || (v == 0 && fraction <= q), "%g of %s: %.17g is at %.17g", q,
                          fixture_text(h, &arena), v, fraction);
            /* And what is cut off there is that share, and the rest. */
            double share = histogram_trim(h, v, true, &arena)->count, rest = histogram_trim(h, v, false, &arena)->count;
            if (v != 0 && !custom) {
                ck_assert_double_eq_tol(share, fraction * h->count, 1e-6);
                ck_assert_double_eq_tol(share + rest, h->count, 1e-6);
            }
        }
        ck_assert_uint_eq(notes, 0);
        arena_reset(&arena);
    }
}
END_TEST

/* As large as may be sent, as far apart as may be, twice: in time by the number of buckets. */
START_TEST(hostile_shapes)
{
    uint32_t n = HISTOGRAM_BUCKETS_MAX;
    struct histogram_span *apart = ARENA_ARRAY(&arena, struct histogram_span, n);
    double *counts = ARENA_ARRAY(&arena, double, n);
    for (uint32_t i = 0; i < n; i++) {
        apart[i] = (struct histogram_span){i == 0 ? 0 : 8191, 1};
        counts[i] = i + 1;
    }
    struct histogram_span one[] = {{-(int32_t)(n / 2), n}};
    struct histogram far = {.schema = 8, .count = 1e9, .sum = 1, .positive = {apart, counts, n, n}};
    struct histogram near = {.schema = 8, .count = 1e9, .sum = 1, .positive = {one, counts, 1, n}};
    far.negative = far.positive;
    near.negative = near.positive;
    near.zero_threshold = 1e-3;
    unsigned notes = 0;
    const struct histogram *sum = histogram_add(&far, &near, &arena, &notes);
    /* All of `far` but what lies in the zero bucket, and all of `near`. */
    ck_assert_uint_ge(sum->positive.counts_n, n);
    ck_assert_uint_le(sum->positive.counts_n, 2 * n);
    ck_assert_uint_eq(sum->negative.counts_n, sum->positive.counts_n);
    ck_assert(!histogram_was_reset(sum, &near));
    const struct histogram empty = {.schema = HISTOGRAM_SCHEMA_MIN},
                           *coarse = histogram_add(&far, &empty, &arena, &notes);
    ck_assert_uint_le(coarse->positive.counts_n, n);
    histogram_quantile(sum, 0.3, &notes);
    histogram_fraction(sum, -3, 5, &notes);
    ck_assert(histogram_trim(sum, 1.5, true, &arena)->count < 2e18);
    const struct histogram *const samples[3] = {&near, sum, &near};
    ck_assert_ptr_nonnull(histogram_increase(samples, 3, true, &arena, &notes));
    double *bounds = ARENA_ARRAY(&arena, double, n);
    for (uint32_t i = 0; i < n; i++)
        bounds[i] = i * 3.0;
    struct histogram_span all = {0, n};
    struct histogram three = {
        .schema = HISTOGRAM_SCHEMA_CUSTOM, .positive = {&all, counts, 1, n}, .custom = bounds, .custom_n = n};
    struct histogram two = three;
    double *other = ARENA_ARRAY(&arena, double, n);
    for (uint32_t i = 0; i < n; i++)
        other[i] = i * 2.0;
    two.custom = other;
    sum = histogram_add(&three, &two, &arena, &notes);
    ck_assert_uint_eq(sum->custom_n, 1 + (2 * (n - 1)) / 6); /* multiples of 6 */
    ck_assert(!histogram_was_reset(&three, &three));
    /* Counts that are no numbers go through everything. */
    const struct histogram *wild =
        H("count:Inf sum:-Inf z_bucket:NaN z_bucket_w:0.1 buckets:[NaN Inf -1] n_buckets:[-Inf 0]");
    const struct histogram *done = histogram_add(wild, wild, &arena, &notes);
    ck_assert(isnan(done->positive.counts[0]) && isinf(done->positive.counts[1]));
    histogram_quantile(wild, 0.5, &notes);
    histogram_fraction(wild, -1, 1, &notes);
    histogram_trim(wild, 0.7, true, &arena);
    ck_assert(isnan(histogram_stdvar(wild)));
    ck_assert(!histogram_was_reset(wild, wild));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/histogram_quantile");
    TCase *all = tcase_create("all");
    tcase_add_checked_fixture(all, arena_open, arena_close);
    tcase_add_test(all, quantiles);
    tcase_add_test(all, fractions);
    tcase_add_test(all, observations_of_nan);
    tcase_add_test(all, moments);
    tcase_add_test(all, sums_of_any);
    tcase_add_test(all, in_place_or_merged);
    tcase_add_test(all, quantiles_of_any);
    tcase_add_test(all, hostile_shapes);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
