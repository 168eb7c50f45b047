/*
 * Remote write by hand: the protobuf wire format as its documentation has it ("Encoding", protobuf.dev), one field at a
 * time, so that a test can write what no encoder would.
 */
#ifndef TESTS_INGEST_WIRE_H
#define TESTS_INGEST_WIRE_H

#include "base/histogram_exact.h"
#include "base/str.h"

void wire_varint(struct strbuf *b, uint64_t v);
/* A varint of exactly `bytes` bytes, 1..10: padded with zero groups, which readers must accept. */
void wire_varint_wide(struct strbuf *b, uint64_t v, unsigned bytes);
void wire_key(struct strbuf *b, uint64_t field, unsigned wire_type);
void wire_bytes(struct strbuf *b, uint64_t field, const void *p, size_t n);
/* A Label in a TimeSeries, a Sample in one; both fields written even when zero. */
void wire_label(struct strbuf *series, struct str name, struct str value);
void wire_sample(struct strbuf *series, int64_t time_ms, double value);
/* A Histogram in a TimeSeries, as Prometheus writes it: zero fields left out, repeated numbers packed or, as readers
 * must accept too, one a field. */
void wire_histogram(struct strbuf *series, int64_t time_ms, const struct histogram_exact *h, bool packed);
/* The body as it is sent. Replaces what is in *out. */
void wire_compress(const struct strbuf *plain, struct strbuf *out);

#endif
