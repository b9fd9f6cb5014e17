#!/usr/bin/env python3
"""Tests against the real ClickHouse engine behind server.py.

    run.py [--suite NAME …] [--only PART] [--build DIR] [--keep] [--require]

A suite is assumptions.py or a file suite_NAME.py beside this one: each function test_…(env) is a
test. Its tests share a server, env.server, unless it says OWN_SERVER = True. Where the engine can't
be installed all tests are skipped and the reason is told; with --require that fails. --keep
leaves scratch directories and the servers' logs in BUILD/clickhouse until the next run. Prints
'N passed, M failed, K skipped'. Exit: 0 none failed, 1 some failed, 2 usage.
"""

import argparse
import contextlib
import importlib
import shutil
import subprocess
import sys
import time
import traceback
from collections import Counter
from pathlib import Path

sys.dont_write_bytecode = True

import service
from processes import own_directory

HERE = Path(__file__).resolve().parent


class Environment:
    """What a test gets. build: Path of the built programs; scratch: a directory of this test;
    server: the suite's; name: of the test, good for a table of its own."""

    def __init__(self, build):
        self.build, self.server, self.scratch, self.name = build, None, None, None

    def start_server(self, **options):
        """A Server of the test's own, to be used in a with-block."""
        return service.Server(self.scratch / "clickhouse", self.build, **options)

    def program(self, name):
        """Path of a built program."""
        return str(self.build / name)


def suites():
    return ["assumptions", *sorted(p.stem[6:] for p in HERE.glob("suite_*.py"))]


def module_of(suite):
    return importlib.import_module(suite if suite == "assumptions" else f"suite_{suite}")


def tests_of(module, only):
    names = [name for name in vars(module) if name.startswith("test_")]
    return [(name, getattr(module, name)) for name in names if not only or only in name]


def run_test(env, name, test, keep):
    """ "ok", "FAIL" or "skip"; prints how it went."""
    start, outcome, problem = time.monotonic(), "ok", None
    env.name = name.removeprefix("test_")
    env.scratch = own_directory(env.build / "clickhouse", f"{env.name}-")
    try:
        test(env)
    except service.Skipped as reason:
        outcome, problem = "skip", f"skipped: {name}: {reason}\n"
    except Exception:
        outcome, problem = "FAIL", traceback.format_exc()
    finally:
        if env.server:
            env.server.clear()
        if not keep:
            shutil.rmtree(env.scratch, ignore_errors=True)
    print(f"{outcome:4} {name} {time.monotonic() - start:.1f}s", flush=True)
    if problem:
        print(problem, end="", flush=True)
    return outcome


def run_suite(env, suite, options):
    """How many of its tests ended so: a Counter."""
    module = module_of(suite)
    for name in getattr(module, "PROGRAMS", ()):
        build = ["make", "-s", f"BUILD={env.build}", str(env.build / name)]
        subprocess.run(build, cwd=service.ROOT, check=True, stdout=subprocess.DEVNULL)
    tests = tests_of(module, options.only)
    if not tests:
        return Counter()
    with contextlib.ExitStack() as stack:
        env.server = None
        if not getattr(module, "OWN_SERVER", False):
            data = own_directory(env.build / "clickhouse", f"server-{suite}-")
            if not options.keep:
                stack.callback(shutil.rmtree, data, ignore_errors=True)
            env.server = stack.enter_context(service.Server(data, env.build))
        return Counter(run_test(env, name, test, options.keep) for name, test in tests)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--suite", action="append", choices=suites())
    parser.add_argument("--only", default="")
    parser.add_argument("--build", type=Path, default=service.ROOT / "build")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--require", action="store_true")
    options = parser.parse_args()
    env = Environment(options.build.resolve())
    chosen = options.suite or suites()
    try:
        service.python_of(env.build, install=True)
    except (service.Unavailable, OSError) as reason:
        count = sum(len(tests_of(module_of(suite), options.only)) for suite in chosen)
        print(f"skipped: {reason}")
        print(f"0 passed, {count if options.require else 0} failed, {count} skipped")
        return 1 if options.require else 0
    total = Counter()
    for suite in chosen:
        total += run_suite(env, suite, options)
    print(f"{total['ok']} passed, {total['FAIL']} failed, {total['skip']} skipped")
    return 1 if total["FAIL"] else 0


if __name__ == "__main__":
    sys.exit(main())
