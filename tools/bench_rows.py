#!/usr/bin/env python3
"""docs/KERNELS.md's table of targets against bench/kernels/rows.c: every row is there, in order, under its own name.

usage: bench_rows.py [ROOT]     prints what is missing or out of order; exit status 1 if anything
"""
import pathlib
import re
import sys


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent)
    table = re.search(r"^\| job \|.*\n\|[-|]+\|\n((?:\|.*\n)+)", (root / "docs/KERNELS.md").read_text(), re.M)
    rows = [line.split("|")[1].strip() for line in table[1].splitlines()]
    source = (root / "bench/kernels/rows.c").read_text()
    names = dict(re.findall(r'^#define (\w+) "([^"]*)"$', source, re.M))
    used = []
    for name in re.findall(r"^    \{(\w+), \"", source, re.M):
        if names[name] not in used:
            used.append(names[name])
    used.append(re.search(r'table_bytes_row = "([^"]*)"', source)[1])
    if used == rows:
        return 0
    for i in range(max(len(rows), len(used))):
        want, have = (some[i] if i < len(some) else "(nothing)" for some in (rows, used))
        if want != have:
            print(f"row {i + 1}: docs/KERNELS.md has {want!r}, bench/kernels/rows.c {have!r}")
    return 1


if __name__ == "__main__":
    sys.exit(main())
