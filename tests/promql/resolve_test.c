/* What depends on the query's times (P6). Values from Prometheus' duration_expression tests and arithmetic. */
#include "suite.h"

#include <string.h>

#include "promql/parse.h"
#include "promql/print.h"

enum { START_MS = 50000, END_MS = 60000, STEP_MS = 5000 };

struct resolution {
    const char *text, *resolved; /* for 50 s to 60 s by 5 s */
};

/* The printed form has durations in place of expressions; @ start() keeps its name. */
static const struct resolution resolutions[] = {
    {"foo[step()]", "foo[5s]"},
    {"foo[step()+1]", "foo[6s]"},
    {"foo[min_of(step()+1,1h)]", "foo[6s]"},
    {"foo[max_of(min_of(step()+1,1h),1ms)]", "foo[6s]"},
    {"foo[((max_of(min_of((step()+1),((1h))),1ms)))]", "foo[6s]"},
    {"foo offset STEP()", "foo offset 5s"},
    {"foo offset step()*0", "foo offset 5s * 0"},
    {"foo offset (-step()*2)", "foo offset -10s"},
    {"foo offset -step()*2", "foo offset -5s * 2"},
    {"foo offset step()^0", "foo offset 5s ^ 0"},
    {"foo offset (STEP()/10)", "foo offset 500ms"},
    {"foo offset min_of(step(), 1s)+8000", "foo offset 1s + 8000"},
    {"foo offset -min_of(step(), 1s)+8000", "foo offset -1s + 8000"},
    {"foo offset max_of(3s,min_of(step(), 1s))+8000", "foo offset 3s + 8000"},
    {"foo offset -(min_of(step(), 2s)-5)+8000", "foo offset 3s + 8000"},
    {"foo[range()]", "foo[10s]"},
    {"foo offset min_of(range(), 8s)", "foo offset 8s"},
    {"foo[5m*2]", "foo[10m]"},
    {"foo[2m*(10+5)]", "foo[30m]"},
    {"foo[24m+((1.5*2m)+2m)]", "foo[29m]"},
    {"foo[1h30m % 1h]", "foo[30m]"},
    {"foo[30m1s-30m1s % 1m]", "foo[30m]"},
    {"foo[(9m30s+30s)*3]", "foo[30m]"},
    {"foo[2^3^2s]", "foo[8m32s]"},
    {"foo[29s+1s:((((8 - 2) / 3) * 7s) % 4) + 8000ms]", "foo[30s:10s]"},
    {"foo[29s+1s:20*500ms] offset -(20*(((((8 - 2) / 3) * 7s) % 4) + 8000ms))", "foo[30s:10s] offset -3m20s"},
    {"sum_over_time(rate(foo[step()*2])[range():step()])", "sum_over_time(rate(foo[10s])[10s:5s])"},
    {"foo[0.0019*1]", "foo[1ms]"},
    {"foo @ start() + foo @ end()", "foo @ start() + foo @ end()"},
    {"foo[5m] offset 1m", "foo[5m] offset 1m"},
};

static struct parsed parse_good(const char *text, struct arena *a)
{
    struct parsed parsed;
    struct err e = {0};
    ck_assert_msg(promql_parse(str_of(text), a, &parsed, &e) == 0, "%s\n  %s", text, e.message);
    return parsed;
}

START_TEST(test_p6_durations)
{
    for (size_t i = 0; i < sizeof resolutions / sizeof *resolutions; i++) {
        struct arena a;
        struct err e = {0};
        struct expr *resolved;
        arena_init(&a, 1 << 20);
        struct parsed parsed = parse_good(resolutions[i].text, &a);
        struct str before = expr_text(parsed.root, &a);
        ck_assert_msg(expr_resolve(parsed.root, START_MS, END_MS, STEP_MS, &a, &resolved, &e) == 0, "%s\n  %s",
                      resolutions[i].text, e.message);
        ck_assert_str_eq(expr_text(resolved, &a).p, resolutions[i].resolved);
        ck_assert(str_eq(before, expr_text(parsed.root, &a)));
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

START_TEST(test_p6_at_and_sharing)
{
    struct arena a;
    struct err e = {0};
    struct expr *resolved;
    arena_init(&a, 1 << 20);
    struct parsed parsed = parse_good("rate(foo[5m]) + max_over_time(bar[1h:] @ start()) - (baz @ end())", &a);
    ck_assert_int_eq(expr_resolve(parsed.root, START_MS, END_MS, STEP_MS, &a, &resolved, &e), 0);
    const struct expr *left = resolved->args[0], *bar = left->args[1]->args[0], *baz = resolved->args[1]->args[0];
    ck_assert_int_eq(bar->time.at, AT_START);
    ck_assert_int_eq(bar->time.at_ms, START_MS);
    ck_assert_int_eq(baz->time.at_ms, END_MS);
    /* Nothing changed below rate: it is the same node. The parsed tree still has no times. */
    ck_assert_ptr_eq(left->args[0], parsed.root->args[0]->args[0]);
    ck_assert_int_eq(parsed.root->args[1]->args[0]->time.at_ms, 0);
    /* Resolved again with other times. */
    ck_assert_int_eq(expr_resolve(parsed.root, 1000, 1000, 0, &a, &resolved, &e), 0);
    ck_assert_int_eq(resolved->args[1]->args[0]->time.at_ms, 1000);
    ck_assert_int_eq(baz->time.at_ms, END_MS);
    parsed_done(&parsed);

    parsed = parse_good("rate(foo[5m] offset 1m)", &a);
    ck_assert_int_eq(expr_resolve(parsed.root, START_MS, END_MS, STEP_MS, &a, &resolved, &e), 0);
    ck_assert_ptr_eq(resolved, parsed.root);
    parsed_done(&parsed);
    arena_done(&a);
}
END_TEST

START_TEST(test_p6_refused)
{
    static const struct {
        const char *text, *message; /* for an instant query: step() and range() are 0 */
    } refused[] = {{"foo[step()]", "4:10: duration must be greater than 0"},
                   {"foo[5m-range()-6m]", "4:17: duration must be greater than 0"},
                   {"foo[5m:range()*2]", "7:16: duration must be greater than 0"},
                   {"foo[5m/step()]", "4:13: division by zero"},
                   {"foo[5m+5m%range()]", "7:17: modulo by zero"},
                   {"foo offset (300y*(1+step()))", NULL}};
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct arena a;
        struct err e = {0};
        struct expr *resolved = NULL;
        struct parsed parsed;
        arena_init(&a, 1 << 20);
        if (!refused[i].message) {
            ck_assert_int_eq(promql_parse(str_of(refused[i].text), &a, &parsed, &e), ERR_BAD_DATA);
        } else {
            parsed = parse_good(refused[i].text, &a);
            ck_assert_int_eq(expr_resolve(parsed.root, 7000, 7000, 0, &a, &resolved, &e), ERR_BAD_DATA);
            ck_assert_str_eq(e.message, refused[i].message);
            ck_assert_ptr_null(resolved);
            parsed_done(&parsed);
        }
        arena_done(&a);
    }
}
END_TEST

START_TEST(test_p6_full_arena)
{
    struct arena a, small;
    struct err e = {0};
    struct expr *resolved = NULL;
    arena_init(&a, 1 << 20);
    arena_init(&small, 64);
    struct parsed parsed = parse_good("rate(foo[step()])", &a);
    ck_assert_int_eq(expr_resolve(parsed.root, START_MS, END_MS, STEP_MS, &small, &resolved, &e), ERR_LIMIT);
    ck_assert_ptr_null(resolved);
    parsed_done(&parsed);
    arena_done(&small);
    arena_done(&a);
}
END_TEST

static Suite *make_suite(void)
{
    Suite *s = suite_create("promql resolve");
    TCase *t = tcase_create("resolve");
    tcase_add_test(t, test_p6_durations);
    tcase_add_test(t, test_p6_at_and_sharing);
    tcase_add_test(t, test_p6_refused);
    tcase_add_test(t, test_p6_full_arena);
    suite_add_tcase(s, t);
    return s;
}

int main(void)
{
    return suite_run(make_suite());
}
