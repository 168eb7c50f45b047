#include "kernels/top.h"

static bool contains(const struct top *t, uint64_t item)
{
    bool found = false; /* no early exit: a short scan without branches is a vector loop */
    for (uint32_t i = 0; i < t->n; i++)
        found |= t->items[i] == item;
    return found;
}

void top_insert(struct top *t, uint64_t item, double estimate)
{
    if (contains(t, item))
        return;
    uint32_t at = t->n < t->most ? t->n++ : t->least;
    t->items[at] = item;
    t->estimates[at] = estimate;
    uint32_t least = 0;
    for (uint32_t i = 1; i < t->n; i++)
        if (top_heavier(t->estimates[least], t->items[least], t->estimates[i], t->items[i]))
            least = i;
    t->least = least;
}

static void swap(struct top *t, uint32_t a, uint32_t b)
{
    uint64_t item = t->items[a];
    double estimate = t->estimates[a];
    t->items[a] = t->items[b];
    t->estimates[a] = t->estimates[b];
    t->items[b] = item;
    t->estimates[b] = estimate;
}

/* Of n, the lightest rises to the root. */
static void sift_down(struct top *t, uint32_t at, uint32_t n)
{
    for (uint64_t child = 2 * (uint64_t)at + 1; child < n; child = 2 * (uint64_t)at + 1) {
        uint32_t c = (uint32_t)child;
        if (c + 1 < n && top_heavier(t->estimates[c], t->items[c], t->estimates[c + 1], t->items[c + 1]))
            c++;
        if (!top_heavier(t->estimates[at], t->items[at], t->estimates[c], t->items[c]))
            return;
        swap(t, at, c);
        at = c;
    }
}

void top_sort(struct top *t)
{
    for (uint32_t i = t->n / 2; i-- > 0;)
        sift_down(t, i, t->n);
    for (uint32_t n = t->n; n > 1; n--) {
        swap(t, 0, n - 1);
        sift_down(t, 0, n - 1);
    }
}

void top_sort_items(struct top *t)
{
    for (uint32_t i = 0; i < t->n; i++) /* of equal estimates the smaller item comes first */
        t->estimates[i] = 0;
    top_sort(t);
}
