"""Makes a failing case smaller, as long as it fails: fewer statements, clauses, items, records."""

import re
import shutil
import time
from pathlib import Path

import fastavro

import compare
from case import Broken, Case


def failure(directory, build, seed):
    """What is wrong with the case, or None; a pipeline that does not compile is no case."""
    try:
        Case(directory, build).check(seed)
    except compare.Difference as error:
        return f"Difference: {error}"
    except Broken as error:
        text = str(error)
        return None if text.startswith("pipec") else f"Broken: {text}"
    except Exception:  # the smaller pipeline is of another kind
        return None
    return None


# ---- The pipeline ----


def split_statements(text):
    return [s.strip() for s in re.split(r";\n", text) if s.strip()]


def smaller_statements(statements):
    """Variants with less, the largest steps first."""
    count = len(statements)
    for i in reversed(range(1, count)):
        yield statements[:i] + statements[i + 1 :]
    for i, statement in enumerate(statements):
        lines = statement.split("\n")
        for j in reversed(range(1, len(lines))):
            fewer = lines[:j] + lines[j + 1 :]
            text = re.sub(r",(\s*\n  \S|\s*$)", r"\1", "\n".join(fewer))
            yield statements[:i] + [text] + statements[i + 1 :]


# ---- The inputs ----


def smaller_lists(items):
    size = len(items) // 2
    while size >= 1:
        for at in range(0, len(items), size):
            yield items[:at] + items[at + size :]
        size //= 2


def read_items(path):
    if path.suffix == ".avro":
        with open(path, "rb") as file:
            reader = fastavro.reader(file)
            return reader.writer_schema, list(reader)
    return None, path.read_bytes().splitlines(keepends=True)


def write_items(path, schema, items):
    if schema is None:
        path.write_bytes(b"".join(items))
        return
    with open(path, "wb") as file:
        fastavro.writer(file, schema, items)


class Shrinker:
    def __init__(self, directory, build, seed, seconds):
        self.small, self.build, self.seed = Path(directory) / "small", build, seed
        self.deadline, self.steps = time.monotonic() + seconds, 0
        shutil.rmtree(self.small, ignore_errors=True)
        shutil.copytree(
            directory,
            self.small,
            ignore=shutil.ignore_patterns(
                "c", "program", "straight", "often", "killed", "steps", "small"
            ),
        )

    def still_fails(self):
        self.steps += 1
        wrong = failure(self.small, self.build, self.seed)
        if wrong:
            (self.small / "wrong.txt").write_text(wrong)
        return wrong is not None

    def over(self):
        return time.monotonic() > self.deadline

    def shrink_text(self):
        path = self.small / "generated.pipe"
        statements, again = split_statements(path.read_text()), True
        while again and not self.over():
            again = False
            for fewer in smaller_statements(statements):
                path.write_text(";\n\n".join(fewer) + ";\n")
                if self.still_fails():
                    statements, again = fewer, True
                    break
                if self.over():
                    break
        path.write_text(";\n\n".join(statements) + ";\n")

    def shrink_inputs(self):
        for path in sorted((self.small / "in").iterdir()):
            schema, items = read_items(path)
            again = True
            while again and items and not self.over():
                again = False
                for fewer in smaller_lists(items):
                    write_items(path, schema, fewer)
                    if self.still_fails():
                        items, again = fewer, True
                        break
                    if self.over():
                        break
            write_items(path, schema, items)


def shrink(directory, build, seed, seconds):
    shrinker = Shrinker(directory, build, seed, seconds)
    if shrinker.still_fails():
        shrinker.shrink_text()
        shrinker.shrink_inputs()
        shrinker.still_fails()
    return shrinker.steps
