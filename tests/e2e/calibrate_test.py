#!/usr/bin/env python3
"""mullion calibrate: the file it writes is one the planner reads, and its numbers are of a machine.

usage: calibrate_test.py MULLION
"""
import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

WORKLOAD = """
queries:
  - {query: "quantile_over_time(0.99, x[5m])", every: 10s, accuracy: {rank: 0.01}}
  - {query: "rate(y[5m])", every: 1m}
data: {metrics: {x: {interval: 100ms}, y: {interval: 15s}}}
models: {calibration: machine.json}
"""


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("calibrate") as directory:
        def run(*args):
            return subprocess.run([binary, *args], capture_output=True, text=True, timeout=60, check=False)
        path = directory / "machine.json"
        done = run("calibrate", "-o", path)
        c.equal((done.returncode, done.stdout, done.stderr), (0, "", ""), "written, nothing said")
        made = json.loads(path.read_text())
        c.equal(made["format"], "mullion-calibration/1", "its format")
        c.equal(sorted(p.name for p in directory.iterdir()), ["machine.json"], "no temporary file is left")
        # Between a tenth of a cycle and a millisecond an operation, on anything.
        c.that(1e-8 < made["op_ms"] < 1e-3, f"an operation takes {made['op_ms']} ms")
        c.that(0 <= made["byte_ms"] < 1e-3 and 1e-12 < made["byte_s_ms"] < 1e-3, f"bytes cost {made}")
        for family in ("sum", "min", "max", "count", "moments", "counter", "values", "kll", "ddsketch", "hll",
                       "regression", "distinct_set"):
            costs = made["families"].get(family, {})
            c.equal(sorted(costs), ["build_row_ms", "build_state_ms", "read_result_ms", "read_state_ms"], family)
            c.that(all(0 <= v < 10 for v in costs.values()), f"{family}: {costs}")
        c.that(made["families"]["kll"]["build_row_ms"] > made["families"]["min"]["build_row_ms"],
               "a sample costs a sketch more than a minimum")
        c.equal(json.loads(run("calibrate").stdout).keys(), made.keys(), "printed where no file is named")
        (directory / "workload.yaml").write_text(WORKLOAD)
        planned = run("plan", directory / "workload.yaml")
        c.equal(planned.returncode, 0, f"the planner reads it: {planned.stderr}")
        (directory / "workload.yaml").write_text(WORKLOAD.replace("models: {calibration: machine.json}", ""))
        c.that(planned.stdout != run("plan", directory / "workload.yaml").stdout, "and counts with it")
        c.equal(run("calibrate", "extra").returncode, 2, "wrong usage")
        c.equal(run("calibrate", "-o", directory / "none" / "machine.json").returncode, 1, "nowhere to write")
    c.finish()


if __name__ == "__main__":
    main()
