/* plan/file: write and read are each other's inverse, and whatever else is read is refused with its place. */
#include "sample.h"
#include "suite.h"

#include <string.h>
#include <unistd.h>

#include "plan/file.h"

static struct strbuf written; /* the sample's text */
static struct plan *plan;
static struct err e;

static void setup(void)
{
    struct sample s;
    sample_init(&s);
    plan_write(s.plan, &written);
    sample_done(&s);
    e = (struct err){0};
}

static void teardown(void)
{
    plan_free(plan);
    plan = NULL;
    strbuf_done(&written);
    written = (struct strbuf){0};
}

START_TEST(written_reads_back_to_the_same_bytes)
{
    struct strbuf again = {0};
    ck_assert_msg(plan_read((struct str){written.p, written.n}, &plan, &e) == 0, "%s", e.message);
    plan_write(plan, &again);
    ck_assert_str_eq(strbuf_z(&again), strbuf_z(&written));
    ck_assert_uint_eq(again.n, written.n);
    strbuf_done(&again);
}
END_TEST

/* Inputs, reductions, and promises of nothing. */
START_TEST(states_by_labels_read_back)
{
    struct sample s;
    struct strbuf text = {0}, again = {0};
    sample_init(&s);
    sample_add_groups(&s);
    plan_write(s.plan, &text);
    sample_done(&s);
    ck_assert_msg(plan_read((struct str){text.p, text.n}, &plan, &e) == 0, "%s", e.message);
    plan_write(plan, &again);
    ck_assert_str_eq(strbuf_z(&again), strbuf_z(&text));
    ck_assert(!plan->views[4].per_series && plan->views[3].per_series);
    ck_assert_uint_eq(plan->views[4].reduce_n, 2);
    ck_assert(str_eq(plan->views[4].reduce[1], STR("job")));
    ck_assert_int_eq(plan->views[5].input.kind, INPUT_SERIES);
    ck_assert_uint_eq(plan->views[5].params.heap, 40);
    ck_assert_int_eq(plan->views[6].input.kind, INPUT_LABEL);
    ck_assert(str_eq(plan->views[6].input.label, STR("path")));
    ck_assert(!plan->views[7].per_series && plan->views[7].reduce_n == 0);
    ck_assert_int_eq(plan->queries[7].guarantee.kind, ACCURACY_NONE);
    strbuf_done(&text);
    strbuf_done(&again);
}
END_TEST

START_TEST(what_is_read_is_what_was_written)
{
    ck_assert_int_eq(plan_read((struct str){written.p, written.n}, &plan, &e), 0);
    ck_assert_uint_eq(plan->sketch_seed, 0xfedcba9876543210);
    ck_assert_uint_eq(plan->sources_n, 2);
    ck_assert_uint_eq(plan->sources[1].matchers_n, 2);
    ck_assert(matcher_accepts(&plan->sources[1].matchers[1], STR("web")));
    ck_assert(!matcher_accepts(&plan->sources[1].matchers[1], STR("webs")));
    ck_assert_uint_eq(plan->nodes_n, SAMPLE_NODES);
    ck_assert_int_eq(plan->nodes[BUSY_PANES].offset_ms, -MINUTE);
    ck_assert_uint_eq(plan->nodes[BUSY_PANES].count, 5);
    ck_assert_double_eq(plan->nodes[P99].q, 0.99);
    ck_assert_uint_eq(plan->edges[plan->nodes[P99].in_first], P99_PANES);
    ck_assert_double_eq(plan->views[1].params.alpha, 0.01);
    ck_assert_uint_eq(plan->views[2].level_of, 1);
    ck_assert_uint_eq(plan->views[0].level_of, PLAN_NONE);
    ck_assert_int_eq(plan->stored_roots[0].grid.phase_ms, 30 * SECOND);
    ck_assert_int_eq(plan->queries[4].cadence.at_ms[0], -5 * MINUTE - 30 * SECOND);
    ck_assert_int_eq(plan->queries[3].cadence.length_ms, HOUR);
    ck_assert_double_eq(plan->queries[0].cost.query, 1e-9);
    ck_assert(str_eq(plan->queries[1].rejected[0].candidate, STR("exact from \"raw\"")));
    ck_assert_double_eq(plan->solver.bound, 0x1p80);
    /* Derived: the two sketches; the counter; the roll-up. */
    ck_assert_uint_eq(plan->groups_n, 3);
    ck_assert_uint_eq(plan_query_by_text(plan, STR("quantile_over_time(0.99, latency_ms[5m])")), 0);
}
END_TEST

/* One source, node, view, stored root or query a line. */
START_TEST(one_thing_a_line)
{
    size_t lines_n = 0;
    for (size_t i = 0; i < written.n; i++)
        lines_n += written.p[i] == '\n';
    /* Opening: 6 lines; closing of the five lists: 5, the last one's shared with none. */
    ck_assert_uint_eq(lines_n, 7 + 5 + 2 + SAMPLE_NODES + 4 + 1 + 6);
    ck_assert_int_eq(written.p[written.n - 1], '\n');
}
END_TEST

START_TEST(the_empty_plan)
{
    struct strbuf text = {0}, again = {0};
    struct plan *empty = plan_new();
    empty->solver.status = STR("");
    plan_write(empty, &text);
    plan_free(empty);
    ck_assert_msg(plan_read((struct str){text.p, text.n}, &plan, &e) == 0, "%s", e.message);
    plan_write(plan, &again);
    ck_assert_str_eq(strbuf_z(&again), strbuf_z(&text));
    strbuf_done(&text);
    strbuf_done(&again);
}
END_TEST

/* One field changed in the text: the first place where `from` stands. */
static const struct {
    const char *from, *to;
    int code;
    const char *says;
} changes[] = {
    {"mullion-plan/1", "mullion-plan/2", ERR_VERSION, "mullion-plan/2, this program reads mullion-plan/1"},
    {"mullion-plan/1", "mullion-plan/1234567890123", ERR_VERSION, "use a newer mullion"},
    {"mullion-plan/1", "mullion-plan/0", ERR_BAD_DATA, "not a plan file"},
    {"mullion-plan/1", "mullion-plan/", ERR_BAD_DATA, "not a plan file"},
    {"mullion-plan/1", "sloth-plan/1", ERR_BAD_DATA, "not a plan file"},
    {"\"format\":", "\"formt\":", ERR_BAD_DATA, "\"format\" is missing"},
    {"fedcba9876543210", "fedcba987654321", ERR_BAD_DATA, "line 1, column 28: sketch_seed is 16"},
    {"fedcba9876543210", "Fedcba9876543210", ERR_BAD_DATA, "sketch_seed is 16"},
    {"\"sketch_seed\"", "\"seed\"", ERR_BAD_DATA, "line 1, column 28: unknown key \"seed\""},
    {"\"lookback_ms\"", "\"look_back\"", ERR_BAD_DATA, "line 3, column 72: unknown key \"look_back\""},
    {"\"op\":\"=\"", "\"op\":\"==\"", ERR_BAD_DATA, "line 3, column 40: unknown matcher operator \"==\""},
    {"api|web", "api|(web", ERR_BAD_DATA, "line 4, column 9"},
    {"\"id\":0,\"op\":\"scan\"", "\"id\":1,\"op\":\"scan\"", ERR_BAD_DATA, "line 7, column 2: id must be 0"},
    {"\"scan\"", "\"skan\"", ERR_BAD_DATA, "unknown operator \"skan\""},
    {"\"half\":\"query\"", "\"half\":\"both\"", ERR_BAD_DATA, "unknown half \"both\""},
    {"\"out\":\"samples\"", "\"out\":\"sample\"", ERR_BAD_DATA, "unknown out \"sample\""},
    {"\"in\":[0]", "\"in\":[1]", ERR_BAD_DATA, "an item must be a whole number from 0 to 0"},
    {"\"in\":[0]", "\"in\":[-1]", ERR_BAD_DATA, "an item must be a whole number"},
    {"\"in\":[0]", "\"in\":[0.0]", ERR_BAD_DATA, "an item must be a whole number"},
    {"\"in\":[0]", "\"in\":0", ERR_BAD_DATA, "\"in\" must be an array"},
    {"\"in\":[0]", "\"in\":[99999999999999999999]", ERR_BAD_DATA, "not JSON: too big integer"},
    {"\"count\":5", "\"count\":100001", ERR_BAD_DATA, "count must be a whole number from 0 to 100000"},
    {"\"count\":5", "\"count\":6", ERR_BAD_DATA, "chain_does_not_tile"},
    {"\"count\":5", "\"cnt\":5", ERR_BAD_DATA, "unknown key \"cnt\""},
    {"\"count\":5", "\"count\":5,\"count\":5", ERR_BAD_DATA, "duplicate object key"},
    {"\"statistic\":\"rate\"", "\"statistic\":\"ratte\"", ERR_BAD_DATA, "unknown statistic \"ratte\""},
    {"\"q\":0.99", "\"q\":\"0.99\"", ERR_BAD_DATA, "\"q\" must be a number"},
    {"\"q\":0.99", "\"q\":0.98", ERR_BAD_DATA, "node 10 (estimate): definition_mismatch"},
    {"latency_ms[5m])\"}", "latency_ms[5mm])\"}", ERR_BAD_DATA, "parse error"},
    {"latency_ms[5m])\"}", "latency_ms[300s])\"}", ERR_BAD_DATA, "text_not_canonical"},
    {"\"identity\":\"", "\"identity\":\"0", ERR_BAD_DATA, "an identity is 32"},
    {"\"input\":\"value\"", "\"input\":\"label\"", ERR_BAD_DATA, "unknown input \"label\""},
    {"\"family\":\"kll\"", "\"family\":\"kkl\"", ERR_BAD_DATA, "unknown family \"kkl\""},
    {"\"params\":{\"k\":269}", "\"params\":{\"k\":270}", ERR_BAD_DATA, "view 0: identity_mismatch"},
    {"\"params\":{\"k\":269}", "\"params\":{\"k\":-1}", ERR_BAD_DATA, "k must be a whole number"},
    {"\"params\":{\"k\":269}", "\"params\":{\"kk\":269}", ERR_BAD_DATA, "unknown key \"kk\""},
    {"\"reduce\":null", "\"reduce\":[3]", ERR_BAD_DATA, "an item must be a string"},
    {"\"width_ms\":10000", "\"width_ms\":2073600001", ERR_BAD_DATA, "pane_too_wide"},
    {"\"phase_ms\":0", "\"phase_ms\":5000", ERR_BAD_DATA, "identity_mismatch"},
    {"\"phase_ms\":30000", "\"phase_ms\":9007199254740993", ERR_BAD_DATA, "phase_ms must be a whole number"},
    {"\"when\":\"ingestion\"", "\"when\":\"\"", ERR_BAD_DATA, "unknown when \"\""},
    {"\"level_of\":1", "\"level_of\":4", ERR_BAD_DATA, "view 2: bad_view"},
    {"{\"every_ms\":10000}", "{\"every_ms\":0}", ERR_BAD_DATA, "every_ms must be a whole number"},
    {"{\"every_ms\":10000}", "{\"every_ms\":15000}", ERR_BAD_DATA, "query 0: misaligned"},
    {"{\"every_ms\":10000}", "{}", ERR_BAD_DATA, "one of every_ms"},
    {"{\"every_ms\":10000}", "{\"every_ms\":10000,\"once\":true}", ERR_BAD_DATA, "one of every_ms"},
    {"{\"once\":true}", "{\"once\":false}", ERR_BAD_DATA, "\"once\" must be true"},
    {"\"kind\":\"rank\"", "\"kind\":\"rang\"", ERR_BAD_DATA, "unknown accuracy kind \"rang\""},
    {"\"root\":10", "\"root\":4194304", ERR_BAD_DATA, "root must be a whole number"},
    {"\"root\":10", "\"root\":100", ERR_BAD_DATA, "query 0: bad_query"},
    {"\"uses\":[0]", "\"uses\":[4]", ERR_BAD_DATA, "an item must be a whole number from 0 to 3"},
    {"\"uses\":[0]", "\"uses\":[0,0]", ERR_BAD_DATA, "uses_differ"},
    {"\"rejected\":[]", "\"rejected\":{}", ERR_BAD_DATA, "\"rejected\" must be an array"},
    {"\"solver\":{", "\"solver\":[{", ERR_BAD_DATA, "not JSON"},
    {"\"variables\":17", "\"variables\":-17", ERR_BAD_DATA, "variables must be a whole number"},
    {"}}\n", "}} x\n", ERR_BAD_DATA, "not JSON"},
    {"\"status\":\"optimal\"", "\"status\":7", ERR_BAD_DATA, "status must be a string"},
};

START_TEST(a_changed_field_is_refused)
{
    struct strbuf text = {0};
    const char *place = strstr(strbuf_z(&written), changes[_i].from);
    ck_assert_msg(place, "%s is not in the file", changes[_i].from);
    strbuf_add(&text, written.p, (size_t)(place - written.p));
    strbuf_add_z(&text, changes[_i].to);
    strbuf_add_z(&text, place + strlen(changes[_i].from));
    int rc = plan_read((struct str){text.p, text.n}, &plan, &e);
    ck_assert_msg(rc == changes[_i].code && strstr(e.message, changes[_i].says), "%s -> %s: wanted %s, got %d: %s",
                  changes[_i].from, changes[_i].to, changes[_i].says, rc, e.message);
    ck_assert_ptr_null(plan);
    strbuf_done(&text);
}
END_TEST

START_TEST(things_that_are_no_plan)
{
    static const char *const texts[] = {"", "{", "[]", "null", "{}", "3", "\"mullion-plan/1\"", "{\"format\":1}"};
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        ck_assert_msg(plan_read(str_of(texts[i]), &plan, &e) == ERR_BAD_DATA, "%s", texts[i]);
    ck_assert_int_eq(plan_read((struct str){"", PLAN_FILE_MAX_BYTES + (size_t)1}, &plan, &e), ERR_TOO_LARGE);
}
END_TEST

START_TEST(files_by_path)
{
    char path[] = "/tmp/plan_file_testXXXXXX";
    int fd = mkstemp(path);
    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, written.p, written.n), (ssize_t)written.n);
    ck_assert_msg(plan_read_path(path, &plan, &e) == 0, "%s", e.message);
    ck_assert_int_eq(ftruncate(fd, 100), 0);
    struct plan *other = NULL;
    ck_assert_int_eq(plan_read_path(path, &other, &e), ERR_BAD_DATA);
    ck_assert_ptr_nonnull(strstr(e.message, path));
    close(fd);
    unlink(path);
    ck_assert_int_eq(plan_read_path(path, &other, &e), ERR_IO);
    ck_assert_ptr_null(other);
}
END_TEST

/* A few bytes changed, dropped or doubled. Whatever is still accepted must write and read back to itself. */
START_TEST(flipped_bytes_never_crash)
{
    unsigned long seed = suite_seed("flipped_bytes_never_crash");
    srand((unsigned)seed);
    for (int round = 0; round < 3000; round++) {
        struct strbuf text = {0};
        strbuf_add(&text, written.p, written.n);
        for (int flips = 1 + rand() % 3; flips > 0; flips--) {
            size_t at = (size_t)rand() % text.n;
            size_t from = (size_t)rand() % text.n;
            size_t n = 1 + (size_t)rand() % 8;
            switch (rand() % 4) {
            case 0:
                text.p[at] = (char)(text.p[at] ^ (1 << rand() % 8));
                break;
            case 1:
                text.p[at] = "0123456789-\"{}[],:."[rand() % 19];
                break;
            case 2: /* a piece from elsewhere */
                n = n < text.n - (at > from ? at : from) ? n : 1;
                memmove(text.p + at, text.p + from, n);
                break;
            default:
                text.n -= rand() % 50 == 0 ? text.n - at : 0;
                text.n += text.n == 0;
            }
        }
        if (plan_read((struct str){text.p, text.n}, &plan, &e) == 0) {
            struct strbuf first = {0}, second = {0};
            struct plan *again = NULL;
            plan_write(plan, &first);
            ck_assert_msg(plan_read((struct str){first.p, first.n}, &again, &e) == 0, "round %d, seed %lu: %s", round,
                          seed, e.message);
            plan_write(again, &second);
            ck_assert_str_eq(strbuf_z(&first), strbuf_z(&second));
            plan_free(again);
            plan_free(plan);
            plan = NULL;
            strbuf_done(&first);
            strbuf_done(&second);
        }
        strbuf_done(&text);
    }
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("plan/file");
    TCase *tcase = tcase_create("file");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, written_reads_back_to_the_same_bytes);
    tcase_add_test(tcase, what_is_read_is_what_was_written);
    tcase_add_test(tcase, states_by_labels_read_back);
    tcase_add_test(tcase, one_thing_a_line);
    tcase_add_test(tcase, the_empty_plan);
    tcase_add_loop_test(tcase, a_changed_field_is_refused, 0, sizeof changes / sizeof changes[0]);
    tcase_add_test(tcase, things_that_are_no_plan);
    tcase_add_test(tcase, files_by_path);
    tcase_add_test(tcase, flipped_bytes_never_crash);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
