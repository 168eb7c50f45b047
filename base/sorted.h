/* Looking a number up in an ascending array. */
#ifndef BASE_SORTED_H
#define BASE_SORTED_H

#include <stdbool.h>
#include <stdint.h>

/* Is `x` one of the n numbers, which do not fall? */
static inline bool sorted_has(const uint32_t *ascending, uint32_t n, uint32_t x)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (ascending[middle] < x)
            low = middle + 1;
        else
            high = middle;
    }
    return low < n && ascending[low] == x;
}

#endif
