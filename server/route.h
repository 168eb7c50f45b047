/*
 * The one table of paths: which methods a path takes, how large its body may be, who answers. A path may have one "*",
 * which stands for any text.
 */
#ifndef SERVER_ROUTE_H
#define SERVER_ROUTE_H

#include "server/http.h"

struct server;
typedef void route_fn(struct server *s, struct http_request *q, struct http_response *r);

struct route {
    const char *path;
    unsigned methods; /* enum http_method bits */
    size_t body_max;  /* 0: a form, HTTP_FORM_BODY_MAX */
    route_fn *answer;
};

/* The route of a path without prefix, with what stood for its "*"; NULL when there is none. */
const struct route *route_find(struct str path, struct str *ret_capture);
uint32_t route_index(const struct route *route); /* routes_n() for NULL: for counters */
uint32_t routes_n(void);
const struct route *route_at(uint32_t i);
/* "GET, POST": the Allow header. */
void route_allow(const struct route *route, char ret[32]);

/* The answers for a path that is not there (JSON below /api/, text elsewhere) and for a method it does not take. */
void route_not_found(const struct http_request *q, struct http_response *r);
void route_bad_method(const struct route *route, struct http_response *r);

#endif
