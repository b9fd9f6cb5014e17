"""Types and values of the language, and their text: JSON, CSV, keys, Avro binary.

A value is None (null), bool, int (integers, instants, dates, durations, and decimals unscaled),
float, str (strings, uuids), Symbol (enums), bytes, dict (records), list (arrays) or a list of pairs
(maps, in the order of the input).
"""

import base64
import datetime
import re
import struct

EPOCH = datetime.datetime(1970, 1, 1)
EPOCH_DAY = datetime.date(1970, 1, 1)
MS_MIN, MS_MAX = -62135596800000, 253402300799999
INFINITY = float("inf")
UNITS_US = {"timestamp_ms": 1000, "timestamp_us": 1}


class Failed(Exception):
    """A fallible expression failed, or a value cannot be read."""


class Symbol(str):
    """A symbol of an enum; symbols are ordered by their place in the schema."""

    index = 0


class Approx:
    """A result that is only known to lie within bounds."""

    def __init__(self, low, high):
        self.low, self.high = low, high

    def holds(self, value):
        return self.low <= value <= self.high

    def __repr__(self):
        return f"[{self.low}..{self.high}]"


class Type:
    def __init__(self, name, column=None):
        column = column or {}
        self.name = name
        self.kind = re.match(r"[a-z0-9_]+", name).group()
        self.precision = self.scale = self.fixed = 0
        self.is_json = name == "string (json)"
        self.symbols = column.get("symbols")
        self.fields = [Column(field) for field in column.get("fields", [])]
        self.element = Column({**column["element"], "name": ""}) if "element" in column else None
        numbers = re.fullmatch(r"(decimal|bytes)\((\d+)(?:,(\d+))?\)", name)
        if numbers and self.kind == "decimal":
            self.precision, self.scale = int(numbers[2]), int(numbers[3])
        elif numbers:
            self.fixed = int(numbers[2])
        if self.symbols:
            remember_enum(self)


class Column:
    def __init__(self, column):
        self.name = column["name"]
        self.type = Type(column["type"], column)
        self.nullable = column.get("nullable", False)


ENUMS = {}


def remember_enum(enum):
    ENUMS[enum.name] = enum.symbols


def symbol(type_name, text):
    value = Symbol(text)
    symbols = ENUMS.get(type_name, [])
    if symbols and text not in symbols:
        raise Failed(f"{text} is no symbol of {type_name}")
    value.index = symbols.index(text) if symbols else 0
    return value


def columns_of(node, field="columns"):
    return [Column(column) for column in node.get(field) or []]


def float32(value):
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return INFINITY if value > 0 else -INFINITY


# ---- Text ----


def float_text(value, single):
    """The shortest digits that read back, plain while the point is within 21 digits."""
    if value == 0:
        return "-0" if str(value)[0] == "-" else "0"
    digits = range(1, 10) if single else range(1, 18)
    for count in digits:
        text = f"{value:.{count - 1}e}"
        if (float32(float(text)) if single else float(text)) == value:
            break
    sign = "-" if text[0] == "-" else ""
    mantissa, exponent = text.lstrip("-").split("e")
    mantissa, point = mantissa.replace(".", "").rstrip("0") or "0", int(exponent) + 1
    if 0 < point <= 21:
        if len(mantissa) <= point:
            return sign + mantissa + "0" * (point - len(mantissa))
        return sign + mantissa[:point] + "." + mantissa[point:]
    if -6 < point <= 0:
        return sign + "0." + "0" * -point + mantissa
    return f"{sign}{mantissa[0]}{'.' if len(mantissa) > 1 else ''}{mantissa[1:]}e{point - 1}"


def decimal_text(value, scale):
    if scale == 0:
        return str(value)
    digits = str(abs(value)).rjust(scale + 1, "0")
    return ("-" if value < 0 else "") + digits[:-scale] + "." + digits[-scale:]


def date_text(days):
    return (EPOCH_DAY + datetime.timedelta(days=days)).isoformat()


def instant_text(value, kind):
    digits, unit = (3, 1000) if kind == "timestamp_ms" else (6, 1)
    moment = EPOCH + datetime.timedelta(microseconds=value * unit)
    return f"{moment.year:04}-{moment:%m-%dT%H:%M:%S}.{moment.microsecond // unit:0{digits}}Z"


ESCAPES = {
    '"': '\\"',
    "\\": "\\\\",
    "\n": "\\n",
    "\t": "\\t",
    "\r": "\\r",
    "\b": "\\b",
    "\f": "\\f",
}


def json_string(text):
    escaped = re.sub(r'["\\\x00-\x1f]', lambda m: ESCAPES.get(m[0]) or f"\\u{ord(m[0]):04x}", text)
    return f'"{escaped}"'


def plain_text(value, kind):
    """As a cast to string gives it, and JSON output without quotes."""
    if kind.kind == "bool":
        return "true" if value else "false"
    if kind.kind in ("int32", "int64", "duration"):
        return str(value)
    if kind.kind in ("float32", "float64"):
        return float_text(value, kind.kind == "float32")
    if kind.kind == "decimal":
        return decimal_text(value, kind.scale)
    if kind.kind == "date":
        return date_text(value)
    if kind.kind in UNITS_US:
        return instant_text(value, kind.kind)
    if kind.kind == "bytes":
        return base64.b64encode(value).decode()
    return value


def json_text(value, kind):
    if value is None:
        return "null"
    if isinstance(value, Approx):
        return repr(value)
    if kind.kind == "record":
        return json_row(kind.fields, value)
    if kind.kind == "array":
        return "[" + ",".join(json_text(item, kind.element.type) for item in value) + "]"
    if kind.kind == "map":
        return (
            "{"
            + ",".join(
                json_string(key) + ":" + json_text(item, kind.element.type) for key, item in value
            )
            + "}"
        )
    text = plain_text(value, kind)
    if kind.is_json or kind.kind in ("bool", "int32", "int64", "duration", "float32", "float64"):
        return text
    return json_string(text)


def json_row(columns, row):
    return (
        "{"
        + ",".join(json_string(c.name) + ":" + json_text(row[c.name], c.type) for c in columns)
        + "}"
    )


def csv_row(columns, row):
    fields = []
    for column in columns:
        value, kind = row[column.name], column.type
        if value is None:
            fields.append("")
            continue
        text = (
            json_text(value, kind)
            if kind.kind in ("record", "array", "map")
            else plain_text(value, kind)
        )
        quoted = text == "" or any(c in text for c in ',"\r\n')
        fields.append('"' + text.replace('"', '""') + '"' if quoted else text)
    return ",".join(fields)


def key_text(columns, row):
    """Of one not nullable string, uuid, enum or integer column its text, else a JSON array."""
    if (
        len(columns) == 1
        and not columns[0].nullable
        and columns[0].type.kind in ("string", "uuid", "enum", "int32", "int64")
        and not columns[0].type.is_json
    ):
        return plain_text(row[columns[0].name], columns[0].type)
    return "[" + ",".join(json_text(row[c.name], c.type) for c in columns) + "]"


def murmur2(data):
    """As Kafka's Java client hashes keys."""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    value = 0x9747B28C ^ len(data)
    end = len(data) // 4 * 4
    for (word,) in struct.iter_unpack("<I", data[:end]):
        word = word * m & mask
        word = (word ^ word >> 24) * m & mask
        value = value * m & mask ^ word
    rest = data[end:]
    if rest:
        value = (value ^ int.from_bytes(rest, "little")) * m & mask
    value = (value ^ value >> 13) * m & mask
    return value ^ value >> 15


def partition_of(key, partitions):
    return (murmur2(key) & 0x7FFFFFFF) % partitions


# ---- Avro binary, by the schema of the sink ----


def avro_long(value):
    value = value << 1 if value >= 0 else (-value << 1) - 1
    out = bytearray()
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def avro_bytes(data):
    return avro_long(len(data)) + data


def avro_decimal(schema, value):
    if schema["type"] == "fixed":
        return value.to_bytes(schema["size"], "big", signed=True)
    size = 1
    while not -(1 << 8 * size - 1) <= value < 1 << 8 * size - 1:
        size += 1
    return avro_bytes(value.to_bytes(size, "big", signed=True))


def avro_value(schema, kind, value, names):
    if isinstance(schema, list):
        branch = [i for i, s in enumerate(schema) if (s == "null") == (value is None)][0]
        return avro_long(branch) + (
            b"" if value is None else avro_value(schema[branch], kind, value, names)
        )
    if isinstance(schema, str):
        schema = names.get(schema) or {"type": schema}
    if isinstance(schema["type"], dict):
        return avro_value(schema["type"], kind, value, names)
    if "name" in schema:
        names[schema["name"]] = schema
        names[schema["name"].split(".")[-1]] = schema
    base = schema["type"]
    if kind.kind == "decimal":
        return avro_decimal(schema, value)
    if base == "record":
        by_name = {c.name: c for c in kind.fields}
        return b"".join(
            avro_value(f["type"], by_name[f["name"]].type, value[f["name"]], names)
            for f in schema["fields"]
        )
    if base == "array":
        items = b"".join(
            avro_value(schema["items"], kind.element.type, item, names) for item in value
        )
        return (avro_long(len(value)) + items if value else b"") + b"\0"
    if base == "map":
        items = b"".join(
            avro_bytes(key.encode()) + avro_value(schema["values"], kind.element.type, item, names)
            for key, item in value
        )
        return (avro_long(len(value)) + items if value else b"") + b"\0"
    if base == "boolean":
        return b"\1" if value else b"\0"
    if base in ("int", "long"):
        return avro_long(value)
    if base in ("float", "double"):
        return struct.pack("<f" if base == "float" else "<d", value)
    if base == "enum":
        return avro_long(schema["symbols"].index(value))
    if base == "fixed":
        return value
    return avro_bytes(value.encode() if isinstance(value, str) else value)
