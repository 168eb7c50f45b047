#!/usr/bin/env python3
"""Generated PromQL against a Prometheus 3: one data set, the same queries, the same answers.

Both get the samples of differential_data by remote write, three connections at once, with duplicates and late samples; the
two mullion servers (one without a workload, one with generated queries planned as if there were no raw data) are ended and
killed on the way. Then every query of differential_queries is asked as an instant and as a range query: of the server without
a workload, of the planned one, and of the planned one with exact=1. Values agree to 1e-9 relative, label sets exactly, errors
in both or in none; and a step of a range query has the bits of the instant query at its time: the first step of each server,
and of the server without a workload as many more as --steps says.

    differential.py --mullion BINARY [--queries N] [--seed S] [--steps N]

prints every difference with what is needed to see it again, and how many comparisons each row of KNOWN excused.
"""
import argparse
import collections
import http.client
import json
import random
import re
import sys
import threading
import time
import urllib.parse

import harness
from differential_data import END_MS, START_MS, dataset, rounds
from differential_queries import Generator
from harness import Checks

CONFIG = "storage: {tsdb: {out_of_order_time_window: 1h}}\n"
FLAGS = ["--web.enable-remote-write-receiver"]
FEATURES = "promql-experimental-functions,native-histograms,promql-duration-expr"
# A subquery over native histograms leaves them in Prometheus 3.5's pools, where later windows overwrite them, of other queries and
# of later series of this one (fixed since: "Ensure native histogram values are copied in subqueries"). So the pools are emptied
# after each, and a range is compared with instant answers at some of its steps.
HISTOGRAM_SUBQUERY = r"\bn_\w+.*\[[^\]]*:"
AMONG_OURS = "instant and range"
# Where the versions differ on purpose, or where an answer is a matter of rounding: patterns of the query and of "what: difference", why.
KNOWN = [
    (r"timestamp\((?=.*@)(?=.*offset)", "", "timestamp() of a selector with @ and offset: Prometheus drops the offset"),
    (r"__name__| or ", r": status success .* theirs error \(vector cannot contain metrics with the same labelset\)",
     "names are dropped late (as Prometheus does with promql-delayed-name-removal), so that an aggregation above has one series"),
    (r"(by|on|without|ignoring|group_left) \([^)]*__name__|\"__name__\"", "",
     "names are dropped late: above a function that drops it __name__ is still there to be asked for; see --delayed-names"),
    (r"==|!=|>|<", r": status error \(multiple matches for labels: many-to-one",
     "matches are counted before a comparison filters them (Prometheus since 3.10)"),
    (r"info\(", "^range: ", "info() over a range mixes up its series when one of them ends (seen in Prometheus 3.5)"),
    (r"info\(.*\[[^\]]*:", "", "and so it does in a subquery"),
    (r"absent(_over_time)?\(.*\b(\w+)[!=][=~]?\"[^\"]*\".*\b\2[!=][=~]?\"", "only ", "absent() of a label with two matchers says nothing of it: theirs goes by which comes first"),
    (r"\^.*%", r"\d", "the remainder of a power: one unit in the last place of pow() is all of it"),
    (r"time\(\) % .*std(dev|var)", r"^(instant|range): .*\d, theirs \d", "the remainder of a large value by a deviation: its last place is all of it"),
    (r"histogram_fraction\(.*h_bucket", "theirs nan", "Prometheus 3.5 leaves classic buckets unsorted there: NaN, as +Inf sorts first"),
    (r"(?=.*histogram_fraction\(.*h_bucket).*( ([=!]=|[<>])|(day|hour|minute|month|year)\w*\(|changes|resets|clamp|atan2|\^)", "",
     "and what comparisons, dates and the like make of that NaN"),
    (r"mad_over_time\(.*g_special", "", "a window with NaN has no median (Prometheus since 3.14)"),
    (r"std(dev|var).*(timestamp|ts_of|g_large|time\(\))", r"e|\d", "cancellation: small deviations of large values"),
]
# What newer versions have and 3.5 lacks: not in the generated queries. Where the reference refuses these, mullion still answers.
NEWER = [
    "first_over_time(g[5m])", "ts_of_first_over_time(g[5m])", "max_of(1, 2)", "min_of(1, 2)", "start()", "end()", "range()", "step()",
    'histogram_quantiles(h_bucket, "q", 0.5, 0.9)',
    "rate(c_total[5m] anchored)", "increase(c_total[5m] smoothed)", "g smoothed", "g anchored",  # extended range selectors
    "g + fill (0) g", "g + fill_left (0) g", "g + on (job, instance) fill_right (0) g",  # for what has no match
    "increase(c_total[min(1m, 2m)])", "rate(c_total[max(1m, step())])", "rate(c_total[step() + 1m])",  # of duration expressions, the functions
    "n_counter </ 2", "n_counter >/ 2",  # histograms' buckets cut at a bound
]
# With Prometheus' delayed name removal names are as here, but for these.
KNOWN_DELAYED = [row for row in KNOWN if "names are dropped late" not in row[2]] + [
    (r"==|!=|>|<", "", "a comparison between vectors brings a dropped name back there"),
    (r"limit_ratio", "", "the hash of a series has its dropped name in it there"),
]


class Client:
    """Keep-alive requests to one server; a connection that a restart broke is opened again."""

    def __init__(self, server):
        self.server, self.connection = server, None

    def post(self, path, body, headers):
        for attempt in (0, 1):
            try:
                if not self.connection:
                    self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)
                self.connection.request("POST", path, body, headers)
                answer = self.connection.getresponse()
                return answer.status, answer.headers, answer.read()
            except (OSError, http.client.HTTPException):
                self.connection = None
                if attempt:
                    raise
        raise AssertionError

    def write(self, series):
        return self.post("/api/v1/write", harness.snappy(harness.write_request(series)), harness.WRITE_HEADERS)

    def query(self, path, **parameters):
        body = urllib.parse.urlencode(parameters)
        status, headers, text = self.post(f"/api/v1/{path}", body, {"Content-Type": "application/x-www-form-urlencoded"})
        try:
            answer = json.loads(text)
        except ValueError:
            answer = {"status": "error", "error": f"not JSON: {text[:300]}", "bad": True}
        answer["source"], answer["http"] = headers.get("X-Mullion-Source"), status
        return answer

    def instant(self, query, at_s, **more):
        return self.query("query", query=query, time=repr(at_s), **more)

    def forget_pools(self):
        """Two collections of garbage empty Go's pools."""
        for _ in range(2):
            self.post("/debug/pprof/heap?gc=1", "", {})

    def ranged(self, query, start_s, end_s, step_s, **more):
        return self.query("query_range", query=query, start=repr(start_s), end=repr(end_s), step=repr(step_s), **more)


class Run:
    def __init__(self, options, directory, reference):
        self.options, self.directory = options, directory
        self.checks, self.draw = Checks(), random.Random(f"run {options.seed}")
        generator = Generator(options.seed)
        self.generator = generator
        self.planned = self.plannable(generator, options.planned)
        features = FEATURES + (",promql-delayed-name-removal" if options.delayed_names else "")
        self.theirs = harness.prometheus(reference, directory / "reference", CONFIG, FLAGS + [f"--enable-feature={features}"])
        self.raw = harness.mullion(options.mullion, directory / "raw")
        self.panes = harness.mullion(options.mullion, directory / "panes", "--workload", self.workload(directory / "workload.yaml"))
        self.sources, self.known, self.asked = collections.Counter(), 0, 0
        self.errors, self.different = 0, []
        self.table = KNOWN_DELAYED if options.delayed_names else KNOWN
        self.excused = collections.defaultdict(collections.Counter)  # of each row: query -> comparisons
        self.seen, self.steps_compared = set(), 0

    def plannable(self, generator, n):
        """[(query, every, length of its range query or None)], distinct queries."""
        chosen = {}
        while len(chosen) < n:
            query, every = generator.planned()
            chosen.setdefault(query, (every, self.draw.choice([None, "20m", "2h", "2h"])))
        return [(query, every, length) for query, (every, length) in chosen.items()]

    def workload(self, path):
        rows = ""
        for query, every, length in self.planned:
            rows += f"  - query: {json.dumps(query, ensure_ascii=False)}\n    every: {every}\n"
            if length:
                rows += f"    range: {{length: {length}, step: {every}}}\n"
        path.write_text(f"queries:\n{rows}data: {{raw_retention: 0}}\n")
        return path

    # ---- loading ----

    def send_round(self, clients, batch):
        """Each of three connections sends its third to every server."""
        failures = []

        def work(third):
            for client in clients[third]:
                series = batch[third::3]
                try:
                    if series:
                        status, _, text = client.write(series)
                        if status // 100 != 2:
                            failures.append(f"{client.server.argv[0]}: {status} {text[:300]}")
                except OSError as error:
                    failures.append(f"{client.server.argv[0]}: {error}")

        threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.checks.that(not failures, f"a round is stored: {failures[:2]}")

    def load(self):
        series = dataset(self.options.seed)
        servers = (self.theirs, self.raw, self.panes)
        clients = [[Client(s) for s in servers] for _ in range(3)]
        batches = list(rounds(self.options.seed, series))
        stop_at, kill_at = len(batches) // 3, len(batches) * 2 // 3
        for n, batch in enumerate(batches):
            # A series is in one connection only, so that its samples stay in the order they were sent.
            batch.sort(key=lambda row: hash_of(row[0]))
            self.send_round(clients, batch)
            for server in (self.raw, self.panes):
                if n == stop_at:
                    self.checks.equal(server.stop(), 0, "exit status after SIGTERM")
                    server.start()
                elif n == kill_at:
                    server.kill()
                    server.start()
        return len(series)

    def settle(self):
        """Until the windows behind are built, or a while: what is not built is read from raw samples."""
        built, deadline = -1.0, time.monotonic() + self.options.settle
        while time.monotonic() < deadline:
            before, built = built, harness.metric_value(self.panes, "mullion_windows_sealed_total")
            if built == before:
                return
            time.sleep(1)

    # ---- comparing ----

    def is_known(self, query, what, found):
        """Of a comparison with Prometheus only: no row excuses that instant and range of mullion differ."""
        if what == AMONG_OURS:
            return False
        for row in self.table:
            if re.search(row[0], query) and all(re.search(row[1], f"{what}: {sentence}") for sentence in found):
                self.excused[row][query] += 1
                return True
        return False

    def report(self, query, outcomes):
        """outcomes: [(mode, what, when, differences)]; a query that differs is printed once, with the modes it differs in."""
        different = [o for o in outcomes if o[3]]
        wrong = [o for o in different if not self.is_known(query, o[1], o[3])]
        self.asked += len(outcomes)
        self.known += len(different) - len(wrong)
        self.checks.passed += len(outcomes) - len(wrong)
        self.checks.failed += max(0, len(wrong) - 1)
        if wrong:
            mode, what, when, found = wrong[0]
            self.different.append(query)
            self.checks.that(False, f"seed {self.options.seed}: {query}\n    {when}: {what} from {mode}: {found[:2]}\n    "
                             f"in {len(wrong)} of {len(outcomes)}: {sorted({o[0] + ' ' + o[1] for o in wrong})}")

    def times(self, every_s, length_s):
        """(at, end, step): an instant, and a range whose first step is that instant. On the grid of the query's panes most of the
        time, and often among the newest data, where panes without a range query are kept."""
        at_ms = self.draw.randrange(*self.draw.choice([(START_MS - 60_000, END_MS + 400_000), (END_MS - 60_000, END_MS + 5_000)]))
        step, steps = self.draw.choice([every_s] * 5 + [2 * every_s, 4 * every_s, 1, 7, 60, 0.5, 13.7]), self.draw.choice([1, 5, 20, 60])
        if self.draw.random() < 0.7:
            at_ms -= at_ms % int(every_s * 1000)
        if length_s and self.draw.random() < 0.5:
            steps = min(int(length_s / step), self.draw.choice([20, 60, 200]))
        return at_ms / 1000, at_ms / 1000 + step * (steps - 1), step

    def compare(self, query, every_s, length_s):
        at, end, step = self.times(every_s, length_s)
        times = None
        if re.search(HISTOGRAM_SUBQUERY, query):
            count = round((end - at) / step)
            times = [at] + [round(at + n * step, 3) for n in sorted(self.draw.sample(range(1, count + 1), min(count, 5)))]
            theirs = self.step_by_step(query, times)
        else:
            theirs = {"instant": self.c_theirs.instant(query, at), "range": self.c_theirs.ranged(query, at, end, step)}
        self.errors += theirs["instant"]["status"] != "success"
        outcomes = []
        for mode, client, more in (("raw", self.c_raw, {}), ("panes", self.c_panes, {}), ("exact", self.c_panes, {"exact": "1"})):
            ours = {"instant": client.instant(query, at, **more), "range": client.ranged(query, at, end, step, **more)}
            when = {"instant": f"time={at}", "range": f"start={at} end={end} step={step}"}
            for what in ("instant", "range"):
                found = harness.differences(at_times(ours[what], times) if times and what == "range" else ours[what], theirs[what])
                if ours[what].get("bad") or ours[what]["http"] >= 500:
                    found.append(f"http {ours[what]['http']}: {ours[what].get('error')}")
                outcomes.append((mode, what, when[what], found))
                self.sources[mode, ours[what]["source"]] += 1
            answers = [(at, ours["instant"])]
            if mode == "raw" and self.options.steps:
                count = round((end - at) / step)
                more_steps = self.draw.sample(range(1, count + 1), min(count, self.options.steps))
                answers += [(t, client.instant(query, t)) for t in (round(at + n * step, 3) for n in sorted(more_steps))]
            found = [sentence for t, instant in answers for sentence in self.step_differs(instant, ours["range"], t, query, mode)]
            outcomes.append((mode, AMONG_OURS, when["range"], found))
        self.seen.add(query)
        self.report(query, outcomes)

    def step_by_step(self, query, times):
        """Their instant answer at the first time, and a range of instant answers, each with clean pools."""
        first, rows = None, {}
        for t in times:
            answer = self.c_theirs.instant(query, t)
            self.c_theirs.forget_pools()
            first = first or answer
            if answer["status"] != "success":
                return {"instant": first, "range": answer}
            for series in answer["data"]["result"]:
                row = rows.setdefault(hash_key(series["metric"]), {"metric": series["metric"], "values": [], "histograms": []})
                for one, many in (("value", "values"), ("histogram", "histograms")):
                    row[many] += [series[one]] if one in series else []
        return {"instant": first, "range": {"status": "success", "data": {"resultType": "matrix", "result": list(rows.values())}}}

    def step_differs(self, instant, ranged, at, query, mode):
        """A step of the range against the instant query at its time: the same bits from raw samples. A range off the grid is read
        from raw samples where the instant is read from panes, and what an instant query has sorted it adds up in that order: to
        1e-9. start() and end() are other times in each; a range is an error when one of its steps is."""
        loose = mode == "panes" or re.search(r"sort|topk|bottomk", query)
        if re.search(r"(start|end)\(\)", query) or ranged["status"] != "success":
            return []
        self.steps_compared += 1
        if instant["status"] != "success":
            return [f"at {at}: {instant.get('error')}, no error in the range"]
        if instant["data"]["resultType"] not in ("vector", "scalar"):
            return []
        a = {labels: points[at] for labels, points in harness.by_labels(instant).items()}
        b = {labels: points[at] for labels, points in harness.by_labels(ranged).items() if at in points}

        def same(x, y):
            return x is not None and y is not None and (x == y or str(x) == str(y) or (loose and harness.same_value(x, y)))
        return [f"{dict(k)} at {at}: {a.get(k)}, in the range {b.get(k)}" for k in a.keys() | b.keys() if not same(a.get(k), b.get(k))]

    def questions(self):
        """Planned queries and others in turn (a planned one may come again, at another time), until that many distinct ones or the
        time is reached."""
        deadline = time.monotonic() + self.options.seconds if not self.options.queries else float("inf")
        n = 0
        while time.monotonic() < deadline and len(self.seen) < (self.options.queries or float("inf")):
            if n % self.options.turn == 1 and self.planned:
                query, every, length = self.planned[n // self.options.turn % len(self.planned)]
                yield query, seconds(every), seconds(length or "0s")
            else:
                query = self.generator.query()
                if query not in self.seen:
                    yield query, 15, 0
            n += 1

    def newer(self):
        at = START_MS / 1000 + 2400
        for query in NEWER:
            ours, theirs = self.c_raw.instant(query, at), self.c_theirs.instant(query, at)
            found = [ours.get("error")] if ours["status"] != "success" else []
            if theirs["status"] == "success":
                found += harness.differences(ours, theirs)
            self.checks.that(not found, f"{query} at {at}: {found}")

    def run(self):
        with self.theirs, self.raw, self.panes:
            begun = time.monotonic()
            series = self.load()
            self.settle()
            loaded = time.monotonic()
            self.c_theirs, self.c_raw, self.c_panes = Client(self.theirs), Client(self.raw), Client(self.panes)
            self.newer()
            n = 0
            for question in self.questions():
                self.compare(*question)
                n += 1
            sources = ", ".join(f"{mode} from {source}: {count}" for (mode, source), count in sorted(self.sources.items(), key=str))
            print(f"seed {self.options.seed}: {series} series loaded in {loaded - begun:.0f} s; {len(self.seen)} distinct queries asked "
                  f"{n} times ({self.errors} of them errors in Prometheus), {self.asked} comparisons in "
                  f"{time.monotonic() - loaded:.0f} s, {self.known} known differences, {len(set(self.different))} queries differ; "
                  f"{self.steps_compared} steps of ranges compared with instant queries; {sources}")
            for row in self.table:
                print(f"    excused {sum(self.excused[row].values())} comparisons of {len(self.excused[row])} queries: {row[2]}")
        return self.checks


def seconds(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def hash_key(labels):
    return tuple(hash_of(labels))


def at_times(answer, times):
    """A range answer with these steps only."""
    if answer["status"] != "success":
        return answer
    rows = [{"metric": series["metric"], **{kind: [point for point in series.get(kind, []) if point[0] in times]
                                           for kind in ("values", "histograms")}} for series in answer["data"]["result"]]
    rows = [row for row in rows if row["values"] or row["histograms"]]
    return {**answer, "data": {"resultType": "matrix", "result": rows}}


def hash_of(labels):
    """A stable order that keeps a series at its place from round to round, mostly."""
    return sorted(labels.items())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--queries", type=int, default=0, help="how many distinct ones; 0: as many as --seconds allow")
    parser.add_argument("--seconds", type=float, default=30)
    parser.add_argument("--settle", type=float, default=20, help="most seconds to wait for panes")
    parser.add_argument("--planned", type=int, default=120, help="queries in the workload")
    parser.add_argument("--turn", type=int, default=2, help="one question in so many is of the workload")
    parser.add_argument("--steps", type=int, default=2, help="steps of each range, beside the first, to compare with instant queries")
    parser.add_argument("--delayed-names", action="store_true", help="Prometheus with promql-delayed-name-removal")
    parser.add_argument("--reference", default=str(harness.ROOT / ".cache" / "prometheus3"), help="where Prometheus 3 is unpacked")
    options = parser.parse_args()
    binary, version = harness.reference(options.reference)
    if not binary:
        harness.skip(f"Prometheus 3 for comparison: {version}")
    print(f"reference: {version}", flush=True)
    with harness.scratch("differential") as directory:
        Run(options, directory, binary).run().finish()


if __name__ == "__main__":
    sys.exit(main())
