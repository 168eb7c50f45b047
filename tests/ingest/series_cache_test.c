/* ingest/series_cache: a guess is always one that was put for the same hash, and a full bucket forgets one. */
#include "ingest/series_cache.h"

#include "store/catalog.h"
#include "suite.h"

/* Same bucket while there are fewer than 2^16 of them; tags differ. */
static uint64_t crowded(uint32_t i)
{
    return (uint64_t)(i + 1) << 32 | 7;
}

START_TEST(empty_cache_knows_nothing)
{
    struct series_cache c = {0};
    series_cache_prefetch(&c, 5);
    ck_assert_uint_eq(series_cache_find(&c, 5), SERIES_NONE);
    series_cache_done(&c);
}
END_TEST

START_TEST(newest_id_of_a_hash_is_found)
{
    struct series_cache c = {0};
    series_cache_put(&c, 5, 11);
    ck_assert_uint_eq(series_cache_find(&c, 5), 11);
    ck_assert_uint_eq(series_cache_find(&c, 6), SERIES_NONE);
    series_cache_put(&c, 5, 12);
    ck_assert_uint_eq(series_cache_find(&c, 5), 12);
    ck_assert_uint_eq(c.used, 1);
    series_cache_done(&c);
}
END_TEST

/* A tag of all ones is not a free slot, nor is a free slot a series. */
START_TEST(tags_of_all_ones)
{
    struct series_cache c = {0};
    uint64_t ones = UINT64_C(0xffffffff) << 32;
    series_cache_put(&c, 1, 0);
    ck_assert_uint_eq(series_cache_find(&c, ones | 2), SERIES_NONE);
    series_cache_put(&c, ones | 2, 3);
    ck_assert_uint_eq(series_cache_find(&c, ones | 2), 3);
    series_cache_done(&c);
}
END_TEST

START_TEST(full_bucket_forgets_one)
{
    struct series_cache c = {0};
    for (uint32_t i = 0; i < 9; i++)
        series_cache_put(&c, crowded(i), i);
    uint32_t known = 0;
    for (uint32_t i = 0; i < 9; i++) {
        uint32_t id = series_cache_find(&c, crowded(i));
        ck_assert(id == i || id == SERIES_NONE);
        known += id == i;
    }
    ck_assert_uint_eq(known, 8);
    ck_assert_uint_eq(series_cache_find(&c, crowded(8)), 8);
    series_cache_done(&c);
}
END_TEST

/* At most half full, so 20,000 series need 8,192 buckets of 8; growth stops there and nearly all are known. */
START_TEST(grows_with_what_is_put)
{
    struct series_cache c = {0};
    uint32_t known = 0;
    for (int round = 0; round < 3; round++)
        for (uint32_t i = 0; i < 20000; i++)
            series_cache_put(&c, (i + 1) * UINT64_C(0x9e3779b97f4a7c15), i);
    for (uint32_t i = 0; i < 20000; i++) {
        uint32_t id = series_cache_find(&c, (i + 1) * UINT64_C(0x9e3779b97f4a7c15));
        ck_assert(id == i || id == SERIES_NONE);
        known += id == i;
    }
    ck_assert_uint_ge(known, 19800);
    ck_assert_uint_eq(c.buckets_n, 8192);
    series_cache_done(&c);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("ingest/series_cache");
    TCase *tcase = tcase_create("series_cache");
    tcase_add_test(tcase, empty_cache_knows_nothing);
    tcase_add_test(tcase, newest_id_of_a_hash_is_found);
    tcase_add_test(tcase, tags_of_all_ones);
    tcase_add_test(tcase, full_bucket_forgets_one);
    tcase_add_test(tcase, grows_with_what_is_put);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
