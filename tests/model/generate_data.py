"""Random records for a schema, null-rich, to the edges, malformed; and how they are written."""

import base64
import io
import json

import fastavro

import values
from decode import without_logical_types

START_MS = 1767225600000  # 2026-01-01
STRINGS = [
    "",
    "a",
    "b",
    "x.y.z",
    "12",
    "-7",
    "1e3",
    "äöüß",
    "日本語",
    " a ",
    "it's",
    'say "hi"',
    "a,b",
    "line\nbreak",
    "tab\t",
    "\u0001",
    "😀 x",
    "DE",
    "true",
    '{"a": 1, "b": 2}',
    '{"a":{"b":"c"},"x":[1,{"y":2.50}]}',
    "[1,2]",
    "%_%",
    "2026-01-01T00:00:00Z",
    "null",
    "\\",
    "aaa",
    "x.y",
]
UUIDS = [f"6f1ad1e8-7a6f-4c4f-9f0b-{n:012x}" for n in (0x123456789AB, 1, 2, 3)]


def draw(rng, kind, wild):
    """A value of the type, as in the model; wild: to the edges of its range."""
    base = kind.base
    if base in ("int32", "int64"):
        edge = 1 << (31 if base == "int32" else 63)
        return (
            rng.choice([-edge, edge - 1, edge // 2, -1])
            if wild and rng.random() < 0.2
            else rng.randrange(-20, 100)
        )
    if base in ("float32", "float64"):
        value = rng.choice([0.0, -0.0, 0.1, -2.5, 1 / 3, 1e-7, 123456.789, 3.0])
        if wild and rng.random() < 0.3:
            value = rng.choice(
                [1e30, -1e30, 1e-30, 1e300, 5e-324] if base == "float64" else [1e30, -1e30, 1e-30]
            )
        return values.float32(value) if base == "float32" else value
    if base == "decimal":
        digits = kind.precision if wild and rng.random() < 0.3 else min(kind.precision, 4)
        return rng.randrange(-(10**digits) + 1, 10**digits)
    if base == "string":
        return rng.choice(STRINGS)
    if base == "bool":
        return rng.random() < 0.5
    if base == "uuid":
        return rng.choice(UUIDS)
    if base == "enum":
        return rng.choice(kind.symbols)
    if base == "bytes":
        return bytes(rng.randrange(256) for _ in range(rng.randrange(5)))
    if base == "date":
        return (
            rng.choice([0, 20454, -1, 20455]) if not wild else rng.choice([-719162, 2932896, 11016])
        )
    if base in ("timestamp_ms", "timestamp_us"):
        unit = 1 if base == "timestamp_ms" else 1000
        return rng.choice([START_MS * unit + rng.randrange(100000 * unit), -1, 0])
    if base == "array":
        return [
            draw_nullable(rng, kind.element, kind.element_nullable, wild)
            for _ in range(rng.choice([0, 1, 1, 2, 3]))
        ]
    if base == "map":
        return {
            key: draw(rng, kind.element, wild)
            for key in rng.sample(["a", "b", "", "ä"], rng.randrange(3))
        }
    return {f.name: draw_nullable(rng, f.kind, f.nullable, wild) for f in kind.fields}


def draw_nullable(rng, kind, nullable, wild):
    return None if nullable and rng.random() < 0.3 else draw(rng, kind, wild)


# ---- Schemas ----


def avro_type(kind, names):
    """names: what the names of inner types begin with, and those that are taken."""
    base = kind.base
    simple = {
        "bool": "boolean",
        "int32": "int",
        "int64": "long",
        "float32": "float",
        "float64": "double",
        "string": "string",
        "bytes": "bytes",
    }
    if base in simple:
        return simple[base]
    if base == "enum":
        names.append(base)
        return {"type": "enum", "name": f"E{names[0]}{len(names)}", "symbols": kind.symbols}
    if base == "record":
        names.append(base)
        return {
            "type": "record",
            "name": f"R{names[0]}{len(names)}",
            "fields": [
                {"name": f.name, "type": nullable_type(avro_type(f.kind, names), f.nullable)}
                for f in kind.fields
            ],
        }
    if base == "array":
        return {
            "type": "array",
            "items": nullable_type(avro_type(kind.element, names), kind.element_nullable),
        }
    if base == "map":
        return {"type": "map", "values": avro_type(kind.element, names)}
    logical = {
        "uuid": ("string", "uuid"),
        "date": ("int", "date"),
        "timestamp_ms": ("long", "timestamp-millis"),
        "timestamp_us": ("long", "timestamp-micros"),
        "decimal": ("bytes", "decimal"),
    }[base]
    schema = {"type": logical[0], "logicalType": logical[1]}
    if base == "decimal":
        schema.update(precision=kind.precision, scale=kind.scale)
    return schema


def nullable_type(schema, nullable):
    return ["null", schema] if nullable else schema


def schema_of(name, fields):
    out = []
    for field in fields:
        entry = {
            "name": field.name,
            "type": nullable_type(avro_type(field.kind, [field.name]), field.nullable),
        }
        if field.default is not None:
            entry["default"] = None if field.nullable else field.default
        out.append(entry)
    return {"type": "record", "name": name, "namespace": "model", "fields": out}


# ---- Writing ----


def for_avro(value, kind):
    if value is None:
        return None
    if kind.base == "decimal":
        size = 1
        while not -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1:
            size += 1
        return value.to_bytes(size, "big", signed=True)
    if kind.base == "array":
        return [for_avro(item, kind.element) for item in value]
    if kind.base == "map":
        return {key: for_avro(item, kind.element) for key, item in value.items()}
    if kind.base == "record":
        return {f.name: for_avro(value[f.name], f.kind) for f in kind.fields}
    return value


class AvroWriter:
    def __init__(self, schema):
        self.schema = fastavro.parse_schema(without_logical_types(json.loads(json.dumps(schema))))
        canonical = fastavro.schema.to_parsing_canonical_form(schema)
        self.fingerprint = bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))

    def body(self, row, fields):
        out = io.BytesIO()
        fastavro.schemaless_writer(
            out, self.schema, {f.name: for_avro(row[f.name], f.kind) for f in fields}
        )
        return out.getvalue()

    def framed(self, row, fields):
        return b"\xc3\x01" + self.fingerprint + self.body(row, fields)


def for_json(rng, value, kind):
    if value is None:
        return "null"
    base = kind.base
    if base == "array":
        return "[" + ", ".join(for_json(rng, item, kind.element) for item in value) + "]"
    if base == "map":
        return (
            "{"
            + ",".join(
                json.dumps(key, ensure_ascii=rng.random() < 0.5)
                + ":"
                + for_json(rng, item, kind.element)
                for key, item in value.items()
            )
            + "}"
        )
    if base == "record":
        return json_object(rng, value, kind.fields)
    text = scalar_text(rng, value, kind)
    bare = (
        base in ("bool", "int32", "int64", "float32", "float64")
        or base == "decimal"
        and rng.random() < 0.5
        or base in ("timestamp_ms", "timestamp_us", "date")
        and text.lstrip("-").isdigit()
    )
    return text if bare else json.dumps(text, ensure_ascii=rng.random() < 0.5)


def json_object(rng, row, fields):
    members = []
    for field in fields:
        if row[field.name] is None and rng.random() < 0.3 and field.default is None:
            continue  # missing is null
        members.append(
            json.dumps(field.name)
            + rng.choice([":", ": "])
            + for_json(rng, row[field.name], field.kind)
        )
    if rng.random() < 0.1:
        members.append('"unknown":[1,{"x":null}]')
    rng.shuffle(members)
    return "{" + ",".join(members) + "}"


def scalar_text(rng, value, kind):
    base = kind.base
    if base == "bool":
        return "true" if value else "false"
    if base in ("timestamp_ms", "timestamp_us", "date") and rng.random() < 0.3:
        return str(value)
    if base == "date":
        return values.date_text(value)
    if base in ("timestamp_ms", "timestamp_us"):
        return values.instant_text(value, base)
    if base == "decimal":
        return values.decimal_text(value, kind.scale)
    if base in ("float32", "float64"):
        return repr(value)
    if base == "bytes":
        return base64.b64encode(value).decode()
    return str(value)


def csv_line(rng, row, fields):
    out = []
    for field in fields:
        value = row[field.name]
        text = "" if value is None else scalar_text(rng, value, field.kind)
        if value is not None and (
            text == "" or any(c in text for c in ',"\r\n') or rng.random() < 0.1
        ):
            text = '"' + text.replace('"', '""') + '"'
        out.append(text)
    return ",".join(out).encode()


# ---- Malformed ----


def damage(rng, data):
    """Bytes that are probably no record any more; without line ends, which would make it two."""
    kind = rng.randrange(5)
    if kind == 0:
        data = data[: rng.randrange(len(data) + 1)]
    elif kind == 1:
        data = bytes(rng.randrange(256) for _ in range(rng.randrange(1, 30)))
    elif kind == 2 and data:
        at = rng.randrange(len(data))
        data = data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]
    elif kind == 3:
        data = data + bytes([rng.randrange(256)])
    elif data:
        at = rng.randrange(len(data))
        data = data[:at] + data[at + 1 :]
    return data.replace(b"\n", b" ").replace(b"\r", b" ")


# ---- Files ----

ENVELOPE = {
    "type": "record",
    "name": "record",
    "namespace": "pipec",
    "fields": [
        {"name": "kafka_time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]},
    ],
}


def write_topic_file(path, records, rng):
    """records: (kafka_time ms, key, value)."""
    with open(path, "wb") as file:
        fastavro.writer(
            file,
            fastavro.parse_schema(ENVELOPE),
            [{"kafka_time": time, "key": key, "value": value} for time, key, value in records],
            codec=rng.choice(["null", "deflate"]),
            sync_interval=rng.choice([200, 16000]),
        )


def write_lines(path, lines, rng, header=None):
    end = rng.choice([b"\n", b"\r\n"])
    lines = ([header] if header is not None else []) + lines
    data = b"".join(line + end for line in lines)
    if lines and rng.random() < 0.2 and lines[-1] != b"":
        data = data[: -len(end)]
    if rng.random() < 0.1:
        data = b"\xef\xbb\xbf" + data
    with open(path, "wb") as file:
        file.write(data)


def write_container(path, schema, bodies_rows, fields, rng):
    parsed = fastavro.parse_schema(without_logical_types(json.loads(json.dumps(schema))))
    with open(path, "wb") as file:
        fastavro.writer(
            file,
            parsed,
            [{f.name: for_avro(row[f.name], f.kind) for f in fields} for row in bodies_rows],
            codec=rng.choice(["null", "deflate"]),
            sync_interval=rng.choice([200, 16000]),
        )
