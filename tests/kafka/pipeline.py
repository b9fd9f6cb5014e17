"""Processes of chaos.pipe on a cluster, and the proof that what they left is exact.

    run = Pipeline(env, seed=7)
    with run:
        one = run.start("one")
        run.feed(run.input)
        one.kill()
        run.finish()
        run.check()

check() compares every output topic with the model (pipeline_model.py), has the program reconcile
it, and compares it, byte for byte, with an embedded run on the same input, unless a partition was
idle, which depends on the clock.
"""

import base64
import json
import os
import random
import subprocess
import threading
import time
from collections import Counter

import pipeline_model
import services
from client import line_of
from pipeline_model import PARTITIONS, Model, instant, traffic
from processes import Child

SOURCE, TIME = "chaos.events", "pipec.chaos.events.time"
EXCHANGE = "pipec.chaos.totals.exchange"
SINKS = ("chaos.clean", "chaos.totals", "chaos.visits", "chaos.late", "chaos.refused")
SESSION_S = 6  # of the group, by default
FINISH_S = 300
PLENTY_S = 120
_IDLE = "idle 1h"


def build_programs(env):
    """chaos, and chaos-idle, whose partitions are idle after a second."""
    home = dict(os.environ, PIPEC_HOME=str(services.ROOT))
    text = (services.ROOT / "tests/kafka/chaos.pipe").read_text()
    assert text.count(_IDLE) == 1
    command = ["make", "--no-print-directory", "-s", f"BUILD={env.build}", "all"]
    subprocess.run(command, check=True, cwd=services.ROOT)
    for name, idle in (("chaos", _IDLE), ("chaos-idle", "idle 1s")):
        directory = env.build / "generated" / name
        directory.mkdir(parents=True, exist_ok=True)
        source = directory / "chaos.pipe"
        source.write_text(text.replace(_IDLE, idle))
        command = [env.program("pipec"), "build", source, "--out", directory]
        subprocess.run(command + ["-o", env.build / name], check=True, cwd=services.ROOT, env=home)


def new_seed():
    """CHAOS_SEED, or a random one; printed, so that a run can be made again."""
    seed = int(os.environ.get("CHAOS_SEED") or random.randrange(1 << 32))
    print(f"     CHAOS_SEED={seed}", flush=True)
    return seed


def wait_until(satisfied, what, timeout_s=PLENTY_S):
    deadline = time.monotonic() + timeout_s
    while not satisfied():
        assert time.monotonic() < deadline, f"waited {timeout_s} s until {what}"
        time.sleep(0.1)


class Feeder:
    """Writes records to the source at a rate, in the background; finish() writes the rest at once.
    It goes past the proxy, and through the death of brokers."""

    def __init__(self, client, records, rate, topic):
        self.process = client.producing(topic)
        self.hurry = threading.Event()
        self.thread = threading.Thread(target=self._write, args=(records, rate))
        self.thread.start()

    def _write(self, records, rate):
        pause_s = 0.05
        size = max(1, int(rate * pause_s))
        try:
            for at in range(0, len(records), size):
                self.process.stdin.write(
                    "".join(line_of(r) + "\n" for r in records[at : at + size])
                )
                self.process.stdin.flush()
                self.hurry.wait(pause_s)
        except BrokenPipeError:
            pass  # finish() tells why

    def finish(self):
        self.hurry.set()
        self.thread.join()
        _, errors = self.process.communicate(timeout=FINISH_S)
        assert self.process.returncode == 0, errors[-500:]

    def finished(self):
        """Whether all has been written."""
        return not self.thread.is_alive()

    def drop(self):
        """After a failure."""
        if self.process.poll() is None:
            self.process.kill()
        self.hurry.set()
        self.thread.join()


class Program:
    """A compiled pipeline in a group of its own: its commands, its processes, and what is written
    to its source. As a context it ends them."""

    def __init__(self, env, name, group, source, records, cluster=None, settings=None):
        self.env, self.cluster = env, cluster or env.cluster
        self.program = env.program(name)
        self.client = env.client(self.cluster.bootstrap, settings)
        self.group, self.source, self.input = group, source, records
        self.children, self.feeders = [], []

    def __exit__(self, *_):
        for feeder in self.feeders:
            feeder.drop()
        for child in self.children:
            child.resume()
            child.kill()

    def environment(self, servers=None):
        """Of its processes: nothing of this one's PIPE_ variables."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_")}
        return dict(kept, PIPE_KAFKA_BOOTSTRAP=servers or self.cluster.bootstrap)

    def command(self, *arguments, code=None):
        """Standard output of another command of the program, which must end with `code`."""
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=FINISH_S,
        )
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def started(self, command, log, environment):
        """A child that runs a command; its output goes to a file of the scratch directory."""
        child = Child([self.program, *command], self.env.scratch / f"{log}.log", env=environment)
        self.children.append(child)
        return child

    def ends(self, child, code, *parts, timeout_s=FINISH_S):
        """The process ends by itself with this code, and says these things."""
        assert child.wait(timeout_s), f"still running:\n{child.tail(20)}"
        said = child.log.read_text(errors="replace")
        assert child.process.returncode == code, (child.process.returncode, said[-3000:])
        for part in parts:
            assert part in said, f"no '{part}' in:\n{said[-3000:]}"
        return said

    def feed(self, records):
        self.client.produce(self.source, records)

    def feeding(self, records=None, rate=400):
        # Not idempotent: librdkafka before 2.3 gives up for good when a leader has died. What was
        # written twice for that is input like any other.
        client = self.env.client(self.cluster.bootstrap, {"enable.idempotence": "false"})
        self.feeders.append(Feeder(client, records or self.input, rate, self.source))
        return self.feeders[-1]

    def check_running(self):
        running = any(child.alive() for child in self.children)
        assert running, f"no process runs:\n{self.children[-1].tail(20)}"

    def check_reconciles(self):
        said = self.command("reconcile", "--group", self.group, "--progress", "never", code=0)
        assert "exact true" in said, said


class Pipeline(Program):
    """The pipeline on topics and in a group of its own. idle: chaos-idle is what runs."""

    def __init__(self, env, seed=0, count=4000, idle=False, cluster=None):
        super().__init__(
            env,
            "chaos-idle" if idle else "chaos",
            f"pipec.chaos.{env.name}",
            SOURCE,
            traffic(seed, count),
            cluster,
            {"message.max.bytes": 4 << 20},
        )
        self.idle = idle

    # Topics and input ---------------------------------------------------------------------------

    def __enter__(self):
        with self.cluster.admin(timeout_s=PLENTY_S) as admin:
            there = set(admin.topics())
            for topic in (SOURCE, TIME, EXCHANGE, *SINKS):
                if topic in there:
                    admin.delete_topic(topic)
            self.make_source(admin)
        self.command("topics", "apply")
        return self

    @staticmethod
    def make_source(admin):
        """The time of a record is the producer's, so that an embedded run can have the same."""
        configs = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
        configs["max.message.bytes"] = str(4 << 20)
        admin.create_topic(SOURCE, PARTITIONS, configs=configs)

    # Processes ----------------------------------------------------------------------------------

    def state(self, instance="one"):
        return self.env.scratch / f"state-{instance}"

    def start(self, instance="one", *options, state=None, proxied=False, log=None, **properties):
        """A process that runs; small batches and frequent commits, so that faults find it in one.
        Underscores in the names of properties stand for dots."""
        command = ["run", "--group", self.group, "--instance", instance]
        command += ["--state", state or self.state(instance), "--progress", "never"]
        command += ["--batch", "16", "--commit-interval", "30ms", *options]
        for name, value in properties.items():
            command += ["--kafka", f"{name.replace('_', '.')}={value}"]
        command += ["--listen", "none"]
        servers = self.cluster.proxied_bootstrap if proxied else None
        return self.started(command, log or instance, self.environment(servers))

    def refused(self, *parts, code=3, options=(), instance="one", **started):
        """A start that is refused, by these words."""
        child = self.start(instance, *options, log="refused", **started)
        return self.ends(child, code, *parts)

    # Positions ----------------------------------------------------------------------------------

    def committed(self):
        """Records of the source that are committed, as the group's offsets say."""
        with self.cluster.admin(timeout_s=PLENTY_S) as admin:
            found = admin.group_offsets(self.group)
        return sum(at for (topic, _), (at, _) in found.items() if topic == SOURCE)

    def wait_committed(self, more=1, since=None):
        """Waits until so many more records are committed, or all that were fed; returns how many
        are."""
        since = self.committed() if since is None else since

        def moved():
            self.check_running()
            if self.committed() >= since + more:
                return True
            fed = self.feeders and all(feeder.finished() for feeder in self.feeders)
            return fed and self.at_end()

        wait_until(moved, f"{since + more} are committed")
        return self.committed()

    def at_end(self):
        """Whether no record of a source or exchange lies behind what is committed. Markers may: a
        position moves when something is read."""
        with self.cluster.admin(timeout_s=PLENTY_S) as admin:
            found = admin.group_offsets(self.group, require_stable=True)
            ends = {topic: admin.offsets(topic) for topic in (SOURCE, EXCHANGE)}
        for topic, partition in ((t, p) for t in ends for p in ends[t] if ends[t][p] > 0):
            at = max(0, found.get((topic, partition), (0, ""))[0])
            if at < ends[topic][partition] and self.client.dump(
                topic, partition=partition, start=at
            ):
                return False
        return True

    def wait_end(self, timeout_s=FINISH_S):
        """Waits until running processes have consumed all."""

        def consumed():
            self.check_running()
            return self.at_end()

        wait_until(consumed, "all is consumed", timeout_s)

    def wait_left(self, admin):
        """Waits until the group is empty: a process that ended keeps its place for a session."""
        wait_until(lambda: not admin.describe_group(self.group)["members"], "the group is empty")

    def finish(self, *options, instance="one", **started):
        """Runs one process to the end of the topics. Partitions of one that was killed are not its
        own until that one's session is over, so then once more."""
        for _ in range(2):
            self.ends(self.start(instance, "--until-end", *options, **started), 0)
            if self.at_end():
                return
            with self.cluster.admin(timeout_s=PLENTY_S) as admin:
                self.wait_left(admin)
        raise AssertionError("the program ends, but its input is not consumed")

    # What there is ------------------------------------------------------------------------------

    def dump(self, topic):
        with self.cluster.admin(timeout_s=PLENTY_S) as admin:
            admin.wait_stable(topic)
        return self.client.dump(topic)

    def check(self, embedded=True, source=None, reconcile=True):
        """Every output against the model, by `reconcile`, and against an embedded run, unless one
        of these is not to be. Returns the model.
        source: records that were there to be read, if the topic has lost some since."""
        found = {topic: self.dump(topic) for topic in SINKS}
        source = source or self.dump(SOURCE)
        model = Model(source, self.dump(TIME))
        decoded = pipeline_model.decoded
        same("clean", decoded(found["chaos.clean"]), model.clean)
        same("refused", pipeline_model.refused_rows(found["chaos.refused"]), model.refused)
        same("late", decoded(found["chaos.late"]), model.late)
        same("visits", decoded(found["chaos.visits"]), model.visits)
        same("totals", pipeline_model.last_totals(found["chaos.totals"]), model.totals)
        if embedded:
            self.check_embedded(source, found)
        if reconcile:
            self.check_reconciles()
        return model

    def check_embedded(self, source, found):
        directory = self.env.scratch / "embedded"
        rows = self.env.scratch / "rows.jsonl"
        rows.write_text("".join(_injected(record) for record in source))
        self.command("inject", "--embedded", directory, "--source", "events", rows, code=0)
        self.command("run", "--embedded", directory, "--until-end", "--progress", "never", code=0)
        for topic in SINKS:
            text = self.command("inspect", directory, "dump", topic, code=0)
            lines = [json.loads(line) for line in text.splitlines()]
            wanted = _comparable(topic, [(r["partition"], r["key"], r["value"]) for r in lines])
            rows = [(r.partition, r.key.decode(), json.loads(r.value)) for r in found[topic]]
            same(f"{topic}, embedded", _comparable(topic, rows), wanted)


def _injected(record):
    row = {"kafka_time": instant(record.timestamp_ms), "partition": record.partition}
    row["key"] = record.key.decode()
    if record.value is not None:
        row["value_base64"] = base64.b64encode(record.value).decode()
    else:
        row["value"] = None
    return json.dumps(row) + "\n"


def _comparable(topic, rows):
    """Rows as a multiset; of the totals, which send corrections, the last of each window."""
    if topic == "chaos.totals":
        last = {}
        for partition, key, value in rows:
            value = dict(value)
            revision = value.pop("revision")
            last[partition, key, value["window_start"]] = revision, value
        rows = [(partition, key, value) for (partition, key, _), (_, value) in last.items()]
    return Counter((partition, key, json.dumps(value)) for partition, key, value in rows)


def same(what, found, wanted):
    """Two multisets; the first differences are told."""
    missing, extra = wanted - found, found - wanted
    if missing or extra:
        shown = "\n".join(
            [f"  missing {n} × {row}" for row, n in missing.most_common(5)]
            + [f"  extra {n} × {row}" for row, n in extra.most_common(5)]
        )
        raise AssertionError(
            f"{what}: {missing.total()} of {wanted.total()} rows are missing, "
            f"{extra.total()} are too many\n{shown}"
        )
