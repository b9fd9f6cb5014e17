"""Brokers, a ClickHouse and the compiled clickstream on them, for benches that measure all of these
together (tables.py, pipeline.py)."""

import base64
import http.client
import os
import re
import resource
import subprocess
import sys
import threading
import time
import urllib.parse
import urllib.request
from contextlib import ExitStack

sys.dont_write_bytecode = True

from common import ROOT

sys.path[:0] = [str(ROOT / "tests" / "clickhouse"), str(ROOT / "tests" / "kafka")]

import service
import services
from client import Client
from processes import Child, free_port

SOURCE, PARTITIONS = "clickstream.raw", 6
TICK_S = 0.005  # of a feeder
LINGER_MS = {1: 10, 3: 25}  # likewise, by the number of brokers
WARM_S = 120  # of brokers with all compilers
HEADERS = {0x00: 5, 0xC3: 10}  # of a framed value, by its first byte: the schema's id, its hash


def percentile(values, share):
    """Of sorted values."""
    return values[min(len(values) - 1, int(share * len(values)))]


def shown(values, last=0.99):
    """p50, p99 (or another) and the most of milliseconds."""
    values = sorted(values)
    return (
        f"p50 {percentile(values, 0.5):,.0f} ms, p{last * 100:.0f} {percentile(values, last):,.0f}"
        f" ms, most {values[-1]:,.0f} ms"
    )


def event_id(value):
    """The first field of a click, a string with its length before it; None: poison."""
    at, shift, number = HEADERS.get(value[0] if value else None, 0), 0, 0
    try:
        while True:
            byte = value[at]
            number |= (byte & 0x7F) << shift
            shift, at = shift + 7, at + 1
            if byte < 0x80:
                return value[at : at + (number >> 1)].decode()
    except (IndexError, UnicodeDecodeError, TypeError):
        return None


def wait_until(satisfied, what, timeout_s=300, pause_s=0.2):
    deadline = time.monotonic() + timeout_s
    while not satisfied():
        if time.monotonic() > deadline:
            raise TimeoutError(f"waited {timeout_s} s until {what}")
        time.sleep(pause_s)


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


class Feeder(threading.Thread):
    """Has kafka-tool write lines at a rate, without transactions."""

    def __init__(self, stand, lines, rate):
        super().__init__(daemon=True)
        # A request for each partition and tick would be most of what the brokers have to do, above
        # all where each is copied to two others.
        properties = {"linger.ms": stand.linger_ms}
        self.process = Client(stand.build, stand.cluster.bootstrap, properties).producing(SOURCE)
        self.lines, self.rate = lines, rate
        self.start()

    def run(self):
        begun, sent = time.monotonic(), 0
        while sent < len(self.lines):
            due = min(len(self.lines), int((time.monotonic() - begun) * self.rate))
            self.process.stdin.write("".join(self.lines[sent:due]))
            self.process.stdin.flush()
            sent = due
            time.sleep(TICK_S)
        self.process.stdin.close()

    def finish(self):
        """Returns when all is acknowledged."""
        self.join()
        if self.process.wait(60) != 0:
            raise RuntimeError(self.process.stderr.read())


class Stand:
    """nodes: brokers; tables: with a ClickHouse, which is `server`; warm: seconds under load before
    anything is measured; linger_ms: of the Feeder."""

    def __init__(self, build, nodes, scratch, tables=False, program=None, warm=0, linger_ms=None):
        self.scratch, self.build = scratch, (ROOT / build).resolve()
        scratch.mkdir(parents=True)
        self.program = program or self.build / "clickstream"
        self.linger_ms = linger_ms or LINGER_MS[nodes]
        # Of three brokers the best compiler takes a third of the machine for minutes: they do with
        # the quick one, whose code is a little slower, but is there when the measuring begins.
        flags = services.QUICK_START if nodes > 1 and warm < WARM_S else ()
        self.cluster = services.Cluster(nodes, self.build, jvm=flags)
        self.server = service.Server(scratch / "clickhouse", self.build) if tables else None
        self.children, self.seed = [], 0
        self.listen = f"127.0.0.1:{free_port()}"

    def __enter__(self):
        with ExitStack() as stack:
            stack.enter_context(self.cluster)
            stack.callback(lambda: [child.kill() for child in self.children])
            self.command("topics", "apply", "--sources")
            if self.server:
                stack.enter_context(self.server)
                self.command("tables", "apply")
            self.stack = stack.pop_all()
        return self

    def __exit__(self, *_):
        self.stack.close()

    # Processes ------------------------------------------------------------------------------------

    def environment(self):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_")}
        kept["PIPE_KAFKA_BOOTSTRAP"] = self.cluster.bootstrap
        return {**kept, **(self.server.environment() if self.server else {})}

    def command(self, *arguments):
        """What it says; returns at its end."""
        command = [self.program, *map(str, arguments)]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"{arguments}: {done.stdout}{done.stderr}")
        return done.stderr

    def start(self, name, *arguments):
        command = [self.program, *arguments]
        child = Child(command, self.scratch / f"{name}.log", env=self.environment())
        self.children.append(child)
        return child

    def run_options(self):
        return ["--state", self.scratch / "state", "--instance", "one", "--progress", "never"]

    def run(self, *arguments):
        return self.start("run", "run", *self.run_options(), "--listen", self.listen, *arguments)

    def traffic(self, rate, seconds):
        """Real time."""
        self.seed += 1
        options = ["--rate", f"{rate}/s", "--seconds", seconds, "--seed", self.seed]
        return self.start("traffic", "traffic", *options, "--progress", "never")

    def fill(self, count):
        """So many events of clickstream's traffic, as fast as it goes. Returns the records."""
        self.seed += 1
        command = [self.build / "clickstream", "traffic", "--progress", "never"]
        command += ["--count", str(count), "--seed", str(self.seed)]
        done = subprocess.run(command, env=self.environment(), capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(done.stderr)
        return int(re.search(r"(\d+) records", done.stderr).group(1))

    def make_lines(self, count):
        """What a Feeder writes: the records of so many events, in their order. The topic is empty
        again after it, and its records have the time of their producer."""
        self.fill(count)
        client = Client(self.build, self.cluster.bootstrap)
        records = sorted(client.dump(SOURCE), key=lambda record: (record.offset, record.partition))
        lines = []
        for record in records:
            key, value = (base64.b64encode(part).decode() for part in (record.key, record.value))
            lines.append(f'{{"key":"{key}","value":"{value}","partition":{record.partition}}}\n')
        with self.cluster.admin() as admin:
            admin.delete_topic(SOURCE)
            configs = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
            admin.create_topic(SOURCE, PARTITIONS, configs=configs)
        return lines

    # What there is --------------------------------------------------------------------------------

    def metrics(self):
        """Values by name with labels, as /metrics has them."""
        with urllib.request.urlopen(f"http://{self.listen}/metrics", timeout=60) as answer:
            lines = answer.read().decode().splitlines()
        return {k: float(v) for k, v in (li.rsplit(" ", 1) for li in lines if li[:1] != "#")}

    def lag(self, name="pipec_table_lag_records"):
        """Of all tables (or sources); -1: nobody answers."""
        try:
            found = self.metrics()
        except OSError:
            return -1
        return sum(value for key, value in found.items() if key.split("{")[0] == name)

    def cpu(self, program):
        usage = resource.getrusage(resource.RUSAGE_SELF)
        found = {"program": program.cpu_seconds(), "brokers": self.cluster.cpu_seconds()}
        if self.server:
            found["engine"] = self.server.child.cpu_seconds()
        return found | {"this bench": usage.ru_utime + usage.ru_stime}

    def memory(self, program):
        """MiB resident."""
        brokers = sum(child.memory_bytes() for child in self.cluster.children.values())
        found = {"program": program.memory_bytes() >> 20, "brokers": brokers >> 20}
        if self.server:
            found["engine"] = self.server.child.memory_bytes() >> 20
        return found

    def ends(self, topic=SOURCE):
        with self.cluster.admin() as admin:
            return dict(admin.offsets(topic))

    def produced(self, since=None):
        """Event id -> time of its record in ms, of all source records behind `since`."""
        found = {}
        client = Client(self.build, self.cluster.bootstrap)
        for partition in range(PARTITIONS):
            start = since[partition] if since else None
            for record in client.dump(SOURCE, partition=partition, start=start):
                name = event_id(record.value)
                if name is not None:
                    found.setdefault(name, record.timestamp_ms)
        return found


def growth(before, after, name):
    """The sum over all labels of what a counter has grown."""
    return sum(
        value - before.get(key, 0) for key, value in after.items() if key.split("{")[0] == name
    )
