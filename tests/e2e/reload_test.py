#!/usr/bin/env python3
"""A workload changes under a running server: POST /-/reload and SIGHUP put the new plan in force without a gap in any
answer; a reload that fails, for whatever reason, leaves everything as it was.

usage: reload_test.py MULLION      (mullion-plan stands beside it)
"""
import json
import pathlib
import shutil
import signal
import sys
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

SERIES, ROUNDS = 20, 60  # a round each 10 s
DATA = "data: {metrics: {m: {series: 1000, interval: 100ms}}}\n"
SUM = "sum_over_time(m[1m])"
MAX = "max_over_time(m[5m])"

# In place of mullion-plan: what the file `mode` says, or the real one.
PLANNER = """#!/bin/sh
case "$(cat {mode} 2>/dev/null)" in
    killed) kill -9 $$ ;;
    failed) echo "w.yaml:1:1: broken" >&2; exit 1 ;;
    garbage) while [ "$1" != -o ]; do shift; done; echo '{{"format":"mullion-plan/1"' >"$2"; exit 0 ;;
    foreign) while [ "$1" != -o ]; do shift; done; echo '[]' >"$2"; exit 0 ;;
    hangs) exec sleep 100 ;;
esac
exec {real} "$@"
"""


def workload(path, *queries, text=None):
    lines = "".join(f"  - {{query: '{q}', every: 10s}}\n" for q in queries)
    path.write_text(text if text is not None else "queries:\n" + lines + DATA)


def reload(server):
    status, _, body = harness.request(server.url + "/-/reload", b"", method="POST")
    return status, body.decode(errors="replace")


def planned(server):
    return sorted(q["text"] for q in harness.api(server, "plan")["data"]["queries"])


def views(server):
    return {v["identity"]: v for v in harness.api(server, "views")["data"]}


class Asker:
    """Asks one query again and again; every answer must be the first one."""

    def __init__(self, server, query, at):
        self.server, self.query, self.at = server, query, at
        self.expected, self.answers, self.wrong, self.stop = None, 0, [], threading.Event()
        self.thread = threading.Thread(target=self.run)

    def run(self):
        while not self.stop.is_set():
            answer = harness.instant(self.server, self.query, self.at)
            got = sorted((r["metric"].get("i"), r["value"][1]) for r in answer.get("data", {}).get("result", []))
            self.expected = self.expected or got
            self.answers += 1
            if answer["http"] != 200 or got != self.expected or len(got) != SERIES:
                self.wrong.append((answer["http"], answer.get("error"), len(got)))

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.stop.set()
        self.thread.join()


def fill(c, server, now):
    for k in range(ROUNDS, 0, -1):
        rows = [({"__name__": "m", "i": str(i)}, [((now - 10 * k) * 1000, 100.0 * k + i)]) for i in range(SERIES)]
        c.equal(harness.send(server, rows)[0], 204, "samples")


def settled(server):
    """Every window is sealed up to the watermark, and none waits to be built."""
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        late = [v for v in views(server).values() if (v["sealedTo"] or 0) <= v["watermark"] - 10]
        if not late and harness.metric_value(server, "mullion_backfill_windows") == 0:
            return
        time.sleep(0.1)


def check_change(c, server, file, now):
    fill(c, server, now)
    settled(server)
    before, at = views(server), now - 60
    c.equal(planned(server), [SUM], "the plan at the start")
    with Asker(server, SUM, at) as asker:
        workload(file, SUM, MAX)
        c.equal(reload(server), (200, ""), "reload")
        c.equal(planned(server), [MAX, SUM], "the new plan is in force at once")
        settled(server)
        time.sleep(0.5)
    c.equal(asker.wrong[:3], [], f"no answer of {asker.answers} changed during the reload")
    c.that(asker.answers > 5, f"{asker.answers} answers")
    after = views(server)
    for identity, view in before.items():
        kept = after.get(identity, {})
        c.equal((kept.get("storeView"), kept.get("sealedTo")), (view["storeView"], view["sealedTo"]), "a view goes on")
    c.that(len(after) > len(before), "a view was added")
    newest = now - 40  # what was built reaches one window's length back from the newest sealed one
    answer, exact = harness.instant(server, MAX, newest), harness.instant(server, MAX, newest, exact=1)
    c.equal(answer["headers"]["X-Mullion-Source"], "panes", "the new query is answered from panes")
    c.equal(harness.by_labels(answer), harness.by_labels(exact), "which are exact")

    workload(file, SUM)
    server.process.send_signal(signal.SIGHUP)
    deadline = time.monotonic() + 20
    while planned(server) != [SUM] and time.monotonic() < deadline:
        time.sleep(0.1)
    c.equal(planned(server), [SUM], "SIGHUP reloads too")
    c.equal(sorted(views(server)), sorted(before), "what nobody reads is freed")
    c.equal(harness.by_labels(harness.instant(server, MAX, newest)), harness.by_labels(exact), "raw samples answer instead")
    info = harness.api(server, "status/runtimeinfo")["data"]
    c.that(info["reloadConfigSuccess"] and info["lastConfigTime"] > info["startTime"], "runtimeinfo says when")


def check_failures(c, server, file, mode, now):
    at = now - 60
    want = harness.by_labels(harness.instant(server, SUM, at))
    kept = json.dumps(harness.api(server, "plan")["data"])

    def refused(what, status, words):
        got, body = reload(server)
        c.equal(got, status, f"{what}: {body}")
        c.that(words in body, f"{what}: {body!r} has {words!r}")
        c.equal(json.dumps(harness.api(server, "plan")["data"]), kept, f"{what}: the plan stays")
        c.equal(harness.by_labels(harness.instant(server, SUM, at)), want, f"{what}: so do answers")
        c.equal(harness.metric_value(server, "mullion_config_last_reload_successful"), 0, f"{what}: /metrics says so")
        c.that("not reloaded" in server.log.read_text(), f"{what}: so does the log")

    workload(file, text="queries:\n  - {query: 'sum(', every: 10s}\n  - {query: up, evry: 10s}\n")
    refused("a wrong workload", 400, "could not be planned")
    log = server.log.read_text()
    c.that("w.yaml:2:" in log and "w.yaml:3:" in log, "both of its errors are printed, with their places")
    file.unlink()
    refused("no workload", 400, "could not be planned")
    workload(file, SUM, MAX)
    for what, status, words in (("killed", 500, "signal 9"), ("failed", 400, "could not be planned"),
                                ("garbage", 400, "plan"), ("foreign", 400, "plan")):
        mode.write_text(what)
        refused(f"a planner that is {what}", status, words)
    mode.write_text("")
    c.equal(reload(server)[0], 200, "and after all that a reload works")
    c.equal(planned(server), [MAX, SUM], "with its plan")
    c.equal(harness.metric_value(server, "mullion_config_last_reload_successful"), 1, "which /metrics says")


def check_end(c, server, mode):
    """A planner that hangs keeps neither queries nor another reload waiting, nor the server from ending."""
    mode.write_text("hangs")
    thread = threading.Thread(target=lambda: reload(server))
    thread.start()
    time.sleep(0.5)
    c.equal(harness.instant(server, "vector(1)", 0)["http"], 200, "queries go on during a reload")
    status, body = reload(server)
    c.equal(status, 503, f"one reload at a time: {body}")
    start = time.monotonic()
    c.equal(server.stop(), 0, "SIGTERM ends it with 0 while a planner hangs")
    c.that(time.monotonic() - start < 8, f"soon: {time.monotonic() - start:.1f} s")
    thread.join()


def check_unasked(c, server):
    """A planned query under another name than the one asked: everything would go the slow way, and only this says so."""
    deadline = time.monotonic() + 15
    while harness.metric_value(server, "mullion_planned_queries_unasked") != 1 and time.monotonic() < deadline:
        harness.instant(server, "count(http_requests_total)", time.time())
        harness.instant(server, "sum(up)", time.time())
        time.sleep(0.2)
    c.equal(harness.metric_value(server, "mullion_planned_queries_unasked"), 1, "one planned query is not asked")
    time.sleep(1.1)
    harness.instant(server, "count(http_requests_total)", time.time())
    said = [line for line in server.log.read_text().splitlines() if "not asked in three" in line]
    c.equal(len(said), 1, "the log says so once")
    c.that(said and "http_requests_total_2" in said[0] and "asked=count(http_requests_total)" in said[0],
           f"with what is asked instead: {said}")
    c.that(said and 'difference="http_requests_total_2, http_requests_total"' in said[0], f"and in what it differs: {said}")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    with harness.scratch("reload") as directory:
        file, mode = directory / "w.yaml", directory / "mode"
        shutil.copy(binary, directory / "mullion")
        planner = directory / "mullion-plan"
        planner.write_text(PLANNER.format(mode=mode, real=binary.parent / "mullion-plan"))
        planner.chmod(0o755)
        workload(file, SUM)
        now = int(time.time()) // 10 * 10 - 100
        with harness.mullion(directory / "mullion", directory / "data", "--workload", file) as server:
            check_change(c, server, file, now)
            check_failures(c, server, file, mode, now)
            check_end(c, server, mode)
        mode.write_text("")
        with harness.mullion(directory / "mullion", directory / "data", "--workload", file) as server:
            c.equal(planned(server), [MAX, SUM], "a restart plans the same")
        workload(file, text="queries:\n  - {query: count(http_requests_total_2), every: 1s}\n  - {query: sum(up), every: 1s}\n")
        with harness.mullion(directory / "mullion", directory / "renamed", "--workload", file) as server:
            check_unasked(c, server)
        with harness.mullion(directory / "mullion", directory / "plain") as server:
            status, body = reload(server)
            c.equal(status, 400, "nothing to reload")
            c.that("--workload" in body, f"it says what is missing: {body}")
    c.finish()


if __name__ == "__main__":
    main()
