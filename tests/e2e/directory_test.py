#!/usr/bin/env python3
"""A data directory without a server: the same answers as with it, and what is no data directory is left as it is.

usage: directory_test.py MULLION
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

SERIES, STEPS = 40, 500
QUERIES = ["count_over_time(load[1h])", "sum_over_time(load[1h])", "load", "quantile_over_time(0.9, load[5m])",
           "sum by (job) (rate(load[5m]))", "count({__name__=~'.+'})"]


def run(argv, timeout=60):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def send(c, server, first_s, steps):
    for at in range(first_s, first_s + steps, 50):
        rows = [({"__name__": "load", "job": f"j{s % 4}", "instance": str(s)},
                 [((at + k) * 1000, float((at + k) * 7919 % 10007 + s)) for k in range(min(50, first_s + steps - at))])
                for s in range(SERIES)]
        c.equal(harness.send(server, rows)[0], 204, "a write")


# ---- answers ----

def check_offline(c, binary, data, server, at_s, how):
    """Ask the server, end it as `how` says, and ask its directory."""
    want = {q: harness.instant(server, q, at_s, exact=1) for q in QUERIES}
    counts = set(v for points in harness.by_labels(want[QUERIES[0]]).values() for v in points.values())
    status, out, text = run([binary, "query", "--data-dir", data, "--time", at_s, "load"])
    c.that(status == 1 and f"(pid {server.process.pid})" in text and "--server" in text and not out,
           f"a server holds it: {status} {text!r}")
    server.kill() if how == "killed" else server.stop()
    for query in QUERIES:
        status, out, text = run([binary, "query", "--data-dir", data, "--time", at_s, "--format", "json", query])
        if not c.equal(status, 0, f"{how}: {query}: {text!r}"):
            continue
        found = harness.differences(json.loads(out), want[query], 0)
        c.that(not found, f"{how}: {query}: {found[:2]}")
    return counts


def check_answers(c, binary, directory):
    data, start_s = directory / "data", int(time.time()) - 2 * STEPS - 10
    for i, how in enumerate(("killed", "stopped", "killed")):
        with harness.mullion(binary, data) as server:
            send(c, server, start_s + i * STEPS // 2, STEPS // 2)
            counts = check_offline(c, binary, data, server, start_s + (i + 1) * STEPS // 2, how)
            c.equal(counts, {float((i + 1) * STEPS // 2)}, "samples of each series")
    status, out, text = run([binary, "check", data])
    c.that(status == 0 and f"{SERIES} series" in out, f"check: {status} {out!r} {text!r}")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("directory") as directory:
        check_answers(c, binary, directory)
    c.finish()


if __name__ == "__main__":
    main()
