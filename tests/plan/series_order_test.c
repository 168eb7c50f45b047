/* plan/series_order: whose order is the catalog's, by what each operator does with its operands' series; and where
 * something else may stand in. */
#include "plan/series_order.h"

#include "suite.h"

#include "promql/parse.h"

START_TEST(fixed)
{
    static const struct {
        const char *text;
        bool fixed;
    } cases[] = {
        {"m", true},
        {"-abs(rate(m[5m]))", true},
        {"max_over_time(m[5m:1m])", true},
        {"a / b", true},
        {"sum by (job) (a) / b", false},
        {"a / ignoring (x) b", false}, /* results of several series may be one */
        {"a * on (x) group_left b", true},
        {"a * on (x) group_right sum by (x) (b)", false},
        {"sum by (x) (a) * on (x) group_right b", true},
        {"a and sum by (x) (b)", true},
        {"a or b", true},
        {"a or sum by (x) (b)", false},
        {"sum(m)", true}, /* one series */
        {"sum by (x) (m)", false},
        {"sum without (x) (m)", false},
        {"count_values(\"v\", m)", false},
        {"topk(2, m)", false}, /* an instant query shows the best first */
        {"sort(m)", false},
        {"limitk(2, m)", true},
        {"limitk(2, sum by (x) (m))", false},
        {"histogram_quantile(0.9, m)", false},
        {"label_replace(sum by (x) (m), \"a\", \"b\", \"\", \"\")", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a;
        struct parsed parsed;
        struct err e;
        arena_init(&a, 0);
        ck_assert_msg(promql_parse(str_of(cases[i].text), &a, &parsed, &e) == 0, "%s: %s", cases[i].text, e.message);
        ck_assert_msg(series_order_is_fixed(parsed.root) == cases[i].fixed, "%s", cases[i].text);
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

/* Of the first argument at each level down from the root: must its series come in the catalog's order? */
START_TEST(minded)
{
    static const struct {
        const char *text, *levels; /* y or n for each */
    } cases[] = {
        {"sum(rate(m[5m]))", "y"},
        {"max(rate(m[5m]))", "n"},
        {"topk(5, rate(m[5m]))", "y"},
        {"topk(5, sum by (x) (rate(m[5m])))", "ny"},
        {"sort(abs(max by (x) (rate(m[5m]))))", "nnn"},
        {"sum(abs(rate(m[5m])))", "yy"},
        {"sum(count by (x) (rate(m[5m])))", "nn"},
        {"sum(max(rate(m[5m])))", "nn"}, /* one series stands in no order */
        {"sum(abs(max(rate(m[5m]))))", "ynn"},
        {"sum(histogram_quantile(0.9, sum by (le) (rate(m[5m]))))", "nny"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct arena a;
        struct parsed parsed;
        struct err e;
        arena_init(&a, 0);
        ck_assert_int_eq(promql_parse(str_of(cases[i].text), &a, &parsed, &e), 0);
        const struct expr *at = parsed.root;
        bool now = false;
        for (const char *level = cases[i].levels; *level; level++) {
            const struct expr *below = NULL;
            for (uint32_t k = 0; !below && k < at->args_n; k++)
                below = at->args[k]->type == VALUE_VECTOR ? expr_unwrap(at->args[k]) : NULL;
            now = series_order_minded(at, below, now);
            ck_assert_msg(now == (*level == 'y'), "%s, level %d", cases[i].text, (int)(level - cases[i].levels));
            ck_assert(!(series_order_is_given(at) && now));
            at = below;
        }
        parsed_done(&parsed);
        arena_done(&a);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/series_order");
    TCase *tcase = tcase_create("series_order");
    tcase_add_test(tcase, fixed);
    tcase_add_test(tcase, minded);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
