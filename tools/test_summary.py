#!/usr/bin/env python3
"""Sum a meson test log: a Check suite counts its checks, a script its own `N passed, N failed`, anything else is one test."""
import json
import pathlib
import re
import sys

CHECK = re.compile(r"\d+%: Checks: (\d+), Failures: (\d+), Errors: (\d+)")
PLAIN = re.compile(r"^(\d+) passed, (\d+) failed(?:, (\d+) skipped)?", re.M)


def main() -> int:
    passed = failed = skipped = 0
    if not pathlib.Path(sys.argv[1]).exists():
        print("FAILED: no test was run\n0 passed, 1 failed")
        return 1
    with open(sys.argv[1]) as log:
        for line in log:
            test = json.loads(line)
            out = test.get("stdout", "") or ""
            result = test["result"]
            if result == "SKIP":
                skipped += 1
                print(f"skipped: {test['name']}: {out.strip().splitlines()[-1] if out.strip() else 'no reason given'}")
                continue
            checks = CHECK.findall(out)
            plain = PLAIN.findall(out)
            bad = 0
            if checks:
                for total, failures, errors in checks:
                    bad += int(failures) + int(errors)
                    passed += int(total) - int(failures) - int(errors)
            elif plain:
                ok, bad = int(plain[-1][0]), int(plain[-1][1])
                skipped += int(plain[-1][2] or 0)
                passed += ok
            elif result == "OK":
                passed += 1
            # A suite that died, timed out or failed after its counts is a failure of its own.
            if result not in ("OK", "EXPECTEDFAIL") and bad == 0:
                bad = 1
            if bad:
                print(f"FAILED: {test['name']} ({result})")
            failed += bad
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return failed != 0 or passed == 0


sys.exit(main())
