"""Partitions that are idle, far ahead, or wake up: what was on time by its own partition is never
late, and what is late is in the late stream, row by row as the model says (pipeline_model.py)."""

import random
import signal
import time

from pipeline import SOURCE, TIME, Pipeline, build_programs, new_seed, wait_until
from pipeline_model import BOUND, PARTITIONS, START_MS, Model, event

CLUSTER = {"nodes": 1}
NEEDS = (build_programs,)


def steady(partition, first_ms, seconds, number=0):
    """An event a second, in a session of its own."""
    return [
        event(f"{partition}-{number}-{i}", first_ms + 1000 * i, partition, session=f"s{partition}")
        for i in range(seconds)
    ]


def raises(run):
    """Time records that are visible."""
    return len(run.dump(TIME))


def wait_closed(run, end_ms):
    """Waits until the windows that end then are closed: only floors can do that."""

    def closed():
        return Model(run.dump(SOURCE), run.dump(TIME)).watermark >= end_ms

    wait_until(closed, "the window is closed")


def test_one_far_ahead(env):
    """One partition is read an hour ahead of the others: nothing of them is late."""
    with Pipeline(env, new_seed()) as run:
        run.feed(steady(0, START_MS + 3_600_000, 100))
        run.finish()
        run.feed(steady(1, START_MS, 100))
        run.finish()
        run.feed(steady(2, START_MS, 100))
        run.finish()
        model = run.check()
        assert model.late.total() == 0 and model.clean.total() == 300
        assert model.totals.total() > 5


def test_one_idle(env):
    """A partition that never had a record, and one that falls silent: windows close all the same.
    What lies behind the floor when it wakes is late, and nothing else."""
    with Pipeline(env, new_seed(), idle=True) as run:
        child = run.start()
        run.feed(steady(1, START_MS, 20))
        feeder = run.feeding(steady(0, START_MS, 400), rate=20)
        wait_closed(run, START_MS + 50_000)
        run.feed(steady(1, START_MS + 20_000, 10, number=1))
        run.feed(steady(1, START_MS + 400_000, 20, number=2))
        run.feed(steady(2, START_MS + 400_000, 20))
        feeder.finish()
        run.wait_end()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        model = run.check(embedded=False)
        late = {dict(row)["id"] for row in model.late}
        assert late == {f"e1-1-{i}" for i in range(10)}, late
        assert model.clean.total() == 20 + 400 + 10 + 20 + 20


def test_all_idle(env):
    """If all are silent, time stands still: who goes on is on time, however long it was."""
    with Pipeline(env, new_seed(), idle=True) as run:
        child = None
        for second in range(10):
            events = [
                event(f"{p}-{second}", START_MS + second * 1000, p) for p in range(PARTITIONS)
            ]
            run.feed(events)
            child = child or run.start()
            run.wait_end()
            if second == 5:
                time.sleep(4)
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        model = run.check(embedded=False)
        assert model.late.total() == 0, model.late
        assert model.clean.total() == 10 * PARTITIONS
        assert model.watermark == START_MS + 9000 - BOUND


def test_kills_while_idle(env):
    """Partitions fall silent and wake while the program is killed: replay finds each time record
    where it was."""
    seed = new_seed()
    chance = random.Random(seed)
    with Pipeline(env, seed, idle=True) as run:
        feeder = run.feeding(steady(0, START_MS, 1200), rate=20)
        for number in range(6):
            child = run.start()
            before = raises(run)
            wait_until(
                lambda before=before: raises(run) > before or feeder.finished(),
                "a silent partition follows the others",
            )
            awake = chance.randrange(1, PARTITIONS)
            at = START_MS + 120_000 * number + chance.randrange(120_000)
            run.feed(steady(awake, at, chance.randrange(1, 20), number))
            time.sleep(chance.uniform(0, 1.5))
            child.kill()
        feeder.finish()
        run.finish()
        model = run.check(embedded=False)
        assert model.raises > 0
