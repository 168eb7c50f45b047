#!/usr/bin/env python3
"""What README.md shows does what it says: its workload is planned, and every query of it stands on panes or a stored root; its config file is read.

usage: readme_test.py MULLION
"""
import json
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import harness  # noqa: E402

BLOCK = re.compile(r"^( *)```yaml\n(.*?)^\1```", re.M | re.S)


def block_with(text, key):
    """The one YAML block of the README that has this top-level key, without the indentation of its list item."""
    found = ["".join(line.removeprefix(indent) for line in body.splitlines(keepends=True))
             for indent, body in BLOCK.findall(text)]
    found = [body for body in found if re.search(rf"^{key}:", body, re.M)]
    assert len(found) == 1, f"{len(found)} YAML blocks with {key}: in README.md, one is expected"
    return found[0]


def check_workload(c, binary, directory, text):
    workload, plan = directory / "workload.yaml", directory / "plan.json"
    workload.write_text(block_with(text, "queries"))
    done = subprocess.run([binary, "plan", workload, "-o", plan], capture_output=True, text=True, timeout=60)
    c.equal(done.returncode, 0, f"the workload is planned: {done.stderr}")
    parsed = json.loads(plan.read_text())
    queries, nodes = parsed["queries"], parsed["nodes"]
    c.equal(len(queries), workload.read_text().count("query:"), "every query of the block is in the plan")
    for query in queries:
        c.that(query["uses"] or nodes[query["root"]]["op"] == "stored", f"{query['text']} stands on panes or a stored root")
    explained = subprocess.run([binary, "plan", workload, "--explain"], capture_output=True, text=True, timeout=60).stdout
    for word in ("60 x 1m", "refresh group", "CPU-ms a second", "rejected:", "stored root 0"):
        c.that(word in explained, f"--explain has the word the legend explains: {word}")


def check_config(c, binary, directory, text):
    lines = block_with(text, "slow-query-log").splitlines()
    port, config = harness.free_port(), directory / "config.yaml"
    config.write_text("\n".join(line for line in lines if not line.startswith(("data-dir:", "listen:"))) + "\n")
    argv = [binary, "serve", "--config", config, "--data-dir", directory / "data", "--listen", f"127.0.0.1:{port}"]
    with harness.Server(argv, port, directory / "log") as server:
        flags = harness.api(server, "status/flags")["data"]
        for line in lines:
            name, value = line.split(": ")
            if name not in ("data-dir", "listen"):
                c.equal(flags.get(name), value, f"{name} is taken from the file")


def main():
    binary, c = pathlib.Path(sys.argv[1]).resolve(), harness.Checks()
    text = (harness.ROOT / "README.md").read_text()
    with harness.scratch("readme") as directory:
        check_workload(c, binary, directory, text)
        check_config(c, binary, directory, text)
    c.finish()


if __name__ == "__main__":
    main()
