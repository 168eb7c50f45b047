#!/usr/bin/env python3
"""The dependency lint on small trees: a clean one passes, each planted violation is found at its line."""
import pathlib
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "deps_lint.py"

CLEAN = {
    "base/str.h": "#include <stddef.h>\n",
    "base/alloc.c": "#include <jemalloc/jemalloc.h>\n",
    "base/clock.c": "void f(void)\n{\n    clock_gettime(CLOCK_REALTIME, &t);\n}\n",
    "base/pool.c": "#include <uv.h>\n",
    "base/shim.cc": "#include <re2/re2.h>\n",
    "kernels/kll.c": '#include "kernels/sketch.h"\n/* free(x) and "base/str.h" in a comment */\n',
    "kernels/sum_avx2.c": "#include <immintrin.h>\n",
    "promql/parse.c": '#include "base/str.h"\n// time(NULL) in a comment\nconst char *s = "time(0)";\n',
    "plan/ids.h": '#include "promql/ast.h"\n#include "kernels/sketch.h"\n',
    "store/raw.c": '#include "plan/ids.h"\n#include <lmdb.h>\n',
    "ingest/refresh.c": '#include "executor/refresh.h"\n',
    "planner/milp.c": "#include <glpk.h>\n",
    "cmd/main.c": '#include "planner/emit.h"\n',
    "tests/base/x_test.c": '#include "planner/emit.h"\nlong now = time(NULL);\n',
}

# path, text, line, a part of the rule's text
PLANTED = (
    ("base/a.c", '\n#include "kernels/sketch.h"\n', 2, "base may not include"),
    ("kernels/a.c", '#include "base/err.h"\n', 1, "kernels may not include"),
    ("promql/a.h", '#include "plan/plan.h"\n', 1, "promql may not include"),
    ("plan/a.c", '#include "kernels/frame.h"\n', 1, "plan may not include"),
    ("store/a.c", '#include "plan/plan.h"\n', 1, "store may not include"),
    ("planner/a.c", '#include "executor/bind.h"\n', 1, "planner may not include"),
    ("ingest/a.c", '#include "executor/bind.h"\n', 1, "ingest may not include"),
    ("executor/a.c", '#include "planner/emit.h"\n', 1, "executor may not include"),
    ("executor/a.c", '#include "ingest/head.h"\n', 1, "executor may not include"),
    ("server/a.c", '/* two\nlines */ #include "x.h"\n#include "planner/emit.h"\n', 3, "server may not include"),
    ("server/a.c", '#include "local.h"\n', 1, "room/file.h"),
    ("executor/a.c", "#include <uv.h>\n", 1, "uv.h may be included"),
    ("ingest/a.c", "#  include <lmdb.h>\n", 1, "lmdb.h may be included"),
    ("planner/a.c", "#include <glpk.h>\n", 1, "glpk.h may be included"),
    ("store/a.c", "#include <jemalloc/jemalloc.h>\n", 1, "jemalloc"),
    ("kernels/sum.c", "#include <immintrin.h>\n", 1, "immintrin.h may be included"),
    ("kernels/sum.c", "#include <emmintrin.h>\n", 1, "emmintrin.h may be included"),
    ("store/a.c", "#include <jansson.h>\n", 1, "jansson.h may be included"),
    ("executor/a.c", '#include "base/log.h"\n', 1, "base/log.h may be included"),
    ("ingest/a.cc", "int x;\n", 1, "C++ is in base/shim.cc only"),
    ("kernels/a.c", "int f(void)\n{\n    return malloc(3) != 0;\n}\n", 3, "do not allocate"),
    ("kernels/a.c", "void f(void)\n{\n    printf(\"x\");\n}\n", 3, "no I/O"),
    ("kernels/a.c", "pthread_mutex_t m;\n", 1, "no locks"),
    ("ingest/a.c", "\n\nlong f(void) { return time(NULL); }\n", 3, "wall clock"),
    ("server/a.c", "void f(void) { uv_now(loop); }\n", 1, "wall clock"),
    ("executor/a.c", "int c = CLOCK_REALTIME;\n", 1, "wall clock"),
)


def run_lint(files):
    with tempfile.TemporaryDirectory() as root:
        for path, text in files.items():
            file = pathlib.Path(root, path)
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        done = subprocess.run([sys.executable, str(LINT), root], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout.splitlines()


class DepsLint(unittest.TestCase):
    def test_clean_tree_passes(self):
        code, lines = run_lint(CLEAN)
        self.assertEqual(lines, [f"{len(CLEAN) - 1} files, 0 violations"])  # tests/ is not a room
        self.assertEqual(code, 0)

    def test_each_planted_violation_is_found(self):
        for path, text, line, rule in PLANTED:
            with self.subTest(path=path, rule=rule):
                code, lines = run_lint({**CLEAN, path: text})
                self.assertEqual(code, 1)
                found = [each for each in lines if each.startswith(f"{path}:{line}: ") and rule in each]
                self.assertEqual(len(found), 1, lines)

    def test_empty_tree_fails(self):
        self.assertEqual(run_lint({})[0], 1)


if __name__ == "__main__":
    unittest.main()
