"""Disks that are full, broken or read-only, at every phase."""

import errno
import os
import resource
import shutil

from harness import BEGUN, ERRORS, HERE, ROOT, Ended, Failure, growing

PARTS = {
    "the log's journal": "*/run/log/*.log",
    "the log's tables": "*/run/log/*.sst",
    "the log's manifest": "*/run/log/MANIFEST*",
    "the log's small files": "*/run/log/*.dbtmp",
    "the state's journal": "*/run/state/*.log",
    "the state's tables": "*/run/state/*.sst",
    "the state's manifest": "*/run/state/MANIFEST*",
    "the state's small files": "*/run/state/*.dbtmp",
    "tables of the run": "*/run/tables/*",
    "the lock": "*/run/lock",
}


def fail_each(lab, kind, parts, error, once=False):
    """Fails the first, second, third, fifth … call on each part, until a run is clean."""
    hits = 0
    for what, pattern in parts.items():
        for number in growing():
            cwd = lab.copy()
            where = f"{kind} {number} of {what}, {os.strerror(error)}"
            fault = f"{kind},{pattern},{number},{error}" + (",once" if once else "")
            ended = lab.run(cwd, fault=fault).expect(0, 1)
            if not ended.faulty():
                lab.done(cwd)
                break
            hits += 1
            if ended.status != 0:
                ended.one_line(*ERRORS[error])
            lab.expect_whole(cwd, where)
            lab.done(cwd)
    if hits < len(parts):
        raise Failure(f"only {hits} calls failed: the faults are not where they should be")


def disk_full_in_a_run(lab):
    fail_each(lab, "write", PARTS, errno.ENOSPC)


def writes_fail_in_a_run(lab):
    fail_each(lab, "write", PARTS, errno.EIO, once=True)


def syncs_fail_in_a_run(lab):
    synced = ("the log's journal", "the log's tables", "the log's manifest", "tables of the run")
    fail_each(lab, "sync", {name: PARTS[name] for name in synced}, errno.EIO)


def reads_fail_in_a_run(lab):
    parts = {"the log": "*/run/log/*", "the state": "*/run/state/*"}
    fail_each(lab, "read", parts, errno.EIO)


def read_only_in_a_run(lab):
    parts = {"the log": "*/run/log/*", "the state": "*/run/state/*", "tables": "*/run/tables/*"}
    fail_each(lab, "make", parts, errno.EROFS)


def nothing_can_be_made(lab):
    """A new run in a place that is read-only, or full."""
    for error in (errno.EROFS, errno.ENOSPC):
        for number in growing():
            cwd = lab.empty()
            fault = f"make,*/run*,{number},{error}"
            ended = lab.run(cwd, BEGUN // 2, fault=fault).expect(0, 1)
            if not ended.faulty():
                lab.done(cwd)
                break
            if ended.status != 0:
                ended.one_line(ERRORS[error][0])
            lab.begin(cwd)
            lab.expect_whole(cwd, f"make {number}: {os.strerror(error)}")
            lab.done(cwd)


def reconcile_fails_clearly(lab):
    """Its temporary rows on a full or broken disk; a log that cannot be read."""
    faults = (
        ("write", "/*#* (deleted)", errno.ENOSPC, "No space left on device"),
        ("write", "/*#* (deleted)", errno.EIO, "Input/output error"),
        ("read", "/*#* (deleted)", errno.EIO, "Input/output error"),
        ("write", "*/pipe-state.*/state/*", errno.ENOSPC, "No space left on device"),
        ("read", "*/pipe-state.*/state/*", errno.EIO, "Input/output error"),
        ("read", "*/run/log/*", errno.EIO, "Input/output error"),
    )
    large = lab.empty()
    lab.run(large, 60_000, "--commit-interval", "100ms").expect(0)
    for kind, pattern, error, words in faults:
        hits = 0
        for number in (1, 3, 50):
            fault = f"{kind},{pattern},{number},{error}"
            ended = lab.reconcile(large, "--state-memory", "64KiB", fault=fault)
            if not ended.faulty():
                break
            hits += 1
            if ended.status != 1 or words not in ended.out + ended.err:
                raise Failure(f"{fault}: exit {ended.status}\n{ended.out[-2000:]}{ended.err}")
            if "exact true" in ended.out:
                raise Failure(f"{fault}: exact true")
        if hits == 0:
            raise Failure(f"{kind} {pattern}: never called")
    for memory in ("64KiB", "1GiB"):
        lab.reconcile(large, "--state-memory", memory).expect(0)
    lab.done(large)


def written_whole_or_told(lab, command, cwd, kind, pattern, expected):
    """Each call fails once; the command says so, and repeated it writes the same files."""
    hits = 0
    for number in growing():
        ended = Ended(command, cwd, fault=f"{kind},{pattern},{number},{errno.ENOSPC}")
        ended.expect(0, 1)
        if not ended.faulty():
            break
        hits += 1
        if ended.status != 0:  # 0: what failed was not needed
            ended.one_line("No space left on device")
            Ended(command, cwd).expect(0)
        for path, content in expected.items():
            if (cwd / path).read_bytes() != content:
                raise Failure(f"{ended.command}: {kind} {number}: then {path} is another")
    if hits == 0:
        raise Failure(f"{command[1]}: no {kind} of {pattern}")


def traffic_on_a_full_disk(lab):
    cwd = lab.empty()
    options = ["--count", 2000, "--rate", "200/s", "--seed", 3, "--progress", "never"]
    command = [lab.click, "traffic", "--to", "data", *options]
    Ended(command, cwd).expect(0)
    expected = {
        str(path.relative_to(cwd)): path.read_bytes() for path in sorted((cwd / "data").iterdir())
    }
    command.append("--replace")
    for kind in ("write", "make"):
        written_whole_or_told(lab, command, cwd, kind, "*/data/*", expected)
    os.mkfifo(cwd / "pipe")  # a device in its place would be renamed away
    Ended([*command, "--ledger", "pipe"], cwd).expect(1).one_line("pipe", "regular file")
    with_ledger = [*command, "--ledger", "sent.jsonl"]
    Ended(with_ledger, cwd).expect(0)
    sent = {"sent.jsonl": (cwd / "sent.jsonl").read_bytes()}
    written_whole_or_told(lab, with_ledger, cwd, "make", "*/sent*", sent)
    limit = [(resource.RLIMIT_FSIZE, len(sent["sent.jsonl"]) - 1)]
    Ended(with_ledger, cwd, limits=limit).expect(1).one_line("File too large")


def injection_on_a_full_disk(lab):
    """Rows are appended once, however often the command fails and is repeated."""
    row = (
        '{"key":"s","kafka_time":"2026-01-01T00:00:01Z","value":{"event_id":"e%d",'
        '"session_id":"s","event_type":"page_view","category":"rugs","country":"DE",'
        '"occurred_at":"2026-01-01T00:00:01Z"}}\n'
    )
    for kind, pattern in (("write", "*/run/log/*"), ("sync", "*/run/log/*")):
        for number in growing():
            cwd = lab.empty()
            (cwd / "rows.jsonl").write_text("".join(row % i for i in range(3000)))
            command = [lab.click, "inject", "--embedded", "run", "rows.jsonl"]
            fault = f"{kind},{pattern},{number},{errno.ENOSPC}"
            ended = Ended(command, cwd, fault=fault).expect(0, 1)
            if not ended.faulty():
                break
            Ended(command, cwd).expect(0)
            Ended([lab.click, "run", "--embedded", "run", "--until-end"], cwd).expect(0)
            lab.reconcile(cwd).expect(0)
            rows = sum(lab.dump(cwd, "events.clean").values())
            if rows != 3000:
                raise Failure(f"{fault}: then {rows} of 3000 rows")
            lab.done(cwd)


def compiler_on_a_full_disk(lab):
    """What is written is whole, or the compiler fails; repeated it is as it should be."""
    cwd = lab.empty()
    pipe = (HERE.parent / "reconcile/orders.pipe").read_text()
    (cwd / "orders.pipe").write_text(pipe)
    command = [lab.build / "pipec", "orders.pipe", "--out", "generated"]
    Ended(command, cwd).expect(0)
    expected = {
        str(path.relative_to(cwd)): path.read_bytes()
        for path in sorted((cwd / "generated").rglob("*"))
        if path.is_file()
    }
    shutil.rmtree(cwd / "generated")
    for kind in ("write", "make"):
        written_whole_or_told(lab, command, cwd, kind, "*/generated*", expected)
    home = {"PIPEC_HOME": str(ROOT)}
    build = [*command[:1], "build", *command[1:], "-o", "orders"]
    limit = [(resource.RLIMIT_FSIZE, 100_000)]
    failed = Ended(build, cwd, limits=limit, environment=home)
    if failed.status == 0 or not failed.err.strip():
        raise Failure(f"a program above the limit was built: {failed.err}")
    os.mkfifo(cwd / "pipe")
    Ended([*build[:-1], "pipe"], cwd, environment=home).expect(1).one_line("regular file")
    Ended(build, cwd, environment=home).expect(0)
    Ended([cwd / "orders", "explain"], cwd).expect(0)


def answers_on_a_full_disk(lab):
    """What a command prints is its work: without room for it, it fails."""
    shell = ["sh", "-c", 'exec "$@" >/dev/full', "sh"]
    for words in (
        [lab.click, "explain"],
        [lab.click, "--version"],
        [lab.click, "--help"],
        [lab.click, "inspect", "run", "topics"],
        [lab.click, "inspect", "run", "offsets"],
        [lab.click, "inspect", "run", "watermarks"],
        [lab.click, "inspect", "run", "state"],
        [lab.click, "inspect", "run", "dump", "events.clean"],
        [lab.click, "reconcile", "run"],
        [lab.click, "reconcile", "run", "--json"],
        [lab.click, "reconcile", "run", "--ledger-out", "/dev/full"],
        [lab.build / "pipec", "--explain", ROOT / "pipelines/clickstream.pipe"],
        [lab.build / "pipec", "help", "PC1001"],
        [lab.build / "pipec", "--help"],
    ):
        ended = Ended([*shell, *words], lab.straight)
        if ended.status != 1:
            raise Failure(f"{ended.command}: exit {ended.status}, not 1\n{ended.err}")


TESTS = [
    disk_full_in_a_run,
    writes_fail_in_a_run,
    syncs_fail_in_a_run,
    reads_fail_in_a_run,
    read_only_in_a_run,
    nothing_can_be_made,
    reconcile_fails_clearly,
    traffic_on_a_full_disk,
    injection_on_a_full_disk,
    compiler_on_a_full_disk,
    answers_on_a_full_disk,
]
