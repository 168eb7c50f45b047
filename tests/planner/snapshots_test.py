#!/usr/bin/env python3
"""What the planner chose, and at what cost, against a file that says what it chose before. A cost that rises fails; so
does any other difference, until the file is written anew, so that a commit which changes plans lists each of them.

usage: snapshots_test.py MULLION_PLAN [--update [--accept-rises]]

snapshots.txt holds the workloads of workloads/ query by query; snapshots_corpus.txt, in total only, the 50 largest
repositories of the corpus that MULLION_CORPUS names (skipped without it).
"""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import corpus_plan  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
CORPUS_WORKLOADS = 50
RISE = 1e-8  # relative: the file keeps nine digits


def make_plan(planner, path):
    done = subprocess.run([planner, path, "--json"], capture_output=True, text=True, timeout=120, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{path}: {done.stderr}")
    return json.loads(done.stdout)


def view_text(view):
    parameters = " ".join(f"{k}={v:g}" for k, v in sorted(view["params"].items()) if v)
    level = "" if view.get("level_of") is None else f" level of view {view['level_of']}"
    return f"{view['family']}{' ' + parameters if parameters else ''} {view['panes']} x {view['width_ms']} ms {view['when']}{level}"


def reached(plan, root):
    seen, todo = set(), [root]
    while todo:
        node = todo.pop()
        if node not in seen:
            seen.add(node)
            todo += plan["nodes"][node]["in"]
    return [plan["nodes"][i] for i in sorted(seen)]


def chosen(plan, query):
    """The views and stored roots a query reads, and whether it reads raw samples."""
    parts = [view_text(plan["views"][v]) for v in query["uses"]]
    ops = [node["op"] for node in reached(plan, query["root"])]
    return "; ".join(parts + ["stored root"] * ops.count("stored") + ["raw"] * ("raw" in ops))


def cost(parts):
    return " + ".join(f"{parts[k]:.9g}" for k in ("ingest", "query", "memory"))


def line_of_total(name, plan):
    total = {k: sum(q["cost"][k] for q in plan["queries"]) for k in ("ingest", "query", "memory")}
    solver, views = plan["solver"], plan["views"]
    return {name: (sum(total.values()),
                   f"{cost(total)}; {len(plan['queries'])} queries, {len(views)} views, {len(plan['stored_roots'])} stored "
                   f"roots; {solver['status']}, {solver['variables']} variables, {solver['rows']} rows")}


def own_lines(planner):
    lines = {}
    for path in sorted((HERE / "workloads").glob("*.yaml")):
        plan = make_plan(planner, path)
        lines |= line_of_total(path.stem, plan)
        for query in plan["queries"]:
            lines[f"{path.stem}.{query['name']}"] = (sum(query["cost"].values()), f"{cost(query['cost'])}; {chosen(plan, query)}")
    return lines


def corpus_lines(planner, corpus):
    by_size = sorted(corpus_plan.read_corpus(corpus).items(), key=lambda item: (-len(item[1]), item[0]))
    lines = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, rows in by_size[:CORPUS_WORKLOADS]:
            path = pathlib.Path(folder) / "workload.yaml"
            path.write_text(corpus_plan.workload(rows, None, None), encoding="utf-8")
            lines |= line_of_total(name, make_plan(planner, path))
    return lines


def read_lines(path):
    if not path.exists():
        return {}
    lines = {}
    for line in path.read_text().splitlines():
        name, total, text = line.split("  ", 2)
        lines[name] = (float(total), text)
    return lines


def write_lines(path, lines):
    path.write_text("".join(f"{name}  {total:.9g}  {text}\n" for name, (total, text) in lines.items()))


def compare(path, now, args):
    """Checks that failed."""
    before, rises, changed = read_lines(path), [], []
    for name, (total, text) in now.items():
        was_total, was_text = before.get(name, (total, None))
        if total > was_total * (1 + RISE) + 1e-12:
            rises.append(f"{name}: the cost rises from {was_total:.9g} to {total:.9g} CPU-ms a second\n    was {was_text}\n    now {text}")
        elif text != was_text:
            changed.append(f"{name}: {total:.9g} CPU-ms a second\n    was {was_text}\n    now {text}")
    changed += [f"{name}: gone" for name in before if name not in now]
    for text in rises + changed:
        print(text)
    if args.update and (not rises or args.accept_rises):
        write_lines(path, now)
        return 0
    if rises or changed:
        print(f"{path.name}: {len(rises)} costs rose, {len(changed)} other differences; --update writes it anew, rises need "
              "--accept-rises and a reason in the commit")
    return len(rises) + len(changed)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("planner")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("--accept-rises", action="store_true")
    args = parser.parse_args()
    own = own_lines(args.planner)
    checks, failed = len(own), compare(HERE / "snapshots.txt", own, args)
    corpus = os.environ.get("MULLION_CORPUS")
    if corpus and pathlib.Path(corpus).exists():
        lines = corpus_lines(args.planner, corpus)
        checks += len(lines)
        failed += compare(HERE / "snapshots_corpus.txt", lines, args)
    else:
        print("skipped: MULLION_CORPUS names no corpus, so its workloads are not compared")
    print(f"{checks - failed} passed, {failed} failed")
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())
