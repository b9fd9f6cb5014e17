#!/usr/bin/env python3
"""Runs pipec and compiled programs over malformed input.

    run.py [--only pipec|programs] [--case PART] [--pipec FILE] [--build DIR] [--write DIR]

Every case must end by itself within 60 s and the memory limit, without a signal, with the exit
status that the case states; a failure must say on standard error what it is about, by file; rows
that pass and records that are refused (number, reason, detail) must be those of the case.
--write only writes the corpus. Memory: as `ulimit -v`; BAD_INPUT_NO_LIMIT=1 lifts it, for
sanitizer builds. Without the shop's export its cases are skipped; with CI=true that fails. Prints
'N passed, M failed, K skipped'. Exit: 0 none failed, 1 some failed, 2 usage.
"""

import argparse
import json
import os
import random
import resource
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

sys.dont_write_bytecode = True

import avro_files
import outputs
import programs
import records

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
REES46 = os.path.join(ROOT, "..", "shared", "data", "rees46-2019-10-01.csv")
TIME_LIMIT_S = 60
PIPEC_LIMIT_BYTES = 1 << 30
PROGRAM_LIMIT_BYTES = 4 << 30
ERRORS_MAX = 20
GROUPS = ("csv", "jsonl", "avro", "kafka", "text")


class Result:
    """How a command ended: exit status (negative: a signal), its texts, whether in time."""

    def __init__(self, command, directory, limit_bytes):
        def limit():
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            if not os.environ.get("BAD_INPUT_NO_LIMIT"):
                resource.setrlimit(resource.RLIMIT_AS, (limit_bytes, limit_bytes))

        self.timed_out = False
        process = subprocess.Popen(command, cwd=directory, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=limit)
        try:
            out, err = process.communicate(timeout=TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            self.timed_out = True
            process.kill()
            out, err = process.communicate()
        self.status = process.returncode
        self.out, self.err = (text.decode("utf-8", "replace") for text in (out, err))

    def problems(self, exits, says, quiet=False):
        """What is wrong with the way it ended. quiet: may say on standard output what it found."""
        if self.timed_out:
            return [f"not done after {TIME_LIMIT_S} s"]
        found = []
        if self.status < 0:
            found.append(f"ended by signal {-self.status}")
        elif self.status not in exits:
            found.append(f"exit {self.status}, expected {' or '.join(map(str, exits))}")
        if "Sanitizer" in self.err:
            found.append("a sanitizer reports")
        if self.status > 0:
            found += [f"standard error does not say {text!r}" for text in says
                      if text not in self.err]
            if not self.err.strip() and not (quiet and self.out.strip()):
                found.append("standard error is empty")
        if found and self.err.strip():
            found.append("standard error: " + self.err.strip()[:600])
        return found


class Tally:
    """Counts and reports."""

    def __init__(self, part):
        self.passed, self.failed, self.skipped, self.part = 0, 0, 0, part

    def wants(self, name):
        return self.part is None or self.part in name

    def add(self, name, problems):
        if problems:
            self.failed += 1
            print(f"FAILED {name}")
            for problem in problems:
                print("    " + problem.replace("\n", "\n    "))
        else:
            self.passed += 1

    def skip(self, name, reason):
        if os.environ.get("CI") == "true":
            self.add(name, [reason])
        else:
            self.skipped += 1
            print(f"skipped: {name}: {reason}")


def write_program(case, directory):
    os.makedirs(os.path.join(directory, "schemas"), exist_ok=True)
    name = case.name + ".pipe"
    with open(os.path.join(directory, name), "wb") as file:
        file.write(case.text)
    for schema, data in case.schemas.items():
        with open(os.path.join(directory, "schemas", schema), "wb") as file:
            file.write(data)
    return name


def check_programs(tally, pipec, top):
    """pipec check, fmt and --explain over malformed programs and schemas."""
    for case in programs.all_cases():
        if not tally.wants(case.name):
            continue
        name = write_program(case, top)
        result = Result([pipec, "check", name], top, PIPEC_LIMIT_BYTES)
        says = case.says or (name,)
        problems = result.problems(case.exits, says)
        errors = sum(line.startswith("error[") for line in result.err.split("\n"))
        if errors > ERRORS_MAX:
            problems.append(f"{errors} errors are printed, at most {ERRORS_MAX}")
        if result.status == 1 and errors == 0:
            problems.append("exit 1 without an error: " + result.err[:300])
        for other in (["fmt", "--check"], ["--explain"], ["check", "--diagnostics=json"]):
            result = Result([pipec, *other, name], top, PIPEC_LIMIT_BYTES)
            problems += [f"{' '.join(other)}: {text}" for text in result.problems((0, 1), (), True)]
        tally.add(case.name, problems)


def check_pipec_usage(tally, pipec, top):
    os.makedirs(os.path.join(top, "directory.pipe"), exist_ok=True)
    with open(os.path.join(top, "plain"), "w", encoding="utf-8") as file:
        file.write("pipeline p;\n")
    usage = {
        "usage_nothing": ([], (2,), ()),
        "usage_unknown_option": (["--no-such-option", "x.pipe"], (2,), ("--no-such-option",)),
        "usage_two_files": (["check", "a.pipe", "b.pipe"], (1, 2), ()),
        "usage_no_file": (["check"], (2,), ()),
        "usage_help_unknown_code": (["help", "PC0000"], (1, 2), ("PC0000",)),
        "file_missing": (["check", "no-such.pipe"], (1, 2), ("no-such.pipe",)),
        "file_is_directory": (["check", "directory.pipe"], (1, 2), ("directory.pipe",)),
        "file_below_file": (["check", "plain/x.pipe"], (1, 2), ("plain/x.pipe",)),
        "file_endless": (["check", "/dev/zero"], (1, 2), ("/dev/zero",)),
        "contracts_missing": (["contracts", "check", "no-such"], (1, 2), ("no-such",)),
        "contracts_malformed": (["contracts", "check", "subjects"], (1,), ("v1.avsc",)),
    }
    os.makedirs(os.path.join(top, "subjects", "bad"), exist_ok=True)
    with open(os.path.join(top, "subjects", "bad", "v1.avsc"), "w", encoding="utf-8") as file:
        file.write("{")
    for name, (arguments, exits, says) in usage.items():
        if tally.wants(name):
            result = Result([pipec, *arguments], top, PIPEC_LIMIT_BYTES)
            tally.add(name, result.problems(exits, says))


def check_program_options(tally, program, work):
    """Every option of every command, in both forms; what --help lists."""
    twice = {
        "run": ["--embedded", "--state", "--instance", "--group", "--count", "--rate", "--seed",
                "--start", "--commit-interval", "--batch", "--max-record", "--state-memory",
                "--progress", "--schema-ids", "--schema-wait", "--listen"],
        "follow": ["--state", "--instance", "--group"],
        "traffic": ["--to", "--traffic", "--count", "--seconds", "--rate", "--ledger"],
        "reconcile": ["--ledger", "--ledger-out", "--group", "--max-record"],
        "inspect": ["--partition", "--from", "--limit", "--group"],
        "doctor": ["--state"],
        "inject": ["--embedded", "--source"],
        "contracts": ["--schema", "--contract"],
        "topics": ["--replication", "--min-insync"],
        "explain": ["--format"],
    }
    values = {"--rate": "1/s", "--start": "2026-01-31T10:00:00Z", "--commit-interval": "1s",
              "--max-record": "1KiB", "--state-memory": "1MiB", "--progress": "never",
              "--schema-wait": "1s", "--listen": "none", "--format": "json"}
    for command, options in twice.items():
        for option in options:
            value = values.get(option, "1")
            words = [f"{option}={value}", option, value]  # both forms, everywhere
            result = Result([program, command, *words], work, PROGRAM_LIMIT_BYTES)
            says = (f"{command}: {option} is given twice",)
            tally.add(f"usage_twice_{command}{option}", result.problems((2,), says))
    for command in (*twice, "tables"):
        result = Result([program, command, "--no-such"], work, PROGRAM_LIMIT_BYTES)
        says = (f"{command}: unknown option '--no-such'", f"{command} --help lists the options")
        tally.add(f"usage_unknown_{command}", result.problems((2,), says))
        result = Result([program, command, "--help"], work, PROGRAM_LIMIT_BYTES)
        lists = [f"usage: {name_of_pipeline('kafka')} {command} ", "options:\n"]
        lists += [f"  {option} " for option in twice.get(command, ["--sql"])]
        tally.add(f"usage_help_{command}", output_problems(result, 0, *lists))


def check_schema_files(tally, program, work):
    """What `contracts push --schema` does not read."""
    os.mkfifo(os.path.join(work, "pipe"))
    with open(os.path.join(work, "long"), "w", encoding="utf-8") as file:
        file.write(" " * (1 << 20) + "{}")
    registry = ["env", "PIPE_REGISTRY_URL=http://127.0.0.1:1"]
    for name, says in (("pipe", "not a regular file"), ("/dev/zero", "not a regular file"),
                       (".", "Is a directory"), ("none", "No such file"), ("file", "file:1: "),
                       ("long", "longer than 1 MiB")):
        result = Result([*registry, program, "contracts", "push", "--schema", name], work,
                        PROGRAM_LIMIT_BYTES)
        tally.add("usage_schema_" + name, result.problems((1,), ("contracts: " + name, says)))


def check_program_usage(tally, pipec, build, top):
    """Command lines of a compiled program: which option is wrong, and what is expected."""
    program = program_of(tally, "kafka", pipec, build) if tally.wants("usage_") else None
    if program is None:
        return
    os.makedirs(os.path.join(top, "usage"))
    work = os.path.join(top, "usage")
    os.symlink("nothing", os.path.join(work, "link"))
    with open(os.path.join(work, "file"), "w", encoding="utf-8"):
        pass
    check_program_options(tally, program, work)
    many = {"path": ["--path", "records=a", "--path", "records=b"],
            "kafka": ["--kafka", "client.id=a", "--kafka", "client.id=b"]}
    for name, words in many.items():
        result = Result([program, "run", *words], work, PROGRAM_LIMIT_BYTES)
        tally.add("usage_same_" + name, result.problems((2,), ("--" + name,)))
    ranges = [
        ("run", "--count", "events, from 0 to 1000000000000000000"),
        ("run", "--seed", "from 0 to 9223372036854775807"), ("run", "--rate", "from 1/h to"),
        ("traffic", "--rate", "from 1/h to 1000000000/s"),
        ("traffic", "--seconds", "seconds, from 1 to"), ("run", "--batch", "from 1 to 65536"),
        ("run", "--commit-interval", "from 1ms to 1h"),
        ("run", "--max-record", "from 16B to 64MiB"),
        ("run", "--state-memory", "from 1KiB to 1024GiB"), ("run", "--schema-wait", "up to 1d"),
        ("run", "--checkpoint-interval", "from 100ms to 1d"),
        ("inspect", "--partition", "from 0 to 2147483647"), ("inspect", "--from", "offset, from 0"),
        ("inspect", "--limit", "records, from 0 to"), ("topics", "--replication", "from 1 to 100"),
    ]
    for command, option, says in ranges:
        for value in ("x", "-1", "99999999999999999999999999"):
            result = Result([program, command, option, value], work, PROGRAM_LIMIT_BYTES)
            tally.add(f"usage_range_{command}{option}_{value[:2]}",
                      result.problems((2,), (option, says)))
    check_schema_files(tally, program, work)
    for name, directory, says in (("link", "link", "symbolic link"), ("file", "file/x", "a file"),
                                  ("link_above", "link/x", "symbolic link")):
        result = Result([program, "run", "--embedded", directory], work, PROGRAM_LIMIT_BYTES)
        tally.add("usage_directory_" + name, result.problems((1,), (directory[:4], says)))
    other = program_of(tally, "csv", pipec, build)
    command = program_command(other, work, os.path.join(work, "file"))
    with open(os.path.join(work, "file"), "wb") as file:
        file.write(records.CSV_HEAD)
    tally.add("usage_other_pipeline_begins",
              Result(command, work, PROGRAM_LIMIT_BYTES).problems((0,), ()))
    result = Result([program, "reconcile", "state"], work, PROGRAM_LIMIT_BYTES)
    names = (name_of_pipeline("csv"), name_of_pipeline("kafka"))
    tally.add("usage_other_pipeline",
              result.problems((3,), tuple(f"of pipeline {name}" for name in names)))


def output_problems(result, status, *lines):
    """Problems of what a command says on standard output."""
    problems = result.problems((status,), (), True)
    return problems + [f"does not say {line!r}: {result.out}" for line in lines
                       if line not in result.out]


def check_doctor(tally, pipec, build, top):
    """What a pipeline of files has no use for is no problem, nor a directory to be made."""
    program = program_of(tally, "csv", pipec, build) if tally.wants("doctor_") else None
    if program is None:
        return
    missing = os.path.join(top, "none", "state")
    said = Result([program, "doctor", "--kafka", "bootstrap.servers=127.0.0.1:1", "--state",
                   missing], top, PROGRAM_LIMIT_BYTES)
    tally.add("doctor_files", output_problems(
        said, 0, "kafka       skipped  no source or sink of the pipeline is a topic",
        "clickhouse  skipped  no sink of the pipeline is a table there",
        f"are free on the disk of {top}\n", "no problems\n"))


def check_waiting(tally, pipec, build, top):
    """A broker that takes connections and says nothing: who waits is told what for."""
    program = program_of(tally, "kafka", pipec, build) if tally.wants("waiting_") else None
    if program is None:
        return
    with socket.create_server(("127.0.0.1", 0)) as silent:
        broker = f"127.0.0.1:{silent.getsockname()[1]}"
        for words in (["doctor"], ["topics", "plan"], ["inspect", "offsets"]):
            process = subprocess.Popen(
                [program, *words, "--kafka", "bootstrap.servers=" + broker], cwd=top,
                stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
            timer = threading.Timer(TIME_LIMIT_S, process.kill)
            timer.start()
            says = f"no broker at {broker} has answered yet; waiting for up to 30 s".encode()
            told = any(says in line for line in process.stderr)
            timer.cancel()
            process.kill()
            process.wait()
            process.stderr.close()
            tally.add("waiting_" + words[0], [] if told else ["it does not say what it waits for"])


def name_of_pipeline(group):
    with open(os.path.join(HERE, group + ".pipe"), encoding="utf-8") as file:
        return next(line.split()[1].rstrip(";\n") for line in file if line.startswith("pipeline "))


def read_rows(path):
    """Rows of a JSON lines file that must be whole."""
    if not os.path.exists(path):
        return []
    with open(path, "rb") as file:
        data = file.read()
    if data and not data.endswith(b"\n"):
        raise ValueError(f"{os.path.basename(path)} ends inside a line")
    return [json.loads(line) for line in data.decode("utf-8").split("\n")[:-1]]


def compare_accepted(case, rows):
    if case.accepted is None:
        return []
    found = [row["line"] if "line" in row else row["id"] for row in rows]
    if case.accepted_prefix:
        found = found[:len(case.accepted)]
    if found == case.accepted:
        return []
    return [f"accepted {found[:10]}, expected {case.accepted[:10]}"]


def compare_refused(case, rows):
    offsets = [row["offset"] for row in rows]
    problems = []
    if len(set(offsets)) != len(offsets):
        problems.append("a record is refused twice")
    for row in rows:
        if not row["reason"] or row["rule"] != "records" or not row["topic"]:
            problems.append(f"an incomplete reject row: {row}")
            break
    if case.refused is None:
        return problems
    found = {row["offset"]: (row["reason"], row["detail"]) for row in rows}
    for offset in sorted(found.keys() | case.refused.keys())[:1_000]:
        expected, actual = case.refused.get(offset), found.get(offset)
        if expected is None or actual is None or expected[0] != actual[0]:
            problems.append(f"record {offset}: {actual}, expected {expected}")
        elif expected[1] is not None and expected[1] not in (actual[1] or ""):
            problems.append(f"record {offset}: detail {actual[1]!r} does not name {expected[1]!r}")
        elif expected[0] == "undecodable" and not actual[1]:
            problems.append(f"record {offset}: undecodable without detail")
    return problems[:5]


def program_command(program, work, data_path):
    return [program, "run", "--embedded", os.path.join(work, "state"),
            "--path", f"records={data_path}",
            "--path", f"accepted_file={os.path.join(work, 'accepted.jsonl')}",
            "--path", f"refused_file={os.path.join(work, 'refused.jsonl')}"]


def missing_warning(warns, text):
    lines = [line for line in text.split("\n") if all(word in line for word in warns)]
    if not warns or len(lines) == 1:
        return []
    return [f"{len(lines)} warnings with {warns}: {text[:600]}"]


def run_data_case(case, program, work):
    os.makedirs(work)
    data_path = os.path.join(work, case.name + ".data")
    with open(data_path, "wb") as file:
        file.write(case.data)
    result = Result(program_command(program, work, data_path), work, PROGRAM_LIMIT_BYTES)
    problems = result.problems(case.exits, (case.name + ".data",) + case.says)
    problems += missing_warning(case.warns, result.err)
    try:
        problems += compare_accepted(case, read_rows(os.path.join(work, "accepted.jsonl")))
        problems += compare_refused(case, read_rows(os.path.join(work, "refused.jsonl")))
    except (ValueError, KeyError, TypeError) as error:
        problems.append(f"output: {error}")
    return problems


def cases_of(group):
    return {"csv": records.csv_cases, "jsonl": records.jsonl_cases, "text": records.text_cases,
            "avro": avro_files.container_cases, "kafka": avro_files.message_cases}[group]()


def program_of(tally, group, pipec, build):
    """The compiled program of a group, made if it is not there or old; None after a report."""
    program = os.path.join(build, "bad_" + group)
    source = os.path.join("tests", "bad_input", group + ".pipe")
    made_from = (pipec, os.path.join(ROOT, source), os.path.join(build, "libpipe.a"))
    newest = max(os.path.getmtime(path) for path in made_from if os.path.exists(path))
    if not os.path.exists(program) or os.path.getmtime(program) < newest:
        command = [pipec, "build", "--out", os.path.join(build, "generated"), "-o", program, source]
        done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, check=False)
        if done.returncode != 0 or not os.path.exists(program):
            tally.add(f"build of {source}", [done.stdout.decode("utf-8", "replace")[:2_000] or
                                             "nothing was built"])
            return None
    return program


def check_data(tally, pipec, build, top):
    for group in GROUPS:
        cases = [case for case in cases_of(group) if tally.wants(case.name)]
        program = program_of(tally, group, pipec, build) if cases else None
        for case in cases if program else []:
            work = os.path.join(top, case.name)
            tally.add(case.name, run_data_case(case, program, work))
            shutil.rmtree(work, ignore_errors=True)


def check_kept(tally, attempt, work, good):
    """Files that no run may touch: its input, by whatever name, and what it has not written."""
    with open(good, "rb") as file:
        before = file.read()
    for copy in ("precious.jsonl", "good.csv.copy"):
        shutil.copyfile(good, os.path.join(work, copy))
    os.link(good, os.path.join(work, "hard.csv"))
    os.symlink("good.csv", os.path.join(work, "link.csv"))
    replace = ["--replace"]
    for name, path in (("source", "good.csv"), ("path_of_source", "../places/./good.csv"),
                       ("link_of_source", "hard.csv"), ("symbolic_link_of_source", "link.csv")):
        attempt("sink_is_" + name, (1,), ("sink accepted_file", "source records", "good.csv"), "k",
                accepted=path, more=replace)
    attempt("sink_is_one_of_pattern", (1,), ("g*.csv", "g2.csv"), "k", accepted="g2.csv",
            data=os.path.join(work, "g*.csv"), more=replace)
    attempt("sink_is_other_sink", (1,), ("accepted_file", "refused_file"), "k",
            accepted="./refused.jsonl", more=replace)
    attempt("sink_is_log", (1,), ("CURRENT",), "k", accepted="k/log/CURRENT", more=replace)
    attempt("sink_not_empty", (1,), ("precious.jsonl", "--path", "--replace"), "k",
            accepted="precious.jsonl")
    for kept in ("good.csv", "precious.jsonl"):
        with open(os.path.join(work, kept), "rb") as file:
            tally.add("place_kept_" + kept, [] if file.read() == before else ["it was changed"])
    attempt("sink_replaced", (0,), (), "k", accepted="precious.jsonl", more=replace)
    rows = read_rows(os.path.join(work, "precious.jsonl"))
    tally.add("place_sink_replaced_rows", [] if len(rows) == 1 else [f"{len(rows)} rows"])
    for name in ("hard.csv", "link.csv", "refused.jsonl"):
        os.unlink(os.path.join(work, name))


def check_places(tally, pipec, build, top):
    """Files that are missing, changed, or cannot be written."""
    program = program_of(tally, "csv", pipec, build) if tally.wants("place_") else None
    if program is None:
        return
    work = os.path.join(top, "places")
    os.makedirs(os.path.join(work, "directory"))
    good = os.path.join(work, "good.csv")
    with open(good, "wb") as file:
        file.write(records.CSV_HEAD + records.csv_row(0))

    def attempt(name, exits, says, state, data=good, accepted="accepted.jsonl", more=()):
        command = program_command(program, work, data)
        command[3] = os.path.join(work, state)
        command[7] = "accepted_file=" + os.path.join(work, accepted)
        command += more
        result = Result(command, work, PROGRAM_LIMIT_BYTES)
        tally.add("place_" + name, result.problems(exits, says))

    attempt("source_missing", (1,), ("none.csv",), "s1", data=os.path.join(work, "none.csv"))
    attempt("source_is_directory", (1,), ("directory",), "s2", data=os.path.join(work, "directory"))
    attempt("sink_below_file", (1,), ("good.csv",), "s3", accepted="good.csv/accepted.jsonl")
    attempt("sink_is_directory", (1,), ("directory",), "s4", accepted="directory")
    attempt("disk_full", (1,), ("/dev/full",), "s5", accepted="/dev/full")
    attempt("state_below_file", (1,), ("good.csv",), "good.csv/state")
    check_kept(tally, attempt, work, good)
    attempt("first_run", (0,), (), "s6")
    attempt("second_run_does_nothing", (0,), (), "s6")
    rows = read_rows(os.path.join(work, "accepted.jsonl"))
    tally.add("place_second_run_rows", [] if len(rows) == 1 else [f"{len(rows)} rows, expected 1"])
    with open(good, "ab") as file:
        file.write(records.csv_row(1))
    attempt("source_grown", (3,), ("good.csv",), "s6")
    with open(good, "wb") as file:
        file.write(records.CSV_HEAD + records.csv_row(0))
    os.truncate(os.path.join(work, "accepted.jsonl"), 3)
    attempt("sink_shortened", (3,), ("accepted.jsonl",), "s6")
    attempt("sink_in_another_run", (1,), ("s6/tables/new.jsonl", "another run"), "s7",
            accepted="s6/tables/new.jsonl", more=["--replace"])
    attempt("another_run_over_it", (1,), ("accepted.jsonl", "--replace", "--path"), "s7")
    attempt("another_run", (0,), (), "s7", more=["--replace"])
    attempt("sink_elsewhere", (3,), ("accepted.jsonl", "new.jsonl"), "s7", accepted="new.jsonl")
    os.rename(os.path.join(work, "accepted.jsonl"), os.path.join(work, "moved.jsonl"))
    attempt("sink_gone", (3,), ("accepted.jsonl",), "s7")
    attempt("sink_is_another", (3,), ("good.csv.copy",), "s7", accepted="good.csv.copy")
    attempt("sink_moved", (0,), (), "s7", accepted="moved.jsonl")
    os.rename(good, good + ".away")
    attempt("source_gone", (3,), ("good.csv",), "s7", accepted="moved.jsonl")


def mutations(data, count):
    """Damaged copies of a file, the same ones at every run."""
    chance = random.Random(2019)
    for number in range(count):
        copy = bytearray(data)
        for _ in range(chance.randrange(1, 8)):
            at = chance.randrange(len(copy))
            kind = chance.randrange(5)
            if kind == 0:
                copy[at] = chance.randrange(256)
            elif kind == 1:
                del copy[at:at + chance.randrange(1, 200)]
            elif kind == 2:
                copy[at:at] = bytes(chance.choice(b'"\0,\n\r\xff-') for _ in range(5))
            elif kind == 3:
                copy[at:at] = copy[at:at + chance.randrange(1, 200)]
            else:
                del copy[at:]
            copy = copy or bytearray(b"x")
        yield number, bytes(copy)


def check_rees46(tally, build, top):
    """Damaged pieces of the real file: each record of it is in one place or the other."""
    program = os.path.join(build, "rees46")
    missing = [path for path in (program, REES46) if not os.path.exists(path)]
    if not tally.wants("rees46_"):
        return
    if missing:
        tally.skip("rees46_", f"{os.path.relpath(missing[0], ROOT)} is missing")
        return
    with open(REES46, "rb") as file:
        data = b"".join(file.readline() for _ in range(300))
    sinks = {"clean_file": "clean.jsonl", "windows_file": "windows.csv",
             "sessions_file": "sessions.csv", "rejects_file": "rejected.jsonl",
             "late_file": "late.jsonl"}
    for number, damaged in mutations(data, 60):
        work = os.path.join(top, f"rees46_{number}")
        os.makedirs(work)
        path = os.path.join(work, "damaged.csv")
        with open(path, "wb") as file:
            file.write(damaged)
        command = [program, "run", "--embedded", os.path.join(work, "state"), "--path",
                   f"events={path}"]
        for sink, name in sinks.items():
            command += ["--path", f"{sink}={os.path.join(work, name)}"]
        result = Result(command, work, PROGRAM_LIMIT_BYTES)
        problems = result.problems((0, 1), ("damaged.csv",))
        try:
            refused = [row["offset"] for row in read_rows(os.path.join(work, "rejected.jsonl"))
                       if row["offset"] is not None]
            read_rows(os.path.join(work, "clean.jsonl"))
            if len(refused) != len(set(refused)):
                problems.append("a record is refused twice")
        except (ValueError, KeyError, TypeError) as error:
            problems.append(f"output: {error}")
        tally.add(f"rees46_{number}", problems)
        shutil.rmtree(work)


def check_outputs(tally, pipec, build, top):
    """Records that make too much of themselves."""
    program = program_of(tally, "outputs", pipec, build) if tally.wants("outputs_") else None
    work = os.path.join(top, "outputs")
    if program:
        outputs.check(tally, program, work,
                      lambda command: Result(command, work, PROGRAM_LIMIT_BYTES))


def write_corpus(directory):
    for case in programs.all_cases():
        os.makedirs(os.path.join(directory, "pipe"), exist_ok=True)
        write_program(case, os.path.join(directory, "pipe"))
    for group in GROUPS:
        os.makedirs(os.path.join(directory, group), exist_ok=True)
        for case in cases_of(group):
            with open(os.path.join(directory, group, case.name + ".data"), "wb") as file:
                file.write(case.data)


def main():
    parser = argparse.ArgumentParser(description="malformed input for pipec and its programs")
    parser.add_argument("--only", choices=("pipec", "programs"))
    parser.add_argument("--case", help="only cases whose name holds this")
    parser.add_argument("--pipec", default=os.path.join(ROOT, "build", "pipec"))
    parser.add_argument("--build", default=os.path.join(ROOT, "build"),
                        help="the directory of compiled programs")
    parser.add_argument("--write", metavar="DIR", help="write the corpus there, run nothing")
    arguments = parser.parse_args()
    if arguments.write:
        write_corpus(arguments.write)
        return 0
    pipec, build = os.path.abspath(arguments.pipec), os.path.abspath(arguments.build)
    if not os.access(pipec, os.X_OK):
        print(f"run.py: {pipec} is not there; run make first", file=sys.stderr)
        return 2
    tally = Tally(arguments.case)
    with tempfile.TemporaryDirectory(prefix="bad-input-") as top:
        if arguments.only != "programs":
            check_programs(tally, pipec, top)
            check_pipec_usage(tally, pipec, top)
        if arguments.only != "pipec":
            check_data(tally, pipec, build, top)
            check_places(tally, pipec, build, top)
            check_program_usage(tally, pipec, build, top)
            check_doctor(tally, pipec, build, top)
            check_waiting(tally, pipec, build, top)
            check_outputs(tally, pipec, build, top)
            check_rees46(tally, build, top)
    print(f"{tally.passed} passed, {tally.failed} failed, {tally.skipped} skipped")
    return 1 if tally.failed else 0


if __name__ == "__main__":
    sys.exit(main())
