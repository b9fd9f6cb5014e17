"""A case, a directory with generated.pipe, paths.json, contracts/, in/: built, run, compared."""

import glob
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import compare
import inputs
import linking
import steps
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
        self.raises = 0  # of time, of partitions that were idle

    def compile(self):
        pipec = self.build / "pipec"
        environment = {
            **os.environ,
            "CFLAGS": linking.flags(self.build, self.directory),
            "PIPEC_HOME": str(linking.home(self.build)),
        }
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
            self.compute_from(inputs.load(self.plan, sources))
        finally:
            os.chdir(here)

    def compute_from(self, loaded):
        self.model = Model(self.plan, loaded).run()
        for node in self.plan["nodes"]:
            if node["node"] == "sink":
                self.model.sinks[node["name"]].identity = groups_of(self.plan, node["from"])

    def run_directory(self, name):
        directory = self.directory / name
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        os.symlink("../in", directory / "in")  # also where a kept case is moved to
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

    def run_in_steps(self, rng):
        """Topics that are fed while partitions fall idle and wake; then the model of those."""
        directory = self.run_directory("steps")
        nodes = [node for node in self.plan["nodes"] if node["node"] == "source"]
        for node in nodes:
            node["files"] = sorted(glob.glob(str(self.directory / self.paths[node["name"]])))
        self.kills += steps.run_in_steps(self.program, directory, nodes, rng)
        loaded = inputs.load(self.plan, {}, self.program, directory / "run")
        self.raises += sum(
            isinstance(item, tuple)
            for partitions in loaded.values()
            for partition in partitions
            for item in partition
        )
        self.compute_from(loaded)
        return directory

    def compare(self, directory):
        left = compare.read_run(self.model.sinks.values(), self.program, directory / "run")
        for sink in self.model.sinks.values():
            paths = {sink.name: directory / self.paths[sink.name]} if sink.kind == "file" else {}
            try:
                compare.compare_sink(self.model, sink, left, paths)
            except compare.Difference as difference:
                raise compare.Difference(f"{directory.name}: {difference}") from None

    def reconcile(self, directory):
        """The program's own verdict on what it left."""
        call([self.program, "reconcile", "run", "--progress", "never"], directory)

    def check(self, seed):
        """Raises Broken or compare.Difference."""
        rng = random.Random(seed)
        self.compile()
        self.compute()
        self.compare(self.run("straight"))
        # Within 1 KiB states spill at every save, and every commit saves.
        memory = random.Random(f"memory {seed}")
        budget = ["--state-memory", memory.choice(["1KiB", "512MiB"])]
        batch = str(rng.choice([1, 2, 7, 64]))
        self.compare(self.run("often", "--commit-interval", "1ms", "--batch", batch, *budget))
        budget = ["--state-memory", memory.choice(["1KiB", "512MiB"])]
        batch = str(rng.choice([1, 3, 20]))
        killed = self.run(
            "killed", "--commit-interval", "1ms", "--batch", batch, *budget, kills=rng
        )
        self.compare(killed)
        self.reconcile(killed)
        if all(
            node["transport"] == "kafka" for node in self.plan["nodes"] if node["node"] == "source"
        ):
            in_steps = self.run_in_steps(random.Random(f"steps {seed}"))
            self.compare(in_steps)
            self.reconcile(in_steps)


def groups_of(plan, name):
    """The group columns of the window that a stream sends rows of."""
    inputs_of = {
        node["name"]: node.get("inputs", []) for node in plan["nodes"] if node["node"] == "stream"
    }
    groups = {node["stream"]: node["group"] for node in plan["nodes"] if node["node"] == "window"}
    while name not in groups and inputs_of.get(name):
        name = inputs_of[name][0]
    return groups.get(name, [])
