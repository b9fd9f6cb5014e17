#!/usr/bin/env python3
"""The compiled pipelines end to end, embedded: against SQL, and crashes against a straight run.

A test whose data is not there is skipped, and says what is missing; with CI=true it fails.
"""

import argparse
import base64
import collections
import contextlib
import json
import os
import random
import re
import resource
import shutil
import struct
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1]))

from commands import Failure, Skipped, call, small_disk
from table_rows import rows_of_tables, rows_of_topics, table_rows

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT.parent / "shared" / "data" / "rees46-2019-10-01.csv"
CLICK_TOPICS = "events.valid events.clean agg.windows agg.sessions events.late events.dlq".split()
CLICK_TABLES = ["clean_olap", "windows_olap", "sessions_olap", "dlq_olap", "clean_lake"]


def timed(command, cwd):
    """Seconds that a run takes here and now, from start to end."""
    begun = time.monotonic()
    call(command, cwd)
    return time.monotonic() - begun


def killed_until_done(command, cwd, seed, straight_seconds, begin_again):
    """Runs the command, killed at seeded moments, until it ends by itself. The number of kills.

    The moments are parts of what a straight run took, so that kills land inside of it on any
    machine. Where the machine was slower then than it is now, the run may end before its first
    kill: then nothing was tested, and all begins again (`begin_again`) with earlier moments.
    """
    moments = random.Random(seed)
    kills = 0
    for _ in range(200):
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        part = moments.uniform(0.2, 0.6) if kills == 0 else moments.uniform(0.05, 0.4)
        try:
            # After some kills it may finish, however slow the machine is.
            _, error = process.communicate(timeout=part * straight_seconds if kills < 8 else 600)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            kills += 1
            continue
        if process.returncode != 0:
            raise Failure(
                f"after {kills} kills: exit {process.returncode}\n"
                f"{error.decode(errors='replace')[-4000:]}"
            )
        if kills > 0:
            return kills
        straight_seconds /= 2
        begin_again()
    raise Failure("never ended")


def topic_rows(program, cwd, topic):
    """The multiset of a topic's (key, value)."""
    return collections.Counter(rows_of_topics(program, cwd / "run", [topic])[topic])


def click_outputs(program, cwd):
    rows = rows_of_topics(program, cwd / "run", CLICK_TOPICS)
    rows |= rows_of_tables(program, cwd / "run", CLICK_TABLES)
    return {name: collections.Counter(some) for name, some in rows.items()}


def expect_equal(expected, actual, what):
    for name, rows in expected.items():
        missing, extra = rows - actual[name], actual[name] - rows
        if missing or extra:
            raise Failure(
                f"{what}: {name}: {sum(missing.values())} rows missing, "
                f"{sum(extra.values())} unexpected; first: "
                f"{next(iter(missing or extra))}"
            )


def lay_rees46(scratch):
    """The shop's export where rees46.pipe looks for it."""
    if not DATA.exists():
        missing = f"{os.path.relpath(DATA, ROOT)} is missing"
        raise Failure(missing) if os.environ.get("CI") == "true" else Skipped(missing)
    os.symlink(DATA.parent.parent, scratch.parent / "shared")


def rees46_against_sql(build, scratch):
    lay_rees46(scratch)
    call([build / "rees46", "run", "--embedded", "run", "--progress", "never"], scratch)
    print(call([sys.executable, ROOT / "tests/oracle/rees46.py", scratch / "run/rees46"], ROOT))


def rees46_killed(build, scratch):
    lay_rees46(scratch)
    command = [
        build / "rees46",
        "run",
        "--embedded",
        "run",
        "--commit-interval",
        "5ms",
        "--progress",
        "never",
    ]
    straight = scratch / "straight"
    straight.mkdir()
    lay_rees46(straight)

    def begin_again():
        shutil.rmtree(scratch / "run")

    kills = killed_until_done(command, scratch, 46, timed(command, straight), begin_again)
    call([sys.executable, ROOT / "tests/oracle/rees46.py", scratch / "run/rees46"], ROOT)
    again = call(command, scratch)
    if again.count("nothing to do") != 1 or "rows of this run" not in again:
        raise Failure(
            f"a finished run, started again, should say once that there is nothing to do:\n{again}"
        )
    print(f"{kills} kills")


def rees46_first_commit_killed(build, scratch):
    """A run killed between the heads of its files and its first commit knows them as its own."""
    lay_rees46(scratch)
    command = [build / "rees46", "run", "--embedded", "own", "--progress", "never"]
    # Only programs of SANITIZE=1 have crash points; the others run to the end.
    call(command, scratch, expect=None, env={**os.environ, "PIPE_CRASH": "after_files:1"})
    call(command, scratch)
    call([sys.executable, ROOT / "tests/oracle/rees46.py", scratch / "run/rees46"], ROOT)
    call([*command[:3], "other", *command[4:]], scratch, expect=1)
    call([*command[:3], "other", *command[4:], "--replace"], scratch)
    call([sys.executable, ROOT / "tests/oracle/rees46.py", scratch / "run/rees46"], ROOT)


def avro_long(number):
    raw = (number << 1) ^ (number >> 63)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes(out) + bytes([raw])


def click_v1(**values):
    """A click as a producer of version 1 writes it: text fields `x` unless given, nulls."""
    body = b""
    for field in json.loads((ROOT / "contracts/clickstream/v1.avsc").read_text())["fields"]:
        if field["name"] == "occurred_at":
            body += avro_long(1767225600000)
        elif isinstance(field["type"], list):
            body += avro_long(0)
        else:
            text = values.get(field["name"], "x").encode()
            body += avro_long(len(text)) + text
    return body


def confluent_frames(build, scratch):
    """A frame with a schema id is read by the version that the table of ids names, or rejected."""
    body = click_v1(session_id="s1", event_type="page_view", country="DE")
    rows = [
        {
            "partition": 0,
            "kafka_time": "2026-01-01T00:00:01Z",
            "key": "s1",
            "value_base64": base64.b64encode(b"\0" + struct.pack(">i", number) + body).decode(),
        }
        for number in (7, 8)
    ]
    (scratch / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (scratch / "ids").write_text("7 click v1\n")
    program = build / "clickstream"
    call([program, "inject", "--embedded", "run", "--source", "clicks", "rows.jsonl"], scratch)
    run = [program, "run", "--embedded", "run", "--until-end", "--schema-ids", "ids"]
    call([*run, "--progress", "never"], scratch)
    valid = call([program, "inspect", "run", "dump", "events.valid"], scratch)
    dead = call([program, "inspect", "run", "dump", "events.dlq"], scratch)
    if '"currency":"EUR"' not in valid or len(valid.splitlines()) != 1:
        raise Failure(valid)
    if "schema id 8 is not in the table of ids" not in dead:
        raise Failure(dead)


def click_run(build, cwd, *more, count=20000, seed=7, run="run"):
    return [
        build / "clickstream",
        "run",
        "--embedded",
        run,
        "--traffic",
        "--count",
        count,
        "--rate",
        "200/s",
        "--seed",
        seed,
        "--progress",
        "never",
        *more,
    ]


def clickstream_balances(build, scratch):
    table = call(click_run(build, scratch), scratch)
    if "NOT EQUAL" in table or "equal" not in table:
        raise Failure(table)


def clickstream_same_rows(build, scratch):
    """Commit times, kills and the way in change no row."""
    straight = scratch / "straight"
    straight.mkdir()
    call(click_run(build, straight), straight)
    expected = click_outputs(build / "clickstream", straight)
    if not all(expected.values()):
        raise Failure(f"empty outputs: {[name for name, rows in expected.items() if not rows]}")
    often = scratch / "often"
    often.mkdir()
    often_seconds = timed(click_run(build, often, "--commit-interval", "1ms"), often)
    expect_equal(expected, click_outputs(build / "clickstream", often), "with other commits")
    for seed in range(2):
        killed = scratch / f"killed{seed}"
        killed.mkdir()

        def begin_again():
            shutil.rmtree(killed / "run")

        command = click_run(build, killed, "--commit-interval", "2ms")
        kills = killed_until_done(command, killed, seed, often_seconds, begin_again)
        expect_equal(expected, click_outputs(build / "clickstream", killed), f"after {kills} kills")
        print(f"seed {seed}: {kills} kills")


def clickstream_state_lost(build, scratch):
    """Without its state directory a run replays the log."""
    call(click_run(build, scratch, count=5000), scratch)
    expected = click_outputs(build / "clickstream", scratch)
    shutil.rmtree(scratch / "run" / "state")
    call(click_run(build, scratch, count=5000), scratch)
    expect_equal(
        expected, click_outputs(build / "clickstream", scratch), "after the state was lost"
    )


def clickstream_count_raised(build, scratch):
    """Traffic that ended goes on to a greater count, and every record is accounted for."""
    call(click_run(build, scratch, count=3000), scratch)
    for count, seed, wrong in ((2000, 7, "--count 2000"), (9000, 8, "--seed 8")):
        said = call(click_run(build, scratch, count=count, seed=seed), scratch, expect=3)
        if wrong not in said:
            raise Failure(said)
    call(click_run(build, scratch, count=9000), scratch)
    call(click_run(build, scratch, count=12000), scratch)
    verdict = call([build / "clickstream", "reconcile", "run", "--ledger-out", "sent"], scratch)
    if not verdict.endswith("exact true\n"):
        raise Failure(verdict)
    events = set(re.findall(r'"event":(\d+)', (scratch / "sent").read_text()))
    if len(events) != 12000:
        raise Failure(f"{len(events)} events were sent, not 12000")
    call([build / "clickstream", "reconcile", "run", "--ledger", "sent"], scratch)


def clickstream_inspect(build, scratch):
    """What operators hold, not how it is stored; words and options that are none."""
    program = build / "clickstream"
    call(click_run(build, scratch, count=5000), scratch)
    state = call([program, "inspect", "run", "state"], scratch)
    ids = sum(int(count) for count in re.findall(r"^clean +dedup .* (\d+) ids? ", state, re.M))
    unique = sum(topic_rows(program, scratch, "events.clean").values())
    if ids != unique or ids == 0:
        raise Failure(f"{ids} ids are remembered, {unique} rows were unique:\n{state}")
    if not re.search(r"^by_category +window, merge .* 0 windows ", state, re.M):
        raise Failure(f"no closed windows:\n{state}")
    dumped = call([program, "inspect", "run", "dump", "events.clean", "--limit", 7], scratch)
    if len(dumped.splitlines()) != 7:
        raise Failure(dumped)
    for words in (["state", "more"], ["topics", "--limit", 1]):
        call([program, "inspect", "run", *words], scratch, expect=2)
    check_several_topics(program, scratch)


def check_several_topics(program, cwd):
    """One after the other, each line with its topic; none, if one of them is none."""
    command = [program, "inspect", "run", "dump"]
    topics, limit = ["events.clean", "events.dlq"], ["--limit", 3, "--from", 1]
    several = call([*command, *topics, *limit], cwd).splitlines()
    single = [
        f'{{"topic":"{topic}",{line[1:]}'
        for topic in topics
        for line in call([*command, topic, *limit], cwd).splitlines()
    ]
    if several != single or len(single) != 6:
        raise Failure(f"{several}\nis not\n{single}")
    rows = rows_of_tables(program, cwd / "run", CLICK_TABLES)
    if rows != {sink: table_rows(program, cwd / "run", sink) for sink in CLICK_TABLES}:
        raise Failure(f"rows of several tables: {rows}")
    refused = call([*command, "events.clean", "events.dl"], cwd, expect=1)
    if "no topic events.dl; did you mean events.dlq?" not in refused or "offset" in refused:
        raise Failure(refused)


def clickstream_topic_files(build, scratch):
    """Traffic written to files and read from there gives what traffic in the run gives."""
    call(
        [
            build / "clickstream",
            "traffic",
            "--to",
            "events",
            "--count",
            20000,
            "--rate",
            "200/s",
            "--seed",
            7,
        ],
        scratch,
    )
    again = scratch / "again"
    call(
        [
            build / "clickstream",
            "traffic",
            "--to",
            again,
            "--count",
            20000,
            "--rate",
            "200/s",
            "--seed",
            7,
        ],
        scratch,
    )
    for path in sorted((scratch / "events").iterdir()):
        if path.read_bytes() != (again / path.name).read_bytes():
            raise Failure(f"the same seed gave other bytes in {path.name}")
    call(
        [
            build / "clickstream",
            "run",
            "--embedded",
            "run",
            "--path",
            "clicks=events/clicks-*.avro",
            "--progress",
            "never",
        ],
        scratch,
    )
    files = click_outputs(build / "clickstream", scratch)
    straight = scratch / "straight"
    straight.mkdir()
    call(click_run(build, straight), straight)
    topics = click_outputs(build / "clickstream", straight)
    for name in ["events.valid", "events.clean"]:
        expect_equal({name: topics[name]}, files, "from topic files")
    if topics["agg.windows"] - files["agg.windows"]:
        raise Failure("windows that closed without files are missing with files")


def one_process_a_directory(build, scratch):
    first = subprocess.Popen(
        [
            str(part)
            for part in [
                build / "clickstream",
                "run",
                "--embedded",
                "run",
                "--traffic",
                "--rate",
                "100/s",
                "--progress",
                "never",
            ]
        ],
        cwd=scratch,
        stderr=subprocess.PIPE,
    )
    time.sleep(1)
    second = call([build / "clickstream", "run", "--embedded", "run"], scratch, expect=1)
    first.send_signal(signal.SIGTERM)
    _, error = first.communicate(timeout=60)
    if first.returncode != 0:
        raise Failure(f"SIGTERM: exit {first.returncode}\n{error.decode()}")
    if len(second.strip().splitlines()) != 1:
        raise Failure(f"the second process should say one line:\n{second}")


def compile_pipe(build, pipe, cwd, program):
    out = Path(program).parent / "generated"
    environment = {**os.environ, "PIPEC_HOME": str(ROOT)}
    call([build / "pipec", "build", pipe, "--out", out, "-o", program], cwd, env=environment)


def edited_window(build, scratch):
    """A changed window size changes the windows, and old state is refused by its plan."""
    text = (
        (ROOT / "pipelines/clickstream.pipe")
        .read_text()
        .replace("window tumbling 10s", "window tumbling 20s")
    )
    (scratch / "clickstream.pipe").write_text(text)
    compile_pipe(build, scratch / "clickstream.pipe", ROOT, scratch / "edited")
    call(click_run(build, scratch), scratch)
    refused = call(
        [scratch / "edited", "run", "--embedded", "run", "--until-end"], scratch, expect=3
    )
    shutil.rmtree(scratch / "run")
    call([scratch / "edited", *click_run(build, scratch)[1:]], scratch)
    row = next(iter(topic_rows(scratch / "edited", scratch, "agg.windows")))
    start, end = re.findall(r'window_(?:start|end)\\?":\\?"[^"]*:(\d\d)\.\d+Z', row)
    if (int(end) - int(start)) % 60 != 20:
        raise Failure(row)
    if "plan" not in refused:
        raise Failure(refused)


def revenue_balances(build, scratch):
    table = call(
        [
            build / "revenue",
            "run",
            "--embedded",
            "run",
            "--traffic",
            "--count",
            20000,
            "--rate",
            "200/s",
            "--progress",
            "never",
        ],
        scratch,
    )
    if "NOT EQUAL" in table or "equal" not in table:
        raise Failure(table)
    raw, passed = (
        sum(topic_rows(build / "revenue", scratch, topic).values())
        for topic in ("funnel.raw", "funnel.events")
    )
    rejected = sum(topic_rows(build / "revenue", scratch, "revenue.dlq").values())
    if not 0 < passed <= raw or passed + rejected < raw:
        raise Failure(f"{raw} records, {passed} passed on, {rejected} rejected")


DEDUP_PIPE = """pipeline dup;

source q
  from file 'q-*.csv' format csv header
  columns (id string, at timestamp_ms)
  event time at
  watermark 1s
  rejects to bad;

stream once from q
  dedup by id within 1m
  rejects to bad;

sink kept from once to file 'kept.csv' format csv exactly once;
sink refused from bad to file 'bad.jsonl' format jsonl exactly once;
"""


def dedup_behind_exchange(build, scratch):
    """An id that comes again after its ttl passes again, wherever commits put the markers."""
    (scratch / "dup.pipe").write_text(DEDUP_PIPE)
    compile_pipe(build, "dup.pipe", scratch, "dup")
    rows = "".join(f"{i % 5000},{1700000000000 + i * 100}\n" for i in range(100000))
    for interval in ("1ms", "100ms", "5s"):
        case = scratch / interval
        case.mkdir()
        (case / "q-1.csv").write_text("id,at\n" + rows)
        run = [scratch / "dup", "run", "--embedded", "run", "--commit-interval", interval]
        call([*run, "--progress", "never"], case)
        kept = (case / "kept.csv").read_text().splitlines()[1:]
        if len(kept) != 100000:
            raise Failure(f"commits every {interval}: {len(kept)} of 100000 rows passed")


def parquet_is_kept(build, scratch):
    """A sink of Parquet, which is not written yet, makes no file that only has its name."""
    (scratch / "lake.pipe").write_text(
        "pipeline lake; source q from file 'q.csv' format csv header columns (id string)\n"
        "rejects to bad; sink shown from bad to stdout at least once;\n"
        "sink kept from q to file 'kept.parquet' format parquet exactly once;\n"
        "sink mine from q to file 'mine.jsonl' format jsonl exactly once;\n"
    )
    (scratch / "q.csv").write_text("id\na\nb\n")
    compile_pipe(build, "lake.pipe", scratch, "lake")
    said = call([scratch / "lake", "run", "--embedded", "run", "--progress", "never"], scratch)
    if "kept  run/tables/kept.jsonl, instead of Parquet" not in said:
        raise Failure(said)
    kept = (scratch / "run/tables/kept.jsonl").read_text()
    if (scratch / "kept.parquet").exists() or kept != (scratch / "mine.jsonl").read_text():
        raise Failure(kept)
    call([scratch / "lake", "reconcile", "run"], scratch)


def demo_numbers(build, scratch):
    """The demo refuses numbers that it could not come to an end with; no kill is a number."""
    demo = ROOT / "pipelines/demo.sh"
    given = {**os.environ, "PROGRAM": str(build / "clickstream"), "RUN": str(scratch / "run")}
    for name, value in (("EVENTS", "0"), ("RATE", "0"), ("KILLS", "101"), ("SEED", "-1")):
        call([demo], scratch, expect=2, env={**given, name: value})
    said = call([demo], scratch, env={**given, "EVENTS": "2000", "KILLS": "0"})
    if "killed 0 times" not in said or "exact true" not in said.splitlines():
        raise Failure(said)


def expect_one_line(said, *words):
    lines = said.strip().splitlines()
    if len(lines) != 1 or not all(word in said for word in words):
        raise Failure(f"one line with {words} is expected, not:\n{said[-4000:]}")


def by_shell(redirections, command):
    return ["sh", "-c", f'exec "$@" {redirections}', "sh", *command]


def full_disk(build, scratch):
    """At a full disk one line and exit 1, files hold what was committed; with room it goes on."""
    straight = scratch / "straight"
    straight.mkdir()
    call(click_run(build, straight, count=6000), straight)
    expected = click_outputs(build / "clickstream", straight)
    for number, size in enumerate(range(100, 2400, 230)):
        disk = scratch / f"disk{size}"
        often = ["--commit-interval", "2ms"] if number % 2 == 0 else []
        command = click_run(build, disk, *often, count=6000)
        with small_disk(disk, f"{size}k"):
            expect_one_line(call(command, disk, expect=1), "No space left", "make room")
            call(["mount", "-o", "remount,size=64m", disk], scratch)
            again = call(command, disk)
            if "cut back" in again:
                raise Failure(f"{size} KB: rows that were not committed stayed in files:\n{again}")
            expect_equal(expected, click_outputs(build / "clickstream", disk), f"{size} KB")


def full_disk_of_compiler(build, scratch):
    """pipec says which disk is full where it, or the C compiler, cannot write."""
    pipec, disk = [build / "pipec", "build", ROOT / "pipelines/revenue.pipe"], scratch / "disk"
    home = {"env": {**os.environ, "PIPEC_HOME": str(ROOT)}}
    with small_disk(disk, "16k"):
        said = call([*pipec, "--out", disk], ROOT, expect=1, **home)
        if f"`{disk}" not in said or "No space left" not in said or "make room" not in said:
            raise Failure(said)
    disk.rmdir()
    with small_disk(disk, "300k"):
        said = call([*pipec, "--out", disk, "-o", disk / "program"], ROOT, expect=1, **home)
        expect_one_line(said.splitlines()[-1], f"{disk}", "KiB free", "another place with -o")


def little_memory(build, scratch):
    """With states that leave memory at every save, killed and gone on with: the same rows."""
    straight = scratch / "straight"
    straight.mkdir()
    call(click_run(build, straight, count=6000), straight)
    expected = click_outputs(build / "clickstream", straight)
    small = scratch / "small"
    small.mkdir()
    little = ["--state-memory", "1KiB", "--commit-interval", "5ms"]
    command = click_run(build, small, *little, count=6000)
    for seconds in (0.1, 0.2, 0.4, 0.4):
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=small,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(timeout=seconds)
        process.kill()
        process.wait()
    report = call(command, small)
    if "NOT EQUAL" in report or "beyond --state-memory" not in report:
        raise Failure(report)
    state = call([build / "clickstream", "inspect", "run", "state"], small)
    spilled = [int(line.split()[-2]) for line in state.splitlines() if " dedup " in line]
    if sum(spilled) == 0:  # of which partitions depends on where the saves fall
        raise Failure(f"ids that are on disk alone are expected:\n{state}")
    expect_equal(expected, click_outputs(build / "clickstream", small), "1 KiB")
    call([build / "clickstream", "reconcile", "run"], small)
    shutil.rmtree(small / "run" / "state")  # made again from the log, within the budget
    call(click_run(build, small, *little, count=6000), small)
    expect_equal(expected, click_outputs(build / "clickstream", small), "state made again")


ECHO = """pipeline echo;
source lines from file '-' format text rejects to refused;
sink shown from lines to stdout format jsonl at least once;
sink kept from refused to file 'refused.jsonl' format jsonl at least once;
"""


def closed_descriptors(build, scratch):
    """What is opened later never takes the place of a closed standard input, output or error."""
    program = build / "clickstream"
    for number, closed in enumerate((">&-", "2>&-", "<&-", "<&- >&- 2>&-")):
        command = click_run(build, scratch, count=500)
        command[3] = f"run{number}"
        call(by_shell(closed, command), scratch)
        lock = (scratch / command[3] / "lock").read_text()
        if not re.fullmatch(r"\d+\n", lock):
            raise Failure(f"{closed}: the lock holds {lock!r}")
        call([program, "reconcile", command[3]], scratch)
    (scratch / "echo.pipe").write_text(ECHO)
    compile_pipe(build, "echo.pipe", scratch, "echo")
    for closed, words in (("<&-", "standard input"), ("</dev/null >&-", "standard output")):
        command = by_shell(closed, ["./echo", "run", "--embedded", f"run-{words}"])
        expect_one_line(call(command, scratch, expect=1), words, "is closed")
    # A compiler without its outputs may fail, but puts no message into what it writes.
    call(by_shell("<&- >&- 2>&-", [build / "pipec", "echo.pipe", "--out", "shut"]), scratch, None)
    for path in (scratch / "shut").rglob("*"):
        if (
            path.is_file()
            and path.read_bytes()
            != (scratch / "generated" / path.relative_to(scratch / "shut")).read_bytes()
        ):
            raise Failure(f"{path.name} has other bytes without standard output")


def directory_removed(build, scratch):
    """A run whose directory is gone does not end as if all were well."""
    for gone in (".", "log", "state", "lock"):
        run = scratch / "run"
        shutil.rmtree(run, ignore_errors=True)
        command = [build / "clickstream", "run", "--embedded", "run", "--traffic", "--rate"]
        process = subprocess.Popen(
            [*map(str, command), "500/s", "--progress", "never"],
            cwd=scratch,
            stderr=subprocess.PIPE,
            text=True,
        )
        for _ in range(600):
            if (run / "state" / "CURRENT").exists():
                break
            time.sleep(0.05)
        time.sleep(0.5)
        (run / "lock").unlink() if gone == "lock" else shutil.rmtree(run / gone)
        try:
            _, error = process.communicate(timeout=60)
        finally:
            process.kill()
        if process.returncode != 1:
            raise Failure(f"{gone}: exit {process.returncode}\n{error}")
        expect_one_line(error, "run was removed")


def damaged_log(build, scratch):
    """Damage that is found at opening says what to do."""
    program = build / "clickstream"
    call(click_run(build, scratch, count=500), scratch)
    shutil.copytree(scratch / "run", scratch / "whole")
    for wanted, damage in (
        ("CURRENT", lambda path: path.write_text("x\n")),
        ("MANIFEST-*", lambda path: path.unlink()),
        ("MANIFEST-*", lambda path: os.truncate(path, 10)),
    ):
        for part, advice in (("log", "restore the directory"), ("state", "delete it")):
            shutil.rmtree(scratch / "run")
            shutil.copytree(scratch / "whole", scratch / "run")
            damage(next((scratch / "run" / part).glob(wanted)))
            command = [program, "run", "--embedded", "run", "--until-end"]
            expect_one_line(call(command, scratch, expect=1), f"run/{part}", advice)


def limits_of_the_process(build, scratch):
    """At a limit of file size or memory a program says so, and ends without a signal."""

    def limited(name, limit, kind, exits, *more):
        result = subprocess.run(
            list(map(str, click_run(build, scratch, *more, run=name))),
            cwd=scratch,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            preexec_fn=lambda: resource.setrlimit(kind, (limit, limit)),
        )
        if result.returncode not in exits:
            raise Failure(f"{name}: exit {result.returncode}\n{result.stderr[-4000:]}")
        if result.returncode != 0:
            expect_one_line(result.stderr, "ulimit" if result.returncode in (1, 4) else "memory")

    for limit in (100001, 300000, 1 << 20):
        limited(f"file{limit}", limit, resource.RLIMIT_FSIZE, (1,))
        limited(f"often{limit}", limit, resource.RLIMIT_FSIZE, (1,), "--commit-interval", "2ms")
    if b"__asan_init" in (build / "clickstream").read_bytes():
        return  # a sanitizer maps terabytes
    for limit in range(40, 480, 40):
        limited(f"memory{limit}", limit << 20, resource.RLIMIT_AS, (0, 1))


def early_signal(build, scratch):
    """SIGTERM stops a run in order from its first moment: before it, nothing was begun."""
    for step in range(0, 40, 2):
        shutil.rmtree(scratch / "run", ignore_errors=True)
        process = subprocess.Popen(
            list(map(str, click_run(build, scratch))), cwd=scratch, stderr=subprocess.PIPE
        )
        time.sleep(step / 1000)
        process.send_signal(signal.SIGTERM)
        _, error = process.communicate(timeout=60)
        unbegun = process.returncode == -signal.SIGTERM and not (scratch / "run").exists()
        if process.returncode != 0 and not unbegun:
            raise Failure(f"{step} ms: exit {process.returncode}\n{error.decode()}")


def inspect_uncommitted(build, scratch):
    """A directory in which a run was refused before its first commit."""
    (scratch / "run/tables").mkdir(parents=True)
    (scratch / "run/tables/clean_lake.jsonl").write_text("{}\n")
    call(click_run(build, scratch), scratch, expect=1)
    said = call([build / "clickstream", "inspect", "run", "state"], scratch)
    expect_one_line(said, "nothing was committed in run yet")


TESTS = [
    dedup_behind_exchange,
    parquet_is_kept,
    demo_numbers,
    confluent_frames,
    rees46_against_sql,
    rees46_killed,
    rees46_first_commit_killed,
    clickstream_balances,
    clickstream_same_rows,
    clickstream_state_lost,
    clickstream_count_raised,
    clickstream_inspect,
    clickstream_topic_files,
    one_process_a_directory,
    edited_window,
    revenue_balances,
    full_disk,
    full_disk_of_compiler,
    little_memory,
    closed_descriptors,
    directory_removed,
    damaged_log,
    limits_of_the_process,
    early_signal,
    inspect_uncommitted,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    passed = failed = skipped = 0
    for test in TESTS:
        if options.only and test.__name__ not in options.only:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            inside = Path(scratch) / "project"
            inside.mkdir()
            try:
                test(build, inside)
                passed += 1
                print(f"ok   {test.__name__}", flush=True)
            except Skipped as reason:
                skipped += 1
                print(f"skipped: {test.__name__}: {reason}", flush=True)
            except Exception as error:  # whatever goes wrong is this test's failure
                failed += 1
                print(f"FAIL {test.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed, {skipped} skipped")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
