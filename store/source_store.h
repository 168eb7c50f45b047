/*
 * A source over a data directory alone, for read-only tools: no head, no early windows, no dirty series. It serves what
 * is sealed: raw blocks and pane windows. Samples that were still in open chunks (the last minutes before the directory
 * was left) are in the head checkpoint and the log, whose bytes are ingest's: to see them, start the server once.
 */
#ifndef STORE_SOURCE_STORE_H
#define STORE_SOURCE_STORE_H

#include "store/source.h"

/* Windows one request may list. */
enum { SOURCE_WINDOWS_MAX = 1 << 20 };

struct source_store;
/* Loads the catalog as it is now; series added later are not seen. `s` is borrowed. */
int source_store_new(struct store *s, struct source_store **ret, struct err *e);
void source_store_free(struct source_store *ss); /* NULL-safe */
/* Lives as long as `ss`. Any number of threads may call it. */
const struct source *source_store_source(const struct source_store *ss);
const struct catalog *source_store_catalog(const struct source_store *ss);

#endif
