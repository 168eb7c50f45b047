/* Pass 1 of candidates.c: families, their parameters, and who reads the states. */
#include "planner/offers.h"

#include "base/alloc.h"
#include "planner/accuracy.h"

static uint32_t add_state(struct planning *p, uint32_t source, uint32_t grouping, enum family family,
                          const struct sketch_params *params)
{
    strbuf_clear(&p->key);
    KEY_ADD(p, source);
    KEY_ADD(p, grouping);
    KEY_ADD(p, family);
    KEY_ADD(p, params->k);
    KEY_ADD(p, params->max_bins);
    KEY_ADD(p, params->alpha);
    KEY_ADD(p, params->p);
    KEY_ADD(p, params->depth);
    KEY_ADD(p, params->width);
    KEY_ADD(p, params->heap);
    KEY_ADD(p, params->rows);
    KEY_ADD(p, params->columns);
    bool added;
    uint32_t id = intern(&p->state_ids, p->key.p, p->key.n, &added);
    if (added) {
        p->states = arena_grow(p->arena, p->states, &p->states_cap, (size_t)p->states_n + 1, sizeof *p->states);
        if (p->states)
            p->states[p->states_n++] =
                (struct state){.source = source, .grouping = grouping, .family = family, .params = *params};
    }
    return id;
}

static uint32_t pair_of(struct offers *o, const struct offer *offer, bool *ret_added)
{
    struct planning *p = o->p;
    strbuf_clear(&p->key);
    KEY_ADD(p, p->demands[offer->demand].source);
    KEY_ADD(p, offer->grouping);
    KEY_ADD(p, offer->family);
    return intern(&o->pairs, p->key.p, p->key.n, ret_added);
}

/* One more reader of the states of a (source, grouping, family): they are to serve it as well. Where no parameters
 * serve both, the others keep theirs. */
static void note_strictest(struct offers *o, const struct offer *offer)
{
    bool added;
    uint32_t pair = pair_of(o, offer, &added);
    o->strictest = mem_grow(o->strictest, &o->strictest_cap, pair + 1, sizeof *o->strictest);
    struct sketch_params *known = &o->strictest[pair];
    if (added || !accuracy_join(offer->family, known, &offer->params, known))
        *known = added ? offer->params : *known;
}

static void add_offer_of(struct offers *o, struct offer offer)
{
    const struct demand *d = &o->p->demands[offer.demand];
    if (!offer.reason) {
        offer.own = add_state(o->p, d->source, offer.grouping, offer.family, &offer.params);
        note_strictest(o, &offer);
    }
    o->v = mem_grow(o->v, &o->cap, o->n + 1, sizeof *o->v);
    o->v[o->n++] = offer;
}

/* Where CountSketch does the same, Count-Min is not tried on weights that it may have to refuse. */
static const char *weights_reason(const struct planning *p, const struct demand *d, enum family family)
{
    const struct workload_metric *m = p->sources[d->source].metric;
    bool may_be_refused = family == FAMILY_CMS || family == FAMILY_CMS_HEAP;
    if (!may_be_refused || !d->site->group || !m || !str_eq(m->type, STR("gauge")))
        return NULL;
    return "bad_weights: sums of a gauge may be fractions or below zero, which Count-Min does not count";
}

/* False: the demand cannot be answered by this family, and there is no reason to give. */
static bool size_offer(const struct planning *p, uint32_t demand, enum family family, struct offer *ret)
{
    const struct demand *d = &p->demands[demand];
    struct accuracy guarantee;
    *ret = (struct offer){.demand = demand, .family = family, .own = PLAN_NONE, .strictest = PLAN_NONE};
    if (accuracy_size(family, d->site, &d->target, &ret->params, &guarantee, &ret->reason))
        ret->reason = weights_reason(p, d, family);
    else if (!ret->reason)
        return false;
    return true;
}

/* Which label sets demands of states by labels could share. */
static int note_groupings(struct offers *o, struct err *e)
{
    struct planning *p = o->p;
    struct offer offer;
    int rc = 0;
    for (uint32_t i = 0; rc == 0 && i < p->demands_n; i++)
        for (int f = FAMILY_INVALID + 1; p->demands[i].site->group && rc == 0 && f < FAMILY_END; f++)
            if (size_offer(p, i, (enum family)f, &offer) && !offer.reason)
                rc = groupings_note(&o->groupings, &p->demands[i], offer.family, e);
    return rc;
}

static int offer_families(struct offers *o, struct err *e)
{
    struct planning *p = o->p;
    int rc = note_groupings(o, e);
    for (uint32_t i = 0; rc == 0 && i < p->demands_n; i++) {
        o->of_demand[i] = o->n;
        for (int f = FAMILY_INVALID + 1; rc == 0 && f < FAMILY_END; f++) {
            struct offer offer;
            uint32_t groupings[GROUPINGS_OFFERED_MAX], n;
            if (!size_offer(p, i, (enum family)f, &offer))
                continue;
            n = groupings_offered(&o->groupings, &p->demands[i], offer.family, offer.reason != NULL, groupings);
            for (uint32_t k = 0; k < n; k++) {
                offer.grouping = groupings[k];
                offer.is_shared = k > 0;
                add_offer_of(o, offer);
            }
            rc = arena_check(p->arena, "planning", e);
        }
    }
    o->of_demand[p->demands_n] = o->n;
    for (uint32_t i = 0; rc == 0 && i < o->n; i++) {
        struct offer *offer = &o->v[i];
        bool added;
        if (!offer->reason)
            offer->strictest = add_state(p, p->demands[offer->demand].source, offer->grouping, offer->family,
                                         &o->strictest[pair_of(o, offer, &added)]);
    }
    return rc ? rc : arena_check(p->arena, "planning", e);
}

/* Demands by the states that can answer them: a counting sort, so they stay in order. */
static int index_readers(struct offers *o, struct err *e)
{
    struct planning *p = o->p;
    o->readers_first = arena_zalloc(p->arena, ((size_t)p->states_n + 2) * sizeof *o->readers_first);
    o->readers = ARENA_ARRAY(p->arena, uint32_t, 2 * (size_t)o->n);
    o->cut = arena_zalloc(p->arena, p->states_n);
    int rc = arena_check(p->arena, "planning", e);
    if (rc != 0)
        return rc;
    uint32_t *next = o->readers_first + 1; /* after the second pass next[s] is the end of s, the first of s + 1 */
    for (int pass = 1; pass <= 2; pass++) {
        for (uint32_t i = 0; i < o->n; i++) {
            const struct offer *offer = &o->v[i];
            uint32_t states[2] = {offer->own, offer->strictest};
            for (int k = 0; !offer->reason && k < (states[0] == states[1] ? 1 : 2); k++) {
                if (pass == 1)
                    next[states[k] + 1]++;
                else
                    o->readers[next[states[k]]++] = offer->demand;
            }
        }
        for (uint32_t s = 0; pass == 1 && s < p->states_n; s++)
            next[s + 1] += next[s];
    }
    return 0;
}

void offers_init(struct offers *o, struct planning *p)
{
    *o = (struct offers){.p = p};
    intern_init(&o->pairs, p->arena);
    groupings_init(&o->groupings, p);
    o->of_demand = ARENA_ARRAY(p->arena, uint32_t, (size_t)p->demands_n + 1);
}

void offers_done(struct offers *o)
{
    intern_done(&o->pairs);
    groupings_done(&o->groupings);
    mem_free(o->v);
    mem_free(o->strictest);
}

int offers_make(struct offers *o, struct err *e)
{
    int rc = offer_families(o, e);
    return rc ? rc : index_readers(o, e);
}
