/* Arenas: alignment, the limit, growth, reset; and the heap's growing arrays. */
#include "base/arena.h"

#include <string.h>

#include "base/alloc.h"
#include "base/err.h"
#include "suite.h"

START_TEST(memory_is_aligned_and_apart)
{
    struct arena a;
    arena_init(&a, 0);
    uint8_t *blocks[300];
    for (size_t i = 0; i < 300; i++) {
        blocks[i] = arena_alloc(&a, i);
        ck_assert_ptr_nonnull(blocks[i]);
        ck_assert_uint_eq((uintptr_t)blocks[i] % 16, 0);
        memset(blocks[i], (int)(i & 255), i);
    }
    for (size_t i = 0; i < 300; i++)
        for (size_t j = 0; j < i; j++)
            ck_assert_uint_eq(blocks[i][j], i & 255);
    ck_assert_ptr_ne(arena_alloc(&a, 0), arena_alloc(&a, 0));
    arena_done(&a);
}
END_TEST

START_TEST(limit_is_never_passed_and_remembered) /* invariant 2 */
{
    struct arena a;
    struct err e = {0};
    arena_init(&a, 1 << 20);
    ck_assert_int_eq(arena_check(&a, "the query", &e), 0);
    size_t got = 0;
    while (arena_alloc(&a, 1000))
        got++;
    /* 1000 bytes take 1008 with alignment. */
    ck_assert_uint_eq(got, (1 << 20) / 1008);
    ck_assert_uint_le(a.used_bytes, 1 << 20);
    ck_assert(arena_failed(&a));
    ck_assert_int_eq(arena_check(&a, "the query", &e), ERR_LIMIT);
    ck_assert_ptr_nonnull(strstr(e.message, "the query uses more than 1 MiB"));
    arena_reset(&a);
    ck_assert(!arena_failed(&a));
    ck_assert_uint_eq(a.used_bytes, 0);
    ck_assert_ptr_nonnull(arena_alloc(&a, 1 << 20));
    ck_assert_ptr_null(arena_alloc(&a, 1));
    arena_done(&a);
}
END_TEST

START_TEST(overflowing_sizes_are_refused)
{
    struct arena a;
    arena_init(&a, 0);
    ck_assert_ptr_null(arena_alloc(&a, SIZE_MAX));
    ck_assert(arena_failed(&a));
    arena_reset(&a);
    ck_assert_ptr_null(arena_alloc_n(&a, SIZE_MAX / 4, 8));
    ck_assert(arena_failed(&a));
    arena_reset(&a);
    size_t cap = 0;
    ck_assert_ptr_null(arena_grow(&a, NULL, &cap, SIZE_MAX / 2, 16));
    ck_assert_uint_eq(cap, 0);
    arena_done(&a);
}
END_TEST

START_TEST(copies_text_and_growth)
{
    struct arena a;
    arena_init(&a, 0);
    ck_assert_str_eq(arena_strndup(&a, "abcdef", 3), "abc");
    ck_assert_str_eq(arena_strndup(&a, NULL, 0), "");
    ck_assert_str_eq(arena_printf(&a, "%s-%d", "n", 42), "n-42");
    uint32_t *v = NULL;
    size_t cap = 0;
    for (uint32_t i = 0; i < 10000; i++) {
        v = arena_grow(&a, v, &cap, i + 1, sizeof(*v));
        ck_assert_ptr_nonnull(v);
        v[i] = i;
    }
    for (uint32_t i = 0; i < 10000; i++)
        ck_assert_uint_eq(v[i], i);
    uint64_t *zeros = arena_zalloc(&a, 800);
    for (size_t i = 0; i < 100; i++)
        ck_assert_uint_eq(zeros[i], 0);
    arena_done(&a);
}
END_TEST

START_TEST(reset_serves_again_after_a_huge_chunk)
{
    struct arena a;
    arena_init(&a, 0);
    for (int round = 0; round < 3; round++) {
        memset(arena_alloc(&a, 3 << 20), 1, 3 << 20);
        memset(arena_alloc(&a, 100), 2, 100);
        arena_reset(&a);
        memset(arena_alloc(&a, 100), 3, 100);
    }
    arena_done(&a);
    arena_done(&a);
}
END_TEST

START_TEST(heap_grows_and_counts)
{
    size_t cap = 0;
    uint64_t *v = NULL;
    for (uint64_t i = 0; i < 5000; i++) {
        v = mem_grow(v, &cap, i + 1, sizeof(*v));
        v[i] = i * i;
    }
    ck_assert_uint_ge(cap, 5000);
    for (uint64_t i = 0; i < 5000; i++)
        ck_assert_uint_eq(v[i], i * i);
    struct mem_stats stats;
    mem_stats_read(&stats);
    ck_assert_uint_gt(stats.resident_bytes + 1, stats.allocated_bytes > 0);
    mem_free(v);
    mem_free(NULL);
    void *empty = mem_alloc(0), *copy = mem_dup("xyz", 4);
    ck_assert_ptr_nonnull(empty);
    ck_assert_str_eq(copy, "xyz");
    mem_free(empty);
    mem_free(copy);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("base/arena");
    TCase *all = tcase_create("all");
    tcase_add_test(all, memory_is_aligned_and_apart);
    tcase_add_test(all, limit_is_never_passed_and_remembered);
    tcase_add_test(all, overflowing_sizes_are_refused);
    tcase_add_test(all, copies_text_and_growth);
    tcase_add_test(all, reset_serves_again_after_a_huge_chunk);
    tcase_add_test(all, heap_grows_and_counts);
    suite_add_tcase(suite, all);
    return suite_run(suite);
}
