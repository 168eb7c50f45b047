/* Remote write: any bytes as a compressed body and as a decompressed one. What the walk hands out lies in the body.
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
    struct write_request r = {0};
    struct err e = {0};
    if (write_request_parse(&r, body, &e) == 0) {
        uint32_t histograms_n = 0, labels_n = 0, samples_n = 0, ordinals_n = 0;
        for (uint32_t i = 0; i < r.series_n; i++) {
            const struct wire_series *s = &r.series[i];
            MUST(s->labels_n <= WRITE_LABELS_MAX && s->first_ordinal == ordinals_n);
            MUST(s->labels_at == labels_n && s->samples_at == samples_n);
            labels_n += s->labels_n;
            samples_n += s->samples_n;
            MUST(s->histograms_at == histograms_n);
            histograms_n += s->histograms_n;
            ordinals_n += s->samples_n + s->histograms_n;
        }
        MUST(labels_n == r.labels_n && samples_n == r.samples_n && ordinals_n == r.ordinals_n);
        MUST(histograms_n == r.histograms_n);
        for (uint32_t i = 0; i < r.histograms_n; i++)
            MUST(r.histograms[i].fault || !histogram_exact_fault(&r.histograms[i].v));
        for (uint32_t i = 0; i < r.labels_n; i++) {
            must_lie_inside(body, r.labels[i].name);
            must_lie_inside(body, r.labels[i].value);
        }
        for (uint32_t i = 0; i < r.metadata_n; i++) {
            must_lie_inside(body, r.metadata[i].name);
            must_lie_inside(body, r.metadata[i].help);
            must_lie_inside(body, r.metadata[i].unit);
        }
    }
    write_request_done(&r);
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
