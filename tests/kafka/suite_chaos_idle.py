"""Partitions that are idle, far ahead, or wake up: what was on time by its own partition is never
late, and what is late is in the late stream, row by row as the model says (pipeline_model.py)."""

import random
import signal
import time

from pipeline import TIME, Pipeline, build_programs, new_seed, wait_until
from pipeline_model import BOUND, LATENESS, PARTITIONS, START_MS, WINDOW, Model, event

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


def wait_raised(run, above):
    wait_until(lambda: raises(run) > above, "a silent partition follows the others")


def wait_total(run, end_ms):
    """Waits for a window that ends then: only floors can have closed it."""

    def closed():
        model = Model(run.dump("chaos.events"), run.dump(TIME))
        return model.watermark >= end_ms

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
    """A partition that never had a record, and one that falls silent: the others' windows close.
    What comes late by the floor when it wakes is late, and nothing else."""
    with Pipeline(env, new_seed(), idle=True) as run:
        child = run.start()
        run.feed(steady(0, START_MS, 60) + steady(1, START_MS, 20))
        wait_total(run, START_MS + 50_000)
        run.feed(steady(1, START_MS + 20_000, 20, number=1) + steady(1, START_MS + 60_000, 20, 2))
        run.feed(steady(2, START_MS + 58_000, 10) + steady(0, START_MS + 60_000, 30, 1))
        run.wait_end()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        model = run.check(embedded=False)
        assert model.raises > 0
        late = {dict(row)["session"] for row in model.late}
        assert late == {"s1"}, late
        assert model.clean.total() == 60 + 20 + 20 + 20 + 10 + 30


def test_all_idle(env):
    """If all are silent, time stands still: who goes on is on time, however long it was."""
    with Pipeline(env, new_seed(), idle=True) as run:
        child = run.start()
        for partition in range(PARTITIONS):
            run.feed(steady(partition, START_MS, 30))
        run.wait_end()
        time.sleep(4)
        for partition in range(PARTITIONS):
            run.feed(steady(partition, START_MS + 30_000, 30, number=1))
        run.wait_end()
        child.send(signal.SIGTERM)
        run.ends(child, 0)
        model = run.check(embedded=False)
        assert model.late.total() == 0 and model.clean.total() == PARTITIONS * 60


def test_kills_while_idle(env):
    """Partitions fall silent and wake while the program is killed: replay finds each time record
    where it was."""
    seed = new_seed()
    chance = random.Random(seed)
    with Pipeline(env, seed, idle=True) as run:
        at = START_MS
        for number in range(8):
            child = run.start()
            awake = chance.sample(range(PARTITIONS), chance.randrange(1, PARTITIONS))
            for partition in awake:
                behind = chance.choice((0, 0, BOUND, 2 * (WINDOW + LATENESS)))
                run.feed(steady(partition, at - behind, 15, number))
            at += 15_000
            if chance.random() < 0.7:
                wait_raised(run, raises(run))
            time.sleep(chance.uniform(0, 1.5))
            child.kill()
        run.finish()
        model = run.check(embedded=False)
        assert model.raises > 0
