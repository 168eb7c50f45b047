/*
 * Float text. The shortest digits come from std::to_chars (shim.cc); laying them out as Go does, and Go's grammar on
 * the way in, are done here. Reading uses strtod, which rounds correctly, after the grammar has been checked.
 */
#include "base/float_text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/shim.h"

/* v = 0.d1d2d3... * 10^point; n = 0 for zero. */
struct decimal {
    char digits[32];
    int n, point;
};

static struct decimal decimal_of(double magnitude)
{
    struct decimal d = {.n = 0, .point = 0};
    if (magnitude == 0)
        return d;
    char text[32];
    size_t n = shim_shortest_digits(magnitude, text);
    size_t i = 0;
    for (; i < n && text[i] != 'e'; i++)
        if (text[i] != '.')
            d.digits[d.n++] = text[i];
    int exponent = 0;
    bool negative = text[++i] == '-';
    for (i++; i < n; i++)
        exponent = exponent * 10 + (text[i] - '0');
    d.point = (negative ? -exponent : exponent) + 1;
    return d;
}

static char *put(char *at, char c, int n)
{
    if (n <= 0)
        return at;
    memset(at, c, (size_t)n);
    return at + n;
}

static char *put_digits(char *at, const char *digits, int n)
{
    if (n <= 0)
        return at;
    memcpy(at, digits, (size_t)n);
    return at + n;
}

/* Go's 'f' with precision -1. */
static char *lay_out_plain(char *at, const struct decimal *d)
{
    if (d->point <= 0) {
        at = put(at, '0', 1);
        if (d->n == 0)
            return at;
        at = put(at, '.', 1);
        at = put(at, '0', -d->point);
        return put_digits(at, d->digits, d->n);
    }
    int whole = d->n < d->point ? d->n : d->point;
    at = put_digits(at, d->digits, whole);
    at = put(at, '0', d->point - whole);
    if (d->n > whole)
        at = put(at, '.', 1);
    return put_digits(at, d->digits + whole, d->n - whole);
}

/* Go's 'e' with precision -1: at least two digits of exponent. */
static char *lay_out_exponent(char *at, const struct decimal *d)
{
    at = put_digits(at, d->digits, 1);
    if (d->n > 1)
        at = put(at, '.', 1);
    at = put_digits(at, d->digits + 1, d->n - 1);
    int exponent = d->point - 1;
    return at + sprintf(at, "e%c%02d", exponent < 0 ? '-' : '+', abs(exponent));
}

static int special_text(double v, char *ret)
{
    const char *text = isnan(v) ? "NaN" : v > 0 ? "+Inf" : "-Inf";
    strcpy(ret, text);
    return (int)strlen(text);
}

enum layout { LAYOUT_PLAIN = 1, LAYOUT_EXPONENT };

static int lay_out(double v, const struct decimal *d, enum layout layout, char *ret)
{
    char *at = put(ret, '-', signbit(v) != 0);
    at = layout == LAYOUT_EXPONENT ? lay_out_exponent(at, d) : lay_out_plain(at, d);
    *at = 0;
    return (int)(at - ret);
}

int float_format(double v, char ret[FLOAT_TEXT_MAX])
{
    if (!isfinite(v))
        return special_text(v, ret);
    double magnitude = fabs(v);
    struct decimal d = decimal_of(magnitude);
    bool exponent = magnitude != 0 && (magnitude < 1e-6 || magnitude >= 1e21);
    return lay_out(v, &d, exponent ? LAYOUT_EXPONENT : LAYOUT_PLAIN, ret);
}

int float_format_f(double v, char ret[FLOAT_TEXT_MAX])
{
    if (!isfinite(v))
        return special_text(v, ret);
    struct decimal d = decimal_of(fabs(v));
    return lay_out(v, &d, LAYOUT_PLAIN, ret);
}

int float_format_e(double v, char ret[FLOAT_TEXT_MAX])
{
    if (!isfinite(v))
        return special_text(v, ret);
    struct decimal d = decimal_of(fabs(v));
    /* strconv takes precision 6 for this decision when it prints the shortest digits. */
    bool exponent = d.n && (d.point - 1 < -4 || d.point - 1 >= 6);
    return lay_out(v, &d, exponent ? LAYOUT_EXPONENT : LAYOUT_PLAIN, ret);
}

void strbuf_add_float(struct strbuf *b, double v)
{
    strbuf_reserve(b, FLOAT_TEXT_MAX);
    b->n += (size_t)float_format(v, b->p + b->n);
}

void strbuf_add_time_ms(struct strbuf *b, int64_t ms)
{
    uint64_t magnitude = ms < 0 ? 0 - (uint64_t)ms : (uint64_t)ms;
    if (ms < 0)
        strbuf_add_char(b, '-');
    strbuf_add_i64(b, (int64_t)(magnitude / 1000));
    unsigned rest = (unsigned)(magnitude % 1000);
    if (rest) {
        const char digits[] = {'.', (char)('0' + rest / 100), (char)('0' + rest / 10 % 10), (char)('0' + rest % 10)};
        strbuf_add(b, digits, sizeof digits);
    }
}

static bool is_hex(char c)
{
    char lower = c | 0x20;
    return char_is_digit(c) || (lower >= 'a' && lower <= 'f');
}

static bool equals_any_case(struct str s, const char *lower)
{
    size_t n = strlen(lower);
    if (s.n != n)
        return false;
    for (size_t i = 0; i < n; i++)
        if ((s.p[i] | 0x20) != lower[i])
            return false;
    return true;
}

/* [sign] inf | infinity | nan; Go takes a sign before an infinity only. */
static bool parse_special(struct str s, double *ret)
{
    if (equals_any_case(s, "nan")) {
        uint64_t bits = NORMAL_NAN_BITS;
        memcpy(ret, &bits, sizeof(bits));
        return true;
    }
    bool negative = s.n && s.p[0] == '-';
    if (negative || (s.n && s.p[0] == '+'))
        s = (struct str){s.p + 1, s.n - 1};
    if (!equals_any_case(s, "inf") && !equals_any_case(s, "infinity"))
        return false;
    *ret = negative ? -INFINITY : INFINITY;
    return true;
}

/* Is the whole text a number of the grammar in the header? strtod then reads all of it. */
static bool number_well_formed(struct str s)
{
    size_t i = s.n && (s.p[0] == '+' || s.p[0] == '-');
    bool hex = s.n >= i + 2 && s.p[i] == '0' && (s.p[i + 1] | 0x20) == 'x';
    if (hex)
        i += 2;
    bool digits = false, point = false;
    for (; i < s.n; i++) {
        if (hex ? is_hex(s.p[i]) : char_is_digit(s.p[i]))
            digits = true;
        else if (s.p[i] == '.' && !point)
            point = true;
        else
            break;
    }
    if (!digits)
        return false;
    if (i == s.n)
        return !(hex && point);
    if ((s.p[i++] | 0x20) != (hex ? 'p' : 'e'))
        return false;
    if (i < s.n && (s.p[i] == '+' || s.p[i] == '-'))
        i++;
    if (i == s.n)
        return false;
    for (; i < s.n; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    return true;
}

bool float_parse(struct str text, double *ret)
{
    if (parse_special(text, ret))
        return true;
    if (!number_well_formed(text))
        return false;
    char small[128];
    char *z = text.n < sizeof(small) ? small : mem_alloc(text.n + 1);
    memcpy(z, text.p, text.n);
    z[text.n] = 0;
    *ret = strtod(z, NULL);
    if (z != small)
        mem_free(z);
    return true;
}

/* Go's ParseInt with base 0 reads a leading 0 as octal, so PromQL's 010 is 8 (and 08, which fails there, is 8.0). */
static bool parse_octal(struct str s, double *ret)
{
    uint64_t v = 0;
    if (s.n < 2 || s.p[0] != '0')
        return false;
    for (size_t i = 1; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '7' || v > INT64_MAX >> 3)
            return false;
        v = v << 3 | (uint64_t)(s.p[i] - '0');
    }
    *ret = (double)v;
    return true;
}

/* Underscores stand between two digits, or between the 0x and a digit. */
static bool underscores_well_placed(struct str s)
{
    bool hex = s.n >= 2 && s.p[0] == '0' && (s.p[1] | 0x20) == 'x';
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_')
            continue;
        if (i == 0 || i + 1 == s.n)
            return false;
        bool before = hex ? is_hex(s.p[i - 1]) || i == 2 : char_is_digit(s.p[i - 1]);
        bool after = hex ? is_hex(s.p[i + 1]) : char_is_digit(s.p[i + 1]);
        if (!before || !after)
            return false;
    }
    return true;
}

bool float_parse_literal(struct str text, double *ret)
{
    if (!text.n || !memchr(text.p, '_', text.n))
        return parse_octal(text, ret) || float_parse(text, ret);
    if (!underscores_well_placed(text))
        return false;
    struct strbuf plain = {0};
    for (size_t i = 0; i < text.n; i++)
        if (text.p[i] != '_')
            strbuf_add_char(&plain, text.p[i]);
    struct str digits = {plain.p, plain.n};
    bool ok = parse_octal(digits, ret) || float_parse(digits, ret);
    strbuf_done(&plain);
    return ok;
}
