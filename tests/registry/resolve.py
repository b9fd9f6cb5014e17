#!/usr/bin/env python3
"""Random contracts of several versions: rows that are read by schemas that come at run time must be
those of the decoders that pipec generates, and so must what is refused.

    resolve.py [--build DIR] [--seed N] [--contracts N] [--values N]
"""

import argparse
import copy
import json
import os
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
SIMPLE = ["boolean", "int", "long", "float", "double", "string", "bytes"]
LOGICAL = [
    ("int", "date"),
    ("long", "timestamp-millis"),
    ("long", "timestamp-micros"),
    ("long", "pipec.duration-ms"),
    ("string", "uuid"),
    ("string", "json"),
]
DEFAULTS = {"boolean": True, "int": -7, "long": 1 << 40, "float": 0.5, "double": -2.25}
DEFAULTS |= {"string": "é", "bytes": "\u00ff\u0001"}
NARROWER = {"long": ["int"], "float": ["int", "long"], "double": ["int", "long", "float"]}
NARROWER |= {"string": ["bytes"], "bytes": ["string"]}


class Maker:
    """Schemas of a contract: the newest, and older ones that it can read."""

    def __init__(self, rng):
        self.rng, self.names = rng, 0

    def name(self, prefix):
        self.names += 1
        return f"{prefix}{self.names}"

    def type(self, depth):
        rng = self.rng
        kind = rng.choice(["simple"] * 4 + ["logical"] * 2 + ["decimal", "enum", "fixed"])
        if depth < 3:
            kind = rng.choice([kind, kind, "array", "map", "record"])
        if kind == "simple":
            return rng.choice(SIMPLE)
        if kind == "logical":
            base, logical = rng.choice(LOGICAL)
            return {"type": base, "logicalType": logical}
        if kind == "decimal":
            digits = {"logicalType": "decimal", "precision": rng.randint(6, 18), "scale": 2}
            fixed = {"type": "fixed", "name": self.name("Money"), "size": 9}
            return rng.choice([{"type": "bytes"}, fixed]) | digits
        if kind == "enum":
            symbols = ["A", "B", "C", "D"][: rng.randint(1, 4)]
            more = {"default": rng.choice(symbols)} if rng.random() < 0.5 else {}
            return {"type": "enum", "name": self.name("Kind"), "symbols": symbols} | more
        if kind == "fixed":
            return {"type": "fixed", "name": self.name("Raw"), "size": rng.randint(1, 5)}
        if kind == "record":
            return self.record(depth + 1, self.name("Part"))
        inner = "items" if kind == "array" else "values"
        return {"type": kind, inner: self.maybe_null(self.type(depth + 1))}

    def maybe_null(self, kind):
        return self.rng.choice([kind, kind, ["null", kind], [kind, "null"]])

    def record(self, depth, name):
        fields = [self.field(depth, i) for i in range(self.rng.randint(1, 5 if depth else 9))]
        return {"type": "record", "name": name, "fields": fields}

    def field(self, depth, number):
        kind = self.maybe_null(self.type(depth))
        field = {"name": f"f{number}", "type": kind}
        given = self.default(kind)
        if given is not None and self.rng.random() < 0.6:
            field["default"] = given[0]
        return field

    def default(self, kind):
        """[a default] of a type, or None where there is no simple one."""
        if isinstance(kind, list):
            return [None] if kind[0] == "null" else self.default(kind[0])
        if isinstance(kind, str):
            return [DEFAULTS[kind]]
        if kind["type"] in ("array", "map"):
            return [[] if kind["type"] == "array" else {}]
        if kind["type"] == "enum":
            return [kind["symbols"][-1]]
        return None

    # ---- What an older writer may have had ----

    def older(self, kind):
        rng = self.rng
        if isinstance(kind, list):
            inner = next(branch for branch in kind if branch != "null")
            changed = self.older(inner)
            return rng.choice([["null", changed], [changed, "null"], changed])
        if isinstance(kind, str):
            return rng.choice([kind, kind, *NARROWER.get(kind, [])])
        kind = copy.deepcopy(kind)
        if kind["type"] in ("array", "map"):
            inner = "items" if kind["type"] == "array" else "values"
            kind[inner] = self.older(kind[inner])
        if kind["type"] == "enum":
            rng.shuffle(kind["symbols"])
            if "default" in kind and rng.random() < 0.5:
                kind["symbols"].insert(0, "OTHER")
        if kind["type"] == "record":
            self.age(kind)
        return kind

    def age(self, record):
        rng = self.rng
        fields = []
        for field in record["fields"]:
            if "default" in field and rng.random() < 0.3:
                continue
            fields.append({"name": field["name"], "type": self.older(field["type"])})
        for _ in range(rng.randint(0 if fields else 1, 2)):
            fields.append({"name": self.name("gone"), "type": self.maybe_null(self.type(2))})
        rng.shuffle(fields)
        record["fields"] = fields


def write(directory, rng, contracts):
    """The program: one source a contract, each of which reads three versions."""
    text = ["pipeline resolved;\n"]
    for number in range(contracts):
        maker = Maker(rng)
        newest = maker.record(0, "Event")
        folder = directory / f"c{number}"
        folder.mkdir()
        versions = [newest]
        for _ in range(2):
            versions.append(maker.older(newest))
        for age, schema in enumerate(versions):
            (folder / f"v{3 - age}.avsc").write_text(json.dumps(schema))
        text.append(
            f"contract c{number} from 'c{number}/v3.avsc' accepts 'c{number}/v2.avsc', "
            f"'c{number}/v1.avsc' compatible none;\n"
            f"source s{number} from kafka topic 't{number}' partitions 1 contract c{number} "
            f"rejects to r{number};\n"
            f"sink o{number} from s{number} to stdout at least once;\n"
            f"sink d{number} from r{number} to stdout at least once;\n"
        )
    (directory / "resolved.pipe").write_text("\n".join(text))


def run(command, cwd):
    done = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=dict(os.environ, PIPEC_HOME=str(ROOT)),
        timeout=600,
    )
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}: exit {done.returncode}\n{done.stdout[-4000:]}")
    return done.stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--contracts", type=int, default=40)
    parser.add_argument("--values", type=int, default=400)
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    libraries = (build / "libpipe.flags").read_text().split()
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        write(directory, random.Random(options.seed), options.contracts)
        run([build / "pipec", "resolved.pipe", "--out", "out"], directory)
        program = directory / "out/resolved/resolved.c"
        program.write_text(re.sub(r"(?ms)^int main\(.*?^}", "", program.read_text()))
        driver = [os.environ.get("CC", "gcc"), "-std=gnu11", "-O1", "-g", "-w", "-D_GNU_SOURCE="]
        driver += [f'-DPROGRAM="{program}"', f"-I{ROOT}/runtime", "-o", "driver"]
        driver += [HERE / "resolve_driver.c", build / "libpipe.a", *libraries]
        run(driver, directory)
        out = run([directory / "driver", options.seed, options.values], directory)
    good, bad = map(int, re.search(r"good (\d+) bad (\d+)", out).groups())
    print(f"seed {options.seed}: {good} values read, {bad} refused, the same by both")
    enough = good > options.values * options.contracts and bad > options.contracts
    print("1 passed, 0 failed" if enough else f"too few values were good\n0 passed, 1 failed")
    return 0 if enough else 1


if __name__ == "__main__":
    sys.exit(main())
