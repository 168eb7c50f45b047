#include "bench/kernels/report.h"

#include <math.h>
#include <string.h>

#include "bench/kernels/bytes.h"
#include "bench/kernels/rows.h"

/* One line of any table; NAN and NULL are empty cells. */
struct line {
    const char *table, *row, *job, *unit;
    double level[BENCH_LEVELS + 1], best;
    const char *beside; /* the limit, or our job beside a peer */
    double beside_value;
    double target, target_limit;
    const char *mark;
};

static const struct bench_job *find(const struct bench *b, const char *name)
{
    for (size_t i = 0; i < b->jobs_n; i++)
        if (strcmp(b->jobs[i].name, name) == 0)
            return &b->jobs[i];
    return NULL;
}

/* In the job's unit. */
static double figure(const struct bench *b, const struct bench_job *job, int level)
{
    double ns = b->least[job - b->jobs][level];
    return isfinite(ns) ? ns / job->items / (strcmp(job->unit, "us") == 0 ? 1000 : 1) : NAN;
}

static double best_figure(const struct bench *b, const char *name)
{
    const struct bench_job *job = find(b, name);
    double best = NAN;
    for (int level = CPU_SCALAR; job && level <= BENCH_LEVELS; level++)
        best = fmin(best, figure(b, job, level));
    return best;
}

static struct line line_of(const struct bench *b, const char *table, const struct bench_job *job)
{
    struct line line = {.table = table,
                        .row = "",
                        .job = job->name,
                        .unit = job->unit,
                        .best = best_figure(b, job->name),
                        .beside = "",
                        .beside_value = NAN,
                        .target = job->target > 0 ? job->target : NAN,
                        .target_limit = NAN,
                        .mark = ""};
    for (int level = CPU_SCALAR; level <= BENCH_LEVELS; level++)
        line.level[level] = job->levels ? figure(b, job, level) : NAN;
    if (line.target == line.target)
        line.mark = line.best <= line.target ? "reached" : "not reached";
    return line;
}

/* As the table has it: the time itself, or the same distance from this machine's limit as the target has from its. */
static const char *mark_of(const struct line *line)
{
    if (line->best <= line->target)
        return "reached";
    if (line->best / line->beside_value <= line->target / line->target_limit)
        return "reached as ratio";
    return "not reached";
}

static bool is_in_table(const char *job)
{
    for (size_t i = 0; i < table_jobs_n; i++)
        if (strcmp(table_jobs[i].job, job) == 0)
            return true;
    return false;
}

static const char *kind_of(const struct bench_job *job)
{
    return job->is_limit ? "limit" : job->ours ? "peer" : "other";
}

/* Calls print for each line of a table. */
static void each_table_line(FILE *out, const struct bench *b, void (*print)(FILE *, const struct line *))
{
    for (size_t i = 0; i < table_jobs_n; i++) {
        const struct table_job *row = &table_jobs[i];
        const struct bench_job *job = find(b, row->job);
        if (!job)
            continue;
        struct line line = line_of(b, "target", job);
        line.row = row->row;
        line.beside = row->limit;
        line.beside_value = best_figure(b, row->limit);
        line.target = row->target;
        line.target_limit = row->target_limit > 0 ? row->target_limit : NAN;
        line.mark = mark_of(&line);
        if (line.best == line.best)
            print(out, &line);
    }
}

static void each_bytes_line(FILE *out, const struct bench *b, void (*print)(FILE *, const struct line *))
{
    size_t n;
    if (!b->has_bytes)
        return;
    const struct bytes_row *rows = bytes_rows(&n);
    for (size_t i = 0; i < n; i++) {
        char name[128], beside[64];
        snprintf(name, sizeof name, "%s, n = %u, %s", rows[i].form, rows[i].n, rows[i].data);
        snprintf(beside, sizeof beside, "raw doubles; most of a pane: %.0f", rows[i].most);
        struct line line = {.table = "bytes",
                            .row = rows[i].target > 0 ? table_bytes_row : "",
                            .job = name,
                            .unit = "bytes",
                            .level = {NAN, NAN, NAN, NAN},
                            .best = rows[i].mean,
                            .beside = beside,
                            .beside_value = 8.0 * rows[i].n,
                            .target = rows[i].target > 0 ? rows[i].target : NAN,
                            .target_limit = NAN,
                            .mark = rows[i].target == 0              ? ""
                                    : rows[i].mean <= rows[i].target ? "reached"
                                                                     : "not reached"};
        print(out, &line);
    }
}

static void each_line(FILE *out, const struct bench *b, const char *kind, void (*print)(FILE *, const struct line *))
{
    for (size_t i = 0; i < b->jobs_n; i++) {
        const struct bench_job *job = &b->jobs[i];
        if (strcmp(kind_of(job), kind) != 0 || (strcmp(kind, "other") == 0 && is_in_table(job->name)))
            continue;
        struct line line = line_of(b, kind, job);
        if (job->ours) { /* the peer's time stands beside ours */
            line.beside_value = line.best;
            line.best = best_figure(b, job->ours);
            line.beside = job->ours;
        }
        if (line.best == line.best || line.beside_value == line.beside_value)
            print(out, &line);
    }
}

/* --- text --- */

static const char *cell(char *text, size_t cap, double v)
{
    if (v == v)
        snprintf(text, cap, v >= 1000 ? "%.0f" : v < 0.1 ? "%.2g" : "%.2f", v);
    else
        text[0] = '\0';
    return text;
}

static void print_numbers(FILE *out, const double *v, size_t n)
{
    char text[32];
    for (size_t i = 0; i < n; i++)
        fprintf(out, " %8s", cell(text, sizeof text, v[i]));
}

static void text_line(FILE *out, const struct line *l)
{
    static const char *row_before = "";
    if (strcmp(l->row, row_before) != 0 && l->row[0])
        fprintf(out, "%s\n", l->row);
    row_before = l->row;
    fprintf(out, "  %-47s %-8s", l->job, l->unit);
    print_numbers(out,
                  (const double[]){l->level[CPU_SCALAR], l->level[CPU_AVX2], l->level[CPU_AVX512], l->best,
                                   l->beside_value, l->best / l->beside_value, l->target, l->target_limit,
                                   l->target / l->target_limit},
                  9);
    fprintf(out, "  %-16s %s\n", l->mark, strncmp(l->beside, "limit: ", 7) == 0 ? l->beside + 7 : l->beside);
}

static void text_head(FILE *out)
{
    fprintf(out, "\n%-49s %-8s %8s %8s %8s %8s %8s %8s %8s %8s %8s  %-16s %s\n", "docs/KERNELS.md's table", "unit",
            "scalar", "avx2", "avx512", "best", "limit", "ratio", "target", "its lim.", "ratio", "", "limit");
}

static void short_line(FILE *out, const struct line *l)
{
    fprintf(out, "  %-49s %-8s", l->job, l->unit);
    print_numbers(
        out, (const double[]){l->level[CPU_SCALAR], l->level[CPU_AVX2], l->level[CPU_AVX512], l->best, l->target}, 5);
    fprintf(out, "  %s\n", l->mark);
}

static void limit_line(FILE *out, const struct line *l)
{
    struct line line = *l;
    if (l->beside_value == l->beside_value) /* our job, beside a library that is its limit */
        line.best = l->beside_value;
    line.target = NAN;
    short_line(out, &line);
}

static void short_head(FILE *out, const char *title, const char *target)
{
    fprintf(out, "\n%-51s %-8s %8s %8s %8s %8s %8s\n", title, "unit", "scalar", "avx2", "avx512", "best", target);
}

static void peer_line(FILE *out, const struct line *l)
{
    fprintf(out, "  %-64s %-8s", l->job, l->unit);
    print_numbers(out, (const double[]){l->beside_value, l->best, l->best / l->beside_value}, 3);
    fprintf(out, "  %s\n", l->beside);
}

bool report_text(FILE *out, const struct bench *b)
{
    bool whole = true;
    text_head(out);
    each_table_line(out, b, text_line);
    each_bytes_line(out, b, text_line);
    short_head(out, "other jobs", "target");
    each_line(out, b, "other", short_line);
    short_head(out, "limits of this machine", "");
    each_line(out, b, "limit", limit_line);
    fprintf(out, "\n%-66s %-8s %8s %8s %8s  %s\n", "peers", "unit", "theirs", "ours", "ratio", "our job");
    each_line(out, b, "peer", peer_line);
    for (size_t i = 0; i < b->skipped_n; i++)
        fprintf(out, "  skipped: %s\n", b->skipped[i]);
    for (size_t i = 0; i < table_jobs_n; i++)
        if (!find(b, table_jobs[i].job)) {
            fprintf(out, "  no job: %s (%s)\n", table_jobs[i].job, table_jobs[i].row);
            whole = false;
        }
    for (size_t i = 0; i < b->jobs_n; i++)
        if (b->jobs[i].ours && !find(b, b->jobs[i].ours)) {
            fprintf(out, "  no job of ours: %s (beside %s)\n", b->jobs[i].ours, b->jobs[i].name);
            whole = false;
        }
    return whole;
}

/* --- CSV --- */

static void csv_line(FILE *out, const struct line *l)
{
    const double v[] = {l->level[CPU_SCALAR], l->level[CPU_AVX2], l->level[CPU_AVX512], l->best};
    const double w[] = {l->beside_value, l->best / l->beside_value, l->target, l->target_limit,
                        l->target / l->target_limit};
    char text[32];
    fprintf(out, "%s,\"%s\",\"%s\",%s", l->table, l->row, l->job, l->unit);
    for (size_t i = 0; i < sizeof v / sizeof *v; i++)
        fprintf(out, ",%s", cell(text, sizeof text, v[i]));
    fprintf(out, ",\"%s\"", l->beside);
    for (size_t i = 0; i < sizeof w / sizeof *w; i++)
        fprintf(out, ",%s", cell(text, sizeof text, w[i]));
    fprintf(out, ",%s\n", l->mark);
}

void report_csv(FILE *out, const struct bench *b)
{
    fprintf(out, "table,row,job,unit,scalar,avx2,avx512,best,beside,beside_value,best_over_beside,target,target_limit,"
                 "target_over_limit,mark\n");
    each_table_line(out, b, csv_line);
    each_bytes_line(out, b, csv_line);
    each_line(out, b, "other", csv_line);
    each_line(out, b, "limit", csv_line);
    each_line(out, b, "peer", csv_line);
}
