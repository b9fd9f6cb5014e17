"""Records to rows: Avro by fastavro with schema resolution, JSON, CSV, text (grammar.md, 4)."""

import base64
import binascii
import copy
import io
import json
import math
import re
import struct

import fastavro

import functions as fn
from values import UNITS_US, Failed, float32, symbol


class Refused(Exception):
    def __init__(self, reason, detail=""):
        super().__init__(f"{reason}: {detail}")
        self.reason = reason


# ---- Avro ----


def without_logical_types(schema):
    if isinstance(schema, dict):
        return {
            key: without_logical_types(value) if key != "default" else value
            for key, value in schema.items()
            if key not in ("logicalType", "precision", "scale")
        }
    return [without_logical_types(s) for s in schema] if isinstance(schema, list) else schema


class Walker:
    """Whether bytes are a value of the schema, to the last one: fastavro trusts lengths."""

    def __init__(self, data):
        self.data, self.at, self.names = data, 0, {}

    def take(self, size):
        if size < 0 or self.at + size > len(self.data):
            raise Failed("the bytes end too early")
        self.at += size
        return self.data[self.at - size : self.at]

    def long(self, bits=64):
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
            if shift > 63:
                raise Failed("an integer is too long")
        if value >> 64:
            raise Failed("an integer is too long")
        value = value >> 1 ^ -(value & 1)
        if not -(1 << bits - 1) <= value < 1 << bits - 1:
            raise Failed("an integer is out of range")
        return value

    def blocks(self, item):
        total = 0
        while (count := self.long()) != 0:
            if count < 0:
                count, size = -count, self.long()
                if size < 0:
                    raise Failed("a negative size")
            total += count
            if total > 1 << 20:
                raise Failed("too many items")
            for _ in range(count):
                item()

    def text(self):
        try:
            return self.take(self.long()).decode()
        except UnicodeDecodeError as error:
            raise Failed("no UTF-8") from error

    def map(self, values):
        seen = set()

        def entry():
            name = self.text()
            if name in seen:
                raise Failed("a key is there twice")
            seen.add(name)
            self.value(values)

        self.blocks(entry)

    def value(self, schema):
        if isinstance(schema, list):
            branch = self.long()
            if not 0 <= branch < len(schema):
                raise Failed("no such branch")
            return self.value(schema[branch])
        if isinstance(schema, str):
            schema = self.names.get(schema, {"type": schema})
        base = schema["type"]
        if isinstance(base, (dict, list)):
            return self.value(base)
        if "name" in schema:
            self.names[schema["name"]] = self.names[schema["name"].split(".")[-1]] = schema
        if base == "record":
            for field in schema["fields"]:
                self.value(field["type"])
        elif base == "array":
            self.blocks(lambda: self.value(schema["items"]))
        elif base == "map":
            self.map(schema["values"])
        elif base == "boolean":
            if self.take(1)[0] > 1:
                raise Failed("no boolean")
        elif base in ("int", "long"):
            self.long(32 if base == "int" else 64)
        elif base in ("float", "double"):
            if not math.isfinite(
                struct.unpack(
                    "<f" if base == "float" else "<d", self.take(4 if base == "float" else 8)
                )[0]
            ):
                raise Failed("not finite")
        elif base == "enum":
            if not 0 <= self.long(32) < len(schema["symbols"]):
                raise Failed("no such symbol")
        elif base == "fixed":
            self.take(schema["size"])
        elif base == "string":
            self.text()
        elif base == "bytes":
            self.take(self.long())
        elif base != "null":
            raise ValueError(f"unknown type {base}")
        return None


class Contract:
    """The versions of a contract; each record is read by its writer's,
    and resolved to the newest."""

    def __init__(self, node):
        self.versions = node["versions"]
        self.reader = self.parsed(self.versions[0]["definition"])
        self.writers = [self.parsed(version["definition"]) for version in self.versions]
        self.raw = [without_logical_types(version["definition"]) for version in self.versions]
        self.by_fingerprint = {}
        for i, version in enumerate(self.versions):
            canonical = fastavro.schema.to_parsing_canonical_form(version["definition"])
            fingerprint = fastavro.schema.fingerprint(canonical, "CRC-64-AVRO")
            self.by_fingerprint[bytes.fromhex(fingerprint)] = i

    @staticmethod
    def parsed(definition):
        return fastavro.parse_schema(without_logical_types(copy.deepcopy(definition)))

    def read(self, version, data, columns):
        try:
            walker = Walker(data)
            walker.value(self.raw[version])
            if walker.at != len(data):
                raise Failed("bytes are left over")
            row = fastavro.schemaless_reader(io.BytesIO(data), self.writers[version], self.reader)
            return {c.name: from_avro(row[c.name], c.type, c.nullable) for c in columns}
        except (Failed, fastavro.schema.SchemaParseException, ValueError, OverflowError) as error:
            raise Refused("undecodable", str(error)) from error

    def read_framed(self, data, columns):
        """A value on Kafka: in the single-object frame."""
        if data[:2] == b"\xc3\x01":
            if len(data) < 10:
                raise Refused("undecodable", "the frame is cut off")
            version = self.by_fingerprint.get(data[2:10])
            if version is None:
                raise Refused("schema_unknown")
            return self.read(version, data[10:], columns)
        if data[:1] == b"\0":
            raise Refused("undecodable" if len(data) < 5 else "schema_unknown", "no table of ids")
        raise Refused("undecodable", "no frame")


def from_avro(value, kind, nullable=False):
    name = kind.kind
    if value is None:
        if not nullable:
            raise Failed("null")
        return None
    if name == "record":
        return {c.name: from_avro(value[c.name], c.type, c.nullable) for c in kind.fields}
    if name == "array":
        return [from_avro(item, kind.element.type, kind.element.nullable) for item in value]
    if name == "map":
        return [
            (key, from_avro(item, kind.element.type, kind.element.nullable))
            for key, item in value.items()
        ]
    if name == "decimal":
        data = value if isinstance(value, bytes) else value.encode("latin-1")
        if not data:
            raise Failed("an empty decimal")
        return fn.in_range(int.from_bytes(data, "big", signed=True), kind)
    if name == "enum":
        return symbol(kind.name, value)
    if name == "uuid":
        return fn.from_string(value, kind)
    if name == "bytes":
        return value if isinstance(value, bytes) else value.encode("latin-1")
    if name == "float32":
        return fn.in_range(float32(value), kind)
    return fn.in_range(float(value) if name == "float64" else value, kind)


# ---- JSON and CSV ----


class Number(str):
    pass


def pairs_once(pairs):
    names = [name for name, _ in pairs]
    if len(set(names)) != len(names):
        raise Failed("a name is there twice")
    for name in names:
        check_text(name)
    return dict(pairs)


def check_text(text):
    if any("\ud800" <= c <= "\udfff" for c in text):
        raise Failed("a lone surrogate")
    return text


def base64_bytes(text, kind):
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise Failed(str(error)) from error
    if base64.b64encode(data).decode() != text or kind.fixed and len(data) != kind.fixed:
        raise Failed("no good base64")
    return data


def from_text(text, kind, number=False, plus=False):
    """A scalar from its text. number: it was a JSON number; plus: integers may have one (CSV)."""
    name = kind.kind
    if name in ("int32", "int64", "duration"):
        if not re.fullmatch(r"[+-]?[0-9]+" if plus else "-?[0-9]+", text, re.ASCII):
            raise Failed(f"{text!r} is no integer")
        return fn.in_range(int(text), kind)
    if name in ("float32", "float64"):
        return fn.float_of_text(text, kind) if text[:1] != "+" else fail(text)
    if name == "decimal":
        return fn.decimal_of_text(text, kind)
    if name in UNITS_US or name == "date":
        if number or (plus and re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII)):
            if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
                raise Failed("no integer")
            return fn.in_range(int(text), kind)
        return fn.read_date(text) if name == "date" else fn.read_instant(text, kind)
    if number:
        raise Failed(f"a number is no {name}")
    if name == "bytes":
        return base64_bytes(text, kind)
    return fn.from_string(text, kind)


def fail(text):
    raise Failed(text)


def default_value(column, schema_field):
    if schema_field is not None and "default" in schema_field:
        return from_default(schema_field["default"], column.type, column.nullable)
    if column.nullable:
        return None
    raise Failed(f"{column.name} is missing")


def from_default(value, kind, nullable):
    if value is None:
        return from_avro(None, kind, nullable)
    if kind.kind == "record":
        return {c.name: from_default(value[c.name], c.type, c.nullable) for c in kind.fields}
    if kind.kind == "array":
        return [from_default(item, kind.element.type, kind.element.nullable) for item in value]
    if kind.kind == "map":
        return [
            (key, from_default(item, kind.element.type, kind.element.nullable))
            for key, item in value.items()
        ]
    return from_avro(value, kind, nullable)


def record_schema(schema):
    """The record in a field's schema, or None."""
    for branch in schema if isinstance(schema, list) else [schema]:
        if isinstance(branch, dict):
            return (
                branch
                if branch.get("type") == "record"
                else (
                    record_schema(branch["type"])
                    if isinstance(branch.get("type"), (dict, list))
                    else None
                )
            )
    return None


def fields_by_name(schema):
    return {field["name"]: field for field in (schema or {}).get("fields", [])}


def from_json(value, kind, nullable, schema=None):
    if value is None:
        return from_avro(None, kind, nullable)
    if kind.kind == "record":
        return row_from_json(value, kind.fields, record_schema(schema))
    if kind.kind == "array":
        if not isinstance(value, list):
            raise Failed("no array")
        return [from_json(item, kind.element.type, kind.element.nullable) for item in value]
    if kind.kind == "map":
        if not isinstance(value, dict):
            raise Failed("no object")
        return [
            (key, from_json(item, kind.element.type, kind.element.nullable))
            for key, item in value.items()
        ]
    if isinstance(value, bool):
        return value if kind.kind == "bool" else fail("a bool")
    if not isinstance(value, str) or kind.kind == "bool":
        raise Failed(f"no {kind.name}")
    if isinstance(value, Number):
        return from_text(value, kind, number=True)
    if kind.kind in ("int32", "int64", "duration", "float32", "float64"):
        raise Failed(f"a string is no {kind.name}")
    return from_text(check_text(value), kind)


def row_from_json(value, columns, schema):
    if not isinstance(value, dict):
        raise Failed("no object")
    fields = fields_by_name(schema)
    return {
        c.name: (
            from_json(value[c.name], c.type, c.nullable, fields.get(c.name, {}).get("type"))
            if c.name in value
            else default_value(c, fields.get(c.name))
        )
        for c in columns
    }


def read_json(data, columns, schema):
    try:
        text = data.decode()
        value = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=fail,
            object_pairs_hook=pairs_once,
        )
        if text.strip(" \t\r\n")[:1] != "{":
            raise Failed("no object")
        return row_from_json(value, columns, schema)
    except (Failed, ValueError, RecursionError) as error:
        raise Refused("undecodable", str(error)) from error


def read_csv(fields, columns, expected, positions, schema):
    """fields: (text, quoted) each, or the cause why the record is none."""
    try:
        if isinstance(fields, str):
            raise Failed(fields)
        if len(fields) != expected:
            raise Failed("ragged")
        row, of_contract = {}, fields_by_name(schema)
        for i, column in enumerate(columns):
            if positions[i] is None:
                row[column.name] = default_value(column, of_contract[column.name])
                continue
            text, quoted = fields[positions[i]]
            if text == "" and not quoted and column.nullable:
                row[column.name] = None
            elif text == "" and not quoted and column.type.kind != "string":
                raise Failed("empty")
            else:
                row[column.name] = from_text(text, column.type, plus=True)
        return row
    except Failed as error:
        raise Refused("undecodable", str(error)) from error


def split_csv(data):
    """[(text of the record, fields or a cause)]: RFC 4180."""
    records, at = [], 0
    while at < len(data):
        begin, fields, cause = at, [], None
        while True:
            if data[at : at + 1] == b'"':
                at, field, bad = quoted_field(data, at)
                cause = cause or bad
                fields.append((field, True))
            else:
                match = re.compile(rb"(?:[^,\r\n]|\r(?!\n))*").match(data, at)
                if b'"' in match[0]:
                    cause = cause or "a quote inside a field"
                fields.append((match[0], False))
                at = match.end()
            if data[at : at + 1] == b",":
                at += 1
                continue
            break
        end = at
        at += 2 if data[at : at + 2] == b"\r\n" else 1
        text = data[begin:end]
        try:
            fields = [(field.decode(), quoted) for field, quoted in fields]
        except UnicodeDecodeError:
            cause = cause or "no UTF-8"
        if b"\0" in text:
            cause = cause or "NUL"
        records.append((text, cause or fields))
    return records


def quoted_field(data, at):
    match = re.compile(rb'"((?:[^"]|"")*)("?)').match(data, at)
    field, at = match[1].replace(b'""', b'"'), match.end()
    if not match[2]:
        return at, field, "an open quote"
    rest = re.compile(rb"(?:[^,\r\n]|\r(?!\n))*").match(data, at)
    return rest.end(), field, "text behind a quote" if rest[0] else None
