#include "plan/json_in.h"

#include <stdarg.h>
#include <stdio.h>

int json_in_init(struct json_in *in, struct str text, struct arena *a, struct err *e)
{
    json_error_t problem;
    *in = (struct json_in){.text = text, .arena = a, .e = e};
    in->root = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL, &problem);
    if (!in->root) {
        uint32_t line = problem.line > 0 ? (uint32_t)problem.line : 0;
        uint32_t column = problem.column > 0 ? (uint32_t)problem.column : 0;
        in->rc = err_set_at(e, ERR_BAD_DATA, line, column, "line %u: not JSON: %s", line, problem.text);
    }
    return in->rc;
}

void json_in_done(struct json_in *in)
{
    json_decref(in->root);
}

void json_in_fail(struct json_in *in, const char *key, int code, const char *format, ...)
{
    if (in->rc != 0)
        return;
    char what[sizeof in->e->message];
    va_list args;
    va_start(args, format);
    vsnprintf(what, sizeof what, format, args);
    va_end(args);
    uint32_t line = 0, column = 0;
    if (key)
        json_in_enter(in, key);
    bool placed = json_place(in->text, in->path, in->depth, key != NULL, &line, &column);
    if (key)
        json_in_leave(in);
    if (!placed) /* the key is missing, or written with escapes: its object */
        json_place(in->text, in->path, in->depth, false, &line, &column);
    in->rc = err_set_at(in->e, code, line, column, "line %u, column %u: %s", line, column, what);
}

void json_in_enter(struct json_in *in, const char *key)
{
    MUST(in->depth < JSON_IN_DEPTH);
    in->path[in->depth++] = (struct json_step){.key = key};
}

void json_in_enter_item(struct json_in *in, size_t index)
{
    MUST(in->depth < JSON_IN_DEPTH);
    in->path[in->depth++] = (struct json_step){.index = index};
}

void json_in_leave(struct json_in *in)
{
    in->depth--;
}

bool json_in_keys(struct json_in *in, const json_t *o, const char *const *keys)
{
    if (in->rc != 0)
        return false;
    if (!json_is_object(o)) {
        json_in_fail(in, NULL, ERR_BAD_DATA, "an object is expected here");
        return false;
    }
    /* jansson iterates over mutable objects only. */
    json_t *object = json_incref((json_t *)(uintptr_t)o);
    const char *key;
    json_t *value;
    json_object_foreach(object, key, value)
    {
        const char *const *known = keys;
        while (*known && strcmp(*known, key) != 0)
            known++;
        if (!*known)
            json_in_fail(in, key, ERR_BAD_DATA, "unknown key \"%.80s\"", key);
    }
    json_decref(object);
    return in->rc == 0;
}

bool json_in_has(const json_t *o, const char *key)
{
    return json_object_get(o, key) != NULL;
}

bool json_in_is_null(const json_t *o, const char *key)
{
    return json_is_null(json_object_get(o, key));
}

static const json_t *member(struct json_in *in, const json_t *o, const char *key)
{
    if (in->rc != 0)
        return NULL;
    const json_t *value = json_object_get(o, key);
    if (!value)
        json_in_fail(in, key, ERR_BAD_DATA, "\"%s\" is missing", key);
    return value;
}

const json_t *json_in_object(struct json_in *in, const json_t *o, const char *key)
{
    const json_t *value = member(in, o, key);
    if (value && !json_is_object(value))
        json_in_fail(in, key, ERR_BAD_DATA, "\"%s\" must be an object", key);
    return in->rc == 0 ? value : NULL;
}

const json_t *json_in_array(struct json_in *in, const json_t *o, const char *key, size_t max_n, uint32_t *ret_n)
{
    *ret_n = 0;
    const json_t *value = member(in, o, key);
    if (value && !json_is_array(value))
        json_in_fail(in, key, ERR_BAD_DATA, "\"%s\" must be an array", key);
    else if (value && json_array_size(value) > max_n)
        json_in_fail(in, key, ERR_LIMIT, "\"%s\" has %zu items, the most is %zu", key, json_array_size(value), max_n);
    if (in->rc != 0)
        return NULL;
    *ret_n = (uint32_t)json_array_size(value);
    return value;
}

static int64_t check_i64(struct json_in *in, const char *key, const json_t *value, int64_t min, int64_t max)
{
    if (!value)
        return 0;
    int64_t v = json_integer_value(value);
    if (!json_is_integer(value) || v < min || v > max)
        json_in_fail(in, key, ERR_BAD_DATA, "%s must be a whole number from %lld to %lld", key ? key : "an item",
                     (long long)min, (long long)max);
    return in->rc == 0 ? v : 0;
}

int64_t json_in_i64(struct json_in *in, const json_t *o, const char *key, int64_t min, int64_t max)
{
    return check_i64(in, key, member(in, o, key), min, max);
}

uint32_t json_in_u32(struct json_in *in, const json_t *o, const char *key, uint32_t max)
{
    return (uint32_t)json_in_i64(in, o, key, 0, max);
}

double json_in_f64(struct json_in *in, const json_t *o, const char *key)
{
    const json_t *value = member(in, o, key);
    if (value && !json_is_number(value))
        json_in_fail(in, key, ERR_BAD_DATA, "\"%s\" must be a number", key);
    return in->rc == 0 ? json_number_value(value) : 0;
}

static struct str check_str(struct json_in *in, const char *key, const json_t *value)
{
    if (value && !json_is_string(value))
        json_in_fail(in, key, ERR_BAD_DATA, "%s must be a string", key ? key : "an item");
    if (!value || in->rc != 0)
        return (struct str){0};
    size_t n = json_string_length(value);
    const char *copy = arena_strndup(in->arena, json_string_value(value), n);
    if (!copy) {
        in->rc = arena_check(in->arena, "plan", in->e);
        return (struct str){0};
    }
    return (struct str){copy, n};
}

struct str json_in_str(struct json_in *in, const json_t *o, const char *key)
{
    return check_str(in, key, member(in, o, key));
}

int64_t json_in_item_i64(struct json_in *in, const json_t *item, int64_t min, int64_t max)
{
    return in->rc == 0 ? check_i64(in, NULL, item, min, max) : 0;
}

struct str json_in_item_str(struct json_in *in, const json_t *item)
{
    return check_str(in, NULL, item);
}
