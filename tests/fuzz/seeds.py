#!/usr/bin/env python3
"""Makes the first inputs of the fuzz targets from the tests of the tree:
seeds.py DIRECTORY writes DIRECTORY/TARGET/….
The corpus that is kept was grown and minimised from these: tests/fuzz/run.sh --grow does all of it.
"""

import io
import json
import re
import struct
import sys
import zlib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    out.append(number)
    return bytes(out)


def long(number):
    return varint((number << 1) ^ (number >> 63))


def text(value):
    value = value if isinstance(value, bytes) else value.encode()
    return long(len(value)) + value


def read(path):
    return (ROOT / path).read_bytes()


def programs():
    for pattern in (
        "tests/golden/plan/*.pipe",
        "tests/golden/c/*.pipe",
        "tests/golden/fmt/*.pipe",
        "tests/errors/*.pipe",
        "pipelines/*.pipe",
        "tests/fuzz/sample.pipe",
    ):
        for path in sorted(ROOT.glob(pattern)):
            yield path.read_bytes()


def schemas():
    files = [
        path.read_bytes()
        for pattern in (
            "tests/contracts/*.avsc",
            "tests/contracts/*/*.avsc",
            "tests/golden/contracts/*.avsc",
            "contracts/*/*.avsc",
            "tests/fuzz/contracts/*.avsc",
        )
        for path in sorted(ROOT.glob(pattern))
    ]
    yield from files
    for folder in sorted(ROOT.glob("tests/contracts/PC502*")):
        versions = sorted(folder.glob("*.avsc"))
        if len(versions) == 2:
            yield versions[1].read_bytes() + b"\n---\n" + versions[0].read_bytes()
    yield read("tests/fuzz/contracts/v2.avsc") + b"\n---\n" + read("tests/fuzz/contracts/v1.avsc")


UUID = "0123abcd-0000-4000-8000-00123456789a"


def longs(*numbers):
    return b"".join(map(long, numbers))


def event_common(version):
    """What both versions share, from the uuid to the map."""
    if version == 2:
        strings = long(2) + b"\0" + text("a") + b"\2" + long(0)
    else:
        strings = long(2) + text("a") + text("b") + long(0)
    moments = longs(20000, 1700000000000000, 1700000000000)
    start = text(UUID) + long(1) + text(b"\xff\0") + b"abcd" + moments
    return start + text('{"a":[1]}') + strings + long(1) + text("k") + longs(5, 0)


def event(version):
    """One value of tests/fuzz/contracts/vN.avsc."""
    money = text(b"\x01\x00")
    total = bytes(15) + b"\7"
    common = event_common(version)
    single = struct.pack("<f", 1.5)
    if version == 1:
        gone = long(1) + text("x") + longs(2, 0, 1) + text("s") + longs(0, 0)
        numbers = b"\1" + longs(-3, 4, 5) + single
        return gone + text("t") + numbers + money + total + common + b"xyz" + text("Oslo")
    place = long(1) + text("Oslo") + long(1) + text("0150")
    place += longs(-2, 8, 1, 1, 2, 0) + text("n") + long(0)
    tail = long(1) + text("p") + long(1) + money + longs(0, 1, 7, 1, 2, 0, 2, 0, 0) + text("here")
    numbers = b"\1" + longs(-3, 1 << 40) + single + struct.pack("<d", -2.25)
    return numbers + money + total + text("t") + common + place + tail


def writers():
    """Values of both versions by number, and of schemas that are like them."""
    yield b"\0" + event(2)
    yield b"\1" + event(1)
    for version in (1, 2):
        schema = read(f"tests/fuzz/contracts/v{version}.avsc")
        yield b"\2" + schema + b"\0" + event(version)
        optional = schema.replace(b'"boolean"', b'["null", "boolean"]')
        yield b"\2" + optional + b"\0" + event(version)
        wider = schema.replace(b'"name": "flag", "type": "boolean"', b'"name": "f", "type": "long"')
        yield b"\2" + wider + b"\0" + event(version)


EVENT_JSON = {
    "flag": True,
    "small": 1,
    "big": 2,
    "ratio": 1.5,
    "weight": 1e300,
    "price": "12.50",
    "total": "-0.000000001",
    "text": "é\n\u0001",
    "uid": UUID,
    "size": "M",
    "raw": "/wA=",
    "digest": "YWJjZA==",
    "day": "2026-01-31",
    "at": "2026-01-31T10:00:00.123456Z",
    "sent": 1700000000000,
    "data": '{"a":[1,{}]}',
    "labels": ["a", None],
    "counts": {"k": 5},
    "prices": {"p": None, "q": "1.125"},
    "place": {"city": "Oslo", "zip": None, "spots": [{"x": 1, "note": "n"}]},
    "maybe": None,
    "nested": [["S", "L"], []],
    "origin": "x",
}
ROWS = [
    "true,1,2,1.5,-2.25,12.50,0.1,t,n,%s,2026-01-31,2026-01-31T10:00:00Z,1700000000000" % UUID,
    'false,,-9223372036854775808,,0,,1e5,"a ""b"",\n",,,1970-01-01,0,',
    "true,1,2",
]


def container(schema, codec, blocks, sync=b"0123456789abcdef"):
    out = (
        b"Obj\1"
        + long(2)
        + text("avro.schema")
        + text(schema)
        + text("avro.codec")
        + text(codec)
        + long(0)
        + sync
    )
    for count, rows in blocks:
        if codec == "deflate":
            packer = zlib.compressobj(wbits=-15)
            rows = packer.compress(rows) + packer.flush()
        out += long(count) + text(rows) + sync
    return out


TOPIC = (
    '{"type":"record","name":"record","namespace":"pipec","fields":['
    '{"name":"kafka_time","type":{"type":"long",'
    '"logicalType":"timestamp-millis"}},{"name":"key","type":["null","bytes"]},'
    '{"name":"value","type":["null","bytes"]}]}'
)
CLICK = (
    '{"type":"record","name":"C","fields":[{"name":"i","type":"long"},'
    '{"name":"p","type":["null","string"]}]}'
)


def containers():
    rows = (
        long(1)
        + long(1)
        + text("abc")
        + long(-7)
        + long(0)
        + long(1 << 60)
        + long(1)
        + text("x" * 30)
    )
    envelopes = (
        long(5) + long(1) + text("k") + long(1) + text("value") + long(6) + long(0) + long(0)
    )
    for codec in ("null", "deflate"):
        for choice in (0, 2, 0x80, 0xFA):
            yield bytes([choice]) + container(CLICK, codec, [(3, rows), (0, b""), (3, rows)])
            yield bytes([choice | 1]) + container(TOPIC, codec, [(2, envelopes), (2, envelopes)])
    yield b"\0" + container(read("tests/fuzz/contracts/v2.avsc"), "null", [(2, event(2) * 2)])


def state_entries(*entries):
    return b"".join(
        bytes([len(key)]) + struct.pack("<H", len(value)) + key + value for key, value in entries
    )


def time_key(time):
    return struct.pack(">Q", (time + (1 << 63)) & (1 << 64) - 1)


def states():
    identity = struct.pack("<QQq", 1, 0, (625000 * 8) << 5 | 3)
    yield b"\0\1" + state_entries((time_key(8) + struct.pack(">Q", 0), identity))
    yield b"\1\1" + state_entries(
        (b"m", varint(200)), (b"s" + time_key(3600000000) + b"k", b"\0\1\1\0")
    )
    yield b"\2\1" + state_entries((b"m", varint(200)))
    yield b"\3\1\5" + text("k")[1:] + b"\0\0\1"
    yield b"\7" + b"\0" * 60
    yield b"\x08" + b"\0" * 20
    yield b"\6" + b"\1\0\2\4" + b"\0" * 40


def chunk(count, records, time=1000):
    return b"\1\0\0\0" + struct.pack("<Iq", count, time) + records


def logs():
    records = b"\2\2\3kvv" + b"\0\0\4abc" + b"\1\1\0"
    good = chunk(3, records)
    yield bytes([2, 0, 5]) + bytes([0, len(good)]) + good + bytes([3, len(good)]) + good
    yield bytes([1, 1, 0]) + bytes([0, len(good)]) + good


def metadata(generated):
    """generated: the C of the pipeline whose ledgers are read; without it no head is its own."""
    plan = re.search(r'\.hash = "(\w+)"', generated.read_text()) if generated.exists() else None
    head = {
        "ledger": 1,
        "pipeline": "traffic",
        "plan": plan[1] if plan else "0" * 16,
        "traffic": "shoppers",
        "source": "events",
        "partitions": 2,
        "seed": 7,
        "start": "2026-01-01T00:00:00.000Z",
        "rate": 1000,
        "count": 30000,
        "stops": [20000],
        "position": 30391,
    }
    yield b"\0" + json.dumps(head).encode()
    yield b"\0" + json.dumps({**head, "count": None}).encode()
    yield b"\1\1" + long(300) + long(2) + text(b"") + 3 * long(1 << 40) + b"\0" + bytes(20)
    yield b"\1\1" + long(1) + long(0) + text(b"hint") + 3 * long(-(1 << 62)) + b"\1" + b"\3\1\1" * 9
    yield b"\2" + long(2) + long(10) + long(200)
    table = bytes(16) + long(10) + long(9)
    yield b"\4\1" + bytes(16) + long(10) + b"\0"
    yield b"\4\2" + table + b"\1" + long(12) + long(300) + long(7) + bytes(16) + bytes(32)
    ranges = [long(p) + long(20) + long(90) + long(3) + bytes(16) for p in (0, 3, 5)]
    yield b"\4\3" + table + b"\1" + long(3) + b"".join(ranges) + bytes(32)
    value = {"id": "e", "kind": "view", "user": "u", "country": "NO", "amount": None, "at": 0}
    row = {"partition": 1, "kafka_time": "2026-01-01T00:00:01Z", "key": "u", "value": value}
    yield b"\3" + json.dumps(row).encode()
    yield b"\3" + b'{"value_base64":"AAE="}'
    yield b"\3" + b'{"key":null,"value_text":"\\u00e9"}'


def functions():
    for choice, first, second in (
        (0, "%Y-%m-%dT%H:%M:%S.%f%z", "2026-01-31T10:00:00.123456+01:00"),
        (0, "%d/%b/%Y", "31/jan/2026"),
        (0, "", "2026-01-31"),
        (1, "a.b[0].c", '{"a":{"b":[{"c":"x\\u0041"}]}}'),
        (1, "", '"\\ud83d\\ude00"'),
        (2, "a%b_c", "axxbéc"),
        (2, "%é%", "xéx"),
        (3, "(a|b)+?(c)?", "abcabc"),
        (3, "[[:alpha:]]+\\b", "é a1"),
        (4, "1", "-12.50"),
        (4, "12", "1.7976931348623157e308"),
        (4, "x", "9223372036854775807"),
        (5, "", UUID.upper()),
        (5, "", "YWJjZA=="),
        (6, ",", "a,b,ÄßÉ"),
        (6, "", "ǅİı"),
    ):
        yield bytes([choice, len(first.encode())]) + first.encode() + second.encode()


def make(directory):
    compact = json.dumps(EVENT_JSON).encode()
    table_row = json.dumps(EVENT_JSON, separators=(",", ":")).encode()
    rows = "\r\n".join(ROWS).encode() + b"\r\n"
    lines = b'\xef\xbb\xbf{"a":1}\r\nlonger than it may be\n\nlast'
    values = [b"\0" + event(2), b"\1" + event(1), b"\2" + event(2)]
    targets = {
        "program": programs(),
        "format": programs(),
        "schema": schemas(),
        "decoder": values,
        "resolve": list(writers()),
        "writer_schema": [schema + b"\0" + event(2) for schema in schemas()]
        + [CLICK.encode() + b"\0\2\2\6abc"],
        "json": [
            b"\0" + compact,
            b"\1"
            + b'{"flag":true,"big":1,"weight":0,"text":"","total":"1","day":"1970-01-01","at":0}',
            b"\2a.b[0]\n" + b'{"a":{"b":["x"]}}',
        ],
        "native": [b"\0" + table_row],
        "csv": [
            bytes([1, 0]) + rows,
            bytes([3, 20]) + rows,
            b'\0\0\xef\xbb\xbf"a""b",c\n"x\r\n\ny",\n"open',
        ],
        "state": states(),
        "log": logs(),
        "container": containers(),
        "functions": functions(),
        "metadata": metadata(Path(directory).parent / "traffic" / "traffic.c"),
        "inputs": [
            bytes([kind, choice, limit]) + body
            for kind in range(4)
            for choice, limit in ((0, 0), (0x83, 8), (0xF9, 3))
            for body in (lines, b'a,b\r\n1,2\n"x""\n",3\n"open')
        ],
    }
    for target, inputs in targets.items():
        folder = Path(directory) / target
        folder.mkdir(parents=True, exist_ok=True)
        for number, data in enumerate(inputs):
            (folder / f"seed{number:03d}").write_bytes(data)


if __name__ == "__main__":
    make(sys.argv[1])
