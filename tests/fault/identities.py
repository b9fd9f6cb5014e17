"""Directories of another plan, another log, an older or newer program: refused, both named."""

import re
import shutil
import subprocess

from harness import HERE, ROOT, Ended, Failure

HOME = {"PIPEC_HOME": str(ROOT)}


def identity(program, cwd):
    """(plan, runtime) that a program says it is of."""
    said = Ended([program, "--version"], cwd).expect(0).out
    return re.search(r"plan (\w+), runtime (\d+)", said).groups()


def edited(lab):
    """The same pipeline with another window."""
    program = lab.scratch / "edited"
    if not program.exists():
        text = (ROOT / "pipelines/clickstream.pipe").read_text()
        changed = text.replace("window tumbling 10s", "window tumbling 20s")
        changed = changed.replace("'../", f"'{ROOT}/")
        (lab.scratch / "clickstream.pipe").write_text(changed)
        command = [lab.build / "pipec", "build", lab.scratch / "clickstream.pipe"]
        Ended([*command, "--out", lab.scratch / "c", "-o", program], ROOT, environment=HOME).expect(
            0
        )
    return program


def refuse(command, cwd, *names):
    ended = Ended(command, cwd)
    if ended.status != 3:
        raise Failure(f"{ended.command}: exit {ended.status}, not 3\n{ended.out}{ended.err}")
    ended.one_line(*names)


def another_plan_is_refused(lab):
    program, cwd = edited(lab), lab.copy()
    mine, _ = identity(lab.click, cwd)
    other, _ = identity(program, cwd)
    (cwd / "rows.jsonl").write_text("")
    for words in (
        ["run", "--embedded", "run", "--until-end"],
        # Not of what follows from it: other files.
        ["run", "--embedded", "run", "--path", "clean_lake=elsewhere.jsonl"],
        ["run", "--embedded", "run", "--path", "clicks=none-*.avro"],
        ["inject", "--embedded", "run", "rows.jsonl"],
        ["reconcile", "run"],
    ):
        refuse([program, *words], cwd, mine, other)
    lab.expect_whole(cwd, "after it was refused")


def another_plans_state_is_refused(lab):
    program, cwd, elsewhere = edited(lab), lab.copy(), lab.empty()
    mine, _ = identity(lab.click, cwd)
    other, _ = identity(program, cwd)
    Ended([program, *lab.command(1000)[1:]], elsewhere).expect(0)
    shutil.rmtree(cwd / "run/state")
    shutil.copytree(elsewhere / "run/state", cwd / "run/state")
    refuse(lab.command(), cwd, mine, other, "delete")
    shutil.rmtree(cwd / "run/state")
    lab.expect_whole(cwd, "without the state of another plan")


def another_logs_state_is_refused(lab):
    cwd, elsewhere = lab.copy(), lab.empty()
    lab.run(elsewhere, 1000).expect(0)
    shutil.rmtree(cwd / "run/state")
    shutil.copytree(elsewhere / "run/state", cwd / "run/state")
    ended = lab.run(cwd)
    if ended.status != 3 or len(set(re.findall(r"\b[0-9a-f]{32}\b", ended.err))) != 2:
        raise Failure(f"exit {ended.status}: {ended.err}")
    ended.one_line("belongs to log")
    shutil.rmtree(cwd / "run/state")
    lab.expect_whole(cwd, "without the state of another log")


def newer_state_than_the_log_is_refused(lab):
    """A log that was restored from an older copy, beside the state of today."""
    cwd = lab.copy()
    lab.run(cwd).expect(0)
    shutil.rmtree(cwd / "run/log")
    shutil.copytree(lab.base / "run/log", cwd / "run/log")
    shutil.rmtree(cwd / "run/tables")
    shutil.copytree(lab.base / "run/tables", cwd / "run/tables")
    refuse(lab.command(), cwd, "newer than the log", "delete the state directory")
    shutil.rmtree(cwd / "run/state")
    lab.expect_whole(cwd, "without the newer state")


def another_layout_is_refused(lab):
    """The directory of an older program (it named none, or another), and of a newer one."""
    tamper = lab.scratch / "tamper"
    source = HERE.parent / "reconcile/tamper.c"
    subprocess.run(["gcc", "-O1", "-o", tamper, source, "-lrocksdb"], check=True)
    for part, advice in (("log", "begin in a new directory"), ("state", "delete")):
        for value, name in (("3939", "99"), ("31", "1")):
            cwd = lab.copy()
            words = ["put"] if part == "log" else ["put-state"]
            key = "layout" if part == "log" else "version"
            Ended([tamper, "run", *words, key, value], cwd).expect(0)
            refuse(lab.command(), cwd, f"run/{part}", name, advice)
            if part == "log":
                refuse([lab.click, "reconcile", "run"], cwd, "run/log", name)
                ended = Ended([lab.click, "inspect", "run"], cwd)
                if ended.status == 0 or name not in ended.err:
                    raise Failure(f"inspect: exit {ended.status}: {ended.err}")
            else:
                shutil.rmtree(cwd / "run/state")
                lab.expect_whole(cwd, "without the state of another version")
            lab.done(cwd)


def another_runtime_is_refused(lab):
    """Generated C and library of different versions: when it compiles, or when it starts."""
    cwd = lab.empty()
    plan, runtime = identity(lab.click, cwd)
    source = (ROOT / "generated/clickstream/clickstream.c").read_text()
    header = (ROOT / "runtime/pipe.h").read_text()
    older = f"#define PIPE_RUNTIME_ABI {runtime}"
    if older not in header:
        raise Failure(f"runtime/pipe.h does not say {older}")
    (cwd / "pipe.h").write_text(header.replace(older, "#define PIPE_RUNTIME_ABI 99"))
    for path in (ROOT / "runtime").glob("*.h"):
        if path.name != "pipe.h":
            shutil.copy(path, cwd)
    (cwd / "as-it-is.c").write_text(source)
    (cwd / "for-99.c").write_text(source.replace(f"ABI != {runtime}", "ABI != 99"))
    flags = ["-std=gnu11", "-w", "-fPIE", "-pie", "-I", cwd]
    libraries = (lab.build / "libpipe.flags").read_text().split()
    for name, good in (("as-it-is", False), ("for-99", True)):
        command = ["gcc", *flags, "-o", name, f"{name}.c", lab.build / "libpipe.a", *libraries]
        ended = Ended(command, cwd)
        if (ended.status == 0) != good:
            raise Failure(f"{name}.c: gcc: exit {ended.status}\n{ended.err[-1000:]}")
        if not good and "compile the pipeline again" not in ended.err:
            raise Failure(f"the C compiler does not say why: {ended.err[-1000:]}")
    ended = Ended(["./for-99", "run", "--embedded", "run"], cwd)
    if ended.status != 4:
        raise Failure(f"exit {ended.status}: {ended.err}")
    ended.one_line("runtime 99", runtime)


TESTS = [
    another_plan_is_refused,
    another_plans_state_is_refused,
    another_logs_state_is_refused,
    newer_state_than_the_log_is_refused,
    another_layout_is_refused,
    another_runtime_is_refused,
]
