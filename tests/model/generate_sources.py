"""The sources of a random case: their statements, contracts and files."""

import json

import generate_data as data
from generate_expressions import (
    BOOL,
    DATE,
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIMESTAMP_MS,
    TIMESTAMP_US,
    Field,
    Kind,
)
from values import murmur2

SYMBOLS = ["RED", "GREEN", "BLUE"]


def random_kind(rng, flat, depth=0):
    simple = [
        INT32,
        INT64,
        INT64,
        FLOAT64,
        Kind("float32"),
        STRING,
        STRING,
        BOOL,
        Kind("uuid"),
        DATE,
        TIMESTAMP_MS,
        TIMESTAMP_US,
        Kind("bytes"),
        Kind("decimal(12,2)", precision=12, scale=2),
        Kind("decimal(38,10)", precision=38, scale=10),
        Kind("decimal(5,0)", precision=5, scale=0),
    ]
    if flat or depth > 1:
        return rng.choice(simple)
    enum = Kind("enum", symbols=SYMBOLS)
    nested = [
        enum,
        enum,
        Kind(
            "record",
            fields=[
                Field(f"f{i}", random_kind(rng, False, depth + 1), rng.random() < 0.4)
                for i in range(2)
            ],
        ),
        Kind(
            "array", element=random_kind(rng, False, depth + 1), element_nullable=rng.random() < 0.3
        ),
        Kind("array", element=rng.choice([STRING, INT64]), element_nullable=False),
        Kind("map", element=rng.choice([STRING, INT64]), element_nullable=False),
    ]
    return rng.choice(simple + nested)


class Row:
    """A stream as generated: its fields, and what may be done with it."""

    def __init__(self, name, fields, **more):
        self.name, self.fields = name, fields
        self.time = None  # the Kind of the event time
        self.windowed = self.corrections = self.unnested = self.deduped = False
        self.key = None  # columns by which it is partitioned, still there under their names
        self.kafka = False  # rows descend from one Kafka record
        self.slack_ms = 0  # watermark bound
        self.no_dedup = self.no_position = False
        self.group = []
        self.__dict__.update(more)

    def child(self, name, fields=None):
        row = Row(name, fields if fields is not None else self.fields)
        for attribute in (
            "time",
            "windowed",
            "unnested",
            "deduped",
            "key",
            "kafka",
            "slack_ms",
            "no_dedup",
            "no_position",
            "group",
        ):
            setattr(row, attribute, getattr(self, attribute))
        return row


def narrowed(value, kind):
    """A value for an older, narrower type."""
    if kind.base == "int32" and isinstance(value, float):
        return int(max(-1e6, min(1e6, value)))
    return value


class Sources:
    """Of a generator: rng, directory, statements, paths, size, duplicates, wild, name()."""

    def source_fields(self, flat):
        rng = self.rng
        fields = [
            Field("id", STRING),
            Field("k", rng.choice([STRING, STRING, INT64, INT32])),
            Field("ts", rng.choice([TIMESTAMP_MS, TIMESTAMP_US]), rng.random() < 0.2),
        ]
        for i in range(rng.randrange(2, 7)):
            fields.append(Field(f"c{i}", random_kind(rng, flat), rng.random() < 0.4))
        return fields

    def idle(self):
        """For the way in which topics are fed step by step; files know no idle partitions."""
        return f" idle {self.idle_rng.choice(['100ms', '300ms'])}" + (
            " advance" if self.idle_rng.random() < 0.4 else ""
        )

    def text_source(self):
        """Lines or bytes, cut up by a select."""
        rng = self.rng
        name, form = self.name("s"), rng.choice(["text", "bytes", "file"])
        partitions = rng.choice([1, 2])
        self.bound_ms = rng.choice([0, 2000])
        column = "payload" if form == "bytes" else "line"
        kind = Kind("bytes") if form == "bytes" else STRING
        row = Row(
            name,
            [Field(column, kind)],
            time=TIMESTAMP_MS,
            slack_ms=self.bound_ms,
            kafka=form != "file",
        )
        if form == "file":
            clauses = f"from file 'in/{name}-*' format text"
            form_of_time = "%Y-%m-%dT%H:%M:%S.%fZ"
            time = f"event time parse_timestamp(split_part(line, '|', 1), '{form_of_time}') as at"
            row.fields, row.time = row.fields + [Field("at", TIMESTAMP_US)], TIMESTAMP_US
        else:
            clauses = f"from kafka topic 'in.{name}' partitions {partitions} format {form}"
            time = "event time kafka_time"
        idle = self.idle() if form != "file" else ""
        self.statements.append(
            f"source {name} {clauses}\n  {time}\n  watermark {self.bound_ms}ms{idle}\n"
            "  rejects to rejected;"
        )
        fields = [
            Field("id", STRING),
            Field("k", STRING),
            Field("ts", TIMESTAMP_US),
            Field("c0", STRING),
        ]

        def encode(record):
            at = data.values.instant_text(record["ts"], "timestamp_us")
            return "|".join(
                [at, record["id"], record["k"], record["c0"].replace("\n", " ")]
            ).encode()

        records = self.records(fields, partitions, False)
        if form == "file":
            self.write_lines(name, records, partitions, encode, "txt")
        else:
            self.write_envelopes(name, records, partitions, False, encode)
        text = "try(cast(payload as string), '')" if form == "bytes" else "line"
        cut = row.child(self.name("t"))
        cut.fields = [f for f in row.fields if f.name == "at"] + [
            Field("id", STRING),
            Field("k", STRING),
            Field("c0", STRING),
        ]
        at = "at, " if form == "file" else ""
        self.statements.append(
            f"stream {cut.name} from {name}\n  select {at}split_part({text}, '|', 2) as id, "
            f"split_part({text}, '|', 3) as k,\n    split_part({text}, '|', 4) as c0\n"
            "  rejects to rejected;"
        )
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
            fields = [
                Field(
                    f.name,
                    f.kind,
                    not f.nullable if f.name[0] == "c" and rng.random() < 0.3 else f.nullable,
                )
                for f in like
            ]
        name = self.name("s")
        self.bound_ms = rng.choice([0, 500, 2000, 5000])
        keyed = rng.random() < 0.6
        partitions = rng.choice([1, 2, 3])
        declared = transport == "csv" and rng.random() < 0.4
        versions = None if declared else self.contract(name, fields, transport)
        clauses = [
            (
                f"from kafka topic 'in.{name}' partitions {partitions}"
                if kafka
                else f"from file 'in/{name}-*' "
                f"format {'avro' if transport == 'container' else transport}"
            )
        ]
        if transport == "json":
            clauses.append("format json")
        header = transport == "csv" and (not declared or rng.random() < 0.5)
        clauses[0] += " header" if header else ""
        if declared:
            columns = ", ".join(
                f"{f.name} {f.kind.name}{' null' if f.nullable else ''}" for f in fields
            )
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
        clauses.append(
            "event time "
            + ("kafka_time" if by_clock else "ts + 250ms as at" if self.computed else "ts")
            + f"\n  watermark {self.bound_ms}ms"
            + (self.idle() if kafka else "")
            + (f" ahead {ahead_ms}ms" if ahead_ms == 10000 else "")
        )
        drop = kafka and rng.random() < 0.5
        clauses += ["drop tombstones"] if drop else []
        clauses.append("rejects to rejected")
        self.statements.append(f"source {name}\n  " + "\n  ".join(clauses) + ";")
        records = self.records(fields, partitions, keyed)
        write = getattr(self, "write_" + transport)
        write(name, fields, versions, records, partitions, keyed, header)
        row = self.row_of(name, fields, by_clock)
        row.key = ["k"] if keyed else [] if partitions == 1 and kafka else None
        row.kafka = kafka
        return row

    def row_of(self, name, fields, by_clock):
        row = Row(name, [Field(f.name, f.kind, f.nullable) for f in fields])
        row.time = TIMESTAMP_MS if by_clock else fields[2].kind
        if self.computed:
            row.fields.append(Field("at", row.time))
        row.slack_ms = self.bound_ms
        return row

    def contract(self, name, fields, transport):
        """Writes one version or two; [(schema, fields)], newest first."""
        rng = self.rng
        old = []
        if transport == "csv" or transport == "avro" and rng.random() < 0.6:
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
        self.statements.append(
            f"contract {name}_contract " + " ".join(clauses) + " compatible backward;"
        )
        return versions

    def promoted(self, name, fields, newest):
        """An older version: narrower types, other names (aliases of the newest), another order."""
        narrower = {"int64": INT32, "float64": Kind("float32"), "float32": INT32}
        old = []
        for field, entry in zip(fields, newest["fields"]):
            kind = (
                narrower.get(field.kind.base, field.kind)
                if self.rng.random() < 0.5 and not self.wild
                else field.kind
            )
            older = Field(field.name, kind, field.nullable)
            if field.name[0] == "c" and self.rng.random() < 0.3:
                older.alias_of = field.name
                older.name = "old_" + field.name
                entry["aliases"] = [older.name]
            old.append(older)
        self.rng.shuffle(old)
        schema = data.schema_of(f"{name}_record", old)
        for entry in schema["fields"]:  # inner types keep their names
            newer = next(
                e
                for e in newest["fields"]
                if e["name"] == entry["name"] or entry["name"] in e.get("aliases", [])
            )
            if not any(
                f.name == entry["name"] and f.kind.base in ("int32", "float32") for f in old
            ):
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
            row["ts"] = (
                when * 1000 + rng.randrange(1000) if fields[2].kind is TIMESTAMP_US else when
            )
            if fields[2].nullable and rng.random() < 0.05:
                row["ts"] = None
            out.append((now, row))
            if self.duplicates and rng.random() < 0.2:
                now += rng.choice([0, 100, 5000, 60000])
                out.append((now, rng.choice(out)[1]))
        return [(self.partition(row, partitions, keyed, fields), time, row) for time, row in out]

    def partition(self, row, partitions, keyed, fields):
        if keyed:
            return (murmur2(self.key_of(row).encode()) & 0x7FFFFFFF) % partitions
        if self.duplicates:
            # All copies in one partition: which of several passes a dedup behind an exchange is
            # promised only by the order of one log, and copies differ in position and by damage.
            return (murmur2(row["id"].encode()) & 0x7FFFFFFF) % partitions
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
            return writer.framed(
                {f.name: narrowed(row[getattr(f, "alias_of", f.name)], f.kind) for f in its}, its
            )

        self.write_envelopes(name, records, partitions, keyed, encode)

    def write_json(self, name, fields, versions, records, partitions, keyed, header):
        self.write_envelopes(
            name,
            records,
            partitions,
            keyed,
            lambda row: data.json_object(self.rng, row, fields).encode(),
        )

    def write_lines(self, name, records, partitions, encode, extension):
        for partition, rows in enumerate(self.spread(records, partitions)):
            self.write_file(name, partition, [encode(row) for _, row in rows], extension)
        self.paths[name] = f"in/{name}-*.{extension}"

    def write_file(self, name, partition, lines, extension, header=None):
        lines = [
            data.damage(self.rng, line) if self.rng.random() < 0.05 else line for line in lines
        ]
        data.write_lines(self.input_path(name, partition, extension), lines, self.rng, header)

    def write_jsonl(self, name, fields, versions, records, partitions, keyed, header):
        self.write_lines(
            name,
            records,
            partitions,
            lambda row: data.json_object(self.rng, row, fields).encode(),
            "jsonl",
        )

    def write_csv(self, name, fields, versions, records, partitions, keyed, header):
        """With a contract each file is of one of its versions."""
        for partition, rows in enumerate(self.spread(records, partitions)):
            order = list(fields if versions is None else self.rng.choice(versions)[1])
            if header:
                self.rng.shuffle(order)
            names = ",".join(f.name for f in order).encode() if header else None
            lines = [data.csv_line(self.rng, row, order) for _, row in rows]
            self.write_file(name, partition, lines, "csv", names)
        self.paths[name] = f"in/{name}-*.csv"

    def write_container(self, name, fields, versions, records, partitions, keyed, header):
        for partition, rows in enumerate(self.spread(records, partitions)):
            data.write_container(
                self.input_path(name, partition, "avro"),
                versions[0][0],
                [row for _, row in rows],
                fields,
                self.rng,
            )
        self.paths[name] = f"in/{name}-*.avro"
