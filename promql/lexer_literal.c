/*
 * Numbers, durations and strings: where they end and whether they are well formed. What they mean is literal.c's.
 * A string's escapes are checked here, so that unquoting cannot fail.
 */
#include <stdio.h>

#include "promql/lexer_internal.h"

static int at(const struct lexer *l, uint32_t ahead)
{
    return l->at + ahead < l->n ? (unsigned char)l->p[l->at + ahead] : -1;
}

static bool accept(struct lexer *l, const char *set)
{
    int c = at(l, 0);
    if (c <= 0 || !strchr(set, c))
        return false;
    l->at++;
    return true;
}

static bool is_hex(int c)
{
    return lexer_is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
}

/* Scan [0x] digits with single '_' between, one '.', one exponent. False leaves l->at where the mistake is. */
static bool scan_number(struct lexer *l)
{
    bool hex = at(l, 0) == '0' && (at(l, 1) == 'x' || at(l, 1) == 'X'), dot = false, exponent = false;
    if (hex) {
        l->at += 2;
        accept(l, "_");
    }
    for (;;) {
        if (hex ? is_hex(at(l, 0)) : lexer_is_digit(at(l, 0))) {
            l->at++;
        } else if (accept(l, "_")) {
            if (accept(l, "._eE") || l->at == l->n)
                return false;
        } else if (accept(l, ".")) {
            if (hex || dot || accept(l, "_."))
                return false;
            dot = true;
        } else if (!hex && accept(l, "eE")) {
            if (exponent)
                return false;
            exponent = true;
            accept(l, "+-");
            if (accept(l, "._eE") || l->at == l->n)
                return false;
        } else {
            break;
        }
    }
    return !lexer_is_alnum(at(l, 0));
}

/* The rest of a duration after its first number: unit, then number and unit pairs. Order is the reader's business. */
static bool scan_duration(struct lexer *l)
{
    if (!accept(l, "smhdwy"))
        return false;
    accept(l, "s");
    while (accept(l, "0123456789")) {
        while (accept(l, "0123456789"))
            ;
        if (!accept(l, "smhdw"))
            return false;
        accept(l, "s");
    }
    if (!lexer_is_alnum(at(l, 0)))
        return true;
    l->at++;
    return false;
}

struct token lexer_number(struct lexer *l)
{
    if (scan_number(l))
        return lexer_emit(l, TOKEN_NUMBER);
    if (scan_duration(l))
        return lexer_emit(l, TOKEN_DURATION);
    struct strbuf quoted = {0};
    strbuf_add_go_quoted(&quoted, (struct str){l->p + l->start, l->at - l->start});
    struct token t = lexer_fail(l, "bad number or duration syntax: %s", strbuf_z(&quoted));
    strbuf_done(&quoted);
    return t;
}

static int hex_value(int c)
{
    if (lexer_is_digit(c))
        return c - '0';
    return is_hex(c) ? (c | 32) - 'a' + 10 : 16;
}

/* "U+0071 'q'" */
static void describe_char(const struct lexer *l, uint32_t from, char ret[40])
{
    uint32_t c;
    char quoted[16];
    utf8_decode(l->p + from, l->n - from, &c);
    lexer_quote_char(l->p + from, l->n - from, quoted);
    snprintf(ret, 40, "U+%04X %s", c, quoted);
}

/* After the backslash. On a mistake fills *ret and returns false. */
static bool scan_escape(struct lexer *l, char quote, struct token *ret)
{
    char shown[40];
    int c = at(l, 0), digits, base = 16;
    if (c < 0) {
        *ret = lexer_fail(l, "escape sequence not terminated");
        return false;
    }
    if (c == quote || (c && strchr("abfnrtv\\", c))) {
        l->at++;
        return true;
    }
    if (c >= '0' && c <= '7') {
        digits = 3;
        base = 8;
    } else if (c == 'x' || c == 'u' || c == 'U') {
        digits = c == 'x' ? 2 : c == 'u' ? 4 : 8;
        l->at++;
    } else {
        describe_char(l, l->at, shown);
        *ret = lexer_fail(l, "unknown escape sequence %s", shown);
        return false;
    }
    uint32_t value = 0, most = base == 8 || digits == 2 ? 255 : 0x10ffff;
    for (; digits > 0; digits--, l->at++) {
        int digit = hex_value(at(l, 0));
        if (at(l, 0) < 0) {
            *ret = lexer_fail(l, "escape sequence not terminated");
            return false;
        }
        if (digit >= base) {
            describe_char(l, l->at, shown);
            *ret = lexer_fail(l, "illegal character %s in escape sequence", shown);
            return false;
        }
        value = value * (uint32_t)base + (uint32_t)digit;
    }
    if (value > most || (value >= 0xd800 && value < 0xe000)) {
        *ret = lexer_fail(l, "escape sequence is an invalid Unicode code point");
        return false;
    }
    return true;
}

struct token lexer_string(struct lexer *l)
{
    char quote = l->p[l->at++];
    bool raw = quote == '`';
    for (;;) {
        int c = at(l, 0);
        if (c < 0 || (c == '\n' && !raw))
            return lexer_fail(l, raw ? "unterminated raw string" : "unterminated quoted string");
        if (c == quote)
            break;
        if (c == '\\' && !raw) {
            struct token failed;
            l->at++;
            if (!scan_escape(l, quote, &failed))
                return failed;
            continue;
        }
        uint32_t code = 0xfffd;
        size_t length = c < 128 ? 1 : utf8_decode(l->p + l->at, l->n - l->at, &code);
        if (c >= 128 && (length == 0 || code == 0xfffd))
            return lexer_fail(l, "invalid UTF-8 rune");
        l->at += (uint32_t)length;
    }
    l->at++;
    return lexer_emit(l, TOKEN_STRING);
}
