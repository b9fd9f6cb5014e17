#!/usr/bin/env python3
"""Random pipelines on random inputs: straight, with other commits, killed, and with partitions that
fall idle and wake: all equal to the model.

run.py [--cases N] [--seed S] [--build DIR] [--jobs N] [--endless]     seeds S, S + 1, …
run.py --directory DIR                                                 one kept case again
A case that fails is kept, and made smaller, in build/model-failures/SEED.
"""

import argparse
import gc
import multiprocessing
import shutil
import subprocess
import sys
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CASES = Path(__file__).resolve().parent / "cases"


def ensure_fastavro():
    """This program again, in a virtual environment that has fastavro, if this one has not."""
    try:
        import fastavro  # noqa: F401

        return
    except ImportError:
        pass
    python = ROOT / "build" / "venv" / "bin" / "python"
    if Path(sys.prefix) == python.parents[1]:
        sys.exit(
            "fastavro cannot be imported in build/venv; remove that directory and run this again"
        )
    if (
        subprocess.run([str(python), "-c", "import fastavro"], stderr=subprocess.DEVNULL).returncode
        if python.exists()
        else True
    ):
        subprocess.run(
            [sys.executable, "-m", "venv", "--clear", str(python.parents[1])], check=True
        )
        subprocess.run([str(python), "-m", "pip", "-q", "install", "fastavro"], check=True)
    sys.exit(subprocess.run([str(python), *sys.argv]).returncode)


sys.dont_write_bytecode = True
ensure_fastavro()

import compare  # noqa: E402
import generate  # noqa: E402
import shrink  # noqa: E402
from case import Broken, Case  # noqa: E402


def run_fixed(task):
    """One case of cases/: what failed once, made small."""
    name, build, scratch, keep = task
    directory = Path(scratch) / name
    shutil.rmtree(directory, ignore_errors=True)
    shutil.copytree(CASES / name, directory)
    return check_case(name, 1, directory, build, keep)


def run_case(task):
    """(seed, None or what is wrong, kills, raises of idle partitions' time)."""
    seed, build, scratch, keep = task
    directory = Path(scratch) / str(seed)
    shutil.rmtree(directory, ignore_errors=True)
    try:
        generate.generate(seed, directory)
    except Exception:
        return seed, traceback.format_exc(), 0, 0
    return check_case(seed, seed, directory, build, keep)


def check_case(name, seed, directory, build, keep):
    try:
        case = Case(directory, build)
        case.check(seed)
        shutil.rmtree(directory)
        return name, None, case.kills, case.raises
    except (Broken, compare.Difference) as error:
        wrong = f"{type(error).__name__}: {error}"
    except Exception:  # a fault of the model itself is a failure too
        wrong = traceback.format_exc()
    kept = Path(keep) / str(name)
    shutil.rmtree(kept, ignore_errors=True)
    shutil.move(directory, kept)
    return name, wrong, 0, 0


def report(seed, wrong, options):
    """A fault on the way to a smaller case is told too, and neither hides the first nor ends the
    run."""
    kept = Path(options.keep) / str(seed)
    print(f"FAIL seed {seed}, kept in {kept}\n{wrong[:1500]}", flush=True)
    kept.mkdir(exist_ok=True)
    (kept / "wrong.txt").write_text(wrong)
    if not options.shrink or not isinstance(seed, int) or wrong.startswith("Traceback"):
        return
    try:
        steps = shrink.shrink(kept, options.build, seed, seconds=options.shrink)
        small = (kept / "small" / "wrong.txt").read_text() if steps > 1 else ""
        print(
            f"  made smaller in {steps} steps: {kept}/small\n"
            + (kept / "small" / "generated.pipe").read_text()
            + (small[:2000] or "  it does not fail every time"),
            flush=True,
        )
    except Exception:
        print(f"  not made smaller: {traceback.format_exc()}", flush=True)


def check_directory(options):
    try:
        Case(options.directory, options.build).check(options.seed)
    except (Broken, compare.Difference) as error:
        print(f"FAIL {error}")
        return 1
    print("1 passed, 0 failed")
    return 0


def tasks(options):
    """The fixed cases, then the random ones; without an end in rounds: a pool takes all at once."""
    places = (options.build, options.scratch, options.keep)
    yield run_fixed, [(path.name, *places) for path in sorted(CASES.iterdir())]
    seed = options.seed
    while True:
        yield run_case, [(seed + i, *places) for i in range(options.cases)]
        seed += options.cases
        if not options.endless:
            return


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--build", default=str(ROOT / "build"))
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument(
        "--shrink", type=float, default=60, metavar="SECONDS", help="a failure; 0: not at all"
    )
    parser.add_argument("--endless", action="store_true")
    parser.add_argument("--directory")
    options = parser.parse_args()
    if options.directory:
        return check_directory(options)
    options.scratch, options.keep = str(ROOT / "build" / "model-cases"), str(
        ROOT / "build" / "model-failures"
    )
    Path(options.keep).mkdir(parents=True, exist_ok=True)
    began, passed, failed, all_kills, all_raises = time.monotonic(), 0, 0, 0, 0
    gc.set_threshold(100_000)  # of a case all lives to its end: there is little to find
    with multiprocessing.Pool(options.jobs) as pool:
        results = (
            result for run, some in tasks(options) for result in pool.imap_unordered(run, some)
        )
        for seed, wrong, kills, raises in results:
            passed, failed = passed + (wrong is None), failed + (wrong is not None)
            all_kills += kills
            all_raises += raises
            if wrong is not None:
                report(seed, wrong, options)
            if (passed + failed) % 100 == 0:
                print(
                    f"{passed + failed} cases, {all_kills} kills, {all_raises} raises of idle "
                    f"partitions, {time.monotonic() - began:.0f} s",
                    flush=True,
                )
    print(
        f"{all_kills} kills, {all_raises} raises of idle partitions, "
        f"{time.monotonic() - began:.0f} s"
    )
    if options.cases >= 100 and all_raises == 0:
        print("FAIL no partition was ever idle")
        failed += 1
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
