"""Commands that a test runs, and how it fails."""

import subprocess


class Failure(Exception):
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
