/*
 * Errors: one list of codes for the whole program, and the record a failing function fills in.
 *
 * A function that can fail returns 0 or a negative ERR_* and takes `struct err *e` as its last argument. On failure it
 * fills `e` (never NULL unless its header says so) and leaves its outputs untouched. A message says what is wrong,
 * where, and what to do, as one sentence without a final period; it is written for the person who sent the input.
 *
 * The same list gives each code its HTTP status and Prometheus errorType, so a room never names either.
 */
#ifndef BASE_ERR_H
#define BASE_ERR_H

#include <stdarg.h>
#include <stdint.h>

/* X(name, http status, Prometheus errorType) */
#define ERR_LIST(X)                                                                                                    \
    X(BAD_DATA, 400, "bad_data")     /* malformed input of any kind: body, query, file, flag */                        \
    X(EXECUTION, 422, "execution")   /* a valid query that cannot be evaluated, e.g. many-to-many matching */          \
    X(LIMIT, 422, "execution")       /* a named limit of a query is exceeded */                                        \
    X(TIMEOUT, 503, "timeout")       /* deadline passed */                                                             \
    X(CANCELED, 499, "canceled")     /* the caller went away */                                                        \
    X(TOO_LARGE, 413, "bad_data")    /* a body or declared size over its limit */                                      \
    X(UNSUPPORTED, 415, "bad_data")  /* content type or encoding we do not read */                                     \
    X(NOT_FOUND, 404, "not_found")   /* no such thing */                                                               \
    X(OVERLOAD, 503, "unavailable")  /* queue full: try again later; nothing was stored */                             \
    X(DISK_FULL, 503, "unavailable") /* no space left: nothing was stored */                                           \
    X(IO, 500, "internal")           /* a system call failed */                                                        \
    X(CORRUPT, 500, "internal")      /* stored bytes fail their check */                                               \
    X(VERSION, 500, "internal")      /* made by a newer program */                                                     \
    X(LOCKED, 500, "internal")       /* another process holds it */                                                    \
    X(NO_MEMORY, 500, "internal")    /* allocation failed or an arena's limit is reached */                            \
    X(NO_ROOM, 500, "internal")      /* the caller's buffer is too small; nothing was written past it */               \
    X(MISMATCH, 500, "internal")     /* states of different parameters meet */                                         \
    X(NOT_COVERED, 422, "execution") /* no source covers the asked span */                                             \
    X(INTERNAL, 500, "internal")     /* a broken promise of our own */

enum err_ordinal {
    ERR_ORDINAL_OK = 0,
#define X(name, status, type) ERR_ORDINAL_##name,
    ERR_LIST(X)
#undef X
        ERR_ORDINAL_END
};

enum err_code {
    ERR_OK = 0,
#define X(name, status, type) ERR_##name = -ERR_ORDINAL_##name,
    ERR_LIST(X)
#undef X
};

struct err {
    int code;        /* ERR_OK or ERR_* */
    uint32_t line;   /* 1-based place in the input, 0 = no place */
    uint32_t column; /* 1-based, in characters */
    char message[1000];
};

/* Fill `e` (may be NULL) and return `code`. A message that does not fit is cut at a UTF-8 boundary. */
int err_set(struct err *e, int code, const char *format, ...) __attribute__((format(printf, 3, 4)));
int err_set_at(struct err *e, int code, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 5, 6)));
/* As err_set with code from errno `error_number`: ENOSPC, EDQUOT and EFBIG are ERR_DISK_FULL, else ERR_IO; adds ":
 * strerror". */
int err_set_errno(struct err *e, int error_number, const char *format, ...) __attribute__((format(printf, 3, 4)));
/* Put "prefix: " before the message. Returns e->code. */
int err_prefix(struct err *e, const char *format, ...) __attribute__((format(printf, 2, 3)));

const char *err_name(int code);      /* "BAD_DATA"; "OK" for 0; "UNKNOWN" otherwise */
int err_http_status(int code);       /* 200 for 0, 500 for unknown codes */
const char *err_prom_type(int code); /* "" for 0 */

/* For our own broken promises only, never for input: prints file:line and aborts. Active in every build type. */
#define MUST(x) ((x) ? (void)0 : must_failed(#x, __FILE__, __LINE__))
_Noreturn void must_failed(const char *what, const char *file, int line);

#endif
