/* A small blocking HTTP client for the command line: one connection kept open, one request at a time. */
#ifndef SERVER_CLIENT_H
#define SERVER_CLIENT_H

#include "base/err.h"
#include "base/str.h"

enum { CLIENT_BODY_MAX = 1 << 30 };

struct client;
struct client *client_new(void);
void client_free(struct client *c); /* NULL-safe */

struct client_answer {
    long status;
    struct strbuf body; /* cleared before each request; client_answer_done */
};
void client_answer_done(struct client_answer *a);

/* GET, or POST when `body` is not NULL. headers: NULL-terminated "Name: value", may be NULL. An HTTP error status is an
 * answer; ERR_IO says which server could not be reached and why. timeout_ms 0 = 60 s. */
int client_request(struct client *c, const char *url, const char *const *headers, const struct str *body,
                   int64_t timeout_ms, struct client_answer *ret, struct err *e);
/* name=value with percent-encoding, '&' before it unless `out` is empty. */
void client_form_add(struct strbuf *out, const char *name, struct str value);

#endif
