#include "cmd/write_out.h"

#include <snappy-c.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/bytes.h"
#include "server/client.h"

/* Field numbers and wire types of prometheus.WriteRequest, TimeSeries, Label and Sample: number << 3 | type. */
enum {
    REQUEST_SERIES = 1 << 3 | 2,
    SERIES_LABEL = 1 << 3 | 2,
    SERIES_SAMPLE = 2 << 3 | 2,
    LABEL_NAME_TAG = 1 << 3 | 2,
    LABEL_VALUE_TAG = 2 << 3 | 2,
    SAMPLE_VALUE = 1 << 3 | 1,
    SAMPLE_TIME = 2 << 3 | 0
};
enum { VARINT_MAX = 10, RETRIES_MAX = 60 };

struct write_out {
    struct client *client;
    const char *url;
    const _Atomic bool *stop;
    struct strbuf request, series, packed;
    uint64_t samples_n, sent_n;
};

struct write_out *write_out_new(const char *url, const _Atomic bool *stop)
{
    struct write_out *w = mem_zalloc(sizeof *w);
    w->client = client_new();
    w->url = url;
    w->stop = stop;
    return w;
}

void write_out_free(struct write_out *w)
{
    if (!w)
        return;
    client_free(w->client);
    strbuf_done(&w->request);
    strbuf_done(&w->series);
    strbuf_done(&w->packed);
    mem_free(w);
}

static size_t varint(uint8_t *ret, uint64_t v)
{
    struct byte_writer b = {ret, ret + VARINT_MAX, false};
    write_varint(&b, v);
    return (size_t)(b.p - ret);
}

static void add_varint(struct strbuf *b, uint64_t v)
{
    uint8_t bytes[VARINT_MAX];
    strbuf_add(b, bytes, varint(bytes, v));
}

static void add_bytes(struct strbuf *b, int tag, struct str s)
{
    strbuf_add_char(b, (char)tag);
    add_varint(b, s.n);
    strbuf_add_str(b, s);
}

static size_t field_size(struct str s)
{
    uint8_t bytes[VARINT_MAX];
    return 1 + varint(bytes, s.n) + s.n;
}

void write_out_begin(struct write_out *w, const struct labels *l)
{
    strbuf_clear(&w->series);
    for (uint32_t i = 0; i < l->n; i++) {
        strbuf_add_char(&w->series, SERIES_LABEL);
        add_varint(&w->series, field_size(l->v[i].name) + field_size(l->v[i].value));
        add_bytes(&w->series, LABEL_NAME_TAG, l->v[i].name);
        add_bytes(&w->series, LABEL_VALUE_TAG, l->v[i].value);
    }
}

void write_out_sample(struct write_out *w, int64_t time_ms, double value)
{
    uint8_t sample[1 + 8 + 1 + VARINT_MAX];
    sample[0] = SAMPLE_VALUE;
    store_f64(sample + 1, value);
    sample[9] = SAMPLE_TIME;
    size_t n = 10 + varint(sample + 10, (uint64_t)time_ms);
    strbuf_add_char(&w->series, SERIES_SAMPLE);
    add_varint(&w->series, n);
    strbuf_add(&w->series, sample, n);
    w->samples_n++;
}

void write_out_end(struct write_out *w)
{
    add_bytes(&w->request, REQUEST_SERIES, (struct str){w->series.p, w->series.n});
}

bool write_out_full(const struct write_out *w)
{
    return w->samples_n >= WRITE_OUT_SAMPLES_MAX;
}

static bool stopped(const struct write_out *w)
{
    return w->stop && atomic_load_explicit(w->stop, memory_order_relaxed);
}

/* One second between tries, in steps short enough to notice that nobody waits any more. */
static void wait_second(const struct write_out *w)
{
    for (int i = 0; i < 10 && !stopped(w); i++)
        usleep(100000);
}

static int post(struct write_out *w, struct err *e)
{
    static const char *const headers[] = {"Content-Type: application/x-protobuf", "Content-Encoding: snappy",
                                          "X-Prometheus-Remote-Write-Version: 0.1.0", NULL};
    struct str body = {w->packed.p, w->packed.n};
    struct client_answer answer = {0};
    int code = 0;
    for (int tries = 0;; tries++) {
        code = client_request(w->client, w->url, headers, &body, 0, &answer, e);
        bool again = code == 0 && (answer.status == 503 || answer.status == 429);
        if (!again || tries == RETRIES_MAX || stopped(w))
            break;
        wait_second(w);
    }
    if (code == 0 && answer.status / 100 != 2) {
        while (answer.body.n && answer.body.p[answer.body.n - 1] == '\n')
            answer.body.n--;
        code = err_set(e, answer.status == 503 ? ERR_OVERLOAD : ERR_BAD_DATA, "the server answered %ld: %.*s",
                       answer.status, (int)(answer.body.n > 600 ? 600 : answer.body.n), answer.body.p);
    }
    client_answer_done(&answer);
    return code;
}

int write_out_flush(struct write_out *w, struct err *e)
{
    if (w->request.n == 0)
        return 0;
    size_t n = snappy_max_compressed_length(w->request.n);
    strbuf_clear(&w->packed);
    strbuf_reserve(&w->packed, n);
    MUST(snappy_compress(w->request.p, w->request.n, w->packed.p, &n) == SNAPPY_OK);
    w->packed.n = n;
    int code = post(w, e);
    if (code == 0)
        w->sent_n += w->samples_n;
    w->samples_n = 0;
    strbuf_clear(&w->request);
    return code;
}

uint64_t write_out_sent(const struct write_out *w)
{
    return w->sent_n;
}
