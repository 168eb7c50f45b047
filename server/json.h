/* JSON out, in exactly Prometheus' shapes: the envelope of every answer, label sets, and the results of queries. */
#ifndef SERVER_JSON_H
#define SERVER_JSON_H

#include "executor/query.h"

/* {"status":"success","data": ... , then the notes (may be NULL) and the brace. */
void json_begin(struct strbuf *b);
void json_end(struct strbuf *b, const struct notes *notes);

void json_labels(struct strbuf *b, const struct labels *l);
void json_key(struct strbuf *b, const char *key); /* "key": */
void json_key_text(struct strbuf *b, const char *key, const char *value);
void json_strings(struct strbuf *b, const struct str *v, uint32_t n); /* ["a","b"] */

/* {"resultType":"vector","result":[...]; the caller closes it. At most series_max series (0: all); returns whether
 * some were left out. */
bool json_result(struct strbuf *b, const struct result *r, uint64_t series_max);

#endif
