#!/usr/bin/env python3
"""Queries over each limit: time, samples, series, memory, depth, size of a pattern and of the text. Each gets the status and errorType that
Prometheus' clients know, the memory it had comes back, and the server answers on.

usage: limits_test.py MULLION
"""
import json
import pathlib
import sys
import time
import urllib.parse

import harness

MEBIBYTE = 1 << 20
END_MS = 1_700_000_040_000
SERIES, SAMPLES, STEP_MS = 400, 400, 15_000
FLAGS = ["--query-max-samples", "2000000", "--query-max-series", "500", "--query-max-memory", "96MiB"]
ROUNDS, SLACK = 8, 32 * MEBIBYTE  # what an allocator may keep for later: less than 4 MiB a round


def resident(server):
    for line in pathlib.Path(f"/proc/{server.process.pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def ask(server, query, path="query", **more):
    """(status, errorType, error or the value of the first series) of a query by POST."""
    begin = {"start": (END_MS - (SAMPLES - 1) * STEP_MS) / 1000, "end": END_MS / 1000} if path == "query_range" else {"time": END_MS / 1000}
    body = urllib.parse.urlencode({"query": query, **begin, **more}).encode()
    status, _, text = harness.request(f"{server.url}/api/v1/{path}", body, {"Content-Type": "application/x-www-form-urlencoded"})
    answer = json.loads(text)
    if status != 200:
        return status, answer["errorType"], answer["error"]
    result = answer["data"]["result"]
    return status, None, result[0]["value"][1] if result and isinstance(result[0], dict) and "value" in result[0] else None


def load(c, server):
    for part in range(4):
        rows = [({"__name__": "m", "i": str(i)}, [(END_MS - k * STEP_MS, float((i + k) % 97)) for k in reversed(range(SAMPLES))])
                for i in range(part, SERIES, 4)]
        c.equal(harness.send(server, rows)[0], 204, "samples")
    c.equal(harness.send(server, [({"__name__": "other", "i": str(i)}, [(END_MS, 1.0)]) for i in range(200)])[0], 204, "samples")


# ---- over a limit ----

OVER = [  # what, query, parameters, status, errorType, words
    ("time", "quantile_over_time(0.5, m[90m])", {"path": "query_range", "step": 1, "timeout": "20ms"}, 503, "timeout", "query timed out"),
    ("samples", "sum(count_over_time(m[90m])) " + "+ sum(count_over_time(m[90m]))" * 20, {}, 422, "execution",
     "query processing would load too many samples into memory"),
    ("steps of a subquery", "sum_over_time(vector(1)[100y:1s])", {}, 422, "execution", "a subquery evaluates its expression at 3153600000 times"),
    ("series", '{__name__=~"m|other"}', {}, 422, "execution", "matches 600 series, more than the limit of 500"),
    ("memory", "-m + m * m", {"path": "query_range", "step": 1}, 422, "execution", "uses more than 96 MiB of memory"),
    ("points", "m", {"path": "query_range", "step": "0.5"}, 400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries"),
    ("subqueries in subqueries", "max_over_time(" * 100 + "m" + "[1h:1s])" * 100, {}, 422, "execution",
     "uses more than 96 MiB of memory"),
    ("depth", "(" * 251 + "m" + ")" * 251, {}, 400, "bad_data", "nested more than 250 levels deep"),
    ("depth of signs", "-" * 500_000 + "m", {}, 400, "bad_data", "nested more than 250 levels deep"),
    ("depth of operators", "1^" * 400_000 + "1", {}, 400, "bad_data", "nested more than 250 levels deep"),
    ("a pattern of patterns", 'm{i=~"((a{1000}){1000}){1000}"}', {}, 400, "bad_data", "1:"),
    ("a pattern in a call", 'label_replace(m, "a", "$1", "i", "((a{1000}){1000}){1000}")', {}, 422, "execution", "label_replace"),
    ("length of text", "m # " + "x" * MEBIBYTE, {}, 400, "bad_data", "expression is 1048580 bytes long"),
    ("a mebibyte of operators", "m or " * 200_000 + "m", {}, 400, "bad_data", "1:"),
]


def check_over(c, server):
    for what, query, more, status, kind, words in OVER:
        begun = time.monotonic()
        got = ask(server, query, **more)
        c.that(got[:2] == (status, kind) and words in got[2], f"over its {what}: {got[0]} {got[1]} {str(got[2])[:300]}")
        c.that(time.monotonic() - begun < 10, f"over its {what}: {time.monotonic() - begun:.1f} s until it was said")
        c.equal(ask(server, 'm{i="7"}')[2], "7", f"an honest query after one over its {what}")


# ---- just inside ----

def check_inside(c, server):
    """What is large but allowed is answered."""
    c.equal(ask(server, "(" * 200 + 'm{i="7"}' + ")" * 200)[2], "7", "parentheses 200 deep")
    c.equal(ask(server, "sum(" * 200 + "m" + ")" * 200)[2], str(sum(i % 97 for i in range(SERIES))), "sums 200 deep")
    c.equal(ask(server, "-" * 200 + 'm{i="7"}')[2], "7", "signs 200 deep")
    c.equal(ask(server, "count(m) #" + "x" * (MEBIBYTE - 20))[2], str(SERIES), "a text of nearly a mebibyte")
    # Backtracking would take for ever; a pattern that is matched in linear time does not.
    begun = time.monotonic()
    c.equal(ask(server, 'count(label_replace(m, "a", "' + "x" * 5000 + '", "", "")) - count(m{i!~"(x+x+)+y|(([0-9]+)*)*z"})')[2], "0", "a pattern that backtracks")
    c.that(time.monotonic() - begun < 10, "a pattern that backtracks is soon matched")


def check_memory(c, server, binary):
    """The same again and again: what was taken is given back. (A sanitizer keeps freed memory, and finds leaks by itself.)"""
    program = binary.read_bytes()
    sanitized = b"__asan_init" in program or b"__tsan_init" in program
    before = resident(server)
    for _ in range(ROUNDS):
        check_over(c, server)
    deadline = time.monotonic() + 20
    while not sanitized and resident(server) > before + SLACK and time.monotonic() < deadline:
        time.sleep(0.5)
    after = resident(server)
    print(f"resident: {before // MEBIBYTE} MiB, after {ROUNDS} rounds of {len(OVER)} queries {after // MEBIBYTE} MiB", flush=True)
    c.that(sanitized or after <= before + SLACK, f"{after // MEBIBYTE} MiB resident, {before // MEBIBYTE} MiB before")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("limits") as directory:
        with harness.mullion(binary, directory / "data", *FLAGS) as server:
            load(c, server)
            check_inside(c, server)
            check_memory(c, server, binary)
            status, text = harness.send(server, [({"__name__": "m", "i": "7"}, [(END_MS + 1000, 8.0)])])
            c.equal(status, 204, f"a write afterwards ({text})")
            c.equal(harness.request(server.url + "/-/healthy")[0], 200, "healthy")
            c.equal(server.stop(), 0, "SIGTERM ends it with 0")
    c.finish()


if __name__ == "__main__":
    main()
