#!/usr/bin/env python3
"""A random well-typed pipeline and random inputs for it: generate.py SEED DIRECTORY."""

import json
import random
import sys
from pathlib import Path

from generate_expressions import (
    FLOAT64,
    INT32,
    INT64,
    STRING,
    TIMESTAMP_MS,
    Expressions,
    Field,
    Kind,
)
from generate_sources import Sources


def certain_test(expressions, rng):
    """Neither null nor able to fail."""
    if rng.random() < 0.5:
        return expressions.narrowed(0)
    return f"try({expressions.definite(1)}, {rng.choice(['true', 'false'])})"


class Generator(Sources):
    def __init__(self, seed, directory):
        self.rng = random.Random(seed)
        self.idle_rng = random.Random(f"idle {seed}")
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
            if choice < 0.25 and out.windowed:
                self.dedup_windows(clauses, out)
            elif choice < 0.25 and not out.deduped and not out.no_dedup:
                self.dedup(clauses, out)
            elif choice < 0.85 and not (out.deduped and self.duplicates):
                self.window(clauses, out)
        if not clauses:
            return row
        clauses.append("rejects to rejected")
        self.rejects_read = True
        self.statements.append(
            f"stream {name} from {', '.join(inputs)}\n  " + "\n  ".join(clauses) + ";"
        )
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
        arrays = [
            f for f in out.fields if f.kind.base == "array" and not f.nullable and not f.opaque
        ]
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
            fields += [
                Field(item, array.kind.element, array.kind.element_nullable),
                Field(item + "_index", INT32),
            ]
        out.fields, out.unnested = fields, True

    def select(self, clauses, out):
        rng = self.rng
        if rng.random() < 0.4:
            return
        make = Expressions(rng, out.fields)
        items, fields = [], []
        if rng.random() < 0.6:
            dropped = [
                f
                for f in out.fields
                if f.name not in ("id", "k", "ts", "window_end") and rng.random() < 0.2
            ]
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
            text, kind = rng.choice(
                [("kafka_time", TIMESTAMP_MS), ("kafka_partition", INT32), ("kafka_offset", INT64)]
            )
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

    def dedup_windows(self, clauses, out):
        """By all of the group: its windows come one after the other, so which passes is known."""
        if out.group and set(out.group) <= {f.name for f in out.fields if not f.nullable}:
            within = self.rng.choice(["2s", "20s", "2m", "1h"])
            clauses.append(f"dedup by {', '.join(out.group)} within {within}")

    def window(self, clauses, out):
        rng = self.rng
        kind = rng.choice(["tumbling", "hopping", "session"])
        groupable = [
            f
            for f in out.fields
            if f.kind.base in ("string", "int32", "int64", "bool", "enum", "uuid", "date")
            and not f.opaque
            and f.name not in ("id", "window_start", "window_end", "revision")
        ]
        group = rng.sample(groupable, min(len(groupable), rng.choice([0, 1, 1, 2])))
        if (
            rng.random() < 0.5
            and any(f.name == "k" for f in groupable)
            and not any(f.name == "k" for f in group)
        ):
            group.append(next(f for f in groupable if f.name == "k"))
        local = out.key is not None and set(out.key) <= {f.name for f in group}
        clauses.append(self.window_shape(kind, local, out))
        if group:
            clauses.append("group by " + ", ".join(f.name for f in group))
        fields, items = self.window_aggregates(out)
        clauses.append("aggregate\n    " + ",\n    ".join(items))
        self.window_times(clauses, out, kind)
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
            size = rng.choice(
                ["3s every 1s", "10s every 4s", "10s every 2500ms", "1m every 500ms", "2s every 2s"]
            )
            return f"window hopping {size}{offset}"
        limit = (
            " max 20s"
            if local and not out.windowed and not out.deduped and rng.random() < 0.4
            else ""
        )
        return f"window session gap {rng.choice(['500ms', '2s', '6s'])}{limit}"

    def window_times(self, clauses, out, kind):
        rng = self.rng
        if out.windowed:
            clauses.append(
                "emit on close"
                if kind == "session"
                else rng.choice(["emit on close", "emit on final"])
            )
            return
        emit = rng.choice(["close", "close", "final"] + (["update"] if kind != "session" else []))
        lateness = 0
        if (kind != "session" or emit == "final") and rng.random() < 0.5:
            lateness = rng.choice([1000, 8000])
            clauses.append(f"lateness {lateness}ms")
        if rng.random() < 0.7:
            side = self.name("late")
            clauses.append(f"late to {side}")
            late = out.child(
                side,
                out.fields
                + [
                    Field("late_for", STRING),
                    Field("window_end", out.time),
                    Field("watermark", out.time),
                ],
            )
            names = [f.name for f in late.fields]
            if len(set(names)) < len(names):
                clauses[-1] = "drop late"
            else:
                self.sink(late)
        else:
            clauses.append("drop late")
        out.corrections = emit == "update" or emit == "close" and lateness > 0
        clauses.append(
            "emit on " + emit + (f" every {rng.choice(['1s', '3s'])}" if emit == "update" else "")
        )

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
        choice = rng.choice(
            [
                "count",
                "count_x",
                "count_if",
                "sum",
                "sum",
                "avg",
                "min",
                "max",
                "first",
                "last",
                "min_by",
                "max_by",
                "count_distinct",
                "approx_count_distinct",
                "approx_quantile",
            ]
        )
        if ties and choice in ("first", "last", "min_by", "max_by") or column is None:
            choice = "count"
        if choice in ("sum", "avg", "approx_quantile"):
            found = [
                c
                for base in ("int32", "int64", "float32", "float64", "decimal")
                for c in make.columns(base)
            ]
            column = rng.choice(found) if found else (*make.int64(1), INT64)
            kind = column[2]
            text, nullable = column[0], column[1]
            if choice == "approx_quantile":
                return f"approx_quantile({text}, {rng.choice(['0.5', '0.99', '0.01'])})", Field(
                    name, FLOAT64, nullable, True
                )
            result = (
                FLOAT64
                if choice == "avg" or kind.base.startswith("float")
                else (
                    Kind(f"decimal(38,{kind.scale})", precision=38, scale=kind.scale)
                    if kind.base == "decimal"
                    else INT64
                )
            )
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
        keyable = [
            f.name
            for f in row.fields
            if not f.opaque and f.kind.base not in ("record", "array", "map", "float32", "float64")
        ]
        if row.corrections:
            keyable = [f for f in keyable if f != "revision"]
        kind = rng.choice(["kafka", "kafka", "kafka", "clickhouse", "jsonl", "csv", "avro"])
        if kind == "kafka":
            target = f"to kafka topic 'out.{name}'"
            if not row.kafka or rng.random() < 0.7:
                target += (
                    " key "
                    + ", ".join(rng.sample(keyable, min(len(keyable), rng.choice([1, 1, 2]))))
                    + f" partitions {rng.choice([1, 3])}"
                )
            certain = [f.name for f in row.fields if f.name in keyable and not f.nullable]
            if not row.corrections and certain and rng.random() < 0.1:
                target = (
                    f"to kafka topic 'out.{name}' partitions 3 upsert by {rng.choice(certain)}"
                    + (
                        f" delete when {certain_test(Expressions(rng, row.fields), rng)}"
                        if rng.random() < 0.5
                        else ""
                    )
                )
            target += (
                rng.choice(["", " format json", " format avro"])
                if not any(f.opaque for f in row.fields) and not row.corrections
                else ""
            )
        elif kind == "clickhouse":
            target = f"to clickhouse table 'db.{name}'"
        else:
            nested = any(f.kind.base in ("record", "array", "map") for f in row.fields)
            if any(f.opaque for f in row.fields) or row.corrections or kind == "csv" and nested:
                kind = "jsonl"
            target = f"to file 'out/{name}.{kind}' format {kind}" + (
                " append revisions" if row.corrections else ""
            )
            self.paths[name] = f"out/{name}.{kind}"
        self.sinks.append(f"sink {name} from {row.name} {target} exactly once;")

    # ---- The whole ----

    def generate(self):
        rng = self.rng
        self.like = self.computed = False
        rows = [self.source()]
        if rng.random() < 0.35:
            first = rows[0]
            self.like = (
                rng.random() < 0.6
                and not self.computed
                and any(f.name == "ts" for f in first.fields)
            )
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
            self.statements.append(
                "stream dead_ends from rejected\n"
                "  where reason <> 'undecodable' and (detail is null or "
                "rule <> 't2')\n  select reason || '!' as why, payload, partition, \"offset\";"
            )
            self.sinks.append(
                "sink dead_file from dead_ends to file 'out/dead.jsonl' format jsonl exactly once;"
            )
            self.paths["dead_file"] = "out/dead.jsonl"
        if not any(s.split()[3] in {r.name for r in rows} for s in self.sinks):
            for row in rows:
                self.sink(row)
        self.statements.append(
            "sink dead from rejected to kafka topic 'out.dead' "
            "key reason partitions 2 exactly once;"
        )
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
        self.statements.append(
            f"stream {left.name} from {row.name}\n  divert {text} to {side.name}\n"
            "  rejects to rejected;"
        )
        both = row.child(self.name("t"))
        both.key = None  # keyed state over a union is behind an exchange
        out = self.stream([left.name, side.name], both)
        if out is both:
            self.sink(left)
            self.sink(side)
        else:
            self.sink(out)

    def union_of_sources(self, a, b):
        both = a.child(self.name("t"))
        other = {f.name: f for f in b.fields}
        both.fields = [
            Field(f.name, f.kind, f.nullable or other[f.name].nullable) for f in a.fields
        ]
        both.key, both.kafka, both.no_position = None, a.kafka and b.kafka, True
        out = self.stream([a.name, b.name], both)
        self.sink(a if out is both else out)


def generate(seed, directory):
    Path(directory).mkdir(parents=True, exist_ok=True)
    return Generator(seed, directory).generate()


if __name__ == "__main__":
    print(generate(int(sys.argv[1]), sys.argv[2]))
