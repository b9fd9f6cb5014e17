#!/usr/bin/env python3
"""What a compiled pipeline costs on Kafka, beside the bare pass-through of kafka.py.

  tests/bench/pipeline.py [--build build] [--only ratio,latency,restart,failover] [--events 1000000]
                          [--rate 5000] [--seconds 20] [--warm 8]

ratio: passing.pipe (dedup and a window, one output per input) and kafka-passthrough over the same
    topic of clicks, in turn, commits every 50 ms: events per CPU second of the client.
latency: passing.pipe at a rate; from the producer's time of a record, which is sent without a
    transaction, until a read_committed reader has its output.
restart: clickstream remembers a million ids, is killed (kill -9) and started again: until its first
    commit.
failover: clickstream on three brokers at 2,000 events a second; the broker that is controller is
    killed: the longest time without a new row for a read_committed reader.

Nothing is asserted: machines differ. Figures: docs/measurements.md.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True

from common import parser_of
from stand import PARTITIONS, ROOT, SOURCE, Feeder, Stand, event_id, growth, shown, wait_until

import java
from client import Client

COMMIT_MS, FAILOVER_RATE = 50, 2000


def children_cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def build_passing(options):
    build = options.build
    command = [build / "pipec", "build", "tests/bench/passing.pipe", "--out", build / "generated"]
    home = dict(os.environ, PIPEC_HOME=str(ROOT), CFLAGS="-O2")
    subprocess.run([*command, "-o", build / "passing"], check=True, cwd=ROOT, env=home)
    return build / "passing"


# ---- Beside the pass-through ---------------------------------------------------------------------


def ratio(options, scratch):
    with Stand(options.build, 1, scratch, program=build_passing(options)) as stand:
        records = stand.fill(options.events)
        for number in range(options.runs):
            if number > 0:
                make_anew(stand)
            bare = pass_through(stand, records, number)
            cpu, begun = children_cpu(), time.monotonic()
            arguments = ["--state", stand.scratch / f"state-{number}", "--group", f"group-{number}"]
            stand.command(
                "run", *arguments, "--listen", "none", "--until-end", "--progress", "never"
            )
            wall, cpu = time.monotonic() - begun, children_cpu() - cpu
            print(
                f"{records:,} clicks: bare pass-through {bare:,.0f} per client CPU s; dedup"
                f" and window {records / cpu:,.0f} ({records / wall:,.0f}/s):"
                f" {records / cpu / bare:.2f}",
                flush=True,
            )


def make_anew(stand):
    """What a run has written, but not what it reads: a new group refuses another's exchanges."""
    with stand.cluster.admin() as admin:
        for topic in admin.topics():
            if topic.startswith(("pipec.", "passing.")):
                admin.delete_topic(topic)
    stand.command("topics", "apply")


def pass_through(stand, records, number):
    """Events per CPU second of the client."""
    with stand.cluster.admin() as admin:
        admin.create_topic(f"bare-{number}", PARTITIONS)
    command = [stand.build / "kafka-passthrough", "pass", "--bootstrap", stand.cluster.bootstrap]
    command += ["--in", SOURCE, "--out", f"bare-{number}", "--group", f"bare-{number}"]
    command += ["--count", str(records), "--commit", str(COMMIT_MS)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    with stand.cluster.admin() as admin:
        admin.delete_topic(f"bare-{number}")
    return json.loads(done.stdout)["events_per_cpu_second"]


# ---- Produced -> visible -------------------------------------------------------------------------


def latency(options, scratch):
    with Stand(options.build, 1, scratch, program=build_passing(options)) as stand:
        lines = stand.make_lines(options.rate * (options.warm + options.seconds))
        program = stand.run()
        wait_until(lambda: stand.lag("pipec_source_lag_records") == 0, "the program is ready")
        client = Client(stand.build, stand.cluster.bootstrap)
        with client.follow("passing.clean", start="end") as reader:
            time.sleep(3)
            feeder, memory = Feeder(stand, lines, options.rate), []
            feeder.join(options.warm)
            cpu, begun, before = stand.cpu(program), time.monotonic(), stand.metrics()
            while feeder.is_alive():
                memory.append(stand.memory(program)["program"])
                feeder.join(1)
            wall = time.monotonic() - begun
            used = {name: total - cpu[name] for name, total in stand.cpu(program).items()}
            after = stand.metrics()
            feeder.finish()
            wait_until(lambda: stand.lag("pipec_source_lag_records") == 0, "all is read")
            time.sleep(2)
            seen = reader.records()
        sent = stand.produced()
        first = min(sent.values()) + options.warm * 1000
        late = [
            r.seen_us / 1000 - sent[event_id(r.value)]
            for r in seen
            if sent[event_id(r.value)] >= first
        ]
        shares = [f"{name} {seconds / wall:.2f}" for name, seconds in used.items()]
        commits = growth(before, after, "pipec_commit_duration_seconds_count")
        commit_ms = growth(before, after, "pipec_commit_duration_seconds_sum") * 1000 / commits
        print(
            f"produced -> visible at {options.rate:,} events/s, commits every {COMMIT_MS} ms:"
            f" {shown(late)} ({len(late):,} rows); {commits / wall:.1f} commits/s of"
            f" {commit_ms:.0f} ms; program at most {max(memory)} MiB; of 2 processors:"
            f" {', '.join(shares)}",
            flush=True,
        )


# ---- Faults --------------------------------------------------------------------------------------


def restart(options, scratch):
    group = "pipec.clickstream"
    with Stand(options.build, 1, scratch) as stand, stand.cluster.admin() as admin:
        stand.fill(options.events)
        program = stand.run()
        wait_until(lambda: stand.lag("pipec_source_lag_records") == 0, "all is read")
        stand.traffic(1000, 120)
        time.sleep(5)
        memory = stand.memory(program)["program"]

        def committed():
            return sum(at for (topic, _), (at, _) in admin.group_offsets(group).items())

        times = []
        for _ in range(options.runs):
            program.kill()
            before, begun = committed(), time.monotonic()
            program = stand.run()
            wait_until(lambda: committed() > before, "it has committed", pause_s=0.01)
            times.append(time.monotonic() - begun)
            time.sleep(3)
        print(
            f"{options.events:,} ids, kill -9 at 1,000 events/s: first commit"
            f" {', '.join(f'{seconds:.2f}' for seconds in times)} s after the start; {memory} MiB"
            f" before, {stand.memory(program)['program']} MiB after",
            flush=True,
        )


def failover(options, scratch):
    with Stand(options.build, 3, scratch) as stand, stand.cluster.admin() as admin:
        program = stand.run()
        wait_until(lambda: stand.lag("pipec_source_lag_records") == 0, "the program is ready")
        traffic = stand.traffic(FAILOVER_RATE, 60)
        client = Client(stand.build, stand.cluster.bootstrap, {"socket.timeout.ms": 3000})
        with client.follow("events.clean", start="end") as reader:
            time.sleep(15)
            killed = []
            for _ in range(options.runs):
                node = admin.controller()
                killed.append(time.time() * 1e6)
                stand.cluster.kill(node)
                time.sleep(8)
                stand.cluster.restart(node)
                time.sleep(2)
            traffic.kill()
            seen = sorted(record.seen_us for record in reader.records())
        pauses = [longest(seen, moment, moment + 8e6) / 1e6 for moment in killed]
        usual = longest(seen, killed[0] - 5e6, killed[0]) / 1e6
        print(
            f"the controller of 3 brokers killed at {FAILOVER_RATE:,} events/s: no row for"
            f" {', '.join(f'{seconds:.2f}' for seconds in pauses)} s (in the 5 s before for at"
            f" most {usual:.2f} s); program at {stand.memory(program)['program']} MiB",
            flush=True,
        )


def longest(seen, begin, end):
    """The longest time between two rows, of those that are seen in a time."""
    times = [at for at in seen if begin <= at <= end]
    return max((b - a for a, b in zip([begin, *times], [*times, end])), default=end - begin)


def main():
    parts = {"ratio": ratio, "latency": latency, "restart": restart, "failover": failover}
    options = parser_of(
        __doc__,
        only=",".join(parts),
        events=1_000_000,
        runs=3,
        rate=5000,
        seconds=20,
        warm=8,
    ).parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="pipeline-", dir=options.build))
    try:
        for name in options.only.split(","):
            print(f"[{name}, load average {os.getloadavg()[0]:.1f}]", flush=True)
            parts[name](options, scratch / name)
    except java.Unavailable as reason:
        sys.exit(f"pipeline.py: {reason}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
