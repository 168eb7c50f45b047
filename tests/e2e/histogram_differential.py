#!/usr/bin/env python3
"""Native histograms against a Prometheus 3: random ones of every schema and of custom buckets, the same queries, the same answers.

Both get the same samples by remote write; then every operator and function that takes histograms is asked of both, as an instant
and as a range query. Label sets, buckets and their bounds agree exactly, numbers to 1e-9 relative.

    histogram_differential.py --mullion BINARY [--seed S] [--series N]

Left out is what newer versions do otherwise than the 3.5 that may be the reference: custom buckets of different bounds, fractions
of open custom buckets, means of what lies within the zero bucket, rates of what begins near zero.
"""
import argparse
import math
import random
import sys

import harness
from harness import Checks

START_MS = 1_700_000_040_000
STEP_MS = 15_000
SAMPLES = 9  # of a counter
AT_S = (START_MS + (SAMPLES - 1) * STEP_MS) / 1000
FLAGS = ["--web.enable-remote-write-receiver", "--enable-feature=native-histograms"]
THRESHOLDS = [0.0, 1e-128, 0.001, 0.25, 0.3, 0.7, 2.0]

EXPONENTIAL = 'a{kind="exponential"}'
QUERIES = [
    "a", "-a", "a * 3", "-0.25 * a", "a * 0", "a / 7", "a / -3", "a / 0",
    "a + on (i) b", "a - on (i) b", "b - on (i) a", "a + on (i) a", "a == on (i) b", "a == on (i) a", "a != on (i) b",
    "a and on (i) b", "a unless on (i) b", "a + 1", "a > on (i) b",
    "histogram_count(a)", "histogram_sum(a)", "histogram_avg(a)", "histogram_stddev(a)", "histogram_stdvar(a)",
    'count_values by (i) ("v", a)', "count(a)", "group by (kind) (a)", 'sum by (kind) (a{zero="0"})',
    'sum by (job) (a{zero="0", kind="exponential"})', "count by (job) (a + on (i) b)", "max(a)", "topk(3, a)",
    *(f"histogram_quantile({q}, a)" for q in ("0", "0.01", "0.1", "0.25", "0.4", "0.5", "0.6", "0.75", "0.9", "0.99", "1", "1.5", "-1")),
    *(f"histogram_fraction({span}, {EXPONENTIAL})"
      for span in ("-Inf, 0", "-3, 2.5", "0, 0.3", "-0.1, 0.2", "1, 16", "0.7, +Inf", "-7, -0.2", "3, 12", "5, 1", "-Inf, +Inf")),
    *(f"{f}(r[61s])" for f in ("rate", "increase", "delta", "irate", "idelta", "sum_over_time", "last_over_time", "count_over_time",
                               "changes", "resets", "present_over_time")),
    'avg_over_time(r{zero="0"}[61s])', "histogram_quantile(0.9, rate(r[2m]))", "histogram_count(increase(r[2m]))",
    'histogram_quantile(0.5, sum by (job) (rate(r{zero="0", kind="exponential"}[1m])))', "r offset 30s", "r - r offset 45s",
    "last_over_time(r[2m:30s])", "absent(r)", "timestamp(r)", "abs(r)",
]


def spans_of(draw, room=None):
    """Spans, some empty or without a gap, and how many buckets they hold; within `room` buckets if there is that limit."""
    spans, end = [], 0
    for n in range(draw.randint(0, 3)):
        offset = draw.randint(-12, 12) if n == 0 and room is None else draw.randint(0, 3)
        length = draw.randint(0 if n else 1, 6)
        if room is not None:
            if end + offset >= room:
                break
            length = min(length, room - end - offset)
        spans.append((offset, length))
        end += offset + length
    return spans, sum(length for _, length in spans)


def counts_of(draw, n):
    return [draw.choice([0, 1, 2, 3, draw.randint(1, 1000)]) for _ in range(n)]


def layout(draw, kind, bounds):
    """A histogram without observations."""
    if kind == "custom":
        spans, n = spans_of(draw, len(bounds) + 1)
        return {"schema": -53, "custom": bounds, "zero": (0.0, 0), "positive": (spans, [0] * n), "negative": ([], [])}
    sides = {side: (spans, [0] * n) for side in ("positive", "negative") for spans, n in [spans_of(draw)]}
    return {"schema": draw.randint(-4, 8), "zero": (draw.choice(THRESHOLDS), 0), **sides}


def filled(draw, h, counts=None, zero=None):
    h = dict(h)
    for side in ("positive", "negative"):
        spans, old = h[side]
        h[side] = (spans, counts_of(draw, len(old)) if counts is None else counts[side])
    h["zero"] = (h["zero"][0], zero if zero is not None else 0 if h["schema"] == -53 else draw.randint(0, 20))
    h["count"] = h["zero"][1] + sum(h["positive"][1]) + sum(h["negative"][1])
    h["sum"] = float(draw.randint(-5000, 5000))
    return h


def counter(draw, h):
    """Samples of one layout: counts grow, and twice at most one of them or all fall. They stay far from zero: 3.5 does not yet
    end extrapolation where a histogram would be empty."""
    counts = {side: [draw.randint(2000, 3000) for _ in h[side][1]] for side in ("positive", "negative")}
    zero, total, falls = 2000, 0.0, 0
    for i in range(SAMPLES):
        what = draw.random() if falls < 2 else 0.5
        falls += what < 0.1 or what > 0.9
        if what < 0.1:
            counts, zero = {side: [n - n // 6 for n in c] for side, c in counts.items()}, zero - zero // 6
        for side in counts:
            counts[side] = [n + draw.choice([0, 0, 1, 5]) for n in counts[side]]
        if what > 0.9 and counts["positive"]:
            counts["positive"][0] //= 2
        zero = 0 if h["schema"] == -53 else zero + draw.randint(0, 2)
        total += draw.randint(0, 9)
        yield START_MS + i * STEP_MS, {**filled(draw, h, counts, zero), "sum": total}


def dataset(seed, n):
    """a and b: one sample each, of the same kind; r: a counter. The labels tell the kind and whether the zero bucket is a point."""
    draw = random.Random(f"histograms {seed}")
    out = []
    for i in range(n):
        kind = "custom" if draw.random() < 0.25 else "exponential"
        bounds = sorted(draw.sample([x / 2 for x in range(-40, 80)], draw.randint(1, 8)))
        for name in ("a", "b", "r"):
            h = layout(draw, kind, bounds)
            labels = {"__name__": name, "i": str(i), "job": f"j{i % 5}", "kind": kind, "zero": "0" if h["zero"][0] == 0 else "wide"}
            if kind == "custom":
                labels["kind"] = f"custom{i}"
            if name == "r":
                samples = list(counter(draw, h))
            else:
                h = filled(draw, h)
                if draw.random() < 0.1:  # observations of NaN are in no bucket
                    h["count"], h["sum"] = h["count"] + draw.randint(1, 9), math.nan
                if draw.random() < 0.1:
                    h["hint"] = 3
                samples = [(START_MS + (SAMPLES - 1) * STEP_MS, h)]
            out.append((labels, samples))
    return out


def flat(answer):
    """{labels: {time: numbers}}: of a histogram its count and sum, and rule, bounds and count of each bucket."""
    out = {}
    for series in answer["data"]["result"]:
        points = out.setdefault(tuple(sorted(series["metric"].items())), {})
        for t, v in series.get("values", []) + [series[k] for k in ("value",) if k in series]:
            points[t] = [float(v)]
        for t, h in series.get("histograms", []) + [series[k] for k in ("histogram",) if k in series]:
            points[t] = [float(h["count"]), float(h["sum"])] + [float(x) for bucket in h.get("buckets", []) for x in bucket]
    return out


def differences(ours, theirs):
    if ours["status"] != theirs["status"]:
        return [f"status {ours['status']} ({ours.get('error')}), theirs {theirs['status']} ({theirs.get('error')})"]
    if ours["status"] != "success":
        return []
    found = []
    a, b = flat(ours), flat(theirs)
    for key in sorted(a.keys() | b.keys()):
        x, y = a.get(key, {}), b.get(key, {})
        for t in sorted(x.keys() | y.keys()):
            p, q = x.get(t, []), y.get(t, [])
            if len(p) != len(q) or not all(harness.close(m, n) for m, n in zip(p, q)):
                found.append(f"{dict(key)} at {t}:\n      {p}\n      theirs {q}")
                break
    for said in ("warnings", "infos"):
        if bool(ours.get(said)) != bool(theirs.get(said)):
            found.append(f"{said}: {ours.get(said)}, theirs {theirs.get(said)}")
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--series", type=int, default=150, help="how many of each kind")
    parser.add_argument("--reference", default=str(harness.ROOT / ".cache" / "prometheus3"), help="where Prometheus 3 is unpacked")
    options = parser.parse_args()
    binary, version = harness.reference(options.reference)
    if not binary:
        harness.skip(f"Prometheus 3 for comparison: {version}")
    print(f"reference: {version}", flush=True)
    c = Checks()
    with harness.scratch("histograms") as directory:
        theirs = harness.prometheus(binary, directory / "reference", "", FLAGS)
        ours = harness.mullion(options.mullion, directory / "ours")
        with theirs, ours:
            series = dataset(options.seed, options.series)
            for server in (theirs, ours):
                status, text = harness.send(server, series)
                c.that(status // 100 == 2, f"{server.argv[0]} takes the samples: {status} {text}")
            for query in QUERIES:
                found = differences(harness.instant(ours, query, AT_S), harness.instant(theirs, query, AT_S))
                c.that(not found, f"seed {options.seed}: {query}: {len(found)} differ, {''.join(found[:1])}")
                span = (START_MS / 1000, AT_S + 60, 15)
                found = differences(harness.ranged(ours, query, *span), harness.ranged(theirs, query, *span))
                c.that(not found, f"seed {options.seed}: {query} over a range: {len(found)} differ, {''.join(found[:1])}")
    c.finish()


if __name__ == "__main__":
    sys.exit(main())
