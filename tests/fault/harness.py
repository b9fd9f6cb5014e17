"""What the tests of machine faults share: programs, directories, limits, verdicts."""

import collections
import contextlib
import errno
import os
import re
import resource
import shutil
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from table_rows import rows_of_tables, table_sinks

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
BEGUN, WHOLE = 1500, 3000  # events before the fault, and in all
ERRORS = {
    errno.ENOSPC: ("No space left on device", "make room"),
    errno.EIO: ("Input/output error",),
    errno.EROFS: ("Read-only file system",),
}


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


class Ended:
    """A command that has ended: its status and what it said."""

    def __init__(self, command, cwd, fault=None, limits=(), clock=None, environment=None):
        def limit():
            for kind, value in limits:
                resource.setrlimit(kind, (value, value))

        more = dict(environment or {})
        self.hit = cwd / "hit"
        with contextlib.suppress(FileNotFoundError):
            self.hit.unlink()
        if fault or clock:
            more["LD_PRELOAD"] = str(Lab.preload)
            more["ASAN_OPTIONS"] = "verify_asan_link_order=0"
        if fault:
            more.update(FAULT=fault, FAULT_HIT=str(self.hit))
        if clock:
            more["CLOCK_STEPS"] = clock
        self.command = " ".join(str(part) for part in command)
        done = subprocess.run(
            [str(part) for part in command],
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
            timeout=300,
            env={**os.environ, **more},
            preexec_fn=limit if limits else None,  # without it a process starts in half the time
        )
        self.status, self.out, self.err = done.returncode, done.stdout, done.stderr

    def faulty(self):
        return self.hit.exists()

    def expect(self, *statuses):
        """One of these; if it is no success, then told in one line."""
        if self.status not in statuses or "Sanitizer" in self.err:
            raise Failure(f"{self.command}: exit {self.status}\n{self.err[-3000:]}")
        if self.status != 0:
            self.one_line()
        return self

    def one_line(self, *words):
        """Behind the report of a run whose tables could not follow to the end."""
        said = self.err.rpartition(" per CPU second, ")[2].partition("commits\n")
        said = (said[2] if said[1] else self.err).lstrip("\n")
        lines = [line for line in said.splitlines() if not re.search(r"Z (info|warn)", line)]
        hints = [line for line in lines if line.startswith("  = help:")]
        if len(lines) - len(hints) != 1 or not all(word in self.err for word in words):
            raise Failure(f"{self.command}: one line with {words} is wanted, not\n{self.err}")


class Lab:
    """The programs under test, and directories for tests to damage."""

    preload = None

    def __init__(self, build, scratch):
        self.build, self.scratch, self.count = build, scratch, 0
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        self.click = build / "clickstream"
        self.sanitized = b"__asan_init" in self.click.read_bytes()
        Lab.preload = scratch / "preload.so"
        warnings = ["-Wall", "-Wextra", "-Werror"]
        command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", *warnings, "-O1", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", self.preload, HERE / "preload.c", "-ldl"], check=True)
        self.base = self.empty("base")
        self.begin(self.base)
        self.straight = self.copy()
        self.run(self.straight, WHOLE).expect(0)
        self.expected = self.tables(self.straight)

    def empty(self, name=None):
        self.count += 1
        directory = self.scratch / (name or f"case{self.count}")
        directory.mkdir()
        return directory

    def copy(self):
        """A run that has begun; the whole of it is the straight one."""
        directory = self.empty()
        shutil.copytree(self.base / "run", directory / "run")
        return directory

    def command(self, count=WHOLE, *more):
        interval = [] if "--commit-interval" in more else ["--commit-interval", "1ms"]
        return [
            *(self.click, "run", "--embedded", "run", "--traffic", "--count", count),
            *("--rate", "200/s", "--seed", 7, "--progress", "never"),
            *interval,
            *more,
        ]

    def run(self, cwd, count=WHOLE, *more, **surroundings):
        return Ended(self.command(count, *more), cwd, **surroundings)

    def dump(self, cwd, topic):
        dumped = Ended([self.click, "inspect", "run", "dump", topic], cwd).expect(0)
        return collections.Counter(
            re.sub(r'^\{"partition":\d+,"offset":\d+,"kafka_time":[^,]*,', "{", line)
            for line in dumped.out.splitlines()
        )

    def tables(self, cwd):
        """What a run without faults has in them too; topics are left to reconcile."""
        run = cwd / "run"
        rows = rows_of_tables(self.click, run, table_sinks(run))
        return {sink: collections.Counter(some) for sink, some in rows.items()}

    def reconcile(self, cwd, *more, **surroundings):
        return Ended([self.click, "reconcile", "run", *more], cwd, **surroundings)

    def begin(self, cwd):
        """In two runs, so that RocksDB has journals and tables."""
        self.run(cwd, BEGUN // 2).expect(0)
        self.run(cwd, BEGUN).expect(0)

    def expect_whole(self, cwd, what):
        """A normal run goes on; every row is there once, and none besides."""
        self.run(cwd).expect(0)
        verdict = self.reconcile(cwd)
        if verdict.status != 0 or not verdict.out.endswith("exact true\n"):
            raise Failure(f"{what}: then\n{verdict.out[-2000:]}{verdict.err}")
        self.expect_rows(cwd, what)

    def expect_rows(self, cwd, what):
        found = self.tables(cwd)
        for name, rows in self.expected.items():
            wrong = (rows - found[name]) + (found[name] - rows)
            if wrong:
                raise Failure(f"{what}: {name}: {sum(wrong.values())} rows: {next(iter(wrong))}")

    def done(self, cwd):
        shutil.rmtree(cwd)


def growing():
    """1, 2, 4, 8, …: which call fails."""
    number = 1
    while True:
        yield number
        number *= 2
