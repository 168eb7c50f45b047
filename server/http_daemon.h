/*
 * The HTTP side of the server: connections, bodies with their limits, and the way from bytes to a route's handler.
 *
 * Refused before a handler sees it: a request with both Content-Length and Transfer-Encoding, or with two lengths (400:
 * somebody in between may have read it differently), and a body over its route's limit (413). A body is refused when
 * its declared length says so, before it is sent; the connection is then closed. All bodies on their way together hold
 * at most HTTP_BODIES_BYTES_MAX, and HTTP_WRITES_MAX write requests are under way at once: beyond that 503 with
 * Retry-After.
 */
#ifndef SERVER_HTTP_DAEMON_H
#define SERVER_HTTP_DAEMON_H

#include "base/err.h"
#include "base/str.h"

enum {
    HTTP_CONNECTIONS_MAX = 512,
    HTTP_IDLE_S = 120,
    HTTP_CONNECTION_MEMORY = 128 << 10, /* headers and URL: a longer URL is 414, to be sent as a form */
    HTTP_WRITES_MAX = 256,
    HTTP_BODIES_BYTES_MAX = 512 << 20
};

struct server;
struct http_daemon;
/* `listener` is a bound, listening socket, owned from here on. `prefix` outlives the daemon. */
int http_daemon_start(struct server *s, int listener, const char *prefix, struct http_daemon **ret, struct err *e);
/* Stop accepting; wait for running requests, `wait_ms` at most; close every connection. NULL-safe. */
void http_daemon_stop(struct http_daemon *d, int64_t wait_ms);
/* Requests answered, by route_index and status, and connections: for /metrics. */
void http_daemon_print_counts(const struct http_daemon *d, struct strbuf *out);

#endif
