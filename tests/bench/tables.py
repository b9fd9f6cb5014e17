#!/usr/bin/env python3
"""What the way of rows into tables costs, through real Kafka brokers and the ClickHouse engine.

  tests/bench/tables.py [--build build] [--only latency,catchup,away,dashboards] [--nodes 1,3]
                        [--rates 1000,3000,6000] [--seconds 60] [--warm 20] [--linger MS]
                        [--away 120]

latency: event -> queryable, of every row of lumen.events. From the time of the event's
    producer, which uses no transactions, until a query has returned that saw the row; the query
    is asked again and again, so the time between two of them is in every figure. Three brokers
    have all compilers of their JVM if they are warmed for two minutes or more.
catchup: `run --no-follow` fills the topics of a million events, `follow --until-end` brings their
    rows into the tables.
away: ClickHouse is gone for some time at 3,000 events a second, and comes back.
dashboards: five queries on 6 M rows while 2,000 events a second come in.

Nothing is asserted but that no row is missing: machines differ. Figures: docs/measurements.md.
"""

import os
import resource
import shutil
import sys
import tempfile
import threading
import time
from bisect import bisect_left
from pathlib import Path

sys.dont_write_bytecode = True

from common import parser_of
from stand import Feeder, Queries, Stand, growth, percentile, shown, wait_until

import java
import service

TABLE, TOPIC = "lumen.events", "events.clean"
POLL_S = 0.05
EVENTS = 1_000_000
ROWS = 6_000_000
AWAY_RATE, DASHBOARD_RATE, DASHBOARD_S = 3000, 2000, 40

DASHBOARDS = {
    "revenue by minute and category, 3 hours (roll-up)": """
        SELECT minute, category, sum(events), sum(revenue_cents) FROM lumen.by_minute
        WHERE minute > now() - INTERVAL 3 HOUR GROUP BY minute, category ORDER BY minute""",
    "revenue by country, a day (roll-up)": """
        SELECT country, sum(events), sum(revenue_cents) FROM lumen.by_minute
        WHERE minute > now() - INTERVAL 1 DAY GROUP BY country""",
    "the funnel, an hour": """
        SELECT event_type, count(), uniq(session_id) FROM lumen.events
        WHERE occurred_at > now() - INTERVAL 1 HOUR GROUP BY event_type""",
    "the 10 products that sell best, a day": """
        SELECT product_id, sum(price_cents) AS revenue FROM lumen.events
        WHERE event_type = 'purchase' AND occurred_at > now() - INTERVAL 1 DAY
        GROUP BY product_id ORDER BY revenue DESC LIMIT 10""",
    "the last 50 purchases": """
        SELECT * FROM lumen.events WHERE event_type = 'purchase'
        AND occurred_at > now() - INTERVAL 10 MINUTE ORDER BY occurred_at DESC LIMIT 50""",
}


class Poller(threading.Thread):
    """Which offsets a query sees, and when it had returned."""

    def __init__(self, stand):
        super().__init__(daemon=True)
        self.queries, self.over = Queries(stand.server), threading.Event()
        self.partitions = len(stand.ends(TOPIC))
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
                f" WHERE _pipe_offset >= {least} GROUP BY _pipe_partition SETTINGS max_threads = 1"
            )
            now_ms = time.time() * 1000
            self.took.append((time.monotonic() - begun) * 1000)
            for partition, offset in found:
                steps = self.seen.setdefault(int(partition), [])
                if not steps or int(offset) > steps[-1][0]:
                    steps.append((int(offset), now_ms))
            if len(self.seen) == self.partitions:
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


def settle(stand):
    wait_until(lambda: stand.lag() == 0 and stand.lag("pipec_source_lag_records") == 0, "all is in")


def complaints(child):
    """Of its log."""
    for line in child.log.read_text().splitlines():
        if " warning " in line or " error " in line:
            print(f"  said: {line}")


# ---- Event -> queryable --------------------------------------------------------------------------


def latency(options, nodes, scratch):
    warm, linger = options.warm, options.linger
    with Stand(options.build, nodes, scratch, True, options.program, warm, linger) as stand:
        lines = stand.make_lines((options.warm + options.seconds) * sum(options.rates))
        program = stand.run()
        settle(stand)
        for rate in options.rates:
            count = (options.warm + options.seconds) * rate
            measure_rate(stand, program, rate, lines[:count], options.warm)
            del lines[:count]
        program.stop()
        complaints(program)


def measure_rate(stand, program, rate, lines, warm):
    since, poller = stand.ends(), Poller(stand)
    feeder = Feeder(stand, lines, rate)
    poller.start()
    time.sleep(warm)
    begun_ms, before = time.time() * 1000, stand.metrics()
    cpu, memory, lags = stand.cpu(program), {}, []
    while feeder.is_alive():
        memory = {n: max(size, memory.get(n, 0)) for n, size in stand.memory(program).items()}
        lags.append(stand.lag())
        time.sleep(2)
    ended_ms, after = time.time() * 1000, stand.metrics()
    used = {name: total - cpu[name] for name, total in stand.cpu(program).items()}
    feeder.finish()
    settle(stand)
    time.sleep(1)
    poller.stop()
    report_rows(stand, rate, poller, since, (begun_ms, ended_ms))
    report_means(before, after, used, memory, (ended_ms - begun_ms) / 1000)
    print(f"  rows behind, every 2 s: {' '.join(f'{lag:.0f}' for lag in lags)}", flush=True)


def report_rows(stand, rate, poller, since, window):
    produced, late, missing = stand.produced(since), [], 0
    for partition, offset, name in Queries(stand.server).rows(
        f"SELECT _pipe_partition, _pipe_offset, event_id FROM {TABLE}"
    ):
        came = produced.get(name)
        if came is None or not window[0] <= came < window[1]:
            continue
        seen = poller.when(int(partition), int(offset))
        if seen is None:
            missing += 1
        else:
            late.append(seen - came)
    if missing or not late:
        raise RuntimeError(f"{missing} rows were never seen, {len(late)} were")
    took = sorted(poller.took)
    print(
        f"{rate:,} events/s, {len(stand.cluster.nodes)} brokers: event -> queryable {shown(late)}"
        f" ({len(late):,} rows; the query itself: p50 {percentile(took, 0.5):.0f} ms,"
        f" p99 {percentile(took, 0.99):.0f} ms)"
    )


def report_means(before, after, used, memory, wall_s):
    rows = growth(before, after, "pipec_table_rows_total")
    blocks = growth(before, after, "pipec_table_batches_total")
    means = []
    for name in ("event_to_commit", "commit_duration", "table_queryable"):
        count = growth(before, after, f"pipec_{name}_seconds_count")
        total = growth(before, after, f"pipec_{name}_seconds_sum")
        means.append(f"{name} {total / max(1, count) * 1000:.0f} ms")
    shares = [f"{name} {seconds / wall_s:.2f}" for name, seconds in used.items()]
    print(
        f"  {blocks / wall_s:.1f} blocks/s of {rows / max(1, blocks):.0f} rows; {'; '.join(means)}"
    )
    print(f"  of 2 processors: {', '.join(shares)}")
    print("  memory, MiB: " + ", ".join(f"{name} {size}" for name, size in memory.items()))


# ---- Catching up ---------------------------------------------------------------------------------


def all_rows(stand):
    tables = ("events", "windows", "sessions", "dlq")
    return sum(int(stand.server.value(f"SELECT count() FROM lumen.{name}")) for name in tables)


def catchup(options, nodes, scratch):
    with Stand(options.build, nodes, scratch, True, options.program) as stand:
        stand.fill(EVENTS)
        stand.command("run", *stand.run_options(), "--listen", "none", "--no-follow", "--until-end")
        begun, engine = time.monotonic(), stand.server.child.cpu_seconds()
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        stand.command("follow", "--state", stand.scratch / "state", "--until-end")
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        wall = time.monotonic() - begun
        cpu = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        engine, rows = stand.server.child.cpu_seconds() - engine, all_rows(stand)
        print(
            f"follow --until-end, {nodes} brokers: {rows:,} rows in {wall:.1f} s"
            f" ({rows / wall:,.0f}/s), {cpu:.2f} CPU s of the client ({rows / cpu:,.0f} rows per"
            f" CPU s), {engine:.2f} of the engine ({rows / engine:,.0f})",
            flush=True,
        )


def away(options, nodes, scratch):
    with Stand(options.build, nodes, scratch, True, options.program) as stand:
        program = stand.run()
        settle(stand)
        traffic = stand.traffic(AWAY_RATE, options.away + 120)
        time.sleep(15)
        stand.server.kill()
        time.sleep(options.away)
        behind, memory, before = stand.lag(), program.memory_bytes() >> 20, stand.metrics()
        stand.server.start()
        begun, cpu = time.monotonic(), stand.cpu(program)
        wait_until(lambda: stand.lag() < AWAY_RATE * 2, "the tables are there again", pause_s=0.1)
        wall, after = time.monotonic() - begun, stand.metrics()
        used = {name: total - cpu[name] for name, total in stand.cpu(program).items()}
        rows = growth(before, after, "pipec_table_rows_total")
        blocks = growth(before, after, "pipec_table_batches_total")
        print(
            f"away for {options.away} s at {AWAY_RATE:,} events/s, {nodes} brokers: {behind:,.0f}"
            f" rows behind, program at {memory} MiB; less than 2 s behind after {wall:.1f} s:"
            f" {rows / wall:,.0f} rows/s, {rows / max(1, blocks):,.0f} a block, CPU s: "
            + ", ".join(f"{name} {seconds:.1f}" for name, seconds in used.items()),
            flush=True,
        )
        traffic.kill()


# ---- Dashboards ----------------------------------------------------------------------------------


def insert_rows(server):
    """Of a day, spread evenly; as rows of no partition of the topic."""
    picks = {
        "event_type": "'page_view','page_view','product_view','add_to_cart','checkout','purchase'",
        "category": "'lamps','rugs','chairs','vases','throws'",
        "country": "'DE','FR','GB','US','JP'",
    }
    columns = [
        f"[{texts}][1 + cityHash64(number, '{n}') % {len(texts.split(','))}] AS {n}"
        for n, texts in picks.items()
    ]
    server.query(
        f"INSERT INTO {TABLE} (event_id, session_id, user_id, product_id, price_cents, occurred_at,"
        f" {', '.join(picks)}, _pipe_partition, _pipe_offset)"
        " SELECT toString(generateUUIDv4()), hex(intDiv(number, 9)), hex(number % 200000),"
        " hex(cityHash64(number) % 20000), 500 + cityHash64(number) % 89500,"
        f" now64(3) - number * 86400 / {ROWS}, {', '.join(columns)}, -1, number"
        f" FROM numbers({ROWS})",
        timeout_s=600,
    )


def dashboards(options, nodes, scratch):
    with Stand(options.build, nodes, scratch, True, options.program) as stand:
        insert_rows(stand.server)
        program = stand.run()
        settle(stand)
        traffic = stand.traffic(DASHBOARD_RATE, options.warm + DASHBOARD_S)
        time.sleep(options.warm)
        queries, took = Queries(stand.server), {name: [] for name in DASHBOARDS}
        until, cpu, lags = time.monotonic() + DASHBOARD_S, stand.cpu(program), []
        while time.monotonic() < until:
            for name, query in DASHBOARDS.items():
                begun = time.monotonic()
                queries.rows(query)
                took[name].append((time.monotonic() - begun) * 1000)
                time.sleep(0.1)
            lags.append(stand.lag())
        used = {name: total - cpu[name] for name, total in stand.cpu(program).items()}
        traffic.wait(60)
        settle(stand)
        rows = int(stand.server.value(f"SELECT count() FROM {TABLE}"))
        print(f"dashboards on {rows:,} rows, at {DASHBOARD_RATE:,} events/s, {nodes} brokers:")
        for name, times in took.items():
            print(f"  {name}: {shown(times, 0.95)} ({len(times)} times)")
        shares = [f"{name} {seconds / DASHBOARD_S:.2f}" for name, seconds in used.items()]
        print(f"  of 2 processors: {', '.join(shares)}; rows behind: at most {max(lags):.0f}")
        program.stop()


def main():
    parts = {"latency": latency, "catchup": catchup, "away": away, "dashboards": dashboards}

    def numbers(text):
        return [int(part) for part in text.split(",")]

    parser = parser_of(__doc__, only=",".join(parts), seconds=60, warm=20, away=120)
    parser.add_argument("--program", help="instead of BUILD/clickstream")
    parser.add_argument("--nodes", type=numbers, default=[1, 3], help="of latency; others: 1")
    parser.add_argument("--rates", type=numbers, default=[1000, 3000, 6000])
    parser.add_argument("--linger", type=int)
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="tables-", dir=options.build))
    try:
        for name in options.only.split(","):
            for nodes in options.nodes if name == "latency" else [1]:
                print(f"[{name}, load average {os.getloadavg()[0]:.1f}]", flush=True)
                parts[name](options, nodes, scratch / f"{name}-{nodes}")
    except (java.Unavailable, service.Unavailable) as reason:
        sys.exit(f"tables.py: {reason}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


if __name__ == "__main__":
    main()
