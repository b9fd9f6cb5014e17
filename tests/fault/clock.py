"""The wall clock is put forward and back by hours while a pipeline runs."""

import base64
import json
import os
import re
import signal
import subprocess
import time

from harness import BEGUN, ROOT, WHOLE, Ended, Failure, Lab

HOURS_S = 5 * 3600
STEPS = {
    "forward": f"300:{HOURS_S}",
    "back": f"300:-{HOURS_S}",
    "back, forward and right again": f"200:-{HOURS_S},500:{HOURS_S},900:0",
}
SCHEMA = {
    "type": "record",
    "name": "tick",
    "fields": [
        {"name": "id", "type": "string"},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}
PIPE = """pipeline clocked;

contract tick from 'tick.avsc';

source ticks
  from kafka topic 'ticks' partitions 2
  contract tick
  format json
  key id
  event time at
  watermark 1s idle 1s advance
  rejects to refused;

stream counts from ticks
  window tumbling 1s
  group by id
  aggregate count() as ticks
  late to too_late
  emit on close;

sink counts_topic from counts to kafka topic 'counts' key id exactly once;
sink late_topic from too_late to kafka topic 'late' key id exactly once;
sink refused_topic from refused to kafka topic 'refused' exactly once;
"""


def steps_change_no_row(lab):
    """Traffic's times are its own: every row is as without steps."""
    for what, steps in STEPS.items():
        for spread in (1, 100):
            scaled = re.sub(r"(\d+):", lambda match: f"{int(match[1]) // spread}:", steps)
            cwd = lab.empty()
            for count in (BEGUN // 2, BEGUN, WHOLE):
                lab.run(cwd, count, clock=scaled).expect(0)
            lab.expect_whole(cwd, f"clock {what}")
            lab.done(cwd)


def numbers_of(data):
    """Zigzag varints."""
    numbers, at = [], 0
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at, value, shift = at + 1, value | (byte & 0x7F) << shift, shift + 7
            if byte < 0x80:
                break
        numbers.append(value >> 1 ^ -(value & 1))
    return numbers


def floors_of(program, cwd):
    """The floors of all time records, µs, by partition."""
    dumped = subprocess.run(
        [program, "inspect", "run", "dump", "pipec.clocked.ticks.time"],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    floors = {}
    for line in dumped.stdout.splitlines():
        record = json.loads(line)
        text = "value_base64" not in record
        data = record["value"].encode() if text else base64.b64decode(record["value_base64"])
        floors.setdefault(record["partition"], []).append(numbers_of(data)[2])
    return floors


def inject(program, cwd, name, offset_ms=0):
    """Twenty rows whose event time is now."""
    rows = []
    for i in range(20):
        at = int(time.time() * 1000) + offset_ms
        rows.append(json.dumps({"key": f"k{i % 5}", "value": {"id": f"k{i % 5}", "at": at}}))
    (cwd / name).write_text("\n".join(rows) + "\n")
    Ended([program, "inject", "--embedded", "run", name], cwd).expect(0)


def run_until_time_advances(program, cwd, steps, records):
    """A run on the stepping clock, stopped when every partition has so many time records."""
    process = subprocess.Popen(
        [program, "run", "--embedded", "run", "--commit-interval", "50ms"],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env={
            **os.environ,
            "LD_PRELOAD": str(Lab.preload),
            "CLOCK_STEPS": steps,
            "ASAN_OPTIONS": "verify_asan_link_order=0",
        },
    )
    try:
        for _ in range(600):
            floors = floors_of(program, cwd)
            if len(floors) == 2 and min(map(len, floors.values())) >= records:
                break
            time.sleep(0.1)
        else:
            raise Failure("time of idle partitions does not go on")
    finally:
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
    if process.returncode != 0:
        raise Failure(f"exit {process.returncode}: {error}")
    return floors_of(program, cwd)


def idle_time_follows_no_step(lab):
    """`idle advance`: time goes on by the broker's clock, and no record gets late by a step."""
    program = build_clocked(lab)
    for what, steps in STEPS.items():
        cwd = lab.empty()
        inject(program, cwd, "first.jsonl")
        began = int(time.time() * 1_000_000)
        floors = run_until_time_advances(program, cwd, steps, records=5)
        now = int(time.time() * 1_000_000)
        for partition, some in floors.items():
            if some != sorted(some):
                raise Failure(f"clock {what}: floors of partition {partition} go back: {some}")
            if some[-1] > now:
                raise Failure(f"clock {what}: a floor is {(some[-1] - now) / 1e6} s ahead")
        if what == "forward" and max(some[-1] for some in floors.values()) < began - 1_000_000:
            raise Failure(f"time did not go on: {floors}")
        inject(program, cwd, "second.jsonl")
        Ended([program, "run", "--embedded", "run", "--until-end"], cwd).expect(0)
        late = Ended([program, "inspect", "run", "dump", "late"], cwd).expect(0).out
        refused = Ended([program, "inspect", "run", "dump", "refused"], cwd).expect(0).out
        if late or refused:
            raise Failure(f"clock {what}: {late}{refused}")
        verdict = Ended([program, "reconcile", "run"], cwd).expect(0)
        if not verdict.out.endswith("exact true\n"):
            raise Failure(verdict.out)
        lab.done(cwd)


def build_clocked(lab):
    program = lab.scratch / "clocked"
    if not program.exists():
        (lab.scratch / "clocked.pipe").write_text(PIPE)
        (lab.scratch / "tick.avsc").write_text(json.dumps(SCHEMA))
        command = [lab.build / "pipec", "build", "clocked.pipe", "--out", "c", "-o", "clocked"]
        Ended(command, lab.scratch, environment={"PIPEC_HOME": str(ROOT)}).expect(0)
    return program


TESTS = [steps_change_no_row, idle_time_follows_no_step]
