// The C++ library's sort and selection, for comparison.
#include <algorithm>
#include <cstddef>

extern "C" void peer_sort(double *v, size_t n)
{
    std::sort(v, v + n);
}

extern "C" double peer_nth(double *v, size_t n, size_t at)
{
    std::nth_element(v, v + at, v + n);
    return v[at];
}
