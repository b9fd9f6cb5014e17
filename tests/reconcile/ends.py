"""How far a run is: what is committed is exact, and what is left of the input is told."""

import os
import re
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
    sold = cwd / "sold.csv"
    stop_when(sold, 1000, command, cwd)  # in order: what is behind the commit is this test's
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


def stopped_runs_add_up(build):
    """A run that was stopped says so, and every row that went into a stream is in a column."""
    program, cwd = build.program("once"), build.scratch / "stopped"
    cwd.mkdir()
    for number in (1, 2):
        rows = (f"2026-01-31T10:00:00Z,{i % 90000 + number}" for i in range(100000))
        path = cwd / f"rows-{number}.csv"
        path.write_text("at,id\n2026-01-31T10:00:00Z,-1\n" + "\n".join(rows) + "\n")
    command = [program, "run", "--embedded", "run", "--commit-interval", "5ms"]
    told = stop_when(cwd / "refused.jsonl", 1, command, cwd)
    if "\n  stopped before the end of its input; the same command goes on from here\n" not in told:
        raise Failure(told)
    if "in-flight: sent to the next stage, not yet received there" not in told:
        raise Failure(told)
    first = row_of(told, "first")
    left = first["rejected"] + first.get("duplicates", 0) + first["in-flight"] + first["out"]
    if first["in"] != left or first["in-flight"] == 0:
        raise Failure(f"{first}\n{told}")
    text = call([program, "reconcile", "run"], cwd)
    received = first["in"] - first["in-flight"]
    if (
        f"  first: {received:,} of {first['in']:,} rows sent to the next stage were received"
        not in text
    ):
        raise Failure(text)
    told = call(command, cwd)
    if "\n  at the end of its input\n" not in told or "in-flight:" in told:
        raise Failure(told)
    if row_of(told, "first")["out"] != 90001:
        raise Failure(told)
    expect_finished(program, cwd)


def stop_when(path, size, command, cwd):
    """SIGTERM once the file is so long; what the program says then."""
    with subprocess.Popen(command, cwd=cwd, stderr=subprocess.PIPE, text=True) as process:
        wait_for(lambda: path.exists() and path.stat().st_size >= size)
        process.terminate()
        told = process.communicate(timeout=300)[1]
    if process.returncode != 0:
        raise Failure(f"exit {process.returncode}: {told}")
    return told


def row_of(told, stream):
    """The columns of a stream in the table at the end of a run."""
    titles = re.search(r"^  stream +(.*)$", told, re.M)[1].split()
    values = re.search(rf"^  {stream}  +(.*)$", told, re.M)[1].replace(",", "").split()
    return dict(zip(titles, map(int, values)))


def changed_inputs_are_told(build):
    """A file as long as it was: its time tells, and the row that differs is shown in columns."""
    program, cwd = build.program("once"), build.scratch / "changed"
    cwd.mkdir()
    rows = [f"2026-01-31T10:00:00Z,{number}" for number in range(10, 60)]
    for number in (1, 2):
        (cwd / f"rows-{number}.csv").write_text("at,id\n" + "\n".join(rows) + "\n")
    command = [program, "run", "--embedded", "run"]
    call(command, cwd)
    expect_finished(program, cwd)
    path = cwd / "rows-1.csv"
    path.write_text(path.read_text().replace(",33\n", ",77\n"))
    said = call(command, cwd)
    if "a file of the input was modified since this run began" not in said:
        raise Failure(said)
    verdict = reconcile(program, cwd, False)
    layers = {layer["name"]: layer for layer in verdict["layers"]}
    rows = {row["kind"]: row["row"]["value"] for row in layers["first"]["differences"]}
    place = {"topic": "rows-1.csv", "partition": 0, "offset": 23}
    if layers["rows"]["modified"] != ["rows-1.csv"] or rows["missing"]["row"]["id"] != 77:
        raise Failure(layers)
    if rows["unexpected"]["row"]["id"] != 33 or not place.items() <= rows["missing"].items():
        raise Failure(layers)
    text = call([program, "reconcile", "run"], cwd, expect=1)
    if "\nrows-1.csv was modified since this run began" not in text:
        raise Failure(text)


def other_paths_are_told(build):
    """What --path said when the run began is what to give; a source of files has no traffic."""
    program, cwd = build.program("once"), build.scratch / "paths"
    cwd.mkdir()
    for number in (1, 2):
        (cwd / f"rows-{number}.csv").write_text("at,id\n2026-01-31T10:00:00Z,1\n")
    run = [program, "run", "--embedded"]
    call([*run, "one", "--path", "rows=rows-1.csv"], cwd)
    outputs = ["--path", "kept=kept-2.jsonl", "--path", "bad=bad-2.jsonl"]
    call([*run, "both", *outputs], cwd)
    for words, wanted in (
        (["one"], "rows-2.csv is new since this run began; this run began with --path "),
        (["one"], "--path rows=rows-1.csv: give that, or use another directory than one"),
        (
            ["one", "--path", "rows=x-*.csv"],
            "no file matches 'x-*.csv' in the working directory; this run began with",
        ),
        (["both", *outputs, "--path", "rows=rows-1.csv"], "rows-2.csv is gone since"),
        (["both", *outputs, "--path", "rows=rows-1.csv"], "began without --path rows=…"),
    ):
        said = call([*run, *words], cwd, expect=3)
        if wanted not in said or len(said.splitlines()) != 1:
            raise Failure(f"{words}: {said}")
    orders = build.program("orders")
    (cwd / "orders-1.csv").write_text("at,country,note,amount\n")
    said = call([orders, "run", "--embedded", "fed", "--traffic"], cwd, expect=2)
    if "source placed reads files; `traffic --to DIR` writes some" not in said:
        raise Failure(said)
    said = call([*run, "fed", "--traffic"], cwd, expect=2)
    if "has no `traffic` statement" not in said:
        raise Failure(said)
