"""Files that the user names: none is overwritten unasked, and none is lost unnoticed."""

import contextlib
import hashlib
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path

from harness import ROOT, Ended, Failure

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


def programs_replace_programs(lab):
    """`pipec build -o` replaces what it has built, and no source and no file of a run."""
    cwd = lab.copy()
    (cwd / "p.pipe").write_text(
        "pipeline p;\nsource s from file 'x' format csv columns (a int64) rejects to r;\n"
        "sink k from s to file 'k' format jsonl at least once;\n"
        "sink l from r to file 'l' format jsonl at least once;\n"
    )
    build = [lab.build / "pipec", "build", "p.pipe", "--out", "c", "-o"]
    home = {"PIPEC_HOME": str(ROOT)}
    for name in ("p.pipe", "run/log/CURRENT", "run/lock"):
        before = (cwd / name).read_bytes()
        ended = Ended([*build, name], cwd, environment=home).expect(1)
        if "is no program" not in ended.err or (cwd / name).read_bytes() != before:
            raise Failure(f"{ended.command}: {ended.err}")
    for _ in range(2):
        Ended([*build, "p"], cwd, environment=home).expect(0)
    lab.done(cwd)


def names_of_one_command(lab):
    """Two names that are one file."""
    cwd = lab.copy()
    (cwd / "data").mkdir()
    ledger = [*writers(lab)["--ledger"], "./data/../data/clicks-0.avro"]
    refused(cwd, ledger, "is a file of --to as well")
    lab.done(cwd)


# ---- The files of the databases ----


def in_the_place_of(path, make):
    """One that is no file, until it is put back."""
    kept = path.with_name("kept")
    path.rename(kept)
    make(path)
    return lambda: (path.unlink(), kept.rename(path))


def databases_hold_files(lab):
    """What is no file there is told, by every command that would open it, and nothing waits for
    the writer of a named pipe."""
    cwd = lab.copy()
    run = lab.command()
    inspect = [lab.click, "inspect", "run"]
    reconcile = [lab.click, "reconcile", "run"]
    inject = [lab.click, "inject", "--embedded", "run", "rows.jsonl"]
    (cwd / "rows.jsonl").write_text("")
    for name, commands in {
        "log/CURRENT": [run, [*inspect, "topics"], reconcile, inject],
        "log/*.log": [run, [*inspect, "topics"]],
        "log/*.sst": [run, [*inspect, "topics"]],
        "state/CURRENT": [run, [*inspect, "state"]],
        "state/*.sst": [run],
        "lock": [run, reconcile, inject],
    }.items():
        path = min((cwd / "run").glob(name))
        for make in (os.mkfifo, lambda place: place.symlink_to("/dev/zero")):
            put_back = in_the_place_of(path, make)
            for command in commands:
                Ended(command, cwd).expect(1).one_line(path.name, "not a regular file")
            put_back()
    lab.expect_whole(cwd, "with its files again")
    lab.done(cwd)


# ---- Files of sinks, while a run writes them ----

TABLE = Path("run/tables/clean_lake.jsonl")
ENDLESS = ["--traffic", "--rate", "2000/s", "--commit-interval", "20ms"]
CHANGES = {
    "removed": lambda path: path.unlink(),
    "moved": lambda path: path.rename("away"),
    "replaced": lambda path: Path(shutil.copy(path, "copy")).rename(path),
    "cut": lambda path: os.truncate(path, 10),
    "lengthened": lambda path: path.open("a").write("x"),
}
SAYS = {
    "removed": "was removed while",
    "moved": "away; move that back, and start again",
    "replaced": "was replaced by another file while",
    "cut": "somebody cut it while",
    "lengthened": "somebody else writes into it",
}


def end_run(cwd, process, stop):
    """Its status and what it said."""
    if stop:
        process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=120)
    return process.returncode, err


def begin_run(lab, cwd, *options):
    """A run that has committed rows in its table, and goes on (with options)."""
    command = [lab.click, "run", "--embedded", "run", *options, "--progress", "never"]
    resumes = (cwd / TABLE).exists()
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    table = cwd / TABLE
    written = 0
    for _ in range(2 if options else 1):  # the second time, what was written first is committed
        while process.poll() is None and (
            not table.exists() or table.stat().st_size <= max(100, written)
        ):
            time.sleep(0.01)
        written = table.stat().st_size if table.exists() else 0
    while resumes and "resumed" not in process.stderr.readline() and process.poll() is None:
        pass
    return process


def changed_while_written(lab):
    """The run stops by itself and says what to do; what can be put right goes on exactly."""
    for what, change in CHANGES.items():
        cwd = lab.empty()
        process = begin_run(lab, cwd, *ENDLESS)
        with contextlib.chdir(cwd):
            change(TABLE)
        status, err = end_run(cwd, process, False)
        if status != 1 or SAYS[what] not in err or "sink clean_lake" not in err:
            raise Failure(f"{what}: exit {status}\n{err}")
        if what == "moved":
            (cwd / "away").rename(cwd / TABLE)
        if what in ("moved", "lengthened"):
            status, err = end_run(cwd, begin_run(lab, cwd, *ENDLESS), True)
            verdict = lab.reconcile(cwd)
            if status != 0 or not verdict.out.endswith("exact true\n"):
                raise Failure(f"{what}, and put right: exit {status}\n{err}{verdict.out[-2000:]}")
        elif what != "replaced":  # by whatever: it may be as long
            Ended([lab.click, "run", "--embedded", "run", *ENDLESS], cwd).expect(3)
        lab.done(cwd)


def changed_at_the_end(lab):
    """Also where nothing is to be committed any more."""
    for what, change in CHANGES.items():
        cwd = lab.copy()
        process = begin_run(lab, cwd)
        with contextlib.chdir(cwd):
            change(TABLE)
        status, err = end_run(cwd, process, True)
        if status != 1 or SAYS[what] not in err:
            raise Failure(f"{what}: exit {status}\n{err}")
        lab.done(cwd)


TESTS = [
    changed_while_written,
    changed_at_the_end,
    runs_keep_their_directories,
    files_are_kept,
    programs_replace_programs,
    names_of_one_command,
    databases_hold_files,
]
