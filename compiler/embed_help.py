#!/usr/bin/env python3
"""Writes the C table behind `pipec help CODE`.

usage: embed_help.py codes.def tests/errors OUTPUT.c

For each CODE(name, "title") of codes.def, in order: the explanation tests/errors/CODE.md, the
example CODE.pipe and what pipec says about it, CODE.txt. A file that is missing gives an empty
text.
"""
import os
import re
import sys


def c_string(text):
    """A C string literal, one source line for each line of the text."""
    escaped = []
    for line in text.splitlines(keepends=True) or [""]:
        quoted = ""
        for byte in line.encode():
            char = chr(byte)
            if char in '"\\':
                quoted += "\\" + char
            elif char == "\n":
                quoted += "\\n"
            elif 0x20 <= byte < 0x7F and char != "?":
                quoted += char
            else:
                quoted += "\\%03o" % byte
        escaped.append('"%s"' % quoted)
    return "\n     ".join(escaped)


def read(directory, code, suffix):
    try:
        with open(os.path.join(directory, code + suffix), encoding="utf-8") as file:
            return file.read()
    except FileNotFoundError:
        return ""


def main():
    if len(sys.argv) != 4:
        sys.exit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        codes = re.findall(r'^CODE\((\w+),\s*"((?:[^"\\]|\\.)*)"\)', file.read(), re.M)
    lines = ["/* Made by embed_help.py from codes.def and tests/errors. */",
             '#include "help.h"', "", "const struct help_text help_texts[] = {"]
    for code, title in codes:
        texts = [c_string(read(sys.argv[2], code, suffix)) for suffix in (".md", ".pipe", ".txt")]
        lines.append('    {"%s", "%s",\n     %s},' % (code, title, ",\n     ".join(texts)))
    lines += ["    {0}", "};", "const size_t help_text_count = %d;" % len(codes), ""]
    temporary = sys.argv[3] + ".new"
    with open(temporary, "w", encoding="ascii") as file:
        file.write("\n".join(lines))
    os.replace(temporary, sys.argv[3])


main()
