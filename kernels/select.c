#include "kernels/select.h"

#include <math.h>
#include <stddef.h>

#include "kernels/order.h"

enum {
    FINISH_MAX = 40, /* candidates that are sorted at once */
    TOP_MAX = 192,   /* samples that a walk from the top may pass */
    FEW = 12,        /* greatest samples that are kept sorted by insertion */
    HEADS_MAX = 768, /* keys of run heads or windows that are copied and selected from */
    SAMPLES = 200,   /* keys that windows are chosen by, about */
    SAMPLES_MAX = 512,
    PIVOTS = 9,      /* runs asked for a pivot */
    FAST_ROUNDS = 24 /* after so many, pivots come from the heaviest window's middle */
};

/* Within this file places count from the top: place 0 is the largest sample, keys rise with the place. */
struct pair {
    uint64_t first, second; /* keys at a place and at the next */
};

struct candidate {
    uint64_t key, weight;
};

static inline uint64_t key_at(const struct select_run *r, uint32_t i)
{
    return order_key_at(r->bytes + (size_t)i * 8);
}

uint64_t select_total(const struct select_run *runs, uint32_t runs_n)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < runs_n; i++)
        total += runs[i].n * runs[i].weight;
    return total;
}

/* First index in [lo, hi) whose key is >= key (or > key, if after), else hi. Without branches on the keys, so that the
 * searches of several runs overlap. */
static inline uint32_t bound(const struct select_run *r, uint32_t lo, uint32_t hi, uint64_t key, bool after)
{
    uint32_t n = hi - lo;
    if (after && key == UINT64_MAX)
        return hi;
    key += after;
    for (; n > 1; n -= n / 2)
        lo += n / 2 & (0 - (uint32_t)(key_at(r, lo + n / 2 - 1) < key));
    return lo + (n == 1 && key_at(r, lo) < key);
}

/* Restores the heap below i; the run with the smallest key at its lo is the root. Exhausted runs have left already. */
static void sift(struct select_run *runs, uint32_t n, uint32_t i)
{
    struct select_run r = runs[i];
    uint64_t key = key_at(&r, r.lo);
    for (;;) {
        uint32_t child = 2 * i + 1;
        if (child >= n)
            break;
        uint64_t child_key = key_at(&runs[child], runs[child].lo);
        if (child + 1 < n) {
            uint64_t other = key_at(&runs[child + 1], runs[child + 1].lo);
            child += other < child_key;
            child_key = other < child_key ? other : child_key;
        }
        if (key <= child_key)
            break;
        runs[i] = runs[child];
        i = child;
    }
    runs[i] = r;
}

/* By popping the greatest sample again and again. */
static struct pair walk(struct select_run *runs, uint32_t runs_n, uint64_t place)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < runs_n; i++)
        if (runs[i].n > 0) {
            struct select_run swap = runs[n];
            runs[n] = runs[i];
            runs[i] = swap;
            runs[n++].lo = 0;
        }
    for (uint32_t i = n / 2; i-- > 0;)
        sift(runs, n, i);
    struct pair p = {0, 0};
    bool have_first = false;
    for (uint64_t passed = 0; n > 0;) {
        uint64_t key = key_at(&runs[0], runs[0].lo);
        passed += runs[0].weight;
        if (!have_first && passed > place) {
            p.first = p.second = key;
            have_first = true;
        }
        if (passed > place + 1) {
            p.second = key;
            break;
        }
        if (++runs[0].lo == runs[0].n) {
            struct select_run swap = runs[--n];
            runs[n] = runs[0];
            runs[0] = swap;
        }
        if (n > 0)
            sift(runs, n, 0);
    }
    return p;
}

static void sort_candidates(struct candidate *c, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++) {
        struct candidate x = c[i];
        uint32_t j = i;
        for (; j > 0 && c[j - 1].key > x.key; j--)
            c[j] = c[j - 1];
        c[j] = x;
    }
}

/* A key near the wanted place: the middle one of what some windows hold at that share of their length. */
static uint64_t choose_pivot(const struct select_run *runs, uint32_t runs_n, double share, bool slow)
{
    struct candidate c[PIVOTS];
    if (slow) {
        const struct select_run *best = &runs[0];
        for (uint32_t i = 1; i < runs_n; i++)
            if ((runs[i].hi - runs[i].lo) * runs[i].weight > (best->hi - best->lo) * best->weight)
                best = &runs[i];
        return key_at(best, best->lo + (best->hi - best->lo) / 2);
    }
    uint32_t n = 0, step = runs_n > PIVOTS ? runs_n / PIVOTS : 1;
    for (uint32_t start = 0; start < step && n < PIVOTS; start++)
        for (uint32_t i = start; i < runs_n && n < PIVOTS; i += step) {
            const struct select_run *r = &runs[i];
            uint32_t width = r->hi - r->lo;
            if (width == 0)
                continue;
            uint32_t at = (uint32_t)(share * width);
            c[n++].key = key_at(r, r->lo + (at < width ? at : width - 1));
        }
    sort_candidates(c, n);
    return c[n / 2].key;
}

/* The smallest key behind every window. */
static uint64_t key_behind(const struct select_run *runs, uint32_t runs_n, uint64_t otherwise)
{
    uint64_t least = 0;
    bool have = false;
    for (uint32_t i = 0; i < runs_n; i++)
        if (runs[i].hi < runs[i].n) {
            uint64_t key = key_at(&runs[i], runs[i].hi);
            least = have && least < key ? least : key;
            have = true;
        }
    return have ? least : otherwise;
}

static struct pair finish(const struct select_run *runs, uint32_t runs_n, uint64_t place)
{
    struct candidate c[FINISH_MAX];
    uint32_t n = 0;
    for (uint32_t i = 0; i < runs_n; i++)
        for (uint32_t j = runs[i].lo; j < runs[i].hi; j++)
            c[n++] = (struct candidate){key_at(&runs[i], j), runs[i].weight};
    sort_candidates(c, n);
    uint32_t i = 0;
    uint64_t passed = c[0].weight;
    while (passed <= place)
        passed += c[++i].weight;
    struct pair p = {c[i].key, c[i].key};
    if (passed <= place + 1)
        p.second = i + 1 < n ? c[i + 1].key : key_behind(runs, runs_n, p.first);
    return p;
}

/* `place` counts from the windows' first sample. Each round leaves the pivot itself out or answers with it. */
static struct pair narrow(struct select_run *runs, uint32_t runs_n, uint64_t total, uint64_t place)
{
    uint64_t left_n = 0;
    for (uint32_t i = 0; i < runs_n; i++) {
        runs[i].lo = 0;
        runs[i].hi = runs[i].n;
        left_n += runs[i].n;
    }
    for (uint32_t round = 0; left_n > FINISH_MAX; round++) {
        uint64_t pivot = choose_pivot(runs, runs_n, (double)place / (double)total, round >= FAST_ROUNDS);
        uint64_t before = 0, upto = 0;
        for (uint32_t i = 0; i < runs_n; i++)
            before += (bound(&runs[i], runs[i].lo, runs[i].hi, pivot, false) - runs[i].lo) * runs[i].weight;
        if (place < before) {
            left_n = 0;
            for (uint32_t i = 0; i < runs_n; i++) {
                runs[i].hi = bound(&runs[i], runs[i].lo, runs[i].hi, pivot, false);
                left_n += runs[i].hi - runs[i].lo;
            }
            total = before;
            continue;
        }
        left_n = 0;
        uint64_t after = 0;
        for (uint32_t i = 0; i < runs_n; i++) {
            uint32_t end = bound(&runs[i], runs[i].lo, runs[i].hi, pivot, true);
            upto += (end - runs[i].lo) * runs[i].weight;
            after += (runs[i].hi - end) * runs[i].weight;
            left_n += runs[i].hi - end;
            runs[i].lo = end;
        }
        if (place < upto) {
            struct pair p = {pivot, pivot};
            if (place + 1 >= upto) {
                for (uint32_t i = 0; i < runs_n; i++)
                    runs[i].hi = runs[i].lo;
                p.second = key_behind(runs, runs_n, pivot);
            }
            return p;
        }
        place -= upto;
        total = after;
    }
    return finish(runs, runs_n, place);
}

/*
 * The pair at `place` < FEW - 1 of runs that weigh 1: one look at each run against the best so far. Runs are read from
 * the front until they fall behind, which is at once for most.
 */
static struct pair few(const struct select_run *runs, uint32_t runs_n, uint32_t place)
{
    uint64_t best[FEW];
    uint32_t n = 0, most = place + 2;
    for (uint32_t i = 0; i < runs_n; i++) {
        for (uint32_t at = 0; at < runs[i].n; at++) {
            uint64_t key = key_at(&runs[i], at);
            if (n == most && key >= best[n - 1])
                break;
            uint32_t j = n < most ? n++ : n - 1;
            for (; j > 0 && best[j - 1] > key; j--)
                best[j] = best[j - 1];
            best[j] = key;
        }
    }
    return (struct pair){best[place], n > place + 1 ? best[place + 1] : best[place]};
}

static bool all_weigh_one(const struct select_run *runs, uint32_t runs_n)
{
    uint64_t any = 0;
    for (uint32_t i = 0; i < runs_n; i++)
        any |= runs[i].weight;
    return any == 1;
}

/*
 * The pair at `place` of runs that weigh 1, from the first `depth` samples of each. false if that is too few to tell:
 * every sample left out must lie behind the pair.
 */
static bool heads(const struct select_run *runs, uint32_t runs_n, uint64_t place, uint32_t depth, struct pair *ret)
{
    uint64_t keys[HEADS_MAX], tmp[HEADS_MAX];
    uint32_t n = 0;
    bool rest = false;
    for (uint32_t i = 0; i < runs_n; i++) {
        uint32_t some = runs[i].n < depth ? runs[i].n : depth;
        if (some > HEADS_MAX - n)
            return false;
        order_keys(keys + n, runs[i].bytes, some);
        n += some;
        rest |= some < runs[i].n;
    }
    if (n <= place + rest)
        return false;
    order_select(keys, n, place, tmp);
    ret->first = keys[place];
    ret->second = n > place + 1 ? keys[place + 1] : keys[place];
    for (uint32_t i = 0; i < runs_n; i++) {
        uint32_t some = runs[i].n < depth ? runs[i].n : depth;
        if (some < runs[i].n && key_at(&runs[i], some - 1) < ret->second)
            return false;
    }
    return true;
}

/* Where the i-th run's first sampled key lies: spread evenly over a step, since runs of one series look alike. */
static inline uint32_t sample_start(uint32_t i, uint32_t step)
{
    return (uint32_t)((uint64_t)(uint32_t)(i * 0x9e3779b9u) * step >> 32);
}

/* Where in a run keys of [low, high] may lie, by its m keys at start, start + step, ... */
static void bracket(struct select_run *r, const uint64_t *keys, uint32_t m, uint32_t start, uint32_t step, uint64_t low,
                    uint64_t high)
{
    uint32_t below = 0, upto = 0;
    for (uint32_t i = 0; i < m; i++) {
        below += keys[i] < low;
        upto += keys[i] <= high;
    }
    r->lo = below == 0 ? 0 : start + (below - 1) * step + 1;
    r->hi = upto == m ? r->n : start + upto * step;
    for (uint32_t i = r->lo; i < r->hi; i += 8) /* all runs' lines at once, before the first is needed */
        __builtin_prefetch(r->bytes + (size_t)i * 8);
}

/*
 * The pair at `place` of runs that weigh 1: every step-th key of each run, sorted, says between which two keys the
 * answer lies with near certainty; what lies between them is copied and selected from. false if they miss it or too
 * much lies there.
 */
static bool windows(struct select_run *runs, uint32_t runs_n, uint64_t total, uint64_t place, struct pair *ret)
{
    uint64_t sample[SAMPLES_MAX], keys[HEADS_MAX + ORDER_SLACK], tmp[HEADS_MAX];
    uint32_t n = 0, step = (uint32_t)(total / SAMPLES) + 1;
    for (uint32_t i = 0; i < runs_n; i++)
        for (uint64_t at = sample_start(i, step); at < runs[i].n; at += step) {
            if (n == SAMPLES_MAX)
                return false;
            sample[n++] = key_at(&runs[i], (uint32_t)at);
        }
    if (n == 0)
        return false;
    memcpy(keys, sample, n * sizeof *keys);
    order_sort(keys, n, tmp);
    /* A key's place is known to the root of runs_n / 12 steps: each run's share errs uniformly by a step at most. */
    uint32_t middle = (uint32_t)(place / step), margin = 2 + (uint32_t)(2 * sqrt(runs_n / 12.0));
    uint64_t low = middle > margin ? keys[middle - margin] : 0;
    uint64_t high = middle + margin < n ? keys[middle + margin] : UINT64_MAX, before = 0;
    for (uint32_t i = 0, first = 0; i < runs_n; i++) {
        uint32_t start = sample_start(i, step), m = runs[i].n > start ? (runs[i].n - start - 1) / step + 1 : 0;
        bracket(&runs[i], sample + first, m, start, step, low, high);
        first += m;
    }
    uint32_t held = 0;
    for (uint32_t i = 0; i < runs_n; i++) {
        size_t below;
        uint32_t some = runs[i].hi - runs[i].lo;
        if (some > HEADS_MAX - held)
            return false;
        held +=
            (uint32_t)order_ops.between(keys + held, runs[i].bytes + (size_t)runs[i].lo * 8, some, low, high, &below);
        before += runs[i].lo + below;
    }
    bool last = before + held == total;
    if (place < before || place + 1 - last >= before + held)
        return false;
    place -= before;
    order_select(keys, held, place, tmp);
    ret->first = keys[place];
    ret->second = held > place + 1 ? keys[place + 1] : keys[place];
    return true;
}

/* The pair at `place` < total = the weight of all runs. */
static struct pair at_place(struct select_run *runs, uint32_t runs_n, uint64_t total, uint64_t place)
{
    struct pair p;
    uint64_t items = 0;
    for (uint32_t i = 0; i < runs_n; i++)
        items += runs[i].n;
    bool one = all_weigh_one(runs, runs_n);
    if ((double)place * ((double)items / (double)total) <= TOP_MAX && place < total / 4) {
        if (one && place + 2 <= FEW)
            return few(runs, runs_n, (uint32_t)place);
        uint32_t depth = (uint32_t)(2 * place / runs_n + 4);
        if (one && (heads(runs, runs_n, place, depth, &p) || heads(runs, runs_n, place, 3 * depth, &p)))
            return p;
        return walk(runs, runs_n, place);
    }
    if (one && items >= SAMPLES && windows(runs, runs_n, total, place, &p))
        return p;
    return narrow(runs, runs_n, total, place);
}

void select_pair(struct select_run *runs, uint32_t runs_n, uint64_t total, uint64_t rank, double *ret_low,
                 double *ret_high)
{
    uint64_t low_place = total - 1 - rank;
    struct pair p = at_place(runs, runs_n, total, low_place == 0 ? 0 : low_place - 1); /* the upper one comes first */
    *ret_high = order_value(p.first);
    *ret_low = order_value(low_place == 0 ? p.first : p.second);
}

bool select_lacks(const struct select_run *run, double low)
{
    return run->unread > 0 && (run->n == 0 || key_at(run, run->n - 1) < order_key(low));
}

bool select_top(struct select_run *runs, uint32_t runs_n, uint64_t low_place, double *ret_low, double *ret_high)
{
    uint64_t read = select_total(runs, runs_n);
    *ret_low = *ret_high = bits_to_f64(BITS_NAN);
    if (low_place >= read)
        return false;
    select_pair(runs, runs_n, read, read - 1 - low_place, ret_low, ret_high);
    bool lacks = false;
    for (uint32_t i = 0; i < runs_n; i++)
        lacks |= select_lacks(&runs[i], *ret_low);
    return !lacks;
}

struct select_place select_interpolated(double q, uint64_t n)
{
    double rank = q * (double)(n - 1), low = floor(rank);
    struct select_place p = {(uint64_t)low, rank - low};
    if (p.rank >= n)
        p = (struct select_place){n - 1, 0};
    return p;
}

uint64_t select_inclusive_rank(double q, uint64_t n)
{
    double rank = ceil(q * (double)n);
    if (!(rank > 1))
        return 0;
    return rank >= (double)n ? n - 1 : (uint64_t)rank - 1;
}
