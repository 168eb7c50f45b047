/*
 * Runs one fuzz target over every file of a directory and over seeded mutations of each: the part of fuzzing that every
 * build does. usage: fuzz_replay_<target> CORPUS [MUTATIONS]
 */
#include <dirent.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fuzz.h"
#include "suite.h"

enum { MUTATIONS_EACH = 200, FILE_MAX_BYTES = 1 << 20, GROWTH_MAX = 64 };

static uint64_t roll(uint64_t *state)
{
    *state ^= *state >> 12;
    *state ^= *state << 25;
    *state ^= *state >> 27;
    return *state * UINT64_C(2685821657736338717);
}

/* In a block of exactly n bytes, so that the address sanitizer sees a read behind it. */
static void run(const uint8_t *bytes, size_t n)
{
    uint8_t *copy = malloc(n ? n : 1);
    MUST(copy);
    memcpy(copy, bytes, n);
    LLVMFuzzerTestOneInput(copy, n);
    free(copy);
}

/* One to four edits: a flipped bit, a new byte, a cut, a byte taken out, a run repeated. Returns the new length. */
static size_t mutate(uint8_t *p, size_t n, size_t cap, uint64_t *dice)
{
    for (uint64_t edits = 1 + roll(dice) % 4; edits && n; edits--) {
        size_t at = roll(dice) % n, run_n = 1 + roll(dice) % 16;
        switch (roll(dice) % 5) {
        case 0:
            p[at] ^= (uint8_t)(1 << roll(dice) % 8);
            break;
        case 1:
            p[at] = (uint8_t)roll(dice);
            break;
        case 2:
            n = at;
            break;
        case 3:
            memmove(p + at, p + at + 1, n - at - 1);
            n--;
            break;
        default:
            if (run_n > n - at)
                run_n = n - at;
            if (n + run_n > cap)
                break;
            memmove(p + at + run_n, p + at, n - at);
            n += run_n;
        }
    }
    return n;
}

static int run_file(const char *path, unsigned long mutations, uint64_t *dice)
{
    uint8_t *bytes = malloc(FILE_MAX_BYTES + GROWTH_MAX), *mutant = malloc(FILE_MAX_BYTES + GROWTH_MAX);
    FILE *f = fopen(path, "rb");
    if (!f || !bytes || !mutant) {
        fprintf(stderr, "%s cannot be read\n", path);
        exit(1);
    }
    size_t n = fread(bytes, 1, FILE_MAX_BYTES, f);
    fclose(f);
    run(bytes, n);
    for (unsigned long i = 0; i < mutations; i++) {
        memcpy(mutant, bytes, n);
        run(mutant, mutate(mutant, n, n + GROWTH_MAX, dice));
    }
    free(bytes);
    free(mutant);
    return 1;
}

static int visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    struct dirent **entries;
    char path[4096];
    if (argc < 2) {
        fprintf(stderr, "usage: %s CORPUS [MUTATIONS]\n", argv[0]);
        return 2;
    }
    unsigned long mutations = argc > 2 ? strtoul(argv[2], NULL, 10) : MUTATIONS_EACH;
    uint64_t dice = suite_seed(argv[1]) | 1;
    int n = scandir(argv[1], &entries, visible, alphasort), files = 0;
    for (int i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", argv[1], entries[i]->d_name);
        files += run_file(path, mutations, &dice);
        free(entries[i]);
    }
    if (n >= 0)
        free(entries);
    printf("%d files, %lu mutations each\n%d passed, %d failed\n", files, mutations, files, files == 0);
    return files == 0;
}
