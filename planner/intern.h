/*
 * Numbers for things by content: the same bytes get the same number, new ones the next. Every "are these one?" of the
 * planner (sources, demands, states, chains, physical nodes) is asked here, so numbers rise in order of first
 * appearance and a plan does not depend on addresses or hash seeds.
 *
 * Keys are built from fields, one by one, never from whole structs (padding). They are copied into the arena.
 */
#ifndef PLANNER_INTERN_H
#define PLANNER_INTERN_H

#include "base/arena.h"
#include "base/map.h"
#include "base/str.h"

struct intern {
    struct map index;
    struct str *keys;
    uint32_t n;
    size_t cap;
    struct arena *arena;
};

void intern_init(struct intern *t, struct arena *a);
void intern_done(struct intern *t); /* what is not in the arena */
/* The number of key[0..n). *ret_added (may be NULL) says whether it is new. */
uint32_t intern(struct intern *t, const void *key, size_t n, bool *ret_added);
/* The number, or -1 if it was never added. */
int64_t intern_find(const struct intern *t, const void *key, size_t n);

#endif
