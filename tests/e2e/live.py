#!/usr/bin/env python3
"""Side by side: one Prometheus scrapes itself and node_exporter and remote-writes to mullion and to a Prometheus 3.

After --minutes the same queries go to both, instant and range, at fixed past times that both have received; answers must agree
to 1e-9 relative. Queries: live_queries.py, and with --corpus FILE (JSON lines with `expr`) those of the file whose metrics exist.
"""
import argparse
import json
import re
import shutil
import sys
import time

import harness
from harness import Checks, Server, instant, metric_value, ranged
from live_queries import PLANNED, QUERIES

INTERVAL_S = 5


def scrape_config(node_port, own_port, targets):
    writes = "\n".join(f"- url: {t.url}/api/v1/write\n  queue_config: {{batch_send_deadline: 1s}}" for t in targets)
    return f"""
global: {{scrape_interval: {INTERVAL_S}s}}
scrape_configs:
- job_name: prometheus
  static_configs: [{{targets: ['127.0.0.1:{own_port}']}}]
- job_name: node
  static_configs: [{{targets: ['127.0.0.1:{node_port}']}}]
remote_write:
{writes}
"""


def workload(path):
    queries = "".join(f"  - query: {json.dumps(q)}\n    every: 15s\n" for q in PLANNED)
    path.write_text(f"queries:\n{queries}data: {{raw_retention: 0}}\n")
    return path


def metric_names(expression):
    return set(re.findall(r"\b([a-zA-Z_:][a-zA-Z0-9_:]*)\s*(?=[{\[])|\b([a-z]+(?:_[a-z0-9]+)+)\b", expression))


def corpus_queries(path, reference, end_s, most):
    """Expressions of the file whose answer at end_s is not empty in the reference."""
    known = set(harness.api(reference, "label/__name__/values")["data"])
    chosen, seen = [], set()
    for line in open(path):
        row = json.loads(line)
        query = row["expr"]
        if not row.get("promtool_ok", True) or query in seen:
            continue
        names = {a or b for a, b in metric_names(query)}
        if not names & known:
            continue
        seen.add(query)
        answer = instant(reference, query, end_s)
        if answer["status"] == "success" and answer["data"]["result"]:
            chosen.append(query)
        if len(chosen) == most:
            break
    return chosen


def caught_up(server, at_s):
    answer = instant(server, "min(timestamp(up))", at_s + INTERVAL_S)
    return answer["status"] == "success" and answer["data"]["result"] and float(answer["data"]["result"][0]["value"][1]) >= at_s


def compare(checks, ours, theirs, queries, start_s, end_s, what):
    worst = []
    for query in queries:
        for at in (end_s, start_s + (end_s - start_s) // 2 // 15 * 15):
            found = harness.differences(instant(ours, query, at), instant(theirs, query, at))
            checks.that(not found, f"{what}: {query} at {at}: {found[:2]}")
        found = harness.differences(ranged(ours, query, start_s, end_s, 15), ranged(theirs, query, start_s, end_s, 15))
        if not checks.that(not found, f"{what}: {query} over [{start_s}, {end_s}]: {found[:2]}"):
            worst.append(query)
    return worst


def run(options, directory, reference_binary, version):
    checks = Checks()
    print(f"reference: {version}", flush=True)
    node_port, own_port = harness.free_port(), harness.free_port()
    node = Server(["prometheus-node-exporter", f"--web.listen-address=127.0.0.1:{node_port}"], node_port, directory / "node.log",
                  ready_path="/")
    ours = harness.mullion(options.mullion, directory / "data", "--workload", workload(directory / "workload.yaml"))
    theirs = harness.prometheus(reference_binary, directory / "reference", flags=["--web.enable-remote-write-receiver"])
    with node, ours, theirs:
        sender = harness.prometheus("prometheus", directory / "sender", scrape_config(node_port, own_port, [ours, theirs]),
                                    port=own_port)
        begun = time.time()
        with sender:
            while time.time() < begun + options.minutes * 60:
                time.sleep(1)
                harness.request(sender.url + "/api/v1/query?query=up")
        end_s = int(time.time() - 2 * INTERVAL_S) // 15 * 15
        start_s = max(end_s - 600, int(begun) // 15 * 15 + 30)
        for server in (ours, theirs):
            checks.that(caught_up(server, end_s), f"{server.argv[0]} has received everything up to {end_s}")
        compare(checks, ours, theirs, QUERIES, start_s, end_s, "built-in")
        answered = [instant(ours, q, end_s)["headers"].get("X-Mullion-Source") for q in PLANNED]
        checks.that(all(a in ("panes", "mixed") for a in answered), f"planned queries read panes: {answered}")
        compared = len(QUERIES)
        if options.corpus:
            chosen = corpus_queries(options.corpus, theirs, end_s, options.most)
            compare(checks, ours, theirs, chosen, start_s, end_s, "corpus")
            compared += len(chosen)
            print(f"queries of {options.corpus} with an answer: {len(chosen)}")
        stored = metric_value(ours, "mullion_samples_stored_total")
        refused = metric_value(ours, "mullion_samples_refused_total")
        checks.equal(refused, 0.0, "samples refused")
        print(f"{compared} queries, instant and range, over {end_s - start_s} s; {stored:.0f} samples stored, "
              f"sources of planned queries {sorted(set(answered))}")
    return checks


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mullion", required=True)
    parser.add_argument("--minutes", type=float, default=10)
    parser.add_argument("--corpus", help="JSON lines with an `expr` each")
    parser.add_argument("--most", type=int, default=400, help="most queries of the corpus")
    parser.add_argument("--reference", default=str(harness.ROOT / ".cache" / "prometheus3"), help="where Prometheus 3 is unpacked")
    options = parser.parse_args()
    for program in ("prometheus", "prometheus-node-exporter"):
        if not shutil.which(program):
            harness.skip(f"{program} is not installed")
    binary, version = harness.reference(options.reference)
    if not binary:
        harness.skip(f"Prometheus 3 for comparison: {version}")
    with harness.scratch("live") as directory:
        run(options, directory, binary, version).finish()


if __name__ == "__main__":
    sys.exit(main())
