#include "base/alloc.h"
#include "executor/raw.h"

void found_resets_done(struct found_resets *f)
{
    mem_free(f->room);
    mem_free(f->histograms);
}

const struct histogram *const *find_resets(struct found_resets *f, const struct histogram *const *histograms,
                                           uint32_t n)
{
    const struct histogram *before = NULL;
    f->room = mem_grow(f->room, &f->room_cap, n, sizeof *f->room);
    f->histograms = mem_grow(f->histograms, &f->histograms_cap, n, sizeof(const struct histogram *));
    for (uint32_t i = 0; i < n; i++) {
        const struct histogram *h = histograms[i];
        f->histograms[i] = h;
        if (h && before && h->reset == HISTOGRAM_RESET_UNKNOWN) {
            f->room[i] = *h;
            f->room[i].reset = histogram_was_reset(h, before) ? HISTOGRAM_RESET_YES : HISTOGRAM_RESET_NO;
            f->histograms[i] = &f->room[i];
        }
        before = h ? h : before;
    }
    return f->histograms;
}
