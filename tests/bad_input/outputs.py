"""Records of at most 1 MiB that make gigabytes of rows, for outputs.pipe: what one may make is
bounded (--max-outputs), whatever the way."""

import json
import os

SOURCES = ("wide", "squares", "zeros", "kept", "old")
SINKS = ("items", "cells", "quotients", "texts", "windows", "missed", "refused")
OLD_HEAD = "t,s\n"
NEWER_MS = 100_000_000


def lists(text, a, b):
    return json.dumps({"s": text, "a": list(a), "b": list(b), "t": 0}, separators=(",", ":")) + "\n"


def old(text):
    """The second record is behind all its windows."""
    return f"{NEWER_MS},x\n0,{text}\n"


def small():
    """Each makes more than 64 KiB, and less than 2 MiB."""
    text = "s" * 1000
    return {
        "wide": lists(text, range(100), ()),
        "squares": lists("", range(70), range(70)),
        "zeros": lists(text, [0] * 100, ()),
        "kept": lists(text, range(100), ()),
        "old": old("s" * 20),
    }


def large():
    """Each makes more than a machine has."""
    text = "s" * 600_000
    return {
        "wide": lists(text, range(70_000), ()),
        "squares": lists("", range(40_000), range(40_000)),
        "zeros": lists(text, [0] * 200_000, ()),
        "kept": lists(text, range(70_000), ()),
        "old": old(text),
    }


def rows_of_small():
    """How many rows each file has when all of them were read."""
    return {
        "items": 100,
        "cells": 4900,
        "quotients": 0,
        "texts": 100,
        "windows": 10_000,
        "missed": 10_000,
        "refused": 100,
    }


def write_inputs(work, records, sources):
    """A sound record stands before each."""
    for name in SOURCES:
        head = OLD_HEAD if name == "old" else lists("sound", (), ())
        with open(os.path.join(work, name), "w", encoding="utf-8") as file:
            file.write(head + (records[name] if name in sources else ""))


def command_of(program, work, state, more):
    command = [program, "run", "--embedded", os.path.join(work, state), *more]
    for name in SOURCES:
        command += ["--path", f"{name}={os.path.join(work, name)}"]
    for name in SINKS:
        command += ["--path", f"{name}_file={os.path.join(work, state + '.' + name)}"]
    return command


def line_of(text):
    return [line for line in text.split("\n") if "--max-outputs" in line]


def check_rows(work, state, expected):
    found = []
    for name, count in expected.items():
        with open(os.path.join(work, state + "." + name), encoding="utf-8") as file:
            rows = sum(1 for line in file if json.loads(line) is not None)
        if rows != count:
            found.append(f"{name}: {rows} rows, expected {count}")
    return found


def check(tally, program, work, run):
    """run(command): how it ended, under the limit of memory."""
    os.makedirs(work)
    for name in SOURCES:
        says = (f"{os.path.join(work, name)}, partition 0, offset 1:", "--max-outputs")
        if not tally.wants("outputs_" + name):
            continue
        state = "run_" + name
        write_inputs(work, large(), (name,))
        result = run(command_of(program, work, state, ()))
        tally.add("outputs_" + name, result.problems((1,), says))
        again = run(command_of(program, work, state, ("--batch", "1")))
        problems = again.problems((1,), says)
        if line_of(again.err) != line_of(result.err):
            problems.append(f"it says {again.err!r}, and said {result.err!r}")
        tally.add(f"outputs_{name}_again", problems + check_rows(work, state, {"refused": 0}))
        write_inputs(work, small(), (name,))
        state = name + "_small"
        result = run(command_of(program, work, state, ("--max-outputs", "64KiB")))
        tally.add(f"outputs_{name}_limit", result.problems((1,), says))
    if tally.wants("outputs_raised"):
        write_inputs(work, small(), SOURCES)
        result = run(command_of(program, work, "raised", ("--max-outputs", "2MiB")))
        tally.add(
            "outputs_raised",
            result.problems((0,), ()) + check_rows(work, "raised", rows_of_small()),
        )
