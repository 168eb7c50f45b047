/* The table of paths, the gate, and addresses to listen on. */
#include "server/route.h"

#include <pthread.h>
#include <unistd.h>

#include "server/gate.h"
#include "server/listen.h"
#include "suite.h"

static const struct {
    const char *path, *route, *capture, *allow;
} paths[] = {
    {"/api/v1/write", "/api/v1/write", "", "POST"},
    {"/api/v1/query", "/api/v1/query", "", "GET, POST"},
    {"/api/v1/query_range", "/api/v1/query_range", "", "GET, POST"},
    {"/api/v1/series", "/api/v1/series", "", "GET, POST"},
    {"/api/v1/labels", "/api/v1/labels", "", "GET, POST"},
    {"/api/v1/query_exemplars", "/api/v1/query_exemplars", "", "GET, POST"},
    {"/api/v1/format_query", "/api/v1/format_query", "", "GET, POST"},
    {"/api/v1/label/job/values", "/api/v1/label/*/values", "job", "GET"},
    {"/api/v1/label/a/b/values", "/api/v1/label/*/values", "a/b", "GET"},
    {"/api/v1/label//values", "/api/v1/label/*/values", "", "GET"},
    {"/api/v1/status/buildinfo", "/api/v1/status/buildinfo", "", "GET"},
    {"/-/reload", "/-/reload", "", "POST, PUT"},
    {"/", "/", "", "GET"},
    {"", NULL, "", ""},
    {"/api/v1", NULL, "", ""},
    {"/api/v1/label/values", NULL, "", ""},
    {"/api/v1/queryx", NULL, "", ""},
    {"/API/V1/query", NULL, "", ""},
};

START_TEST(path_table)
{
    struct str capture;
    char allow[32];
    const struct route *route = route_find(str_of(paths[_i].path), &capture);
    if (!paths[_i].route) {
        ck_assert_ptr_null(route);
        ck_assert_uint_eq(route_index(route), routes_n());
        return;
    }
    ck_assert_ptr_nonnull(route);
    ck_assert_str_eq(route->path, paths[_i].route);
    ck_assert(str_eq(capture, str_of(paths[_i].capture)));
    route_allow(route, allow);
    ck_assert_str_eq(allow, paths[_i].allow);
    ck_assert_ptr_eq(route_at(route_index(route)), route);
}
END_TEST

START_TEST(answers_for_what_is_not_there)
{
    struct http_request q;
    struct http_response r;
    struct str capture;
    http_request_init(&q);
    http_response_init(&r);
    q.path = STR("/api/v1/nothing");
    route_not_found(&q, &r);
    ck_assert_int_eq(r.status, 404);
    ck_assert_str_eq(strbuf_z(&r.body),
                     "{\"status\":\"error\",\"errorType\":\"not_found\",\"error\":\"there is no endpoint "
                     "/api/v1/nothing\"}");
    q.path = STR("/favicon.ico");
    route_not_found(&q, &r);
    ck_assert_str_eq(strbuf_z(&r.body), "there is no endpoint /favicon.ico\n");
    route_bad_method(route_find(STR("/api/v1/write"), &capture), &r);
    ck_assert_int_eq(r.status, 405);
    ck_assert_str_eq(r.headers[0].value, "POST");
    http_response_done(&r);
    http_request_done(&q);
}
END_TEST

struct waiter {
    struct gate *gate;
    bool entered;
};

static void *enter_and_leave(void *arg)
{
    struct waiter *w = arg;
    w->entered = gate_enter(w->gate, 5000);
    if (w->entered)
        gate_leave(w->gate);
    return NULL;
}

START_TEST(gate_holds_its_number)
{
    struct gate g;
    gate_init(&g, 2, 1);
    ck_assert(gate_enter(&g, 0));
    ck_assert(gate_enter(&g, 0));
    ck_assert(!gate_enter(&g, 0));  /* full, no waiting */
    ck_assert(!gate_enter(&g, 20)); /* full, waited */
    ck_assert_uint_eq(gate_inside(&g), 2);
    /* Somebody waits while it is full, and comes in when a place is free. */
    struct waiter waiter = {&g, false};
    pthread_t thread;
    ck_assert_int_eq(pthread_create(&thread, NULL, enter_and_leave, &waiter), 0);
    usleep(50000);
    ck_assert(!gate_enter(&g, 1000)); /* the one place to wait is taken: turned away at once */
    gate_leave(&g);
    pthread_join(thread, NULL);
    ck_assert(waiter.entered);
    gate_leave(&g);
    ck_assert_uint_eq(gate_inside(&g), 0);
    gate_done(&g);
}
END_TEST

static const struct {
    const char *address;
    bool insecure;
    int code;
    const char *message; /* part of it */
} addresses[] = {
    {"127.0.0.1:0", false, 0, NULL},
    {"127.9.9.9:0", false, 0, NULL},
    {"localhost:0", false, 0, NULL},
    {"0.0.0.0:0", false, ERR_BAD_DATA, "--insecure"},
    {":0", false, ERR_BAD_DATA, "--insecure"},
    {"0.0.0.0:0", true, 0, NULL},
    {"9095", false, ERR_BAD_DATA, "HOST:PORT"},
    {"127.0.0.1", false, ERR_BAD_DATA, "HOST:PORT"},
    {"127.0.0.1:99999", false, ERR_BAD_DATA, "HOST:PORT"},
    {"127.0.0.1:x", false, ERR_BAD_DATA, "HOST:PORT"},
    {"::1:9095", false, ERR_BAD_DATA, "HOST:PORT"},
    {"203.0.113.7:9095", true, ERR_IO, "choose another with --listen"}, /* TEST-NET-3: never ours */
};

START_TEST(address_table)
{
    struct err e = {0};
    char bound[LISTEN_ADDRESS_MAX] = "";
    int fd = -1;
    ck_assert_int_eq(listen_open(addresses[_i].address, addresses[_i].insecure, &fd, bound, &e), addresses[_i].code);
    if (addresses[_i].code == 0) {
        ck_assert_ptr_nonnull(strrchr(bound, ':'));
        ck_assert_str_ne(strrchr(bound, ':'), ":0");
        close(fd);
    } else {
        ck_assert_msg(strstr(e.message, addresses[_i].message) != NULL, "%s", e.message);
    }
}
END_TEST

START_TEST(a_port_in_use_is_named)
{
    struct err e = {0};
    char bound[LISTEN_ADDRESS_MAX], again[LISTEN_ADDRESS_MAX], want[256];
    int fd, other;
    ck_assert_int_eq(listen_open("127.0.0.1:0", false, &fd, bound, &e), 0);
    ck_assert_int_eq(listen_open(bound, false, &other, again, &e), ERR_IO);
    snprintf(want, sizeof want, "cannot listen on %s: address already in use; choose another with --listen", bound);
    ck_assert_str_eq(e.message, want);
    close(fd);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("server_route");
    TCase *c = tcase_create("route");
    tcase_add_loop_test(c, path_table, 0, sizeof paths / sizeof *paths);
    tcase_add_test(c, answers_for_what_is_not_there);
    tcase_add_test(c, gate_holds_its_number);
    tcase_add_loop_test(c, address_table, 0, sizeof addresses / sizeof *addresses);
    tcase_add_test(c, a_port_in_use_is_named);
    suite_add_tcase(s, c);
    return suite_run(s);
}
