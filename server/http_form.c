/* Requests: parameters, media types, what a client accepts. */
#include "server/http.h"

#include <strings.h>

void http_request_init(struct http_request *q)
{
    *q = (struct http_request){.method = HTTP_GET};
    arena_init(&q->arena, 16 << 20);
}

void http_request_done(struct http_request *q)
{
    arena_done(&q->arena);
}

bool http_param_at(const struct http_request *q, const char *name, uint32_t i, struct str *ret)
{
    struct str wanted = str_of(name);
    for (uint32_t k = 0; k < q->params_n; k++) {
        if (!str_eq(q->params[k].name, wanted) || i-- > 0)
            continue;
        *ret = q->params[k].value;
        return true;
    }
    return false;
}

struct str http_param(const struct http_request *q, const char *name)
{
    struct str value = {"", 0};
    http_param_at(q, name, 0, &value);
    return value;
}

bool http_param_add(struct http_request *q, struct str name, struct str value)
{
    if (q->params_n == HTTP_PARAMS_MAX)
        return false;
    q->params = arena_grow(&q->arena, q->params, &q->params_cap, q->params_n + 1, sizeof *q->params);
    const char *n = arena_strndup(&q->arena, name.p, name.n), *v = arena_strndup(&q->arena, value.p, value.n);
    if (!q->params || !n || !v)
        return false;
    q->params[q->params_n++] = (struct http_param){{n, name.n}, {v, value.n}};
    return true;
}

static int hex_digit(char c)
{
    if (char_is_digit(c))
        return c - '0';
    c |= 0x20;
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* '+' is a space, %XX a byte. False for an escape that is cut or has other digits. */
static bool form_decode(struct str text, struct strbuf *out)
{
    strbuf_clear(out);
    for (size_t i = 0; i < text.n; i++) {
        char c = text.p[i];
        if (c == '%') {
            int high = i + 2 < text.n ? hex_digit(text.p[i + 1]) : -1;
            int low = i + 2 < text.n ? hex_digit(text.p[i + 2]) : -1;
            if (high < 0 || low < 0)
                return false;
            c = (char)(high << 4 | low);
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        strbuf_add_char(out, c);
    }
    return true;
}

static struct str until(struct str *rest, char end)
{
    const char *at = rest->n ? memchr(rest->p, end, rest->n) : NULL;
    size_t n = at ? (size_t)(at - rest->p) : rest->n;
    struct str piece = {rest->p, n};
    size_t taken = at ? n + 1 : n;
    *rest = (struct str){rest->p + taken, rest->n - taken};
    return piece;
}

int http_form_parse(struct http_request *q, struct str text, struct err *e)
{
    struct strbuf name = {0}, value = {0};
    int code = 0;
    while (code == 0 && text.n > 0) {
        struct str pair = until(&text, '&');
        if (pair.n == 0)
            continue;
        struct str key = until(&pair, '=');
        if (!form_decode(key, &name) || !form_decode(pair, &value))
            code = err_set(e, ERR_BAD_DATA, "error parsing form values: invalid URL escape in parameter %.*s",
                           (int)(key.n > 100 ? 100 : key.n), key.p);
        else if (!http_param_add(q, (struct str){name.p, name.n}, (struct str){value.p, value.n}))
            code = err_set(e, ERR_TOO_LARGE, "more than %d parameters, or they are too large", HTTP_PARAMS_MAX);
    }
    strbuf_done(&name);
    strbuf_done(&value);
    return code;
}

static struct str trim(struct str s)
{
    while (s.n && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct str){s.p + 1, s.n - 1};
    while (s.n && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

static bool same_ignoring_case(struct str s, const char *z)
{
    return s.n == strlen(z) && strncasecmp(s.p, z, s.n) == 0;
}

bool http_media_is(struct str header, const char *media_type)
{
    return same_ignoring_case(trim(until(&header, ';')), media_type);
}

struct str http_media_param(struct str header, const char *name)
{
    until(&header, ';');
    while (header.n) {
        struct str value = trim(until(&header, ';'));
        struct str key = trim(until(&value, '='));
        value = trim(value);
        if (!same_ignoring_case(key, name))
            continue;
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = (struct str){value.p + 1, value.n - 2};
        return value;
    }
    return (struct str){"", 0};
}

/* "gzip;q=0" refuses it. */
static bool refused(struct str parameters)
{
    struct str q = trim(parameters);
    if (q.n < 3 || (q.p[0] | 0x20) != 'q' || q.p[1] != '=')
        return false;
    for (size_t i = 2; i < q.n; i++)
        if (q.p[i] != '0' && q.p[i] != '.')
            return false;
    return true;
}

bool http_accepts_gzip(struct str accept_encoding)
{
    while (accept_encoding.n) {
        struct str item = until(&accept_encoding, ',');
        struct str coding = trim(until(&item, ';'));
        if (same_ignoring_case(coding, "gzip") || same_ignoring_case(coding, "x-gzip"))
            return !refused(item);
    }
    return false;
}
