/* Functions of vectors and scalars: mathematics, time, labels, order, absence. */
#include "own_fixture.h"
#include "suite.h"

START_TEST(mathematics)
{
    static const struct row rows[] = {
        {"abs(m)", "{l=\"a\"} 2.5\n{l=\"b\"} 0.5"},
        {"ceil(m)", "{l=\"a\"} -2\n{l=\"b\"} 1"},
        {"floor(m)", "{l=\"a\"} -3\n{l=\"b\"} 0"},
        {"sgn(m)", "{l=\"a\"} -1\n{l=\"b\"} 1"},
        {"sgn(m - m)", "{l=\"a\"} 0\n{l=\"b\"} 0"},
        {"sgn(vector(NaN))", "{} NaN"},
        {"sqrt(m)", "{l=\"a\"} NaN\n{l=\"b\"} 0.70710678118654757"},
        {"exp(vector(1))", "{} 2.718281828459045"},
        {"ln(vector(0))", "{} -Inf"},
        {"ln(m)", "{l=\"a\"} NaN\n{l=\"b\"} -0.69314718055994531"},
        {"log2(vector(8))", "{} 3"},
        {"log10(vector(1000))", "{} 3"},
        {"deg(vector(pi()))", "{} 180"},
        {"rad(vector(180))", "{} 3.1415926535897931"},
        {"sin(vector(pi() / 2))", "{} 1"},
        {"cos(vector(0))", "{} 1"},
        {"tan(vector(0))", "{} 0"},
        {"asin(vector(1))", "{} 1.5707963267948966"},
        {"acos(vector(2))", "{} NaN"},
        {"atan(vector(Inf))", "{} 1.5707963267948966"},
        {"sinh(vector(0))", "{} 0"},
        {"cosh(vector(0))", "{} 1"},
        {"tanh(vector(Inf))", "{} 1"},
        {"asinh(vector(0))", "{} 0"},
        {"acosh(vector(1))", "{} 0"},
        {"atanh(vector(1))", "{} +Inf"},
        {"min_of(1, 2)", "1"},
        {"max_of(1, NaN)", "NaN"},
        {"histogram_count(m)", ""},
        {"histogram_avg(m)", ""},
    };
    fixture_load(&f, "load 1m\n m{l=\"a\"} -2.5\n m{l=\"b\"} 0.5\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(rounding_and_clamping)
{
    static const struct row rows[] = {
        {"round(m)", "{l=\"a\"} -2\n{l=\"b\"} 1"}, /* ties go up */
        {"round(vector(5.25), 0.1)", "{} 5.3"},
        {"round(vector(-5.25), 0.1)", "{} -5.2"},
        {"round(vector(12), 5)", "{} 10"},
        {"round(vector(12.5), 5)", "{} 15"},
        {"round(vector(1), 0)", "{} NaN"},
        {"clamp(m, -1, 0.25)", "{l=\"a\"} -1\n{l=\"b\"} 0.25"},
        {"clamp(m, 1, -1)", ""},
        {"clamp(m, 0, NaN)", "{l=\"a\"} NaN\n{l=\"b\"} NaN"},
        {"clamp_min(m, 0)", "{l=\"a\"} 0\n{l=\"b\"} 0.5"},
        {"clamp_max(m, 0)", "{l=\"a\"} -2.5\n{l=\"b\"} 0"},
        {"clamp_max(vector(NaN), 1)", "{} NaN"},
        {"clamp_min(vector(-Inf), -5)", "{} -5"},
    };
    fixture_load(&f, "load 1m\n m{l=\"a\"} -2.5\n m{l=\"b\"} 0.5\n low 0 5\n high 1 1\n");
    CHECK_ROWS(rows, 0);
    expect_range(&f, "clamp(low, scalar(low), scalar(high))", 0, 60, 60, "{} 0 _");
}
END_TEST

START_TEST(scalars_and_vectors)
{
    fixture_load(&f, "load 6m\n one 4 _ 6\n two{l=\"a\"} 1 2 _\n two{l=\"b\"} 3 _ _\n");
    expect_range(&f, "vector(scalar(one))", 0, 720, 360, "{} 4 NaN 6");
    expect_range(&f, "vector(scalar(two))", 0, 720, 360, "{} NaN 2 NaN");
    expect_range(&f, "absent(two)", 0, 720, 360, "{} _ _ 1");
    expect(&f, "absent(two)", 0, "");
    expect(&f, "absent(nosuch{job=\"x\", inst=~\"a.*\"})", 0, "{job=\"x\"} 1");
    expect(&f, "absent(nosuch{job=\"x\", job=\"y\", l=\"z\"})", 0, "{l=\"z\"} 1");
    expect(&f, "absent((nosuch{job=\"x\"}))", 0, "{job=\"x\"} 1");
    expect(&f, "absent(sum(nosuch{job=\"x\"}))", 0, "{} 1");
    expect(&f, "vector(time())", 5, "{} 5");
}
END_TEST

START_TEST(times)
{
    fixture_load(&f, "load 1m\n m 1 2 3\n");
    expect(&f, "time()", 0.001, "0.001");
    expect(&f, "timestamp(m + 0)", 75, "{} 75");
    expect(&f, "timestamp(m)", 75, "{} 60");
    expect_range(&f, "vector(time())", 60, 120, 30, "{} 60 90 120");
    expect_range(&f, "vector(start())", 60, 120, 30, "{} 60 60 60");
    expect_range(&f, "vector(end())", 60, 130, 30, "{} 130 130 130");
    expect_range(&f, "vector(step())", 60, 120, 30, "{} 30 30 30");
    expect_range(&f, "vector(range())", 60, 130, 30, "{} 70 70 70");
}
END_TEST

/* 1136239445 is Monday 2006-01-02 22:04:05 UTC. */
START_TEST(dates)
{
    static const struct row rows[] = {
        {"year()", "{} 1970"},
        {"day_of_week()", "{} 4"},
        {"year(vector(1136239445))", "{} 2006"},
        {"month(vector(1136239445))", "{} 1"},
        {"day_of_month(vector(1136239445))", "{} 2"},
        {"day_of_year(vector(1136239445))", "{} 2"},
        {"day_of_week(vector(1136239445))", "{} 1"},
        {"hour(vector(1136239445))", "{} 22"},
        {"minute(vector(1136239445.9))", "{} 4"},
        {"day_of_year(vector(1483191420))", "{} 366"}, /* 2016-12-31 */
        {"day_of_year(vector(1672493820))", "{} 365"}, /* 2022-12-31 */
        {"days_in_month(vector(1454284800))", "{} 29"},
        {"days_in_month(vector(1485907200))", "{} 28"},
        {"days_in_month(vector(951782400))", "{} 29"}, /* 2000-02-29: 400 divides the year */
        {"day_of_month(vector(951782400))", "{} 29"},
        {"month(vector(4107456000))", "{} 2"}, /* 2100-02-28: no leap year */
        {"days_in_month(vector(4107456000))", "{} 28"},
        {"year(vector(-1))", "{} 1969"},
        {"day_of_week(vector(-1))", "{} 3"},
        {"hour(vector(-0.5))", "{} 0"}, /* toward zero */
        {"day_of_year(vector(-62135596801))", "{} 366"},
        /* What Prometheus answers where no date is. */
        {"year(vector(NaN))", "{} 292277026596"},
        {"day_of_year(vector(NaN))", "{} 339"},
        {"hour(vector(1e300))", "{} 15"},
        {"year(vector(-1e15))", "{} -31686769"},
    };
    CHECK_ROWS(rows, 0);
    fixture_load(&f, "load 1m\n m{l=\"a\"} 1136239445\n");
    expect(&f, "hour(m)", 0, "{l=\"a\"} 22");
}
END_TEST

START_TEST(replaced_labels)
{
    static const struct row rows[] = {
        {"label_replace(m, \"dst\", \"to-$1\", \"src\", \"from-(.*)\")", "m{src=\"from-1\", dst=\"to-1\"} 1\n"
                                                                         "m{src=\"from-2\", dst=\"to-2\"} 2"},
        /* The whole value must match. */
        {"label_replace(m, \"dst\", \"$1\", \"src\", \"rom-(.*)\")", "m{src=\"from-1\", dst=\"x\"} 1\n"
                                                                     "m{src=\"from-2\", dst=\"x\"} 2"},
        {"label_replace(m, \"dst\", \"${b}/$a\", \"src\", \"(?P<a>.*)-(?P<b>.*)\")",
         "m{src=\"from-1\", dst=\"1/from\"} 1\nm{src=\"from-2\", dst=\"2/from\"} 2"},
        {"label_replace(m, \"dst\", \"\", \"src\", \".*\")", "m{src=\"from-1\"} 1\nm{src=\"from-2\"} 2"},
        {"label_replace(m, \"new\", \"$1\", \"nope\", \"(.*)\")", "m{src=\"from-1\", dst=\"x\"} 1\n"
                                                                  "m{src=\"from-2\", dst=\"x\"} 2"},
        {"label_replace(m, \"new\", \"v\", \"nope\", \"\")", "m{src=\"from-1\", dst=\"x\", new=\"v\"} 1\n"
                                                             "m{src=\"from-2\", dst=\"x\", new=\"v\"} 2"},
        {"label_replace(-m, \"__name__\", \"n_$1\", \"__name__\", \"(.*)\")", "n_m{src=\"from-1\", dst=\"x\"} -1\n"
                                                                              "n_m{src=\"from-2\", dst=\"x\"} -2"},
        {"label_join(m, \"dst\", \"-\", \"src\", \"nope\", \"__name__\")", "m{src=\"from-1\", dst=\"from-1--m\"} 1\n"
                                                                           "m{src=\"from-2\", dst=\"from-2--m\"} 2"},
        {"label_join(m, \"dst\", \", \")", "m{src=\"from-1\"} 1\nm{src=\"from-2\"} 2"},
    };
    fixture_load(&f, "load 1m\n m{src=\"from-1\",dst=\"x\"} 1\n m{src=\"from-2\",dst=\"x\"} 2\n");
    CHECK_ROWS(rows, 0);
    expect_error(&f, "label_replace(m, \"src\", \"\", \"\", \"\")", 0, ERR_EXECUTION,
                 "vector cannot contain metrics with the same labelset");
    expect_error(&f, "label_replace(m, \"\", \"v\", \"src\", \".*\")", 0, ERR_EXECUTION,
                 "invalid destination label name in label_replace(): ");
    expect_error(&f, "label_replace(m, \"d\", \"v\", \"src\", \"(.*\")", 0, ERR_EXECUTION,
                 "invalid regular expression in label_replace(): (.*");
    expect_error(&f, "label_join(m, \"d\", \"-\", \"\\xff\")", 0, ERR_EXECUTION,
                 "invalid source label name in label_join(): ");
}
END_TEST

/* Series that become one are one when their points do not meet; what they came from stays as it was. */
START_TEST(labels_that_become_equal)
{
    fixture_load(&f, "load 6m\n m{l=\"a\"} 1 _ 3\n m{l=\"b\"} _ 2 _\n");
    expect_range(&f, "label_replace(m, \"l\", \"\", \"l\", \".*\")", 0, 720, 360, "m 1 2 3");
    expect_range(&f, "label_replace(m, \"l\", \"\", \"l\", \".*\") + on () group_right m", 0, 720, 360,
                 "{l=\"a\"} 2 _ 6\n{l=\"b\"} _ 4 _");
}
END_TEST

START_TEST(order)
{
    static const struct row rows[] = {
        {"sort(m)", "ordered m{l=\"b\"} 1\n m{l=\"c\"} 2\n m{l=\"a\"} 3\n m{l=\"d\"} NaN"},
        {"sort_desc(m)", "ordered m{l=\"a\"} 3\n m{l=\"c\"} 2\n m{l=\"b\"} 1\n m{l=\"d\"} NaN"},
        {"sort_by_label(n, \"v\")",
         "ordered n{v=\"4m5\"} 1\n n{v=\"4m50\"} 4\n n{v=\"4m600\"} 2\n n{v=\"4m1000\"} 3\n n{v=\"5\"} 5"},
        {"sort_by_label_desc(n, \"v\")",
         "ordered n{v=\"5\"} 5\n n{v=\"4m1000\"} 3\n n{v=\"4m600\"} 2\n n{v=\"4m50\"} 4\n n{v=\"4m5\"} 1"},
        {"sort_by_label(p, \"g\", \"i\")",
         "ordered p{g=\"a\", i=\"2\"} 3\n p{g=\"a\", i=\"10\"} 1\n p{g=\"b\", i=\"1\"} 2"},
        {"sort_by_label(p, \"nope\")",
         "ordered p{g=\"a\", i=\"10\"} 1\n p{g=\"a\", i=\"2\"} 3\n p{g=\"b\", i=\"1\"} 2"},
    };
    fixture_load(&f, "load 1m\n m{l=\"a\"} 3\n m{l=\"b\"} 1\n m{l=\"c\"} 2\n m{l=\"d\"} NaN\n n{v=\"4m5\"} 1\n"
                     " n{v=\"4m600\"} 2\n n{v=\"4m1000\"} 3\n n{v=\"4m50\"} 4\n n{v=\"5\"} 5\n p{g=\"a\",i=\"10\"} 1\n"
                     " p{g=\"b\",i=\"1\"} 2\n p{g=\"a\",i=\"2\"} 3\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

/* Labels of the info series of the same instance and job; of several the newest. */
START_TEST(information)
{
    static const struct row rows[] = {
        {"info(m)", "m{instance=\"a\", job=\"1\", version=\"2\"} 1\nm{instance=\"b\", job=\"1\"} 2"},
        {"info(m, {version=~\".+\"})", "m{instance=\"a\", job=\"1\", version=\"2\"} 1"},
        {"info(m, {version=~\".*\"})", "m{instance=\"a\", job=\"1\", version=\"2\"} 1\nm{instance=\"b\", job=\"1\"} 2"},
        {"info(m, {__name__=\"build_info\"})",
         "m{instance=\"a\", job=\"1\", commit=\"c\"} 1\nm{instance=\"b\", job=\"1\"} 2"},
        {"info(m{instance=\"a\"}, {__name__=~\".+_info\", commit=~\".+\"})",
         "m{instance=\"a\", job=\"1\", commit=\"c\"} 1"},
        {"info(-m{instance=\"a\"})", "{instance=\"a\", job=\"1\", version=\"2\"} -1"},
        {"info(build_info, {__name__!=\"target_info\"})", "build_info{instance=\"a\", job=\"1\", commit=\"c\"} 1"},
        {"sum by (version) (info(m))", "{version=\"2\"} 1\n{} 2"},
    };
    fixture_load(&f, "load 1m\n m{instance=\"a\",job=\"1\"} 1 1 1\n m{instance=\"b\",job=\"1\"} 2 2 2\n"
                     " target_info{instance=\"a\",job=\"1\",version=\"1\"} 1 _ _\n"
                     " target_info{instance=\"a\",job=\"1\",version=\"2\"} _ 1 1\n"
                     " build_info{instance=\"a\",job=\"1\",commit=\"c\"} 1 1 1\n");
    CHECK_ROWS(rows, 120);
    expect_range(&f, "info(m{instance=\"a\"})", 0, 120, 60,
                 "m{instance=\"a\", job=\"1\", version=\"1\"} 1 _ _\n"
                 "m{instance=\"a\", job=\"1\", version=\"2\"} _ 1 1");
    expect(&f, "info(m{instance=\"a\"} @ 0)", 120, "m{instance=\"a\", job=\"1\", version=\"1\"} 1");
    fixture_load(&f, "load 1m\n target_info{instance=\"a\",job=\"1\",version=\"3\"} _ _ 1\n");
    expect_error(&f, "info(m)", 120, ERR_EXECUTION, "found duplicate series for info metric target_info");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor function");
    TCase *tc = tcase_create("function");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, mathematics);
    tcase_add_test(tc, rounding_and_clamping);
    tcase_add_test(tc, scalars_and_vectors);
    tcase_add_test(tc, times);
    tcase_add_test(tc, dates);
    tcase_add_test(tc, replaced_labels);
    tcase_add_test(tc, labels_that_become_equal);
    tcase_add_test(tc, order);
    tcase_add_test(tc, information);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
