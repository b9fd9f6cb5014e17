#!/usr/bin/env python3
"""reconcile: exact after any kills, and it names whatever is not as it should be.

run.py [--build DIR] [TEST …]
"""

import argparse
import hashlib
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1]))

from harness import HERE, ROOT, Build, Failure, call, expect_different, killed
from harness import reconcile, traffic_run, wait_for
from ends import changed_inputs_are_told, other_paths_are_told
from ends import rows_behind_the_end_are_told, stopped_runs_add_up
from ends import unfinished_files_are_exact, unfinished_is_exact
from table_rows import table_rows

FOLLOWED = {
    "clean_olap": "clean_topic",
    "windows_olap": "windows_topic",
    "sessions_olap": "sessions_topic",
    "dlq_olap": "dead_letters",
}
TABLES = [*FOLLOWED, "clean_lake"]
TOPICS = {
    "valid_topic": "events.valid",
    "clean_topic": "events.clean",
    "windows_topic": "agg.windows",
    "sessions_topic": "agg.sessions",
    "late_topic": "events.late",
    "dead_letters": "events.dlq",
}
EXCHANGE = "pipec.clickstream.by_category.exchange"
FILES = {
    "sane_file": "out/sane.avro",
    "meter_file": "out/meters.csv",
    "early_file": "out/early.jsonl",
    "refused_file": "out/refused.jsonl",
}


# ---- What is exact ----


def demo_is_exact(build):
    for seed in range(1, 2 if build.slow else 4):
        run = build.scratch / f"demo{seed}"
        settings = {
            "SEED": str(seed),
            "EVENTS": "50000" if build.slow else "200000",
            "KILLS": "5",
            "RUN": str(run),
            "PROGRAM": str(build.clickstream),
        }
        text = call(
            [ROOT / "pipelines/demo.sh", build.directory], ROOT, env={**os.environ, **settings}
        )
        kills = len(re.findall(r"^ +\d+  kill -9 \d+", text, re.M))
        if kills < 5 or "\nexact true\n" not in text:
            raise Failure(f"seed {seed}, {kills} kills:\n{text[-4000:]}")
        print(f"seed {seed}: {re.search(r'killed .*', text)[0]}")
        shutil.rmtree(run)


def text_ends_in_the_verdict(build):
    cwd = build.clicks()
    for exact in (True, False):
        if not exact:
            change_byte(cwd / "run/tables/clean_lake.jsonl")
        text = call([build.clickstream, "reconcile", "run"], cwd, expect=0 if exact else 1)
        if text.splitlines()[-1] != f"exact {str(exact).lower()}":
            raise Failure(text[-4000:])
        if not exact and not re.search(r"^  sink +clean_lake .* NOT EQUAL", text, re.M):
            raise Failure(text)


def layers_are_complete(build):
    verdict = reconcile(build.clickstream, build.clicks(), True)
    names = {layer["name"] for layer in verdict["layers"]}
    wanted = {"clicks", "by_category", *TOPICS, *TABLES}
    if names != wanted or any(layer["rows"] == 0 for layer in verdict["layers"]):
        raise Failure(f"{names} are not {wanted}, or empty")
    parts = {
        part["label"]
        for layer in verdict["layers"]
        if layer["name"] in ("dead_letters", "late_topic")
        for part in layer["parts"]
    }
    if not {"undecodable", "schema_unknown", "country_not_iso2", "by_category"} <= parts:
        raise Failure(f"no reasons: {parts}")
    groups = {check["group"] for check in verdict["checks"] if check["holds"]}
    if groups != {"ledger", "conservation"}:
        raise Failure(f"checks: {groups}")


def corrections_are_exact(build):
    """Which corrections there are depends on the commits; all of them are possible ones."""
    program = build.program("corrections")
    verdict = reconcile(program, build.meters(), True)
    for layer in verdict["layers"]:
        if layer["rows"] == 0:
            raise Failure(f"{layer['name']} is empty")
    straight = build.scratch / "straight"
    straight.mkdir(exist_ok=True)
    call(traffic_run(program, 60000, 100, 4), straight)
    other = reconcile(program, straight, True)
    rows = [[layer["rows"] for layer in run["layers"]] for run in (verdict, other)]
    if rows[0] == rows[1]:
        raise Failure("other commits should have made another number of corrections")


MUCH = 9 * 10**18  # of which two are no int64


def amounts(step):
    """In turn: little; too much in all; more that changes nothing, late; as much less, late."""
    own = 7000 * step
    given = {
        0: [(own, 1)],
        1: [(own, MUCH)],
        2: [(own, 1), (own - 7000, 1)],
        3: [(own - 14000, -MUCH)],
    }
    for partition in (0, 1):
        for account in ("a", "b"):
            for at, amount in 2 * given[step % 4]:
                value = {"account": account, "amount": amount, "at": at}
                yield {"key": account, "partition": partition, "value": value}


def refused_corrections_are_exact(build):
    """Rows of an open window that can't be made are rejected whenever they would be sent; a run
    that ends meanwhile ends well."""
    program, cwd = build.program("refusals"), build.scratch / "open"
    cwd.mkdir()
    for step in range(12):
        rows = [json.dumps(row) + "\n" for row in amounts(step)]
        (cwd / f"{step}.jsonl").write_text("".join(rows))
        call([program, "inject", "--embedded", "run", f"{step}.jsonl"], cwd)
        call([program, "run", "--embedded", "run", "--until-end", "--batch", "1"], cwd)
        verdict = reconcile(program, cwd, True)
    rows = {layer["name"]: layer["rows"] for layer in verdict["layers"]}
    refused = (cwd / "refused.jsonl").read_text().splitlines()
    if not rows["early_file"] or not rows["corrected_topic"] or len(set(refused)) == len(refused):
        raise Failure(f"no equal rejects among {refused}, or no rows: {rows}")
    drop_line(cwd / "refused.jsonl")
    expect_different(reconcile(program, cwd, False), ["refused_file"])


def files_are_exact(build):
    program = build.program("orders")
    cwd = build.base("orders", lambda where: make_orders(program, where))
    reconcile(program, cwd, True)
    change_byte(cwd / "elsewhere.jsonl")
    expect_different(reconcile(program, cwd, False), ["totals"], "missing", 1)
    cwd = build.base("orders", lambda where: make_orders(program, where))
    rows_behind_the_end_are_told(program, cwd)
    path = cwd / "orders-2.csv"
    path.write_text(path.read_text() + "2026-01-31T11:00:05Z,DE,x,19.90\n")
    text = call([program, "reconcile", "run"], cwd, expect=3)
    if "orders-2.csv" not in text or "exact" in text:
        raise Failure(text)


def make_orders(program, cwd, *more):
    for part in (1, 2):
        rows = ["at,country,note,amount"]
        for i in range(3000):
            note = '"a ""quoted"",\nnote"' if i % 7 == 0 else "plain"
            rows.append(f"2026-01-31T10:{i // 60:02}:{i % 60:02}Z,{'DE FR'.split()[i % 2]},{note},")
            rows[-1] += f"{i % 50 - 1}.5{part}"
        rows[10] = "not a time,DE,x,1.00"
        (cwd / f"orders-{part}.csv").write_text("\n".join(rows) + "\n")
    call([program, "run", "--embedded", "run", "--path", "totals=elsewhere.jsonl", *more], cwd)


def nothing_is_changed(build):
    def digest():
        return {
            path: hashlib.sha256(path.read_bytes()).hexdigest()
            for path in cwd.rglob("*")
            if path.is_file()
        }

    cwd = build.clicks()
    before = digest()
    reconcile(build.clickstream, cwd, True)
    if digest() != before:
        raise Failure("reconcile has changed the directory")


# ---- What is not ----


def change_byte(path):
    """One byte of a row in the middle, that is no line end."""
    data = bytearray(path.read_bytes())
    at = len(data) // 2
    while data[at] in b'\n",{}[]:\\' or data[at - 1] == ord("\\"):
        at += 1
    data[at] ^= 1
    path.write_bytes(data)


def drop_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    del lines[len(lines) // 2]
    path.write_bytes(b"".join(lines))


def double_line(path):
    lines = path.read_bytes().splitlines(keepends=True)
    lines.insert(len(lines) // 2, lines[len(lines) // 2])
    path.write_bytes(b"".join(lines))


def damaged_lines_are_named(build):
    path = "run/tables/clean_lake.jsonl"
    cwd = build.clicks()
    change_byte(cwd / path)
    verdict = reconcile(build.clickstream, cwd, False)
    expect_different(verdict, ["clean_lake"], "missing", 1)
    expect_different(verdict, ["clean_lake"], "unexpected", 1)
    cwd = build.clicks()
    drop_line(cwd / path)
    expect_different(reconcile(build.clickstream, cwd, False), ["clean_lake"], "missing", 1)
    cwd = build.clicks()
    double_line(cwd / path)
    # What is beyond the committed length does not count: the last line is cut short.
    expect_different(reconcile(build.clickstream, cwd, False), ["clean_lake"], "unexpected")


def files_of(cwd, table):
    return sorted((cwd / "run/tables" / table).iterdir(), key=lambda path: path.stat().st_size)


def change_text(build, cwd, table):
    """A text of a row in the middle, in the largest file."""
    path = files_of(cwd, table)[-1]
    content = path.read_bytes()
    for row in table_rows(build.clickstream, cwd / "run", table):
        for value in json.loads(row).values():
            if isinstance(value, str) and len(value) > 20 and value.encode() in content:
                changed = value[:-1] + ("x" if value[-1] != "x" else "y")
                path.write_bytes(content.replace(value.encode(), changed.encode(), 1))
                return
    text = b"lamps" if b"lamps" in content else b"rugs"
    path.write_bytes(content.replace(text, text[:-1] + b"x", 1))


def damaged_tables_are_named(build):
    for table in FOLLOWED:
        cwd = build.clicks()
        change_text(build, cwd, table)
        verdict = reconcile(build.clickstream, cwd, False)
        expect_different(verdict, [table], "missing", 1)
        expect_different(verdict, [table], "unexpected", 1)
        cwd = build.clicks()
        files_of(cwd, table)[-1].unlink()
        expect_different(reconcile(build.clickstream, cwd, False), [table], "missing")


def tables_before_their_topics_are_compared(build):
    """What is printed is gone, and told so; nothing else is."""
    program, cwd = build.program("table_first"), build.scratch / "table-first"
    cwd.mkdir()
    call(traffic_run(program, 3000, 20, 4), cwd)
    layers = {layer["name"]: layer for layer in reconcile(program, cwd, True)["layers"]}
    if layers["site_table"]["rows"] == 0 or layers["refused_table"]["rows"] == 0:
        raise Failure(layers)
    text = call([program, "reconcile", "run"], cwd)
    gone = re.findall(r"^  sink +(\w+) +not kept \(standard output\)", text, re.M)
    if gone != ["shown"] or text.count("not compared") != 1:
        raise Failure(text)


def changed_traffic_is_refused(build):
    """Another `traffic` statement is the same plan, but not the same records."""
    program, cwd = build.program("corrections"), build.scratch / "traffics"
    cwd.mkdir()
    text = (HERE / "corrections.pipe").read_text().replace("poison 0.5", "poison 5")
    (cwd / "corrections.pipe").write_text(text)
    words = [build.directory / "pipec", "build", cwd / "corrections.pipe", "-o", cwd / "other"]
    environment = {**os.environ, "PIPEC_HOME": str(ROOT)}
    call([*words, "--out", cwd / "generated"], ROOT, env=environment)
    call(traffic_run(program, 2000, 100, 4), cwd)
    for command in (traffic_run("./other", 4000, 100, 4), ["./other", "reconcile", "run"]):
        text = call(command, cwd, expect=3)
        if "another `traffic meters` statement" not in text or "exact" in text:
            raise Failure(text)
    call(["./other", "run", "--embedded", "run", "--until-end"], cwd)  # it is the same plan


def rows_beyond_the_commit_do_not_count(build):
    cwd = build.clicks()
    with open(cwd / "run/tables/clean_lake.jsonl", "ab") as table:
        table.write(b'{"never":"committed"}\n')
    verdict = reconcile(build.clickstream, cwd, True)
    behind = {
        layer["name"]: layer["behind_bytes"] for layer in verdict["layers"] if layer["behind_bytes"]
    }
    if behind != {"clean_lake": 22}:
        raise Failure(behind)


def shown_rows_are_the_rows(build):
    cwd = build.clicks()
    path = cwd / "run/tables/clean_lake.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    was, number = lines[9], 10
    lines[9] = was.replace('"currency":"', '"currency":"X')
    path.write_text("".join(lines))
    verdict = reconcile(build.clickstream, cwd, False)
    layer = next(layer for layer in verdict["layers"] if layer["name"] == "clean_lake")
    rows = {row["kind"]: row for row in layer["differences"]}
    if rows["missing"]["row"] != json.loads(was):
        raise Failure(f"missing: {rows['missing']}")
    if rows["unexpected"]["row"] != json.loads(lines[9]):
        raise Failure(f"unexpected: {rows['unexpected']}")
    if not rows["unexpected"]["where"].endswith(f"line {number}"):
        raise Failure(f"where: {rows['unexpected']['where']}")


def busiest(program, cwd, topic):
    """The partition with the most records."""
    dump = call([program, "inspect", "run", "dump", topic], cwd)
    partitions = [line.split(",")[0] for line in dump.splitlines()]
    return int(max(set(partitions), key=partitions.count).split(":")[1])


def damaged_topics_are_named(build):
    for name, topic in TOPICS.items():
        partition = busiest(build.clickstream, build.clicks(), topic)
        for how in ("drop", "twice", "flip"):
            cwd = build.clicks()
            build.damage(cwd, how, topic, partition)
            kind = "unexpected" if how == "twice" else "missing"
            verdict = reconcile(build.clickstream, cwd, False)
            # Topics that hold the same values may share them: then they miss them too.
            layer = next(layer for layer in verdict["layers"] if layer["name"] == name)
            shown = any(row["kind"] == kind for row in layer["differences"])
            if layer["equal"] or layer[kind] == 0 or not shown:
                raise Failure(f"{how} {topic}: {layer}"[:4000])
            # A table has what its topic had.
            for other in verdict["layers"]:
                if not other["equal"] and other["name"] not in {*TOPICS, *FOLLOWED}:
                    raise Failure(f"{how} {topic}: {other}"[:4000])


def damaged_input_is_named(build):
    for how, kind in (("drop", "missing"), ("flip", "missing"), ("twice", "unexpected")):
        cwd = build.clicks()
        build.damage(cwd, how, "clickstream.raw", 1)
        verdict = reconcile(build.clickstream, cwd, False)
        raw = verdict["layers"][0]
        if raw["name"] != "clicks" or raw["equal"] or raw[kind] == 0 or not raw["differences"]:
            raise Failure(f"{how}: {raw}")


def lost_batches_are_named(build):
    """In an exchange, and in the middle of a topic."""
    cwd = build.clicks()
    build.damage(cwd, "drop", EXCHANGE, busiest(build.clickstream, cwd, EXCHANGE))
    verdict = reconcile(build.clickstream, cwd, False)
    if next(layer for layer in verdict["layers"] if layer["name"] == "by_category")["equal"]:
        raise Failure("a lost batch of the exchange was not seen")
    cwd = build.meters()
    program = build.program("corrections")
    build.damage(cwd, "hole", "site.windows", busiest(program, cwd, "site.windows"))
    verdict = reconcile(program, cwd, False)
    expect_different(verdict, ["site_topic"], "missing")


def damaged_records_are_named(build):
    """A record of an exchange that can't be read ends its task; the rest is compared."""
    cwd = build.clicks()
    partition = busiest(build.clickstream, cwd, EXCHANGE)
    build.damage(cwd, "hole", EXCHANGE, partition)
    verdict = reconcile(build.clickstream, cwd, False)
    wrong = [check["right"] for check in verdict["checks"] if not check["holds"]]
    if not any(f"exchange, partition {partition}, offset 0" in text for text in wrong):
        raise Failure(f"{wrong}")
    equal = {layer["name"] for layer in verdict["layers"] if layer["equal"]}
    if not {"clicks", "valid_topic", "clean_olap", "sessions_topic"} <= equal:
        raise Failure(f"only {equal} are equal")


def damaged_corrections_are_named(build):
    program = build.program("corrections")
    for name, path in FILES.items():
        cwd = build.meters()
        change_byte(cwd / path)
        expect_different(reconcile(program, cwd, False), [name])
    for name in ("meter_file", "early_file"):
        cwd = build.meters()
        double_line(cwd / FILES[name])
        expect_different(reconcile(program, cwd, False), [name], "unexpected")
        cwd = build.meters()
        drop_last_revision(cwd / FILES[name])
        expect_different(reconcile(program, cwd, False), [name], "missing", 1)
    for partition in (0, 1, 2):  # the last record is a partial or a marker
        cwd = build.meters()
        build.damage(cwd, "flip", "pipec.corrections.by_site.exchange", partition)
        verdict = reconcile(program, cwd, False)
        if next(layer for layer in verdict["layers"] if layer["name"] == "by_site")["equal"]:
            raise Failure(f"a changed record of the exchange was not seen, partition {partition}")


def drop_last_revision(path):
    """The last row of the window that was corrected most."""
    lines = path.read_text().splitlines(keepends=True)
    revisions = [
        (int(match[1]), number)
        for number, line in enumerate(lines)
        if (match := re.search(r'(?:"revision":|,)(\d+)}?$', line.strip()))
    ]
    del lines[max(revisions)[1]]
    path.write_text("".join(lines))


def revisions_in_another_order_are_named(build):
    cwd = build.meters()
    path = cwd / FILES["meter_file"]
    lines = path.read_text().splitlines(keepends=True)
    seen = {}
    for number, line in enumerate(lines):
        start, _, meter, _ = line.split(",", 3)
        first = seen.setdefault((start, meter), number)
        if first != number:
            lines[first], lines[number] = lines[number], lines[first]
            break
    path.write_text("".join(lines))
    verdict = reconcile(build.program("corrections"), cwd, False)
    expect_different(verdict, ["meter_file"])
    trouble = [layer["trouble"] for layer in verdict["layers"] if layer["trouble"]]
    if len(trouble) != 1 or "stands behind revision" not in trouble[0]:
        raise Failure(trouble)


def wrong_counters_are_named(build):
    cwd = build.clicks()
    build.damage(cwd, "counter", "task/0000/000003")
    verdict = reconcile(build.clickstream, cwd, False)
    expect_different(verdict, [])
    wrong = [check["left"] for check in verdict["checks"] if not check["holds"]]
    if not any("stage clicks, partition 3: committed counter read" in text for text in wrong):
        raise Failure(f"checks that fail: {wrong}")


# ---- Any text, any name of a file ----


def texts_come_back(build):
    """What a CSV sink writes a CSV source reads; a name that is no UTF-8 stands in JSON as text."""
    texts, reread = build.program("texts"), build.program("reread")
    cwd = build.scratch / "of-texts"
    cwd.mkdir()
    odd = [
        "",
        " ",
        "\0",
        "a\0b",
        '"',
        '\0"\0',
        ",",
        "\r",
        "\n",
        "\r\n",
        "\ufeff",
        "\\",
        "null",
        None,
    ]
    odd += [
        "".join(random.Random(seed).choices('\0",\r\n\ufeff aé', k=seed % 9)) for seed in range(400)
    ]
    rows = [{"id": number, "note": note} for number, note in enumerate(odd)]
    lines = [json.dumps(row) for row in rows] + ['{"id":"x"}', "{"]
    for name in (b"given.jsonl", b'given\xff\x1b\n"\\.jsonl'):
        with open(os.path.join(os.fsencode(cwd), name), "w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")
    call([texts, "run", "--embedded", "run"], cwd)
    verdict = reconcile(texts, cwd, True)
    if {layer["name"]: layer["rows"] for layer in verdict["layers"]}["refused_avro"] != 4:
        raise Failure(verdict["layers"])
    refused = (cwd / "refused.jsonl").read_bytes().splitlines()
    dumped = call([texts, "inspect", "run", "dump", "refused"], cwd).splitlines()
    found = {json.loads(line)["topic"] for line in refused}
    found |= {json.loads(line)["value"]["topic"] for line in dumped}
    if found != {"given.jsonl", 'given\\xff\x1b\n"\\\\.jsonl'} or len(dumped) != 4:
        raise Failure(f"{found}, {len(dumped)} rows")
    call([reread, "run", "--embedded", "again"], cwd)
    again = [json.loads(line) for line in (cwd / "again.jsonl").read_text().splitlines()]
    if again != rows * 2:
        raise Failure(next(pair for pair in zip(again, rows * 2) if pair[0] != pair[1]))


# ---- The ledger ----


def ledgers_agree(build):
    cwd = build.clicks()
    reconcile(build.clickstream, cwd, True, "--ledger-out", "from-run.jsonl")
    options = ["--count", 20000, "--rate", "200/s", "--seed", 7, "--progress", "never"]
    call([build.clickstream, "traffic", "--to", "data", "--ledger", "written.jsonl", *options], cwd)
    written = (cwd / "written.jsonl").read_text()
    if (cwd / "from-run.jsonl").read_text() != written:
        raise Failure("traffic --ledger and reconcile --ledger-out differ")
    reconcile(build.clickstream, cwd, True, "--ledger", "written.jsonl")
    check_ledger([json.loads(line) for line in written.splitlines()])
    (cwd / "wrong.jsonl").write_text(written.replace('"duplicate":true', '"duplicate":false', 1))
    verdict = reconcile(build.clickstream, cwd, False, "--ledger", "wrong.jsonl")
    expect_different(verdict, ["clicks"])
    shutil.rmtree(cwd / "run")
    path = "clicks=data/clicks-*.avro"
    call([build.clickstream, "run", "--embedded", "run", "--path", path], cwd)
    verdict = reconcile(build.clickstream, cwd, True, "--ledger", "written.jsonl")
    if verdict["layers"][0]["ledger"] is not True:
        raise Failure("the ledger of files was not used")


def ledgers_of_files(build):
    """A source that reads CSV, and a topic with times that are too far ahead."""
    orders, golden = build.program("orders"), build.program("traffic")
    cwd = build.scratch / "ledgers"
    cwd.mkdir()
    options = ["--count", 5000, "--rate", "10/s", "--progress", "never"]
    call([orders, "traffic", "--to", ".", "--ledger", "placed.jsonl", *options], cwd)
    call([orders, "run", "--embedded", "run", "--path", "placed=placed.csv"], cwd)
    verdict = reconcile(orders, cwd, True, "--ledger", "placed.jsonl")
    if not any(check["group"] == "ledger" for check in verdict["checks"]):
        raise Failure("no check of the ledger")
    shutil.rmtree(cwd / "run")
    for output in ("sold.csv", "totals.jsonl", "refused.jsonl"):
        (cwd / output).unlink()
    placed = (cwd / "placed.csv").read_bytes()
    (cwd / "placed.csv").write_bytes(placed.replace(b",DE,", b",FR,", 1))
    call([orders, "run", "--embedded", "run", "--path", "placed=placed.csv"], cwd)
    verdict = reconcile(orders, cwd, False, "--ledger", "placed.jsonl")
    expect_different(verdict, ["placed"], "missing", 1)
    shutil.rmtree(cwd / "run")
    call(traffic_run(golden, 5000, 50, 3), cwd)
    checks = {check["left"]: check for check in reconcile(golden, cwd, True)["checks"]}
    if checks["events: undecodable + schema_unknown"]["left_value"] == 0:
        raise Failure("no poison was sent")
    if checks["events: event_time_ahead"]["left_value"] == 0:
        raise Failure("no time was ahead")


def check_ledger(lines):
    head, records = lines[0], lines[1:]
    if head["position"] != len(records) or head["seed"] != 7 or head["count"] != 20000:
        raise Failure(f"head: {head}")
    if [record["record"] for record in records] != list(range(len(records))):
        raise Failure("records are not numbered")
    firsts = [record for record in records if not record["duplicate"]]
    if len({record["event"] for record in firsts}) != 20000 or len(firsts) != 20000:
        raise Failure("not every event is sent first once")
    kinds = {record["fault"]["kind"] for record in records if record["fault"] is not None}
    if kinds != {"out of order", "late", "value", "poison"}:
        raise Failure(f"faults: {kinds}")


def other_traffic_is_refused(build):
    cwd = build.clicks()
    for option, value, was in (("--seed", 8, 7), ("--count", 5, 20000), ("--rate", "9/s", 200)):
        command = [build.clickstream, "run", "--embedded", "run", "--traffic", option, value]
        text = call(command, cwd, expect=3)
        if str(value).removesuffix("/s") not in text or str(was) not in text:
            raise Failure(f"{option}: both values should be named: {text}")


def raised_counts_are_exact(build):
    cwd = build.clicks()
    options = ["--traffic", "--count", 30000, "--progress", "never"]
    call([build.clickstream, "run", "--embedded", "run", *options], cwd)
    reconcile(build.clickstream, cwd, True, "--ledger-out", "ledger.jsonl")
    with open(cwd / "ledger.jsonl", encoding="utf-8") as ledger:
        head = json.loads(ledger.readline())
    if head["count"] != 30000 or head["stops"] != [20000]:
        raise Failure(head)
    reconcile(build.clickstream, cwd, True, "--ledger", "ledger.jsonl")


def injected_rows_are_told_apart(build):
    cwd = build.clicks()
    value = {
        "event_id": "x",
        "session_id": "s",
        "event_type": "page_view",
        "category": "rugs",
        "country": "DE",
        "occurred_at": "2026-01-01T00:00:01Z",
    }
    row = {"key": "s", "kafka_time": "2026-01-01T00:00:01Z", "value": value}
    (cwd / "rows.jsonl").write_text(json.dumps(row) + "\n")
    call([build.clickstream, "inject", "--embedded", "run", "rows.jsonl"], cwd)
    call([build.clickstream, "run", "--embedded", "run", "--until-end"], cwd)
    verdict = reconcile(build.clickstream, cwd, True)
    if verdict["layers"][0]["injected"] != 1:
        raise Failure(verdict["layers"][0])


def injected_rows_alone_are_the_truth(build):
    cwd = build.scratch / "injected"
    cwd.mkdir()
    value = {
        "event_id": "x",
        "session_id": "s",
        "event_type": "page_view",
        "category": "rugs",
        "country": "DE",
        "occurred_at": "2026-01-01T00:00:01Z",
    }
    rows = [
        {"key": "s", "kafka_time": "2026-01-01T00:00:01Z", "value": {**value, "event_id": str(i)}}
        for i in range(20)
    ]
    (cwd / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    call([build.clickstream, "inject", "--embedded", "run", "rows.jsonl"], cwd)
    call([build.clickstream, "run", "--embedded", "run", "--until-end"], cwd)
    raw = reconcile(build.clickstream, cwd, True)["layers"][0]
    if (raw["injected"], raw["rows"], raw["ledger"]) != (20, 20, False):
        raise Failure(raw)


# ---- Refusals ----


def a_running_directory_is_refused(build):
    cwd = build.scratch / "running"
    cwd.mkdir()
    process = subprocess.Popen(
        [str(build.clickstream), "run", "--embedded", "run", "--traffic", "--rate", "100/s"],
        cwd=cwd,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for((cwd / "run/tables/clean_lake.jsonl").exists)
        text = call([build.clickstream, "reconcile", "run"], cwd, expect=1)
        if "in use" not in text:
            raise Failure(text)
    finally:
        process.terminate()
        process.wait(timeout=60)
    reconcile(build.clickstream, cwd, True)


def bad_usage_is_told(build):
    cwd = build.clicks()
    program = build.clickstream
    for words, code, wanted in (
        ([], 2, "which run?"),
        (["run", "more"], 2, "one directory"),
        (["run", "--jsn"], 2, "--json"),
        (["nowhere"], 1, "not the directory of a run"),
        (["run", "--path", "clean_olapp=x"], 2, "clean_olap"),
        (["run", "--ledger", "nothing"], 1, "nothing"),
    ):
        text = call([program, "reconcile", *words], cwd, expect=code)
        if wanted not in text or "exact" in text:  # nothing was compared
            raise Failure(f"{words}: {text}")
    call([build.program("corrections"), "reconcile", "run"], cwd, expect=3)


def record_limit_is_remembered(build):
    """Records too long for the run are so for reconcile, which need not be told."""
    program, cwd = build.program("orders"), build.scratch / "limited"
    cwd.mkdir()
    make_orders(program, cwd, "--max-record", "40")
    verdict = reconcile(program, cwd, True)
    bad = next(layer for layer in verdict["layers"] if layer["name"] == "bad")
    if bad["rows"] < 400:
        raise Failure(f"no record was too long: {bad}")
    reconcile(program, cwd, False, "--max-record", "1MiB")
    call([program, "run", "--embedded", "run", "--path", "totals=elsewhere.jsonl"], cwd)
    said = call([program, "reconcile", "run"], cwd, expect=2)
    if "had --max-record 40 1048576 one after the other" not in said:
        raise Failure(said)
    reconcile(program, cwd, True, "--max-record", "40")


def the_lock_may_be_gone(build):
    """It may be deleted while no run uses the directory; elsewhere none is made."""
    cwd = build.clicks()
    (cwd / "run/lock").unlink()
    reconcile(build.clickstream, cwd, True)
    (cwd / "other").mkdir()
    said = call([build.clickstream, "reconcile", "other"], cwd, expect=1)
    if "other is not the directory of a run: other/log: No such" not in said:
        raise Failure(said)
    if list((cwd / "other").iterdir()):
        raise Failure("a file was made in it")


def pipes_are_refused(build):
    """A named pipe where a file should be: told, and not waited for."""
    cwd = build.clicks()
    os.mkfifo(cwd / "pipe")
    for words in (
        ["--ledger", "pipe"],
        ["--path", "clean_lake=pipe"],
        ["--schema-ids", "pipe"],
    ):
        said = call([build.clickstream, "reconcile", "run", *words], cwd, expect=None)
        if "not a regular file" not in said:
            raise Failure(f"{words}: {said[-2000:]}")
    said = call([build.clickstream, "inject", "--embedded", "run", "pipe"], cwd, expect=None)
    if "not a regular file" not in said:
        raise Failure(said)


TESTS = [
    layers_are_complete,
    text_ends_in_the_verdict,
    demo_is_exact,
    corrections_are_exact,
    refused_corrections_are_exact,
    unfinished_is_exact,
    unfinished_files_are_exact,
    stopped_runs_add_up,
    changed_inputs_are_told,
    other_paths_are_told,
    files_are_exact,
    nothing_is_changed,
    damaged_lines_are_named,
    damaged_tables_are_named,
    tables_before_their_topics_are_compared,
    changed_traffic_is_refused,
    rows_beyond_the_commit_do_not_count,
    shown_rows_are_the_rows,
    damaged_topics_are_named,
    damaged_input_is_named,
    lost_batches_are_named,
    damaged_records_are_named,
    damaged_corrections_are_named,
    revisions_in_another_order_are_named,
    wrong_counters_are_named,
    texts_come_back,
    ledgers_agree,
    ledgers_of_files,
    other_traffic_is_refused,
    raised_counts_are_exact,
    injected_rows_are_told_apart,
    injected_rows_alone_are_the_truth,
    a_running_directory_is_refused,
    record_limit_is_remembered,
    the_lock_may_be_gone,
    pipes_are_refused,
    bad_usage_is_told,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    with tempfile.TemporaryDirectory() as scratch:
        build = Build((ROOT / options.build).resolve(), Path(scratch))
        for test in TESTS:
            if options.only and test.__name__ not in options.only:
                continue
            began = time.monotonic()
            try:
                test(build)
                passed += 1
                print(f"ok   {test.__name__}  {time.monotonic() - began:.1f} s", flush=True)
            except Exception as error:  # whatever goes wrong is this test's failure
                failed += 1
                print(f"FAIL {test.__name__}: {type(error).__name__}: {error}", flush=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
