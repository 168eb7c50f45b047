#include "executor/op_build.h"

#include "base/alloc.h"

int state_builder_init(struct state_builder *b, enum family family, const struct sketch_params *params, struct err *e)
{
    const struct family_info *info = family_get(family);
    if (!info)
        return err_set(e, ERR_BAD_DATA, "unknown family %d", (int)family);
    const char *reason = "";
    if (info->check_params(params, &reason))
        return err_set(e, ERR_BAD_DATA, "%s: %s", info->name, reason);
    *b = (struct state_builder){.family = info, .params = *params};
    return 0;
}

void state_builder_done(struct state_builder *b)
{
    mem_free(b->state);
    mem_free(b->scratch);
    *b = (struct state_builder){0};
}

static void reserve(struct state_builder *b, uint64_t samples_n, uint32_t states_n)
{
    /* Families that do not know what is behind a state are bounded whatever it is. */
    size_t need = b->family->size_bound(&b->params, samples_n > 0 ? samples_n : UINT32_MAX);
    size_t scratch = b->family->scratch_bound(&b->params, samples_n, states_n);
    if (need > b->state_cap)
        b->state = mem_grow(b->state, &b->state_cap, need, 1);
    if (scratch > b->scratch_cap)
        b->scratch = mem_grow(b->scratch, &b->scratch_cap, scratch, 1);
}

int state_builder_run(struct state_builder *b, int64_t end_ms, const int64_t *times_ms, const double *values,
                      uint32_t n, uint64_t seed, struct str *ret, struct err *e)
{
    size_t size = 0;
    reserve(b, n, 0);
    int rc = b->family->build(b->state, b->state_cap, &size, &b->params, end_ms, times_ms, values, n, seed, b->scratch);
    if (rc)
        return err_set(e, ERR_INTERNAL,
                       "building a %s state of %u samples for the window ending at %lld ms failed with %d",
                       b->family->name, n, (long long)end_ms, rc);
    *ret = (struct str){(const char *)b->state, size};
    return 0;
}

int state_builder_run_items(struct state_builder *b, const struct sketch_items *items, uint64_t seed, struct str *ret,
                            struct err *e)
{
    size_t size = 0;
    reserve(b, items->n, 0);
    int rc = b->family->build_items(b->state, b->state_cap, &size, &b->params, items, seed, b->scratch);
    if (rc == SKETCH_BAD_DATA)
        return err_set(e, ERR_NOT_COVERED, "%s states cannot hold the weights of these items", b->family->name);
    if (rc)
        return err_set(e, ERR_INTERNAL, "building a %s state of %u items failed with %d", b->family->name, items->n,
                       rc);
    *ret = (struct str){(const char *)b->state, size};
    return 0;
}

int state_builder_merge(struct state_builder *b, int64_t end_ms, const struct state_ref *refs, uint32_t k,
                        uint64_t samples_n, uint64_t seed, struct str *ret, struct err *e)
{
    size_t size = 0;
    reserve(b, samples_n, k);
    int rc = b->family->merge_k(b->state, b->state_cap, &size, &b->params, end_ms, refs, k, seed, b->scratch);
    if (rc)
        return err_set(e, ERR_INTERNAL, "merging %u %s states for the window ending at %lld ms failed with %d", k,
                       b->family->name, (long long)end_ms, rc);
    *ret = (struct str){(const char *)b->state, size};
    return 0;
}
