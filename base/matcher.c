/*
 * Matchers and anchored regexes. RE2 (behind shim.h) gives the semantics; this file adds what the callers gain from
 * knowing a pattern's shape (its literals, its prefix) and Go's template expansion.
 *
 * ^(?s:pattern)$ is compiled as the pattern alone, with '.' matching newline and the match anchored at both ends:
 * the same language, and a pattern such as a)(b is refused as Prometheus refuses it instead of closing our group.
 */
#include "base/matcher.h"

#include "base/alloc.h"
#include "base/shim.h"

enum {
    PATTERN_MAX_BYTES = 64 << 10,
    /* RE2's memory for one program and its caches: what a list of that many bytes needs, and room for classes. */
    REGEX_LEAST_BYTES = 1 << 20,
    REGEX_BYTES_A_BYTE = 112,
    REGEX_GROUPS_BYTES = 32 << 20, /* of a match that reports groups: each state of the program holds all of them */
    REGEX_SIZE_LEAST = 64,
    LITERALS_MAX = 256,
};

struct regex {
    struct shim_regex *program;
    struct str *literals; /* the whole language, when it is a short list */
    size_t literals_n;
    struct str prefix;
    char *bytes; /* what literals and prefix point into */
};

const char *matcher_op_text(enum matcher_op op)
{
    static const char *const texts[] = {[MATCH_EQ] = "=", [MATCH_NE] = "!=", [MATCH_RE] = "=~", [MATCH_NRE] = "!~"};
    return texts[op];
}

static bool is_meta(char c)
{
    return c != 0 && strchr("\\.+*?()|[]{}^$", c) != NULL;
}

/* One literal character of the pattern at *at, unescaped into *to; false if something else stands there. */
static bool take_literal(struct str pattern, size_t *at, char **to)
{
    char c = pattern.p[*at];
    if (c == '\\') {
        /* Only an escaped meta character is surely itself; \d, \Q, \x41 and the like are not worth knowing here. */
        if (*at + 1 >= pattern.n || !is_meta(pattern.p[*at + 1]))
            return false;
        *(*to)++ = pattern.p[*at + 1];
        *at += 2;
        return true;
    }
    if (is_meta(c))
        return false;
    uint32_t code_point;
    size_t length = utf8_decode(pattern.p + *at, pattern.n - *at, &code_point);
    if (length == 0)
        return false;
    memcpy(*to, pattern.p + *at, length);
    *to += length;
    *at += length;
    return true;
}

/* a|b|c, bare or inside one group: fill r->literals. */
static void find_literals(struct regex *r, struct str pattern)
{
    struct str group = STR("(?:");
    size_t open = str_has_prefix(pattern, group) ? group.n : str_has_prefix(pattern, STR("(")) ? 1 : 0;
    if (open && pattern.p[pattern.n - 1] == ')')
        pattern = (struct str){pattern.p + open, pattern.n - open - 1};
    size_t cap = 0, n = 1;
    char *to = r->bytes;
    r->literals = mem_grow(NULL, &cap, n, sizeof(struct str));
    r->literals[0] = (struct str){to, 0};
    for (size_t at = 0; at < pattern.n;) {
        if (pattern.p[at] == '|' && n < LITERALS_MAX) {
            r->literals = mem_grow(r->literals, &cap, n + 1, sizeof(struct str));
            r->literals[n++] = (struct str){to, 0};
            at++;
        } else if (take_literal(pattern, &at, &to)) {
            r->literals[n - 1].n = (size_t)(to - r->literals[n - 1].p);
        } else {
            mem_free(r->literals);
            r->literals = NULL;
            return;
        }
    }
    r->literals_n = n;
}

/* Could the pattern be an alternation at its top level? Says yes when in doubt (classes, quoting, inline groups). */
static bool may_alternate(struct str pattern)
{
    bool doubt = false, bar = false;
    int depth = 0;
    for (size_t i = 0; i < pattern.n; i++) {
        char c = pattern.p[i];
        if (c == '\\') {
            i++;
            doubt |= i < pattern.n && pattern.p[i] == 'Q';
        } else if (c == '[') {
            doubt = true;
        } else if (c == '(') {
            depth++;
        } else if (c == ')') {
            depth--;
        } else if (c == '|') {
            bar = true;
            if (depth == 0)
                return true;
        }
    }
    return doubt && bar;
}

static void find_prefix(struct regex *r, struct str pattern)
{
    if (r->literals_n == 1) {
        r->prefix = r->literals[0];
        return;
    }
    r->prefix = (struct str){r->bytes, 0};
    if (r->literals_n || may_alternate(pattern))
        return;
    char *to = r->bytes, *before_last = to;
    size_t at = 0;
    while (at < pattern.n) {
        char *last = to;
        if (!take_literal(pattern, &at, &to))
            break;
        before_last = last;
    }
    /* A repetition belongs to the character before it. */
    if (at < pattern.n && strchr("*?{", pattern.p[at]))
        to = before_last;
    r->prefix.n = (size_t)(to - r->bytes);
}

/* RE2 reads \C as "one byte", which Go does not know and which could split a character. */
static bool has_any_byte_escape(struct str pattern)
{
    for (size_t i = 0; i + 1 < pattern.n; i++) {
        if (pattern.p[i] != '\\')
            continue;
        i++;
        if (pattern.p[i] == 'C')
            return true;
    }
    return false;
}

int regex_new(struct str pattern, struct regex **ret, struct err *e)
{
    if (pattern.n > PATTERN_MAX_BYTES)
        return err_set(e, ERR_BAD_DATA, "error parsing regexp: expression too large: %zu bytes, at most %d are allowed",
                       pattern.n, PATTERN_MAX_BYTES);
    if (!utf8_valid(pattern.p, pattern.n))
        return err_set(e, ERR_BAD_DATA, "error parsing regexp: invalid UTF-8");
    if (has_any_byte_escape(pattern))
        return err_set(e, ERR_BAD_DATA, "error parsing regexp: invalid escape sequence: `\\C`");
    char why[sizeof(e->message)];
    int64_t most_bytes = REGEX_LEAST_BYTES + REGEX_BYTES_A_BYTE * (int64_t)pattern.n;
    struct shim_regex *program = shim_regex_new(pattern.p ? pattern.p : "", pattern.n, most_bytes, why, sizeof(why));
    if (!program)
        return err_set(e, ERR_BAD_DATA, "error parsing regexp: %s", why);
    size_t groups_bytes = (shim_regex_groups(program) + 1) * sizeof(struct shim_span);
    if (shim_regex_size(program) > REGEX_GROUPS_BYTES / groups_bytes) {
        shim_regex_free(program);
        return err_set(e, ERR_BAD_DATA, "error parsing regexp: expression too large: too many groups");
    }
    struct regex *r = mem_zalloc(sizeof(*r));
    r->program = program;
    r->bytes = mem_alloc(pattern.n);
    find_literals(r, pattern);
    find_prefix(r, pattern);
    *ret = r;
    return 0;
}

void regex_free(struct regex *r)
{
    if (!r)
        return;
    shim_regex_free(r->program);
    mem_free(r->literals);
    mem_free(r->bytes);
    mem_free(r);
}

bool regex_match(const struct regex *r, struct str text)
{
    for (size_t i = 0; i < r->literals_n; i++)
        if (str_eq(text, r->literals[i]))
            return true;
    if (r->literals_n || !str_has_prefix(text, r->prefix))
        return false;
    return shim_regex_match(r->program, text.p, text.n, NULL, 0);
}

size_t regex_size(const struct regex *r)
{
    return REGEX_SIZE_LEAST + shim_regex_size(r->program);
}

size_t regex_literals(const struct regex *r, const struct str **ret)
{
    *ret = r->literals;
    return r->literals_n;
}

struct str regex_prefix(const struct regex *r)
{
    return r->prefix;
}

/* The run of letters, digits and underscores at the start of `s`. */
static size_t name_length(struct str s)
{
    size_t n = 0;
    while (n < s.n) {
        uint32_t c;
        size_t length = utf8_decode(s.p + n, s.n - n, &c);
        bool ascii = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
        if (length == 0 || !(ascii || (c >= 0x80 && shim_is_letter_or_digit(s.p + n, length))))
            break;
        n += length;
    }
    return n;
}

/* The group a template names: by number unless the name has a leading zero, else by name; -1 for none. */
static int64_t group_of(const struct regex *r, struct str name)
{
    int64_t number = 0;
    for (size_t i = 0; i < name.n && number >= 0; i++) {
        bool digit = char_is_digit(name.p[i]);
        number = digit && number < 100000000 ? number * 10 + (name.p[i] - '0') : -1;
    }
    if (name.n > 1 && name.p[0] == '0')
        number = -1;
    return number >= 0 ? number : shim_regex_group_named(r->program, name.p, name.n);
}

/* What follows a '$': sets the name and returns the bytes used, or 0 when it names nothing and the '$' is itself. */
static size_t take_template_name(struct str after, struct str *ret_name)
{
    bool brace = after.n && after.p[0] == '{';
    struct str from = {after.p + brace, after.n - brace};
    size_t n = name_length(from);
    if (n == 0 || (brace && (n == from.n || from.p[n] != '}')))
        return 0;
    *ret_name = (struct str){from.p, n};
    return n + (brace ? 2 : 0);
}

/* Go's Regexp.Expand. */
static void expand(const struct regex *r, const struct shim_span *groups, size_t groups_n, struct str template,
                   struct strbuf *out)
{
    for (size_t i = 0; i < template.n;) {
        if (template.p[i] != '$') {
            strbuf_add_char(out, template.p[i++]);
            continue;
        }
        struct str after = {template.p + i + 1, template.n - i - 1}, name = {NULL, 0};
        i++;
        if (after.n && after.p[0] == '$') {
            strbuf_add_char(out, '$');
            i++;
            continue;
        }
        size_t used = take_template_name(after, &name);
        if (used == 0) {
            strbuf_add_char(out, '$');
            continue;
        }
        i += used;
        int64_t group = group_of(r, name);
        if (group >= 0 && (uint64_t)group < groups_n && groups[group].p)
            strbuf_add(out, groups[group].p, groups[group].n);
    }
}

bool regex_replace(const struct regex *r, struct str text, struct str replacement, struct strbuf *out)
{
    if (!str_has_prefix(text, r->prefix))
        return false;
    size_t groups_n = shim_regex_groups(r->program) + 1;
    struct shim_span few[16];
    struct shim_span *groups = groups_n <= sizeof(few) / sizeof(few[0]) ? few : mem_alloc(groups_n * sizeof(*groups));
    bool matched = shim_regex_match(r->program, text.p, text.n, groups, groups_n);
    if (matched)
        expand(r, groups, groups_n, replacement, out);
    if (groups != few)
        mem_free(groups);
    return matched;
}

int matcher_init(struct matcher *m, enum matcher_op op, struct str name, struct str value, struct err *e)
{
    struct regex *regex = NULL;
    if (op == MATCH_RE || op == MATCH_NRE) {
        int code = regex_new(value, &regex, e);
        if (code)
            return code;
    }
    *m = (struct matcher){op, name, value, regex};
    return 0;
}

void matcher_done(struct matcher *m)
{
    regex_free(m->regex);
    m->regex = NULL;
}

bool matcher_accepts(const struct matcher *m, struct str value)
{
    switch (m->op) {
    case MATCH_EQ:
        return str_eq(m->value, value);
    case MATCH_NE:
        return !str_eq(m->value, value);
    case MATCH_RE:
        return regex_match(m->regex, value);
    case MATCH_NRE:
        return !regex_match(m->regex, value);
    }
    MUST(!"a matcher has an operator");
    return false;
}

bool matchers_accept(const struct matcher *m, size_t n, const struct labels *l)
{
    for (size_t i = 0; i < n; i++)
        if (!matcher_accepts(&m[i], labels_get(l, m[i].name)))
            return false;
    return true;
}
