"""Native files and blocks (runtime/native*.c) against the engine: what it reads, what it writes,
and reconcile with tables on it."""

import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parents[1] / "native"))

import every

PROGRAMS = ("pipec", "clickstream")


def name_of(partition, first, last):
    return f"{partition:05}-{first:019}-{last:019}.native"


def apply(env, program):
    """The tables of clickhouse.sql, new."""
    env.server.query("DROP DATABASE IF EXISTS types")
    for statement in (program.generated / "clickhouse.sql").read_text().split(";\n"):
        if statement.strip():
            env.server.query(statement)


def bring_back(env, program, table, sink, run):
    """The rows of a table as the engine writes them, into files of another directory."""
    columns = [row[0] for row in env.server.rows(f"DESCRIBE TABLE {table}")]
    directory = run / "tables" / sink
    directory.mkdir(parents=True)
    for partition in (0, 1):
        block = env.server.send(
            f"SELECT {', '.join(columns)} FROM {table} WHERE _pipe_partition = {partition} "
            "ORDER BY _pipe_offset SETTINGS max_block_size = 700 FORMAT Native"
        )
        (directory / name_of(partition, 0, 10**6)).write_bytes(block)
    return program.table(run, sink)


def test_every_type(env):
    """Files are read by the engine, and what it then writes is read again: the same rows."""
    program = every.Program(env.build, env.scratch)
    run = env.scratch / "run"
    program.fill(run, every.every_row())
    apply(env, program)
    for sink, table in every.SINKS.items():
        rows = program.table(run, sink)
        files = f"file('{run}/tables/{sink}/*.native', Native)"
        assert env.server.value(f"SELECT count() FROM {files}") == str(len(rows))
        env.server.query(
            f"CREATE TABLE types.plain_{sink} AS {table} ENGINE = MergeTree ORDER BY id"
        )
        env.server.query(f"INSERT INTO types.plain_{sink} SELECT * FROM {files}")
        back = bring_back(env, program, f"types.plain_{sink}", sink, env.scratch / "back")
        assert back == rows, next(pair for pair in zip(back, rows) if pair[0] != pair[1])


def test_values(env):
    """The engine sees the values that were meant, not only their bytes."""
    program = every.Program(env.build, env.scratch)
    run = env.scratch / "run"
    program.fill(run, every.rows.limit_rows())
    source = f"FROM file('{run}/tables/every_type/*.native', Native)"
    least, greatest = env.server.rows(
        "SELECT small, big, single, wide, price, amount, exact, token, toInt32(day), "
        "toUnixTimestamp64Milli(at_ms), toUnixTimestamp64Micro(at_us) "
        f"{source} WHERE id IN (-9223372036854775808, 9223372036854775807) ORDER BY id"
    )
    assert least == (
        ["-2147483648", "-9223372036854775808", "-3.4028235e38", "-1.7976931348623157e308"]
        + ["-9999999.99", "-" + "9" * 18, "-0." + "9" * 38, "0" * 8 + "-0000" * 3 + "-" + "0" * 12]
        + ["-719162", "-62135596800000", "-62135596800000000"]
    ), least
    assert greatest == (
        ["2147483647", "9223372036854775807", "1e-45", "5e-324"]
        + ["9999999.99", "9" * 18, "0." + "9" * 38, "f" * 8 + "-ffff" * 3 + "-" + "f" * 12]
        + ["2932896", "253402300799999", "253402300799999999"]
    ), greatest
    texts = env.server.rows(f"SELECT hex(text), text_bytes {source} WHERE text_null = text")
    assert [bytes.fromhex(text) for text, _ in texts].count(b"\0") == 1
    assert all(len(text) // 2 == int(size) for text, size in texts)
    assert env.server.rows(
        "SELECT length(raw), length(mac), numbers_null, counts_null, hollow_null.maybe, "
        f"point_null.x, kind_null {source} WHERE id = 0 AND text = '' AND wide = 0"
    ) == [["0", "6", "[]", "{}", "\\N", "\\N", "\\N"]]


def exact(env, path, run):
    done = subprocess.run(
        [path, "reconcile", run],
        text=True,
        capture_output=True,
        env={**every.os.environ, **env.server.environment()},
    )
    return done.returncode == 0 and done.stdout.endswith("exact true\n"), done.stdout + done.stderr


def test_reconcile(env):
    """Rows of a server's tables against their topics; what is not as it should be is shown."""
    program = every.Program(env.build, env.scratch)
    run = env.scratch / "run"
    apply(env, program)
    program.fill(run, every.every_row(1000), environment=env.server.environment())
    good, text = exact(env, program.path, run)
    assert good and text.count("\n  table ") == 2, text
    count = int(env.server.value("SELECT count() FROM types.every"))
    assert count == len(program.topic(run, "kept"))
    change = "SETTINGS mutations_sync = 1"
    env.server.query(f"ALTER TABLE types.every DELETE WHERE id = 17 AND big != 17 {change}")
    good, text = exact(env, program.path, run)
    assert not good and "missing     every_type, at kept" in text, text
    env.server.query(f"ALTER TABLE types.every UPDATE small = small + 1 WHERE id = 18 {change}")
    good, text = exact(env, program.path, run)
    assert not good and "unexpected  every_type, table types.every, _pipe_partition" in text, text
    env.server.query(f"ALTER TABLE types.states DELETE WHERE id = 19 {change}")
    good, text = exact(env, program.path, run)
    assert not good and "missing     states, at pipec.types.states.rows" in text, text
    env.server.query("DROP TABLE types.every")
    good, text = exact(env, program.path, run)
    assert not good and "table types.every can't be read: " in text, text


def test_rollup(env):
    """A roll-up is what its view makes of the table; a group too many or too few is told."""
    click, run = env.program("clickstream"), env.scratch / "run"
    env.server.query("DROP DATABASE IF EXISTS lumen")
    every.call([click, "tables", "apply"], environment=env.server.environment())
    traffic = "--traffic --count 3000 --rate 20/s --seed 3 --progress never".split()
    command = [click, "run", "--embedded", run, *traffic]
    every.call(command, environment=env.server.environment())
    good, text = exact(env, click, run)
    assert (
        good and "equal      groups of lumen.by_minute that its table does not give" in text
    ), text
    assert int(env.server.value("SELECT count() FROM lumen.by_minute")) >= 50
    env.server.query("INSERT INTO lumen.by_minute VALUES (now(), 'none', 'XX', 1, NULL)")
    good, text = exact(env, click, run)
    assert not good and "does not give = none  (1 = 0)" in text, text
    env.server.query("ALTER TABLE lumen.by_minute DELETE WHERE 1 SETTINGS mutations_sync = 1")
    good, text = exact(env, click, run)
    assert not good and "that lumen.by_minute does not have = none  (0 = 0)" not in text, text
