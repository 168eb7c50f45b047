/*
 * Reading JSON fields with one error at the end: the first thing that is wrong is kept, with its path turned into line
 * and column, and every getter after it yields zeros, so a reader of an object is a list of fields. The one place that
 * knows jansson. Strict: duplicate and unknown keys, wrong types and numbers out of range are errors. Inside plan/
 * only.
 */
#ifndef PLAN_JSON_IN_H
#define PLAN_JSON_IN_H

#include <jansson.h>

#include "base/arena.h"
#include "base/err.h"
#include "plan/json_place.h"

enum { JSON_IN_DEPTH = 12 };

struct json_in {
    struct str text;
    struct arena *arena; /* strings are copied here */
    json_t *root;
    struct err *e;
    int rc; /* 0 until something is wrong */
    struct json_step path[JSON_IN_DEPTH];
    uint32_t depth;
};

/* Parse text; ERR_BAD_DATA with jansson's place. json_in_done always. */
int json_in_init(struct json_in *in, struct str text, struct arena *a, struct err *e);
void json_in_done(struct json_in *in);

/* Record an error at `key` of the current place (NULL: at the place itself), unless there is one already. */
void json_in_fail(struct json_in *in, const char *key, int code, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/* Go into and out of a member or item, for error places. */
void json_in_enter(struct json_in *in, const char *key);
void json_in_enter_item(struct json_in *in, size_t index);
void json_in_leave(struct json_in *in);

/* `o` must be an object whose keys are all among keys[] (NULL-terminated). */
bool json_in_keys(struct json_in *in, const json_t *o, const char *const *keys);
bool json_in_has(const json_t *o, const char *key);
bool json_in_is_null(const json_t *o, const char *key);

/* The member, which must be there and of that kind. NULL or zeros after a failure. */
const json_t *json_in_object(struct json_in *in, const json_t *o, const char *key);
const json_t *json_in_array(struct json_in *in, const json_t *o, const char *key, size_t max_n, uint32_t *ret_n);
int64_t json_in_i64(struct json_in *in, const json_t *o, const char *key, int64_t min, int64_t max);
uint32_t json_in_u32(struct json_in *in, const json_t *o, const char *key, uint32_t max);
double json_in_f64(struct json_in *in, const json_t *o, const char *key);
struct str json_in_str(struct json_in *in, const json_t *o, const char *key);
/* Items of the current array. */
int64_t json_in_item_i64(struct json_in *in, const json_t *item, int64_t min, int64_t max);
struct str json_in_item_str(struct json_in *in, const json_t *item);

#endif
