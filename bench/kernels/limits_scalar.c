#define LIMITS limit_ops_scalar
#include "bench/kernels/limits_loops.h"
