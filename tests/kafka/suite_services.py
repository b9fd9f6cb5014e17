"""The tests' own services: brokers, admin client, records and the fault proxy do what they say."""

import subprocess
import threading
import time
from collections import Counter

import admin as kafka
import services
import wire
from client import Record

CLUSTER = {
    "nodes": 1,
    "secure": True,
    "acls": True,
    "proxied": True,
    "properties": {
        "transactional.id.expiration.ms": 4000,
        "transaction.remove.expired.transaction.cleanup.interval.ms": 500,
    },
}


def contents(records):
    return Counter((r.partition, r.key, r.value) for r in records)


def numbered(count, partitions):
    return [Record(i % partitions, b"key %d" % (i % 7), b"value %d" % i) for i in range(count)]


def pass_through(env, source, target, count, *arguments):
    """The standard output of a transactional pass-through that goes through the proxy."""
    command = [env.program("kafka-passthrough"), "pass", "--count", str(count)]
    command += ["--bootstrap", env.cluster.proxied_bootstrap, "--in", source, "--out", target]
    command += ["--group", env.name, "--commit", "20", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def two_topics(env, count):
    """Names of a source of 3 partitions with `count` records and of an empty target."""
    source, target = f"{env.name}-in", f"{env.name}-out"
    with env.cluster.admin() as admin:
        admin.create_topic(source, partitions=3)
        admin.create_topic(target, partitions=3)
    env.client().produce(source, numbered(count, 3))
    return source, target


def assert_passed_on(env, source, target):
    with env.cluster.admin() as admin:
        admin.wait_stable(target)
    client = env.client()
    assert contents(client.dump(target)) == contents(client.dump(source))


def test_topics(env):
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 2, configs={"retention.ms": -1})
        assert admin.topic_configs(env.name)["retention.ms"] == "-1"
        admin.alter_topic(env.name, {"retention.ms": 5000})
        assert admin.topic_configs(env.name)["retention.ms"] == "5000"
        admin.add_partitions(env.name, 3)
        before = admin.topic(env.name)
        assert sorted(before["partitions"]) == [0, 1, 2]
        admin.delete_topic(env.name)
        assert admin.topic(env.name) is None and env.name not in admin.topics()
        admin.create_topic(env.name)
        assert admin.topic(env.name)["id"] != before["id"]
        assert admin.controller() == 1
        assert admin.broker_configs(1)["auto.create.topics.enable"] == "false"


def test_records(env):
    client = env.client()
    written = [
        Record(0, b"k", b"\x00\xff", [("a", b"1"), ("a", None), ("b", b"")], 1234567),
        Record(0, None, None),
        Record(0, b"", b""),
        Record(None, b"k", b"by its hash"),
    ]
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 2)
        client.produce(env.name, written)
        read = client.dump(env.name)
        assert {(r.key, r.value) for r in read} == {(r.key, r.value) for r in written}
        first = [r for r in read if r.partition == 0][0]
        assert (first.headers, first.timestamp_ms) == (written[0].headers, 1234567)
        assert (first.offset, first.timestamp_type) == (0, "create")
        tail = [(r.partition, r.offset) for r in client.dump(env.name, partition=0, start=2)]
        assert tail == [(r.partition, r.offset) for r in read if r.partition == 0 and r.offset > 1]
        assert admin.delete_records(env.name, {0: 2}) == {0: 2}
        assert admin.offsets(env.name, kafka.EARLIEST)[0] == 2
        assert min(r.offset for r in client.dump(env.name, partition=0)) == 2


def test_transactions(env):
    client = env.client()
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 1)
        client.produce(env.name, numbered(5, 1), "committed")
        client.produce(env.name, numbered(3, 1), "aborted", end="abort")
        admin.wait_stable(env.name)
        client.produce(env.name, numbered(2, 1), "open", end="open")
        assert len(client.dump(env.name)) == 5
        assert len(client.dump(env.name, "read_uncommitted")) == 10
        # Five records and a marker, three and a marker, two.
        assert admin.offsets(env.name) == {0: 12}
        assert admin.offsets(env.name, isolation="read_committed") == {0: 10}
        assert admin.open_transactions(env.name) == {0: [10]}
        assert admin.describe_transaction("open")["state"] == "Ongoing"
        states = {t["transactional_id"]: t["state"] for t in admin.transactions()}
        assert states["open"] == "Ongoing", states
        producer, epoch = admin.fence("open")
        assert producer >= 0 and epoch > 0
        admin.wait_stable(env.name)
        assert admin.open_transactions(env.name) == {0: []}
        assert admin.offsets(env.name, isolation="read_committed") == {0: 13}


def test_expired_transactional_id(env):
    client = env.client()
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 1)
        client.produce(env.name, numbered(1, 1), env.name)
        first = admin.fence(env.name)[0]
        deadline = time.monotonic() + 60
        while any(t["transactional_id"] == env.name for t in admin.transactions()):
            assert time.monotonic() < deadline, "the transactional id does not expire"
            time.sleep(0.1)
        assert admin.fence(env.name)[0] != first


def test_follow(env):
    client = env.client()
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 2)
    client.produce(env.name, numbered(4, 2))
    with client.follow(env.name) as all_records, client.follow(env.name, start="end") as new:
        deadline = time.monotonic() + 60
        while len(all_records.records()) < 4 or not new.records():
            assert time.monotonic() < deadline, "what is written is not seen"
            client.produce(env.name, [Record(0, None, b"later")])
            time.sleep(0.2)
        assert {r.value for r in new.records()} == {b"later"}
        assert contents(all_records.records()) >= contents(numbered(4, 2))


def test_groups(env):
    client = env.client()
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 3)
        admin.commit_offsets(env.name, {(env.name, 0): (7, "note"), (env.name, 1): (8, "")})
        expected = {(env.name, 0): (7, "note"), (env.name, 1): (8, "")}
        assert admin.group_offsets(env.name, require_stable=True) == expected
        admin.delete_offsets(env.name, env.name, [0])
        assert admin.group_offsets(env.name) == {(env.name, 1): (8, "")}
        with client.join(env.name, env.name) as first:
            first.wait_assigned(lambda held: held == [0, 1, 2])
            with client.join(env.name, env.name) as second:
                second.wait_assigned(lambda held: 0 < len(held) < 3)
                group = admin.describe_group(env.name)
                assert len(group["members"]) == 2
            first.wait_assigned(lambda held: held == [0, 1, 2])
        admin.delete_group(env.name)
        assert admin.group_offsets(env.name) == {}


def test_secure_listener(env):
    cluster = env.cluster
    with cluster.admin() as admin:
        admin.create_topic(env.name, 1)
        admin.set_user("other", "secret")
        client = env.client(cluster.secure_bootstrap, cluster.security())
        try:
            client.produce(env.name, numbered(1, 1))
        except RuntimeError as error:
            assert "authorization failed" in str(error), error
        else:
            raise AssertionError("a user without rights wrote")
        for operation in ("read", "write"):
            admin.allow(services.USER, "topic", env.name, operation)
        admin.allow(services.USER, "group", "kafka-tool", "read")
    client.produce(env.name, numbered(10, 1))
    assert contents(client.dump(env.name)) == contents(numbered(10, 1))
    host, port = cluster.secure_bootstrap.split(":")
    ca_file = cluster.directory / "ca.pem"
    logins = [(services.USER, services.PASSWORD, "PLAIN"), ("other", "secret", "SCRAM-SHA-512")]
    logins.append((services.USER, services.PASSWORD, "SCRAM-SHA-512"))
    for user, password, mechanism in logins:
        connection = wire.Connection(host, int(port))
        connection.authenticate(user, password, ca_file, mechanism)
        connection.close()
        connection = wire.Connection(host, int(port))
        try:
            connection.authenticate(user, "wrong", ca_file, mechanism)
        except wire.KafkaError as error:
            assert error.code == 58, error
        else:
            raise AssertionError(f"{mechanism} took a wrong password of {user}")
        connection.close()


def test_lost_commit_answer(env):
    source, target = two_topics(env, 1000)
    commits = env.cluster.proxy.count("EndTxn")
    rule = env.cluster.proxy.fault("swallow", "EndTxn", committed=True)
    pass_through(env, source, target, 1000, "-X", "socket.timeout.ms=1000")
    assert rule.hits == 1 and env.cluster.proxy.count("EndTxn") >= commits + 2
    assert_passed_on(env, source, target)


def test_connection_cut(env):
    source, target = two_topics(env, 1000)
    proxy = env.cluster.proxy
    rules = [proxy.fault("cut", api) for api in ("Produce", "TxnOffsetCommit", "AddOffsetsToTxn")]
    rules.append(proxy.fault("cut", "Produce", when="response", skip=1))
    pass_through(env, source, target, 1000, "-X", "socket.timeout.ms=1000")
    assert [rule.hits for rule in rules] == [1, 1, 1, 1]
    assert_passed_on(env, source, target)


def test_held_frames(env):
    source, target = two_topics(env, 200)
    proxy = env.cluster.proxy
    seen = []
    hook = proxy.fault("call", "EndTxn", committed=True, hook=seen.append)
    start = time.monotonic()
    proxy.delay(100)
    pass_through(env, source, target, 200)
    assert time.monotonic() - start > 0.4  # begin, produce, offsets, commit: 0.2 s each
    proxy.delay(0)
    assert_passed_on(env, source, target)
    assert [(f.api, f.transactional_id) for f in seen] == [("EndTxn", "kafka-passthrough")]
    assert hook.hits == 1
    proxy.blackhole()
    healer = threading.Timer(2, proxy.heal)
    healer.start()
    start = time.monotonic()
    read = env.client(env.cluster.proxied_bootstrap).dump(target)
    healer.join()
    assert time.monotonic() - start > 1.5
    assert contents(read) == contents(numbered(200, 3))


def test_kill_and_pause(env):
    client = env.client()
    with env.cluster.admin() as admin:
        admin.create_topic(env.name, 1)
        client.produce(env.name, numbered(100, 1))
        env.cluster.kill(1)
        env.cluster.restart(1)
        assert contents(client.dump(env.name)) == contents(numbered(100, 1))
        env.cluster.pause(1)
        with env.cluster.admin(timeout_s=1) as impatient:
            try:
                impatient.offsets(env.name)
            except OSError:
                pass
            else:
                raise AssertionError("a paused broker answered")
        env.cluster.resume(1)
        assert admin.offsets(env.name) == {0: 100}
