"""Runs over topics that are fed step by step, so that partitions fall idle and wake.

The time that idleness is measured by goes a thousand times as fast (tests/fault/preload.c), so that
a partition without records is idle while others of its source still have some, and the wall clock
stands near the event times, so that `idle advance` interferes with them.
"""

import base64
import json
import os
import signal
import subprocess
import time
from pathlib import Path

import fastavro

import generate_data
import values

ROOT = Path(__file__).resolve().parents[2]
SPEED = 1000
RECORDS_MAX = 400


def preload(program):
    """The shim, made beside the programs once for all processes."""
    library = Path(program).parents[1] / "preload.so"
    source = ROOT / "tests/fault/preload.c"
    if not library.exists() or library.stat().st_mtime < source.stat().st_mtime:
        unfinished = library.with_suffix(f".{os.getpid()}")
        command = ["gcc", "-std=gnu11", "-D_GNU_SOURCE", "-O1", "-shared", "-fPIC"]
        subprocess.run([*command, "-o", unfinished, source, "-ldl"], check=True)
        unfinished.rename(library)
    return library


def rows_of(node):
    """partition → lines for `inject`, which gives keys as text: records with other keys are left
    out."""
    partitions = []
    for partition, path in enumerate(node["files"]):
        lines = []
        with open(path, "rb") as file:
            for record in fastavro.reader(file):
                if is_text(record["key"]):
                    lines.append(json.dumps(row_of(partition, record)))
        partitions.append(lines)
    return partitions


def is_text(key):
    try:
        return key is None or key.decode() is not None
    except UnicodeDecodeError:
        return False


def row_of(partition, record):
    moment = record["kafka_time"]
    ms = (moment.replace(tzinfo=None) - values.EPOCH).total_seconds() * 1000
    row = {"partition": partition, "kafka_time": values.instant_text(round(ms), "timestamp_ms")}
    if record["key"] is not None:
        row["key"] = record["key"].decode()
    if record["value"] is None:
        row["value"] = None
    else:
        row["value_base64"] = base64.b64encode(record["value"]).decode()
    return row


def portions(rng, lines, steps):
    """One list a step: nothing, some or all of what is left; in the end it is all."""
    out = []
    for step in range(steps):
        most = len(lines) if step == steps - 1 else rng.choice([0, 0, len(lines) // 2, len(lines)])
        out.append(lines[:most])
        lines = lines[most:]
    return out


def feed(program, directory, nodes, pieces, step):
    """Rows of this step into the topics, partitions in turn."""
    for node in nodes:
        path = directory / f"{node['name']}-{step}.jsonl"
        lines = [line for partition in pieces[node["name"]] for line in partition[step]]
        path.write_text("".join(line + "\n" for line in lines))
        command = [program, "inject", "--embedded", "run", "--source", node["name"], path.name]
        subprocess.run(command, cwd=directory, check=True, stderr=subprocess.DEVNULL)


def run_once(command, directory, environment, rng, last):
    """To the end, for a moment, or killed; 1: killed."""
    how = "end" if last else rng.choice(["end", "stop", "kill"])
    more = ["--until-end"] if how == "end" else []
    process = subprocess.Popen(
        [*command, *more],
        cwd=directory,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        env=environment,
    )
    killed = 0
    try:
        _, error = process.communicate(timeout=60 if how == "end" else rng.uniform(0.02, 0.3))
    except subprocess.TimeoutExpired:
        process.send_signal(signal.SIGTERM if how == "stop" else signal.SIGKILL)
        _, error = process.communicate(timeout=60)
        killed = how == "kill" or process.returncode == -signal.SIGTERM  # before it had begun
    if process.returncode != 0 and not killed:
        raise RuntimeError(f"steps: exit {process.returncode}\n{error.decode(errors='replace')}")
    return int(killed)


def run_in_steps(program, directory, nodes, rng):
    """Feeds and runs in turn; the number of kills."""
    steps = rng.randrange(2, 5)
    pieces = {}
    for node in nodes:
        partitions = [lines[:RECORDS_MAX] for lines in rows_of(node)]
        partitions += [[]] * (node["partitions"] - len(partitions))
        pieces[node["name"]] = [portions(rng, lines, steps) for lines in partitions]
    command = [str(program), "run", "--embedded", "run", "--progress", "never"]
    command += ["--commit-interval", "100ms", "--batch", "1"]
    kills = 0
    for step in range(steps):
        feed(program, directory, nodes, pieces, step)
        wall_ms = generate_data.START_MS + rng.randrange(-60_000, 300_000)
        environment = {
            **os.environ,
            "LD_PRELOAD": str(preload(program)),
            "CLOCK_SPEED": str(SPEED),
            "CLOCK_STEPS": f"0:{wall_ms // 1000 - int(time.time())}",
        }
        kills += run_once(command, directory, environment, rng, step == steps - 1)
    return kills
