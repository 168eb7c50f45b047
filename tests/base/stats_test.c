/* Metrics: counting from several threads, the text format; and the log's lines. */
#include "base/stats.h"

#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/pool.h"
#include "suite.h"

static struct stat late = STAT_COUNTER("t_rejected_total", "reason=\"too_old\"", "Samples refused");
static struct stat early = STAT_COUNTER("t_rejected_total", "reason=\"future\"", "Samples refused");
static struct stat open_panes = STAT_GAUGE("t_open_panes", "", "Open panes\nand a \\ to escape");
static struct stat raced = STAT_COUNTER("t_z_raced_total", "", "Bumped by all");

static void bump(void *arg, size_t i)
{
    stat_add(&raced, 2);
}

START_TEST(counts_and_prints)
{
    ck_assert_int_eq(stats_value("t_open_panes", ""), -1);
    stat_add(&late, 2);
    stat_add(&late, 3);
    stat_set(&open_panes, -7);
    stat_register(&early);
    struct pool *p = pool_new(3, 4);
    pool_for(p, 10000, bump, NULL);
    pool_free(p);
    ck_assert_int_eq(stat_get(&late), 5);
    ck_assert_int_eq(stats_value("t_rejected_total", "reason=\"too_old\""), 5);
    ck_assert_int_eq(stats_value("t_rejected_total", ""), -1);
    struct strbuf out = {0};
    stats_print(&out);
    ck_assert_str_eq(strbuf_z(&out), "# HELP t_open_panes Open panes\\nand a \\\\ to escape\n"
                                     "# TYPE t_open_panes gauge\n"
                                     "t_open_panes -7\n"
                                     "# HELP t_rejected_total Samples refused\n"
                                     "# TYPE t_rejected_total counter\n"
                                     "t_rejected_total{reason=\"future\"} 0\n"
                                     "t_rejected_total{reason=\"too_old\"} 5\n"
                                     "# HELP t_z_raced_total Bumped by all\n"
                                     "# TYPE t_z_raced_total counter\n"
                                     "t_z_raced_total 20000\n");
    strbuf_done(&out);
}
END_TEST

START_TEST(log_lines_are_logfmt)
{
    char path[] = "/tmp/mullion-log-XXXXXX", text[1000] = {0};
    int file = mkstemp(path), saved = dup(STDERR_FILENO);
    ck_assert_int_ge(file, 0);
    dup2(file, STDERR_FILENO);
    log_set_level(LOG_INFO);
    log_line(LOG_DEBUG, "not shown", NULL);
    log_line(LOG_INFO, "listening", "addr", "127.0.0.1:9095", "note", "two words", "empty", "", NULL);
    log_line(LOG_ERROR, "bad \"thing\"", "input", "a\nlevel=info", NULL);
    dup2(saved, STDERR_FILENO);
    ck_assert_int_gt(pread(file, text, sizeof(text) - 1, 0), 0);
    close(file);
    close(saved);
    unlink(path);
    ck_assert_ptr_null(strstr(text, "not shown"));
    ck_assert_int_eq(strncmp(text, "ts=20", 5), 0);
    ck_assert_int_eq(text[26], 'Z');
    ck_assert_ptr_nonnull(
        strstr(text, "Z level=info msg=\"listening\" addr=127.0.0.1:9095 note=\"two words\" empty=\"\"\n"));
    ck_assert_ptr_nonnull(strstr(text, " level=error msg=\"bad \\\"thing\\\"\" input=\"a\\nlevel=info\"\n"));
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/stats");
    TCase *all = tcase_create("all");
    tcase_add_test(all, counts_and_prints);
    tcase_add_test(all, log_lines_are_logfmt);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
