#include "server/params.h"

#include "base/duration.h"
#include "promql/parse.h"

enum { POINTS_MAX = 11000, SELECTORS_MAX = 1000, SHOWN_MAX = 100 };

/* `cannot parse "text" to a valid WHAT`, the text quoted as Go quotes it and not longer than is readable. */
static int cannot_parse(const char *name, struct str text, const char *what, bool wrapped, struct err *e)
{
    struct strbuf quoted = {0};
    struct str shown = {text.p, text.n > SHOWN_MAX ? SHOWN_MAX : text.n};
    strbuf_add_go_quoted(&quoted, shown);
    int code = wrapped ? err_set(e, ERR_BAD_DATA,
                                 "invalid parameter \"%s\": Invalid time value for '%s': cannot parse %s to a valid %s",
                                 name, name, strbuf_z(&quoted), what)
                       : err_set(e, ERR_BAD_DATA, "invalid parameter \"%s\": cannot parse %s to a valid %s", name,
                                 strbuf_z(&quoted), what);
    strbuf_done(&quoted);
    return code;
}

int params_time(const struct http_request *q, const char *name, int64_t default_ms, bool wrapped, bool clamp,
                int64_t *ret_ms, struct err *e)
{
    struct str text = http_param(q, name);
    int64_t ms;
    struct err inner;
    if (text.n == 0) {
        *ret_ms = default_ms;
        return 0;
    }
    if (time_parse(text, &ms, &inner) != 0) {
        /* Clients ask for "all time" with the ends of Go's range. */
        if (clamp && str_eq(text, STR("-9223372036854775.808")))
            ms = -PARAMS_TIME_MAX_MS;
        else if (clamp && str_eq(text, STR("9223372036854775.807")))
            ms = PARAMS_TIME_MAX_MS;
        else
            return cannot_parse(name, text, "timestamp", wrapped, e);
    }
    if (ms > PARAMS_TIME_MAX_MS || ms < -PARAMS_TIME_MAX_MS) {
        if (!clamp)
            return cannot_parse(name, text, "timestamp", wrapped, e);
        ms = ms > 0 ? PARAMS_TIME_MAX_MS : -PARAMS_TIME_MAX_MS;
    }
    *ret_ms = ms;
    return 0;
}

int params_duration(const struct http_request *q, const char *name, int64_t default_ms, int64_t *ret_ms, struct err *e)
{
    struct str text = http_param(q, name);
    struct err inner;
    int64_t ms;
    if (text.n == 0) {
        *ret_ms = default_ms;
        return 0;
    }
    if (seconds_or_duration_parse(text, &ms, &inner) != 0)
        return cannot_parse(name, text, "duration", false, e);
    *ret_ms = ms;
    return 0;
}

int params_limit(const struct http_request *q, const char *name, uint64_t *ret, struct err *e)
{
    struct str text = http_param(q, name);
    uint64_t n = 0;
    bool negative = text.n > 1 && text.p[0] == '-';
    for (size_t i = negative; i < text.n; i++)
        if (!char_is_digit(text.p[i]) || __builtin_mul_overflow(n, 10, &n) ||
            __builtin_add_overflow(n, (uint64_t)(text.p[i] - '0'), &n))
            return cannot_parse(name, text, "whole number", false, e);
    if (negative && n > 0)
        return err_set(e, ERR_BAD_DATA, "invalid parameter \"%s\": limit must be non-negative", name);
    *ret = n;
    return 0;
}

int params_range(const struct http_request *q, struct range_params *ret, struct err *e)
{
    struct range_params p;
    const char *names[] = {"start", "end"};
    int64_t *times[] = {&p.start_ms, &p.end_ms};
    for (int i = 0; i < 2; i++) {
        if (http_param(q, names[i]).n == 0)
            return cannot_parse(names[i], STR(""), "timestamp", false, e);
        int code = params_time(q, names[i], 0, false, false, times[i], e);
        if (code != 0)
            return code;
    }
    if (p.end_ms < p.start_ms)
        return err_set(e, ERR_BAD_DATA, "invalid parameter \"end\": end timestamp must not be before start time");
    if (http_param(q, "step").n == 0)
        return cannot_parse("step", STR(""), "duration", false, e);
    int code = params_duration(q, "step", 0, &p.step_ms, e);
    if (code != 0)
        return code;
    if (p.step_ms <= 0)
        return err_set(e, ERR_BAD_DATA,
                       "invalid parameter \"step\": zero or negative query resolution step widths are not accepted. "
                       "Try a positive integer");
    if ((p.end_ms - p.start_ms) / p.step_ms > POINTS_MAX)
        return err_set(e, ERR_BAD_DATA,
                       "exceeded maximum resolution of 11,000 points per timeseries. Try decreasing the query "
                       "resolution (?step=XX)");
    *ret = p;
    return 0;
}

int params_selectors(const struct http_request *q, struct arena *a, struct selectors *ret, struct err *e)
{
    struct selectors s = {0};
    struct str text;
    uint32_t n = 0;
    size_t regex_size = 0;
    while (http_param_at(q, "match[]", n, &text))
        n++;
    if (n > SELECTORS_MAX)
        return err_set(e, ERR_BAD_DATA, "more than %d match[] parameters", SELECTORS_MAX);
    s.v = ARENA_ARRAY(a, struct selector, n);
    s.parsed = ARENA_ARRAY(a, struct parsed, n);
    int code = arena_check(a, "request", e);
    for (uint32_t i = 0; code == 0 && i < n; i++) {
        http_param_at(q, "match[]", i, &text);
        code = promql_parse_selector(text, a, &s.parsed[i], e);
        if (code != 0)
            break;
        s.n++;
        regex_size += s.parsed[i].regex_size;
        if (regex_size > PARSE_REGEX_SIZE_MAX) {
            code = err_set(e, ERR_BAD_DATA, "the regular expressions are too large together");
            break;
        }
        s.v[i] = (struct selector){s.parsed[i].root->matchers, s.parsed[i].root->matchers_n};
    }
    if (code != 0) {
        selectors_done(&s);
        err_prefix(e, "invalid parameter \"match[]\"");
        return code;
    }
    *ret = s;
    return 0;
}

void selectors_done(struct selectors *s)
{
    for (uint32_t i = 0; i < s->n; i++)
        parsed_done(&s->parsed[i]);
    s->n = 0;
}
