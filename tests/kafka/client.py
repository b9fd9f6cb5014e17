"""Records to and from Kafka, for tests: kafka-tool (tool.c) with Python values.

    client = Client(build, cluster.bootstrap)
    client.produce("events", [Record(0, key=b"k", value=b"v")])
    assert [r.value for r in client.dump("events")] == [b"v"]
"""

import json
import subprocess
import tempfile
import time
from base64 import b64decode, b64encode
from dataclasses import dataclass, field
from pathlib import Path

from processes import Child

TIMEOUT_S = 300


@dataclass
class Record:
    """A record of a topic. Written: partition None lets the key's hash decide, timestamp_ms None is
    now. Read: all is set; timestamp_type is "create" or "append", seen_us the wall clock when it
    was read."""

    partition: int = None
    key: bytes = None
    value: bytes = None
    headers: list = field(default_factory=list)  # of (name, bytes or None)
    timestamp_ms: int = None
    offset: int = None
    timestamp_type: str = None
    seen_us: int = None


def _encoded(data):
    return None if data is None else b64encode(data).decode()


def _decoded(text):
    return None if text is None else b64decode(text)


def line_of(record):
    """A record as `kafka-tool produce` reads it."""
    fields = {"key": _encoded(record.key), "value": _encoded(record.value)}
    if record.partition is not None:
        fields["partition"] = record.partition
    if record.timestamp_ms is not None:
        fields["timestamp"] = record.timestamp_ms
    if record.headers:
        fields["headers"] = [[name, _encoded(value)] for name, value in record.headers]
    return json.dumps(fields)


def _record(line):
    fields = json.loads(line)
    return Record(
        partition=fields["partition"],
        key=_decoded(fields["key"]),
        value=_decoded(fields["value"]),
        headers=[(name, _decoded(value)) for name, value in fields["headers"]],
        timestamp_ms=fields["timestamp"],
        offset=fields["offset"],
        timestamp_type=fields["timestamp_type"],
        seen_us=fields["seen"],
    )


class Client:
    """build: directory that holds kafka-tool; properties: of librdkafka, for every call."""

    def __init__(self, build, bootstrap, properties=None):
        self.program = Path(build).resolve() / "kafka-tool"
        self.bootstrap = bootstrap
        self.properties = dict(properties or {})

    def _command(self, name, topic, options):
        command = [str(self.program), name, "--bootstrap", self.bootstrap, "--topic", topic]
        for option, value in options.items():
            if value is not None:
                command += [f"--{option}", str(value)]
        for key, value in self.properties.items():
            command += ["-X", f"{key}={value}"]
        return command

    def produce(self, topic, records, transactional_id=None, end="commit", timeout_s=TIMEOUT_S):
        """Writes records, idempotent, all acknowledged at return; raises RuntimeError otherwise.
        With a transactional id in one transaction, whose end is "commit", "abort" or "open": left
        as by a producer that vanished (property transaction.timeout.ms, 30 s)."""
        options = {"txn": transactional_id, "end": transactional_id and end}
        lines = "".join(line_of(record) + "\n" for record in records)
        self._run(self._command("produce", topic, options), lines, timeout_s)

    def producing(self, topic):
        """A Popen that writes the lines of line_of() to a topic until its stdin is closed, and then
        exits with 0 if all were acknowledged."""
        command = self._command("produce", topic, {})
        pipe = subprocess.PIPE
        return subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=pipe, text=True)

    def dump(
        self, topic, isolation="read_committed", partition=None, start=None, timeout_s=TIMEOUT_S
    ):
        """All records up to what is the end now, sorted by partition and offset. With
        read_committed the end is the last stable offset: what an open transaction holds back is
        not waited for. start: first offset."""
        options = {"isolation": isolation, "partition": partition, "from": start}
        text = self._run(self._command("dump", topic, options), None, timeout_s)
        records = [_record(line) for line in text.splitlines()]
        return sorted(records, key=lambda record: (record.partition, record.offset))

    @staticmethod
    def _run(command, text, timeout_s):
        done = subprocess.run(
            command, input=text, capture_output=True, text=True, timeout=timeout_s
        )
        if done.returncode != 0:
            raise RuntimeError(f"{command[1]} {command[5]}: {done.stderr.strip()[-500:]}")
        return done.stdout

    def follow(self, topic, isolation="read_committed", start=None):
        """Starts to read a topic as records become visible; start "end": only new ones."""
        options = {"isolation": isolation, "from": start}
        return Background(self._command("follow", topic, options))

    def join(self, group, topic):
        """Starts a member of a group that takes its share of partitions and commits nothing."""
        return Background(self._command("join", topic, {"group": group}))


class Background:
    """A kafka-tool that runs until stop(). Use it in a with-block, or stop it."""

    def __init__(self, command):
        self.file = tempfile.NamedTemporaryFile(prefix="kafka-tool-", suffix=".jsonl")
        self.child = Child(command, self.file.name)

    def lines(self):
        """What it has printed so far, decoded; its complaints raise RuntimeError."""
        text = Path(self.file.name).read_text()
        complete = text[: text.rfind("\n") + 1].splitlines()
        for line in complete:
            if not line.startswith("{") and not line.startswith("%"):
                raise RuntimeError(line)
        return [json.loads(line) for line in complete if line.startswith("{")]

    def records(self):
        """Records that a follow has seen so far, in the order seen."""
        return [_record(json.dumps(line)) for line in self.lines()]

    def assigned(self):
        """Partitions that a join holds now, sorted."""
        held = set()
        for line in self.lines():
            held |= set(line.get("assigned", ()))
            held -= set(line.get("revoked", ()))
        return sorted(held)

    def wait_assigned(self, satisfied, timeout_s=60):
        """Waits until satisfied(assigned()); raises TimeoutError."""
        deadline = time.monotonic() + timeout_s
        while not satisfied(self.assigned()):
            if time.monotonic() > deadline:
                raise TimeoutError(f"still assigned: {self.assigned()}")
            time.sleep(0.05)

    def kill(self):
        """kill -9: a group hears of it only when the session has timed out."""
        self.child.kill()

    def stop(self):
        self.child.stop()
        self.file.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()
