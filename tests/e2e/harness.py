"""What the end-to-end tests share: real servers on loopback, a remote-write sender, Prometheus' query API, and counting.

Python's standard library only. Every server is started on a free port, logged to a file, and ended by its own pid.
"""
import contextlib
import json
import math
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request

ROOT = pathlib.Path(__file__).resolve().parents[2]
STALE = struct.unpack("<d", struct.pack("<Q", 0x7FF0000000000002))[0]


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class Server:
    """A process with an HTTP port. `with Server(...)` starts it and ends it."""

    def __init__(self, argv, port, log, ready_path="/-/ready", ready_s=30):
        self.argv, self.port, self.log = [str(a) for a in argv], port, pathlib.Path(log)
        self.url = f"http://127.0.0.1:{port}"
        self.ready_path, self.ready_s, self.process = ready_path, ready_s, None

    def start(self):
        with open(self.log, "ab") as out:
            self.process = subprocess.Popen(self.argv, stdout=out, stderr=out, stdin=subprocess.DEVNULL)
        deadline = time.monotonic() + self.ready_s
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(f"{self.argv[0]} exited {self.process.returncode}:\n{self.tail()}")
            with contextlib.suppress(OSError):
                if request(self.url + self.ready_path, timeout=2)[0] == 200:
                    return self
            time.sleep(0.05)
        self.kill()
        raise RuntimeError(f"{self.argv[0]} not ready after {self.ready_s} s:\n{self.tail()}")

    def tail(self):
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-15:]) if self.log.exists() else ""

    def stop(self):
        """SIGTERM, then wait; returns the exit status."""
        if self.process and self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
            try:
                self.process.wait(30)
            except subprocess.TimeoutExpired:
                self.kill()
                raise RuntimeError(f"{self.argv[0]} did not stop on SIGTERM") from None
        return self.process.returncode if self.process else None

    def kill(self):
        if self.process and self.process.poll() is None:
            self.process.kill()
            self.process.wait()

    __enter__ = start

    def __exit__(self, kind, value, trace):
        if kind is None:
            self.stop()
        else:
            self.kill()


def mullion(binary, data_dir, *flags, port=None, log=None):
    port = port or free_port()
    argv = [binary, "serve", "--data-dir", data_dir, "--listen", f"127.0.0.1:{port}", *flags]
    return Server(argv, port, log or pathlib.Path(data_dir).with_suffix(".log"))


def prometheus(binary, directory, config="", flags=(), port=None):
    """A Prometheus with its own storage in `directory`; `config` is its YAML."""
    directory = pathlib.Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "prometheus.yml").write_text(config or "global: {}\n")
    port = port or free_port()
    argv = [binary, f"--config.file={directory}/prometheus.yml", f"--storage.tsdb.path={directory}/data",
            f"--web.listen-address=127.0.0.1:{port}", "--storage.tsdb.retention.time=100y", "--log.level=warn", *flags]
    return Server(argv, port, directory / "log")


def reference(directory):
    """Path and version of a Prometheus 3, or (None, reason)."""
    script = ROOT / "tools" / "fetch_prometheus3.sh"
    done = subprocess.run([script, directory], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip().splitlines()[-1] if done.stderr.strip() else "not to be had"
    path = done.stdout.strip().splitlines()[-1]
    version = subprocess.run([path, "--version"], capture_output=True, text=True)
    return path, (version.stdout + version.stderr).splitlines()[0]


# ---- HTTP ----

def request(url, data=None, headers=None, timeout=60, method=None):
    """(status, headers, body); HTTP errors are answers, not exceptions."""
    req = urllib.request.Request(url, data=data, headers=headers or {}, method=method)
    try:
        with urllib.request.urlopen(req, timeout=timeout) as answer:
            return answer.status, answer.headers, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.headers, error.read()


def api(server, path, **parameters):
    """The parsed JSON body of a GET, with the status and headers beside it."""
    query = urllib.parse.urlencode(parameters, doseq=True)
    status, headers, body = request(f"{server.url}/api/v1/{path}?{query}")
    try:
        answer = json.loads(body)
    except ValueError:
        answer = {"status": "error", "error": body[:300].decode(errors="replace")}
    answer["http"] = status
    answer["headers"] = headers
    return answer


def instant(server, query, time_s, **more):
    return api(server, "query", query=query, time=repr(time_s), **more)


def ranged(server, query, start_s, end_s, step_s, **more):
    return api(server, "query_range", query=query, start=repr(start_s), end=repr(end_s), step=repr(step_s), **more)


def metric_value(server, name, **labels):
    """Sum of a /metrics sample over the series that carry these labels; 0 if there is none."""
    total = 0.0
    for line in request(server.url + "/metrics")[2].decode().splitlines():
        if line.startswith("#") or not line.startswith(name):
            continue
        head, _, value = line.rpartition(" ")
        if head.split("{")[0] == name and all(f'{k}="{v}"' in head for k, v in labels.items()):
            total += float(value)
    return total


# ---- remote write ----

def varint(n):
    out = bytearray()
    n &= (1 << 64) - 1
    while n >= 128:
        out.append(n & 127 | 128)
        n >>= 7
    out.append(n)
    return bytes(out)


def field(number, payload):
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def _zigzag(n):
    return n << 1 if n >= 0 else (-n << 1) - 1


def histogram(time_ms, h):
    """prometheus.Histogram of {"count", "sum", "schema", "zero": (threshold, count), "positive", "negative": (spans, counts),
    "custom": bounds, "hint"}; counts are absolute, and all integers or all floats."""
    out = bytearray()
    zero_threshold, zero_count = h.get("zero", (0.0, 0))
    floats = isinstance(h["count"], float)
    out += b"\x11" + struct.pack("<d", h["count"]) if floats else b"\x08" + varint(h["count"])
    out += b"\x19" + struct.pack("<d", h["sum"]) + b"\x20" + varint(_zigzag(h.get("schema", 0)))
    out += b"\x29" + struct.pack("<d", zero_threshold)
    out += b"\x39" + struct.pack("<d", zero_count) if floats else b"\x30" + varint(zero_count)
    for side, number in (("negative", 8), ("positive", 11)):
        spans, counts = h.get(side, ([], []))
        for offset, length in spans:
            out += field(number, b"\x08" + varint(_zigzag(offset)) + b"\x10" + varint(length))
        if floats and counts:
            out += field(number + 2, struct.pack(f"<{len(counts)}d", *counts))
        elif counts:
            steps = [b - a for a, b in zip([0] + counts, counts)]
            out += field(number + 1, b"".join(varint(_zigzag(n)) for n in steps))
    out += b"\x70" + varint(h.get("hint", 0)) + b"\x78" + varint(int(time_ms))
    if "custom" in h:
        out += field(16, struct.pack(f"<{len(h['custom'])}d", *h["custom"]))
    return bytes(out)


def label_fields(labels):
    return b"".join(field(1, field(1, name.encode()) + field(2, str(labels[name]).encode())) for name in sorted(labels))


def write_request(series):
    """series: [(labels dict, [(time_ms, value), ...]), ...] -> protobuf bytes. A value may be a histogram's dict."""
    out = bytearray()
    for labels, samples in series:
        body = bytearray(label_fields(labels))
        for time_ms, value in samples:
            if isinstance(value, dict):
                body += field(4, histogram(time_ms, value))
            else:
                body += field(2, b"\x09" + struct.pack("<d", value) + b"\x10" + varint(int(time_ms)))
        out += field(1, bytes(body))
    return bytes(out)


def snappy(data):
    """Snappy block format, literals only: valid, not small."""
    out = bytearray(varint(len(data)))
    for at in range(0, len(data), 65536):
        piece = data[at:at + 65536]
        out += b"\xf4" + struct.pack("<H", len(piece) - 1) + piece
    return bytes(out)


WRITE_HEADERS = {"Content-Type": "application/x-protobuf", "Content-Encoding": "snappy",
                 "X-Prometheus-Remote-Write-Version": "0.1.0"}


def send(server, series, timeout=60):
    """One remote-write request; returns (status, body text)."""
    status, _, body = request(server.url + "/api/v1/write", snappy(write_request(series)), WRITE_HEADERS, timeout)
    return status, body.decode(errors="replace")


# ---- comparing answers ----

def close(a, b, relative=1e-9, absolute=1e-12):
    if math.isnan(a) or math.isnan(b):
        return math.isnan(a) and math.isnan(b)
    return a == b or abs(a - b) <= max(absolute, relative * max(abs(a), abs(b)))


def _value(v):
    return v if isinstance(v, dict) else float(v)


def same_value(x, y, relative=1e-9):
    """Of numbers, texts, or histograms as they stand in an answer; buckets that rounding left at nothing do not count."""
    if isinstance(x, dict) and isinstance(y, dict):
        a, b = ([bucket for bucket in h.get("buckets", []) if abs(float(bucket[3])) > 1e-12] for h in (x, y))
        numbers = [(x["count"], y["count"]), (x["sum"], y["sum"])] + [pair for p, q in zip(a, b) for pair in zip(p[1:], q[1:])]
        return len(a) == len(b) and all(p[0] == q[0] for p, q in zip(a, b)) and \
            all(close(float(p), float(q), relative) for p, q in numbers)
    if type(x) is not type(y):
        return False
    return x == y if isinstance(x, str) else close(x, y, relative)


def by_labels(answer):
    """{labels: {time: value}} of a query's data, whatever its type; a histogram's value is its dict."""
    kind, result = answer["data"]["resultType"], answer["data"]["result"]
    if kind == "scalar":
        return {(): {result[0]: float(result[1])}}
    if kind == "string":
        return {(): {result[0]: result[1]}}
    out = {}
    for series in result:
        points = series.get("values", []) + series.get("histograms", [])
        points += [series[key] for key in ("value", "histogram") if key in series]
        out[tuple(sorted(series["metric"].items()))] = {t: _value(v) for t, v in points}
    return out


def differences(ours, theirs, relative=1e-9):
    """Sentences on how two answers differ; empty when they agree."""
    if ours.get("status") != theirs.get("status"):
        return [f"status {ours.get('status')} ({ours.get('error', '')}), theirs {theirs.get('status')} ({theirs.get('error', '')})"]
    if ours["status"] != "success":
        return []
    if ours["data"]["resultType"] != theirs["data"]["resultType"]:
        return [f"type {ours['data']['resultType']}, theirs {theirs['data']['resultType']}"]
    a, b = by_labels(ours), by_labels(theirs)
    out = [f"only ours: {dict(k)}" for k in a.keys() - b.keys()] + [f"only theirs: {dict(k)}" for k in b.keys() - a.keys()]
    for key in a.keys() & b.keys():
        for t in sorted(a[key].keys() | b[key].keys()):
            x, y = a[key].get(t), b[key].get(t)
            if x is None or y is None or not same_value(x, y, relative):
                out.append(f"{dict(key)} at {t}: {x}, theirs {y}")
                break
    return out


class Checks:
    """Counts what was checked; prints each failure and, at the end, `N passed, N failed`."""

    def __init__(self):
        self.passed = self.failed = 0

    def that(self, condition, what):
        if condition:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED: {what}", flush=True)
        return bool(condition)

    def equal(self, got, want, what):
        return self.that(got == want, f"{what}: got {got!r}, want {want!r}")

    def finish(self):
        print(f"{self.passed} passed, {self.failed} failed", flush=True)
        sys.exit(self.failed != 0 or self.passed == 0)


@contextlib.contextmanager
def scratch(name):
    """A directory that goes away, unless MULLION_KEEP is set."""
    path = pathlib.Path(tempfile.mkdtemp(prefix=f"mullion-{name}-"))
    try:
        yield path
    finally:
        if os.environ.get("MULLION_KEEP"):
            print(f"kept: {path}")
        else:
            shutil.rmtree(path, ignore_errors=True)


def skip(reason):
    """meson's exit status for a skipped test."""
    print(f"skipped: {reason}")
    sys.exit(77)
