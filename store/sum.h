/* The checksum of every block of this room: XXH3-64 (seed 0) of the bytes, the 8-byte field that holds it read as 0. */
#ifndef STORE_SUM_H
#define STORE_SUM_H

#include <stddef.h>
#include <stdint.h>

uint64_t store_sum(const void *bytes, size_t n, size_t field_at); /* field_at + 8 <= n */
/* XXH3-64 of a key and the bytes kept under it. */
uint64_t store_sum_keyed(const void *key, size_t key_bytes, const void *bytes, size_t n);

#endif
