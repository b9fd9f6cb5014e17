#!/usr/bin/env python3
"""Tests against real Kafka brokers.

    run.py [--suite NAME …] [--only PART] [--build DIR] [--keep] [--require]

A suite is a file suite_NAME.py beside this one: each function test_…(env) is a test, and the dict
CLUSTER, if there is one, names the Cluster that its tests share as env.cluster. Without Java or the
jars all tests are skipped and the reason is told; with --require that fails. --keep leaves scratch
directories and brokers' logs in BUILD/kafka until the next run. Prints
'N passed, M failed, K skipped'. Exit: 0 none failed, 1 some failed, 2 usage.
"""

import argparse
import contextlib
import importlib
import shutil
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

sys.dont_write_bytecode = True

import java
import processes
import services
from client import Client

HERE = Path(__file__).resolve().parent
PROGRAMS = ("kafka-tool", "kafka-passthrough")


class Environment:
    """What a test gets. build: Path; scratch: a directory of this test; cluster: see
    CLUSTER; name: of the test, good for topics and groups of its own."""

    def __init__(self, build, keep=False):
        self.build, self.keep = build, keep
        self.cluster = self.scratch = self.name = None

    def client(self, bootstrap=None, properties=None):
        """A Client of the shared cluster, or of another."""
        return Client(self.build, bootstrap or self.cluster.bootstrap, properties)

    def start_cluster(self, **options):
        """A Cluster of the test's own, to be used in a with-block."""
        return services.Cluster(build=self.build, **options)

    def program(self, name):
        """Path of a built program."""
        return str(self.build / name)


def tests_of(module, only):
    names = [name for name in vars(module) if name.startswith("test_")]
    return [(name, getattr(module, name)) for name in names if not only or only in name]


def run_test(env, name, test):
    """Whether a test passed; prints how it went."""
    start = time.monotonic()
    before = set(processes.children())
    env.name = name.removeprefix("test_").replace("_", "-")
    env.scratch = processes.own_directory(services.cache_dir(env.build), f"{name}-")
    problem = None
    try:
        test(env)
        left = set(processes.children()) - before
        if left and env.cluster:
            left -= {child.pid for child in env.cluster.children.values()}
        if left:
            problem = f"left processes running: {sorted(left)}\n"
    except Exception:
        problem = traceback.format_exc()
    finally:
        if env.cluster and env.cluster.proxy:
            env.cluster.proxy.clear()
        if not env.keep:
            shutil.rmtree(env.scratch, ignore_errors=True)
    print(f"{'FAIL' if problem else 'ok  '} {name} {time.monotonic() - start:.1f}s", flush=True)
    if problem:
        print(problem, end="", flush=True)
    return not problem


def run_suite(env, name, only):
    """(passed, failed, skipped) of a suite."""
    module = importlib.import_module(f"suite_{name}")
    tests = tests_of(module, only)
    if not tests:
        return 0, 0, 0
    with contextlib.ExitStack() as stack:
        try:
            if hasattr(module, "CLUSTER"):
                env.cluster = stack.enter_context(env.start_cluster(**module.CLUSTER))
                env.cluster.owned = not env.keep
            else:
                java.broker_jars(services.cache_dir(env.build), java.find_java(17))
            for need in getattr(module, "NEEDS", ()):
                need(env)
        except java.Unavailable as reason:
            print(f"suite {name} skipped: {reason}")
            return 0, 0, len(tests)
        passed = sum(run_test(env, *test) for test in tests)
    env.cluster = None
    left = processes.children()
    if left:
        print(f"FAIL suite {name} left processes running: {left}")
        return passed, len(tests) - passed + 1, 0
    return passed, len(tests) - passed, 0


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--suite", action="append")
    parser.add_argument("--only", default="")
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--require", action="store_true")
    parser.add_argument("--build", default=services.ROOT / "build")
    options = parser.parse_args()
    known = sorted(file.stem.removeprefix("suite_") for file in HERE.glob("suite_*.py"))
    for name in options.suite or ():
        if name not in known:
            parser.error(f"no suite {name}; there are: {', '.join(known)}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    build = Path(options.build).resolve()
    services.cache_dir(build).mkdir(parents=True, exist_ok=True)
    targets = [str(build / name) for name in PROGRAMS]
    make = ["make", "--no-print-directory", "-s", "-C", str(services.ROOT), f"BUILD={build}"]
    if subprocess.run(make + targets).returncode != 0:
        sys.exit("run.py: the test programs do not build")
    totals = [0, 0, 0]
    for name in options.suite or known:
        print(f"suite {name}", flush=True)
        counts = run_suite(Environment(build, options.keep), name, options.only)
        totals = [total + count for total, count in zip(totals, counts)]
    passed, failed, skipped = totals
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed or (skipped and options.require) else 0


if __name__ == "__main__":
    sys.exit(main())
