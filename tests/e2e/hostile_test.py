#!/usr/bin/env python3
"""Hostile requests: the server stays up, answers others meanwhile, and its memory stays bounded.

Random bytes and half requests on raw sockets, headers without end, bodies that never come, queries of a megabyte, regular
expressions that explode, snappy bodies that unpack to more than they may, mutated remote writes. After each kind an honest write and
an honest query must work. Most useful with a binary built with AddressSanitizer.
"""
import argparse
import pathlib
import random
import socket
import struct
import sys
import time
import urllib.parse

import harness
from harness import Checks

MEGABYTE = 1 << 20
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
PATHS = ["query", "query_range", "series", "labels", "label/job/values", "format_query", "parse_query", "write", "status/buildinfo", "metadata"]


class Attack:
    def __init__(self, server, checks, seed, memory_bytes):
        self.server, self.checks, self.draw, self.memory_bytes = server, checks, random.Random(seed), memory_bytes
        self.time_ms, self.most = 1_700_000_000_000, 0

    # ---- what must go on ----

    def resident(self, what="VmRSS:"):
        for line in pathlib.Path(f"/proc/{self.server.process.pid}/status").read_text().splitlines():
            if line.startswith(what):
                return int(line.split()[1]) * 1024
        return 0

    def healthy(self, after):
        if not self.checks.that(self.server.process.poll() is None, f"after {after}: the server runs:\n{self.server.tail()}"):
            self.checks.finish()
        self.time_ms += 1000
        status, text = harness.send(self.server, [({"__name__": "honest"}, [(self.time_ms, 7.0)])], timeout=20)
        self.checks.equal(status, 204, f"after {after}: an honest write ({text[:100]})")
        begun = time.monotonic()
        answer = harness.instant(self.server, "honest * 6", self.time_ms / 1000)
        self.checks.equal([s["value"][1] for s in answer.get("data", {}).get("result", [])], ["42"], f"after {after}: an honest query")
        self.checks.that(time.monotonic() - begun < 10, f"after {after}: an honest query took {time.monotonic() - begun:.1f} s")
        now = self.resident()
        self.most = max(self.most, now)
        self.checks.that(now < self.memory_bytes, f"after {after}: {now >> 20} MiB resident, more than {self.memory_bytes >> 20}")

    # ---- sockets ----

    def raw(self, data, wait_s=0.2):
        """Sends bytes; returns what comes back within a moment."""
        with socket.create_connection(("127.0.0.1", self.server.port), timeout=10) as s:
            s.settimeout(wait_s)
            try:
                s.sendall(data)
                return s.recv(65536)
            except OSError:
                return b""

    def bytes(self, n):
        return self.draw.randbytes(n)

    def garbage(self):
        for _ in range(60):
            self.raw(self.bytes(self.draw.choice([1, 10, 100, 5000, 100_000])), 0.01)
        head = b"POST /api/v1/%s HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n"
        for path in PATHS:
            start = head % path.encode()
            for rest in [b"Content-Length: 100\r\n\r\n" + self.bytes(100), b"Content-Length: -1\r\n\r\n", b"Content-Length: 1e9\r\n\r\nx",
                         b"Content-Length: 99999999999999999999999\r\n\r\nx", b"Content-Length: 5\r\nContent-Length: 6\r\n\r\nabcdef",
                         b"Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
                         b"Transfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\n", b"Transfer-Encoding: chunked\r\n\r\n-5\r\nabc",
                         b"Transfer-Encoding: chunked\r\n\r\n5;" + b"x" * 20_000 + b"\r\nabcde\r\n0\r\n\r\n",
                         b"Content-Encoding: snappy\r\nContent-Length: 3\r\n\r\n\xff\xff\xff", b"Content-Length: 50\r\n\r\n" + b"%zz%" * 12 + b"%f"]:
                self.raw(start + rest, 0.02)
        pipelined = b"GET /api/v1/labels HTTP/1.1\r\nHost: x\r\n\r\n" * 300
        self.raw(pipelined, 1)
        for _ in range(200):
            line = bytearray(head % b"query" + b"Content-Length: 7\r\n\r\nquery=1")
            for _ in range(self.draw.randrange(1, 8)):
                line[self.draw.randrange(len(line))] = self.draw.randrange(256)
            self.raw(bytes(line), 0.01)

    def headers(self):
        for many in (b"X-A: " + b"a" * 10 * MEGABYTE, b"".join(b"X-%d: %s\r\n" % (i, b"v" * 50) for i in range(50_000)),
                     b"X\0Y: z\r\n\r\n", b" folded\r\n" * 10_000, b"Cookie: " + b"a=b; " * 100_000 + b"\r\n\r\n"):
            self.raw(b"GET /api/v1/query?query=1 HTTP/1.1\r\nHost: x\r\n" + many)
        for target in (b"/" * 60_000, b"/api/v1/query?" + b"a=b&" * 15_000, b"/api/v1/label/" + b"%41" * 10_000 + b"/values",
                       b"/api/v1/query?query=" + b"%" * 10_000, b"/../../../etc/passwd", b"*", b"http://[::1", b"/%00%00/\xff"):
            self.raw(b"GET " + target + b" HTTP/1.1\r\nHost: x\r\n\r\n")

    def slow(self):
        """Connections that promise and do not send, while others are served."""
        held = []
        for i in range(300):
            s = socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
            s.sendall([b"GET /api/v1/que", b"POST /api/v1/write HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n" + b"x" * 1000,
                       b"POST /api/v1/query HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nquery", b""][i % 4])
            held.append(s)
        for _ in range(5):
            for s in held[1::4]:
                try:
                    s.sendall(b"y" * 10)
                except OSError:
                    pass
            self.healthy("slow senders, while they hold on")
            time.sleep(0.2)
        for s in held:
            s.close()
        # Answers that are not read.
        readers = []
        for _ in range(50):
            s = socket.create_connection(("127.0.0.1", self.server.port), timeout=10)
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1024)
            s.sendall(b"GET /api/v1/query_range?query=time()&start=0&end=10999&step=1 HTTP/1.1\r\nHost: x\r\n\r\n" * 3)
            readers.append(s)
        self.healthy("answers that nobody reads, while they wait")
        for s in readers:
            s.close()

    # ---- queries ----

    def ask(self, query, path="query", **more):
        body = urllib.parse.urlencode({"query": query, "time": self.time_ms / 1000, **more}).encode()
        status, _, text = harness.request(f"{self.server.url}/api/v1/{path}", body, FORM, timeout=150)
        self.checks.that(status in (200, 400, 413, 422, 429, 503), f"{query[:60]!r} ({len(query)} bytes) of {path}: {status} {text[:200]}")
        return status

    def queries(self):
        n = MEGABYTE - 100
        texts = ["(" * n, "-" * n, "(" * (n // 2) + "1" + ")" * (n // 2), "sum(" * (n // 4), "a or " * (n // 5) + "a", "1+" * (n // 2) + "1",
                 "1^" * (n // 2) + "1", "a[5m:1m]" + "[5m:1m]" * (n // 8), '"' + "x" * n + '"', "a{" + 'b="c",' * (n // 6) + "}",
                 "{" * n, "a" * n, "1" * n, "0x" + "f" * n, "a offset " + "-" * n + "5m", "a @ " + "9" * n, "#" * n, "sum by (" + "a," * (n // 2) + ") (a)",
                 "label_join(a" + ',"b"' * (n // 4) + ")", "a[" + "1y" * (n // 2) + "]", "\0" * 1000, "\xff\xfe" * 1000, '"\\' + "u0000" * 100_000 + '"',
                 "a" * 3 * MEGABYTE]
        for text in texts:
            for path in ("query", "format_query", "parse_query"):
                self.ask(text, path)
        nested = "honest"
        for _ in range(200):
            nested = f"max_over_time(({nested})[1h:1s])"
        for text in (nested, "sum(" * 240 + "honest" + ")" * 240, "max_over_time(max_over_time(honest[1000y:1ms])[1000y:1ms])",
                     "count_values('v', " * 100 + "honest" + ")" * 100, "vector(1)[100y:1ms]", "honest[1000y]", "honest offset 10000y",
                     "honest @ 1e300", "quantile_over_time(NaN, honest[1h])", "topk(1e300, honest)", "limitk(-1e300, honest)",
                     'label_replace(honest, "a", "' + "$1" * 10_000 + '", "__name__", "(.*)")', "rate(honest[1e15s])"):
            self.ask(text)
        for start, end, step in (("0", "1e300", "1"), ("nan", "inf", "1"), ("-1e18", "1e18", "1e-9"), ("0", "10999", "0"), ("5", "1", "1"),
                                 ("-9223372036854775808", "9223372036854775807", "1ms"), ("0", "1e9", "100000"), ("0", "0", "1e300")):
            self.ask("honest", "query_range", start=start, end=end, step=step)
        self.ask("honest", "query_range", start="0", end="1099900", step="100")

    def patterns(self):
        bombs = ["(((a*)*)*)*b", "(a{1000}){1000}", "((a{1000}){1000}){1000}", ".*" * 50_000, "(x+x+)+y" * 1000, "|".join(f"v{i}" for i in range(100_000)),
                 "(?i)" + "k" * 100_000, "\\\\pL{1000}" * 20, "[" * 10_000, "(" * 10_000 + ")" * 10_000, "(?:a?){1000}a{1000}", "\\\\C*", "(?P<n>" * 1000,
                 "()" * 5000, "(\\\\pL{300})?", ".{0,1000}" * 100, "[^\\\\x00-\\\\x{10FFFF}]*"]
        for bomb in bombs:
            self.ask('honest{a=~"' + bomb + '"}')
            self.ask('{__name__=~"' + bomb + '"}')
            self.ask('label_replace(honest, "a", "$1", "__name__", "' + bomb + '")')
            query = urllib.parse.urlencode({"match[]": '{__name__=~"' + bomb + '"}'}).encode()
            harness.request(f"{self.server.url}/api/v1/series", query, FORM, timeout=60)
        for k in (100, 4000):
            self.ask("honest{" + ",".join('b=~"[a-z]{900}%d|"' % i for i in range(k)) + "}")
        many = urllib.parse.urlencode([("match[]", f'a{{b=~"{i}.*"}}') for i in range(20_000)]).encode()
        harness.request(f"{self.server.url}/api/v1/series", many, FORM, timeout=60)

    # ---- writes ----

    def write(self, body):
        status, _, text = harness.request(self.server.url + "/api/v1/write", body, harness.WRITE_HEADERS, timeout=60)
        self.checks.that(status in (204, 400, 413, 415, 503), f"a hostile write of {len(body)} bytes: {status} {text[:200]}")

    def writes(self):
        wide, small = {"count": 65536, "sum": 0.0, "positive": ([(0, 65536)], [1] * 65536)}, {"count": 1, "sum": 0.0, "zero": (0.1, 1)}
        # Of one time, and before others move the clock past it: each of the small ones is compared with a megabyte that is held.
        self.write(harness.snappy(harness.write_request([({"__name__": "held"}, [(self.time_ms, wide)])])))
        most = self.resident("VmHWM:")
        status, text = harness.send(self.server, [({"__name__": "held"}, [(self.time_ms, small)] * 2500)])
        self.checks.that(status == 400 and "2500 x duplicate" in text, f"histograms at a time that is held: {status} {text[:200]}")
        more = self.resident("VmHWM:") - most
        self.checks.that(more < 256 << 20, f"histograms at a time that is held took {more >> 20} MiB")
        buckets = {"count": 21, "sum": 3.5, "positive": ([(-3, 4), (2, 2)], [1, 2, 3, 4, 5, 6])}
        of_floats = {"count": 6.5, "sum": -1.0, "negative": ([(0, 2)], [2.5, 4.0]), "zero": (0.01, 0.0)}
        custom = {"count": 3, "sum": 2.0, "schema": -53, "positive": ([(0, 2)], [1, 2]), "custom": [0.5, 1.0]}
        good = harness.write_request([({"__name__": f"m{i}", "l": "v" * i}, [(self.time_ms, float(i))] * 3) for i in range(20)] +
                                     [({"__name__": f"h{i}"}, [(self.time_ms + k * 1000, h) for k in range(3)])
                                      for i, h in enumerate((buckets, of_floats, custom))])
        for _ in range(300):
            bad = bytearray(good)
            for _ in range(self.draw.randrange(1, 6)):
                bad[self.draw.randrange(len(bad))] = self.draw.randrange(256)
            self.write(harness.snappy(bytes(bad)))
            packed = bytearray(harness.snappy(good))
            for _ in range(self.draw.randrange(1, 4)):
                packed[self.draw.randrange(len(packed))] = self.draw.randrange(256)
            self.write(bytes(packed[:self.draw.randrange(1, len(packed))]))
        for declared in (0, 1, 1 << 20, 1 << 26, (1 << 32) - 1, 1 << 35):
            self.write(harness.varint(declared))
            self.write(harness.varint(declared) + b"\xf4\xff\xff" + b"\x0a" * 1000)
            # One byte, then copies of 64: a small body that unpacks to a large one.
            self.write(harness.varint(declared) + b"\x00\x0a" + (b"\xfe" + struct.pack("<H", 1)) * (min(declared, 1 << 25) // 64 + 1))
        empty = [({"__name__": f"e{i}"}, []) for i in range(50_000)]
        self.write(harness.snappy(harness.write_request(empty)))
        self.write(harness.snappy(harness.write_request([({f"l{i}": "v" for i in range(20_000)} | {"__name__": "w"}, [(self.time_ms, 1.0)])])))
        self.write(harness.snappy(harness.write_request([({"__name__": "w", "l": "v" * 5_000_000}, [(self.time_ms, 1.0)])])))
        # Nothing but histograms of two bytes each; one with millions of buckets; many whose buckets are as many as there may be.
        name = harness.field(1, harness.field(1, b"__name__") + harness.field(2, b"w"))
        self.write(harness.snappy(harness.field(1, name + b"\x22\x00" * (8 << 20))))
        self.write(harness.snappy(harness.field(1, name + harness.field(4, harness.field(12, b"\x02" * (12 << 20))))))
        for k in range(4):
            self.write(harness.snappy(harness.write_request([({"__name__": "wide", "k": str(k)}, [(self.time_ms + t, wide) for t in range(8)])])))
        for query in ("wide", "rate(wide[1m])", "histogram_quantile(0.9, sum(wide))", "wide[1m]", "sum(h0) + h1 * h2", "h0 == h1"):
            self.ask(query, time=self.time_ms / 1000 + 1)
        edge = (1 << 63) - 1
        self.write(harness.snappy(harness.write_request([({"__name__": "w"}, [(t, 1.0) for t in (edge, -edge - 1, -edge, 0, edge - 1)])])))
        for query in ("w", "sum_over_time(w[1h])", "rate(w[100y])"):
            for at in (0, -9.2e15, 9.2e15, 1_700_000_000):
                self.ask(query, time=at)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--memory", type=int, default=1 << 30, help="most resident bytes after an attack")
    options = parser.parse_args()
    checks = Checks()
    with harness.scratch("hostile") as directory:
        (directory / "workload.yaml").write_text("queries:\n  - query: sum_over_time(w[1m])\n    every: 10s\n"
                                                 "  - query: rate(honest[1m])\n    every: 1s\ndata: {raw_retention: 0}\n")
        server = harness.mullion(options.mullion, directory / "data", "--workload", directory / "workload.yaml")
        with server:
            attack = Attack(server, checks, options.seed, options.memory)
            attack.healthy("nothing")
            for kind in (attack.garbage, attack.headers, attack.slow, attack.queries, attack.patterns, attack.writes):
                begun = time.monotonic()
                kind()
                attack.healthy(kind.__name__)
                print(f"{kind.__name__}: {time.monotonic() - begun:.1f} s, {attack.resident() >> 20} MiB resident", flush=True)
            server.stop()
            checks.equal(server.process.returncode, 0, "exit status after SIGTERM")
            server.start()
            attack.healthy("a restart")
        log = server.log.read_text(errors="replace")
        checks.that("Sanitizer" not in log and "runtime error" not in log, f"no sanitizer report:\n{server.tail()}")
        print(f"most resident after an attack: {attack.most >> 20} MiB")
    checks.finish()


if __name__ == "__main__":
    sys.exit(main())
