"""Rows of types.avsc as values of `inject`: limits of every type, every null, and random ones."""

import base64
import random
import struct
import uuid

INT32 = (-(2**31), 2**31 - 1)
INT64 = (-(2**63), 2**63 - 1)
TEXTS = ["", "a", "\0", 'quote " slash \\ and\n\t\r\b\f\x1f', "é😀\u2028", "x" * 300, "漢" * 90]
KEYS = [text for text in TEXTS if "\0" not in text]  # `inject` takes no such name
INSTANTS = ["0001-01-01T00:00:00.000", "9999-12-31T23:59:59.999", "1969-12-31T23:59:59.999"]


def exactly(value):
    """The nearest float32."""
    return struct.unpack("f", struct.pack("f", value))[0]


def point(rng, kind):
    return {
        "x": rng.randint(*INT32),
        "y": rng.choice([None, *TEXTS]),
        "kind": rng.choice([None, kind]),
        "deep": {"z": [rng.uniform(-1, 1) for _ in range(rng.randrange(3))]},
    }


def random_row(rng, number):
    """Any row; about one null in three where one is allowed."""
    kinds = ["red", "green", "blue"]
    row = {
        "id": number,
        "flag": rng.random() < 0.5,
        "small": rng.randint(*INT32),
        "big": rng.randint(*INT64),
        "single": exactly(rng.uniform(-1e6, 1e6)),
        "wide": rng.uniform(-1, 1) * 10 ** rng.randint(-300, 300),
        "price": f"{rng.randint(-(10**9) + 1, 10**9 - 1) / 100:.2f}",
        "amount": str(rng.randint(-(10**18) + 1, 10**18 - 1)),
        "exact": f"{rng.choice(['', '-'])}0.{rng.randrange(10**38):038}",
        "text": rng.choice(TEXTS) + str(rng.random()),
        "raw": base64.b64encode(rng.randbytes(rng.randrange(40))).decode(),
        "mac": base64.b64encode(rng.randbytes(6)).decode(),
        "token": str(uuid.UUID(bytes=rng.randbytes(16))),
        "kind": rng.choice(kinds),
        "day": f"{rng.randint(1, 9999):04}-0{rng.randint(1, 9)}-{rng.randint(10, 28)}",
        "at_ms": f"{rng.randint(1, 9999):04}-03-01T10:00:00.{rng.randrange(1000):03}Z",
        "at_us": f"{rng.randint(1, 9999):04}-03-01T10:00:00.{rng.randrange(10**6):06}Z",
        "doc": rng.choice([{"a": [1, None, "é\n"]}, [], "text", 1, True, None]),
        "numbers": [rng.randint(*INT64) for _ in range(rng.randrange(5))],
        "labels": [rng.choice([None, *TEXTS]) for _ in range(rng.randrange(4))],
        "kinds": [rng.choice([None, *kinds]) for _ in range(rng.randrange(4))],
        "grid": [[rng.randint(*INT32) for _ in range(rng.randrange(3))] for _ in range(3)],
        "counts": {key: rng.randint(*INT64) for key in rng.sample(KEYS, rng.randrange(4))},
        "lists": {str(i): rng.choices(kinds, k=i) for i in range(rng.randrange(3))},
        "point": point(rng, rng.choice(kinds)),
        "points": [point(rng, rng.choice(kinds)) for _ in range(rng.randrange(3))],
    }
    nullable = {
        "flag_null": "flag",
        "small_null": "small",
        "big_null": "big",
        "single_null": "single",
        "wide_null": "wide",
        "price_null": "price",
        "exact_null": "exact",
        "text_null": "text",
        "raw_null": "raw",
        "token_null": "token",
        "kind_null": "kind",
        "day_null": "day",
        "ms_null": "at_ms",
        "us_null": "at_us",
        "point_null": "point",
        "numbers_null": "numbers",
        "counts_null": "counts",
    }
    for name, like in nullable.items():
        row[name] = None if rng.random() < 0.3 else row[like]
    row["hollow_null"] = None if rng.random() < 0.3 else {"maybe": rng.choice([None, 7])}
    return row


def limit_rows():
    """The least and the greatest value of every type, and all nulls."""
    rng = random.Random(1)
    rows = []
    for end in (0, 1):
        sign = ["-", ""][end]
        row = random_row(rng, INT64[end])
        row |= {
            "flag": bool(end),
            "small": INT32[end],
            "big": INT64[end],
            "single": exactly([-3.4028234663852886e38, 1e-45][end]),
            "wide": [-1.7976931348623157e308, 5e-324][end],
            "price": sign + "9999999.99",
            "amount": sign + "9" * 18,
            "exact": sign + "0." + "9" * 38,
            "day": ["0001-01-01", "9999-12-31"][end],
            "at_ms": INSTANTS[end] + "Z",
            "at_us": INSTANTS[end] + ["000Z", "999Z"][end],
            "token": str(uuid.UUID(int=[0, 2**128 - 1][end])),
        }
        rows.append(row)
    empty = random_row(rng, 0)
    empty |= {"text": "", "raw": "", "numbers": [], "labels": [], "kinds": [], "grid": []}
    empty |= {"counts": {}, "lists": {}, "points": [], "single": -0.0, "wide": -0.0}
    empty |= {name: None for name in empty if name.endswith("_null")}
    for text in TEXTS:
        rows.append(random_row(rng, len(rows)) | {"text": text, "text_null": text, "doc": text})
    rows.append(empty)
    rows.append(random_row(rng, 99) | {"at_ms": INSTANTS[2] + "Z", "at_us": INSTANTS[2] + "999Z"})
    rows.append(random_row(rng, 100) | {"numbers": list(range(5000)), "labels": [None] * 300})
    return rows
