#!/usr/bin/env python3
"""The benchmark: clickstream.pipe over events from topic files, in CPU seconds (getrusage).

  tests/bench/run.py [--build build] [--events 1000000] [--runs 3]

Prints the CPU model, bytes per event and distinct keys, then for each case the best of the
runs: events per CPU second, CPU seconds, peak memory. Nothing is asserted: machines differ.
What the cases are and what was measured: docs/measurements.md.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from common import parser_of


def measured(command, cwd):
    """(CPU seconds, peak KiB) of one process and its threads."""
    with open(cwd / "stderr.txt", "wb") as stderr:
        process = subprocess.Popen(
            [str(part) for part in command], cwd=cwd, stdout=subprocess.DEVNULL, stderr=stderr
        )
        _, status, usage = os.wait4(process.pid, 0)
    if status != 0:
        sys.exit(f"{' '.join(map(str, command))} failed:\n{(cwd / 'stderr.txt').read_text()}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss


def cpu_model():
    text = Path("/proc/cpuinfo").read_text()
    found = re.search(r"^model name\s*: (.*)$", text, re.M)
    return found.group(1) if found else "unknown"


def rows_out(report, stream):
    """The last column of a stream's line in the table that a run ends with."""
    found = re.search(rf"^  {stream} .* ([0-9,]+)$", report, re.M)
    return found.group(1) if found else "?"


def main():
    options = parser_of(__doc__, events=1_000_000, runs=3).parse_args()
    program = options.build / "clickstream"
    with tempfile.TemporaryDirectory(dir=options.build) as scratch:
        scratch = Path(scratch)
        subprocess.run(
            [program, "traffic", "--to", "events", "--count", str(options.events), "--seed", "1"],
            cwd=scratch,
            check=True,
            stderr=subprocess.DEVNULL,
        )
        files = sorted((scratch / "events").glob("*.avro"))
        size = sum(path.stat().st_size for path in files)
        print(f"cpu        {cpu_model()}, {os.cpu_count()} cores")
        print(
            f"input      {options.events:,} events (duplicates and faults added by the traffic), "
            f"{size / options.events:.0f} bytes an event in {len(files)} topic files"
        )
        cases = {
            "operators": ["--no-output"],  # rows are counted and thrown away
            "topics": ["--no-follow"],  # and one table that has no follower, as JSON lines
            "embedded": [],  # and tables, from the topics, as Native files
        }
        for name, extra in cases.items():
            best = None
            for _ in range(options.runs):
                shutil.rmtree(scratch / "run", ignore_errors=True)
                used = measured(
                    [
                        program,
                        "run",
                        "--embedded",
                        "run",
                        "--path",
                        "clicks=events/clicks-*.avro",
                        "--progress",
                        "never",
                        *extra,
                    ],
                    scratch,
                )
                best = used if best is None or used < best else best
            print(
                f"{name:<10} {options.events / best[0]:>12,.0f} events per CPU second   "
                f"{best[0]:.2f} CPU s   "
                f"peak {best[1] / 1024:.0f} MiB"
            )
            report = (scratch / "stderr.txt").read_text()
        print(
            f"keys       {rows_out(report, 'clean')} ids remembered at the end, "
            f"{rows_out(report, 'sessions')} sessions, {rows_out(report, 'by_category')} windows"
        )
        print((scratch / "stderr.txt").read_text())


if __name__ == "__main__":
    main()
