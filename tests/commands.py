"""Commands that a test runs, on a small disk too, and how it fails."""

import contextlib
import subprocess


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


def call(command, cwd, expect=0, **options):
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        text=True,
        errors="replace",
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=600,
        **options,
    )
    if expect is not None and result.returncode != expect:
        raise Failure(
            f"{' '.join(map(str, command))}: exit {result.returncode}, not {expect}\n"
            f"{result.stdout[-4000:]}"
        )
    return result.stdout


@contextlib.contextmanager
def small_disk(directory, size):
    directory.mkdir()
    try:
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(directory)],
            capture_output=True,
            text=True,
        )
    except FileNotFoundError:
        raise Skipped("there is no mount") from None
    if mounted.returncode != 0:
        raise Skipped(f"a small disk can't be mounted: {mounted.stderr.strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", str(directory)], check=True)
