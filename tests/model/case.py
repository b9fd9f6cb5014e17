"""A case, a directory with generated.pipe, paths.json, contracts/, in/: built, run, compared."""

import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import compare
import inputs
from model import Model

ROOT = Path(__file__).resolve().parents[2]


class Broken(Exception):
    """Something other than a difference of rows: it did not compile, or the program failed."""


def call(command, cwd, **options):
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=120,
        **options,
    )
    if result.returncode != 0:
        text = (result.stdout + result.stderr).decode(errors="replace")
        raise Broken(
            f"{Path(str(command[0])).name} {' '.join(map(str, command[1:]))}: "
            f"exit {result.returncode}\n{text[-3000:]}"
        )
    return result.stdout.decode()


class Case:
    def __init__(self, directory, build):
        self.directory, self.build = Path(directory).resolve(), Path(build).resolve()
        self.paths = json.loads((self.directory / "paths.json").read_text())
        self.kills = 0

    def compile(self):
        pipec = self.build / "pipec"
        environment = {**os.environ, "CFLAGS": "-O0 -U_FORTIFY_SOURCE"}
        call(
            [pipec, "build", "generated.pipe", "--out", "c", "-o", "program"],
            self.directory,
            env=environment,
        )
        self.plan = json.loads(
            call([pipec, "--explain", "--format", "json", "generated.pipe"], self.directory)
        )
        self.program = self.directory / "program"
        self.sources = {node["name"] for node in self.plan["nodes"] if node["node"] == "source"}

    def compute(self):
        here = os.getcwd()
        os.chdir(self.directory)  # paths of files are columns of rejects
        try:
            sources = {name: path for name, path in self.paths.items() if name in self.sources}
            self.model = Model(self.plan, inputs.load(self.plan, sources)).run()
        finally:
            os.chdir(here)
        for node in self.plan["nodes"]:
            if node["node"] == "sink":
                self.model.sinks[node["name"]].identity = groups_of(self.plan, node["from"])

    def run_directory(self, name):
        directory = self.directory / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        os.symlink(self.directory / "in", directory / "in")
        (directory / "out").mkdir()
        return directory

    def command(self, *more):
        paths = [
            part
            for name, path in self.paths.items()
            if name in self.sources
            for part in ("--path", f"{name}={path}")
        ]
        return [self.program, "run", "--embedded", "run", "--progress", "never", *paths, *more]

    def run(self, name, *more, kills=None):
        """Runs to the end, killed on the way at the moments that `kills` draws."""
        directory = self.run_directory(name)
        for _ in range(kills.randrange(1, 5) if kills else 0):
            process = subprocess.Popen(
                [str(part) for part in self.command(*more)],
                cwd=directory,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
            )
            try:
                process.wait(timeout=kills.uniform(0.005, 0.15))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
                self.kills += 1
        text = call(self.command(*more), directory)
        if "NOT EQUAL" in text:
            raise Broken(f"{name}: the conservation equations do not hold\n{text}")
        return directory

    def compare(self, directory):
        for sink in self.model.sinks.values():
            paths = {sink.name: directory / self.paths[sink.name]} if sink.kind == "file" else {}
            try:
                compare.compare_sink(self.model, sink, self.program, directory / "run", paths)
            except compare.Difference as difference:
                raise compare.Difference(f"{directory.name}: {difference}") from None

    def check(self, seed):
        """Raises Broken or compare.Difference."""
        rng = random.Random(seed)
        self.compile()
        self.compute()
        self.compare(self.run("straight"))
        batch = str(rng.choice([1, 2, 7, 64]))
        self.compare(self.run("often", "--commit-interval", "1ms", "--batch", batch))
        batch = str(rng.choice([1, 3, 20]))
        self.compare(self.run("killed", "--commit-interval", "1ms", "--batch", batch, kills=rng))


def groups_of(plan, name):
    """The group columns of the window that a stream sends rows of."""
    inputs_of = {
        node["name"]: node.get("inputs", []) for node in plan["nodes"] if node["node"] == "stream"
    }
    groups = {node["stream"]: node["group"] for node in plan["nodes"] if node["node"] == "window"}
    while name not in groups and inputs_of.get(name):
        name = inputs_of[name][0]
    return groups.get(name, [])
