#!/usr/bin/env python3
"""A workload gains a query under a running server and loses it again. The plan is in force within RELOAD_S of the
request; panes of what stays go on without a gap; the new query is answered from raw samples until it has panes, then
from panes, always rightly; dropped, its panes are freed.

usage: replan_test.py MULLION      (mullion-plan stands beside it)

Time is that of the samples: five minutes of them are sent in a few seconds.
"""
import math
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

RELOAD_S = 5  # stated: planning and a rehearsal of a small workload; panes follow behind
SERIES, ROUND_S, PER_ROUND = 20, 10, 10
UP, UPTIME, P99 = "up", "sum_over_time(up[1m])", "quantile_over_time(0.99, m[5m])"
DATA = "data: {metrics: {up: {series: 1000, interval: 100ms}, m: {series: 1000, interval: 100ms}}}\n"


def workload(path, *queries):
    path.write_text("queries:\n" + "".join(f"  - {{query: '{q}', every: 10s}}\n" for q in queries) + DATA)


def m_value(series, second):
    """Rises and falls, other for each series, so that no two windows have the same quantile."""
    return round(100 + 50 * math.sin(second / 37 + series) + second % 7 + series, 3)


def p99(series, k):
    values = sorted(m_value(series, s) for s in range(max(1, k * ROUND_S - 299), k * ROUND_S + 1))
    rank = 0.99 * (len(values) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (rank - low)


class Sender:
    """Rounds of ten seconds of samples, each a second; round k ends at t0 + 10 k."""

    def __init__(self, c, server, t0):
        self.c, self.server, self.t0, self.k = c, server, t0, 0

    def time(self, k=None):
        return self.t0 + ROUND_S * (self.k if k is None else k)

    def round(self):
        self.k += 1
        seconds = range((self.k - 1) * ROUND_S + 1, self.k * ROUND_S + 1)
        rows = []
        for i in range(SERIES):
            rows.append(({"__name__": "up", "i": str(i)}, [((self.t0 + s) * 1000, float(i % 3)) for s in seconds]))
            rows.append(({"__name__": "m", "i": str(i)}, [((self.t0 + s) * 1000, m_value(i, s)) for s in seconds]))
        self.c.equal(harness.send(self.server, rows)[0], 204, "samples")

    def ask(self, query, expected):
        """Where the answer at the newest round came from; it must be right."""
        answer = harness.instant(self.server, query, self.time())
        got = {r["metric"]["i"]: float(r["value"][1]) for r in answer["data"]["result"]}
        want = {str(i): expected(i, self.k) for i in range(SERIES)}
        wrong = [i for i in want if i not in got or not harness.close(got[i], want[i])]
        self.c.that(not wrong and len(got) == SERIES, f"{query} at round {self.k}: {got} not {want}")
        return answer["headers"]["X-Mullion-Source"]


def uptime(series, k):
    return float(series % 3) * min(60, k * ROUND_S)


def planned(server):
    return sorted(q["text"] for q in harness.api(server, "plan")["data"]["queries"])


def views(server):
    return {v["identity"]: v for v in harness.api(server, "views")["data"]}


def used_bytes(server):
    return harness.metric_value(server, "mullion_store_used_bytes")


def until(what, seconds=30):
    deadline = time.monotonic() + seconds
    while not what() and time.monotonic() < deadline:
        time.sleep(0.02)
    return what()


def gain(c, server, file, sender):
    """The query is added; returns the views there were before."""
    for _ in range(36):
        sender.round()
        sender.ask(UPTIME, uptime)
    until(lambda: sender.ask(UPTIME, uptime) == "panes")
    before = views(server)
    c.equal(planned(server), sorted([UP, UPTIME]), "the first plan")
    c.equal(sender.ask(P99, p99), "raw", "what is not planned is answered from raw samples")
    began = time.monotonic()
    workload(file, UP, UPTIME, P99)
    status, _, body = harness.request(server.url + "/-/reload", b"", method="POST")
    took = time.monotonic() - began
    c.equal((status, planned(server)), (200, sorted([UP, UPTIME, P99])), f"the new plan is in force: {body}")
    c.that(took < RELOAD_S, f"within {RELOAD_S} s: {took:.2f} s")
    # Before its panes are built, while they are, and after: right, and from panes in the end.
    sources = [sender.ask(P99, p99)]
    until(lambda: sources.append(sender.ask(P99, p99)) or sources[-1] == "panes")
    c.equal(sources[-1], "panes", "the new query has panes")
    order = ["raw", "raw+panes", "panes+raw", "panes"]
    c.equal(sources, sorted(sources, key=order.index), "raw samples first, then panes")
    return before


def goes_on(c, server, sender, before):
    """Five minutes more: each answer right, those of a settled window from panes."""
    for _ in range(30):
        sender.round()
        sender.ask(UPTIME, uptime)
        sender.ask(P99, p99)
    c.that(until(lambda: sender.ask(P99, p99) == "panes"), "the new query from panes")
    c.that(until(lambda: sender.ask(UPTIME, uptime) == "panes"), "the old one too")
    after = views(server)
    for identity, view in before.items():
        now = after.get(identity, {})
        c.equal(now.get("storeView"), view["storeView"], "a view that stays is the same one")
        c.that((now.get("sealedTo") or 0) > view["sealedTo"], "and goes on")
    c.that(len(after) > len(before), "a view was added")
    for query, expected in ((UPTIME, uptime), (UP, lambda i, k: float(i % 3))):
        answer = harness.ranged(server, query, sender.time(1), sender.time(), ROUND_S)
        gaps = [(dict(labels)["i"], t) for labels, points in harness.by_labels(answer).items()
                for k, t in ((k, sender.time(k)) for k in range(1, sender.k + 1))
                if not harness.close(points.get(t, math.nan), expected(int(dict(labels)["i"]), k))]
        c.equal(gaps[:3], [], f"{query} has no gap and no wrong value over the change")


def lose(c, server, file, sender, before):
    held = used_bytes(server)
    workload(file, UP, UPTIME)
    server.process.send_signal(signal.SIGHUP)
    c.that(until(lambda: planned(server) == sorted([UP, UPTIME]), RELOAD_S), "SIGHUP takes the query out again")
    c.equal(sorted(views(server)), sorted(before), "its views are gone")
    c.equal({i: v["storeView"] for i, v in views(server).items()}, {i: v["storeView"] for i, v in before.items()},
            "the others are still the same")
    # 36 windows of 20 states of ten values each, and more: over a hundred kilobytes.
    c.that(until(lambda: used_bytes(server) <= held - 65536, 10), f"bytes return: {held} before, {used_bytes(server)} after")
    c.equal(sender.ask(P99, p99), "raw", "raw samples answer it again")
    sender.round()
    sender.ask(P99, p99)
    sender.ask(UPTIME, uptime)


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("replan") as directory:
        file = directory / "w.yaml"
        workload(file, UP, UPTIME)
        with harness.mullion(binary, directory / "data", "--workload", file) as server:
            sender = Sender(c, server, int(time.time()) // ROUND_S * ROUND_S - 1000)
            before = gain(c, server, file, sender)
            goes_on(c, server, sender, before)
            lose(c, server, file, sender, before)
    c.finish()


if __name__ == "__main__":
    main()
