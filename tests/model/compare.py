#!/usr/bin/env python3
"""Compares what a run left with what the model says, sink by sink, as multisets and byte for byte.

compare.py PLAN.json PROGRAM DIRECTORY [SOURCE=FILES …]
"""

import collections
import functools
import json
import re
import sys
from pathlib import Path

import fastavro

sys.dont_write_bytecode = True
import functions as fn
import inputs
import values
from model import Model

sys.path.append(str(Path(__file__).resolve().parents[1]))
from table_rows import rows_of_tables


class Difference(Exception):
    pass


# ---- What the model expects: (key, partition, cells) ----
# cells: the row as a tuple of JSON texts or Approx objects, so that single columns can be
# compared otherwise.


def cells_of(columns, row):
    return tuple(
        (
            row[c.name]
            if isinstance(row[c.name], values.Approx)
            else values.json_text(row[c.name], c.type)
        )
        for c in columns
    )


def settled(value, column):
    """A value as a table of ClickHouse can hold it: a null array or map is empty there, and a null
    record is told by a column of it that can't be null, else it is a record of nulls."""
    kind = column.type.kind
    if value is None and kind in ("array", "map"):
        return []
    if kind == "record" and (value is not None or not has_mark(column.type)):
        fields = column.type.fields
        return {f.name: settled(None if value is None else value[f.name], f) for f in fields}
    if kind == "array":
        return [settled(item, column.type.element) for item in value]
    if kind == "map":
        return [(key, settled(item, column.type.element)) for key, item in value]
    return value


def has_mark(record):
    return any(
        not f.nullable
        and f.type.kind not in ("array", "map")
        and (f.type.kind != "record" or has_mark(f.type))
        for f in record.fields
    )


def expected_rows(sink):
    """Made once for all the runs that the model is compared with."""
    if sink.expected is None:
        sink.expected = make_expected_rows(sink)
    return sink.expected


def make_expected_rows(sink):
    if sink.format == "avro" and sink.kind == "kafka":
        return avro_rows(sink)
    if sink.format == "csv" and sink.kind == "file":
        return [(None, None, values.csv_row(sink.columns, o.row)) for o in sink.outputs]
    if sink.kind == "clickhouse":
        rows = [{c.name: settled(o.row[c.name], c) for c in sink.columns} for o in sink.outputs]
        return [(None, None, cells_of(sink.columns, row)) for row in rows]
    placed = sink.kind == "kafka"
    return [
        (
            output.key if placed else None,
            output.partition if placed else None,
            None if output.row is None else cells_of(sink.columns, output.row),
        )
        for output in sink.outputs
    ]


# ---- What the run left ----

read_name = functools.lru_cache(json.loads)  # columns: the same in every row
TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[^,\[\]{}"]+')
PLAIN_PAIR = re.compile(rf"({TOKEN.pattern}):({TOKEN.pattern})[,}}]")  # of no array or object


@functools.lru_cache(1 << 16)  # most rows are the same in all the runs of a case
def split_json(text):
    """The names of an object and the texts of its values: {"a":1,"b":[…]} → (a, b), (1, […])."""
    names, cells, at = [], [], 1
    if text == "{}":
        return (), ()
    while at < len(text):
        pair = PLAIN_PAIR.match(text, at)
        if pair is not None:
            names.append(read_name(pair[1]))
            cells.append(pair[2])
            at = pair.end()
            continue
        name = TOKEN.match(text, at)
        names.append(read_name(name[0]))
        begin = at = name.end() + 1
        depth = 0
        while depth or text[at] not in ",}":
            if text[at] == '"':
                at = TOKEN.match(text, at).end()
                continue
            depth += text[at] in "[{"
            depth -= text[at] in "]}"
            at += 1
        cells.append(text[begin:at])
        at += 1
    return tuple(names), tuple(cells)


def cells_of_json(sink, text):
    names, cells = split_json(text)
    if names != tuple(c.name for c in sink.columns):
        raise Difference(f"{sink.name}: the columns of {text}")
    return cells


def read_run(sinks, program, directory):
    """sink → what its topic or table holds; files are not among it."""
    topics = {sink.name: sink.target for sink in sinks if sink.kind == "kafka"}
    tables = [sink.name for sink in sinks if sink.kind not in ("kafka", "file", "stdout")]
    records = inputs.dump(program, directory, list(topics.values()))
    left = {name: records[topic] for name, topic in topics.items()}
    return left | rows_of_tables(program, directory, tables)


def actual_topic(sink, records):
    rows = []
    for partition, _, _, key, value in records:
        cells = None
        if value is not None:
            cells = value if sink.format == "avro" else cells_of_json(sink, value.decode())
        rows.append(
            (
                None if key is None else key.decode("latin-1" if sink.source_key else "utf-8"),
                partition,
                cells,
            )
        )
    return rows


def actual_table(sink, rows):
    return [(None, None, cells_of_json(sink, row)) for row in rows]


def actual_file(sink, paths):
    path = paths[sink.name]
    if sink.format == "csv" and sink.kind == "file":
        lines = [line for line, _ in inputs.decode.split_csv(Path(path).read_bytes())]
        header = ",".join(
            values.csv_row([c], {c.name: c.name}) if False else c.name for c in sink.columns
        )
        if lines[:1] != [header.encode()]:
            raise Difference(f"{sink.name}: the header is {lines[:1]}")
        return [(None, None, line.decode()) for line in lines[1:]]
    if sink.format == "avro" and sink.kind == "file":
        return actual_container(sink, path)
    return [(None, None, cells_of_json(sink, line)) for line in Path(path).read_text().splitlines()]


def actual_container(sink, path):
    """Rows as Avro bytes: each record is written again by the schema of the plan."""
    with open(path, "rb") as file:
        reader = fastavro.reader(file)
        schema = json.loads(reader.metadata["avro.schema"])
        plain = fastavro.parse_schema(inputs.decode.without_logical_types(schema))
        file.seek(0)
        rows = []
        columns = sink.columns
        for row in fastavro.block_reader(file):
            for _ in range(row.num_records):
                record = fastavro.schemaless_reader(row.bytes_, plain)
                got = {
                    c.name: inputs.decode.from_avro(record[c.name], c.type, c.nullable)
                    for c in columns
                }
                rows.append((None, None, cells_of(columns, got)))
    return rows


def avro_rows(sink):
    """Each row in a single-object frame, whose fingerprint is that of the sink's schema."""
    canonical = fastavro.schema.to_parsing_canonical_form(sink.schema)
    frame = b"\xc3\x01" + bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
    record = values.Type("record row")
    record.fields = sink.columns
    return [
        (o.key, o.partition, o.row and frame + values.avro_value(sink.schema, record, o.row, {}))
        for o in sink.outputs
    ]


# ---- The comparison ----


def loose_columns(sink, model):
    """Columns that are not compared byte for byte: index → how."""
    loose = {}
    for i, column in enumerate(sink.columns):
        if column.name == "detail" and is_reject(sink):
            loose[i] = "detail"
        elif column.name == "revision" and sink.corrections:
            loose[i] = "revision"
    return loose


def is_reject(sink):
    return [c.name for c in sink.columns[:3]] == ["reason", "rule", "detail"]


def is_dead_end(sink):
    """What the generator makes of rejects."""
    return [c.name for c in sink.columns] == ["why", "payload", "partition", "offset"]


def without_refused_corrections(model, sink, expected, actual):
    """Each correction of a window may be refused too, and how many are sent is not promised: a
    window's reject has no record, so those that are too many can't be told from the last one's."""
    corrected = {
        values.json_text(stream.name, values.Type("string"))
        for stream in model.streams.values()
        if any(getattr(step, "corrections", False) for step in stream.steps)
    }
    left = collections.Counter(expected)
    kept = []
    for row in actual:
        if is_dead_end(sink):  # says nothing of the rule
            of_window = corrected and set(row[2][1:]) == {"null"}
        else:
            of_window = row[2][1] in corrected and set(row[2][3:]) == {"null"}
        left[row] -= 1
        if left[row] >= 0 or not of_window:
            kept.append(row)
    return kept


def masked(rows, loose):
    """What a detail says is free."""
    out = []
    for key, partition, cells in rows:
        if isinstance(cells, tuple) and "detail" in loose.values():
            cells = tuple("*" if loose.get(i) == "detail" else cell for i, cell in enumerate(cells))
        out.append((key, partition, cells))
    return out


def last_revisions(sink, rows):
    """Of each window the row of the greatest revision, without it; revisions must differ."""
    at = [c.name for c in sink.columns].index("revision")
    identity = [
        i
        for i, c in enumerate(sink.columns)
        if c.name in ("window_start", "window_end") or c.name in sink.identity
    ]
    last, seen = {}, set()
    for key, partition, cells in rows:
        one = tuple(cells[i] for i in identity)
        revision = int(cells[at]) if cells[at] != "null" else None
        if (one, revision) in seen:
            raise Difference(f"{sink.name}: revision {revision} twice: {cells}")
        seen.add((one, revision))
        if one not in last or revision > last[one][0]:
            last[one] = (revision, (key, partition, cells))
    return [row for _, row in last.values()], at, identity


def is_open(sink, cells):
    """Whether a row is of a window that was not over everywhere when the input ended."""
    at = [c.name for c in sink.columns].index("window_end")
    end = fn.read_instant(json.loads(cells[at]), sink.columns[at].type)
    return end * values.UNITS_US[sink.columns[at].type.kind] > sink.open_beyond


def compare_revisions(sink, expected, actual):
    actual, at, identity = last_revisions(sink, actual)
    over = {tuple(cells[i] for i in identity) for _, _, cells in expected}
    columns = [sink.columns[i] for i in identity]
    refused = {cells_of(columns, row) for row in sink.refused}
    actual = [
        row
        for row in actual
        if tuple(row[2][i] for i in identity) in over
        or (not is_open(sink, row[2]) and tuple(row[2][i] for i in identity) not in refused)
    ]
    if all(
        cells[at] == "null" for _, _, cells in expected
    ):  # behind an exchange they count partials
        drop = lambda rows: [(k, p, c[:at] + c[at + 1 :]) for k, p, c in rows]
        return drop(expected), drop(actual)
    return expected, actual


def without(rows, approx):
    """Rows without these columns; a tombstone has none."""
    return [
        (
            key,
            partition,
            cells and tuple(cell for i, cell in enumerate(cells) if i not in approx),
        )
        for key, partition, cells in rows
    ]


def compare_approx(sink, expected, actual, approx):
    groups = collections.defaultdict(list)
    for row, rest in zip(actual, without(actual, approx)):
        groups[rest].append(row)
    for row, rest in zip(expected, without(expected, approx)):
        found = groups[rest].pop(0) if groups[rest] else None
        for i in approx if found and row[2] else []:
            if isinstance(row[2][i], values.Approx) and not row[2][i].holds(float(found[2][i])):
                raise Difference(
                    f"{sink.name}: {sink.columns[i].name} is {found[2][i]}, "
                    f"not in {row[2][i]}: {found}"
                )
    return without(expected, approx), without(actual, approx)


def compare_multisets(sink, expected, actual):
    expected, actual = collections.Counter(expected), collections.Counter(actual)
    missing, extra = expected - actual, actual - expected
    if missing or extra:
        show = lambda rows: "".join(
            f"\n    {count} × {row}" for row, count in list(sorted(rows.items(), key=repr))[:5]
        )
        raise Difference(
            f"{sink.name}: {sum(missing.values())} missing, {sum(extra.values())} unexpected of "
            f"{sum(expected.values())}\n  missing:{show(missing)}\n  unexpected:{show(extra)}"
        )


def compare_sink(model, sink, left, paths):
    """left: of read_run; paths: sink → file."""
    as_bytes = sink.format == "avro" and sink.kind == "kafka"
    as_csv = sink.format == "csv" and sink.kind == "file"
    expected = expected_rows(sink)
    if sink.kind == "kafka":
        actual = actual_topic(sink, left[sink.name])
    else:
        is_file = sink.kind == "file"
        actual = actual_file(sink, paths) if is_file else actual_table(sink, left[sink.name])
    if not as_bytes and not as_csv:
        loose = loose_columns(sink, model)
        expected, actual = masked(expected, loose), masked(actual, loose)
        if "detail" in loose.values() or is_dead_end(sink):
            actual = without_refused_corrections(model, sink, expected, actual)
        if "revision" in loose.values():
            expected, actual = compare_revisions(sink, expected, actual)
        approx = {
            i
            for _, _, cells in expected
            if cells
            for i, cell in enumerate(cells)
            if isinstance(cell, values.Approx)
        }
        if approx:
            expected, actual = compare_approx(sink, expected, actual, approx)
    compare_multisets(sink, expected, actual)
    return len(actual)


def compare(plan, program, directory, source_paths, sink_paths):
    """Raises Difference; else the number of rows of each sink."""
    model = Model(plan, inputs.load(plan, source_paths, program, directory)).run()
    left = read_run(model.sinks.values(), program, directory)
    return {
        sink.name: compare_sink(model, sink, left, sink_paths)
        for sink in model.sinks.values()
        if sink.kind != "stdout"
    }


def main():
    plan = json.loads(Path(sys.argv[1]).read_text())
    paths = dict(argument.split("=", 1) for argument in sys.argv[4:])
    sources = {node["name"] for node in plan["nodes"] if node["node"] == "source"}
    try:
        rows = compare(
            plan,
            sys.argv[2],
            sys.argv[3],
            {n: p for n, p in paths.items() if n in sources},
            {n: p for n, p in paths.items() if n not in sources},
        )
    except Difference as difference:
        print(difference)
        return 1
    for name, count in rows.items():
        print(f"{count:10} rows equal  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
