"""Rows of an embedded run into a server, through what goes wrong on either side. Each test ends
with exact tables: every row of the topics once, and `exact true`."""

import ctypes
import os
import re
import signal
import subprocess
import time
import urllib.request
from collections import Counter

import service
from processes import Child, free_port

PROGRAMS = ("pipec", "clickstream")
OWN_SERVER = True  # each test: the tables have the names of the plan
HOUR_S = 3600
INSERT = "^INSERT"
COLUMNS = {
    "clean_olap": ("lumen.events", "events.clean"),
    "windows_olap": ("lumen.windows", "agg.windows"),
    "sessions_olap": ("lumen.sessions", "agg.sessions"),
    "dlq_olap": ("lumen.dlq", "events.dlq"),
}
POSITION = re.compile(r'^\{"partition":(\d+),"offset":(\d+),')
_shim = None


def shim(env):
    """tests/fault/preload.c, built once."""
    global _shim
    if _shim is None:
        _shim = env.build / "clickhouse" / "preload.so"
        source = service.ROOT / "tests" / "fault" / "preload.c"
        command = ["cc", "-shared", "-fPIC", "-O1", "-D_GNU_SOURCE", "-o", _shim, source, "-ldl"]
        subprocess.run(command, check=True)
    return {"LD_PRELOAD": str(_shim)}


def wait_until(satisfied, what, timeout_s=120):
    deadline = time.monotonic() + timeout_s
    while not satisfied():
        assert time.monotonic() < deadline, f"waited {timeout_s} s until {what}"
        time.sleep(0.05)


class Run:
    """clickstream, fed by its own traffic, with its tables in `server`."""

    def __init__(self, env, server, tables=True):
        self.env, self.server = env, server
        self.directory, self.log = env.scratch / "run", env.scratch / "run.log"
        self.program, self.port, self.child = env.program("clickstream"), free_port(), None
        if tables:
            self.call("tables", "apply")

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_")}
        return {**kept, **self.server.environment(), **more}

    def call(self, *words, code=0, **more):
        """stdout and stderr of a command that ends."""
        done = subprocess.run(
            [self.program, *map(str, words)],
            env=self.environment(**more),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, (words, done.returncode, done.stdout[-3000:])
        return done.stdout

    def words(self):
        return ["run", "--embedded", self.directory, "--progress", "never"]

    def finish(self, count=6000, code=0, **more):
        """To the end of so much traffic, and of the tables."""
        words = [*self.words(), "--traffic", "--seed", 7, "--rate", "20/s", "--count", count]
        return self.call(*words, code=code, **more)

    def start(self, rate):
        """Traffic in real time, to be looked at meanwhile."""
        words = [*self.words(), "--traffic", "--rate", f"{rate}/s"]
        words += ["--listen", f"127.0.0.1:{self.port}"]
        self.child = Child([self.program, *map(str, words)], self.log, env=self.environment())

    def end(self):
        """Stops that, and brings what is left; what it said."""
        self.child.send(signal.SIGTERM)
        assert self.child.wait(300), f"still running:\n{self.child.tail(20)}"
        said = self.log.read_text(errors="replace")
        assert self.child.process.returncode == 0, (self.child.process.returncode, said[-3000:])
        self.call(*self.words(), "--until-end")
        return said

    def said(self, part):
        return lambda: part in self.log.read_text(errors="replace")

    def metric(self, name, sink=None):
        """Summed over labels (of a sink); None: nobody answers."""
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{self.port}/metrics", timeout=5) as told:
                lines = told.read().decode().splitlines()
        except OSError:
            return None
        wanted = [line.rsplit(" ", 1) for line in lines if line.split("{")[0].split(" ")[0] == name]
        return sum(float(value) for key, value in wanted if sink is None or f'"{sink}"' in key)

    def rows(self, table):
        return int(self.server.value(f"SELECT count() FROM {table}"))

    def check(self):
        """Every row of the topics is in its table once, at its position."""
        total = 0
        for table, topic in COLUMNS.values():
            dumped = self.call("inspect", self.directory, "dump", topic).splitlines()
            wanted = Counter(POSITION.match(line).groups() for line in dumped)
            found = self.server.rows(f"SELECT _pipe_partition, _pipe_offset FROM {table}")
            assert Counter(map(tuple, found)) == wanted, table
            total += len(found)
        assert total > 100
        said = self.call("reconcile", self.directory)
        assert said.endswith("exact true\n") and said.count("\n  table ") == len(COLUMNS), said


def test_clock_of_the_program(env):
    """An hour ahead, then an hour behind: rows, tokens and journals do not depend on it."""
    with env.start_server() as server:
        run = Run(env, server)
        run.finish(2000, **shim(env), CLOCK_STEPS=f"0:{HOUR_S}")
        run.finish(4000, **shim(env), CLOCK_STEPS=f"0:-{HOUR_S}")
        server.fault(kind="cut_done", match=INSERT, count=3)
        run.finish(6000)
        run.check()


def test_clock_of_the_server(env):
    """The same of the server, as it tells it: the engine takes no clock but the machine's."""
    with env.start_server() as server:
        run = Run(env, server)
        known = "deduplicate_insert,deduplicate_insert_select"
        for count, off_s in ((3000, HOUR_S), (6000, -HOUR_S)):
            clock = int(time.time()) + off_s
            told = {"kind": "answer", "status": 200, "match": "^SELECT version", "count": -1}
            server.fault(**told, body=f"26.9.2.1\t10\t{clock}\tfar\t{known}\n")
            word = "ahead of" if off_s > 0 else "behind"
            assert f" s {word} ours" in run.call("doctor", code=1)
            server.fault(kind="cut_done", match=INSERT, count=3)
            run.finish(count)
            server.clear()
        run.check()


def test_away_under_load(env):
    """The server is gone while events come in: topics go on, memory stays, then the tables catch
    up by themselves, in larger blocks. CHAOS_AWAY_S: for so many seconds."""
    away_s = float(os.environ.get("CHAOS_AWAY_S", "8"))
    rate = 3000
    with env.start_server() as server:
        run = Run(env, server)
        run.start(rate)

        def block():
            """Rows of a batch, since the last call."""
            rows, batches = (run.metric(f"pipec_table_{n}_total", "clean_olap") for n in kinds)
            before = block.before
            block.before = (rows, batches)
            return (rows - before[0]) / max(1, batches - before[1])

        kinds, block.before = ("rows", "batches"), (0, 0)
        wait_until(lambda: (run.metric("pipec_table_rows_total") or 0) > 3 * rate, "rows arrive")
        small, memory = block(), run.child.memory_bytes()
        server.kill()
        until = time.monotonic() + away_s
        wait_until(run.said("a table takes no rows now"), "it says so")
        behind = run.metric("pipec_table_lag_records", "clean_olap")
        while time.monotonic() < until:
            time.sleep(0.2)
        lag = run.metric("pipec_table_lag_records", "clean_olap")
        assert lag > behind and lag > rate * away_s / 3, (behind, lag)
        memory_away = run.child.memory_bytes()
        server.start()
        wait_until(run.said("the table takes rows again"), "it goes on")
        wait_until(lambda: run.metric("pipec_table_lag_records") < 2 * rate, "it caught up")
        large = block()
        run.end()
        assert memory_away < memory + (192 << 20), (memory, memory_away)
        print(f"     {lag:.0f} rows behind after {away_s} s; blocks of {small:.0f} rows before and")
        print(f"     {large:.0f} then; {memory >> 20} MiB before, {memory_away >> 20} at the end")
        assert large > 3 * small
        run.check()


def mounted(path, megabytes):
    """A file system of its own there; Skipped where there is no right to."""
    path.mkdir(parents=True)
    libc = ctypes.CDLL(None, use_errno=True)
    options = f"size={megabytes}m".encode()
    if libc.mount(b"tmpfs", str(path).encode(), b"tmpfs", 0, options) != 0:
        raise service.Skipped(f"no tmpfs can be mounted: {os.strerror(ctypes.get_errno())}")
    return lambda: libc.umount2(str(path).encode(), 2)


def test_disk_of_the_server_is_full(env):
    """It has no room: the tables wait, and say so; with room again they get every row."""
    directory = env.scratch / "small"
    unmount = mounted(directory, 48)
    try:
        with service.Server(directory / "clickhouse", env.build) as server:
            run = Run(env, server)
            run.start(500)
            wait_until(lambda: run.rows("lumen.events") > 200, "rows arrive")
            filler = directory / "filler"
            with open(filler, "wb", buffering=0) as out:
                try:
                    while True:
                        out.write(bytes(1 << 16))
                except OSError:
                    pass
            wait_until(run.said("a table takes no rows now"), "it says so")
            topic = run.metric("pipec_sink_rows_total", "clean_topic")
            wait_until(lambda: run.metric("pipec_sink_rows_total", "clean_topic") > topic, "on")
            filler.unlink()
            wait_until(run.said("the table takes rows again"), "it goes on")
            said = run.end()
            print("     " + re.search(r'takes no rows now.*reason="(.{0,100})', said).group(1))
            run.check()
    finally:
        unmount()


def test_not_enough_space(env):
    """The same as a server's answers tell it, before and after the work."""
    with env.start_server() as server:
        run = Run(env, server)
        for after in (False, True, False, True):
            server.fault(kind="exception", code=243, match=INSERT, after=after, count=2)
        run.finish()
        assert all(fault["hits"] == 2 for fault in server.faults())
        run.check()


def test_password_refused_behind_success(env):
    """Error 516 of a server that had let us in, also when the rows are there: its users change, so
    the same again; the probe finds what was done."""
    with env.start_server(user="w", password="p") as server:
        run = Run(env, server)
        for after in (True, False, True):
            server.fault(kind="exception", code=516, match=INSERT, after=after, skip=1, count=2)
        said = run.finish()
        assert "a table takes no rows now" in said and "stands still" not in said
        run.check()


def test_password_that_never_was_right(env):
    """At the first question it is a mistake: the tables stand still, and nothing is lost."""
    with env.start_server(user="w", password="p") as server:
        run = Run(env, server)
        said = run.finish(2000, code=1, PIPE_CLICKHOUSE_PASSWORD="wrong-word")
        assert said.count("stands still until a restart") == len(COLUMNS), said
        assert "wrong-word" not in said and run.rows("lumen.events") == 0
        run.finish(2000)
        run.check()


def test_readonly(env):
    """A user who may not write (164) is no passing error: that table stands still and says what to
    look at, the others go on; with the right it has every row."""
    with env.start_server() as server:
        run = Run(env, server)
        server.fault(kind="exception", code=164, match="^INSERT INTO lumen.events", count=-1)
        said = run.finish(code=1)
        lines = [line for line in said.splitlines() if "stands still until a restart" in line]
        assert len(lines) == 1 and "sink=clean_olap" in lines[0] and "code 164" in lines[0], said
        assert run.rows("lumen.events") == 0 and run.rows("lumen.dlq") > 0
        server.clear()
        run.finish()
        run.check()


def test_engine_that_is_other(env):
    """A table of another engine would lose rows, or keep too many: refused before the first."""
    with env.start_server() as server:
        run = Run(env, server)
        made = server.value("SHOW CREATE TABLE lumen.sessions FORMAT TSVRaw")
        server.query("RENAME TABLE lumen.sessions TO lumen.kept")
        server.query(made.replace("MergeTree", "ReplacingMergeTree"))
        said = run.finish(code=1)
        assert "table lumen.sessions: the engine is ReplacingMergeTree, but the" in said, said
        assert run.rows("lumen.sessions") == 0 and run.rows("lumen.events") > 0
        server.query("DROP TABLE lumen.sessions SYNC")
        server.query("RENAME TABLE lumen.kept TO lumen.sessions")
        run.finish()
        run.check()


def test_view_of_a_rollup_that_was_not_made(env):
    """CREATE of the view fails: `tables apply` says so, a run does not start that table without it,
    and the next apply goes on where the first had stopped."""
    with env.start_server() as server:
        server.fault(kind="exception", code=241, match="^CREATE MATERIALIZED VIEW")
        run = Run(env, server, tables=False)
        assert "apply again goes on from here" in run.call("tables", "apply", code=1)
        said = run.finish(code=1)
        assert "has no materialized view lumen.by_minute_view" in said, said
        assert "`tables apply` makes it, then start again" in said, said
        assert run.rows("lumen.events") == 0
        assert run.call("tables", "apply").endswith("all tables are as planned\n")
        run.finish()
        run.check()


def test_texts_of_a_server_in_the_log(env):
    """Quotes, line ends and control characters of others end no field and no line."""
    text = 'x" stands=\\ "y\n2026-01-01T00:00:00.000Z error forged\x1b[31m\x7f\u0085end'
    with env.start_server() as server:
        run = Run(env, server)
        server.fault(kind="exception", code=241, text=text, match="^INSERT INTO lumen.dlq")
        server.fault(kind="exception", code=60, text=text, match="^INSERT INTO lumen.sessions")
        said = run.finish(code=1)
        told = [line for line in said.splitlines() if "stands=" in line and 'reason="' in line]
        assert len(told) == 2, said
        for line in told:
            assert re.search(r'reason="(?:[^"\\]|\\["\\])*"$', line), line
            assert 'x\\" stands=\\\\ \\"y' in line and line.isprintable(), line
        assert not any(line.startswith("2026-01-01T00:00:00") for line in said.splitlines())
        server.clear()
        run.finish()
        run.check()


def test_reconcile_without_the_server(env):
    """What was not compared is not exact, unless one says that it is to be left out."""
    with env.start_server() as server:
        run = Run(env, server)
        run.finish(2000)
        said = run.call("reconcile", run.directory, code=1, PIPE_CLICKHOUSE_URL="")
        assert "not compared, so not exact" in said and said.endswith("exact false\n"), said
        words = ("reconcile", run.directory, "--without-tables")
        said = run.call(*words, PIPE_CLICKHOUSE_URL="")
        assert "not compared (--without-tables)" in said and said.endswith("exact true\n"), said
        run.check()


def test_tables_with_rows_of_their_own(env):
    """The summary of a run counts what it brought, also of tables whose rows no topic has."""
    with env.start_server() as server:
        run = Run(env, server)
        said = run.finish(2000)
        brought = re.findall(r"([\d,]+)    brought into it by this run, in (\d+) batch", said)
        counts = [int(rows.replace(",", "")) for rows, _ in brought]
        assert counts == [run.rows(table) for table, _ in COLUMNS.values()], said
        said = run.finish(2000)
        assert len(re.findall(r" 0    brought into it by this run, in 0 batches", said)) == 4, said
        run.check()
