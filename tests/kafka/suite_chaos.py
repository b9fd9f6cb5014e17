"""A compiled pipeline through faults, on one broker: the short set. Each test ends exact."""

import random
import shutil
import signal
import time

from pipeline import EXCHANGE, SOURCE, Pipeline, build_programs, new_seed
from pipeline_model import START_MS, event, record

CLUSTER = {"nodes": 1, "proxied": True}
NEEDS = (build_programs,)


def test_undisturbed(env):
    with Pipeline(env, new_seed()) as run:
        run.feed(run.input)
        run.finish()
        model = run.check()
        for rows in (model.clean, model.totals, model.visits, model.late, model.refused):
            assert rows.total() > 10
        assert model.duplicates > 10


def test_kill_program(env):
    """kill -9 at random moments, and SIGTERM."""
    seed = new_seed()
    chance = random.Random(seed)
    with Pipeline(env, seed) as run:
        feeder = run.feeding()
        for number in range(6):
            child = run.start()
            run.wait_committed()
            time.sleep(chance.uniform(0, 0.5))
            if number % 2:
                child.send(signal.SIGTERM)
                run.ends(child, 0)
            child.kill()
        feeder.finish()
        run.finish()
        run.check()


def test_zombie(env):
    """SIGSTOP past the session: another process has its partitions when it wakes."""
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding()
        one = run.start("one")
        run.wait_committed()
        one.pause()
        two = run.start("two")
        since = run.committed()
        run.wait_committed(since=since)
        one.resume()
        run.wait_committed(200)
        feeder.finish()
        assert one.alive() and two.alive()
        for child in (one, two):
            child.send(signal.SIGTERM)
            run.ends(child, 0)
        run.finish()
        run.check()


def test_swallowed_commit(env):
    """The broker commits, and the answer is lost; then a commit that the broker never sees."""
    proxy = env.cluster.proxy
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding()
        run.start(proxied=True, socket_timeout_ms=1000)
        for when in ("response", "request", "response"):
            run.wait_committed()
            rule = proxy.fault("swallow", "EndTxn", when=when, committed=True)
            rule.wait(60)
        run.wait_committed()
        feeder.finish()
        run.wait_end()
        run.check()


def test_cut_in_transaction(env):
    """Connections break between the first row of a transaction and its end."""
    proxy = env.cluster.proxy
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding()
        run.start(proxied=True)
        for api in ("Produce", "AddPartitionsToTxn", "TxnOffsetCommit", "EndTxn"):
            run.wait_committed()
            for when in ("request", "response"):
                proxy.fault("cut", api, when=when).wait(60)
        proxy.fault("call", "TxnOffsetCommit", hook=lambda _: proxy.cut()).wait(60)
        run.wait_committed()
        feeder.finish()
        run.wait_end()
        run.check()


def test_state_directory(env):
    """The state is a cache: it may be gone, or be a copy that is older."""
    with Pipeline(env, new_seed()) as run:
        half = len(run.input) // 2
        run.feed(run.input[:half])
        run.finish()
        shutil.copytree(run.state(), env.scratch / "copy")
        run.feed(run.input[half : half + 500])
        run.finish()
        shutil.rmtree(run.state())
        (env.scratch / "copy").rename(run.state())
        run.feed(run.input[half + 500 : half + 1000])
        run.finish()
        shutil.rmtree(run.state())
        run.feed(run.input[half + 1000 :])
        run.finish()
        run.check()


def test_two_copies(env):
    """Started twice: on the same state, and with the same instance name elsewhere."""
    with Pipeline(env, new_seed()) as run:
        feeder = run.feeding()
        one = run.start()
        run.wait_committed()
        run.refused(str(run.state()), code=1)
        since = run.wait_committed()
        copy = run.start("one", state=run.state("copy"), log="copy")
        run.ends(one, 0, "another process runs as instance 'one'")
        run.wait_committed(since=since, more=200)
        feeder.finish()
        run.wait_end()
        copy.send(signal.SIGTERM)
        run.ends(copy, 0)
        run.check()


def test_offsets_deleted(env):
    """Where state or time records say that there were some, begins nothing anew."""
    with Pipeline(env, new_seed()) as run:
        run.feed(run.input[:2000])
        run.finish()
        with env.cluster.admin() as admin:
            kept = admin.group_offsets(run.group)
            run.wait_left(admin)
            admin.delete_offsets(run.group, SOURCE, [1])
            run.refused("partition 1", "no committed position", "state")
            run.wait_left(admin)
            admin.delete_group(run.group)
            run.refused("no committed position")
            shutil.rmtree(run.state())
            run.refused(EXCHANGE, "has records", "has committed nothing")
            offset, metadata = kept[SOURCE, 0]
            run.wait_left(admin)
            admin.commit_offsets(run.group, kept | {(SOURCE, 0): (offset - 5, metadata)})
            run.refused(f"offset {offset - 5} is committed, but {offset}")
            run.wait_left(admin)
            admin.commit_offsets(run.group, kept)
        run.feed(run.input[2000:])
        run.finish()
        run.check()


def test_partitions_added(env):
    """To a topic that is read: while the program runs, and before it starts."""
    with Pipeline(env, new_seed()) as run, env.cluster.admin() as admin:
        run.feed(run.input)
        child = run.start()
        run.wait_end()
        run.check()
        admin.add_partitions(SOURCE, 4)
        run.ends(child, 1, f"topic {SOURCE} grew from 3 to 4 partitions")
        run.refused(f"topic {SOURCE} has 4 partitions", "plan says 3", code=1)


def test_topic_made_anew(env):
    """A topic that is written is deleted and made again while the program runs; the one that is
    read, while it does not, so that the broker has forgotten the positions."""
    with Pipeline(env, new_seed()) as run, env.cluster.admin() as admin:
        run.feed(run.input[:1000])
        child = run.start()
        run.wait_end()
        run.check()
        admin.delete_topic("chaos.late")
        run.command("topics", "apply")
        run.ends(child, 1, "topic chaos.late was deleted and made anew")
        admin.delete_topic(SOURCE)
        run.make_source(admin)
        run.feed(run.input[:1000])
        run.refused("belongs to log")


def test_retention_overtakes(env):
    """Records that are gone before they were read stop the program; --accept-gap counts them."""
    with Pipeline(env, new_seed()) as run:
        run.feed(run.input[:1000])
        run.finish()
        run.feed(run.input[1000:])
        with env.cluster.admin() as admin:
            at = admin.group_offsets(run.group)[SOURCE, 1][0]
            before = run.dump(SOURCE)
            admin.delete_records(SOURCE, {1: at + 7})
            run.refused(f"topic {SOURCE}, partition 1 begins at offset {at + 7}", f"but {at} is")
        child = run.start("one", "--until-end", "--accept-gap")
        said = run.ends(child, 0, "going on behind a gap", "never_read=7")
        assert f"from={at} to={at + 7}" in said, said
        lost = [r for r in before if r.partition == 1 and at <= r.offset < at + 7]
        run.finish()
        run.check(source=[r for r in before if r not in lost], embedded=False, reconcile=False)


def test_record_too_large(env):
    """A row that a broker refuses stops the program; with a greater limit it goes on."""
    with Pipeline(env, new_seed()) as run, env.cluster.admin() as admin:
        admin.alter_topic("chaos.clean", {"max.message.bytes": "3000"})
        at = run.input[-1].timestamp_ms
        run.feed(run.input[:1000] + [event(0, at, category="x" * 5000)] + run.input[1000:])
        run.ends(run.start(), 1, "chaos.clean", "max.message.bytes")
        admin.alter_topic("chaos.clean", {"max.message.bytes": "1000000"})
        run.finish()
        run.check()


def test_poison(env):
    """Bytes that are no record, between good ones; also more of them than a record may have."""
    poison = [b"", b"{", b"\xff" * 1000, b"[" * 100000, b"{" + b" " * (2 << 20) + b"}"]
    with Pipeline(env, new_seed(), count=200) as run:
        records = list(run.input)
        for number, value in enumerate(poison):
            for partition in range(3):
                records.insert(number * 20, record(partition, "x", START_MS, value))
        run.feed(records)
        run.finish()
        model = run.check(embedded=False)
        assert model.refused.total() >= 3 * len(poison)
