#!/usr/bin/env python3
"""What a row costs on its way into ClickHouse, by format: Native and RowBinary.

The client's side is tests/bench/native.c: JSON rows into blocks, and blocks into rows. The server's
side is the engine itself (chdb) in a process of its own: INSERT of the same rows from a file of
each format into a table as clickhouse.sql makes it, one thread, rounds of both in turn; its CPU
time by getrusage, the least of each.

native.py [--build DIR] [--rows N]
"""

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

sys.dont_write_bytecode = True

from common import ROOT, parser_of

sys.path.append(str(ROOT / "tests" / "clickhouse"))
SINK, TABLE = "clean_olap", "lumen.events"
ROUNDS = 5
BLOCK_ROWS = 65536
FORMATS = ["Native", "RowBinary"]


def cpu_seconds():
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def insert(session, path, kind, structure, rollup):
    table = TABLE if rollup else "lumen.plain"
    source = f"file('{path}', {kind}, '{structure}')"
    session.query(f"TRUNCATE TABLE {table}")
    before = cpu_seconds()
    session.query(
        f"INSERT INTO {table} SELECT * FROM {source} SETTINGS max_threads = 1, "
        "max_insert_threads = 1, input_format_parallel_parsing = 0, "
        f"max_insert_block_size = {BLOCK_ROWS}, min_insert_block_size_rows = {BLOCK_ROWS}"
    )
    return cpu_seconds() - before


def engine(directory, statements):
    """In the process of the engine: prints one JSON object."""
    from chdb.session import Session

    session = Session(str(directory / "engine"))
    for statement in statements.read_text().split(";\n"):
        if statement.strip():
            session.query(statement)
    session.query(
        f"CREATE TABLE lumen.plain AS {TABLE} ENGINE = MergeTree ORDER BY (occurred_at, event_id)"
    )
    described = session.query(f"DESCRIBE TABLE {TABLE}", "JSONEachRow").bytes().decode()
    columns = [json.loads(line) for line in described.splitlines()]
    structure = ", ".join(f"{column['name']} {column['type']}" for column in columns)
    structure = structure.replace("'", "\\'")
    native, binary = directory / "rows.native", directory / "rows.rowbinary"
    session.query(
        f"INSERT INTO FUNCTION file('{binary}', RowBinary) SELECT * FROM file('{native}', Native)"
    )
    rows = int(session.query(f"SELECT count() FROM file('{native}', Native)").bytes())
    result = {"rows": rows, "bytes": [native.stat().st_size, binary.stat().st_size]}
    for name, rollup in (("plain", False), ("with roll-up", True)):
        times = {kind: [] for kind in FORMATS}
        for _ in range(ROUNDS):
            for kind, path in zip(FORMATS, (native, binary)):
                times[kind].append(insert(session, path, kind, structure, rollup))
        result[name] = {kind: min(times[kind]) / rows * 1e6 for kind in FORMATS}
    print(json.dumps(result))


def make_rows(build, scratch, rows):
    """The clean rows of the clickstream's own traffic, as JSON lines."""
    program, run = build / "clickstream", scratch / "run"
    arguments = f"--embedded {run} --traffic --count {rows} --rate 3000 --seed 7 --until-end"
    with open(scratch / "run.log", "w") as log:
        subprocess.run([program, "run", *arguments.split()], stdout=log, stderr=log, check=True)
    with open(scratch / "rows.jsonl", "w") as lines:
        subprocess.run([program, "inspect", run, "table", SINK], stdout=lines, check=True)


def client(build, scratch):
    generated = build / "generated/clickstream/clickstream.c"
    program = build / "bench-native"
    flags = (build / "libpipe.flags").read_text().split()
    subprocess.run(
        ["gcc", "-std=gnu11", "-O2", "-g", "-D_FORTIFY_SOURCE=2", "-Iruntime"]
        + [f'-DPIPELINE="{generated}"', "-o", program, "tests/bench/native.c"]
        + [build / "libpipe.a", *flags],
        cwd=ROOT,
        check=True,
    )
    return subprocess.run(
        [program, SINK, scratch / "rows.jsonl", scratch / "rows.native", str(BLOCK_ROWS)],
        check=True,
        text=True,
        stdout=subprocess.PIPE,
    ).stdout


def main():
    parser = parser_of(__doc__, rows=300_000)
    parser.add_argument("--engine", nargs=2, type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.engine:
        engine(*options.engine)
        return
    import service

    build = options.build
    python = service.python_of(build, install=True)
    scratch = Path(tempfile.mkdtemp(prefix="pipe-bench-native-"))
    try:
        make_rows(build, scratch, options.rows)
        print(client(build, scratch))
        statements = build / "generated/clickstream/clickhouse.sql"
        done = subprocess.run(
            [python, Path(__file__).resolve(), "--engine", scratch, statements],
            check=True,
            text=True,
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
        )
        result = json.loads(done.stdout)
        sizes = [size / result["rows"] for size in result["bytes"]]
        print(f"server, us of CPU a row of {sizes[0]:.0f} (Native) and {sizes[1]:.0f} bytes")
        for name in ("plain", "with roll-up"):
            figures = "  ".join(f"{kind} {result[name][kind]:.2f}" for kind in FORMATS)
            print(f"  {name:<14} {figures}")
    finally:
        shutil.rmtree(scratch)


main()
