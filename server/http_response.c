/* Answers: headers, error bodies in two shapes, compression. */
#include "server/http.h"

#include <stdarg.h>
#include <stdio.h>
#include <zlib.h>

#include "base/alloc.h"

void http_response_init(struct http_response *r)
{
    *r = (struct http_response){.status = 200, .content_type = "application/json"};
}

void http_response_done(struct http_response *r)
{
    strbuf_done(&r->body);
}

void http_header(struct http_response *r, const char *name, const char *format, ...)
{
    MUST(r->headers_n < HTTP_HEADERS_MAX);
    r->headers[r->headers_n].name = name;
    va_list args;
    va_start(args, format);
    vsnprintf(r->headers[r->headers_n].value, sizeof r->headers[0].value, format, args);
    va_end(args);
    r->headers_n++;
}

static void error_begin(struct http_response *r, int code)
{
    r->status = err_http_status(code);
    r->headers_n = 0;
    strbuf_clear(&r->body);
    if (code == ERR_OVERLOAD || code == ERR_DISK_FULL)
        http_header(r, "Retry-After", "%d", code == ERR_OVERLOAD ? 1 : 5);
}

void http_error_text(struct http_response *r, const struct err *e)
{
    error_begin(r, e->code);
    r->content_type = "text/plain; charset=utf-8";
    strbuf_add_z(&r->body, e->message);
    strbuf_add_char(&r->body, '\n');
}

static void error_body(struct http_response *r, const char *type, const char *message)
{
    r->content_type = "application/json";
    strbuf_add_z(&r->body, "{\"status\":\"error\",\"errorType\":");
    strbuf_add_json_string(&r->body, str_of(type));
    strbuf_add_z(&r->body, ",\"error\":");
    strbuf_add_json_string(&r->body, str_of(message));
    strbuf_add_char(&r->body, '}');
}

void http_error_json(struct http_response *r, const struct err *e)
{
    error_begin(r, e->code);
    error_body(r, err_prom_type(e->code), e->message);
}

void http_error_json_as(struct http_response *r, int status, const char *type, const char *message)
{
    error_begin(r, ERR_INTERNAL);
    r->status = status;
    error_body(r, type, message);
}

bool http_gzip(struct http_response *r)
{
    enum { GZIP_WINDOW = 15 + 16, FAST = 1, MEMORY = 8 };
    z_stream z = {0};
    if (r->body.n < HTTP_GZIP_MIN_BYTES || r->body.n > UINT32_MAX)
        return false;
    if (deflateInit2(&z, FAST, Z_DEFLATED, GZIP_WINDOW, MEMORY, Z_DEFAULT_STRATEGY) != Z_OK)
        return false;
    struct strbuf out = {0};
    uLong bound = deflateBound(&z, (uLong)r->body.n);
    strbuf_reserve(&out, bound);
    z.next_in = (Bytef *)r->body.p;
    z.avail_in = (uInt)r->body.n;
    z.next_out = (Bytef *)out.p;
    z.avail_out = (uInt)bound;
    bool done = bound <= UINT32_MAX && deflate(&z, Z_FINISH) == Z_STREAM_END;
    out.n = z.total_out;
    deflateEnd(&z);
    if (!done) {
        strbuf_done(&out);
        return false;
    }
    strbuf_done(&r->body);
    r->body = out;
    return true;
}
