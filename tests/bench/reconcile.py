#!/usr/bin/env python3
"""Reconcile at size: its memory, its CPU time and what it leaves on disk.

  tests/bench/reconcile.py [--build build] [--events 100000000] [--state-memory 128MiB]

A pipeline with a narrow contract (some 30 bytes a record, so that many events fit on a disk) is fed
by its own traffic with every fault: duplicates, late and poisoned records, broken values. Then
`reconcile` compares the input with the ledger and every sink with a second execution. Prints the
peak of the resident memory and the CPU seconds of both, and fails unless the last line is `exact
true`. Needs about 250 bytes of disk an event below the build directory, and temporary files in
$TMPDIR. docs/measurements.md tells what was measured.
"""

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

sys.dont_write_bytecode = True

from common import ROOT, parser_of, tree_bytes

SCHEMA = {
    "type": "record",
    "name": "Hit",
    "fields": [
        {"name": "id", "type": "long"},
        {"name": "page", "type": "string"},
        {"name": "spent", "type": "int"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
PIPE = """pipeline hits;

contract hit from 'hit.avsc';

source raw from kafka topic 'hits.raw' partitions 4 key page
  contract hit
  event time at
  watermark 5s idle 30s ahead 5m
  rejects to refused;

stream valid from raw
  require spent >= 0 else 'spent_below_zero'
  rejects to refused;

stream once from valid
  dedup by id within 10m
  rejects to refused;

stream by_page from once
  window tumbling 10s
  group by page
  aggregate count() as hits, sum(spent) as spent,
  late to late_hits
  emit on close
  rejects to refused;

sink once_topic from once to kafka topic 'hits.once' key page format avro exactly once;
sink windows_topic from by_page to kafka topic 'hits.windows' key page format avro exactly once;
sink late_topic from late_hits to kafka topic 'hits.late' key page format avro exactly once;
sink refused_topic from refused to kafka topic 'hits.refused' key reason exactly once;

traffic visitors into raw
  field id unique
  field page text 1..2
  field spent uniform 0..1_000
  fault duplicate 2 percent within 30s
  fault out of order 5 percent up to 4s
  fault late 1 percent by 1m..9m
  fault value spent -1 0.05 percent
  fault poison 0.1 percent;
"""


def watched(command, cwd, directory):
    """Its output, and a line of what it took: wait4 tells the peak and the CPU time."""
    began, most = time.monotonic(), 0
    with open(cwd / "said.txt", "w+b") as said:
        process = subprocess.Popen(command, cwd=cwd, stdout=said, stderr=subprocess.STDOUT)
        ended = threading.Event()

        def measure():
            nonlocal most
            while not ended.wait(2):
                most = max(most, tree_bytes(directory))

        measuring = threading.Thread(target=measure)
        measuring.start()
        _, status, used = os.wait4(process.pid, 0)
        ended.set()
        measuring.join()
        said.seek(0)
        text = said.read().decode(errors="replace")
    if os.waitstatus_to_exitcode(status) != 0:
        sys.exit(f"{command[1]}: exit {os.waitstatus_to_exitcode(status)}\n{text[-4000:]}")
    print(
        f"{command[1]:<10} peak {used.ru_maxrss / 1024:,.0f} MiB   "
        f"{used.ru_utime + used.ru_stime:,.1f} CPU s   {time.monotonic() - began:,.0f} s   "
        f"at most {most / 1e6:,.0f} MB of files",
        flush=True,
    )
    return text


def main():
    parser = parser_of(__doc__, events=100_000_000)
    parser.add_argument("--rate", default="5000/s", help="of event time")
    parser.add_argument("--state-memory", default="128MiB", help="of reconcile")
    options = parser.parse_args()
    build = options.build
    with tempfile.TemporaryDirectory(dir=build) as scratch:
        scratch = Path(scratch)
        (scratch / "hit.avsc").write_text(json.dumps(SCHEMA))
        (scratch / "hits.pipe").write_text(PIPE)
        (scratch / "spill").mkdir()
        os.environ["PIPEC_HOME"] = str(ROOT)
        os.environ["TMPDIR"] = str(scratch / "spill")
        compile_hits = [build / "pipec", "build", "hits.pipe", "--out", "generated", "-o", "hits"]
        subprocess.run(compile_hits, cwd=scratch, check=True, stdout=subprocess.DEVNULL)
        run = [scratch / "hits", "run", "--embedded", "run", "--traffic", "--count"]
        run += [str(options.events), "--rate", options.rate, "--seed", "1", "--progress", "never"]
        watched(run, scratch, scratch / "run")
        prove = [scratch / "hits", "reconcile", "run", "--progress", "never"]
        prove += ["--state-memory", options.state_memory]
        text = watched(prove, scratch, scratch / "spill")
        print(text)
        if not text.endswith("exact true\n"):
            sys.exit("not exact")


if __name__ == "__main__":
    main()
