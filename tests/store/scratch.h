/* A scratch directory for one test, and files in it read, written and cut as bytes. */
#ifndef TESTS_STORE_SCRATCH_H
#define TESTS_STORE_SCRATCH_H

#include <check.h>
#include <ftw.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <unistd.h>

static char scratch[256];

static inline void scratch_make(void)
{
    const char *base = getenv("TMPDIR");
    snprintf(scratch, sizeof(scratch), "%s/mullion-store-XXXXXX", base ? base : "/tmp");
    ck_assert_ptr_nonnull(mkdtemp(scratch));
}

static inline int scratch_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
    (void)st, (void)type, (void)ftw;
    return remove(path);
}

static inline void scratch_remove(void)
{
    nftw(scratch, scratch_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline const char *scratch_path(const char *name)
{
    static char path[512];
    snprintf(path, sizeof(path), "%s/%s", scratch, name);
    return path;
}

static inline uint8_t *file_read(const char *name, size_t *ret_n)
{
    FILE *f = fopen(scratch_path(name), "rb");
    ck_assert_msg(f != NULL, "%s is missing", name);
    fseek(f, 0, SEEK_END);
    size_t n = (size_t)ftell(f);
    rewind(f);
    uint8_t *bytes = malloc(n + 1);
    ck_assert_uint_eq(fread(bytes, 1, n, f), n);
    bytes[n] = 0;
    fclose(f);
    *ret_n = n;
    return bytes;
}

static inline void file_write(const char *name, const void *bytes, size_t n)
{
    FILE *f = fopen(scratch_path(name), "wb");
    ck_assert_ptr_nonnull(f);
    ck_assert_uint_eq(fwrite(bytes, 1, n, f), n);
    ck_assert_int_eq(fclose(f), 0);
}

static inline int file_exists(const char *name)
{
    return access(scratch_path(name), F_OK) == 0;
}

/* A file system of its own at scratch/tiny, so that it can be full. False where mounting is not allowed: the caller
 * then has nothing to test. */
static inline int tiny_disk_mount(const char *options)
{
    ck_assert_int_eq(mkdir(scratch_path("tiny"), 0700), 0);
    if (mount("tmpfs", scratch_path("tiny"), "tmpfs", 0, options) == 0)
        return 1;
    printf("skipped: a small file system cannot be mounted here\n");
    return 0;
}
static inline void tiny_disk_unmount(void)
{
    umount2(scratch_path("tiny"), MNT_DETACH);
}

/* xorshift64*: the tests' own dice. */
static inline uint64_t dice(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}
static inline uint32_t roll(uint64_t *state, uint32_t n)
{
    return (uint32_t)((dice(state) >> 33) % n);
}

#endif
