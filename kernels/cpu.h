/*
 * Which vector code runs. The scalar code is the definition of every state's bytes; AVX2 and AVX-512 variants give the
 * same bytes, so the level is about time only. For each concern there is one table of pointers (the *_ops headers). It
 * holds the scalar functions until cpu.c's constructor, before main, puts variants over those that the bench says pay.
 *
 * The level is the highest that processor and operating system support, lowered by the environment variable
 * MULLION_CPU=scalar|avx2|avx512, which is read once, at start. Other values of it change nothing.
 */
#ifndef KERNELS_CPU_H
#define KERNELS_CPU_H

enum cpu_level { CPU_SCALAR = 1, CPU_AVX2, CPU_AVX512 };

/* The highest level of this machine, without MULLION_CPU. AVX2 means also BMI2 and FMA; AVX512 means also F, BW, DQ,
 * VL, CD, VBMI, VBMI2 and VPOPCNTDQ. */
enum cpu_level cpu_most(void);
/* The level in use. */
enum cpu_level cpu_level(void);
/* Uses this level, or cpu_most if that is lower; returns which. For tests and benchmarks: no kernel may run meanwhile.
 */
enum cpu_level cpu_force(enum cpu_level level);
/* "scalar", "avx2", "avx512" */
const char *cpu_level_name(enum cpu_level level);

#endif
