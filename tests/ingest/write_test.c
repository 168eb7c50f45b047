/* ingest/write: one series however its labels are written, at first and again; what is refused stays refused. */
#include "base/arena.h"
#include "ingest/rig.h"
#include "ingest/wire.h"
#include "ingest/write_request.h"
#include "suite.h"

enum { HOUR = 3600 * 1000 };

static struct rig rig;
static struct sender *sender;

static void setup(void)
{
    rig = (struct rig){0};
    rig_open(&rig, NULL);
    sender = ingest_sender_new();
}

static void teardown(void)
{
    ingest_sender_free(sender);
    rig_done(&rig);
}

/* One request of one series: these label bytes, then a sample. */
static struct write_result send_labels(const struct strbuf *labels, int64_t time_ms, double value)
{
    struct strbuf series = {0}, plain = {0}, body = {0};
    struct write_result result;
    struct err e = {0};
    strbuf_add(&series, labels->p, labels->n);
    wire_sample(&series, time_ms, value);
    wire_bytes(&plain, 1, series.p, series.n);
    wire_compress(&plain, &body);
    int code = ingest_write(rig.ingest, sender, (struct str){body.p, body.n}, time_ms, &result, &e);
    ck_assert_msg(code == 0, "%s", e.message);
    strbuf_done(&series);
    strbuf_done(&plain);
    strbuf_done(&body);
    return result;
}

/* {__name__="m", a="1", b="2"}, written in one of six ways. */
enum { FORMS = 6 };
static void labels_in_form(int form, struct strbuf *b)
{
    static const char *const orders[FORMS] = {"nab", "ban", "nazb", "nab", "naab", "nab"};
    for (const char *p = orders[form]; *p; p++) {
        struct str name = *p == 'n' ? STR("__name__") : (struct str){p, 1};
        struct str value = *p == 'n' ? STR("m") : *p == 'a' ? STR("1") : *p == 'b' ? STR("2") : STR("");
        struct strbuf label = {0};
        if (form == 3) { /* the value first */
            wire_bytes(&label, 2, value.p, value.n);
            wire_bytes(&label, 1, name.p, name.n);
        } else if (form == 5) { /* a length wider than it must be */
            wire_bytes(&label, 1, name.p, name.n);
            wire_key(&label, 2, 2);
            wire_varint_wide(&label, value.n, 3);
            strbuf_add_str(&label, value);
        } else {
            wire_bytes(&label, 1, name.p, name.n);
            wire_bytes(&label, 2, value.p, value.n);
        }
        if (form == 4 && *p == 'a' && p[1] == 'a') { /* the last value of a field counts; the label stands once */
            wire_bytes(&label, 2, "0", 1);
            wire_bytes(&label, 2, value.p, value.n);
            p++;
        }
        wire_bytes(b, 1, label.p, label.n);
        strbuf_done(&label);
    }
}

START_TEST(one_series_however_written)
{
    uint64_t made = 0;
    int64_t time_ms = HOUR;
    for (int round = 0; round < 3; round++)
        for (int form = 0; form < FORMS; form++) {
            struct strbuf labels = {0};
            labels_in_form(form, &labels);
            struct write_result r = send_labels(&labels, time_ms += 1000, form);
            ck_assert_msg(r.samples_applied == 1, "form %d: %s", form, r.refused);
            made += r.series_new;
            strbuf_done(&labels);
        }
    uint32_t sources;
    bool found;
    ck_assert_uint_eq(made, 1);
    ck_assert_uint_eq(rig_count(&rig, "{__name__=~\".+\"}", time_ms, false, &sources), 1);
    ck_assert_double_eq(rig_value(&rig, "count_over_time(m{a=\"1\",b=\"2\"}[1h])", time_ms, false, &found), 18);
    rig_crash(&rig);
    ck_assert_double_eq(rig_value(&rig, "count_over_time(m{a=\"1\",b=\"2\"}[1h])", time_ms, false, &found), 18);
}
END_TEST

static void add_numbered(struct strbuf *labels, int n)
{
    wire_label(labels, STR("__name__"), STR("m"));
    for (int i = 1; i < n; i++) {
        char name[8];
        snprintf(name, sizeof name, "l%03d", i);
        wire_label(labels, str_of(name), STR("x"));
    }
}

/* The first 256 labels of the refused series are those of the one that is known. */
START_TEST(one_label_too_many)
{
    struct strbuf fits = {0}, over = {0};
    add_numbered(&fits, WRITE_LABELS_MAX);
    add_numbered(&over, WRITE_LABELS_MAX + 1);
    for (int i = 0; i < 3; i++) {
        ck_assert_uint_eq(send_labels(&fits, HOUR + i, 1).samples_applied, 1);
        struct write_result r = send_labels(&over, HOUR + i, 2);
        ck_assert_uint_eq(r.samples_applied, 0);
        ck_assert_uint_eq(r.samples_refused, 1);
        ck_assert_ptr_nonnull(strstr(r.refused, "more than 256 labels"));
    }
    strbuf_done(&fits);
    strbuf_done(&over);
}
END_TEST

START_TEST(refused_labels_stay_refused)
{
    static const struct {
        const char *name, *value, *reason;
    } rows[] = {{"", "x", "empty"},
                {"\xff", "x", "not UTF-8"},
                {"a", "\xc0\x80", "not UTF-8"},
                {"__name__", "twice", "stands twice"}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++)
        for (int again = 0; again < 2; again++) {
            struct strbuf labels = {0};
            wire_label(&labels, STR("__name__"), STR("m"));
            wire_label(&labels, str_of(rows[i].name), str_of(rows[i].value));
            struct write_result r = send_labels(&labels, HOUR, 1);
            ck_assert_uint_eq(r.samples_refused, 1);
            ck_assert_msg(strstr(r.refused, rows[i].reason) != NULL, "%s", r.refused);
            strbuf_done(&labels);
        }
    struct strbuf nameless = {0};
    wire_label(&nameless, STR("a"), STR("x"));
    ck_assert_ptr_nonnull(strstr(send_labels(&nameless, HOUR, 1).refused, "no metric name"));
    strbuf_done(&nameless);
}
END_TEST

/* Requests of other sizes each round, so that no series keeps its place; 5,000 series, so that the cache grows. */
START_TEST(many_series_in_any_place)
{
    enum { SERIES = 5000, ROUNDS = 4 };
    static struct rig_sample samples[SERIES];
    static char names[SERIES][32];
    struct write_result result;
    uint64_t made = 0;
    for (int round = 0; round < ROUNDS; round++) {
        for (int i = 0; i < SERIES; i++) {
            int k = (i + round * 777) % SERIES;
            snprintf(names[i], sizeof names[i], "m{i=\"%d\",j=\"%d\"}", k, k % 7);
            samples[i] = (struct rig_sample){names[i], HOUR + round * 1000, k};
        }
        for (int at = 0, n = 900 + round * 100; at < SERIES; at += n) {
            size_t sent = (size_t)(SERIES - at < n ? SERIES - at : n);
            ck_assert_int_eq(rig_send(&rig, samples + at, sent, HOUR + round * 1000, &result), 0);
            ck_assert_uint_eq(result.samples_applied, sent);
            made += result.series_new;
        }
    }
    ck_assert_uint_eq(made, SERIES);
    bool found;
    int64_t end_ms = HOUR + ROUNDS * 1000;
    /* each series has its own number in every round: the sum says that none went elsewhere */
    ck_assert_double_eq(rig_value(&rig, "count(count_over_time(m[1m]) == 4)", end_ms, false, &found), SERIES);
    ck_assert_double_eq(rig_value(&rig, "sum(m{j=\"3\"})", end_ms, false, &found), 7.0 * 713 * 714 / 2 + 3 * 714);
    ck_assert_double_eq(rig_value(&rig, "max_over_time(m{i=\"4321\"}[1m])", end_ms, false, &found), 4321);
    ck_assert_double_eq(rig_value(&rig, "min_over_time(m{i=\"4321\"}[1m])", end_ms, false, &found), 4321);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/write");
    TCase *tcase = tcase_create("write");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, one_series_however_written);
    tcase_add_test(tcase, one_label_too_many);
    tcase_add_test(tcase, refused_labels_stay_refused);
    tcase_add_test(tcase, many_series_in_any_place);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
