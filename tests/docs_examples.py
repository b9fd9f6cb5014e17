#!/usr/bin/env python3
"""Extracts the code blocks of README.md and docs/**/*.md and runs them.

    docs_examples.py [--keep] [--list] [FILE.md ...]

What a block is, its info string says:

    pipe             a complete program: `build/pipec check` must accept it
    pipe error       a complete program that is refused, or warned about; the text block behind it
                     shows the messages, whose codes must all be given
    pipe fragment    a part of a program; not run
    sh               run by `bash -eu`; must exit 0
    sh fragment      commands for another place or time; not run
    console          lines that begin with `$ ` are commands, what follows is their exact output
                     (standard output and error together); a line `…` stands for any number of
                     lines, `…` inside a line for any text
    text, c, json, sql, yaml, avro   shown only

Any other info string is an error, so that no example goes unchecked by mistake. sh and console
blocks of one document run in order in one scratch copy of the tree (with its build/), so that
they may write files. Prints 'N passed, M failed'. Exit: 0 none failed, 1 some failed, 2 usage.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SHOWN_ONLY = {"text", "c", "json", "sql", "yaml", "avro", "pipe fragment", "sh fragment"}
RUN = {"pipe", "pipe error", "sh", "console"}
TIMEOUT_S = 600
FENCE = re.compile(r"^( *)(`{3,}|~{3,})(.*)$")


class Block:
    """One fenced block: where it begins, its info string, its text."""

    def __init__(self, path, line, info):
        self.path, self.line, self.info, self.lines = path, line, info, []
        self.codes = []                 # pipe error: what the next block shows

    @property
    def text(self):
        return "".join(line + "\n" for line in self.lines)

    def __str__(self):
        return f"{os.path.relpath(self.path, ROOT)}:{self.line} ({self.info or 'no info string'})"


def blocks_of(path):
    """The fenced blocks of a Markdown file; ValueError if one is not closed."""
    blocks, fence, indent = [], None, 0
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file.read().split("\n"), 1):
            match = FENCE.match(line)
            if fence is None:
                if match:
                    fence, indent = match.group(2), len(match.group(1))
                    blocks.append(Block(path, number, " ".join(match.group(3).split())))
            elif match and match.group(2).startswith(fence) and not match.group(3).strip():
                fence = None
            else:
                blocks[-1].lines.append(line[indent:] if line[:indent].isspace() else line)
    if fence is not None:
        raise ValueError(f"{path}:{blocks[-1].line}: the block is not closed")
    for block, following in zip(blocks, blocks[1:]):
        if block.info == "pipe error" and following.info == "text":
            block.codes = re.findall(r"^(?:error|warning)\[(\w+)\]", following.text, re.M)
    return blocks


def run(command, directory, text=None):
    """(exit status, standard output and error together)"""
    try:
        done = subprocess.run(command, cwd=directory, input=text, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=TIMEOUT_S, check=False,
                              encoding="utf-8", errors="replace")
    except subprocess.TimeoutExpired:
        return -1, f"not done after {TIMEOUT_S} s\n"
    return done.returncode, done.stdout


def scratch_copy(top):
    """Makes TOP/main with the files that git tracks (not what somebody left there who has tried the
    examples) and pipec; TOP/shared leads to test data."""
    copy = os.path.join(top, "main")
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached"], cwd=ROOT,
        stdout=subprocess.PIPE, check=True, encoding="utf-8").stdout
    for name in filter(None, listed.split("\0")):
        source, target = os.path.join(ROOT, name), os.path.join(copy, name)
        if os.path.isfile(source):
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copy2(source, target)
    os.makedirs(os.path.join(copy, "build"))
    for name in ("pipec", "libpipe.a", "libpipe.flags"):
        shutil.copy2(os.path.join(ROOT, "build", name), os.path.join(copy, "build", name))
    shared = os.path.join(ROOT, "..", "shared")
    if os.path.isdir(shared):
        os.symlink(os.path.realpath(shared), os.path.join(top, "shared"))
    return copy


def matches(expected, actual):
    """Whether output lines are as written, with … as described above."""
    parts = []
    for line in expected:
        if line.strip() == "…":
            parts.append(r"(?:[^\n]*\n)*")
        else:
            parts.append(".*".join(re.escape(piece) for piece in line.split("…")) + r"\n")
    text = "".join(line.rstrip() + "\n" for line in actual)
    return re.fullmatch("".join(parts), text) is not None


def check_pipe(block):
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "example.pipe")
        with open(path, "w", encoding="utf-8") as file:
            file.write(block.text)
        status, output = run(["build/pipec", "check", path], ROOT)
    if block.info == "pipe error":
        if not block.codes:
            return "no text block with messages follows"
        if status in (0, 1) and all(f"[{code}]" in output for code in block.codes):
            return None
        return f"expected {', '.join(block.codes)}; exit {status}:\n{output}"
    return None if status == 0 else f"exit {status}:\n{output}"


def check_shell(block, directory):
    status, output = run(["bash", "-eu", "-s"], directory, block.text)
    return None if status == 0 else f"exit {status}:\n{output}"


def check_console(block, directory):
    commands = []
    for line in block.lines:
        if line.startswith("$ "):
            commands.append((line[2:], []))
        elif commands:
            commands[-1][1].append(line.rstrip())
        else:
            return "the first line is no command ('$ …')"
    for command, expected in commands:
        _, output = run(["bash", "-u", "-c", command], directory)
        actual = output.split("\n")
        if actual[-1] == "":
            actual.pop()
        if not matches(expected, actual):
            return "\n".join([f"$ {command}", "--- expected", *expected, "--- actual", *actual, ""])
    return None


def check_document(path, keep):
    """(passed, failed) of one document."""
    passed = failed = 0
    top = copy = None
    try:
        for block in blocks_of(path):
            kind = block.info.split()[0] if block.info else ""
            if block.info in SHOWN_ONLY:
                continue
            if block.info not in RUN:
                problem = "unknown info string; see tests/docs_examples.py"
            elif kind == "pipe":
                problem = check_pipe(block)
            else:
                if copy is None:
                    top = tempfile.mkdtemp(prefix="docs-examples-")
                    copy = scratch_copy(top)
                problem = (check_shell if kind == "sh" else check_console)(block, copy)
            passed, failed = passed + (problem is None), failed + (problem is not None)
            if problem is not None:
                print(f"FAILED {block}\n{problem}")
    except ValueError as error:
        print(f"FAILED {error}")
        failed += 1
    finally:
        if top and keep:
            print(f"kept {top}")
        elif top:
            shutil.rmtree(top)
    return passed, failed


def documents():
    found = [os.path.join(ROOT, "README.md")]
    for directory, _, names in sorted(os.walk(os.path.join(ROOT, "docs"))):
        found += [os.path.join(directory, name) for name in sorted(names) if name.endswith(".md")]
    return [path for path in found if os.path.exists(path)]


def main():
    parser = argparse.ArgumentParser(description="run the examples of the documentation")
    parser.add_argument("files", nargs="*", help="default: README.md and docs/**/*.md")
    parser.add_argument("--keep", action="store_true", help="keep the scratch copies")
    parser.add_argument("--list", action="store_true", help="list the blocks, run nothing")
    arguments = parser.parse_args()
    paths = [os.path.abspath(path) for path in arguments.files] or documents()
    if arguments.list:
        for path in paths:
            for block in blocks_of(path):
                print(block)
        return 0
    if not os.access(os.path.join(ROOT, "build", "pipec"), os.X_OK):
        print("docs_examples.py: build/pipec is not there; run make first", file=sys.stderr)
        return 2
    results = [check_document(path, arguments.keep) for path in paths]
    passed, failed = (sum(column) for column in zip(*results)) if results else (0, 0)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
