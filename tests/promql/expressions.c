#include "expressions.h"

#include <stdbool.h>

const char *const expressions[] = {
    "up",
    "up == 0",
    "absent(up{job=\"api\"})",
    "absent_over_time(up{job=\"api\"}[10m])",
    "avg by (instance) (rate(cpu_seconds_total{mode!=\"idle\"}[5m])) * 100",
    "1 - avg without (cpu) (rate(cpu_seconds_total{mode=\"idle\"}[2m]))",
    "sum(rate(requests_total{code=~\"5..\"}[5m])) / sum(rate(requests_total[5m])) > 0.05",
    "histogram_quantile(0.99, sum by (le, route) (rate(latency_bucket[5m])))",
    "histogram_quantile(scalar(phi), rate(h[5m]))",
    "histogram_fraction(0, 0.2, rate(h[1h]))",
    "histogram_quantiles(rate(h[5m]), \"q\", 0.1, 0.5, 0.9)",
    "histogram_avg(h) + histogram_sum(h) / histogram_count(h) - histogram_stddev(h) ^ 2 + histogram_stdvar(h)",
    "topk(5, sum by (app) (memory_bytes))",
    "bottomk without (pod) (3, memory_bytes)",
    "count_values by (cluster) (\"version\", build_info)",
    "quantile(0.9, load1)",
    "stddev(load1) / avg(load1)",
    "stdvar by (dc) (load1)",
    "group by (job) (up)",
    "limitk(10, up)",
    "limit_ratio(-0.3, up)",
    "min(up) or max(up)",
    "count(up) by (job, instance)",
    "disk_free / ignoring(mode) group_left disk_size < 0.1 and on(host) up == 1",
    "a * on(x, y) group_right(z) b",
    "a * on() group_left() b",
    "a unless on(job) b unless ignoring(job) c",
    "a or b or c and d unless e",
    "a - b - c",
    "a - (b - c)",
    "a ^ b ^ c",
    "(a ^ b) ^ c",
    "-a ^ -b",
    "-(-a)",
    "--a",
    "- a * - b",
    "a % b * c / d atan2 e",
    "a == bool b != bool c",
    "a > bool 1 >= bool 2 < bool 3 <= bool 4",
    "1 > bool 2",
    "2 * 3 + 4",
    "a atan2 on(x) b",
    "a </ 0.5 + b >/ -1",
    "Inf + -Inf * NaN",
    "0x1F + 010 + 1_0 + 1e-3 + .25 + 3.",
    "5m + 1h30m - 250ms",
    "vector(1d12h)",
    "foo[5m:1m] offset 1h",
    "rate(foo[5m:])",
    "max_over_time(rate(foo[5m])[1h:30s])",
    "max_over_time((a / b)[1h:30s] @ end())",
    "sum_over_time(sum(foo)[30m:5m] offset -10m @ 1700000000)",
    "avg_over_time(avg_over_time(foo[5m])[1h:1m] offset 5m)",
    "foo @ 1609746000",
    "foo @ -1.5 offset 3d",
    "foo offset 3d @ start()",
    "rate(foo[5m] @ end() offset -1w)",
    "foo offset 1y2w3d4h5m6s7ms",
    "foo[1y2w3d4h5m6s7ms]",
    "foo[90]",
    "foo[1.5]",
    "foo offset 0.25",
    "foo[5m+1m]",
    "foo[5m-1m*2]",
    "foo[(5m-1m)*2]",
    "foo[2^3^2s]",
    "foo[(2^3)^2s]",
    "foo[-2^2+1h]",
    "foo[(-2)^2]",
    "foo[+5m]",
    "foo[--5m]",
    "foo[-(-5m)]",
    "foo[1h30m % 1h]",
    "foo[step()]",
    "foo[range()/2:step()]",
    "foo[min_of(step(), 1h):max_of(range(), 10s)] offset (step()*2)",
    "foo[max(1m, min(2m, 3m))]",
    "foo offset (1m+1m)",
    "foo offset -(1m+1m)",
    "foo offset +step()",
    "foo offset -range()",
    "foo offset min_of(1m, step())",
    "foo offset -max_of(1m, step()) + 1",
    "foo offset (-2^2)",
    "foo offset (-(2)^2)",
    "foo offset 1m + bar",
    "increase(foo[1m] anchored)",
    "rate(foo[1m] smoothed @ 100 offset 1m)",
    "foo smoothed",
    "foo anchored @ end()",
    "a + fill(0) b",
    "a - on(x) group_left(y) fill_left(1) fill_right(2) b",
    "a / fill_right(-Inf) b",
    "a >= bool ignoring(x) fill(NaN) b",
    "fill + fill(1) fill_left + fill_right",
    "label_replace(up, \"dst\", \"$1-${2}\", \"src\", \"(.*)-(.*)\")",
    "label_join(up, \"dst\", \",\")",
    "label_join(up, \"dst\", \",\", \"a\", \"b\", \"c\")",
    "sort(up)",
    "sort_desc(up)",
    "sort_by_label(up)",
    "sort_by_label_desc(up, \"a\", \"b\")",
    "clamp(up, -1, 1)",
    "clamp_min(clamp_max(up, 2), 0.5)",
    "round(up)",
    "round(up, 0.1)",
    "hour() + minute(up) + month() + year(vector(0))",
    "day_of_week() == 1 or day_of_month() > 27 or day_of_year() < 9 or days_in_month() == 30",
    "time() - timestamp(up)",
    "start() + end() + step() + range()",
    "min_of(1, 2) + max_of(scalar(up), pi())",
    "predict_linear(disk_free[1h], 4 * 3600) < 0",
    "deriv(temp[10m]) > delta(temp[1h])",
    "irate(foo[2m]) + idelta(foo[2m]) + increase(foo[1h])",
    "changes(foo[1h]) + resets(foo[1h])",
    "double_exponential_smoothing(foo[1h], 0.3, 0.1)",
    "holt_winters(foo[1h], 0.3, 0.1)",
    "quantile_over_time(0.95, foo[1h])",
    "last_over_time(foo[1h]) - first_over_time(foo[1h])",
    "present_over_time(foo[1h]) * count_over_time(foo[1h])",
    "stddev_over_time(foo[1h]) + stdvar_over_time(foo[1h]) + mad_over_time(foo[1h])",
    "min_over_time(foo[1h]) + max_over_time(foo[1h]) + sum_over_time(foo[1h])",
    "ts_of_first_over_time(foo[1h]) + ts_of_last_over_time(foo[1h])",
    "ts_of_max_over_time(foo[1h]) + ts_of_min_over_time(foo[1h])",
    "abs(a) + ceil(a) + floor(a) + exp(a) + ln(a) + log2(a) + log10(a) + sqrt(a) + sgn(a)",
    "sin(a) + cos(a) + tan(a) + asin(a) + acos(a) + atan(a)",
    "sinh(a) + cosh(a) + tanh(a) + asinh(a) + acosh(a) + atanh(a) + deg(a) + rad(a)",
    "info(rate(foo[5m]))",
    "info(foo, {data=~\".+\", __name__=\"target_info\"})",
    "info(foo, {})",
    "distinct_over_time(foo[1h])",
    "entropy_over_time(foo[1h]) + l1_over_time(foo[1h]) + l2_over_time(foo[1h:1m])",
    "quantiles_over_time(\"phi\", 0.5, foo[1h])",
    "quantiles_over_time(\"phi\", 0.5, 0.9, 0.99, 0.999, 1, 0, 0.1, foo[1h])",
    "distinct_label_over_time(\"user\", hits[1h])",
    "distinct_label_over_time(\"user\", hits[1h], \"route\", \"method\")",
    "topk_label_over_time(10, \"user\", hits[1h])",
    "topk_label_over_time(10, \"user\", hits[1h] offset 1d, \"route\")",
    "entropy_label_over_time(\"user\", hits[1h]) < l2_label_over_time(\"user\", hits[1h], \"a\")",
    "{__name__=\"foo\"}",
    "{__name__=~\"foo|bar\", job!=\"x\"}",
    "{__name__!=\"\"}",
    "{\"foo.bar\"}",
    "{\"foo.bar\", \"some.label\"!~\"a|b\", plain=\"y\"}",
    "rate({'\xe6\xb8\xa9\xe5\xba\xa6', site=\"\xe4\xb8\xad\"}[5m])",
    "sum by (\"label.with.dots\", \"\xe4\xb8\xad\") ({\"foo.bar\"})",
    "a * on(\"x.y\") group_left(\"z z\", w) b",
    "foo{a=\"\", b=\"c\\\"d\\\\e\\n\\t\", c='\\'', d=`\\d+`}",
    "foo{a=\"\\u00fc\\U0001F600\\x01\\377\"}",
    "foo{a=\"b\",a=\"b\"}",
    "foo{a=~\"b.*\",a!~\".*c\",}",
    "foo{on=\"x\",by=\"y\",offset=\"z\",bool=\"w\",inf=\"v\"}",
    "sum by (sum, by, on, bool, group_left, offset, start, inf_) (x)",
    "sum + avg + count + min + max + group + stddev + stdvar + topk + bottomk + quantile + count_values",
    "offset offset 5m",
    "by + without * start / end - step ^ range",
    "min_of + max_of + fill + smoothed + anchored",
    "and{a=\"b\"} and or or unless unless and",
    "a:b:c + :x",
    "sum(sum(sum(sum(sum(sum(foo))))))",
    "((((((1))))))",
    "\"a string\"",
    "'single'",
    "`back\\tick`",
    "# leading\nfoo # trailing",
    "foo\n\t+\r\n  bar",
    "SUM BY (job) (foo OFFSET 5m) AND avg WITHOUT (x) (bar @ START())",
};
const size_t expressions_n = sizeof expressions / sizeof *expressions;

uint64_t random_next(uint64_t *seed)
{
    /* splitmix64 */
    uint64_t z = *seed += 0x9e3779b97f4a7c15;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
}

struct generator {
    uint64_t *seed;
    struct strbuf *out;
    bool in_duration; /* no comment may stand there */
};

static unsigned roll(struct generator *g, unsigned n)
{
    return (unsigned)(random_next(g->seed) % n);
}

static void put(struct generator *g, const char *text)
{
    strbuf_add_z(g->out, text);
    for (; roll(g, 12) == 0;)
        strbuf_add_z(g->out, g->in_duration || roll(g, 6) ? " " : " # c\n");
}

#define PICK(g, ...) pick(g, (const char *const[]){__VA_ARGS__}, sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *))
static const char *pick(struct generator *g, const char *const *v, size_t n)
{
    return v[roll(g, (unsigned)n)];
}

static void put_duration(struct generator *g)
{
    put(g, PICK(g, "5m", "30s", "1h", "1h30m", "300", "1.5", "250ms", "2d"));
}

/* A duration expression greater than 0 whatever step() and range() are. */
static void put_duration_expr(struct generator *g, int depth)
{
    switch (depth > 0 ? roll(g, 8) : 0) {
    case 1:
        put_duration_expr(g, depth - 1);
        put(g, PICK(g, "+5m", "*2", " / 2", "+1.5", "^1", "* 1m"));
        return;
    case 2:
        put(g, "(");
        put_duration_expr(g, depth - 1);
        put(g, ")");
        return;
    case 3:
        put(g, PICK(g, "min_of(", "max(", "max_of("));
        put_duration_expr(g, depth - 1);
        put(g, ",");
        put_duration_expr(g, depth - 1);
        put(g, ")");
        return;
    case 4:
        put(g, PICK(g, "step()+", "range()+", "2^2+", "-1s+1m+"));
        put_duration(g);
        return;
    default:
        put_duration(g);
        return;
    }
}

static void put_modifiers(struct generator *g)
{
    bool at_first = roll(g, 2);
    for (int i = 0; i < 2; i++) {
        if ((i == 0) == at_first && roll(g, 3) == 0)
            put(g, PICK(g, " @ 100", " @ -1.5", " @ start()", " @ end()", "@1.7e9"));
        if ((i == 1) == at_first && roll(g, 3) == 0) {
            put(g, PICK(g, " offset ", " offset -", " OFFSET +"));
            if (roll(g, 2)) {
                put_duration(g);
            } else {
                put(g, "(");
                put_duration_expr(g, 2);
                put(g, ")");
            }
        }
    }
}

static void put_matchers(struct generator *g)
{
    for (unsigned n = roll(g, 4); n > 0; n--) {
        put(g, ",");
        put(g, PICK(g, "a", "b1", "job", "\"x.y\"", "by", "'\xc3\xbc'"));
        put(g, PICK(g, "=", "!=", "=~", "!~"));
        put(g, PICK(g, "\"x\"", "'y|z'", "`\\d+`", "\"\"", "\".*\"", "\"a\\nb\\\\\\\\\"", "\"\\u00fc\""));
    }
}

static void put_selector(struct generator *g)
{
    bool braces = roll(g, 2);
    if (braces && roll(g, 2)) {
        put(g, "{");
        put(g, PICK(g, "__name__=\"foo\"", "\"foo\"", "\"foo.bar\"", "__name__=~\"a.*b\""));
        put_matchers(g);
        put(g, "}");
        return;
    }
    put(g, PICK(g, "foo", "a:b", "sum", "start", "fill", "offset", "node_cpu_seconds_total"));
    if (braces) {
        put(g, "{z=\"1\"");
        put_matchers(g);
        put(g, PICK(g, "}", ",}"));
    }
}

static void put_vector(struct generator *g, int depth);

static void put_scalar(struct generator *g, int depth)
{
    switch (depth > 0 ? roll(g, 8) : 0) {
    case 1:
        put(g, "scalar(");
        put_vector(g, depth - 1);
        put(g, ")");
        return;
    case 2:
        put(g, "(");
        put_scalar(g, depth - 1);
        put(g, PICK(g, "+", "-", "^", " atan2 ", "%", " > bool "));
        put_scalar(g, depth - 1);
        put(g, ")");
        return;
    case 3:
        put(g, "-");
        put_scalar(g, depth - 1);
        return;
    case 4:
        put(g, PICK(g, "time()", "pi()", "step()", "end()"));
        return;
    default:
        put(g, PICK(g, "1", "0.5", "1e9", "0x10", "Inf", "NaN", "5m", "-3", "1e-9", "123456789.125", "017"));
        return;
    }
}

static void put_matrix(struct generator *g, int depth)
{
    if (roll(g, 3) == 0) {
        put(g, "(");
        put_vector(g, depth - 1);
        g->in_duration = true;
        put(g, ")[");
        put_duration_expr(g, 2);
        put(g, ":");
        if (roll(g, 2))
            put_duration_expr(g, 1);
        put(g, "]");
        g->in_duration = false;
    } else {
        put_selector(g);
        g->in_duration = true;
        put(g, "[");
        put_duration_expr(g, 2);
        put(g, "]");
        g->in_duration = false;
        put(g, PICK(g, "", "", "", " anchored", " smoothed"));
    }
    put_modifiers(g);
}

static void put_labels(struct generator *g)
{
    put(g, "(");
    for (unsigned n = roll(g, 3); n > 0; n--) {
        put(g, PICK(g, "l", "m1", "\"n.o\"", "on", "bool"));
        put(g, ",");
    }
    put(g, "p)");
}

static void put_call(struct generator *g, int depth)
{
    switch (roll(g, 4)) {
    case 0:
        put(g, PICK(g, "abs(", "sort(", "absent(", "timestamp("));
        put_vector(g, depth - 1);
        break;
    case 1:
        put(g, PICK(g, "histogram_quantile(", "histogram_quantile("));
        put_scalar(g, depth - 1);
        put(g, ",");
        put_vector(g, depth - 1);
        break;
    case 2:
        put(g, "quantiles_over_time(\"q\",");
        for (unsigned n = roll(g, 3); n > 0; n--) {
            put_scalar(g, depth - 1);
            put(g, ",");
        }
        put_scalar(g, depth - 1);
        put(g, ",");
        put_matrix(g, depth);
        break;
    default:
        put(g, PICK(g, "rate(", "avg_over_time(", "distinct_over_time(", "changes("));
        put_matrix(g, depth);
        break;
    }
    put(g, ")");
}

static void put_aggregate(struct generator *g, int depth)
{
    bool parameter = roll(g, 2), modifier = roll(g, 2), before = roll(g, 2);
    put(g, parameter ? PICK(g, "topk", "quantile", "limitk") : PICK(g, "sum", "AVG", "count", "stddev", "group"));
    for (int i = 0; i < 2; i++) {
        if (modifier && (i == 0) == before) {
            put(g, PICK(g, " by", " without "));
            put_labels(g);
        }
        if (i == 1 && !before)
            break;
        if ((i == 0) != before) {
            put(g, "(");
            if (parameter) {
                put_scalar(g, depth - 1);
                put(g, ",");
            }
            put_vector(g, depth - 1);
            put(g, ")");
        }
    }
}

static void put_binary(struct generator *g, int depth)
{
    put_vector(g, depth - 1);
    bool set = roll(g, 4) == 0, comparison = !set && roll(g, 3) == 0;
    put(g, set          ? PICK(g, " and ", " or ", " unless ")
           : comparison ? PICK(g, "==", "!=", ">", "<=", " > bool ", "== bool ")
                        : PICK(g, "+", "-", "*", "/", "%", "^", " atan2 ", " </ ", ">/"));
    if (roll(g, 3) == 0) {
        put(g, PICK(g, " on", " ignoring "));
        put_labels(g);
        if (!set && roll(g, 2))
            put(g, PICK(g, " group_left", " group_right() ", " group_left(q, \"r.s\")"));
        /* Without it a following parenthesis would be the group's labels. */
        put(g, set ? " " : PICK(g, " fill(0) ", " fill_left(-1.5e7) fill_right(NaN) ", " fill_right(Inf) "));
    }
    put_vector(g, depth - 1);
}

static void put_vector(struct generator *g, int depth)
{
    switch (depth > 0 ? roll(g, 8) : 0) {
    case 1:
    case 2:
        put_call(g, depth);
        return;
    case 3:
        put_aggregate(g, depth);
        return;
    case 4:
        put_binary(g, depth);
        return;
    case 5:
        put(g, "(");
        put_vector(g, depth - 1);
        put(g, ")");
        return;
    case 6:
        put(g, PICK(g, "-", "+", "- -"));
        put_vector(g, depth - 1);
        return;
    case 7:
        put(g, "(");
        put_scalar(g, depth - 1);
        put(g, PICK(g, "*", "-", "^", " > "));
        put_vector(g, depth - 1);
        put(g, ")");
        return;
    default:
        put_selector(g);
        put_modifiers(g);
        return;
    }
}

void generate_expression(uint64_t *seed, struct strbuf *out)
{
    struct generator g = {seed, out};
    if (roll(&g, 6) == 0)
        put_scalar(&g, 5);
    else
        put_vector(&g, 5);
}
