"""What several of the benches share: their command line, and sizes of directories."""

import argparse
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def parser_of(doc, **defaults):
    """The parser of a bench: the first line of its text, --build (absolute then), and an option of
    each name and default."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    parser.add_argument("--build", type=lambda text: (ROOT / text).resolve(), default="build")
    for name, default in defaults.items():
        parser.add_argument("--" + name.replace("_", "-"), type=type(default), default=default)
    return parser


def tree_bytes(directory):
    total = 0
    for path in directory.rglob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:  # it was merged into another one
            pass
    return total
