"""What a run directory holds. The rows of a table sink of ClickHouse are in Native files, which the
program reads itself, of Iceberg in JSON lines."""

import re
import subprocess
from pathlib import Path

RECORD = re.compile(
    r'\{(?:"topic":"([^"]*)",)?"partition":\d+,"offset":\d+,"kafka_time":[^,]*,(.*)\}', re.S
)
NAMED = re.compile(r'\{"sink":"(\w+)","row":(.*)\}', re.S)


def table_rows(program, directory, sink):
    """As texts, one JSON object each; in the order in which they are there."""
    lines = Path(directory) / "tables" / f"{sink}.jsonl"
    if lines.exists():
        return lines.read_text().splitlines()
    return inspect(program, directory, "table", sink)


def rows_of_tables(program, directory, sinks):
    """sink → its table_rows; one process reads all."""
    rows = {sink: [] for sink in sinks}
    native = []
    for sink in sinks:
        if (Path(directory) / "tables" / f"{sink}.jsonl").exists():
            rows[sink] = table_rows(program, directory, sink)
        else:
            native.append(sink)
    if len(native) == 1:
        rows[native[0]] = inspect(program, directory, "table", *native)
    elif native:
        for line in inspect(program, directory, "table", *native):
            sink, row = NAMED.fullmatch(line).groups()
            rows[sink].append(row)
    return rows


def rows_of_topics(program, directory, topics):
    """topic → the keys and values of its records, as JSON; one process reads all."""
    rows = {topic: [] for topic in topics}
    for line in inspect(program, directory, "dump", *topics):
        topic, row = RECORD.fullmatch(line).groups()
        rows[topic or topics[0]].append(row)
    return rows


def inspect(program, directory, *words):
    command = [str(program), "inspect", str(directory), *words]
    done = subprocess.run(command, capture_output=True, timeout=600)
    if done.returncode != 0:
        raise RuntimeError(f"inspect {words}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode().split("\n")[:-1]  # a text may hold other ends of lines


def table_sinks(directory):
    """The sinks that have files there."""
    return sorted(path.name.split(".")[0] for path in (Path(directory) / "tables").iterdir())
