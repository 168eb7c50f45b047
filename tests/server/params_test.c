/* Parameters: one table of requests and what Prometheus answers to them. */
#include "server/params.h"

#include "suite.h"

static void request(struct http_request *q, const char *form)
{
    struct err e = {0};
    http_request_init(q);
    ck_assert_int_eq(http_form_parse(q, str_of(form), &e), 0);
}

static const struct {
    const char *form, *error; /* NULL: no error */
    int64_t start_ms, end_ms, step_ms;
} ranges[] = {
    {"start=0&end=60&step=15", NULL, 0, 60000, 15000},
    {"start=1.5&end=2.25&step=0.25", NULL, 1500, 2250, 250},
    {"start=2015-07-01T20:10:30.781Z&end=2015-07-01T20:11:00Z&step=15s", NULL, 1435781430781, 1435781460000, 15000},
    {"start=5&end=5&step=1m30s", NULL, 5000, 5000, 90000},
    {"start=0&end=11000&step=1", NULL, 0, 11000000, 1000},
    {"start=0&end=11001&step=1",
     "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query resolution (?step=XX)", 0,
     0, 0},
    {"end=1&step=1", "invalid parameter \"start\": cannot parse \"\" to a valid timestamp", 0, 0, 0},
    {"start=1&step=1", "invalid parameter \"end\": cannot parse \"\" to a valid timestamp", 0, 0, 0},
    {"start=x&end=1&step=1", "invalid parameter \"start\": cannot parse \"x\" to a valid timestamp", 0, 0, 0},
    {"start=1&end=y%22&step=1", "invalid parameter \"end\": cannot parse \"y\\\"\" to a valid timestamp", 0, 0, 0},
    {"start=2&end=1&step=1", "invalid parameter \"end\": end timestamp must not be before start time", 0, 0, 0},
    {"start=1&end=2", "invalid parameter \"step\": cannot parse \"\" to a valid duration", 0, 0, 0},
    {"start=1&end=2&step=z", "invalid parameter \"step\": cannot parse \"z\" to a valid duration", 0, 0, 0},
    {"start=1&end=2&step=0",
     "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive "
     "integer",
     0, 0, 0},
    {"start=1&end=2&step=-1",
     "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. Try a positive "
     "integer",
     0, 0, 0},
    {"start=1e300&end=2&step=1", "invalid parameter \"start\": cannot parse \"1e300\" to a valid timestamp", 0, 0, 0},
    {"start=NaN&end=2&step=1", "invalid parameter \"start\": cannot parse \"NaN\" to a valid timestamp", 0, 0, 0},
};

START_TEST(range_table)
{
    struct http_request q;
    struct range_params p = {7, 7, 7};
    struct err e = {0};
    request(&q, ranges[_i].form);
    int code = params_range(&q, &p, &e);
    if (ranges[_i].error) {
        ck_assert_int_eq(code, ERR_BAD_DATA);
        ck_assert_str_eq(e.message, ranges[_i].error);
        ck_assert_int_eq(p.start_ms, 7); /* untouched */
    } else {
        ck_assert_msg(code == 0, "%s: %s", ranges[_i].form, e.message);
        ck_assert_int_eq(p.start_ms, ranges[_i].start_ms);
        ck_assert_int_eq(p.end_ms, ranges[_i].end_ms);
        ck_assert_int_eq(p.step_ms, ranges[_i].step_ms);
    }
    http_request_done(&q);
}
END_TEST

START_TEST(instant_time)
{
    struct http_request q;
    int64_t t = 0;
    struct err e = {0};
    request(&q, "");
    ck_assert_int_eq(params_time(&q, "time", 42, true, false, &t, &e), 0);
    ck_assert_int_eq(t, 42);
    http_request_done(&q);
    request(&q, "time=soon");
    ck_assert_int_eq(params_time(&q, "time", 42, true, false, &t, &e), ERR_BAD_DATA);
    ck_assert_str_eq(
        e.message,
        "invalid parameter \"time\": Invalid time value for 'time': cannot parse \"soon\" to a valid timestamp");
    http_request_done(&q);
}
END_TEST

START_TEST(the_ends_of_time_are_clamped_for_lists)
{
    struct http_request q;
    int64_t t = 0;
    struct err e = {0};
    request(&q, "start=-9223372036854775.808&end=9223372036854775.807");
    ck_assert_int_eq(params_time(&q, "start", 0, true, true, &t, &e), 0);
    ck_assert_int_eq(t, -PARAMS_TIME_MAX_MS);
    ck_assert_int_eq(params_time(&q, "end", 0, true, true, &t, &e), 0);
    ck_assert_int_eq(t, PARAMS_TIME_MAX_MS);
    ck_assert_int_eq(params_time(&q, "end", 0, false, false, &t, &e), ERR_BAD_DATA);
    http_request_done(&q);
}
END_TEST

static const struct {
    const char *form;
    bool good;
    uint64_t limit;
} limits[] = {
    {"", true, 0},           {"limit=0", true, 0},  {"limit=17", true, 17},  {"limit=-1", false, 0},
    {"limit=abc", false, 0}, {"limit=-", false, 0}, {"limit=1.5", false, 0}, {"limit=99999999999999999999", false, 0},
    {"limit=-0", true, 0}};

START_TEST(limit_table)
{
    struct http_request q;
    uint64_t n = 3;
    struct err e = {0};
    request(&q, limits[_i].form);
    int code = params_limit(&q, "limit", &n, &e);
    ck_assert_int_eq(code, limits[_i].good ? 0 : ERR_BAD_DATA);
    ck_assert_uint_eq(n, limits[_i].good ? limits[_i].limit : 3);
    http_request_done(&q);
}
END_TEST

START_TEST(selectors_are_parsed_or_named)
{
    struct http_request q;
    struct selectors s;
    struct arena a;
    struct err e = {0};
    arena_init(&a, 1 << 20);
    request(&q, "match%5B%5D=up&match%5B%5D=%7Bjob%3D~%22a%7Cb%22%7D");
    ck_assert_int_eq(params_selectors(&q, &a, &s, &e), 0);
    ck_assert_uint_eq(s.n, 2);
    ck_assert_uint_eq(s.v[0].matchers_n, 1);
    ck_assert_int_eq(s.v[1].matchers[0].op, MATCH_RE);
    selectors_done(&s);
    http_request_done(&q);
    static const char *const bad[] = {"match%5B%5D=up&match%5B%5D=%7B%7D", "match%5B%5D=rate(x%5B5m%5D)",
                                      "match%5B%5D=x%7B"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        request(&q, bad[i]);
        ck_assert_int_eq(params_selectors(&q, &a, &s, &e), ERR_BAD_DATA);
        ck_assert_msg(strncmp(e.message, "invalid parameter \"match[]\": ", 29) == 0, "%s", e.message);
        http_request_done(&q);
    }
    arena_done(&a);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("server_params");
    TCase *c = tcase_create("params");
    tcase_add_loop_test(c, range_table, 0, sizeof ranges / sizeof *ranges);
    tcase_add_test(c, instant_time);
    tcase_add_test(c, the_ends_of_time_are_clamped_for_lists);
    tcase_add_loop_test(c, limit_table, 0, sizeof limits / sizeof *limits);
    tcase_add_test(c, selectors_are_parsed_or_named);
    suite_add_tcase(s, c);
    return suite_run(s);
}
