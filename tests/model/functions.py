"""The functions and casts of the language (language.md section 4, grammar.md section 4)."""

import datetime
import fractions
import hashlib
import hmac
import json
import math
import os
import re

from values import (
    EPOCH,
    EPOCH_DAY,
    INFINITY,
    MS_MAX,
    MS_MIN,
    UNITS_US,
    Failed,
    float32,
    plain_text,
    symbol,
)

MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
NUMBER = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?"


# ---- Ranges ----


def in_range(value, kind):
    """The value, if the type holds it."""
    name = kind.kind
    bits = {"int32": 31, "int64": 63, "duration": 63}.get(name)
    good = True
    if bits:
        good = -(1 << bits) <= value < 1 << bits
    elif name == "decimal":
        good = abs(value) < 10**kind.precision
    elif name == "float32":
        value = float32(value)
        good = math.isfinite(value)
    elif name == "float64":
        good = math.isfinite(value)
    elif name in UNITS_US:
        unit = UNITS_US[name]
        good = MS_MIN <= value * unit // 1000 <= MS_MAX
    elif name == "date":
        good = -719162 <= value <= 2932896
    if not good:
        raise Failed(f"{value} is out of range of {kind.name}")
    return value


def half_away(value):
    """A fraction to the nearest integer, halves away from zero."""
    sign = -1 if value < 0 else 1
    return sign * math.floor(abs(value) + fractions.Fraction(1, 2))


def rescale(value, from_scale, to_scale):
    if to_scale >= from_scale:
        return value * 10 ** (to_scale - from_scale)
    return half_away(fractions.Fraction(value, 10 ** (from_scale - to_scale)))


# ---- Time ----


def read_instant(text, kind):
    """RFC 3339 with an offset."""
    match = re.fullmatch(
        r"(\d{4})-(\d\d)-(\d\d)[Tt ](\d\d):(\d\d):(\d\d)"
        r"(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))",
        text,
        re.ASCII,
    )
    if not match:
        raise Failed(f"{text!r} is no instant")
    try:
        moment = datetime.datetime(*(int(part) for part in match.groups()[:6]))
    except ValueError as error:
        raise Failed(str(error)) from error
    us = (moment - EPOCH) // datetime.timedelta(microseconds=1) + int(
        (match[7] or "0").ljust(9, "0")[:6]
    )
    if match[8]:
        if int(match[9]) > 23 or int(match[10]) > 59:
            raise Failed(f"{text!r} has no good offset")
        us -= (
            (1 if match[8] == "+" else -1) * (int(match[9]) * 3600 + int(match[10]) * 60) * 1000000
        )
    return in_range(us // UNITS_US[kind.kind], kind)


def read_date(text):
    if not re.fullmatch(r"\d{4}-\d\d-\d\d", text, re.ASCII):
        raise Failed(f"{text!r} is no date")
    try:
        return (datetime.date.fromisoformat(text) - EPOCH_DAY).days
    except ValueError as error:
        raise Failed(str(error)) from error


def take(pattern, text, at):
    match = re.compile(pattern, re.ASCII).match(text, at)
    if not match:
        raise Failed(f"{text!r} does not have the format")
    return match[0], match.end()


def parse_timestamp(text, form, kind):
    got, at, i = {}, 0, 0
    patterns = {
        "Y": r"\d{4}",
        "m": r"\d\d",
        "d": r"\d\d",
        "H": r"\d\d",
        "M": r"\d\d",
        "S": r"\d\d",
        "f": r"\d{1,6}",
        "b": "[A-Za-z]{3}",
        "z": r"[+-]\d\d:?\d\d|Z",
    }
    while i < len(form):
        letter = form[i + 1] if form[i] == "%" and i + 1 < len(form) else None
        if letter in patterns:
            part, at = take(patterns[letter], text, at)
            if letter == "b":
                if part.capitalize() not in MONTHS:
                    raise Failed(f"{part} is no month")
                letter, value = "m", MONTHS.index(part.capitalize()) + 1
            elif letter == "z":
                digits = part.replace(":", "")
                value = (
                    0
                    if part == "Z"
                    else (1 if part[0] == "+" else -1) * (int(digits[1:3]) * 60 + int(digits[3:]))
                )
                if part != "Z" and (int(digits[1:3]) > 23 or int(digits[3:]) > 59):
                    raise Failed("no good offset")
            else:
                value = int(part.ljust(6, "0")) if letter == "f" else int(part)
            if got.setdefault(letter, value) != value:
                raise Failed("a part given twice disagrees")
            i += 2
            continue
        literal = "%" if letter == "%" else form[i]
        i += 2 if letter == "%" else 1
        if text[at : at + 1] != literal:
            raise Failed(f"{text!r} does not have the format")
        at += 1
    if at != len(text):
        raise Failed("text is left over")
    try:
        moment = datetime.datetime(
            got.get("Y", 1970),
            got.get("m", 1),
            got.get("d", 1),
            got.get("H", 0),
            got.get("M", 0),
            got.get("S", 0),
            got.get("f", 0),
        )
    except ValueError as error:
        raise Failed(str(error)) from error
    us = (moment - EPOCH) // datetime.timedelta(microseconds=1) - got.get("z", 0) * 60000000
    return in_range(us // UNITS_US[kind.kind], kind)


def moment_of(value, kind):
    return EPOCH + datetime.timedelta(microseconds=value * UNITS_US[kind.kind])


def format_timestamp(value, form, kind):
    moment = moment_of(value, kind)
    parts = {
        "Y": f"{moment.year:04}",
        "m": f"{moment.month:02}",
        "d": f"{moment.day:02}",
        "H": f"{moment.hour:02}",
        "M": f"{moment.minute:02}",
        "S": f"{moment.second:02}",
        "b": MONTHS[moment.month - 1],
        "z": "+0000",
        "%": "%",
        "f": (
            f"{moment.microsecond // 1000:03}"
            if kind.kind == "timestamp_ms"
            else f"{moment.microsecond:06}"
        ),
    }
    return re.sub("%([YmdHMSbzf%])", lambda m: parts[m[1]], form)


def date_trunc(unit, value, kind):
    if kind.kind == "date":
        day = EPOCH_DAY + datetime.timedelta(days=value)
        moment = datetime.datetime(day.year, day.month, day.day)
    else:
        moment = moment_of(value, kind)
    zeros = {
        "year": ["month", "day", "hour", "minute", "second"],
        "month": ["day", "hour", "minute", "second"],
        "week": ["hour", "minute", "second"],
        "day": ["hour", "minute", "second"],
        "hour": ["minute", "second"],
        "minute": ["second"],
        "second": [],
    }[unit]
    if unit == "week":
        value_days = (moment.date() - EPOCH_DAY).days - moment.weekday()
        days = max(value_days, -719162)
        return days if kind.kind == "date" else days * 86400000000 // UNITS_US[kind.kind]
    moment = moment.replace(microsecond=0, **{z: 1 if z in ("month", "day") else 0 for z in zeros})
    if kind.kind == "date":
        return (moment.date() - EPOCH_DAY).days
    return (moment - EPOCH) // datetime.timedelta(microseconds=1) // UNITS_US[kind.kind]


def date_part(unit, value, kind):
    if kind.kind == "date":
        moment = datetime.datetime.combine(
            EPOCH_DAY + datetime.timedelta(days=value), datetime.time()
        )
    else:
        moment = moment_of(value, kind)
    return moment.isoweekday() if unit == "dow" else getattr(moment, unit)


# ---- Strings ----


def simple_case(text, method):
    """One code point to one."""
    return "".join(c if len(method(c)) != 1 else method(c) for c in text)


def substring(text, start, count=None):
    if count is None:
        return text[max(start, 1) - 1 :]
    if count <= 0:
        return ""
    return text[max(start, 1) - 1 : max(start + count, 1) - 1]


def split_part(text, separator, n):
    parts = text.split(separator) if separator else [text]
    return parts[n - 1] if 1 <= n <= len(parts) else ""


def like(text, pattern):
    regex = "".join(".*" if c == "%" else "." if c == "_" else re.escape(c) for c in pattern)
    return re.fullmatch(regex, text, re.DOTALL) is not None


def regexp_extract(text, pattern, group):
    match = re.search(pattern, text, re.ASCII)
    return match[group] if match else None


def regexp_replace(text, pattern, by):
    """Every match from the left; an empty match right behind a match is passed over."""
    out, last, at = [], 0, 0
    regex = re.compile(pattern, re.ASCII)
    behind = -1
    while at <= len(text):
        match = regex.search(text, at)
        if not match:
            break
        if match.end() == match.start() == behind:
            at += 1
            continue
        out.append(text[last : match.start()])
        out.append(re.sub(r"\\(.)", lambda m: "\\" if m[1] == "\\" else match[int(m[1])] or "", by))
        last = behind = match.end()
        at = match.end() if match.end() > match.start() else match.end()
        if match.end() == match.start():
            behind = match.end()
            at = match.end() + 1
    return "".join(out) + text[last:]


class Number(str):
    pass


def no_constant(text):
    raise ValueError(text)


def first_of_each(pairs):
    out = {}
    for name, value in pairs:
        out.setdefault(name, value)
    return out


def json_value(text, path):
    try:
        value = json.loads(
            text,
            parse_int=Number,
            parse_float=Number,
            parse_constant=no_constant,
            object_pairs_hook=first_of_each,
        )
    except (ValueError, RecursionError):
        return None
    for name, index in re.findall(r"([^.\[\]]+)|\[(\d+)\]", path):
        if name and isinstance(value, dict) and name in value:
            value = value[name]
        elif index and isinstance(value, list) and int(index) < len(value):
            value = value[int(index)]
        else:
            return None
    if isinstance(value, bool):
        return "true" if value else "false"
    return str(value) if isinstance(value, str) else None


# ---- Hashes ----


def rotate(x, n):
    return (x << n | x >> 64 - n) & 0xFFFFFFFFFFFFFFFF


def xxh64(data):
    """XXH64 with seed 0, as int64."""
    p1, p2, p3, p4, p5 = (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
    mask, at = 0xFFFFFFFFFFFFFFFF, 0

    def round_(lane, word):
        return rotate(lane + word * p2 & mask, 31) * p1 & mask

    def word(size):
        return int.from_bytes(data[at : at + size], "little")

    if len(data) >= 32:
        lanes = [p1 + p2 & mask, p2, 0, -p1 & mask]
        while at + 32 <= len(data):
            for i in range(4):
                lanes[i] = round_(lanes[i], word(8))
                at += 8
        value = sum(rotate(lane, n) for lane, n in zip(lanes, (1, 7, 12, 18))) & mask
        for lane in lanes:
            value = ((value ^ round_(0, lane)) * p1 + p4) & mask
    else:
        value = p5
    value = value + len(data) & mask
    while at + 8 <= len(data):
        value = (rotate(value ^ round_(0, word(8)), 27) * p1 + p4) & mask
        at += 8
    if at + 4 <= len(data):
        value = (rotate(value ^ word(4) * p1 & mask, 23) * p2 + p3) & mask
        at += 4
    while at < len(data):
        value = rotate(value ^ data[at] * p5 & mask, 11) * p1 & mask
        at += 1
    value = (value ^ value >> 33) * p2 & mask
    value = (value ^ value >> 29) * p3 & mask
    value ^= value >> 32
    return value - (1 << 64) if value >> 63 else value


def to_bytes(value):
    return value.encode() if isinstance(value, str) else value


def keyed(text, name):
    return hmac.new(
        os.environ["PIPE_SECRET_" + name.upper()].encode(), text.encode(), hashlib.sha256
    ).hexdigest()


# ---- Casts ----


def float_of_text(text, kind):
    if not re.fullmatch(r"\+?" + NUMBER if text[:1] == "+" else NUMBER, text):
        raise Failed(f"{text!r} is no number")
    if kind.kind == "float64":
        return in_range(float(text), kind)
    value = nearest_float32(fractions.Fraction(text))
    return in_range(math.copysign(value, float(text)), kind)


def nearest_float32(exact):
    """Rounded once, not by way of a double."""
    try:
        guess = float32(float(exact))
    except OverflowError:
        return INFINITY
    if not math.isfinite(guess) or guess == 0:
        return guess
    ulp = math.ldexp(1.0, max(math.frexp(guess)[1] - 24, -149))
    candidates = [guess - ulp, guess, guess + ulp]
    even = [
        c
        for c in candidates
        if abs(fractions.Fraction(c) - exact)
        == min(abs(fractions.Fraction(d) - exact) for d in candidates)
    ]
    return even[0] if len(even) == 1 else min(even, key=lambda c: int(c / ulp) % 2)


def decimal_of_text(text, kind):
    match = re.fullmatch(r"(-?)([0-9]+)(?:\.([0-9]+))?", text, re.ASCII)
    if not match or len(match[3] or "") > kind.scale:
        raise Failed(f"{text!r} is no {kind.name}")
    value = int(match[2] + (match[3] or "").ljust(kind.scale, "0"))
    return in_range(-value if match[1] else value, kind)


def from_string(text, kind):
    name = kind.kind
    if name == "bool":
        if text not in ("true", "false"):
            raise Failed("no bool")
        return text == "true"
    if name in ("int32", "int64", "duration"):
        if not re.fullmatch(r"[+-]?[0-9]+", text, re.ASCII):
            raise Failed(f"{text!r} is no integer")
        return in_range(int(text), kind)
    if name in ("float32", "float64"):
        return float_of_text(text, kind)
    if name == "decimal":
        return decimal_of_text(text[1:] if re.match(r"\+[0-9]", text) else text, kind)
    if name == "uuid":
        if not re.fullmatch(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", text):
            raise Failed("no uuid")
        return text.lower()
    if name == "enum":
        return symbol(kind.name, text)
    if name == "date":
        return read_date(text)
    if name in UNITS_US:
        return read_instant(text, kind)
    return text.encode() if name == "bytes" else text


def from_number(value, source, kind):
    """Integers, decimals and floats to numbers."""
    if kind.kind in ("float32", "float64"):
        if source.kind in ("float32", "float64"):
            return in_range(value, kind)
        exact = fractions.Fraction(value, 10**source.scale)
        return in_range(nearest_float32(exact) if kind.kind == "float32" else float(exact), kind)
    exact = (
        fractions.Fraction(value)
        if isinstance(value, float)
        else fractions.Fraction(value, 10**source.scale)
    )
    if kind.kind == "decimal":
        return in_range(half_away(exact * 10**kind.scale), kind)
    return in_range(half_away(exact), kind)


def cast_time(value, source, kind):
    if source.kind == "date":
        return value if kind.kind == "date" else value * 86400000000 // UNITS_US[kind.kind]
    us = value * UNITS_US[source.kind]
    return us // 86400000000 if kind.kind == "date" else us // UNITS_US[kind.kind]


def cast(value, source, kind):
    """A value that is not null."""
    times = ("date", "timestamp_ms", "timestamp_us")
    if kind.kind == "string":
        if source.kind == "bytes":
            try:
                return value.decode()
            except UnicodeDecodeError as error:
                raise Failed("no UTF-8") from error
        return str(plain_text(value, source))
    if source.kind in ("string", "uuid") and source.kind != kind.kind:
        return from_string(value, kind)
    if source.kind in times and kind.kind in times:
        return cast_time(value, source, kind)
    if kind.kind in ("record", "array", "map", "bytes", "enum", "uuid", "bool"):
        return value
    if source.kind in times or kind.kind in times or "duration" in (source.kind, kind.kind):
        return in_range(value, kind)
    return from_number(value, source, kind)
