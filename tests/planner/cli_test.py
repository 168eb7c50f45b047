#!/usr/bin/env python3
"""mullion-plan as a user runs it: exit status, where problems go, the output file whole or not at all."""
import json
import os
import subprocess
import sys
import tempfile

PLAN = sys.argv[1]
GOOD = "queries: [{name: q, query: 'sum(rate(x[5m]))', every: 1m}]\ndata: {raw_retention: 0}\n"
BAD = "queries:\n- {query: 'sum(', every: 1m}\n- {query: up, every: 1q}\n"


def run(*args, text=""):
    done = subprocess.run([PLAN, *args], input=text, capture_output=True, text=True, timeout=60, check=False)
    return done.returncode, done.stdout, done.stderr


WHAT_IF = """
queries:
- {name: p99, query: 'quantile_over_time(0.99, latency[5m])', every: 10s, accuracy: {relative: 0.01}}
- {name: rate, query: 'sum by (job) (rate(requests[5m]))', every: 30s}
- {name: avg, query: 'avg_over_time(latency[1h])', every: 1m}
- {query: 'max_over_time(latency[5m])', every: 10s}
data: {metrics: {latency: {series: 1000, interval: 100ms}, requests: {series: 100000, interval: 15s}}}
"""


def table(text):
    """Rows of a table of costs: name -> CPU-ms a second; the first row is what the others are compared with."""
    lines = text.splitlines()
    assert lines[0].startswith("plan "), lines
    return {line[:40].strip(): float(line[40:].split()[0]) for line in lines[1:] if "impossible" not in line}


def total(plan):
    return sum(sum(q["cost"].values()) for q in json.loads(plan)["queries"])


def check_tables(folder):
    path = os.path.join(folder, "what-if.yaml")
    with open(path, "w", encoding="utf-8") as f:
        f.write(WHAT_IF)
    code, stdout, stderr = run(path, "--compare")
    assert (code, stderr) == (0, ""), stderr
    compared = table(stdout)
    assert list(compared)[0] == "chosen" and list(compared)[-1] == "greedy" and "all raw" in compared, compared
    assert {"ddsketch wherever it can", "sum wherever it can", "counter wherever it can"} < set(compared), compared
    assert all(cost >= compared["chosen"] * 0.9999 for cost in compared.values()), compared
    assert compared["all raw"] > 2 * compared["chosen"], compared
    written = run(path, "--json")[1]
    assert abs(total(written) / compared["chosen"] - 1) < 1e-4, "the plan's own costs"

    code, stdout, stderr = run(path, "--memory-limit", "1MiB", "--accuracy", "p99=exact", "--interval", "1=5m",
                               "--interval", "3=1h")
    assert (code, stderr) == (0, ""), stderr
    rows = table(stdout)
    assert list(rows) == ["as written", "--memory-limit 1MiB", "--accuracy p99=exact", "--interval 1=5m",
                          "--interval 3=1h", "all of these"], rows
    assert rows["as written"] == compared["chosen"]
    assert rows["--memory-limit 1MiB"] > rows["as written"] and rows["--accuracy p99=exact"] > rows["as written"]
    assert rows["--interval 1=5m"] < rows["as written"] and rows["--interval 3=1h"] < rows["as written"]

    # With a plan asked for as well, it is the changed workload's.
    changed = json.loads(run(path, "--json", "--interval", "p99=20s", "--accuracy", "p99=relative:0.05,failure:0.001")[1])
    assert changed["queries"][0]["cadence"] != json.loads(written)["queries"][0]["cadence"]
    assert changed["queries"][0]["accuracy"]["error"] == 0.05, changed["queries"][0]["accuracy"]
    assert abs(total(run(path, "--json", "--memory-limit", "1MiB")[1]) / rows["--memory-limit 1MiB"] - 1) < 1e-4
    for setting, said in (("--interval=nobody=3s", "no query's name"), ("--interval=p99", "not QUERY=VALUE"),
                          ("--interval=p99=soon", "not a valid duration"), ("--interval=p99=0s", "longer than 0s"),
                          ("--accuracy=p99=rank:2", "below 1"), ("--accuracy=p99=loose", "must be a mapping"),
                          ("--accuracy=9=exact", "no query's name"), ("--memory-limit=much", "--memory-limit much")):
        code, stdout, stderr = run(path, setting)
        assert code == 1 and said in stderr and stdout == "", (setting, code, stderr)
    code, stdout, stderr = run("-", "--memory-limit", "1KiB", text=WHAT_IF.replace("data: {", "data: {raw_retention: 0s, "))
    assert code == 0 and "impossible: memory_limit: 1 KiB" in stdout, (code, stdout, stderr)


def check_passed_through():
    """Functions without panes among others: exit 0, each query read from panes or with the reasons why not, none lost."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "workloads", "passed_through.yaml")
    code, stdout, stderr = run(path, "--json")
    assert (code, stderr) == (0, ""), stderr
    queries = {q["name"]: q for q in json.loads(stdout)["queries"]}
    assert list(queries) == ["sum", "line", "smooth", "values", "quantile"], list(queries)
    assert queries["line"]["uses"] and not any(q["uses"] for name, q in queries.items() if name != "line")
    for name, begins in (("sum", "dearer: "), ("smooth", "no_family: "), ("values", "dearer: "), ("quantile", "dearer: ")):
        said = [r["reason"] for r in queries[name]["rejected"] if r["candidate"].startswith("panes of ")]
        assert len(said) == 1 and said[0].startswith(begins), (name, said)


def main():
    with tempfile.TemporaryDirectory() as folder:
        good, bad, out = (os.path.join(folder, name) for name in ("good.yaml", "bad.yaml", "plan.json"))
        for path, text in ((good, GOOD), (bad, BAD)):
            with open(path, "w", encoding="utf-8") as f:
                f.write(text)

        code, stdout, stderr = run(good, "-o", out)
        assert (code, stdout, stderr) == (0, "", ""), (code, stdout, stderr)
        with open(out, encoding="utf-8") as f:
            written = f.read()
        assert json.loads(written)["queries"][0]["name"] == "q"
        assert sorted(os.listdir(folder)) == ["bad.yaml", "good.yaml", "plan.json"], "a temporary file is left"

        assert run("-", text=GOOD)[1] == written, "standard input plans the same"
        assert run(good, "--json")[1] == written
        assert json.loads(run(good, "--seed", "0x10")[1])["views"][0]["identity"] != json.loads(written)["views"][0]["identity"]
        assert "counter" in run(good, "--explain")[1]
        assert run(good, "--dot")[1].startswith("digraph")

        code, stdout, stderr = run(bad, "-o", out)
        assert code == 1 and stdout == "", (code, stdout)
        lines = stderr.splitlines()
        assert lines[0].startswith(f"{bad}:2:16: query: 1:5: parse error"), lines
        assert lines[1].startswith(f"{bad}:3:22: every: "), lines
        assert lines[2] == f"mullion-plan: {bad}: 2 problems; nothing was planned", lines
        with open(out, encoding="utf-8") as f:
            assert f.read() == written, "a bad workload must leave the old plan"

        # Costs beside the workload: dear states leave raw, a file that cannot be read or is of another version plans nothing.
        calibrated = os.path.join(folder, "calibrated.yaml")
        with open(calibrated, "w", encoding="utf-8") as f:
            f.write("queries: [{query: 'sum_over_time(x[5m])', every: 10s}]\ndata: {metrics: {x: {interval: 50ms}}}\n"
                    "models: {calibration: costs.json}\n")
        code, stdout, stderr = run(calibrated)
        assert code == 1 and "costs.json" in stderr and stdout == "", (code, stderr)
        for price, views in ((1e-6, 1), (1, 0)):
            with open(os.path.join(folder, "costs.json"), "w", encoding="utf-8") as f:
                json.dump({"format": "mullion-calibration/1", "families": {"sum": {"build_row_ms": price}}}, f)
            assert len(json.loads(run(calibrated)[1])["views"]) == views, price
        with open(os.path.join(folder, "costs.json"), "w", encoding="utf-8") as f:
            f.write('{"format": "mullion-calibration/9"}')
        code, stdout, stderr = run(calibrated)
        assert code == 1 and "costs.json:1:12: format" in stderr and stdout == "", (code, stderr)

        check_tables(folder)
        check_passed_through()
        assert run(os.path.join(folder, "none.yaml"))[0] == 1
        assert run(good, "-o", os.path.join(folder, "no", "plan.json"))[0] == 1
        for usage in ([], [good, bad], [good, "--seed", "-1"], [good, "--colour"]):
            assert run(*usage)[0] == 2, usage
        assert run("--version")[1].startswith("mullion-plan ") and run("--help")[0] == 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
