/*
 * Durations, times and sizes. The tables are those of Prometheus: common/model/time_test.go (ParseDuration, String) and
 * web/api/v1/api_test.go (parseTime, parseDuration).
 */
#include "base/duration.h"

#include "suite.h"

#define MINUTE INT64_C(60000)
#define HOUR (60 * MINUTE)
#define DAY (24 * HOUR)

START_TEST(durations_as_prometheus_reads_them)
{
    static const struct {
        const char *text;
        int64_t ms;
        const char *printed;
    } cases[] = {
        {"0", 0, "0s"},
        {"0w", 0, "0s"},
        {"0s", 0, "0s"},
        {"324ms", 324, "324ms"},
        {"3s", 3000, "3s"},
        {"5m", 5 * MINUTE, "5m"},
        {"1h", HOUR, "1h"},
        {"4d", 4 * DAY, "4d"},
        {"4d1h", 4 * DAY + HOUR, "4d1h"},
        {"14d", 14 * DAY, "2w"},
        {"3w", 21 * DAY, "3w"},
        {"3w2d1h", 23 * DAY + HOUR, "23d1h"},
        {"10y", 3650 * DAY, "10y"},
        {"1m30s", 90000, "1m30s"},
        {"90s", 90000, "1m30s"},
        {"90d", 90 * DAY, "90d"},
        {"1h30m5s250ms", HOUR + 30 * MINUTE + 5250, "1h30m5s250ms"},
        {"9223372036854ms", INT64_C(9223372036854), "106751d23h47m16s854ms"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = -1;
        struct err e = {0};
        char text[DURATION_TEXT_MAX];
        ck_assert_msg(duration_parse(str_of(cases[i].text), &ms, &e) == 0, "%s: %s", cases[i].text, e.message);
        ck_assert_int_eq(ms, cases[i].ms);
        ck_assert_int_eq(duration_format(ms, text), (int)strlen(cases[i].printed));
        ck_assert_str_eq(text, cases[i].printed);
    }
    char text[DURATION_TEXT_MAX];
    duration_format(-90000, text);
    ck_assert_str_eq(text, "-1m30s");
    ck_assert_int_lt(duration_format(INT64_MIN, text), DURATION_TEXT_MAX);
}
END_TEST

START_TEST(bad_durations_have_prometheus_messages)
{
    static const char *const cases[][2] = {
        {"", "empty duration string"},
        {"1", "not a valid duration string: \"1\""},
        {"1y1m1d", "not a valid duration string: \"1y1m1d\""},
        {"-1w", "not a valid duration string: \"-1w\""},
        {"d", "not a valid duration string: \"d\""},
        {"5m5m", "not a valid duration string: \"5m5m\""},
        {"1.5d", "unknown unit \".\" in duration \"1.5d\""},
        {"1x", "unknown unit \"x\" in duration \"1x\""},
        {"1 m", "unknown unit \" m\" in duration \"1 m\""},
        {"294y", "duration out of range"},
        {"200y10400w", "duration out of range"},
        {"107675d", "duration out of range"},
        {"2584200h", "duration out of range"},
        {"9223372036855ms", "duration out of range"},
        {"99999999999999999999s", "not a valid duration string: \"99999999999999999999s\""},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = 77;
        struct err e = {0};
        ck_assert_int_eq(duration_parse(str_of(cases[i][0]), &ms, &e), ERR_BAD_DATA);
        ck_assert_str_eq(e.message, cases[i][1]);
        ck_assert_int_eq(ms, 77);
    }
}
END_TEST

START_TEST(printing_and_reading_are_inverse) /* invariant 5 */
{
    srand48((long)suite_seed("durations"));
    for (int i = 0; i < 20000; i++) {
        int64_t ms = (int64_t)(drand48() * 9223372036854.0) >> (lrand48() % 40);
        char text[DURATION_TEXT_MAX];
        int n = duration_format(ms, text);
        int64_t back = -1;
        struct err e;
        ck_assert_int_eq(duration_parse((struct str){text, (size_t)n}, &back, &e), 0);
        ck_assert_int_eq(back, ms);
    }
}
END_TEST

START_TEST(times_as_the_api_reads_them)
{
    static const struct {
        const char *text;
        int64_t ms;
        bool ok;
    } cases[] = {
        {"", 0, false},
        {"abc", 0, false},
        {"30s", 0, false},
        {"123", 123000, true},
        {"123.123", 123123, true},
        {"2015-06-03T13:21:58.555Z", INT64_C(1433337718555), true},
        {"2015-06-03T14:21:58.555+01:00", INT64_C(1433337718555), true},
        {"1543578564.705", INT64_C(1543578564705), true},
        {"1970-01-01T00:00:00Z", 0, true},
        {"1969-12-31T23:59:59.999Z", -1, true},
        {"-1.5", -1500, true},
        {"2000-02-29T00:00:00Z", INT64_C(951782400000), true},
        {"2001-02-29T00:00:00Z", 0, false},
        {"1900-02-29T00:00:00Z", 0, false},
        {"2015-06-03T13:21:58.123456789-00:30", INT64_C(1433339518123), true},
        {"2015-06-03T13:21:58.Z", 0, false},
        {"2015-06-03 13:21:58Z", 0, false},
        {"2015-06-03T24:21:58Z", 0, false},
        {"2015-06-03T13:21:58", 0, false},
        {"2015-06-03T13:21:58Zx", 0, false},
        {"NaN", 0, false},
        {"+Inf", 0, false},
        {"1e30", 0, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        int64_t ms = 77;
        struct err e = {0};
        bool ok = time_parse(str_of(cases[i].text), &ms, &e) == 0;
        ck_assert_msg(ok == cases[i].ok, "%s", cases[i].text);
        ck_assert_int_eq(ms, ok ? cases[i].ms : 77);
        if (!ok)
            ck_assert_ptr_nonnull(strstr(e.message, "to a valid timestamp"));
    }
}
END_TEST

START_TEST(every_day_of_eight_centuries)
{
    /* Counts days one by one, with the calendar's rule spelled out. */
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int64_t day = -135140; /* 1600-01-01: 370 years of 365 days and 90 leap days before 1970 */
    for (int year = 1600; year < 2400; year++) {
        bool leap = year % 400 == 0 || (year % 4 == 0 && year % 100 != 0);
        for (int month = 1; month <= 12; month++) {
            for (int d = 1; d <= lengths[month - 1] + (month == 2 && leap); d++, day++) {
                char text[64];
                int64_t ms;
                struct err e;
                int n = snprintf(text, sizeof(text), "%04d-%02d-%02dT00:00:00Z", year, month, d);
                if (time_parse((struct str){text, (size_t)n}, &ms, &e) != 0 || ms != day * DAY)
                    ck_abort_msg("%s", text);
            }
        }
    }
}
END_TEST

START_TEST(steps_are_seconds_or_durations)
{
    int64_t ms = 77;
    struct err e;
    ck_assert_int_eq(seconds_or_duration_parse(STR("123"), &ms, &e), 0);
    ck_assert_int_eq(ms, 123000);
    ck_assert_int_eq(seconds_or_duration_parse(STR("123.333"), &ms, &e), 0);
    ck_assert_int_eq(ms, 123333);
    ck_assert_int_eq(seconds_or_duration_parse(STR("15s"), &ms, &e), 0);
    ck_assert_int_eq(ms, 15000);
    ck_assert_int_eq(seconds_or_duration_parse(STR("5m"), &ms, &e), 0);
    ck_assert_int_eq(ms, 5 * MINUTE);
    ck_assert_int_eq(seconds_or_duration_parse(STR("-1"), &ms, &e), 0);
    ck_assert_int_eq(ms, -1000);
    ck_assert_int_eq(seconds_or_duration_parse(STR("2015-06-03T13:21:58.555Z"), &ms, &e), ERR_BAD_DATA);
    ck_assert_str_eq(e.message, "cannot parse \"2015-06-03T13:21:58.555Z\" to a valid duration");
    ck_assert_int_eq(seconds_or_duration_parse(STR("148966367200.372"), &ms, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "It overflows int64"));
    ck_assert_int_eq(seconds_or_duration_parse(STR("NaN"), &ms, &e), ERR_BAD_DATA);
}
END_TEST

START_TEST(sizes)
{
    uint64_t bytes = 77;
    struct err e;
    ck_assert_int_eq(size_parse(STR("512"), &bytes, &e), 0);
    ck_assert_uint_eq(bytes, 512);
    ck_assert_int_eq(size_parse(STR("512MB"), &bytes, &e), 0);
    ck_assert_uint_eq(bytes, UINT64_C(536870912));
    ck_assert_int_eq(size_parse(STR("3KiB"), &bytes, &e), 0);
    ck_assert_uint_eq(bytes, 3072);
    ck_assert_int_eq(size_parse(STR("16777215TB"), &bytes, &e), 0);
    ck_assert_int_eq(size_parse(STR("16777216TB"), &bytes, &e), ERR_BAD_DATA);
    ck_assert_int_eq(size_parse(STR(""), &bytes, &e), ERR_BAD_DATA);
    ck_assert_int_eq(size_parse(STR("GB"), &bytes, &e), ERR_BAD_DATA);
    ck_assert_int_eq(size_parse(STR("-1GB"), &bytes, &e), ERR_BAD_DATA);
    ck_assert_int_eq(size_parse(STR("1 GB"), &bytes, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, "\"1 GB\""));
}
END_TEST

START_TEST(division_floors)
{
    for (int64_t a = -50; a <= 50; a++) {
        for (int64_t b = 1; b < 9; b++) {
            ck_assert_int_eq(floor_div(a, b) * b + floor_mod(a, b), a);
            ck_assert(floor_mod(a, b) >= 0 && floor_mod(a, b) < b);
        }
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/duration");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 20);
    tcase_add_test(all, durations_as_prometheus_reads_them);
    tcase_add_test(all, bad_durations_have_prometheus_messages);
    tcase_add_test(all, printing_and_reading_are_inverse);
    tcase_add_test(all, times_as_the_api_reads_them);
    tcase_add_test(all, every_day_of_eight_centuries);
    tcase_add_test(all, steps_are_seconds_or_durations);
    tcase_add_test(all, sizes);
    tcase_add_test(all, division_floors);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
