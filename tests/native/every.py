"""The program of types.pipe, rows of every type in it, and what its tables must say."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True

import rows

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SINKS = {"every_type": "types.every", "states": "types.states"}


class Program:
    def __init__(self, build, directory, name="types"):
        self.build = build
        self.path, self.generated = directory / name, directory / "generated" / name
        call(
            [build / "pipec", "build", f"{name}.pipe", "--out", directory / "generated"]
            + ["-o", self.path],
            cwd=HERE,
        )

    def __call__(self, *arguments, environment=None):
        return call([self.path, *arguments], environment=environment)

    def fill(self, run, values, environment=None):
        """Rows of the source, one a value, through a run to their end."""
        path = run.parent / f"{run.name}.jsonl"
        with open(path, "w", encoding="utf-8") as lines:
            for number, value in enumerate(values):
                row = {"key": str(value["id"]), "partition": number % 2, "value": value}
                row["kafka_time"] = "2026-01-01T00:00:00.000Z"
                lines.write(json.dumps(row, ensure_ascii=False) + "\n")
        self("inject", "--embedded", run, "--source", "events", path)
        self("run", "--embedded", run, "--until-end", environment=environment)

    def table(self, run, sink):
        """The rows in the files of a table, as texts."""
        return self("inspect", run, "table", sink).split("\n")[:-1]

    def topic(self, run, topic):
        """The values of a topic, as texts: what stands behind `"value":` in each line."""
        dumped = self("inspect", run, "dump", topic).split("\n")[:-1]
        return [line.split(',"value":', 1)[1][:-1] for line in dumped]


def call(command, cwd=ROOT, environment=None):
    done = subprocess.run(
        [str(word) for word in command],
        cwd=cwd,
        env={**os.environ, "PIPEC_HOME": str(ROOT), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    if done.returncode != 0:
        words = " ".join(str(word) for word in command)
        raise AssertionError(f"{words}: exit {done.returncode}: {done.stderr.decode()[-2000:]}")
    return done.stdout.decode()


def every_row(count=3000, seed=5):
    rng = random.Random(seed)
    return rows.limit_rows() + [rows.random_row(rng, number) for number in range(count)]


def settled(row):
    """A row as a table can hold it: no null arrays and maps, and of a null record without a column
    that is never null its nulls."""
    value = json.loads(row)
    for name, nothing in (
        ("numbers_null", []),
        ("counts_null", {}),
        ("hollow_null", {"maybe": None}),
    ):
        if value[name] is None:
            row = row.replace(
                f'"{name}":null', f'"{name}":' + json.dumps(nothing, separators=(",", ":"))
            )
    return row


def marked(row):
    """A row of the sink that deletes."""
    flag = "true" if json.loads(row)["flag"] else "false"
    return f'{row[:-1]},"_pipe_deleted":{flag}}}'
