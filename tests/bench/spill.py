#!/usr/bin/env python3
"""State beyond memory: CPU time, memory and disk.

  tests/bench/spill.py [--build build] [--ids 50000000] [--ttl 90m] [--rate 10000]
                       [--state-memory 512MiB]
  tests/bench/spill.py --sessions 9000000 [--gap 200] [--rate 10000] [--state-memory 320MiB] …

Ids: a made stream of `--ids` distinct ids of 16 characters, `--rate` a second of event time, every
50th record one of the earlier ids again, near or far, goes through `dedup by id within TTL` by
standard input. Fails unless every duplicate was found and nothing else was taken for one (while the
ttl is longer than the stream).

Sessions: `--rate` a second of event time begin, and each has a second record three quarters of the
gap later, so 1.75 times the gap x rate are open. Fails unless every one was closed with both.

Prints a line for every tenth of it, then the totals. docs/measurements.md tells what was measured.
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

SOURCE = """pipeline spill;

source q
  from file '-' format csv
  columns (id string, at timestamp_ms)
  key id
  event time at
  watermark 5s
  rejects to bad;
"""
IDS = """
stream once from q
  dedup by id within {ttl}
  rejects to bad;

sink kept from once to file 'kept.csv' format csv at least once;
sink refused from bad to file 'bad.jsonl' format jsonl at least once;
"""
SESSIONS = """
stream visits from q
  window session gap {gap}
  group by id
  aggregate count() as records
  late to late_rows
  emit on close;

stream whole from visits
  where records = 2;

sink kept from whole to file 'kept.csv' format csv at least once;
sink refused from bad to file 'bad.jsonl' format jsonl at least once;
sink late_kept from late_rows to file 'late.jsonl' format jsonl at least once;
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


def write_sessions(to, sessions, gap_ms, rate, progress):
    lines = []
    start, later = 1_700_000_000_000, gap_ms * 3 // 4 * rate // 1000
    for i in range(sessions + later):
        at = start + i * 1000 // rate
        if i < sessions:
            lines.append(f"{scrambled(i)},{at}\n")
        if i >= later:
            lines.append(f"{scrambled(i - later)},{at}\n")
        if len(lines) >= 20000:
            to.write("".join(lines))
            lines.clear()
            progress[0] = min(i, sessions)
    to.write("".join(lines))
    to.close()
    progress[0] = sessions


def status_kib(pid, field):
    text = Path(f"/proc/{pid}/status").read_text()
    found = re.search(rf"^{field}:\s+(\d+) kB", text, re.M)
    return int(found.group(1)) if found else 0


def cpu_seconds(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def watch(process, progress, count, unit, state):
    """The peak, in MiB."""
    step, cpu_before, at_before, peak = count // 10, 0.0, 0, 0
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
            f"{progress[0]:>12,} {unit}   {rate:>10,.0f} a CPU second   {rss:>5.0f} MiB   "
            f"state {tree_bytes(state) / 1e6:>6,.0f} MB",
            flush=True,
        )
        cpu_before, at_before = cpu, progress[0]
    return peak


def build(directory, build_directory, text):
    (directory / "spill.pipe").write_text(text)
    subprocess.run(
        [build_directory / "pipec", "build", "spill.pipe", "--out", "generated", "-o", "spill"],
        cwd=directory,
        env={**os.environ, "PIPEC_HOME": str(ROOT)},
        check=True,
        stdout=subprocess.DEVNULL,
    )


def numbers(text):
    return int(text.replace(",", ""))


def check_ids(report, ids, duplicates):
    found = re.search(r"dedup_in = .*\(([\d,]+) = ", report)
    unique = re.search(r"^  once +[\d,]+ +(?:[\d,]+ +)*?([\d,]+)$", report, re.M)
    if found is None or unique is None:
        sys.exit("the report has no line of the stream")
    if numbers(found.group(1)) != ids + duplicates:
        sys.exit(f"not all of {ids + duplicates:,} records were judged")
    print(f"{numbers(unique.group(1)):,} ids passed of {ids:,}, {duplicates:,} duplicates sent")


def check_sessions(report, sessions):
    found = re.search(r"^  whole +([\d,]+)", report, re.M)
    if found is None or numbers(found.group(1)) != sessions:
        sys.exit(f"not all of {sessions:,} sessions were closed with two records")
    print(f"{sessions:,} sessions closed, with two records each")


def main():
    parser = parser_of(
        __doc__, ids=50_000_000, ttl="90m", gap=200, rate=10_000, state_memory="512MiB"
    )
    parser.add_argument("--sessions", type=int)
    options = parser.parse_args()
    count = options.sessions or options.ids
    build_directory = options.build
    with tempfile.TemporaryDirectory(dir=build_directory) as scratch:
        scratch = Path(scratch)
        text = SOURCE + IDS.format(ttl=options.ttl)
        if options.sessions:
            text = SOURCE + SESSIONS.format(gap=f"{options.gap}s")
        build(scratch, build_directory, text)
        command = [scratch / "spill", "run", "--embedded", "run", "--no-output", "--progress"]
        command += ["never", "--state-memory", options.state_memory]
        with open(scratch / "report.txt", "wb") as report:
            process = subprocess.Popen(
                command, cwd=scratch, stdin=subprocess.PIPE, stderr=report, text=True
            )
        progress = [0, 0]
        arguments = (process.stdin, count, options.rate, progress)
        if options.sessions:
            arguments = (process.stdin, count, options.gap * 1000, options.rate, progress)
        writer = threading.Thread(
            target=write_sessions if options.sessions else write_ids, args=arguments
        )
        writer.start()
        unit = "sessions" if options.sessions else "ids"
        peak = watch(process, progress, count, unit, scratch / "run" / "state")
        writer.join()
        report = (scratch / "report.txt").read_text()
        if process.returncode != 0:
            sys.exit(report)
        print(report)
        print(f"peak {peak:.0f} MiB")
        print(f"state on disk {tree_bytes(scratch / 'run' / 'state') / 1e6:,.0f} MB")
        if options.sessions:
            check_sessions(report, options.sessions)
        else:
            check_ids(report, options.ids, progress[1])


if __name__ == "__main__":
    main()
