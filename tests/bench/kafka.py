#!/usr/bin/env python3
"""The yardstick of the Kafka figures: a bare transactional pass-through on one broker.

  tests/bench/kafka.py [--build build] [--events 3000000] [--runs 3] [--size 300] [--commit 50]
                       [--rate 5000] [--seconds 20]

Prints, for topics of 6 partitions: the best of the runs in events per second and per CPU second
of the client and of the broker, then the latency at a rate. Nothing is asserted: machines differ.
What is measured: kafka_passthrough.c; figures: docs/measurements.md.
"""

import json
import subprocess
import sys

sys.dont_write_bytecode = True

from common import ROOT, parser_of

sys.path.insert(0, str(ROOT / "tests" / "kafka"))

import java
import services

PARTITIONS = 6


def run(program, command, bootstrap, **options):
    """The figures that kafka-passthrough prints."""
    arguments = [program, command, "--bootstrap", bootstrap]
    for name, value in options.items():
        arguments += [f"--{name}", str(value)]
    done = subprocess.run(arguments, capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, arguments))} failed:\n{done.stderr}")
    return json.loads(done.stdout)


def new_topics(cluster, number):
    names = {"in": f"in-{number}", "out": f"out-{number}", "group": f"group-{number}"}
    with cluster.admin() as admin:
        for side in ("in", "out"):
            admin.create_topic(names[side], PARTITIONS)
    return names


def throughput(cluster, program, options):
    """Figures of one run, and the broker's CPU seconds."""
    names = new_topics(cluster, "filled")
    run(program, "fill", cluster.bootstrap, count=options.events, size=options.size, **names)
    best = None
    for number in range(options.runs):
        names = names | {"out": f"out-{number}", "group": f"group-{number}"}
        with cluster.admin() as admin:
            admin.create_topic(names["out"], PARTITIONS)
        before = cluster.cpu_seconds()
        figures = run(
            program, "pass", cluster.bootstrap, count=options.events, commit=options.commit, **names
        )
        figures["broker_cpu_seconds"] = cluster.cpu_seconds() - before
        with cluster.admin() as admin:
            admin.delete_topic(names["out"])
        if not best or figures["events_per_cpu_second"] > best["events_per_cpu_second"]:
            best = figures
    return best


def main():
    options = parser_of(
        __doc__, events=3_000_000, runs=3, size=300, commit=50, rate=5000, seconds=20
    ).parse_args()
    program = options.build / "kafka-passthrough"
    try:
        with services.Cluster(1, options.build, jvm=()) as cluster:
            best = throughput(cluster, program, options)
            print(
                f"pass-through, {options.events:,} events of {options.size} B, {PARTITIONS}"
                f" partitions, commit every {options.commit} ms: {best['events_per_second']:,}"
                f" events/s, {best['events_per_cpu_second']:,} per client CPU s,"
                f" {options.events / best['broker_cpu_seconds']:,.0f} per broker CPU s"
            )
            names = new_topics(cluster, "latency")
            figures = run(
                program,
                "latency",
                cluster.bootstrap,
                rate=options.rate,
                seconds=options.seconds,
                size=options.size,
                commit=options.commit,
                **names,
            )
            print(
                f"latency at {options.rate:,} events/s, commit every {options.commit} ms:"
                f" p50 {figures['p50_ms']} ms, p99 {figures['p99_ms']} ms, most"
                f" {figures['max_ms']} ms"
            )
    except java.Unavailable as reason:
        sys.exit(f"kafka.py: {reason}")


if __name__ == "__main__":
    main()
