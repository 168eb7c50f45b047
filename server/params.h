/*
 * Request parameters with Prometheus' error texts: `invalid parameter "step": cannot parse "x" to a valid duration`.
 * Each returns 0, or ERR_BAD_DATA with *ret untouched. An absent (empty) parameter gives the default.
 */
#ifndef SERVER_PARAMS_H
#define SERVER_PARAMS_H

#include "base/matcher.h"
#include "server/http.h"

/* Times of queries lie within +-PARAMS_TIME_MAX_MS of the epoch, so that no sum of a few overflows. */
#define PARAMS_TIME_MAX_MS (INT64_C(1) << 53)

/* A float of Unix seconds or RFC 3339. `wrapped`: with "Invalid time value for 'x': ", as instant queries and series
 * word it. Times beyond the limit are an error, or are clamped when `clamp` (series and labels, whose defaults in
 * clients are the ends of time). */
int params_time(const struct http_request *q, const char *name, int64_t default_ms, bool wrapped, bool clamp,
                int64_t *ret_ms, struct err *e);
/* Float seconds or a duration. */
int params_duration(const struct http_request *q, const char *name, int64_t default_ms, int64_t *ret_ms, struct err *e);
/* A whole number >= 0; 0 = none. */
int params_limit(const struct http_request *q, const char *name, uint64_t *ret, struct err *e);

struct range_params {
    int64_t start_ms, end_ms, step_ms;
};
/* start, end and step of query_range with all of Prometheus' checks, 11,000 points included. */
int params_range(const struct http_request *q, struct range_params *ret, struct err *e);

/* One match[] selector. */
struct selector {
    const struct matcher *matchers;
    uint32_t matchers_n;
};
struct selectors {
    struct selector *v;
    uint32_t n;
    struct parsed *parsed;
};
/* Every match[] (n may be 0); selectors_done frees their regexes, the arena owns the rest. */
int params_selectors(const struct http_request *q, struct arena *a, struct selectors *ret, struct err *e);
void selectors_done(struct selectors *s);

#endif
