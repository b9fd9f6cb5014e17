"""Clicks of the clickstream pipeline as producers write them, in Confluent's frame."""

import json
import struct
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CONTRACTS = ROOT / "contracts/clickstream"
LONG_AGO = 1767225600000


def schema(version):
    return json.loads((CONTRACTS / f"v{version}.avsc").read_text())


def long(number):
    raw = (number << 1) ^ (number >> 63)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    return bytes(out) + bytes([raw])


def value(kind, given):
    if isinstance(kind, list):
        branch = kind.index("null") if given is None else 1 - kind.index("null")
        return long(branch) + (b"" if given is None else value(kind[branch], given))
    if isinstance(kind, dict):
        kind = kind["type"]
    if kind == "string":
        return long(len(given.encode())) + given.encode()
    if kind in ("int", "long"):
        return long(given)
    raise NotImplementedError(kind)


def click(written, number, **values):
    """A click by the schema, as it travels."""
    body = b"\0" + struct.pack(">I", number)
    for field in written["fields"]:
        default = LONG_AGO if field["name"] == "occurred_at" else field.get("default", "x")
        given = {"session_id": "s", "event_type": "page_view", "country": "DE"} | values
        body += value(field["type"], given.get(field["name"], default))
    return body


def widened():
    """Not compiled in: another order, a new field of a nested type, a union, a narrower type."""
    written = schema(2)
    fields = [dict(field) for field in reversed(written["fields"])]
    for field in fields:
        if field["name"] == "price_cents":
            field["type"] = ["null", "int"]
        if field["name"] == "referrer":
            field |= {"type": "string", "default": ""}
    inner = {"type": "record", "name": "device", "fields": [{"name": "os", "type": "string"}]}
    fields.insert(0, {"name": "devices", "type": {"type": "array", "items": inner}})
    return written | {"fields": fields}


def click_widened(number, **values):
    written = widened()
    rest = click(written | {"fields": written["fields"][1:]}, number, referrer="r", **values)
    devices = long(1) + value("string", "linux") + long(0)
    return rest[:5] + devices + rest[5:]
