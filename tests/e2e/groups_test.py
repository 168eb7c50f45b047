#!/usr/bin/env python3
"""States by labels on a running server, from the workload to the answers.

A workload of aggregations by labels and of functions of a label, which the planner puts on states by labels; samples arrive while
the plan is in force; then every query is answered from panes, as raw samples answer it: sums, counts and extremes exactly, distinct
values and L2 within their targets, the heaviest items in their order where they are far apart. A query by fewer labels than any that
is planned is answered from the same states.
"""
import argparse
import random
import sys
import time

import harness
from harness import Checks, by_labels, instant, metric_value

SERIES, ROUNDS, STEP_MS = 300, 14, 10_000
EXACT = ["sum by (job) (sum_over_time(bytes_sent[1m]))", "sum by (job, zone) (sum_over_time(bytes_sent[1m]))",
         "max by (job) (max_over_time(bytes_sent[1m]))", "min by (zone) (min_over_time(bytes_sent[1m]))",
         "sum by (job) (count_over_time(bytes_sent[1m])) / 2"]
BOUNDED = {'distinct_label_over_time("path", bytes_sent[1m], "job")': ("{cardinality: 0.05}", 0.05),
           'l2_label_over_time("path", bytes_sent[1m], "job")': ("{relative: 0.05}", 0.05)}
LISTS = ["topk by (job) (3, sum_over_time(bytes_sent[1m]))", 'topk_label_over_time(3, "path", bytes_sent[1m])']
UNPLANNED = "sum(sum_over_time(bytes_sent[1m]))"


def labels_of(series):
    return {"__name__": "bytes_sent", "job": f"job-{series % 4}", "zone": f"zone-{series % 3}", "path": f"/p/{series % 40}",
            "instance": f"host-{series:03}"}


class Data:
    """Whole numbers, the first series of each job far above the others."""

    def __init__(self, seed):
        draw = random.Random(seed)
        self.first_ms = (int(time.time() * 1000) - ROUNDS * STEP_MS - 60_000) // STEP_MS * STEP_MS + 3000
        self.values = [[draw.randrange(1, 100) + (20000 // (1 + s // 4) if s < 16 else 0) for s in range(SERIES)]
                       for _ in range(ROUNDS)]

    def send(self, server, checks):
        for i, values in enumerate(self.values):
            time_ms = self.first_ms + i * STEP_MS
            status, text = harness.send(server, [(labels_of(s), [(time_ms, v)]) for s, v in enumerate(values)])
            if not checks.equal(status, 204, f"round {i} is stored ({text[:100]})"):
                return


def workload(path):
    lines = [f"  - {{query: '{q}', every: 10s}}" for q in EXACT]
    lines += [f"  - {{query: '{q}', every: 10s, accuracy: {target}}}" for q, (target, _) in BOUNDED.items()]
    lines += [f"  - {{query: '{q}', every: 10s, accuracy: none}}" for q in LISTS]
    path.write_text("queries:\n" + "\n".join(lines) + "\ndata:\n  raw_retention: 0\n  metrics:\n"
                    f"    bytes_sent: {{type: gauge, series: {SERIES}, interval: 10s, labels: {{job: 4, zone: 3, path: 40}}}}\n")
    return path


def ask(checks, server, query, end_ms, source):
    answer, exact = instant(server, query, end_ms / 1000), instant(server, query, end_ms / 1000, exact=1)
    if not checks.that(answer["status"] == exact["status"] == "success", f"{query}: {answer.get('error')}"):
        return {}, {}
    checks.equal(answer["headers"].get("X-Mullion-Source"), source, f"source of {query}")
    checks.equal(exact["headers"].get("X-Mullion-Source"), "raw", f"source of exact {query}")
    got, want = by_labels(answer), by_labels(exact)
    checks.equal(sorted(got), sorted(want), f"series of {query}")
    checks.that(len(want) > 0, f"{query} has a result")
    return ({k: v for k, (v,) in ((k, got[k].values()) for k in got)}, {k: v for k, (v,) in ((k, want[k].values()) for k in want)})


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--seed", type=int, default=20240601)
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    checks, data = Checks(), Data(options.seed)
    with harness.scratch("groups") as directory:
        plan = workload(directory / "w.yaml")
        with harness.mullion(options.mullion, directory / "data", "--workload", plan, "--lateness", "0s") as server:
            time.sleep(0.5)
            data.send(server, checks)
            deadline = time.monotonic() + 20
            built = -1.0
            while time.monotonic() < deadline and metric_value(server, "mullion_states_built_total") != built:
                built = metric_value(server, "mullion_states_built_total")
                time.sleep(1)
            checks.that(built > 0, "states are built")
            end_ms = data.first_ms - 3000 + (ROUNDS - 1) * STEP_MS
            for query in EXACT:
                got, want = ask(checks, server, query, end_ms, "panes")
                checks.equal(got, want, f"answer of {query}")
            for query, (_, error) in BOUNDED.items():
                got, want = ask(checks, server, query, end_ms, "panes")
                for key in want:
                    checks.that(abs(got.get(key, 1e300) - want[key]) <= error * want[key],
                                f"{query} {key}: {got.get(key)}, is {want[key]}")
            for query in LISTS:
                got, want = ask(checks, server, query, end_ms, "panes")
                for key in want:
                    checks.that(abs(got.get(key, 1e300) - want[key]) <= 0.02 * sum(want.values()),
                                f"{query} {key}: {got.get(key)}, is {want[key]}")
            got, want = ask(checks, server, UNPLANNED, end_ms, "panes")
            checks.equal(got, want, f"answer of {UNPLANNED}")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
