/* Meaning of literals: Go's ParseInt with base 0, then ParseFloat; strings as Go unquotes them. */
#include "promql/literal.h"

#include <math.h>
#include <stdio.h>

#include "base/float_text.h"

enum { NUMBER_TEXT_MAX = 1024 };

/* Go's rule: '_' stands between digits or after a prefix. */
static bool underscores_ok(struct str s)
{
    for (size_t i = 0; i < s.n; i++) {
        if (s.p[i] != '_')
            continue;
        bool prefix = i == 2 && s.p[0] == '0' && (s.p[1] == 'x' || s.p[1] == 'X');
        if (i == 0 || i + 1 == s.n || s.p[i + 1] == '_' || (!prefix && s.p[i - 1] == '_'))
            return false;
    }
    return true;
}

/* Integers below 2^63; false when it is none, and the float reader has its turn. */
static bool read_integer(const char *p, size_t n, double *ret)
{
    unsigned base = 10;
    size_t i = 0;
    if (n > 1 && p[0] == '0') {
        base = p[1] == 'x' || p[1] == 'X' ? 16 : 8;
        i = base == 16 ? 2 : 1;
    }
    if (i == n)
        return false;
    uint64_t v = 0;
    for (; i < n; i++) {
        char c = p[i];
        unsigned digit = c >= '0' && c <= '9'                 ? (unsigned)(c - '0')
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)((c | 32) - 'a') + 10
                                                              : 99;
        if (digit >= base || v > ((uint64_t)INT64_MAX - digit) / base)
            return false;
        v = v * base + digit;
    }
    *ret = (double)v;
    return true;
}

bool literal_number(struct str text, double *ret, char reason[160])
{
    char plain[NUMBER_TEXT_MAX];
    size_t n = 0;
    bool fits = text.n < sizeof plain && underscores_ok(text);
    for (size_t i = 0; fits && i < text.n; i++)
        if (text.p[i] != '_')
            plain[n++] = text.p[i];
    if (fits && read_integer(plain, n, ret))
        return true;
    bool infinity = n == 3 && (plain[0] | 32) == 'i', read = fits && float_parse((struct str){plain, n}, ret);
    if (read && (infinity || !isinf(*ret)))
        return true;
    snprintf(reason, 160, "strconv.ParseFloat: parsing \"%.*s\": %s", (int)(text.n < 60 ? text.n : 60), text.p,
             read ? "value out of range" : "invalid syntax");
    return false;
}

static char escape_letter(char c)
{
    static const char from[] = "abfnrtv", to[] = "\a\b\f\n\r\t\v";
    const char *found = c ? strchr(from, c) : NULL;
    return found ? to[found - from] : c;
}

static unsigned digit_of(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;
}

/* One escape, from after the backslash; returns its length and appends to out. */
static size_t unescape(const char *p, char *out, size_t *n)
{
    bool octal = *p >= '0' && *p <= '7';
    if (!octal && *p != 'x' && *p != 'u' && *p != 'U') {
        out[(*n)++] = escape_letter(*p);
        return 1;
    }
    size_t first = octal ? 0 : 1, digits = octal ? 3 : *p == 'x' ? 2 : *p == 'u' ? 4 : 8;
    uint32_t value = 0;
    for (size_t i = 0; i < digits; i++)
        value = value * (octal ? 8 : 16) + digit_of(p[first + i]);
    if (octal || *p == 'x')
        out[(*n)++] = (char)value; /* a byte, which need not be UTF-8 */
    else
        *n += utf8_encode(value, out + *n);
    return first + digits;
}

bool literal_unquote(struct str text, struct arena *a, struct str *ret)
{
    struct str body = {text.p + 1, text.n - 2};
    char *out = arena_alloc(a, body.n);
    if (!out)
        return false;
    size_t n = 0;
    if (text.p[0] == '`') {
        memcpy(out, body.p, body.n);
        n = body.n;
    }
    for (size_t i = 0; text.p[0] != '`' && i < body.n;) {
        if (body.p[i] == '\\')
            i += 1 + unescape(body.p + i + 1, out, &n);
        else
            out[n++] = body.p[i++];
    }
    *ret = (struct str){out, n};
    return true;
}
