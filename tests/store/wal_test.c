/* store/wal: what was appended comes back; torn ends, damage, full disks, group sync, trimming. */
#include "store/wal.h"

#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "store/sum.h"
#include "suite.h"
#include "tests/store/scratch.h"

static struct err err;
static const char first_segment[] = "wal/00000000000000000001.wal";

static void setup(void)
{
    scratch_make();
}
static void teardown(void)
{
    tiny_disk_unmount();
    scratch_remove();
}

static struct wal *open_sized(uint64_t segment_bytes)
{
    struct wal *w;
    ck_assert_msg(wal_open_sized(scratch, segment_bytes, &w, &err) == 0, "%s", err.message);
    return w;
}

/* Record number i: its body, rejects and times follow from i. */
static void append(struct wal *w, uint64_t i)
{
    char body[200];
    uint32_t rejects[8];
    size_t n = (size_t)snprintf(body, sizeof(body), "body of record %llu ", (unsigned long long)i);
    while (n < 20 + i % 60)
        body[n++] = (char)('a' + i % 26);
    uint32_t rejects_n = (uint32_t)(i % 4);
    for (uint32_t k = 0; k < rejects_n; k++)
        rejects[k] = (uint32_t)(i * 10 + k);
    struct wal_record r = {.receive_ms = (int64_t)i * 1000 - 5,
                           .settings_hash = i ^ 77,
                           .kind = WAL_KIND_WRITE,
                           .rejects = rejects,
                           .rejects_n = rejects_n,
                           .body = {body, n}};
    ck_assert_int_eq(wal_append(w, &r, &err), 0);
    ck_assert_uint_eq(r.seq, i);
}

struct seen {
    uint64_t first, last, n;
    int stop_with;
};

static int see(void *ctx, const struct wal_record *r, struct err *e)
{
    struct seen *seen = ctx;
    char want[64];
    size_t n = (size_t)snprintf(want, sizeof(want), "body of record %llu ", (unsigned long long)r->seq);
    ck_assert(r->body.n >= n && memcmp(r->body.p, want, n) == 0);
    ck_assert_int_eq(r->receive_ms, (int64_t)r->seq * 1000 - 5);
    ck_assert_uint_eq(r->settings_hash, r->seq ^ 77);
    ck_assert_uint_eq(r->kind, WAL_KIND_WRITE);
    ck_assert_uint_eq(r->rejects_n, r->seq % 4);
    for (uint32_t k = 0; k < r->rejects_n; k++)
        ck_assert_uint_eq(r->rejects[k], r->seq * 10 + k);
    ck_assert(seen->n == 0 || r->seq > seen->last);
    seen->first = seen->n++ ? seen->first : r->seq;
    seen->last = r->seq;
    return seen->stop_with;
}

static struct seen replay(struct wal *w, uint64_t after, char damage[256])
{
    struct seen seen = {0};
    ck_assert_msg(wal_replay(w, after, see, &seen, damage, &err) == 0, "%s", err.message);
    return seen;
}

START_TEST(comes_back_in_order)
{
    char damage[256];
    struct wal *w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 0);
    for (uint64_t i = 1; i <= 300; i++)
        append(w, i);
    ck_assert_int_eq(wal_sync(w, &err), 0);
    wal_close(w);
    w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 300);
    struct seen all = replay(w, 0, damage);
    ck_assert(all.n == 300 && all.first == 1 && all.last == 300);
    ck_assert_str_eq(damage, "");
    struct seen rest = replay(w, 250, damage);
    ck_assert(rest.n == 50 && rest.first == 251);
    ck_assert_str_eq(damage, "");
    struct seen stopped = {.stop_with = ERR_CANCELED};
    ck_assert_int_eq(wal_replay(w, 0, see, &stopped, damage, &err), ERR_CANCELED);
    ck_assert_uint_eq(stopped.n, 1);
    append(w, 301);
    wal_close(w);
}
END_TEST

START_TEST(trimming_keeps_what_is_needed)
{
    char damage[256];
    struct wal *w = open_sized(4096);
    for (uint64_t i = 1; i <= 300; i++)
        append(w, i);
    uint64_t before = wal_bytes(w);
    ck_assert_int_eq(wal_trim(w, 200, &err), 0);
    ck_assert_uint_lt(wal_bytes(w), before);
    ck_assert(!file_exists(first_segment));
    struct seen rest = replay(w, 200, damage);
    ck_assert(rest.n == 100 && rest.first == 201);
    ck_assert_str_eq(damage, "");
    /* All trimmed: seqs still go on after a restart. */
    ck_assert_int_eq(wal_trim(w, 300, &err), 0);
    ck_assert_uint_le(wal_bytes(w), 4096);
    wal_close(w);
    w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 300);
    /* A store that is older than the trimmed log: the records between are lost, and that is said. */
    replay(w, 100, damage);
    ck_assert_ptr_nonnull(strstr(damage, "lost"));
    wal_close(w);
}
END_TEST

/* A store whose checkpoint is newer than the log's synced end: seqs must not be given out again below it. */
START_TEST(seqs_go_on_above_the_store)
{
    char damage[256];
    struct wal *w = open_sized(4096);
    append(w, 1);
    ck_assert_uint_eq(replay(w, 10, damage).n, 0);
    ck_assert_str_eq(damage, "");
    append(w, 11);
    wal_close(w);
    w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 11);
    struct seen seen = replay(w, 10, damage);
    ck_assert(seen.n == 1 && seen.last == 11);
    ck_assert_str_eq(damage, "");
    wal_close(w);
}
END_TEST

START_TEST(torn_at_every_byte)
{
    char damage[256];
    size_t n, last_at;
    struct wal *w = open_sized(1024);
    for (uint64_t i = 1; i <= 4; i++)
        append(w, i);
    wal_close(w);
    w = open_sized(1024); /* cuts the preallocated rest, so the length is the end of record 4 */
    wal_close(w);
    uint8_t *bytes = file_read(first_segment, &n);
    for (last_at = n - 48; memcmp(bytes + last_at, "MWAL", 4) != 0; last_at--) {
    }
    for (size_t cut = last_at; cut < n; cut++) {
        for (int zero_filled = 0; zero_filled < 2; zero_filled++) {
            uint8_t *torn = calloc(1, 1024);
            memcpy(torn, bytes, cut);
            file_write(first_segment, torn, zero_filled ? 1024 : cut);
            free(torn);
            bool whole = zero_filled && cut == n - 1 && bytes[cut] == 0;
            w = open_sized(1024);
            struct seen seen = replay(w, 0, damage);
            ck_assert_uint_eq(seen.n, whole ? 4 : 3);
            ck_assert_str_eq(damage, "");
            append(w, seen.last + 1);
            append(w, seen.last + 2);
            wal_close(w);
            w = open_sized(1024);
            ck_assert_uint_eq(replay(w, 0, damage).n, seen.n + 2);
            ck_assert_str_eq(damage, "");
            wal_close(w);
        }
    }
    free(bytes);
}
END_TEST

/* Old bytes behind a torn end must never be read as records. */
START_TEST(stale_records_stay_dead)
{
    char damage[256];
    size_t n, m;
    struct wal *w = open_sized(1024);
    for (uint64_t i = 1; i <= 6; i++)
        append(w, i);
    wal_close(w);
    uint8_t *old = file_read(first_segment, &n);
    size_t third = 0;
    for (int k = 0; k < 3; k++)
        third = (size_t)((uint8_t *)memmem(old + third + 1, n - third - 1, "MWAL", 4) - old);
    /* Record 4 torn, and a copy of record 1 where a record could begin. */
    memset(old + third, 0, n - third);
    memcpy(old + third, old, 48 + 20 + 4 + 8);
    file_write(first_segment, old, n);
    w = open_sized(1024);
    ck_assert_uint_eq(replay(w, 0, damage).last, 3);
    ck_assert_str_eq(damage, "");
    append(w, 4);
    wal_close(w);
    uint8_t *now = file_read(first_segment, &m);
    ck_assert_ptr_null(memmem(now + third + 60, m - third - 60, "MWAL", 4));
    free(now);
    free(old);
}
END_TEST

START_TEST(damage_in_the_middle_is_reported)
{
    char damage[256];
    size_t n, end;
    struct wal *w = open_sized(4096);
    for (uint64_t i = 1; i <= 9; i++)
        append(w, i);
    wal_close(w);
    w = open_sized(4096);
    wal_close(w);
    uint8_t *bytes = file_read(first_segment, &n);
    for (end = n - 48; memcmp(bytes + end, "MWAL", 4) != 0; end--) {
    }
    for (size_t at = 0; at < end; at++) {
        bytes[at] ^= 0x10;
        file_write(first_segment, bytes, n);
        bytes[at] ^= 0x10;
        w = open_sized(4096);
        struct seen seen = replay(w, 0, damage);
        /* One record is lost, the rest is there, and the report says so. */
        ck_assert_msg(seen.n == 8, "flip at %zu: %llu records", at, (unsigned long long)seen.n);
        ck_assert_ptr_nonnull(strstr(damage, "1 record lost"));
        wal_close(w);
    }
    free(bytes);
}
END_TEST

START_TEST(missing_segment_is_reported)
{
    char damage[256];
    struct wal *w = open_sized(1024);
    for (uint64_t i = 1; i <= 100; i++)
        append(w, i);
    wal_close(w);
    /* The second segment's name is the seq after the first's last record. */
    char name[64] = "";
    for (uint64_t i = 2; i < 100 && !*name; i++) {
        snprintf(name, sizeof(name), "wal/%020llu.wal", (unsigned long long)i);
        if (!file_exists(name))
            *name = 0;
    }
    ck_assert_int_eq(unlink(scratch_path(name)), 0);
    w = open_sized(1024);
    struct seen seen = replay(w, 0, damage);
    ck_assert_uint_lt(seen.n, 100);
    ck_assert_uint_eq(seen.last, 100);
    char want[32];
    snprintf(want, sizeof(want), "%llu records lost", (unsigned long long)(100 - seen.n));
    ck_assert_ptr_nonnull(strstr(damage, want));
    wal_close(w);
}
END_TEST

/* A peer's body may hold the bytes of a record. Whole, it is a body and nothing else; torn, what is found inside cannot
 * make the log jump ahead. */
START_TEST(record_inside_a_body)
{
    char damage[256];
    size_t n;
    struct wal *w = open_sized(4096);
    append(w, 1);
    wal_close(w);
    uint8_t *inner = file_read(first_segment, &n);
    uint64_t far = 1000000, sum;
    memcpy(inner + 8, &far, sizeof(far));
    uint32_t body_n, rejects_n;
    memcpy(&body_n, inner + 24, 4);
    memcpy(&rejects_n, inner + 28, 4);
    sum = store_sum(inner, 48 + 4 * rejects_n + body_n, 40);
    memcpy(inner + 40, &sum, sizeof(sum));
    ck_assert_int_eq(unlink(scratch_path(first_segment)), 0);
    w = open_sized(4096);
    struct wal_record r = {.kind = WAL_KIND_WRITE, .body = {(char *)inner, 200}};
    ck_assert_int_eq(wal_append(w, &r, &err), 0);
    wal_close(w);
    w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 1);
    wal_close(w);
    uint8_t *outer = file_read(first_segment, &n);
    ck_assert_uint_eq((size_t)((uint8_t *)memmem(outer + 1, n - 1, "MWAL", 4) - outer), 48);
    file_write(first_segment, outer, n - 1); /* torn in the body's last byte */
    w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 0);
    ck_assert_uint_eq(replay(w, 0, damage).n, 0);
    wal_close(w);
    free(inner);
    free(outer);
}
END_TEST

START_TEST(limits)
{
    struct wal *w = open_sized(4096);
    ck_assert_int_eq(wal_reserve(w, (size_t)WAL_BODY_MAX_BYTES + 1, 0, &err), ERR_TOO_LARGE);
    ck_assert_int_eq(wal_reserve(w, 1, (uint32_t)WAL_REJECTS_MAX + 1, &err), ERR_TOO_LARGE);
    /* Larger than a segment: it gets one of its own. */
    size_t n = 100000;
    char *body = calloc(1, n);
    struct wal_record r = {.kind = WAL_KIND_WRITE, .body = {body, n}};
    ck_assert_int_eq(wal_append(w, &r, &err), 0);
    ck_assert_int_eq(wal_append(w, &r, &err), 0);
    ck_assert_uint_eq(r.seq, 2);
    wal_close(w);
    w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 2);
    wal_close(w);
    free(body);
}
END_TEST

START_TEST(newer_record_is_refused)
{
    size_t n;
    struct wal *w = open_sized(4096);
    append(w, 1);
    wal_close(w);
    uint8_t *bytes = file_read(first_segment, &n);
    /* As a newer program would write it: another version under a right checksum. */
    uint32_t body_n, rejects_n;
    memcpy(&body_n, bytes + 24, 4);
    memcpy(&rejects_n, bytes + 28, 4);
    bytes[4] = 2;
    uint64_t sum = store_sum(bytes, 48 + 4 * rejects_n + body_n, 40);
    memcpy(bytes + 40, &sum, 8);
    file_write(first_segment, bytes, n);
    ck_assert_int_eq(wal_open_sized(scratch, 4096, &w, &err), ERR_VERSION);
    ck_assert_ptr_nonnull(strstr(err.message, "version 2"));
    free(bytes);
}
END_TEST

/* In a child, since a file size limit stays with its process. */
START_TEST(full_disk_changes_nothing)
{
    pid_t pid = fork();
    if (pid == 0) {
        signal(SIGXFSZ, SIG_IGN);
        struct rlimit most = {6000, 6000};
        struct wal *w = open_sized(4096);
        for (uint64_t i = 1; i <= 10; i++)
            append(w, i);
        setrlimit(RLIMIT_FSIZE, &most);
        uint64_t before = wal_bytes(w);
        int code = wal_reserve(w, 8000, 0, &err);
        bool ok = code == ERR_DISK_FULL && wal_bytes(w) == before && wal_last_seq(w) == 10;
        append(w, 11); /* small ones still fit */
        struct seen seen = {0};
        char damage[256];
        ok = ok && wal_replay(w, 0, see, &seen, damage, &err) == 0 && seen.n == 11 && !*damage;
        wal_close(w);
        _exit(ok ? 0 : 1);
    }
    int status;
    ck_assert_int_eq(waitpid(pid, &status, 0), pid);
    ck_assert(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    struct wal *w = open_sized(4096);
    ck_assert_uint_eq(wal_last_seq(w), 11);
    wal_close(w);
}
END_TEST

START_TEST(full_file_system)
{
    if (!tiny_disk_mount("size=4m"))
        return;
    struct wal *w;
    ck_assert_int_eq(wal_open_sized(scratch_path("tiny"), 1 << 20, &w, &err), 0);
    static char body[300000];
    struct wal_record r = {.kind = WAL_KIND_WRITE, .body = {body, sizeof(body)}};
    int code = 0;
    uint64_t n = 0, bytes;
    while (n < 100 && !(code = wal_reserve(w, sizeof(body), 0, &err))) {
        ck_assert_int_eq(wal_append(w, &r, &err), 0);
        n++;
    }
    bytes = wal_bytes(w);
    ck_assert_int_eq(code, ERR_DISK_FULL);
    ck_assert_uint_ge(n, 6);
    ck_assert_uint_eq(wal_last_seq(w), n);
    ck_assert_int_eq(wal_append(w, &r, &err), ERR_DISK_FULL);
    ck_assert_uint_eq(wal_bytes(w), bytes);
    ck_assert_int_eq(wal_sync(w, &err), 0);
    wal_close(w);
    ck_assert_int_eq(wal_open_sized(scratch_path("tiny"), 1 << 20, &w, &err), 0);
    ck_assert_uint_eq(wal_last_seq(w), n);
    /* Room again once old segments are gone. */
    ck_assert_int_eq(wal_trim(w, n, &err), 0);
    ck_assert_int_eq(wal_append(w, &r, &err), 0);
    ck_assert_uint_eq(r.seq, n + 1);
    wal_close(w);
    tiny_disk_unmount();
}
END_TEST

static void *sync_many(void *arg)
{
    struct err e;
    for (int i = 0; i < 50; i++)
        if (wal_sync(arg, &e) != 0)
            return arg;
    return NULL;
}

START_TEST(sync_from_threads)
{
    pthread_t threads[6];
    struct wal *w = open_sized(8192); /* small, so that segments change under the syncs */
    append(w, 1);
    for (int i = 0; i < 6; i++)
        ck_assert_int_eq(pthread_create(&threads[i], NULL, sync_many, w), 0);
    for (uint64_t i = 2; i <= 500; i++)
        append(w, i);
    for (int i = 0; i < 6; i++) {
        void *failed;
        pthread_join(threads[i], &failed);
        ck_assert_ptr_null(failed);
    }
    ck_assert_int_eq(wal_sync(w, &err), 0);
    wal_close(w);
}
END_TEST

/* Killed at any moment, the log holds every record whose append returned. */
START_TEST(survives_kill)
{
    char damage[256];
    uint64_t known = 0;
    for (int round = 0; round < 5; round++) {
        int fds[2];
        ck_assert_int_eq(pipe(fds), 0);
        pid_t pid = fork();
        if (pid == 0) {
            struct wal *w = open_sized(4096);
            for (uint64_t i = known + 1;; i++) {
                append(w, i);
                if (write(fds[1], &i, sizeof(i)) != sizeof(i))
                    _exit(1);
            }
        }
        close(fds[1]);
        usleep(3000 + 4000 * (useconds_t)round);
        kill(pid, SIGKILL);
        waitpid(pid, NULL, 0);
        for (uint64_t i; read(fds[0], &i, sizeof(i)) == sizeof(i);)
            known = i;
        close(fds[0]);
        struct wal *w = open_sized(4096);
        ck_assert_uint_ge(wal_last_seq(w), known);
        struct seen seen = replay(w, 0, damage);
        ck_assert_uint_eq(seen.n, wal_last_seq(w));
        ck_assert_str_eq(damage, "");
        known = wal_last_seq(w);
        wal_close(w);
    }
    ck_assert_uint_gt(known, 0);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("store/wal");
    TCase *tcase = tcase_create("wal");
    tcase_set_timeout(tcase, 60);
    tcase_add_checked_fixture(tcase, setup, teardown);
    tcase_add_test(tcase, comes_back_in_order);
    tcase_add_test(tcase, trimming_keeps_what_is_needed);
    tcase_add_test(tcase, seqs_go_on_above_the_store);
    tcase_add_test(tcase, torn_at_every_byte);
    tcase_add_test(tcase, stale_records_stay_dead);
    tcase_add_test(tcase, damage_in_the_middle_is_reported);
    tcase_add_test(tcase, missing_segment_is_reported);
    tcase_add_test(tcase, record_inside_a_body);
    tcase_add_test(tcase, limits);
    tcase_add_test(tcase, newer_record_is_refused);
    tcase_add_test(tcase, full_disk_changes_nothing);
    tcase_add_test(tcase, full_file_system);
    tcase_add_test(tcase, sync_from_threads);
    tcase_add_test(tcase, survives_kill);
    suite_add_tcase(suite, tcase);
    return suite_run(suite);
}
