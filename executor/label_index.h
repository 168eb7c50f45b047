/*
 * Label sets as keys: which labels of a series count (by, without, on, ignoring), and a numbering of the different sets
 * that occur, 0, 1, 2, ... in order of appearance. Sets are hashed, then compared pair by pair: two different sets are
 * never one, whatever their text looks like when it is written one after the other.
 */
#ifndef EXECUTOR_LABEL_INDEX_H
#define EXECUTOR_LABEL_INDEX_H

#include "base/map.h"
#include "executor/eval.h"

enum label_key_kind {
    LABEL_KEY_ALL = 1, /* every label */
    LABEL_KEY_ONLY,    /* by, on: the names given */
    LABEL_KEY_BUT,     /* all but the names given */
    LABEL_KEY_BUT_NAME /* without, ignoring: all but the names given and __name__ */
};
struct label_key {
    enum label_key_kind kind;
    const struct str *names; /* borrowed; any order */
    uint32_t names_n;
};

struct label_index {
    struct map map;
    struct labels *sets; /* [n], in the arena */
    uint32_t n;
    size_t cap;
    struct label *scratch;
    size_t scratch_cap;
    struct arena *arena;
};
void label_index_init(struct label_index *x, struct arena *a);
void label_index_done(struct label_index *x); /* the sets stay in the arena */
/* The number of the labels of `l` that count under `key`; x->n grew when the set is new. ERR_LIMIT. */
int label_index_number(struct label_index *x, const struct label_key *key, const struct labels *l, uint32_t *ret,
                       struct err *e);
/* The labels of `l` that count under `key`, in the arena. */
void label_key_take(const struct label_key *key, const struct labels *l, struct arena *a, struct labels *ret);

/* Series of a vector by the number of their set; those of one group keep their order. */
struct label_groups {
    uint32_t n;
    const uint32_t *of;      /* [series]: the group */
    const uint32_t *starts;  /* [n + 1], into members */
    const uint32_t *members; /* [series]: indices; group g has members[starts[g]] to members[starts[g + 1] - 1] */
};
/* Numbers the sets of all series into *ret_of. Several vectors may share an index. */
int label_groups_number(struct label_index *x, const struct label_key *key, const struct value *vector, struct eval *ev,
                        const uint32_t **ret_of, struct err *e);
/* Groups from numbers below groups_n. */
int label_groups_lay_out(struct eval *ev, const uint32_t *of, uint32_t series_n, uint32_t groups_n,
                         struct label_groups *ret, struct err *e);

#endif
