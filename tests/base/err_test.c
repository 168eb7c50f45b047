/* The error record: codes and their HTTP faces, cutting long messages, prefixes, errno. */
#include "base/err.h"

#include <errno.h>
#include <string.h>

#include "base/str.h"
#include "suite.h"

START_TEST(codes_have_their_http_status_and_type)
{
    ck_assert_str_eq(err_name(0), "OK");
    ck_assert_int_eq(err_http_status(0), 200);
    ck_assert_str_eq(err_prom_type(0), "");
    ck_assert_str_eq(err_name(ERR_BAD_DATA), "BAD_DATA");
    ck_assert_int_eq(err_http_status(ERR_BAD_DATA), 400);
    ck_assert_str_eq(err_prom_type(ERR_BAD_DATA), "bad_data");
    ck_assert_int_eq(err_http_status(ERR_TIMEOUT), 503);
    ck_assert_str_eq(err_prom_type(ERR_TIMEOUT), "timeout");
    ck_assert_str_eq(err_name(ERR_INTERNAL), "INTERNAL");
    ck_assert_str_eq(err_name(ERR_INTERNAL - 1), "UNKNOWN");
    ck_assert_str_eq(err_name(1), "UNKNOWN");
    ck_assert_int_eq(err_http_status(-1000), 500);
}
END_TEST

START_TEST(set_fills_and_returns_the_code)
{
    struct err e = {.line = 7, .column = 7};
    ck_assert_int_eq(err_set(&e, ERR_LIMIT, "%d of %s", 3, "them"), ERR_LIMIT);
    ck_assert_int_eq(e.code, ERR_LIMIT);
    ck_assert_str_eq(e.message, "3 of them");
    ck_assert_uint_eq(e.line, 0);
    ck_assert_int_eq(err_set_at(&e, ERR_BAD_DATA, 2, 5, "here"), ERR_BAD_DATA);
    ck_assert_uint_eq(e.line, 2);
    ck_assert_uint_eq(e.column, 5);
    ck_assert_int_eq(err_set(NULL, ERR_IO, "nobody reads this"), ERR_IO);
}
END_TEST

START_TEST(long_message_is_cut_between_characters)
{
    struct err e;
    char text[sizeof(e.message) + 100];
    for (size_t shift = 0; shift < 4; shift++) {
        memset(text, 'x', sizeof(text));
        for (size_t i = shift; i + 4 < sizeof(text); i += 4)
            memcpy(text + i, "\xf0\x9f\x98\x80", 4);
        text[sizeof(text) - 1] = 0;
        err_set(&e, ERR_BAD_DATA, "%s", text);
        size_t n = strlen(e.message);
        ck_assert_uint_lt(n, sizeof(e.message));
        ck_assert_uint_gt(n, sizeof(e.message) - 5);
        ck_assert(utf8_valid(e.message, n));
    }
}
END_TEST

START_TEST(prefix_keeps_code_and_place)
{
    struct err e;
    err_set_at(&e, ERR_CORRUPT, 4, 9, "bad block");
    ck_assert_int_eq(err_prefix(&e, "file %s", "a.pane"), ERR_CORRUPT);
    ck_assert_str_eq(e.message, "file a.pane: bad block");
    ck_assert_uint_eq(e.line, 4);
    ck_assert_uint_eq(e.column, 9);
    err_set(&e, ERR_IO, "again: %s", e.message);
    ck_assert_str_eq(e.message, "again: file a.pane: bad block");
}
END_TEST

START_TEST(errno_tells_a_full_disk_from_the_rest)
{
    struct err e;
    ck_assert_int_eq(err_set_errno(&e, ENOSPC, "write %s", "x"), ERR_DISK_FULL);
    ck_assert_str_eq(e.message, "write x: No space left on device");
    ck_assert_int_eq(err_set_errno(&e, EDQUOT, "write"), ERR_DISK_FULL);
    ck_assert_int_eq(err_set_errno(&e, EACCES, "open"), ERR_IO);
    ck_assert_str_eq(e.message, "open: Permission denied");
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/err");
    TCase *all = tcase_create("all");
    tcase_add_test(all, codes_have_their_http_status_and_type);
    tcase_add_test(all, set_fills_and_returns_the_code);
    tcase_add_test(all, long_message_is_cut_between_characters);
    tcase_add_test(all, prefix_keeps_code_and_place);
    tcase_add_test(all, errno_tells_a_full_disk_from_the_rest);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
