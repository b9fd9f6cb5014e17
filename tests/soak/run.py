#!/usr/bin/env python3
"""A long run at a fixed rate: memory and state stay flat, old state is really deleted.

run.py [--minutes 20] [--rate 2000] [--build DIR] [--every SECONDS] [--keep DIR]

The clickstream pipeline with a dedup ttl of two minutes, fed in real time by its own traffic. After
the warm-up (the first third, in which the ttl fills) the memory of the process, the state's
directory and what operators remember must not grow. The log and the tables grow with the input, by
design: they are its output. At the end the run is stopped, and `reconcile` must say `exact true`.
Prints the series and the verdict. Exit: 0 flat, 1 not.
"""

import argparse
import os
import re
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TTL_S = 120
# What a series may grow by from the first to the last third behind the warm-up: parts of itself,
# and what a memtable or a block cache may come to hold late, or a compaction has not yet taken.
GROWTH = 0.10
SPARE_MB = {"rss": 8.0, "state": 16.0, "ids": 0.0}


def build_program(build, directory):
    text = (ROOT / "pipelines/clickstream.pipe").read_text()
    short = text.replace("within 24h", f"within {TTL_S}s")
    if short == text:
        sys.exit("pipelines/clickstream.pipe has no ttl of 24h any more")
    (directory / "clickstream.pipe").write_text(short)
    program = directory / "clickstream"
    command = [build / "pipec", "build", directory / "clickstream.pipe"]
    subprocess.run(
        [*command, "--out", directory / "generated", "-o", program],
        cwd=ROOT,
        check=True,
        stdout=subprocess.DEVNULL,
        env={**os.environ, "PIPEC_HOME": str(ROOT)},
    )
    return program


def size_mb(directory):
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # compacted away meanwhile
            pass
    return total / 1e6


def rss_mb(pid):
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmRSS:\s+(\d+)", status)[1]) / 1e3


def remembered(program, directory):
    """Thousands of ids that dedup remembers, as saved last; None while nothing is."""
    inspected = subprocess.run(
        [program, "inspect", "run", "state"], cwd=directory, capture_output=True, text=True
    )
    counts = re.findall(r"^clean +dedup .*? (\d[\d,]*) ids? ", inspected.stdout, re.M)
    return sum(int(count.replace(",", "")) for count in counts) / 1e3 if counts else None


def sample(process, program, directory, began):
    run = directory / "run"
    return {
        "s": time.monotonic() - began,
        "rss": rss_mb(process.pid),
        "state": size_mb(run / "state"),
        "ids": remembered(program, directory),
        "log": size_mb(run / "log"),
        "tables": size_mb(run / "tables"),
    }


def show(row):
    ids = "-" if row["ids"] is None else f"{row['ids']:.0f}"
    print(
        f"{row['s']:7.0f} {row['rss']:9.1f} {row['state']:9.1f} {ids:>9} "
        f"{row['log']:9.0f} {row['tables']:9.0f}",
        flush=True,
    )


def watch(process, program, directory, options):
    """One row each interval until the time is over."""
    began, rows = time.monotonic(), []
    print("seconds    RSS MB  state MB     k ids    log MB tables MB")
    while time.monotonic() - began < options.minutes * 60:
        time.sleep(options.every)
        if process.poll() is not None:
            sys.exit(f"the run has ended: {process.returncode}\n{process.stderr.read()}")
        rows.append(sample(process, program, directory, began))
        show(rows[-1])
    return rows


def judge(rows, name):
    """(flat, what to say): the first third behind the warm-up against the last."""
    values = [row[name] for row in rows[len(rows) // 3 :] if row[name] is not None]
    third = len(values) // 3
    if third == 0:
        return False, f"{name}: too few samples"
    first, last = statistics.median(values[:third]), statistics.median(values[-third:])
    most = first * (1 + GROWTH) + SPARE_MB[name]
    return last <= most, f"{name}: {first:.1f} at first, {last:.1f} at last, {most:.1f} at most"


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--rate", type=int, default=2000)
    parser.add_argument("--every", type=float, default=10, help="seconds between samples")
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--keep", help="run there, and leave it")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="soak-") as scratch:
        directory = Path(options.keep or scratch).resolve()
        directory.mkdir(parents=True, exist_ok=True)
        program = build_program(Path(options.build).resolve(), directory)
        command = [program, "run", "--embedded", "run", "--traffic", "--progress", "never"]
        process = subprocess.Popen(
            [*command, "--rate", f"{options.rate}/s"],
            cwd=directory,
            stderr=subprocess.PIPE,
            text=True,
        )
        try:
            rows = watch(process, program, directory, options)
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=120)
        if process.returncode != 0:
            sys.exit(f"exit {process.returncode}\n{said}")
        reconciled = subprocess.run(
            [program, "reconcile", "run"], cwd=directory, stdout=subprocess.PIPE, text=True
        )
    verdicts = [judge(rows, name) for name in SPARE_MB]
    exact = reconciled.returncode == 0 and reconciled.stdout.endswith("exact true\n")
    verdicts.append((exact, reconciled.stdout.strip().splitlines()[-1]))
    for good, text in verdicts:
        print(("ok   " if good else "FAIL ") + text)
    print("flat" if all(good for good, _ in verdicts) else "not flat")
    return 0 if all(good for good, _ in verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
