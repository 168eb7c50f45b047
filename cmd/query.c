/* mullion query: one query to a server, or to a data directory that no server needs to hold. */
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/float_text.h"
#include "cmd/command.h"
#include "cmd/query_print.h"
#include "executor/query.h"
#include "ingest/ingest.h"
#include "server/client.h"
#include "server/json.h"

static const char summary[] =
    "Ask one PromQL query and print the answer.\v"
    "With --start and --end it is a range query, else an instant one at --time (now). With --data-dir the directory of "
    "a server that is stopped is read, all of it and read-only: raw samples, those of its log included.\n\nExit "
    "status: 0 answered, 1 the query failed, 2 wrong usage.";

enum { KEY_SERVER = 256, KEY_DATA_DIR, KEY_TIME, KEY_START, KEY_END_TIME, KEY_STEP, KEY_FORMAT, KEY_EXACT };
static const struct argp_option option_list[] = {
    {"server", KEY_SERVER, "URL", 0, "The server to ask (http://127.0.0.1:9095)", 0},
    {"data-dir", KEY_DATA_DIR, "DIR", 0, "Read this data directory instead", 0},
    {"time", KEY_TIME, "TIME", 0, "When to evaluate: Unix seconds or RFC 3339 (now)", 0},
    {"start", KEY_START, "TIME", 0, "Begin of a range query", 0},
    {"end", KEY_END_TIME, "TIME", 0, "End of a range query (now)", 0},
    {"step", KEY_STEP, "DURATION", 0, "Step of a range query (1m)", 0},
    {"format", KEY_FORMAT, "FORMAT", 0, "table, json or csv (table)", 0},
    {"exact", KEY_EXACT, NULL, 0, "Answer from raw samples only", 0},
    {0}};

struct query_command {
    const char *expr, *server, *data_dir;
    int64_t time_ms, start_ms, end_ms, step_ms;
    bool has_time, has_start, has_end, exact;
    enum query_format format;
};

static void take_format(struct query_command *c, const char *arg, struct argp_state *state)
{
    static const char *const names[] = {[QUERY_TABLE] = "table", [QUERY_JSON] = "json", [QUERY_CSV] = "csv"};
    for (int f = QUERY_TABLE; f <= QUERY_CSV; f++)
        if (strcmp(arg, names[f]) == 0) {
            c->format = (enum query_format)f;
            return;
        }
    argp_error(state, "--format is table, json or csv, not %s", arg);
}

static error_t take_time(int key, char *arg, struct argp_state *state, struct query_command *c)
{
    switch (key) {
    case KEY_TIME:
        c->time_ms = option_time_ms(state, "--time", arg);
        c->has_time = true;
        return 0;
    case KEY_START:
        c->start_ms = option_time_ms(state, "--start", arg);
        c->has_start = true;
        return 0;
    case KEY_END_TIME:
        c->end_ms = option_time_ms(state, "--end", arg);
        c->has_end = true;
        return 0;
    case KEY_STEP:
        c->step_ms = option_duration_ms(state, "--step", arg, 1);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    struct query_command *c = state->input;
    switch (key) {
    case KEY_SERVER:
        c->server = arg;
        return 0;
    case KEY_DATA_DIR:
        c->data_dir = arg;
        return 0;
    case KEY_FORMAT:
        take_format(c, arg, state);
        return 0;
    case KEY_EXACT:
        c->exact = true;
        return 0;
    case ARGP_KEY_ARG:
        if (c->expr)
            argp_error(state, "one query at a time; put it in quotes");
        c->expr = arg;
        return 0;
    case ARGP_KEY_END:
        if (!c->expr)
            argp_error(state, "which query? For example: mullion query 'sum(rate(x[5m]))'");
        if (c->has_end && !c->has_start)
            argp_error(state, "--end needs --start");
        if (c->server && c->data_dir)
            argp_error(state, "--server or --data-dir, not both");
        if (!c->server)
            c->server = "http://127.0.0.1:9095";
        if (c->has_start && c->has_time)
            argp_error(state, "--time is for an instant query, --start for a range query");
        return 0;
    default:
        return take_time(key, arg, state, c);
    }
}

static void add_time(struct strbuf *form, const char *name, int64_t ms)
{
    struct strbuf text = {0};
    strbuf_add_time_ms(&text, ms);
    client_form_add(form, name, (struct str){text.p, text.n});
    strbuf_done(&text);
}

static int ask_server(const struct query_command *c, struct strbuf *ret, struct err *e)
{
    static const char *const headers[] = {"Content-Type: application/x-www-form-urlencoded", NULL};
    struct strbuf url = {0}, form = {0};
    size_t n = strlen(c->server);
    while (n > 0 && c->server[n - 1] == '/')
        n--;
    strbuf_printf(&url, "%.*s/api/v1/%s", (int)n, c->server, c->has_start ? "query_range" : "query");
    client_form_add(&form, "query", str_of(c->expr));
    if (c->exact)
        client_form_add(&form, "exact", STR("1"));
    if (c->has_start) {
        add_time(&form, "start", c->start_ms);
        add_time(&form, "end", c->end_ms);
        add_time(&form, "step", c->step_ms);
    } else {
        add_time(&form, "time", c->time_ms);
    }
    struct client *client = client_new();
    struct client_answer answer = {0};
    struct str body = {form.p, form.n};
    int code = client_request(client, strbuf_z(&url), headers, &body, 0, &answer, e);
    if (code == 0)
        *ret = answer.body;
    else
        client_answer_done(&answer);
    client_free(client);
    strbuf_done(&url);
    strbuf_done(&form);
    return code;
}

/* The same answer as a server's, made here. */
static int run_local(const struct query_command *c, struct store *store, struct strbuf *ret, struct err *e)
{
    struct ingest_options options;
    struct ingest_report report;
    struct ingest *ingest;
    ingest_options_default(&options);
    options.read_only = true;
    int code = ingest_open(store, &options, NULL, &ingest, &report, e);
    if (code != 0)
        return code;
    if (report.damage[0])
        fprintf(stderr, "warning: samples are missing: %s\n", report.damage);
    struct executor x = {.source = ingest_source(ingest)};
    struct query_options o = {.start_ms = c->has_start ? c->start_ms : c->time_ms,
                              .end_ms = c->has_start ? c->end_ms : c->time_ms,
                              .step_ms = c->has_start ? c->step_ms : 0,
                              .exact = true,
                              .default_accuracy = {.kind = ACCURACY_EXACT}};
    struct arena a;
    struct result result;
    query_limits_default(&o.limits);
    arena_init(&a, o.limits.memory_bytes);
    code = query_run(&x, str_of(c->expr), &o, &a, &result, e);
    if (code == 0) {
        json_begin(ret);
        json_result(ret, &result, 0);
        strbuf_add_char(ret, '}');
        json_end(ret, &result.notes);
    }
    arena_done(&a);
    ingest_close(ingest);
    return code;
}

static int ask_directory(const struct query_command *c, struct strbuf *ret, struct err *e)
{
    struct store_options options = {.read_only = true, .alone = true};
    struct store_open_report report;
    struct store *store;
    int code = store_open(c->data_dir, &options, &store, &report, e);
    if (code == ERR_LOCKED)
        return err_set(e, ERR_LOCKED, "%s; ask it with --server URL", e->message);
    if (code != 0)
        return code;
    code = run_local(c, store, ret, e);
    store_close(store);
    return code;
}

int command_query(int argc, char **argv)
{
    struct wall_clock clock = WALL_CLOCK_SYSTEM;
    int64_t now_ms = wall_clock_now_ms(&clock);
    struct query_command c = {.time_ms = now_ms, .end_ms = now_ms, .step_ms = 60000, .format = QUERY_TABLE};
    struct argp argp = {option_list, take_option, "EXPR", summary, NULL, NULL, NULL};
    struct strbuf body = {0};
    struct err e = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &c);
    int code = c.data_dir ? ask_directory(&c, &body, &e) : ask_server(&c, &body, &e);
    if (code == 0)
        code = query_print((struct str){body.p, body.n}, c.format, stdout, &e);
    strbuf_done(&body);
    return code == 0 ? 0 : command_failed(&e);
}
