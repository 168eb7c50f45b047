#!/usr/bin/env python3
"""`mullion demo` from start to end: history at once, a quantile answered from panes within its guarantee, live samples.

usage: demo_test.py MULLION
"""
import bisect
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

SERIES, RANGE_S = 300, 300


def wait_for(what, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return True
        time.sleep(0.1)
    return False


def check_ranks(c, server, at):
    """Each estimate's rank among the samples it stands for; the guarantee is 0.01 with probability 0.99."""
    query = "quantile_over_time(0.99, latency_ms[5m])"

    def source():
        return harness.instant(server, query, at)["headers"]["X-Mullion-Source"]

    # The newest window may not be refreshed yet, or hold a series that came late: after the lateness neither is so.
    c.that(wait_for(lambda: source() == "panes", 90), f"the planned quantile comes from panes: {source()}")
    answer = harness.instant(server, query, at)
    c.that(any("KLL" in info for info in answer.get("infos", [])), f"its guarantee is in infos: {answer.get('infos')}")
    estimates = harness.by_labels(answer)
    samples = harness.instant(server, "latency_ms[5m]", at)["data"]["result"]
    c.equal((len(estimates), len(samples)), (SERIES, SERIES), "series")
    outside = 0
    for series in samples:
        values = sorted(float(v) for _, v in series["values"])
        labels = tuple(sorted((k, v) for k, v in series["metric"].items() if k != "__name__"))
        estimate = next(iter(estimates[labels].values()))
        rank = bisect.bisect_right(values, estimate) / len(values)
        outside += abs(rank - 0.99) > 0.01 + 1 / len(values)
    c.that(outside <= SERIES // 20, f"{outside} of {SERIES} estimates are outside the guarantee")
    exact = harness.instant(server, query, at, exact=1)
    c.equal(exact["headers"]["X-Mullion-Source"], "raw", "exact=1 reads raw samples")
    c.that(not exact.get("infos"), "and has no guarantee to state")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("demo") as directory:
        port = harness.free_port()
        argv = [binary, "demo", "--data-dir", directory / "data", "--listen", f"127.0.0.1:{port}", "--series", SERIES,
                "--history", "8m"]
        with harness.Server(argv, port, directory / "log") as server:
            said = wait_for(lambda: "samples of the last minutes are in" in server.log.read_text(), 60)
            c.that(said, f"it says when history is in: {server.tail()}")
            c.that("curl" in server.log.read_text() and server.url in server.log.read_text(), "and what to try")
            at = int(time.time()) // 10 * 10
            c.that(wait_for(lambda: all((v["sealedTo"] or 0) > at - 60 for v in harness.api(server, "views")["data"]), 30),
                   "windows are sealed up to the lateness")
            check_ranks(c, server, at)
            rates = harness.instant(server, "sum by (job) (rate(http_requests_total[5m]))", at)["data"]["result"]
            c.that(len(rates) == 10 and all(float(r["value"][1]) > 0 for r in rates), f"rates of ten jobs: {rates}")
            c.that(len(harness.api(server, "views")["data"]) > 0, "views are listed")
            stored = harness.metric_value(server, "mullion_samples_stored_total")
            c.that(wait_for(lambda: harness.metric_value(server, "mullion_samples_stored_total") > stored, 10),
                   "live samples follow")
            c.equal(server.stop(), 0, "SIGTERM ends it with 0")
        c.that("not all taken" not in server.log.read_text(), f"every sample was taken: {server.tail()}")
    c.finish()


if __name__ == "__main__":
    main()
