#include "base/histogram_code.h"

#include "base/alloc.h"
#include "base/err.h"

enum { FLAG_LAYOUT = 1, MODE_SHIFT = 1, MODE_MASK = 3, RESET_SHIFT = 4, RESET_MASK = 3, FLAG_COUNT = 64, GROUP = 8 };
enum { FLAGS_KNOWN = FLAG_LAYOUT | MODE_MASK << MODE_SHIFT | RESET_MASK << RESET_SHIFT | FLAG_COUNT };
enum mode { MODE_RISING = 0, MODE_STEPS, MODE_SECOND, MODES };
static const uint8_t widths[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 16, 20, 28, 40, 64};

static uint64_t double_bits(double v)
{
    return load_u64(&v);
}

/* ---- writing ---- */

static void put_word(struct strbuf *out, uint64_t v, uint64_t before)
{
    uint64_t x = v ^ before;
    unsigned top = x ? (unsigned)__builtin_clzll(x) / 8 : 0, low = x ? (unsigned)__builtin_ctzll(x) / 8 : 0;
    unsigned n = x ? 8 - top - low : 0;
    strbuf_add_char(out, (char)(top << 4 | n));
    x >>= low * 8;
    strbuf_add(out, &x, n);
}

static void put_spans(struct strbuf *out, const struct histogram_exact_side *s)
{
    strbuf_add_varint(out, s->spans_n);
    for (uint32_t i = 0; i < s->spans_n; i++) {
        strbuf_add_varint(out, zigzag(s->spans[i].offset));
        strbuf_add_varint(out, s->spans[i].length);
    }
}

static void put_layout(struct strbuf *out, const struct histogram_exact *h)
{
    uint64_t before = 0;
    strbuf_add_char(out, h->floats);
    strbuf_add_varint(out, zigzag(h->schema));
    put_word(out, double_bits(h->zero_threshold), 0);
    put_spans(out, &h->negative);
    put_spans(out, &h->positive);
    strbuf_add_varint(out, h->custom_n);
    for (uint32_t i = 0; i < h->custom_n; i++) {
        put_word(out, double_bits(h->custom[i]), before);
        before = double_bits(h->custom[i]);
    }
}

static void before_make(struct histogram_encoder *enc, uint32_t n)
{
    struct histogram_before *b = &enc->before;
    if (enc->room < n) {
        mem_free(b->counts);
        b->counts = mem_alloc(2 * (size_t)n * sizeof *b->counts);
        enc->room = n;
    }
    b->steps = b->counts + n;
    b->n = n;
    b->sum = b->count = 0;
    memset(b->counts, 0, 2 * (size_t)n * sizeof *b->counts);
}

/* Does h differ from the sample before in its layout? Then it becomes the encoder's. */
static bool layout_changes(struct histogram_encoder *enc, const struct histogram_exact *h, struct strbuf *out)
{
    size_t at = out->n;
    put_layout(out, h); /* where it will stand, if it is to be written */
    size_t size = out->n - at;
    bool same = size == enc->layout.n && memcmp(out->p + at, enc->layout.p, size) == 0;
    out->n = at;
    if (same)
        return false;
    strbuf_clear(&enc->layout);
    strbuf_add(&enc->layout, out->p + at, size);
    before_make(enc, 1 + h->negative.counts_n + h->positive.counts_n);
    return true;
}

static uint64_t count_at(const struct histogram_exact *h, uint32_t i)
{
    if (i == 0)
        return h->zero_count;
    i--;
    return i < h->negative.counts_n ? h->negative.counts[i] : h->positive.counts[i - h->negative.counts_n];
}

static unsigned width_code(uint64_t all)
{
    unsigned code = 0;
    while (code < 15 && all >> widths[code])
        code++;
    return code;
}

static uint64_t step_as(enum mode mode, uint64_t step, uint64_t before)
{
    if (mode == MODE_RISING)
        return step;
    return zigzag((int64_t)(mode == MODE_STEPS ? step : step - before));
}

static void put_group(struct strbuf *out, const uint64_t *v, uint32_t n, unsigned width)
{
    uint8_t bytes[GROUP * 8] = {0};
    for (uint32_t i = 0; i < n; i++)
        for (unsigned b = 0; b < width;) { /* a byte's worth at a time */
            unsigned at = i * width + b, room = 8 - at % 8, take = width - b < room ? width - b : room;
            bytes[at / 8] |= (uint8_t)((v[i] >> b & ((1u << take) - 1)) << at % 8);
            b += take;
        }
    strbuf_add(out, bytes, (n * width + 7) / 8);
}

/* The mode that takes the fewest bits; the lower of two that take as many. */
static enum mode mode_choose(const struct histogram_before *b, const struct histogram_exact *h)
{
    uint64_t bits[MODES] = {0}, fell = 0;
    for (uint32_t i = 0; i < b->n; i += GROUP) {
        uint64_t all[MODES] = {0};
        uint32_t n = b->n - i < GROUP ? b->n - i : GROUP;
        for (uint32_t k = i; k < i + n; k++) {
            uint64_t step = count_at(h, k) - b->counts[k];
            fell |= step >> 63;
            for (int m = 0; m < MODES; m++)
                all[m] |= step_as((enum mode)m, step, b->steps[k]);
        }
        for (int m = 0; m < MODES; m++)
            bits[m] += (widths[width_code(all[m])] * n + 7) / 8;
    }
    enum mode best = fell ? MODE_STEPS : MODE_RISING;
    for (int m = best + 1; m < MODES; m++)
        if (bits[m] < bits[best])
            best = (enum mode)m;
    return best;
}

static void put_integers(struct histogram_before *b, const struct histogram_exact *h, enum mode mode,
                         struct strbuf *out)
{
    uint32_t groups_n = (b->n + GROUP - 1) / GROUP;
    size_t codes_at = out->n;
    for (uint32_t i = 0; i < (groups_n + 1) / 2; i++)
        strbuf_add_char(out, 0);
    for (uint32_t g = 0; g < groups_n; g++) {
        uint64_t v[GROUP], all = 0;
        uint32_t first = g * GROUP, n = b->n - first < GROUP ? b->n - first : GROUP;
        for (uint32_t k = 0; k < n; k++) {
            uint64_t count = count_at(h, first + k), step = count - b->counts[first + k];
            v[k] = step_as(mode, step, b->steps[first + k]);
            all |= v[k];
            b->counts[first + k] = count;
            b->steps[first + k] = step;
        }
        unsigned code = width_code(all);
        out->p[codes_at + g / 2] |= (char)(code << (g % 2 * 4));
        put_group(out, v, n, widths[code]);
    }
}

static void put_doubles(struct histogram_before *b, const struct histogram_exact *h, struct strbuf *out)
{
    put_word(out, h->count, b->count);
    b->count = h->count;
    for (uint32_t i = 0; i < b->n; i += GROUP) {
        uint32_t n = b->n - i < GROUP ? b->n - i : GROUP, changed = 0;
        for (uint32_t k = 0; k < n; k++)
            changed |= (uint32_t)(count_at(h, i + k) != b->counts[i + k]) << k;
        strbuf_add_char(out, (char)changed);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t count = count_at(h, i + k);
            if (changed >> k & 1)
                put_word(out, count, b->counts[i + k]);
            b->counts[i + k] = count;
        }
    }
}

static uint64_t total_of(const struct histogram_before *b)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < b->n; i++)
        total += b->counts[i];
    return total;
}

static uint64_t total_counts(const struct histogram_before *b, const struct histogram_exact *h)
{
    uint64_t total = 0;
    for (uint32_t i = 0; i < b->n; i++)
        total += count_at(h, i);
    return total;
}

void histogram_encode(struct histogram_encoder *enc, const struct histogram_exact *h, struct strbuf *out)
{
    struct histogram_before *b = &enc->before;
    size_t flags_at = out->n;
    strbuf_add_char(out, 0);
    unsigned flags = (unsigned)h->reset << RESET_SHIFT;
    if (layout_changes(enc, h, out)) {
        flags |= FLAG_LAYOUT;
        strbuf_add_varint(out, enc->layout.n);
        strbuf_add(out, enc->layout.p, enc->layout.n);
    }
    put_word(out, double_bits(h->sum), b->sum);
    b->sum = double_bits(h->sum);
    if (h->floats) {
        put_doubles(b, h, out);
    } else {
        enum mode mode = mode_choose(b, h);
        uint64_t rest = h->count - total_counts(b, h);
        flags |= (unsigned)mode << MODE_SHIFT | (rest ? FLAG_COUNT : 0);
        if (rest)
            strbuf_add_varint(out, rest);
        put_integers(b, h, mode, out);
    }
    out->p[flags_at] = (char)flags;
}

void histogram_encoder_reset(struct histogram_encoder *enc)
{
    strbuf_clear(&enc->layout);
}

void histogram_encoder_done(struct histogram_encoder *enc)
{
    mem_free(enc->before.counts);
    strbuf_done(&enc->layout);
    *enc = (struct histogram_encoder){0};
}

void histogram_encoder_follow(struct histogram_encoder *enc, const struct histogram_decoder *d)
{
    strbuf_clear(&enc->layout);
    strbuf_add(&enc->layout, d->layout.p, d->layout.n);
    before_make(enc, d->before.n);
    memcpy(enc->before.counts, d->before.counts, d->before.n * sizeof *d->before.counts);
    memcpy(enc->before.steps, d->before.steps, d->before.n * sizeof *d->before.steps);
    enc->before.sum = d->before.sum;
    enc->before.count = d->before.count;
}

/* ---- reading ---- */

void histogram_decoder_init(struct histogram_decoder *d, struct arena *a)
{
    *d = (struct histogram_decoder){.arena = a};
}

static uint64_t take_word(struct byte_reader *r, uint64_t before)
{
    uint8_t head = read_u8(r);
    unsigned top = head >> 4, n = head & 15;
    uint64_t x = 0;
    if (head == 0)
        return before;
    const uint8_t *p = n >= 1 && top + n <= 8 ? read_bytes(r, n) : NULL;
    if (!p || p[0] == 0 || p[n - 1] == 0) { /* its zero bytes are not written */
        r->failed = true;
        return before;
    }
    memcpy(&x, p, n);
    return before ^ x << (8 - top - n) * 8;
}

static double take_double(struct byte_reader *r, uint64_t before)
{
    uint64_t bits = take_word(r, before);
    return load_f64(&bits);
}

static const struct histogram_span *take_spans(struct byte_reader *r, struct arena *a, uint32_t *ret_n,
                                               uint32_t *ret_buckets_n)
{
    uint64_t n = read_varint(r), buckets_n = 0;
    *ret_n = *ret_buckets_n = 0;
    if (r->failed || n > HISTOGRAM_BUCKETS_MAX || n > reader_left(r) / 2) { /* two bytes each, or more */
        r->failed = true;
        return NULL;
    }
    struct histogram_span *v = n ? ARENA_ARRAY(a, struct histogram_span, n) : NULL;
    for (uint64_t i = 0; i < n && v; i++) {
        int64_t offset = unzigzag(read_varint(r));
        uint64_t length = read_varint(r);
        if (offset < INT32_MIN || offset > INT32_MAX || length > HISTOGRAM_BUCKETS_MAX)
            r->failed = true;
        v[i] = (struct histogram_span){(int32_t)offset, (uint32_t)length};
        buckets_n += length;
    }
    if (buckets_n > HISTOGRAM_BUCKETS_MAX)
        r->failed = true;
    *ret_n = (uint32_t)n;
    *ret_buckets_n = r->failed ? 0 : (uint32_t)buckets_n;
    return v;
}

static const double *take_custom(struct byte_reader *r, struct arena *a, uint32_t *ret_n)
{
    uint64_t n = read_varint(r), before = 0;
    *ret_n = 0;
    if (r->failed || n > HISTOGRAM_BUCKETS_MAX || n > reader_left(r)) {
        r->failed = true;
        return NULL;
    }
    double *v = n ? ARENA_ARRAY(a, double, n) : NULL;
    for (uint64_t i = 0; i < n && v; i++) {
        before = take_word(r, before);
        v[i] = load_f64(&before);
    }
    *ret_n = (uint32_t)n;
    return v;
}

static void take_layout(struct histogram_decoder *d, struct byte_reader *outer)
{
    struct histogram_exact *h = &d->now;
    uint64_t size = read_varint(outer);
    const uint8_t *p = read_bytes(outer, size);
    if (!p)
        return;
    struct byte_reader r = {p, p + size, false};
    uint8_t floats = read_u8(&r);
    int64_t schema = unzigzag(read_varint(&r));
    *h = (struct histogram_exact){.floats = floats};
    h->schema = schema >= INT32_MIN && schema <= INT32_MAX ? (int32_t)schema : INT32_MIN;
    h->zero_threshold = take_double(&r, 0);
    h->negative.spans = take_spans(&r, d->arena, &h->negative.spans_n, &h->negative.counts_n);
    h->positive.spans = take_spans(&r, d->arena, &h->positive.spans_n, &h->positive.counts_n);
    h->custom = take_custom(&r, d->arena, &h->custom_n);
    outer->failed |= r.failed || r.p != r.end || floats > 1;
    d->layout = (struct str){(const char *)p, size};
    uint32_t n = 1 + h->negative.counts_n + h->positive.counts_n;
    uint64_t *counts = arena_zalloc(d->arena, 2 * (size_t)n * sizeof *counts);
    d->before = (struct histogram_before){.counts = counts, .steps = counts ? counts + n : NULL, .n = n};
    if (counts) {
        h->negative.counts = counts + 1;
        h->positive.counts = counts + 1 + h->negative.counts_n;
    }
}

static void take_group(const uint8_t *p, uint64_t *v, uint32_t n, unsigned width)
{
    for (uint32_t i = 0; i < n; i++) {
        v[i] = 0;
        for (unsigned b = 0; b < width;) {
            unsigned at = i * width + b, room = 8 - at % 8, take = width - b < room ? width - b : room;
            v[i] |= (uint64_t)(p[at / 8] >> at % 8 & ((1u << take) - 1)) << b;
            b += take;
        }
    }
}

static void take_integers(struct histogram_before *b, enum mode mode, struct byte_reader *r)
{
    uint32_t groups_n = (b->n + GROUP - 1) / GROUP;
    const uint8_t *codes = read_bytes(r, (groups_n + 1) / 2);
    for (uint32_t g = 0; codes && g < groups_n; g++) {
        uint64_t v[GROUP];
        uint32_t first = g * GROUP, n = b->n - first < GROUP ? b->n - first : GROUP;
        unsigned width = widths[codes[g / 2] >> (g % 2 * 4) & 15];
        const uint8_t *p = read_bytes(r, (n * width + 7) / 8);
        if (!p)
            return;
        take_group(p, v, n, width);
        for (uint32_t k = 0; k < n; k++) {
            uint64_t step = mode == MODE_RISING ? v[k] : (uint64_t)unzigzag(v[k]);
            if (mode == MODE_SECOND)
                step += b->steps[first + k];
            b->steps[first + k] = step;
            b->counts[first + k] += step;
        }
    }
}

static void take_doubles(struct histogram_before *b, struct byte_reader *r)
{
    b->count = take_word(r, b->count);
    for (uint32_t i = 0; i < b->n && !r->failed; i += GROUP) {
        uint32_t n = b->n - i < GROUP ? b->n - i : GROUP;
        unsigned changed = read_u8(r);
        r->failed |= changed >> n != 0;
        for (uint32_t k = 0; k < n; k++)
            if (changed >> k & 1)
                b->counts[i + k] = take_word(r, b->counts[i + k]);
    }
}

int histogram_decode(struct histogram_decoder *d, struct byte_reader *r, struct err *e)
{
    struct histogram_before *b = &d->before;
    struct histogram_exact *h = &d->now;
    uint8_t flags = read_u8(r);
    enum mode mode = (enum mode)(flags >> MODE_SHIFT & MODE_MASK);
    if (flags & FLAG_LAYOUT)
        take_layout(d, r);
    if (arena_failed(d->arena))
        return arena_check(d->arena, "query", e);
    r->failed |= b->n == 0 || mode == MODES || (flags & ~FLAGS_KNOWN) || (h->floats && (mode || flags & FLAG_COUNT));
    b->sum = take_word(r, b->sum);
    h->sum = load_f64(&b->sum);
    h->reset = (enum histogram_reset)(flags >> RESET_SHIFT & RESET_MASK);
    uint64_t rest = flags & FLAG_COUNT ? read_varint(r) : 0;
    if (!r->failed && h->floats)
        take_doubles(b, r);
    else if (!r->failed)
        take_integers(b, mode, r);
    if (r->failed)
        return err_set(e, ERR_CORRUPT, "a histogram's bytes are malformed");
    h->count = h->floats ? b->count : total_of(b) + rest;
    h->zero_count = b->counts[0];
    const char *fault = histogram_exact_fault(h);
    return fault ? err_set(e, ERR_CORRUPT, "stored histogram: %s", fault) : 0;
}
