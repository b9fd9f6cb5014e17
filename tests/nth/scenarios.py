"""What is run with failing calls, and what must be true afterwards."""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CLICKSTREAM = "pipelines/clickstream.pipe"

# A C compiler that is quick: it gives what it is given.
COPYING_CC = """#!/bin/sh
while [ $# -gt 0 ]; do
    case $1 in
    -o) shift; out=$1 ;;
    *.c) in=$1 ;;
    esac
    shift
done
cp "$in" "$out"
"""

# One that compiles equal text once.
CACHING_CC = """#!/bin/sh
for word; do
    case $word in
    *.c) in=$word ;;
    esac
    [ "$last" != -o ] || out=$word
    last=$word
done
kept=$CACHE/$(sha256sum <"$in" | cut -c 1-32)
[ -x "$kept" ] || { gcc "$@" && cp "$out" "$kept.$$" && mv "$kept.$$" "$kept"; } || exit
cp "$kept" "$out"
"""


def call(command, cwd, expect=0, **environment):
    """Standard output and error of a command that must end with `expect`."""
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        check=False,
    )
    if result.returncode != expect:
        words = " ".join(str(part) for part in command)
        raise RuntimeError(f"{words}: exit {result.returncode}\n{result.stdout[-3000:]}")
    return result.stdout


def tree(top):
    """The files below a directory and their bytes."""
    found, above = {}, len(str(top)) + 1
    for parent, _, names in os.walk(top):
        for name in names:
            path = os.path.join(parent, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    found[path[above:]] = file.read()
    return found


class Setting:
    """The build under test and a directory for what is made once."""

    def __init__(self, build, scratch):
        self.build, self.scratch = build, scratch
        self.pipec = build / "pipec"
        self.sanitized = "asan" in build.name
        self.main_build = build.parent if self.sanitized else build  # has the engine of ClickHouse
        for name, text in (("copying-cc", COPYING_CC), ("caching-cc", CACHING_CC)):
            (scratch / name).write_text(text)
            (scratch / name).chmod(0o755)
        (scratch / "cache").mkdir()

    def program(self, pipe):
        made = self.scratch / pipe.stem
        if not made.exists():
            flags = "-O1 -g -fsanitize=address,undefined" if self.sanitized else "-g"
            call(
                [self.pipec, "build", pipe, "--out", self.scratch / "generated", "-o", made],
                ROOT,
                CC="gcc",
                CFLAGS=flags,
                PIPEC_HOME=str(ROOT),
            )
        return made


class Scenario:
    """A command over a copy of a directory that is prepared once."""

    exits = (0, 1, 4)  # that a failure may lead to
    uses_database = False
    speaks_http = False  # and is run alone: its server is not for two at a time
    waits = False  # for a server that is away, as long as that takes
    most_points = None  # of a slow one, even if all are wanted
    leaves_nothing = False  # mostly: a directory that is as before is taken again

    def __init__(self, setting, name):
        self.setting, self.name = setting, name
        self.environment = {"PIPEC_HOME": str(ROOT)}
        self.template = setting.scratch / f"template-{name.replace(' ', '-')}"
        self.before = None  # what is in it

    def prepare(self, directory):
        """Fills the directory that every run gets a copy of."""

    def fresh(self, directory):
        if not self.template.exists():
            self.template.mkdir()
            self.prepare(self.template)
        if self.before is None:
            self.before = tree(self.template)
        shutil.rmtree(directory, ignore_errors=True)
        shutil.copytree(self.template, directory, symlinks=True)

    def command(self):
        raise NotImplementedError

    def observe(self, directory, result):
        """What must be as it was without a failure if the exit status is the same."""
        return {"standard output": result.out, **tree(directory)}

    def after(self, directory, result, baseline):
        """What is wrong with what a failed command left behind."""
        return self.leftovers(directory, result, baseline)

    def leftovers(self, directory, result, baseline):
        """Every file is as before, absent, or as after the whole command."""
        before, found = self.before, []
        for path, data in tree(directory).items():
            if path not in before and path not in baseline:
                # A process that is out of memory ends at once.
                if not ("emory" in result.err and path.endswith(".partial")):
                    found.append(f"{path} is left over")
            elif data not in (before.get(path), baseline.get(path)):
                found.append(f"{path} is neither as before nor complete")
        found += [f"{path} is gone" for path in before if not (directory / path).exists()]
        return found


class Pipec(Scenario):
    """A command of the compiler over a program of the project and its contracts."""

    leaves_nothing = True

    def __init__(self, setting, words, pipe, **environment):
        super().__init__(setting, f"pipec {' '.join(words)} {pipe}".replace("/", "."))
        self.words, self.pipe = words, pipe
        self.environment.update(environment)

    def prepare(self, directory):
        for source in (self.pipe, "contracts", "tests/golden/contracts"):
            to = directory / source
            to.parent.mkdir(parents=True, exist_ok=True)
            if (ROOT / source).is_dir():
                shutil.copytree(ROOT / source, to, dirs_exist_ok=True)
            else:
                shutil.copy(ROOT / source, to)

    def command(self):
        return [self.setting.pipec, *self.words, self.pipe]


class PipecTest(Pipec):
    leaves_nothing = False
    most_points = 200


class Program(Scenario):
    """A command of a compiled pipeline."""

    uses_database = True

    def __init__(self, setting, name, pipe, words):
        super().__init__(setting, name)
        self.pipe, self.words = ROOT / pipe, words

    @property
    def program(self):
        return self.setting.program(self.pipe)

    def command(self):
        return [self.program, *self.words]


class Reading(Program):
    """Changes nothing: the whole of the directory stays as it is."""

    def __init__(self, setting, name, pipe, words, make):
        super().__init__(setting, name, pipe, words)
        self.prepare = make


class Run(Program):
    """A run: begun again without a failure it ends as if there had been none."""

    exits = (0, 1, 3, 4)

    def __init__(self, setting, name, pipe, words, make=lambda directory: None):
        super().__init__(setting, name, pipe, ["run", "--embedded", "run", *words])
        self.prepare = make

    def observe(self, directory, result):
        return {
            path: b"\n".join(sorted(data.split(b"\n")))
            for path, data in tree(directory).items()
            if re.search(r"\.(jsonl|csv)$", path) and not path.endswith("meters.csv")
        }

    def after(self, directory, result, baseline):
        text = call(self.command(), directory, **self.environment)
        reconcile = [self.program, "reconcile", "run", "--progress", "never"]
        verdict = call(reconcile, directory, **self.environment)
        if verdict.splitlines()[-1] != "exact true":
            return ["reconcile: " + verdict[-3000:]]
        rows = self.observe(directory, result)
        differing = [path for path in {**baseline, **rows} if rows.get(path) != baseline.get(path)]
        return [f"{path} differs after another run: {text[-300:]}" for path in differing]


class Inject(Program):
    """Rows are appended once: a second call completes what a failed one began."""

    exits = (0, 1, 3, 4)
    ROWS = 40

    def __init__(self, setting, pipe):
        super().__init__(setting, "inject", pipe, ["inject", "--embedded", "run", "rows.jsonl"])

    def prepare(self, directory):
        rows = [
            f'{{"key":"s{i % 3}","kafka_time":"2026-01-31T10:00:{i:02}Z","value_text":"{i}"}}'
            for i in range(self.ROWS)
        ]
        (directory / "rows.jsonl").write_text("\n".join(rows) + "\n")

    def observe(self, directory, result):
        topic = [self.program, "inspect", "run", "dump", "clickstream.raw"]
        return {"rows": call(topic, directory)}

    def after(self, directory, result, baseline):
        call(self.command(), directory)
        same = self.observe(directory, result) == baseline
        return [] if same else ["a second call does not complete the rows"]


class Traffic(Program):
    """Files appear complete or not at all."""

    def observe(self, directory, result):
        return tree(directory)


CLICKS = ["--traffic", "--count", "1200", "--rate", "2/s", "--seed", "5", "--progress", "never"]
METERS = ["--traffic", "--count", "1500", "--rate", "10/s", "--seed", "4", "--progress", "never"]
FIRST = ["--traffic", "--count", "700", "--rate", "2/s", "--seed", "5", "--progress", "never"]
SMALL = ["--batch", "100", "--commit-interval", "5ms"]


def make_orders(directory):
    for part in (1, 2):
        rows = ["at,country,note,amount"]
        for i in range(400):
            note = '"a ""quoted"",\nnote"' if i % 7 == 0 else "plain"
            time = f"2026-01-31T10:{i // 60:02}:{i % 60:02}Z"
            rows.append(f"{time},{'DE FR'.split()[i % 2]},{note},{i % 50 - 1}.5{part}")
        rows[10] = "not a time,DE,x,1.00"
        (directory / f"orders-{part}.csv").write_text("\n".join(rows) + "\n")


def compiler_scenarios(setting):
    passes = "tests/pipec_test/passes.pipe"
    copying = {"CC": str(setting.scratch / "copying-cc")}
    caching = {"CC": str(setting.scratch / "caching-cc"), "CACHE": str(setting.scratch / "cache")}
    pipelines = sorted(path.stem for path in (ROOT / "pipelines").glob("*.pipe"))
    plans = (
        "aggregates divert_rows evolve functions_strings source_csv sink_iceberg traffic".split()
    )
    for name in pipelines:
        yield Pipec(setting, ["check"], f"pipelines/{name}.pipe")
        yield Pipec(setting, ["build"], f"pipelines/{name}.pipe", **copying)
    for name in plans:
        yield Pipec(setting, ["check"], f"tests/golden/plan/{name}.pipe")
        yield Pipec(setting, ["--explain"], f"tests/golden/plan/{name}.pipe")
    for name in ("nested", "sessions", "text"):
        yield Pipec(setting, ["build"], f"tests/golden/c/{name}.pipe", **copying)
    yield Pipec(setting, ["--explain", "--format", "json"], "pipelines/clickstream.pipe")
    yield Pipec(setting, ["fmt"], "tests/golden/fmt/streams.in.pipe")
    yield Pipec(setting, ["fmt"], "tests/golden/fmt/comments.in.pipe")
    yield PipecTest(setting, ["test"], passes, **caching)
    yield Pipec(setting, ["contracts", "check"], "contracts/clickstream")


def program_scenarios(setting):
    corrections = "tests/reconcile/corrections.pipe"
    orders = "tests/reconcile/orders.pipe"
    run = ["run", "--embedded", "run"]

    def clicks(directory):
        call([setting.program(ROOT / CLICKSTREAM), *run, *CLICKS], directory)

    def half(directory):
        call([setting.program(ROOT / CLICKSTREAM), *run, *FIRST], directory)

    yield Run(setting, "run clicks", CLICKSTREAM, [*CLICKS, *SMALL])
    yield Run(setting, "run clicks on", CLICKSTREAM, [*CLICKS, *SMALL], half)
    yield Run(setting, "run meters", corrections, METERS)
    yield Run(setting, "run orders", orders, ["--progress", "never"], make_orders)
    for words in (["topics"], ["state"], ["dump", "agg.windows"]):
        name = f"inspect {words[0]}"
        yield Reading(setting, name, CLICKSTREAM, ["inspect", "run", *words], clicks)
    reconcile = ["reconcile", "run", "--progress", "never"]
    yield Reading(setting, "reconcile", CLICKSTREAM, reconcile, clicks)
    ledger = [*reconcile, "--json", "--ledger-out", "ledger.jsonl"]
    yield Reading(setting, "reconcile ledger", CLICKSTREAM, ledger, clicks)
    yield Inject(setting, CLICKSTREAM)
    words = ["traffic", "--to", "data", "--count", "500", "--ledger", "ledger.jsonl"]
    yield Traffic(setting, "traffic", CLICKSTREAM, [*words, "--progress", "never"])
