"""A compiled pipeline through faults, on one broker: what takes longer."""

import random
import signal
import time

from pipeline import Pipeline, build_programs, new_seed, wait_until

CLUSTER = {"nodes": 1, "proxied": True}
NEEDS = (build_programs,)


def kill_loop(env, names, kills, count):
    """kill -9 of one of the processes at a random moment, again and again; each is started again at
    once, or after a while."""
    seed = new_seed()
    chance = random.Random(seed)
    with Pipeline(env, seed, count=count) as run:
        feeder = run.feeding(rate=250)
        children = {name: run.start(name) for name in names}
        for _ in range(kills):
            name = chance.choice(names)
            time.sleep(chance.uniform(0, 2.5))
            children[name].kill()
            time.sleep(chance.choice((0, 0, 1)))
            children[name] = run.start(name)
        feeder.finish()
        run.wait_end()
        for child in children.values():
            child.kill()
        run.finish()
        run.check()


def test_kill_one_process(env):
    kill_loop(env, ["one"], 25, 8000)


def test_kill_two_processes(env):
    kill_loop(env, ["one", "two"], 25, 8000)


def test_one_of_two_is_gone(env):
    """The other one serves all partitions after the session of the one that was killed."""
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding(rate=200)
        one, two = run.start("one"), run.start("two")
        run.wait_committed(100)
        one.kill()
        feeder.finish()
        run.wait_end()
        assert two.alive()
        run.check()


def test_rebalance_in_transaction(env):
    """A process joins, and one leaves, while the commit of another is on its way."""
    proxy = env.cluster.proxy
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding(rate=200)
        one = run.start("one", proxied=True)
        run.wait_committed()
        for api in ("TxnOffsetCommit", "EndTxn", "Produce"):
            started = []
            joins = proxy.count("JoinGroup")

            def join(_, joins=joins, started=started):
                started.append(run.start("two", proxied=True))
                wait_until(lambda: proxy.count("JoinGroup") > joins, "the other one joins")

            proxy.fault("call", api, hook=join).wait(60)
            wait_until(lambda: started, "the other one is started")
            since = run.committed()
            run.wait_committed(20, since)
            started[0].send(signal.SIGTERM)
            run.ends(started[0], 0)
        feeder.finish()
        one.send(signal.SIGTERM)
        run.ends(one, 0)
        run.finish()
        run.check()


def test_everything_late(env):
    """Every request and every answer is two seconds on its way; timeouts are set for that."""
    slow = dict(transaction_timeout_ms=60000, socket_timeout_ms=20000, session_timeout_ms=30000)
    slow.update(socket_connection_setup_timeout_ms=20000)
    proxy = env.cluster.proxy
    with Pipeline(env, new_seed(), count=2500) as run:
        feeder = run.feeding(rate=200)
        child = run.start(proxied=True, **slow)
        run.wait_committed(20)
        proxy.delay(2000)
        feeder.finish()
        run.wait_end()
        assert child.alive(), child.tail(20)
        run.check()


def test_late_beyond_timeouts(env):
    """The same with the usual timeouts, which no answer keeps; then the network recovers."""
    proxy = env.cluster.proxy
    with Pipeline(env, new_seed(), count=1500) as run:
        feeder = run.feeding(rate=200)
        child = run.start(proxied=True)
        run.wait_committed(20)
        proxy.delay(2000)
        time.sleep(20)
        proxy.delay(0)
        feeder.finish()
        run.wait_end()
        assert child.alive(), child.tail(20)
        run.check()


def test_cut_off_for_long(env):
    """No broker answers for longer than a transaction and a session last."""
    proxy = env.cluster.proxy
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding(rate=200)
        child = run.start(proxied=True, transaction_timeout_ms=4000)
        run.wait_committed(20)
        for deliver in (True, False):
            proxy.blackhole()
            time.sleep(12)
            proxy.heal(deliver=deliver)
            run.wait_committed()
        feeder.finish()
        run.wait_end()
        assert child.alive(), child.tail(20)
        run.check()


def test_expired_transactional_id(env):
    """The broker has forgotten the transactional id of an idle program."""
    properties = {
        "transactional.id.expiration.ms": 4000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 500,
    }
    with env.start_cluster(nodes=1, properties=properties) as cluster:
        with Pipeline(env, new_seed(), cluster=cluster) as run, cluster.admin() as admin:
            half = len(run.input) // 2
            run.feed(run.input[:half])
            child = run.start(transaction_timeout_ms=3000)
            run.wait_end()
            wait_until(lambda: not admin.transactions(), "the transactional id is forgotten")
            run.feed(run.input[half:])
            run.wait_end()
            assert child.alive(), child.tail(20)
            child.send(signal.SIGTERM)
            run.ends(child, 0)
            wait_until(lambda: not admin.transactions(), "the transactional id is forgotten")
            run.finish()
            run.check()
