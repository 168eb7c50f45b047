#!/usr/bin/env python3
"""Who may include whom: docs/ARCHITECTURE.md's rules as a check over every *.c, *.h and *.cc of the rooms.

usage: deps_lint.py [ROOT]     prints file:line: rule for each violation, then "N files, N violations"; exit status 1 if any

Checked: room -> room includes; third-party headers in their one place; C++ in base/shim.cc only; kernels that neither
allocate, print nor lock; the wall clock read in base/clock.c only; the log used by base/, server/ and cmd/ only.
tests/ and bench/ may include anything. Comments and string literals are not code.
"""
import fnmatch
import pathlib
import re
import sys

ROOMS = ("base", "kernels", "promql", "plan", "planner", "store", "ingest", "executor", "server", "cmd")

# What a room may include besides itself: whole rooms, or single headers of one.
MAY_INCLUDE = {
    "base": (),
    "kernels": (),
    "promql": ("base/*",),
    "plan": ("base/*", "promql/*", "kernels/sketch.h"),
    "planner": ("base/*", "promql/*", "plan/*", "kernels/sketch.h"),
    "store": ("base/*", "kernels/frame.h", "plan/ids.h"),
    "ingest": ("base/*", "store/*", "plan/*", "executor/refresh.h", "executor/root.h", "kernels/frame.h"),
    "executor": ("base/*", "promql/*", "plan/*", "kernels/*", "store/*"),
    "server": ("base/*", "promql/*", "plan/*", "store/*", "ingest/*", "executor/*", "web/*"),
    "cmd": ("*",),
}

# header pattern -> files that may include it
THIRD_PARTY = (
    ("uv.h", ("server/*", "base/pool.c")),
    ("microhttpd.h", ("server/*",)),
    ("curl/*", ("server/*",)),
    ("lmdb.h", ("store/*",)),
    ("glpk.h", ("planner/milp.c",)),
    ("jemalloc/*", ("base/alloc.c",)),
    ("*mmintrin.h", ("kernels/*_avx2.[ch]", "kernels/*_avx512.[ch]")),
    ("immintrin.h", ("kernels/*_avx2.[ch]", "kernels/*_avx512.[ch]")),
    ("x86intrin.h", ("kernels/*_avx2.[ch]", "kernels/*_avx512.[ch]")),
    ("re2/*", ("base/shim.cc",)),
    ("charconv", ("base/shim.cc",)),
    ("yaml.h", ("planner/*", "cmd/*", "base/*")),
    ("jansson.h", ("plan/*", "server/*", "cmd/*")),
    ("snappy*.h", ("ingest/*", "server/*", "cmd/*")),
    ("zlib.h", ("server/*",)),
    ("roaring/*", ("store/*", "ingest/*")),
    ("check.h", ()),
    ("sys/socket.h", ("server/*", "cmd/*")),
    ("netinet/*", ("server/*", "cmd/*")),
    ("arpa/*", ("server/*", "cmd/*")),
    ("base/log.h", ("base/*", "server/*", "cmd/*")),
)

# (files, files excepted, pattern in code, rule)
CODE_RULES = (
    (("kernels/*",), (), re.compile(r"\b(?:malloc|calloc|realloc|aligned_alloc|posix_memalign|strdup|free)\s*\("),
     "kernels do not allocate: the caller owns memory"),
    (("kernels/*",), (), re.compile(r"\b(?:v?f?printf|puts|fputs|fwrite|fopen|perror)\s*\(|\bFILE\b"),
     "kernels do no I/O"),
    (("kernels/*",), (), re.compile(r"\b(?:pthread_|mtx_|uv_mutex_)\w+"), "kernels take no locks"),
    (("*",), ("base/clock.c",),
     re.compile(r"\bgettimeofday\s*\(|\bCLOCK_REALTIME\w*|\buv_now\s*\(|\buv_gettimeofday\s*\(|\btimespec_get\s*\(|"
                r"(?<![\w.>])time\s*\(\s*(?:NULL|0|nullptr|&\s*\w+)\s*\)"),
     "the wall clock is read in base/clock.c only"),
)

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")', re.M)
NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def blank(text, strings):
    """The text with comments (and string literals) as spaces; every line keeps its number."""

    def replace(found):
        piece = found.group(0)
        if piece[0] in "\"'" and not strings:
            return piece
        return re.sub(r"[^\n]", " ", piece)

    return NOT_CODE.sub(replace, text)


def any_match(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def check_include(path, room, header, quoted):
    """The rule this include breaks, or None."""
    for pattern, places in THIRD_PARTY:
        if fnmatch.fnmatchcase(header, pattern) and not any_match(path, places):
            return f"{header} may be included by {', '.join(places) or 'tests'} only"
    if not quoted:
        return None
    other = header.split("/")[0]
    if "/" not in header or ".." in header:
        return f'"{header}": write includes as "room/file.h"'
    if other != room and not any_match(header, MAY_INCLUDE[room]):
        return f"{room} may not include {header}"
    return None


def check_file(path, text):
    """Yields (line, rule) for one file; path is relative to the root, with '/'."""
    room = path.split("/")[0]
    if path.endswith(".cc") and path != "base/shim.cc":
        yield 1, "C++ is in base/shim.cc only"
    without_comments = blank(text, strings=False)
    for found in INCLUDE.finditer(without_comments):
        rule = check_include(path, room, found.group(1) or found.group(2), found.group(2) is not None)
        if rule:
            yield without_comments.count("\n", 0, found.start()) + 1, rule
    code = blank(text, strings=True)
    for files, excepted, pattern, rule in CODE_RULES:
        if any_match(path, files) and not any_match(path, excepted):
            for found in pattern.finditer(code):
                yield code.count("\n", 0, found.start()) + 1, rule


def lint(root):
    """(number of files, sorted list of "file:line: rule")."""
    files, violations = 0, []
    for room in ROOMS:
        for file in sorted((root / room).rglob("*")):
            if file.suffix not in (".c", ".h", ".cc") or not file.is_file():
                continue
            files += 1
            path = file.relative_to(root).as_posix()
            text = file.read_text(encoding="utf-8", errors="replace")
            violations += [(path, line, rule) for line, rule in check_file(path, text)]
    return files, [f"{path}:{line}: {rule}" for path, line, rule in sorted(violations)]


def main(arguments):
    root = pathlib.Path(arguments[0]) if arguments else pathlib.Path(__file__).resolve().parent.parent
    files, violations = lint(root)
    if files == 0:
        print(f"{root}: no source files here; give the repository's root")
        return 1
    for violation in violations:
        print(violation)
    print(f"{files} files, {len(violations)} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
