/* Forms, media types, error bodies, compression. Expected: the HTML form and HTTP standards, Prometheus' error shape.
 */
#include "server/http.h"

#include <zlib.h>

#include "suite.h"

static struct str param(struct http_request *q, const char *form, const char *name)
{
    struct err e = {0};
    http_request_done(q);
    http_request_init(q);
    ck_assert_int_eq(http_form_parse(q, str_of(form), &e), 0);
    return http_param(q, name);
}

static void assert_text(struct str got, const char *want)
{
    ck_assert_msg(str_eq(got, str_of(want)), "got \"%.*s\", want \"%s\"", (int)got.n, got.p ? got.p : "", want);
}

START_TEST(forms_are_decoded)
{
    struct http_request q;
    http_request_init(&q);
    assert_text(param(&q, "query=up", "query"), "up");
    assert_text(param(&q, "query=a+b%2Bc%26d&x=1", "query"), "a b+c&d");
    assert_text(param(&q, "x=1&query=%7B%7d", "query"), "{}");
    assert_text(param(&q, "query", "query"), "");
    assert_text(param(&q, "&&a=&query==&", "query"), "=");
    assert_text(param(&q, "match%5B%5D=a", "match[]"), "a");
    assert_text(param(&q, "a=1&a=2", "a"), "1");
    assert_text(param(&q, "a=1", "b"), "");
    http_request_done(&q);
}
END_TEST

START_TEST(repeated_parameters_keep_their_order)
{
    struct http_request q;
    struct str v;
    http_request_init(&q);
    param(&q, "m=1&n=x&m=2&m=3", "m");
    ck_assert(http_param_at(&q, "m", 2, &v));
    assert_text(v, "3");
    ck_assert(!http_param_at(&q, "m", 3, &v));
    http_request_done(&q);
}
END_TEST

START_TEST(broken_escapes_are_refused)
{
    static const char *const bad[] = {"a=%", "a=%2", "a=%zz", "%=1", "a=1&b=%g0"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct http_request q;
        struct err e = {0};
        http_request_init(&q);
        ck_assert_int_eq(http_form_parse(&q, str_of(bad[i]), &e), ERR_BAD_DATA);
        http_request_done(&q);
    }
}
END_TEST

START_TEST(parameters_have_a_limit)
{
    struct http_request q;
    struct err e = {0};
    struct strbuf form = {0};
    http_request_init(&q);
    for (int i = 0; i <= HTTP_PARAMS_MAX; i++)
        strbuf_add_z(&form, "a=1&");
    ck_assert_int_eq(http_form_parse(&q, (struct str){form.p, form.n}, &e), ERR_TOO_LARGE);
    ck_assert_uint_eq(q.params_n, HTTP_PARAMS_MAX);
    strbuf_done(&form);
    http_request_done(&q);
}
END_TEST

START_TEST(media_types)
{
    struct str v2 = STR("application/x-protobuf; proto=io.prometheus.write.v2.Request");
    ck_assert(http_media_is(STR("application/x-protobuf"), "application/x-protobuf"));
    ck_assert(http_media_is(STR("Application/X-Protobuf ; a=b"), "application/x-protobuf"));
    ck_assert(!http_media_is(STR("application/x-protobuf2"), "application/x-protobuf"));
    ck_assert(!http_media_is(STR("text/plain"), "application/x-protobuf"));
    assert_text(http_media_param(v2, "proto"), "io.prometheus.write.v2.Request");
    assert_text(http_media_param(STR("a/b;x=1; proto=\"q\""), "proto"), "q");
    assert_text(http_media_param(STR("a/b"), "proto"), "");
}
END_TEST

START_TEST(who_accepts_gzip)
{
    ck_assert(http_accepts_gzip(STR("gzip")));
    ck_assert(http_accepts_gzip(STR("deflate, GZIP;q=0.5")));
    ck_assert(!http_accepts_gzip(STR("gzip;q=0")));
    ck_assert(!http_accepts_gzip(STR("gzip; q=0.000")));
    ck_assert(!http_accepts_gzip(STR("identity, br")));
    ck_assert(!http_accepts_gzip(STR("gzippy")));
    ck_assert(!http_accepts_gzip(STR("")));
}
END_TEST

START_TEST(gzip_reads_back)
{
    struct http_response r;
    http_response_init(&r);
    strbuf_add_z(&r.body, "short");
    ck_assert(!http_gzip(&r));
    for (int i = 0; i < 5000; i++)
        strbuf_printf(&r.body, "line %d\n", i);
    struct strbuf plain = {0};
    strbuf_add(&plain, r.body.p, r.body.n);
    ck_assert(http_gzip(&r));
    ck_assert_uint_lt(r.body.n, plain.n / 2);
    char *back = malloc(plain.n + 1);
    z_stream z = {.next_in = (Bytef *)r.body.p,
                  .avail_in = (uInt)r.body.n,
                  .next_out = (Bytef *)back,
                  .avail_out = (uInt)plain.n + 1};
    ck_assert_int_eq(inflateInit2(&z, 15 + 16), Z_OK);
    ck_assert_int_eq(inflate(&z, Z_FINISH), Z_STREAM_END);
    ck_assert_uint_eq(z.total_out, plain.n);
    ck_assert_int_eq(memcmp(back, plain.p, plain.n), 0);
    inflateEnd(&z);
    free(back);
    strbuf_done(&plain);
    http_response_done(&r);
}
END_TEST

START_TEST(errors_in_prometheus_shape)
{
    struct http_response r;
    struct err e;
    http_response_init(&r);
    strbuf_add_z(&r.body, "half an answer");
    err_set(&e, ERR_BAD_DATA, "invalid parameter \"x\"");
    http_error_json(&r, &e);
    assert_text((struct str){r.body.p, r.body.n},
                "{\"status\":\"error\",\"errorType\":\"bad_data\",\"error\":\"invalid parameter \\\"x\\\"\"}");
    ck_assert_int_eq(r.status, 400);
    ck_assert_uint_eq(r.headers_n, 0);
    err_set(&e, ERR_TIMEOUT, "late");
    http_error_json(&r, &e);
    ck_assert_int_eq(r.status, 503);
    assert_text((struct str){r.body.p, r.body.n},
                "{\"status\":\"error\",\"errorType\":\"timeout\",\"error\":\"late\"}");
    err_set(&e, ERR_EXECUTION, "many-to-many");
    http_error_json(&r, &e);
    ck_assert_int_eq(r.status, 422);
    http_response_done(&r);
}
END_TEST

START_TEST(overload_says_when_to_come_back)
{
    static const int codes[] = {ERR_OVERLOAD, ERR_DISK_FULL};
    for (int i = 0; i < 2; i++) {
        struct http_response r;
        struct err e;
        http_response_init(&r);
        err_set(&e, codes[i], "later");
        http_error_text(&r, &e);
        ck_assert_int_eq(r.status, 503);
        ck_assert_uint_eq(r.headers_n, 1);
        ck_assert_str_eq(r.headers[0].name, "Retry-After");
        assert_text((struct str){r.body.p, r.body.n}, "later\n");
        http_response_done(&r);
    }
}
END_TEST

int main(void)
{
    Suite *s = suite_create("server_http");
    TCase *c = tcase_create("http");
    tcase_add_test(c, forms_are_decoded);
    tcase_add_test(c, repeated_parameters_keep_their_order);
    tcase_add_test(c, broken_escapes_are_refused);
    tcase_add_test(c, parameters_have_a_limit);
    tcase_add_test(c, media_types);
    tcase_add_test(c, who_accepts_gzip);
    tcase_add_test(c, gzip_reads_back);
    tcase_add_test(c, errors_in_prometheus_shape);
    tcase_add_test(c, overload_says_when_to_come_back);
    suite_add_tcase(s, c);
    return suite_run(s);
}
