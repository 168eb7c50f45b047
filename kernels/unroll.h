/* Loops over arrays of vectors that must stay in registers: unrolled whole, whatever the optimizer's limits. Inside
 * kernels/_avx2.c and _avx512.c files only. */
#ifndef KERNELS_UNROLL_H
#define KERNELS_UNROLL_H

#ifdef __clang__
#define UNROLL_16 _Pragma("clang loop unroll(full)")
#define UNROLL_64 UNROLL_16
#else
#define UNROLL_16 _Pragma("GCC unroll 16")
#define UNROLL_64 _Pragma("GCC unroll 64")
#endif
#define UNROLL_INLINE static inline __attribute__((always_inline))

#endif
