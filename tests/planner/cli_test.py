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

        assert run(os.path.join(folder, "none.yaml"))[0] == 1
        assert run(good, "-o", os.path.join(folder, "no", "plan.json"))[0] == 1
        for usage in ([], [good, bad], [good, "--seed", "-1"], [good, "--colour"]):
            assert run(*usage)[0] == 2, usage
        assert run("--version")[1].startswith("mullion-plan ") and run("--help")[0] == 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
