#include "kernels/cpu.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "kernels/ops.h"

static const struct order_ops order_scalar = {.keys = order_keys_scalar,
                                              .values = order_values_scalar,
                                              .sort = order_sort_scalar,
                                              .select = order_select_scalar,
                                              .between = order_between_scalar};
struct order_ops order_ops;

static const struct frame_ops frame_scalar = {.unpack = frame_unpack_scalar,
                                              .add_up = frame_add_up_scalar,
                                              .line = frame_line_scalar,
                                              .to_doubles = frame_to_doubles_scalar,
                                              .correct = frame_correct_scalar,
                                              .decimal = frame_decimal_scalar,
                                              .near_decimal = frame_near_decimal_scalar,
                                              .rows = frame_rows_scalar,
                                              .widths = frame_widths_scalar};
struct frame_ops frame_ops;

static const struct qdecimal_ops qdecimal_scalar = {.groups = qdecimal_groups_scalar};
struct qdecimal_ops qdecimal_ops;

static const struct ddsketch_ops ddsketch_scalar = {.scan = ddsketch_scan_scalar,
                                                    .indexes = ddsketch_indexes_scalar,
                                                    .count_small = ddsketch_count_small_scalar,
                                                    .add_bytes = ddsketch_add_bytes_scalar,
                                                    .window_scan = ddsketch_window_scan_scalar,
                                                    .window_entries = ddsketch_window_entries_scalar};
struct ddsketch_ops ddsketch_ops;

static const struct hll_ops hll_scalar = {.coupons = hll_coupons_scalar,
                                          .item_coupons = hll_item_coupons_scalar,
                                          .raise = hll_raise_scalar,
                                          .histogram = hll_histogram_scalar,
                                          .used = hll_used_scalar,
                                          .steps = hll_steps_scalar,
                                          .sparse = hll_sparse_scalar};
struct hll_ops hll_ops;

struct counters_ops counters_ops;

static enum cpu_level most = CPU_SCALAR, used = CPU_SCALAR;

#if defined(__x86_64__)

/* Bits of leaf 7 (Intel SDM, volume 2, CPUID). */
enum { EBX_AVX2 = 1 << 5, EBX_BMI2 = 1 << 8, ECX_AVX512 = 1 << 1 | 1 << 6 | 1 << 14 };
#define EBX_AVX512                                                                                                     \
    (1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31) /* F, DQ, CD, BW, VL; ECX: VBMI, VBMI2, VPOPCNTDQ */
/* Register state the operating system saves, XCR0: SSE and AVX; opmask and the zmm registers' parts. */
enum { XCR0_AVX = 0x06, XCR0_AVX512 = 0xe6 };

static uint64_t saved_state(void)
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (uint64_t)high << 32 | low;
}

static enum cpu_level detect(void)
{
    const unsigned osxsave_avx_fma = 1u << 27 | 1u << 28 | 1u << 12;
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & osxsave_avx_fma) != osxsave_avx_fma)
        return CPU_SCALAR;
    uint64_t saved = saved_state();
    if ((saved & XCR0_AVX) != XCR0_AVX || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & EBX_AVX2) ||
        !(b & EBX_BMI2))
        return CPU_SCALAR;
    bool wide =
        (saved & XCR0_AVX512) == XCR0_AVX512 && (b & EBX_AVX512) == EBX_AVX512 && (c & ECX_AVX512) == ECX_AVX512;
    return wide ? CPU_AVX512 : CPU_AVX2;
}

static void put_variants(enum cpu_level level)
{
    if (level >= CPU_AVX2) {
        order_ops_avx2(&order_ops);
        frame_ops_avx2(&frame_ops);
        qdecimal_ops_avx2(&qdecimal_ops);
        ddsketch_ops_avx2(&ddsketch_ops);
        hll_ops_avx2(&hll_ops);
        counters_ops_avx2(&counters_ops);
    }
    if (level >= CPU_AVX512) {
        order_ops_avx512(&order_ops);
        frame_ops_avx512(&frame_ops);
        qdecimal_ops_avx512(&qdecimal_ops);
        ddsketch_ops_avx512(&ddsketch_ops);
        hll_ops_avx512(&hll_ops);
        counters_ops_avx512(&counters_ops);
    }
}

#else

static enum cpu_level detect(void)
{
    return CPU_SCALAR;
}

static void put_variants(enum cpu_level level)
{
}

#endif

const char *cpu_level_name(enum cpu_level level)
{
    return level == CPU_AVX512 ? "avx512" : level == CPU_AVX2 ? "avx2" : "scalar";
}

enum cpu_level cpu_most(void)
{
    return most;
}

enum cpu_level cpu_level(void)
{
    return used;
}

enum cpu_level cpu_force(enum cpu_level level)
{
    used = level < most ? level : most;
    order_ops = order_scalar;
    frame_ops = frame_scalar;
    qdecimal_ops = qdecimal_scalar;
    ddsketch_ops = ddsketch_scalar;
    hll_ops = hll_scalar;
    counters_ops = counters_scalar;
    put_variants(used);
    return used;
}

__attribute__((constructor)) static void cpu_start(void)
{
    const char *mask = getenv("MULLION_CPU");
    most = detect();
    enum cpu_level level = most;
    for (enum cpu_level l = CPU_SCALAR; mask && l <= CPU_AVX512; l++)
        if (strcmp(mask, cpu_level_name(l)) == 0)
            level = l;
    cpu_force(level);
}
