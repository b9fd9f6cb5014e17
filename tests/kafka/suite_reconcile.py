"""`NAME traffic`, `reconcile` and `inspect` of a pipeline with every fault and every kind of row,
on one broker: exact through kills, and whatever is not as it should be is named."""

import base64
import json
import os
import re
import subprocess
import time

import services
from client import Record
from processes import Child

CLUSTER = {"nodes": 1, "properties": {"group.initial.rebalance.delay.ms": 0}}
SOURCE = "meter.raw"
GROUP = "pipec.meters"
LIMIT_S = 180
PARTITIONS = 3
# Of the traffic that has been: 400 s of events, which end before those of now begin.
PAST_START = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 420))


def build_program(env):
    """build/kafka-meters, of meters.pipe."""
    make = ["make", "--no-print-directory", "-s", f"BUILD={env.build}", str(env.build / "pipec")]
    subprocess.run(make + [str(env.build / "libpipe.a")], check=True, cwd=services.ROOT)
    command = [env.build / "pipec", "build", "tests/kafka/meters.pipe", "-o"]
    command += [env.build / "kafka-meters", "--out", env.build / "kafka-meters.generated"]
    home = dict(os.environ, PIPEC_HOME=str(services.ROOT))
    subprocess.run(command, check=True, cwd=services.ROOT, env=home, stdout=subprocess.DEVNULL)


NEEDS = (build_program,)


def surroundings(env):
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_KAFKA_")}
    return dict(clean, PIPE_KAFKA_BOOTSTRAP=env.cluster.bootstrap)


def call(env, *arguments, code=0):
    done = subprocess.run(
        [env.program("kafka-meters"), *map(str, arguments)],
        env=surroundings(env),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == code, (arguments, done.returncode, done.stdout, done.stderr)
    return done


def start(env, name, *arguments):
    command = [env.program("kafka-meters"), *map(str, arguments), "--progress", "never"]
    return Child(command, env.scratch / f"{name}.log", env=surroundings(env))


def start_run(env, name):
    return start(env, name, "run", "--state", env.scratch / name, "--commit-interval", "50ms")


def await_that(condition, program, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert program.alive(), (what, program.tail())
        assert time.monotonic() < end, (what, program.tail())
        time.sleep(0.05)


def traffic_position(admin, seed):
    """Records that the traffic of a seed has committed."""
    found = admin.group_offsets(f"pipec.meters.traffic.gauges.{seed}")
    return found.get((SOURCE, 0), (0, ""))[0]


def end_runs(env, programs):
    """Lets them read everything, until nothing moves any more, and stops them."""
    steady = []

    def is_drained():
        lines = call(env, "inspect", "offsets").stdout
        steady.append((time.monotonic(), lines))
        while len(steady) > 1 and steady[-1][0] - steady[0][0] > 5:
            steady.pop(0)
        same = all(text == lines for _, text in steady)
        return same and steady[-1][0] - steady[0][0] > 3 and len(lines.splitlines()) > 1

    await_that(is_drained, programs[0], "drained")
    for program in programs:
        program.stop(60)
        assert program.process.returncode == 0, program.tail()


def reconcile(env, code=0, *more):
    done = subprocess.run(
        [env.program("kafka-meters"), "reconcile", "--json", *more],
        env=surroundings(env),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == code, (done.returncode, wrong_in(done), done.stderr)
    return json.loads(done.stdout) if done.stdout.startswith("{") else done.stderr


def wrong_in(done):
    """What of a report says that it is not exact."""
    if not done.stdout.startswith("{"):
        return done.stdout
    report = json.loads(done.stdout)
    layers = [layer for layer in report["layers"] if not layer["equal"]]
    return layers, [check for check in report["checks"] if not check["holds"]], report["error"]


def layer_of(report, name):
    (layer,) = [layer for layer in report["layers"] if layer["name"] == name]
    return layer


def past_traffic():
    """As fast as it goes."""
    return ["traffic", "--rate", "20/s", "--count", 8000, "--seed", 2, "--start", PAST_START]


def test_01_exact_through_kills(env):
    """Two processes and two generators; one of each is killed."""
    call(env, "topics", "apply", "--sources")
    with env.cluster.admin() as admin:
        runs = [start_run(env, "a"), start_run(env, "b")]
        past = start(env, "past", *past_traffic())
        # It may send all within one look: then only the kill of the slow one counts.
        await_that(lambda: traffic_position(admin, 2) > 0 or not past.alive(), past, "begun")
        past.kill()
        past = start(env, "past", *past_traffic())
        options = ["traffic", "--rate", "400/s", "--seconds", 20, "--commit-interval", "20ms"]
        slow = start(env, "slow", *options)
        await_that(lambda: traffic_position(admin, 1) > 800, slow, "begun")
        slow.kill()
        runs[0].kill()
        before = traffic_position(admin, 1)
        slow = start(env, "slow", *options)
        runs[0] = start_run(env, "a")
        for program in (slow, past):
            assert program.wait(LIMIT_S) and program.process.returncode == 0, program.tail()
        assert traffic_position(admin, 1) > before > 800
    end_runs(env, runs)
    report = reconcile(env)
    assert report["exact"] is True and report["group"] == GROUP
    raw = layer_of(report, "readings")
    assert raw["ledger"] is True and raw["rows"] > 16000, raw
    for layer in report["layers"]:
        assert layer["rows"] > 0 and layer["equal"], layer
    reasons = {part["label"] for part in layer_of(report, "refused_topic")["parts"]}
    assert {"load_negative", "event_time_ahead", "undecodable"} <= reasons, reasons
    checks = {check["left"]: check for check in report["checks"]}
    assert checks["readings: read"]["relation"] == "=", checks["readings: read"]
    assert checks["readings: read"]["left_value"] == raw["rows"]


def test_02_ledgers(env):
    """Of each seed its own; the same text from both commands; another text is noticed."""
    written = env.scratch / "written.jsonl"
    done = call(env, *past_traffic(), "--progress", "never", "--ledger", written)
    assert "0 events, 0 records" in done.stderr and "the last" in done.stderr, done.stderr
    reconcile(env, 0, "--ledger", str(written), "--ledger-out", str(env.scratch / "made"))
    made = {path.name for path in env.scratch.glob("made*")}
    assert made == {"made.readings.gauges.1", "made.readings.gauges.2"}, made
    text = written.read_text()
    assert (env.scratch / "made.readings.gauges.2").read_text() == text
    written.write_text(text.replace('"partition":1', '"partition":2', 1))
    report = reconcile(env, 1, "--ledger", str(written))
    assert "not what the generator sends" in layer_of(report, "readings")["trouble"]
    for wrong, part in (("--rate", "--rate 21"), ("--count", "was begun with more than that")):
        given = {"--rate": "20/s", "--count": 8000, wrong: "21/s" if wrong == "--rate" else 10}
        flat = [str(word) for pair in given.items() for word in pair]
        done = call(env, "traffic", "--seed", 2, *flat, code=3)
        assert part in done.stderr, done.stderr


def test_03_spaces_of_seeds(env):
    """No meter and no reading is in the traffic of two seeds."""
    keys = {}
    for record in env.client().dump("meter.once"):
        value = record.value if record.value.startswith(b"{") else None
        assert value is not None, record
        row = json.loads(value)
        keys.setdefault(row["reading"] >> 40, set()).add(row["meter"])
    assert set(keys) == {0, 1}, set(keys)
    assert not keys[0] & keys[1]


def test_04_inspect(env):
    topics = call(env, "inspect").stdout
    assert len(re.findall(r"^meter\.raw +[012] +0 +[0-9]+$", topics, re.M)) == PARTITIONS, topics
    offsets = call(env, "inspect", "offsets").stdout.splitlines()
    assert len(offsets) > 2 * PARTITIONS and offsets[0].split()[0] == "stage", offsets
    with env.cluster.admin() as admin:
        committed = admin.group_offsets(GROUP)
    for line in offsets[1:]:
        stage, partition, offset = line.split()[:3]
        topic = SOURCE if stage == "readings" else f"pipec.meters.{stage}.exchange"
        assert committed[(topic, int(partition))][0] == int(offset), (line, committed.keys())
    assert "20" in call(env, "inspect", "watermarks").stdout
    assert "readings" in call(env, "inspect", "state").stdout
    lines = call(env, "inspect", "dump", "meter.refused", "--limit", 2).stdout.splitlines()
    places = [(json.loads(line)["partition"], json.loads(line)["offset"]) for line in lines]
    assert len(places) == 2 and places == sorted(places), lines
    assert "did you mean offsets?" in call(env, "inspect", "offstes", "--group", "x", code=2).stderr


def test_05_open_transaction(env):
    """Rows that are not decided are waited for; in vain: that is said, and not guessed."""
    client = env.client(properties={"transaction.timeout.ms": "60000"})
    client.produce("meter.late", [Record(0, b"", b"{}")], transactional_id="open", end="open")
    assert "a transaction stays open" in reconcile(env, 1)["error"]
    with env.cluster.admin() as admin:
        admin.fence("open")
        admin.wait_stable("meter.late")
    assert reconcile(env)["exact"] is True


def varint_end(data, at):
    while data[at] & 0x80:
        at += 1
    return at + 1


def first_counter(value):
    """Where the first counter that is not 0 begins, in a task's value (engine_commit.c)."""
    at = 1
    for kind in "nnbnnn..nb":
        if kind == ".":
            at += 1
            continue
        begin, at = at, varint_end(value, at)
        if kind == "b":
            assert value[begin] < 0x80
            at += value[begin] >> 1
    return varint_end(value, at)


def with_counter_changed(metadata):
    raw = bytearray(base64.b64decode(metadata))
    head = 2 + raw[1] + 16 + 8  # version, plan hash, topic id, first offset
    raw[head + first_counter(raw[head:])] ^= 1
    return base64.b64encode(raw).decode()


def test_06_counters_and_positions(env):
    """What a group has committed, changed by hand."""
    place = (SOURCE, 1)
    with env.cluster.admin() as admin:
        sound = admin.group_offsets(GROUP)[place]
        admin.commit_offsets(GROUP, {place: (sound[0], with_counter_changed(sound[1]))})
        report = reconcile(env, 1)
        wrong = [check for check in report["checks"] if not check["holds"]]
        assert [check["left"] for check in wrong if check["group"] == "counters"] == [
            "stage readings, partition 1: committed counter read of readings"
        ], wrong
        assert [check["left"] for check in wrong if check["group"] == "ledger"][0] == (
            "readings: read"
        ), wrong
        assert all(layer["equal"] for layer in report["layers"])
        admin.commit_offsets(GROUP, {place: (sound[0] - 1, sound[1])})
        assert "somebody has set the group's offsets" in reconcile(env, 3)["error"]
        admin.commit_offsets(GROUP, {place: sound})
    assert reconcile(env)["exact"] is True
    assert "nothing was ever committed" in reconcile(env, 1, "--group", "none")["error"]


def test_07_others_rows(env):
    """A row too many, of a topic and of one that a table follows: which, and where it stands. What
    was there before is not told again, so each has a layer of its own."""
    rows = {
        "meter_topic": ("meter.windows", b'{"meter":"forged"}'),
        "site_topic": ("site.windows", b'{"site":"forged"}'),
    }
    for name, (topic, value) in rows.items():
        env.client().produce(topic, [Record(0, b"key", value)])
        with env.cluster.admin() as admin:
            end = admin.offsets(topic)[0]
        difference = [d for d in layer_of(reconcile(env, 1), name)["differences"]][0]
        assert difference["kind"] == "unexpected", difference
        assert difference["where"] == f"topic {topic}, partition 0, offset {end - 1}", difference
        assert difference["row"]["value"] == json.loads(value), difference
    text = call(env, "reconcile", code=1).stdout
    assert text.splitlines()[-1] == "exact false" and '{"meter":"forged"}' in text, text


def test_08_rows_gone(env):
    """Deleted as by retention: told, not passed over."""
    with env.cluster.admin() as admin:
        ends = admin.offsets("meter.refused")
        admin.delete_records("meter.refused", {max(ends, key=ends.get): 1})
        admin.wait_stable("meter.refused")
        layer = layer_of(reconcile(env, 1), "refused_topic")
        assert "meter.refused" in layer["trouble"] and layer["missing"] == 1, layer
        admin.delete_records(SOURCE, {2: 5})
        report = reconcile(env, 1)
        raw = layer_of(report, "readings")
        assert f"{SOURCE}, partition 2 begins at offset 5" in raw["trouble"], raw
        positions = [c["right"] for c in report["checks"] if c["group"] == "positions"]
        assert any("begins at offset 5" in text for text in positions), positions


def test_09_foreign_input_and_moving(env):
    """Records that no traffic sent; and a group that commits all the time is not judged."""
    env.client().produce(SOURCE, [Record(0, b"m", b"not of any traffic")])
    raw = layer_of(reconcile(env, 1), "readings")
    where = [d["where"] for d in raw["differences"] if d["kind"] == "unexpected"]
    assert raw["unexpected"] == 1 and len(where) == 1 and f"{SOURCE}, partition 0" in where[0], raw
    writer = start(env, "writer", "traffic", "--rate", "500/s", "--seed", 3)
    with env.cluster.admin() as admin:
        await_that(lambda: traffic_position(admin, 3) > 0, writer, "begun")
        report = reconcile(env, 1)  # of a moment between two commits, if it finds one
        if report["error"] is None:
            assert layer_of(report, "readings")["unexpected"] == 1, report
        else:
            assert "commits while it is looked at" in report["error"], report
        second = start(env, "second", "traffic", "--rate", "500/s", "--seed", 3)
        end = time.monotonic() + LIMIT_S
        while writer.alive() and second.alive():
            assert time.monotonic() < end
            time.sleep(0.05)
        ended, going = (writer, second) if second.alive() else (second, writer)
        assert ended.process.returncode == 3 and "another process sends" in ended.tail()
        before = traffic_position(admin, 3)
        await_that(lambda: traffic_position(admin, 3) > before, going, "goes on")
        going.stop()
        assert going.process.returncode == 0, going.tail()
