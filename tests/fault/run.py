#!/usr/bin/env python3
"""Faults of the machine: a clear stop or a clean continue, never a wrong row.

run.py [--build DIR] [TEST …]

After every fault the same command goes on to the end, and then `reconcile` says `exact true` and
all rows are those of a run without faults. A test that cannot be made here is skipped; with
CI=true it fails.
"""

import argparse
import os
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

import clock
import damage
import disks
import identities
import limits
import named_files
import sink_files
from harness import ROOT, Failure, Lab, Skipped

MODULES = (disks, damage, limits, clock, identities, named_files, sink_files)
TESTS = [test for module in MODULES for test in module.TESTS]


def run_test(test, lab):
    """(verdict, what to say about it)."""
    try:
        test(lab)
        return "ok", ""
    except Skipped as reason:
        if os.environ.get("CI") != "true":
            return "skipped", str(reason)
        return "FAIL", str(reason)
    except Failure as failure:
        return "FAIL", str(failure)
    except Exception as error:  # whatever goes wrong is this test's failure
        return "FAIL", f"{type(error).__name__}: {error}"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    totals = {"ok": 0, "FAIL": 0, "skipped": 0}
    with tempfile.TemporaryDirectory(prefix="fault-") as scratch:
        lab = Lab((ROOT / options.build).resolve(), Path(scratch))
        for test in TESTS:
            if options.only and test.__name__ not in options.only:
                continue
            began = time.monotonic()
            verdict, text = run_test(test, lab)
            totals[verdict] += 1
            if verdict == "skipped":
                print(f"skipped: {test.__name__}: {text}", flush=True)
            else:
                seconds = time.monotonic() - began
                print(f"{verdict:4} {test.__name__}  {seconds:.1f} s {text}", flush=True)
    print(f"{totals['ok']} passed, {totals['FAIL']} failed, {totals['skipped']} skipped")
    return 1 if totals["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
