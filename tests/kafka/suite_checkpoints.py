"""State follows its partitions through a checkpoint store: a new owner, or a process without its
state directory, replays only what no checkpoint holds. Each test ends exact."""

import contextlib
import json
import random
import re
import shutil
import signal
import subprocess
import time

from pipeline import EXCHANGE, SOURCE, Pipeline, build_programs, new_seed, wait_until

CLUSTER = {"nodes": 1}
NEEDS = (build_programs,)
TOPICS = (SOURCE, EXCHANGE)  # by stage
RESTORED = re.compile(
    r" restored stage=\w+ partition=(\d+) checkpoint=(\w+) offset=(\d+) .*replayed_records=(\d+)"
)


class Checkpoints:
    """A store of the test's own, and what lies in it."""

    def __init__(self, run):
        self.run, self.root = run, run.env.scratch / "checkpoints"
        self.root.mkdir()

    def options(self, interval="200ms"):
        return "--checkpoints", f"file://{self.root}", "--checkpoint-interval", interval

    def start(self, instance="one", *options, **started):
        return self.run.start(instance, *self.options(), *options, **started)

    def objects(self, kind):
        return [p for p in self.root.glob(f"chaos/*/*/{kind}/*") if len(p.name) == 64]

    def positions(self):
        """(topic, partition): the furthest offset that a manifest names."""
        found = {}
        for path in self.objects("manifests"):
            try:
                tasks = json.loads(path.read_text())["tasks"]
            except FileNotFoundError:  # deleted meanwhile
                continue
            for task in tasks:
                place = TOPICS[task["stage"]], task["partition"]
                found[place] = max(found.get(place, -1), task["offset"])
        return found

    def committed(self):
        with self.run.cluster.admin() as admin:
            offsets = admin.group_offsets(self.run.group, require_stable=True)
        return {place: at for place, (at, _) in offsets.items() if place[0] in TOPICS}

    def wait_covered(self):
        """Waits until all is consumed and checkpoints hold all that is committed."""
        self.run.wait_end()

        def covered():
            self.run.check_running()
            return self.positions() == self.committed()

        wait_until(covered, "checkpoints hold all that is committed")
        return self.committed()


def log_of(run, name):
    return (run.env.scratch / f"{name}.log").read_text(errors="replace")


def restored(said):
    """(partition, offset): how many records were replayed behind it, as the log says."""
    return [(int(p), int(at), int(count)) for p, _, at, count in RESTORED.findall(said)]


def replayed(said):
    """By all recoveries in this log."""
    return sum(map(int, re.findall(r" recovered .*replayed_records=(\d+)", said)))


def stop(run, child):
    child.send(signal.SIGTERM)
    run.ends(child, 0)


def serves_all(said):
    """How many partitions it has, as its log says."""
    assigned = sum(map(int, re.findall(r" assigned partitions=(\d+)", said)))
    return assigned - sum(map(int, re.findall(r" (?:released|lost:.*) partitions=(\d+)", said)))


def test_takeover(env):
    """One of two is killed when checkpoints hold everything: nothing at all is replayed. Then one
    whose checkpoints are behind: exactly what follows them."""
    with Pipeline(env, new_seed()) as run:
        store = Checkpoints(run)
        one, two = store.start("one"), store.start("two")
        run.feed(run.input[:2000])
        run.wait_committed()
        wait_until(
            lambda: serves_all(log_of(run, "one")) and serves_all(log_of(run, "two")), "both serve"
        )
        at = store.wait_covered()
        said = len(log_of(run, "two"))
        moved = len(at) - serves_all(log_of(run, "two"))
        assert moved > 0
        one.kill()
        wait_until(lambda: serves_all(log_of(run, "two")) == len(at), "two has all partitions")
        run.feed(run.input[2000:2010])
        run.wait_end()
        tasks = restored(log_of(run, "two")[said:])
        assert len(tasks) == moved and all(count == 0 for _, _, count in tasks), tasks
        assert replayed(log_of(run, "two")[said:]) == 0
        at = store.wait_covered()
        away = store.root.with_name("away")
        store.root.rename(away)
        run.feed(run.input[2010:3000])
        run.wait_end()
        behind = store.committed()
        two.kill()
        away.rename(store.root)
        shutil.rmtree(run.state("two"))
        two = store.start("two", log="again")
        run.wait_end()
        wait_until(lambda: len(restored(log_of(run, "again"))) == len(at), "all is restored")
        counts = {place: 0 for place in at}
        for place in at:
            for record in run.client.dump(place[0], partition=place[1], start=at[place]):
                counts[place] += record.offset < behind[place]
        tasks = restored(log_of(run, "again"))
        assert {offset for _, offset, _ in tasks} == set(at.values()), (tasks, at)
        assert sum(count for _, _, count in tasks) == sum(counts.values()), (tasks, counts)
        run.feed(run.input[3000:])
        run.wait_end()
        stop(run, two)
        run.check()


def test_state_directory_lost(env):
    """Restored whole; by an older copy that is put back too."""
    with Pipeline(env, new_seed()) as run:
        store = Checkpoints(run)
        child = store.start()
        run.feed(run.input[:1000])
        store.wait_covered()
        stop(run, child)
        shutil.copytree(run.state(), env.scratch / "copy")
        child = store.start()
        run.feed(run.input[1000:2000])
        at = store.wait_covered()
        child.kill()
        for number, prepare in enumerate(
            (lambda: None, lambda: (env.scratch / "copy").rename(run.state()))
        ):
            shutil.rmtree(run.state())
            prepare()
            child = store.start(log=f"lost-{number}")
            run.feed(run.input[2000 + number * 500 : 2500 + number * 500])
            run.wait_end()
            tasks = restored(log_of(run, f"lost-{number}"))
            assert len(tasks) == len(at), log_of(run, f"lost-{number}")
            assert replayed(log_of(run, f"lost-{number}")) == 0
            at = store.wait_covered()
            child.kill()
        run.feed(run.input[3000:])
        run.finish(*store.options())
        run.check()


def test_damaged_or_gone(env):
    """A file is cut, a bit turns, files are missing, all is gone: it is said, and replayed."""
    with Pipeline(env, new_seed()) as run:
        store = Checkpoints(run)
        run.feed(run.input[:1500])
        child = store.start()
        store.wait_covered()
        child.kill()

        def cut(path):
            path.write_bytes(path.read_bytes()[:-1])

        def turn(path):
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 1
            path.write_bytes(content)

        kept = store.root.with_name("kept")
        shutil.copytree(store.root, kept)
        total = None
        for number, (kind, damage) in enumerate(
            (
                ("files", cut),
                ("files", turn),
                ("manifests", turn),
                ("manifests", cut),
                ("files", lambda path: path.unlink()),
            )
        ):
            shutil.rmtree(store.root)
            shutil.copytree(kept, store.root)
            for path in store.objects(kind):
                damage(path)
            shutil.rmtree(run.state())
            child = store.start(log=f"damaged-{number}")
            wait_until(lambda: " recovered " in log_of(run, f"damaged-{number}"), "it goes on")
            child.kill()
            said = log_of(run, f"damaged-{number}")
            assert "a checkpoint can't be used" in said and not restored(said), said
            total = replayed(said) if total is None else total
            assert replayed(said) == total >= 1500, said
        shutil.rmtree(store.root)
        store.root.mkdir()
        shutil.rmtree(run.state())
        child = store.start(log="emptied")
        run.feed(run.input[1500:2500])
        store.wait_covered()
        said = log_of(run, "emptied")
        assert replayed(said) == total and "checkpoint can't" not in said and not restored(said)
        child.kill()
        shutil.rmtree(run.state())
        run.feed(run.input[2500:])
        run.finish(*store.options(), log="last")
        assert restored(log_of(run, "last"))
        run.check()


def test_killed_while_writing(env):
    """kill -9 in a loop, while checkpoints are written one after the other; now and then the state
    directory is lost, or another process goes on."""
    seed = new_seed()
    chance = random.Random(seed)
    with Pipeline(env, seed) as run:
        store = Checkpoints(run)
        feeder = run.feeding()
        for number in range(8):
            child = run.start(("one", "two")[number % 3 == 2], *store.options("100ms"))
            run.wait_committed()
            time.sleep(chance.uniform(0, 0.8))
            child.kill()
            if chance.random() < 0.5:
                shutil.rmtree(run.state(("one", "two")[number % 3 == 2]), ignore_errors=True)
        feeder.finish()
        run.finish(*store.options("100ms"))
        run.check()
        assert store.objects("manifests")


def test_no_place(env):
    """The store is not there, or no directory: said once, and the pipeline goes on; it is used as
    soon as it is there."""
    with Pipeline(env, new_seed()) as run:
        store = Checkpoints(run)
        store.root.rmdir()
        child = store.start()
        run.feed(run.input[:1000])
        run.wait_end()
        wait_until(lambda: "a checkpoint failed" in log_of(run, "one"), "it is said")
        store.root.write_text("no directory")
        run.feed(run.input[1000:2000])
        run.wait_end()
        assert not store.root.is_dir()
        store.root.unlink()
        store.root.mkdir()
        run.feed(run.input[2000:])
        store.wait_covered()
        said = log_of(run, "one")
        assert said.count("a checkpoint failed") == 1 and "checkpoint written" in said, said
        stop(run, child)
        run.check()


@contextlib.contextmanager
def small_disk(path):
    """A file system of 4 MiB there. OSError: this user may not mount one."""
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "tmpfs", str(path)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise OSError(done.stderr.strip())
    try:
        yield
    finally:
        subprocess.run(["umount", "--lazy", str(path)], check=True)


def fill(path):
    """Writes until there is no room left."""
    with open(path, "wb", buffering=0) as file, contextlib.suppress(OSError):
        while file.write(bytes(4096)):
            pass


def test_full_disk(env):
    """There is no room for checkpoints: said once, and the pipeline goes on; when there is room
    again they are whole, and a state that is lost comes back from them."""
    with Pipeline(env, new_seed()) as run, contextlib.ExitStack() as stack:
        store = Checkpoints(run)
        try:
            stack.enter_context(small_disk(store.root))
        except OSError as reason:
            print(f"     skipped: no file system can be mounted: {reason}")
            return
        filler = store.root / "filler"
        fill(filler)
        child = store.start()
        run.feed(run.input[:1500])
        run.wait_end()
        wait_until(lambda: "a checkpoint failed" in log_of(run, "one"), "it is said")
        assert "No space left" in log_of(run, "one") and not store.objects("manifests")
        run.feed(run.input[1500:2500])
        run.wait_end()
        filler.unlink()
        store.wait_covered()
        said = log_of(run, "one")
        assert said.count("a checkpoint failed") == 1, said
        child.kill()
        shutil.rmtree(run.state())
        child = store.start("one", log="again")
        run.feed(run.input[2500:])
        run.wait_end()
        assert restored(log_of(run, "again"))
        stop(run, child)
        run.check()


def test_offsets_deleted(env):
    """Where a checkpoint says that there was a position, nothing begins anew."""
    with Pipeline(env, new_seed()) as run:
        store = Checkpoints(run)
        run.feed(run.input[:2000])
        child = store.start()
        store.wait_covered()
        stop(run, child)
        shutil.rmtree(run.state())
        with env.cluster.admin() as admin:
            kept = admin.group_offsets(run.group)
            run.wait_left(admin)
            admin.delete_offsets(run.group, SOURCE, [1])
            run.refused(
                "partition 1", "no committed position", "checkpoint", options=store.options()
            )
            run.wait_left(admin)
            admin.commit_offsets(run.group, kept)
        run.feed(run.input[2000:])
        run.finish(*store.options())
        run.check()


def test_usage(env):
    with Pipeline(env, new_seed(), count=10) as run:
        place = ("--checkpoints", f"file://{env.scratch}")
        for options, part in (
            (("--checkpoints", "s3://bucket"), "not supported yet"),
            (("--checkpoints", "relative"), "expected file:///DIR"),
            ((*place, "--checkpoint-interval", "1ms"), "100ms to 1d"),
            (("--checkpoint-interval", "1s"), "add that"),
        ):
            run.refused(part, code=2, options=options)
        run.command("run", "--embedded", env.scratch / "embedded", *place, code=2)
