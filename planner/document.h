/*
 * A YAML document (JSON is YAML) as a tree with places, and the readers that turn its scalars into values. The one file
 * that knows libyaml is document.c.
 *
 * Reading never stops at the first mistake: every reader adds a line "file:line:column: sentence" to the problems and
 * goes on, so that a user mends a file once. Bounded whatever the bytes: nodes and depth are limited while loading, an
 * alias shares the node it names (it may not name a node it stands in), and a walk that visits more than
 * DOCUMENT_VISITS_MAX nodes through aliases ends with a problem. Mappings with a key twice are a problem.
 *
 * Everything lives in the arena given. One thread at a time.
 */
#ifndef PLANNER_DOCUMENT_H
#define PLANNER_DOCUMENT_H

#include "planner/planner.h"

enum { DOCUMENT_NODES_MAX = 4 << 20, DOCUMENT_DEPTH_MAX = 64, DOCUMENT_VISITS_MAX = 16 << 20, PROBLEMS_MAX = 10000 };

enum node_kind { NODE_SCALAR = 1, NODE_LIST, NODE_MAPPING };

struct node;
struct node_item {
    const struct node *key; /* NULL in a list */
    const struct node *value;
    const struct node_item *next;
};
struct node {
    enum node_kind kind;
    uint32_t line, column; /* 1-based; column in characters */
    struct str text;       /* scalar, NUL-terminated */
    bool verbatim; /* the scalar stands in the file as it is: `text_column` is the column of its first character */
    uint32_t text_column;
    const struct node_item *first; /* list, mapping */
    uint32_t n;
};

struct document_problem; /* one found, until they are listed */
struct document {
    const char *file;
    struct arena *arena;
    const struct node *root; /* NULL: the text could not be read */
    uint64_t visits;
    struct document_problem *found;
    size_t found_cap;
    uint32_t found_n; /* may be more than are kept */
};

/* Load `text` (borrowed until this returns). `root` is NULL when there is no tree to walk; the problem is kept. */
void document_load(struct document *d, struct str text, const char *file, struct arena *arena);
/* List the problems found, by place, and free them. Returns their number. */
uint32_t document_done(struct document *d, struct problems *problems);

/* One problem at a node's place (`at` NULL: at 1:1). Counted always, kept up to PROBLEMS_MAX. */
void document_problem(struct document *d, const struct node *at, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void document_problem_at(struct document *d, uint32_t line, uint32_t column, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
/* Count a visited node; false (once with a problem) when aliases make the walk too long. */
bool document_visit(struct document *d);

/* Is it a mapping (a list)? A problem "`what` must be ..." when not. */
bool node_is_mapping(struct document *d, const struct node *n, const char *what);
bool node_is_list(struct document *d, const struct node *n, const char *what);
/* A problem for each key that is not in known[], and for each key that is there twice. n is a mapping. */
void node_check_keys(struct document *d, const struct node *n, const char *what, const char *const *known,
                     size_t known_n);
/* A problem for each key that is there twice; for mappings whose keys are the user's. */
void node_check_unique(struct document *d, const struct node *n, const char *what);
/* The value of `key` in a mapping, or NULL. */
const struct node *node_get(const struct node *n, const char *key);

/* Scalars. On a problem it is listed, false is returned and *ret is untouched. `what` names the key for the message. */
bool node_read_text(struct document *d, const struct node *n, const char *what, struct str *ret);
bool node_read_duration(struct document *d, const struct node *n, const char *what, int64_t *ret_ms);
bool node_read_number(struct document *d, const struct node *n, const char *what, double *ret);
bool node_read_count(struct document *d, const struct node *n, const char *what, uint64_t *ret); /* 1..1e12 */
bool node_read_bool(struct document *d, const struct node *n, const char *what, bool *ret);
bool node_read_size(struct document *d, const struct node *n, const char *what, uint64_t *ret_bytes);

#endif
