/* mullion serve: its options. */
#include <stdio.h>
#include <string.h>

#include "base/duration.h"
#include "base/log.h"
#include "cmd/command.h"
#include "cmd/config.h"
#include "cmd/serve.h"

static const char summary[] = "Take Prometheus remote write, keep panes, answer PromQL.\v"
                              "Without --workload or --plan every query is answered from raw samples. Point remote "
                              "write at http://ADDRESS/api/v1/write and Grafana at http://ADDRESS.\n"
                              "SIGTERM or SIGINT ends it; nothing acknowledged is lost, not even by kill -9.";

enum {
    KEY_DATA_DIR = 256,
    KEY_LISTEN,
    KEY_WORKLOAD,
    KEY_PLAN,
    KEY_LOOKBACK,
    KEY_TIMEOUT,
    KEY_MAX_SAMPLES,
    KEY_MAX_SERIES,
    KEY_MAX_MEMORY,
    KEY_CONCURRENCY,
    KEY_SLOW,
    KEY_RETENTION,
    KEY_FSYNC,
    KEY_LATENESS,
    KEY_FUTURE,
    KEY_HORIZON,
    KEY_INSECURE,
    KEY_PREFIX,
    KEY_MAP,
    KEY_KEPT,
    KEY_PER_VIEW,
    KEY_LOG_LEVEL,
    KEY_CONFIG,
    KEY_END
};
enum { FLAGS_N = KEY_END - KEY_DATA_DIR };

static const struct argp_option option_list[] = {
    {"data-dir", KEY_DATA_DIR, "DIR", 0, "Where everything is kept; made when absent (mullion-data)", 0},
    {"listen", KEY_LISTEN, "ADDRESS", 0, "HOST:PORT to listen on (127.0.0.1:9095)", 0},
    {"workload", KEY_WORKLOAD, "FILE", 0, "Plan this workload at start, with mullion-plan", 0},
    {"plan", KEY_PLAN, "FILE", 0, "Use this plan file instead", 0},
    {"insecure", KEY_INSECURE, NULL, 0, "Allow an address that other machines can reach, without authentication", 0},
    {"path-prefix", KEY_PREFIX, "PATH", 0, "What stands before every path, as /mullion behind a proxy", 0},
    {"lookback-delta", KEY_LOOKBACK, "DURATION", 0, "How far back an instant selector looks (5m)", 1},
    {"query-timeout", KEY_TIMEOUT, "DURATION", 0, "Longest time of one query (2m)", 1},
    {"query-max-samples", KEY_MAX_SAMPLES, "N", 0, "Most raw samples and states one query looks at (50000000)", 1},
    {"query-max-series", KEY_MAX_SERIES, "N", 0, "Most series one selector of a query matches (2000000)", 1},
    {"query-max-memory", KEY_MAX_MEMORY, "SIZE", 0, "Most memory of one query (2GiB)", 1},
    {"query-max-concurrency", KEY_CONCURRENCY, "N", 0, "Queries that run at once (20)", 1},
    {"slow-query-log", KEY_SLOW, "DURATION", 0, "Log queries that take as long or longer", 1},
    {"kept-panes-memory", KEY_KEPT, "SIZE", 0, "Most memory of panes that are kept on first read (256MiB)", 1},
    {"raw-retention", KEY_RETENTION, "DURATION", 0, "How long raw samples are kept (15d)", 2},
    {"wal-fsync", KEY_FSYNC, "WHEN", 0, "interval: sync the log every 100 ms; always: before each answer (interval)",
     2},
    {"lateness", KEY_LATENESS, "DURATION", 0, "How long after its end a window is sealed (30s)", 2},
    {"max-future", KEY_FUTURE, "DURATION", 0, "Refuse samples that are further ahead of the clock (10m)", 2},
    {"late-horizon", KEY_HORIZON, "DURATION", 0, "Refuse samples that are later than this behind (2h)", 2},
    {"store-map-size", KEY_MAP, "SIZE", 0, "Most bytes of the store's file (64GiB)", 3},
    {"refresh-per-view", KEY_PER_VIEW, NULL, 0, "Refresh each view by itself; for measuring", 3},
    {"config", KEY_CONFIG, "FILE", 0, "Read options from this YAML file first: the same names, as listen: HOST:PORT",
     3},
    {"log-level", KEY_LOG_LEVEL, "LEVEL", 0, "debug, info, warn or error (info)", 3},
    {0}};

struct parsed_flags {
    struct serve_options options;
    const char *text[FLAGS_N]; /* as given, else the default */
};

static void take_log_level(struct argp_state *state, const char *arg)
{
    static const char *const names[] = {
        [LOG_DEBUG] = "debug", [LOG_INFO] = "info", [LOG_WARN] = "warn", [LOG_ERROR] = "error"};
    for (int level = LOG_DEBUG; level <= LOG_ERROR; level++)
        if (strcmp(arg, names[level]) == 0) {
            log_set_level((enum log_level)level);
            return;
        }
    argp_error(state, "--log-level is debug, info, warn or error, not %s", arg);
}

static void take_prefix(struct argp_state *state, struct serve_options *o, char *arg)
{
    size_t n = strlen(arg);
    while (n > 0 && arg[n - 1] == '/')
        arg[--n] = 0;
    if (n > 0 && arg[0] != '/')
        argp_error(state, "--path-prefix begins with a slash: /%s", arg);
    o->server.path_prefix = arg;
}

static error_t take_ingest(int key, char *arg, struct argp_state *state, struct serve_options *o)
{
    struct ingest_options *in = &o->ingest;
    switch (key) {
    case KEY_RETENTION:
        in->raw_retention_ms = option_duration_ms(state, "--raw-retention", arg, 60000);
        return 0;
    case KEY_FSYNC:
        if (strcmp(arg, "interval") != 0 && strcmp(arg, "always") != 0)
            argp_error(state, "--wal-fsync is interval or always, not %s", arg);
        in->wal_fsync = strcmp(arg, "always") == 0 ? WAL_FSYNC_ALWAYS : WAL_FSYNC_INTERVAL;
        return 0;
    case KEY_LATENESS:
        in->lateness_ms = option_duration_ms(state, "--lateness", arg, 0);
        return 0;
    case KEY_FUTURE:
        in->max_future_ms = option_duration_ms(state, "--max-future", arg, 0);
        return 0;
    case KEY_HORIZON:
        in->late_horizon_ms = option_duration_ms(state, "--late-horizon", arg, 0);
        return 0;
    case KEY_PER_VIEW:
        in->refresh_per_view = true;
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

static error_t take_query(int key, char *arg, struct argp_state *state, struct serve_options *o)
{
    struct server_options *s = &o->server;
    switch (key) {
    case KEY_LOOKBACK:
        s->lookback_ms = option_duration_ms(state, "--lookback-delta", arg, 1);
        return 0;
    case KEY_TIMEOUT:
        s->query_timeout_ms = option_duration_ms(state, "--query-timeout", arg, 1);
        return 0;
    case KEY_MAX_SAMPLES:
        s->query_samples_max = option_number(state, "--query-max-samples", arg, 1, UINT64_C(1) << 40);
        return 0;
    case KEY_MAX_SERIES:
        s->query_series_max = (uint32_t)option_number(state, "--query-max-series", arg, 1, UINT32_MAX);
        return 0;
    case KEY_MAX_MEMORY:
        s->query_memory_max = option_bytes(state, "--query-max-memory", arg);
        return 0;
    case KEY_CONCURRENCY:
        s->query_concurrency = (uint32_t)option_number(state, "--query-max-concurrency", arg, 1, 1000);
        return 0;
    case KEY_SLOW:
        s->slow_query_ms = option_duration_ms(state, "--slow-query-log", arg, 1);
        return 0;
    default:
        return take_ingest(key, arg, state, o);
    }
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    struct parsed_flags *p = state->input;
    struct serve_options *o = &p->options;
    if (key >= KEY_DATA_DIR && key < KEY_END)
        p->text[key - KEY_DATA_DIR] = arg ? arg : "true";
    switch (key) {
    case KEY_DATA_DIR:
        o->data_dir = arg;
        return 0;
    case KEY_LISTEN:
        o->server.listen = arg;
        return 0;
    case KEY_WORKLOAD:
        o->workload = arg;
        return 0;
    case KEY_PLAN:
        o->plan = arg;
        return 0;
    case KEY_INSECURE:
        o->server.insecure = true;
        return 0;
    case KEY_PREFIX:
        take_prefix(state, o, arg);
        return 0;
    case KEY_MAP:
        o->map_bytes = option_bytes(state, "--store-map-size", arg);
        return 0;
    case KEY_KEPT:
        o->kept_panes_bytes = option_bytes(state, "--kept-panes-memory", arg);
        return 0;
    case KEY_CONFIG: /* its options stand before those of the command line already */
        return 0;
    case KEY_LOG_LEVEL:
        take_log_level(state, arg);
        return 0;
    case ARGP_KEY_ARG:
        argp_error(state, "serve takes options only; %s is none", arg);
        return 0;
    case ARGP_KEY_END:
        if (o->workload && o->plan)
            argp_error(state, "--workload or --plan, not both");
        option_listen(state, o->server.listen, o->server.insecure);
        return 0;
    default:
        return take_query(key, arg, state, o);
    }
}

/* Late samples are checked against what is kept, so raw samples stay at least as long as they may be late. */
static void retention_raise(struct parsed_flags *p)
{
    static char text[DURATION_TEXT_MAX];
    struct ingest_options *in = &p->options.ingest;
    if (in->raw_retention_ms >= in->late_horizon_ms)
        return;
    in->raw_retention_ms = in->late_horizon_ms;
    duration_format(in->raw_retention_ms, text);
    p->text[KEY_RETENTION - KEY_DATA_DIR] = text;
    log_line(LOG_WARN, "--raw-retention is shorter than --late-horizon and was raised to it", "raw_retention", text,
             NULL);
}

/* The default of an option stands in brackets at the end of its text; there is one place for it. */
static void flags_fill(struct parsed_flags *p, struct server_flag flags[FLAGS_N])
{
    static char defaults[FLAGS_N][32];
    for (int i = 0; option_list[i].name; i++) {
        int at = option_list[i].key - KEY_DATA_DIR;
        const char *bracket = strrchr(option_list[i].doc, '(');
        if (bracket && bracket[strlen(bracket) - 1] == ')')
            snprintf(defaults[at], sizeof defaults[at], "%.*s", (int)strlen(bracket) - 2, bracket + 1);
        flags[at] = (struct server_flag){option_list[i].name, p->text[at] ? p->text[at] : defaults[at]};
    }
}

static int serve(int argc, char **argv, struct err *e)
{
    struct parsed_flags p = {0};
    struct server_flag flags[FLAGS_N];
    struct argp argp = {option_list, take_option, NULL, summary, NULL, NULL, NULL};
    serve_options_default(&p.options);
    argp_parse(&argp, argc, argv, 0, NULL, &p);
    retention_raise(&p);
    flags_fill(&p, flags);
    p.options.server.flags = flags;
    p.options.server.flags_n = FLAGS_N;
    return serve_run(&p.options, NULL, e);
}

int command_serve(int argc, char **argv)
{
    struct arena words;
    struct err e = {0};
    arena_init(&words, 0);
    int code = config_expand(option_list, &argc, &argv, &words, &e);
    if (code == 0)
        code = serve(argc, argv, &e);
    arena_done(&words);
    return code == 0 ? 0 : command_failed(&e);
}
