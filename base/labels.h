/*
 * Label sets: pairs sorted by name, names unique, no empty values (an empty value means the label is absent, as in
 * Prometheus). A struct labels borrows its strings and its array from an arena, the catalog or a request.
 *
 * Canonical bytes, the one identity of a set everywhere (maps, seeds, catalog, view identities):
 *     for each pair in order: u32 name length, name bytes, u32 value length, value bytes   (little-endian)
 */
#ifndef BASE_LABELS_H
#define BASE_LABELS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/str.h"

#define LABEL_NAME "__name__"

struct label {
    struct str name, value;
};
struct labels {
    const struct label *v;
    uint32_t n;
};

struct str labels_get(const struct labels *l, struct str name); /* empty when absent */
int labels_cmp(const struct labels *a,
               const struct labels *b); /* Prometheus' order: pair by pair, name then value, then n */
bool labels_eq(const struct labels *a, const struct labels *b);
uint64_t labels_hash(const struct labels *l, uint64_t seed); /* XXH3-64 of the canonical bytes */

/* Sort pairs in place by name. Returns false if a name repeats. */
bool labels_sort(struct label *v, uint32_t n);

size_t labels_canonical_bytes(const struct labels *l); /* length */
void labels_canonical_write(const struct labels *l, uint8_t *ret);
/* Read them back, borrowing the strings from `bytes`; pairs go into `a`. ERR_CORRUPT if malformed or unsorted. */
struct err;
int labels_canonical_read(const uint8_t *bytes, size_t n, struct arena *a, struct labels *ret, struct err *e);

/* Derived sets; results live in `a` (NULL v only when n == 0; on arena failure n == 0 and a->failed). */
void labels_keep(const struct labels *l, const struct str *names, size_t names_n, struct arena *a, struct labels *ret);
void labels_drop(const struct labels *l, const struct str *names, size_t names_n, struct arena *a, struct labels *ret);
void labels_drop_name(const struct labels *l, struct arena *a, struct labels *ret); /* shares l's array where it can */
/* With one label set (empty value: removed). */
void labels_with(const struct labels *l, struct str name, struct str value, struct arena *a, struct labels *ret);

/* {a="x", b="y"} with Go quoting and quoted UTF-8 names; name{...} when __name__ is a legacy metric name. */
void labels_print(const struct labels *l, struct strbuf *out);

bool label_name_legacy(struct str name);  /* [a-zA-Z_][a-zA-Z0-9_]* */
bool metric_name_legacy(struct str name); /* also ':' */

#endif
