#!/usr/bin/env python3
"""Inline tests and given rows.

  tests/pipec_test/X.pipe        → X.txt    `pipec test -v`: its exit status, then what it prints
  tests/pipec_test/X.after.pipe  what `pipec test --update` makes of X.pipe, where that is there

All inline tests of pipelines/, of the golden plans and of the documentation must pass; then come
the options, and `NAME inject`. With --update the expected files are rewritten and the run fails.
"""
import argparse
import difflib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "tests" / "pipec_test"
AT_A_TIME = 4  # what they wait for is the disk


class Failure(Exception):
    pass


def call(command, expect=0, cwd=ROOT, errors=subprocess.STDOUT, **environment):
    result = subprocess.run([str(part) for part in command], cwd=cwd, text=True, errors="replace",
                            stdout=subprocess.PIPE, stderr=errors, timeout=300,
                            env={**os.environ, "PIPEC_HOME": OPTIONS.home, **environment})
    if expect is not None and result.returncode != expect:
        raise Failure(f"{' '.join(map(str, command))}: exit {result.returncode}, not {expect}\n"
                      f"{result.stdout[-4000:]}")
    return result


def compare(path, actual):
    expected = path.read_text() if path.exists() else ""
    if actual == expected:
        return
    if OPTIONS.update:
        path.write_text(actual)
    name = str(path.relative_to(ROOT))
    raise Failure("\n".join(difflib.unified_diff(expected.splitlines(), actual.splitlines(), name,
                                                 "actual", lineterm="")))


def wants(text, *parts):
    for part in parts:
        if part not in text:
            raise Failure(f"`{part}` is not in\n{text}")


# ---- goldens ----

def golden(pipe):
    result = call([OPTIONS.pipec, "test", "-v", pipe.relative_to(ROOT)], expect=None)
    compare(pipe.with_suffix(".txt"), f"exit {result.returncode}\n{result.stdout}")


def updated(pipe, scratch):
    """--update gives the expected file and exits with 1; then all passes, and nothing changes."""
    copy = scratch / pipe.name
    shutil.copy(pipe, copy)
    result = call([OPTIONS.pipec, "test", "--update", copy], expect=1)
    if "FAIL" in result.stdout:  # what is written into the file is shown as changed lines only
        raise Failure(result.stdout)
    wants(result.stdout, " passed, 0 failed, ", " updated: read the changed lines, then test again")
    compare(pipe.with_suffix(".after.pipe"), copy.read_text())
    call([OPTIONS.pipec, "test", "--update", copy])
    compare(pipe.with_suffix(".after.pipe"), copy.read_text())


def passes(pipe):
    result = call([OPTIONS.pipec, "test", pipe.relative_to(ROOT)])
    if not re.search(r"^[1-9]\d* passed, 0 failed$", result.stdout, re.M):
        raise Failure(result.stdout)


# ---- options ----

def only_one(_scratch):
    pipe = "tests/pipec_test/missing_row.pipe"
    result = call([OPTIONS.pipec, "test", "--only", "no long word", pipe], expect=1)
    wants(result.stdout, "0 passed, 1 failed")
    result = call([OPTIONS.pipec, "test", "--only=no long wort", pipe], expect=2)
    wants(result.stdout, "did you mean 'no long word'?")


def as_json(_scratch):
    """Failures as JSON on standard error, with the place of the value."""
    pipe = "tests/pipec_test/wrong_count.pipe"
    result = call([OPTIONS.pipec, "test", "--diagnostics=json", pipe], expect=1,
                  errors=subprocess.PIPE)
    failure = json.loads(result.stderr.splitlines()[0])
    place = [failure[name] for name in ("severity", "line", "column", "label")]
    if place != ["failure", 30, 47, "it is 2"] or result.stdout != "0 passed, 1 failed\n":
        raise Failure(f"{result.stdout}{result.stderr}")


def nothing_is_left(scratch):
    """A test writes to no sink of the pipeline, and leaves nothing behind."""
    shutil.copy(HERE / "wrong_count.pipe", scratch)
    call([OPTIONS.pipec, "test", "wrong_count.pipe"], expect=1, cwd=scratch, TMPDIR=str(scratch))
    left = sorted(path.name for path in scratch.iterdir())
    if left != ["wrong_count.pipe"]:
        raise Failure(f"left behind: {left}")


def errors_first(scratch):
    (scratch / "wrong.pipe").write_text("pipeline x;\nsource a from nowhere;\n")
    wants(call([OPTIONS.pipec, "test", scratch / "wrong.pipe"], expect=1).stdout, "error[PC1001]")


# ---- inject ----

def build_program(scratch):
    program = scratch / "program"
    call([OPTIONS.pipec, "build", "pipelines/clickstream.pipe", "--out", scratch / "generated",
          "-o", program])
    return program


def click(name, **more):
    row = {"event_id": name, "session_id": "s1", "event_type": "page_view", "category": "rugs",
           "country": "FR", "occurred_at": "2026-01-31T10:00:00Z"}
    return json.dumps({"key": "s1", "kafka_time": "2026-01-31T10:00:01Z", "value": {**row, **more}})


def inject(program, scratch, rows, expect=0, name="rows.jsonl", run="run"):
    (scratch / name).write_text("".join(row + "\n" for row in rows))
    return call([program, "inject", "--embedded", run, name], expect=expect, cwd=scratch).stdout


def topic(program, scratch, name, run="run"):
    dump = call([program, "inspect", run, "dump", name], cwd=scratch).stdout
    return [json.loads(line) for line in dump.splitlines()]


def inject_runs(scratch):
    """Given rows go through the pipeline as records of a producer do; each once."""
    program = build_program(scratch)
    rows = [click("a"), click("b", country="FRA"), '{"partition":5,"value_text":"poison"}',
            '{"value_base64":"wwE=","kafka_time":1769853602000}', '{"key":"s9","value":null}']
    wants(inject(program, scratch, rows), "5 rows appended to topic clickstream.raw")
    wants(inject(program, scratch, rows), "0 rows appended", "5 were there already")
    call([program, "run", "--embedded", "run", "--until-end", "--progress", "never"], cwd=scratch)
    wants(inject(program, scratch, [*rows, click("c")]), "1 row appended", "5 were there already")
    call([program, "run", "--embedded", "run", "--until-end", "--progress", "never"], cwd=scratch)
    passed = [row["value"]["event_id"] for row in topic(program, scratch, "events.valid")]
    refused = sorted((row["value"]["reason"], row["value"]["payload"])
                     for row in topic(program, scratch, "events.dlq"))
    if passed != ["a", "c"] or [reason for reason, _ in refused] != [
            "country_not_iso2", "no_value", "undecodable", "undecodable"]:
        raise Failure(f"{passed} {refused}")


def inject_refuses(scratch):
    """A bad row: file, line, field, value; and nothing of its batch is appended."""
    program = build_program(scratch)
    good = click("a")
    for bad, says in [
            (click("b", price_cents="abc"), ":2: value.price_cents: '\"abc\"' is no int64"),
            (click("b", occurred_at="noon"), ":2: value.occurred_at: '\"noon\"' is no timestamp"),
            ('{"value":{"event_id":"b"}}', ":2: value.session_id: missing"),
            ('{"vlaue_text":"b"}', ":2: 'vlaue_text' is no name of a row; did you mean value_text"),
            ('{"value_text":"b","value":null}', ":2: expected one of value, value_text"),
            ("{}", ":2: expected one of value, value_text"),
            ('{"partition":6,"value_text":"b"}', ":2: partition: 6 is none of 0 to 5"),
            ('{"kafka_time":"b","value_text":"b"}', ":2: kafka_time: '\"b\"' is no timestamp_ms"),
            ('{"value_base64":"b"}', ":2: value_base64: '\"b\"' is no bytes"),
            ('{"key":1,"value_text":"b"}', ":2: key: '1' is no string"),
            ("", ":2: the line is empty"), ("no json", ":2: "), ("[1]", ":2: '[1]' is no record"),
            ("[" * 100000, ":2: ")]:
        wants(inject(program, scratch, [good, bad], expect=1), "rows.jsonl" + says,
              "nothing was appended")
    dump = call([program, "inspect", "run", "dump", "clickstream.raw"], expect=1, cwd=scratch)
    wants(dump.stdout, "there is no topic")
    wants(inject(program, scratch, [good, click("b")]), "2 rows appended")
    wants(inject(program, scratch, [click("b"), good], expect=3), "first 2 lines were appended")
    for words in (["--source", "clik", "rows.jsonl"], ["--embeded", "run", "rows.jsonl"], []):
        call([program, "inject", *words], expect=2, cwd=scratch)
    call([program, "inject", "--embedded", "run", "missing.jsonl"], expect=1, cwd=scratch)


def inject_batches(scratch):
    """A bad row far down: the batches before it stay, and the corrected file goes on there."""
    program = build_program(scratch)
    rows = ['{"value_text":"%d"}' % number for number in range(25000)]
    bad = [*rows[:15000], "bad", *rows[15000:]]
    wants(inject(program, scratch, bad, expect=1), ":15001: ", "lines 1 to 10000 are in the topic")
    wants(inject(program, scratch, rows), "15000 rows appended", "10000 were there already")
    values = [row["value"] for row in topic(program, scratch, "clickstream.raw")]
    if [str(value) for value in values] != [str(number) for number in range(25000)]:
        raise Failure(f"{len(values)} rows, or another order")


# ---- programs built and run ----

GROWN = """pipeline grown;
source s from file 's.csv' format csv header
  columns (a string, b string, at timestamp_ms) event time at watermark 1s rejects to refused;
stream joined from s
  select
    at,
    octet_length(replace(a, ',', b))              as plain,
    try(octet_length(replace(a, ',', b)), -1)     as tried,
    try(replace(a, ',', b) || '!' is not null, false) as chained
  rejects to refused;
stream caught from s
  select at, try(octet_length(replace(a, ',', b)), -1) as tried;
sink joined_rows from joined to file 'joined.jsonl' format jsonl exactly once;
sink caught_rows from caught to file 'caught.jsonl' format jsonl exactly once;
sink refused_rows from refused to file 'refused.jsonl' format jsonl exactly once;
"""


def built(scratch, name, text):
    """The program, compiled and run to its end; its output files as rows."""
    (scratch / f"{name}.pipe").write_text(text)
    call([OPTIONS.pipec, "build", f"{name}.pipe", "-o", name], cwd=scratch)
    call([scratch / name, "run", "--embedded", f"run-{name}", "--progress", "never"], cwd=scratch)
    return {path.stem: [json.loads(line) for line in path.read_text().splitlines()]
            for path in scratch.glob("*.jsonl") if path.stem != "s"}


def grown_texts(scratch):
    """A text that outgrows its limit refuses its row or is caught; the run goes on."""
    time = "2026-01-01T00:00:00Z"
    lines = ["a,b,at", f'"x,y",-,{time}', f'"{"," * 4500}",{"z" * 4500},{time}', f"q,r,{time}"]
    (scratch / "s.csv").write_text("\n".join(lines) + "\n")
    rows = built(scratch, "grown", GROWN)
    plain = [(row["plain"], row["tried"], row["chained"]) for row in rows["joined"]]
    tried = [row["tried"] for row in rows["caught"]]
    refused = [(row["reason"], row["rule"], row["detail"]) for row in rows["refused"]]
    if plain != [(3, 3, True), (1, 1, True)] or tried != [3, -1, 1] or refused != [
            ("expression_failed", "joined", "octet_length(replace(a, ',', b))")]:
        raise Failure(f"{plain} {tried} {refused}")


def free_defaults(scratch):
    """Defaults of a schema with U+0000, and with a number beyond 64 bits for a double."""
    fields = [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
              {"name": "t", "type": "string", "default": "a\0b", "doc": "\0"},
              {"name": "b", "type": "bytes", "default": "\0\u0001"},
              {"name": "d", "type": "double", "default": 2**70}]
    schema = {"type": "record", "name": "r", "fields": fields}
    (scratch / "r.avsc").write_text(json.dumps(schema))
    (scratch / "s.jsonl").write_text('{"at":"2026-01-01T00:00:00Z"}\n')
    rows = built(scratch, "free", """pipeline free;
contract r from 'r.avsc';
source s from file 's.jsonl' format jsonl contract r
  event time at watermark 1s rejects to refused;
sink out from s to file 'out.jsonl' format jsonl exactly once;
sink again from s to file 'again.avro' format avro contract r exactly once;
sink refused_rows from refused to file 'refused.jsonl' format jsonl exactly once;
""")
    if rows["refused"] or [(row["t"], row["b"], row["d"]) for row in rows["out"]] != [
            ("a\0b", "AAE=", 2.0**70)]:
        raise Failure(str(rows))
    # The schema in the header of the file is read again.
    rows = built(scratch, "second", """pipeline second;
contract r from 'r.avsc';
source s from file 'again.avro' format avro contract r
  event time at watermark 1s rejects to refused;
sink twice from s to file 'twice.jsonl' format jsonl exactly once;
sink refused_rows from refused to file 'refused.jsonl' format jsonl exactly once;
""")
    if rows["twice"] != rows["out"] or rows["refused"]:
        raise Failure(str(rows))


RIDES = """pipeline taxi;
contract ride from 'v2.avsc' accepts 'v1.avsc';
source rides from file 'rides-*.csv' format csv header contract ride
  event time at watermark 1s rejects to refused;
sink out from rides to file 'out.jsonl' format jsonl exactly once;
sink refused_rows from refused to file 'refused.jsonl' format jsonl exactly once;
"""


def older_files(scratch):
    """CSV of an accepted version: its columns are enough; others have their default."""
    old = [{"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
           {"name": "fare", "type": "int", "default": 9}]
    new = [*old, {"name": "tip", "type": ["null", "int"], "default": None},
           {"name": "paid", "type": "string", "default": "cash"}]
    for version, fields in (("v1", old), ("v2", new)):
        schema = {"type": "record", "name": "ride", "fields": fields}
        (scratch / f"{version}.avsc").write_text(json.dumps(schema))
    (scratch / "rides-1.csv").write_text("fare,at\n5,1\n,2\n6,3\n")
    (scratch / "rides-2.csv").write_text("at,paid,fare\n4,card,7\n")
    (scratch / "rides-3.csv").write_text("tip,at,paid,fare\n1,5,,8\n")
    rows = built(scratch, "rides", RIDES)
    got = sorted((row["fare"], row["tip"], row["paid"]) for row in rows["out"])
    if got != [(5, None, "cash"), (6, None, "cash"), (7, None, "card"), (8, 1, "")]:
        raise Failure(str(rows))
    if [(row["topic"], row["offset"]) for row in rows["refused"]] != [("rides-1.csv", 1)]:
        raise Failure(str(rows["refused"]))
    told = call([scratch / "rides", "reconcile", "run-rides", "--progress", "never"], cwd=scratch)
    wants(told.stdout, "exact true")
    # `fare` has a default too, but no version is without it.
    (scratch / "rides-1.csv").write_text("at\n1\n")
    told = call([scratch / "rides", "run", "--embedded", "other", "--replace"], 1, scratch)
    wants(told.stdout, "rides-1.csv: line 1: column fare: this column is not in the header",
          "only in files of a version that the contract `accepts`")


# ---- what is around pipec ----

def small_stack(scratch):
    """The deepest expressions are compiled on the smallest stack that a program begins with."""
    head = ("pipeline p;\nsource s from file 'x.csv' format csv columns (a int64) rejects to r;\n"
            "stream t from s where ")
    tail = (";\nsink k from t to file 'k.jsonl' format jsonl exactly once;\n"
            "sink l from r to file 'l.jsonl' format jsonl exactly once;\n")
    for number, text in enumerate([" or ".join(["a > 1"] * 990), "(" * 190 + "a > 1" + ")" * 190,
                                   "try(" * 190 + "a > 1" + ", true)" * 190]):
        path = scratch / f"deep{number}.pipe"
        path.write_text(head + text + tail)
        call(["sh", "-c", 'ulimit -s 1024; exec "$0" "$1" --out "$2"', OPTIONS.pipec, path,
              scratch / "out"])


def wrong_surroundings(scratch):
    """No runtime where PIPEC_HOME points, no C compiler, no room for what it writes."""
    (scratch / "p.pipe").write_text(GROWN)
    build = [OPTIONS.pipec, "build", "p.pipe", "-o", "p"]
    wants(call(build, 1, scratch, PIPEC_HOME="/nowhere").stdout, "PIPEC_HOME names `/nowhere`",
          "or unset it")
    wants(call(build, 1, scratch, CC="/nowhere/cc").stdout,
          "cannot run the C compiler `/nowhere/cc`: No such file", "name one in CC")
    for words in (["--out", "a", "--out", "b"], ["-o", "a", "--out=b"]):
        call([OPTIONS.pipec, "p.pipe", *words], 2, scratch)
    if (scratch / "a").exists() or (scratch / "b").exists():
        raise Failure("one of two places was written")


# ---- all ----

def inline_pipes():
    """Files whose inline tests must pass."""
    pipes = [*sorted((ROOT / "pipelines").glob("*.pipe")),
             *sorted((ROOT / "tests" / "golden" / "plan").glob("*.pipe"))]
    return [pipe for pipe in pipes if re.search(r"^test '", pipe.read_text(), re.M)]


def documented(scratch):
    """The programs of docs/language.md that have tests."""
    text = (ROOT / "docs" / "language.md").read_text()
    blocks = [block for block in re.findall(r"^```pipe\n(.*?)^```", text, re.M | re.S)
              if re.search(r"^test '", block, re.M)]
    if not blocks:
        raise Failure("no example has a test")
    for number, block in enumerate(blocks):
        path = scratch / f"example{number}.pipe"
        path.write_text(block)
        call([OPTIONS.pipec, "test", path])


def cases():
    own = [pipe for pipe in sorted(HERE.glob("*.pipe")) if not pipe.name.endswith(".after.pipe")]
    for pipe in inline_pipes():
        yield f"passes {pipe.relative_to(ROOT)}", lambda scratch, pipe=pipe: passes(pipe)
    for pipe in own:
        yield f"golden {pipe.name}", lambda scratch, pipe=pipe: golden(pipe)
        if pipe.with_suffix(".after.pipe").exists():
            yield f"update {pipe.name}", lambda scratch, pipe=pipe: updated(pipe, scratch)
    for test in (documented, only_one, as_json, nothing_is_left, errors_first, inject_runs,
                 inject_refuses, inject_batches, grown_texts, free_defaults, older_files,
                 small_stack, wrong_surroundings):
        yield test.__name__, test


def run_case(case):
    """None, or what is wrong."""
    name, test = case
    with tempfile.TemporaryDirectory() as scratch:
        try:
            test(Path(scratch))
        except (Failure, subprocess.TimeoutExpired, OSError, ValueError) as error:
            return f"FAIL {name}: {error}"
    return None


def main():
    chosen = [case for case in cases()
              if not OPTIONS.only or any(part in case[0] for part in OPTIONS.only)]
    with ThreadPoolExecutor(AT_A_TIME) as pool:
        problems = [problem for problem in pool.map(run_case, chosen) if problem]
    for problem in problems:
        print(problem)
    print(f"{len(chosen) - len(problems)} passed, {len(problems)} failed")
    return 1 if problems else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--home", default=str(ROOT), help="PIPEC_HOME: of a build elsewhere")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("only", nargs="*")
    OPTIONS = parser.parse_args()
    OPTIONS.pipec = (ROOT / OPTIONS.build).resolve() / "pipec"
    sys.exit(main())
