"""Processes of follow.pipe on a cluster and a ClickHouse server, and the proof that its tables are
exact: each committed row of the topics that they follow is in them once.

    with Followed(env, seed=7) as run:
        one = run.start("one")
        feeder = run.feeding()
        run.wait_rows(500)
        run.server.kill(); run.server.start()
        feeder.finish()
        run.finish()
        run.check()
"""

import json
import os
import subprocess
import sys
from collections import Counter
from datetime import datetime

import java
import services
from pipeline import FINISH_S, Feeder, same, wait_until
from pipeline_model import PARTITIONS, traffic
from processes import Child

sys.path.append(str(services.ROOT / "tests/clickhouse"))
import service

SOURCE, CLEAN = "follow.events", "follow.clean"
ROWS = "pipec.follow.{}_table.rows"
TOPICS = (SOURCE, CLEAN, "follow.behind", "pipec.follow.events.time")


def build_program(env):
    home = dict(os.environ, PIPEC_HOME=str(services.ROOT))
    command = ["make", "--no-print-directory", "-s", f"BUILD={env.build}", "all"]
    subprocess.run(command, check=True, cwd=services.ROOT)
    command = [env.program("pipec"), "build", "tests/kafka/follow.pipe"]
    command += ["--out", env.build / "generated", "-o", env.build / "follow"]
    subprocess.run(command, check=True, cwd=services.ROOT, env=home)


def find_engine(env):
    try:
        service.python_of(env.build, install=True)
    except service.Unavailable as reason:
        raise java.Unavailable(str(reason)) from None


class Followed:
    """The pipeline on topics, tables and in a group of its own."""

    def __init__(self, env, seed=0, count=6000):
        self.env, self.cluster = env, env.cluster
        self.program = env.program("follow")
        self.client = env.client(self.cluster.bootstrap)
        self.group = f"pipec.follow.{env.name}"
        self.input = traffic(seed, count)
        self.server = service.Server(env.scratch / "clickhouse", env.build)
        self.children, self.feeders = [], []

    def __enter__(self):
        rows = [ROWS.format(name) for name in ("rolled", "totals", "refused")]
        with self.cluster.admin(timeout_s=120) as admin:
            there = set(admin.topics())
            for topic in (*TOPICS, *rows):
                if topic in there:
                    admin.delete_topic(topic)
            configs = {"message.timestamp.type": "CreateTime", "retention.ms": "-1"}
            admin.create_topic(SOURCE, PARTITIONS, configs=configs)
        self.command("topics", "apply")  # 1: the source has the times of its producer
        self.server.start()
        self.command("tables", "apply", code=0)
        return self

    def __exit__(self, *_):
        for feeder in self.feeders:
            feeder.drop()
        for child in self.children:
            child.resume()
            child.kill()
        self.server.stop()

    # Processes ----------------------------------------------------------------------------------

    def environment(self, server=True):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_")}
        kept["PIPE_KAFKA_BOOTSTRAP"] = self.cluster.bootstrap
        return {**kept, **(self.server.environment() if server else {})}

    def command(self, *arguments, code=None):
        done = subprocess.run(
            [self.program, *map(str, arguments)],
            env=self.environment(),
            capture_output=True,
            text=True,
            timeout=FINISH_S,
        )
        assert code is None or done.returncode == code, (done.returncode, done.stdout, done.stderr)
        return done.stdout

    def start(self, instance="one", *options, server=True, command="run"):
        arguments = [self.program, command, "--group", self.group, "--instance", instance]
        arguments += ["--state", self.env.scratch / f"state-{instance}"]
        if command == "run":
            arguments += ["--progress", "never", "--listen", "none"]
            arguments += ["--batch", "64", "--commit-interval", "30ms"]
        arguments += options
        child = Child(arguments, self.env.scratch / f"{instance}.log", env=self.environment(server))
        self.children.append(child)
        return child

    def ends(self, child, code, *parts, timeout_s=FINISH_S):
        assert child.wait(timeout_s), f"still running:\n{child.tail(20)}"
        said = child.log.read_text(errors="replace")
        assert child.process.returncode == code, (child.process.returncode, said[-3000:])
        for part in parts:
            assert part in said, f"no '{part}' in:\n{said[-3000:]}"
        return said

    def feed(self, records):
        self.client.produce(SOURCE, records)

    def feeding(self, records=None, rate=250):
        client = self.env.client(self.cluster.bootstrap, {"enable.idempotence": "false"})
        self.feeders.append(Feeder(client, records or self.input, rate, SOURCE))
        return self.feeders[-1]

    def finish(self, *options, instance="one", code=0):
        """One process to the end of topics and tables, when the sessions of others are over."""
        with self.cluster.admin(timeout_s=120) as admin:
            for group in (self.group, f"{self.group}.tables"):
                wait_until(lambda: not admin.describe_group(group)["members"], "it is empty")
        return self.ends(self.start(instance, "--until-end", *options), code)

    # What there is ------------------------------------------------------------------------------

    def rows(self, table="clean"):
        """How many, or -1 if the server does not answer."""
        try:
            return int(self.server.value(f"SELECT count() FROM follow.{table}", timeout_s=5))
        except (OSError, service.Failed, service.http.client.HTTPException):
            return -1

    def wait_rows(self, more, table="clean", since=None):
        since = max(0, self.rows(table)) if since is None else since

        def arrived():
            running = any(child.alive() for child in self.children)
            assert running, f"no process runs:\n{self.children[-1].tail(20)}"
            found = self.rows(table)
            return found >= since + more or (found > 0 and self.is_all(table, found))

        wait_until(arrived, f"{more} more rows are in {table}, after {since}")
        return self.rows(table)

    def is_all(self, table, found):
        """Whether nothing more can come: all was fed, and the table has what its topic has."""
        if not all(feeder.finished() for feeder in self.feeders):
            return False
        return found == len(self.topic(CLEAN if table == "clean" else ROWS.format(table)))

    def wait_hit(self):
        """Until every fault that was ordered has hit somebody."""
        wait_until(
            lambda: all(order["hits"] > 0 for order in self.server.faults()), "the faults hit"
        )

    def topic(self, name):
        """Rows of a topic, with their positions."""
        with self.cluster.admin(timeout_s=120) as admin:
            admin.wait_stable(name)
        return [(r.partition, r.offset, json.loads(r.value)) for r in self.client.dump(name)]

    def table(self, name, columns):
        """Rows of a table, likewise."""
        found = self.server.query(
            f"SELECT _pipe_partition, _pipe_offset, {columns} FROM follow.{name} "
            "FORMAT JSONCompactEachRow",
            settings={"output_format_json_quote_64bit_integers": "0"},
        )
        return [tuple(json.loads(line)) for line in found.splitlines()]

    def check(self, reconcile=True):
        """Tables against topics, by this program's own reading; then the program's reconcile."""
        columns = "id, session, category, amount, toUnixTimestamp64Milli(at)"
        names = ("id", "session", "category", "amount", "at")
        for table, topic in (("clean", CLEAN), ("rolled", ROWS.format("rolled"))):
            wanted = Counter(
                (partition, offset, *(_value(row[name]) for name in names))
                for partition, offset, row in self.topic(topic)
            )
            assert wanted, topic
            same(f"table {table}", Counter(self.table(table, columns)), wanted)
        self.check_rollup()
        self.check_totals()
        refused = self.topic(ROWS.format("refused"))
        wanted = Counter((p, o, row["reason"]) for p, o, row in refused)
        same("table refused", Counter(self.table("refused", "reason")), wanted)
        if reconcile:
            said = self.command("reconcile", "--group", self.group, "--progress", "never", code=0)
            assert "exact true" in said, said

    def check_rollup(self):
        wanted = Counter()
        for _, _, row in self.topic(ROWS.format("rolled")):
            wanted[row["category"], "events"] += 1
            wanted[row["category"], "amount"] += row["amount"]
        found = Counter()
        for category, events, amount in self.server.rows(
            "SELECT category, sum(events), sum(amount) FROM follow.by_category GROUP BY category"
        ):
            found[category, "events"], found[category, "amount"] = int(events), int(amount)
        same("rollup by_category", found, wanted)

    def check_totals(self):
        """Of each window the last correction counts, and the view shows that one."""
        last = {}
        for _, _, row in self.topic(ROWS.format("totals")):
            key = row["session"], _value(row["window_start"])
            if key not in last or row["revision"] > last[key]["revision"]:
                last[key] = row
        wanted = Counter((*key, row["events"], row["amount"]) for key, row in last.items())
        found = self.server.rows(
            "SELECT session, toUnixTimestamp64Milli(window_start), events, amount "
            "FROM follow.totals_last"
        )
        same("view totals_last", Counter((s, *map(int, rest)) for s, *rest in found), wanted)


def _value(value):
    """An instant as milliseconds; anything else as it is."""
    if isinstance(value, str) and value.endswith("Z") and "T" in value:
        return round(datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp() * 1000)
    return value
