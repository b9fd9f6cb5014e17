"""How far a run is: what is committed is exact, and what is left of the input is told."""

import os
import subprocess

from harness import Failure, call, expect_different, reconcile, traffic_run, wait_for


def unfinished_is_exact(build):
    """A run that was killed is exact as of its last commit, and not at its end until it is."""
    cwd = build.scratch / "unfinished"
    cwd.mkdir()
    command = traffic_run(build.clickstream, 120000, 1000, 3, "--commit-interval", "20ms")
    table = cwd / "run/tables/clean_lake.jsonl"
    for size in (1 << 20, 8 << 20):
        process = subprocess.Popen(
            [str(part) for part in command],
            cwd=cwd,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        wait_for(lambda: table.exists() and table.stat().st_size > size)
        process.kill()
        process.wait()
        expect_unfinished(build.clickstream, cwd, "clicks")
    text = call([build.clickstream, "reconcile", "run"], cwd)
    if "\n  clicks: " not in text or "; its traffic has more to send\n" not in text:
        raise Failure(text)
    call(command, cwd)
    expect_finished(build.clickstream, cwd)


def expect_unfinished(program, cwd, source):
    """The verdict and the text tell that there is more to read; the layer of the source."""
    verdict = reconcile(program, cwd, True)
    text = call([program, "reconcile", "run"], cwd)
    told = text.splitlines()[-4:]
    if verdict["at_end"] is not False or not any("not at the end of the input" in x for x in told):
        raise Failure(f"at_end {verdict['at_end']}: {told}")
    return next(layer for layer in verdict["layers"] if layer["name"] == source)


def expect_finished(program, cwd):
    verdict = reconcile(program, cwd, True)
    text = call([program, "reconcile", "run"], cwd)
    unread = [layer["unread"] for layer in verdict["layers"] if layer["unread"]]
    if verdict["at_end"] is not True or unread or "not at the end" in text or "not read" in text:
        raise Failure(f"at_end {verdict['at_end']}: {text}")


def unfinished_files_are_exact(build):
    """So many records of a file are left, and bytes behind a commit are told, and no fault."""
    program = build.program("orders")
    cwd = build.scratch / "unfinished-files"
    cwd.mkdir()
    row = "2026-01-31T10:00:00Z,DE,plain,1.00\n"
    (cwd / "orders-1.csv").write_text("at,country,note,amount\n" + row * 400000)
    (cwd / "orders-2.csv").write_text("at,country,note,amount\n")
    command = [program, "run", "--embedded", "run", "--commit-interval", "1ms", "--batch", "100"]
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.DEVNULL) as process:
        sold = cwd / "sold.csv"
        wait_for(lambda: sold.exists() and sold.stat().st_size > 1000)
        process.terminate()  # in order: what is behind the commit is this test's
    with open(sold, "ab") as file:
        file.write(b"2026-01-31T1")
    layer = expect_unfinished(program, cwd, "placed")
    rows = sold.read_bytes().count(b"\n") - 1
    if layer["rows"] != 400000 or layer["unread"] != 400000 - rows or rows == 0:
        raise Failure(f"{rows} rows were read: {layer}")
    text = call([program, "reconcile", "run"], cwd)
    if f"placed: {rows:,} of 400,000 records read\n" not in text:
        raise Failure(text)
    if "and 12 bytes behind what was committed: the next run cuts them off" not in text:
        raise Failure(text)
    call([program, "run", "--embedded", "run"], cwd)
    expect_finished(program, cwd)
    if sold.read_bytes().count(b"\n") != 400001:
        raise Failure("the rest was not cut off")


def rows_behind_the_end_are_told(program, cwd):
    """A run at its end has written none."""
    command = [program, "run", "--embedded", "run", "--path", "totals=elsewhere.jsonl"]
    call(command, cwd)  # it knows the copy since
    expect_finished(program, cwd)
    path = cwd / "elsewhere.jsonl"
    whole = path.read_bytes()
    with open(path, "ab") as file:
        file.write(b'{"x":1}\n')
    verdict = reconcile(program, cwd, False)
    expect_different(verdict, ["totals"])
    layer = next(layer for layer in verdict["layers"] if layer["name"] == "totals")
    advice = f"truncate -s {len(whole)} elsewhere.jsonl"
    if layer["behind_bytes"] != 8 or advice not in layer["trouble"]:
        raise Failure(layer)
    said = call(command, cwd, expect=3)
    if "has 8 bytes behind" not in said or advice not in said or len(said.splitlines()) != 1:
        raise Failure(said)
    if path.read_bytes() != whole + b'{"x":1}\n':
        raise Failure("somebody's bytes were taken away")
    os.truncate(path, len(whole))
    call(command, cwd)
    expect_finished(program, cwd)
