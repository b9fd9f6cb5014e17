"""Programs and directories of the tests of reconcile, made once and copied; verdicts, looked at."""

import json
import os
import random
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1]))

from commands import Failure, call

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent


class Build:
    """The programs under test, and the directories that tests copy."""

    def __init__(self, directory, scratch):
        self.directory = directory
        self.scratch = scratch
        self.clickstream = directory / "clickstream"
        self.tamper = scratch / "tamper"
        self.slow = "asan" in directory.name
        call(["gcc", "-O1", "-o", self.tamper, HERE / "tamper.c", "-lrocksdb"], ROOT)

    def program(self, name):
        program = self.scratch / name
        pipe = HERE / f"{name}.pipe"
        if not pipe.exists():
            pipe = ROOT / f"tests/golden/c/{name}.pipe"
        if not program.exists():
            call(
                [
                    self.directory / "pipec",
                    "build",
                    pipe,
                    "--out",
                    self.scratch / "generated",
                    "-o",
                    program,
                ],
                ROOT,
                env={**os.environ, "PIPEC_HOME": str(ROOT)},
            )
        return program

    def base(self, name, make):
        """A directory that `make` fills once; a copy of it, for a test to damage."""
        original = self.scratch / f"base-{name}"
        if not original.exists():
            original.mkdir()
            make(original)
        copy = self.scratch / "copy"
        if copy.exists():
            shutil.rmtree(copy)
        shutil.copytree(original, copy)
        return copy

    def clicks(self):
        return self.base("clicks", lambda cwd: call(click_run(self.clickstream), cwd))

    def meters(self):
        program = self.program("corrections")
        return self.base("meters", lambda cwd: killed(meter_run(program), cwd, 5, kills=6))

    def damage(self, cwd, *words):
        call([self.tamper, "run", *words], cwd)


def killed(command, cwd, seed, kills):
    """Runs the command, killing it at seeded moments; returns how often that was."""
    moments = random.Random(seed)
    for done in range(kills):
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            process.wait(timeout=moments.uniform(0.05, 0.35))
            return done
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    call(command, cwd)
    return kills


def traffic_run(program, count, rate, seed, *more):
    options = ["--traffic", "--count", count, "--rate", f"{rate}/s", "--seed", seed]
    return [program, "run", "--embedded", "run", *options, "--progress", "never", *more]


def click_run(program, seed=7):
    return traffic_run(program, 20000, 200, seed)


def meter_run(program):
    return traffic_run(program, 60000, 100, 4, "--commit-interval", "5ms")


def reconcile(program, cwd, exact, *more):
    """The JSON verdict, which must be `exact`."""
    command = [program, "reconcile", "run", "--progress", "never", "--json", *more]
    result = subprocess.run(
        [str(part) for part in command], cwd=cwd, capture_output=True, timeout=600
    )
    try:
        verdict = json.loads(result.stdout)
    except ValueError as error:
        raise Failure(f"{error}: {result.stdout[-2000:]} {result.stderr[-2000:]}") from error
    if verdict["exact"] is not exact or result.returncode != (0 if exact else 1):
        different = [layer for layer in verdict["layers"] if not layer["equal"]]
        checks = [check for check in verdict["checks"] if not check["holds"]]
        raise Failure(
            f"exact {verdict['exact']}, exit {result.returncode}: {verdict['error']} "
            f"{different} {checks}"[:6000]
        )
    return verdict


def expect_different(verdict, names, kind=None, count=None):
    """Just these layers differ; their rows are shown, and in which way they differ."""
    found = [layer["name"] for layer in verdict["layers"] if not layer["equal"]]
    if sorted(found) != sorted(names):
        different = [layer for layer in verdict["layers"] if not layer["equal"]]
        raise Failure(f"{names} should differ, but {found} do: {different}"[:6000])
    for layer in verdict["layers"]:
        if layer["equal"] or kind is None:
            continue
        if layer[kind] == 0 or (count is not None and layer[kind] != count):
            raise Failure(f"{kind} rows of {layer['name']}: {layer[kind]}, not {count}")
        if not any(row["kind"] == kind for row in layer["differences"]):
            raise Failure(f"no {kind} row of {layer['name']} is shown: {layer}")


def wait_for(condition):
    deadline = time.monotonic() + 120
    while not condition():
        if time.monotonic() > deadline:
            raise Failure("the run made nothing for two minutes")
        time.sleep(0.01)
