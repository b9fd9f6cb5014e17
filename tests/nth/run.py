#!/usr/bin/env python3
"""Fails the Nth call of compiler and programs, for N = 1, 2, 3 … until a run is clean.

run.py [--build DIR] [--sites | --every] [--points K] [--seed N] [--only PART] [--way PART]
       [--jobs J]

Every way of failing (shim.py) in every scenario (scenarios.py): the calls are counted, then each
of them fails in a run of its own. Of more than K (2) calls, K are taken at even distances from a
random offset, whose seed is printed. --sites takes calls from every place that makes any: of
memory and files the first, second, middle and last of each distinct stack, of the others every
one; --every takes every one of all. A failed command must end by itself
with an exit status it documents, say the cause, and leave nothing half-done; one that ends well
must have made what it makes without a failure. Prints 'N passed, N failed'.
"""

import argparse
import array
import collections
import random
import shutil
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True

import coverage
import scenarios
import scenarios_http
import shim

ROOT = Path(__file__).resolve().parents[2]
WAYS = [
    shim.Way("alloc", "ENOMEM"),
    shim.Way("lib_alloc", "ENOMEM"),
    shim.Way("file", "EIO"),
    shim.Way("file", "ENOSPC", sticky=True),
    shim.Way("file", "EINTR"),
    shim.Way("file", "short"),
]
DATABASE_WAYS = [
    shim.Way("db", "EIO"),
    shim.Way("db", "after"),
    shim.Way("db_file", "EIO"),
    shim.Way("db_file", "ENOSPC", sticky=True),
    shim.Way("db_file", "EINTR"),
    shim.Way("db_file", "short"),
]
MANY = ("alloc", "lib_alloc", "file")  # so many calls that --sites chooses
HTTP_WAYS = [
    shim.Way("http", "ENOMEM"),
    shim.Way("http", "after"),
    shim.Way("net", "ECONNRESET"),
    shim.Way("net", "ECONNRESET", sticky=True),
    shim.Way("net", "EINTR"),
    shim.Way("net", "short"),
]


def told(result, causes):
    """What is wrong with what a failed command says."""
    text = result.err + result.out  # reconcile has it in its report
    lines = [line for line in text.split("\n") if any(cause in line for cause in causes)]
    if not lines and "standard output can't be written\n" in result.err:
        return []  # stdio has forgotten the cause
    if not lines:
        return [f"standard error does not name the cause: {result.err[-600:]!r}"]
    lines = [line for line in lines if "a table stands still" not in line]  # each tells its own
    if len(lines) > 2:
        return [f"standard error names the cause {len(lines)} times: {result.err[-900:]!r}"]
    return []


GLIBC_GIVES_UP = "Fatal glibc error: failed to register TLS destructor: out of memory"


def is_crash_of_library(result):
    """RocksDB uses what malloc() gives it, not `new`, without a look, and glibc ends a process
    that has no memory for what a thread is to clean up: docs/testing.md."""
    if result.status >= 0 or result.failed == 0:
        return False
    return "librocksdb" in result.object or GLIBC_GIVES_UP in result.err


def ended_badly(scenario, result):
    """What is wrong with the way it ended."""
    if result.timed_out:
        return [f"not done after {shim.TIME_LIMIT_S} s"]
    if "Sanitizer" in result.err or "runtime error" in result.err:
        return ["a sanitizer reports: " + result.err[:3000]]
    if result.status < 0:
        return [f"ended by signal {-result.status}: {result.err[-600:]}"]
    if result.status not in scenario.exits:
        return [f"exit {result.status}, which is not documented: {result.err[-600:]}"]
    return []


def judge(scenario, way, directory, result, clean, baseline):
    """What is wrong with a run in which a call failed."""
    try:
        if is_crash_of_library(result):
            return scenario.after(directory, result, baseline)
        problems = ended_badly(scenario, result)
        if problems:
            return problems
        if result.status != clean.status:
            return told(result, way.causes()) + scenario.after(directory, result, baseline)
        now = scenario.observe(directory, result)
    except RuntimeError as error:
        return [str(error)]
    return [
        f"exit {result.status}, but {what} is not what it is without a failure: {result.err[-300:]}"
        for what in {**now, **baseline}
        if now.get(what) != baseline.get(what)
    ]


class Sweep:
    """All calls of one way in one scenario."""

    def __init__(self, setting, library, scenario, way):
        self.scenario, self.way, self.library = scenario, way, library
        self.top = setting.scratch
        self.spare = []  # directories that are as they were made

    def directory(self):
        try:
            return self.spare.pop()
        except IndexError:
            directory = Path(tempfile.mkdtemp(dir=self.top)) / "it"
            self.scenario.fresh(directory)
            return directory

    def once(self, number, sites=None):
        directory = self.directory()
        result = shim.run(
            self.library,
            self.way,
            number,
            self.scenario.command(),
            directory,
            self.scenario.environment,
            sites,
        )
        return directory, result

    def measure(self):
        """The run without a failure, which all others are compared with."""
        directory, self.clean = self.once(0)
        if self.clean.status != 0:
            raise RuntimeError(f"{self.scenario.name}: exit {self.clean.status}: {self.clean.err}")
        self.baseline = self.scenario.observe(directory, self.clean)
        shutil.rmtree(directory.parent)
        return self.clean.calls

    def sites(self):
        """Of each call of a run without a failure, in turn, a number of where it comes from."""
        noted = self.top / "sites"
        noted.unlink(missing_ok=True)
        directory, result = self.once(0, noted)
        shutil.rmtree(directory.parent)
        with open(noted, "rb") as file:
            return array.array("Q", file.read(8 * result.calls))

    def fail(self, number):
        directory, result = self.once(number)
        problems = judge(self.scenario, self.way, directory, result, self.clean, self.baseline)
        if self.scenario.leaves_nothing and scenarios.tree(directory) == self.scenario.before:
            self.spare.append(directory)
        else:
            shutil.rmtree(directory.parent)
        return number, result, problems


class Tally:
    """Counts, and shows each kind of fault once."""

    def __init__(self):
        self.passed, self.failed, self.skipped = 0, 0, 0
        self.kinds = collections.Counter()

    def add(self, sweep, number, result, problems):
        if not problems:
            self.passed += 1
            return
        self.failed += 1
        where = result.where()
        kind = (sweep.scenario.name, str(sweep.way), where, problems[0][:40])
        self.kinds[kind] += 1
        if self.kinds[kind] > 1:
            return
        print(f"FAILED {sweep.scenario.name}, {sweep.way}, call {number}: {where}")
        for problem in problems:
            print("    " + problem.strip().replace("\n", "\n    "))
        sys.stdout.flush()


def points_of(calls, most, chance):
    """Numbers of calls: all, or `most` of them at even distances."""
    if calls <= most:
        return range(1, calls + 1)
    step = calls / most
    offset = chance.random() * step
    return sorted({min(calls, 1 + int(offset + i * step)) for i in range(most)})


def points_of_sites(sites, known):
    """Numbers of calls: the first, second, middle and last of each site; the first only if another
    scenario had the site: it is in `known`."""
    calls = collections.defaultdict(list)
    for number, site in enumerate(sites, 1):
        calls[site].append(number)
    points = set()
    for site, numbers in calls.items():
        chosen = numbers[:1] if site in known else numbers[:2] + numbers[-1:]
        points.update(chosen)
        if site not in known:
            points.add(numbers[len(numbers) // 2])
    known.update(calls)
    return sorted(points)


def ways_of(scenario):
    if scenario.speaks_http:
        return [way for way in HTTP_WAYS if not (way.sticky and scenario.waits)]
    return WAYS + (DATABASE_WAYS if scenario.uses_database else [])


class Sweeps:
    """Those that the options choose, in turn."""

    def __init__(self, setting, options, tally):
        self.setting, self.options, self.tally = setting, options, tally
        self.library = shim.compile_shim(setting.scratch)
        self.chance = random.Random(options.seed)
        self.pool = ThreadPoolExecutor(options.jobs)
        self.known = collections.defaultdict(set)  # (program, way): sites

    def check_coverage(self):
        for name in coverage.unknown_calls(self.setting.build, self.library):
            self.tally.failed += 1
            print(f"FAILED coverage: the library does not know {name}(), which the project calls")

    def run(self, scenario, way):
        options = self.options
        if options.only not in scenario.name or options.way not in str(way):
            return
        if self.setting.sanitized and way.calls == "lib_alloc":
            return  # the sanitizer's own memory is among it
        sweep = Sweep(self.setting, self.library, scenario, way)
        calls = sweep.measure()
        points = self.points(sweep, calls)
        each = map if scenario.speaks_http else self.pool.map
        for number, result, problems in each(sweep.fail, points):
            self.tally.add(sweep, number, result, problems)
        print(f"{scenario.name}, {way}: {len(points)} of {calls} calls", flush=True)

    def points(self, sweep, calls):
        options, most = self.options, sweep.scenario.most_points or calls
        if not (options.sites or options.every):
            return points_of(calls, options.points, self.chance)
        if options.every or sweep.way.calls not in MANY or calls > shim.SITES_MAX:
            return points_of(calls, most, self.chance)
        program = sweep.scenario.command()[0]
        points = points_of_sites(sweep.sites(), self.known[program, str(sweep.way)])
        return [points[i - 1] for i in points_of(len(points), most, self.chance)]

    def run_all(self):
        self.check_coverage()
        for make in (scenarios.compiler_scenarios, scenarios.program_scenarios):
            for scenario in make(self.setting):
                for way in ways_of(scenario):
                    self.run(scenario, way)
        with scenarios_http.http_scenarios(self.setting) as (found, missing):
            for scenario in found:
                for way in ways_of(scenario):
                    self.run(scenario, way)
        if missing is not None:
            self.tally.skipped += 1
            print(f"skipped: tables of ClickHouse: {missing}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--sites", action="store_true")
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--points", type=int, default=2)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", default="")
    parser.add_argument("--way", default="")
    options = parser.parse_args()
    if options.seed is None:
        options.seed = random.SystemRandom().randrange(1_000_000)
    print(f"seed {options.seed}")
    tally = Tally()
    with tempfile.TemporaryDirectory(prefix="nth-") as scratch:
        setting = scenarios.Setting(options.build.resolve(), Path(scratch))
        Sweeps(setting, options, tally).run_all()
    skipped = f", {tally.skipped} skipped" if tally.skipped else ""
    print(f"{tally.passed} passed, {tally.failed} failed{skipped}")
    return 0 if tally.failed == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
