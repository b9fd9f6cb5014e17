"""Rows of a compiled pipeline in ClickHouse, through faults of the program, the server and the way
between them. Each test ends with exact tables. CHAOS_SEED=N makes a run again."""

import random
import re
import signal
import time
from collections import Counter

from followed import CLEAN, ROWS, Followed, build_program, find_engine
from pipeline import new_seed, wait_until

CLUSTER = {"nodes": 1}
NEEDS = (find_engine, build_program)
INSERT = "^INSERT"


def test_undisturbed(env):
    with Followed(env, new_seed()) as run:
        run.feed(run.input)
        said = run.finish()
        assert "brought into it by this run" in said, said[-2000:]
        assert run.rows() > 1000
        run.check()


def test_kill_program(env):
    """kill -9 at random moments, and SIGTERM."""
    seed = new_seed()
    chance = random.Random(seed)
    with Followed(env, seed) as run:
        feeder = run.feeding()
        for number in range(6):
            child = run.start()
            run.wait_rows(50)
            time.sleep(chance.uniform(0, 0.5))
            if number % 2:
                child.send(signal.SIGTERM)
                run.ends(child, 0)
            child.kill()
        feeder.finish()
        run.finish()
        run.check()


def test_kill_server(env):
    """kill -9 of ClickHouse at random moments: the program goes on alone."""
    seed = new_seed()
    chance = random.Random(seed)
    with Followed(env, seed) as run:
        feeder = run.feeding()
        child = run.start()
        for _ in range(4):
            run.wait_rows(50)
            time.sleep(chance.uniform(0, 0.5))
            run.server.kill()
            time.sleep(chance.uniform(0, 1))
            run.server.start()
        feeder.finish()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        run.finish()
        run.check()


def test_connections(env):
    """They are cut before, during and after the body, after the work, and within the answer."""
    with Followed(env, new_seed()) as run:
        feeder = run.feeding()
        child = run.start()
        run.wait_rows(50)
        for kind in ("cut_before", "cut_during", "cut_after", "cut_done", "cut_answer"):
            run.server.fault(kind=kind, match=INSERT, count=3)
        run.server.fault(kind="late", match=INSERT, seconds=3)
        run.server.fault(kind="delay", match=INSERT, seconds=2)
        run.wait_hit()
        run.wait_rows(50)
        feeder.finish()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        run.finish()
        run.check()


def test_errors(env):
    """Errors that pass, in every place in which a server tells them, before and after the work."""
    with Followed(env, new_seed()) as run:
        feeder = run.feeding()
        child = run.start()
        run.wait_rows(50)
        for code in (252, 241, 159, 202, 209, 210, 243, 319):
            run.server.fault(kind="exception", code=code, text="as ordered", match=INSERT)
            run.server.fault(
                kind="exception", code=code, text="as ordered", match=INSERT, after=True
            )
        for place in ("header", "body"):
            order = {"kind": "exception", "code": 241, "text": "as ordered", "match": INSERT}
            run.server.fault(place=place, **order)
            run.server.fault(place=place, after=True, **order)
        run.server.fault(kind="answer", status=500, headers={}, body="", match=INSERT, after=True)
        run.wait_hit()
        run.wait_rows(50)
        feeder.finish()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        run.finish()
        run.check()


def test_window_exceeded(env):
    """The answer is lost, and the token is forgotten before the retry: the probe decides."""
    with Followed(env, new_seed()) as run:
        run.server.query(
            "ALTER TABLE follow.clean MODIFY SETTING non_replicated_deduplication_window = 1"
        )
        feeder = run.feeding()
        child = run.start()
        run.wait_rows(50)
        for _ in range(5):
            run.server.clear()
            run.server.fault(kind="cut_done", match="^INSERT INTO follow.clean")
            run.wait_hit()
            for other in range(3):
                run.server.query(
                    "INSERT INTO follow.clean SELECT 'other', '', '', 0, now64(), -1, "
                    f"{time.time_ns()} + {other}"
                )
            run.wait_rows(50)
        asked = [request.get("query_id") or "" for request in run.server.requests()]
        assert any("-probe-" in query_id for query_id in asked)
        feeder.finish()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        run.finish()
        run.server.query("ALTER TABLE follow.clean DELETE WHERE _pipe_partition = -1")
        wait_until(
            lambda: run.server.value("SELECT count() FROM follow.clean WHERE id = 'other'") == "0",
            "the other rows are gone",
        )
        run.check()


def test_zombies(env):
    """SIGSTOP past the session, of one and then of the other: whoever wakes has nothing to say."""
    with Followed(env, new_seed()) as run:
        feeder = run.feeding(rate=250)
        one, two = run.start("one"), run.start("two")
        run.wait_rows(100)
        for paused in (one, two):
            paused.pause()
            run.wait_rows(500)
            paused.resume()
            run.wait_rows(100)
        feeder.finish()
        assert one.alive() and two.alive()
        for child in (one, two):
            child.send(signal.SIGTERM)
            run.ends(child, 0)
        run.finish()
        run.check()


def test_server_away(env):
    """Topics get their rows as before; the tables catch up, in larger blocks."""
    with Followed(env, new_seed(), count=6000) as run:
        child = run.start()
        feeder = run.feeding(rate=600)
        run.wait_rows(50)
        run.server.kill()
        since = len(run.topic(CLEAN))
        wait_until(lambda: len(run.topic(CLEAN)) > since + 2500, "the topic goes on")
        run.server.start()
        feeder.finish()
        wait_until(lambda: "takes rows again" in child.log.read_text(), "it goes on")
        child.send(signal.SIGTERM)
        run.ends(child, 0, "a table takes no rows now")
        run.finish()
        run.check()


def test_table_that_is_other(env):
    """Renamed, then altered: that table stands still and says so, the others go on; put right and
    started again it has every row."""
    with Followed(env, new_seed()) as run:
        feeder = run.feeding()
        child = run.start()
        run.wait_rows(50)
        run.server.query("RENAME TABLE follow.clean TO follow.hidden")
        wait_until(lambda: "stands still" in child.log.read_text(), "it says so")
        run.wait_rows(50, "rolled")
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        run.server.query("RENAME TABLE follow.hidden TO follow.clean")
        run.server.query("ALTER TABLE follow.clean RENAME COLUMN category TO kind")
        said = run.ends(run.start("one", "--until-end"), 1, "stands still", "column category")
        assert "sink=clean_table" in said
        run.server.query("ALTER TABLE follow.clean RENAME COLUMN kind TO category")
        feeder.finish()
        run.finish()
        run.check()


def test_table_with_rows_of_others(env):
    """Without a position, rows in the table are of another life: refused, and nothing is added."""
    with Followed(env, new_seed(), count=500) as run:
        run.server.query("INSERT INTO follow.clean SELECT 'x', 'x', 'x', 1, now64(), 1, 5")
        run.feed(run.input)
        run.finish(code=1)
        assert run.rows() < len(run.topic(CLEAN))
        run.server.query("ALTER TABLE follow.clean DELETE WHERE id = 'x'")
        wait_until(
            lambda: run.server.value("SELECT count() FROM follow.clean WHERE id = 'x'") == "0",
            "that row is gone",
        )
        run.finish()
        run.check()


def test_table_that_lost_its_rows(env):
    """Emptied by somebody: it stands still; --accept-gap goes on without them, and says so."""
    with Followed(env, new_seed(), count=3000) as run:

        def in_topic():
            return Counter((p, offset) for p, offset, _ in run.topic(ROWS.format("refused")))

        run.feed(run.input[:1500])
        run.finish()
        lost = in_topic()
        assert lost and run.rows("refused") == lost.total()
        run.server.query("TRUNCATE TABLE follow.refused SYNC")
        run.feed(run.input[1500:])
        said = run.finish(code=1)
        assert "table follow.refused lacks the row of topic pipec.follow.refused_table" in said
        assert run.rows("refused") == 0
        said = run.finish("--accept-gap")
        assert "the table lacks rows that it had taken (--accept-gap)" in said, said[-3000:]
        found = run.server.rows("SELECT _pipe_partition, _pipe_offset FROM follow.refused")
        assert Counter((int(row[0]), int(row[1])) for row in found) == in_topic() - lost


def test_key_that_is_other(env):
    """Rows of one key must replace each other: with another ORDER BY they would not. Refused before
    the first row, and the other tables go on."""
    with Followed(env, new_seed(), count=1500) as run:
        made = run.server.value("SHOW CREATE TABLE follow.totals FORMAT TSVRaw")
        run.server.query("RENAME TABLE follow.totals TO follow.kept")
        other = re.sub(r"ORDER BY .*", "ORDER BY events", made)
        assert other != made
        run.server.query(other)
        run.feed(run.input)
        said = run.finish(code=1)
        assert "table follow.totals: ORDER BY is (events), but rows of one (" in said, said[-3000:]
        assert run.rows("totals") == 0 and run.rows() > 500
        run.server.query("DROP TABLE follow.totals SYNC")
        run.server.query("RENAME TABLE follow.kept TO follow.totals")
        run.finish()
        run.check()


def test_without_a_server(env):
    """A run that knows no server leaves the rows in the topics; `follow` brings them later."""
    with Followed(env, new_seed(), count=1500) as run:
        run.feed(run.input)
        run.ends(run.start("one", "--until-end", server=False), 0, "names no server")
        assert run.rows() == 0
        run.ends(run.start("two", "--until-end", command="follow"), 0)
        assert run.rows() > 500
        run.check()
