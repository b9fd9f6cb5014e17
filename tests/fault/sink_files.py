"""Files of sinks between runs, and of two runs at once: none cuts or mixes another's rows."""

import json
import os
import shutil
import signal
import subprocess
import time

from harness import ROOT, Ended, Failure

PIPELINE = """pipeline shop;
source orders from file 'orders.csv' format csv header columns (country string, amount int64)
  rejects to refused;
stream sold from orders require amount > 0 else 'amount_not_positive' rejects to refused;
sink good from sold to file 'good.jsonl' format jsonl exactly once;
sink bad from refused to file 'refused.jsonl' format jsonl exactly once;
"""
GOOD, BAD = "DE,5\n", "FR,-1\n"


class Shop:
    """A directory with the program; runs of it have the names of their directories."""

    def __init__(self, lab):
        self.cwd = lab.empty()
        (self.cwd / "shop.pipe").write_text(PIPELINE)
        build = [lab.build / "pipec", "build", "shop.pipe", "--out", "c", "-o", "shop"]
        Ended(build, self.cwd, environment={"PIPEC_HOME": str(ROOT)}).expect(0)
        self.orders("orders.csv", GOOD)

    def orders(self, name, rows):
        (self.cwd / name).write_text("country,amount\n" + rows)

    def run(self, name, *more):
        command = ["./shop", "run", "--embedded", name, "--progress", "never", *more]
        return Ended(command, self.cwd)

    def exact(self, name, *more):
        verdict = Ended(["./shop", "reconcile", name, *more], self.cwd)
        if verdict.status != 0 or not verdict.out.endswith("exact true\n"):
            raise Failure(f"{name}: {verdict.out[-2000:]}{verdict.err}")

    def rows(self, name):
        return len([json.loads(line) for line in (self.cwd / name).read_text().splitlines()])

    def refused(self, name, *words, status=3):
        """Says why, and changes neither file."""
        files = [self.cwd / "good.jsonl", self.cwd / "refused.jsonl"]
        before = [path.read_bytes() for path in files]
        ended = self.run(name).expect(status)
        ended.one_line(*words)
        if [path.read_bytes() for path in files] != before:
            raise Failure(f"{ended.command}: was refused, and changed files")


def empty_file_of_two_runs(lab):
    """A file in which a run has no row is there for another one, and is that one's then."""
    shop = Shop(lab)
    shop.run("one").expect(0)
    shop.orders("more.csv", GOOD + BAD)
    second = ["--path", "orders=more.csv", "--path", "good=more.jsonl"]
    shop.run("two", *second).expect(0)
    advice = "truncate -s 0 refused.jsonl"
    shop.refused("one", "sink bad", "refused.jsonl", "rows of another run", advice)
    shop.exact("two", "--path", "orders=more.csv")
    shop.run("two", *second).expect(0)
    lab.done(shop.cwd)


def empty_file_taken_back(lab):
    """Two runs without rows for a file: each gets one of its own, and none the other's rows."""
    shop = Shop(lab)
    shop.run("one").expect(0)
    shop.run("two", "--path", "good=more.jsonl").expect(0)
    shop.run("one").expect(0)
    shop.run("two", "--path", "good=more.jsonl").expect(0)
    (shop.cwd / "refused.jsonl").write_text("somebody's\n")
    ended = shop.run("two", "--path", "good=more.jsonl").expect(3)  # his own file, and no row his
    ended.one_line("sink bad", "refused.jsonl", "11 bytes behind the 0", "truncate -s 0")
    shop.refused("one", "sink bad", "rows of another run")
    (shop.cwd / "two/rows").touch()
    ended = shop.run("one", "--path", "bad=two/rows").expect(1)
    ended.one_line("sink bad", "two/rows", "the directory of another run")
    lab.done(shop.cwd)


def replaced_file(lab):
    """Overwritten by a run with --replace: also as long as it was, and longer."""
    shop = Shop(lab)
    for rows in ("FR,5\n", "FR,5\nFR,6\n"):
        shop.orders("more.csv", rows)
        shop.orders("orders.csv", GOOD)
        shutil.rmtree(shop.cwd / "one", ignore_errors=True)
        shutil.rmtree(shop.cwd / "two", ignore_errors=True)
        shop.run("one", "--replace").expect(0)
        shop.run("two", "--replace", "--path", "orders=more.csv").expect(0)
        shop.refused("one", "sink good", "good.jsonl", "not those that were committed")
        shop.exact("two", "--path", "orders=more.csv")
    lab.done(shop.cwd)


def copied_file(lab):
    """A copy with all rows is as good; one with more is nobody's, until somebody cuts it. Nor is
    what stands behind the last row of a run that is at its end."""
    shop = Shop(lab)
    shop.run("one").expect(0)
    good = shop.cwd / "good.jsonl"

    def copy():
        shutil.copy(good, shop.cwd / "copy")
        (shop.cwd / "copy").rename(good)

    copy()
    shop.run("one").expect(0)
    whole = good.read_bytes()
    advice = f"truncate -s {len(whole)} good.jsonl"
    good.write_bytes(whole + b'{"uncommitted":')
    shop.refused("one", "good.jsonl", "this run is at its end", advice)  # the copy is known since
    copy()
    shop.refused("one", "good.jsonl", "not the file that", advice)
    Ended(["truncate", "-s", str(len(whole)), "good.jsonl"], shop.cwd).expect(0)
    shop.run("one").expect(0)
    shop.exact("one")
    lab.done(shop.cwd)


# ---- A run that goes on ----

LIVE = ["--traffic", "--rate", "2000/s", "--commit-interval", "20ms", "--progress", "never"]


def size_of(path):
    return path.stat().st_size if path.exists() else 0


def begin(lab, cwd, name, sink):
    """A run that writes rows behind what the file of a sink has, and goes on."""
    before = size_of(cwd / sink)
    command = [lab.click, "run", "--embedded", name, *LIVE, "--path", f"clean_lake={sink}"]
    process = subprocess.Popen(
        command, cwd=cwd, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    )
    while process.poll() is None and size_of(cwd / sink) < before + 1000:
        time.sleep(0.01)
    if process.poll() is not None:
        raise Failure(f"{command}: {process.stderr.read()}")
    return process


def end(process, number):
    process.send_signal(number)
    _, err = process.communicate(timeout=120)
    if process.returncode != (0 if number == signal.SIGTERM else -number):
        raise Failure(f"exit {process.returncode}\n{err}")


def held_file(lab):
    """While one run writes a file, no other does, whatever it is told; then it is as ever."""
    cwd = lab.empty()
    other = [lab.click, "run", "--embedded", "other", *LIVE, "--path", "clean_lake=rows.jsonl"]
    other += ["--count", "100"]
    words = ("rows.jsonl", "clean_lake")
    process = begin(lab, cwd, "run", "rows.jsonl")
    try:
        os.kill(process.pid, signal.SIGSTOP)  # the file is still its own
        before = (cwd / "rows.jsonl").read_bytes()
        Ended(other, cwd).expect(1).one_line(*words, "is there already")
        Ended([*other, "--replace"], cwd).expect(1).one_line(*words, "another process is writing")
        if (cwd / "rows.jsonl").read_bytes() != before:
            raise Failure("another run changed the file")
        os.kill(process.pid, signal.SIGCONT)
        end(process, signal.SIGTERM)
    finally:
        process.kill()
    verdict = lab.reconcile(cwd)
    if verdict.status != 0 or not verdict.out.endswith("exact true\n"):
        raise Failure(f"{verdict.out[-2000:]}{verdict.err}")
    lab.done(cwd)


def killed_and_copied(lab):
    """A killed run's file is cut back where it stands, and in a copy of its directory."""
    cwd = lab.empty()
    outside, inside = "rows.jsonl", "run/tables/clean_lake.jsonl"
    for sink in (outside, inside):
        end(begin(lab, cwd, "run", sink), signal.SIGKILL)
        with (cwd / sink).open("a") as file:
            file.write('{"never committed":')
        end(begin(lab, cwd, "run", sink), signal.SIGKILL)
        with (cwd / sink).open("a") as file:
            file.write('{"never committed":')
        if sink == inside:
            shutil.copytree(cwd / "run", cwd / "copy")
            shutil.rmtree(cwd / "run")
            (cwd / "copy").rename(cwd / "run")
        end(begin(lab, cwd, "run", sink), signal.SIGTERM)
        verdict = lab.reconcile(cwd)
        if verdict.status != 0 or not verdict.out.endswith("exact true\n"):
            raise Failure(f"{sink}: {verdict.out[-2000:]}{verdict.err}")
        shutil.rmtree(cwd / "run")
    lab.done(cwd)


TESTS = [
    empty_file_of_two_runs,
    empty_file_taken_back,
    replaced_file,
    copied_file,
    held_file,
    killed_and_copied,
]
