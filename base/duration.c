/* Durations as Prometheus' common/model reads and prints them, and the API's times and sizes. */
#include "base/duration.h"

#include <math.h>
#include <stdio.h>

#include "base/float_text.h"

#define NS_PER_MS INT64_C(1000000)
#define MS_PER_S INT64_C(1000)
#define MS_PER_DAY (24 * 60 * 60 * MS_PER_S)

struct unit {
    char name[3];
    int64_t ms;
    bool whole_only; /* printed only when nothing would remain: 90d reads better than 12w6d */
};

/* In falling order; a text must use them in this order. */
static const struct unit units[] = {
    {"y", 365 * MS_PER_DAY, true}, {"w", 7 * MS_PER_DAY, true}, {"d", MS_PER_DAY, false}, {"h", 3600 * MS_PER_S, false},
    {"m", 60 * MS_PER_S, false},   {"s", MS_PER_S, false},      {"ms", 1, false},
};
enum { UNITS_N = sizeof(units) / sizeof(units[0]) };

/* ERR_BAD_DATA "<before> <quoted text><after>". */
static int refuse(struct err *e, const char *before, struct str text, const char *after)
{
    struct strbuf quoted = {0};
    struct str shown = {text.p, text.n < 200 ? text.n : 200};
    strbuf_add_go_quoted(&quoted, shown);
    int code = err_set(e, ERR_BAD_DATA, "%s %s%s", before, strbuf_z(&quoted), after);
    strbuf_done(&quoted);
    return code;
}

/* A run of digits at *at; false when there is none or it overflows. */
static bool take_digits(struct str s, size_t *at, uint64_t *ret)
{
    size_t i = *at;
    uint64_t v = 0;
    for (; i < s.n && char_is_digit(s.p[i]); i++)
        if (__builtin_mul_overflow(v, 10, &v) || __builtin_add_overflow(v, (uint64_t)(s.p[i] - '0'), &v))
            return false;
    if (i == *at)
        return false;
    *at = i;
    *ret = v;
    return true;
}

static int unknown_unit(struct err *e, struct str unit, struct str text)
{
    struct strbuf tail = {0};
    struct str shown = {text.p, text.n < 200 ? text.n : 200};
    strbuf_add_z(&tail, " in duration ");
    strbuf_add_go_quoted(&tail, shown);
    int code = refuse(e, "unknown unit", unit, strbuf_z(&tail));
    strbuf_done(&tail);
    return code;
}

int duration_parse(struct str text, int64_t *ret_ms, struct err *e)
{
    if (text.n == 0)
        return err_set(e, ERR_BAD_DATA, "empty duration string");
    if (str_eq(text, STR("0"))) {
        *ret_ms = 0;
        return 0;
    }
    const int64_t most_ms = INT64_MAX / NS_PER_MS;
    int64_t total_ms = 0;
    size_t next_unit = 0;
    for (size_t i = 0; i < text.n;) {
        uint64_t v;
        if (!take_digits(text, &i, &v))
            return refuse(e, "not a valid duration string:", text, "");
        struct str name = {text.p + i, 0};
        for (; i < text.n && !char_is_digit(text.p[i]); i++)
            name.n++;
        if (name.n == 0)
            return refuse(e, "not a valid duration string:", text, "");
        size_t u = 0;
        while (u < UNITS_N && !str_eq(name, str_of(units[u].name)))
            u++;
        if (u == UNITS_N)
            return unknown_unit(e, name, text);
        if (u < next_unit)
            return refuse(e, "not a valid duration string:", text, "");
        next_unit = u + 1;
        if (v > (uint64_t)(most_ms / units[u].ms) || total_ms > most_ms - (int64_t)v * units[u].ms)
            return err_set(e, ERR_BAD_DATA, "duration out of range");
        total_ms += (int64_t)v * units[u].ms;
    }
    *ret_ms = total_ms;
    return 0;
}

int duration_format(int64_t ms, char ret[DURATION_TEXT_MAX])
{
    if (ms == 0)
        return snprintf(ret, DURATION_TEXT_MAX, "0s");
    uint64_t left = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    int n = 0;
    if (ms < 0)
        ret[n++] = '-';
    for (size_t u = 0; u < UNITS_N; u++) {
        uint64_t unit_ms = (uint64_t)units[u].ms;
        if (left < unit_ms || (units[u].whole_only && left % unit_ms))
            continue;
        n += snprintf(ret + n, (size_t)(DURATION_TEXT_MAX - n), "%llu%s", (unsigned long long)(left / unit_ms),
                      units[u].name);
        left %= unit_ms;
    }
    ret[n] = 0;
    return n;
}

/* `digits` digits at *at within [low, high]. */
static bool take_field(struct str s, size_t *at, int digits, int low, int high, int *ret)
{
    int v = 0;
    for (int i = 0; i < digits; i++, (*at)++) {
        if (*at >= s.n || !char_is_digit(s.p[*at]))
            return false;
        v = v * 10 + (s.p[*at] - '0');
    }
    *ret = v;
    return v >= low && v <= high;
}

static bool take_char(struct str s, size_t *at, char c)
{
    if (*at >= s.n || s.p[*at] != c)
        return false;
    (*at)++;
    return true;
}

/* Days from 1970-01-01 in the proleptic Gregorian calendar (years counted from March, so that leap days come last). */
static int64_t days_from_date(int year, int month, int day)
{
    int64_t y = month <= 2 ? year - 1 : year;
    int64_t era = floor_div(y, 400), year_of_era = y - era * 400;
    int64_t day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    return era * 146097 + year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year - 719468;
}

static int days_in_month(int year, int month)
{
    static const int days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;
    return days[month - 1] + (month == 2 && leap);
}

/* ".ddd", any number of digits: whole ms, the rest cut off. True without one. */
static bool take_fraction_ms(struct str s, size_t *at, int *ret)
{
    *ret = 0;
    if (!take_char(s, at, '.'))
        return true;
    size_t start = *at;
    int scale = 100;
    for (; *at < s.n && char_is_digit(s.p[*at]); (*at)++, scale /= 10)
        *ret += scale * (s.p[*at] - '0');
    return *at > start;
}

/* "Z" or "+hh:mm". Go allows an offset up to 24:60. */
static bool take_zone(struct str s, size_t *at, int64_t *ret_ms)
{
    *ret_ms = 0;
    if (take_char(s, at, 'Z'))
        return true;
    bool west = take_char(s, at, '-');
    int hours, minutes;
    if (!west && !take_char(s, at, '+'))
        return false;
    if (!take_field(s, at, 2, 0, 24, &hours) || !take_char(s, at, ':') || !take_field(s, at, 2, 0, 60, &minutes))
        return false;
    *ret_ms = (hours * 60 + minutes) * 60 * MS_PER_S * (west ? -1 : 1);
    return true;
}

static bool parse_rfc3339(struct str s, int64_t *ret_ms)
{
    int year, month, day, hour, minute, second, fraction_ms;
    int64_t zone_ms;
    size_t at = 0;
    bool date = take_field(s, &at, 4, 0, 9999, &year) && take_char(s, &at, '-') &&
                take_field(s, &at, 2, 1, 12, &month) && take_char(s, &at, '-') && take_field(s, &at, 2, 1, 31, &day) &&
                day <= days_in_month(year, month);
    bool time = date && take_char(s, &at, 'T') && take_field(s, &at, 2, 0, 23, &hour) && take_char(s, &at, ':') &&
                take_field(s, &at, 2, 0, 59, &minute) && take_char(s, &at, ':') &&
                take_field(s, &at, 2, 0, 59, &second) && take_fraction_ms(s, &at, &fraction_ms) &&
                take_zone(s, &at, &zone_ms);
    if (!time || at != s.n)
        return false;
    int64_t seconds = (hour * 60 + minute) * 60 + second;
    *ret_ms = days_from_date(year, month, day) * MS_PER_DAY + seconds * MS_PER_S + fraction_ms - zone_ms;
    return true;
}

int time_parse(struct str text, int64_t *ret_ms, struct err *e)
{
    double t;
    if (float_parse(text, &t)) {
        /* As Prometheus' parseTime: the fraction is rounded to ms, then cut to whole ns, then floored to ms. */
        double seconds, fraction = modf(t, &seconds);
        if (!(fabs(seconds) <= (double)(INT64_MAX / 2000)))
            return refuse(e, "cannot parse", text, " to a valid timestamp: it is not a number of seconds in range");
        int64_t ns = (int64_t)(round(fraction * 1000) / 1000 * 1e9);
        *ret_ms = (int64_t)seconds * MS_PER_S + floor_div(ns, NS_PER_MS);
        return 0;
    }
    if (parse_rfc3339(text, ret_ms))
        return 0;
    return refuse(e, "cannot parse", text, " to a valid timestamp");
}

int seconds_or_duration_parse(struct str text, int64_t *ret_ms, struct err *e)
{
    double seconds;
    if (float_parse(text, &seconds)) {
        double ns = seconds * 1e9;
        if (!(ns < 0x1p63 && ns >= -0x1p63))
            return refuse(e, "cannot parse", text, " to a valid duration. It overflows int64");
        *ret_ms = (int64_t)ns / NS_PER_MS;
        return 0;
    }
    struct err inner = {0};
    if (duration_parse(text, ret_ms, &inner) == 0)
        return 0;
    return refuse(e, "cannot parse", text, " to a valid duration");
}

int size_parse(struct str text, uint64_t *ret_bytes, struct err *e)
{
    static const struct {
        const char *name;
        unsigned shift;
    } sizes[] = {{"", 0},     {"B", 0},   {"KB", 10},  {"KiB", 10}, {"MB", 20},
                 {"MiB", 20}, {"GB", 30}, {"GiB", 30}, {"TB", 40},  {"TiB", 40}};
    const char *want = ": want a whole number with B, KB, MB, GB or TB (powers of 1024; KiB to TiB too), such as 512MB";
    uint64_t v;
    size_t at = 0;
    if (!take_digits(text, &at, &v))
        return refuse(e, "not a valid size", text, want);
    struct str unit = {text.p + at, text.n - at};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        if (!str_eq(unit, str_of(sizes[i].name)))
            continue;
        if (v > UINT64_MAX >> sizes[i].shift)
            return refuse(e, "size", text, " is out of range");
        *ret_bytes = v << sizes[i].shift;
        return 0;
    }
    return refuse(e, "not a valid size", text, want);
}
