/* Remote write: any bytes as a compressed body and as a decompressed one. What the walker hands out lies in the body.
 */
#include "base/alloc.h"
#include "fuzz.h"
#include "ingest/write_request.h"

enum { BODY_MAX = 1 << 20 };

static void must_lie_inside(struct str body, struct str s)
{
    MUST(s.n == 0 || (s.p >= body.p && s.p + s.n <= body.p + body.n));
}

static void walk(struct str body)
{
    struct write_walker w;
    struct err e = {0};
    enum write_item item;
    uint32_t seen = 0;
    size_t items = 0;
    write_walker_init(&w, body);
    for (; write_walker_next(&w, &item, &e) == 0 && item != WRITE_END; items++) {
        if (item == WRITE_METADATA) {
            must_lie_inside(body, w.metadata.name);
            must_lie_inside(body, w.metadata.help);
            must_lie_inside(body, w.metadata.unit);
            continue;
        }
        const struct wire_series *s = &w.series;
        MUST(s->labels_n <= WRITE_LABELS_MAX && s->first_sample == seen);
        for (uint32_t i = 0; i < s->labels_n; i++) {
            must_lie_inside(body, s->labels[i].name);
            must_lie_inside(body, s->labels[i].value);
        }
        seen += s->samples_n + s->histograms_n;
    }
    MUST(items <= body.n);
    write_walker_done(&w);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str body = {(const char *)data, size};
    struct strbuf plain = {0};
    struct err e = {0};
    walk(body);
    if (write_body_decompress(body, BODY_MAX, &plain, &e) == 0) {
        MUST(plain.n <= BODY_MAX);
        walk((struct str){plain.p, plain.n});
    }
    strbuf_done(&plain);
    return 0;
}
