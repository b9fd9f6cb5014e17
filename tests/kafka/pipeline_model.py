"""Input for chaos.pipe, and what must come out of it, computed by a second program.

The model reads the records of the source topic and the time records, partition after partition, as
docs/semantics.md says; it knows nothing of commits, restarts or processes.
"""

import datetime
import json
import random
from collections import Counter, defaultdict

from client import Record

PARTITIONS = 3
START_MS = 1767225600000  # 2026-01-01T00:00:00Z
BOUND, AHEAD, TTL, WINDOW, LATENESS, GAP = 2000, 300000, 600000, 10000, 3000, 5000  # ms
NEVER = -(1 << 60)
_CATEGORIES = ("lamps", "rugs", "vases", "chairs")
_FIELDS = ("id", "session", "category", "amount", "at")
_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)


def instant(ms):
    """As the program writes a timestamp."""
    at = _EPOCH + datetime.timedelta(milliseconds=ms)
    return at.strftime("%Y-%m-%dT%H:%M:%S.") + f"{ms % 1000:03d}Z"


def record(partition, session, sent_ms, value):
    """A record of the source; value: fields, or bytes as they are, or None."""
    if isinstance(value, dict):
        value = json.dumps(value).encode()
    return Record(partition, session.encode(), value, timestamp_ms=sent_ms)


def event(number, at_ms, partition=0, session=None, **changed):
    """A good record that is sent when it happens."""
    session = session or f"s{partition}"
    fields = dict(id=f"e{number}", session=session, category="lamps", amount=1, at=at_ms)
    return record(partition, session, at_ms, fields | changed)


def traffic(seed, count, start_ms=START_MS, step_ms=50):
    """Events in the order of sending, with duplicates, and with such as are out of order, late,
    refused or not readable at all."""
    chance = random.Random(f"{seed}/{start_ms}")
    sent = []
    for number in range(count):
        due = start_ms + number * step_ms
        slot = chance.randrange(12)
        session = f"v{slot}-{(number + slot * 37) // 450}"
        partition = slot % PARTITIONS
        fields = dict(
            id=f"{start_ms}-{number}",
            session=session,
            category=chance.choice(_CATEGORIES),
            amount=chance.randrange(1, 10**12),
            at=due,
        )
        at, value, key = due, fields, session
        kind = chance.random()
        if kind < 0.05:
            at += chance.randrange(BOUND)
        elif kind < 0.08:
            at += chance.randrange(4 * BOUND, 60000)
        elif kind < 0.09:
            value = chance.choice((b"\xff\x00", b'{"id": "x"', b"", None))
        elif kind < 0.10:
            value = fields | {"amount": -1}
        elif kind < 0.105:
            value = fields | {"at": due + AHEAD + 1 + chance.randrange(AHEAD)}
        elif kind < 0.11:
            key = "another"
        sent.append((at, number, record(partition, key, at, value)))
        if chance.random() < 0.03:
            again = at + chance.randrange(1, 20000)
            sent.append((again, number + count, record(partition, key, again, value)))
    return [found for _, _, found in sorted(sent, key=lambda entry: entry[:2])]


def _numbers(data):
    """The zigzag numbers of a time record: offset, seq, floor in microseconds."""
    at, found = 0, []
    while at < len(data) and len(found) < 3:
        shift = value = 0
        while True:
            byte, at = data[at], at + 1
            value |= (byte & 0x7F) << shift
            shift += 7
            if byte < 0x80:
                break
        found.append((value >> 1) ^ -(value & 1))
    return found


class _Partition:
    """One partition of the source: its time, what it remembers, what it sends out."""

    def __init__(self, number, floors, model):
        self.number, self.floors, self.model = number, floors, model
        self.watermark, self.greatest = NEVER, NEVER
        self.seen, self.visits = {}, defaultdict(list)

    def refuse(self, offset, reason):
        self.model.refused[self.number, offset, reason] += 1

    def raise_floors(self, offset):
        while self.floors and self.floors[0][0] <= offset:
            self.watermark = max(self.watermark, self.floors.pop(0)[1])
            self.model.raises += 1
            self.close_visits()

    def take(self, found):
        self.raise_floors(found.offset)
        fields, reason = self.read(found)
        if reason:
            self.refuse(found.offset, reason)
            return
        before = self.watermark
        self.judge(found.offset, fields)
        self.greatest = max(self.greatest, fields["at"])
        self.watermark = max(before, self.greatest - BOUND)
        self.close_visits()

    def read(self, found):
        if found.value is None:
            return None, "no_value"
        try:
            fields = json.loads(found.value)
            fields = {name: fields[name] for name in _FIELDS}
        except (ValueError, KeyError, TypeError, RecursionError):
            return None, "undecodable"
        if found.key.decode() != fields["session"]:
            return None, "key_mismatch"
        if fields["at"] > found.timestamp_ms + AHEAD:
            return None, "event_time_ahead"
        return fields, None

    def judge(self, offset, fields):
        key, at = (fields["session"], fields["id"]), fields["at"]
        if fields["amount"] < 0:
            return self.refuse(offset, "amount_negative")
        if at < self.watermark - TTL:
            return self.refuse(offset, "too_old_to_dedup")
        if self.watermark <= self.seen.get(key, NEVER - 1):
            self.model.duplicates += 1
            return None
        self.seen[key] = max(at, self.watermark) + TTL
        self.model.clean[_row(fields | {"at": instant(at)})] += 1
        self.total(fields)
        return self.visit(fields)

    def late(self, fields, stream, end):
        row = fields | {"at": instant(fields["at"]), "late_for": stream}
        row |= {"window_end": instant(end), "watermark": instant(self.watermark)}
        self.model.late[_row(row)] += 1

    def total(self, fields):
        start = fields["at"] // WINDOW * WINDOW
        if start + WINDOW + LATENESS <= self.watermark:
            return self.late(fields, "totals", start + WINDOW)
        window = self.model.windows[start, fields["category"]]
        window[0] += 1
        window[1] += fields["amount"]
        return None

    def visit(self, fields):
        at, visits = fields["at"], self.visits[fields["session"]]
        touched = [v for v in visits if at < v[1] and v[0] < at + GAP]
        own = (at, at + GAP, 1, fields["amount"])
        starts, ends, events, amounts = zip(own, *touched)
        merged = (min(starts), max(ends), sum(events), sum(amounts))
        if merged[1] <= self.watermark:
            return self.late(fields, "visits", merged[1])
        visits[:] = [v for v in visits if v not in touched] + [merged]
        return None

    def close_visits(self):
        for session, visits in list(self.visits.items()):
            for start, end, events, amount in visits:
                if end <= self.watermark:
                    row = dict(window_start=instant(start), window_end=instant(end))
                    row |= dict(session=session, events=events, amount=amount)
                    self.model.visits[_row(row)] += 1
            self.visits[session] = [v for v in visits if v[1] > self.watermark]
            if not self.visits[session]:
                del self.visits[session]


def _row(fields):
    return tuple(sorted(fields.items()))


class Model:
    """What must be visible when all of `source` is committed. source, times: records as read from
    the topics."""

    def __init__(self, source, times):
        self.clean, self.visits, self.late, self.refused = (Counter() for _ in range(4))
        self.windows = defaultdict(lambda: [0, 0])
        self.duplicates = self.raises = 0
        floors = defaultdict(list)
        for time_record in times:
            offset, seq, floor_us = _numbers(time_record.value)
            floors[time_record.partition].append((seq, offset, floor_us // 1000))
        self.partitions = []
        for number in range(PARTITIONS):
            ordered = [(offset, floor) for _, offset, floor in sorted(floors[number])]
            partition = _Partition(number, ordered, self)
            for found in source:
                if found.partition == number:
                    partition.take(found)
            partition.raise_floors(1 << 62)
            self.partitions.append(partition)
        self.watermark = min(p.watermark for p in self.partitions)
        self.totals = Counter(
            {
                (instant(start), instant(start + WINDOW), category, events, amount): 1
                for (start, category), (events, amount) in self.windows.items()
                if start + WINDOW <= self.watermark
            }
        )


def decoded(records):
    """Rows of a sink of JSON."""
    return Counter(_row(json.loads(found.value)) for found in records)


def refused_rows(records):
    rows = (json.loads(found.value) for found in records)
    return Counter((row["partition"], row["offset"], row["reason"]) for row in rows)


def last_totals(records):
    """Of each window the row of its last revision; revisions must grow."""
    last = {}
    for found in records:
        row = json.loads(found.value)
        window = row["window_start"], row["window_end"], row["category"]
        assert window not in last or last[window][0] < row["revision"], (window, last[window], row)
        last[window] = row["revision"], row["events"], row["amount"]
    return Counter((*window, *rest) for window, (_, *rest) in last.items())
