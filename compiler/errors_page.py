#!/usr/bin/env python3
"""Writes docs/errors.md: every diagnostic with its explanation and a compiled example.

usage: errors_page.py codes.def tests/errors OUTPUT.md
"""

import re
import sys
from pathlib import Path

GROUPS = [
    ("PC1", "Syntax"),
    ("PC2", "Names and structure"),
    ("PC3", "Types and nulls"),
    ("PC4", "Time, state, windows"),
    ("PC5", "Sources, sinks, contracts"),
    ("PC6", "Evolution"),
    ("W", "Lints: the program compiles"),
]


def read(path):
    return path.read_text(encoding="utf-8", errors="replace").rstrip("\n") if path.exists() else ""


def shown(text):
    """The text with controls made visible and long lines clipped: examples may hold anything."""
    text = re.sub(r"[\x00-\x08\x0b-\x1f\x7f\ufffd\ufeff]", "\u00b7", text)
    return "\n".join(line if len(line) <= 160 else line[:160] + " …" for line in text.split("\n"))


def entry(code, title, errors):
    parts = [f"### {code}: {title}\n", read(errors / f"{code}.md"), ""]
    example = read(errors / f"{code}.pipe")
    # An example with bytes that a page can't hold is compiled by tests/golden/run.py only.
    info = "pipe error" if shown(example) == example else "text"
    parts += [f"```{info}", shown(example), "```", ""]
    parts += ["```text", shown(read(errors / f"{code}.txt")), "```", ""]
    return "\n".join(parts)


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    codes = re.findall(r'^CODE\((\w+),\s*"((?:[^"\\]|\\.)*)"', Path(sys.argv[1]).read_text(), re.M)
    errors = Path(sys.argv[2])
    page = [
        "# Messages",
        "",
        "Every message of `pipec` has a code; `pipec help CODE` prints its entry. This page is",
        "made from `compiler/codes.def` and `tests/errors/` by `make docs`; the tests compile each",
        "example.",
        "",
    ]
    for prefix, title in GROUPS:
        group = [(code, text) for code, text in codes if code.startswith(prefix)]
        if group:
            page += [f"## {title}", ""]
            page += [entry(code, text.replace('\\"', '"'), errors) for code, text in group]
    Path(sys.argv[3]).write_text("\n".join(page).rstrip("\n") + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
