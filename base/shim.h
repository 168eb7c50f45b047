/*
 * What base/ takes from C++ libraries: RE2 and std::to_chars, behind plain C. Only base/'s own files include this.
 * Nothing here throws; all of it is thread-safe.
 */
#ifndef BASE_SHIM_H
#define BASE_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct shim_span {
    const char *p; /* NULL: this group took no part in the match */
    size_t n;
};

struct shim_regex; /* an RE2 program */
/* Compile with '.' matching newline. NULL on failure, then `why` holds the reason in the words of Go's regexp/syntax.
 */
struct shim_regex *shim_regex_new(const char *p, size_t n, int64_t max_bytes, char *why, size_t why_bytes);
void shim_regex_free(struct shim_regex *r); /* NULL-safe */
/* Anchored at both ends. groups[groups_n] (may be 0): the whole match, then each capturing group in order. */
bool shim_regex_match(const struct shim_regex *r, const char *p, size_t n, struct shim_span *groups, size_t groups_n);
size_t shim_regex_size(const struct shim_regex *r);   /* steps of its program */
size_t shim_regex_groups(const struct shim_regex *r); /* capturing groups, without the whole */
int shim_regex_group_named(const struct shim_regex *r, const char *p, size_t n); /* its number, or -1 */

/* Unicode classes of the one code point whose UTF-8 is p[n], from RE2's tables. */
bool shim_is_letter_or_digit(const char *p, size_t n); /* L or Nd: what Go allows in a group's name */
bool shim_is_graphic(const char *p, size_t n);         /* L, M, N, P or S: what strconv.Quote prints as it is */

/* The shortest digits that read back as v (finite, > 0), nearest to v: "d.ddde+XX". Returns the length, <= 32. */
size_t shim_shortest_digits(double v, char ret[32]);

#ifdef __cplusplus
}
#endif
#endif
