/*
 * Where in a JSON text a value stands: jansson keeps no places, so an error about a value looks it up afterwards by its
 * path. The text must be well-formed (jansson has read it); one pass, no allocation.
 */
#ifndef PLAN_JSON_PLACE_H
#define PLAN_JSON_PLACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/str.h"

struct json_step {
    const char *key; /* member of an object; NULL: item `index` of an array */
    size_t index;
};

/* 1-based line and column (in characters) of the value at path[0..n), or of the last step's key when of_key. false: no
 * such place (a key written with escapes, say). */
bool json_place(struct str text, const struct json_step *path, uint32_t n, bool of_key, uint32_t *ret_line,
                uint32_t *ret_column);

#endif
