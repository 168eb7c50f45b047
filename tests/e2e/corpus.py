#!/usr/bin/env python3
"""Expressions that people wrote, all of them evaluated: no error that Prometheus does not give too.

MULLION_CORPUS names a file of JSON lines with `expr` and `promtool_ok`; without it, or without a Prometheus 3, the test is skipped.
Each accepted expression is asked as an instant and as a short range query, of servers without data and of servers with series that its
selectors match (corpus_data.py). An error of ours must be one of Prometheus too, and answers must agree, but for ties and what
differential.py knows.

    MULLION_CORPUS=FILE corpus.py --mullion BINARY [--every N]

prints how many expressions were asked, the errors by their text, those that Prometheus does not give, and answers that differ.
"""
import argparse
import collections
import json
import os
import re
import sys
import time

import harness
from corpus_data import END_MS, Dataset
from differential import FEATURES, FLAGS, KNOWN, Client

BATCH = 2000  # series of one request
SPAN_S, STEP_S = 600, 60
# As KNOWN.
KNOWN_HERE = [
    (r"\b(topk|bottomk)\b", "only ", "metrics of one kind have equal values here and there: which of equal series is taken"),
    (r"__name__", ": text ", "names are dropped late: equal labels meet in an operator here, in the function below it there"),
    (r"k\(NaN", ": text Parameter value is NaN", "Prometheus after 3.5 says so, too"),
]


def expressions(path, every):
    """Distinct accepted ones, in the order of the file; every n-th."""
    rows = (json.loads(line) for line in open(path, encoding="utf-8"))
    return list(dict.fromkeys(row["expr"] for row in rows if row.get("promtool_ok")))[::every]


def shape(text):
    """An error's text without the names and values in it."""
    return re.sub(r"\{.*\}|\"[^\"]*\"|\d+", "_", text)[:110]


class Run:
    def __init__(self, directory, binary, reference, queries):
        self.checks, self.queries = harness.Checks(), queries
        flags = FLAGS + [f"--enable-feature={FEATURES}"]
        self.servers = {name: (harness.mullion(binary, directory / name), harness.prometheus(reference, directory / f"reference-{name}", flags=flags))
                        for name in ("empty", "data")}
        self.errors, self.foreign, self.different = collections.Counter(), [], []
        self.answered, self.filled, self.known = 0, 0, 0

    def load(self, clients):
        data = Dataset()
        for query in self.queries:
            answer = clients[0].query("parse_query", query=query)
            if self.checks.equal(answer["status"], "success", f"{query} is parsed ({answer.get('error')})"):
                data.add(answer["data"])
        series = data.series()
        for at in range(0, len(series), BATCH):
            for target in clients:
                status, _, text = target.write(series[at:at + BATCH])
                self.checks.equal(status, 204, f"a write to {target.server.argv[0]} ({text[:200]})")
        return len(series)

    def compare(self, name, query, ours, theirs, what):
        failed = ours["status"] != "success"
        self.answered += not failed
        self.filled += name == "data" and not failed and bool(ours["data"]["result"])
        if failed:
            self.errors[shape(ours["error"])] += 1
        if ours.get("bad") or ours["http"] >= 500:
            self.foreign.append((name, query, what, f"http {ours['http']}: {ours.get('error')}"))
        elif failed and theirs["status"] == "success":
            self.foreign.append((name, query, what, ours["error"]))
        elif found := self.differences(ours, theirs):
            known = any(re.search(q, query) and all(re.search(d, f"{what}: {s}") for s in found) for q, d, _ in KNOWN + KNOWN_HERE)
            self.known += known
            if not known:
                self.different.append((name, query, what, found[0]))

    @staticmethod
    def differences(ours, theirs):
        """harness.differences, and of two errors another text."""
        if ours["status"] == theirs["status"] == "error" and shape(ours["error"]) != shape(theirs["error"]):
            return [f"text {ours['error']}, theirs {theirs['error']}"]
        return harness.differences(ours, theirs)

    def ask(self, name, clients):
        end = END_MS / 1000
        for query in self.queries:
            for what, args in (("instant", (end,)), ("ranged", (end - SPAN_S, end, STEP_S))):
                ours, theirs = (getattr(client, what)(query, *args) for client in clients)
                self.compare(name, query, ours, theirs, what)

    def run(self):
        begun = time.monotonic()
        for name, servers in self.servers.items():
            with servers[0], servers[1]:
                clients = [Client(server) for server in servers]
                loaded = self.load(clients) if name == "data" else 0
                self.ask(name, clients)
                self.checks.equal(harness.request(servers[0].url + "/-/healthy")[0], 200, "still healthy")
            print(f"{name}: {loaded} series, after {time.monotonic() - begun:.0f} s", flush=True)

    def report(self):
        print(f"{len(self.queries)} expressions, {4 * len(self.queries)} answers: {self.answered} ok ({self.filled} of the {2 * len(self.queries)} "
              f"over data are not empty), {self.errors.total()} errors")
        for text, n in self.errors.most_common():
            print(f"  {n:6} {text}")
        self.rows("errors Prometheus does not give", self.foreign)
        self.rows(f"answers that differ ({self.known} more known to)", self.different)
        self.checks.equal(len(self.foreign), 0, "errors Prometheus does not give")
        self.checks.equal(len(self.different), 0, "answers that differ")
        self.checks.that(self.filled >= len(self.queries), "half of the answers over data have something in them")

    @staticmethod
    def rows(title, rows, most=25):
        print(f"{title}: {len(rows)}")
        for name, query, what, text in rows[:most]:
            print(f"  {name}, {what}: {query}\n      {text}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--every", type=int, default=1, help="ask every N-th expression")
    parser.add_argument("--reference", default=str(harness.ROOT / ".cache" / "prometheus3"), help="where Prometheus 3 is unpacked")
    options = parser.parse_args()
    if "MULLION_CORPUS" not in os.environ:
        harness.skip("MULLION_CORPUS names no corpus")
    reference, version = harness.reference(options.reference)
    if not reference:
        harness.skip(f"Prometheus 3 for comparison: {version}")
    print(f"reference: {version}", flush=True)
    with harness.scratch("corpus") as directory:
        run = Run(directory, options.mullion, reference, expressions(os.environ["MULLION_CORPUS"], options.every))
        run.run()
        run.report()
    run.checks.finish()


if __name__ == "__main__":
    sys.exit(main())
