/* Results as JSON. Expected: the examples of Prometheus' HTTP API documentation, and its number and time forms. */
#include "server/json.h"

#include <math.h>

#include "suite.h"

#define DOC_TIME_MS INT64_C(1435781451781)

static struct label up_pairs[] = {
    {{"__name__", 8}, {"up", 2}}, {{"instance", 8}, {"localhost:9090", 14}}, {{"job", 3}, {"prometheus", 10}}};
static struct label odd_pairs[] = {{{"a\"b", 3}, {"\n\x01\\", 3}}};

static void assert_json(struct strbuf *b, const char *want)
{
    ck_assert_str_eq(strbuf_z(b), want);
    strbuf_clear(b);
}

static bool write_result(struct strbuf *b, const struct result *r, uint64_t max)
{
    json_begin(b);
    bool cut = json_result(b, r, max);
    strbuf_add_char(b, '}');
    json_end(b, &r->notes);
    return cut;
}

START_TEST(scalar_and_string)
{
    struct strbuf b = {0};
    double v = 1;
    struct result r = {.type = VALUE_SCALAR, .times = {DOC_TIME_MS, 0, 1}, .v = &v};
    write_result(&b, &r, 0);
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"scalar\",\"result\":[1435781451.781,\"1\"]}}");
    r = (struct result){.type = VALUE_STRING, .times = {60000, 0, 1}, .string = STR("f\"oo")};
    write_result(&b, &r, 0);
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"string\",\"result\":[60,\"f\\\"oo\"]}}");
    strbuf_done(&b);
}
END_TEST

START_TEST(vector)
{
    struct strbuf b = {0};
    double one = 1, absent = float_stale(), inf = -INFINITY;
    struct result_series series[] = {{{up_pairs, 3}, &one}, {{up_pairs, 1}, &absent}, {{odd_pairs, 1}, &inf}};
    struct result r = {.type = VALUE_VECTOR, .times = {DOC_TIME_MS, 0, 1}, .series = series, .series_n = 3};
    ck_assert(!write_result(&b, &r, 0));
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
                    "{\"metric\":{\"__name__\":\"up\",\"instance\":\"localhost:9090\",\"job\":\"prometheus\"},"
                    "\"value\":[1435781451.781,\"1\"]},"
                    "{\"metric\":{\"a\\\"b\":\"\\n\\u0001\\\\\"},\"value\":[1435781451.781,\"-Inf\"]}]}}");
    ck_assert(write_result(&b, &r, 1));
    ck_assert_ptr_nonnull(strstr(strbuf_z(&b), "prometheus"));
    ck_assert_ptr_null(strstr(strbuf_z(&b), "-Inf"));
    strbuf_clear(&b);
    r.series_n = 0;
    write_result(&b, &r, 0);
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":[]}}");
    strbuf_done(&b);
}
END_TEST

START_TEST(matrix)
{
    struct strbuf b = {0};
    double v[] = {1, float_stale(), NAN, 1e-7}, w[] = {0.1, 1e21, 123456789, -0.0};
    struct result_series series[] = {{{up_pairs, 1}, v}, {{NULL, 0}, w}};
    struct result r = {.type = VALUE_MATRIX, .times = {-500, 15000, 4}, .series = series, .series_n = 2};
    ck_assert(!write_result(&b, &r, 2));
    assert_json(
        &b,
        "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
        "{\"metric\":{\"__name__\":\"up\"},\"values\":[[-0.500,\"1\"],[29.500,\"NaN\"],[44.500,\"1e-07\"]]},"
        "{\"metric\":{},\"values\":[[-0.500,\"0.1\"],[14.500,\"1e+21\"],[29.500,\"123456789\"],[44.500,\"-0\"]]}]}}");
    ck_assert(write_result(&b, &r, 1));
    strbuf_done(&b);
}
END_TEST

START_TEST(raw_points_of_a_matrix_selector)
{
    struct strbuf b = {0};
    int64_t t0[] = {1000, 2500};
    double v0[] = {3, 4};
    int64_t *times[] = {t0};
    double *values[] = {v0};
    uint32_t n[] = {2};
    struct result_series series[] = {{{up_pairs, 1}, NULL}};
    struct result r = {.type = VALUE_MATRIX,
                       .times = {5000, 0, 1},
                       .series = series,
                       .series_n = 1,
                       .point_times_ms = times,
                       .point_values = values,
                       .points_n = n};
    write_result(&b, &r, 0);
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
                    "{\"metric\":{\"__name__\":\"up\"},\"values\":[[1,\"3\"],[2.500,\"4\"]]}]}}");
    strbuf_done(&b);
}
END_TEST

/* Three below zero in [-2, -1), one around it, two in (0.5, 1]; a bucket without observations in between. */
static const struct histogram_span below = {1, 1}, above = {0, 2};
static const double below_counts[] = {3}, above_counts[] = {2, 0};
static const struct histogram six = {.zero_threshold = 0.5,
                                     .zero_count = 1,
                                     .count = 6,
                                     .sum = -2.5,
                                     .negative = {&below, below_counts, 1, 1},
                                     .positive = {&above, above_counts, 1, 2}};
static const struct histogram empty = {.zero_threshold = 0.5};
#define SIX                                                                                                            \
    "{\"count\":\"6\",\"sum\":\"-2.5\",\"buckets\":[[1,\"-2\",\"-1\",\"3\"],[3,\"-0.5\",\"0.5\",\"1\"],"               \
    "[0,\"0.5\",\"1\",\"2\"]]}"

START_TEST(histograms)
{
    struct strbuf b = {0};
    double here = float_histogram(), absent = float_stale();
    const struct histogram *one[] = {&six}, *two[] = {&six, NULL, &empty};
    struct result_series series[] = {{{up_pairs, 1}, &here, one}};
    struct result r = {.type = VALUE_VECTOR, .times = {DOC_TIME_MS, 0, 1}, .series = series, .series_n = 1};
    write_result(&b, &r, 0);
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"vector\",\"result\":["
                    "{\"metric\":{\"__name__\":\"up\"},\"histogram\":[1435781451.781," SIX "]}]}}");
    /* Over a range numbers and histograms stand apart; a series may have either or both. */
    double mixed[] = {here, 7, here}, only[] = {here, absent, absent};
    struct result_series both[] = {{{up_pairs, 1}, mixed, two}, {{odd_pairs, 1}, only, two}};
    r = (struct result){.type = VALUE_MATRIX, .times = {60000, 1000, 3}, .series = both, .series_n = 2};
    write_result(&b, &r, 0);
    assert_json(&b, "{\"status\":\"success\",\"data\":{\"resultType\":\"matrix\",\"result\":["
                    "{\"metric\":{\"__name__\":\"up\"},\"values\":[[61,\"7\"]],"
                    "\"histograms\":[[60," SIX "],[62,{\"count\":\"0\",\"sum\":\"0\"}]]},"
                    "{\"metric\":{\"a\\\"b\":\"\\n\\u0001\\\\\"},\"histograms\":[[60," SIX "]]}]}}");
    strbuf_done(&b);
}
END_TEST

START_TEST(notes_stand_beside_the_data)
{
    struct strbuf b = {0};
    struct str warnings[] = {STR("w1"), STR("w\"2")}, infos[] = {STR("i")};
    struct notes notes = {.warnings = warnings, .warnings_n = 2, .infos = infos, .infos_n = 1};
    json_begin(&b);
    strbuf_add_z(&b, "[]");
    json_end(&b, &notes);
    assert_json(&b, "{\"status\":\"success\",\"data\":[],\"warnings\":[\"w1\",\"w\\\"2\"],\"infos\":[\"i\"]}");
    strbuf_done(&b);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("server_json");
    TCase *c = tcase_create("json");
    tcase_add_test(c, scalar_and_string);
    tcase_add_test(c, vector);
    tcase_add_test(c, matrix);
    tcase_add_test(c, raw_points_of_a_matrix_selector);
    tcase_add_test(c, histograms);
    tcase_add_test(c, notes_stand_beside_the_data);
    suite_add_tcase(s, c);
    return suite_run(s);
}
