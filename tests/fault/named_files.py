"""Files that the user names: none is overwritten unasked, and none is lost unnoticed."""

import hashlib
import os

from harness import Ended, Failure

FEW = ["--count", 200, "--seed", 3, "--progress", "never"]


def tree(top):
    """Every file below `top`: its bytes, hashed."""
    return {
        path.relative_to(top): hashlib.sha256(path.read_bytes()).digest()
        for path in top.rglob("*")
        if path.is_file() and not path.is_symlink()
    }


def refused(cwd, command, *words, status=1):
    """Says why in one line, and changes nothing anywhere."""
    before = tree(cwd)
    Ended(command, cwd).expect(status).one_line(*words)
    if tree(cwd) != before:
        raise Failure(f"{command}: was refused, and changed files")


def writers(lab):
    """By option: the command up to the name of a file."""
    traffic = [lab.click, "traffic", *FEW]
    return {
        "--ledger-out": [lab.click, "reconcile", "run", "--ledger-out"],
        "--ledger": [*traffic, "--to", "data", "--ledger"],
        "--to": [*traffic, "--to"],
    }


def runs_keep_their_directories(lab):
    """No command writes a file of another kind among what a run keeps, whatever it is told."""
    cwd = lab.copy()
    (cwd / "link").symlink_to("run")
    for option, command in writers(lab).items():
        places = ["run/log/CURRENT", "run/lock", "run/new", "link/new", "./link/../run/tables/new"]
        for place in ["run", "link/tables"] if option == "--to" else places:
            refused(cwd, [*command, place], option, place, "the directory of a run")
            refused(cwd, [*command, place, "--replace"], option, "the directory of a run")
    lab.expect_whole(cwd, "after refusals")
    lab.done(cwd)


def files_are_kept(lab):
    """What is there is overwritten only with --replace, and what is no file never."""
    cwd = lab.copy()
    for option, command in writers(lab).items():
        place = "data2" if option == "--to" else "precious"
        made = cwd / ("data2/clicks-3.avro" if option == "--to" else "precious")
        made.parent.mkdir(exist_ok=True)
        for content in (b"somebody's", b""):
            made.write_bytes(content)
            refused(cwd, [*command, place], option, made.name, "is there already", "--replace")
        Ended([*command, place, "--replace"], cwd).expect(0)
        if made.stat().st_size < 100:
            raise Failure(f"{option} --replace: not written")
        made.rename(cwd / "whole")
        for target in ("whole", "nothing", "."):
            made.symlink_to(os.path.relpath(cwd / target, made.parent))
            refused(cwd, [*command, place, "--replace"], option, "not a regular file")
            made.unlink()
    lab.done(cwd)


def names_of_one_command(lab):
    """Two names that are one file."""
    cwd = lab.copy()
    (cwd / "data").mkdir()
    ledger = [*writers(lab)["--ledger"], "./data/../data/clicks-0.avro"]
    refused(cwd, ledger, "is a file of --to as well")
    lab.done(cwd)


TESTS = [
    runs_keep_their_directories,
    files_are_kept,
    names_of_one_command,
]
