#!/usr/bin/env python3
"""Golden tests: plans, formatted text, diagnostics, generated C and what it computes.

  tests/golden/plan/X.pipe          → X.plan   `pipec --explain --rate 5000/s`
  tests/golden/fmt/X.in.pipe        → X.out.pipe  `pipec fmt`
  tests/errors/CODE.pipe            → CODE.txt   `pipec check`, which must report that code
  tests/golden/c/X.pipe, X.input    → X.c, and X.out: every file and topic a run writes

With --update the expected files are rewritten, the difference is printed, and the run fails:
read it, then run again.
"""

import argparse
import difflib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.append(str(Path(__file__).resolve().parents[1]))

from table_rows import rows_of_tables, table_sinks

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
ERRORS = ROOT / "tests" / "errors"


class Suite:
    def __init__(self, build, update):
        self.build, self.update = build, update
        self.pipec = build / "pipec"
        self.passed, self.failed = 0, 0

    def run(self, *command, **options):
        return subprocess.run(
            [str(part) for part in command],
            cwd=options.pop("cwd", ROOT),
            text=True,
            errors="replace",
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=300,
            **options,
        )

    def report(self, name, problem):
        if problem:
            self.failed += 1
            print(f"FAIL {name}\n{problem}")
        else:
            self.passed += 1

    def compare(self, name, expected_path, actual):
        """None if equal; with --update writes the new text and still gives the difference."""
        expected = expected_path.read_text() if expected_path.exists() else ""
        if actual == expected:
            return None
        if self.update:
            expected_path.write_text(actual)
        shown = list(
            difflib.unified_diff(
                expected.splitlines(),
                actual.splitlines(),
                str(expected_path.relative_to(ROOT)),
                "actual",
                lineterm="",
            )
        )
        return "\n".join(shown[:60])


def check_plan(suite, pipe):
    result = suite.run(suite.pipec, "--explain", "--rate", "5000/s", pipe.relative_to(ROOT))
    if result.returncode != 0:
        return result.stdout
    return suite.compare(pipe.name, pipe.with_suffix(".plan"), result.stdout)


def check_format(suite, pipe):
    expected = pipe.with_name(pipe.name.replace(".in.pipe", ".out.pipe"))
    with tempfile.TemporaryDirectory() as scratch:
        copy = Path(scratch) / "x.pipe"
        shutil.copy(pipe, copy)
        first = suite.run(suite.pipec, "fmt", copy)
        text = copy.read_text()
        again = suite.run(suite.pipec, "fmt", "--check", copy)
    if first.returncode != 0:
        return first.stdout
    if again.returncode != 0:
        return "formatting again changes it: " + again.stdout
    return suite.compare(pipe.name, expected, text)


def check_error(suite, pipe):
    code = pipe.stem.split("-")[0]
    result = suite.run(suite.pipec, "check", pipe.relative_to(ROOT))
    if f"[{code}]" not in result.stdout:
        return f"does not report {code}:\n{result.stdout}"
    return suite.compare(pipe.name, pipe.with_suffix(".txt"), result.stdout)


def outputs_of(suite, program, scratch):
    """Everything a run left: files, tables, topics; as one text."""
    shown = []
    for path in sorted((scratch / "out").rglob("*")):
        if path.is_file():
            shown.append(f"== {path.relative_to(scratch)}\n{path.read_text(errors='replace')}")
    sinks = table_sinks(scratch / "run") if (scratch / "run" / "tables").exists() else []
    for sink, rows in rows_of_tables(program, scratch / "run", sinks).items():
        shown.append(f"== table {sink}\n" + "".join(row + "\n" for row in rows))
    topics = suite.run(program, "inspect", "run", "topics", cwd=scratch)
    for topic in sorted(set(re.findall(r"^(\S+)\s", topics.stdout, re.M))):
        if topic in ("topic", "TOPIC") or topic.startswith("pipec."):
            continue
        dump = suite.run(program, "inspect", "run", "dump", topic, cwd=scratch)
        shown.append(f"== topic {topic}\n{dump.stdout}")
    return "".join(shown)


def check_program(suite, pipe):
    name = pipe.stem
    problems = []
    with tempfile.TemporaryDirectory() as scratch:
        scratch = Path(scratch)
        emitted = suite.run(suite.pipec, pipe.relative_to(ROOT), "--out", scratch / "generated")
        if emitted.returncode != 0:
            return emitted.stdout
        text = next((scratch / "generated").rglob("*.c")).read_text()
        problems.append(suite.compare(name, pipe.with_suffix(".c"), text))
        for compiler in ("gcc", "clang"):
            built = suite.run(
                compiler,
                "-std=gnu11",
                "-O1",
                "-Wall",
                "-Wextra",
                "-Werror",
                "-I",
                ROOT / "runtime",
                "-c",
                next((scratch / "generated").rglob("*.c")),
                "-o",
                scratch / f"{compiler}.o",
            )
            problems.append(built.stdout if built.returncode != 0 else None)
        program = scratch / name
        built = suite.run(
            suite.pipec,
            "build",
            pipe.relative_to(ROOT),
            "--out",
            scratch / "generated",
            "-o",
            program,
        )
        if built.returncode != 0:
            return built.stdout
        arguments = (
            pipe.with_suffix(".args").read_text().split()
            if pipe.with_suffix(".args").exists()
            else []
        )
        arguments = [part.replace("DIR", str(GOLDEN / "c")) for part in arguments]
        ran = suite.run(
            program,
            "run",
            "--embedded",
            "run",
            "--until-end",
            "--progress",
            "never",
            *arguments,
            cwd=scratch,
        )
        if ran.returncode != 0:
            return ran.stdout
        problems.append(
            suite.compare(name, pipe.with_suffix(".out"), outputs_of(suite, program, scratch))
        )
    return "\n".join(problem for problem in problems if problem) or None


def undocumented_codes():
    """Codes without a compiled example."""
    codes = re.findall(r"^CODE\((\w+),", (ROOT / "compiler" / "codes.def").read_text(), re.M)
    return [
        code
        for code in codes
        if not (ERRORS / f"{code}.pipe").exists() or not (ERRORS / f"{code}.md").exists()
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--build", default="build")
    parser.add_argument("--update", action="store_true")
    parser.add_argument("only", nargs="*", help="names of cases")
    options = parser.parse_args()
    suite = Suite((ROOT / options.build).resolve(), options.update)
    os.environ["PIPEC_HOME"] = str(ROOT)
    cases = [(check_plan, path) for path in sorted(GOLDEN.glob("plan/*.pipe"))]
    cases += [(check_format, path) for path in sorted(GOLDEN.glob("fmt/*.in.pipe"))]
    cases += [(check_error, path) for path in sorted(ERRORS.glob("*.pipe"))]
    cases += [(check_program, path) for path in sorted(GOLDEN.glob("c/*.pipe"))]
    if options.only:
        cases = [
            case for case in cases if case[1].stem in options.only or case[1].name in options.only
        ]
    with ThreadPoolExecutor(2) as pool:
        for (check, path), problem in zip(
            cases, pool.map(lambda case: case[0](suite, case[1]), cases)
        ):
            suite.report(f"{check.__name__} {path.relative_to(ROOT)}", problem)
    if not options.only:
        missing = undocumented_codes()
        suite.report(
            "every code has an example",
            f"no example in tests/errors/: {' '.join(missing)}" if missing else None,
        )
    print(f"{suite.passed} passed, {suite.failed} failed")
    return 1 if suite.failed else 0


if __name__ == "__main__":
    sys.exit(main())
