"""What the protocol of semantics.md §6 takes for granted, tried on the engine.

Each test says what is assumed; what came out is in docs/decisions/0011-clickhouse.md. The condition
costs CPU time: how much is printed, not judged.
"""

import contextlib
import http.client
import threading
import urllib.parse

import service

# As runtime/clickhouse_settings.c sends them.
SETTINGS = {
    "async_insert": "0",
    "insert_deduplicate": "1",
    "deduplicate_insert": "enable",
    "deduplicate_insert_select": "enable_even_for_bad_queries",
    "deduplicate_blocks_in_dependent_materialized_views": "1",
    "max_insert_threads": "1",
    "max_threads": "1",
    "input_format_parallel_parsing": "0",
    "max_insert_block_size": "1048576",
    "max_block_size": "1048576",
    "min_insert_block_size_rows": "1048576",
    "min_insert_block_size_bytes": "0",
    "max_partitions_per_insert_block": "0",
    "input_format_native_allow_types_conversion": "0",
    "max_execution_time": "60",
}
STRUCTURE = "k String, _pipe_partition Int32, _pipe_offset Int64"
INPUT = f"SELECT * FROM input('{STRUCTURE}')"


def table(env, window=10000, engine="MergeTree", order="k", more=""):
    """A new table of rows with positions; its name."""
    env.server.query(
        f"CREATE TABLE {env.name} (k String, {more}_pipe_partition Int32, _pipe_offset Int64, "
        "INDEX _pipe_position _pipe_offset TYPE minmax GRANULARITY 1) "
        f"ENGINE = {engine} ORDER BY ({order}) SETTINGS "
        f"non_replicated_deduplication_window = {window}"
    )
    return env.name


def rows(env, first, last, form="Native", key="toString(number)"):
    """The body of a range."""
    return env.server.send(
        f"SELECT {key} AS k, 0::Int32 AS _pipe_partition, number::Int64 AS _pipe_offset "
        f"FROM numbers({first}, {last - first + 1}) FORMAT {form}",
        settings={"max_block_size": "1048576"},
    )


def several(name, ranges, form="Native", more=""):
    """The conditional insert of ranges (partition, first, last)."""
    places = " OR ".join(
        f"(_pipe_partition = {partition} AND _pipe_offset BETWEEN {first} AND {last})"
        for partition, first, last in ranges
    )
    return (
        f"INSERT INTO {name} {INPUT} WHERE (_pipe_partition, _pipe_offset) NOT IN "
        f"(SELECT _pipe_partition, _pipe_offset FROM {name} WHERE {places}){more} FORMAT {form}"
    )


def conditional(name, first, last, form="Native"):
    check = (
        " AND throwIf((SELECT count() FROM system.columns WHERE database = 'default' AND table = "
        f"'{name}' AND (name, type) IN (('_pipe_partition', 'Int32'), ('_pipe_offset', 'Int64'))) "
        "!= 2, 'altered') = 0"
    )
    return several(name, [(0, first, last)], form, check)


def rows_of_several(env, ranges):
    """Their body: one block."""
    parts = " UNION ALL ".join(
        f"SELECT toString(number) AS k, {partition}::Int32 AS _pipe_partition, number::Int64 AS "
        f"_pipe_offset FROM numbers({first}, {last - first + 1})"
        for partition, first, last in ranges
    )
    return env.server.send(
        f"SELECT * FROM ({parts}) ORDER BY _pipe_partition, _pipe_offset FORMAT Native",
        settings={"max_block_size": "1048576"},
    )


def plain(name, form="Native"):
    return f"INSERT INTO {name} FORMAT {form}"


def with_token(token, **more):
    return {**SETTINGS, "insert_deduplication_token": token, **more}


def total(env, name):
    """(rows, different offsets)."""
    found = env.server.rows(f"SELECT count(), uniqExact(_pipe_offset) FROM {name}")[0]
    return int(found[0]), int(found[1])


class Slow:
    """An insert whose body is sent in parts."""

    def __init__(self, server, query, settings):
        path = "/?" + urllib.parse.urlencode({**settings, "query": query})
        self.connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        self.connection.putrequest("POST", path)
        self.connection.putheader("Transfer-Encoding", "chunked")
        self.connection.endheaders()

    def send(self, part):
        self.connection.send(b"%x\r\n%s\r\n" % (len(part), part))

    def end(self):
        """(status, exception code)."""
        self.connection.send(b"0\r\n\r\n")
        with contextlib.closing(self.connection):
            answer = self.connection.getresponse()
            answer.read()
            return answer.status, int(answer.headers.get("X-ClickHouse-Exception-Code", 0))


def wait_until_read(env):
    """Until the engine is in the middle of an insert."""
    query = "SELECT count() FROM system.processes WHERE query LIKE 'INSERT INTO%file(%'"
    while env.server.value(query) == "0":
        pass


def test_condition_adds_only_what_is_missing(env):
    """The same range under another token adds nothing, an overlapping one what is missing."""
    name = table(env)
    for token, first, last in (("a", 0, 99), ("b", 0, 99), ("c", 50, 149), ("d", 0, 149)):
        body = rows(env, first, last)
        env.server.send(conditional(name, first, last), body, with_token(token))
    assert total(env, name) == (150, 150)


def test_condition_on_ranges_of_partitions(env):
    """What a batch of several partitions adds: of each what is missing, though the offsets are the
    same ones; all of it is one part."""
    name = table(env)
    ranges = [(0, 0, 49), (2, 0, 49), (5, 20, 29)]
    body = rows_of_several(env, ranges)
    half = [(0, 0, 49), (2, 100, 149)]
    env.server.send(several(name, half), rows_of_several(env, half), with_token("a"))
    for token in ("b", "c", "b"):
        env.server.send(several(name, ranges), body, with_token(token))
    found = env.server.rows(
        f"SELECT _pipe_partition, count(), uniqExact(_pipe_offset) FROM {name} "
        "GROUP BY _pipe_partition ORDER BY _pipe_partition"
    )
    assert found == [["0", "50", "50"], ["2", "100", "100"], ["5", "10", "10"]], found
    parts = env.server.value(
        f"SELECT count() FROM system.parts WHERE table = '{name}' AND level = 0 AND rows = 60"
    )
    assert parts == "1", parts


def test_condition_is_judged_when_the_insert_starts(env):
    """Before the body has come: what is inserted meanwhile it does not see. So two attempts at once
    need the token."""
    name = table(env)
    body = rows(env, 0, 99)
    slow = Slow(env.server, conditional(name, 0, 99), with_token("a"))
    slow.send(body[: len(body) // 2])
    wait_until_read(env)
    env.server.send(conditional(name, 0, 99), body, with_token("b"))
    slow.send(body[len(body) // 2 :])
    assert slow.end() == (200, 0)
    assert total(env, name) == (200, 100)


def test_token_counts_for_insert_select(env):
    """Two attempts at once, both judged before either has written: the token keeps one."""
    name = table(env)
    body = rows(env, 0, 99)
    slow = Slow(env.server, conditional(name, 0, 99), with_token("a"))
    slow.send(body[: len(body) // 2])
    wait_until_read(env)
    env.server.send(conditional(name, 0, 99), body, with_token("a"))
    slow.send(body[len(body) // 2 :])
    assert slow.end() == (200, 0)
    assert total(env, name) == (100, 100)


def test_the_setting_makes_the_token_count(env):
    """deduplicate_insert_select: off, a token means nothing for INSERT SELECT. With the value that
    is sent it counts in every version that has the setting; the default ignored it in some."""
    name = table(env)
    for value, rows_after in (("disable", 20), ("enable_even_for_bad_queries", 30)):
        query = f"INSERT INTO {name} {INPUT} FORMAT Native"
        for _ in range(2):
            settings = with_token(value, deduplicate_insert_select=value)
            env.server.send(query, rows(env, 0, 9), settings)
        assert total(env, name) == (rows_after, 10), value


def test_many_attempts_at_once(env):
    """Eight at the same moment, conditional and plain, leave each row once."""
    for kind in ("conditional", "plain"):
        name = f"{table(env)}"
        body = rows(env, 0, 4999)
        query = conditional(name, 0, 4999) if kind == "conditional" else plain(name)
        failures = []

        def attempt():
            try:
                env.server.send(query, body, with_token("t"))
            except Exception as error:
                failures.append(error)

        threads = [threading.Thread(target=attempt) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures, failures
        assert total(env, name) == (5000, 5000), kind
        env.server.query(f"DROP TABLE {name} SYNC")


def test_time_limit_holds_while_the_body_comes(env):
    """max_execution_time counts the time in which the body is awaited, and nothing is written."""
    name = table(env)
    body = rows(env, 0, 99)
    slow = Slow(env.server, conditional(name, 0, 99), with_token("a", max_execution_time="1"))
    slow.send(body[: len(body) // 2])
    wait_until_read(env)
    clock = "SELECT max(elapsed) FROM system.processes WHERE query LIKE 'INSERT INTO%file(%'"
    while float(env.server.value(clock)) < 1.1:
        pass
    slow.send(body[len(body) // 2 :])
    assert slow.end() == (408, 159)
    assert total(env, name) == (0, 0)


def test_cut_body_adds_nothing(env):
    """A connection that ends in the middle of the body leaves no rows, and no token."""
    for query in (conditional, lambda name, *_: plain(name)):
        name = table(env)
        body = rows(env, 0, 99)
        env.server.fault(kind="cut_during", match="^INSERT")
        with contextlib.suppress(OSError, http.client.HTTPException):
            env.server.send(query(name, 0, 99), body, with_token("a"))
        assert total(env, name) == (0, 0)
        env.server.send(query(name, 0, 99), body, with_token("a"))
        assert total(env, name) == (100, 100)
        env.server.query(f"DROP TABLE {name} SYNC")


def test_window_exceeded(env):
    """A token that the server has forgotten saves nothing; the condition does."""
    name = table(env, window=2)
    body = rows(env, 0, 9)
    env.server.send(conditional(name, 0, 9), body, with_token("a"))
    for i in range(3):
        first = 10 + 10 * i
        more = rows(env, first, first + 9)
        env.server.send(conditional(name, first, first + 9), more, with_token(f"o{i}"))
    env.server.send(conditional(name, 0, 9), body, with_token("a"))
    assert total(env, name) == (40, 40)
    env.server.send(plain(name), body, with_token("a"))
    assert total(env, name) == (50, 40)


def test_same_token_other_rows_is_lost(env):
    """Why a token is made of what the rows are."""
    name = table(env)
    env.server.send(conditional(name, 0, 9), rows(env, 0, 9), with_token("a"))
    env.server.send(conditional(name, 10, 19), rows(env, 10, 19), with_token("a"))
    assert total(env, name) == (10, 10)


def test_table_partitions(env):
    """The engine keeps a token for each table partition: one request with one token may fill
    several, and after half of it the rest comes by the same."""
    env.server.query(
        f"CREATE TABLE {env.name} (k String, _pipe_partition Int32, _pipe_offset Int64) "
        "ENGINE = MergeTree PARTITION BY k ORDER BY k "
        "SETTINGS non_replicated_deduplication_window = 100"
    )
    body = rows(env, 0, 99, key="toString(number % 3)")
    half = env.server.send(
        "SELECT '0' AS k, 0::Int32 AS _pipe_partition, number::Int64 AS _pipe_offset FROM "
        "numbers(100) WHERE number % 3 = 0 FORMAT Native"
    )
    env.server.send(plain(env.name), half, with_token("t"))
    assert total(env, env.name) == (34, 34)
    for _ in range(2):
        env.server.send(plain(env.name), body, with_token("t"))
        assert total(env, env.name) == (100, 100)


def test_many_table_partitions(env):
    """A block may go to more partitions than the default allows (100): else catching up over a long
    time would be refused for ever, with the code of too many parts."""
    env.server.query(
        f"CREATE TABLE {env.name} (k String, _pipe_partition Int32, _pipe_offset Int64) "
        "ENGINE = MergeTree PARTITION BY k ORDER BY k "
        "SETTINGS non_replicated_deduplication_window = 1000"
    )
    body = rows(env, 0, 299)
    default = with_token("t", max_partitions_per_insert_block="100")
    try:
        env.server.send(plain(env.name), body, default)
        raise AssertionError("300 partitions were taken")
    except service.Failed as failed:
        assert failed.code == 252, failed
    env.server.send(conditional(env.name, 0, 299), body, with_token("t"))
    assert total(env, env.name) == (300, 300)


def test_conversions(env):
    """A plain insert of other types than the table's fails; INSERT SELECT casts, and wraps what is
    out of range. So it looks at the types first, in the statement."""
    env.server.query(f"CREATE TABLE {env.name} (a Int32) ENGINE = MergeTree ORDER BY a")
    body = env.server.send("SELECT 5000000000::Int64 AS a FORMAT Native")
    try:
        env.server.send(plain(env.name), body, with_token("a"))
        raise AssertionError("a plain insert converts")
    except service.Failed as failed:
        assert failed.code == 53, failed
    select = f"INSERT INTO {env.name} SELECT a FROM input('a Int64')"
    env.server.send(f"{select} FORMAT Native", body, with_token("b"))
    assert env.server.value(f"SELECT a FROM {env.name}") == "705032704"
    check = (
        f"throwIf((SELECT count() FROM system.columns WHERE database = 'default' AND table = "
        f"'{env.name}' AND (name, type) IN (('a', 'Int64'))) != 1, 'altered') = 0"
    )
    try:
        env.server.send(f"{select} WHERE {check} FORMAT Native", body, with_token("c"))
        raise AssertionError("the check did not fail")
    except service.Failed as failed:
        assert failed.code == 395, failed


def rollup(env, name):
    """A roll-up of a table, as clickhouse.sql makes it."""
    env.server.query(
        f"CREATE TABLE {name}_sum (k String, n SimpleAggregateFunction(sum, Int64)) ENGINE = "
        "AggregatingMergeTree ORDER BY k SETTINGS non_replicated_deduplication_window = 10000"
    )
    env.server.query(
        f"CREATE MATERIALIZED VIEW {name}_view TO {name}_sum AS SELECT k, toInt64(count()) AS n "
        f"FROM {name} GROUP BY k"
    )


def test_rollup_counts_once(env):
    """A plain insert that is sent again adds nothing to the view's table either; two with equal
    rows under different tokens both count."""
    name = table(env)
    rollup(env, name)
    key = "toString(number % 4)"
    for token in ("a", "a", "b", "a", "b"):
        first = 0 if token == "a" else 100
        body = rows(env, first, first + 99, key=key)
        env.server.send(plain(name), body, with_token(token))
    assert total(env, name) == (200, 200)
    found = env.server.rows(f"SELECT k, sum(n) FROM {name}_sum GROUP BY k ORDER BY k")
    assert found == [[str(i), "50"] for i in range(4)], found


def test_rollup_after_half_an_insert(env):
    """An insert that failed in the view, after the table had its rows: the same again completes the
    view and adds nothing to the table. The conditional insert would starve the view."""
    name = table(env)
    rollup(env, name)
    env.server.query(f"ALTER TABLE {name}_sum ADD CONSTRAINT refuses CHECK n < 0")
    body = rows(env, 0, 99)
    try:
        env.server.send(plain(name), body, with_token("a"))
        raise AssertionError("the view did not fail")
    except service.Failed as failed:
        assert failed.code == 469, failed
    after = total(env, name)
    env.server.query(f"ALTER TABLE {name}_sum DROP CONSTRAINT refuses")
    for _ in range(2):
        env.server.send(plain(name), body, with_token("a"))
        assert total(env, name) == (100, 100), after
        assert env.server.value(f"SELECT sum(n) FROM {name}_sum") == "100"
    print(f"     rows in the table after the view failed: {after[0]}")


def test_last_revision_needs_no_token(env):
    """ReplacingMergeTree: rows that come again, late or out of order change nothing of what FINAL
    shows."""
    name = table(env, engine="ReplacingMergeTree(revision)", more="revision Int32, ")
    structure = "SELECT concat('k', toString(number % 10)) AS k, toInt32(intDiv(number, 10)) AS "
    structure += "revision, 0::Int32 AS _pipe_partition, number::Int64 AS _pipe_offset FROM numbers"
    for token, first, count in (("a", 0, 50), ("b", 50, 50), ("c", 0, 50), ("d", 20, 80)):
        body = env.server.send(f"{structure}({first}, {count}) FORMAT Native")
        env.server.send(plain(name), body, with_token(token))
    shown = env.server.rows(f"SELECT k, revision FROM {name} FINAL ORDER BY k")
    assert shown == [[f"k{i}", "9"] for i in range(10)], shown


def test_a_request_is_one_block(env):
    """With the settings sent, half a million rows are one part, in both formats."""
    for form in ("Native", "RowBinary"):
        for query in (conditional, lambda name, first, last, f: plain(name, f)):
            name = table(env)
            env.server.query(f"SYSTEM STOP MERGES {name}")
            body = rows(env, 0, 499999, form)
            env.server.send(query(name, 0, 499999, form), body, with_token("a"))
            parts = env.server.rows(
                f"SELECT rows FROM system.parts WHERE table = '{name}' AND active"
            )
            assert parts == [["500000"]], (form, parts)
            env.server.query(f"DROP TABLE {name} SYNC")


def test_what_the_condition_costs(env):
    """CPU time of the engine for 30 inserts of 10,000 rows, plain and conditional; printed."""
    spent = {}
    for kind in ("plain", "conditional"):
        name = table(env)
        bodies = [rows(env, 10000 * i, 10000 * i + 9999) for i in range(30)]
        before = env.server.child.cpu_seconds()
        for i, body in enumerate(bodies):
            first = 10000 * i
            query = conditional(name, first, first + 9999) if kind != "plain" else plain(name)
            env.server.send(query, body, with_token(str(i)))
        spent[kind] = env.server.child.cpu_seconds() - before
        assert total(env, name) == (300000, 300000)
        env.server.query(f"DROP TABLE {name} SYNC")
    ratio = spent["conditional"] / spent["plain"]
    print(
        f"     plain {spent['plain']:.2f} s, conditional {spent['conditional']:.2f} s: {ratio:.2f}"
    )


def test_what_merges_cost(env):
    """Small blocks at a high rate are merged again and again. `tables apply` sets another
    merge_selector_base where the server knows it: fewer merges for some more parts. Rows merged for
    each that was inserted, and the engine's CPU time; printed, for merges come when they come."""
    known = "SELECT count() FROM system.merge_tree_settings WHERE name = 'merge_selector_base'"
    assert env.server.value(known) == "1"
    merged = "SELECT value FROM system.events WHERE event = 'MergedRows'"
    bodies = [rows(env, 300 * i, 300 * i + 299) for i in range(150)]
    for base in (5, 10):
        name = table(env)
        env.server.query(f"ALTER TABLE {name} MODIFY SETTING merge_selector_base = {base}")
        before, cpu = int(env.server.value(merged) or 0), env.server.child.cpu_seconds()
        for i, body in enumerate(bodies):
            env.server.send(plain(name), body, with_token(str(i)))
        while env.server.value("SELECT count() FROM system.merges") != "0":
            pass
        again = (int(env.server.value(merged)) - before) / (300 * len(bodies))
        cpu = (env.server.child.cpu_seconds() - cpu) / len(bodies) * 1000
        parts = env.server.value(
            f"SELECT count() FROM system.parts WHERE table = '{name}' AND active"
        )
        assert total(env, name) == (300 * len(bodies), 300 * len(bodies))
        print(f"     base {base}: {again:.1f} times, {cpu:.1f} ms CPU an insert, {parts} parts")
        env.server.query(f"DROP TABLE {name} SYNC")
