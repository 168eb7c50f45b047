#!/usr/bin/env python3
"""Queries from raw samples: mullion without a plan, Debian's Prometheus 2.42 and a Prometheus 3, side by side in one run.

The same samples go to all of them by remote write: counters of 10,000 series, 600 samples each, 15 s apart. Then each query is asked of
each server in turn; what counts is the server's own CPU (user and system, all threads), the least of all repeats, so that another
process on the machine disturbs little. Answers must agree to 1e-9.
"""
import argparse
import contextlib
import csv
import json
import pathlib
import random
import shutil
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from run import Peer, harness, snappy_compressor, table  # noqa: E402

INTERVAL_MS, BLOCK = 15000, 4  # samples of one series in a request
REQUEST_SERIES = 2000
QUERIES = [  # (what it is, PromQL, seconds of a range query)
    ("sum_over_time", "sum_over_time(requests_total[5m])", 0),
    ("rate by job", "sum by (job) (rate(requests_total[5m]))", 0),
    ("topk", "topk(10, rate(requests_total[5m]))", 0),
    ("quantile by job", "quantile by (job) (0.9, rate(requests_total[5m]))", 0),
    ("count of counts", "count(count by (instance) (requests_total))", 0),
    ("1 h at 15 s", "sum by (job) (rate(requests_total[5m]))", 3600),
    ("join", "sum by (team) (rate(requests_total[5m]) * on (job) group_left (team) job_info)", 0),
]


class Counters:
    """Series and their samples, in requests that are in order of time; counters of whole requests, a reset now and then."""

    def __init__(self, series_n, samples_n, seed):
        self.draw = random.Random(seed)
        self.labels = [harness.label_fields({"__name__": "requests_total", "instance": f"10.0.{i // 250}.{i % 250}:9100",
                                             "job": f"api-{i % 10}", "namespace": f"team-{i % 40}", "path": f"/v1/resource/{i % 100}",
                                             "zone": "abc"[i % 3]}) for i in range(series_n)]
        self.values = [0.0] * series_n
        for job in range(10):
            self.labels.append(harness.label_fields({"__name__": "job_info", "job": f"api-{job}", "team": f"team-{job % 3}"}))
            self.values.append(None)
        self.samples_n = samples_n
        self.end_s = int(time.time()) // 15 * 15
        # Half a second off the grid: 2.42's ranges are closed on the left.
        self.start_ms = self.end_s * 1000 - samples_n * INTERVAL_MS + 500
        self.compress = snappy_compressor()

    def next_value(self, i):
        if self.values[i] is None:
            return 1.0
        self.values[i] = 0.0 if self.draw.random() < 1e-3 else self.values[i] + int(self.draw.expovariate(0.02))
        return self.values[i]

    def requests(self):
        for block in range(0, self.samples_n, BLOCK):
            times = [harness.varint(self.start_ms + (block + k) * INTERVAL_MS) for k in range(min(BLOCK, self.samples_n - block))]
            for first in range(0, len(self.labels), REQUEST_SERIES):
                pieces = []
                for i in range(first, min(first + REQUEST_SERIES, len(self.labels))):
                    samples = [b"\x09" + struct.pack("<d", self.next_value(i)) + b"\x10" + t for t in times]
                    body = self.labels[i] + b"".join(harness.field(2, s) for s in samples)
                    pieces.append(harness.field(1, body))
                yield self.compress(b"".join(pieces))


def ask(peer, query, time_s, span_s):
    """(CPU seconds, seconds, answer)"""
    if span_s:
        path = "/api/v1/query_range?" + urllib.parse.urlencode({"query": query, "start": time_s - span_s, "end": time_s, "step": 15})
    else:
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": query, "time": time_s})
    cpu, begun = peer.cpu_s(), time.perf_counter()
    peer.connection.request("GET", path)
    answer = peer.connection.getresponse()
    body = answer.read()
    took, cpu = time.perf_counter() - begun, peer.cpu_s() - cpu
    if answer.status != 200:
        raise RuntimeError(f"{peer.name} answered {answer.status}: {body[:300]!r}")
    return cpu, took, body


def measure(peers, load, repeats):
    """{query: {peer: (CPU s, s)}}, the least of each; the first round only warms up, and its answers are compared."""
    least = {}
    for name, query, span_s in QUERIES:
        best = {p.name: (float("inf"), float("inf")) for p in peers}
        for repeat in range(repeats + 1):
            answers = {}
            for k in range(len(peers)):
                peer = peers[(k + repeat) % len(peers)]
                cpu, took, answers[peer.name] = ask(peer, query, load.end_s, span_s)
                if repeat:
                    best[peer.name] = (min(best[peer.name][0], cpu), min(best[peer.name][1], took))
            if repeat:
                continue
            ours = json.loads(answers[peers[0].name])
            if not ours["data"]["result"]:
                raise RuntimeError(f"{query} has no result")
            for peer in peers[1:]:
                wrong = harness.differences(ours, json.loads(answers[peer.name]))
                if wrong:
                    raise RuntimeError(f"{query}: mullion and {peer.name} differ: {wrong[:3]}")
        least[name] = best
    return least


def run(options, directory):
    binary = pathlib.Path(options.build) / "mullion"
    flags = ["--web.enable-remote-write-receiver", "--query.max-samples=500000000"]
    peers = [Peer("mullion", harness.mullion(binary, directory / "raw")),
             Peer("prometheus 2.42", harness.prometheus("prometheus", directory / "p2", flags=flags))]
    path, version = harness.reference(harness.ROOT / ".cache" / "prometheus3")
    if path:
        peers.append(Peer(" ".join(version.split()[0:3:2]).replace(",", ""), harness.prometheus(path, directory / "p3", flags=flags)))
    else:
        print(f"without a Prometheus 3: {version}")
    load = Counters(options.series, options.samples, options.seed)
    with contextlib.ExitStack() as running:
        for peer in peers:
            running.enter_context(peer.server)
            peer.connect()
        for body in load.requests():
            for peer in peers:
                peer.write(body)
        time.sleep(3)
        least = measure(peers, load, options.repeats)

    def cell(ours, theirs):
        return f"{theirs * 1000:.2f} ({ours / theirs:.3f}x)"

    rows, lines = [], []
    for name, query, _ in QUERIES:
        best = [least[name][p.name] for p in peers]
        rows.append([name, f"{best[0][0] * 1000:.2f}", *(cell(best[0][0], b[0]) for b in best[1:]), f"{best[0][1] * 1000:.2f}",
                     *(cell(best[0][1], b[1]) for b in best[1:])])
        lines.append([name, query, *(f"{1000 * v:.4g}" for b in best for v in b)])
    print(f"{options.series} counters, {options.samples} samples each, 15 s apart; least of {options.repeats}; seed {options.seed}. "
          "Server CPU in ms a query, then latency in ms; in brackets ours / theirs. All answers agree to 1e-9\n")
    print(table([["query", *(f"CPU {p.name}" for p in peers), *(f"latency {p.name}" for p in peers)]] + rows))
    with open(options.csv, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["query", "PromQL", *(f"{p.name}, {what} ms" for p in peers for what in ("CPU", "latency"))])
        writer.writerows(lines)
    print(f"written: {options.csv}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build directory with mullion (release build)")
    parser.add_argument("--series", type=int, default=10000)
    parser.add_argument("--samples", type=int, default=600, help="of each series; the range query reads back 1 h 5 m")
    parser.add_argument("--repeats", type=int, default=15)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", help="where the table goes (default: queries.csv in the build directory)")
    options = parser.parse_args()
    if options.samples < 300:
        parser.error("--samples: the range query reads back 260")
    options.csv = options.csv or str(pathlib.Path(options.build) / "queries.csv")
    if not shutil.which("prometheus"):
        sys.exit("bench needs Debian's prometheus beside mullion: apt-get install prometheus")
    with harness.scratch("bench") as directory:
        run(options, directory)


if __name__ == "__main__":
    sys.exit(main())
