#!/usr/bin/env python3
"""What has been acknowledged is in the answer: samples in every order, answers checked by arithmetic.

A machine of random steps sends samples (on window edges, late into sealed windows, twice, ahead of time, after a day of
silence, around and before 1970, from series that come and go) to a server with planned queries and asks those queries between the
sends, at the newest sample, on and off the grid, and in the past; a model of a few lines says what each must be. The server is
stopped and killed on the way, and comes back with other queries planned. Then three connections send at once while a fourth asks.
"""
import argparse
import math
import random
import sys
import threading
import time

import harness
from harness import STALE, Checks, by_labels, instant, ranged

# (function, range in s, offset in s, every in s): widths from 1 s to 1 m, windows of one pane and of many.
SITES = [
    ("sum_over_time", 10, 0, 10), ("count_over_time", 60, 0, 10), ("min_over_time", 30, 0, 15), ("max_over_time", 300, 0, 60),
    ("last_over_time", 60, 0, 60), ("rate", 60, 0, 10), ("increase", 300, 0, 60), ("changes", 60, 7, 10), ("resets", 300, 0, 60),
    ("avg_over_time", 20, 0, 1), ("stddev_over_time", 60, -30, 10), ("irate", 60, 0, 10), ("delta", 120, 60, 60),
    ("quantile_over_time", 60, 0, 10), ("idelta", 60, 0, 15), ("present_over_time", 5, 0, 5), ("stdvar_over_time", 7, 0, 1),
]
QUANTILE = 0.9


def query_of(site):
    function, range_s, offset_s, _ = site
    first = f"{QUANTILE}, " if function == "quantile_over_time" else ""
    return f"{function}({first}m[{range_s}s]{f' offset {offset_s}s' if offset_s else ''})"


def workload(path, sites):
    rows = "".join(f"  - query: {query_of(s)}\n    every: {s[3]}s\n    range: {{length: 10m, step: {s[3]}s}}\n" for s in sites)
    path.write_text(f"queries:\n{rows}data: {{raw_retention: 0}}\n")
    return path


# ---- the model: Prometheus' definitions ----

def extrapolated(points, start_ms, end_ms, range_ms, function):
    if len(points) < 2:
        return None
    result = points[-1][1] - points[0][1]
    if function != "delta":
        result += sum(a[1] for a, b in zip(points, points[1:]) if b[1] < a[1])
    to_start, to_end = (points[0][0] - start_ms) / 1000, (end_ms - points[-1][0]) / 1000
    sampled = (points[-1][0] - points[0][0]) / 1000
    average = sampled / (len(points) - 1)
    if to_start >= average * 1.1:
        to_start = average / 2
    if function != "delta" and result > 0 and points[0][1] >= 0:
        to_start = min(to_start, sampled * points[0][1] / result)
    if to_end >= average * 1.1:
        to_end = average / 2
    result *= (sampled + to_start + to_end) / sampled
    return result / (range_ms / 1000) if function == "rate" else result


def last_two(points, function):
    if len(points) < 2:
        return None
    (t0, v0), (t1, v1) = points[-2:]
    if function == "idelta":
        return v1 - v0
    return (v1 if v1 < v0 else v1 - v0) / ((t1 - t0) / 1000)


def quantile(values, q):
    values = sorted(values)
    rank = q * (len(values) - 1)
    low = math.floor(rank)
    high = min(low + 1, len(values) - 1)
    return values[low] * (1 - (rank - low)) + values[high] * (rank - low)


def evaluate(site, samples, at_ms):
    """The value of a site for one series {time: value}, or None."""
    function, range_s, offset_s, _ = site
    end_ms = at_ms - offset_s * 1000
    start_ms = end_ms - range_s * 1000
    points = sorted((t, v) for t, v in samples.items() if start_ms < t <= end_ms and v is not STALE)
    values = [v for _, v in points]
    if not points:
        return None
    if function in ("rate", "increase", "delta"):
        return extrapolated(points, start_ms, end_ms, range_s * 1000, function)
    if function in ("irate", "idelta"):
        return last_two(points, function)
    mean = math.fsum(values) / len(values)
    variance = math.fsum((v - mean) ** 2 for v in values) / len(values)
    return {"sum_over_time": lambda: math.fsum(values), "count_over_time": lambda: len(values), "min_over_time": lambda: min(values),
            "max_over_time": lambda: max(values), "last_over_time": lambda: values[-1], "present_over_time": lambda: 1,
            "avg_over_time": lambda: mean, "stdvar_over_time": lambda: variance, "stddev_over_time": lambda: math.sqrt(variance),
            "changes": lambda: sum(a != b for a, b in zip(values, values[1:])),
            "resets": lambda: sum(b < a for a, b in zip(values, values[1:])),
            "quantile_over_time": lambda: quantile(values, QUANTILE)}[function]()


# ---- the machine ----

class Machine:
    def __init__(self, server, workload_path, checks, seed, start_ms, end_ms, name, jumps=True):
        self.workload_path = workload_path
        self.server, self.checks, self.draw = server, checks, random.Random(f"{name} {seed}")
        self.now_ms, self.end_ms, self.name, self.jumps = start_ms, end_ms, f"{name}, seed {seed}", jumps
        self.model = {}  # {series number: {time: value}}
        self.alive = set(range(6))
        self.newest_ms = start_ms
        self.asked = 0
        self.from_panes = 0

    def labels(self, series):
        out = {"__name__": "m", "series": str(series), "odd": 'a"\\\n\u00fc\U0001f980'}
        if series % 3 == 0:
            out |= {f"l{i:02}": "v" * 40 for i in range(50)}
        return out

    def value(self, series, before):
        if series % 2 == 0:
            return float(self.draw.randrange(0, 3)) if self.draw.random() < 0.05 else before + self.draw.randrange(0, 20)
        return self.draw.randrange(-8000, 8000) / 8

    def send(self, batch):
        """batch: [(series, time, value)]; the model keeps what is stored: the first value of a time, a number over a marker."""
        rows = [(self.labels(s), [(t, v)]) for s, t, v in batch]
        status, text = harness.send(self.server, rows)
        self.checks.equal(status, 204, f"{self.name}: samples at {batch[0][1:]} are stored ({text[:200]})")
        for s, t, v in batch:
            held = self.model.setdefault(s, {}).get(t)
            if held is None or held is STALE:
                self.model[s][t] = v
            self.newest_ms = max(self.newest_ms, t)

    def step_time(self):
        step = self.draw.choice([1, 250, 999, 1000, 1001, 5000, 5000, 15_000])
        if self.draw.random() < 0.5:  # onto an edge of the windows
            step += -(self.now_ms + step) % self.draw.choice([1000, 5000, 10_000, 60_000])
        if self.jumps and self.draw.random() < 0.003:
            step += 86_400_000
        self.now_ms += step

    def arrive(self):
        batch = []
        for s in sorted(self.alive):
            if self.draw.random() < 0.8 and self.now_ms not in self.model.get(s, {}):
                marker = self.draw.random() < 0.02
                history = self.model.get(s, {})
                before = next((history[t] for t in sorted(history, reverse=True) if history[t] is not STALE), 0.0)
                batch.append((s, self.now_ms, STALE if marker else self.value(s, before)))
        if not batch:
            return
        self.send(batch)
        if self.draw.random() < 0.1:
            self.send([row for row in batch if row[2] is not STALE] or batch)  # the second replica
        if self.draw.random() < 0.05:
            self.alive.discard(self.draw.choice(sorted(self.alive)))
            self.alive.add(max(self.model) + 1)

    def late(self):
        s = self.draw.choice(sorted(self.model))
        t = self.now_ms - self.draw.choice([1, 1000, 30_000, 45_000, 120_000, 300_000, 1_200_000]) - self.draw.randrange(0, 5000)
        if self.draw.random() < 0.5:
            t -= t % 10_000
        if t not in self.model[s]:
            self.send([(s, t, self.value(s, 100.0))])

    def ask(self):
        site = self.draw.choice(SITES)
        at_ms = self.newest_ms - self.draw.choice([0, 0, 0, 1, 7000, 60_000, 400_000])
        if self.draw.random() < 0.6:
            at_ms -= at_ms % (site[3] * 1000)
        if self.draw.random() < 0.2:
            at_ms += site[2] * 1000 + self.draw.choice([0, 1000, 60_000])
        more = {"exact": 1} if self.draw.random() < 0.2 else {}
        if self.draw.random() < 0.3:
            steps = self.draw.choice([2, 10, 60])
            answer = ranged(self.server, query_of(site), (at_ms - (steps - 1) * site[3] * 1000) / 1000, at_ms / 1000, site[3], **more)
            times = [at_ms - k * site[3] * 1000 for k in range(steps)]
        else:
            answer, times = instant(self.server, query_of(site), at_ms / 1000, **more), [at_ms]
        self.compare(site, answer, times)

    def compare(self, site, answer, times):
        what = f"{self.name}: {query_of(site)} at {times[0]} ({len(times)} steps, newest {self.newest_ms})"
        if not self.checks.that(answer["status"] == "success", f"{what}: {answer.get('error')}"):
            return
        self.asked += 1
        self.from_panes += answer["headers"].get("X-Mullion-Source") in ("panes", "mixed")
        got = {dict(k)["series"]: v for k, v in by_labels(answer).items()}
        for s, samples in self.model.items():
            points = {round(t * 1000): v for t, v in got.pop(str(s), {}).items()}
            for t in times:
                want, have = evaluate(site, samples, t), points.pop(t, None)
                scale = max((abs(v) for v in samples.values() if v is not STALE), default=0)
                good = want is None and have is None or want is not None and have is not None and \
                    abs(want - have) <= 1e-9 * max(abs(want), abs(have)) + 1e-12 * scale
                if not self.checks.that(good, f"{what}, series {s} at {t}: {have}, want {want}; source "
                                        f"{answer['headers'].get('X-Mullion-Source')}"):
                    return
        self.checks.that(not got, f"{what}: series never sent: {got}")

    def run(self, seconds, restarts):
        until = time.monotonic() + seconds
        while time.monotonic() < until and self.now_ms < self.end_ms:
            self.step_time()
            if self.now_ms >= self.end_ms:
                break
            self.arrive()
            while self.draw.random() < 0.7:
                self.ask()
            if self.draw.random() < 0.15 and self.model:
                self.late()
                self.ask()
            if self.draw.random() < 0.02:
                time.sleep(0.4)  # the windows so far are built, and sealed up to the lateness
                for _ in range(20):
                    self.ask()
                self.late()
                for _ in range(5):
                    self.ask()
            if restarts and self.draw.random() < 0.01:
                self.restart()
        for _ in range(100):
            self.ask()
        print(f"{self.name}: {len(self.model)} series, {sum(map(len, self.model.values()))} samples, {self.asked} answers, "
              f"{self.from_panes} of them with panes", flush=True)

    def restart(self):
        if self.draw.random() < 0.5:
            self.checks.equal(self.server.stop(), 0, f"{self.name}: exit status after SIGTERM")
        else:
            self.server.kill()
        if self.draw.random() < 0.5:
            chosen = self.draw.sample(SITES, self.draw.randrange(1, len(SITES)))
            workload(self.workload_path, [(*s[:3], self.draw.choice([1, 5, 10, 60, s[3]])) for s in chosen])
        self.server.start()
        for _ in range(5):
            self.ask()


# ---- several connections at once ----

def together(server, checks, seconds):
    """Three writers, each a counter a millisecond apart; a reader knows what was acknowledged before it asked."""
    base_ms = 1_700_000_000_000
    acknowledged, sent, stop = [0, 0, 0], [0, 0, 0], threading.Event()

    def write(w):
        while not stop.is_set():
            n = acknowledged[w]
            sent[w] = n + 20
            status, text = harness.send(server, [({"__name__": "m", "writer": str(w)}, [(base_ms + (n + i + 1) * 50, float(n + i + 1))
                                                                                       for i in range(20)])])
            if not checks.equal(status, 204, f"writer {w} ({text[:100]})"):
                return
            acknowledged[w] = n + 20

    threads = [threading.Thread(target=write, args=(w,)) for w in range(3)]
    for thread in threads:
        thread.start()
    until, asked = time.monotonic() + seconds, 0
    while time.monotonic() < until:
        before = list(acknowledged)
        at_ms = base_ms + max(before) * 50 // 10_000 * 10_000 + 10_000
        answer = by_labels(instant(server, "max_over_time(m[300s])", at_ms / 1000))
        after = list(sent)
        for w in range(3):
            low = min(before[w], (at_ms - base_ms) // 50)
            value = next((next(iter(v.values())) for k, v in answer.items() if dict(k).get("writer") == str(w)), 0)
            checks.that(low <= value <= after[w] or before[w] * 50 < at_ms - base_ms - 290_000,
                        f"writers at once: newest of writer {w} at {at_ms}: {value}, acknowledged {before[w]}, sent {after[w]}")
        asked += 1
    stop.set()
    for thread in threads:
        thread.join()
    for w in range(3):
        answer = instant(server, f'count_over_time(m{{writer="{w}"}}[1d])', base_ms / 1000 + 86_400)
        checks.equal([v for s in by_labels(answer).values() for v in s.values()], [float(acknowledged[w])], f"samples of writer {w}")
    print(f"writers at once: {sum(acknowledged)} samples, {asked} answers", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=10, help="for each of the runs")
    options = parser.parse_args()
    checks = Checks()
    now_ms = int(time.time() * 1000)
    runs = [  # start, end, may silence of a day occur, restarts
        ("past", 1_700_000_000_000, now_ms, True, True),
        ("now and ahead", now_ms - 1_800_000, now_ms + 570_000, False, True),
        ("around 1970", -2_000_000, 200_000_000_000, False, True),
        ("long before 1970", -5_000_000_000_123, -1, True, False),
    ]
    with harness.scratch("arrival") as directory:
        for name, start_ms, end_ms, jumps, restarts in runs:
            place, path = directory / name.replace(" ", "-"), workload(directory / "workload.yaml", SITES)
            server = harness.mullion(options.mullion, place, "--workload", path)
            with server:
                Machine(server, path, checks, options.seed, start_ms, end_ms, name, jumps).run(options.seconds, restarts)
        path = workload(directory / "workload.yaml", SITES)
        with harness.mullion(options.mullion, directory / "together", "--workload", path) as server:
            together(server, checks, options.seconds)
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
