"""The log on Kafka (runtime/log_kafka.c) as the engine uses it: processes of transport_driver.c are
told what to do, on one broker, some of them through the proxy."""

import os
import signal
import subprocess
import time

import newer_client
from client import Record

CLUSTER = {"nodes": 1, "proxied": True, "secure": True}
SESSION_S = 6
PLAN = "plan-1"


def build_driver(env):
    command = ["make", "--no-print-directory", "-s", f"BUILD={env.build}"]
    subprocess.run(command + [str(env.build / "transport-driver")], check=True)


NEEDS = (build_driver,)


class Driver:
    """A process with a log. Its methods are commands: d("ready 5000") gives the answer's words."""

    def __init__(
        self,
        env,
        instance="one",
        proxied=False,
        timeout_ms=10000,
        plan=PLAN,
        group=None,
        library=None,
        **properties,
    ):
        cluster = env.cluster
        self.log = open(env.scratch / f"{instance}.log", "ab")
        self.process = subprocess.Popen(
            [env.program("transport-driver")],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self.log,
            text=True,
            env=dict(
                os.environ, PLAN_HASH=plan, **({"LD_LIBRARY_PATH": library} if library else {})
            ),
        )
        bootstrap = cluster.proxied_bootstrap if proxied else cluster.bootstrap
        given = {"bootstrap.servers": bootstrap, **properties}
        settings = " ".join(f"{name}={value}" for name, value in given.items())
        self.expect("ok", f"open {group or env.name} {instance} {timeout_ms} {settings}")

    def __call__(self, command):
        self.start(command)
        return self.answer()

    def start(self, command):
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self):
        line = self.process.stdout.readline()
        assert line, f"the driver ended: {open(self.log.name).read()[-2000:]}"
        return line.strip()

    def expect(self, wanted, command):
        answer = self(command)
        assert answer == wanted, f"{command}: {answer}, not {wanted}"

    def failure(self, command, *parts):
        answer = self(command)
        for part in ("failed", *parts):
            assert part in answer, f"{command}: {answer}: no '{part}'"

    def poll(self, ms=20000):
        return self(f"poll {ms}").split()

    def join(self, *topics, partitions=1):
        for topic in topics:
            self.expect("ok", f"topic {topic} {partitions}")
        self.expect("ok", "join " + topics[0])

    def member(self, *topics, partitions=1):
        """Joined for the first topic, all of whose partitions it gets; ready to write."""
        self.join(*topics, partitions=partitions)
        assigned = self.poll()
        assert assigned == ["assigned"] + [f"{topics[0]}/{p}" for p in range(partitions)], assigned
        for partition in range(partitions):
            assert self(f"get {topics[0]} {partition}").split()[0] in ("new", "found")
        self.expect("ready", "ready 30000")

    def send(self, number):
        self.process.send_signal(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.send(signal.SIGCONT)
        self.process.kill()
        self.process.wait()
        self.process.stdin.close()
        self.process.stdout.close()
        self.log.close()


def topics(env, partitions=1, configs=None):
    names = f"{env.name}-in", f"{env.name}-out"
    with env.cluster.admin() as admin:
        for name in names:
            admin.create_topic(name, partitions, configs=configs)
    return names


def check_values(env, topic, wanted):
    """What a read_committed reader sees; the markers of a commit may take a moment."""
    deadline = time.monotonic() + 20
    while True:
        found = [record.value for record in env.client().dump(topic)]
        if found == wanted or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert found == wanted, found


def commit_one(driver, source, target, number):
    driver.expect("ok", f"append {target} 0 k value{number}")
    driver.expect("ok", f"put {source} 0 {number} state{number}")
    return driver("commit")


def wait_until(satisfied, timeout_s=60):
    deadline = time.monotonic() + timeout_s
    while not satisfied():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.1)


def recover(driver, source):
    """After an abort, as the engine does: the committed position."""
    driver.expect("ready", "ready 60000")
    return driver(f"get {source} 0").split()


def persist(driver, source, target, number):
    """Commits what the number stands for, once, whatever happens to the group meanwhile."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        if driver.poll(0)[0] in ("lost", "revoked"):
            driver.expect("ok", "release")
            assert driver.poll(60000)[0] == "assigned"
        if recover(driver, source)[1] == str(number):
            return
        if commit_one(driver, source, target, number) == "committed":
            return
    raise AssertionError("waited too long")


# One process ----------------------------------------------------------------------------------


def test_commit_is_atomic(env):
    source, target = topics(env)
    with Driver(env) as driver:
        driver.member(source, target)
        driver.expect("new 0 0", f"get {source} 0")
        driver.expect("ok", f"append {target} 0 k first")
        driver.expect("ok", f"put {source} 0 5 state")
        check_values(env, target, [])
        driver.expect("new 0 0", f"get {source} 0")
        driver.expect("committed", "commit")
        driver.expect("found 5 0 state", f"get {source} 0")
        check_values(env, target, [b"first"])
        driver.expect("ok", f"append {target} 0 k second")
        driver.expect("ok", f"put {source} 0 6 lost")
        driver.expect("ok", "abort")
        driver.expect("ready", "ready 30000")
        driver.expect("found 5 0 state", f"get {source} 0")
        driver.expect("ok", f"put {source} 0 7 only")
        driver.expect("committed", "commit")  # positions alone
        driver.expect("committed", "commit")  # nothing
        driver.expect("found 7 0 only", f"get {source} 0")
        check_values(env, target, [b"first"])


def test_keys_and_values(env):
    source, target = topics(env)
    with Driver(env) as driver:
        driver.member(source, target)
        for command in ("k v", "- v", "k -", "- -"):
            driver.expect("ok", f"append {target} 0 {command}")
        driver.expect("committed", "commit")
        driver.expect("ok", f"reader {target} 0 0")
        driver.expect("records 4 0:'k'='v' 1:-='v' 2:'k'=- 3:-=-", f"read {target} 0 100 - 10000")
    env.client().produce(target, [Record(0, b"", b"")])
    with Driver(env) as driver:
        driver.join(source, target)
        driver.expect("ok", f"reader {target} 0 5")
        driver.expect("records 6 5:''=''", f"read {target} 0 100 - 10000")


def test_gaps_and_ends(env):
    source, target = topics(env)
    client = env.client()
    client.produce(target, [Record(0, None, b"a")], transactional_id="x")  # 0, marker 1
    client.produce(target, [Record(0, None, b"b")], transactional_id="x", end="abort")  # 2, 3
    client.produce(target, [Record(0, None, b"c")], transactional_id="x")  # 4, 5
    with Driver(env) as driver:
        driver.join(source, target)
        driver.expect("ok", f"reader {target} 0 0")
        driver.expect("records 1 0:-='a'", f"read {target} 0 1 - 10000")
        driver.expect("end 3", f"read {target} 0 1 3 10000")  # before: in the middle of a gap
        driver.expect("records 5 4:-='c'", f"read {target} 0 10 - 10000")
        driver.expect("end 6", f"read {target} 0 10 - 10000")
        driver.expect("6", f"end {target} 0")
        driver.expect("yes", f"at-end {target} 0 6 20000")
        client.produce(target, [Record(0, None, b"d")], transactional_id="x", end="open")
        driver.expect("no", f"not-at-end {target} 0 6 20000")  # held back: not the end
        driver.expect("end 6", f"read {target} 0 10 - 1000")
        with env.cluster.admin() as admin:
            admin.fence("x")
        driver.expect("8 0", f"wait-end {target} 0 8 20000")
        driver.expect("yes", f"at-end {target} 0 8 20000")


def test_reader_begins_again(env):
    """What was prefetched is gone with a reader, also right after it was opened."""
    source, target = topics(env)
    env.client().produce(source, [Record(0, None, b"%d" % i) for i in range(5000)])
    with Driver(env) as driver:
        driver.join(source, target)
        for offset in (0, 4000, 17, 4990, 0, 2500):
            driver.expect("ok", f"reader {source} 0 {offset}")
            answer = driver(f"read {source} 0 3 - 20000").split()
            wanted = [f"{i}:-='{i}'" for i in range(offset, offset + 3)]
            assert answer == ["records", str(offset + 3)] + wanted, answer
            driver.expect("ok", f"reader-close {source} 0")


def test_slow_transaction(env):
    """The coordinator gives a transaction up: nothing of it is seen, and work goes on."""
    source, target = topics(env)
    with Driver(env, timeout_ms=2000) as driver:
        driver.member(source, target)
        assert commit_one(driver, source, target, 1) == "committed"
        with env.cluster.admin() as admin:  # a commit is answered before its markers are written
            wait_until(lambda: not admin.open_transactions(target)[0])
            driver.expect("ok", f"append {target} 0 k slow")
            wait_until(lambda: admin.open_transactions(target)[0])
            wait_until(lambda: not admin.open_transactions(target)[0])
        driver.expect("ok", f"put {source} 0 2 slow")
        driver.expect("aborted", "commit")
        assert recover(driver, source) == ["found", "1", "0", "state1"]
        assert commit_one(driver, source, target, 2) == "committed"
    check_values(env, target, [b"value1", b"value2"])


def test_record_too_large(env):
    source, target = topics(env, configs={"max.message.bytes": "2000"})
    with Driver(env) as driver:
        driver.member(source, target)
        driver.expect("ok", f"append {target} 0 k {'x' * 5000}")
        answer = driver("commit")
        assert answer.startswith("broken") and target in answer, answer
        assert "max.message.bytes" in answer, answer
    check_values(env, target, [])


# Requests that get lost -----------------------------------------------------------------------

OF_A_TRANSACTION = (
    "AddPartitionsToTxn",
    "Produce",
    "AddOffsetsToTxn",
    "TxnOffsetCommit",
    "EndTxn",
)


def test_lost_answers(env):
    """Whatever answer of a transaction is lost, it is committed once, and its producer, of which a
    request may still arrive, is used no more."""
    source, target = topics(env)
    proxy = env.cluster.proxy
    with Driver(env, proxied=True, **{"socket.timeout.ms": 1000}) as driver:
        driver.member(source, target)
        number = 0
        for api in OF_A_TRANSACTION:
            for action in ("swallow", "cut"):
                number += 1
                opened = proxy.count("InitProducerId")
                rule = proxy.fault(action, api, when="response")
                outcome = commit_one(driver, source, target, number)
                assert rule.hits == 1, (api, action)
                if outcome != "committed":
                    assert outcome == "aborted", (api, action, outcome)
                    if recover(driver, source)[1] != str(number):
                        assert commit_one(driver, source, target, number) == "committed"
                assert commit_one(driver, source, target, number + 100) == "committed"
                assert commit_one(driver, source, target, number) == "committed"
                assert proxy.count("InitProducerId") > opened, (api, action)
        wanted = [
            b"value%d" % n for first in range(1, number + 1) for n in (first, first + 100, first)
        ]
        check_values(env, target, wanted)


def test_lost_requests(env):
    source, target = topics(env)
    proxy = env.cluster.proxy
    with Driver(env, proxied=True, **{"socket.timeout.ms": 1000}) as driver:
        driver.member(source, target)
        number = 0
        for api in OF_A_TRANSACTION:
            number += 1
            rule = proxy.fault("swallow", api, when="request")
            outcome = commit_one(driver, source, target, number)
            assert rule.hits == 1, api
            if outcome != "committed":
                assert outcome == "aborted", (api, outcome)
                if recover(driver, source)[1] != str(number):
                    assert commit_one(driver, source, target, number) == "committed"
        check_values(env, target, [b"value%d" % n for n in range(1, number + 1)])


def test_cut_off(env):
    """No broker for longer than a transaction lasts."""
    source, target = topics(env)
    proxy = env.cluster.proxy
    with Driver(env, proxied=True, timeout_ms=3000, **{"socket.timeout.ms": 1000}) as driver:
        driver.member(source, target)
        assert commit_one(driver, source, target, 1) == "committed"
        driver.expect("ok", f"append {target} 0 k lost")
        proxy.refuse()
        driver.expect("ok", f"put {source} 0 2 lost")
        driver.expect("aborted", "commit")
        driver.expect("wait", "ready 500")
        proxy.refuse(on=False)
        assert recover(driver, source) == ["found", "1", "0", "state1"]
        assert commit_one(driver, source, target, 2) == "committed"
    check_values(env, target, [b"value1", b"value2"])


def test_broker_killed(env):
    """kill -9 of the only broker, before a commit and after it."""
    with env.start_cluster(nodes=1) as cluster:
        shared, env.cluster = env.cluster, cluster
        try:
            source, target = topics(env)
            with Driver(env, timeout_ms=30000) as driver:
                driver.member(source, target)
                assert commit_one(driver, source, target, 1) == "committed"
                driver.expect("ok", f"append {target} 0 k value2")
                driver.expect("ok", f"put {source} 0 2 state2")
                cluster.kill(1)
                driver.start("commit")
                cluster.restart(1)
                driver.answer()
                persist(driver, source, target, 2)
                persist(driver, source, target, 3)
                driver.expect("found 3 0 state3", f"get {source} 0")
            check_values(env, target, [b"value1", b"value2", b"value3"])
        finally:
            env.cluster = shared


def test_require_stable(env):
    """A position is not read while a transaction that moves it is being committed."""
    source, target = topics(env)
    proxy = env.cluster.proxy
    with Driver(env, proxied=True, timeout_ms=20000) as driver, Driver(env, "two") as other:
        driver.member(source, target)
        for topic in (source, target):
            other.expect("ok", f"topic {topic} 1")
        gates = proxy.fault("delay", "EndTxn", when="request", delay_ms=1500)
        driver.expect("ok", f"append {target} 0 k v")
        driver.expect("ok", f"put {source} 0 1 moved")
        driver.start("commit")
        gates.wait()
        other.expect("new 0 0", f"get-loose {source} 0")
        other.expect("found 1 0 moved", f"get {source} 0")
        assert driver.answer() == "committed"


# Several processes ----------------------------------------------------------------------------


def test_zombie_is_fenced(env):
    """A process that was stopped past its session's end cannot commit what it had read before."""
    source, target = topics(env)
    with Driver(env, "old") as old, Driver(env, "new") as new:
        old.member(source, target)
        assert commit_one(old, source, target, 1) == "committed"
        old.expect("ok", f"append {target} 0 k zombie")
        old.expect("ok", f"put {source} 0 2 zombie")
        old.send(signal.SIGSTOP)
        new.join(source, target)
        assert new.poll(60000) == ["assigned", f"{source}/0"]
        new.expect("found 1 0 state1", f"get {source} 0")
        new.expect("ready", "ready 30000")
        assert commit_one(new, source, target, 5) == "committed"
        old.send(signal.SIGCONT)
        old.expect("aborted", "commit")
        assert old.poll()[0] == "lost"
        old.expect("ok", "release")
        new.expect("found 5 0 state5", f"get {source} 0")
    check_values(env, target, [b"value1", b"value5"])


def test_same_instance_twice(env):
    """The later one has it; the earlier one says so and writes nothing more."""
    source, target = topics(env)
    with Driver(env) as old, Driver(env) as new:
        old.member(source, target)
        assert commit_one(old, source, target, 1) == "committed"
        old.expect("ok", f"append {target} 0 k old")
        new.member(source, target)
        assert commit_one(new, source, target, 2) == "committed"
        outcome = old("commit")
        assert outcome.startswith(("fenced", "aborted")), outcome
        answer = old("poll 20000")
        if answer.startswith("lost"):  # what it had, before what for
            old.expect("ok", "release")
            answer = old("poll 20000")
        assert "failed" in answer and "another process runs as instance 'one'" in answer, answer
        old.failure("ready 1000", "another process runs as instance 'one'")
        assert commit_one(new, source, target, 3) == "committed"
    check_values(env, target, [b"value1", b"value2", b"value3"])


def test_rebalance(env):
    """Two share the partitions; a revoked one is committed before it goes, and found there."""
    source, target = topics(env, partitions=4)
    with Driver(env, "a") as a, Driver(env, "b") as b:
        a.member(source, target, partitions=4)
        b.join(source, target, partitions=4)
        assert a.poll() == ["revoked"] + [f"{source}/{p}" for p in range(4)]
        a.expect("ok", f"append {target} 0 k v")
        for p in range(4):
            a.expect("ok", f"put {source} {p} {p + 1} state{p}")
        a.expect("committed", "commit")
        a.expect("ok", "release")
        halves = [a.poll(), b.poll()]
        parts = sorted(part for half in halves for part in half[1:])
        assert [len(half) for half in halves] == [3, 3], halves
        assert parts == [f"{source}/{p}" for p in range(4)], halves
        for part in halves[1][1:]:
            p = int(part[-1])
            b.expect(f"found {p + 1} 0 state{p}", f"get {source} {p}")
        b.expect("ok", "close")  # a static member: its place is kept for the session
        a.expect("nothing", "poll 2000")
        assert a.poll(60000)[0] == "revoked"
        a.expect("ok", "release")
        assert a.poll() == ["assigned"] + [f"{source}/{p}" for p in range(4)]


def test_quick_restart(env):
    """Within the session a restarted process has its partitions again, and nobody else notices."""
    source, target = topics(env, partitions=2)
    with Driver(env, "a") as a:
        a.member(source, target, partitions=2)
        with Driver(env, "b") as b:
            b.join(source, target, partitions=2)
            assert a.poll()[0] == "revoked"
            a.expect("ok", "release")
            mine, theirs = a.poll(), b.poll()
            assert len(mine) == len(theirs) == 2
        with Driver(env, "b") as b:
            b.join(source, target, partitions=2)
            assert b.poll() == theirs
            a.expect("nothing", f"poll {SESSION_S * 1500}")


# Topics that change ---------------------------------------------------------------------------


def test_other_plan(env):
    source, target = topics(env)
    with Driver(env) as driver:
        driver.member(source, target)
        assert commit_one(driver, source, target, 1) == "committed"
    with Driver(env, plan="plan-2") as driver:
        driver.join(source, target)
        driver.failure(f"get {source} 0", "plan-1", "plan-2")


def test_topic_made_anew(env):
    """While it runs, and by what was committed for the topic that was: here, for another one, since
    a broker forgets positions of a deleted topic at a time of its own."""
    source, target = topics(env)
    with Driver(env) as driver:
        driver.member(source, target)
        assert commit_one(driver, source, target, 1) == "committed"
        with env.cluster.admin() as admin:
            wait_until(lambda: admin.group_offsets(env.name))  # its marker may still be under way
            (committed,) = admin.group_offsets(env.name).values()
            admin.create_topic(f"{env.name}-other", 1)
            admin.commit_offsets(f"{env.name}-2", {(f"{env.name}-other", 0): committed})
            admin.delete_topic(target)
            admin.create_topic(target, 1)
            driver.failure("poll 30000", target, "made anew")
    with Driver(env, group=f"{env.name}-2") as driver:
        driver.expect("ok", f"topic {env.name}-other 1")
        driver.failure(f"get {env.name}-other 0", f"{env.name}-other", "made anew")


def test_topic_grows(env):
    source, target = topics(env, partitions=2)
    with Driver(env) as driver:
        driver.failure(f"topic {source} 3", source, "has 2 partitions", "plan says 3")
    with Driver(env) as driver:
        driver.member(source, target, partitions=2)
        with env.cluster.admin() as admin:
            admin.add_partitions(target, 3)
        driver.failure("poll 30000", target, "grew from 2 to 3")


def test_no_topic(env):
    with Driver(env) as driver:
        driver.failure(f"topic {env.name}-none 1", f"no topic {env.name}-none", "topics apply")
    with env.cluster.admin() as admin:
        assert f"{env.name}-none" not in admin.topics()


def test_retention_overtakes(env):
    source, target = topics(env)
    env.client().produce(source, [Record(0, None, b"%d" % i) for i in range(10)])
    with env.cluster.admin() as admin:
        admin.delete_records(source, {0: 7})
    with Driver(env) as driver:
        driver.join(source, target)
        driver.expect("new 7 7", f"get {source} 0")
        driver.expect("ok", f"reader {source} 0 3")
        driver.failure(f"read {source} 0 10 - 20000", "starts at offset 7", "position is 3")
        driver.expect("7", f"begin {source} 0")
        driver.expect("ok", f"reader-close {source} 0")
        driver.expect("ok", f"reader {source} 0 7")
        driver.expect("records 10 7:-='7' 8:-='8' 9:-='9'", f"read {source} 0 10 - 20000")
        driver.expect("ok", f"reader-close {source} 0")
        driver.expect("ok", f"reader {source} 0 99")
        driver.failure(f"read {source} 0 10 - 30000", "ends at offset 10", "position is 99")


# Security -------------------------------------------------------------------------------------


def secure(env, **changed):
    return {"bootstrap.servers": env.cluster.secure_bootstrap, **env.cluster.security(), **changed}


def test_tls_and_sasl(env):
    source, target = topics(env)
    with Driver(env, **escaped(secure(env))) as driver:
        driver.member(source, target)
        assert commit_one(driver, source, target, 1) == "committed"
    check_values(env, target, [b"value1"])


def test_scram(env):
    """By a librdkafka that can do it with these brokers, whichever the programs were built with."""
    library = str(newer_client.directory(env.build))
    source, target = topics(env)
    scram = env.cluster.security(mechanism="SCRAM-SHA-512")
    login = {"bootstrap.servers": env.cluster.secure_bootstrap, **scram}
    with Driver(env, library=library, **escaped(login)) as driver:
        driver.member(source, target)
        assert commit_one(driver, source, target, 1) == "committed"
    check_values(env, target, [b"value1"])
    login["sasl.password"] = "open-sesame-417"
    with Driver(env, "two", library=library, **escaped(login)) as driver:
        driver.failure(f"topic {env.name} 1", "refuse", "password")
        assert "open-sesame-417" not in (env.scratch / "two.log").read_text()


def test_wrong_password(env):
    secret = "open-sesame-417"
    with Driver(env, **escaped(secure(env, **{"sasl.password": secret}))) as driver:
        driver.failure(f"topic {env.name} 1", "refuse", "password")
        said = (env.scratch / "one.log").read_text()
        assert secret not in said, said
        assert "uthentication" in said, said


def escaped(properties):
    """The driver's words have no spaces."""
    return {name: value.replace(" ", "%20") for name, value in properties.items()}
