#!/usr/bin/env python3
"""Every function of every table in kernels/ops.h is called by the twin test through its table, set by cpu.c to its scalar
version, and every table gets its variants: a function that is added without a twin fails here, by name.

usage: twin_cover_test.py KERNELS-DIR TWIN-TEST..
"""
import pathlib
import re
import sys
import unittest

COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.S)
TABLE = re.compile(r"struct (\w+)_ops \{(.*?)\n\};", re.S)
FUNCTION = re.compile(r"\(\*(\w+)\)\(")

kernels, twins = None, []


def code(text):
    return COMMENT.sub(" ", text)


def tables(ops):
    """{concern: [function, ..]} of the header's text; every pointer to a function in a table counts."""
    return {concern: FUNCTION.findall(body) for concern, body in TABLE.findall(code(ops))}


def missing(ops, cpu, tests):
    """What is not covered, one string each."""
    cpu, tests = code(cpu), code(tests)
    found = tables(ops)
    declared = set(re.findall(r"extern struct (\w+)_ops \1_ops;", code(ops)))
    lost = [f"{concern}_ops is not read as a table" for concern in declared ^ set(found)]
    for concern, functions in found.items():
        for what in (f"{concern}_ops = {concern}_scalar", f"{concern}_ops_avx2(&{concern}_ops)",
                     f"{concern}_ops_avx512(&{concern}_ops)"):
            if what not in cpu:
                lost.append(f"cpu.c: {what}")
        lost += [f"{concern}_ops.{function}" for function in functions
                 if not re.search(rf"\b{concern}_ops\.{function}\b", tests)]
    return lost


class TwinCover(unittest.TestCase):
    def read(self):
        return ((kernels / "ops.h").read_text(), (kernels / "cpu.c").read_text(),
                "\n".join(pathlib.Path(twin).read_text() for twin in twins))

    def test_every_function_has_a_twin(self):
        ops, cpu, tests = self.read()
        functions = sum(map(len, tables(ops).values()))
        print(f"{len(tables(ops))} tables, {functions} functions")
        self.assertGreaterEqual(len(tables(ops)), 4)
        self.assertEqual(functions, len(FUNCTION.findall(code(ops))))  # none stands outside of a table
        self.assertEqual(missing(ops, cpu, tests), [])

    def test_a_function_without_a_twin_is_named(self):
        ops, cpu, tests = self.read()
        added = ops.replace("struct hll_ops {", "struct hll_ops {\n    void (*planted)(int);", 1)
        self.assertEqual(missing(added, cpu, tests + "/* hll_ops.planted(3) */"), ["hll_ops.planted"])
        self.assertEqual(missing(added, cpu, tests + "hll_ops.planted(3);"), [])

    def test_a_table_that_nobody_sets_is_named(self):
        ops, cpu, tests = self.read()
        added = ops + "struct new_ops {\n    int (*f)(int);\n};\nextern struct new_ops new_ops;\n"
        self.assertEqual(len(missing(added, cpu, tests)), 4)
        self.assertEqual(missing(ops + "extern struct new_ops new_ops;\n", cpu, tests), ["new_ops is not read as a table"])


if __name__ == "__main__":
    kernels, twins = pathlib.Path(sys.argv[1]), sys.argv[2:]
    unittest.main(argv=sys.argv[:1])
