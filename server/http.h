/*
 * One HTTP exchange as handlers see it: a request that is read completely, an answer that is written completely. Only
 * http.c knows libmicrohttpd, so handlers are tested without a socket.
 *
 * Parameters come from the form body first, then from the URL, as Go's FormValue takes them.
 */
#ifndef SERVER_HTTP_H
#define SERVER_HTTP_H

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

enum {
    HTTP_WRITE_BODY_MAX = 32 << 20, /* compressed */
    HTTP_FORM_BODY_MAX = 4 << 20,   /* a query text of 1 MiB, percent-encoded */
    HTTP_PARAMS_MAX = 10000,
    HTTP_GZIP_MIN_BYTES = 1024,
    HTTP_HEADERS_MAX = 6
};

enum http_method { HTTP_GET = 1, HTTP_POST = 2, HTTP_PUT = 4, HTTP_OTHER = 8 }; /* HEAD counts as GET */

struct http_param {
    struct str name, value;
};

struct sender;
struct http_request {
    enum http_method method;
    struct str path;    /* decoded, the prefix taken off */
    struct str capture; /* what stood for the route's "*" */
    struct str content_type, content_encoding, accept_encoding;
    bool exact; /* header X-Mullion-Exact: 1 */
    struct http_param *params;
    uint32_t params_n;
    size_t params_cap;
    struct str body;
    struct sender *sender; /* of the connection; may be NULL */
    struct arena arena;    /* parameters and what handlers need while answering */
};
void http_request_init(struct http_request *q);
void http_request_done(struct http_request *q);

/* The first value of a parameter; empty when absent. */
struct str http_param(const struct http_request *q, const char *name);
/* Value number `i` of a repeated parameter; false when there is none. */
bool http_param_at(const struct http_request *q, const char *name, uint32_t i, struct str *ret);
/* Add one parameter; false at the limits. The strings are copied. */
bool http_param_add(struct http_request *q, struct str name, struct str value);
/* application/x-www-form-urlencoded, in a body or behind the "?" of a URL. ERR_BAD_DATA for a broken escape,
 * ERR_TOO_LARGE for too many parameters. */
int http_form_parse(struct http_request *q, struct str text, struct err *e);
/* "application/x-protobuf; proto=x": does the media type match, ignoring case and parameters? */
bool http_media_is(struct str header, const char *media_type);
/* The value of a media type's parameter; empty when absent. */
struct str http_media_param(struct str header, const char *name);
bool http_accepts_gzip(struct str accept_encoding);

struct http_response {
    int status; /* 200 unless set */
    const char *content_type;
    struct strbuf body;
    struct {
        const char *name;
        char value[64];
    } headers[HTTP_HEADERS_MAX];
    uint32_t headers_n;
};
void http_response_init(struct http_response *r);
void http_response_done(struct http_response *r);
void http_header(struct http_response *r, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
/* Replace whatever was written. Text for people (write, unknown paths); JSON in Prometheus' shape (the API). Overload
 * and a full disk carry Retry-After. */
void http_error_text(struct http_response *r, const struct err *e);
void http_error_json(struct http_response *r, const struct err *e);
/* One of a kind: a status whose errorType is no ERR_*. */
void http_error_json_as(struct http_response *r, int status, const char *type, const char *message);
/* Compress the body when it is worth it. Returns whether it did. */
bool http_gzip(struct http_response *r);

#endif
