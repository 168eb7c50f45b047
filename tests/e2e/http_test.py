#!/usr/bin/env python3
"""Status codes, bodies and endpoints over real sockets: what senders and Prometheus clients get, good and bad.

usage: http_test.py MULLION
"""
import gzip
import http.client
import json
import os
import pathlib
import random
import signal
import socket
import struct
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

SEED = int(os.environ.get("MULLION_SEED", "20240601"))


def post(server, path, body, headers):
    return harness.request(server.url + path, body, headers)


def form(server, path, **fields):
    """A POST with a form body, as Grafana sends it."""
    body = harness.urllib.parse.urlencode(fields, doseq=True).encode()
    status, headers, text = post(server, "/api/v1/" + path, body, {"Content-Type": "application/x-www-form-urlencoded"})
    return status, json.loads(text)


def rss_bytes(server):
    with open(f"/proc/{server.process.pid}/statm") as f:
        return int(f.read().split()[1]) * os.sysconf("SC_PAGESIZE")


def raw_request(server, text, body=b""):
    """Bytes as they are over a socket; the status, and whether the server closed the connection."""
    with socket.create_connection(("127.0.0.1", server.port), timeout=20) as s:
        s.sendall(text.replace("\n", "\r\n").encode())
        try:
            s.sendall(body)
        except OSError:
            pass
        answer = http.client.HTTPResponse(s)
        answer.begin()
        answer.read()
        s.settimeout(3)
        try:
            closed = s.recv(1) == b""
        except socket.timeout:
            closed = False
        except OSError:
            closed = True
        return answer.status, closed


# ---- writing ----

def check_write_statuses(c, server, now_ms):
    good = [({"__name__": "good", "n": "1"}, [(now_ms, 1.0)])]
    body = harness.snappy(harness.write_request(good))
    status, headers, text = post(server, "/api/v1/write", body, harness.WRITE_HEADERS)
    c.equal((status, text), (204, b""), "a good write")
    c.that(not any(k.lower().endswith("-written") for k in headers), "1.0 answers carry no -Written headers")
    c.equal(harness.send(server, good)[0], 204, "the same sample again is no error")
    status, text = harness.send(server, [({"__name__": "good", "n": "1"}, [(now_ms, 2.0)])])
    c.that(status == 400 and text.strip(), f"another value for the same time: {status} {text!r}")
    for kind, value in (("Content-Type", "application/x-protobuf;proto=io.prometheus.write.v2.Request"),
                        ("Content-Type", "text/plain"), ("Content-Encoding", "zstd"), ("Content-Encoding", "gzip")):
        refused = harness.snappy(harness.write_request([({"__name__": "refused"}, [(now_ms, 1.0)])]))
        status, _, text = post(server, "/api/v1/write", refused, {**harness.WRITE_HEADERS, kind: value})
        c.equal(status, 415, f"write with {kind}: {value}")
        c.that(b"nothing was stored" in text.lower(), f"the 415 says so: {text!r}")
    c.equal(harness.instant(server, "refused", now_ms / 1000)["data"]["result"], [], "nothing of a 415 is stored")
    named = {**harness.WRITE_HEADERS, "Content-Type": "application/x-protobuf;proto=prometheus.WriteRequest"}
    c.equal(post(server, "/api/v1/write", body, named)[0], 204, "1.0 named in full")
    c.equal(harness.request(server.url + "/api/v1/write")[0], 405, "GET on write")


def check_partial(c, server, now_ms):
    """Bad series of a request are refused by name, the rest is stored."""
    label = harness.field

    def series(pairs, value):
        body = b"".join(label(1, label(1, n) + label(2, v)) for n, v in pairs)
        return label(1, body + label(2, b"\x09" + struct.pack("<d", value) + b"\x10" + harness.varint(now_ms)))

    cases = {"invalid UTF-8 in a value": [(b"__name__", b"partial"), (b"a", b"\xff\xfe")],
             "a label twice": [(b"__name__", b"partial"), (b"a", b"1"), (b"a", b"2")],
             "an empty label name": [(b"", b"x"), (b"__name__", b"partial")]}
    for i, (what, bad) in enumerate(cases.items()):
        good = [(b"__name__", b"kept"), (b"case", str(i).encode())]
        body = harness.snappy(series(bad, 1.0) + series(good, float(i)))
        status, _, text = post(server, "/api/v1/write", body, harness.WRITE_HEADERS)
        c.that(status == 400 and text.strip(), f"{what}: {status} {text!r}")
        kept = harness.instant(server, f'kept{{case="{i}"}}', now_ms / 1000)["data"]["result"]
        c.equal([r["value"][1] for r in kept], [str(i)], f"{what}: the good series is kept")
    c.equal(harness.instant(server, "partial", now_ms / 1000)["data"]["result"], [], "no bad series is there")
    status, text = harness.send(server, [({"__name__": "ahead"}, [(now_ms + 3600_000, 1.0)]),
                                         ({"__name__": "kept", "case": "ahead"}, [(now_ms, 7.0)])])
    c.that(status == 400 and text.strip(), f"a sample an hour ahead: {status} {text!r}")
    c.equal(len(harness.instant(server, 'kept{case="ahead"}', now_ms / 1000)["data"]["result"]), 1, "its neighbour is kept")


def check_bad_bodies(c, server, now_ms):
    whole = harness.snappy(harness.write_request([({"__name__": "cut", "i": str(i)}, [(now_ms, 1.0)]) for i in range(50)]))
    for at in (0, 1, 2, 5, len(whole) // 2, len(whole) - 1):
        status, _, text = post(server, "/api/v1/write", whole[:at], harness.WRITE_HEADERS)
        c.that(400 <= status < 500 or (at == 0 and status == 204), f"a body cut at {at}: {status} {text!r}")
    c.equal(post(server, "/api/v1/write", b"not snappy at all", harness.WRITE_HEADERS)[0], 400, "noise")
    plain = harness.write_request([({"__name__": "cut"}, [(now_ms, 1.0)])])
    for at in range(1, len(plain)):
        status = post(server, "/api/v1/write", harness.snappy(plain[:at]), harness.WRITE_HEADERS)[0]
        c.that(status == 400, f"protobuf cut at {at}: {status}")
    print(f"bad bodies: seed {SEED}")
    noise = random.Random(SEED)
    for i in range(200):
        flipped = bytearray(whole)
        for _ in range(noise.randrange(1, 8)):
            flipped[noise.randrange(len(flipped))] ^= 1 << noise.randrange(8)
        status = post(server, "/api/v1/write", bytes(flipped), harness.WRITE_HEADERS)[0]
        c.that(status in (204, 400, 413), f"flipped bits, case {i}: {status}")


def check_bomb(c, server):
    """A hundred bytes that claim 2 GiB cost neither time nor memory."""
    bomb = harness.varint((1 << 31) - 1) + b"\xfe" * 95
    post(server, "/api/v1/write", bomb, harness.WRITE_HEADERS)
    before, best = rss_bytes(server), 10.0
    for _ in range(20):
        start = time.monotonic()
        status = post(server, "/api/v1/write", bomb, harness.WRITE_HEADERS)[0]
        best = min(best, time.monotonic() - start)
        c.that(400 <= status < 500, f"the bomb: {status}")
    c.that(best < 0.05, f"the bomb took {best:.3f} s")
    c.that(rss_bytes(server) - before < 16 << 20, f"the bomb cost {rss_bytes(server) - before} bytes")


def check_oversized(c, server):
    head = ("POST /api/v1/write HTTP/1.1\nHost: x\nContent-Type: application/x-protobuf\nContent-Encoding: snappy\n"
            "Content-Length: {}\n\n")
    before = rss_bytes(server)
    start = time.monotonic()
    status, closed = raw_request(server, head.format((32 << 20) + 1))
    c.equal((status, closed), (413, True), "a body over 32 MiB is refused before it is sent")
    c.equal(raw_request(server, head.format(10**30))[0] in (400, 413), True, "a length beyond 64 bits")
    c.that(time.monotonic() - start < 5, "at once")
    piece = b"100000\r\n" + b"\0" * 0x100000 + b"\r\n"
    chunked = head.replace("Content-Length: {}", "Transfer-Encoding: chunked")
    status, _ = raw_request(server, chunked, piece * 34 + b"0\r\n\r\n")
    c.equal(status, 413, "a chunked body that grows over 32 MiB")
    c.that(rss_bytes(server) - before < 160 << 20, f"oversized bodies cost {rss_bytes(server) - before} bytes")
    form_head = "POST /api/v1/query HTTP/1.1\nHost: x\nContent-Type: application/x-www-form-urlencoded\n"
    c.equal(raw_request(server, form_head + f"Content-Length: {5 << 20}\n\n"), (413, True), "a form of 5 MiB")


def check_smuggling(c, server):
    for what, lines in (("a length and a transfer encoding", "Content-Length: 5\nTransfer-Encoding: chunked"),
                        ("two lengths", "Content-Length: 5\nContent-Length: 6")):
        status, closed = raw_request(server, f"POST /api/v1/query HTTP/1.1\nHost: x\n{lines}\n\n", b"0\r\n\r\nGET /")
        c.equal((status, closed), (400, True), what)
    status, _ = raw_request(server, f"GET /{'x' * 300000} HTTP/1.1\nHost: x\n\n")
    c.that(status in (400, 413, 414, 431), f"a URL of 300 KB: {status}")
    with socket.create_connection(("127.0.0.1", server.port)) as s:
        s.sendall(b"\x16\x03\x01\x02\x00 not http\r\n\r\n")
    c.equal(harness.request(server.url + "/-/healthy")[0], 200, "still healthy")


# ---- reading ----

def check_reads(c, server, now_s):
    for path, fields in (("query", {"query": "good", "time": now_s}),
                         ("query_range", {"query": "good", "start": now_s - 60, "end": now_s, "step": 15}),
                         ("series", {"match[]": ["good", "kept"]}), ("labels", {}), ("labels", {"match[]": "good"}),
                         ("format_query", {"query": "sum(good)by(n)"}), ("parse_query", {"query": "good[5m]"}),
                         ("query_exemplars", {"query": "good", "start": now_s - 60, "end": now_s})):
        got = harness.api(server, path, **fields)
        status, posted = form(server, path, **fields)
        c.equal((got["http"], status), (200, 200), f"{path} by GET and POST")
        c.equal(got.get("data"), posted.get("data"), f"{path}: GET and POST say the same")
        c.that(got["headers"]["Content-Type"].startswith("application/json"), f"{path} is JSON")
    c.equal(harness.api(server, "format_query", query="sum(good)by(n)")["data"], "sum by (n) (good)", "format_query")
    c.equal(harness.api(server, "label/n/values")["data"], ["1"], "label values")
    c.equal(harness.api(server, "label/U____name____/values")["http"], 200, "an escaped label name")
    names = harness.api(server, "labels", **{"match[]": "good"})["data"]
    c.equal(names, ["__name__", "n"], "labels of a selector")
    c.equal(harness.api(server, "series", **{"match[]": "good"})["data"], [{"__name__": "good", "n": "1"}], "series")
    limited = harness.api(server, "labels", limit=1)
    c.equal((len(limited["data"]), limited.get("warnings")), (1, ["results truncated due to limit"]), "limit")
    status, headers, body = harness.request(server.url + "/api/v1/query?query=good&time=" + str(now_s))
    c.equal(headers["X-Mullion-Source"], "raw", "the source of an answer")
    c.equal(harness.instant(server, "good", now_s, exact=1)["headers"]["X-Mullion-Source"], "raw", "exact=1")
    both = form(server, f"query?query=vector(1)&time={now_s}", query="vector(2)")[1]
    c.equal(both["data"]["result"][0]["value"][1], "2", "the form body goes before the URL")
    stats = harness.instant(server, "good", now_s, stats="all")["data"]
    c.that("stats" in stats and "timings" in stats["stats"], "stats=all")


def check_values(c, server):
    def value(query, time="60"):
        return harness.api(server, "query", query=query, time=time)["data"]

    c.equal(value("1+1"), {"resultType": "scalar", "result": [60, "2"]}, "1+1 is a scalar")
    c.equal(value('"a"')["result"], [60, "a"], "a string")
    for query, want in (("0/0", "NaN"), ("1/0", "+Inf"), ("-1/0", "-Inf"), ("1e21", "1e+21"), ("0.1", "0.1"),
                        ("1e-7", "1e-07"), ("123456789012", "123456789012")):
        c.equal(value(query)["result"][1], want, query)
    c.equal(value("time()", "1.5")["result"], [1.5, "1.5"], "time as a float")
    c.equal(value("time()", "2015-07-01T20:10:51.781Z")["result"], [1435781451.781, "1435781451.781"], "time as RFC 3339")
    c.equal(harness.api(server, "query", query="nothing_here")["data"], {"resultType": "vector", "result": []}, "nothing")


def check_errors(c, server, now_s):
    long = {"query": "up", "start": 0, "end": 11001, "step": 1}
    cases = (
        ("query", {"query": "up{"}, 400, "bad_data", 'invalid parameter "query": 1:4: parse error'),
        ("query", {}, 400, "bad_data", "no expression found in input"),
        ("query", {"query": "up", "time": "x"}, 400, "bad_data", "cannot parse \"x\" to a valid timestamp"),
        ("query", {"query": "up", "timeout": "x"}, 400, "bad_data", 'invalid parameter "timeout"'),
        ("query", {"query": "up", "limit": "-1"}, 400, "bad_data", 'invalid parameter "limit"'),
        ("query_range", long, 400, "bad_data", "exceeded maximum resolution of 11,000 points per timeseries"),
        ("query_range", {**long, "step": 0}, 400, "bad_data", "zero or negative query resolution step widths"),
        ("query_range", {**long, "end": -1}, 400, "bad_data", "end timestamp must not be before start time"),
        ("query_range", {**long, "step": 60, "query": "up[5m]"}, 400, "bad_data", "invalid expression type"),
        ("query", {"query": "good * on() group_left() good_2", "time": now_s}, 422, "execution", "many"),
        ("series", {}, 400, "bad_data", "no match[] parameter provided"),
        ("series", {"match[]": "{}"}, 400, "bad_data", 'invalid parameter "match[]"'),
        ("labels", {"match[]": "x{"}, 400, "bad_data", 'invalid parameter "match[]"'),
        ("label/%FF/values", {}, 400, "bad_data", "invalid label name"),
        ("nothing", {}, 404, "not_found", "there is no endpoint"),
        ("plan", {}, 404, "not_found", "--workload"),
    )
    harness.send(server, [({"__name__": "good_2", "x": str(i)}, [(int(now_s * 1000), 1.0)]) for i in range(2)])
    for path, fields, status, kind, words in cases:
        got = harness.api(server, path, **fields)
        c.equal((got["http"], got.get("status"), got.get("errorType")), (status, "error", kind), f"{path} {fields}")
        c.that(words in got.get("error", ""), f"{path} {fields}: {got.get('error')!r} has {words!r}")
    status, body = form(server, "query", query="up{")
    c.equal((status, body["errorType"]), (400, "bad_data"), "a parse error by POST")
    broken = post(server, "/api/v1/query", b"query=%zz", {"Content-Type": "application/x-www-form-urlencoded"})[0]
    c.equal(broken, 400, "a broken form")
    for method, path in (("DELETE", "/api/v1/query"), ("PUT", "/api/v1/labels"), ("POST", "/api/v1/rules"),
                         ("GET", "/-/reload")):
        status, headers, _ = harness.request(server.url + path, method=method)
        c.equal(status, 405, f"{method} {path}")
        c.that(headers.get("Allow"), f"{method} {path} says what it takes")
    status, _, body = harness.request(server.url + "/-/reload", b"", method="POST")
    c.that(status == 400 and b"--workload" in body, "without a workload there is nothing to reload")


def check_status_pages(c, server):
    shapes = {"rules": {"groups": []}, "alerts": {"alerts": []}, "query_exemplars?query=up": [], "views": []}
    for path, want in shapes.items():
        c.equal(harness.api(server, path)["data"] if "?" not in path else
                json.loads(harness.request(server.url + "/api/v1/" + path)[2])["data"], want, path)
    c.equal(harness.api(server, "targets")["data"]["activeTargets"], [], "targets")
    c.that(harness.api(server, "status/buildinfo")["data"]["version"], "buildinfo has a version")
    for path in ("runtimeinfo", "config", "flags", "tsdb"):
        c.equal(harness.api(server, "status/" + path)["http"], 200, path)
    c.equal(harness.api(server, "metadata")["http"], 200, "metadata")
    for path in ("/-/healthy", "/-/ready", "/", "/metrics"):
        c.equal(harness.request(server.url + path)[0], 200, path)
    c.equal(harness.request(server.url + "/-/healthy", method="HEAD")[:1] + (b"",), (200, b""), "HEAD")
    c.that(harness.metric_value(server, "mullion_http_requests_total", path="/api/v1/query", code="200") > 0,
           "requests are counted by path and code")
    c.that(harness.metric_value(server, "process_resident_memory_bytes") > 1 << 20, "resident memory")
    text = harness.request(server.url + "/metrics")[2].decode().splitlines()
    samples = [line.rsplit(" ", 1)[0] for line in text if line and not line.startswith("#")]
    c.equal(len(samples), len(set(samples)), "every sample of /metrics stands once")


def check_gzip(c, server, now_ms):
    harness.send(server, [({"__name__": "many", "i": str(i)}, [(now_ms, float(i))]) for i in range(500)])
    url = server.url + f"/api/v1/query?query=many&time={now_ms / 1000}"
    plain = harness.request(url)
    zipped = harness.request(url, headers={"Accept-Encoding": "gzip"})
    c.equal(zipped[1].get("Content-Encoding"), "gzip", "gzip when asked")
    c.equal(plain[1].get("Content-Encoding"), None, "plain when not")
    c.equal(gzip.decompress(zipped[2]), plain[2], "the same bytes")
    c.that(len(zipped[2]) < len(plain[2]) / 3, "and fewer of them")
    refused = harness.request(url, headers={"Accept-Encoding": "gzip;q=0"})
    c.equal(refused[1].get("Content-Encoding"), None, "q=0 refuses it")
    cut = json.loads(harness.request(url + "&limit=3")[2])
    c.equal((len(cut["data"]["result"]), cut["warnings"]), (3, ["results truncated due to limit"]), "limit of a query")


# ---- starting and stopping ----

def run(argv, timeout=30):
    done = subprocess.run([str(a) for a in argv], capture_output=True, text=True, timeout=timeout, stdin=subprocess.DEVNULL)
    return done.returncode, done.stdout, done.stderr


def check_starting(c, binary, server, directory):
    status, _, text = run([binary, "serve", "--data-dir", directory / "other", "--listen", f"127.0.0.1:{server.port}"])
    want = f"cannot listen on 127.0.0.1:{server.port}: address already in use; choose another with --listen"
    c.that(status == 1 and want in text, f"a port in use: {status} {text!r}")
    status, _, text = run([binary, "serve", "--data-dir", directory / "data", "--listen", "127.0.0.1:0"])
    c.that(status == 1 and str(server.process.pid) in text, f"a data directory in use names its holder: {status} {text!r}")
    (directory / "newer").mkdir()
    (directory / "newer" / "FORMAT").write_text("mullion-data/9\n")
    status, _, text = run([binary, "serve", "--data-dir", directory / "newer", "--listen", "127.0.0.1:0"])
    c.that(status == 1 and "mullion-data/9" in text, f"a newer data directory: {status} {text!r}")
    status, _, text = run([binary, "serve", "--data-dir", directory / "x", "--listen", "0.0.0.0:0"])
    c.that(status == 2 and "--insecure" in text, f"an open address: {status} {text!r}")
    for wrong in (["--no-such-flag"], ["--lookback-delta", "soon"], ["--workload", "a", "--plan", "b"], ["extra"]):
        c.equal(run([binary, "serve", *wrong])[0], 2, f"serve {wrong}")
    c.equal(run([binary])[0], 2, "no command")
    c.equal(run([binary, "nothing"])[0], 2, "no such command")
    for wrong in (["query", "--server", server.url, "--data-dir", directory, "up"], ["load", "x.csv", "--series", "3"],
                  ["load", "--format", "csv"]):
        status, _, text = run([binary, *wrong])
        c.that(status == 2 and "--" in text, f"{wrong}: {status} {text!r}")
    for asked in ("-h", "--help", "help"):
        status, out, _ = run([binary, asked])
        c.that(status == 0 and out.startswith("usage: mullion COMMAND"), f"mullion {asked}")
    c.equal(run([binary, "--version"])[0], 0, "--version")
    for command in ("serve", "query", "load", "check", "demo"):
        status, out, _ = run([binary, command, "--help"])
        c.that(status == 0 and "Usage" in out, f"{command} --help")
    bad = directory / "bad.yaml"
    bad.write_text("queries:\n  - query: up{\n    evry: 10s\n")
    status, _, text = run([binary, "serve", "--data-dir", directory / "w", "--listen", "127.0.0.1:0", "--workload", bad])
    c.that(status == 1 and "bad.yaml:" in text, f"a bad workload: {status} {text!r}")


def check_config(c, binary, directory):
    config, port = directory / "mullion.yaml", harness.free_port()
    config.write_text("# as flags\nlisten: 127.0.0.1:1\npath-prefix: /from/file\ninsecure: false\nlookback-delta: 1m\n")
    server = harness.mullion(binary, directory / "configured", "--config", config)
    server.ready_path = "/from/file/-/ready"
    with server:
        flags = json.loads(harness.request(server.url + "/from/file/api/v1/status/flags")[2])["data"]
        c.equal((flags["lookback-delta"], flags["listen"]), ("1m", f"127.0.0.1:{server.port}"), "the command line wins")
    server = harness.mullion(binary, directory / "short", "--raw-retention", "1m")
    with server:
        c.equal(harness.api(server, "status/flags")["data"]["raw-retention"], "2h", "flags show the retention in force")
        c.that("level=warn" in server.log.read_text() and "raised" in server.log.read_text(), "and the log says why")
    for text, where in (("lisen: x", "mullion.yaml:1:1: "), ("listen:\n  - a", "mullion.yaml:2:3: "), ("a: [", "mullion.yaml:"),
                        ("insecure: maybe", "mullion.yaml:1:11: ")):
        config.write_text(text + "\n")
        status, _, said = run([binary, "serve", "--config", config, "--listen", f"127.0.0.1:{port}"])
        c.that(status == 1 and where in said, f"config {text!r}: {status} {said!r}")


def check_prefix(c, binary, directory):
    server = harness.mullion(binary, directory / "prefixed", "--path-prefix", "/metrics/mullion/")
    server.ready_path = "/metrics/mullion/-/ready"
    with server:
        c.equal(harness.request(server.url + "/metrics/mullion/api/v1/query?query=1")[0], 200, "under the prefix")
        c.equal(harness.request(server.url + "/api/v1/query?query=1")[0], 404, "not without it")
        c.equal(harness.request(server.url + "/metrics/mullion")[0], 200, "the prefix alone")


def check_command_line(c, binary, server, directory, now_s):
    url = f"{server.url}/api/v1/write"
    status, out, text = run([binary, "load", "--url", url, "--metric", "loaded", "--series", "25", "--rounds", "10",
                             "--interval", "1s", "--labels", "job=5,instance=3"])
    c.that(status == 0 and out.startswith("250 samples"), f"load: {status} {out!r} {text!r}")
    count = harness.instant(server, "count(count_over_time(loaded[1m]) == 10)", time.time())
    c.equal(count["data"]["result"][0]["value"][1], "25", "every series has every round")
    recorded = directory / "recorded.jsonl"
    t = int(now_s)
    recorded.write_text(f'{{"metric":{{"__name__":"rec","a":"j"}},"values":[1,2.5,"NaN"],"timestamps":[{t - 2}000,{t - 1}000,{t}000]}}\n')
    lines = directory / "recorded.om"
    lines.write_text(f'# TYPE rec gauge\nrec{{a="o m"}} 4 {t}.5\nrec_plain 5 {t}\n# EOF\n')
    table = directory / "recorded.csv"
    table.write_text(f'series,time,value\n"rec{{a=""c""}}",{t},6\n')
    for file, n in ((recorded, 3), (lines, 2), (table, 1)):
        status, out, text = run([binary, "load", "--url", url, file])
        c.that(status == 0 and out.startswith(f"{n} sample{'s' * (n > 1)} taken, 0 requests"), f"load {file.name}: {status} {out!r} {text!r}")
    got = {r["metric"].get("a"): r["value"][1] for r in harness.instant(server, "rec", t + 1)["data"]["result"]}
    c.equal(got, {"j": "NaN", "o m": "4", "c": "6"}, "what was loaded")
    table.write_text("series,time,value\nrec,yesterday,1\n")
    status, _, text = run([binary, "load", "--url", url, table])
    c.that(status == 1 and "recorded.csv:2" in text, f"a bad line is named: {status} {text!r}")
    status, out, _ = run([binary, "query", "--server", server.url, "--time", t + 1, "rec_plain"])
    c.that(status == 0 and out.split()[-1] == "5", f"query as a table: {out!r}")
    status, out, _ = run([binary, "query", "--server", server.url, "--time", t + 1, "--format", "csv", 'rec{a="c"}'])
    c.that(status == 0 and out.splitlines()[0] == "series,time,value" and '"rec{a=""c""}"' in out, f"query as CSV: {out!r}")
    status, out, _ = run([binary, "query", "--server", server.url, "--start", t - 30, "--end", t, "--step", "15s",
                          "--format", "json", "vector(1)"])
    c.equal((status, len(json.loads(out)["data"]["result"][0]["values"])), (0, 3), "query over a range as JSON")
    status, out, text = run([binary, "query", "--server", server.url, "nothing_of_this_name"])
    c.equal((status, out, text), (0, "", "no series\n"), "an empty answer is said")
    status, out, text = run([binary, "load", "--url", url, "--metric", "ahead", "--series", "50", "--rounds", "1", "--end", t + 86400])
    c.that(status == 1 and "50 x sample too far in the future: ahead\n" in text and "1 request refused" in out,
           f"equal refusals are counted: {status} {out!r} {text!r}")
    status, _, text = run([binary, "query", "--server", server.url, "up{"])
    c.that(status == 1 and "parse error" in text, "a query that is none")
    c.equal(run([binary, "query", "--server", "http://127.0.0.1:9", "up"])[0], 1, "no server")


def check_after(c, binary, directory):
    """What is on disk once the server has stopped."""
    data = directory / "data"
    status, out, text = run([binary, "check", data])
    c.that(status == 0 and "series" in out, f"check of a data directory: {status} {out!r} {text!r}")
    status, out, _ = run([binary, "query", "--data-dir", data, "count({__name__=~'.+'} or vector(1))"])
    c.equal(status, 0, "query of a directory")
    workload = directory / "good.yaml"
    workload.write_text("queries:\n  - query: sum(rate(x[5m]))\n    every: 30s\n")
    status, out, text = run([binary, "check", workload])
    c.that(status == 0 and "sound" in out, f"check of a workload: {status} {out!r} {text!r}")
    status, out, text = run([binary, "plan", workload, "-o", directory / "plan.json"])
    c.equal(status, 0, f"plan: {text!r}")
    status, out, _ = run([binary, "check", directory / "plan.json"])
    c.that(status == 0 and out.startswith("plan: 1 queries"), f"check of a plan: {out!r}")
    c.equal(run([binary, "check", directory / "bad.yaml"])[0], 1, "check of a bad workload")
    c.equal(run([binary, "check", directory / "nothing"])[0], 1, "check of nothing")


def check_slow_and_busy(c, binary, directory):
    server = harness.mullion(binary, directory / "slow", "--query-timeout", "1ms", "--slow-query-log", "1ms")
    with server:
        now_ms = int(time.time() * 1000)
        rows = [({"__name__": "slow", "i": str(i)}, [(now_ms - 1000 * k, float(k)) for k in range(60)]) for i in range(300)]
        harness.send(server, rows)
        got = harness.ranged(server, "sum(quantile_over_time(0.5, slow[1m]))", now_ms / 1000 - 600, now_ms / 1000, 1)
        c.equal((got["http"], got.get("errorType")), (503, "timeout"), "a query over its time")
        c.that("slow query" in server.log.read_text(), "a slow query is logged")
        server.process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        c.equal(harness.request(server.url + "/-/healthy")[0], 200, "SIGHUP does not end it")
        start = time.monotonic()
        c.equal(server.stop(), 0, "SIGTERM ends it with 0")
        c.that(time.monotonic() - start < 5, "soon")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("http") as directory:
        now_ms = int(time.time() * 1000)
        with harness.mullion(binary, directory / "data") as server:
            check_write_statuses(c, server, now_ms)
            check_partial(c, server, now_ms)
            check_bad_bodies(c, server, now_ms)
            check_bomb(c, server)
            check_oversized(c, server)
            check_smuggling(c, server)
            check_reads(c, server, now_ms / 1000)
            check_values(c, server)
            check_errors(c, server, now_ms / 1000)
            check_status_pages(c, server)
            check_gzip(c, server, now_ms)
            check_starting(c, binary, server, directory)
            check_command_line(c, binary, server, directory, now_ms / 1000)
            c.equal(server.stop(), 0, "SIGTERM ends it with 0")
        check_after(c, binary, directory)
        check_config(c, binary, directory)
        check_prefix(c, binary, directory)
        check_slow_and_busy(c, binary, directory)
    c.finish()


if __name__ == "__main__":
    main()
