"""Runs a command with its Nth call of a class failing: fail_nth.c."""

import os
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
TIME_LIMIT_S = 120
SITES_MAX = 4 << 20  # calls whose sites fail_nth.c notes
BROKEN_OFF = "Failure when receiving data from the peer"
# What a message says when a call failed in this way; none: the failure must not be noticed.
CAUSES = {
    # The latter are what RocksDB says if stat or access fails.
    "EIO": ("Input/output error", "exists but is not a directory", "Unexpected error(5)"),
    "ENOSPC": ("No space left on device",),
    "ENOMEM": ("out of memory", "Cannot allocate memory"),
    "EINTR": (),
    "short": (),
    "after": ("Input/output error", BROKEN_OFF),
    # connect; send; recv: as libcurl tells them.
    "ECONNRESET": ("Couldn't connect to server", "Failed sending data to the peer", BROKEN_OFF),
}


@dataclass(frozen=True)
class Way:
    """A class of calls and how they fail; sticky: all behind the Nth too."""

    calls: str
    how: str
    sticky: bool = False

    def causes(self):
        # RocksDB gives up on some calls that are interrupted, and libcurl on connect.
        if self.calls in ("db_file", "net") and self.how == "EINTR":
            return ("Interrupted system call",)
        return CAUSES[self.how]

    def __str__(self):
        return f"{self.calls} {self.how}{' from there on' if self.sticky else ''}"


def compile_shim(to):
    """The library to preload, in the directory `to`."""
    path = to / "fail_nth.so"
    flags = "-std=gnu11 -O1 -g -Wall -Wextra -Werror -fPIC -shared -fno-builtin -U_FORTIFY_SOURCE"
    command = [
        "gcc",
        *flags.split(),
        "-o",
        path,
        HERE / "fail_nth.c",
        HERE / "fail_nth_http.c",
        "-ldl",
    ]
    subprocess.run([str(part) for part in command], check=True)
    return path


class Result:
    """How a command ended, how many calls it made, and which one was made to fail."""

    def __init__(self, process, out, err, report):
        self.status, self.timed_out = process.returncode, False
        self.out, self.err = (text.decode("utf-8", "replace") for text in (out, err))
        self.calls, self.failed, caller = struct.unpack("<QQQ", report[:24])
        function, self.object = (
            part.split(b"\0")[0].decode() for part in (report[24:64], report[64:264])
        )
        self.function, self.caller = function, caller

    def where(self):
        """The function that failed and the line that called it."""
        if self.failed == 0:
            return "nothing"
        command = ["addr2line", "-e", self.object, "-f", "-C", "-s", "-i", hex(self.caller - 1)]
        text = subprocess.run(command, capture_output=True, text=True, check=False).stdout
        lines = text.split("\n")
        frames = [f"{name} {place}" for name, place in zip(lines[::2], lines[1::2])]
        return f"{self.function}, called in {' < '.join(frames) or self.object}"


def run(shim, way, number, command, cwd, environment=None, sites=None):
    """The result of the command with call `number` failing; 0: none, they are counted, and the file
    `sites` gets the site of each."""
    report = cwd.parent / (cwd.name + ".report")
    report.unlink(missing_ok=True)
    wishes = {
        "LD_PRELOAD": str(shim),
        "NTH_CLASS": way.calls,
        "NTH_HOW": way.how,
        "NTH_AT": str(number),
        "NTH_REPORT": str(report),
        "ASAN_OPTIONS": "verify_asan_link_order=0:" + os.environ.get("ASAN_OPTIONS", ""),
    }
    if way.sticky:
        wishes["NTH_STICKY"] = "1"
    if sites is not None:
        wishes["NTH_SITES"] = str(sites)
    process = subprocess.Popen(
        [str(part) for part in command],
        cwd=cwd,
        env={**os.environ, **(environment or {}), **wishes},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    timed_out = False
    try:
        out, err = process.communicate(timeout=TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        timed_out = True
    result = Result(process, out, err, report.read_bytes())
    result.timed_out = timed_out
    report.unlink()
    return result
