#!/usr/bin/env python3
"""Dedup that remembers more than its memory holds: CPU time, memory and disk.

  tests/bench/spill.py [--build build] [--ids 50000000] [--ttl 90m] [--rate 10000]
                       [--state-memory 512MiB]

A made stream of `--ids` distinct ids of 16 characters, `--rate` a second of event time, every 50th
record one of the earlier ids again, near or far, goes through `dedup by id within TTL` by standard
input. Prints a line for every tenth of it, then the totals; fails unless every duplicate was found
and nothing else was taken for one (while the ttl is longer than the stream). docs/measurements.md
tells what was measured.
"""

import os
import re
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True

from common import ROOT, parser_of, tree_bytes

PIPE = """pipeline ids;

source q
  from file '-' format csv
  columns (id string, at timestamp_ms)
  key id
  event time at
  watermark 5s
  rejects to bad;

stream once from q
  dedup by id within {ttl}
  rejects to bad;

sink kept from once to file 'kept.csv' format csv at least once;
sink refused from bad to file 'bad.jsonl' format jsonl at least once;
"""
MASK = (1 << 64) - 1
AGAIN = 50  # every so many records one is a duplicate


def scrambled(number):
    return f"{number * 0x9E3779B97F4A7C15 & MASK:016x}"


def write_ids(to, ids, rate, progress):
    """The duplicates' distances run through all scales."""
    lines = []
    start, records, state = 1_700_000_000_000, 0, 1
    for i in range(ids):
        at = start + i * 1000 // rate
        lines.append(f"{scrambled(i)},{at}\n")
        if i % (AGAIN - 1) == AGAIN - 2:
            state = state * 6364136223846793005 + 1442695040888963407 & MASK
            back = (state >> 33) % (i >> (state >> 20) % 20 or 1)
            lines.append(f"{scrambled(i - back)},{at}\n")
            records += 1
        if len(lines) >= 20000:
            to.write("".join(lines))
            lines.clear()
            progress[0] = i
    to.write("".join(lines))
    to.close()
    progress[0] = ids
    progress[1] = records


def status_kib(pid, field):
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.M)
    return int(found.group(1)) if found else 0


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(process, progress, ids, state):
    """The peak, in MiB."""
    step, cpu_before, at_before, peak = ids // 10, 0.0, 0, 0
    while process.poll() is None:
        time.sleep(0.05)
        try:
            cpu = cpu_seconds(process.pid)
            rss = status_kib(process.pid, "VmRSS") / 1024
            peak = max(peak, status_kib(process.pid, "VmHWM") / 1024)
        except (FileNotFoundError, ProcessLookupError, IndexError):
            continue
        if progress[0] < at_before + step:
            continue
        rate = (progress[0] - at_before) / max(cpu - cpu_before, 0.01)
        print(
            f"{progress[0]:>12,} ids   {rate:>10,.0f} a CPU second   {rss:>5.0f} MiB   "
            f"state {tree_bytes(state) / 1e6:>6,.0f} MB",
            flush=True,
        )
        cpu_before, at_before = cpu, progress[0]
    return peak


def build(directory, build_directory, ttl):
    (directory / "ids.pipe").write_text(PIPE.format(ttl=ttl))
    subprocess.run(
        [build_directory / "pipec", "build", "ids.pipe", "--out", "generated", "-o", "ids"],
        cwd=directory,
        env={**os.environ, "PIPEC_HOME": str(ROOT)},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def main():
    options = parser_of(
        __doc__, ids=50_000_000, ttl="90m", rate=10_000, state_memory="512MiB"
    ).parse_args()
    build_directory = options.build
    with tempfile.TemporaryDirectory(dir=build_directory) as scratch:
        scratch = Path(scratch)
        build(scratch, build_directory, options.ttl)
        command = [scratch / "ids", "run", "--embedded", "run", "--no-output", "--progress"]
        command += ["never", "--state-memory", options.state_memory]
        with open(scratch / "report.txt", "wb") as report:
            process = subprocess.Popen(
                command, cwd=scratch, stdin=subprocess.PIPE, stderr=report, text=True
            )
        progress = [0, 0]
        writer = threading.Thread(
            target=write_ids, args=(process.stdin, options.ids, options.rate, progress)
        )
        writer.start()
        peak = watch(process, progress, options.ids, scratch / "run" / "state")
        writer.join()
        report = (scratch / "report.txt").read_text()
        if process.returncode != 0:
            sys.exit(report)
        print(report)
        print(f"peak {peak:.0f} MiB")
        print(f"state on disk {tree_bytes(scratch / 'run' / 'state') / 1e6:,.0f} MB")
        found = re.search(r"dedup_in = .*\(([\d,]+) = ", report)
        unique = re.search(r"^  once +[\d,]+ +(?:[\d,]+ +)*?([\d,]+)$", report, re.M)
        if found is None or unique is None:
            sys.exit("the report has no line of the stream")
        if int(found.group(1).replace(",", "")) != options.ids + progress[1]:
            sys.exit(f"not all of {options.ids + progress[1]:,} records were judged")
        passed = int(unique.group(1).replace(",", ""))
        print(f"{passed:,} ids passed of {options.ids:,}, {progress[1]:,} duplicates sent")


if __name__ == "__main__":
    main()
