#!/usr/bin/env python3
"""What a pipeline computes, from its plan (as JSON) and its inputs: a model of semantics.md.

Rows are pushed through the streams one record at a time, each partition in log order; what is
behind an exchange comes after all that is in front of it. Nothing depends on when rows are
committed or memory is freed, so nothing here is.
"""

import bisect
import collections
import dataclasses

import aggregates
import decode
import expressions
import values
from values import UNITS_US, Failed

MINUS, PLUS = -values.INFINITY, values.INFINITY


@dataclasses.dataclass
class Record:
    """One of a source; kafka_time None: a file."""

    source: int
    partition: int
    offset: int
    payload: bytes
    topic: str
    key: bytes = None
    kafka_time: int = None
    fields: object = None  # CSV: what split_csv says


@dataclasses.dataclass
class Context:
    """What goes with a row. Times in µs; watermark: of its own partition, before its record."""

    record: Record  # None behind a window
    event_time: int
    watermark: float
    task: tuple  # whose state it meets
    windowed: bool = False  # rows of a window are never late

    def position(self):
        r = self.record
        return (r.source, r.partition, r.offset) if r else (-1, -1, -1)


@dataclasses.dataclass
class Output:
    """A row for a sink; key None: none. row is kept for comparisons."""

    key: str
    partition: int
    row: dict


class Stream:
    def __init__(self, node):
        self.name, self.role = node["name"], node.get("role", "source")
        self.columns = values.columns_of(node)
        self.inputs = node.get("inputs", [])
        self.rejects = node.get("rejects")
        self.steps, self.readers, self.sinks = [], [], []
        self.exchange = None


class Filter:
    def __init__(self, node):
        self.kind = node["node"]
        self.test = expressions.build(node["expr"])
        self.reason, self.to = node.get("reason"), node.get("to")

    def push(self, model, stream, row, context):
        good = self.test(row, context)
        if good is None:
            raise AssertionError(f"{stream.name}: a filter is null")
        if self.kind == "divert" and good:
            model.enter(self.to, row, context)
        elif self.kind == "require" and not good:
            model.reject(stream, context, self.reason, False)
        elif self.kind == "divert" or good:
            return [(row, context)]
        return []


class Unnest:
    def __init__(self, node):
        self.array = expressions.build(node["expr"])
        self.name = node["as"]
        self.columns = values.columns_of(node)

    def push(self, model, stream, row, context):
        rows = []
        for i, item in enumerate(self.array(row, context) or []):
            both = {**row, self.name: item, self.name + "_index": i}
            rows.append(({c.name: both[c.name] for c in self.columns}, context))
        return rows


class Select:
    def __init__(self, node):
        self.items = [(item["name"], expressions.build(item["expr"])) for item in node["items"]]

    def push(self, model, stream, row, context):
        return [({name: item(row, context) for name, item in self.items}, context)]


class Dedup:
    def __init__(self, node):
        self.key, self.within = node["key"], node["within_ms"] * 1000
        self.seen = collections.defaultdict(dict)  # task → key → W that forgets it

    def push(self, model, stream, row, context):
        judge = context.event_time if context.windowed else context.watermark
        if context.event_time < judge - self.within:
            model.reject(stream, context, "too_old_to_dedup", False)
            return []
        key = tuple(aggregates.hashable(row[name]) for name in self.key)
        seen = self.seen[context.task]
        # Behind an exchange which of several passes is unknown here, and when that is forgotten.
        forgets = context.windowed or context.task[0] != "exchange"
        if key in seen and not (forgets and judge > seen[key]):
            return []
        seen[key] = max(context.event_time, judge) + self.within
        return [(row, context)]


class Group:
    """What one window or session of one key took in."""

    def __init__(self, start, end, key):
        self.start, self.end, self.key = start, end, key
        self.taken = []
        self.before_close = 0  # records in at the time W reached the end


class Window:
    def __init__(self, node, streams):
        self.kind, self.group = node["window"], node["group"]
        self.size, self.every, self.offset = (
            node[f"{n}_ms"] * 1000 for n in ("size", "every", "offset")
        )
        self.gap, self.max = node["gap_ms"] * 1000, node["max_ms"] * 1000
        self.lateness, self.late = node["lateness_ms"] * 1000, node.get("late")
        self.emit, self.corrections = node["emit"], node["corrections"]
        self.aggregates = [aggregates.Aggregate(a) for a in node["aggregates"]]
        self.columns = values.columns_of(node)
        self.open = collections.defaultdict(
            dict
        )  # task → (end, key) → Group; sessions: key → [Group]
        self.done = []  # (task, Group): sessions that are over
        self.out_of_task = node["behind_exchange"]

    def task(self, stream, context):
        return ("exchange", stream.name) if self.out_of_task else context.task

    def push(self, model, stream, row, context):
        if model.trace:
            model.counts[stream.name] += 1
        task = self.task(stream, context)
        key = tuple(aggregates.hashable(row[name]) for name in self.group)
        push = self.push_session if self.kind == "session" else self.push_window
        push(model, stream, row, context, task, key)
        return []

    def push_late(self, model, stream, row, context, end):
        if self.late:
            unit = stream.columns[0].type.kind
            late = {
                **row,
                "late_for": stream.name,
                "window_end": column_time(end, unit),
                "watermark": column_time(context.watermark, unit),
            }
            model.enter(self.late, late, context)

    def take(self, model, stream, row, context):
        return tuple(a.take(row, context) for a in self.aggregates)

    def push_window(self, model, stream, row, context, task, key):
        taken = self.take(model, stream, row, context)  # may fail, late or not
        time = context.event_time
        start = (time - self.offset) // self.every * self.every + self.offset
        ends = []
        while start + self.size > time:
            ends.append(start + self.size)
            start -= self.every
        late = (
            [] if context.windowed else [e for e in ends if e + self.lateness <= context.watermark]
        )
        on_time = [e for e in ends if e not in late]
        for end in reversed(late):
            self.push_late(model, stream, row, context, end)
        for end in on_time:
            group = self.open[task].get((end, key))
            if group is None:
                group = self.open[task][end, key] = Group(end - self.size, end, key)
            group.taken.append(taken)
            if end > context.watermark or len(group.taken) == 1:
                group.before_close = len(group.taken)

    def push_session(self, model, stream, row, context, task, key):
        taken = self.take(model, stream, row, context)
        start, end = context.event_time, context.event_time + self.gap
        sessions = self.open[task].setdefault(key, [])
        if task[0] == "exchange":
            late = not context.windowed and start + self.lateness < context.watermark
        else:
            if not context.windowed:
                over = [s for s in sessions if s.end + self.lateness <= context.watermark]
                self.done += [(task, s) for s in over]
                sessions[:] = [s for s in sessions if s not in over]
            joined = self.joined(sessions, start, end)
            merged_end = max([s.end for s in joined] + [end])
            late = not context.windowed and merged_end + self.lateness <= context.watermark
        if late:
            self.push_late(model, stream, row, context, end)
            return
        joined = self.joined(sessions, start, end)
        merged = joined[0] if joined else Group(start, end, key)
        for session in joined:
            start, end = min(start, session.start), max(end, session.end)
            sessions.remove(session)
            if session is not merged:
                merged.taken += session.taken
        merged.start, merged.end = start, end
        merged.taken.append(taken)
        bisect.insort(sessions, merged, key=lambda s: s.start)

    def joined(self, sessions, start, end):
        """The sessions that an event of [start, end) merges, the earliest first, within max."""
        near, low, high = [], start, end
        at = bisect.bisect_left(sessions, end, key=lambda s: s.start)
        while at > 0 and (
            sessions[at - 1].end > start or self.max and sessions[at - 1].start + self.max > start
        ):
            at -= 1
            near.append(sessions[at])
        joined = []
        for session in reversed(near):
            if session.start < end and start < session.end:
                both = max(high, session.end) - min(low, session.start)
                if not self.max or both <= self.max:
                    joined.append(session)
                    low, high = min(low, session.start), max(high, session.end)
        return joined

    def groups(self):
        for task, found in self.open.items():
            for group in found.values():
                for one in group if isinstance(group, list) else [group]:
                    yield task, one
        yield from self.done

    def revision(self, group):
        return len(group.taken) - (0 if self.emit == "update" else group.before_close)

    def close(self, model, stream):
        """Sends the last row of every window that is over."""
        for sink in stream.sinks:
            times = [model.watermark(stream.inputs, task) for task, _ in self.groups()]
            sink.open_beyond = min(times, default=PLUS)
        for task, group in sorted(self.groups(), key=lambda pair: (pair[1].end, repr(pair[1].key))):
            watermark = model.watermark(stream.inputs, task)
            if group.end + (self.lateness if self.emit == "final" else 0) > watermark:
                continue
            unit = stream.step_columns[0].type.kind
            row = {
                "window_start": column_time(group.start, unit),
                "window_end": column_time(group.end, unit),
            }
            row.update(zip(self.group, (unhashable(part) for part in group.key)))
            context = Context(None, group.end - UNITS_US[unit], watermark, task, True)
            try:
                for i, aggregate in enumerate(self.aggregates):
                    row[aggregate.name] = aggregate.finish([taken[i] for taken in group.taken])
            except Failed:
                model.reject(stream, context, "expression_failed", True)
                for sink in stream.sinks:
                    sink.refused.append(row)
                continue
            if self.corrections:
                row["revision"] = None if self.out_of_task else self.revision(group)
            model.leave(stream, row, context)


def unhashable(part):
    return part


def column_time(us, kind):
    """µs as a column, kept within the years 0001 to 9999."""
    low, high = values.MS_MIN * 1000, values.MS_MAX * 1000 + 999
    return int(max(low, min(high, us))) // UNITS_US[kind]


STEPS = {
    "where": Filter,
    "require": Filter,
    "divert": Filter,
    "unnest": Unnest,
    "select": Select,
    "dedup": Dedup,
}


class Sink:
    def __init__(self, node, stream):
        self.name, self.kind, self.target = node["name"], node["kind"], node.get("target")
        self.format, self.partitions = node.get("format", "json"), node["partitions"]
        self.columns, self.source_key, self.schema = (
            stream.columns,
            node["source_key"],
            node.get("schema"),
        )
        upsert = node.get("upsert")
        self.key = [
            c
            for name in (upsert["by"] if upsert and self.kind == "kafka" else node["key"])
            for c in stream.columns
            if c.name == name
        ]
        self.delete = (
            expressions.build(upsert["delete_when"]) if upsert and "delete_when" in upsert else None
        )
        self.corrections = any(c.name == "revision" for c in stream.columns)
        self.outputs = []
        self.expected = None  # the outputs as compare.py wants them, once they are complete
        self.open_beyond = PLUS  # of windows that end later early rows may be there
        self.refused = []  # of windows whose last row was refused: the same

    def push(self, row, context):
        key = partition = None
        if self.kind == "kafka" and self.key:
            key = values.key_text(self.key, row)
            partition = values.partition_of(key.encode(), self.partitions)
        elif self.kind == "kafka" and self.source_key:
            key = context.record.key.decode("latin-1") if context.record.key is not None else None
            partition = context.record.partition % self.partitions
        deleted = self.delete and self.kind == "kafka" and self.delete(row, context)
        self.outputs.append(Output(key, partition, None if deleted else row))


class Model:
    """inputs: source name → a list of Record or ("time", floor µs) a partition, in log order."""

    def __init__(self, plan, inputs):
        self.inputs, self.trace, self.counts = inputs, False, collections.Counter()
        self.rejected = collections.Counter()
        self.streams, self.sinks, self.contracts, self.sources = {}, {}, {}, {}
        self.final = {}  # ("source", name, partition) → watermark at the end
        self.exchanged = collections.defaultdict(list)
        nodes = plan["nodes"]
        for node in nodes:
            if node["node"] == "contract":
                self.contracts[node["name"]] = decode.Contract(node)
        for node in nodes:
            if node["node"] in ("source", "stream"):
                self.streams[node["name"]] = Stream(node)
                if node["node"] == "source":
                    self.sources[node["name"]] = node
        for node in nodes:
            self.add(node)
        for stream in self.streams.values():
            if stream.role == "stream":
                for name in stream.inputs:
                    self.streams[name].readers.append(stream)

    def add(self, node):
        kind = node["node"]
        if kind == "sink":
            sink = self.sinks[node["name"]] = Sink(node, self.streams[node["from"]])
            self.streams[node["from"]].sinks.append(sink)
        elif kind == "exchange":
            self.streams[node["stream"]].exchange = node["carries"]
        elif kind == "window":
            stream = self.streams[node["stream"]]
            stream.steps.append(Window(node, self.streams))
            stream.step_columns = stream.steps[-1].columns
        elif kind in STEPS:
            self.streams[node["stream"]].steps.append(STEPS[kind](node))

    # ---- Rows ----

    def enter(self, name, row, context):
        """A row arrives at a stream, by its columns (a union's may be wider)."""
        stream = self.streams[name]
        self.advance(stream, 0, row, context)

    def advance(self, stream, at, row, context):
        while at < len(stream.steps):
            step = stream.steps[at]
            if (
                stream.exchange == "rows"
                and isinstance(step, (Dedup, Window))
                and context.task != ("exchange", stream.name)
            ):
                context = dataclasses.replace(context, task=("exchange", stream.name))
                self.exchanged[stream.name].append((at, row, context))
                return
            try:
                rows = step.push(self, stream, row, context)
            except Failed:
                self.reject(stream, context, "expression_failed", True)
                return
            at += 1
            if len(rows) != 1:
                for one, its in rows:
                    self.advance(stream, at, one, its)
                return
            row, context = rows[0]
        self.leave(stream, row, context)

    def leave(self, stream, row, context):
        row = {c.name: row[c.name] for c in stream.columns}
        for sink in stream.sinks:
            sink.push(row, context)
        for reader in stream.readers:
            self.enter(reader.name, row, context)

    def reject(self, stream, context, reason, has_detail):
        self.rejected[stream.name, reason] += 1
        if not stream.rejects:
            raise AssertionError(f"{stream.name} has no rejects, and {reason}")
        record = context.record
        row = {"reason": reason, "rule": stream.name, "detail": "*" if has_detail else None}
        for name in ("topic", "partition", "offset", "kafka_time", "key", "payload"):
            row[name] = getattr(record, name) if record else None
        self.enter(stream.rejects, row, context)

    # ---- Time ----

    def watermark(self, inputs, task):
        """W of a task for what these streams send, at the end of the input."""
        if task[0] == "source":
            return self.final[task] - self.delay(inputs[0])
        stage = self.streams[task[1]]
        own = self.least(stage.inputs)
        return own - sum_delay(self, inputs[0], stage) if inputs != stage.inputs else own

    def least(self, names):
        """The least W of all tasks that feed streams of these names, lateness taken off."""
        return min(self.least_of(self.streams[name]) for name in names)

    def least_of(self, stream):
        if stream.role == "source":
            return min(
                (w for task, w in self.final.items() if task[1] == stream.name), default=PLUS
            )
        return self.least(stream.inputs) - own_delay(stream)

    def delay(self, name):
        stream = self.streams[name]
        if stream.role == "source":
            return 0
        return own_delay(stream) + max(self.delay(i) for i in stream.inputs)

    # ---- Sources ----

    def decode(self, node, columns, record):
        contract = self.contracts.get(node.get("contract"))
        schema = contract.versions[0]["definition"] if contract else None
        form = node["format"]
        if record.payload is None and form != "csv":
            raise decode.Refused("no_value")
        if form == "avro" and node["transport"] == "kafka":
            return contract.read_framed(record.payload, columns)
        if form == "avro":
            if record.fields is None:
                raise decode.Refused("schema_unknown")
            return contract.read(record.fields, record.payload, columns)
        if form in ("json", "jsonl"):
            return decode.read_json(record.payload, columns, schema)
        if form == "csv":
            fields, expected, positions = record.fields
            return decode.read_csv(fields, columns, expected, positions, schema)
        if form == "text":
            try:
                return {columns[0].name: record.payload.decode()}
            except UnicodeDecodeError as error:
                raise decode.Refused("undecodable") from error
        return {columns[0].name: record.payload}

    def judge(self, node, columns, context, time_of):
        """The row of a record, with its event time in the context; Refused with the reason."""
        record = context.record
        row = self.decode(node, columns, record)
        if node["key"] and node["transport"] == "kafka":
            key = values.key_text(
                [c for name in node["key"] for c in columns if c.name == name], row
            )
            if record.key != key.encode():
                raise decode.Refused("key_mismatch")
        if time_of is None:
            return row
        unit = "timestamp_ms" if node["event_time"] == "kafka_time" else node["event_time"]["type"]
        try:
            time = time_of(row, context)
        except Failed:
            time = None
        if time is None:
            raise decode.Refused("event_time_invalid")
        if node.get("event_time_column"):
            row.setdefault(node["event_time_column"], time)
        context.event_time = time * UNITS_US[unit]
        if not values.MS_MIN <= context.event_time // 1000 <= values.MS_MAX:
            raise decode.Refused("event_time_invalid")
        if (
            record.kafka_time is not None
            and context.event_time > (record.kafka_time + node["ahead_ms"]) * 1000
        ):
            raise decode.Refused("event_time_ahead")
        return row

    def run_partition(self, node, partition, records):
        stream, columns = self.streams[node["name"]], values.columns_of(node, "payload")
        task = ("source", node["name"], partition)
        time_of = node.get("event_time")
        if time_of == "kafka_time":
            time_of = lambda row, context: context.record.kafka_time
        elif time_of is not None:
            time_of = expressions.build(time_of)
        watermark = MINUS
        for record in records:
            if isinstance(record, tuple):
                watermark = max(watermark, record[1])
                continue
            if record.payload is None and node["drop_tombstones"]:
                continue
            context = Context(record, MINUS, watermark, task)
            try:
                row = self.judge(node, columns, context, time_of)
            except decode.Refused as refused:
                self.reject(stream, context, refused.reason, True)
                continue
            self.leave(stream, row, context)
            if node["watermark_ms"] >= 0:
                watermark = max(watermark, context.event_time - node["watermark_ms"] * 1000)
        self.final[task] = watermark

    def run(self):
        for name, node in self.sources.items():
            for partition, records in enumerate(self.inputs[name]):
                self.run_partition(node, partition, records)
        for stream in self.streams.values():  # inputs come first
            for at, row, context in self.exchanged[stream.name]:
                self.advance(stream, at, row, context)
            for at, step in enumerate(stream.steps):
                if isinstance(step, Window):
                    step.close(self, stream)
        return self


def own_delay(stream):
    """What a windowed stream's W is behind its input's."""
    return next((step.lateness for step in stream.steps if isinstance(step, Window)), 0)


def sum_delay(model, name, stage):
    """The delays from in front of an exchange's stage to what a stream of that stage sends."""
    stream = model.streams[name]
    below = 0 if stream is stage else max(sum_delay(model, i, stage) for i in stream.inputs)
    return below + own_delay(stream)
