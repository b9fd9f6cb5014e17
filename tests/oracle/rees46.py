#!/usr/bin/env python3
"""Compares what a run of pipelines/rees46.pipe wrote with an SQL computation, row by row.

    rees46.py RUN_DIRECTORY [--input CSV]

RUN_DIRECTORY holds clean.jsonl, windows.csv, sessions.csv, rejected.jsonl and late.jsonl. The
expected rows come from rees46.sql, run by SQLite over the CSV. Prints one line a comparison and
the first rows that differ.
Exit: 0 all equal, 1 a difference or a missing file, 2 usage.
"""

import argparse
import base64
import csv
import json
import os
import re
import sqlite3
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_INPUT = os.path.join(HERE, "..", "..", "..", "shared", "data", "rees46-2019-10-01.csv")
COLUMNS = ("event_time", "event_type", "product_id", "category_id", "category_code", "brand",
           "price", "user_id", "user_session")
SHOWN = 5
INSTANT = re.compile(r"^(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)\.000(000)?Z$")
INSTANT_COLUMNS = {"occurred_at", "window_start", "window_end", "started_at", "ended_at"}
INTEGER_COLUMNS = {"product_id", "category_id", "user_id", "partition", "offset"}
FILES = (("clean", "clean.jsonl"), ("windows", "windows.csv"), ("sessions", "sessions.csv"),
         ("rejected", "rejected.jsonl"))


def load_input(database, path):
    """The CSV as text. It has no quoted fields, so a line is a record; that is checked."""
    with open(path, encoding="utf-8", newline="") as file:
        text = file.read()
    lines = text.split("\r\n" if "\r\n" in text else "\n")
    if '"' in text or any("\r" in line or "\n" in line for line in lines):
        raise ValueError(f"{path}: has quotes or mixed line ends; this oracle reads plain lines")
    if lines[-1] == "":
        lines.pop()
    if tuple(lines[0].split(",")) != COLUMNS:
        raise ValueError(f"{path}: unexpected header {lines[0]!r}")
    database.execute("create table line(record integer primary key, fields integer, payload text)")
    database.execute(f"create table raw(record integer primary key, {', '.join(COLUMNS)})")
    marks = ", ".join("?" * (len(COLUMNS) + 1))
    for record, line in enumerate(lines[1:]):
        fields = line.split(",")
        database.execute("insert into line values (?, ?, ?)", (record, len(fields), line))
        if len(fields) == len(COLUMNS):
            database.execute(f"insert into raw values ({marks})", (record, *fields))


def as_text(column, value, typed):
    """A value of the program's output as text. `typed`: of JSON, whose type must be right."""
    if value is None:
        return None
    if typed and type(value) is not (int if column in INTEGER_COLUMNS else str):
        raise ValueError(f"column {column}: {value!r} has the wrong type")
    if column in INSTANT_COLUMNS:
        match = INSTANT.match(str(value))
        if not match:
            raise ValueError(f"column {column}: {value!r} is no whole second in UTC")
        return match.group(1)
    return str(value)


def read_rows(path):
    """Rows of a JSON lines or CSV file as dictionaries of text."""
    typed = path.endswith(".jsonl")
    if not typed:
        with open(path, encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file, strict=True))
    else:
        rows = []
        with open(path, encoding="utf-8") as file:
            for line in file:
                rows.append(json.loads(line))
    return [{name: as_text(name, value, typed) for name, value in row.items()} for row in rows]


def load_output(database, name, path, columns):
    """Table actual_NAME with the columns that the expected rows have; others must be in `extra`."""
    rows = read_rows(path)
    extra = {"topic", "detail"} if name == "rejected" else set()
    for row in rows:
        if set(row) - extra != set(columns):
            raise ValueError(f"{path}: columns {sorted(row)}, expected {sorted(columns)}")
        if name == "rejected" and not (row["topic"] or "").endswith(".csv"):
            raise ValueError(f"{path}: topic {row['topic']!r} is not the path of the input")
    quoted = ", ".join(f'"{column}"' for column in columns)
    database.execute(f"create temp table actual_{name}({quoted})")
    marks = ", ".join("?" * len(columns))
    database.executemany(f"insert into actual_{name} values ({marks})",
                         [tuple(row[column] for column in columns) for row in rows])


def differing(database, name, columns, left, right):
    """Rows that `left` holds more often than `right`, as a multiset."""
    quoted = ", ".join(f'"{column}"' for column in columns)
    same = " and ".join(f'l."{column}" is r."{column}"' for column in columns)
    counted = "select {0}, count(*) as n from {1}_{2} group by {0}"
    return database.execute(
        f"select l.*, coalesce(r.n, 0) from ({counted.format(quoted, left, name)}) l"
        f" left join ({counted.format(quoted, right, name)}) r on {same}"
        f" where l.n > coalesce(r.n, 0) order by {quoted} limit {SHOWN}").fetchall()


def compare(database, directory, name, file_name):
    """True if equal; prints one line, and the first rows that differ."""
    path = os.path.join(directory, file_name)
    columns = [row[1] for row in database.execute(f"pragma table_info(expected_{name})")]
    database.execute(f"create temp table frozen_{name} as select * from expected_{name}")
    database.execute(f"drop view expected_{name}")
    database.execute(f"alter table frozen_{name} rename to expected_{name}")
    load_output(database, name, path, columns)
    counts = [database.execute(f"select count(*) from {side}_{name}").fetchone()[0]
              for side in ("expected", "actual")]
    missing = differing(database, name, columns, "expected", "actual")
    surplus = differing(database, name, columns, "actual", "expected")
    equal = not missing and not surplus
    print(f"{file_name}: {counts[0]} rows expected, {counts[1]} written:"
          f" {'equal' if equal else 'DIFFERENT'}")
    for title, rows in (("missing", missing), ("not expected", surplus)):
        for row in rows:
            values = ", ".join(f"{c}={v!r}" for c, v in zip(columns, row))
            print(f"  {title} ({row[-2]} against {row[-1]}): {values}")
    return equal


def parse_arguments():
    parser = argparse.ArgumentParser(description="compare a rees46 run with SQL")
    parser.add_argument("directory")
    parser.add_argument("--input", default=DEFAULT_INPUT)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    database = sqlite3.connect(":memory:")
    database.create_function(
        "base64", 1, lambda text: base64.b64encode(text.encode()).decode(), deterministic=True)
    equal = True
    try:
        load_input(database, arguments.input)
        with open(os.path.join(HERE, "rees46.sql"), encoding="utf-8") as file:
            database.executescript(file.read())
        late = database.execute("select count(*) from late_input").fetchone()[0]
        if late:
            raise ValueError(f"{arguments.input}: {late} records are out of time order")
        for name, file_name in FILES:
            equal = compare(database, arguments.directory, name, file_name) and equal
        late_path = os.path.join(arguments.directory, "late.jsonl")
        late_bytes = os.path.getsize(late_path) if os.path.exists(late_path) else 0
        print(f"late.jsonl: {late_bytes} bytes, 0 expected")
        equal = equal and late_bytes == 0
        duplicates = database.execute("select count(*) from duplicate").fetchone()[0]
        print(f"exact repeats left out: {duplicates}")
    except (OSError, ValueError, csv.Error) as error:
        print(f"rees46.py: {error}")
        return 1
    return 0 if equal else 1


if __name__ == "__main__":
    sys.exit(main())
