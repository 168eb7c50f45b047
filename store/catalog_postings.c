/*
 * Postings: which series carry a pair. Most pairs belong to one series or to very many, so two ids lie inline, up to 64
 * in a list, and only more become a roaring bitmap. Ids are given out in rising order, so adding is appending.
 */
#include "base/alloc.h"
#include "store/catalog_internal.h"

static const uint32_t *posting_ids(const struct posting *p)
{
    return p->cap ? p->list : p->few;
}

static void posting_to_list(struct posting *p)
{
    uint32_t cap = p->cap ? p->cap * 2 : POSTING_FEW * 2;
    uint32_t *list = mem_alloc(cap * sizeof(*list));
    memcpy(list, posting_ids(p), p->n * sizeof(*list));
    if (p->cap)
        mem_free(p->list);
    p->list = list;
    p->cap = cap;
}

static void posting_to_bitmap(struct posting *p)
{
    roaring_bitmap_t *bitmap = roaring_bitmap_of_ptr(p->n, p->list);
    MUST(bitmap);
    mem_free(p->list);
    p->bitmap = bitmap;
    p->cap = POSTING_BITMAP;
}

void posting_add(struct posting *p, uint32_t id)
{
    if (p->cap != POSTING_BITMAP) {
        if (p->n == POSTING_LIST_MAX)
            posting_to_bitmap(p);
        else if (p->n == (p->cap ? p->cap : POSTING_FEW))
            posting_to_list(p);
    }
    if (p->cap == POSTING_BITMAP)
        roaring_bitmap_add(p->bitmap, id);
    else if (p->cap)
        p->list[p->n] = id;
    else
        p->few[p->n] = id;
    p->n++;
}

void posting_done(struct posting *p)
{
    if (p->cap == POSTING_BITMAP)
        roaring_bitmap_free(p->bitmap);
    else if (p->cap)
        mem_free(p->list);
    *p = (struct posting){0};
}

size_t posting_memory_bytes(const struct posting *p)
{
    if (p->cap == POSTING_BITMAP)
        return roaring_bitmap_size_in_bytes(p->bitmap);
    return p->cap * sizeof(uint32_t);
}

void posting_union(const struct posting *p, roaring_bitmap_t *into)
{
    if (p->cap == POSTING_BITMAP)
        roaring_bitmap_or_inplace(into, p->bitmap);
    else
        roaring_bitmap_add_many(into, p->n, posting_ids(p));
}
