/* Strings, UTF-8 by RFC 3629, quoting as Go's strconv.Quote and as JSON; bounded bytes. */
#include "base/str.h"

#include "base/bytes.h"
#include "suite.h"

START_TEST(order_is_bytewise_then_by_length)
{
    ck_assert_int_lt(str_cmp(STR("a"), STR("b")), 0);
    ck_assert_int_lt(str_cmp(STR("a"), STR("aa")), 0);
    ck_assert_int_gt(str_cmp(STR("\xff"), STR("a")), 0);
    ck_assert_int_eq(str_cmp(STR(""), str_of(NULL)), 0);
    ck_assert(str_has_prefix(STR("abc"), STR("ab")));
    ck_assert(str_has_prefix(STR("abc"), STR("")));
    ck_assert(!str_has_prefix(STR("a"), STR("ab")));
}
END_TEST

START_TEST(utf8_follows_rfc_3629)
{
    static const struct {
        const char *bytes;
        size_t n;
        bool valid;
    } cases[] = {
        {"", 0, true},
        {"plain ascii text of some length", 31, true},
        {"a\0b", 3, true},
        {"\xc2\x80", 2, true},
        {"\xdf\xbf", 2, true},
        {"\xe0\xa0\x80", 3, true},
        {"\xed\x9f\xbf", 3, true},
        {"\xee\x80\x80", 3, true},
        {"\xf0\x90\x80\x80", 4, true},
        {"\xf4\x8f\xbf\xbf", 4, true},
        {"12345678\xe2\x82\xac", 11, true},
        {"\x80", 1, false},
        {"\xc0\x80", 2, false},     /* overlong */
        {"\xc1\xbf", 2, false},     /* overlong */
        {"\xe0\x9f\xbf", 3, false}, /* overlong */
        {"\xed\xa0\x80", 3, false}, /* surrogate */
        {"\xf0\x8f\xbf\xbf", 4, false},
        {"\xf4\x90\x80\x80", 4, false}, /* past U+10FFFF */
        {"\xf5\x80\x80\x80", 4, false},
        {"\xe2\x82", 2, false},
        {"\xe2\x82"
         "a",
         3, false},
        {"12345678\xff", 9, false},
        {"1234567\xff", 8, false},
    };
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
        ck_assert_msg(utf8_valid(cases[i].bytes, cases[i].n) == cases[i].valid, "case %zu", i);
}
END_TEST

START_TEST(every_code_point_survives_encoding)
{
    for (uint32_t c = 0; c <= 0x10ffff; c++) {
        if (c >= 0xd800 && c <= 0xdfff)
            continue;
        char bytes[4];
        uint32_t back;
        size_t n = utf8_encode(c, bytes);
        if (utf8_decode(bytes, n, &back) != n || back != c)
            ck_abort_msg("U+%04X", c);
    }
    uint32_t c;
    ck_assert_uint_eq(utf8_decode("\xff", 1, &c), 0);
    ck_assert_uint_eq(c, 0xfffd);
}
END_TEST

#define QUOTED(add, text, expected)                                                                                    \
    do {                                                                                                               \
        struct strbuf b = {0};                                                                                         \
        add(&b, STR(text));                                                                                            \
        ck_assert_str_eq(strbuf_z(&b), expected);                                                                      \
        strbuf_done(&b);                                                                                               \
    } while (0)

/* The first block is the table of Go's strconv quote_test.go. */
START_TEST(go_quoting)
{
    QUOTED(strbuf_add_go_quoted, "\a\b\f\r\n\t\v", "\"\\a\\b\\f\\r\\n\\t\\v\"");
    QUOTED(strbuf_add_go_quoted, "\\", "\"\\\\\"");
    QUOTED(strbuf_add_go_quoted,
           "abc\xff"
           "def",
           "\"abc\\xffdef\"");
    QUOTED(strbuf_add_go_quoted, "\xe2\x98\xba", "\"\xe2\x98\xba\"");
    QUOTED(strbuf_add_go_quoted, "\xf4\x8f\xbf\xbf", "\"\\U0010ffff\"");
    QUOTED(strbuf_add_go_quoted, "\x04", "\"\\x04\"");
    QUOTED(strbuf_add_go_quoted, "!\xc2\xa0!\xe2\x80\x80!\xe3\x80\x80!", "\"!\\u00a0!\\u2000!\\u3000!\"");
    QUOTED(strbuf_add_go_quoted, "\x7f", "\"\\x7f\"");

    QUOTED(strbuf_add_go_quoted, "say \"hi\"", "\"say \\\"hi\\\"\"");
    QUOTED(strbuf_add_go_quoted, "\xef\xbb\xbf", "\"\\ufeff\"");
    QUOTED(strbuf_add_go_quoted, "\xe2\x80\x8b", "\"\\u200b\"");
    QUOTED(strbuf_add_go_quoted, "\xe2\x80\xa8", "\"\\u2028\"");
    QUOTED(strbuf_add_go_quoted, "\xe6\x97\xa5\xe6\x9c\xac", "\"\xe6\x97\xa5\xe6\x9c\xac\"");
    QUOTED(strbuf_add_go_quoted, "\xf0\x9f\x98\x80", "\"\xf0\x9f\x98\x80\"");
    QUOTED(strbuf_add_go_quoted, "", "\"\"");
}
END_TEST

START_TEST(json_quoting)
{
    QUOTED(strbuf_add_json_string, "a\"b\\c\n\t\x01", "\"a\\\"b\\\\c\\n\\t\\u0001\"");
    QUOTED(strbuf_add_json_string, "x\xffy", "\"x\xef\xbf\xbdy\"");
    QUOTED(strbuf_add_json_string, "caf\xc3\xa9", "\"caf\xc3\xa9\"");
}
END_TEST

START_TEST(buffer_grows)
{
    struct strbuf b = {0};
    ck_assert_str_eq(strbuf_z(&b), "");
    for (int i = 0; i < 1000; i++)
        strbuf_add_char(&b, 'x');
    strbuf_printf(&b, "%0500d", 7);
    ck_assert_uint_eq(b.n, 1500);
    ck_assert_int_eq(b.p[1499], '7');
    strbuf_clear(&b);
    strbuf_add_i64(&b, INT64_MIN);
    strbuf_add_char(&b, ' ');
    strbuf_add_i64(&b, 0);
    strbuf_add_char(&b, ' ');
    strbuf_add_i64(&b, INT64_MAX);
    ck_assert_str_eq(strbuf_z(&b), "-9223372036854775808 0 9223372036854775807");
    strbuf_done(&b);
}
END_TEST

START_TEST(bytes_stop_at_their_end)
{
    uint8_t room[20];
    struct byte_writer w = {room, room + sizeof(room), false};
    write_u32(&w, 0x01020304);
    write_varint(&w, 300);
    write_f64(&w, -2.5);
    ck_assert(!w.failed);
    size_t used = (size_t)(w.p - room);
    ck_assert_uint_eq(used, 14);
    ck_assert_uint_eq(room[0], 4); /* little-endian */
    ck_assert_uint_eq(room[4], 0xac);
    write_u64(&w, 1);
    ck_assert(w.failed);
    struct byte_reader r = {room, room + used, false};
    ck_assert_uint_eq(read_u32(&r), 0x01020304);
    ck_assert_uint_eq(read_varint(&r), 300);
    ck_assert(read_f64(&r) == -2.5);
    ck_assert_uint_eq(read_u8(&r), 0);
    ck_assert(r.failed);
    uint8_t overlong[11];
    memset(overlong, 0xff, sizeof(overlong));
    r = (struct byte_reader){overlong, overlong + sizeof(overlong), false};
    read_varint(&r);
    ck_assert(r.failed);
    ck_assert_int_eq(unzigzag(zigzag(INT64_MIN)), INT64_MIN);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/str");
    TCase *all = tcase_create("all");
    tcase_add_test(all, order_is_bytewise_then_by_length);
    tcase_add_test(all, utf8_follows_rfc_3629);
    tcase_add_test(all, every_code_point_survives_encoding);
    tcase_add_test(all, go_quoting);
    tcase_add_test(all, json_quoting);
    tcase_add_test(all, buffer_grows);
    tcase_add_test(all, bytes_stop_at_their_end);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
