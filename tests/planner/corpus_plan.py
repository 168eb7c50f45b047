#!/usr/bin/env python3
"""The corpus that MULLION_CORPUS names, planned: each repository's expressions as one workload, and all of them in one.

usage: corpus_plan.py MULLION_PLAN [--memory-limit SIZE] [--raw-retention DURATION] [--range LENGTH]

With --range each expression is a panel over so long at its own interval, so that stored roots come into play.

Prints, for each, queries, seconds, variables, rows, gap and what the plan costs; fails where the optimum is not proved or
planning takes a minute.
What no limit can hold is no failure. Without MULLION_CORPUS: skipped.
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PLANNED_WITHIN_S = 60  # the largest workload, on two cores


def read_corpus(path):
    by_repository = {}
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            row = json.loads(line)
            if row.get("promtool_ok", True):
                by_repository.setdefault(row["source"].split(":")[0], []).append(row)
    return by_repository


def workload(rows, raw_retention, memory_limit, length=None):
    text = ["queries:"]
    for row in rows:
        every = f"{int(row.get('interval_s') or 60)}s"
        panel = f", range: {{length: {length}, step: {every}}}" if length else ""
        text.append(f"- {{query: {json.dumps(row['expr'])}, every: {every}{panel}}}")
    if raw_retention:
        text.append(f"data: {{raw_retention: {raw_retention}}}")
    if memory_limit:
        text.append(f"models: {{memory_limit: {memory_limit}}}")
    return "\n".join(text) + "\n"


def plan(planner, text, folder):
    path = pathlib.Path(folder) / "workload.yaml"
    path.write_text(text, encoding="utf-8")
    began = time.monotonic()
    done = subprocess.run([planner, path, "--json"], capture_output=True, text=True, timeout=300, check=False)
    return time.monotonic() - began, json.loads(done.stdout) if done.returncode == 0 else None, done.stderr


def report(name, rows, args, folder, memory_limit=None):
    seconds, made, said = plan(args.planner, workload(rows, args.raw_retention, memory_limit, args.range), folder)
    if made is None:
        impossible = "memory_limit:" in said
        print(f"{name:44} {len(rows):6} {seconds:8.3f} s  {said.strip()[:160]}")
        return impossible
    solver = made["solver"]
    cost = sum(sum(q["cost"].values()) for q in made["queries"])
    print(f"{name:44} {len(rows):6} {seconds:8.3f} s {solver['variables']:6} variables {solver['rows']:6} rows"
          f"  gap {solver['gap']:.2e}  {len(made['views']):5} views {len(made['stored_roots']):5} roots  cost {cost:.6g}  {solver['status']}", flush=True)
    return solver["status"] == "optimal" and seconds < PLANNED_WITHIN_S


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("planner")
    parser.add_argument("--memory-limit")
    parser.add_argument("--raw-retention")
    parser.add_argument("--range")
    args = parser.parse_args()
    if "MULLION_CORPUS" not in os.environ:
        print("skipped: MULLION_CORPUS names no corpus")
        return SKIPPED
    by_repository = read_corpus(os.environ["MULLION_CORPUS"])
    by_repository["(all)"] = [row for rows in by_repository.values() for row in rows]
    failed = 0
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in by_repository.items():
            failed += not report(name, rows, args, folder, args.memory_limit)
    print(f"{len(by_repository)} workloads, {failed} not proved")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
