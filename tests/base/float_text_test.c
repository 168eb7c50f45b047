/*
 * Float text. The tables are Go's strconv (ftoa_test.go, atof_test.go) and ECMAScript's number form, which Prometheus'
 * JSON follows; the property is that no shorter text reads back to the same bits, judged by printf and strtod.
 */
#include "base/float_text.h"

#include <math.h>

#include "suite.h"

struct format_case {
    double v;
    const char *json, *general;
};

START_TEST(known_texts)
{
    static const struct format_case cases[] = {
        {0, "0", "0"},
        {-0.0, "-0", "-0"},
        {1, "1", "1"},
        {-1, "-1", "-1"},
        {0.1, "0.1", "0.1"},
        {0.3, "0.3", "0.3"},
        {0.1 + 0.2, "0.30000000000000004", "0.30000000000000004"},
        {100, "100", "100"},
        {123456, "123456", "123456"},
        {1000000, "1000000", "1e+06"},
        {1234567, "1234567", "1.234567e+06"},
        {1.5e9, "1500000000", "1.5e+09"},
        {0.0001, "0.0001", "0.0001"},
        {0.00001, "0.00001", "1e-05"},
        {1e-6, "0.000001", "1e-06"},
        {9.999999999999997e-07, "9.999999999999997e-07", "9.999999999999997e-07"},
        {1e-7, "1e-07", "1e-07"},
        {123456789, "123456789", "1.23456789e+08"},
        {12345678901234.5, "12345678901234.5", "1.23456789012345e+13"},
        {123456780000000000000.0, "123456780000000000000", "1.2345678e+20"},
        {999999999999999900000.0, "999999999999999900000", "9.999999999999999e+20"},
        {1e21, "1e+21", "1e+21"},
        {1.5e300, "1.5e+300", "1.5e+300"},
        {9007199254740992.0, "9007199254740992", "9.007199254740992e+15"},
        {9007199254740993.0, "9007199254740992", "9.007199254740992e+15"},
        {1e23, "1e+23", "1e+23"},
        {8.41e21, "8.41e+21", "8.41e+21"},
        {5e-324, "5e-324", "5e-324"},
        {2.2250738585072014e-308, "2.2250738585072014e-308", "2.2250738585072014e-308"},
        {2.225073858507201e-308, "2.225073858507201e-308", "2.225073858507201e-308"},
        {1.7976931348623157e308, "1.7976931348623157e+308", "1.7976931348623157e+308"},
        {383260575764816448.0, "383260575764816450", "3.8326057576481645e+17"},
        {4.9406564584124654e-324, "5e-324", "5e-324"},
        {0x1p-1074, "5e-324", "5e-324"},
        {0x1p63, "9223372036854776000", "9.223372036854776e+18"},
        {INFINITY, "+Inf", "+Inf"},
        {-INFINITY, "-Inf", "-Inf"},
        {NAN, "NaN", "NaN"},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        char text[FLOAT_TEXT_MAX];
        ck_assert_int_eq(float_format(cases[i].v, text), (int)strlen(cases[i].json));
        ck_assert_str_eq(text, cases[i].json);
        float_format_e(cases[i].v, text);
        ck_assert_str_eq(text, cases[i].general);
    }
    char text[FLOAT_TEXT_MAX];
    float_format(123456789012345680000.0, text);
    ck_assert_str_eq(text, "123456789012345680000");
}
END_TEST

START_TEST(plain_form_never_has_an_exponent)
{
    char text[FLOAT_TEXT_MAX];
    float_format_f(1e21, text);
    ck_assert_str_eq(text, "1000000000000000000000");
    float_format_f(1e-7, text);
    ck_assert_str_eq(text, "0.0000001");
    ck_assert_int_eq(float_format_f(-1.7976931348623157e308, text), 310);
    ck_assert_int_eq(float_format_f(-5e-324, text), 327); /* -0. and 324 digits */
    ck_assert_int_lt(float_format_f(-2.2250738585072014e-308, text), FLOAT_TEXT_MAX);
}
END_TEST

static int significant_digits(const char *text)
{
    char digits[FLOAT_TEXT_MAX];
    int n = 0, first = 0;
    for (; *text && *text != 'e'; text++)
        if (*text >= '0' && *text <= '9')
            digits[n++] = *text;
    while (first < n && digits[first] == '0')
        first++;
    while (n > first && digits[n - 1] == '0')
        n--;
    return n - first;
}

static void expect_shortest(double v)
{
    char text[FLOAT_TEXT_MAX], other[64];
    double back;
    for (int form = 0; form < 3; form++) {
        int n = form == 0 ? float_format(v, text) : form == 1 ? float_format_e(v, text) : float_format_f(v, text);
        if (!float_parse((struct str){text, (size_t)n}, &back) || memcmp(&back, &v, sizeof(v)) != 0)
            ck_abort_msg("%a printed as %s", v, text);
    }
    int digits = significant_digits(text);
    if (digits <= 1)
        return;
    snprintf(other, sizeof(other), "%.*e", digits - 2, v);
    if (strtod(other, NULL) == v)
        ck_abort_msg("%a printed as %s although %s reads back", v, text, other);
}

START_TEST(shortest_and_exact) /* invariant 4 */
{
    for (int exponent = -1074; exponent < 1024; exponent++) {
        double v = ldexp(1, exponent);
        expect_shortest(v);
        expect_shortest(nextafter(v, 0) + 0.0);
        expect_shortest(-nextafter(v, INFINITY));
    }
    srand48((long)suite_seed("floats"));
    for (int i = 0; i < 100000; i++) {
        uint64_t bits = (uint64_t)mrand48() << 32 ^ (uint32_t)mrand48();
        double v;
        memcpy(&v, &bits, sizeof(v));
        if (isfinite(v))
            expect_shortest(v);
        expect_shortest((double)(lrand48() % 100000) / 100);
    }
}
END_TEST

START_TEST(reading_follows_parse_float)
{
    static const struct {
        const char *text;
        double v;
    } good[] = {
        {"1", 1},
        {"+1", 1},
        {"-1.5e3", -1500},
        {".5", 0.5},
        {"5.", 5},
        {"1E6", 1e6},
        {"1e23", 1e23},
        {"100000000000000016777215", 1.0000000000000001e23},
        {"010", 10},
        {"1e310", INFINITY},
        {"-1e310", -INFINITY},
        {"1e-400", 0},
        {"2.2250738585072011e-308", 2.225073858507201e-308},
        {"0x1F", 31},
        {"0x1p-2", 0.25},
        {"-0X1.8P1", -3},
        {"0x.8p1", 1},
        {"inf", INFINITY},
        {"-Inf", -INFINITY},
        {"+INFINITY", INFINITY},
        {"1.00000000000000011102230246251565404236316680908203125", 1},
        {"1.00000000000000011102230246251565404236316680908203126", 1.0000000000000002},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        double v = 77;
        ck_assert_msg(float_parse(str_of(good[i].text), &v), "%s", good[i].text);
        ck_assert_msg(v == good[i].v, "%s read as %.17g", good[i].text, v);
    }
    double v = 77;
    ck_assert(float_parse(STR("NaN"), &v) && isnan(v) && !float_is_stale(v));
    ck_assert(float_parse(STR("-0"), &v) && v == 0 && signbit(v));
    static const char *const bad[] = {"",      "+",    ".",     "e5",    "1e",    "1e+",   "1x",    " 1",     "1 ",
                                      "1_000", "0x",   "0x.p1", "0x1.8", "1p2",   "0x1e",  "infin", "nanx",   "1.2.3",
                                      "--1",   "+nan", "0x1p",  "\xff",  "1e5.0", "0b101", "i",     "infinit"};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        v = 77;
        bool ok = float_parse(str_of(bad[i]), &v);
        /* 0x1e is the hex integer 30. */
        ck_assert_msg(ok == (strcmp(bad[i], "0x1e") == 0), "%s", bad[i]);
        ck_assert(ok || v == 77);
    }
    ck_assert(!float_parse((struct str){"1\0", 2}, &v));
}
END_TEST

START_TEST(literals_follow_parse_int_base_0)
{
    double v = 77;
    ck_assert(float_parse_literal(STR("010"), &v) && v == 8);
    ck_assert(float_parse_literal(STR("08"), &v) && v == 8);
    ck_assert(float_parse_literal(STR("0.10"), &v) && v == 0.1);
    ck_assert(float_parse_literal(STR("0"), &v) && v == 0);
    ck_assert(float_parse_literal(STR("0xff"), &v) && v == 255);
    ck_assert(float_parse_literal(STR("1_000"), &v) && v == 1000);
    ck_assert(float_parse_literal(STR("1_23.50_0_0e+1_2"), &v) && v == 1.235e14);
    ck_assert(float_parse_literal(STR("0x_1_2"), &v) && v == 18);
    ck_assert(float_parse_literal(STR("Inf"), &v) && v == INFINITY);
    ck_assert(!float_parse_literal(STR("1__0"), &v));
    ck_assert(!float_parse_literal(STR("_1"), &v));
    ck_assert(!float_parse_literal(STR("1_"), &v));
    ck_assert(!float_parse_literal(STR("1_.5"), &v));
    ck_assert(!float_parse_literal(STR(""), &v));
}
END_TEST

START_TEST(times_and_the_stale_mark)
{
    static const struct {
        int64_t ms;
        const char *text;
    } cases[] = {
        {0, "0"},       {60000, "60"}, {INT64_C(1435781430781), "1435781430.781"}, {-500, "-0.500"}, {1001, "1.001"},
        {100, "0.100"}, {-1000, "-1"}, {INT64_MIN, "-9223372036854775.808"}};
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        struct strbuf b = {0};
        strbuf_add_time_ms(&b, cases[i].ms);
        ck_assert_str_eq(strbuf_z(&b), cases[i].text);
        strbuf_done(&b);
    }
    ck_assert(float_is_stale(float_stale()));
    ck_assert(!float_is_stale(NAN));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/float_text");
    TCase *all = tcase_create("all");
    tcase_set_timeout(all, 20);
    tcase_add_test(all, known_texts);
    tcase_add_test(all, plain_form_never_has_an_exponent);
    tcase_add_test(all, shortest_and_exact);
    tcase_add_test(all, reading_follows_parse_float);
    tcase_add_test(all, literals_follow_parse_int_base_0);
    tcase_add_test(all, times_and_the_stale_mark);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
