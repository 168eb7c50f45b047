/* Queries of a plan file: demand, accuracy, costs, what was rejected. */
#include "plan/file.h"
#include "plan/file_read.h"
#include "promql/print.h"

/* A hostile file cannot make these larger than itself; the bounds are for what follows (u32 counts). */
enum { QUERIES_MAX = 1 << 20, TIMES_MAX = 1 << 24, REJECTED_MAX = 1 << 16 };

static void read_times(struct json_in *in, const json_t *cadence, struct cadence *c)
{
    const json_t *times = json_in_array(in, cadence, "at_ms", TIMES_MAX, &c->at_n);
    int64_t *at_ms = read_room(in, c->at_n, sizeof *at_ms);
    json_in_enter(in, "at_ms");
    for (uint32_t i = 0; i < c->at_n && in->rc == 0; i++) {
        json_in_enter_item(in, i);
        at_ms[i] = json_in_item_i64(in, json_array_get(times, i), -PLAN_MS_MAX, PLAN_MS_MAX);
        json_in_leave(in);
    }
    json_in_leave(in);
    c->at_ms = at_ms;
}

static void read_cadence(struct json_in *in, const json_t *query, struct cadence *c)
{
    static const char *const keys[] = {"every_ms", "at_ms", "rate_per_s", "once", NULL};
    const json_t *cadence = json_in_object(in, query, "cadence");
    json_in_enter(in, "cadence");
    if (json_in_keys(in, cadence, keys) && json_object_size(cadence) != 1)
        json_in_fail(in, NULL, ERR_BAD_DATA, "one of every_ms, at_ms, rate_per_s, once is expected");
    if (json_in_has(cadence, "every_ms")) {
        c->kind = CADENCE_EVERY;
        c->every_ms = json_in_i64(in, cadence, "every_ms", 1, PLAN_MS_MAX);
    } else if (json_in_has(cadence, "at_ms")) {
        c->kind = CADENCE_AT;
        read_times(in, cadence, c);
    } else if (json_in_has(cadence, "rate_per_s")) {
        c->kind = CADENCE_RATE;
        c->rate_per_s = json_in_f64(in, cadence, "rate_per_s");
    } else {
        c->kind = CADENCE_ONCE;
        if (in->rc == 0 && !json_is_true(json_object_get(cadence, "once")))
            json_in_fail(in, "once", ERR_BAD_DATA, "\"once\" must be true");
    }
    json_in_leave(in);
    c->phase_ms = json_in_i64(in, query, "phase_ms", -PLAN_MS_MAX, PLAN_MS_MAX);
    c->length_ms = json_in_i64(in, query, "length_ms", 0, PLAN_MS_MAX);
    c->step_ms = json_in_i64(in, query, "step_ms", 0, PLAN_MS_MAX);
}

static void read_accuracy(struct json_in *in, const json_t *query, const char *name, struct accuracy *a)
{
    static const char *const keys[] = {"kind", "error", "failure", NULL};
    const json_t *accuracy = json_in_object(in, query, name);
    json_in_enter(in, name);
    json_in_keys(in, accuracy, keys);
    struct str kind = json_in_str(in, accuracy, "kind");
    for (int k = ACCURACY_EXACT; k <= ACCURACY_NONE; k++)
        if (str_eq(kind, str_of(accuracy_kind_name((enum accuracy_kind)k))))
            a->kind = (enum accuracy_kind)k;
    if (a->kind == 0)
        json_in_fail(in, "kind", ERR_BAD_DATA, "unknown accuracy kind \"" STR_FMT "\"", STR_ARG(kind));
    a->error = json_in_f64(in, accuracy, "error");
    a->failure = json_in_f64(in, accuracy, "failure");
    json_in_leave(in);
}

static void read_cost(struct json_in *in, const json_t *query, struct plan_cost *c)
{
    static const char *const keys[] = {"ingest", "query", "memory", NULL};
    const json_t *cost = json_in_object(in, query, "cost");
    json_in_enter(in, "cost");
    json_in_keys(in, cost, keys);
    c->ingest = json_in_f64(in, cost, "ingest");
    c->query = json_in_f64(in, cost, "query");
    c->memory = json_in_f64(in, cost, "memory");
    json_in_leave(in);
}

static void read_uses(struct json_in *in, const json_t *query, const struct plan *p, struct plan_query *q)
{
    const json_t *array = json_in_array(in, query, "uses", p->views_n, &q->uses_n);
    uint32_t *uses = read_room(in, q->uses_n, sizeof *uses);
    json_in_enter(in, "uses");
    for (uint32_t i = 0; i < q->uses_n && in->rc == 0; i++) {
        json_in_enter_item(in, i);
        uses[i] = (uint32_t)json_in_item_i64(in, json_array_get(array, i), 0, (int64_t)p->views_n - 1);
        json_in_leave(in);
    }
    json_in_leave(in);
    q->uses = uses;
}

static void read_rejected(struct json_in *in, const json_t *query, struct plan_query *q)
{
    static const char *const keys[] = {"candidate", "reason", NULL};
    const json_t *array = json_in_array(in, query, "rejected", REJECTED_MAX, &q->rejected_n);
    struct plan_rejected *rejected = read_room(in, q->rejected_n, sizeof *rejected);
    for (uint32_t i = 0; i < q->rejected_n && in->rc == 0; i++) {
        const json_t *item = read_item(in, array, "rejected", i, keys);
        rejected[i].candidate = json_in_str(in, item, "candidate");
        rejected[i].reason = json_in_str(in, item, "reason");
        read_item_done(in);
    }
    q->rejected = rejected;
}

void read_queries(struct json_in *in, const json_t *root, struct plan *p)
{
    static const char *const keys[] = {"name", "text", "cadence",   "phase_ms", "length_ms", "step_ms", "accuracy",
                                       "root", "uses", "guarantee", "cost",     "rejected",  NULL};
    const json_t *array = json_in_array(in, root, "queries", QUERIES_MAX, &p->queries_n);
    struct plan_query *queries = read_room(in, p->queries_n, sizeof *queries);
    for (uint32_t i = 0; i < p->queries_n && in->rc == 0; i++) {
        const json_t *item = read_item(in, array, "queries", i, keys);
        struct plan_query *q = &queries[i];
        q->name = json_in_str(in, item, "name");
        q->text = json_in_str(in, item, "text");
        read_cadence(in, item, &q->cadence);
        read_accuracy(in, item, "accuracy", &q->target);
        q->root = json_in_u32(in, item, "root", PLAN_NODES_MAX - 1);
        read_uses(in, item, p, q);
        read_accuracy(in, item, "guarantee", &q->guarantee);
        read_cost(in, item, &q->cost);
        read_rejected(in, item, q);
        read_item_done(in);
    }
    p->queries = queries;
}
