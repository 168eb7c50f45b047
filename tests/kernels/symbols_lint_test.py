#!/usr/bin/env python3
"""The symbol lint on small archives: clean objects pass, each planted call or variable is named with its object.

usage: symbols_lint_test.py COMPILER..     the C compiler's command
"""
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

LINT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "symbols_lint.py"
compiler = ["cc"]

CLEAN = {
    "sum.c": "#include <math.h>\n#include <string.h>\nstatic const int t[3] = {1, 2, 3};\nint other(int);\n"
             "double f(double *x, const char *a, unsigned n)\n"
             "{\n    memcpy(x, a, n);\n    return pow(*x, t[n]) + other(n);\n}\n",
    "other.c": "int other(int x);\nint other(int x)\n{\n    return x + 1;\n}\n"
               "int (*const table[])(int) = {other};\n",
    "cpu.c": "#include <stdlib.h>\nint level;\nvoid start(void);\nvoid start(void)\n"
             "{\n    level = getenv(\"X\") != NULL;\n}\n",
}

# object, a line of it, what is found
PLANTED = (
    ("kll", "#include <stdlib.h>\nvoid *f(int n) { return malloc(n); }", "malloc"),
    ("kll", "#include <stdlib.h>\nvoid f(void *p) { free(p); }", "free"),
    ("kll", "#include <stdlib.h>\nvoid f(void *p, int (*c)(const void *, const void *)) { qsort(p, 9, 8, c); }", "qsort"),
    ("kll", "#include <pthread.h>\nvoid f(pthread_mutex_t *m) { pthread_mutex_lock(m); }", "pthread_mutex_lock"),
    ("kll", "#include <stdio.h>\nvoid f(int n) { printf(\"%d\", n); }", "printf"),
    ("kll", "#include <stdlib.h>\nint f(void) { return getenv(\"X\") != NULL; }", "getenv"),
    ("kll", "#include <time.h>\nlong f(void) { return time(NULL); }", "time"),
    ("kll", "#include <string.h>\n#define COPY strdup\nchar *f(const char *s) { return COPY(s); }", "strdup"),
    ("kll", "#include <assert.h>\nvoid f(int n) { assert(n); }", "__assert_fail"),
    ("cpu", "#include <stdio.h>\nvoid f(int n) { printf(\"%d\", n); }", "printf"),
    ("kll", "int f(void) { static int calls; return ++calls; }", "calls"),
    ("kll", "int f(void) { static _Thread_local int calls = 3; return ++calls; }", "calls"),
    ("kll_avx2", "int (*hook)(int);", "hook"),
)


def run_lint(files):
    with tempfile.TemporaryDirectory() as root:
        objects = []
        for name, text in files.items():
            source = pathlib.Path(root, name)
            source.write_text(text, encoding="utf-8")
            objects.append(f"{source}.o")
            subprocess.run([*compiler, "-O2", "-UNDEBUG", "-c", str(source), "-o", objects[-1]], check=True)
        archive = str(pathlib.Path(root, "lib.a"))
        if objects:
            subprocess.run(["ar", "rcs", archive, *objects], check=True)
        done = subprocess.run([sys.executable, str(LINT), *([archive] if objects else [])], capture_output=True, text=True,
                              check=False)
    return done.returncode, done.stdout.splitlines()


class SymbolsLint(unittest.TestCase):
    def test_clean_objects_pass(self):
        self.assertEqual(run_lint(CLEAN), (0, [f"{len(CLEAN)} objects, 0 violations"]))

    def test_each_planted_violation_is_named(self):
        for stem, text, symbol in PLANTED:
            with self.subTest(symbol=symbol):
                code, lines = run_lint({**CLEAN, f"{stem}.c": text})
                self.assertEqual(code, 1)
                found = [line for line in lines[:-1] if re.match(rf"{stem}: (\w+\.)?{symbol}\b", line)]
                self.assertEqual(len(found), 1, lines)
                self.assertEqual(lines[-1].split(", ")[1], "1 violations", lines)

    def test_a_symbol_of_nobody_is_found(self):
        code, lines = run_lint({name: CLEAN[name] for name in ("sum.c", "cpu.c")})
        self.assertEqual((code, lines[0]), (1, "sum: other: not among what a kernel may call"))

    def test_no_objects_fail(self):
        self.assertNotEqual(run_lint({})[0], 0)


if __name__ == "__main__":
    compiler = sys.argv[1:] or compiler
    unittest.main(argv=sys.argv[:1])
