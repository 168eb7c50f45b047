#include "planner/what_if.h"

#include "base/alloc.h"
#include "base/duration.h"
#include "planner/cost.h"
#include "planner/workload_internal.h"

static void add_costs(const struct planning *p, struct planner_summary *s)
{
    for (uint32_t i = 0; i < p->chains_n; i++) {
        const struct chain *c = &p->chains[i];
        if (c->users_n == 0)
            continue;
        s->views_n++;
        *(c->when == WHEN_INGESTION ? &s->cost.ingest : &s->cost.query) += c->build_cost;
        s->cost.memory += cost_memory(p, c, cost_held_ms(c, c->reach_ms));
    }
    for (uint32_t i = 0; i < p->reads_n; i++)
        s->cost.ingest += p->reads[i].users_n ? p->reads[i].cost : 0;
    for (uint32_t i = 0; i < p->kept_n; i++) {
        const struct kept *k = &p->kept[i];
        if (k->users_n == 0)
            continue;
        s->roots_n++;
        s->cost.ingest += k->build_cost;
        s->cost.memory += cost_kept_memory(p, k, k->length_ms + k->grid.step_ms);
    }
    for (uint32_t i = 0; i < p->spots_n; i++) {
        const struct spot *spot = &p->spots[i];
        if (spot->readers_n > 0)
            s->cost.query += spot->chosen == PLAN_NONE ? spot->rest_cost : p->at_once[spot->chosen].query_cost;
    }
    for (uint32_t i = 0; i < p->demands_n; i++) {
        if (p->demands[i].chosen == PLAN_NONE)
            continue;
        const struct candidate *c = &p->candidates[p->demands[i].chosen];
        s->cost.query += c->query_cost;
        s->on_panes_n += c->form != FORM_RAW;
        s->otherwise_n += !choose_is_forced(p, c) && p->options && p->options->forced;
    }
    for (uint32_t i = 0; i < p->at_once_n; i++)
        s->stored_offered |= p->at_once[i].form == AT_ONCE_STORED;
    for (uint32_t i = 0; i < p->candidates_n; i++) {
        if (!p->candidates[i].reason && p->candidates[i].form != FORM_RAW)
            s->offered[p->candidates[i].family] = true;
    }
}

int planner_summarize(const struct workload *w, const struct planner_options *options, struct planner_summary *ret,
                      struct err *e)
{
    struct arena arena;
    struct planning p;
    struct planner_summary s = {0};
    arena_init(&arena, PLANNING_ARENA_BYTES);
    int rc = planning_run(&p, w, options, &arena, e);
    if (rc == 0) {
        s.bytes = p.answer.bytes;
        s.status = p.answer.status;
        for (uint32_t i = 0; i < p.demands_n; i++)
            s.sites_n += planning_is_leaf(&p.logical.nodes[p.demands[i].node]);
        add_costs(&p, &s);
        *ret = s;
    }
    planning_done(&p);
    arena_done(&arena);
    return rc;
}

int64_t workload_query_of(const struct workload *w, struct str setting)
{
    const char *equals = memchr(setting.p, '=', setting.n);
    struct str name = {setting.p, equals ? (size_t)(equals - setting.p) : setting.n};
    uint64_t number = 0;
    bool is_number = name.n > 0 && name.n < 10;
    for (uint32_t q = 0; q < w->queries_n; q++) {
        if (name.n > 0 && str_eq(w->queries[q].name, name))
            return q;
    }
    for (size_t i = 0; i < name.n && is_number; i++) {
        is_number = name.p[i] >= '0' && name.p[i] <= '9';
        number = number * 10 + (uint64_t)(name.p[i] - '0');
    }
    return is_number && number < w->queries_n ? (int64_t)number : -1;
}

/* The query of a setting, and its value as a document {KEY: VALUE}. */
static int load_setting(struct workload *w, struct str setting, const char *key, struct str *value, struct document *d,
                        struct workload_query **ret, struct err *e)
{
    int64_t query = workload_query_of(w, setting);
    const char *equals = memchr(setting.p, '=', setting.n);
    if (!equals)
        return err_set(e, ERR_BAD_DATA, "\"" STR_FMT "\" is not QUERY=VALUE", STR_ARG(setting));
    if (query < 0)
        return err_set(e, ERR_BAD_DATA, "\"%.*s\" is no query's name or number", (int)(equals - setting.p), setting.p);
    *value = (struct str){equals + 1, setting.n - (size_t)(equals + 1 - setting.p)};
    struct strbuf text = {0};
    strbuf_printf(&text, "{%s: ", key);
    bool braced = str_eq(STR("accuracy"), str_of(key)) && memchr(value->p, ':', value->n);
    strbuf_add_z(&text, braced ? "{" : "");
    for (size_t i = 0; i < value->n; i++) {
        strbuf_add_char(&text, value->p[i]);
        if (value->p[i] == ':')
            strbuf_add_char(&text, ' ');
    }
    strbuf_add_z(&text, braced ? "}}" : "}");
    document_load(d, (struct str){text.p, text.n}, key, w->arena);
    strbuf_done(&text);
    *ret = &w->queries[query];
    return 0;
}

static int end_setting(struct document *d, struct str setting, struct err *e)
{
    struct problems problems = {0};
    uint32_t found_n = document_done(d, &problems);
    int rc = 0;
    if (found_n > 0) {
        size_t first = 0;
        while (first < problems.text.n && problems.text.p[first] != '\n')
            first++;
        const char *sentence = memmem(problems.text.p, first, ": ", 2); /* after the place, which is not the user's */
        size_t skipped = sentence ? (size_t)(sentence + 2 - problems.text.p) : 0;
        rc = err_set(e, ERR_BAD_DATA, "\"" STR_FMT "\": %.*s", STR_ARG(setting), (int)(first - skipped),
                     problems.text.p + skipped);
    }
    strbuf_done(&problems.text);
    return rc;
}

int workload_set_accuracy(struct workload *w, struct str setting, struct err *e)
{
    struct document d;
    struct workload_query *q;
    struct str value;
    struct accuracy target = {.kind = ACCURACY_EXACT};
    int rc = load_setting(w, setting, "accuracy", &value, &d, &q, e);
    if (rc != 0)
        return rc;
    const struct node *n = d.root ? node_get(d.root, "accuracy") : NULL;
    if (n && !str_eq(value, STR("exact")))
        workload_read_accuracy(&d, n, &target);
    rc = end_setting(&d, setting, e);
    if (rc == 0)
        q->target = target;
    return rc;
}

int workload_set_interval(struct workload *w, struct str setting, struct err *e)
{
    struct document d;
    struct workload_query *q;
    struct str value;
    int rc = load_setting(w, setting, "every", &value, &d, &q, e);
    if (rc != 0)
        return rc;
    struct cadence now = {0};
    if (d.root)
        workload_read_cadence(&d, d.root, &now);
    rc = end_setting(&d, setting, e);
    if (rc != 0)
        return rc;
    now.length_ms = q->cadence.length_ms;
    now.step_ms = q->cadence.step_ms;
    now.phase_ms = floor_mod(q->cadence.phase_ms, now.every_ms);
    q->cadence = now;
    return 0;
}
