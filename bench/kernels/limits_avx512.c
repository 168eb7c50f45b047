#define LIMITS limit_ops_avx512
#include "bench/kernels/limits_loops.h"
