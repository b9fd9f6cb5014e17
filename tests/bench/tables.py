#!/usr/bin/env python3
"""What the way of rows into tables costs, through real Kafka brokers and the ClickHouse engine.

  tests/bench/tables.py [--build build] [--only latency,catchup,dashboards] [--nodes 1,3]
                        [--rates 1000,3000,6000] [--seconds 60] [--warm 20]

latency: event -> queryable, of every row of lumen.events. From the broker's time of the event in the
    source topic until a query has returned that saw the row; the query is asked again and again,
    so the time between two of them is in every figure.
catchup: `run --no-follow` fills the topics, ClickHouse is away; then `follow --until-end` brings all
    rows into the tables; then the same with ClickHouse away for --away seconds under load.
dashboards: five queries on 6 M rows while 2,000 events a second come in.

Nothing is asserted but that no row is missing: machines differ. Figures: docs/measurements.md.
"""

import argparse
import http.client
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import urllib.parse
import urllib.request
from bisect import bisect_left
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path[:0] = [str(ROOT / "tests" / "clickhouse"), str(ROOT / "tests" / "kafka")]
sys.dont_write_bytecode = True

import java
import service
import services
from client import Client
from processes import Child, free_port

SOURCE, TABLE = "clickstream.raw", "lumen.events"
POLL_S = 0.025
EVENT_COMMIT = "20ms"  # of the traffic: its transactions are no part of what is measured
HEADER = 5  # of a framed value: a byte and the schema's id


def percentile(values, share):
    return values[min(len(values) - 1, int(share * len(values)))]


def shown(values):
    """p50, p99 and the most of milliseconds."""
    values = sorted(values)
    return (
        f"p50 {percentile(values, 0.5):,.0f} ms, p99 {percentile(values, 0.99):,.0f} ms,"
        f" most {values[-1]:,.0f} ms"
    )


def event_id(value, framed):
    """The first field of a click: a string with its length before it."""
    at, shift, number = HEADER if framed else 0, 0, 0
    while True:
        byte = value[at]
        number |= (byte & 0x7F) << shift
        shift, at = shift + 7, at + 1
        if byte < 0x80:
            break
    size = number >> 1
    return value[at : at + size]


class Queries:
    """SELECTs on one kept connection."""

    def __init__(self, server):
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.headers = {"X-ClickHouse-User": server.user, "X-ClickHouse-Key": server.password}

    def rows(self, query):
        path = "/?" + urllib.parse.urlencode({"query": query})
        self.connection.request("POST", path, b"", self.headers)
        answer = self.connection.getresponse()
        text = answer.read().decode()
        if answer.status != 200:
            raise RuntimeError(f"{query}: {text}")
        return [line.split("\t") for line in text.splitlines()]


class Poller(threading.Thread):
    """Which offsets a query sees, and when it had returned."""

    def __init__(self, server):
        super().__init__(daemon=True)
        self.queries, self.over = Queries(server), threading.Event()
        self.seen = {}  # partition -> [(offset, when it was seen, ms)]
        self.took, self.failed = [], None

    def run(self):
        try:
            self.poll()
        except Exception as error:  # told by stop()
            self.failed = error

    def poll(self):
        least = 0
        while not self.over.is_set():
            begun = time.monotonic()
            found = self.queries.rows(
                f"SELECT _pipe_partition, max(_pipe_offset) FROM {TABLE}"
                f" WHERE _pipe_offset >= {least} GROUP BY _pipe_partition"
            )
            now_ms = time.time() * 1000
            self.took.append((time.monotonic() - begun) * 1000)
            for partition, offset in found:
                steps = self.seen.setdefault(int(partition), [])
                if not steps or int(offset) > steps[-1][0]:
                    steps.append((int(offset), now_ms))
            if len(self.seen) == 6:
                least = min(steps[-1][0] for steps in self.seen.values())
            self.over.wait(max(0, POLL_S - (time.monotonic() - begun)))

    def stop(self):
        self.over.set()
        self.join()
        if self.failed:
            raise self.failed

    def when(self, partition, offset):
        """When a row was seen first; None: never."""
        steps = self.seen.get(partition, [])
        at = bisect_left(steps, (offset,))
        return steps[at][1] if at < len(steps) else None


class Stand:
    """A cluster, a ClickHouse, and the program on both."""

    def __init__(self, options, nodes, scratch):
        self.options, self.scratch = options, scratch
        self.build = (ROOT / options.build).resolve()
        self.program = self.build / "clickstream"
        self.cluster = services.Cluster(nodes, self.build, jvm=())
        self.server = service.Server(scratch / "clickhouse", self.build)
        self.children, self.seed = [], 0
        self.listen = f"127.0.0.1:{free_port()}"

    def __enter__(self):
        with ExitStack() as stack:
            stack.enter_context(self.cluster)
            stack.enter_context(self.server)
            stack.callback(lambda: [child.kill() for child in self.children])
            self.command("topics", "apply", "--sources")
            self.command("tables", "apply")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_")}
        kept["PIPE_KAFKA_BOOTSTRAP"] = self.cluster.bootstrap
        return {**kept, **self.server.environment()}

    def command(self, *arguments):
        done = subprocess.run(
            [self.program, *arguments], env=self.environment(), capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stderr

    def start(self, name, *arguments):
        command = [self.program, *arguments]
        child = Child(command, self.scratch / f"{name}.log", env=self.environment())
        self.children.append(child)
        return child

    def run(self, *arguments):
        options = ["--state", self.scratch / "state", "--instance", "one", "--progress", "never"]
        return self.start("run", "run", *options, "--listen", self.listen, *arguments)

    def traffic(self, rate, seconds):
        self.seed += 1
        options = ["--rate", f"{rate}/s", "--seconds", seconds, "--seed", self.seed]
        options += ["--commit-interval", EVENT_COMMIT, "--progress", "never"]
        return self.start("traffic", "traffic", *options)

    def fill(self, count):
        """So many events, as fast as it goes."""
        self.seed += 1
        self.command("traffic", "--count", str(count), "--seed", str(self.seed))

    def metrics(self):
        """Values by name with labels, as /metrics has them."""
        with urllib.request.urlopen(f"http://{self.listen}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return {k: float(v) for k, v in (li.rsplit(" ", 1) for li in lines if li[:1] != "#")}

    def lag(self):
        """Records behind: of the program, and of its tables."""
        found = self.metrics()
        names = ("pipec_source_lag_records", "pipec_table_lag_records")
        return tuple(sum(v for k, v in found.items() if k.startswith(name)) for name in names)

    def cpu(self, program):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        return {
            "program": program.cpu_seconds(),
            "brokers": self.cluster.cpu_seconds(),
            "engine": self.server.child.cpu_seconds(),
            "this bench": usage.ru_utime + usage.ru_stime,
        }

    def memory(self, program):
        brokers = sum(child.memory_bytes() for child in self.cluster.children.values())
        return {
            "program": program.memory_bytes() >> 20,
            "brokers": brokers >> 20,
            "engine": self.server.child.memory_bytes() >> 20,
        }

    def append_times(self, since):
        """Event id -> ms at which the broker got it, of all source records behind `since`."""
        found = {}
        client = Client(self.build, self.cluster.bootstrap)
        for partition, offset in since.items():
            for record in client.dump(SOURCE, partition=partition, start=offset):
                if record.value:
                    framed = record.value[0] == 0
                    try:
                        name = event_id(record.value, framed).decode()
                    except (IndexError, UnicodeDecodeError):
                        continue  # poison
                    found.setdefault(name, record.timestamp_ms)
        return found

    def ends(self):
        with self.cluster.admin() as admin:
            return dict(admin.offsets(SOURCE))


def wait_until(satisfied, what, timeout_s=300):
    deadline = time.monotonic() + timeout_s
    while not satisfied():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s until {what}")
        time.sleep(0.2)


def settled(stand):
    """Nothing is behind."""
    try:
        return stand.lag()[1] == 0
    except OSError:
        return False


# ---- Event -> queryable --------------------------------------------------------------------------


def figures(before, after, name):
    """The sum over all labels of what a counter has grown."""
    return sum(
        value - before.get(key, 0) for key, value in after.items() if key.split("{")[0] == name
    )


def measure_rate(stand, program, rate):
    options = stand.options
    seconds = options.warm + options.seconds
    since, poller = stand.ends(), Poller(stand.server)
    traffic = stand.traffic(rate, seconds)
    poller.start()
    wait_until(lambda: sum(stand.ends().values()) > sum(since.values()), "events come")
    time.sleep(options.warm)
    begun_ms, cpu, metrics = time.time() * 1000, stand.cpu(program), stand.metrics()
    traffic_cpu, memory, lags = traffic.cpu_seconds(), {}, []
    until = time.monotonic() + options.seconds - 2
    while time.monotonic() < until:
        for name, size in stand.memory(program).items():
            memory[name] = max(size, memory.get(name, 0))
        lags.append(stand.lag())
        time.sleep(2)
    ended_ms, after = time.time() * 1000, stand.cpu(program)
    used = {name: after[name] - cpu[name] for name in cpu}
    used["traffic"] = traffic.cpu_seconds() - traffic_cpu
    later = stand.metrics()
    if not traffic.wait(120) or traffic.process.returncode != 0:
        raise RuntimeError(f"traffic failed: {traffic.tail()}")
    wait_until(lambda: settled(stand), "the tables have all")
    time.sleep(1)
    poller.stop()
    report_rate(stand, rate, poller, since, (begun_ms, ended_ms))
    wall = (ended_ms - begun_ms) / 1000
    print(
        "  CPU of 2 processors: "
        + ", ".join(f"{name} {value / wall:.2f}" for name, value in used.items())
    )
    print("  memory: " + ", ".join(f"{name} {size} MiB" for name, size in memory.items()))
    report_blocks(metrics, later, wall)
    print(f"  lag of the tables, records, every 2 s: {' '.join(f'{t:.0f}' for _, t in lags)}")


def report_rate(stand, rate, poller, since, window):
    appended = stand.append_times(since)
    late, missing, polled = [], 0, sorted(poller.took)
    for partition, offset, name in Queries(stand.server).rows(
        f"SELECT _pipe_partition, _pipe_offset, event_id FROM {TABLE}"
    ):
        came = appended.get(name)
        if came is None or not window[0] <= came < window[1]:
            continue
        seen = poller.when(int(partition), int(offset))
        if seen is None:
            missing += 1
        else:
            late.append(seen - came)
    print(len(appended), list(appended.items())[:3], window, name, file=sys.stderr)
    if missing or not late:
        raise RuntimeError(f"{missing} rows were never seen, {len(late)} were")
    print(
        f"{rate:,} events/s, {len(stand.cluster.nodes)} brokers: event -> queryable {shown(late)}"
        f" ({len(late):,} rows; the query: p50 {percentile(polled, 0.5):.0f} ms,"
        f" p99 {percentile(polled, 0.99):.0f} ms)"
    )


def report_blocks(before, after, wall):
    rows = figures(before, after, "pipec_table_rows_total")
    blocks = figures(before, after, "pipec_table_batches_total")
    parts = ("pipec_commit_duration_seconds", "pipec_event_to_commit_seconds")
    parts += ("pipec_table_queryable_seconds",)
    means = []
    for name in parts:
        count = figures(before, after, f"{name}_count")
        mean = figures(before, after, f"{name}_sum") / count * 1000 if count else 0
        means.append(f"{name[6:-8]} {mean:.0f} ms")
    print(
        f"  {blocks / wall:.1f} blocks/s of {rows / blocks if blocks else 0:.0f} rows;"
        f" means: {', '.join(means)}",
        flush=True,
    )


def latency(options, nodes, scratch):
    with Stand(options, nodes, scratch) as stand:
        program = stand.run()
        wait_until(lambda: settled(stand), "the program is ready")
        for rate in options.rates:
            measure_rate(stand, program, rate)
        said = program.log.read_text()
        program.stop()
        for line in said.splitlines():
            if "warning" in line.lower() or "error" in line.lower():
                print(f"  said: {line}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    numbers = lambda text: [int(part) for part in text.split(",")]
    parser.add_argument("--build", default="build")
    parser.add_argument("--only", default="latency")
    parser.add_argument("--nodes", type=numbers, default=[1, 3])
    parser.add_argument("--rates", type=numbers, default=[1000, 3000, 6000])
    parser.add_argument("--seconds", type=int, default=60)
    parser.add_argument("--warm", type=int, default=20)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="tables-", dir=ROOT / options.build))
    try:
        for nodes in options.nodes:
            directory = scratch / str(nodes)
            directory.mkdir()
            latency(options, nodes, directory)
    except (java.Unavailable, service.Unavailable) as reason:
        sys.exit(f"tables.py: {reason}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
