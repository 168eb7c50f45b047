#!/usr/bin/env python3
"""How much of a corpus the planner plans: of all expressions with an aggregation or a range, the share that is answered
from panes or a stored root, or from raw samples where those would be dearer, with both costs said. The others need a
reason, and are counted by it.

usage: corpus_coverage.py MULLION_PLAN [--target SHARE] [--show N]

Each expression of the corpus that MULLION_CORPUS names (JSON lines, see corpus_workload.py) is planned three times, all
of a time in one workload: as a rule, as a dashboard's panel that is loaded every 30 s, and as one that is seldom looked
at. Nothing is said of the data, so the planner takes 1,000 series each 15 s for each metric.
"""
import argparse
import collections
import json
import os
import re
import sys
import tempfile

import corpus_plan

AGGREGATION = re.compile(r"\b(sum|avg|min|max|count|group|stddev|stdvar|topk|bottomk|quantile|count_values|limitk|"
                         r"limit_ratio)\s*(\(|by\b|without\b)")
STRING = re.compile(r'"(\\.|[^"\\])*"|\'(\\.|[^\'\\])*\'|`[^`]*`')
NUMBER = r"([0-9][0-9.e+-]*)"
BOTH_COSTS = re.compile(rf"dearer: {NUMBER} CPU-ms a second on its own \(.*\), (raw samples|its parts) {NUMBER}")
SETTINGS = {
    "rules: instant, every 30s": "every: 30s",
    "panels: 1h each 15s, every 30s": "every: 30s, range: {length: 1h, step: 15s}",
    "panels: 1h each 15s, every 15m": "every: 15m, range: {length: 1h, step: 15s}",
}
PLANNED = ("panes", "stored root", "raw, both costs")


def counts(text):
    bare = STRING.sub('""', text)
    return "[" in bare or AGGREGATION.search(bare) is not None


def operators(plan, root):
    seen, todo = set(), [root]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += plan["nodes"][node]["in"]
    return {plan["nodes"][i]["op"] for i in seen}


def answered_from(plan, query):
    """One of PLANNED, or the reasons against every candidate."""
    if query["uses"]:
        return "panes"
    if "stored" in operators(plan, query["root"]):
        return "stored root"
    costs = [BOTH_COSTS.match(r["reason"]) for r in query["rejected"]]
    # A stored root may be dearer than raw samples by itself only: what is taken must be the cheaper.
    if any(m and float(m[1]) >= float(m[3]) * 0.999 for m in costs):
        return "raw, both costs"
    return ", ".join(sorted({re.split(r": (?!its|the|it|@)", r["reason"])[0] for r in query["rejected"]})) or "no reason"


def report(name, plan, show):
    """Share planned, and how many have no reason."""
    found, examples, others_n = collections.Counter(), {}, 0
    for query in plan["queries"]:
        if not counts(query["text"]):
            others_n += 1
            continue
        kind = answered_from(plan, query)
        found[kind] += 1
        examples.setdefault(kind, []).append(query["text"])
    n = sum(found.values())
    share = sum(found[k] for k in PLANNED) / n
    print(f"{name}: {n + others_n} expressions, {n} with an aggregation or a range; {share:.2%} planned")
    for kind in PLANNED:
        print(f"  {found.pop(kind, 0):6} {kind}")
    for kind, times in found.most_common():
        print(f"  {times:6} unplanned: {kind}")
        for text in examples[kind][:show]:
            print(f"           {text[:200]}")
    return share, found["no reason"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("planner")
    parser.add_argument("--target", type=float, default=0.99)
    parser.add_argument("--show", type=int, default=0, help="examples of each reason")
    args = parser.parse_args()
    if "MULLION_CORPUS" not in os.environ:
        print("skipped: MULLION_CORPUS names no corpus")
        return corpus_plan.SKIPPED
    by_repository = corpus_plan.read_corpus(os.environ["MULLION_CORPUS"])
    rows = [row for repository in by_repository.values() for row in repository]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, cadence in SETTINGS.items():
            text = "queries:\n" + "".join(f"- {{query: {json.dumps(row['expr'])}, {cadence}}}\n" for row in rows)
            _, plan, said = corpus_plan.plan(args.planner, text, folder)
            if plan is None:
                print(f"{name}: {said[:400]}")
                failed += 1
                continue
            share, unsaid_n = report(name, plan, args.show)
            if share < args.target or unsaid_n:
                print(f"FAIL {name}: {share:.2%} of at least {args.target:.0%}, {unsaid_n} without a reason")
                failed += 1
    print(f"{len(SETTINGS) - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
