/* store/store and its check: lock, versions, commits under kill -9, full disks, and damaged files never trusted. */
#include "store/store.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/bytes.h"
#include "store/pane.h"
#include "store/raw.h"
#include "store/tables.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static const struct store_options small_map = {.map_bytes = 64 << 20};

static void setup(void)
{
    scratch_make();
}
static void teardown(void)
{
    tiny_disk_unmount();
    scratch_remove();
}

static struct store *open_store(const struct store_options *options, struct store_open_report *report)
{
    struct store *s;
    ck_assert_msg(store_open(scratch, options, &s, report, &err) == 0, "%s", err.message);
    return s;
}

static void put_meta(struct store *s, const char *name, const void *p, size_t n)
{
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(store_meta_put(t, name, (struct str){p, n}, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), 0);
}

static bool has_meta(struct store *s, const char *name, const void *p, size_t n)
{
    struct store_txn *t;
    struct str got;
    ck_assert_int_eq(store_read_begin(s, &t, &err), 0);
    int code = store_meta_get(t, name, &got, &err);
    bool same = code == 0 && got.n == n && memcmp(got.p, p, n) == 0;
    ck_assert(code == 0 || code == ERR_NOT_FOUND);
    store_read_end(t);
    return same;
}

START_TEST(keeps_what_was_committed)
{
    struct store_open_report report;
    struct store *s = open_store(NULL, &report);
    ck_assert(report.created && !report.set_aside);
    ck_assert_str_eq(store_dir(s), scratch);
    uint64_t seed = store_sketch_seed(s);
    put_meta(s, "plan", "one", 3);
    struct store_txn *t;
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(store_meta_put(t, "plan", STR("two"), &err), 0);
    store_write_abort(t);
    store_close(s);
    s = open_store(NULL, &report);
    ck_assert(!report.created && !report.set_aside);
    ck_assert_str_eq(report.reason, "");
    ck_assert_uint_eq(store_sketch_seed(s), seed);
    ck_assert(has_meta(s, "plan", "one", 3));
    ck_assert(!has_meta(s, "absent", "", 0));
    store_close(s);
    store_close(NULL);
    store_read_end(NULL);
    store_write_abort(NULL);
}
END_TEST

/* Runs fn in a child and expects it to return true. */
static void in_child(bool (*fn)(void))
{
    pid_t pid = fork();
    if (pid == 0)
        _exit(fn() ? 0 : 1);
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert_msg(WIFEXITED(status) && WEXITSTATUS(status) == 0, "child status %x", (unsigned)status);
}

static bool second_writer_is_refused(void)
{
    struct store *s;
    char pid[32];
    snprintf(pid, sizeof(pid), "process %ld;", (long)getppid());
    return store_open(scratch, NULL, &s, NULL, &err) == ERR_LOCKED && strstr(err.message, pid);
}

static bool reader_sees_commits(void)
{
    struct store *s;
    struct store_options read_only = {.read_only = true};
    if (store_open(scratch, &read_only, &s, NULL, &err) != 0)
        return false;
    bool ok = has_meta(s, "plan", "one", 3);
    store_close(s);
    return ok;
}

static bool lone_reader_is_refused(void)
{
    struct store *s;
    struct store_options alone = {.read_only = true, .alone = true};
    return store_open(scratch, &alone, &s, NULL, &err) == ERR_LOCKED && strstr(err.message, "a server is running on");
}

static bool writer_waits_for_lone_reader(void)
{
    struct store *s;
    return store_open(scratch, NULL, &s, NULL, &err) == ERR_LOCKED && strstr(err.message, "being read");
}

START_TEST(one_writer_many_readers)
{
    struct store *s = open_store(NULL, NULL);
    put_meta(s, "plan", "one", 3);
    in_child(second_writer_is_refused);
    in_child(reader_sees_commits);
    in_child(lone_reader_is_refused);
    store_close(s);
    struct store_options alone = {.read_only = true, .alone = true};
    s = open_store(&alone, NULL);
    in_child(writer_waits_for_lone_reader);
    in_child(reader_sees_commits);
    store_close(s);
    s = open_store(NULL, NULL);
    store_close(s);
}
END_TEST

START_TEST(other_formats_are_refused_by_name)
{
    struct store *s = open_store(NULL, NULL);
    store_close(s);
    size_t n;
    char *format = (char *)file_read("FORMAT", &n), changed[256];
    for (int other = 1; other <= 5; other += 4) {
        char name[32];
        snprintf(name, sizeof(name), "mullion-data/%d", other);
        snprintf(changed, sizeof(changed), "%s%s", name, strchr(format, '\n'));
        file_write("FORMAT", changed, strlen(changed));
        ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), ERR_VERSION);
        ck_assert_ptr_nonnull(strstr(err.message, name));
        ck_assert_ptr_nonnull(strstr(err.message, other == 1 ? "mullion-data/2 to 4" : "up to mullion-data/4"));
        uint64_t seed;
        ck_assert_int_eq(store_look(scratch, &seed, &err), ERR_VERSION);
    }
    file_write("FORMAT", "hello\n", 6);
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), ERR_CORRUPT);
    file_write("FORMAT", "mullion-data/2\n", 15);
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), ERR_CORRUPT);
    /* Another store's identity. */
    snprintf(changed, sizeof(changed), "mullion-data/2\nid 0000000000000001\nsketch_seed 0000000000000001\n");
    file_write("FORMAT", changed, strlen(changed));
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), ERR_CORRUPT);
    unlink(scratch_path("FORMAT"));
    ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), ERR_CORRUPT);
    file_write("FORMAT", format, n);
    s = open_store(NULL, NULL);
    store_close(s);
    free(format);
    struct store_options read_only = {.read_only = true};
    ck_assert_int_eq(store_open(scratch_path("absent"), &read_only, &s, NULL, &err), ERR_NOT_FOUND);
}
END_TEST

/* Nothing is made in a directory that holds other things, whatever their names; our own beginnings are no other things.
 */
START_TEST(foreign_directories_are_left_alone)
{
    static const char *const names[] = {"wal/00000000000000000001.wal", "wal/00000001", "x", ".hidden"};
    struct store *s;
    uint64_t seed;
    for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
        mkdir(scratch_path("wal"), 0700);
        if (strncmp(names[i], "wal/", 4) != 0)
            rmdir(scratch_path("wal"));
        file_write(names[i], "theirs", 6);
        ck_assert_int_eq(store_open(scratch, NULL, &s, NULL, &err), ERR_BAD_DATA);
        ck_assert_ptr_nonnull(strstr(err.message, "is not empty and is not a mullion data directory"));
        ck_assert_int_eq(store_look(scratch, &seed, &err), ERR_BAD_DATA);
        size_t n;
        free(file_read(names[i], &n));
        ck_assert_uint_eq(n, 6);
        ck_assert(!file_exists("LOCK") && !file_exists("FORMAT") && !file_exists("store.mdb"));
        unlink(scratch_path(names[i]));
    }
    rmdir(scratch_path("wal"));
    file_write("LOCK", "1\n", 2);
    file_write("FORMAT.new", "mull", 4);
    mkdir(scratch_path("lost+found"), 0700);
    ck_assert_int_eq(store_look(scratch, &seed, &err), 0);
    s = open_store(NULL, NULL);
    ck_assert_uint_eq(store_sketch_seed(s), seed);
    store_close(s);
    file_write("x", "theirs", 6);
    ck_assert_int_eq(store_look(scratch, &seed, &err), 0);
    store_close(open_store(NULL, NULL));
    ck_assert_int_eq(store_open(scratch_path("x"), NULL, &s, NULL, &err), ERR_BAD_DATA);
    ck_assert_int_eq(store_open(scratch_path("a/b"), NULL, &s, NULL, &err), ERR_NOT_FOUND);
    ck_assert_ptr_nonnull(strstr(err.message, "its parent does not exist"));
    ck_assert_int_eq(store_look(scratch_path("absent"), &seed, &err), 0);
    ck_assert(!file_exists("absent"));
}
END_TEST

/* ---- full disks ---- */

START_TEST(full_map_keeps_nothing_of_the_transaction)
{
    struct store_options tiny = {.map_bytes = 1 << 20};
    struct store *s = open_store(&tiny, NULL);
    put_meta(s, "plan", "one", 3);
    struct store_txn *t;
    char block[50000] = "";
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(store_meta_put(t, "plan", STR("two"), &err), 0);
    int code = 0;
    for (uint32_t i = 0; i < 100 && !code; i++)
        code = raw_checkpoint_put(t, i, (struct str){block, sizeof(block)}, &err);
    ck_assert_int_eq(code, ERR_DISK_FULL);
    ck_assert_int_eq(store_write_commit(t, &err), ERR_DISK_FULL);
    ck_assert(has_meta(s, "plan", "one", 3));
    put_meta(s, "plan", "three", 5);
    store_close(s);
}
END_TEST

static bool full_disk_keeps_nothing(void)
{
    signal(SIGXFSZ, SIG_IGN);
    struct store *s = open_store(&small_map, NULL);
    put_meta(s, "plan", "one", 3);
    struct rlimit most = {1 << 20, 1 << 20};
    setrlimit(RLIMIT_FSIZE, &most);
    struct store_txn *t;
    char block[50000] = "";
    if (store_write_begin(s, &t, &err) != 0 || store_meta_put(t, "plan", STR("two"), &err) != 0)
        return false;
    for (uint32_t i = 0; i < 100; i++)
        if (raw_checkpoint_put(t, i, (struct str){block, sizeof(block)}, &err) != 0)
            return false;
    bool ok = store_write_commit(t, &err) == ERR_DISK_FULL && has_meta(s, "plan", "one", 3);
    put_meta(s, "small", "fits", 4);
    ok = ok && has_meta(s, "small", "fits", 4);
    store_close(s);
    return ok;
}

START_TEST(full_disk)
{
    in_child(full_disk_keeps_nothing);
    struct store_open_report report;
    struct store *s = open_store(&small_map, &report);
    ck_assert(!report.set_aside);
    ck_assert(has_meta(s, "plan", "one", 3) && has_meta(s, "small", "fits", 4));
    store_close(s);
}
END_TEST

START_TEST(full_file_system)
{
    if (!tiny_disk_mount("size=3m"))
        return;
    struct store *s;
    struct store_txn *t;
    static char block[50000];
    ck_assert_int_eq(store_open(scratch_path("tiny"), &small_map, &s, NULL, &err), 0);
    put_meta(s, "plan", "one", 3);
    ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
    ck_assert_int_eq(store_meta_put(t, "plan", STR("two"), &err), 0);
    for (uint32_t i = 0; i < 100; i++)
        ck_assert_int_eq(raw_checkpoint_put(t, i, (struct str){block, sizeof(block)}, &err), 0);
    ck_assert_int_eq(store_write_commit(t, &err), ERR_DISK_FULL);
    ck_assert(has_meta(s, "plan", "one", 3));
    store_close(s);
    /* Nor is the file damaged by it. */
    struct store_open_report report;
    ck_assert_int_eq(store_open(scratch_path("tiny"), &small_map, &s, &report, &err), 0);
    ck_assert(!report.set_aside && has_meta(s, "plan", "one", 3));
    put_meta(s, "plan", "three", 5);
    store_close(s);
    tiny_disk_unmount();
}
END_TEST

/* ---- readers ---- */

START_TEST(dead_readers_free_their_pages)
{
    struct store *s = open_store(&small_map, NULL);
    put_meta(s, "plan", "one", 3);
    int ready[2];
    ck_assert_int_eq(pipe(ready), 0);
    pid_t pid = fork();
    if (pid == 0) {
        struct store_options read_only = {.read_only = true};
        struct store *mine;
        struct store_txn *t;
        if (store_open(scratch, &read_only, &mine, NULL, &err) || store_read_begin(mine, &t, &err) ||
            write(ready[1], "x", 1) != 1)
            _exit(1);
        for (;;)
            pause();
    }
    char x;
    ck_assert_int_eq(read(ready[0], &x, 1), 1);
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    store_reap_readers(s);
    char *block = calloc(1, 1 << 20);
    for (int i = 0; i < 40; i++) {
        block[0] = (char)i;
        put_meta(s, "block", block, 1 << 20);
    }
    struct store_size size;
    store_size_read(s, &size);
    ck_assert_uint_lt(size.file_bytes, 10 << 20);
    ck_assert_uint_gt(size.used_bytes, 1 << 20);
    ck_assert_uint_gt(size.free_page_bytes, 0);
    free(block);
    store_close(s);
}
END_TEST

START_TEST(copy_is_a_store)
{
    struct store *s = open_store(&small_map, NULL);
    put_meta(s, "plan", "one", 3);
    size_t n;
    uint8_t *format = file_read("FORMAT", &n);
    ck_assert_int_eq(mkdir(scratch_path("copy"), 0700), 0);
    ck_assert_int_eq(store_copy(s, scratch_path("copy/store.mdb"), &err), 0);
    ck_assert_int_eq(store_copy(s, scratch_path("copy/store.mdb"), &err), ERR_IO); /* exists */
    put_meta(s, "plan", "two", 3);
    file_write("copy/FORMAT", format, n);
    free(format);
    store_close(s);
    ck_assert_int_eq(store_open(scratch_path("copy"), &small_map, &s, NULL, &err), 0);
    ck_assert(has_meta(s, "plan", "one", 3));
    store_close(s);
}
END_TEST

/* ---- damage ---- */

enum { SHARDS = 60, PANES = 40 };

/* Raw blocks, panes and small rows, deleted and put again, so that all kinds of pages are in the file. */
static void fill(struct store *s)
{
    static uint8_t bytes[6000];
    struct pane_builder b = {0};
    for (int round = 0; round < 3; round++) {
        struct store_txn *t;
        uint32_t dropped;
        bool more;
        ck_assert_int_eq(store_write_begin(s, &t, &err), 0);
        ck_assert_int_eq(raw_drop(t, INT64_MAX, &dropped, &more, &err), 0);
        for (uint32_t shard = 0; shard < SHARDS; shard++) {
            struct raw_chunk chunks[2] = {{3, 10, 500, bytes, shard * 100 + 1}, {9, 20, 400, bytes, 30}};
            ck_assert_int_eq(raw_put(t, 7, shard, chunks, 2, &err), 0);
        }
        for (uint32_t shard = 0; shard < PANES; shard++) {
            struct pane_key key = {1, 60000, 2, shard};
            pane_builder_start(&b, &key, 1, 8, 60000, 0);
            pane_builder_add(&b, shard, STR("12345678"), 0, 1);
            ck_assert_int_eq(pane_block_put(t, &key, pane_builder_finish(&b), &err), 0);
        }
        struct pane_manifest m;
        ck_assert_int_eq(pane_manifest_make(t, 1, 60000, 0, &m, &err), 0);
        ck_assert_int_eq(pane_manifest_put(t, 1, 60000, &m, &err), 0);
        for (uint32_t i = 0; i < 200; i++)
            ck_assert_int_eq(raw_checkpoint_put(t, i, STR("open chunks"), &err), 0);
        ck_assert_int_eq(store_write_commit(t, &err), 0);
    }
    pane_builder_done(&b);
    /* The last two commits change nothing that is read back, so that either meta page is right. */
    put_meta(s, "note", "a", 1);
    put_meta(s, "note", "b", 1);
}

static int count_chunk(void *ctx, const struct raw_chunk *chunk, struct err *e)
{
    uint32_t *n = ctx;
    ck_assert(chunk->slot == 3 || chunk->slot == 9);
    bool zero = true;
    for (uint32_t i = 0; i < chunk->size; i++)
        zero = zero && chunk->bytes[i] == 0;
    ck_assert(zero); /* damage must not get through */
    *n += 1;
    return 0;
}

static int count_row(void *ctx, uint32_t id_block, struct str bytes, struct err *e)
{
    uint32_t *n = ctx;
    *n += 1;
    return 0;
}

/* What an opened store shows must be right or be reported. */
static void read_back(struct store *s)
{
    struct store_txn *t;
    ck_assert_int_eq(store_read_begin(s, &t, &err), 0);
    uint32_t rows = 0;
    for (uint32_t shard = 0; shard < SHARDS; shard++) {
        uint32_t chunks = 0, damaged = 0;
        ck_assert_int_eq(raw_walk(t, 7, shard, 0, 1000, NULL, count_chunk, &chunks, &damaged, &err), 0);
        ck_assert_msg(chunks == 2 || damaged > 0, "shard %u: %u chunks, %u damaged", shard, chunks, damaged);
    }
    for (uint32_t shard = 0; shard < PANES; shard++) {
        struct pane_key key = {1, 60000, 2, shard};
        struct str bytes;
        struct pane_block b;
        ck_assert_int_eq(pane_block_get(t, &key, &bytes, &err), 0);
        if (pane_block_parse(bytes, &key, true, &b, &err) == 0)
            ck_assert(str_eq(pane_block_state(&b, shard), STR("12345678")));
    }
    ck_assert_int_eq(raw_checkpoint_walk(t, count_row, &rows, &err), 0);
    ck_assert_uint_eq(rows, 200);
    store_read_end(t);
}

START_TEST(cut_short_is_set_aside)
{
    struct store *s = open_store(&small_map, NULL);
    fill(s);
    store_close(s);
    size_t n;
    uint8_t *bytes = file_read("store.mdb", &n);
    struct store_options read_only = {.map_bytes = 64 << 20, .read_only = true};
    int aside = 0;
    for (size_t keep = 1; keep < n; keep = keep * 3 + 1) {
        file_write("store.mdb", bytes, keep);
        ck_assert_int_eq(store_open(scratch, &read_only, &s, NULL, &err), ERR_CORRUPT);
        struct store_open_report report;
        s = open_store(&small_map, &report);
        ck_assert(report.set_aside);
        ck_assert_int_gt((int)strlen(report.reason), 0);
        char name[64];
        snprintf(name, sizeof(name), "store.mdb.damaged-%d", ++aside);
        ck_assert_str_eq(report.set_aside_as, name);
        ck_assert(file_exists(name));
        put_meta(s, "plan", "one", 3);
        store_close(s);
    }
    /* An empty or missing file is no damage, but is said. */
    file_write("store.mdb", "", 0);
    struct store_open_report report;
    s = open_store(&small_map, &report);
    ck_assert(!report.set_aside && !report.created && report.lost && *report.reason);
    store_close(s);
    unlink(scratch_path("store.mdb"));
    s = open_store(&small_map, &report);
    ck_assert(!report.created && report.lost && strstr(report.reason, "older than the log is lost"));
    store_close(s);
    s = open_store(&small_map, &report);
    ck_assert(!report.lost);
    store_close(s);
    free(bytes);
}
END_TEST

START_TEST(flips_never_pass_unseen)
{
    uint64_t state = suite_seed("flips_never_pass_unseen") | 1;
    struct store *s = open_store(&small_map, NULL);
    fill(s);
    store_close(s);
    size_t n;
    uint8_t *bytes = file_read("store.mdb", &n);
    int aside = 0, rounds = getenv("MULLION_LONG") ? 20000 : 700;
    for (int round = 0; round < rounds; round++) {
        /* Most flips go to meta, branch and leaf pages (flags 8, 1, 2 at byte 10), which no block checksum guards. */
        size_t at = roll(&state, (uint32_t)n);
        for (int tries = 0; tries < 200 && round % 8 && !(bytes[at / 4096 * 4096 + 10] & 11); tries++)
            at = roll(&state, (uint32_t)n);
        uint8_t was = bytes[at];
        bytes[at] ^= (uint8_t)(1 + roll(&state, 255));
        file_write("store.mdb", bytes, n);
        bytes[at] = was;
        struct store_open_report report;
        int code = store_open(scratch, &small_map, &s, &report, &err);
        if (code == ERR_VERSION) /* a meta page of another LMDB format is refused, not set aside */
            continue;
        ck_assert_msg(code == 0, "flip at %zu: %s", at, err.message);
        aside += report.set_aside;
        if (report.set_aside)
            unlink(scratch_path(report.set_aside_as));
        else
            read_back(s);
        store_close(s);
    }
    ck_assert_int_gt(aside, rounds / 50); /* else the flips missed the index */
    free(bytes);
}
END_TEST

/* ---- kill -9 ---- */

/* Each commit writes its number to meta and to 20 blocks; acknowledged numbers go to the parent. */
static _Noreturn void commit_forever(uint64_t *acknowledged)
{
    struct store *s = open_store(&small_map, NULL);
    static uint8_t block[20000];
    for (uint64_t i = *acknowledged + 1;; i++) {
        struct store_txn *t;
        int code = store_write_begin(s, &t, &err);
        memcpy(block, &i, sizeof(i));
        for (uint32_t k = 0; k < 20 && !code; k++)
            code = raw_checkpoint_put(t, k, (struct str){(char *)block, sizeof(block)}, &err);
        if (!code)
            code = store_meta_put(t, "n", (struct str){(char *)&i, sizeof(i)}, &err);
        if (code || store_write_commit(t, &err))
            _exit(1);
        __atomic_store_n(acknowledged, i, __ATOMIC_SEQ_CST);
    }
}

static int same_number(void *ctx, uint32_t id_block, struct str bytes, struct err *e)
{
    ck_assert_uint_eq(load_u64(bytes.p), *(uint64_t *)ctx);
    return 0;
}

START_TEST(kill_keeps_whole_commits)
{
    uint64_t *acknowledged = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    for (int round = 0; round < 8; round++) {
        pid_t pid = fork();
        if (pid == 0)
            commit_forever(acknowledged);
        usleep(15000 + 9000 * (useconds_t)round);
        kill(pid, SIGKILL);
        int status;
        waitpid(pid, &status, 0);
        ck_assert(WIFSIGNALED(status));
        struct store_open_report report;
        struct store *s = open_store(&small_map, &report);
        ck_assert(!report.set_aside);
        struct store_txn *t;
        struct str value = {0};
        ck_assert_int_eq(store_read_begin(s, &t, &err), 0);
        uint64_t last = __atomic_load_n(acknowledged, __ATOMIC_SEQ_CST), found = 0;
        if (store_meta_get(t, "n", &value, &err) == 0)
            found = load_u64(value.p);
        ck_assert(found == last || found == last + 1);
        ck_assert_int_eq(raw_checkpoint_walk(t, same_number, &found, &err), 0);
        store_read_end(t);
        store_close(s);
        *acknowledged = found;
    }
    ck_assert_uint_gt(*acknowledged, 0);
    munmap(acknowledged, 4096);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/store");
    TCase *tcase = tcase_create("store");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, keeps_what_was_committed);
    tcase_add_test(tcase, one_writer_many_readers);
    tcase_add_test(tcase, other_formats_are_refused_by_name);
    tcase_add_test(tcase, foreign_directories_are_left_alone);
    tcase_add_test(tcase, full_map_keeps_nothing_of_the_transaction);
    tcase_add_test(tcase, full_disk);
    tcase_add_test(tcase, full_file_system);
    tcase_add_test(tcase, dead_readers_free_their_pages);
    tcase_add_test(tcase, copy_is_a_store);
    tcase_add_test(tcase, cut_short_is_set_aside);
    tcase_add_test(tcase, flips_never_pass_unseen);
    tcase_add_test(tcase, kill_keeps_whole_commits);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
