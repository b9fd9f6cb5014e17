#!/usr/bin/env python3
"""A random well-typed pipeline and random inputs for it, from a seed: generate.py SEED DIRECTORY."""
import json
import random
import sys
from pathlib import Path

import generate_data as data
from generate_expressions import (BOOL, FLOAT64, INT32, INT64, ORDERED, STRING, TIMESTAMP_MS, TIMESTAMP_US, DATE, Expressions,
                                  Field, Kind)
from values import decimal_text, key_text, murmur2

SYMBOLS = ["RED", "GREEN", "BLUE"]


def random_kind(rng, flat, depth=0):
    simple = [INT32, INT64, INT64, FLOAT64, Kind("float32"), STRING, STRING, BOOL, Kind("uuid"), DATE, TIMESTAMP_MS, TIMESTAMP_US,
              Kind("bytes"), Kind("decimal(12,2)", precision=12, scale=2), Kind("decimal(38,10)", precision=38, scale=10),
              Kind("decimal(5,0)", precision=5, scale=0)]
    if flat or depth > 1:
        return rng.choice(simple)
    enum = Kind("enum", symbols=SYMBOLS)
    nested = [enum, enum,
              Kind("record", fields=[Field(f"f{i}", random_kind(rng, False, depth + 1), rng.random() < 0.4) for i in range(2)]),
              Kind("array", element=random_kind(rng, False, depth + 1), element_nullable=rng.random() < 0.3),
              Kind("array", element=rng.choice([STRING, INT64]), element_nullable=False),
              Kind("map", element=rng.choice([STRING, INT64]), element_nullable=False)]
    return rng.choice(simple + nested)


class Row:
    """A stream as generated: its fields, and what may be done with it."""
    def __init__(self, name, fields, **more):
        self.name, self.fields = name, fields
        self.time = None                        # the Kind of the event time
        self.windowed = self.corrections = self.unnested = self.deduped = False
        self.key = None                         # columns by which it is partitioned, still there under their names
        self.kafka = False                      # rows descend from one Kafka record
        self.slack_ms = 0                       # watermark bound
        self.no_dedup = self.no_position = False
        self.group = []
        self.__dict__.update(more)

    def child(self, name, fields=None):
        row = Row(name, fields if fields is not None else self.fields)
        for attribute in ("time", "windowed", "unnested", "deduped", "key", "kafka", "slack_ms", "no_dedup", "no_position"):
            setattr(row, attribute, getattr(self, attribute))
        return row


def narrowed(value, kind):
    """A value for an older, narrower type."""
    if kind.base == "int32" and isinstance(value, float):
        return int(max(-1e6, min(1e6, value)))
    return value


class Generator:
    def __init__(self, seed, directory):
        self.rng = random.Random(seed)
        self.directory = Path(directory)
        self.statements, self.sinks = ["pipeline generated;"], []
        self.paths = {}
        self.count = 0
        self.duplicates = self.rng.random() < 0.6
        self.wild = self.rng.random() < 0.3
        self.size = self.rng.choice([0, 5, 40, 40, 120, 120, 120, 250, 250, 600])
        self.rejects_read = False

    def name(self, prefix):
        self.count += 1
        return f"{prefix}{self.count}"

    # ---- Sources ----

    def source_fields(self, flat):
        rng = self.rng
        fields = [Field("id", STRING), Field("k", rng.choice([STRING, STRING, INT64, INT32])),
                  Field("ts", rng.choice([TIMESTAMP_MS, TIMESTAMP_US]), rng.random() < 0.2)]
        for i in range(rng.randrange(2, 7)):
            fields.append(Field(f"c{i}", random_kind(rng, flat), rng.random() < 0.4))
        return fields

    def text_source(self):
        """Lines or bytes, cut up by a select."""
        rng = self.rng
        name, form = self.name("s"), rng.choice(["text", "bytes", "file"])
        partitions = rng.choice([1, 2])
        self.bound_ms = rng.choice([0, 2000])
        column = "payload" if form == "bytes" else "line"
        kind = Kind("bytes") if form == "bytes" else STRING
        row = Row(name, [Field(column, kind)], time=TIMESTAMP_MS, slack_ms=self.bound_ms, kafka=form != "file")
        if form == "file":
            clauses = f"from file 'in/{name}-*' format text"
            time = "event time parse_timestamp(split_part(line, '|', 1), '%Y-%m-%dT%H:%M:%S.%fZ') as at"
            row.fields, row.time = row.fields + [Field("at", TIMESTAMP_US)], TIMESTAMP_US
        else:
            clauses = f"from kafka topic 'in.{name}' partitions {partitions} format {form}"
            time = "event time kafka_time"
        self.statements.append(f"source {name} {clauses}\n  {time}\n  watermark {self.bound_ms}ms\n  rejects to rejected;")
        fields = [Field("id", STRING), Field("k", STRING), Field("ts", TIMESTAMP_US), Field("c0", STRING)]

        def encode(record):
            at = data.values.instant_text(record["ts"], "timestamp_us")
            return "|".join([at, record["id"], record["k"], record["c0"].replace("\n", " ")]).encode()
        records = self.records(fields, partitions, False)
        if form == "file":
            self.write_lines(name, records, partitions, encode, "txt")
        else:
            self.write_envelopes(name, records, partitions, False, encode)
        text = "try(cast(payload as string), '')" if form == "bytes" else "line"
        cut = row.child(self.name("t"))
        cut.fields = [f for f in row.fields if f.name == "at"] + [Field("id", STRING), Field("k", STRING), Field("c0", STRING)]
        at = "at, " if form == "file" else ""
        self.statements.append(f"stream {cut.name} from {name}\n  select {at}split_part({text}, '|', 2) as id, "
                               f"split_part({text}, '|', 3) as k,\n    split_part({text}, '|', 4) as c0\n"
                               "  rejects to rejected;")
        return cut

    def source(self, like=None):
        """like: the fields of another source, to make a union with."""
        rng = self.rng
        if like is None and rng.random() < 0.1:
            return self.text_source()
        transport = rng.choice(["avro", "avro", "json", "csv", "jsonl", "container"])
        if like is not None and transport == "csv":
            transport = "avro"
        kafka = transport in ("avro", "json")
        fields = self.source_fields(transport == "csv")
        if like is not None:
            fields = [Field(f.name, f.kind, not f.nullable if f.name[0] == "c" and rng.random() < 0.3 else f.nullable)
                      for f in like]
        name = self.name("s")
        self.bound_ms = rng.choice([0, 500, 2000, 5000])
        keyed = rng.random() < 0.6
        partitions = rng.choice([1, 2, 3])
        versions = self.contract(name, fields, transport) if transport != "csv" else None
        clauses = [f"from kafka topic 'in.{name}' partitions {partitions}" if kafka else
                   f"from file 'in/{name}-*' format {'avro' if transport == 'container' else transport}"]
        if transport == "json":
            clauses.append("format json")
        header = transport == "csv" and rng.random() < 0.5
        if transport == "csv":
            columns = ", ".join(f"{f.name} {f.kind.name}{' null' if f.nullable else ''}" for f in fields)
            clauses[0] += " header" if header else ""
            clauses.append(f"columns ({columns})")
        else:
            clauses.append(f"contract {name}_contract")
        if keyed:
            clauses.append("key k")
        ahead_ms = 300000
        if kafka and rng.random() < 0.5:
            ahead_ms = 10000
        by_clock = kafka and rng.random() < 0.1
        self.computed = not by_clock and rng.random() < 0.15 and like is None
        clauses.append(f"event time {'kafka_time' if by_clock else 'ts + 250ms as at' if self.computed else 'ts'}\n  watermark {self.bound_ms}ms" + (f" ahead {ahead_ms}ms" if ahead_ms == 10000 else ""))
        drop = kafka and rng.random() < 0.5
        clauses += ["drop tombstones"] if drop else []
        clauses.append("rejects to rejected")
        self.statements.append(f"source {name}\n  " + "\n  ".join(clauses) + ";")
        records = self.records(fields, partitions, keyed)
        getattr(self, "write_" + transport)(name, fields, versions, records, partitions, keyed, header)
        row = Row(name, [Field(f.name, f.kind, f.nullable and f.name != "ts") for f in fields])
        for field in row.fields:
            if field.name == "ts":
                field.nullable = next(f.nullable for f in fields if f.name == "ts")
        row.time = TIMESTAMP_MS if by_clock else fields[2].kind
        if self.computed:
            row.fields.append(Field("at", row.time))
        row.key = ["k"] if keyed else [] if partitions == 1 and kafka else None
        row.kafka, row.slack_ms = kafka, self.bound_ms
        return row

    def contract(self, name, fields, transport):
        """Writes v2 and perhaps v1, which lacks fields that have defaults; [(schema, fields)], newest first."""
        rng = self.rng
        old = []
        if transport == "avro" and rng.random() < 0.6:
            for field in fields[3:]:
                if field.nullable and rng.random() < 0.6:
                    field.default = "null"
                elif field.kind.base in ("int64", "string", "bool") and rng.random() < 0.5:
                    field.default = {"int64": 7, "string": "dé", "bool": True}[field.kind.base]
            old = [f for f in fields if f.default is None or rng.random() < 0.3]
        versions = [(data.schema_of(f"{name}_record", fields), fields)]
        if old and len(old) < len(fields):
            versions.append((data.schema_of(f"{name}_record", old), old))
        elif transport == "avro" and rng.random() < 0.5:
            versions.append(self.promoted(name, fields, versions[0][0]))
        clauses = []
        for i, (schema, _) in enumerate(versions):
            path = self.directory / "contracts" / f"{name}_{len(versions) - i}.avsc"
            path.parent.mkdir(exist_ok=True, parents=True)
            path.write_text(json.dumps(schema, indent=1))
            clauses.append(f"{'accepts' if i else 'from'} 'contracts/{path.name}'")
        self.statements.append(f"contract {name}_contract " + " ".join(clauses) + " compatible backward;")
        return versions

    def promoted(self, name, fields, newest):
        """An older version: narrower types, another name that the newest has as an alias, another order."""
        narrower = {"int64": INT32, "float64": Kind("float32"), "float32": INT32}
        old = []
        for field, entry in zip(fields, newest["fields"]):
            kind = narrower.get(field.kind.base, field.kind) if self.rng.random() < 0.5 and not self.wild else field.kind
            older = Field(field.name, kind, field.nullable)
            if field.name[0] == "c" and self.rng.random() < 0.3:
                older.alias_of = field.name
                older.name = "old_" + field.name
                entry["aliases"] = [older.name]
            old.append(older)
        self.rng.shuffle(old)
        schema = data.schema_of(f"{name}_record", old)
        for entry in schema["fields"]:          # inner types keep their names
            newer = next(e for e in newest["fields"] if e["name"] == entry["name"] or entry["name"] in e.get("aliases", []))
            if not any(f.name == entry["name"] and f.kind.base in ("int32", "float32") for f in old):
                entry["type"] = newer["type"]
        return schema, old

    def records(self, fields, partitions, keyed):
        """[(partition, kafka_time ms, row)] in order of arrival."""
        rng = self.rng
        out, now = [], data.START_MS
        keys = [["a", "b", "c", "ä", "e"], [1, 2, 3, -4]][fields[1].kind.base != "string"]
        lateness = rng.choice([0.02, 0.2])
        for i in range(self.size):
            now += rng.choice([0, 10, 50, 200, 1000] + [30000] * (rng.random() < 0.05))
            row = {f.name: data.draw_nullable(rng, f.kind, f.nullable, self.wild) for f in fields}
            row["id"], row["k"] = f"i{len(out)}-{rng.randrange(1000)}", rng.choice(keys)
            when = now - (rng.randrange(60000) if rng.random() < lateness else rng.randrange(3000))
            when += rng.choice([0, 0, 9000, 20000, 400000]) if rng.random() < 0.02 else 0
            row["ts"] = when * 1000 + rng.randrange(1000) if fields[2].kind is TIMESTAMP_US else when
            if fields[2].nullable and rng.random() < 0.05:
                row["ts"] = None
            out.append((now, row))
            if self.duplicates and rng.random() < 0.2:
                now += rng.choice([0, 100, 5000, 60000])
                out.append((now, rng.choice(out)[1]))
        return [(self.partition(row, partitions, keyed, fields), time, row) for time, row in out]

    def partition(self, row, partitions, keyed, fields):
        if keyed:
            return (murmur2(self.key_of(row).encode()) & 0x7fffffff) % partitions
        return self.rng.randrange(partitions)

    def key_of(self, row):
        return str(row["k"])

    def spread(self, records, partitions):
        out = [[] for _ in range(partitions)]
        for partition, time, row in records:
            out[partition].append((time, row))
        return out

    def input_path(self, name, partition, extension):
        path = self.directory / "in" / f"{name}-{partition}.{extension}"
        path.parent.mkdir(exist_ok=True, parents=True)
        return path

    def write_envelopes(self, name, records, partitions, keyed, encode):
        rng = self.rng
        for partition, rows in enumerate(self.spread(records, partitions)):
            out = []
            for time, row in rows:
                value = encode(row)
                key = self.key_of(row).encode() if keyed else rng.choice([None, b"", b"k", b"\xff"])
                if rng.random() < 0.05:
                    value = data.damage(rng, value)
                elif rng.random() < 0.02:
                    value = None
                elif rng.random() < 0.02:
                    key = rng.choice([None, b"other"])
                out.append((time, key, value))
            data.write_topic_file(self.input_path(name, partition, "avro"), out, rng)
        self.paths[name] = f"in/{name}-*.avro"

    def write_avro(self, name, fields, versions, records, partitions, keyed, header):
        writers = [(data.AvroWriter(schema), its) for schema, its in versions]
        unknown = data.AvroWriter(data.schema_of(f"{name}_other", fields))

        def encode(row):
            if self.rng.random() < 0.02:
                return unknown.framed(row, fields)
            writer, its = self.rng.choice(writers)
            return writer.framed({f.name: narrowed(row[getattr(f, "alias_of", f.name)], f.kind) for f in its}, its)
        self.write_envelopes(name, records, partitions, keyed, encode)

    def write_json(self, name, fields, versions, records, partitions, keyed, header):
        self.write_envelopes(name, records, partitions, keyed, lambda row: data.json_object(self.rng, row, fields).encode())

    def write_lines(self, name, records, partitions, encode, extension, header=None):
        for partition, rows in enumerate(self.spread(records, partitions)):
            lines = [encode(row) for _, row in rows]
            lines = [data.damage(self.rng, line) if self.rng.random() < 0.05 else line for line in lines]
            data.write_lines(self.input_path(name, partition, extension), lines, self.rng, header)
        self.paths[name] = f"in/{name}-*.{extension}"

    def write_jsonl(self, name, fields, versions, records, partitions, keyed, header):
        self.write_lines(name, records, partitions, lambda row: data.json_object(self.rng, row, fields).encode(), "jsonl")

    def write_csv(self, name, fields, versions, records, partitions, keyed, header):
        order = list(fields)
        if header:
            self.rng.shuffle(order)
        names = ",".join(f.name for f in order).encode() if header else None
        self.write_lines(name, records, partitions, lambda row: data.csv_line(self.rng, row, order), "csv", names)

    def write_container(self, name, fields, versions, records, partitions, keyed, header):
        for partition, rows in enumerate(self.spread(records, partitions)):
            data.write_container(self.input_path(name, partition, "avro"), versions[0][0], [row for _, row in rows], fields,
                                 self.rng)
        self.paths[name] = f"in/{name}-*.avro"

    # ---- Streams ----

    def stream(self, inputs, row, stateful=True):
        """One stream over rows; what comes out."""
        rng = self.rng
        name = self.name("t")
        clauses, out = [], row.child(name)
        if row.corrections:
            stateful = False
        else:
            self.filters(clauses, out)
            self.unnest(clauses, out)
            self.select(clauses, out)
        if stateful and out.time:
            choice = rng.random()
            if choice < 0.25 and not out.windowed and not out.deduped and not out.no_dedup:
                self.dedup(clauses, out)
            elif choice < 0.85 and not (out.deduped and self.duplicates):
                self.window(clauses, out)
        if not clauses:
            return row
        clauses.append("rejects to rejected")
        self.rejects_read = True
        self.statements.append(f"stream {name} from {', '.join(inputs)}\n  " + "\n  ".join(clauses) + ";")
        return out

    def filters(self, clauses, out):
        rng = self.rng
        for _ in range(rng.choice([0, 0, 1, 2])):
            text = Expressions(rng, out.fields).definite(2)
            kind = rng.choice(["where", "require", "divert"])
            if kind == "where":
                clauses.append(f"where {text}")
            elif kind == "require":
                clauses.append(f"require {text} else 'rule_{len(clauses)}'")
            else:
                side = self.name("d")
                clauses.append(f"divert {text} to {side}")
                self.sink(out.child(side))

    def unnest(self, clauses, out):
        arrays = [f for f in out.fields if f.kind.base == "array" and not f.nullable and not f.opaque]
        if not arrays or self.rng.random() < 0.5:
            return
        array = self.rng.choice(arrays)
        item = self.name("x")
        clauses.append(f"unnest {array.name} as {item}")
        fields = []
        for field in out.fields:
            if field is not array:
                fields.append(field)
                continue
            fields += [Field(item, array.kind.element, array.kind.element_nullable), Field(item + "_index", INT32)]
        out.fields, out.unnested = fields, True

    def select(self, clauses, out):
        rng = self.rng
        if rng.random() < 0.4:
            return
        make = Expressions(rng, out.fields)
        items, fields = [], []
        if rng.random() < 0.6:
            dropped = [f for f in out.fields if f.name not in ("id", "k", "ts", "window_end") and rng.random() < 0.2]
            if dropped:
                items.append(f"* except ({', '.join(f.name for f in dropped)})")
            else:
                items.append("*")
            fields = [f for f in out.fields if f not in dropped]
        else:
            for field in out.fields:
                if field.name in ("id", "k") or rng.random() < 0.6:
                    items.append(field.name)
                    fields.append(field)
        if out.kafka and not out.deduped and rng.random() < 0.25 and not out.no_position:
            text, kind = rng.choice([("kafka_time", TIMESTAMP_MS), ("kafka_partition", INT32), ("kafka_offset", INT64)])
            item = self.name("e")
            items.append(f"{text} as {item}")
            fields.append(Field(item, kind))
            out.no_dedup = True
        for _ in range(rng.randrange(1, 4)):
            text, nullable, kind = make.any(3)
            item = self.name("e")
            items.append(f"{text} as {item}")
            fields.append(Field(item, kind, nullable))
        out.fields = fields
        clauses.append("select\n    " + ",\n    ".join(items))

    def dedup(self, clauses, out):
        rng = self.rng
        usable = [f for f in out.fields if f.name == "id" or f.name == "k"]
        if not any(f.name == "id" for f in usable):
            return
        local = out.key is not None and all(any(f.name == k for f in out.fields) for k in out.key)
        keys = ["id"]
        if local and rng.random() < 0.7:
            keys = list(dict.fromkeys(out.key + rng.choice([["k"], ["id"]])))
            keys = [k for k in keys if any(f.name == k for f in out.fields)]
            within = rng.choice(["20s", "2m", "1h"])
        else:
            within = "10d"
        clauses.append(f"dedup by {', '.join(keys)} within {within}")
        local = local and set(out.key) <= set(keys)
        out.kafka = out.kafka and local
        out.deduped = out.deduped or not local

    def window(self, clauses, out):
        rng = self.rng
        kind = rng.choice(["tumbling", "hopping", "session"])
        groupable = [f for f in out.fields if f.kind.base in ("string", "int32", "int64", "bool", "enum", "uuid", "date") and
                     not f.opaque and f.name not in ("id", "window_start", "window_end", "revision")]
        group = rng.sample(groupable, min(len(groupable), rng.choice([0, 1, 1, 2])))
        if rng.random() < 0.5 and any(f.name == "k" for f in groupable) and not any(f.name == "k" for f in group):
            group.append(next(f for f in groupable if f.name == "k"))
        local = out.key is not None and set(out.key) <= {f.name for f in group}
        clauses.append(self.window_shape(kind, local, out))
        if group:
            clauses.append("group by " + ", ".join(f.name for f in group))
        fields, items = self.window_aggregates(out)
        clauses.append("aggregate\n    " + ",\n    ".join(items))
        self.window_times(clauses, out, kind, fields, items)
        time = [Field("window_start", out.time), Field("window_end", out.time)]
        tail = [Field("revision", INT32)] if out.corrections else []
        out.fields = time + [Field(f.name, f.kind, f.nullable) for f in group] + fields + tail
        out.group = [f.name for f in group]
        out.windowed, out.kafka, out.unnested = True, False, False
        out.key = [f.name for f in group] if not local else out.key

    def window_shape(self, kind, local, out):
        rng = self.rng
        offset = rng.choice(["", "", " offset 300ms"])
        if kind == "tumbling":
            return f"window tumbling {rng.choice(['1s', '2500ms', '10s', '1m'])}{offset}"
        if kind == "hopping":
            size = rng.choice(["3s every 1s", "10s every 4s", "10s every 2500ms", "1m every 500ms", "2s every 2s"])
            return f"window hopping {size}{offset}"
        limit = " max 20s" if local and not out.windowed and not out.deduped and rng.random() < 0.4 else ""
        return f"window session gap {rng.choice(['500ms', '2s', '6s'])}{limit}"

    def window_times(self, clauses, out, kind, fields, items):
        rng = self.rng
        overflow = any("sum(" in item for item in items) and self.wild
        if out.windowed:
            clauses.append("emit on close" if kind == "session" else rng.choice(["emit on close", "emit on final"]))
            return
        emit = rng.choice(["close", "close", "final"] + (["update"] if kind != "session" and not overflow else []))
        lateness = 0
        if (kind != "session" or emit == "final") and rng.random() < 0.5 and not (overflow and emit != "final"):
            lateness = rng.choice([1000, 8000])
            clauses.append(f"lateness {lateness}ms")
        if rng.random() < 0.7:
            side = self.name("late")
            clauses.append(f"late to {side}")
            late = out.child(side, out.fields + [Field("late_for", STRING), Field("window_end", out.time), Field("watermark", out.time)])
            names = [f.name for f in late.fields]
            if len(set(names)) < len(names):
                clauses[-1] = "drop late"
            else:
                self.sink(late)
        else:
            clauses.append("drop late")
        out.corrections = emit == "update" or emit == "close" and lateness > 0
        clauses.append("emit on " + emit + (f" every {rng.choice(['1s', '3s'])}" if emit == "update" else ""))

    def window_aggregates(self, out):
        rng = self.rng
        make = Expressions(rng, out.fields)
        fields, items = [], []
        ties = out.unnested or out.windowed
        for _ in range(rng.randrange(1, 6)):
            name = self.name("a")
            text, field = self.aggregate(make, name, ties)
            items.append(f"{text} as {name}")
            fields.append(field)
        return fields, items

    def aggregate(self, make, name, ties):
        rng = self.rng
        column = make.some_column()
        choice = rng.choice(["count", "count_x", "count_if", "sum", "sum", "avg", "min", "max", "first", "last", "min_by", "max_by",
                             "count_distinct", "approx_count_distinct", "approx_quantile"])
        if ties and choice in ("first", "last", "min_by", "max_by") or column is None:
            choice = "count"
        if choice in ("sum", "avg", "approx_quantile"):
            found = [c for base in ("int32", "int64", "float32", "float64", "decimal") for c in make.columns(base)]
            column = rng.choice(found) if found else (*make.int64(1), INT64)
            kind = column[2]
            text, nullable = column[0], column[1]
            if choice == "approx_quantile":
                return f"approx_quantile({text}, {rng.choice(['0.5', '0.99', '0.01'])})", Field(name, FLOAT64, nullable, True)
            result = FLOAT64 if choice == "avg" or kind.base.startswith("float") else \
                Kind(f"decimal(38,{kind.scale})", precision=38, scale=kind.scale) if kind.base == "decimal" else INT64
            return f"{choice}({text})", Field(name, result, nullable)
        if choice == "count":
            return "count()", Field(name, INT64)
        if choice == "count_if":
            return f"count_if({make.boolean(2)[0]})", Field(name, INT64)
        text, nullable, kind = column
        if choice in ("min", "max") and kind.base in ("bool", "bytes", "enum"):
            choice = "count_x"
        if choice in ("count_distinct", "approx_count_distinct") and kind.base.startswith("float"):
            choice = "count_x"
        if choice in ("count_x", "count_distinct", "approx_count_distinct"):
            function = "count" if choice == "count_x" else choice
            return f"{function}({text})", Field(name, INT64, False, choice.startswith("approx"))
        if choice in ("min_by", "max_by"):
            by = make.column("int64") or make.column("string")
            if by is None:
                return "count()", Field(name, INT64)
            return f"{choice}({text}, {by[0]})", Field(name, kind, nullable or by[1])
        return f"{choice}({text})", Field(name, kind, nullable)

    # ---- Sinks ----

    def sink(self, row, side=False):
        rng = self.rng
        name = self.name("o")
        keyable = [f.name for f in row.fields if not f.opaque and f.kind.base not in ("record", "array", "map", "float32", "float64")]
        if row.corrections:
            keyable = [f for f in keyable if f != "revision"]
        kind = rng.choice(["kafka", "kafka", "kafka", "clickhouse", "jsonl", "csv", "avro"])
        if kind == "kafka":
            target = f"to kafka topic 'out.{name}'"
            if not row.kafka or rng.random() < 0.7:
                target += " key " + ", ".join(rng.sample(keyable, min(len(keyable), rng.choice([1, 1, 2])))) + \
                    f" partitions {rng.choice([1, 3])}"
            certain = [f.name for f in row.fields if f.name in keyable and not f.nullable]
            if not row.corrections and certain and rng.random() < 0.1:
                target = f"to kafka topic 'out.{name}' partitions 3 upsert by {rng.choice(certain)}" + \
                    (f" delete when {Expressions(rng, row.fields).definite(1)}" if rng.random() < 0.5 else "")
            target += rng.choice(["", " format json", " format avro"]) if not any(f.opaque for f in row.fields) and not row.corrections else ""
        elif kind == "clickhouse":
            target = f"to clickhouse table 'db.{name}'"
        else:
            nested = any(f.kind.base in ("record", "array", "map") for f in row.fields)
            if any(f.opaque for f in row.fields) or row.corrections or kind == "csv" and nested:
                kind = "jsonl"
            target = f"to file 'out/{name}.{kind}' format {kind}" + (" append revisions" if row.corrections else "")
            self.paths[name] = f"out/{name}.{kind}"
        self.sinks.append(f"sink {name} from {row.name} {target} exactly once;")

    # ---- The whole ----

    def generate(self):
        rng = self.rng
        self.like = self.computed = False
        rows = [self.source()]
        if rng.random() < 0.35:
            first = rows[0]
            self.like = rng.random() < 0.6 and not self.computed and any(f.name == "ts" for f in first.fields)
            rows.append(self.source(first.fields if self.like else None))
            self.like = self.like and rows[1].time is first.time
        for row in list(rows):
            if rng.random() < 0.3:
                self.sink(row)
            frontier = [row]
            for _ in range(rng.randrange(1, 4)):
                base = rng.choice(frontier)
                out = self.stream([base.name], base)
                if out is base:
                    continue
                self.sink(out)
                frontier.append(out)
        self.union(rows)
        if rng.random() < 0.3:
            self.statements.append("stream dead_ends from rejected\n  where reason <> 'undecodable' and (detail is null or "
                                   "rule <> 't2')\n  select reason || '!' as why, payload, partition, \"offset\";")
            self.sinks.append("sink dead_file from dead_ends to file 'out/dead.jsonl' format jsonl exactly once;")
            self.paths["dead_file"] = "out/dead.jsonl"
        if not any(s.split()[3] in {r.name for r in rows} for s in self.sinks):
            for row in rows:
                self.sink(row)
        self.statements.append("sink dead from rejected to kafka topic 'out.dead' key reason partitions 2 exactly once;")
        text = "\n\n".join(self.statements + self.sinks) + "\n"
        (self.directory / "generated.pipe").write_text(text)
        (self.directory / "paths.json").write_text(json.dumps(self.paths, indent=1))
        return text

    def union(self, rows):
        """The first source's rows in two halves, one changed, and together again."""
        if self.rng.random() < 0.5:
            return
        if len(rows) > 1 and self.like:
            return self.union_of_sources(rows[0], rows[1])
        row = rows[0]
        side, left = row.child(self.name("d")), row.child(self.name("t"))
        text = Expressions(self.rng, row.fields).definite(2)
        self.statements.append(f"stream {left.name} from {row.name}\n  divert {text} to {side.name}\n  rejects to rejected;")
        both = row.child(self.name("t"))
        both.key = None                         # keyed state over a union is behind an exchange
        out = self.stream([left.name, side.name], both)
        if out is both:
            self.sink(left)
            self.sink(side)
        else:
            self.sink(out)

    def union_of_sources(self, a, b):
        both = a.child(self.name("t"))
        other = {f.name: f for f in b.fields}
        both.fields = [Field(f.name, f.kind, f.nullable or other[f.name].nullable) for f in a.fields]
        both.key, both.kafka, both.no_position = None, a.kafka and b.kafka, True
        out = self.stream([a.name, b.name], both)
        self.sink(a if out is both else out)


def generate(seed, directory):
    Path(directory).mkdir(parents=True, exist_ok=True)
    return Generator(seed, directory).generate()


if __name__ == "__main__":
    print(generate(int(sys.argv[1]), sys.argv[2]))
