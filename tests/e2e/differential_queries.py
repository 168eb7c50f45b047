"""Random valid PromQL, typed: every function, operator and modifier both servers know, over the metrics of differential_data.

A query is text alone. Most are meant to have an answer; some fail on purpose (many-to-many matches, bad parameters), and
then both must.
"""
import random

from differential_data import END_MS, LE, ODD_VALUES, START_MS

COUNTERS = ["c_total", "c_total", "c_float_total", "c_irregular_total", "c_stale_total", "c_churn_total", "h_bucket", "h_count"]
GAUGES = ["g", "g", "g_negative", "g_irregular", "g_stale", "g_steps", "g_churn", "g_special", "g_large", "g_tiny", "g_odd",
          "g_fast", "up", "constant", "single", "g_wide"]
LABELS = {
    "c_total": ["job", "instance", "code"], "c_float_total": ["job", "instance"], "g": ["job", "instance", "zone"],
    "g_negative": ["job", "instance"], "up": ["job", "instance"], "target_info": ["job", "instance", "version"],
    "h_bucket": ["job", "instance", "le"], "h_sum": ["job", "instance"], "h_count": ["job", "instance"],
    "g_churn": ["job", "pod"], "c_churn_total": ["job", "pod"], "g_odd": ["value", "job"], "g_wide": ["l00", "l01", "job"],
    "single": [],
}
VALUES = {
    "job": ["api", "web", "db"], "instance": ["i0", "i1", "i2"], "code": ["200", "404", "500"], "zone": ["eu", "us", ""],
    "version": ["v0", "v1", "v2"], "le": LE, "pod": [f"p{i}" for i in range(8)], "value": ODD_VALUES, "l00": ["v0"], "l01": ["v1"],
}
PATTERNS = {
    "job": ["a.*", "web|db", ".+", "", ".*", "(?i)API", "[a-w].*", "api|"], "instance": ["i[01]", "i.", "i(0|2)"],
    "code": ["2..", "[45]..", "4.+|5.+"], "zone": ["", "eu|", ".+", ".*"], "version": ["v[0-1]"], "le": ["0\\\\..*", "1|2.5|\\\\+Inf"],
    "pod": ["p[0-3]", "p.*"], "value": [".*e.*", "(?s).*\\n.*", "[^a-z]+", "\\\\S+", ".*\\\\\\\\.*"], "l00": ["v."], "l01": ["v."],
}
OVER_TIME = ["sum_over_time", "avg_over_time", "count_over_time", "min_over_time", "max_over_time", "stddev_over_time",
             "stdvar_over_time", "last_over_time", "present_over_time", "absent_over_time", "mad_over_time",
             "ts_of_max_over_time", "ts_of_min_over_time", "ts_of_last_over_time", "changes", "resets", "delta", "idelta", "deriv"]
RATES = ["rate", "increase", "irate", "resets", "changes", "rate", "increase"]
PANE_FUNCTIONS = ["sum_over_time", "avg_over_time", "count_over_time", "min_over_time", "max_over_time", "stddev_over_time",
                  "stdvar_over_time", "last_over_time", "present_over_time", "rate", "increase", "delta", "irate", "idelta", "changes",
                  "resets"]
MATH = ["abs", "ceil", "floor", "exp", "ln", "log2", "log10", "sqrt", "sgn", "acos", "acosh", "asin", "asinh", "atan", "atanh",
        "cos", "cosh", "sin", "sinh", "tan", "tanh", "deg", "rad"]
DATES = ["day_of_month", "day_of_week", "day_of_year", "days_in_month", "hour", "minute", "month", "year"]
AGGREGATIONS = ["sum", "avg", "count", "min", "max", "group", "stddev", "stdvar"]
ARITHMETIC = ["+", "-", "*", "/", "%", "^", "atan2"]
COMPARISONS = ["==", "!=", ">", "<", ">=", "<="]


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


class Generator:
    def __init__(self, seed):
        self.draw = random.Random(f"queries {seed}")

    def pick(self, items):
        return self.draw.choice(items)

    def chance(self, p):
        return self.draw.random() < p

    # ---- selectors ----

    def matcher(self, label):
        op = self.pick(["=", "!=", "=~", "!~"])
        if op in ("=~", "!~") and self.chance(0.8):
            return f'{label}{op}"{self.pick(PATTERNS[label])}"'
        return f"{label}{op}{quoted(self.pick(VALUES[label] + ['', 'none']))}" if op in ("=", "!=") else f'{label}{op}"x|.+"'

    def selector(self, metric):
        labels = LABELS.get(metric, ["job"])
        chosen = [self.matcher(self.pick(labels)) for _ in range(self.pick([0, 0, 0, 1, 1, 2]))] if labels else []
        if self.chance(0.03):
            return "{" + ",".join([f'__name__=~"{metric}|{self.pick(GAUGES)}"'] + chosen) + "}"
        if self.chance(0.03):
            return "{" + ",".join([quoted(metric)] + chosen) + "}"
        return metric + ("{" + ",".join(chosen) + "}" if chosen else "")

    def modifiers(self):
        out = ""
        if self.chance(0.2):
            out += " offset " + self.pick(["1m", "30s", "7s", "15s", "5m", "-1m", "-30s", "10m", "1ms", "1h"])
        if self.chance(0.06):
            at = self.pick(["start()", "end()", str(self.draw.randrange(START_MS, END_MS, 5000) / 1000), str((END_MS - 600_000) // 1000)])
            out = f" @ {at}" + out if self.chance(0.5) else out + f" @ {at}"
        return out

    def duration(self):
        if self.chance(0.04):
            return self.pick(["5m + 15s", "2 * 1m", "10m / 4", "5m - 47s", "(1m + 30s) * 2", "2 ^ 2 * 30s", "7m % 4m"])
        return self.pick(["15s", "30s", "1m", "1m", "2m", "5m", "5m", "5m", "10m", "20m", "7m30s", "47s", "1ms", "1h", "61s"])

    def matrix(self, metrics, depth):
        if depth > 1 and self.chance(0.12):
            step = self.pick(["", "15s", "30s", "1m", "7s", "47s"])
            return f"({self.vector(depth - 2)})[{self.pick(['1m', '2m', '5m', '10m', '20m'])}:{step}]{self.modifiers()}"
        return f"{self.selector(self.pick(metrics))}[{self.duration()}]{self.modifiers()}"

    # ---- calls ----

    def over_time(self, depth=0):
        kind = self.draw.randrange(10)
        if kind < 4:
            return f"{self.pick(RATES)}({self.matrix(COUNTERS, depth)})"
        if kind < 8:
            return f"{self.pick(OVER_TIME)}({self.matrix(GAUGES + COUNTERS, depth)})"
        if kind == 8:
            return f"quantile_over_time({self.pick(['0', '0.5', '0.9', '0.99', '1', '0.25', '-1', '2'])}, {self.matrix(GAUGES, depth)})"
        return self.pick([f"predict_linear({self.matrix(GAUGES, depth)}, {self.pick(['60', '-60', '3600', '0'])})",
                          f"double_exponential_smoothing({self.matrix(GAUGES, depth)}, 0.5, {self.pick(['0.1', '0.9'])})"])

    def call(self, depth):
        inner = self.vector(depth - 1)
        return self.pick([
            lambda: f"{self.pick(MATH)}({inner})",
            lambda: f"{self.pick(DATES)}({self.pick([inner, '', f'vector({self.scalar(1)})'])})",
            lambda: f"clamp({inner}, {self.scalar(0)}, {self.scalar(0)})",
            lambda: f"clamp_min({inner}, {self.scalar(1)})",
            lambda: f"clamp_max({inner}, {self.scalar(1)})",
            lambda: f"round({inner}{self.pick(['', ', 0.5', ', 10', ', -1'])})",
            lambda: f"absent({inner})",
            lambda: f"timestamp({self.pick([inner, self.selector(self.pick(GAUGES))])})",
            lambda: f"sort{self.pick(['', '_desc'])}({inner})",
            lambda: f'sort_by_label({inner}, "job", "instance")',
            lambda: f"vector({self.scalar(1)})",
            lambda: f'label_replace({inner}, "{self.pick(["job", "new", "instance", "__name__"])}", "{self.pick(["$1", "x-$1", "${n}", "", "$1$0$9$$"])}", '
                    f'"{self.pick(["job", "instance", "zone", "none", "__name__"])}", "{self.pick(["(.*)", "(?P<n>a.*)", "i(.)", "", "(.+)"])}")',
            lambda: f'label_join({inner}, "{self.pick(["job", "new"])}", "{self.pick(["-", ""])}", "job", "{self.pick(["instance", "__name__"])}")',
            lambda: f"histogram_quantile({self.pick(['0.5', '0.9', '0.99', '0', '1', '-1', '2'])}, "
                    f"{self.histogram()})",
            lambda: f"histogram_fraction({self.pick(['0, 0.5', '0.1, 1', '-1, 3', '2, 1'])}, {self.histogram()})",
            lambda: f"info({self.selector(self.pick(['c_total', 'g', 'up']))})",
        ])()

    def histogram(self):
        return self.pick([
            lambda: f"sum by ({self.pick(['le', 'le, job', 'job, le', 'le, instance'])}) ({self.pick(['rate', 'increase'])}(h_bucket[{self.duration()}]))",
            lambda: f"rate({self.selector('h_bucket')}[{self.duration()}])",
            lambda: self.selector("h_bucket"),
        ])()

    def native(self):
        """About native histograms: a selector or range function, then what reads or combines them."""
        metric = self.pick(["n_counter", "n_counter", "n_gauge", "n_custom", "n_mixed"])
        functions = ["delta", "idelta"] if metric == "n_gauge" else ["rate", "increase", "irate"]
        functions += ["sum_over_time", "avg_over_time", "count_over_time", "last_over_time", "resets", "changes", "max_over_time",
                      "present_over_time"]
        inner = self.pick([lambda: self.selector(metric) + self.modifiers(),
                           lambda: f"{self.pick(functions)}({self.selector(metric)}[{self.duration()}]{self.modifiers()})",
                           lambda: f"{self.pick(functions)}({self.selector(metric)}[{self.pick(['5m:30s', '10m:1m', '2m:'])}])"])()
        if self.chance(0.5):
            inner = self.pick([f"{self.pick(['sum', 'avg', 'count', 'max', 'group'])} by (job) ({inner})", f"{inner} * 2", f"0.5 * {inner}",
                               f"{inner} / 4", f"({inner}) + ({inner})", f"({inner}) - ({inner})", f"({inner}) == ({inner})", f"-({inner})",
                               f"({inner}) and on (job) up", f"{inner} > 1", f"abs({inner})"])
        return self.pick([inner, f"histogram_count({inner})", f"histogram_sum({inner})", f"histogram_avg({inner})",
                          f"histogram_stddev({inner})", f"histogram_stdvar({inner})",
                          f"histogram_quantile({self.pick(['0.5', '0.9', '0.01', '0', '1', '-1'])}, {inner})",
                          f"histogram_fraction({self.pick(['0, 0.5', '-1, 3', '2, 1', '-Inf, 0.25'])}, {inner})"])

    def grouping(self):
        if self.chance(0.2):
            return ""
        labels = ", ".join(self.draw.sample(["job", "instance", "code", "zone", "pod", "le", "value", "nope", "__name__"], self.pick([0, 1, 1, 2])))
        return f" {self.pick(['by', 'by', 'without'])} ({labels})"

    def aggregation(self, depth):
        inner, grouping = self.vector(depth - 1), self.grouping()
        kind = self.draw.randrange(12)
        if kind == 0:
            return f"quantile{grouping}({self.pick(['0.5', '0.9', '0', '1', '-1', '1.5'])}, {inner})"
        if kind == 1:
            return f'count_values{grouping}("v", {self.selector(self.pick(["g_steps", "up", "constant"]))})'
        if kind == 2:
            # Ranks over gauges of three decimals: ties would be cut by storage order.
            return f"{self.pick(['topk', 'bottomk'])}{grouping}({self.pick(['1', '2', '5'])}, {self.selector(self.pick(['g', 'g_negative']))})"
        if kind == 3:
            return f"limit_ratio{grouping}({self.pick(['0.3', '-0.7', '1', '0', '-1.5'])}, {inner})"
        return f"{self.pick(AGGREGATIONS)}{grouping}({inner})"

    # ---- operators ----

    def same_shape(self, depth):
        """Two expressions over one selector, so that they match."""
        metric = self.pick(COUNTERS + GAUGES)
        selector, range_ = self.selector(metric), self.duration()
        def side():
            return self.pick([lambda: f"{self.pick(OVER_TIME[:8] + RATES)}({selector}[{range_}])", lambda: selector,
                              lambda: f"{selector} offset {self.pick(['1m', '15s', '5m'])}"])()
        return side(), side()

    def binary(self, depth):
        kind = self.draw.randrange(9)
        op = self.pick(ARITHMETIC + COMPARISONS)
        if op in COMPARISONS and self.chance(0.4):
            op += " bool"
        if kind == 0:
            a, b = self.pick([(self.vector(depth - 1), self.scalar(1)), (self.scalar(1), self.vector(depth - 1))])
            return f"{a} {op} {b}"
        if kind in (1, 2):
            a, b = self.same_shape(depth)
            return f"{a} {op} {b}"
        if kind == 3:
            by = self.pick(["job", "job, instance", "instance"])
            return f"sum by ({by}) ({self.over_time(depth - 1)}) {op} sum by ({by}) ({self.over_time(depth - 1)})"
        if kind == 4:
            a = self.pick(["c_total", "g", "up", "rate(c_total[5m])", "avg_over_time(g[1m])"])
            return f"{a} {op} on (job, instance) group_left ({self.pick(['', 'version', 'version, nope', '__name__'])}) target_info"
        if kind == 5:
            a = self.selector(self.pick(["c_total", "h_bucket"]))
            return self.pick([f"{a} {op} ignoring (code, le) group_left () sum without (code, le) ({a})",
                              f"sum by (job) (g) {op} on (job) group_right () {self.selector('g_negative')}"])
        if kind == 6:
            return f"({self.vector(depth - 1)}) {op} {self.pick(['on () ', 'on (job) ', 'ignoring (instance) ', ''])}({self.vector(depth - 1)})"
        matching = self.pick(["", "", "on (job) ", "ignoring (code, zone) ", "on () ", "on (job, instance) ",
                             "on (__name__) ", "on (__name__, job) ", "ignoring (__name__, pod) "])
        return f"({self.vector(depth - 1)}) {self.pick(['and', 'or', 'unless'])} {matching}({self.vector(depth - 1)})"

    def scalar(self, depth):
        return self.pick([
            lambda: self.pick(["0", "1", "2", "-1", "0.5", "1e3", "NaN", "Inf", "-Inf", "100", "0x1F", "1_000", "5m", "3.25"]),
            lambda: self.pick(["1", "2", "10", "0.1", "50"]),
            lambda: "time()" if depth else "pi()",
            lambda: f"scalar({self.pick(['sum(' + self.selector(self.pick(GAUGES)) + ')', self.selector('constant'), 'g'])})" if depth else "4",
            lambda: f"({self.scalar(depth - 1)} {self.pick(ARITHMETIC[:6])} {self.scalar(depth - 1)})" if depth else "3",
        ])()

    def vector(self, depth):
        if depth <= 0:
            if self.chance(0.45):
                return self.selector(self.pick(GAUGES + COUNTERS)) + self.modifiers()
            return self.over_time()
        kind = self.draw.randrange(20)
        if kind < 5:
            return self.over_time(depth)
        if kind < 10:
            return self.aggregation(depth)
        if kind < 13:
            return self.call(depth)
        if kind < 18:
            return self.binary(depth)
        return self.pick([f"-({self.vector(depth - 1)})", f"({self.vector(depth - 1)})"])

    def query(self):
        if self.chance(0.02):
            return self.scalar(2)
        if self.chance(0.08):
            return self.native()
        return self.vector(self.pick([0, 1, 1, 2, 2, 3]))

    def pane_call(self):
        """A range function that states answer, over a plain selector."""
        selector = self.selector(self.pick(COUNTERS + GAUGES))
        offset = self.pick(["", "", "", " offset 1m", " offset -30s", " offset 7s"])
        window = f"{selector}[{self.pick(['15s', '30s', '1m', '2m', '5m', '5m', '10m', '20m', '7m30s', '61s'])}]{offset}"
        if self.chance(0.15):
            return f"quantile_over_time({self.pick(['0', '0.5', '0.9', '1', '-1', '2'])}, {window})"
        return f"{self.pick(PANE_FUNCTIONS)}({window})"

    def planned(self):
        """(query, every) for a workload: mostly what panes serve, half of it below operators."""
        every = self.pick(["1s", "5s", "10s", "15s", "30s", "1m", "1m", "1m"])
        kind = self.draw.randrange(10)
        if kind < 4:
            return self.pane_call(), every
        if kind < 6:
            return f"{self.pick(AGGREGATIONS)}{self.grouping()}({self.pane_call()})", every
        if kind == 6:
            by = self.pick(["job", "job, instance", "instance"])
            return f"sum by ({by}) ({self.pane_call()}) {self.pick(ARITHMETIC)} sum by ({by}) ({self.pane_call()})", every
        if kind == 7:
            return self.pick([f"histogram_quantile(0.9, sum by (le) (rate(h_bucket[{self.pick(['1m', '5m'])}])))",
                              f"histogram_quantile(0.9, sum(rate(n_counter[{self.pick(['1m', '5m'])}])))",
                              f"{self.pick(['sum', 'avg', 'count', 'max'])}_over_time(n_{self.pick(['counter', 'mixed'])}[5m])"]), every
        return self.pick([self.aggregation, self.call, self.binary, lambda depth: self.over_time()])(self.pick([1, 2])), every
