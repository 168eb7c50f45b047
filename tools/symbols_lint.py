#!/usr/bin/env python3
"""What the built kernels ask of the world: docs/ARCHITECTURE.md's "no allocation, lock or I/O" as a check of the objects
themselves, which a macro, a header or a builtin cannot slip past as it could past a search of the text.

usage: symbols_lint.py ARCHIVE..     prints object: symbol: rule for each violation, then "N objects, N violations"; exit
                                     status 1 if any, or if there are no objects

The archives are the kernels' static libraries, all of them: a symbol that one of them defines is theirs. What else may
be undefined is listed below. No object but the one with the tables of vector code has writable data, and none has
thread-local data: a kernel is a function of its arguments.
"""
import fnmatch
import re
import subprocess
import sys

# Pure functions of memory and of numbers.
ALLOWED = ("memcpy", "memmove", "memset", "memcmp", "bcmp", "strcmp", "strlen", "abs", "labs", "XXH3_64bits*", "XXH64*",
           "acos", "asin", "atan", "cbrt", "ceil", "copysign", "cos", "exp", "exp2", "expm1", "fabs", "floor", "fma", "fmax",
           "fmin", "fmod", "frexp", "ldexp", "llrint", "llround", "log", "log10", "log1p", "log2", "lrint", "lround", "modf",
           "nearbyint", "nextafter", "pow", "remainder", "rint", "round", "scalbn", "sin", "sqrt", "tan", "trunc",
           "__isnan", "__isinf", "__finite", "__signbit")
# What compilers add by themselves: position independence, stack protection, coverage, profiles.
COMPILER = ("_GLOBAL_OFFSET_TABLE_", "__stack_chk_fail", "__mem*_chk", "__gcov_*", "__llvm_profile_*", "__cpu_*",
            "__popcountdi2", "__udivti3", "__umodti3", "__multi3")
SANITIZER = ("__asan_*", "__ubsan_*", "__tsan_*", "__msan_*", "__sanitizer_*", "__sancov_*", "__start___sancov_*",
             "__stop___sancov_*", "__odr_asan*")
# Object -> what it alone may ask for: the choice of vector code reads one variable, once, before main.
EXCEPTED = {"cpu": ("getenv",)}
WRITABLE_EXCEPTED = ("cpu",)  # the tables that choice fills

WRITABLE = re.compile(r"\*COM\*|\.(?:data|bss)(?:\.(?!rel\.ro).*)?|\.t(?:data|bss)(?:\..*)?")


def matches(name, patterns):
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)


def symbols(archives):
    """Yields (object's name without directories and suffixes, symbol, section, undefined, is an object)."""
    listing = subprocess.run(["nm", "-A", "-f", "sysv", *archives], check=True, capture_output=True, text=True).stdout
    for line in listing.splitlines():
        fields = [field.strip() for field in line.split("|")]
        if len(fields) != 7:
            continue
        where, symbol = re.fullmatch(r"(.*):([^:]*)", fields[0]).groups()
        name = re.split(r"[/:]", where)[-1]
        stem = re.sub(r"(?:\.[coa])+$", "", name.split(".c.")[0]).split("_kernels_")[-1]
        yield stem, symbol.split("@")[0], fields[6], fields[2] == "U", fields[3] in ("OBJECT", "TLS")


def lint(archives):
    """(number of objects, sorted list of "object: symbol: rule")."""
    rows = list(symbols(archives))
    own = {symbol for _, symbol, _, undefined, _ in rows if not undefined}
    sanitized = {stem for stem, symbol, _, undefined, _ in rows if undefined and matches(symbol, SANITIZER)}
    violations = set()
    for stem, symbol, section, undefined, is_object in rows:
        if undefined:
            if symbol not in own and not matches(symbol, ALLOWED + COMPILER + SANITIZER + EXCEPTED.get(stem, ())):
                violations.add(f"{stem}: {symbol}: not among what a kernel may call")
        elif is_object and WRITABLE.fullmatch(section) and stem not in WRITABLE_EXCEPTED and stem not in sanitized:
            violations.add(f"{stem}: {symbol}: writable data; a kernel is a function of its arguments")
    return len({stem for stem, *_ in rows}), sorted(violations)


def main(archives):
    if not archives:
        print(__doc__.split("\n\n")[1])
        return 2
    objects, violations = lint(archives)
    for violation in violations:
        print(violation)
    print(f"{objects} objects, {len(violations)} violations")
    return 1 if violations or objects == 0 else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
