#!/usr/bin/env python3
"""Planted bugs: each of them must be caught.

    tests/mutants/run.py [--build DIR] [--jobs N] [--limit SEEDS] [NAME …]

Every patch of this directory is applied to a copy of the tree, one at a time; its first lines say
what the bug is and which check must catch it. `sim` is the simulation (docs/testing.md): it runs
seeds until one fails. What the check said is printed, and after how many seeds. A bug that no seed
finds, or a patch that no longer applies, fails. The last line is `N passed, N failed`.
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
COPIED = ["Makefile", "runtime", "compiler", "contracts", "tests/sim"]
KEPT = ["pipec", "sim", "runtime"]  # of the build: what need not be compiled again


def copy_tree(build, to):
    """The tree and the parts of the build that `sim` needs, older than any patch."""
    for name in COPIED:
        source, target = os.path.join(ROOT, name), os.path.join(to, name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target)
        else:
            shutil.copy2(source, target)
    for name in KEPT:
        source, target = os.path.join(build, name), os.path.join(to, "build", name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if os.path.isdir(source):
            shutil.copytree(source, target, ignore=shutil.ignore_patterns("*.d"))
        else:
            shutil.copy2(source, target)


def run(command, where, seconds=600):
    return subprocess.run(
        command,
        cwd=where,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        timeout=seconds,
    )


def hunt(where, limit, jobs, only):
    """Runs seeds until one fails: (caught, what was said)."""
    sim = os.path.join(where, "build/sim/sim")
    command = [sim, "--count", str(limit), "--jobs", str(jobs), "--stop"]
    ran = run(command + (["--only", only[1]] if only else []), where)
    found = re.search(r"^seed (\d+) \((\w+)\): (.*)$", ran.stdout, re.M)
    if found is None:
        found = re.search(r"^seed (\d+)()(: .*)$", ran.stdout, re.M)
    if ran.returncode == 0:
        return False, "%d seeds found nothing" % limit
    if found is None:
        return False, "the simulation ends without a word: " + ran.stdout[-300:]
    return True, "seed %s, %s: %s" % (found[1], found[2], found[3].strip(": "))


def try_mutant(name, options):
    path = os.path.join(HERE, name + ".patch")
    with open(path, encoding="utf-8") as file:
        head = file.read(1000)
    bug = re.search(r"^Bug: (.*)$", head, re.M)[1]
    only = re.search(r"^Only: (\w+)$", head, re.M)  # of this pipeline's seeds
    where = tempfile.mkdtemp(prefix="pipec-mutant.")
    try:
        copy_tree(options.build, where)
        patched = run(["patch", "-p1", "--fuzz=2", "-i", path], where)
        if patched.returncode != 0:
            return False, bug, "the patch does not apply: " + patched.stdout.strip()
        built = run(["make", "-s", "-o", "build/pipec", "BUILD=build", "build/sim/sim"], where)
        if built.returncode != 0:
            return False, bug, "it does not compile: " + built.stdout[-600:]
        caught, said = hunt(where, options.limit, 1, only)
        return caught, bug, said
    finally:
        shutil.rmtree(where, ignore_errors=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", default=os.path.join(ROOT, "build"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--limit", type=int, default=6000)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    options.build = os.path.abspath(options.build)
    names = sorted(options.names or [f[:-6] for f in os.listdir(HERE) if f.endswith(".patch")])
    passed = failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        tried = pool.map(lambda name: try_mutant(name, options), names)
        for name, (caught, bug, said) in zip(names, tried):
            passed, failed = passed + caught, failed + (not caught)
            print("%s %s: %s\n    %s" % ("caught  " if caught else "SURVIVED", name, bug, said))
            sys.stdout.flush()
    print("%d passed, %d failed" % (passed, failed))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
