/* Valid expressions for property tests: a list of varied ones, and a generator. */
#ifndef TESTS_PROMQL_EXPRESSIONS_H
#define TESTS_PROMQL_EXPRESSIONS_H

#include <stdint.h>

#include "base/str.h"

extern const char *const expressions[];
extern const size_t expressions_n;

/* A random well-typed expression; the seed moves on. */
void generate_expression(uint64_t *seed, struct strbuf *out);
uint64_t random_next(uint64_t *seed);

#endif
