/* store/raw: what a walk yields against a brute-force list, overlaps, retention, damage, checkpoints. */
#include "store/raw.h"

#include "base/bytes.h"
#include "store/tables.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static struct store *store;

static void setup(void)
{
    struct store_options small = {.map_bytes = 256 << 20};
    scratch_make();
    ck_assert_int_eq(store_open(scratch, &small, &store, NULL, &err), 0);
}
static void teardown(void)
{
    store_close(store);
    scratch_remove();
}

static struct store_txn *begin(void)
{
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(store, &t, &err), 0);
    return t;
}
static void commit(struct store_txn *t)
{
    ck_assert_int_eq(store_write_commit(t, &err), 0);
}

/* A chunk's bytes name it, so that a walk can be compared with what was put. */
struct known {
    uint32_t metric, shard, slot, size;
    int64_t first_ms, last_ms;
    uint64_t name;
    uint32_t seen;
    bool dropped;
};
struct known_list {
    struct known v[6000];
    uint32_t n;
};

static int see(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    struct known_list *list = ctx;
    uint64_t name = load_u64(chunk->bytes);
    bool same = name < list->n;
    if (same) {
        struct known *k = &list->v[name];
        same = k->slot == chunk->slot && k->first_ms == chunk->first_ms && k->last_ms == chunk->last_ms &&
               k->size == chunk->size;
        k->seen++;
    }
    ck_assert(same);
    return 0;
}

static int by_slot_and_time(const void *pa, const void *pb)
{
    const struct raw_chunk *a = pa, *b = pb;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    return (a->first_ms > b->first_ms) - (a->first_ms < b->first_ms);
}

static void put_random_block(struct store_txn *t, struct known_list *list, uint64_t *state)
{
    static uint8_t bytes[40][64];
    struct raw_chunk chunks[40];
    uint32_t n = 1 + roll(state, 40), metric = roll(state, 3), shard = roll(state, 2);
    for (uint32_t i = 0; i < n; i++) {
        int64_t first = (int64_t)roll(state, 200) - 100;
        chunks[i] = (struct raw_chunk){.slot = roll(state, 8) * 137 % 1024,
                                       .first_ms = first,
                                       .last_ms = first + roll(state, roll(state, 10) ? 20 : 300),
                                       .bytes = bytes[i],
                                       .size = 8 + roll(state, 50)};
    }
    qsort(chunks, n, sizeof(*chunks), by_slot_and_time);
    for (uint32_t i = 0; i < n; i++) {
        uint8_t *mine = bytes[(chunks[i].bytes - bytes[0]) / 64]; /* sorting moved the chunk, not its bytes */
        store_u64(mine, list->n);
        list->v[list->n++] = (struct known){
            metric, shard, chunks[i].slot, chunks[i].size, chunks[i].first_ms, chunks[i].last_ms, 0, 0, false};
    }
    ck_assert_int_eq(raw_put(t, metric, shard, chunks, n, &err), 0);
}

static void expect_walk(struct store_txn *t, struct known_list *list, uint64_t *state)
{
    uint32_t metric = roll(state, 3), shard = roll(state, 2), damaged = 0;
    int64_t start = (int64_t)roll(state, 700) - 200, end = start + (int64_t)roll(state, 300) - 20;
    uint64_t want[16] = {0};
    bool all = roll(state, 3) == 0;
    for (int i = 0; i < 4; i++) {
        uint32_t slot = roll(state, 8) * 137 % 1024;
        want[slot / 64] |= UINT64_C(1) << (slot % 64);
    }
    for (uint32_t i = 0; i < list->n; i++)
        list->v[i].seen = 0;
    ck_assert_int_eq(raw_walk(t, metric, shard, start, end, all ? NULL : want, see, list, &damaged, &err), 0);
    ck_assert_uint_eq(damaged, 0);
    for (uint32_t i = 0; i < list->n; i++) {
        struct known *k = &list->v[i];
        bool meets = !k->dropped && k->metric == metric && k->shard == shard && k->last_ms > start &&
                     k->first_ms <= end && start < end && (all || (want[k->slot / 64] >> (k->slot % 64) & 1));
        if (k->seen != (meets ? 1u : 0u))
            ck_abort_msg("chunk %u [%ld, %ld] seen %u times in (%ld, %ld]", i, (long)k->first_ms, (long)k->last_ms,
                         k->seen, (long)start, (long)end);
    }
}

START_TEST(walk_equals_brute_force)
{
    static struct known_list list;
    uint64_t state = suite_seed("walk_equals_brute_force") | 1;
    list.n = 0;
    for (int round = 0; round < 12; round++) {
        struct store_txn *t = begin();
        for (int i = 0; i < 10; i++)
            put_random_block(t, &list, &state);
        for (int i = 0; i < 60; i++)
            expect_walk(t, &list, &state);
        int64_t oldest, want = INT64_MAX;
        for (uint32_t i = 0; i < list.n; i++)
            want = list.v[i].first_ms < want ? list.v[i].first_ms : want;
        ck_assert_int_eq(raw_oldest(t, &oldest, &err), 0);
        ck_assert_int_eq(oldest, want);
        commit(t);
    }
}
END_TEST

START_TEST(same_key_keeps_both)
{
    static struct known_list list;
    uint8_t bytes[5][8];
    list.n = 0;
    for (uint32_t i = 0; i < 5; i++) {
        struct raw_chunk chunk = {7, 10, 20, bytes[i], 8};
        store_u64(bytes[i], i);
        list.v[list.n++] = (struct known){1, 1, 7, 8, 10, 20, 0, 0, false};
        struct store_txn *t = begin();
        ck_assert_int_eq(raw_put(t, 1, 1, &chunk, 1, &err), 0);
        commit(t);
    }
    struct store_txn *t = begin();
    ck_assert_int_eq(raw_walk(t, 1, 1, INT64_MIN, INT64_MAX, NULL, see, &list, NULL, &err), 0);
    store_write_abort(t);
    for (int i = 0; i < 5; i++)
        ck_assert_uint_eq(list.v[i].seen, 1);
}
END_TEST

static int stop(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    return ERR_CANCELED;
}

START_TEST(edges_are_left_open_right_closed)
{
    static struct known_list list;
    uint8_t bytes[8] = {0};
    static const struct {
        int64_t start, end;
        uint32_t seen;
    } spans[] = {{20, 30, 0},
                 {19, 30, 1},
                 {5, 9, 0},
                 {5, 10, 1},
                 {10, 10, 0},
                 {15, 5, 0},
                 {12, 13, 1},
                 {INT64_MIN, 9, 0},
                 {INT64_MIN, INT64_MAX, 1},
                 {INT64_MAX, INT64_MAX, 0}};
    struct raw_chunk chunk = {7, 10, 20, bytes, 8};
    struct store_txn *t = begin();
    ck_assert_int_eq(raw_put(t, 1, 1, &chunk, 1, &err), 0);
    list.n = 1;
    list.v[0] = (struct known){1, 1, 7, 8, 10, 20, 0, 0, false};
    for (size_t i = 0; i < sizeof(spans) / sizeof(spans[0]); i++) {
        list.v[0].seen = 0;
        ck_assert_int_eq(raw_walk(t, 1, 1, spans[i].start, spans[i].end, NULL, see, &list, NULL, &err), 0);
        ck_assert_uint_eq(list.v[0].seen, spans[i].seen);
    }
    ck_assert_int_eq(raw_walk(t, 1, 1, 0, 100, NULL, stop, NULL, NULL, &err), ERR_CANCELED);
    store_write_abort(t);
}
END_TEST

START_TEST(drop_by_newest_sample)
{
    static struct known_list list;
    uint64_t state = suite_seed("drop_by_newest_sample") | 1;
    uint8_t bytes[8];
    struct store_txn *t = begin();
    list.n = 0;
    int64_t oldest;
    ck_assert_int_eq(raw_oldest(t, &oldest, &err), 0);
    ck_assert_int_eq(oldest, INT64_MAX);
    for (uint32_t i = 0; i < 5000; i++) {
        int64_t first = roll(&state, 1000);
        struct raw_chunk chunk = {0, first, first + 5, bytes, 8};
        store_u64(bytes, list.n);
        list.v[list.n++] = (struct known){roll(&state, 3), roll(&state, 2), 0, 8, first, first + 5, 0, 0, false};
        ck_assert_int_eq(raw_put(t, list.v[i].metric, list.v[i].shard, &chunk, 1, &err), 0);
    }
    uint32_t dropped = 0, want = 0, calls = 0;
    for (bool more = true; more; calls++) {
        uint32_t n;
        ck_assert_int_eq(raw_drop(t, 700, &n, &more, &err), 0);
        dropped += n;
    }
    oldest = INT64_MAX;
    for (uint32_t i = 0; i < list.n; i++) {
        list.v[i].dropped = list.v[i].last_ms <= 700;
        want += list.v[i].dropped;
        oldest = !list.v[i].dropped && list.v[i].first_ms < oldest ? list.v[i].first_ms : oldest;
    }
    ck_assert_uint_eq(dropped, want);
    ck_assert_uint_gt(calls, 1); /* the work of one call is bounded */
    int64_t found;
    ck_assert_int_eq(raw_oldest(t, &found, &err), 0);
    ck_assert_int_eq(found, oldest);
    for (int i = 0; i < 20; i++)
        expect_walk(t, &list, &state);
    store_write_abort(t);
}
END_TEST

/* Every single flipped bit costs at most what it hit, and is counted. */
START_TEST(damage_is_counted)
{
    static struct known_list list;
    uint8_t bytes[3][16] = {{0}}, key[20];
    struct raw_chunk chunks[3];
    list.n = 3;
    for (uint32_t i = 0; i < 3; i++) {
        store_u64(bytes[i], i);
        chunks[i] = (struct raw_chunk){i * 5, 10, 20, bytes[i], 16};
        list.v[i] = (struct known){1, 0, i * 5, 16, 10, 20, 0, 0, false};
    }
    struct store_txn *t = begin();
    ck_assert_int_eq(raw_put(t, 1, 0, chunks, 3, &err), 0);
    struct str value;
    store_be32(key, 1);
    store_be32(key + 4, 0);
    store_be_i64(key + 8, 20);
    store_be32(key + 16, 0);
    ck_assert_int_eq(store_get(t, TABLE_RAW, key, sizeof(key), &value, &err), 0);
    size_t n = value.n;
    char *copy = malloc(n);
    memcpy(copy, value.p, n);
    for (size_t bit = 0; bit < 8 * n; bit++) {
        copy[bit / 8] ^= (char)(1 << (bit % 8));
        ck_assert_int_eq(store_put(t, TABLE_RAW, key, sizeof(key), (struct str){copy, n}, &err), 0);
        copy[bit / 8] ^= (char)(1 << (bit % 8));
        uint32_t damaged = 0, seen = 0;
        for (int i = 0; i < 3; i++)
            list.v[i].seen = 0;
        ck_assert_int_eq(raw_walk(t, 1, 0, 0, 100, NULL, see, &list, &damaged, &err), 0);
        for (int i = 0; i < 3; i++)
            seen += list.v[i].seen;
        if (damaged != 1 || (seen != 2 && seen != 0))
            ck_abort_msg("bit %zu: %u chunks seen, %u damaged", bit, seen, damaged);
    }
    for (size_t cut = 0; cut < n; cut++) {
        uint32_t damaged = 0;
        ck_assert_int_eq(store_put(t, TABLE_RAW, key, sizeof(key), (struct str){copy, cut}, &err), 0);
        ck_assert_int_eq(raw_walk(t, 1, 0, 0, 100, NULL, see, &list, &damaged, &err), 0);
        ck_assert_uint_eq(damaged, 1);
    }
    free(copy);
    store_write_abort(t);
}
END_TEST

static int collect(void *ctx, uint32_t id_block, struct str bytes, struct err *e)
{
    char *text = ctx;
    snprintf(text + strlen(text), 200 - strlen(text), "%u:" STR_FMT " ", id_block, STR_ARG(bytes));
    return 0;
}

START_TEST(checkpoint_rows)
{
    char text[200] = "";
    struct store_txn *t = begin();
    ck_assert_int_eq(raw_checkpoint_put(t, 300, STR("c"), &err), 0);
    ck_assert_int_eq(raw_checkpoint_put(t, 2, STR("a"), &err), 0);
    ck_assert_int_eq(raw_checkpoint_put(t, 3, STR("b"), &err), 0);
    ck_assert_int_eq(raw_checkpoint_put(t, 2, STR("aa"), &err), 0);
    ck_assert_int_eq(raw_checkpoint_put(t, 3, STR(""), &err), 0);
    ck_assert_int_eq(raw_checkpoint_put(t, 4, STR(""), &err), 0); /* was not there */
    commit(t);
    t = begin();
    ck_assert_int_eq(raw_checkpoint_walk(t, collect, text, &err), 0);
    ck_assert_str_eq(text, "2:aa 300:c ");
    store_write_abort(t);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/raw");
    TCase *tcase = tcase_create("raw");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, walk_equals_brute_force);
    tcase_add_test(tcase, same_key_keeps_both);
    tcase_add_test(tcase, edges_are_left_open_right_closed);
    tcase_add_test(tcase, drop_by_newest_sample);
    tcase_add_test(tcase, damage_is_counted);
    tcase_add_test(tcase, checkpoint_rows);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
