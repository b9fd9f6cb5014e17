"""The typed expression trees of a plan, as Python functions of (row, context)."""

import hashlib
import math
import re

import functions as fn
from values import Failed, Type, UNITS_US, float32, symbol

ORDER = {
    "=": lambda a, b: a == b,
    "<>": lambda a, b: a != b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    ">": lambda a, b: a > b,
    ">=": lambda a, b: a >= b,
}
TIMES = ("date", "timestamp_ms", "timestamp_us")


def type_of(node):
    return Type(node.get("type", "null"))


def order_key(value, kind):
    """Something that compares as the language does."""
    if isinstance(value, dict):
        return tuple(order_key(v, kind) for v in value.values())
    if hasattr(value, "index") and kind.kind == "enum":
        return value.index
    return value


def compare(op, a, a_type, b, b_type):
    if a_type.kind == "decimal" or b_type.kind == "decimal":
        a, b = a * 10**b_type.scale, b * 10**a_type.scale
    return ORDER[op](order_key(a, a_type), order_key(b, b_type))


# ---- Arithmetic ----


def truncated(a, b):
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def integers(op, a, b):
    if op in "/%" and b == 0:
        raise Failed("division by zero")
    if op == "/":
        return truncated(a, b)
    if op == "%":
        return a - b * truncated(a, b)
    return a + b if op == "+" else a - b if op == "-" else a * b


def floats(op, a, b, single):
    if op in "/%" and b == 0:
        raise Failed("division by zero")
    try:
        value = {
            "+": lambda: a + b,
            "-": lambda: a - b,
            "*": lambda: a * b,
            "/": lambda: a / b,
            "%": lambda: math.fmod(a, b),
        }[op]()
    except OverflowError as error:
        raise Failed(str(error)) from error
    return float32(value) if single else value


def bounded(value):
    """A text is no longer than 16 records of 1 MiB, and 1 MiB."""
    if isinstance(value, str) and len(value.encode()) > 17 << 20:
        raise Failed("the text is too long")
    return value


def arithmetic(op, kind, a, a_type, b, b_type):
    if op == "||":
        return bounded(a + b)
    if kind.kind in ("float32", "float64"):
        return fn.in_range(floats(op, a, b, kind.kind == "float32"), kind)
    if kind.kind == "decimal":
        if op != "*":
            a, b = fn.rescale(a, a_type.scale, kind.scale), fn.rescale(b, b_type.scale, kind.scale)
        return fn.in_range(integers(op, a, b), kind)
    if a_type.kind in TIMES and b_type.kind in TIMES:
        unit = 1000 // UNITS_US.get(a_type.kind, 1)
        return truncated(a - b, unit) if a_type.kind != "date" else (a - b) * 86400000
    if kind.kind in UNITS_US:
        factor = 1000 // UNITS_US[kind.kind]
        a, b = (a if a_type.kind in TIMES else a * factor), (
            b if b_type.kind in TIMES else b * factor
        )
        for delta, its in ((a, a_type), (b, b_type)):
            if its.kind not in TIMES:
                fn.in_range(delta, Type("int64"))
    return fn.in_range(integers(op, a, b), kind)


# ---- Nodes ----


def literal(node):
    kind, value = type_of(node), node["value"]
    if value is None or kind.kind == "null":
        return None
    if kind.kind in ("float32", "float64"):
        return fn.float_of_text(value, kind)
    if kind.kind == "decimal":
        return fn.decimal_of_text(value, kind)
    if kind.kind == "enum":
        return symbol(kind.name, value)
    if kind.kind == "bytes":
        return value.encode()
    if kind.kind in ("string", "uuid", "bool"):
        return value
    return int(value)


def compile_column(node):
    path = node["path"]
    if len(path) == 1:
        name = path[0]
        return lambda row, context: row[name]

    def nested(row, context):
        for name in path:
            if row is None:
                return None
            row = row[name]
        return row

    return nested


def compile_kafka(node):
    attribute = {
        "kafka_time": "kafka_time",
        "kafka_partition": "partition",
        "kafka_offset": "offset",
        "kafka_key": "key",
    }[node["path"][0]]
    return lambda row, context: getattr(context.record, attribute)


def compile_logic(node):
    left, right, stop = build(node["left"]), build(node["right"]), node["op"] == "or"

    def logic(row, context):
        a = left(row, context)
        if a is stop:
            return stop
        b = right(row, context)
        if b is stop:
            return stop
        return None if a is None or b is None else not stop

    return logic


def compile_binary(node):
    op, kind = node["op"], type_of(node)
    if op in ("and", "or"):
        return compile_logic(node)
    left, right = build(node["left"]), build(node["right"])
    a_type, b_type = type_of(node["left"]), type_of(node["right"])

    def binary(row, context):
        a, b = left(row, context), right(row, context)
        if a is None or b is None:
            return None
        if op in ORDER:
            return compare(op, a, a_type, b, b_type)
        return arithmetic(op, kind, a, a_type, b, b_type)

    return binary


def compile_unary(node):
    inner, kind = build(node["left"]), type_of(node)
    if node["op"] == "not":
        act = lambda value: not value
    elif kind.kind in ("float32", "float64"):
        act = lambda value: -value
    else:
        act = lambda value: fn.in_range(-value, kind)

    def unary(row, context):
        value = inner(row, context)
        return None if value is None else act(value)

    return unary


def compile_predicate(node):
    inner, negated, which = build(node["left"]), node.get("negated", False), node["kind"]
    if which == "is_null":
        return lambda row, context: (inner(row, context) is None) != negated
    if which == "like":
        test = lambda value: fn.like(value, node["pattern"])
    else:
        regex = re.compile(node["pattern"], re.ASCII)
        test = lambda value: regex.search(value) is not None

    def predicate(row, context):
        value = inner(row, context)
        return None if value is None else test(value) != negated

    return predicate


def compile_in(node):
    inner, negated, kind = build(node["left"]), node.get("negated", False), type_of(node["left"])
    wanted = [(build(a), type_of(a)) for a in node["args"]]

    def contained(row, context):
        value = inner(row, context)
        if value is None:
            return None
        return any(compare("=", value, kind, w(row, context), t) for w, t in wanted) != negated

    return contained


def compile_between(node):
    parts = [(build(node[name]), type_of(node[name])) for name in ("left", "low", "high")]
    negated = node.get("negated", False)

    def between(row, context):
        (value, kind), (low, low_type), (high, high_type) = [(p(row, context), t) for p, t in parts]
        if value is None:
            return None
        sides = [
            None if low is None else compare(">=", value, kind, low, low_type),
            None if high is None else compare("<=", value, kind, high, high_type),
        ]
        if False in sides:
            return negated
        return None if None in sides else not negated

    return between


def compile_case(node):
    subject = build(node["subject"]) if "subject" in node else None
    subject_type = type_of(node["subject"]) if subject else None
    whens = [(build(w["when"]), type_of(w["when"]), build(w["then"])) for w in node["whens"]]
    otherwise = build(node["else"]) if "else" in node else lambda row, context: None

    def case(row, context):
        value = subject(row, context) if subject else None
        for when, kind, then in whens:
            test = when(row, context)
            if subject:
                test = (
                    value is not None
                    and test is not None
                    and compare("=", value, subject_type, test, kind)
                )
            if test:
                return then(row, context)
        return otherwise(row, context)

    return case


def compile_cast(node):
    inner, source, kind = build(node["left"]), type_of(node["left"]), type_of(node)

    def convert(row, context):
        value = inner(row, context)
        return None if value is None else fn.cast(value, source, kind)

    return convert


def compile_try(node):
    left, right = build(node["left"]), build(node["right"])

    def attempt(row, context):
        try:
            return left(row, context)
        except Failed:
            return right(row, context)

    return attempt


# ---- Calls ----


def call_coalesce(args, types, kind):
    def coalesce(row, context):
        for arg in args:
            value = arg(row, context)
            if value is not None:
                return value
        return None

    return coalesce


def call_nullif(args, types, kind):
    def nullif(row, context):
        a, b = args[0](row, context), args[1](row, context)
        if a is not None and b is not None and compare("=", a, types[0], b, types[1]):
            return None
        return a

    return nullif


def extreme(better):
    def choose(values, types, kind):
        best = values[0]
        for value in values[1:]:
            if better(order_key(value, kind), order_key(best, kind)):
                best = value
        return best

    return choose


def rounding(exact, of_float):
    def apply(values, types, kind):
        value = values[0]
        if isinstance(value, float):
            return of_float(value)
        return exact(value, 10 ** types[0].scale)

    return apply


def round_float(value):
    if not math.isfinite(value) or abs(value) >= 2**52:
        return value
    return math.copysign(float(fn.half_away(fn.fractions.Fraction(value))), value)


def keep_sign(function):
    return lambda value: (
        math.copysign(float(function(value)), value)
        if function(value) == 0
        else float(function(value))
    )


def absolute(values, types, kind):
    return fn.in_range(abs(values[0]), kind) if not isinstance(values[0], float) else abs(values[0])


def get(values, types, kind):
    container, key = values
    if types[0].kind == "map":
        return next((value for name, value in container if name == key), None)
    return container[key] if 0 <= key < len(container) else None


# Calls that are null if an argument is null: f(values, types, result type).
PLAIN = {
    "length": lambda v, t, k: len(v[0]),
    "octet_length": lambda v, t, k: len(fn.to_bytes(v[0])),
    "lower": lambda v, t, k: fn.simple_case(v[0], str.lower),
    "upper": lambda v, t, k: fn.simple_case(v[0], str.upper),
    "trim": lambda v, t, k: v[0].strip(" "),
    "ltrim": lambda v, t, k: v[0].lstrip(" "),
    "rtrim": lambda v, t, k: v[0].rstrip(" "),
    "substring": lambda v, t, k: fn.substring(*v),
    "left": lambda v, t, k: v[0][: max(v[1], 0)],
    "right": lambda v, t, k: v[0][max(len(v[0]) - max(v[1], 0), 0) :],
    "starts_with": lambda v, t, k: v[0].startswith(v[1]),
    "ends_with": lambda v, t, k: v[0].endswith(v[1]),
    "contains": lambda v, t, k: v[1] in v[0],
    "replace": lambda v, t, k: v[0].replace(v[1], v[2]) if v[1] else v[0],
    "split_part": lambda v, t, k: fn.split_part(*v),
    "concat": lambda v, t, k: "".join(v),
    "regexp_extract": lambda v, t, k: fn.regexp_extract(*v),
    "regexp_replace": lambda v, t, k: fn.regexp_replace(*v),
    "abs": absolute,
    "round": rounding(lambda n, d: fn.half_away(fn.fractions.Fraction(n, d)), round_float),
    "floor": rounding(lambda n, d: n // d, keep_sign(math.floor)),
    "ceil": rounding(lambda n, d: -(-n // d), keep_sign(math.ceil)),
    "greatest": extreme(lambda a, b: a > b),
    "least": extreme(lambda a, b: a < b),
    "date_trunc": lambda v, t, k: fn.date_trunc(v[0], v[1], t[1]),
    "date_part": lambda v, t, k: fn.date_part(v[0], v[1], t[1]),
    "parse_timestamp": lambda v, t, k: fn.parse_timestamp(v[0], v[1], k),
    "format_timestamp": lambda v, t, k: fn.format_timestamp(v[0], v[1], t[0]),
    "get": get,
    "json_value": lambda v, t, k: fn.json_value(*v),
    "hash64": lambda v, t, k: fn.xxh64(fn.to_bytes(v[0])),
    "sha256": lambda v, t, k: hashlib.sha256(v[0].encode()).hexdigest(),
    "hmac_sha256": lambda v, t, k: fn.keyed(*v),
}


def compile_call(node):
    args, kind = [build(a) for a in node.get("args", [])], type_of(node)
    types = [type_of(a) for a in node.get("args", [])]
    name = node["function"]
    if name in ("coalesce", "nullif"):
        return (call_coalesce if name == "coalesce" else call_nullif)(args, types, kind)
    act = PLAIN[name]

    def call(row, context):
        values = [arg(row, context) for arg in args]
        return None if None in values else bounded(act(values, types, kind))

    return call


def compile_constant(node):
    value = literal(node)
    return lambda row, context: value


def compile_symbol(node):
    value = symbol(node["type"], node["value"])
    return lambda row, context: value


COMPILERS = {
    "literal": compile_constant,
    "column": compile_column,
    "kafka": compile_kafka,
    "call": compile_call,
    "unary": compile_unary,
    "binary": compile_binary,
    "is_null": compile_predicate,
    "between": compile_between,
    "in": compile_in,
    "like": compile_predicate,
    "matches": compile_predicate,
    "case": compile_case,
    "cast": compile_cast,
    "try": compile_try,
    "convert": compile_cast,
    "symbol": compile_symbol,
}


def build(node):
    return COMPILERS[node["kind"]](node)
