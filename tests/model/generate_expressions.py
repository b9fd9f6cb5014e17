"""Random well-typed expressions over the columns of a row.

Every function here returns (text, nullable). What may fail is fine: all streams have `rejects to`.
"""

NUMBERS = ("int32", "int64", "float32", "float64")
ORDERED = NUMBERS + (
    "decimal",
    "string",
    "date",
    "timestamp_ms",
    "timestamp_us",
    "uuid",
    "enum",
    "bool",
    "bytes",
)
TEXTS = ["", "a", "b", "x.y.z", "12", "-7", "äö", "DE", " a ", "it''s", "a%_b", "7f"]
PATTERNS = ["a+", "^[a-z]+$", "[0-9]{2}", "(x)\\.(y)", "b|z", "\\.", "^$", "[^a]"]
LIKES = ["%a%", "_", "x%", "%", "", "%.%.%", "1_"]
UNITS = ["second", "minute", "hour", "day", "week", "month", "year"]
FORMATS = ["%Y-%m-%d", "%H:%M:%S", "%Y%m%d%H", "%d %b %Y %H:%M:%S %z", "%S.%f", "100%%"]
ROW = 70  # columns of a line, roughly


class Kind:
    """A type as generated: name with parameters, and what it holds."""

    def __init__(self, name, **more):
        self.name = name
        self.base = name.split("(")[0]
        self.scale = self.precision = 0
        self.symbols = self.element = None
        self.fields = ()
        self.__dict__.update(more)


INT32, INT64, FLOAT64, STRING, BOOL = (
    Kind(n) for n in ("int32", "int64", "float64", "string", "bool")
)
TIMESTAMP_MS, TIMESTAMP_US, DATE = (Kind(n) for n in ("timestamp_ms", "timestamp_us", "date"))


class Field:
    def __init__(self, name, kind, nullable=False, opaque=False):
        self.name, self.kind, self.nullable = name, kind, nullable
        self.opaque = opaque  # only passed on: its value is approximate
        self.default = None


class Expressions:
    def __init__(self, rng, fields):
        self.rng = rng
        self.fields = [f for f in fields if not f.opaque]

    def columns(self, base):
        """(text, nullable, kind) of all columns, and of the fields of records, of a base type."""
        found = []
        for field in self.fields:
            if field.kind.base == base:
                found.append((field.name, field.nullable, field.kind))
            for inner in field.kind.fields:
                if inner.kind.base == base:
                    found.append(
                        (f"{field.name}.{inner.name}", field.nullable or inner.nullable, inner.kind)
                    )
        return found

    def column(self, base):
        found = self.columns(base)
        return self.rng.choice(found) if found else None

    # ---- Literals ----

    def quoted(self, text):
        return f"'{text}'"

    def literal(self, kind):
        """Of a type that its neighbour gives it."""
        rng, base = self.rng, kind.base
        if base in ("int32", "int64"):
            return str(rng.choice([0, 1, 2, 3, 7, 10, 12, 100, -1, -5, 60]))
        if base in ("float32", "float64"):
            return rng.choice(["0.5", "1", "2.25", "-3.5", "100", "0"])
        if base == "decimal":
            whole = str(rng.randrange(10 ** min(kind.precision - kind.scale, 3)))
            return whole + (
                "." + "0" * (kind.scale - 1) + "5" if kind.scale and rng.random() < 0.5 else ""
            )
        if base == "bool":
            return rng.choice(["true", "false"])
        if base == "enum":
            return self.quoted(rng.choice(kind.symbols))
        if base == "date":
            return "'2026-01-01'"
        if base in ("timestamp_ms", "timestamp_us"):
            return f"'2026-01-01T00:0{rng.randrange(3)}:{rng.randrange(60):02}Z'"
        if base == "uuid":
            return "'6f1ad1e8-7a6f-4c4f-9f0b-0123456789ab'"
        return self.quoted(rng.choice(TEXTS))

    # ---- By type ----

    def of(self, base, depth):
        """An expression of a base type that has a type of its own, not only a literal."""
        make = {
            "bool": self.boolean,
            "int64": self.int64,
            "int32": self.int32,
            "float64": self.float64,
            "string": self.string,
            "timestamp_ms": self.instant,
            "timestamp_us": self.instant,
        }[base]
        return make(depth, base) if base.startswith("timestamp") else make(depth)

    def pick(self, depth, base, choices):
        column = self.column(base)
        if column and (depth <= 0 or self.rng.random() < 0.3):
            return column[:2]
        if depth <= 0:
            return None
        return self.rng.choice(choices)(depth - 1)

    def boolean(self, depth):
        got = self.pick(
            depth,
            "bool",
            [
                self.comparison,
                self.comparison,
                self.null_test,
                self.membership,
                self.logic,
                self.negation,
                self.string_test,
                self.between,
            ],
        )
        return got or self.null_test(0)

    def some_column(self):
        found = [c for base in ORDERED for c in self.columns(base)]
        return self.rng.choice(found) if found else None

    def comparison(self, depth):
        operators = ["=", "<>", "<", "<=", ">", ">="]
        column = self.some_column()
        if column is None or self.rng.random() < 0.5:
            base = self.rng.choice(["int64", "string", "float64"])
            a, b = self.of(base, depth), self.of(base, depth)
            return f"{a[0]} {self.rng.choice(operators)} {b[0]}", a[1] or b[1]
        text, nullable, kind = column
        if kind.base in ("bool", "enum"):
            operators = operators[:2]
        if kind.base == "bytes":
            return f"{text} = {text}", nullable
        return f"{text} {self.rng.choice(operators)} {self.literal(kind)}", nullable

    def null_test(self, depth):
        fields = [f for f in self.fields if f.nullable] or self.fields
        field = self.rng.choice(fields)
        return f"{field.name} is {self.rng.choice(['', 'not '])}null", False

    def membership(self, depth):
        column = self.column(self.rng.choice(["int64", "int32", "string", "enum"]))
        if column is None:
            return self.comparison(depth)
        items = sorted({self.literal(column[2]) for _ in range(3)})
        return f"{column[0]} {self.rng.choice(['', 'not '])}in ({', '.join(items)})", column[1]

    def between(self, depth):
        base = self.rng.choice(["int64", "float64"])
        a = self.of(base, depth)
        low, high = self.bound(base, depth), self.bound(base, depth)
        return (
            f"({a[0]}) {self.rng.choice(['', 'not '])}between ({low[0]}) and ({high[0]})",
            a[1] or low[1] or high[1],
        )

    def bound(self, base, depth):
        column = self.column(base)
        if column and self.rng.random() < 0.4:
            return column[:2]
        if depth > 0 and self.rng.random() < 0.3:
            return self.of(base, depth - 1)
        return self.literal(Kind(base)), False

    def logic(self, depth):
        a, b = self.boolean(depth), self.boolean(depth)
        return f"({a[0]}) {self.rng.choice(['and', 'or'])} ({b[0]})", a[1] or b[1]

    def negation(self, depth):
        a = self.boolean(depth)
        return f"not ({a[0]})", a[1]

    def string_test(self, depth):
        a = self.string(depth)
        rng = self.rng
        tests = [
            f"{a[0]} {rng.choice(['', 'not '])}like {self.quoted(rng.choice(LIKES))}",
            f"{a[0]} {rng.choice(['', 'not '])}matches {self.quoted(rng.choice(PATTERNS))}",
            f"{rng.choice(['starts_with', 'ends_with', 'contains'])}"
            f"({a[0]}, {self.quoted(rng.choice(TEXTS))})",
        ]
        return rng.choice(tests), a[1]

    def definite(self, depth):
        """For filters: never null."""
        if self.rng.random() < 0.25:
            return self.narrowed(depth)
        text, nullable = self.boolean(depth)
        if not nullable:
            return text
        return f"coalesce({text}, {self.rng.choice(['true', 'false'])})"

    def narrowed(self, depth):
        """A test of a column that may be null, where it is known not to be."""
        nullable = [
            f
            for f in self.fields
            if f.nullable and f.kind.base in ORDERED and f.kind.base != "bytes"
        ]
        if not nullable:
            return self.null_test(depth)[0]
        field = self.rng.choice(nullable)
        operator = (
            "=" if field.kind.base in ("bool", "enum") else self.rng.choice(["<", ">=", "<>"])
        )
        test = f"{field.name} {operator} {self.literal(field.kind)}"
        if self.rng.random() < 0.5:
            return f"{field.name} is not null and {test}"
        more = self.definite(depth - 1) if depth > 0 else "true"
        return f"({field.name} is null or {test}) and {more}"

    def int64(self, depth):
        choices = [
            self.arithmetic("int64"),
            self.arithmetic("int64"),
            self.length,
            self.casted("int64"),
            self.coalesced("int64"),
            self.case("int64"),
            self.extreme("int64"),
            self.hash,
            self.tried("int64"),
            self.nullif("int64"),
            self.octets,
            self.absolute("int64"),
        ]
        return self.pick(depth, "int64", choices) or self.length(0)

    def int32(self, depth):
        return self.pick(
            depth,
            "int32",
            [
                self.date_part,
                self.arithmetic("int32"),
                self.coalesced("int32"),
                self.casted("int32"),
                self.absolute("int32"),
            ],
        ) or self.casted("int32")(0)

    def float64(self, depth):
        choices = [
            self.arithmetic("float64"),
            self.casted("float64"),
            self.case("float64"),
            self.coalesced("float64"),
            self.rounded,
            self.tried("float64"),
            self.extreme("float64"),
        ]
        return self.pick(depth, "float64", choices) or self.casted("float64")(0)

    def arithmetic(self, base):
        def make(depth):
            operators = ["+", "-", "*", "/", "%"]
            a = self.of(base, depth)
            operator = self.rng.choice(operators)
            if self.rng.random() < 0.5:
                b = (self.literal(Kind(base)), False)
                if operator in "/%" and b[0] in ("0", "-0"):
                    b = ("7", False)
            else:
                b = self.of(base, depth)
            if self.rng.random() < 0.1:
                return f"-({a[0]})", a[1]
            return f"({a[0]}) {operator} ({b[0]})", a[1] or b[1]

        return make

    def length(self, depth):
        arrays = self.columns("array")
        if arrays and self.rng.random() < 0.3:
            column = self.rng.choice(arrays)
            return f"length({column[0]})", column[1]
        a = self.string(depth)
        return f"length({a[0]})", a[1]

    def octets(self, depth):
        a = self.column("bytes") or self.string(depth)
        return f"octet_length({a[0]})", a[1]

    def hash(self, depth):
        a = self.string(depth)
        return f"hash64({a[0]})", a[1]

    def absolute(self, base):
        def make(depth):
            a = self.of(base, depth)
            return f"abs({a[0]})", a[1]

        return make

    def casted(self, to):
        def make(depth):
            sources = {
                "int64": ["string", "int32", "float64", "decimal", "timestamp_ms"],
                "int32": ["string", "int64", "float64", "decimal"],
                "float64": ["string", "int64", "int32", "float32", "decimal"],
                "string": [
                    "int64",
                    "int32",
                    "float64",
                    "float32",
                    "decimal",
                    "bool",
                    "date",
                    "timestamp_ms",
                    "timestamp_us",
                    "uuid",
                    "enum",
                ],
            }[to]
            found = [c for base in sources for c in self.columns(base)]
            if not found:
                return f"cast(12 as {to})", False
            column = self.rng.choice(found)
            return f"cast({column[0]} as {to})", column[1]

        return make

    def coalesced(self, base):
        def make(depth):
            a = self.of(base, depth)
            if not a[1]:
                return a
            return f"coalesce({a[0]}, {self.literal(Kind(base))})", False

        return make

    def nullif(self, base):
        def make(depth):
            a = self.of(base, depth)
            return f"nullif({a[0]}, {self.literal(Kind(base))})", True

        return make

    def tried(self, base):
        def make(depth):
            a = self.arithmetic(base)(depth)
            return f"try({a[0]}, {self.literal(Kind(base))})", a[1]

        return make

    def case(self, base):
        def make(depth):
            test = self.definite(depth)
            a, b = self.of(base, depth), self.of(base, depth)
            if self.rng.random() < 0.3:
                return f"case when {test} then {a[0]} end", True
            return f"case when {test} then {a[0]} else {b[0]} end", a[1] or b[1]

        return make

    def extreme(self, base):
        def make(depth):
            a, b = self.of(base, depth), self.of(base, depth)
            return f"{self.rng.choice(['greatest', 'least'])}({a[0]}, {b[0]})", a[1] or b[1]

        return make

    def rounded(self, depth):
        a = self.float64(depth)
        return f"{self.rng.choice(['round', 'floor', 'ceil'])}({a[0]})", a[1]

    def time_column(self):
        return self.column("timestamp_ms") or self.column("timestamp_us")

    def date_part(self, depth):
        column = self.time_column()
        if column is None:
            return self.casted("int32")(depth)
        unit = self.rng.choice(["year", "month", "day", "hour", "minute", "second", "dow"])
        return f"date_part('{unit}', {column[0]})", column[1]

    def instant(self, depth, base):
        column = self.column(base)
        if column is None:
            return f"cast('2026-01-01T00:00:00Z' as {base})", False
        choices = [
            column[0],
            f"date_trunc('{self.rng.choice(UNITS)}', {column[0]})",
            f"{column[0]} {self.rng.choice('+-')} {self.rng.choice(['1s', '90m', '1d', '250ms'])}",
        ]
        return self.rng.choice(choices), column[1]

    def string(self, depth):
        choices = [
            self.string_call,
            self.string_call,
            self.joined,
            self.casted("string"),
            self.case("string"),
            self.coalesced("string"),
            self.formatted,
            self.parsed,
            self.nullif("string"),
        ]
        return self.pick(depth, "string", choices) or self.casted("string")(0)

    def joined(self, depth):
        a, b = self.string(depth), self.string(depth)
        if self.rng.random() < 0.3:
            return f"concat({a[0]}, '-', {b[0]})", a[1] or b[1]
        return f"({a[0]}) || ({b[0]})", a[1] or b[1]

    def formatted(self, depth):
        column = self.time_column()
        if column is None:
            return self.casted("string")(depth)
        return f"format_timestamp({column[0]}, '{self.rng.choice(FORMATS)}')", column[1]

    def parsed(self, depth):
        a, rng = self.string(depth), self.rng
        calls = [
            (f"json_value({a[0]}, '{rng.choice(['a', 'a.b', 'a[0]', 'x[1].y', '[1]'])}')", True),
            (f"regexp_extract({a[0]}, '(x)\\.(y)', {rng.randrange(3)})", True),
            (
                f"regexp_replace({a[0]}, '{rng.choice(PATTERNS)}', "
                f"'{rng.choice(['', '<>', '-'])}')",
                a[1],
            ),
            (f"sha256({a[0]})", a[1]),
        ]
        maps = [c for c in self.columns("map") if c[2].element.base == "string"]
        if maps:
            calls.append((f"get({maps[0][0]}, 'a')", True))
        return rng.choice(calls)

    def string_call(self, depth):
        a, rng = self.string(depth), self.rng
        n = rng.choice(["0", "1", "2", "3", "-1", "5"])
        calls = [
            f"{rng.choice(['lower', 'upper', 'trim', 'ltrim', 'rtrim'])}({a[0]})",
            f"substring({a[0]}, {n}, {rng.choice(['0', '1', '2', '4'])})",
            f"substring({a[0]}, {n})",
            f"{rng.choice(['left', 'right'])}({a[0]}, {n})",
            f"replace({a[0]}, {self.quoted(rng.choice(TEXTS))}, {self.quoted(rng.choice(TEXTS))})",
            f"split_part({a[0]}, {self.quoted(rng.choice(['.', '', 'a', ',']))}, {n})",
        ]
        return rng.choice(calls), a[1]

    # ---- For select ----

    def any(self, depth):
        """(text, nullable, kind)."""
        base = self.rng.choice(
            ["bool", "int64", "int64", "int32", "float64", "string", "string", "timestamp_ms"]
        )
        text, nullable = self.of(base, depth)
        return text, nullable, Kind(base)
