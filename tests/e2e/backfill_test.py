#!/usr/bin/env python3
"""Two months of samples at once, of series that begin before all that is there: taken, in the answers, and bounded in memory.

The server has a workload whose windows are kept up to date with the newest samples meanwhile, and is killed at the end.

usage: backfill_test.py MULLION
"""
import pathlib
import sys

import harness
from limits_test import resident

MEBIBYTE = 1 << 20
END_MS = 1_700_000_040_000
DAY_MS, STEP_MS = 86_400_000, 60_000
DAYS, SERIES, CHUNK_DAYS = 60, 10, 5
MOST = 64 * MEBIBYTE


def live(c, server, k):
    """The k-th newest sample, and the planned query over it and those before."""
    at_ms = END_MS + k * 10_000
    c.equal(harness.send(server, [({"__name__": "m", "s": "live"}, [(at_ms, float(k))])])[0], 204, "a live sample")
    got = harness.instant(server, 'sum_over_time(m[1m]) and m{s="live"}', at_ms / 1000)
    c.equal([r["value"][1] for r in got["data"]["result"]], [str(sum(range(max(0, k - 5), k + 1)))], f"live answer {k}")


def check_old(c, server, when):
    """A count of an hour of all, 50, 30 and 10 days ago, and each day's highest: of values that are minutes since the start."""
    for days in (50, 30, 10):
        at_s = (END_MS - days * DAY_MS) / 1000
        got = harness.instant(server, 'count_over_time(m{s=~"old.*"}[1h])', at_s)["data"]["result"]
        c.equal([r["value"][1] for r in got], ["60"] * SERIES, f"{when}: samples in an hour {days} days ago")
        got = harness.instant(server, 'max(max_over_time(m{s=~"old.*"}[1d]))', at_s)["data"]["result"]
        c.equal([r["value"][1] for r in got], [str((DAYS - days) * 1440)], f"{when}: the highest of a day, {days} days ago")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("backfill") as directory:
        (directory / "workload.yaml").write_text("queries:\n  - query: sum_over_time(m[1m])\n    every: 10s\n"
                                                 "  - query: count_over_time(m[1h])\n    every: 1m\n")
        server = harness.mullion(binary, directory / "data", "--workload", directory / "workload.yaml", "--raw-retention", "90d")
        with server:
            for k in range(7):
                live(c, server, k)
            before = most = resident(server)
            start_ms = END_MS - DAYS * DAY_MS
            for day in range(0, DAYS, CHUNK_DAYS):
                minutes = range(day * 1440, (day + CHUNK_DAYS) * 1440)
                for s in range(SERIES):
                    rows = [({"__name__": "m", "s": f"old{s}"}, [(start_ms + k * STEP_MS, float(k)) for k in minutes])]
                    status, text = harness.send(server, rows)
                    c.equal(status, 204, f"old samples ({text})")
                live(c, server, 7 + day // CHUNK_DAYS)
                most = max(most, resident(server))
            print(f"resident: {before // MEBIBYTE} MiB before, {most // MEBIBYTE} MiB at most", flush=True)
            program = binary.read_bytes()
            sanitized = b"__asan_init" in program or b"__tsan_init" in program
            c.that(sanitized or most - before < MOST, f"{(most - before) // MEBIBYTE} MiB more than before")
            check_old(c, server, "after the batch")
            server.kill()
            server.start()
            check_old(c, server, "after a kill")
            live(c, server, 7 + DAYS // CHUNK_DAYS)
    c.finish()


if __name__ == "__main__":
    main()
