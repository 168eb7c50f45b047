#!/usr/bin/env python3
"""A workload file from a corpus of PromQL expressions, to plan them all at once.

The corpus is JSON lines with `expr`, `interval_s` and, if known to be invalid, `promtool_ok: false`:

    corpus_workload.py corpus.jsonl [--raw-retention 0] > all.yaml
    mullion-plan all.yaml -o plan.json
    corpus_workload.py --count plan.json      # sites on panes, queries on raw alone
"""
import argparse
import json
import sys


def write_workload(args):
    print("queries:")
    with open(args.file) as lines:
        for line in lines:
            row = json.loads(line)
            if not row.get("promtool_ok", True):
                continue
            print(f"- {{query: {json.dumps(row['expr'])}, every: {int(row.get('interval_s') or 60)}s}}")
    if args.raw_retention is not None:
        print(f"data: {{raw_retention: {args.raw_retention}}}")


def count(args):
    with open(args.file) as f:
        plan = json.load(f)
    nodes = plan["nodes"]
    ops = {}
    for node in nodes:
        ops[node["op"]] = ops.get(node["op"], 0) + 1
    queries = plan["queries"]
    on_panes = sum(1 for q in queries if q["uses"])
    whole_raw = sum(1 for q in queries if nodes[q["root"]]["op"] == "raw")
    reasons = {}
    for q in queries:
        for r in q["rejected"]:
            rule = r["reason"].split(":")[0]
            reasons[rule] = reasons.get(rule, 0) + 1
    print(f"queries {len(queries)}: {on_panes} read panes, {whole_raw} are one raw node")
    print(f"views {len(plan['views'])}, sources {len(plan['sources'])}, nodes {ops}")
    print(f"reasons {dict(sorted(reasons.items(), key=lambda kv: -kv[1]))}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file")
    parser.add_argument("--raw-retention")
    parser.add_argument("--count", action="store_true")
    args = parser.parse_args()
    (count if args.count else write_workload)(args)


if __name__ == "__main__":
    sys.exit(main())
