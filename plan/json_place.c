#include "plan/json_place.h"

/* A cursor over text that is known to be JSON; the bounds are for texts that are not. */
struct cursor {
    const char *p, *end;
};

static void skip_space(struct cursor *c)
{
    while (c->p < c->end && (*c->p == ' ' || *c->p == '\t' || *c->p == '\n' || *c->p == '\r'))
        c->p++;
}

static bool at(struct cursor *c, char wanted)
{
    skip_space(c);
    return c->p < c->end && *c->p == wanted;
}

/* The bytes between the quotes, escapes as written. */
static struct str skip_string(struct cursor *c)
{
    const char *start = ++c->p;
    while (c->p < c->end && *c->p != '"')
        c->p += *c->p == '\\' && c->p + 1 < c->end ? 2 : 1;
    struct str inside = {start, (size_t)(c->p - start)};
    if (c->p < c->end)
        c->p++;
    return inside;
}

/* Any value, by counting brackets outside strings. */
static void skip_value(struct cursor *c)
{
    uint32_t depth = 0;
    skip_space(c);
    while (c->p < c->end) {
        char here = *c->p;
        bool closes = here == '}' || here == ']';
        if (depth == 0 && (closes || here == ','))
            return;
        if (here == '"') {
            skip_string(c);
            continue;
        }
        if (here == '{' || here == '[')
            depth++;
        if (closes)
            depth--;
        c->p++;
    }
}

/* From the '{' to the value of `key`; *ret_key is where the key's quote stands. */
static bool enter_member(struct cursor *c, const char *key, const char **ret_key)
{
    if (!at(c, '{'))
        return false;
    do {
        c->p++;
        if (!at(c, '"'))
            return false;
        *ret_key = c->p;
        struct str name = skip_string(c);
        if (!at(c, ':'))
            return false;
        c->p++;
        skip_space(c);
        if (str_eq(name, str_of(key)))
            return true;
        skip_value(c);
    } while (at(c, ','));
    return false;
}

static bool enter_item(struct cursor *c, size_t index)
{
    if (!at(c, '['))
        return false;
    c->p++;
    for (size_t i = 0; i < index; i++) {
        skip_value(c);
        if (!at(c, ','))
            return false;
        c->p++;
    }
    skip_space(c);
    return c->p < c->end;
}

bool json_place(struct str text, const struct json_step *path, uint32_t n, bool of_key, uint32_t *ret_line,
                uint32_t *ret_column)
{
    struct cursor c = {text.p, text.p + text.n};
    const char *key = text.p;
    for (uint32_t i = 0; i < n; i++) {
        bool found = path[i].key ? enter_member(&c, path[i].key, &key) : enter_item(&c, path[i].index);
        if (!found)
            return false;
    }
    skip_space(&c);
    const char *place = of_key && n > 0 ? key : c.p;
    *ret_line = *ret_column = 1;
    for (const char *p = text.p; p < place; p++) {
        bool continues = ((unsigned char)*p & 0xc0) == 0x80;
        *ret_column = *p == '\n' ? 1 : *ret_column + !continues;
        *ret_line += *p == '\n';
    }
    return true;
}
