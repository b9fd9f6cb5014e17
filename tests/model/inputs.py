"""The inputs of a run for the model: topics with time records, topic files, data files."""

import base64
import functools
import glob
import json
import re
import subprocess

import fastavro

import decode
import functions as fn
import values
from model import PLUS, Record

MILLISECONDS = values.Type("timestamp_ms")


def dump(program, directory, topics):
    """topic → [(partition, offset, kafka_time ms, key, value)], key and value as bytes or None."""
    found = {topic: [] for topic in topics}
    if found:
        command = [str(program), "inspect", str(directory), "dump", *found]
        lines = subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout
        for line in lines.splitlines():
            topic, record = dumped_record(line.decode())
            found[topics[0] if topic is None else topic].append(record)
    return found


LINE = re.compile(
    r'\{(?:"topic":"([^"]*)",)?"partition":(\d+),"offset":(\d+),'
    r'"kafka_time":("[^"]*"|null),"key(?:_base64)?":'
    r'(null|"(?:[^"\\]|\\.)*"),"value(_base64)?":(.*)\}'
)


@functools.lru_cache(1 << 12)  # records of one batch have one time
def read_time(text):
    return None if text == "null" else fn.read_instant(json.loads(text), MILLISECONDS)


def dumped_record(line):
    """(topic, None: that of all; the record)."""
    topic, partition, offset, time, key, in_base64, value = LINE.fullmatch(line).groups()
    if key != "null":
        text = json.loads(key)
        is_base64 = '"key_base64":' in line[: line.index(key)]
        key = base64.b64decode(text) if is_base64 else text.encode()
    else:
        key = None
    if in_base64:
        value = base64.b64decode(json.loads(value))
    elif value == "null":
        value = None
    else:
        value = json.loads(value).encode() if value[0] == '"' else value.encode()
    return topic, (int(partition), int(offset), read_time(time), key, value)


def zigzag(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value >> 1 ^ -(value & 1), at


def time_topic(plan, node):
    return f"pipec.{plan['pipeline']}.{node['name']}.time"


def time_records(dumped):
    """partition → [(offset, floor µs)]: a floor acts before the record at its offset."""
    floors = {}
    for partition, _, _, _, value in dumped:
        offset, at = zigzag(value, 0)
        _, at = zigzag(value, at)
        floor, _ = zigzag(value, at)
        floors.setdefault(partition, []).append((offset, PLUS if floor == (1 << 63) - 1 else floor))
    return floors


def with_floors(records, floors):
    out = []
    for record in records:
        while floors and floors[0][0] <= record.offset:
            out.append(("time", floors.pop(0)[1]))
        out.append(record)
    return out + [("time", floor) for _, floor in floors]


def of_topic(dumped, plan, node, index):
    partitions = [[] for _ in range(node["partitions"])]
    for partition, offset, time, key, value in dumped[node["topic"]]:
        partitions[partition].append(
            Record(index, partition, offset, value, node["topic"], key, time)
        )
    floors = time_records(dumped[time_topic(plan, node)])
    return [with_floors(records, floors.get(p, [])) for p, records in enumerate(partitions)]


def of_topic_files(pattern, node, index):
    partitions = []
    for partition, path in enumerate(sorted(glob.glob(pattern))):
        with open(path, "rb") as file:
            records = [
                Record(
                    index,
                    partition,
                    offset,
                    record["value"],
                    node["topic"],
                    record["key"],
                    milliseconds(record["kafka_time"]),
                )
                for offset, record in enumerate(fastavro.reader(file))
            ]
        partitions.append(records + [("time", PLUS)])
    return partitions


def milliseconds(moment):
    if isinstance(moment, int):
        return moment
    return (moment.replace(tzinfo=None) - values.EPOCH) // fn.datetime.timedelta(milliseconds=1)


def lines_of(data):
    lines = data.split(b"\n")
    if lines and lines[-1] == b"":
        lines.pop()
    return [line[:-1] if line.endswith(b"\r") else line for line in lines]


def records_of_container(path, contract):
    """[(bytes of the record, version of the contract)]."""
    records = []
    with open(path, "rb") as file:
        blocks = fastavro.block_reader(file)
        written = json.loads(blocks.metadata["avro.schema"])
        canonical = fastavro.schema.to_parsing_canonical_form(written)
        fingerprint = bytes.fromhex(fastavro.schema.fingerprint(canonical, "CRC-64-AVRO"))
        plain = decode.without_logical_types(written)
        for block in blocks:
            walker = decode.Walker(block.bytes_.read())
            for _ in range(block.num_records):
                begin = walker.at
                walker.value(plain)
                records.append(
                    (walker.data[begin : walker.at], contract.by_fingerprint.get(fingerprint))
                )
    return records


def position(column, names, contract):
    """Where a header has the column; None: nowhere, for it is that of a version without it."""
    if column.name in names:
        return names.index(column.name)
    older = contract.versions[1:]
    if all(column.name in decode.fields_by_name(v["definition"]) for v in older):
        raise ValueError(f"no version is without {column.name}")
    return None


def records_of_file(path, node, columns, contract):
    """[(payload, fields)] of one data file."""
    if node["format"] == "avro":
        return records_of_container(path, contract)
    with open(path, "rb") as file:
        data = file.read()
    data = data[3:] if data.startswith(b"\xef\xbb\xbf") else data
    if node["format"] != "csv":
        return [(line, None) for line in lines_of(data)]
    records = decode.split_csv(data)
    positions = list(range(len(columns)))
    expected = len(columns)
    if node["header"]:
        names = [text for text, _ in records.pop(0)[1]]
        positions, expected = [position(c, names, contract) for c in columns], len(names)
    return [(text, (fields, expected, positions)) for text, fields in records]


def of_files(pattern, node, index, contract):
    columns = values.columns_of(node, "payload")
    partitions = []
    for partition, path in enumerate(sorted(glob.glob(pattern))):
        records = [
            Record(index, partition, offset, payload, path, fields=fields)
            for offset, (payload, fields) in enumerate(
                records_of_file(path, node, columns, contract)
            )
        ]
        partitions.append(records + [("time", PLUS)])
    return partitions


def load(plan, paths, program=None, directory=None):
    """paths: source → pattern of files; others are read from the topics of the run directory."""
    inputs = {}
    sources = [node for node in plan["nodes"] if node["node"] == "source"]
    contracts = {
        node["name"]: decode.Contract(node) for node in plan["nodes"] if node["node"] == "contract"
    }
    read = [node for node in sources if node["name"] not in paths]
    topics = [node["topic"] for node in read] + [time_topic(plan, node) for node in read]
    dumped = dump(program, directory, topics)
    for index, node in enumerate(sources):
        pattern = paths.get(node["name"])
        if pattern is None:
            inputs[node["name"]] = of_topic(dumped, plan, node, index)
        elif node["transport"] == "kafka":
            inputs[node["name"]] = of_topic_files(pattern, node, index)
        else:
            inputs[node["name"]] = of_files(
                pattern, node, index, contracts.get(node.get("contract"))
            )
    return inputs
