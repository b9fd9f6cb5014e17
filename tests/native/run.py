#!/usr/bin/env python3
"""Tables in files: rows of every type come back byte for byte, and damage is told.

run.py [--build DIR]. What the real engine makes of such files: tests/clickhouse/suite_native.py.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import traceback
from pathlib import Path

sys.dont_write_bytecode = True

import every

ROOT = Path(__file__).resolve().parents[2]


def equal(found, expected, what):
    for number, (left, right) in enumerate(zip(found, expected)):
        assert left == right, f"{what}, row {number}:\n {left}\n {right}"
    assert len(found) == len(expected), f"{what}: {len(found)} rows, expected {len(expected)}"


def refused(program, *arguments):
    done = subprocess.run([program.path, *arguments], text=True, capture_output=True, timeout=300)
    assert done.returncode == 1, done
    return done.stdout, done.stderr


def reconcile(program, run):
    done = subprocess.run([program.path, "reconcile", run], text=True, capture_output=True)
    return done.returncode, done.stdout


def test_every_type(program, scratch):
    """Rows as the topic has them, and reconcile says exact."""
    run = scratch / "run"
    program.fill(run, every.every_row())
    kept = program.topic(run, "kept")
    assert len(kept) > 3000 and not program.topic(run, "refused")
    equal(program.table(run, "every_type"), [every.settled(row) for row in kept], "every_type")
    own = program.topic(run, "pipec.types.states.rows")
    assert sorted(own) == sorted(every.marked(row) for row in kept)
    equal(program.table(run, "states"), [every.settled(row) for row in own], "states")
    code, text = reconcile(program, run)
    assert code == 0 and text.endswith("exact true\n"), text
    assert text.count("\n  table ") == 2, text


def test_going_on(program, scratch):
    """Later rows become further files; nothing is written twice."""
    run = scratch / "run"
    values = every.every_row(400)
    program.fill(run, values[:100])
    before = {path: path.read_bytes() for path in sorted(run.glob("tables/*/*"))}
    assert len(before) == 4
    program.fill(run, values)
    after = {path: path.read_bytes() for path in sorted(run.glob("tables/*/*"))}
    assert len(after) == 8 and before.items() <= after.items()
    assert reconcile(program, run)[0] == 0


def test_damage(program, scratch):
    """A file that is gone, cut, changed, or there twice."""
    original = scratch / "run"
    program.fill(original, every.every_row(100))
    name = sorted(path.name for path in original.glob("tables/every_type/*"))[0]

    def damaged(change):
        run = scratch / "damaged"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(original, run)
        change(run / "tables/every_type" / name)
        code, text = reconcile(program, run)
        assert code == 1 and text.endswith("exact false\n"), text
        return text

    def change_byte(path):
        content = bytearray(path.read_bytes())
        at = content.index(b"xxxxxxxx")
        content[at] = ord("y")
        path.write_bytes(content)

    rows = program.table(original, "every_type")
    text = damaged(lambda path: path.unlink())
    assert "missing     every_type, at kept, partition 0, offset 0" in text, text
    text = damaged(lambda path: path.write_bytes(path.read_bytes()[:-1]))
    assert "ends within a block" in text, text
    text = damaged(change_byte)
    assert "unexpected  every_type, " + name in text and "missing     every_type" in text, text
    other = "00001-0000000000000900000-0000000000000900100.native"
    text = damaged(lambda path: shutil.copy(path, path.with_name(other)))
    assert "has a row at 0, which its name does not say" in text, text
    text = damaged(lambda path: path.with_name("notes").write_text(""))
    assert "notes is no file of a table; move it to another directory" in text, text
    forged = "a\n\x1b[31mexact true\n\u202e"
    text = damaged(lambda path: path.with_name(forged).write_text(""))
    assert "a  [31mexact true     is no file of a table" in text, text
    assert "exact true" not in text.splitlines() and "\x1b" not in text, text
    errors = refused(program, "inspect", scratch / "damaged", "table", "every_type")[1]
    assert len(errors.splitlines()) == 1 and "\x1b" not in errors, errors
    assert program.table(original, "every_type") == rows


def test_contract(program, scratch):
    """Rows of the sink's contract, in a table of it."""
    other = every.Program(program.build, scratch, "contract")
    rows, run = scratch / "rows.jsonl", scratch / "run"
    rows.write_text('{"value":{"number":-7,"name":"chair"}}\n')
    other("inject", "--embedded", run, "--source", "items", rows)
    other("run", "--embedded", run, "--until-end")
    assert other.table(run, "table") == ['{"name":"chair","number":-7}']
    text = (other.generated / "clickhouse.sql").read_text()
    assert "    name Nullable(String),\n    number Int64,\n    _pipe_partition Int32,\n" in text
    assert reconcile(other, run)[0] == 0


def test_inspect(program, scratch):
    """Parts of a table, and what is no table."""
    run = scratch / "run"
    program.fill(run, every.every_row(60))
    rows = program.table(run, "every_type")
    first = ["--partition=0", "--from=2", "--limit=3"]
    some = program("inspect", run, "table", "every_type", *first).split("\n")[:-1]
    assert some == rows[2:5], some
    assert refused(program, "inspect", run, "table", "every_typ")[1] == (
        "types inspect: there is no ClickHouse sink every_typ; did you mean every_type?\n"
    )
    assert refused(program, "inspect", run, "table", "zzz")[1] == (
        "types inspect: there is no ClickHouse sink zzz; there is every_type, states\n"
    )
    for what in (["table", "states"], ["topics"]):
        text = refused(program, "inspect", scratch / "elsewhere", *what)[1]
        assert "elsewhere is not the directory of a run" in text and "RocksDB" not in text, text


def test_inspect_head(program, scratch):
    """A reader that has enough ends the command without a word; a run that can't write fails."""
    run = scratch / "run"
    program.fill(run, every.every_row(400))
    for what in (["dump", "kept"], ["table", "every_type"]):
        command = subprocess.Popen(
            [program.path, "inspect", run, *what],
            restore_signals=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        command.stdout.readline()
        command.stdout.close()
        errors = command.stderr.read()
        command.stderr.close()
        assert (command.wait(), errors) == (0, b""), (command.returncode, errors)


def test_files_gone(program, scratch):
    """A run does not go on behind files that somebody has taken away, and the log keeps all."""
    original = scratch / "run"
    values = every.every_row(200)
    program.fill(original, values[:100])
    program.fill(original, values)
    names = sorted(path.name for path in original.glob("tables/every_type/00000-*"))
    assert len(names) > 1

    def without(change):
        run = scratch / "gone"
        shutil.rmtree(run, ignore_errors=True)
        shutil.copytree(original, run)
        change(run / "tables" / "every_type")
        return refused(program, "run", "--embedded", run, "--until-end")[1]

    for name in names:
        text = without(lambda directory: (directory / name).unlink())
        assert "files of partition 0 are gone" in text, text
    text = without(shutil.rmtree)
    assert "are gone: the rows from offset 0 on" in text, text
    program("run", "--embedded", original, "--until-end")
    assert reconcile(program, original)[0] == 0


def test_no_regular_file(program, scratch):
    """What stands in the place of a file is told, and damage; nobody waits for its writer."""
    run = scratch / "run"
    program.fill(run, every.every_row(50))
    path = sorted(run.glob("tables/every_type/00000-*"))[0]
    path.rename(scratch / "kept")

    def check(at, reason):
        """Also of all that is right."""
        errors = refused(program, "inspect", run, "table", "every_type")[1]
        assert f"{at} can't be {reason}" in errors, errors
        code, text = reconcile(program, run)
        assert code == 1 and text.endswith("exact false\n"), text
        assert f"{at} can't be {reason}" in text, text
        layers = re.findall(r"^  (?:raw|exchange|sink|table) .* (equal|NOT EQUAL)", text, re.M)
        assert layers.count("NOT EQUAL") == 1 and len(layers) > 2, text

    os.mkfifo(path)
    check(path.name, "opened: it is not a regular file")
    path.unlink()
    path.mkdir()
    check(path.name, "opened: Is a directory")
    path.rmdir()
    path.symlink_to(path.name)
    check(path.name, "opened: Too many levels of symbolic links")
    path.unlink()
    (scratch / "kept").rename(path)
    if os.geteuid() != 0:
        path.chmod(0)
        check(path.name, "opened: Permission denied")
        path.chmod(0o644)
    path.parent.rename(scratch / "kept")
    path.parent.write_text("")
    check(path.parent.name, "listed: Not a directory")
    path.parent.unlink()
    (scratch / "kept").rename(path.parent)
    assert reconcile(program, run)[0] == 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    options = parser.parse_args()
    scratch = Path(tempfile.mkdtemp(prefix="pipe-native-"))
    passed, failed = 0, 0
    try:
        program = every.Program(options.build.resolve(), scratch)
        for name, test in [(name, test) for name, test in globals().items() if name[:5] == "test_"]:
            directory = scratch / name
            directory.mkdir()
            try:
                test(program, directory)
                passed += 1
            except Exception:
                failed += 1
                print(f"FAIL {name}\n{traceback.format_exc()}")
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


sys.exit(main())
