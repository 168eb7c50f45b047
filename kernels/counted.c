#include "kernels/counted.h"

#include <math.h>

#include "kernels/fixed.h"
#include "kernels/tally.h"

struct counted_shape counted_shape(const struct sketch_params *params, bool is_signed)
{
    struct counted_shape shape = {.tail = 8, .is_signed = is_signed};
    shape.bytes[1] = (uint8_t)params->depth;
    bits_store_u16(shape.bytes + 2, (uint16_t)params->heap);
    bits_store_u32(shape.bytes + 4, params->width);
    return shape;
}

static bool has_shape(const uint8_t *bytes, const struct counted_shape *shape)
{
    return memcmp(bytes + 1, shape->bytes + 1, shape->tail - 1) == 0;
}

/* Only where there are signs: UnivMon's forms are counters', and never real. */
static bool is_real(const uint8_t *bytes, const struct counted_shape *shape)
{
    return shape->is_signed && (bytes[0] == COUNTED_REAL_LIST || bytes[0] == COUNTED_REAL);
}

static struct counted_total total_of(const uint8_t *bytes, const struct counted_shape *shape)
{
    const uint8_t *p = bytes + shape->tail;
    return (struct counted_total){bits_load_u64(p), bits_load_u64(p + 8),
                                  counters_mass_load(p + 16, is_real(bytes, shape))};
}

struct counted_view counted_view(const struct state_ref *s, const struct counted_shape *shape)
{
    size_t head = shape->tail + COUNTED_TAIL_SIZE;
    return (struct counted_view){.is_table = s->bytes[0] >= COUNTED_NARROW,
                                 .is_real = is_real(s->bytes, shape),
                                 .form = (enum counter_form)(s->bytes[0] - COUNTED_NARROW + COUNTERS_NARROW),
                                 .total = total_of(s->bytes, shape),
                                 .body = s->bytes + head,
                                 .body_size = s->size - head};
}

int counted_heads(struct counted_total *ret, const struct state_ref *src, uint32_t k, const struct counted_shape *shape)
{
    struct counted_total sum = {.seed = bits_load_u64(src[0].bytes + shape->tail)};
    for (uint32_t i = 0; i < k; i++) {
        struct counted_total one = total_of(src[i].bytes, shape);
        if (!has_shape(src[i].bytes, shape) || one.seed != sum.seed)
            return SKETCH_MISMATCH;
        sum.n += one.n;
        if (sum.n >= COUNTERS_N_END || counters_mass_add(&sum.mass, &one.mass, shape->is_signed) != SKETCH_OK)
            return SKETCH_BAD_DATA;
    }
    *ret = sum;
    return SKETCH_OK;
}

int counted_order(struct counted_total *total, const struct state_ref *src, uint32_t k,
                  const struct counted_shape *shape, uint32_t *index, const uint32_t **ret_order)
{
    *ret_order = NULL;
    if (!total->mass.is_real)
        return SKETCH_OK;
    int rc = fixed_order(src, k, 0, FIXED_BY_END, index, ret_order);
    if (rc != SKETCH_OK)
        return rc;
    total->mass.real = 0;
    for (uint32_t i = 0; i < k; i++)
        total->mass.real += total_of(fixed_at(src, *ret_order, i)->bytes, shape).mass.real;
    return SKETCH_OK;
}

uint32_t counted_tables(struct counters_table *ret, const struct state_ref *src, const uint32_t *order, uint32_t k,
                        const struct counted_shape *shape)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(fixed_at(src, order, i), shape);
        if (v.is_table)
            ret[n++] = (struct counters_table){v.body, v.form};
    }
    return n;
}

double counted_point(const struct counted_total *total, const struct state_ref *src, uint32_t k,
                     const struct counted_shape *shape, uint64_t key, const struct counted_place *place, uint32_t n)
{
    int64_t whole[COUNTED_PLACES_MAX] = {0}, listed = 0; /* below the mass, which is below 2^62 */
    double real[COUNTED_PLACES_MAX] = {0}, listed_real = 0, least = INFINITY;
    bool as_real = total->mass.is_real;
    for (uint32_t i = 0; i < k; i++) {
        struct counted_view v = counted_view(&src[i], shape);
        if (!v.is_table) {
            uint64_t word = tally_lookup(tally_open(v.body, v.body_size, shape->is_signed, v.is_real), key);
            listed_real += as_real ? counters_of_word(word, v.is_real) : 0;
            listed += as_real ? 0 : (int64_t)word;
            continue;
        }
        for (uint32_t j = 0; j < n; j++)
            if (as_real)
                real[j] += counters_value(v.body, v.form, shape->is_signed, place[j].at);
            else
                whole[j] += counters_whole(v.body, v.form, shape->is_signed, place[j].at);
    }
    for (uint32_t j = 0; j < n; j++) {
        double v = as_real ? real[j] : (double)whole[j];
        real[j] = place[j].minus ? -v : v;
        least = real[j] < least ? real[j] : least;
    }
    return (shape->is_signed ? counters_median(real, n) : least) + (as_real ? listed_real : (double)listed);
}

struct counted_batch counted_batch(const double *values, const struct sketch_items *items, uint32_t n)
{
    struct counted_batch b; /* the rooms are not cleared */
    b.values = values;
    b.weights = items ? items->weights : NULL;
    b.items = items;
    b.n = n;
    b.at = b.run = 0;
    return b;
}

const uint64_t *counted_next(struct counted_batch *b)
{
    b->at += b->run;
    b->run = b->n - b->at < COUNTERS_BATCH ? b->n - b->at : COUNTERS_BATCH;
    if (b->run == 0)
        return NULL;
    if (b->items)
        return b->items->keys + b->at;
    for (uint32_t i = 0; i < b->run; i++)
        b->room[i] = bits_item(b->values[b->at + i]);
    return b->room;
}

const uint64_t *counted_words(struct counted_batch *b, bool is_real)
{
    if (!b->weights && !is_real)
        return NULL;
    for (uint32_t i = 0; i < b->run; i++)
        b->words[i] = counters_word(b->weights ? b->weights[b->at + i] : 1, is_real);
    return b->words;
}

uint8_t counted_form(bool is_table, enum counter_form form)
{
    if (is_table)
        return (uint8_t)(COUNTED_NARROW + (uint8_t)form - COUNTERS_NARROW);
    return form == COUNTERS_REAL ? COUNTED_REAL_LIST : COUNTED_LIST;
}

uint8_t *counted_store(uint8_t *dst, uint8_t form, const struct counted_shape *shape, const struct counted_total *total)
{
    memcpy(dst, shape->bytes, shape->tail);
    dst[0] = form;
    bits_store_u64(dst + shape->tail, total->seed);
    bits_store_u64(dst + shape->tail + 8, total->n);
    counters_mass_store(dst + shape->tail + 16, &total->mass);
    return dst + shape->tail + COUNTED_TAIL_SIZE;
}

const char *counted_head_fault(const uint8_t *bytes, size_t n, const struct counted_shape *shape, uint8_t form_most)
{
    if (n < shape->tail + COUNTED_TAIL_SIZE + 4)
        return "a state of counters is cut short";
    if (bytes[0] < 1 || bytes[0] > form_most ||
        (form_most == COUNTED_REAL && !shape->is_signed && (bytes[0] == COUNTED_REAL_LIST || bytes[0] == COUNTED_REAL)))
        return "the form of a state of counters is unknown";
    if (!has_shape(bytes, shape))
        return "a state of counters was built with another depth, width, heap or grid";
    struct counted_total total = total_of(bytes, shape);
    if (total.n == 0 || total.n >= COUNTERS_N_END || !counters_mass_possible(&total.mass))
        return "a sample count or mass is out of range";
    return NULL;
}

const char *counted_list_fault(const struct counted_view *v, const struct counted_shape *shape,
                               const struct mass *listed)
{
    uint64_t whole = v->total.mass.whole;
    if (v->is_real         ? !(listed->real <= 2 * v->total.mass.real) /* rounding is far from that */
        : shape->is_signed ? listed->whole > whole || (whole - listed->whole) % 2 != 0
                           : listed->whole != whole)
        return "listed weights do not add up to the mass";
    return NULL;
}

const char *counted_table_fault(const struct counted_view *v, const struct counted_shape *shape, size_t cells,
                                size_t behind, uint64_t listed)
{
    if (v->form != counters_form(&v->total.mass, shape->is_signed))
        return "counters are wider or narrower than their mass";
    if (v->total.n <= listed)
        return "a table stands where a list is due";
    if (v->body_size != cells * counters_cell_size(v->form) + behind)
        return "a table's size does not fit its shape";
    return NULL;
}
