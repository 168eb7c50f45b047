/* Byte strings, UTF-8, and the growable output buffer with the two quoted forms. */
#include "base/str.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/err.h"
#include "base/shim.h"

int str_cmp(struct str a, struct str b)
{
    size_t n = a.n < b.n ? a.n : b.n;
    int order = n && a.p != b.p ? memcmp(a.p, b.p, n) : 0; /* interned strings are often the very same */
    return order ? order : (a.n > b.n) - (a.n < b.n);
}

int str_order(const void *a, const void *b)
{
    return str_cmp(*(const struct str *)a, *(const struct str *)b);
}

bool str_has_prefix(struct str s, struct str prefix)
{
    return s.n >= prefix.n && (prefix.n == 0 || memcmp(s.p, prefix.p, prefix.n) == 0);
}

/* RFC 3629 section 4, the table UTF8-octets: the second byte's range depends on the first. */
size_t utf8_decode(const char *p, size_t n, uint32_t *ret)
{
    const uint8_t *b = (const uint8_t *)p;
    uint8_t first = b[0], low = 0x80, high = 0xbf;
    size_t length;
    *ret = 0xfffd;
    if (first < 0x80) {
        *ret = first;
        return 1;
    }
    if (first >= 0xc2 && first <= 0xdf)
        length = 2;
    else if (first >= 0xe0 && first <= 0xef)
        length = 3;
    else if (first >= 0xf0 && first <= 0xf4)
        length = 4;
    else
        return 0;
    if (first == 0xe0)
        low = 0xa0;
    else if (first == 0xed)
        high = 0x9f;
    else if (first == 0xf0)
        low = 0x90;
    else if (first == 0xf4)
        high = 0x8f;
    if (n < length || b[1] < low || b[1] > high)
        return 0;
    uint32_t c = first & (0xffu >> (length + 1));
    c = c << 6 | (b[1] & 63);
    for (size_t i = 2; i < length; i++) {
        if (b[i] < 0x80 || b[i] > 0xbf)
            return 0;
        c = c << 6 | (b[i] & 63);
    }
    *ret = c;
    return length;
}

bool utf8_valid(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n) {
        uint64_t eight;
        if (n - i >= 8 && (memcpy(&eight, p + i, 8), (eight & UINT64_C(0x8080808080808080)) == 0)) {
            i += 8;
            continue;
        }
        uint32_t code_point;
        size_t length = utf8_decode(p + i, n - i, &code_point);
        if (length == 0)
            return false;
        i += length;
    }
    return true;
}

size_t utf8_encode(uint32_t code_point, char ret[4])
{
    if (code_point < 0x80) {
        ret[0] = (char)code_point;
        return 1;
    }
    if (code_point < 0x800) {
        ret[0] = (char)(0xc0 | code_point >> 6);
        ret[1] = (char)(0x80 | (code_point & 63));
        return 2;
    }
    if (code_point > 0x10ffff || (code_point >= 0xd800 && code_point <= 0xdfff))
        code_point = 0xfffd;
    if (code_point < 0x10000) {
        ret[0] = (char)(0xe0 | code_point >> 12);
        ret[1] = (char)(0x80 | (code_point >> 6 & 63));
        ret[2] = (char)(0x80 | (code_point & 63));
        return 3;
    }
    ret[0] = (char)(0xf0 | code_point >> 18);
    ret[1] = (char)(0x80 | (code_point >> 12 & 63));
    ret[2] = (char)(0x80 | (code_point >> 6 & 63));
    ret[3] = (char)(0x80 | (code_point & 63));
    return 4;
}

void strbuf_reserve(struct strbuf *b, size_t more_bytes)
{
    if (more_bytes < b->cap - b->n)
        return;
    MUST(more_bytes < SIZE_MAX - b->n);
    /* One byte over, so that strbuf_z always has room for its NUL. */
    b->p = mem_grow(b->p, &b->cap, b->n + more_bytes + 1, 1);
}

void strbuf_add(struct strbuf *b, const void *p, size_t n)
{
    if (n == 0)
        return;
    strbuf_reserve(b, n);
    memcpy(b->p + b->n, p, n);
    b->n += n;
}

void strbuf_add_str(struct strbuf *b, struct str s)
{
    strbuf_add(b, s.p, s.n);
}

void strbuf_add_z(struct strbuf *b, const char *z)
{
    strbuf_add(b, z, strlen(z));
}

void strbuf_add_char(struct strbuf *b, char c)
{
    if (b->cap - b->n < 2)
        strbuf_reserve(b, 1);
    b->p[b->n++] = c;
}

void strbuf_printf(struct strbuf *b, const char *format, ...)
{
    strbuf_reserve(b, 64);
    va_list args;
    va_start(args, format);
    int n = vsnprintf(b->p + b->n, b->cap - b->n, format, args);
    va_end(args);
    MUST(n >= 0);
    if ((size_t)n >= b->cap - b->n) {
        strbuf_reserve(b, (size_t)n);
        va_start(args, format);
        vsnprintf(b->p + b->n, b->cap - b->n, format, args);
        va_end(args);
    }
    b->n += (size_t)n;
}

void strbuf_add_i64(struct strbuf *b, int64_t v)
{
    char digits[20];
    size_t at = sizeof(digits);
    uint64_t left = v < 0 ? 0 - (uint64_t)v : (uint64_t)v;
    do
        digits[--at] = (char)('0' + left % 10);
    while (left /= 10);
    if (v < 0)
        digits[--at] = '-';
    strbuf_add(b, digits + at, sizeof(digits) - at);
}

void strbuf_add_varint(struct strbuf *b, uint64_t v)
{
    for (; v >= 128; v >>= 7)
        strbuf_add_char(b, (char)(v | 128));
    strbuf_add_char(b, (char)v);
}

const char *strbuf_z(struct strbuf *b)
{
    strbuf_reserve(b, 0);
    b->p[b->n] = 0;
    return b->p;
}

void strbuf_clear(struct strbuf *b)
{
    b->n = 0;
}

void strbuf_done(struct strbuf *b)
{
    mem_free(b->p);
    *b = (struct strbuf){0};
}

/* The one-letter escape of a control character in Go, or 0. */
static char go_letter(uint32_t c)
{
    static const char letters[] = {[7] = 'a', [8] = 'b', [9] = 't', [10] = 'n', [11] = 'v', [12] = 'f', [13] = 'r'};
    return c < sizeof(letters) ? letters[c] : 0;
}

static void add_go_escape(struct strbuf *b, uint32_t c)
{
    if (c < ' ' || c == 0x7f)
        strbuf_printf(b, "\\x%02x", c);
    else if (c < 0x10000)
        strbuf_printf(b, "\\u%04x", c);
    else
        strbuf_printf(b, "\\U%08x", c);
}

void strbuf_add_go_quoted(struct strbuf *b, struct str s)
{
    strbuf_reserve(b, s.n + 2);
    strbuf_add_char(b, '"');
    for (size_t i = 0; i < s.n;) {
        const char *at = s.p + i;
        uint32_t c;
        size_t length = utf8_decode(at, s.n - i, &c);
        if (length == 0) {
            strbuf_printf(b, "\\x%02x", (uint8_t)*at);
            i++;
            continue;
        }
        if (c == '"' || c == '\\' || go_letter(c)) {
            strbuf_add_char(b, '\\');
            strbuf_add_char(b, go_letter(c) ? go_letter(c) : (char)c);
        } else if (c < 0x7f ? c >= ' ' : shim_is_graphic(at, length)) {
            strbuf_add(b, at, length);
        } else {
            add_go_escape(b, c);
        }
        i += length;
    }
    strbuf_add_char(b, '"');
}

/* Length of the run at p that JSON takes as it is: ASCII from space on without quote and backslash. */
static size_t json_plain(const char *p, size_t n)
{
    const uint64_t ones = UINT64_C(0x0101010101010101), tops = ones << 7;
    size_t i = 0;
    for (uint64_t eight; n - i >= 8; i += 8) {
        memcpy(&eight, p + i, 8);
        uint64_t quote = eight ^ ones * '"', backslash = eight ^ ones * '\\';
        /* A top bit stands for a byte below a space, or zero after the xor, or above 0x7f. */
        if (((eight - ones * ' ') | (quote - ones) | (backslash - ones) | eight) & tops)
            break;
    }
    while (i < n && (unsigned char)p[i] >= ' ' && (unsigned char)p[i] < 0x80 && p[i] != '"' && p[i] != '\\')
        i++;
    return i;
}

void strbuf_add_json_string(struct strbuf *b, struct str s)
{
    static const char letters[' '] = {['\b'] = 'b', ['\f'] = 'f', ['\n'] = 'n', ['\r'] = 'r', ['\t'] = 't'};
    strbuf_reserve(b, s.n + 2);
    b->p[b->n++] = '"';
    for (size_t i = 0; i < s.n;) {
        size_t plain = json_plain(s.p + i, s.n - i);
        strbuf_add(b, s.p + i, plain);
        if ((i += plain) == s.n)
            break;
        uint32_t c;
        size_t length = utf8_decode(s.p + i, s.n - i, &c);
        if (length == 0) {
            strbuf_add_z(b, "\xef\xbf\xbd");
            i++;
            continue;
        }
        if (c == '"' || c == '\\' || (c < ' ' && letters[c])) {
            strbuf_add_char(b, '\\');
            strbuf_add_char(b, c < ' ' ? letters[c] : (char)c);
        } else if (c < ' ') {
            strbuf_printf(b, "\\u%04x", c);
        } else {
            strbuf_add(b, s.p + i, length);
        }
        i += length;
    }
    strbuf_add_char(b, '"');
}
