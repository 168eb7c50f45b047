/* POST /api/v1/write: remote write 1.0. What the headers say was checked before the body was read (http_daemon.c). */
#include "server/api.h"
#include "server/server_internal.h"

enum { PLACE_WAIT_MS = 10000 };

void api_write(struct server *s, struct http_request *q, struct http_response *r)
{
    struct err e = {0};
    struct write_result result = {0};
    if (!gate_enter(&s->writes, PLACE_WAIT_MS)) {
        err_set(&e, ERR_OVERLOAD, "too many write requests wait already; nothing was stored, send it again");
        http_error_text(r, &e);
        return;
    }
    int code = ingest_write(s->ingest, q->sender, q->body, server_now_ms(s), &result, &e);
    gate_leave(&s->writes);
    if (s->maintenance)
        maintenance_wake(s->maintenance);
    if (code == 0 && result.samples_refused > 0)
        code = err_set(&e, ERR_BAD_DATA, "%s", result.refused);
    if (code == 0)
        r->status = 204;
    else
        http_error_text(r, &e);
}
