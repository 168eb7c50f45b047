#include "store/sum.h"

/* The streaming state is on the stack: xxHash calls that "static linking", which only means its size is compiled in. */
#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "base/err.h"

uint64_t store_sum(const void *bytes, size_t n, size_t field_at)
{
    static const uint8_t zero[8];
    MUST(field_at <= n && n - field_at >= sizeof(zero));
    const uint8_t *p = bytes;
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, p, field_at);
    XXH3_64bits_update(&state, zero, sizeof(zero));
    XXH3_64bits_update(&state, p + field_at + sizeof(zero), n - field_at - sizeof(zero));
    return XXH3_64bits_digest(&state);
}

uint64_t store_sum_keyed(const void *key, size_t key_bytes, const void *bytes, size_t n)
{
    XXH3_state_t state;
    XXH3_64bits_reset(&state);
    XXH3_64bits_update(&state, key, key_bytes);
    XXH3_64bits_update(&state, bytes, n);
    return XXH3_64bits_digest(&state);
}
