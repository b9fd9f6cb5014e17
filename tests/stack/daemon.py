#!/usr/bin/env python3
"""A Docker daemon for one command, which leaves nothing behind.

    daemon.py DIR COMMAND [ARGUMENT …]

The daemon and the command are in namespaces of their own (network, mounts, processes), so bridges,
packet filter rules, published ports, mounts and containers end with the command, however it ends.
The network outside is reached through slirp4netns, in user space. Images and the build cache stay
in DIR/data, for the next time; the command finds the daemon by DOCKER_HOST, and `docker compose`,
which is built into DIR once if the machine has none. What the daemon left on the machine all the
same (control groups, network, processes) is told, exit code 1; else that of the command. Needs
root. Unavailable tells what is missing.
"""

import contextlib
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "kafka"))

from processes import Child

COMPOSE = "github.com/docker/compose/v5", "v5.6.0"
SOCKET = "unix:///run/docker.sock"
RESOLVER = "10.0.2.3"  # of slirp4netns
START_S = 60


class Unavailable(Exception):
    """No daemon can be started here; the text says why and what to do."""


def require():
    """Raises Unavailable if something is missing."""
    if os.geteuid() != 0:
        raise Unavailable("a Docker daemon of its own needs root")
    for program in "docker dockerd unshare slirp4netns iptables debootstrap mvn".split():
        if not shutil.which(program):
            raise Unavailable(f"{program} is missing; install docker/packages-stack.txt")
    if not os.path.exists("/dev/net/tun"):
        raise Unavailable("/dev/net/tun is missing, so the daemon would have no network")


def compose_plugin(directory):
    """DOCKER_CONFIG for a docker that has compose; builds it if there is none."""
    config = Path(directory) / "docker-config"
    plugin = config / "cli-plugins" / "docker-compose"
    if plugin.exists():
        return config
    found = subprocess.run(["docker", "compose", "version", "--short"], capture_output=True)
    if found.returncode == 0 and found.stdout.lstrip(b"v")[:1] >= b"2":
        return None
    if not shutil.which("go"):
        raise Unavailable("docker compose is missing, and so is go to build it with")
    module = Path(directory) / "compose-module"
    shutil.rmtree(module, ignore_errors=True)
    module.mkdir(parents=True)
    plugin.parent.mkdir(parents=True, exist_ok=True)
    path, version = COMPOSE
    flags = f"-s -w -X {path}/internal.Version={version}"
    built = f"{plugin}.partial"
    for arguments in (
        ["mod", "init", "stack"],
        ["get", f"{path}/cmd@{version}"],
        ["build", "-trimpath", f"-ldflags={flags}", "-o", built, f"{path}/cmd"],
    ):
        done = subprocess.run(["go", *arguments], cwd=module, capture_output=True, text=True)
        if done.returncode != 0:
            raise Unavailable(f"docker compose does not build: {done.stderr.strip()[-300:]}")
    os.rename(built, plugin)
    shutil.rmtree(module)
    return config


# Outside ------------------------------------------------------------------------------------------


def network_of_machine():
    """What a daemon would change outside."""
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True)
    names = sorted(line.split(": ")[1] for line in links.stdout.splitlines())
    found = {"links": names}
    for table in ("filter", "nat"):
        rules = subprocess.run(["iptables", "-t", table, "-S"], capture_output=True, text=True)
        found[table] = rules.stdout.splitlines()
    return found


def groups_of(name):
    """Control groups with this name."""
    return glob.glob(f"/sys/fs/cgroup/{name}") + glob.glob(f"/sys/fs/cgroup/*/{name}")


def remove_groups(name):
    """Those that could not be removed."""
    for top in groups_of(name):
        for directory, _, _ in os.walk(top, topdown=False):
            with contextlib.suppress(OSError):
                os.rmdir(directory)
    return groups_of(name)


def wait_for(what, condition, timeout_s):
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"{what}: not after {timeout_s} s")
        time.sleep(0.05)


def run_outside(directory, command):
    """The exit code of the command, or 1 if something was left."""
    directory.mkdir(parents=True, exist_ok=True)
    require()
    compose_plugin(directory)
    group = f"pipec-stack-{os.getpid()}"
    before = network_of_machine()
    own = os.readlink("/proc/self/ns/net")
    unshare = ["unshare", "--net", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
    inside = [sys.executable, str(Path(__file__).resolve()), "--inside", group, str(directory)]
    process = subprocess.Popen([*unshare, *inside, *command])
    slirp = None
    try:
        there = f"/proc/{process.pid}/ns/net"
        wait_for("namespaces", lambda: os.readlink(there) != own, START_S)
        command = ["slirp4netns", "--configure", "--mtu=65520", "--disable-host-loopback"]
        slirp = Child([*command, process.pid, "tap0"], directory / "slirp4netns.log")
        code = process.wait()
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        if slirp:
            slirp.kill()
    left = [f"control group {name}" for name in remove_groups(group)]
    if network_of_machine() != before:
        left.append(f"network: {before} became {network_of_machine()}")
    for line in left:
        print(f"daemon.py: left behind: {line}")
    return 1 if left else code


# Inside -------------------------------------------------------------------------------------------


def run(*command):
    subprocess.run([str(part) for part in command], check=True)


def prepare_namespaces():
    """/run is empty, /sys is of this network, names are resolved by slirp4netns."""
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    groups = Path("/run/cgroup")
    groups.mkdir()
    run("mount", "--rbind", "/sys/fs/cgroup", groups)
    run("mount", "-t", "sysfs", "sysfs", "/sys")
    run("mount", "--rbind", groups, "/sys/fs/cgroup")
    resolver = Path("/run/resolv.conf")
    resolver.write_text(f"nameserver {RESOLVER}\n")
    run("mount", "--bind", resolver, os.path.realpath("/etc/resolv.conf"))
    run("ip", "link", "set", "lo", "up")

    def has_route():
        return any(re.match(r"tap0\t0+\t", line) for line in open("/proc/net/route"))

    wait_for("network of slirp4netns", has_route, START_S)


def start_daemon(directory, group):
    command = ["dockerd", "--data-root", directory / "data", "--exec-root", "/run/docker"]
    command += ["--pidfile", "/run/docker.pid", "--host", SOCKET, "--cgroup-parent", f"/{group}"]
    log = directory / "dockerd.log"
    log.unlink(missing_ok=True)
    daemon = Child(command, log)

    def answers():
        if not daemon.alive():
            raise RuntimeError(f"dockerd ended:\n{daemon.tail()}")
        return subprocess.run(["docker", "version"], capture_output=True).returncode == 0

    wait_for("dockerd", answers, START_S)
    return daemon


def run_inside(group, directory, command):
    prepare_namespaces()
    os.environ["DOCKER_HOST"] = SOCKET
    config = directory / "docker-config"
    if config.exists():
        os.environ["DOCKER_CONFIG"] = str(config)
    daemon = start_daemon(directory, group)
    try:
        return subprocess.run(command).returncode
    finally:
        daemon.stop(60)


def main():
    arguments = sys.argv[1:]
    if arguments[:1] == ["--inside"]:
        return run_inside(arguments[1], Path(arguments[2]), arguments[3:])
    if len(arguments) < 2:
        sys.exit(__doc__)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return run_outside(Path(arguments[0]).resolve(), arguments[1:])
    except Unavailable as reason:
        sys.exit(f"daemon.py: {reason}")


if __name__ == "__main__":
    sys.exit(main())
