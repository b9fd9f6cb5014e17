"""The aggregates: each is a function of all the values that went in."""

import fractions
import math

import expressions
from values import Approx, Failed, Type


class Aggregate:
    """`take` gives what one row adds (None: nothing), `finish` the result of all that was taken."""

    def __init__(self, node):
        self.name, self.function = node["name"], node["function"]
        self.arg = expressions.build(node["arg"]) if "arg" in node else None
        self.by = expressions.build(node["by"]) if "by" in node else None
        self.arg_type = expressions.type_of(node["arg"]) if "arg" in node else None
        self.by_type = expressions.type_of(node["by"]) if "by" in node else None
        self.type = Type(node.get("type", "int64"))
        self.quantile = node.get("quantile")

    def take(self, row, context):
        if self.arg is None:
            return True
        value = self.arg(row, context)
        if value is None or self.function == "count_if" and not value:
            return None
        if self.function in ("first", "last"):
            return (position(context), value)
        if self.by is not None:
            key = self.by(row, context)
            return (
                None
                if key is None
                else (expressions.order_key(key, self.by_type), position(context), value)
            )
        return value

    def finish(self, taken):
        taken = [value for value in taken if value is not None]
        if self.function in ("count", "count_if"):
            return len(taken)
        if self.function == "count_distinct":
            return len({hashable(value) for value in taken})
        if self.function == "approx_count_distinct":
            exact = len({hashable(value) for value in taken})
            return Approx(math.floor(exact * 0.95), math.ceil(exact * 1.05))
        if not taken:
            return None
        return getattr(self, "finish_" + self.function)(taken)

    def exact_sum(self, taken):
        return sum((fractions.Fraction(value) for value in taken), fractions.Fraction(0))

    def finish_sum(self, taken):
        if self.arg_type.kind in ("float32", "float64"):
            return finite(self.exact_sum(taken))
        total = sum(taken)
        bound = 10**38 if self.arg_type.kind == "decimal" else 1 << 63
        if not (-bound < total < bound or self.arg_type.kind != "decimal" and total == -bound):
            raise Failed("a sum out of range")
        return total

    def finish_avg(self, taken):
        return finite(self.exact_sum(taken) / len(taken) / 10**self.arg_type.scale)

    def finish_min(self, taken):
        return clean(min(taken, key=lambda value: expressions.order_key(value, self.arg_type)))

    def finish_max(self, taken):
        return clean(max(taken, key=lambda value: expressions.order_key(value, self.arg_type)))

    def finish_first(self, taken):
        return min(taken, key=lambda pair: pair[0])[1]

    def finish_last(self, taken):
        return max(taken, key=lambda pair: pair[0])[1]

    def finish_min_by(self, taken):
        least = min(key for key, _, _ in taken)
        return min(
            ((place, value) for key, place, value in taken if key == least),
            key=lambda pair: pair[0],
        )[1]

    def finish_max_by(self, taken):
        most = max(key for key, _, _ in taken)
        return min(
            ((place, value) for key, place, value in taken if key == most), key=lambda pair: pair[0]
        )[1]

    def finish_approx_quantile(self, taken):
        """Within 1 % of a value next to the rank."""
        scale = 10**self.arg_type.scale
        ordered = sorted(value / scale for value in taken)
        rank = self.quantile * (len(ordered) - 1)
        near = ordered[max(math.floor(rank) - 1, 0) : math.ceil(rank) + 2]
        edges = [value * factor for value in near for factor in (0.9899, 1.0101)]
        return Approx(min(edges), max(edges))


def position(context):
    return (context.event_time, *context.position())


def hashable(value):
    if isinstance(value, dict):
        return tuple((name, hashable(item)) for name, item in value.items())
    if isinstance(value, list):
        return tuple(hashable(item) for item in value)
    return clean(value)


def clean(value):
    return value + 0.0 if isinstance(value, float) else value


def finite(exact):
    try:
        return float(exact) + 0.0
    except OverflowError as error:
        raise Failed(str(error)) from error
