"""`NAME tables plan|apply`: what the server lacks is made, what differs is put right or refused."""

import os
import subprocess
from datetime import date

import service

OWN_SERVER = True  # each test: the tables have the names of the plan
_program = None


def program(env):
    """tables.pipe, compiled once."""
    global _program
    if _program is None:
        path = env.build / "clickhouse" / "tables"
        done = subprocess.run(
            [env.build / "pipec", "build", service.HERE / "tables.pipe", "-o", path]
            + ["--out", env.build / "clickhouse" / "generated"],
            cwd=service.ROOT,
            env={**os.environ, "PIPEC_HOME": str(service.ROOT)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )
        assert done.returncode == 0, done.stdout
        _program = path
    return _program


def tables(env, server, *words, **environment):
    """(exit code, lines of stdout, stderr)."""
    done = subprocess.run(
        [program(env), "tables", *words],
        env={**os.environ, **server.environment(), **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    return done.returncode, done.stdout.splitlines(), done.stderr


def applied(env, server):
    code, lines, errors = tables(env, server, "apply")
    assert code == 0, (lines, errors)
    assert lines[-1] == "all tables are as planned"
    return lines


def refused(env, server, part):
    """apply refuses with these words, and leaves everything as it is."""
    before = definitions(server)
    code, lines, errors = tables(env, server, "apply")
    assert code == 1, (lines, errors)
    assert any(part in line and line.endswith("(refused)") for line in lines), (part, lines)
    assert "refused, so nothing was changed" in errors, errors
    assert definitions(server) == before
    assert tables(env, server, "plan")[0] == 1


def definitions(server):
    return server.query(
        "SELECT database, name, create_table_query FROM system.tables WHERE database IN "
        "('shop', 'default') ORDER BY ALL FORMAT TSVRaw"
    )


def test_make_all(env):
    """plan tells what is missing and makes nothing; apply makes it, once."""
    with env.start_server() as server:
        code, lines, _ = tables(env, server, "plan")
        assert code == 1
        assert lines[0] == "shop: the database is missing"
        assert "shop.events: the table is missing" in lines
        assert "shop.by_hour_view: the materialized view is missing" in lines
        assert server.rows("SELECT name FROM system.databases WHERE name = 'shop'") == []
        lines = applied(env, server)
        assert lines[0] == "shop: the database is missing; made"
        wide = (
            "SELECT count() FROM system.tables WHERE database = 'shop' AND engine LIKE '%MergeTree'"
        )
        assert server.value(wide) == server.value(
            f"{wide} AND engine_full LIKE '%, merge_selector_base = 10%'"
        )
        assert tables(env, server, "plan")[:2] == (0, ["all tables are as planned"])
        assert applied(env, server) == ["all tables are as planned"]


def test_same_as_the_file(env):
    """clickhouse.sql in the generated directory makes the same tables."""
    with env.start_server() as server:
        program(env)
        text = (env.build / "clickhouse" / "generated" / "tables" / "clickhouse.sql").read_text()
        for statement in text.split(";\n"):
            if statement.strip():
                server.query(statement)
        assert tables(env, server, "plan")[:2] == (0, ["all tables are as planned"])


def test_rows_flow(env):
    """The made tables take rows: the roll-up adds them up, views show what counts."""
    with env.start_server() as server:
        applied(env, server)
        columns = "country, user, score, at, amount, _pipe_partition, _pipe_offset"
        server.query(
            f"INSERT INTO shop.events ({columns}) SELECT 'AT', toString(number % 7), number, "
            "toDateTime64('2026-03-01 10:00:00', 3, 'UTC') + number, number, 0, number "
            "FROM numbers(100)"
        )
        found = server.rows(
            "SELECT sum(events), sum(amount), min(least), avgMerge(mean), uniqExactMerge(users), "
            "abs(quantileTDigestMerge(0.5)(median) - 49.5) < 2 FROM shop.by_hour"
        )
        assert found == [["100", "4950", "0", "49.5", "7", "1"]], found
        server.query(
            "INSERT INTO shop.current (id, version, op, _pipe_deleted) VALUES "
            "('a', 1, 'c', 0), ('a', 2, 'u', 0), ('b', 1, 'c', 0), ('b', 2, 'd', 1), "
            "('a', 1, 'c', 0)"
        )
        assert server.rows("SELECT id, version FROM shop.current_last") == [["a", "2"]]


def test_columns_are_added(env):
    """Of a contract that has grown; rows that are there have the default, a view shows them too."""
    with env.start_server() as server:
        applied(env, server)
        server.query("ALTER TABLE shop.events DROP COLUMN small, DROP COLUMN op")
        server.query(
            "CREATE OR REPLACE VIEW shop.current_last AS SELECT id FROM shop.current FINAL"
        )
        code, lines, _ = tables(env, server, "plan", "--sql")
        assert code == 1
        missing = "shop.events: column small (Nullable(Int32)) is missing"
        assert missing + " (existing rows read as NULL)" in lines, lines
        added = "ALTER TABLE shop.events ADD COLUMN IF NOT EXISTS op String AFTER version;"
        assert added in lines, lines
        lines = applied(env, server)
        missing = "shop.events: column op (String) is missing (existing rows read as '')"
        assert missing + "; put right" in lines, lines
        names = [row[0] for row in server.rows("DESCRIBE shop.events")]
        assert names.index("op") == names.index("version") + 1
        assert len(server.rows("DESCRIBE shop.current_last")) == 4


def test_settings_and_index_are_put_right(env):
    with env.start_server() as server:
        applied(env, server)
        server.query(
            "ALTER TABLE shop.bad RESET SETTING non_replicated_deduplication_window, "
            "fsync_after_insert"
        )
        server.query(
            "ALTER TABLE shop.by_hour MODIFY SETTING non_replicated_deduplication_window = 5"
        )
        server.query("ALTER TABLE shop.bad DROP INDEX _pipe_position")
        code, lines, _ = tables(env, server, "plan")
        assert code == 1
        window = "non_replicated_deduplication_window is {}, it must be 10000 or more"
        assert f"shop.bad: {window.format(0)}" in lines, lines
        assert f"shop.by_hour: {window.format(5)}" in lines, lines
        assert "shop.bad: fsync_after_insert is 0, it must be 1" in lines, lines
        applied(env, server)
        server.query(
            "ALTER TABLE shop.bad MODIFY SETTING non_replicated_deduplication_window = 20000"
        )
        assert applied(env, server) == ["all tables are as planned"]  # more is as good


def test_other_types_are_refused(env):
    with env.start_server() as server:
        applied(env, server)
        server.query("ALTER TABLE shop.events MODIFY COLUMN small Nullable(Int64)")
        server.query("ALTER TABLE shop.counts DROP COLUMN amount")  # would be added
        refused(env, server, "column small is Nullable(Int64), the plan says Nullable(Int32)")
        assert "amount" not in [row[0] for row in server.rows("DESCRIBE shop.counts")]


def test_other_keys_and_engines_are_refused(env):
    """ORDER BY, PARTITION BY, engine: a table keeps its own."""
    base = "country String, at DateTime64(3, 'UTC')"
    for create, part in (
        (f"({base}) ENGINE = MergeTree ORDER BY (at, country)", "ORDER BY is (at, country)"),
        (f"({base}) ENGINE = MergeTree ORDER BY (country, at)", "PARTITION BY is ()"),
        (f"({base}) ENGINE = ReplacingMergeTree ORDER BY (country, at)", "the engine is Replacing"),
        (f"({base}) ENGINE = Memory", "the engine is Memory, the plan says MergeTree"),
        (f"({base}) ENGINE = MergeTree ORDER BY country", "column _pipe_partition (Int32) is"),
        ("AS SELECT 1 AS x", "the engine is View, the plan says MergeTree"),
    ):
        with env.start_server() as server:
            server.query("CREATE DATABASE IF NOT EXISTS shop")
            what = "VIEW" if create.startswith("AS") else "TABLE"
            server.query(f"CREATE OR REPLACE {what} shop.events {create}")
            refused(env, server, part)
            server.query("DROP DATABASE shop SYNC")


def test_versions_of_another_column_are_refused(env):
    with env.start_server() as server:
        applied(env, server)
        server.query("DROP TABLE shop.current SYNC")
        server.query(
            "CREATE TABLE shop.current (id String, version Int64, op String, "
            "at DateTime64(3, 'UTC'), _pipe_deleted UInt8, _pipe_partition Int32, "
            "_pipe_offset Int64) ENGINE = ReplacingMergeTree(at, _pipe_deleted) ORDER BY id"
        )
        refused(env, server, "the engine is ReplacingMergeTree(at, _pipe_deleted), the plan")


def test_other_rollup_is_refused(env):
    """What was added up by another rule is not mixed with ours."""
    with env.start_server() as server:
        applied(env, server)
        server.query("DROP VIEW shop.by_hour_view SYNC")
        server.query(
            "CREATE MATERIALIZED VIEW shop.by_hour_view TO shop.by_hour AS SELECT "
            "toStartOfHour(at) AS hour, country, toInt64(2 * count()) AS events FROM shop.events "
            "GROUP BY hour, country"
        )
        refused(env, server, "shop.by_hour_view: adds up otherwise: SELECT")


def call(command, env, environment):
    done = subprocess.run(
        command, cwd=env.scratch, env=environment, text=True, capture_output=True, timeout=120
    )
    assert done.returncode == 0, (command, done.stdout, done.stderr)
    return done.stdout


def test_rollups_at_every_end(env):
    """Columns of roll-ups with the names of the table's columns or of words of SQL, the years 0001
    to 9999, sums beyond 64 bits and 38 digits: exact, and reconcile compares them."""
    environment = {**os.environ, "PIPEC_HOME": str(service.ROOT)}
    path, run = env.scratch / "rollups", env.scratch / "run"
    years = ("0001", "1899", "1960", "2026", "2150", "2300", "9999")
    most, wide = 2**63 - 1, 10**38 - 1
    lines = ["at,day,c1,n,d,true,Index"]
    for year in years:
        stamp = f"{year}-12-31T23:59:59.999"
        lines += [f"{stamp}Z,{stamp}999Z,{c},{most},{wide},true,7" for c in (1, 1, 2)]
    (env.scratch / "rollups.csv").write_text("\n".join(lines) + "\n")
    build = [env.build / "pipec", "build", service.HERE / "rollups.pipe", "-o", path]
    call([*build, "--out", env.scratch / "generated"], env, environment)
    with env.start_server() as server:
        environment |= server.environment()
        call([path, "tables", "apply"], env, environment)
        call([path, "run", "--embedded", run, "--until-end"], env, environment)
        text = call([path, "reconcile", run], env, environment)
        assert text.endswith("exact true\n") and text.count("  roll-ups") > 0, text
        last = {year: (date(int(year), 12, 31) - date(1970, 1, 1)).days for year in years}
        found = server.rows(
            "SELECT toInt32(day), c1, sum(n), max(most), toUnixTimestamp64Micro(max(at)), "
            "sum(`NULL`), sum(side) FROM edge.by_day GROUP BY day, c1 ORDER BY day, c1"
        )
        assert found == [
            [str(value) for value in (days, c, (3 - c) * most, most, micros)] + [str(3 - c)] * 2
            for days in last.values()
            for micros in [(days + 1) * 86400 * 10**6 - 1]
            for c in (1, 2)
        ], found
        found = server.rows(
            "SELECT reinterpretAsInt64(minute), reinterpretAsInt64(hour), toInt32(month), "
            "toInt32(year), sum(total), avgMerge(mean) > 9.2e18, sum(`all`) FROM edge.by_time "
            "GROUP BY minute, hour, month, year ORDER BY minute"
        )
        assert found == [
            [str((days + 1) * 86400 - less) for less in (60, 3600)]
            + [str(days - 30)]
            + [str((date(int(year), 1, 1) - date(1970, 1, 1)).days), str(3 * wide), "1", "21"]
            for year, days in last.items()
        ], found


def test_columns_that_no_insert_can_fill_are_refused(env):
    with env.start_server() as server:
        applied(env, server)
        server.query("ALTER TABLE shop.bad MODIFY COLUMN rule String MATERIALIZED 'x'")
        refused(env, server, "column rule is MATERIALIZED")


def test_more_columns_are_told(env):
    """Somebody else's column does no harm."""
    with env.start_server() as server:
        applied(env, server)
        server.query("ALTER TABLE shop.bad ADD COLUMN seen Bool DEFAULT false")
        code, lines, _ = tables(env, server, "plan")
        assert code == 0, lines
        assert lines[0].startswith("shop.bad: column seen (Bool) is not of the plan"), lines
        assert lines[-1] == "all tables are as planned"


def test_statement_that_fails(env):
    """The first that fails ends it, with what was to be done; apply again goes on."""
    with env.start_server() as server:
        server.fault(kind="exception", code=497, match="^CREATE TABLE IF NOT EXISTS shop.current")
        code, lines, errors = tables(env, server, "apply")
        assert code == 1
        assert "shop.current: the table is missing, and that could not be put right" in errors
        assert "code 497" in errors and "apply again goes on from here" in errors
        applied(env, server)


def test_no_server(env):
    with env.start_server() as server:
        server.kill()
        code, lines, errors = tables(env, server, "plan")
        assert (code, lines) == (1, []) and errors.startswith("tables tables: "), errors
        assert server.url in errors, errors
        code, _, errors = tables(env, server, "plan", PIPE_CLICKHOUSE_URL="")
        assert code == 2 and "PIPE_CLICKHOUSE_URL" in errors
        assert tables(env, server, "frob")[0] == 2
        code, _, errors = tables(env, server, "plan", "--embedded", "x")
        assert code == 2 and "it takes no directory" in errors, errors
        assert tables(env, server)[0] == 2
        assert tables(env, server, "--help")[0] == 0
