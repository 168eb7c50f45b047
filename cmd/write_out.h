/*
 * A remote-write sender: gathers series into one WriteRequest, compresses and posts it. Ours, not the parser's mirror:
 * what ingest reads was written by other code than what ingest is tested with.
 */
#ifndef CMD_WRITE_OUT_H
#define CMD_WRITE_OUT_H

#include <stdatomic.h>

#include "base/err.h"
#include "base/labels.h"

enum { WRITE_OUT_SAMPLES_MAX = 20000 }; /* of one request: full then */

struct write_out;
/* `url` of the endpoint, as http://127.0.0.1:9095/api/v1/write; outlives the sender. `stop` (may be NULL) ends retries.
 */
struct write_out *write_out_new(const char *url, const _Atomic bool *stop);
void write_out_free(struct write_out *w); /* NULL-safe; what was not sent is dropped */

void write_out_begin(struct write_out *w, const struct labels *l);
void write_out_sample(struct write_out *w, int64_t time_ms, double value);
void write_out_end(struct write_out *w);
bool write_out_full(const struct write_out *w);
/* Send what was gathered, if anything. An overloaded server is asked again for a minute. ERR_IO when it cannot be
 * reached; ERR_BAD_DATA with its words when it refused some or all: the rest of the request is stored then. Either way
 * the sender is empty afterwards. */
int write_out_flush(struct write_out *w, struct err *e);

uint64_t write_out_sent(const struct write_out *w); /* samples of requests that were answered 2xx */

#endif
