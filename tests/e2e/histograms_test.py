#!/usr/bin/env python3
"""Native histograms over real sockets: what is taken and what is refused (status, reason, counters), what lists the series, and
that all of it is there after kill -9 and in a directory read without a server.

usage: histograms_test.py MULLION
"""
import json
import pathlib
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402
from harness import STALE, instant, metric_value  # noqa: E402


def whole(**changes):
    """count 10 = zero 1 + negative 2 + positive 3 + 4; buckets of schema 0."""
    return {"count": 10, "sum": 12.5, "zero": (0.001, 1), "negative": ([(0, 1)], [2]), "positive": ([(0, 1), (1, 1)], [3, 4]), **changes}


def of_floats(**changes):
    return {"count": 2.5, "sum": 1.25, "zero": (0.001, 0.5), "positive": ([(0, 2)], [0.5, 1.5]), **changes}


def custom(**changes):
    return {"count": 6, "sum": 3.0, "schema": -53, "positive": ([(0, 3)], [1, 2, 3]), "custom": [0.5, 1.0], **changes}


REFUSED = [  # what, histogram, part of the reason
    ("schema above 8", whole(schema=9), "unknown schema"),
    ("schema below -4", whole(schema=-5), "unknown schema"),
    ("a reserved schema", whole(schema=-54), "unknown schema"),
    ("a count that is too high", whole(count=11), "do not add up"),
    ("a count that is too low", whole(count=9), "do not add up"),
    ("less than its buckets, of NaN", whole(count=9, sum=float("nan")), "do not add up"),
    ("a negative bucket", whole(positive=([(0, 2)], [3, -1])), "negative"),
    ("a negative count of floats", of_floats(count=-1.0), "negative"),
    ("a negative bucket of floats", of_floats(positive=([(0, 2)], [0.5, -1.5])), "negative"),
    ("a negative zero bucket of floats", of_floats(zero=(0.001, -0.5)), "negative"),
    ("more buckets than spans say", whole(positive=([(0, 1)], [3, 4])), "differ in number"),
    ("fewer buckets than spans say", whole(negative=([(0, 2)], [2])), "differ in number"),
    ("a span that goes back", whole(positive=([(5, 1), (-2, 1)], [3, 4])), "negative offset"),
    ("a span out of range", whole(positive=([(2**31 - 1, 1), (1, 1)], [3, 4])), "out of range"),
    ("a negative threshold", whole(zero=(-1.0, 1)), "threshold"),
    ("bounds of exponential buckets", whole(custom=[1.0]), "no custom bounds"),
    ("custom bounds that fall", custom(custom=[1.0, 0.5]), "do not rise"),
    ("custom bounds that stay", custom(custom=[1.0, 1.0]), "do not rise"),
    ("a custom bound that is NaN", custom(custom=[0.5, float("nan")]), "do not rise"),
    ("a custom bound of +Inf", custom(custom=[0.5, float("inf")]), "+Inf"),
    ("custom buckets without bounds", custom(custom=[0.5]), "more custom buckets"),
    ("custom buckets with a zero bucket", custom(count=7, zero=(0.0, 1)), "no zero bucket"),
    ("custom buckets with a zero threshold", custom(zero=(0.5, 0)), "no zero bucket"),
    ("custom buckets with a negative side", custom(count=7, negative=([(0, 1)], [1])), "no negative side"),
    ("a custom span before the first", custom(positive=([(-1, 3)], [1, 2, 3])), "negative offset"),
]


def check_taken(c, server, now_ms):
    for name, h in (("h_int", whole()), ("h_float", of_floats()), ("h_custom", custom()), ("h_gauge", whole(hint=3)),
                    ("h_empty", {"count": 0, "sum": 0.0}), ("h_nan", whole(count=12, sum=float("nan")))):
        sent = [({"__name__": name}, [(now_ms, h)])]
        c.equal(harness.send(server, sent), (204, ""), name)
        c.equal(harness.send(server, sent), (204, ""), f"{name} again: it is held")
    c.equal(metric_value(server, "mullion_samples_duplicate_total"), 6.0, "duplicates are counted")


def check_refused(c, server, now_ms):
    for i, (what, h, reason) in enumerate(REFUSED):
        before = metric_value(server, "mullion_samples_refused_total", reason="histogram")
        status, text = harness.send(server, [({"__name__": f"kept{i}"}, [(now_ms, 1.0)]), ({"__name__": f"bad{i}"}, [(now_ms, h)]),
                                             ({"__name__": f"kept{i}", "h": "1"}, [(now_ms, whole())])])
        c.that(status == 400 and reason in text and f"bad{i}" in text and "kept" not in text, f"{what}: {status} {text}")
        c.equal(metric_value(server, "mullion_samples_refused_total", reason="histogram"), before + 1, f"{what} is counted")
        listed = harness.api(server, "series", **{"match[]": f'{{__name__=~"(kept|bad){i}"}}'})["data"]
        c.equal(len(listed), 2, f"{what}: the rest of the request is kept: {listed}")


def check_times(c, server, now_ms):
    other = whole(sum=13.0)
    rows = [
        ("another histogram at the time", "h_int", now_ms, other, 400, "duplicate sample"),
        ("a float at the time", "h_int", now_ms, 5.0, 400, "duplicate sample"),
        ("a marker at the time", "h_int", now_ms, STALE, 204, ""),
        ("a histogram's marker at the time", "h_int", now_ms, {"count": 0, "sum": STALE}, 204, ""),
        ("too far ahead", "h_int", now_ms + 3600_000, other, 400, "too far in the future"),
        ("too old", "h_int", now_ms - 3 * 3600_000, other, 400, "too old"),
        ("late", "h_int", now_ms - 60_000, other, 204, ""),
        ("late again", "h_int", now_ms - 60_000, other, 204, ""),
        ("a float at another time", "h_int", now_ms - 30_000, 7.0, 204, ""),
        ("a histogram where a float is held", "h_int", now_ms - 30_000, other, 400, "duplicate sample"),
        ("a marker", "h_gone", now_ms, {"count": 0, "sum": STALE}, 204, ""),
        ("a histogram where a marker is held", "h_gone", now_ms, whole(), 204, ""),
    ]
    for what, name, time_ms, value, status, reason in rows:
        got = harness.send(server, [({"__name__": name}, [(time_ms, value)])])
        c.that(got[0] == status and reason in got[1], f"{what}: {got}")


def check_malformed(c, server, now_ms):
    body = harness.write_request([({"__name__": "cut"}, [(now_ms, whole())])])
    for at in range(1, len(body)):
        status, _, _ = harness.request(server.url + "/api/v1/write", harness.snappy(body[:at]), harness.WRITE_HEADERS)
        c.equal(status, 400, f"a body cut at byte {at} of {len(body)}")
    many = {"count": 0, "sum": 0.0, "positive": ([(0, 5 << 20)], [0] * (5 << 20))}
    status, text = harness.send(server, [({"__name__": "many"}, [(now_ms, many)])])
    c.that(status == 413 and "buckets" in text, f"five million buckets: {status} {text}")
    c.equal(harness.api(server, "series", **{"match[]": '{__name__=~"cut|many"}'})["data"], [], "nothing of them is stored")


def answers(c, ask, when):
    """What was sent is there, field by field. ask(query) gives the value of the one series of its answer."""
    h = ask("h_int")["histogram"][1]
    c.equal((float(h["count"]), float(h["sum"])), (10.0, 12.5), f"{when}: h_int")
    buckets = [[rule, float(low), float(high), float(n)] for rule, low, high, n in h["buckets"]]
    c.equal(buckets, [[1, -1.0, -0.5, 2.0], [3, -0.001, 0.001, 1.0], [0, 0.5, 1.0, 3.0], [0, 2.0, 4.0, 4.0]], f"{when}: its buckets")
    for name, count, total in (("h_float", 2.5, 1.25), ("h_custom", 6.0, 3.0), ("h_gauge", 10.0, 12.5), ("h_empty", 0.0, 0.0),
                               ("h_gone", 10.0, 12.5)):
        c.equal((float(ask(f"histogram_count({name})")["value"][1]), float(ask(f"histogram_sum({name})")["value"][1])), (count, total),
                f"{when}: {name}")
    c.equal(ask("histogram_sum(h_nan)")["value"][1], "NaN", f"{when}: h_nan")
    c.equal(float(ask("count_over_time(h_int[2m])")["value"][1]), 3.0, f"{when}: two histograms and a float in two minutes")


def over_http(c, server, now_s):
    def ask(query):
        answer = instant(server, query, now_s)
        c.that(answer["status"] == "success" and len(answer["data"]["result"]) == 1, f"{query}: {str(answer)[:200]}")
        return answer["data"]["result"][0]
    return ask


def main():
    mullion = sys.argv[1]
    c = harness.Checks()
    with harness.scratch("histograms") as directory:
        data = directory / "data"
        now_s = int(time.time())
        now_ms = now_s * 1000
        with harness.mullion(mullion, data) as server:
            check_taken(c, server, now_ms)
            check_times(c, server, now_ms)
            check_refused(c, server, now_ms)
            check_malformed(c, server, now_ms)
            answers(c, over_http(c, server, now_s), "at once")
            server.kill()
            server.start()
            answers(c, over_http(c, server, now_s), "after kill -9")
            server.stop()
            server.start() # its checkpoint
            answers(c, over_http(c, server, now_s), "after a stop")
            server.stop()

        def ask(query):
            out = subprocess.run([mullion, "query", "--data-dir", str(data), "--time", str(now_s), "--format", "json", query],
                                 capture_output=True, text=True, check=False)
            c.equal(out.returncode, 0, f"{query} without a server: {out.stderr[-200:]}")
            return json.loads(out.stdout)["data"]["result"][0]
        answers(c, ask, "without a server")
        check = subprocess.run([mullion, "check", str(data)], capture_output=True, text=True, check=False)
        c.equal(check.returncode, 0, f"mullion check: {(check.stdout + check.stderr)[-300:]}")
    c.finish()


if __name__ == "__main__":
    main()
