/* Meaning of literals: numbers by way of base/float_text, strings as Go unquotes them. */
#include "promql/literal.h"

#include <math.h>
#include <stdio.h>

#include "base/float_text.h"

bool literal_number(struct str text, double *ret, char reason[160])
{
    bool read = float_parse_literal(text, ret), infinity = (text.p[0] | 32) == 'i';
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
