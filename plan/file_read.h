/* The reader's two halves. Inside plan/ only. */
#ifndef PLAN_FILE_READ_H
#define PLAN_FILE_READ_H

#include "plan/json_in.h"
#include "plan/plan.h"

/* Zeroed room for n items in the plan's arena; NULL (and in->rc) at its limit. */
void *read_room(struct json_in *in, size_t n, size_t item_bytes);
/* Item i of `array`, entered (json_in_leave after it); it must be an object with these keys. NULL after a failure. */
const json_t *read_item(struct json_in *in, const json_t *array, const char *name, uint32_t i, const char *const *keys);
void read_item_done(struct json_in *in);
void read_queries(struct json_in *in, const json_t *root, struct plan *p);

#endif
