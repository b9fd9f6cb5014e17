"""Child processes that never outlive the tests, and free ports for them.

A child is killed by the kernel when this process ends, however it ends. Signals go to a process id
together with its start time, so that a number that was given to another process is never hit.
"""

import contextlib
import ctypes
import os
import random
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

_PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)
# The kernel's death signal follows the thread that forked: all forks are made by one that stays.
_launcher = ThreadPoolExecutor(max_workers=1, thread_name_prefix="launcher")
_given = set()


def free_port():
    """A free port of 127.0.0.1, not given before, below those that outgoing connections take: a
    server that is down for a while finds it free again."""
    low = int(Path("/proc/sys/net/ipv4/ip_local_port_range").read_text().split()[0])
    while True:
        port = random.randrange(min(10240, low - 2000), low)
        if port in _given:
            continue
        with socket.socket() as probe, contextlib.suppress(OSError):
            probe.bind(("127.0.0.1", port))
            _given.add(port)
            return port


def start_time(pid):
    """When a process started, in the kernel's ticks; None if there is none (or it is a zombie)."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (OSError, ValueError):
        return None
    return None if fields[0] == "Z" else int(fields[19])


def own_directory(parent, prefix):
    """A new directory for as long as this process lives. Those of processes that ended without
    removing theirs are removed."""
    for owner in Path(parent).glob("*/.owner"):
        with contextlib.suppress(OSError, ValueError):  # another process sweeps too
            pid, started = map(int, owner.read_text().split())
            if start_time(pid) != started:
                shutil.rmtree(owner.parent, ignore_errors=True)
    made = Path(tempfile.mkdtemp(prefix=prefix, dir=parent))
    (made / ".owner").write_text(f"{os.getpid()} {start_time(os.getpid())}")
    return made


class Child:
    """A started process. Its output is appended to a file."""

    def __init__(self, command, log, cwd=None, env=None, tied=True):
        """tied: it dies with this process; else it outlives it, in a session of its own."""

        def in_child():
            if _libc.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0) != 0:
                os._exit(127)

        def launch():
            with open(log, "ab") as out:
                return subprocess.Popen(
                    [str(part) for part in command],
                    stdin=subprocess.DEVNULL,
                    stdout=out,
                    stderr=subprocess.STDOUT,
                    cwd=cwd,
                    env=env,
                    start_new_session=not tied,
                    preexec_fn=in_child if tied else None,
                )

        self.log = Path(log)
        self.process = _launcher.submit(launch).result()
        self.pid = self.process.pid
        self.started = start_time(self.pid)

    @classmethod
    def adopt(cls, pid, started, log):
        """A child that an earlier process started with tied=False."""
        child = cls.__new__(cls)
        child.log, child.process, child.pid, child.started = Path(log), None, pid, started
        return child

    def alive(self):
        if self.process and self.process.poll() is not None:
            return False
        return self.started is not None and start_time(self.pid) == self.started

    def send(self, number):
        """Sends a signal; does nothing if the process is gone."""
        if self.alive():
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def wait(self, timeout_s):
        """Whether it ended within the time."""
        if self.process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                self.process.wait(timeout_s)
                return True
            return False
        deadline = time.monotonic() + timeout_s
        while self.alive():
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def kill(self):
        """kill -9, and waits until it is gone."""
        self.send(signal.SIGKILL)
        self.wait(30)

    def stop(self, timeout_s=20):
        """SIGTERM, then kill -9. A paused process is continued first."""
        self.send(signal.SIGTERM)
        self.send(signal.SIGCONT)
        if not self.wait(timeout_s):
            self.kill()

    def pause(self):
        """SIGSTOP; returns when every thread stands still, which takes a while if CPUs are busy."""
        self.send(signal.SIGSTOP)
        while self.alive() and any(state != "T" for state in self._thread_states()):
            time.sleep(0.005)

    def resume(self):
        """SIGCONT."""
        self.send(signal.SIGCONT)

    def _thread_states(self):
        for stat in Path(f"/proc/{self.pid}/task").glob("*/stat"):
            with contextlib.suppress(OSError):
                yield stat.read_text().rpartition(")")[2].split()[0]

    def memory_bytes(self):
        """Resident memory now."""
        for line in Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        return 0

    def cpu_seconds(self):
        """User and system time so far, all threads."""
        fields = Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def tail(self, lines=8):
        """The last lines of its output."""
        text = self.log.read_text(errors="replace") if self.log.exists() else ""
        return "\n".join(text.splitlines()[-lines:])


def children():
    """Process ids of the children of this process that run, also such as no Child stands for."""
    found = []
    for stat in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            fields = stat.read_text().rpartition(")")[2].split()
            if int(fields[1]) == os.getpid() and fields[0] != "Z":
                found.append(int(stat.parent.name))
    return found
