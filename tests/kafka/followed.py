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
from pipeline import Program, same, wait_until
from pipeline_model import PARTITIONS, traffic

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


class Followed(Program):
    """The pipeline on topics, tables and in a group of its own."""

    def __init__(self, env, seed=0, count=6000):
        super().__init__(env, "follow", f"pipec.follow.{env.name}", SOURCE, traffic(seed, count))
        self.server = service.Server(env.scratch / "clickhouse", env.build)

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

    def __exit__(self, *failure):
        super().__exit__(*failure)
        self.server.stop()

    # Processes ----------------------------------------------------------------------------------

    def environment(self, server=True):
        return {**super().environment(), **(self.server.environment() if server else {})}

    def start(self, instance="one", *options, server=True, command="run"):
        arguments = [command, "--group", self.group, "--instance", instance]
        arguments += ["--state", self.env.scratch / f"state-{instance}"]
        if command == "run":
            arguments += ["--progress", "never", "--listen", "none"]
            arguments += ["--batch", "64", "--commit-interval", "30ms"]
        arguments += options
        return self.started(arguments, instance, self.environment(server))

    def feeding(self, records=None, rate=250):
        return super().feeding(records, rate)

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
            self.check_running()
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
            self.check_reconciles()

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
