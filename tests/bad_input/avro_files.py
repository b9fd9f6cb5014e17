"""Malformed Avro: container files, and single messages in a topic file.

The encoder here is of this test alone, so that it can write what no library would.
"""

import json
import os
import struct
import zlib

from case import DataCase, undecodable

HERE = os.path.dirname(os.path.abspath(__file__))
SYNC = bytes(range(16))
MAGIC = b"Obj\x01"
INT64_MIN = -(1 << 63)
UNKNOWN = ("schema_unknown", None)

with open(os.path.join(HERE, "types.avsc"), encoding="utf-8") as schema_file:
    SCHEMA = json.load(schema_file)

ENVELOPE = {
    "type": "record", "name": "record", "namespace": "pipec", "fields": [
        {"name": "kafka_time", "type": {"type": "long", "logicalType": "timestamp-millis"}},
        {"name": "key", "type": ["null", "bytes"]},
        {"name": "value", "type": ["null", "bytes"]}]}


def varint(raw):
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def long(value):
    return varint(((value << 1) ^ (value >> 63)) & ((1 << 64) - 1))


def blob(data):
    return long(len(data)) + data


def canonical(schema):
    """Avro's Parsing Canonical Form, for schemas without namespaces."""
    if isinstance(schema, str):
        return json.dumps(schema)
    if isinstance(schema, list):
        return "[" + ",".join(canonical(branch) for branch in schema) + "]"
    kind = schema["type"]
    if kind == "record":
        fields = ",".join(f'{{"name":{json.dumps(f["name"])},"type":{canonical(f["type"])}}}'
                          for f in schema["fields"])
        return f'{{"name":{json.dumps(schema["name"])},"type":"record","fields":[{fields}]}}'
    if kind == "enum":
        symbols = ",".join(json.dumps(symbol) for symbol in schema["symbols"])
        return f'{{"name":{json.dumps(schema["name"])},"type":"enum","symbols":[{symbols}]}}'
    if kind == "fixed":
        return f'{{"name":{json.dumps(schema["name"])},"type":"fixed","size":{schema["size"]}}}'
    if kind == "array":
        return f'{{"type":"array","items":{canonical(schema["items"])}}}'
    if kind == "map":
        return f'{{"type":"map","values":{canonical(schema["values"])}}}'
    return canonical(kind)


def fingerprint(schema):
    """CRC-64-AVRO of the canonical form, 8 bytes, little-endian."""
    empty = 0xC15D213AA4D7A795
    value = empty
    for byte in canonical(schema).encode():
        index = (value ^ byte) & 0xFF
        for _ in range(8):
            index = (index >> 1) ^ (empty & -(index & 1))
        value = (value >> 8) ^ index
    return struct.pack("<Q", value)


FRAME = b"\xc3\x01" + fingerprint(SCHEMA)
PARTS = ("id", "name", "kind", "amount", "flag", "ratio", "day", "token", "tags", "attrs", "inner",
         "at")


def encoded(number, **changes):
    """A sound record of types.avsc, its fields replaced by the bytes given."""
    parts = {
        "id": long(number), "name": blob(f"n{number}".encode()), "kind": long(0),
        "amount": blob(b"\x00\x96"), "flag": long(0), "ratio": struct.pack("<d", 0.5),
        "day": long(1) + long(20_000), "token": b"\0\1\2\3",
        "tags": long(1) + blob(b"a") + long(0),
        "attrs": long(1) + blob(b"k") + long(1) + long(0),
        "inner": long(1) + long(1) + long(0), "at": long(1_769_853_600_000)}
    parts.update(changes)
    return b"".join(parts[name] for name in PARTS)


def block(records, sync=SYNC, codec=lambda data: data, count=None, size=None):
    data = codec(b"".join(records))
    return (long(len(records) if count is None else count) +
            long(len(data) if size is None else size) + data + sync)


def header(schema=SCHEMA, codec=b"null", meta=None):
    text = schema if isinstance(schema, bytes) else json.dumps(schema).encode()
    if meta is None:
        meta = (long(2) + blob(b"avro.schema") + blob(text) + blob(b"avro.codec") + blob(codec) +
                long(0))
    return MAGIC + meta + SYNC


def deflate(data, times=1):
    raw = zlib.compressobj(9, zlib.DEFLATED, -15)
    return b"".join([raw.compress(data) for _ in range(times)] + [raw.flush()])


GOOD = block([encoded(0), encoded(1)])


def stops(name, data, accepted=None, says=()):
    """A file that ends the program; blocks before the fault count."""
    return DataCase("avro_" + name, data, accepted, None, exits=(1,), says=says)


def container_header_cases():
    whole = header() + GOOD
    body = GOOD
    negative = long(-2)
    pairs = (blob(b"avro.schema") + blob(json.dumps(SCHEMA).encode()) + blob(b"avro.codec") +
             blob(b"null"))
    other = {"type": "record", "name": "sample", "fields": [{"name": "id", "type": "long"}]}
    cases = [
        DataCase("avro_good", whole, [0, 1], {}),
        DataCase("avro_no_blocks", header(), [], {}),
        DataCase("avro_no_codec", header(meta=long(1) + blob(b"avro.schema") + blob(
            json.dumps(SCHEMA).encode()) + long(0)) + body, [0, 1], {}),
        DataCase("avro_metadata_sized", header(
            meta=negative + long(len(pairs)) + pairs + long(0)) + body, [0, 1], {}),
        DataCase("avro_deflate", header(codec=b"deflate") + block(
            [encoded(0), encoded(1)], codec=deflate), [0, 1], {}),
        DataCase("avro_other_schema", header(schema=other) + block([long(1), long(2)]), [],
                 {0: UNKNOWN, 1: UNKNOWN},
                 warns=(" warning ", "avro_other_schema.data", "writer schema sample, fingerprint",
                        "contract=sample known=")),
        stops("empty", b""),
        stops("bad_magic", b"Obj\x02" + whole[4:]),
        stops("json", b'{"id": 1}\n'),
        stops("bad_codec", header(codec=b"snappy") + body, says=("snappy",)),
        stops("codec_of_bytes", header(codec=b"\xff\0\x1b[31m") + body),
        stops("no_schema", header(meta=long(1) + blob(b"avro.codec") + blob(b"null") + long(0)) +
              body),
        stops("schema_no_json", header(schema=b"{") + body),
        stops("schema_no_utf8", header(schema=b'"\xff"') + body),
        stops("schema_deep", header(schema=b"[" * 100_000) + body),
        stops("metadata_count", header(meta=long(1 << 40) + pairs + long(0)) + body),
        stops("metadata_count_minimum", header(meta=long(INT64_MIN) + long(1) + pairs + long(0))),
        stops("metadata_key_length", header(meta=long(1) + long(1 << 50) + b"x" + long(0))),
        stops("metadata_negative_length", header(meta=long(1) + long(-5) + b"x" + long(0))),
        stops("metadata_endless_varint", MAGIC + b"\xff" * 64),
    ]
    for cut in (3, 4, 5, 20, 200, len(header()) - 1):
        cases.append(stops(f"header_cut_at_{cut}", whole[:cut]))
    return cases


def container_block_cases():
    head = header()
    second = [encoded(2), encoded(3)]
    size = len(b"".join(second))
    bad_sync = b"\xff" * 16
    deflated = header(codec=b"deflate")
    first_deflated = block([encoded(0), encoded(1)], codec=deflate)
    bomb = deflate(b"\0" * (1 << 20), times=512)
    first = [0, 1]
    return [
        stops("bad_sync", head + GOOD + block(second, sync=bad_sync), first),
        stops("bad_sync_then_good", head + GOOD + block(second, sync=bad_sync) + GOOD, first),
        stops("cut_in_block", head + GOOD + block(second)[:-30], first),
        stops("cut_in_sync", head + GOOD + block(second)[:-3], first),
        stops("cut_in_count", head + GOOD + b"\x80", first),
        stops("cut_behind_count", head + GOOD + long(2), first),
        stops("count_negative", head + GOOD + block(second, count=-2), first),
        stops("count_minimum", head + GOOD + block(second, count=INT64_MIN), first),
        stops("size_negative", head + GOOD + block(second, size=-size), first),
        stops("size_beyond_file", head + GOOD + block(second, size=size + 10_000), first),
        stops("size_huge", head + GOOD + block(second, size=1 << 62), first),
        stops("size_short", head + GOOD + block(second, size=size - 5), first),
        stops("endless_varint", head + GOOD + b"\xff" * 64, first),
        stops("garbage", head + GOOD + b"garbage" * 100, first),
        stops("deflate_garbage", deflated + first_deflated + block(second), first),
        stops("deflate_cut", deflated + first_deflated + block(
            second, codec=lambda data: deflate(data)[:-4]), first),
        DataCase("avro_deflate_bomb", deflated + first_deflated + block(
            [], codec=lambda data: bomb, count=1), first, None, exits=(0, 1),
                 accepted_prefix=True),
        DataCase("avro_count_zero", head + GOOD + block([], count=0) + block(second),
                 [0, 1, 2, 3], {}, exits=(0, 1), accepted_prefix=True),
    ]


# What is wrong in one record, by name: (bytes of the record, field that detail names).
BAD_RECORDS = {
    "name_length_negative": (encoded(7, name=long(-1)), "name"),
    "name_length_minimum": (encoded(7, name=long(INT64_MIN)), "name"),
    "name_length_beyond": (encoded(7, name=long(1 << 40) + b"x"), "name"),
    "name_length_2_gib": (encoded(7, name=long((1 << 31) - 1) + b"x"), "name"),
    "name_no_utf8": (encoded(7, name=blob(b"\xff")), "name"),
    "name_overlong_utf8": (encoded(7, name=blob(b"\xc0\xaf")), "name"),
    "name_surrogate_utf8": (encoded(7, name=blob(b"\xed\xa0\x80")), "name"),
    "id_endless_varint": (encoded(7, id=b"\xff" * 11), "id"),
    "id_too_wide": (encoded(7, id=b"\xff" * 9 + b"\x7f"), "id"),
    "kind_out_of_range": (encoded(7, kind=long(2)), "kind"),
    "kind_negative": (encoded(7, kind=long(-1)), "kind"),
    "kind_huge": (encoded(7, kind=long(1 << 62)), "kind"),
    "amount_too_large": (encoded(7, amount=blob(b"\x7f" * 8)), "amount"),
    "amount_of_1000_bytes": (encoded(7, amount=blob(b"\x01" * 1000)), "amount"),
    "flag_branch_2": (encoded(7, flag=long(2)), "flag"),
    "flag_branch_negative": (encoded(7, flag=long(-1)), "flag"),
    "flag_value_2": (encoded(7, flag=long(1) + b"\2"), "flag"),
    "ratio_nan": (encoded(7, ratio=struct.pack("<d", float("nan"))), "ratio"),
    "ratio_infinite": (encoded(7, ratio=struct.pack("<d", float("inf"))), "ratio"),
    "day_out_of_range": (encoded(7, day=long(1) + long(10_000_000)), "day"),
    "day_wider_than_int": (encoded(7, day=long(1) + long(1 << 40)), "day"),
    "tags_count_huge": (encoded(7, tags=long(1 << 40)), "tags"),
    "tags_count_minimum": (encoded(7, tags=long(INT64_MIN) + long(1)), "tags"),
    "tags_size_negative": (encoded(7, tags=long(-1) + long(-1) + blob(b"a") + long(0)), "tags"),
    "attrs_count_huge": (encoded(7, attrs=long(1 << 40)), "attrs"),
    "attrs_key_twice": (encoded(7, attrs=long(2) + (blob(b"k") + long(1)) * 2 + long(0)), "attrs"),
    "attrs_key_no_utf8": (encoded(7, attrs=long(1) + blob(b"\xff") + long(1) + long(0)), "attrs"),
    "inner_x_out_of_range": (encoded(7, inner=long(1) + long(1 << 31) + long(0)), "x"),
    "inner_branch": (encoded(7, inner=long(9)), "inner"),
    "at_out_of_range": (encoded(7, at=long(1 << 60)), "at"),
    "bytes_left_over": (encoded(7) + b"\0", None),
    "cut_by_one": (encoded(7)[:-1], None),
    "empty": (b"", None),
}


# Those whose end is not to be found: in a container what follows is lost with them.
ENDLESS = {name for name in BAD_RECORDS if "length" in name or "count" in name or "branch" in name}
ENDLESS |= {"tags_size_negative", "id_endless_varint", "id_too_wide", "bytes_left_over",
            "cut_by_one", "empty"}


def container_record_cases():
    """A bad record inside a block: it alone is refused if its end can be found."""
    cases = []
    for name, (bad, detail) in BAD_RECORDS.items():
        if name in ENDLESS:
            cases.append(stops("record_" + name, header() + GOOD + block([bad]), [0, 1]))
        else:
            cases.append(DataCase("avro_record_" + name, header() + GOOD +
                                  block([encoded(2), bad, encoded(4)]), [0, 1, 2, 4],
                                  {3: undecodable(detail)}))
    return cases


def topic(values):
    """A topic file: a container of envelopes, one a message; None is a tombstone."""
    rows = [long(1_769_853_600_000) + long(0) +
            (long(0) if value is None else long(1) + blob(value)) for value in values]
    return header(schema=ENVELOPE) + block(rows)


def message_cases():
    sound = FRAME + encoded(0)
    cases = [DataCase("kafka_" + name, topic([sound, FRAME + bad, FRAME + encoded(2)]), [0, 2],
                      {1: undecodable(detail)}) for name, (bad, detail) in BAD_RECORDS.items()]
    frames = {
        "no_value": (None, ("no_value", None)),
        "empty_value": (b"", undecodable()),
        "no_frame": (encoded(1), undecodable()),
        "text": (b'{"id": 1}', undecodable()),
        "frame_cut": (FRAME[:5], undecodable()),
        "frame_only": (FRAME, undecodable()),
        "first_byte_only": (b"\xc3", undecodable()),
        "other_fingerprint": (b"\xc3\x01" + b"\xab" * 8 + encoded(1), UNKNOWN),
        "registry_id_unknown": (b"\0\0\0\0\x63" + encoded(1), UNKNOWN),
        "registry_frame_cut": (b"\0\0\0", undecodable()),
        "over_1_mib": (FRAME + encoded(1, name=blob(b"x" * (2 << 20))), undecodable()),
    }
    for name, (value, expected) in frames.items():
        cases.append(DataCase("kafka_" + name, topic([sound, value, FRAME + encoded(2)]), [0, 2],
                              {1: expected}))
    every_cut = [FRAME + encoded(1)[:n] for n in range(len(encoded(1)))]
    cases.append(DataCase("kafka_every_cut", topic(every_cut), [],
                          {n: undecodable() for n in range(len(every_cut))}))
    return cases


def container_cases():
    return container_header_cases() + container_block_cases() + container_record_cases()
