#!/usr/bin/env python3
"""A data directory without a server: the same answers as with it, and what is no data directory is left as it is.

usage: directory_test.py MULLION
"""
import json
import pathlib
import shutil
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


# ---- what makes no directory ----

def tree(path):
    return {str(p.relative_to(path)): p.read_bytes() for p in sorted(path.rglob("*")) if p.is_file()}


def check_refusals(c, binary, directory):
    """A server that cannot start leaves no directory behind."""
    fresh, bad = directory / "fresh", directory / "bad.yaml"
    bad.write_text("queries:\n  - query: up{\n")
    serve = [binary, "serve", "--data-dir", fresh]
    for address in ("19397", ":19397", "127.0.0.1:99999", "0.0.0.0:1", "127.0.0.1:", "127.0.0.1:http"):
        status, _, text = run([*serve, "--listen", address])
        c.that(status == 2 and f"--listen {address}" in text, f"--listen {address}: {status} {text!r}")
        c.equal(run([binary, "demo", "--data-dir", fresh, "--listen", address])[0], 2, f"demo --listen {address}")
    with harness.mullion(binary, directory / "holder") as server:
        status, _, text = run([*serve, "--listen", f"127.0.0.1:{server.port}"])
        c.that(status == 1 and "already in use" in text, f"a port in use: {status} {text!r}")
    for name in ("bad.yaml", "missing.yaml"):
        status, _, text = run([*serve, "--listen", "127.0.0.1:0", "--workload", directory / name])
        c.that(status == 1 and name in text, f"{name}: {status} {text!r}")
    c.equal(run([*serve, "--listen", "127.0.0.1:0", "--plan", directory / "none.json"])[0], 1, "a missing plan file")
    alone = directory / "bin" / "mullion"
    alone.parent.mkdir()
    shutil.copy(binary, alone)
    good = directory / "good.yaml"
    good.write_text("queries:\n  - {query: 'sum(rate(x[5m]))', every: 30s}\n")
    status, _, text = run([alone, *serve[1:], "--listen", "127.0.0.1:0", "--workload", good])
    c.that(status == 1 and "mullion-plan" in text, f"no mullion-plan: {status} {text!r}")
    c.that(not fresh.exists(), "nothing was made")
    status, _, text = run([binary, "serve", "--data-dir", fresh / "b" / "c", "--listen", "127.0.0.1:0"])
    c.that(status == 1 and "its parent does not exist" in text, f"no parent: {status} {text!r}")
    status, _, text = run([binary, "serve", "--data-dir", good, "--listen", "127.0.0.1:0"])
    c.that(status == 1 and f"{good} is a file" in text, f"a file: {status} {text!r}")
    with harness.mullion(binary, fresh, "--workload", good):
        c.equal((fresh / "plan.json").stat().st_mode & 0o777, 0o600, "the plan is its owner's")


def check_foreign(c, binary, directory):
    other = directory / "prometheus"
    (other / "wal").mkdir(parents=True)
    (other / "wal" / "00000000").write_bytes(b"theirs" * 100)
    (other / "wal" / "00000000000000000001.wal").write_bytes(b"theirs" * 100)
    before = tree(other)
    for command in ("serve", "demo"):
        status, _, text = run([binary, command, "--data-dir", other, "--listen", "127.0.0.1:0"])
        c.that(status == 1 and "is not empty and is not a mullion data directory" in text, f"{command}: {status} {text!r}")
    c.equal(tree(other), before, "every file is as it was")


def check_lost(c, binary, data):
    (data / "store.mdb").unlink()
    with harness.mullion(binary, data) as server:
        text = server.log.read_text()
        c.that(any("level=warn" in line and "everything older than the log is lost" in line for line in text.splitlines()),
               f"a missing store.mdb is said: {server.tail()}")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("directory") as directory:
        check_answers(c, binary, directory)
        check_lost(c, binary, directory / "data")
        check_foreign(c, binary, directory)
        check_refusals(c, binary, directory)
    c.finish()


if __name__ == "__main__":
    main()
