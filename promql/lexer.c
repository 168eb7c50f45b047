/* The lexer's three modes: statements, inside braces, and inside brackets before a number. Words and signs are here;
 * numbers and strings are in lexer_literal.c. */
#include "promql/lexer.h"

#include <stdio.h>
#include <strings.h>

#include "base/err.h"
#include "promql/lexer_internal.h"

static const struct {
    const char *text;
    uint8_t cls, uses;
} token_table[TOKEN_END_OF_LIST] = {
#define X(name, cls, text, uses) [TOKEN_##name] = {text, TOKEN_CLASS_##cls, uses},
    TOKEN_LIST(X)
#undef X
};

static const struct {
    struct str word;
    enum token_kind kind;
} word_table[] = {
#define X(name, cls, text, uses) {{text, sizeof(text) - 1}, TOKEN_##name},
    TOKEN_WORD_LIST(X)
#undef X
        {{"inf", 3}, TOKEN_NUMBER},
    {{"nan", 3}, TOKEN_NUMBER},
};

bool token_may(enum token_kind kind, enum token_use use)
{
    return (token_table[kind].uses & use) != 0;
}

void lexer_init(struct lexer *l, struct str text)
{
    MUST(text.n < UINT32_MAX);
    *l = (struct lexer){.p = text.p, .n = (uint32_t)text.n};
}

struct token lexer_emit(struct lexer *l, enum token_kind kind)
{
    struct token t = {kind, l->start, l->at, {l->p + l->start, l->at - l->start}};
    l->start = l->at;
    return t;
}

struct token lexer_fail(struct lexer *l, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(l->message, sizeof l->message, format, args);
    va_end(args);
    return (struct token){TOKEN_ERROR, l->start, l->n, str_of(l->message)};
}

void lexer_quote_char(const char *p, size_t n, char ret[16])
{
    uint32_t c = 0xfffd;
    size_t length = n ? utf8_decode(p, n, &c) : 0;
    if (length == 0) {
        strcpy(ret, "'\xef\xbf\xbd'");
        return;
    }
    if (c == '\'' || c == '"') {
        strcpy(ret, c == '"' ? "'\"'" : "'\\''");
        return;
    }
    struct strbuf b = {0};
    strbuf_add_go_quoted(&b, (struct str){p, length});
    MUST(b.n >= 2 && b.n < 16);
    memcpy(ret, b.p, b.n);
    ret[0] = ret[b.n - 1] = '\'';
    ret[b.n] = 0;
    strbuf_done(&b);
}

/* Fail about the character at byte `at` (past the end: U+FFFD, as Go shows its end mark). */
static struct token fail_char(struct lexer *l, const char *what, uint32_t at)
{
    char quoted[16];
    lexer_quote_char(l->p + at, l->n - at, quoted);
    return lexer_fail(l, "%s%s", what, quoted);
}

static int peek(const struct lexer *l)
{
    return l->at < l->n ? (unsigned char)l->p[l->at] : -1;
}

static bool is_space(int c)
{
    return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

static void skip_blank(struct lexer *l, bool comments)
{
    for (; l->at < l->n; l->at++) {
        if (comments && l->p[l->at] == '#')
            while (l->at < l->n && l->p[l->at] != '\n' && l->p[l->at] != '\r')
                l->at++;
        if (!is_space(peek(l)))
            break;
    }
    l->start = l->at;
}

static struct token emit_n(struct lexer *l, enum token_kind kind, uint32_t n)
{
    l->at += n;
    return lexer_emit(l, kind);
}

static bool paren_follows(const struct lexer *l)
{
    uint32_t at = l->at;
    while (at < l->n && is_space((unsigned char)l->p[at]))
        at++;
    return at < l->n && l->p[at] == '(';
}

static enum token_kind word_kind(const char *p, size_t n)
{
    for (size_t i = 0; i < sizeof word_table / sizeof *word_table; i++)
        if (word_table[i].word.n == n && strncasecmp(word_table[i].word.p, p, n) == 0)
            return word_table[i].kind;
    return TOKEN_INVALID;
}

static struct token lex_word(struct lexer *l)
{
    bool colon = false;
    for (; lexer_is_alnum(peek(l)) || peek(l) == ':'; l->at++)
        colon |= peek(l) == ':';
    enum token_kind kind = word_kind(l->p + l->start, l->at - l->start);
    /* fill is young: metrics of that name keep working where no parenthesis follows. */
    if ((kind == TOKEN_FILL || kind == TOKEN_FILL_LEFT || kind == TOKEN_FILL_RIGHT) && !paren_follows(l))
        kind = TOKEN_INVALID;
    if (kind == TOKEN_INVALID)
        kind = colon ? TOKEN_METRIC_IDENTIFIER : TOKEN_IDENTIFIER;
    return lexer_emit(l, kind);
}

/* Inside brackets only the words of duration expressions may stand. */
static struct token lex_duration_word(struct lexer *l)
{
    uint32_t end = l->at;
    while (end < l->n && lexer_is_alnum((unsigned char)l->p[end]))
        end++;
    enum token_kind kind = word_kind(l->p + l->at, end - l->at);
    if (kind == TOKEN_STEP || kind == TOKEN_RANGE || kind == TOKEN_MIN || kind == TOKEN_MAX || kind == TOKEN_MIN_OF ||
        kind == TOKEN_MAX_OF) {
        l->got_duration = true;
        return emit_n(l, kind, end - l->at);
    }
    if (l->in_duration)
        return fail_char(l, "unexpected character in duration expression: ", l->at);
    char quoted[16];
    lexer_quote_char(l->p + l->at, l->n - l->at, quoted);
    return lexer_fail(l, "unexpected character: %s, expected ':'", quoted);
}

static struct token lex_close_paren(struct lexer *l)
{
    struct token t = emit_n(l, TOKEN_RIGHT_PAREN, 1);
    if (l->paren_depth == 0)
        return lexer_fail(l, "unexpected right parenthesis ')'");
    l->paren_depth--;
    return t;
}

static struct token lex_open_paren(struct lexer *l)
{
    l->paren_depth++;
    return emit_n(l, TOKEN_LEFT_PAREN, 1);
}

static struct token lex_close_bracket(struct lexer *l)
{
    if (!l->bracket_open)
        return lexer_fail(l, "unexpected right bracket ']'");
    l->bracket_open = l->in_duration = false;
    return emit_n(l, TOKEN_RIGHT_BRACKET, 1);
}

static struct token lex_open_bracket(struct lexer *l)
{
    if (l->bracket_open)
        return lexer_fail(l, "unexpected left bracket '['");
    l->bracket_open = l->in_duration = true;
    l->got_colon = l->got_duration = false;
    return emit_n(l, TOKEN_LEFT_BRACKET, 1);
}

static struct token lex_colon(struct lexer *l)
{
    if (l->in_duration && !l->got_duration) {
        l->start = ++l->at;
        return lexer_fail(l, "unexpected colon before duration in duration expression");
    }
    if (l->got_colon) {
        if (!l->in_duration)
            return lexer_fail(l, "unexpected colon ':'");
        l->start = ++l->at;
        return lexer_fail(l, "unexpected repeated colon in duration expression");
    }
    l->got_colon = true;
    return emit_n(l, TOKEN_COLON, 1);
}

/* Signs that mean the same in statements and in durations; TOKEN_INVALID when c is none of them. */
static enum token_kind arithmetic_kind(int c)
{
    switch (c) {
    case '+':
        return TOKEN_ADD;
    case '-':
        return TOKEN_SUB;
    case '*':
        return TOKEN_MUL;
    case '/':
        return TOKEN_DIV;
    case '%':
        return TOKEN_MOD;
    case '^':
        return TOKEN_POW;
    case ',':
        return TOKEN_COMMA;
    default:
        return TOKEN_INVALID;
    }
}

static bool starts_number(const struct lexer *l)
{
    int c = peek(l);
    return lexer_is_digit(c) || (c == '.' && l->at + 1 < l->n && lexer_is_digit((unsigned char)l->p[l->at + 1]));
}

static struct token lex_duration(struct lexer *l)
{
    skip_blank(l, false);
    int c = peek(l);
    if (c < 0)
        return lexer_fail(l, "unexpected end of input in duration expression");
    if (arithmetic_kind(c))
        return emit_n(l, arithmetic_kind(c), 1);
    if (c == ']')
        return lex_close_bracket(l);
    if (c == ':')
        return lex_colon(l);
    if (c == '(')
        return lex_open_paren(l);
    if (c == ')')
        return lex_close_paren(l);
    if (starts_number(l)) {
        l->in_duration = false;
        return lexer_number(l);
    }
    return lex_duration_word(l);
}

static struct token lex_braces(struct lexer *l)
{
    skip_blank(l, true);
    int c = peek(l);
    if (c < 0)
        return lexer_fail(l, "unexpected end of input inside braces");
    if (lexer_is_alpha(c)) {
        while (lexer_is_alnum(peek(l)))
            l->at++;
        return lexer_emit(l, TOKEN_IDENTIFIER);
    }
    bool tilde = l->at + 1 < l->n && l->p[l->at + 1] == '~', equals = l->at + 1 < l->n && l->p[l->at + 1] == '=';
    switch (c) {
    case ',':
        return emit_n(l, TOKEN_COMMA, 1);
    case '"':
    case '\'':
    case '`':
        return lexer_string(l);
    case '=':
        return tilde ? emit_n(l, TOKEN_RE, 2) : emit_n(l, TOKEN_ASSIGN, 1);
    case '!':
        if (tilde || equals)
            return emit_n(l, tilde ? TOKEN_NRE : TOKEN_NE, 2);
        return fail_char(l, "unexpected character after '!' inside braces: ", l->at + 1);
    case '{':
        return lexer_fail(l, "unexpected left brace '{'");
    case '}':
        l->brace_open = false;
        return emit_n(l, TOKEN_RIGHT_BRACE, 1);
    default:
        return fail_char(l, "unexpected character inside braces: ", l->at);
    }
}

/* = ! < > and what may follow them. */
static struct token lex_comparison(struct lexer *l, int c)
{
    int after = l->at + 1 < l->n ? (unsigned char)l->p[l->at + 1] : -1;
    switch (c) {
    case '=':
        if (after == '~')
            return lexer_fail(l, "unexpected character after '=': '~'");
        return after == '=' ? emit_n(l, TOKEN_EQ, 2) : emit_n(l, TOKEN_ASSIGN, 1);
    case '!':
        if (after != '=')
            return fail_char(l, "unexpected character after '!': ", l->at + 1);
        return emit_n(l, TOKEN_NE, 2);
    case '<':
        if (after == '/')
            return emit_n(l, TOKEN_TRIM_UPPER, 2);
        return after == '=' ? emit_n(l, TOKEN_LE, 2) : emit_n(l, TOKEN_LT, 1);
    default:
        if (after == '/')
            return emit_n(l, TOKEN_TRIM_LOWER, 2);
        return after == '=' ? emit_n(l, TOKEN_GE, 2) : emit_n(l, TOKEN_GT, 1);
    }
}

static struct token lex_end(struct lexer *l)
{
    if (l->paren_depth)
        return lexer_fail(l, "unclosed left parenthesis");
    if (l->bracket_open)
        return lexer_fail(l, "unclosed left bracket");
    return lexer_emit(l, TOKEN_EOF);
}

static struct token lex_statement(struct lexer *l)
{
    skip_blank(l, true);
    int c = peek(l);
    if (c < 0)
        return lex_end(l);
    if (arithmetic_kind(c))
        return emit_n(l, arithmetic_kind(c), 1);
    if (starts_number(l))
        return lexer_number(l);
    if (c == ':' && l->bracket_open)
        return lex_colon(l);
    if (lexer_is_alpha(c) || c == ':')
        return l->bracket_open ? lex_duration_word(l) : lex_word(l);
    switch (c) {
    case '=':
    case '!':
    case '<':
    case '>':
        return lex_comparison(l, c);
    case '"':
    case '\'':
    case '`':
        return lexer_string(l);
    case '(':
        return lex_open_paren(l);
    case ')':
        return lex_close_paren(l);
    case '{':
        l->brace_open = true;
        return emit_n(l, TOKEN_LEFT_BRACE, 1);
    case '[':
        return lex_open_bracket(l);
    case ']':
        return lex_close_bracket(l);
    case '@':
        return emit_n(l, TOKEN_AT, 1);
    default:
        return fail_char(l, "unexpected character: ", l->at);
    }
}

struct token lexer_next(struct lexer *l)
{
    if (l->ended)
        return l->last;
    l->start = l->at;
    struct token t = l->brace_open ? lex_braces(l) : l->in_duration ? lex_duration(l) : lex_statement(l);
    if (t.kind == TOKEN_ERROR || t.kind == TOKEN_EOF) {
        l->ended = true;
        l->last = t;
    }
    return t;
}

/* At most ten characters of the text, quoted. */
static void quote_short(struct str text, char *ret, size_t n)
{
    size_t end = 0;
    for (int i = 0; i < 10 && end < text.n; i++) {
        uint32_t c;
        size_t length = utf8_decode(text.p + end, text.n - end, &c);
        end += length ? length : 1;
    }
    struct strbuf b = {0};
    bool cut = text.n > 10;
    strbuf_add_go_quoted(&b, (struct str){text.p, cut ? end : text.n});
    snprintf(ret, n, "%s%s", strbuf_z(&b), cut ? "..." : "");
    strbuf_done(&b);
}

void token_describe(const struct token *t, char *ret, size_t n)
{
    char quoted[128];
    switch (token_table[t->kind].cls) {
    case TOKEN_CLASS_OPERATOR:
        snprintf(ret, n, "<op:" STR_FMT ">", STR_ARG(t->text));
        return;
    case TOKEN_CLASS_AGGREGATOR:
        snprintf(ret, n, "<aggr:" STR_FMT ">", STR_ARG(t->text));
        return;
    case TOKEN_CLASS_KEYWORD:
        snprintf(ret, n, "<" STR_FMT ">", STR_ARG(t->text));
        return;
    case TOKEN_CLASS_SIGN:
        quote_short(t->text, ret, n);
        return;
    default:
        break;
    }
    if (t->kind == TOKEN_EOF || t->kind == TOKEN_ERROR) {
        snprintf(ret, n, "%s", token_table[t->kind].text);
        return;
    }
    if (t->kind == TOKEN_IDENTIFIER || t->kind == TOKEN_METRIC_IDENTIFIER) {
        /* Names are shown whole; a very long one is cut by the message's own limit. */
        snprintf(ret, n, "%s \"" STR_FMT "\"", token_table[t->kind].text, STR_ARG(t->text));
        return;
    }
    quote_short(t->text, quoted, sizeof quoted);
    snprintf(ret, n, "%s %s", token_table[t->kind].text, quoted);
}
