#!/usr/bin/env python3
"""One refresh per window: the example of docs/PLANNER.md on a running server.

Two queries, p90 over 1m (rank 0.01) and p99 over 5m (relative 0.01), both every 10 s, are one refresh group. Live, 30 windows
cost 30 raw reads and two states a series each; a backfill of what both reach costs 30 reads and 36 states a series, 36 reads
with a run per view; the states are the same bytes each way; with one view stored only the other is built; and the answers keep
their bounds against the samples sent.
"""
import argparse
import random
import sys
import time

import harness
from harness import Checks, by_labels, instant, metric_value
from panes import Panes

SERIES, STEP_MS = 1000, 10_000
SHORT = {"query": "quantile_over_time(0.9, latency_ms[1m])", "q": 0.9, "range_ms": 60_000, "accuracy": "{rank: 0.01}"}
LONG = {"query": "quantile_over_time(0.99, latency_ms[5m])", "q": 0.99, "range_ms": 300_000, "accuracy": "{relative: 0.01}"}


class Data:
    """One sample a series every 10 s, in the middle of the windows; lognormal latencies of three decimals."""

    def __init__(self, seed, rounds):
        draw = random.Random(seed)
        self.first_ms = (int(time.time() * 1000) - rounds * STEP_MS - 60_000) // STEP_MS * STEP_MS + 3000
        self.values = [[round(draw.lognormvariate(3, 1), 3) for _ in range(rounds)] for _ in range(SERIES)]
        self.rounds = rounds

    def request(self, i):
        time_ms = self.first_ms + i * STEP_MS
        return [({"__name__": "latency_ms", "instance": f"host-{s:04}"}, [(time_ms, self.values[s][i])]) for s in range(SERIES)]

    def send(self, server, checks):
        for i in range(self.rounds):
            status, text = harness.send(server, self.request(i))
            if not checks.equal(status, 204, f"round {i} is stored ({text[:100]})"):
                return

    def window(self, series, end_ms, range_ms):
        """Sorted samples in (end - range, end]."""
        times = range(self.first_ms, self.first_ms + self.rounds * STEP_MS, STEP_MS)
        return sorted(v for t, v in zip(times, self.values[series]) if end_ms - range_ms < t <= end_ms)


def quantile(samples, q):
    """As Prometheus: rank q (n - 1), interpolated."""
    rank = min(max(q, 0.0), 1.0) * (len(samples) - 1)
    low = int(rank)
    high = min(low + 1, len(samples) - 1)
    return samples[low] + (samples[high] - samples[low]) * (rank - low)


def workload(path, queries):
    text = "".join(f"  - query: {q['query']}\n    every: 10s\n    accuracy: {q['accuracy']}\n" for q in queries)
    path.write_text(f"queries:\n{text}data:\n  metrics:\n    latency_ms: {{type: gauge, series: {SERIES}, interval: 10s}}\n"
                    "  raw_retention: 0\n")
    return path


def counts(server):
    return (metric_value(server, "mullion_raw_window_reads_total"), metric_value(server, "mullion_states_built_total"))


def settle(server, reads, seconds=20):
    """(reads, states) once `reads` is reached and nothing more happens."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline and counts(server)[0] < reads:
        time.sleep(0.1)
    while time.monotonic() < deadline and metric_value(server, "mullion_backfill_windows") > 0:
        time.sleep(0.1)
    time.sleep(1)
    return counts(server)


def check_answers(checks, server, data, end_ms, what):
    """Both queries at a grid time against the samples sent, and against the answer from raw samples."""
    for query in (SHORT, LONG):
        answer = instant(server, query["query"], end_ms / 1000)
        exact = instant(server, query["query"], end_ms / 1000, exact=1)
        if not checks.that(answer["status"] == exact["status"] == "success", f"{what}: {query['query']}: {answer.get('error')}"):
            continue
        checks.equal(answer["headers"].get("X-Mullion-Source"), "panes", f"{what}: source of {query['query']}")
        checks.equal(exact["headers"].get("X-Mullion-Source"), "raw", f"{what}: source of exact {query['query']}")
        got, reference = by_labels(answer), by_labels(exact)
        checks.equal((len(got), len(reference)), (SERIES, SERIES), f"{what}: series of {query['query']}")
        wrong, off = [], []
        for series in range(SERIES):
            key = (("instance", f"host-{series:04}"),)
            samples = data.window(series, end_ms, query["range_ms"])
            value, = got.get(key, {0: float("nan")}).values()
            raw, = reference.get(key, {0: float("nan")}).values()
            if not harness.close(raw, quantile(samples, query["q"])):
                wrong.append((series, raw, quantile(samples, query["q"])))
            if query is SHORT:
                good = quantile(samples, query["q"] - 0.01) * (1 - 1e-12) <= value <= quantile(samples, query["q"] + 0.01) * (1 + 1e-12)
            else:
                good = abs(value - raw) <= 0.01 * raw * (1 + 1e-9)
            if not good:
                off.append((series, value, raw))
        checks.that(not wrong, f"{what}: {query['query']} from raw at {end_ms}: {len(wrong)} series wrong, first {wrong[:1]}")
        checks.that(not off, f"{what}: {query['query']} at {end_ms}: {len(off)} series out of bounds, first {off[:1]}")


def same_states(checks, a, b, least_n, what):
    """Blocks that both directories hold are the same bytes; at least least_n of them."""
    common = a.blocks.keys() & b.blocks.keys()
    different = sorted(key for key in common if a.blocks[key] != b.blocks[key])
    checks.that(len(common) >= least_n, f"{what}: {len(common)} blocks in common, want {least_n}")
    checks.that(not different, f"{what}: {len(different)} of {len(common)} blocks differ, first {different[:1]}")


class Run:
    """Servers over one data directory after another, and the panes each leaves behind."""

    def __init__(self, options, directory, data, checks):
        self.options, self.directory, self.data, self.checks = options, directory, data, checks
        self.both = workload(directory / "both.yaml", [SHORT, LONG])
        self.short = workload(directory / "short.yaml", [SHORT])

    def server(self, name, *flags):
        return harness.mullion(self.options.mullion, self.directory / name, *flags)

    def panes(self, name):
        panes = Panes(self.options.pane_dump, self.directory / name)
        self.checks.that(not panes.bad, f"{name}: every window is whole: {panes.bad[:2]}")
        return panes

    def live(self, name, reads, *flags):
        """Samples arrive round by round while the plan is in force. One more round than windows: it ends the last one."""
        windows = self.data.rounds - 1
        with self.server(name, "--workload", self.both, "--lateness", "0s", *flags) as server:
            time.sleep(0.5)
            self.checks.equal(counts(server), (0.0, 0.0), f"{name}: a server without samples builds nothing")
            self.data.send(server, self.checks)
            got = settle(server, reads * windows)
            self.checks.equal(got, (reads * windows, 2.0 * windows * SERIES), f"{name}: raw reads and states of {windows} windows")
            check_answers(self.checks, server, self.data, self.end_ms(windows), name)
        return self.panes(name)

    def end_ms(self, windows):
        return self.data.first_ms - 3000 + windows * STEP_MS

    def backfill(self, name, load_flags, flags, reads, states):
        """Load, stop, start with both queries."""
        with self.server(name, *load_flags) as server:
            self.data.send(server, self.checks)
            if load_flags:
                settle(server, 1)
        with self.server(name, "--workload", self.both, "--lateness", "0s", *flags) as server:
            got = settle(server, reads)
            self.checks.equal(got, (float(reads), float(states)), f"{name}: raw reads and states of the backfill")
            check_answers(self.checks, server, self.data, self.end_ms(self.data.rounds - 1), name)
        return self.panes(name)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--pane-dump", required=True)
    parser.add_argument("--seed", type=int, default=20240601)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    checks = Checks()
    with harness.scratch("refresh") as directory:
        thirty, long = Data(options.seed, 31), Data(options.seed + 1, 61)
        live = Run(options, directory, thirty, checks)
        group = live.live("live", 1)
        apart = live.live("live-per-view", 2, "--refresh-per-view")
        same_states(checks, group, apart, 60, "live, group against per view")
        back = Run(options, directory, long, checks)
        together = back.backfill("backfill", [], [], 30, 36 * SERIES)
        checks.equal(together.states(), 36 * SERIES, "states stored by the backfill")
        alone = back.backfill("backfill-per-view", [], ["--refresh-per-view"], 36, 36 * SERIES)
        same_states(checks, together, alone, 36, "backfill, group against per view")
        back.backfill("backfill-second", ["--workload", back.short, "--lateness", "0s"], [], 30, 30 * SERIES)
        print(f"live {len(group.blocks)} blocks, backfill {len(together.blocks)} blocks of {SERIES} series compared")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
