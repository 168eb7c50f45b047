#!/usr/bin/env python3
"""What a server says of queries that its plan does not answer from panes: in the log, in /api/v1/explain, and by the planner.

usage: explain_test.py MULLION
"""
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

WORKLOAD = """
queries:
  - {name: mean, query: "avg_over_time(m[1h])", every: 1m, range: {length: 1h, step: 1m}}
  - {name: newest, query: "sum(m)", every: 1m}
data: {metrics: {m: {type: gauge, series: 100, interval: 1s}}}
models: {planning_deadline: 5s}
"""
AT = 1700000040  # a whole minute


def explained(server, query, **parameters):
    answer = harness.api(server, "explain", query=query, **parameters)
    return answer["data"]["explain"]


def check_explain(c, server):
    mean = "avg_over_time(m[1h])"
    on_grid = explained(server, mean, start=AT - 600, end=AT, step=60)
    c.that("pane_read" in on_grid and "why raw" not in on_grid, f"on the grid it reads panes: {on_grid}")
    shifted = explained(server, mean, start=AT - 590, end=AT + 10, step=60)
    c.that("why raw: avg_over_time(m[1h]): the times are not on view 0's grid of 1m" in shifted, f"off the grid: {shifted}")
    stepped = explained(server, mean, start=AT - 600, end=AT, step=50)
    c.that("the step of 50s is no multiple of view 0's panes of 1m" in stepped, f"another step: {stepped}")
    c.that("why raw: query 1 of the plan is planned so" in explained(server, "sum(m)", time=AT), "planned as raw")
    c.that("no query of the workload" in explained(server, "max_over_time(m[1h])", time=AT), "not planned at all")
    c.that("exact asks for raw samples" in explained(server, mean, time=AT, exact=1), "exact=1")


def check_exact(c, server):
    for text, status in (("1", 200), ("true", 200), ("0", 200), ("false", 200), ("yes", 400), ("2", 400)):
        answer = harness.instant(server, "vector(1)", AT, exact=text)
        c.equal(answer["http"], status, f"exact={text}")
        if status == 400:
            c.equal(answer.get("errorType"), "bad_data", f"exact={text}")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("explain") as directory:
        workload = directory / "workload.yaml"
        workload.write_text(WORKLOAD)
        done = subprocess.run([binary, "plan", workload, "--explain"], capture_output=True, text=True, timeout=60)
        c.equal(done.stderr, "", "nothing has no effect")
        c.that("not_on_grid" not in done.stdout, "what is true of every query is not said")
        c.that("(ingest 0, query " in done.stdout, "a dearer candidate's price is split")
        last = done.stdout.splitlines()[-1]
        c.that(re.fullmatch(r"solver: optimal, bound \S+, gap 0, \d+ variables, \d+ rows", last), f"the proof: {last}")
        with harness.mullion(binary, directory / "data", "--workload", workload) as server:
            said = [line for line in server.log.read_text().splitlines() if "planned queries that read raw" in line]
            c.equal(len(said), 1, "one line of the log on planned queries that read raw samples")
            c.that(said and "newest" in said[0] and "mean" not in said[0] and "1 of 2" in said[0], f"and it names them: {said}")
            check_explain(c, server)
            check_exact(c, server)
    c.finish()


if __name__ == "__main__":
    main()
