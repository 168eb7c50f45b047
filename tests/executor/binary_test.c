/* Binary operators: arithmetic, comparisons, who matches whom, set operators, fill; per step in ranges. */
#include "own_fixture.h"
#include "suite.h"

START_TEST(scalars)
{
    static const struct row rows[] = {
        {"1 + 2 * 3", "7"},       {"2 ^ 3 ^ 2", "512"},
        {"7 % 3", "1"},           {"-7 % 3", "-1"},
        {"5.5 % 0.5", "0"},       {"7 % 0", "NaN"},
        {"1 / 0", "+Inf"},        {"-1 / 0", "-Inf"},
        {"0 / 0", "NaN"},         {"1 atan2 1", "0.78539816339744828"},
        {"1 == bool 1", "1"},     {"1 > bool 1", "0"},
        {"NaN == bool NaN", "0"}, {"NaN != bool NaN", "1"},
        {"-(1 + 2)", "-3"},       {"-1 ^ 2", "-1"},
    };
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(vector_and_scalar)
{
    static const struct row rows[] = {
        {"m + 1", "{l=\"a\"} 2\n{l=\"b\"} 3"},
        {"10 - m", "{l=\"a\"} 9\n{l=\"b\"} 8"},
        {"m > 1", "m{l=\"b\"} 2"},
        {"1 < m", "m{l=\"b\"} 2"},
        {"3 != m", "m{l=\"a\"} 1\nm{l=\"b\"} 2"},
        {"m > bool 1", "{l=\"a\"} 0\n{l=\"b\"} 1"},
        {"1 < bool m", "{l=\"a\"} 0\n{l=\"b\"} 1"},
        {"m == 5", ""},
        {"-m", "{l=\"a\"} -1\n{l=\"b\"} -2"},
        {"+m", "m{l=\"a\"} 1\nm{l=\"b\"} 2"},
        {"2 ^ m", "{l=\"a\"} 2\n{l=\"b\"} 4"},
        {"m atan2 0", "{l=\"a\"} 1.5707963267948966\n{l=\"b\"} 1.5707963267948966"},
        {"sort_desc(m) + 1", "ordered {l=\"b\"} 3\n {l=\"a\"} 2"},
    };
    fixture_load(&f, "load 1m\n m{l=\"a\"} 1\n m{l=\"b\"} 2\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(one_to_one)
{
    static const struct row rows[] = {
        {"canary / ignoring (g) prod", "{i=\"0\"} 3\n{i=\"1\"} 2"},
        {"canary / on (i) prod", "{i=\"0\"} 3\n{i=\"1\"} 2"},
        {"canary / prod", ""},
        {"canary > on (i) prod", "{i=\"0\"} 30\n{i=\"1\"} 40"},
        {"canary > ignoring (g) (prod * 2.5)", "canary{i=\"0\"} 30"},
        {"canary == bool ignoring (g) prod", "{i=\"0\"} 0\n{i=\"1\"} 0"},
        {"lone + on () canary{i=\"0\"}", "{} 35"},
        {"canary + ignoring () canary", "{g=\"c\", i=\"0\"} 60\n{g=\"c\", i=\"1\"} 80"},
        {"canary - canary{i=\"1\"}", "{g=\"c\", i=\"1\"} 0"},
        {"canary + nosuch", ""},
        {"nosuch + canary", ""},
        {"rate(canary[5m]) <= on (i) prod", ""},
    };
    fixture_load(&f, "load 1m\n canary{g=\"c\",i=\"0\"} 30\n canary{g=\"c\",i=\"1\"} 40\n prod{g=\"p\",i=\"0\"} 10\n"
                     " prod{g=\"p\",i=\"1\"} 20\n lone 5\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(many_to_one)
{
    static const struct row rows[] = {
        {"cpu * on (inst) group_left (role) meta", "{inst=\"a\", mode=\"i\", role=\"db\"} 6\n"
                                                   "{inst=\"a\", mode=\"u\", role=\"db\"} 2"},
        {"meta - on (inst) group_right (role) cpu", "{inst=\"a\", mode=\"i\", role=\"db\"} -1\n"
                                                    "{inst=\"a\", mode=\"u\", role=\"db\"} 1"},
        {"cpu / ignoring (mode) group_left sum without (mode) (cpu)",
         "{inst=\"a\", mode=\"i\"} 0.75\n{inst=\"a\", mode=\"u\"} 0.25\n"
         "{inst=\"b\", mode=\"i\"} 0.8\n{inst=\"b\", mode=\"u\"} 0.2"},
        {"cpu > on (inst) group_left (role) meta", "cpu{inst=\"a\", mode=\"i\", role=\"db\"} 3"},
        {"cpu + on (inst) group_left (mode) meta{inst=\"z\"}", ""},
        /* An included label the one side lacks is taken away. */
        {"cpu{mode=\"i\"} + on (inst) group_left (mode) meta", "{inst=\"a\"} 5"},
        {"cpu{mode=\"i\"} * on () group_left (color) paint",
         "{inst=\"a\", mode=\"i\", color=\"red\"} 30\n{inst=\"b\", mode=\"i\", color=\"red\"} 80"},
        {"cpu{mode=\"i\"} + on (inst) group_left (__name__) meta", "meta{inst=\"a\", mode=\"i\"} 5"},
    };
    fixture_load(
        &f, "load 1m\n cpu{inst=\"a\",mode=\"i\"} 3\n cpu{inst=\"a\",mode=\"u\"} 1\n cpu{inst=\"b\",mode=\"i\"} 8\n"
            " cpu{inst=\"b\",mode=\"u\"} 2\n meta{inst=\"a\",role=\"db\"} 2\n paint{color=\"red\"} 10\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(ambiguous_matches_are_refused)
{
    const char *two = "found duplicate series for the match group {job=\"j\"} on the right hand-side of the operation: "
                      "[{__name__=\"many\", job=\"j\", l=\"a\"}, {__name__=\"many\", job=\"j\", l=\"b\"}];many-to-many "
                      "matching not allowed: matching labels must be unique on one side";
    const char *explicit_only = "multiple matches for labels: many-to-one matching must be explicit "
                                "(group_left/group_right)";
    fixture_load(&f, "load 1m\n many{l=\"a\",job=\"j\"} 0\n many{l=\"b\",job=\"j\"} 1\n one{job=\"j\"} 1\n"
                     " left{l=\"a\"} 1 _\n left{l=\"b\"} _ 1\n");
    expect_error(&f, "one * on (job) many", 0, ERR_EXECUTION, two);
    expect_error(&f, "many * on (job) group_left many", 0, ERR_EXECUTION, two);
    expect_error(&f, "many * on (job) group_right one", 0, ERR_EXECUTION, "on the left hand-side");
    expect_error(&f, "many * on (job) one", 0, ERR_EXECUTION, explicit_only);
    /* Also when a comparison leaves one of them, or none. */
    expect_error(&f, "many >= on (job) one", 0, ERR_EXECUTION, explicit_only);
    expect_error(&f, "many > on (job) one", 0, ERR_EXECUTION, explicit_only);
    expect_error(&f, "many * on (job) group_left (l) one", 0, ERR_EXECUTION,
                 "multiple matches for labels: grouping labels must ensure unique matches");
    /* No error while the other side is empty, or has nothing to meet. */
    expect(&f, "many * on (job) nosuch", 0, "");
    expect(&f, "nosuch * on (job) many", 0, "");
    expect(&f, "many * on (x) group_right one{job=\"k\"}", 0, "");
}
END_TEST

/* The rules hold at each time by itself: partners may change from step to step. */
START_TEST(matching_is_per_step)
{
    fixture_load(&f, "load 6m\n l{job=\"j\",v=\"1\"} 1 _ 3\n l{job=\"j\",v=\"2\"} _ 2 _\n"
                     " r{job=\"j\",w=\"1\"} 10 _ _\n r{job=\"j\",w=\"2\"} _ 20 30\n");
    expect_range(&f, "l + on (job) r", 0, 720, 360, "{job=\"j\"} 11 22 33");
    expect_range(&f, "l + on (job) group_left (w) r", 0, 720, 360,
                 "{job=\"j\", v=\"1\", w=\"1\"} 11 _ _\n{job=\"j\", v=\"1\", w=\"2\"} _ _ 33\n"
                 "{job=\"j\", v=\"2\", w=\"2\"} _ 22 _");
    expect_range(&f, "l > on (job) r", 0, 720, 360, "");
    expect_range(&f, "l < on (job) r", 0, 720, 360, "{job=\"j\"} 1 2 3");
    expect_range(&f, "l and on (job) r{w=\"2\"}", 0, 720, 360,
                 "l{job=\"j\", v=\"1\"} _ _ 3\nl{job=\"j\", v=\"2\"} _ 2 _");
    expect_range(&f, "l unless on (job) r{w=\"2\"}", 0, 720, 360, "l{job=\"j\", v=\"1\"} 1 _ _");
    expect_range(&f, "l{v=\"1\"} or on (job) r", 0, 720, 360,
                 "l{job=\"j\", v=\"1\"} 1 _ 3\nr{job=\"j\", w=\"2\"} _ 20 _");
}
END_TEST

START_TEST(comparisons_over_a_range)
{
    fixture_load(&f, "load 6m\n l 1 2 _ _ 3 4 NaN Inf\n r 4 _ _ 5 3 -1 NaN Inf\n");
    expect_range(&f, "l == r", 0, 2520, 360, "l _ _ _ _ 3 _ _ +Inf");
    expect_range(&f, "l != r", 0, 2520, 360, "l 1 _ _ _ _ 4 NaN _");
    expect_range(&f, "l > r", 0, 2520, 360, "l _ _ _ _ _ 4 _ _");
    expect_range(&f, "l >= r", 0, 2520, 360, "l _ _ _ _ 3 4 _ +Inf");
    expect_range(&f, "l < r", 0, 2520, 360, "l 1 _ _ _ _ _ _ _");
    expect_range(&f, "l <= bool r", 0, 2520, 360, "{} 1 _ _ _ 1 0 0 1");
    expect_range(&f, "l == NaN", 0, 2520, 360, "");
}
END_TEST

START_TEST(sets)
{
    static const struct row rows[] = {
        {"a and b", "a{l=\"x\"} 1"},
        {"a or b", "a{l=\"x\"} 1\na{l=\"y\"} 2\nb{l=\"z\"} 30"},
        {"b or a", "b{l=\"x\"} 10\nb{l=\"z\"} 30\na{l=\"y\"} 2"},
        {"a unless b", "a{l=\"y\"} 2"},
        {"a and on () vector(1)", "a{l=\"x\"} 1\na{l=\"y\"} 2"},
        {"a and on () (vector(1) == 2)", ""},
        {"a unless on () vector(1)", ""},
        {"a unless nosuch", "a{l=\"x\"} 1\na{l=\"y\"} 2"},
        {"nosuch or a", "a{l=\"x\"} 1\na{l=\"y\"} 2"},
        {"a or on (nope) b", "a{l=\"x\"} 1\na{l=\"y\"} 2"},
        {"(a + 1) or ignoring (l) c", "{l=\"x\"} 2\n{l=\"y\"} 3"},
    };
    fixture_load(&f, "load 1m\n a{l=\"x\"} 1\n a{l=\"y\"} 2\n b{l=\"x\"} 10\n b{l=\"z\"} 30\n c 5\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(filled_sides)
{
    static const struct row rows[] = {
        {"l + fill(0) r", "{k=\"a\"} 110\n{k=\"b\"} 20\n{k=\"c\"} 300"},
        {"l + fill_left(5) r", "{k=\"a\"} 110\n{k=\"c\"} 305"},
        {"l + fill_right(7) r", "{k=\"a\"} 110\n{k=\"b\"} 27"},
        {"l - fill_left(5) fill_right(7) r", "{k=\"a\"} -90\n{k=\"b\"} 13\n{k=\"c\"} -295"},
        {"l + fill(NaN) r", "{k=\"a\"} 110\n{k=\"b\"} NaN\n{k=\"c\"} NaN"},
        {"l + fill(0) nosuch", "{k=\"a\"} 10\n{k=\"b\"} 20"},
        {"nosuch + fill_right(0) l", ""},
        {"l > fill(15) r", "l{k=\"b\"} 20"},
        {"r * on (k) group_right fill(1) cpu", "{k=\"a\", n=\"0\"} 100\n{k=\"a\", n=\"1\"} 200\n"
                                               "{k=\"z\", n=\"0\"} 3\n{k=\"c\"} 300"},
    };
    fixture_load(&f,
                 "load 1m\n l{k=\"a\"} 10\n l{k=\"b\"} 20\n r{k=\"a\"} 100\n r{k=\"c\"} 300\n cpu{k=\"a\",n=\"0\"} 1\n"
                 " cpu{k=\"a\",n=\"1\"} 2\n cpu{k=\"z\",n=\"0\"} 3\n");
    CHECK_ROWS(rows, 0);
}
END_TEST

START_TEST(filled_at_steps)
{
    fixture_load(&f, "load 6m\n l{k=\"a\"} 1 _ 3\n l{k=\"b\"} _ 20 _\n r{k=\"a\"} _ 200 _\n r{k=\"b\"} 100 _ 300\n");
    expect_range(&f, "l + fill(0) r", 0, 720, 360, "{k=\"a\"} 1 200 3\n{k=\"b\"} 100 20 300");
    expect_range(&f, "l + fill_right(0) r", 0, 720, 360, "{k=\"a\"} 1 _ 3\n{k=\"b\"} _ 20 _");
}
END_TEST

/* The name goes with the meaning, and type and unit with it; a comparison keeps them. */
START_TEST(names_are_dropped)
{
    fixture_load(&f, "load 1m\n m{__type__=\"gauge\",__unit__=\"s\",l=\"a\"} 1\n n{l=\"a\"} 2\n");
    expect(&f, "m + 1", 0, "{l=\"a\"} 2");
    expect(&f, "m + on (l) n", 0, "{l=\"a\"} 3");
    expect(&f, "m < 5", 0, "m{__type__=\"gauge\", __unit__=\"s\", l=\"a\"} 1");
    expect(&f, "-n <= ignoring (__type__, __unit__) m", 0, "{l=\"a\"} -2");
    expect_error(&f, "-{l=\"a\"}", 0, ERR_EXECUTION, "vector cannot contain metrics with the same labelset");
    expect(&f, "label_replace(-n, \"was\", \"$1\", \"__name__\", \"(.*)\")", 0, "{l=\"a\", was=\"n\"} -2");
}
END_TEST

START_TEST(one_series_from_several)
{
    fixture_load(&f, "load 6m\n a 1 _\n b 3 4\n m{l=\"a\"} 1 9\n");
    expect_range(&f, "-a or -b", 0, 360, 360, "{} -1 -4");
    /* Over the steps one half keeps its name and the other loses it. */
    expect_range(&f, "(m > 5) or -m", 0, 360, 360, "m{l=\"a\"} _ 9\n{l=\"a\"} -1 _");
    expect_info(&f, "a </ 1", 0,
                "PromQL info: incompatible sample types encountered for binary operator \"</\": float </ float (1:1)");
    expect(&f, "a </ 1", 0, "");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("executor binary");
    TCase *tc = tcase_create("binary");
    tcase_add_checked_fixture(tc, setup, teardown);
    tcase_add_test(tc, scalars);
    tcase_add_test(tc, vector_and_scalar);
    tcase_add_test(tc, one_to_one);
    tcase_add_test(tc, many_to_one);
    tcase_add_test(tc, ambiguous_matches_are_refused);
    tcase_add_test(tc, matching_is_per_step);
    tcase_add_test(tc, comparisons_over_a_range);
    tcase_add_test(tc, sets);
    tcase_add_test(tc, filled_sides);
    tcase_add_test(tc, filled_at_steps);
    tcase_add_test(tc, names_are_dropped);
    tcase_add_test(tc, one_series_from_several);
    suite_add_tcase(suite, tc);
    return suite_run(suite);
}
