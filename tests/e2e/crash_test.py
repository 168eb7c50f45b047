#!/usr/bin/env python3
"""kill -9 at random moments under load: no acknowledged sample is lost, none counts twice, every sealed pane is whole.

Three senders write gauges, counters and native histograms, event time running a hundred times as fast as the clock, so that windows seal all the
time. After each kill (also while starting or stopping) the server starts on the same directory; every acknowledged sample must
be there; what was not answered is sent again, and then counts must equal what was sent. Planned queries, answered from panes,
must equal the same queries with exact=1. At the end the stopped directory is checked block by block. With --stored the planned
queries are answered from stored roots instead, bit for bit as with exact=1.
"""
import argparse
import contextlib
import http.client
import math
import random
import subprocess
import sys
import threading
import time

import harness
from harness import Checks, by_labels, instant, metric_value, ranged
from panes import Panes

SERIES = 60            # of each metric of floats
HISTOGRAMS = 12        # series of native histograms
STEPS = 5              # samples of each series in a request, one a second
PAUSE_S = 0.008        # between requests of a sender
LATENESS_S = 30
AHEAD_S = 20           # event time one sender may be ahead of the others: less than the lateness
PLANNED = ["sum_over_time(load[1m])", "count_over_time(load[1m])", "quantile_over_time(0.9, load[1m])",
           "increase(hits_total[1m])", "max_over_time(hits_total[2m])", "min_over_time(load[15m])"]
WORKLOAD = """queries:
  - {query: "sum_over_time(load[1m])", every: 10s, range: {length: 20m, step: 10s}}
  - {query: "count_over_time(load[1m])", every: 10s, range: {length: 20m, step: 10s}}
  - {query: "quantile_over_time(0.9, load[1m])", every: 10s, range: {length: 20m, step: 10s}, accuracy: {rank: 0.01}}
  - {query: "increase(hits_total[1m])", every: 10s, range: {length: 20m, step: 10s}}
  - {query: "max_over_time(hits_total[2m])", every: 10s, range: {length: 20m, step: 10s}}
  - {query: "min_over_time(load[15m])", every: 10s, range: {length: 20m, step: 10s}} # 90 panes: a ladder
data: {raw_retention: 0}
"""
STORED = ["max by (instance) (load)", "sum by (instance) (rate(hits_total[1m]))", "avg by (instance) (load offset 20s)",
          "sum by (instance) (increase(hits_total[2m])) / 60",
          # Parts: of one that others share a side, and of what may not be kept as a whole.
          "max by (instance) (load) / on (instance) sum by (instance) (rate(hits_total[1m]))",
          "sum by (instance) (rate(hits_total[1m])) - end()",
          "topk(60, sum by (instance) (rate(hits_total[1m])))", "sum by (instance) (sum by (instance, job) (load))"]
STORED_WORKLOAD = "queries:\n" + "".join(f'  - {{query: "{query}", every: 10s, range: {{length: 20m, step: 10s}}}}\n'
                                         for query in STORED) + """data:
  metrics:
    load: {series: 60, interval: 1s, labels: {instance: 60}}
    hits_total: {series: 60, interval: 1s, labels: {instance: 60}}
"""


def gauge(series, second):
    return ((second * 7919 + series * 104729) % 100003) / 1000


def counter(series, second):
    """Rises by 1 to 60 a second and starts anew every 1,000 seconds."""
    return float(second % 1000 * (series + 1))


def histogram(series, second):
    """A counter's histogram that starts anew every 1,000 seconds, and then has more buckets."""
    n = second % 1000 + 1
    buckets = [n * (b + 1) for b in range(3 + second // 1000 % 3 + series % 4)]
    return {"count": sum(buckets), "sum": n * 0.25 + series, "schema": 3, "positive": ([(series - 5, len(buckets))], buckets)}


class Sender(threading.Thread):
    """Sends the seconds after `at` of one metric until the server goes; keeps what was answered and what was not."""

    def __init__(self, name, value, start_s, series=SERIES):
        super().__init__()
        self.name, self.value, self.at, self.series = name, value, start_s, series
        self.acknowledged, self.unanswered, self.refused = start_s, [], []
        self.quit = threading.Event()

    def again(self):
        """A thread that goes on where this one ended."""
        other = Sender(self.name, self.value, self.at, self.series)
        other.acknowledged, other.unanswered, other.refused = self.acknowledged, self.unanswered, self.refused
        return other

    def wait(self):
        """Pace, and do not run away from the other senders."""
        time.sleep(PAUSE_S)
        while any(self.at > o.at + AHEAD_S and o.is_alive() for o in self.others) and not self.quit.is_set():
            time.sleep(PAUSE_S)

    def request(self, at):
        return [({"__name__": self.name, "instance": f"i{s:02}"}, [((at + k) * 1000, self.value(s, at + k)) for k in range(1, STEPS + 1)])
                for s in range(self.series)]

    def run(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        with contextlib.suppress(OSError, http.client.HTTPException):
            while not self.quit.is_set():
                body = harness.snappy(harness.write_request(self.request(self.at)))
                self.unanswered.append(self.at)
                self.at += STEPS
                connection.request("POST", "/api/v1/write", body, harness.WRITE_HEADERS)
                answer = connection.getresponse()
                text = answer.read()
                if answer.status // 100 != 2:
                    if answer.status != 503:
                        self.refused.append((answer.status, text[:200]))
                    break
                self.unanswered.pop()
                self.acknowledged += STEPS
                self.wait()
        connection.close()

    def resend(self, server, checks):
        for at in self.unanswered:
            status, text = harness.send(server, self.request(at))
            checks.that(status // 100 == 2, f"{self.name}: sent again: {status} {text[:200]}")
            self.acknowledged += STEPS
        self.unanswered = []


class Crashes:
    def __init__(self, options, directory, dice, checks):
        self.options, self.dice, self.checks = options, dice, checks
        self.data = directory / "data"
        workload = directory / "workload.yaml"
        workload.write_text(STORED_WORKLOAD if options.stored else WORKLOAD)
        self.server = harness.mullion(options.mullion, self.data, "--workload", workload, "--lateness", f"{LATENESS_S}s")
        self.start_s = int(time.time()) // 1000 * 1000 - 30 * 3600
        self.senders = [Sender("load", gauge, self.start_s), Sender("hits_total", counter, self.start_s),
                        Sender("latency", histogram, self.start_s, HISTOGRAMS)]
        self.early_kills = self.stopping_kills = 0

    def kill_while_starting(self):
        self.server.ready_s = self.dice.uniform(0, 0.15)
        with contextlib.suppress(RuntimeError):
            self.server.start()
        self.checks.that(self.server.process.poll() in (None, -9), f"killed while starting: {self.server.tail()}")
        self.server.kill()
        self.server.ready_s = 30
        self.early_kills += 1

    def load(self, seconds):
        """Run all senders, kill the server after `seconds`, at times while it stops by itself, and wait for them."""
        self.senders = [s.again() for s in self.senders]
        for sender in self.senders:
            sender.port, sender.others = self.server.port, [s for s in self.senders if s is not sender]
        for sender in self.senders:
            sender.start()
        time.sleep(seconds)
        if self.dice.random() < 0.4:
            self.server.process.terminate()
            time.sleep(self.dice.uniform(0, 0.03))
            self.stopping_kills += self.server.process.poll() is None
        self.server.kill()
        for sender in self.senders:
            sender.quit.set()
            sender.join()
            self.checks.that(not sender.refused, f"{sender.name} refused: {sender.refused[:1]}")

    def per_series(self, expression, at_s):
        """{series number: value} of an exact instant query."""
        answer = instant(self.server, expression, at_s, exact=1)
        if not self.checks.that(answer["status"] == "success", f"{expression}: {answer.get('error')}"):
            return {}
        return {int(dict(labels)["instance"][1:]): list(points.values())[0] for labels, points in by_labels(answer).items()}

    def check_acknowledged(self):
        """Right after a restart: all that was answered, and nothing that was not sent."""
        for sender in self.senders:
            span = sender.at - self.start_s
            if span == 0:
                continue
            got = self.per_series(f"count_over_time({sender.name}[{span}s])", sender.at)
            least, most = sender.acknowledged - self.start_s, span
            wrong = {s: got.get(s, 0) for s in range(sender.series) if not least <= got.get(s, 0) <= most}
            self.checks.that(not wrong, f"{sender.name}: samples of {len(wrong)} series lost or doubled: {dict(list(wrong.items())[:3])}, "
                                        f"acknowledged {least}, sent {most}")

    def check_all(self):
        """After everything was answered: counts, sums and some series sample by sample."""
        for sender in self.senders:
            span = sender.at - self.start_s
            if span == 0:
                continue
            seconds = range(self.start_s + 1, sender.at + 1)
            counts = self.per_series(f"count_over_time({sender.name}[{span}s])", sender.at)
            self.checks.that(counts == dict.fromkeys(range(sender.series), float(span)), f"{sender.name}: {span} samples of each series")
            histograms = sender.value is histogram
            expression = f"sum_over_time({sender.name}[{span}s])"
            sums = self.per_series(f"histogram_count({expression})" if histograms else expression, sender.at)
            for series in self.dice.sample(range(sender.series), 2):
                sent = [sender.value(series, t) for t in seconds]
                want = math.fsum(v["count"] if histograms else v for v in sent)
                self.checks.that(harness.close(sums.get(series, -1.0), want), f"{sender.name} {series}: sum {sums.get(series)}, want {want}")
                answer = instant(self.server, f'{sender.name}{{instance="i{series:02}"}}[{span}s]', sender.at, exact=1)
                result = answer["data"]["result"] if answer["status"] == "success" else []
                if histograms:
                    points = {round(t): (float(h["count"]), float(h["sum"]), [float(b[3]) for b in h["buckets"]])
                              for t, h in (result[0]["histograms"] if result else [])}
                    sent = [(v["count"], v["sum"], v["positive"][1]) for v in sent]
                else:
                    points = {round(t): float(v) for t, v in result[0]["values"]} if result else {}
                self.checks.that(points == dict(zip(seconds, sent)), f"{sender.name} {series}: sample by sample")

    def check_panes(self, before_s, all_panes):
        """Planned queries equal exact=1 over the ten minutes that end before_s before the newest sample of all senders, and
        read what is kept; nothing else, when all of it must be."""
        kept, tolerance = ("root", 0) if self.options.stored else ("panes", 1e-12)
        others = ("mixed", "raw") if self.options.stored else ("mixed",)
        end_s = (min(s.at for s in self.senders) - before_s) // 10 * 10
        length_s = min(end_s - self.start_s - 120, 600) // 10 * 10
        if length_s <= 0:
            return
        for query in STORED if self.options.stored else PLANNED:
            ours = ranged(self.server, query, end_s - length_s, end_s, 10)
            exact = ranged(self.server, query, end_s - length_s, end_s, 10, exact=1)
            found = harness.differences(ours, exact, tolerance)
            self.checks.that(not found, f"{query} over [{end_s - length_s}, {end_s}]: {found[:2]}")
            self.checks.equal(len(ours.get("data", {}).get("result", [])), SERIES, f"series of {query}")
            source = ours["headers"].get("X-Mullion-Source")
            self.checks.that(source == kept or (source in others and not all_panes), f"{query} reads {kept}: {source}")

    def run(self):
        for _ in range(self.options.kills):
            if self.dice.random() < 0.25:
                self.kill_while_starting()
            self.server.start()
            self.check_acknowledged()
            for sender in self.senders:
                sender.resend(self.server, self.checks)
            self.check_all()
            self.check_panes(0, False)
            self.load(self.dice.uniform(0.2, self.options.most_seconds))
        self.server.start()
        self.check_acknowledged()
        for sender in self.senders:
            sender.resend(self.server, self.checks)
        self.check_all()
        self.finish()

    def dirty_roots(self):
        """Stored roots whose late samples are still to be counted in."""
        views = harness.api(self.server, "views")["data"]
        return [v for v in views if v.get("dirtySpans")]

    def finish(self):
        """Wait until all due windows are sealed, compare once more, stop, and check what lies on the disk."""
        counter_name = "mullion_root_results_total" if self.options.stored else "mullion_windows_sealed_total"
        sealed, deadline = -1.0, time.monotonic() + 20
        while time.monotonic() < deadline and (sealed != metric_value(self.server, counter_name) or self.dirty_roots()):
            sealed = metric_value(self.server, counter_name)
            time.sleep(1)
        self.check_panes(0, False)
        self.check_panes(LATENESS_S + AHEAD_S, True)
        for name in ("mullion_pane_blocks_damaged_total", "mullion_pane_windows_missing_total", "mullion_maintenance_failures_total",
                     "mullion_root_results_damaged_total"):
            self.checks.equal(metric_value(self.server, name), 0.0, name)
        self.server.stop()
        panes = Panes(self.options.pane_dump, self.data)
        self.checks.that((panes.blocks or self.options.stored) and not panes.bad, f"{len(panes.blocks)} blocks, every window is whole: {panes.bad[:2]}")
        check = subprocess.run([self.options.mullion, "check", self.data], capture_output=True, text=True)
        self.checks.equal(check.returncode, 0, f"mullion check: {(check.stdout + check.stderr)[-300:]}")
        sent = sum((s.at - self.start_s) * s.series for s in self.senders)
        print(f"{self.options.kills} kills, {self.stopping_kills} of them while stopping, and {self.early_kills} while starting; "
              f"{sent} samples sent, {len(panes.blocks)} pane blocks checked")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--pane-dump", required=True)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--stored", action="store_true", help="stored roots instead of panes")
    parser.add_argument("--most-seconds", type=float, default=2.5, help="longest time under load before a kill")
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    checks = Checks()
    with harness.scratch("crash") as directory:
        crashes = Crashes(options, directory, random.Random(options.seed), checks)
        try:
            crashes.run()
        finally:
            crashes.server.kill()
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
