#!/usr/bin/env python3
"""Tests of docker/: what can be checked without a daemon, and the stack itself on a daemon of its
own, with stand-ins for the images that it pulls (cycle.py).

    run.py [--build DIR] [--checks] [--require]

The stack takes up to 15 minutes, needs root and the programs of docker/packages-stack.txt, and is
run if STACK_TEST=1 is set; else it is skipped, and the reason told. --require runs it, and fails if
that can't be; --checks leaves it out. Images and the build cache stay in BUILD/stack. Prints
'N passed, M failed, K skipped'. Exit: 0 none failed, 1 some failed, 2 usage.
"""

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

import daemon

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
YAML = "pyyaml==6.0.2"


def with_yaml(build):
    """Runs this again with a Python that has yaml, unless this one does."""
    try:
        import yaml  # noqa: F401

        return
    except ImportError:
        pass
    python = build / "stack" / "venv" / "bin" / "python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True)
    pip = [python, "-m", "pip", "install", "-q", "--disable-pip-version-check", YAML]
    subprocess.run(pip, check=True)
    os.execv(python, [python, *sys.argv])


def run_checks():
    """[passed, failed, skipped]"""
    import checks

    counts = [0, 0, 0]
    for name, problem, skipped in checks.results():
        if problem is not None:
            print(f"FAIL {name}\n{problem}")
        elif skipped is not None:
            print(f"{name} skipped: {skipped}")
        else:
            print(f"ok   {name}")
        counts[1 if problem is not None else 2 if skipped is not None else 0] += 1
    return counts


def run_stack(build, require):
    """[passed, failed, skipped] of the whole stack."""
    if not require and os.environ.get("STACK_TEST") != "1":
        print("the stack skipped: it takes 15 minutes; make stack-test or STACK_TEST=1 runs it")
        return [0, 0, 1]
    try:
        daemon.require()
        daemon.compose_plugin(build / "stack")
    except daemon.Unavailable as reason:
        print(f"the stack skipped: {reason}")
        return [0, 1, 0] if require else [0, 0, 1]
    start = time.monotonic()
    command = [HERE / "daemon.py", build / "stack", HERE / "cycle.py", build]
    code = subprocess.run(command).returncode
    print(f"{'FAIL' if code else 'ok  '} the stack {time.monotonic() - start:.0f}s")
    return [0, 1, 0] if code else [1, 0, 0]


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("--checks", action="store_true")
    parser.add_argument("--require", action="store_true")
    options = parser.parse_args()
    build = Path(options.build).resolve()
    (build / "stack").mkdir(parents=True, exist_ok=True)
    with_yaml(build)
    config = build / "stack" / "docker-config"  # with the plugin that daemon.py built
    if config.exists():
        os.environ["DOCKER_CONFIG"] = str(config)
    counts = run_checks()
    sys.stdout.flush()
    if not options.checks:
        counts = [a + b for a, b in zip(counts, run_stack(build, options.require))]
    print("{} passed, {} failed, {} skipped".format(*counts))
    return 1 if counts[1] else 0


if __name__ == "__main__":
    sys.exit(main())
