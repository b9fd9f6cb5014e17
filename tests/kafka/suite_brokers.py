"""Three brokers: kill -9, pause and coordinators that move, under a transactional pass-through."""

import time

import admin as kafka
from client import Record
from processes import Child
from suite_services import contents

CLUSTER = {"nodes": 3}
PARTITIONS = 6
BATCHES, BATCH = 20, 500


def batch(number):
    first = number * BATCH
    return [Record(i % PARTITIONS, None, b"value %d" % i) for i in range(first, first + BATCH)]


def start_pass_through(env, source, target):
    command = [env.program("kafka-passthrough"), "pass", "--count", BATCHES * BATCH]
    command += ["--bootstrap", env.cluster.bootstrap, "--in", source, "--out", target]
    command += ["--group", env.name, "--commit", "20", "-X", "socket.timeout.ms=3000"]
    return Child(command, env.scratch / "pass.log")


def through_faults(env, faults):
    """Passes records on while faults[i]() is called after batch i; the output must be the input."""
    source, target = f"{env.name}-in", f"{env.name}-out"
    with env.cluster.admin() as admin:
        for topic in (source, target):
            admin.create_topic(topic, PARTITIONS)
    client = env.client()
    passing = start_pass_through(env, source, target)
    try:
        for number in range(BATCHES):
            client.produce(source, batch(number))
            faults.get(number, lambda: None)()
        assert passing.wait(120), passing.tail()
        assert passing.process.returncode == 0, passing.tail()
    finally:
        passing.kill()
    with env.cluster.admin() as admin:
        admin.wait_stable(target)
    written = contents(record for number in range(BATCHES) for record in batch(number))
    assert contents(client.dump(target)) == written


def test_placement(env):
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, leaders=[[2, 3, 1], [3, 1, 2], [2, 1, 3]])
        found = admin.topic(env.name)["partitions"]
        assert [found[p]["leader"] for p in range(3)] == [2, 3, 2]
        assert found[1]["replicas"] == [3, 1, 2]
        admin.move_leader(env.name, 0, 1)
        assert admin.topic(env.name)["partitions"][0]["leader"] == 1


def test_kill_controller_and_coordinator(env):
    cluster = env.cluster
    killed = []
    with cluster.admin() as admin:

        def kill():
            node = admin.controller()
            admin.move_coordinator(kafka.TRANSACTION, "kafka-passthrough", node)
            admin.move_coordinator(kafka.GROUP, env.name, node)
            assert admin.transaction_coordinator("kafka-passthrough") == node
            killed.append(node)
            cluster.kill(node)

        def restart():
            cluster.restart(killed[-1])

        through_faults(env, {4: kill, 8: restart, 12: kill, 16: restart})
        assert len(killed) == 2


def test_pause_leader(env):
    cluster = env.cluster
    paused = []

    def pause():
        with cluster.admin() as admin:
            paused.append(admin.topic(f"{env.name}-out")["partitions"][0]["leader"])
        cluster.pause(paused[0])
        time.sleep(4)  # longer than a broker's session

    def resume():
        cluster.resume(paused[0])
        cluster.wait_ready()

    through_faults(env, {5: pause, 12: resume})


def test_coordinator_moves(env):
    with env.cluster.admin() as admin:
        moves = []

        def move():
            for kind, key in ((kafka.TRANSACTION, "kafka-passthrough"), (kafka.GROUP, env.name)):
                where = admin.transaction_coordinator(key) if kind else admin.group_coordinator(key)
                target = where % len(env.cluster.nodes) + 1
                admin.move_coordinator(kind, key, target)
                moves.append((where, target))

        through_faults(env, {number: move for number in range(3, 18, 5)})
        assert all(where != target for where, target in moves) and len(moves) == 6
