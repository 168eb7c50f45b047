#!/usr/bin/env python3
"""Measured figures: mullion with panes, mullion without a plan, and Debian's Prometheus 2.42, side by side in one run.

The same remote-write bytes go to all three, request by request: every series has one sample a second, 2,000 samples a request.
Then the planned query, p99 over 5m of every series, is asked of panes, of raw samples (exact=1) and of Prometheus in turn.
Prints a table, writes it as CSV. Ratios are against Prometheus in the same run: absolute figures depend on the machine.
"""
import argparse
import csv
import ctypes
import http.client
import json
import pathlib
import random
import shutil
import struct
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "tests" / "e2e"))
import harness  # noqa: E402

QUERY = "quantile_over_time(0.99, latency_ms[5m])"
WORKLOAD = f"""queries:
  - {{query: "{QUERY}", every: 10s, accuracy: {{rank: 0.01}}}}
data:
  metrics:
    latency_ms: {{type: gauge, series: SERIES, interval: 1s, distribution: lognormal}}
  raw_retention: 0
"""
REQUEST_SAMPLES = 2000
WINDOW_S, STEP_S, QUERY_TIMES = 300, 10, 6


def snappy_compressor():
    """libsnappy if it is there; else the harness' literals, which are valid but not smaller."""
    try:
        library = ctypes.CDLL("libsnappy.so.1")
    except OSError:
        return harness.snappy
    library.snappy_max_compressed_length.restype = ctypes.c_size_t
    library.snappy_max_compressed_length.argtypes = [ctypes.c_size_t]

    def compress(data):
        size = ctypes.c_size_t(library.snappy_max_compressed_length(len(data)))
        out = ctypes.create_string_buffer(size.value)
        if library.snappy_compress(data, ctypes.c_size_t(len(data)), out, ctypes.byref(size)) != 0:
            raise RuntimeError("snappy_compress failed")
        return out.raw[:size.value]

    return compress


class Load:
    """Requests of rounds: each series one sample, three-decimal lognormal latencies, half a second off the grid."""

    def __init__(self, series_n, rounds, seed):
        draw = random.Random(seed)
        self.pool = [struct.pack("<d", round(draw.lognormvariate(3, 1), 3)) for _ in range(1 << 16)]
        self.prefix = [self.series_prefix(i) for i in range(series_n)]
        self.end_s = int(time.time()) // STEP_S * STEP_S
        self.start_ms = (self.end_s - rounds) * 1000 + 500
        self.rounds = rounds
        self.compress = snappy_compressor()
        self.wire_bytes = 0

    @staticmethod
    def series_prefix(i):
        """Everything of the series' message before its sample's value; the sample is 16 bytes (field 1 value, field 2 time)."""
        labels = {"__name__": "latency_ms", "cluster": "eu-west-1", "instance": f"10.0.{i // 250}.{i % 250}:9100", "job": f"api-{i % 10}",
                  "namespace": f"team-{i % 40}", "pod": f"api-{i % 10}-{i:05x}", "route": f"/v1/resource/{i % 100}",
                  "zone": "abc"[i % 3]}
        body = harness.label_fields(labels)
        return b"\x0a" + harness.varint(len(body) + 18) + body + b"\x12\x10\x09"

    def requests(self, round_n):
        tail = b"\x10" + harness.varint(self.start_ms + round_n * 1000)
        assert len(tail) == 7, "the time takes six bytes"
        pool, offset = self.pool, round_n * 40503
        for first in range(0, len(self.prefix), REQUEST_SAMPLES):
            pieces = [self.prefix[i] + pool[(i * 7919 + offset) & 65535] + tail
                      for i in range(first, min(first + REQUEST_SAMPLES, len(self.prefix)))]
            body = self.compress(b"".join(pieces))
            self.wire_bytes += len(body)
            yield body


class Peer:
    """One server under test, its connection, and what /proc says of it."""

    def __init__(self, name, server, write_path="/api/v1/write"):
        self.name, self.server, self.write_path = name, server, write_path
        self.figures = {}

    def connect(self):
        self.connection = http.client.HTTPConnection("127.0.0.1", self.server.port, timeout=120)

    def cpu_s(self):
        """User and system time of all its threads, as in /proc/PID/stat but in nanoseconds: its clock_getcpuclockid."""
        return time.clock_gettime(~self.server.process.pid << 3 | 2)

    def memory_mib(self, what):
        for line in pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines():
            if line.startswith(what + ":"):
                return int(line.split()[1]) / 1024
        return 0.0

    def write(self, body):
        self.connection.request("POST", self.write_path, body, harness.WRITE_HEADERS)
        answer = self.connection.getresponse()
        text = answer.read()
        if answer.status // 100 != 2:
            raise RuntimeError(f"{self.name} answered {answer.status}: {text[:200]!r}")

    def ask(self, time_s, **more):
        """(seconds, CPU seconds, body, source header) of the planned query at one time."""
        path = "/api/v1/query?" + urllib.parse.urlencode({"query": QUERY, "time": time_s, **more})
        cpu, begun = self.cpu_s(), time.perf_counter()
        self.connection.request("GET", path)
        answer = self.connection.getresponse()
        body = answer.read()
        took = time.perf_counter() - begun
        if answer.status != 200:
            raise RuntimeError(f"{self.name} answered {answer.status}: {body[:300]!r}")
        return took, self.cpu_s() - cpu, body, answer.headers.get("X-Mullion-Source", "")


def disk_bytes(path):
    """Allocated bytes of a file, or of all files below a directory: sparse room is not counted."""
    path = pathlib.Path(path)
    files = [path] if path.is_file() else [f for f in path.rglob("*") if f.is_file()]
    return sum(f.stat().st_blocks * 512 for f in files)


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, round(share * (len(values) - 1)))]


def measure_ingest(peers, load):
    """CPU seconds per million samples: of the first round, where every series is new, and of the others."""
    series_n = len(load.prefix)
    for round_n in range(load.rounds):
        if round_n < 2:
            time.sleep(1)
            for peer in peers:
                peer.mark = getattr(peer, "mark", []) + [peer.cpu_s()]
        for number, body in enumerate(load.requests(round_n)):
            for k in range(len(peers)):
                peers[(k + number) % len(peers)].write(body)
    time.sleep(3)
    for peer in peers:
        start, steady = peer.mark
        peer.figures["cpu_new"] = (steady - start) / series_n * 1e6
        peer.figures["cpu_steady"] = (peer.cpu_s() - steady) / (series_n * (load.rounds - 1)) * 1e6
        peer.figures["rss_mib"], peer.figures["rss_peak_mib"] = peer.memory_mib("VmRSS"), peer.memory_mib("VmHWM")


def measure_queries(panes, prometheus, load, repeats):
    """The three ways in turn over the last grid times; returns {way: ([seconds], CPU seconds)} and what the answers were."""
    ways = [("panes", panes, {}), ("exact=1", panes, {"exact": 1}), ("prometheus 2.42", prometheus, {})]
    took, cpu, answers = {w[0]: [] for w in ways}, {w[0]: 0.0 for w in ways}, {}
    for repeat in range(repeats + 1):
        time_s = load.end_s - STEP_S * (repeat % QUERY_TIMES)
        for k in range(len(ways)):
            name, peer, more = ways[(k + repeat) % len(ways)]
            seconds, used, body, source = peer.ask(time_s, **more)
            if name != "prometheus 2.42" and source != {"panes": "panes", "exact=1": "raw"}[name]:
                raise RuntimeError(f"the answer for {name} came from {source}")
            if repeat == 0:  # warms each of them up, and is what is compared
                answers[name] = body
            else:
                took[name].append(seconds)
                cpu[name] += used
    return took, cpu, answers


def values_of(body):
    return {json.dumps(s["metric"], sort_keys=True): float(s["value"][1]) for s in json.loads(body)["data"]["result"]}


def compare(answers, series_n):
    """One sentence on whether the three answers agree; the run fails when they do not."""
    panes, exact, theirs = (values_of(answers[name]) for name in ("panes", "exact=1", "prometheus 2.42"))
    if not len(panes) == len(exact) == len(theirs) == series_n:
        raise RuntimeError(f"series answered: {len(panes)}, {len(exact)}, {len(theirs)} of {series_n}")
    wrong = [k for k in exact if not harness.close(exact[k], theirs[k])]
    if wrong:
        raise RuntimeError(f"exact=1 differs from Prometheus in {len(wrong)} series: {wrong[0]}")
    off = sorted(abs(panes[k] - exact[k]) / exact[k] for k in exact)
    return (f"exact=1 equals Prometheus in all {series_n} series; panes differ from it by {off[len(off) // 2]:.2%} (median), "
            f"{off[-1]:.2%} (most), within rank 0.01 as asked")


def prometheus_block_bytes(server):
    """Size of the block that the head makes, through the snapshot call: what a sample takes at rest."""
    status, _, body = harness.request(server.url + "/api/v1/admin/tsdb/snapshot", b"", method="POST")
    if status != 200:
        return None
    name = json.loads(body)["data"]["name"]
    directory = next(a.split("=", 1)[1] for a in server.argv if a.startswith("--storage.tsdb.path="))
    return disk_bytes(pathlib.Path(directory) / "snapshots" / name)


def table(rows):
    widths = [max(len(row[c]) for row in rows) for c in range(len(rows[0]))]
    lines = ["  ".join(cell.ljust(w) if c == 0 else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths))) for row in rows]
    return "\n".join([lines[0], "-" * len(lines[0])] + lines[1:])


def run(options, directory):
    workload = directory / "workload.yaml"
    workload.write_text(WORKLOAD.replace("SERIES", str(options.series)))
    binary = pathlib.Path(options.build) / "mullion"
    peers = [
        Peer("mullion, panes", harness.mullion(binary, directory / "panes", "--workload", workload)),
        Peer("mullion, raw only", harness.mullion(binary, directory / "raw")),
        Peer("prometheus 2.42", harness.prometheus("prometheus", directory / "prometheus", flags=[
            "--web.enable-remote-write-receiver", "--web.enable-admin-api", "--query.max-samples=500000000"]))]
    panes, raw, theirs = peers
    load = Load(options.series, options.rounds, options.seed)
    samples = options.series * options.rounds
    with panes.server, raw.server, theirs.server:
        for peer in peers:
            peer.connect()
        measure_ingest(peers, load)
        took, cpu, answers = measure_queries(panes, theirs, load, options.repeats)
        block = prometheus_block_bytes(theirs.server)
    stored = {p.name: disk_bytes(directory / d / "store.mdb") for p, d in ((panes, "panes"), (raw, "raw"))}
    verdict = compare(answers, options.series)

    def row(figure, unit, values, digits=3):
        base = values[-1]
        cells = [f"{v:.{digits}f}" + (f" ({v / base:.2f}x)" if base and v is not base else "") if v is not None else "-" for v in values]
        return [f"{figure}, {unit}", *cells], [figure, unit, *("" if v is None else f"{v:.6g}" for v in values)]

    rows = [row(figure, unit, [p.figures[key] for p in peers]) for figure, unit, key in (
        ("ingest, known series", "CPU s per million samples", "cpu_steady"),
        ("ingest, new series", "CPU s per million samples", "cpu_new"),
        ("memory after ingest", "RSS MiB", "rss_mib"),
        ("memory, most", "RSS MiB", "rss_peak_mib"))]
    rows.append(row("at rest", "bytes a sample", [stored[panes.name] / samples, stored[raw.name] / samples,
                                                  None if block is None else block / samples]))
    second = [row(f"p99[5m] of {options.series} series, {what}", "ms", [1000 * f(took[way]) for way in took], 1) for what, f in (
        ("p50", lambda v: percentile(v, 0.5)), ("p99", lambda v: percentile(v, 0.99)))]
    second.append(row("the same, server CPU", "ms a query", [1000 * cpu[way] / options.repeats for way in cpu], 1))
    print(f"{options.series} series, {options.rounds} s at one sample a second, {samples} samples, {load.wire_bytes / samples:.1f} B a "
          f"sample on the wire; {options.repeats} queries each; seed {options.seed}\n")
    print(table([["ingest", *(p.name for p in peers)]] + [r[0] for r in rows]) + "\n")
    print(table([["query", *took]] + [r[0] for r in second]) + f"\n\n{verdict}")
    with open(options.csv, "w", newline="") as out:
        writer = csv.writer(out)
        writer.writerow(["figure", "unit", *(p.name for p in peers)])
        writer.writerows(r[1] for r in rows)
        writer.writerow(["figure", "unit", *took])
        writer.writerows(r[1] for r in second)
    print(f"written: {options.csv}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build", help="build directory with mullion and mullion-plan (release build)")
    parser.add_argument("--series", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=360, help=f"seconds of data, at least {WINDOW_S + STEP_S * QUERY_TIMES}")
    parser.add_argument("--repeats", type=int, default=60, help="queries of each kind")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--csv", help="where the table goes (default: bench.csv in the build directory)")
    parser.add_argument("--quick", action="store_true", help="2,000 series and 12 queries: under a minute")
    options = parser.parse_args()
    if options.quick:
        options.series, options.repeats = min(options.series, 2000), min(options.repeats, 12)
    if options.rounds < WINDOW_S + STEP_S * QUERY_TIMES:
        parser.error(f"--rounds: the query reads back {WINDOW_S + STEP_S * QUERY_TIMES} s")
    options.csv = options.csv or str(pathlib.Path(options.build) / "bench.csv")
    if not shutil.which("prometheus"):
        sys.exit("bench needs Debian's prometheus beside mullion: apt-get install prometheus")
    with harness.scratch("bench") as directory:
        run(options, directory)


if __name__ == "__main__":
    sys.exit(main())
