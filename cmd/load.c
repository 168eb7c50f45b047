/* mullion load: generated or recorded samples, sent by remote write. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cmd/command.h"
#include "cmd/fleet.h"
#include "cmd/load_read.h"
#include "cmd/write_out.h"

static const char summary[] =
    "Send samples to a server by remote write: those of FILE (- is standard input), or generated ones.\v"
    "Generated: --series of --metric, --rounds of samples --interval apart, ending now, or at --end. Labels are named "
    "with the number of their values, as job=10,instance=100.\n"
    "Recorded: OpenMetrics text with timestamps, JSON lines with metric, values and timestamps (ms), or CSV with "
    "series,time,value.\n\nExit status: 0 all taken, 1 some refused or not sent, 2 wrong usage.";

enum {
    KEY_URL = 256,
    KEY_METRIC,
    KEY_SERIES,
    KEY_INTERVAL,
    KEY_ROUNDS,
    KEY_LABELS,
    KEY_END_TIME,
    KEY_KIND,
    KEY_FORMAT
};
static const struct argp_option option_list[] = {
    {"url", KEY_URL, "URL", 0, "Where to send (http://127.0.0.1:9095/api/v1/write)", 0},
    {"metric", KEY_METRIC, "NAME", 0, "Name of the generated metric (load_test)", 1},
    {"series", KEY_SERIES, "N", 0, "How many series (100)", 1},
    {"interval", KEY_INTERVAL, "DURATION", 0, "Between two samples of a series (15s)", 1},
    {"rounds", KEY_ROUNDS, "N", 0, "Samples of each series (20)", 1},
    {"labels", KEY_LABELS, "NAME=N,..", 0, "Labels and their numbers of values (job=10)", 1},
    {"end", KEY_END_TIME, "TIME", 0, "Time of the last round (now)", 1},
    {"kind", KEY_KIND, "KIND", 0, "latency, ratio or counter (latency)", 1},
    {"format", KEY_FORMAT, "FORMAT", 0, "of FILE: openmetrics, jsonl or csv (by its name)", 2},
    {0}};

struct load {
    const char *url, *file;
    const char *generating; /* an option given that a file has no use for */
    struct fleet_metric metric;
    int64_t interval_ms, end_ms;
    uint64_t rounds;
    enum load_format format;
    struct write_out *out;
    bool terminal;
    uint64_t shown_ns, refusals, line;
};

static void take_labels(struct load *l, char *arg, struct argp_state *state)
{
    char *rest = arg;
    l->metric.labels_n = 0;
    for (char *pair; (pair = strsep(&rest, ","));) {
        char *equal = strchr(pair, '=');
        if (!equal || equal == pair || l->metric.labels_n == FLEET_LABELS_MAX)
            argp_error(state, "--labels is written NAME=N,NAME=N with at most %d names", FLEET_LABELS_MAX);
        *equal = 0;
        if (!label_name_legacy(str_of(pair)))
            argp_error(state, "--labels: %s is no label name", pair);
        l->metric.labels[l->metric.labels_n++] =
            (struct fleet_label){pair, (uint32_t)option_number(state, "--labels", equal + 1, 1, UINT32_MAX)};
    }
}

static int choice(struct argp_state *state, const char *option, const char *arg, const char *const names[3])
{
    for (int i = 0; i < 3; i++)
        if (strcmp(arg, names[i]) == 0)
            return i + 1;
    argp_error(state, "%s is %s, %s or %s, not %s", option, names[0], names[1], names[2], arg);
    return 1;
}

static error_t take_option(int key, char *arg, struct argp_state *state)
{
    static const char *const kinds[] = {"latency", "ratio", "counter"};
    static const char *const formats[] = {"openmetrics", "jsonl", "csv"};
    struct load *l = state->input;
    if (key >= KEY_METRIC && key <= KEY_KIND)
        l->generating = option_list[key - KEY_URL].name;
    switch (key) {
    case KEY_URL:
        l->url = arg;
        return 0;
    case KEY_METRIC:
        l->metric.name = arg;
        return 0;
    case KEY_SERIES:
        l->metric.series_n = (uint32_t)option_number(state, "--series", arg, 1, 100000000);
        return 0;
    case KEY_INTERVAL:
        l->interval_ms = option_duration_ms(state, "--interval", arg, 1);
        return 0;
    case KEY_ROUNDS:
        l->rounds = option_number(state, "--rounds", arg, 1, 1000000000);
        return 0;
    case KEY_LABELS:
        take_labels(l, arg, state);
        return 0;
    case KEY_END_TIME:
        l->end_ms = option_time_ms(state, "--end", arg);
        return 0;
    case KEY_KIND:
        l->metric.kind = (enum fleet_kind)choice(state, "--kind", arg, kinds);
        return 0;
    case KEY_FORMAT:
        l->format = (enum load_format)choice(state, "--format", arg, formats);
        return 0;
    case ARGP_KEY_ARG:
        if (l->file)
            argp_error(state, "one file at a time; %s is too many", arg);
        l->file = arg;
        return 0;
    case ARGP_KEY_END:
        if (l->file && l->generating)
            argp_error(state, "--%s is for generated samples; those of %s are sent as they are", l->generating,
                       l->file);
        if (!l->file && l->format)
            argp_error(state, "--format is for a file, and none is named");
        if (l->file && !l->format)
            l->format = load_format_of(l->file);
        if (l->file && !l->format)
            argp_error(state, "%s: say its --format", l->file);
        return 0;
    default:
        return ARGP_ERR_UNKNOWN;
    }
}

/* ---- sending ---- */

/* A bar on a terminal, ten times a second at most; nothing when piped. */
static void show_progress(struct load *l, double done)
{
    enum { BAR = 40 };
    uint64_t now_ns = clock_monotonic_ns();
    if (!l->terminal || (done < 1 && now_ns - l->shown_ns < 100000000))
        return;
    l->shown_ns = now_ns;
    int filled = (int)(done * BAR);
    fprintf(stderr, "\r[%.*s%*s] %3d%%  %llu samples", filled, "########################################", BAR - filled,
            "", (int)(done * 100), (unsigned long long)write_out_sent(l->out));
    if (done >= 1)
        fputc('\n', stderr);
}

/* A refused request is reported and the rest goes on; a server that cannot be reached ends it. */
static int flush(struct load *l, struct err *e)
{
    enum { SHOWN_MAX = 10 };
    int code = write_out_flush(l->out, e);
    if (code != ERR_BAD_DATA)
        return code;
    if (l->refusals++ < SHOWN_MAX)
        fprintf(stderr, "%smullion: %s\n", l->terminal ? "\n" : "", e->message);
    return 0;
}

static int generate(struct load *l, struct err *e)
{
    const struct fleet_metric *m = &l->metric;
    struct arena a;
    int code = 0;
    arena_init(&a, 0);
    /* All series of one round, then the next: the order a scraper sends in. Rounds share a request while they fit. */
    uint64_t together = WRITE_OUT_SAMPLES_MAX / m->series_n;
    together = together < 1 ? 1 : together > 100 ? 100 : together;
    for (uint64_t first = 0; code == 0 && first < l->rounds; first += together) {
        uint64_t last = first + together < l->rounds ? first + together : l->rounds;
        for (uint32_t i = 0; code == 0 && i < m->series_n; i++) {
            struct labels labels;
            arena_reset(&a);
            fleet_labels(m, i, &a, &labels);
            write_out_begin(l->out, &labels);
            for (uint64_t r = first; r < last; r++) {
                int64_t t = l->end_ms - (int64_t)(l->rounds - 1 - r) * l->interval_ms;
                write_out_sample(l->out, t, fleet_value(m, i, t));
            }
            write_out_end(l->out);
            if (write_out_full(l->out))
                code = flush(l, e);
        }
        show_progress(l, (double)last / (double)l->rounds);
    }
    arena_done(&a);
    return code == 0 ? flush(l, e) : code;
}

static int send_line(struct load *l, struct str line, struct arena *a, struct err *e)
{
    struct load_series s;
    int code = load_line(l->format, line, a, &s, e);
    if (code != 0) {
        err_prefix(e, "%s:%llu", l->file, (unsigned long long)l->line);
        return code;
    }
    for (uint32_t i = 0; code == 0 && i < s.n;) {
        write_out_begin(l->out, &s.labels);
        for (; i < s.n && !write_out_full(l->out); i++)
            write_out_sample(l->out, s.times_ms[i], s.values[i]);
        write_out_end(l->out);
        if (write_out_full(l->out))
            code = flush(l, e);
    }
    return code;
}

static int replay(struct load *l, struct err *e)
{
    bool standard = strcmp(l->file, "-") == 0;
    FILE *f = standard ? stdin : fopen(l->file, "re");
    if (!f)
        return err_set_errno(e, errno, "%s", l->file);
    long size = 0;
    if (!standard && fseek(f, 0, SEEK_END) == 0) {
        size = ftell(f);
        rewind(f);
    }
    struct arena a;
    char *line = NULL;
    size_t cap = 0;
    int code = 0;
    arena_init(&a, 4 * (size_t)LOAD_LINE_MAX);
    for (ssize_t n; code == 0 && (n = getline(&line, &cap, f)) >= 0;) {
        arena_reset(&a);
        l->line++;
        while (n > 0 && line[n - 1] == '\n')
            n--;
        code = send_line(l, (struct str){line, (size_t)n}, &a, e);
        if (size > 0)
            show_progress(l, fmin(0.99, (double)ftell(f) / (double)size));
    }
    if (code == 0)
        code = flush(l, e);
    if (code == 0)
        show_progress(l, 1);
    free(line);
    arena_done(&a);
    if (!standard)
        fclose(f);
    return code;
}

int command_load(int argc, char **argv)
{
    struct wall_clock clock = WALL_CLOCK_SYSTEM;
    struct load l = {.url = "http://127.0.0.1:9095/api/v1/write",
                     .metric = {"load_test", FLEET_LATENCY, 100, {{"job", 10}}, 1},
                     .interval_ms = 15000,
                     .end_ms = wall_clock_now_ms(&clock),
                     .rounds = 20,
                     .terminal = isatty(STDERR_FILENO)};
    struct argp argp = {option_list, take_option, "[FILE]", summary, NULL, NULL, NULL};
    struct err e = {0};
    argp_parse(&argp, argc, argv, 0, NULL, &l);
    l.out = write_out_new(l.url, NULL);
    int code = l.file ? replay(&l, &e) : generate(&l, &e);
    uint64_t sent_n = write_out_sent(l.out);
    printf("%llu sample%s taken, %llu request%s refused in part or whole\n", (unsigned long long)sent_n,
           sent_n == 1 ? "" : "s", (unsigned long long)l.refusals, l.refusals == 1 ? "" : "s");
    write_out_free(l.out);
    if (code != 0)
        return command_failed(&e);
    return l.refusals ? 1 : 0;
}
