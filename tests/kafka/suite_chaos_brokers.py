"""A compiled pipeline while brokers are killed, stopped and moved: three nodes."""

import random
import time

import admin as kafka
from pipeline import EXCHANGE, Pipeline, build_programs, new_seed

CLUSTER = {"nodes": 3}
NEEDS = (build_programs,)


def transactional_id(admin, run):
    """That of the process of the group."""
    (found,) = (t for t in admin.transactions() if run.group in t["transactional_id"])
    return found["transactional_id"]


def test_kill_controller_and_coordinator(env):
    """kill -9 of the broker that is controller and coordinator of group and transactions, three
    times in one run."""
    cluster = env.cluster
    with Pipeline(env, new_seed(), count=9000) as run:
        feeder = run.feeding(rate=80)
        child = run.start()
        for _ in range(3):
            run.wait_committed(50)
            with cluster.admin() as admin:
                node, name = admin.controller(), transactional_id(admin, run)
                admin.move_coordinator(kafka.TRANSACTION, name, node)
                admin.move_coordinator(kafka.GROUP, run.group, node)
            run.wait_committed()
            cluster.kill(node)
            run.wait_committed()
            cluster.restart(node)
        feeder.finish()
        run.wait_end()
        assert child.alive(), child.tail(20)
        run.check()


def test_stopped_broker(env):
    """SIGSTOP of a broker for 20 s: the leader of what is read, written and exchanged."""
    cluster = env.cluster
    with Pipeline(env, new_seed(), count=6000) as run:
        feeder = run.feeding(rate=200)
        child = run.start()
        run.wait_committed(50)
        with cluster.admin() as admin:
            node = admin.topic(EXCHANGE)["partitions"][0]["leader"]
        cluster.pause(node)
        time.sleep(20)
        cluster.resume(node)
        cluster.wait_ready()
        feeder.finish()
        run.wait_end()
        assert child.alive(), child.tail(20)
        run.check()


def test_coordinator_moves(env):
    """Both coordinators, together and each alone."""
    cluster = env.cluster
    with Pipeline(env, new_seed()) as run, cluster.admin() as admin:
        feeder = run.feeding(rate=200)
        child = run.start()
        for number in range(4):
            run.wait_committed()
            if number != 1:
                name = transactional_id(admin, run)
                node = admin.transaction_coordinator(name) % 3 + 1
                admin.move_coordinator(kafka.TRANSACTION, name, node)
            if number != 2:
                node = admin.group_coordinator(run.group) % 3 + 1
                admin.move_coordinator(kafka.GROUP, run.group, node)
        feeder.finish()
        run.wait_end()
        assert child.alive(), child.tail(20)
        run.check()


def test_kill_all_kinds(env):
    """Random brokers and processes, two processes in the group."""
    cluster, seed = env.cluster, new_seed()
    chance = random.Random(seed)
    with Pipeline(env, seed, count=9000) as run:
        feeder = run.feeding(rate=80)
        children = {name: run.start(name) for name in ("one", "two")}
        for _ in range(4):
            run.wait_committed()
            node = chance.choice(cluster.nodes)
            name = chance.choice(sorted(children))
            cluster.kill(node)
            time.sleep(chance.uniform(0, 2))
            children[name].kill()
            children[name] = run.start(name)
            cluster.restart(node)
        feeder.finish()
        run.wait_end()
        for child in children.values():
            child.kill()
        run.finish()
        run.check()
