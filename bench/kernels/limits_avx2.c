#define LIMITS limit_ops_avx2
#include "bench/kernels/limits_loops.h"
