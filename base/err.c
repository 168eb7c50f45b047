/* The error record: formatting, and the one table of codes. */
#include "base/err.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct err_kind {
    const char *name;
    int http_status;
    const char *prom_type;
};

/* Indexed by -code. */
static const struct err_kind kinds[ERR_ORDINAL_END] = {[ERR_ORDINAL_OK] = {"OK", 200, ""},
#define X(name, status, type) [ERR_ORDINAL_##name] = {#name, status, type},
                                                       ERR_LIST(X)
#undef X
};

static const struct err_kind *err_kind_of(int code)
{
    if (code > 0 || code <= -(int)ERR_ORDINAL_END)
        return NULL;
    return &kinds[-code];
}

const char *err_name(int code)
{
    const struct err_kind *kind = err_kind_of(code);
    return kind ? kind->name : "UNKNOWN";
}

int err_http_status(int code)
{
    const struct err_kind *kind = err_kind_of(code);
    return kind ? kind->http_status : 500;
}

const char *err_prom_type(int code)
{
    const struct err_kind *kind = err_kind_of(code);
    return kind ? kind->prom_type : "internal";
}

/* `text` was cut at `n` bytes: drop a UTF-8 sequence that lost its tail. Looks at three bytes at most. */
static size_t cut_at_utf8(const char *text, size_t n)
{
    for (size_t back = 1; back <= 3 && back <= n; back++) {
        unsigned char b = (unsigned char)text[n - back];
        if (b < 0x80)
            return n;
        if (b < 0xc0)
            continue;
        size_t want = b >= 0xf0 ? 4 : b >= 0xe0 ? 3 : 2;
        return want > back ? n - back : n;
    }
    return n;
}

/* Format into a buffer apart, since an argument may be e->message itself. */
__attribute__((format(printf, 3, 0))) static void err_store(struct err *e, int code, const char *format, va_list args)
{
    char text[sizeof(e->message)];
    int n = vsnprintf(text, sizeof(text), format, args);
    size_t kept = n < 0 ? 0 : (size_t)n;
    if (kept >= sizeof(text))
        kept = cut_at_utf8(text, sizeof(text) - 1);
    memcpy(e->message, text, kept);
    e->message[kept] = 0;
    e->code = code;
}

int err_set(struct err *e, int code, const char *format, ...)
{
    if (!e)
        return code;
    va_list args;
    va_start(args, format);
    err_store(e, code, format, args);
    va_end(args);
    e->line = e->column = 0;
    return code;
}

int err_set_at(struct err *e, int code, uint32_t line, uint32_t column, const char *format, ...)
{
    if (!e)
        return code;
    va_list args;
    va_start(args, format);
    err_store(e, code, format, args);
    va_end(args);
    e->line = line;
    e->column = column;
    return code;
}

int err_set_errno(struct err *e, int error_number, const char *format, ...)
{
    bool full = error_number == ENOSPC || error_number == EDQUOT || error_number == EFBIG;
    int code = full ? ERR_DISK_FULL : ERR_IO;
    if (!e)
        return code;
    char what[sizeof(e->message)], reason[128];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof(what), format, args);
    va_end(args);
    return err_set(e, code, "%s: %s", what, strerror_r(error_number, reason, sizeof(reason)));
}

int err_prefix(struct err *e, const char *format, ...)
{
    if (!e)
        return ERR_INTERNAL;
    char prefix[sizeof(e->message)];
    va_list args;
    va_start(args, format);
    vsnprintf(prefix, sizeof(prefix), format, args);
    va_end(args);
    uint32_t line = e->line, column = e->column;
    return err_set_at(e, e->code, line, column, "%s: %s", prefix, e->message);
}

void must_failed(const char *what, const char *file, int line)
{
    fprintf(stderr, "%s:%d: broken promise: %s\n", file, line, what);
    abort();
}
