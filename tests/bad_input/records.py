"""Malformed CSV files, JSON lines and text files, each with what must become of every record."""

import json

from case import DataCase, undecodable

MIB = 1 << 20
CSV_HEAD = b"id,name,amount,flag,day,at\n"
NO_TIME = ("event_time_invalid", "at is null")


def csv_row(number, **changes):
    values = {"id": str(number), "name": f"n{number}", "amount": "1.50", "flag": "true",
              "day": "2026-01-31", "at": "2026-01-31T10:00:00Z", **changes}
    return ",".join(values.values()).encode() + b"\n"


def csv_case(name, rows, accepted, refused, **more):
    return DataCase("csv_" + name, CSV_HEAD + b"".join(rows), accepted, refused, **more)


def csv_value_cases():
    """One bad value between two good rows: record 1 is refused, with the column in detail."""
    bad = {
        "id_empty": {"id": ""},
        "id_word": {"id": "seven"},
        "id_fraction": {"id": "1.0"},
        "id_exponent": {"id": "1e3"},
        "id_space": {"id": " 7"},
        "id_two_signs": {"id": "+-7"},
        "id_too_large": {"id": "9223372036854775808"},
        "id_too_small": {"id": "-9223372036854775809"},
        "id_of_100_digits": {"id": "1" * 100},
        "amount_three_digits": {"amount": "1.505"},
        "amount_too_large": {"amount": "1000000.00"},
        "amount_comma": {"amount": '"1,50"'},
        "amount_nan": {"amount": "NaN"},
        "flag_number": {"flag": "1"},
        "flag_case": {"flag": "TRUE"},
        "day_30_february": {"day": "2026-02-30"},
        "day_year_0": {"day": "0000-01-01"},
        "at_no_zone": {"at": "2026-01-31T10:00:00"},
        "at_hour_25": {"at": "2026-01-31T25:00:00Z"},
        "at_year_10000": {"at": "10000-01-01T00:00:00Z"},
    }
    return [csv_case(name, [csv_row(0), csv_row(1, **change), csv_row(2)], [0, 2],
                     {1: undecodable(next(iter(change)))}) for name, change in bad.items()]


def csv_shape_cases():
    """Rows, quotes and line ends."""
    good = csv_row(0)
    big = 2 * MIB
    return [
        csv_case("good", [csv_row(n) for n in range(3)], [0, 1, 2], {}),
        csv_case("limits", [csv_row("9223372036854775807"), csv_row("-9223372036854775808"),
                            csv_row("+5")], [(1 << 63) - 1, -(1 << 63), 5], {}),
        csv_case("decimal_plus", [good, csv_row(1, amount="+1"), csv_row(2)], [0, 2],
                 {1: undecodable("no `+`, no exponent, at most 6 digits before the point and 2")}),
        csv_case("nulls", [csv_row(0, amount="", flag="", day="", name="")], [0], {}),
        csv_case("no_event_time", [good, csv_row(1, at=""), csv_row(2)], [0, 2], {1: NO_TIME}),
        csv_case("too_few", [good, b"1,n1\n", csv_row(2)], [0, 2], {1: undecodable()}),
        csv_case("too_many", [good, csv_row(1)[:-1] + b",x\n", csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("empty_line", [good, b"\n", csv_row(2)], [0, 2], {1: undecodable()}),
        csv_case("only_commas", [good, b",,,,,\n", csv_row(2)], [0, 2], {1: undecodable("id")}),
        csv_case("quoted", [csv_row(0, name='"a,""b""\n c"'), csv_row(1)], [0, 1], {}),
        csv_case("bare_quote", [good, csv_row(1, name='a"b'), csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("text_behind_quote", [good, csv_row(1, name='"a"b'), csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("quote_never_closed", [good, csv_row(1, name='"a'), csv_row(2), csv_row(3)], [0],
                 {1: undecodable()}),
        csv_case("quote_never_closed_long",
                 [good, csv_row(1, name='"a'), *(csv_row(n) for n in range(2, 60_000))],
                 None, None),
        csv_case("cr_lf", [good.replace(b"\n", b"\r\n"), csv_row(1).replace(b"\n", b"\r\n")],
                 [0, 1], {}),
        csv_case("no_last_newline", [good, csv_row(1)[:-1]], [0, 1], {}),
        csv_case("cut_row", [good, csv_row(1)[:12]], [0], {1: undecodable()}),
        csv_case("nul_in_text", [good, csv_row(1, name="a\0b"), csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("nul_in_quotes", [good, csv_row(1, name='"a\0b"'), csv_row(2)], [0, 1, 2], {}),
        csv_case("nul_in_number", [good, csv_row(1, id="1\0"), csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("all_nul", [good, b"\0" * 4096 + b"\n", csv_row(2)], [0, 2], {1: undecodable()}),
        csv_case("invalid_utf8", [good, b"1,\xff\xfe,1.50,true,2026-01-31,\n", csv_row(2)],
                 [0, 2], {1: undecodable("name")}),
        csv_case("overlong_utf8", [good, b"1,\xc0\xaf,1.50,true,2026-01-31,\n", csv_row(2)],
                 [0, 2], {1: undecodable("name")}),
        csv_case("huge_field", [good, csv_row(1, name="x" * big), csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("huge_quoted_field", [good, csv_row(1, name='"' + "x" * big + '"'), csv_row(2)],
                 [0, 2], {1: undecodable()}),
        csv_case("many_fields", [good, b"," * 900_000 + b"\n", csv_row(2)], [0, 2],
                 {1: undecodable()}),
        csv_case("ragged_100000", [b"1,2\n"] * 100_000 + [csv_row(7)], [7],
                 {n: undecodable() for n in range(100_000)}),
        csv_case("only_header", [], [], {}),
    ]


def csv_header_cases():
    """Headers that stop the program before the first record, and some that must not."""
    row = csv_row(0)
    swapped = b"name,id,more,amount,flag,day,at\nn0,7,x,1.50,true,2026-01-31,2026-01-31T10:00:00Z\n"
    return [
        DataCase("csv_byte_order_mark", b"\xef\xbb\xbf" + CSV_HEAD + row, [0], {}),
        DataCase("csv_other_order", swapped, [7], {}),
        DataCase("csv_quoted_header", CSV_HEAD.replace(b"id,", b'"id",') + row, [0], {}),
        DataCase("csv_empty", b"", exits=(1,)),
        DataCase("csv_missing_column", CSV_HEAD.replace(b"amount,", b"") + row, exits=(1,),
                 says=("column amount: this column is not in the header, which has 'id', 'name'",)),
        DataCase("csv_semicolons", CSV_HEAD.replace(b",", b";") + row, exits=(1,),
                 says=("has ';' where commas must separate",)),
        DataCase("csv_tabs", CSV_HEAD.replace(b",", b"\t") + row, exits=(1,),
                 says=("has tabs where commas must separate",)),
        DataCase("csv_other_case", CSV_HEAD.replace(b"id", b"ID") + row, exits=(1,), says=("id",)),
        DataCase("csv_no_header", row, exits=(1,)),
        DataCase("csv_column_twice", CSV_HEAD[:-1] + b",id\n" + row[:-1] + b",9\n", exits=(1,),
                 says=("id",)),
        DataCase("csv_cr_only", (CSV_HEAD + row).replace(b"\n", b"\r"), exits=(1,)),
        DataCase("csv_utf16", (CSV_HEAD + row).decode().encode("utf-16"), exits=(1,)),
        DataCase("csv_binary", bytes((i * i * 31 + i * 7) % 256 for i in range(65_536)),
                 exits=(1,)),
        DataCase("csv_header_quote_never_closed", b'"id,name\n' + row, exits=(1,)),
        DataCase("csv_header_of_3_mb", b"x," * (3 * MIB // 2) + CSV_HEAD + row, exits=(1,)),
    ]


def sample(number, **changes):
    """A sound record of types.avsc, as JSON."""
    return {"id": number, "name": f"n{number}", "kind": "red", "amount": "1.50", "flag": None,
            "ratio": 0.5, "day": None, "token": "AAECAw==", "tags": ["a"], "attrs": {"k": 1},
            "inner": {"x": 1, "y": None}, "at": "2026-01-31T10:00:00Z", **changes}


def json_line(number, **changes):
    return json.dumps(sample(number, **changes)).encode() + b"\n"


def jsonl_case(name, line, detail=None):
    """One bad line between two good ones."""
    data = json_line(0) + line + json_line(2)
    return DataCase("jsonl_" + name, data, [0, 2], {1: undecodable(detail)})


def jsonl_value_cases():
    bad = {
        "id_string": ("id", "1"),
        "id_fraction": ("id", 1.5),
        "id_null": ("id", None),
        "id_too_large": ("id", 1 << 63),
        "id_array": ("id", [1]),
        "name_number": ("name", 1),
        "name_null": ("name", None),
        "kind_unknown": ("kind", "blue"),
        "kind_number": ("kind", 0),
        "amount_three_digits": ("amount", "1.505"),
        "amount_too_large": ("amount", "1234567.00"),
        "amount_word": ("amount", "one"),
        "flag_branch": ("flag", {"boolean": True}),
        "flag_string": ("flag", "true"),
        "ratio_string": ("ratio", "0.5"),
        "day_30_february": ("day", "2026-02-30"),
        "day_instant": ("day", "2026-02-20T00:00:00Z"),
        "token_short": ("token", "AAEC"),
        "token_no_base64": ("token", "!!!!!!=="),
        "tags_object": ("tags", {}),
        "tags_number": ("tags", ["a", 1]),
        "attrs_string": ("attrs", {"k": "1"}),
        "inner_missing": ("inner", {"y": "a"}),
        "inner_range": ("inner", {"x": 1 << 31}),
        "at_null": ("at", None),
        "at_no_zone": ("at", "2026-01-31T10:00:00"),
        "at_year_0": ("at", "0000-01-01T00:00:00Z"),
        "at_out_of_range": ("at", 1 << 60),
    }
    details = {"kind_unknown": "is no symbol of the enum (red, green)"}
    return [jsonl_case(name, json_line(1, **{column: value}), details.get(name, column))
            for name, (column, value) in bad.items()]


def jsonl_text_cases():
    line = json_line(1)
    without = json.dumps({k: v for k, v in sample(1).items() if k != "name"}).encode() + b"\n"

    def instead(old, new):
        assert old in line
        return line.replace(old, new)

    return [
        jsonl_case("empty_line", b"\n", "the line is empty"),
        jsonl_case("only_space", b"   \n"),
        jsonl_case("no_json", b"id=1\n"),
        jsonl_case("cut", line[:40] + b"\n"),
        jsonl_case("array", b"[1]\n"),
        jsonl_case("number", b"1\n"),
        jsonl_case("string", b'"a"\n'),
        jsonl_case("null", b"null\n"),
        jsonl_case("trailing", line[:-1] + b"x\n"),
        jsonl_case("two_objects", line[:-1] + line),
        jsonl_case("comma_at_end", line[:-2] + b",}\n"),
        jsonl_case("single_quotes", line.replace(b'"', b"'")),
        jsonl_case("comment", instead(b"{", b"{/* */")),
        jsonl_case("missing", without, "name"),
        jsonl_case("name_twice", instead(b'"id": 1', b'"id": 1, "id": 2'), "id"),
        jsonl_case("bad_value_skipped", instead(b'"id": 1', b'"id": 1, "z": [}')),
        jsonl_case("leading_zero", instead(b'"id": 1', b'"id": 01')),
        jsonl_case("plus", instead(b'"id": 1', b'"id": +1')),
        jsonl_case("exponent", instead(b'"id": 1', b'"id": 1e3'), "id"),
        jsonl_case("nan", instead(b"0.5", b"NaN")),
        jsonl_case("infinite", instead(b"0.5", b"1e999"), "ratio"),
        jsonl_case("digits_100000", instead(b'"id": 1', b'"id": ' + b"1" * 100_000), "id"),
        jsonl_case("lone_surrogate", instead(b'"n1"', b'"\\ud800"')),
        jsonl_case("surrogates_swapped", instead(b'"n1"', b'"\\udc00\\ud800"')),
        jsonl_case("bad_escape", instead(b'"n1"', b'"\\x41"')),
        jsonl_case("cut_escape", instead(b'"n1"', b'"\\u00"')),
        jsonl_case("control", instead(b'"n1"', b'"a\x01"')),
        jsonl_case("invalid_utf8", instead(b'"n1"', b'"\xff"')),
        jsonl_case("overlong_utf8", instead(b'"n1"', b'"\xc0\xaf"')),
        jsonl_case("nul_byte", instead(b'"id"', b'\0"id"')),
        jsonl_case("deep_skipped", instead(b"{", b'{"z": ' + b"[" * 70 + b"]" * 70 + b", ")),
        jsonl_case("deep_100000", b"[" * 100_000 + b"\n"),
        jsonl_case("deep_objects_100000", b'{"z":' * 100_000 + b"\n"),
        jsonl_case("over_1_mib", instead(b'"n1"', b'"' + b"x" * (2 * MIB) + b'"')),
        jsonl_case("key_over_1_mib", instead(b'"id"', b'"' + b"x" * (2 * MIB) + b'"')),
    ]


def jsonl_good_cases():
    """Odd, and to be accepted."""
    odd = json.dumps({"more": [1, {"a": None}], **sample(1, amount=1.5, at=0)}).encode() + b"\n"
    return [
        DataCase("jsonl_empty", b"", [], {}),
        DataCase("jsonl_byte_order_mark", b"\xef\xbb\xbf" + json_line(0), [0], {}),
        DataCase("jsonl_no_last_newline", json_line(0) + json_line(1)[:-1], [0, 1], {}),
        DataCase("jsonl_cut_at_end", json_line(0) + json_line(1)[:-5], [0], {1: undecodable()}),
        DataCase("jsonl_cr_lf", json_line(0).replace(b"\n", b"\r\n"), [0], {}),
        DataCase("jsonl_other_fields", json_line(0) + odd, [0, 1], {}),
        DataCase("jsonl_limits", json_line((1 << 63) - 1) + json_line(-(1 << 63)),
                 [(1 << 63) - 1, -(1 << 63)], {}),
        DataCase("jsonl_cr_only", (json_line(0) + json_line(1)).replace(b"\n", b"\r"), [],
                 {0: undecodable()}),
        DataCase("jsonl_binary", bytes((i * i * 31 + i * 7) % 256 for i in range(65_536)), [],
                 None),
    ]


def text_cases():
    return [
        DataCase("text_empty", b"", [], {}),
        DataCase("text_no_last_newline", b"a\nb", ["a", "b"], {}),
        DataCase("text_cr_lf", b"a\r\nb\r\n", ["a", "b"], {}),
        DataCase("text_cr_inside", b"a\rb\n", ["a\rb"], {}),
        DataCase("text_empty_lines", b"\n\na\n", ["", "", "a"], {}),
        DataCase("text_invalid_utf8", b"a\n\xff\nb\n", ["a", "b"], {1: undecodable()}),
        DataCase("text_cut_utf8", b"a\n\xe2\x82\nb\n", ["a", "b"], {1: undecodable()}),
        DataCase("text_nul", b"a\n\0\0\nb\n", ["a", "\0\0", "b"], {}),
        DataCase("text_huge", b"a\n" + b"x" * (3 * MIB) + b"\nb\n", ["a", "b"],
                 {1: undecodable()}),
        DataCase("text_huge_without_newline", b"x" * (32 * MIB), [], {0: undecodable()}),
        DataCase("text_a_million_lines", b"\n" * 1_000_000, None, {}),
    ]


def csv_cases():
    return csv_value_cases() + csv_shape_cases() + csv_header_cases()


def jsonl_cases():
    return jsonl_value_cases() + jsonl_text_cases() + jsonl_good_cases()
