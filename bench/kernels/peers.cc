// C++ libraries' sorts and selection.
#include "bench/kernels/peers.h"

#include <algorithm>

#ifdef BENCH_HAS_HWY
#include <hwy/contrib/sort/vqsort.h>
#endif

bool peer_has_vqsort(void)
{
#ifdef BENCH_HAS_HWY
    return true;
#else
    return false;
#endif
}

void peer_vqsort(double *v, size_t n)
{
#ifdef BENCH_HAS_HWY
    static hwy::Sorter sorter;
    sorter(v, n, hwy::SortAscending());
#else
    (void)v;
    (void)n;
#endif
}

void peer_sort(double *v, size_t n)
{
    std::sort(v, v + n);
}

double peer_nth(double *v, size_t n, size_t at)
{
    std::nth_element(v, v + at, v + n);
    return v[at];
}
