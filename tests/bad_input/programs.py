"""Malformed .pipe files and schemas."""

import json
import random

from case import ProgramCase

MIB = 1 << 20

HEAD = "pipeline p;\n"
STREAM = (
    "pipeline p;\n"
    "source s from file 'x.csv' format csv columns (a int64, b string null) rejects to r;\n"
    "stream t from s\n  {clauses};\n"
    "sink k from t to file 'k.jsonl' format jsonl exactly once;\n"
    "sink l from r to file 'l.jsonl' format jsonl exactly once;\n")


def stream(clauses):
    return STREAM.format(clauses=clauses).encode()


def where(expression):
    return stream("where " + expression)


def with_schema(name, schema, says=(), exits=(1,)):
    """A program whose contract is the schema file NAME.avsc, which messages must name."""
    text = (
        f"pipeline p;\ncontract c from 'schemas/{name}.avsc';\n"
        "source s from kafka topic 't' partitions 1 contract c rejects to r;\n"
        "sink k from s to kafka topic 'k' exactly once;\n"
        "sink l from r to kafka topic 'l' key reason exactly once;\n")
    if isinstance(schema, (dict, list)):
        schema = json.dumps(schema).encode()
    schemas = {} if schema is None else {f"{name}.avsc": schema}
    says = (f"{name}.avsc",) + tuple(says) if exits == (1,) else tuple(says)
    return ProgramCase("schema_" + name, text.encode(), exits, says, schemas)


def record(*fields, **more):
    return {"type": "record", "name": "r", "fields": list(fields), **more}


def field(name="a", kind="string", **more):
    return {"name": name, "type": kind, **more}


def text_cases():
    """Bytes that are no program at all."""
    noise = random.Random(46)
    binary = bytes(noise.randrange(256) for _ in range(4096))
    good = stream("where a > 1")
    return [
        ProgramCase("empty", b""),
        ProgramCase("only_space", b" \n\t\r\n"),
        ProgramCase("only_comment", b"-- nothing here"),
        ProgramCase("binary", binary),
        ProgramCase("nul_bytes", b"pipeline p;\0\0\0\n"),
        ProgramCase("nul_in_string", HEAD.encode() + b"contract c from 'a\0b.avsc';\n"),
        ProgramCase("invalid_utf8", HEAD.encode() + b"contract c from '\xff\xfe';\n"),
        ProgramCase("overlong_utf8", HEAD.encode() + b"contract c from '\xc0\xaf';\n"),
        ProgramCase("surrogate_utf8", HEAD.encode() + b"contract c from '\xed\xa0\x80';\n"),
        ProgramCase("cut_utf8", HEAD.encode() + b"-- \xe2\x82"),
        ProgramCase("utf16", good.decode().encode("utf-16")),
        ProgramCase("byte_order_mark", b"\xef\xbb\xbf" + good),
        ProgramCase("cr_only", good.replace(b"\n", b"\r"), exits=(0,)),
        ProgramCase("no_last_newline", good.rstrip(b"\n"), exits=(0,)),
        ProgramCase("no_last_semicolon", good.rstrip(b";\n")),
        ProgramCase("unclosed_string", b"pipeline p;\ncontract c from 'v1.avsc;\n"),
        ProgramCase("unclosed_string_at_end", b"pipeline p;\ncontract c from '"),
        ProgramCase("unclosed_name", b'pipeline "p;\n'),
        ProgramCase("empty_name", b'pipeline "";\n'),
        ProgramCase("long_name", b"pipeline " + b"n" * 64 + b";\n"),
        ProgramCase("very_long_name", b"pipeline " + b"n" * 500_000 + b";\n"),
        ProgramCase("unclosed_comment", b"pipeline p; /* no such comment"),
        ProgramCase("unclosed_parenthesis", where("(a > 1")),
        ProgramCase("line_of_10_mb", b"pipeline p;" + b" " * (10 * MIB) + b"\n"),
        ProgramCase("word_of_10_mb", b"p" * (10 * MIB)),
        ProgramCase("comments_of_10_mb", b"-- x\n" * (2 * MIB)),
        ProgramCase("all_quotes", b"'" * 65_536),
        ProgramCase("all_parentheses", b"(" * 65_536),
        ProgramCase("escape_bytes", b"pipeline \x1b[31mred\x1b[0m;\n"),
    ]


def deep_cases():
    """What recursion would run out of stack on."""
    many = 60_000
    streams = "".join(
        f"stream t{i} from t{i - 1} where a > {i};\n" for i in range(1, 8_000))
    chain = (
        "pipeline p;\n"
        "source t0 from file 'x.csv' format csv columns (a int64) rejects to r;\n" + streams +
        "sink k from t7999 to file 'k.jsonl' format jsonl exactly once;\n"
        "sink l from r to file 'l.jsonl' format jsonl exactly once;\n")
    return [
        ProgramCase("parentheses_199", where("(" * 190 + "a > 1" + ")" * 190), exits=(0,)),
        ProgramCase("parentheses_300", where("(" * 300 + "a > 1" + ")" * 300)),
        ProgramCase("parentheses_100000", where("(" * 100_000 + "a > 1" + ")" * 100_000)),
        ProgramCase("not_100000", where("not " * 100_000 + "a > 1"), exits=(0, 1)),
        ProgramCase("minus_100000", where("- " * 100_000 + "a > 1"), exits=(0, 1)),
        ProgramCase("or_60000", where(" or ".join(["a > 1"] * many)), exits=(0, 1)),
        ProgramCase("and_60000", where(" and ".join(["a > 1"] * many)), exits=(0, 1)),
        ProgramCase("plus_60000", stream("select " + "+".join(["a"] * many) + " as b rejects to r"),
                    exits=(0, 1)),
        ProgramCase("concat_60000", stream("select " + "||".join(["b"] * many) + " as b"),
                    exits=(0, 1)),
        ProgramCase("case_10000", where("case when a > 1 then " * 10_000 + "true" +
                                        " else false end" * 10_000)),
        ProgramCase("calls_10000", where("lower(" * 10_000 + "b" + ")" * 10_000 + " = ''")),
        ProgramCase("try_10000", where("try(" * 10_000 + "true" + ", true)" * 10_000)),
        ProgramCase("path_50000", where(".".join(["a"] * 50_000) + " = 1")),
        ProgramCase("in_list_100000", where("a in (" + ",".join(map(str, range(100_000))) + ")"),
                    exits=(0, 1)),
        ProgramCase("arguments_100000", where("coalesce(" + ",".join(["a"] * 100_000) + ") > 1"),
                    exits=(0, 1)),
        ProgramCase("whens_20000", where("case " + "when a > 1 then true " * 20_000 + "end"),
                    exits=(0, 1)),
        ProgramCase("constant_arrays_10000",
                    HEAD.encode() + b"test 'x' given s at 1s (a: " + b"[" * 10_000 + b"]" * 10_000 +
                    b") expect s nothing;\n"),
        ProgramCase("constant_rows_10000",
                    HEAD.encode() + b"test 'x' given s at 1s " + b"(a: " * 10_000 + b"1" +
                    b")" * 10_000 + b" expect s nothing;\n"),
        ProgramCase("streams_8000", chain.encode(), exits=(0, 1)),
        ProgramCase("columns_20000", stream(
            "select " + ", ".join(f"a as c{i}" for i in range(20_000))), exits=(0, 1)),
    ]


def many_error_cases():
    """At most 20 messages, whatever there is to say."""
    unknown = "".join(
        f"sink k{i} from nobody{i} to file 'k{i}' format jsonl exactly once;\n"
        for i in range(5_000))
    return [
        ProgramCase("syntax_errors_20000", HEAD.encode() + b"stream ;\n" * 20_000),
        ProgramCase("unknown_names_5000", (HEAD + unknown).encode()),
        ProgramCase("type_errors_5000", stream(
            "select " + ", ".join(f"a || {i} as c{i}" for i in range(5_000)))),
        ProgramCase("same_name_5000", HEAD.encode() + b"contract c from 'x.avsc';\n" * 5_000),
        ProgramCase("statements_that_are_none", b"select * from t;\n" * 1_000),
        *(ProgramCase(f"mib_of_{name}", (word * MIB)[:MIB], says=("PC1", "more errors"))
          for name, word in [("semicolons", b";"), ("names", b"a b;"), ("streams", b"stream a;")]),
        *(ProgramCase(f"mib_of_{name}", (word * MIB)[:MIB])
          for name, word in [("parentheses", b"("), ("stream", b"stream "), ("quotes", b"'"),
                             ("dashes", b"--"), ("lines", b"\n"), ("not", b"not "),
                             ("sinks", b"sink a from b to file 'x';"),
                             ("contracts", b"contract c from 'x';"),
                             ("selects", b"stream a from b select a;\n")]),
    ]


def meaning_cases():
    """Well formed, and wrong."""
    digits = "9" * 60
    return [
        ProgramCase("stream_of_itself", stream("where a > 1").replace(b"from s\n", b"from t\n")),
        ProgramCase("circle", (
            "pipeline p;\nstream a from b where true;\nstream b from a where true;\n"
            "sink k from a to file 'k' format jsonl exactly once;\n").encode()),
        ProgramCase("integer_of_60_digits", where(f"a > {digits}")),
        ProgramCase("decimal_of_120_digits", where(f"a > {digits}.{digits}")),
        ProgramCase("duration_too_long",
                    stream("dedup by a within 99999999999999999999d rejects to r")),
        ProgramCase("duration_of_40000_days", stream("dedup by a within 40000d rejects to r")),
        ProgramCase("size_too_large", b"pipeline p commit every 1s or 99999999999999999999GiB;\n"),
        ProgramCase("zero_window", stream(
            "window tumbling 0s aggregate count() as n drop late emit on close")),
        ProgramCase("zero_commit", b"pipeline p commit every 0s;\n"),
        ProgramCase("zero_partitions",
                    HEAD.encode() + b"source s from kafka topic 't' partitions 0 format text;\n"),
        ProgramCase("partitions_too_many", HEAD.encode() +
                    b"source s from kafka topic 't' partitions 99999999999 format text;\n"),
        ProgramCase("bad_unit", where("a > 10min")),
        ProgramCase("other_language", where("a == 1 && b != 'x'")),
        ProgramCase("upper_case", b"PIPELINE p;\n"),
        ProgramCase("chain_of_comparisons", where("1 < a < 3")),
        ProgramCase("bad_regex", where("b is not null and b matches '(('")),
        ProgramCase("regex_too_large", where(
            "b is not null and b matches '((a{1000}){1000}){1000}'")),
        ProgramCase("regex_of_many_steps", where(
            "b is not null and b matches '(a{1,100}){1,10}z'"), says=("2024 instructions", "128")),
        ProgramCase("regex_of_100_kb", where(
            "b is not null and b matches '" + "(a|b)" * 20_000 + "'"), exits=(0, 1)),
        ProgramCase("divides_by_zero", where("a / 0 > 1")),
        ProgramCase("missing_contract", HEAD.encode() + b"contract c from 'no/such/file.avsc';\n",
                    says=("no/such/file.avsc",)),
        ProgramCase("contract_is_directory", HEAD.encode() + b"contract c from 'schemas';\n",
                    says=("schemas",)),
        ProgramCase("contract_outside", HEAD.encode() + b"contract c from '/dev/zero';\n",
                    says=("/dev/zero",)),
    ]


def schema_cases():
    """Schemas that cannot be a contract."""
    itself = record(field("next", ["null", "r"]))
    deep = b'{"type":"record","name":"r","fields":[{"name":"a","type":'
    nested = "string"
    for i in range(70):
        nested = {"type": "record", "name": f"r{i}", "fields": [field("a", nested)]}
    decimal = {"type": "bytes", "logicalType": "decimal"}
    bad = "PC5"
    return [
        with_schema("missing", None),
        with_schema("empty", b""),
        with_schema("not_json", b"record r { string a; }", ("PC5003",)),
        with_schema("cut", b'{"type": "record", "name": "r", "fie', ("PC5003",)),
        with_schema("trailing", json.dumps(record(field())).encode() + b" }", ("PC5003",)),
        with_schema("invalid_utf8", b'{"type":"record","name":"r","doc":"\xff","fields":[]}'),
        with_schema("nul", b'{"type":"record",\0"name":"r","fields":[]}'),
        with_schema("a_string", b'"string"', (bad,)),
        with_schema("a_number", b"1", (bad,)),
        with_schema("an_array", [record(field())], (bad,)),
        with_schema("a_map", {"type": "map", "values": "string"}, ("PC5004",)),
        with_schema("recursive", itself, ("PC5010",)),
        with_schema("duplicate_fields", record(field(), field()), ("PC5007",)),
        with_schema("duplicate_keys", b'{"type":"record","name":"r","name":"s","fields":[]}'),
        with_schema("no_fields", {"type": "record", "name": "r"}, (bad,)),
        with_schema("fields_no_array", {"type": "record", "name": "r", "fields": {}}, (bad,)),
        with_schema("field_no_object", record("a"), (bad,)),
        with_schema("field_null", record(None), (bad,)),
        with_schema("field_no_name", record({"type": "string"}), (bad,)),
        with_schema("field_bad_name", record(field("a b")), ("PC5006",)),
        with_schema("field_name_number", record(field(1)), (bad,)),
        with_schema("field_no_type", record({"name": "a"}), (bad,)),
        with_schema("type_unknown", record(field("a", "text")), ("PC5009",)),
        with_schema("type_number", record(field("a", 7)), (bad,)),
        with_schema("type_null", record(field("a", None)), (bad,)),
        with_schema("type_twice", record(
            field("a", {"type": "fixed", "name": "f", "size": 1}),
            field("b", {"type": "fixed", "name": "f", "size": 2})), ("PC5008",)),
        with_schema("union_of_two", record(field("a", ["string", "long"])), ("PC5011",)),
        with_schema("union_of_three", record(field("a", ["null", "string", "long"])), ("PC5011",)),
        with_schema("union_empty", record(field("a", [])), ("PC5011",)),
        with_schema("union_in_union", record(field("a", ["null", ["null", "long"]])), (bad,)),
        with_schema("default_type", record(field("a", "long", default="x")), ("PC5012",)),
        with_schema("default_range", record(field("a", "int", default=1 << 31)), ("PC5012",)),
        with_schema("default_huge", b'{"type":"record","name":"r","fields":[{"name":"a",'
                    b'"type":"long","default":99999999999999999999}]}'),
        with_schema("default_null", record(field("a", "string", default=None)), ("PC5012",)),
        with_schema("default_branch", record(field("a", ["null", "long"], default=1)), ("PC5012",)),
        with_schema("default_symbol", record(
            field("a", {"type": "enum", "name": "e", "symbols": ["x"]}, default="y")), ("PC5012",)),
        with_schema("enum_no_symbols", record(
            field("a", {"type": "enum", "name": "e", "symbols": []})), ("PC5013",)),
        with_schema("enum_twice", record(
            field("a", {"type": "enum", "name": "e", "symbols": ["x", "x"]})), ("PC5013",)),
        with_schema("fixed_negative", record(
            field("a", {"type": "fixed", "name": "f", "size": -1})), (bad,)),
        with_schema("fixed_huge", record(
            field("a", {"type": "fixed", "name": "f", "size": 1 << 62})), (bad,)),
        with_schema("decimal_no_precision", record(field("a", decimal)), ("PC5014",)),
        with_schema("decimal_39", record(field("a", {**decimal, "precision": 39})), ("PC5014",)),
        with_schema("decimal_scale", record(
            field("a", {**decimal, "precision": 4, "scale": 5})), ("PC5014",)),
        with_schema("nested_70", record(field("a", nested)), exits=(0, 1)),
        with_schema("nested_100000", deep * 100_000, (bad,)),
        with_schema("arrays_100000", b"[" * 100_000, (bad,)),
        with_schema("of_20_mb", b'{"doc":"' + b"x" * (20 * MIB) + b'"}', (bad,)),
        with_schema("fields_20000", record(
            *(field(f"a{i}", "long") for i in range(20_000))), exits=(0, 1)),
    ]


def all_cases():
    return (text_cases() + deep_cases() + many_error_cases() + meaning_cases() + schema_cases())
