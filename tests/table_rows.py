"""The rows of a table sink in a run directory: of ClickHouse they are in Native files, which the
program reads itself, of Iceberg in JSON lines."""

import subprocess
from pathlib import Path


def table_rows(program, directory, sink):
    """As texts, one JSON object each; in the order in which they are there."""
    lines = Path(directory) / "tables" / f"{sink}.jsonl"
    if lines.exists():
        return lines.read_text().splitlines()
    done = subprocess.run(
        [str(program), "inspect", str(directory), "table", sink], capture_output=True, timeout=600
    )
    if done.returncode != 0:
        raise RuntimeError(f"inspect table {sink}: {done.stderr.decode(errors='replace')}")
    return done.stdout.decode().split("\n")[:-1]  # a text may hold other ends of lines


def table_sinks(directory):
    """The sinks that have files there."""
    return sorted(path.name.split(".")[0] for path in (Path(directory) / "tables").iterdir())
