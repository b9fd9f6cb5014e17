#!/usr/bin/env python3
"""The stack from beginning to end, on the daemon of DOCKER_HOST, with stand-ins for pulled images.

    cycle.py BUILD

Up, traffic with every fault; meanwhile `docker kill` of the controlling broker and of the pipeline,
and a second process of it; exact. Down, a backup, down with the volumes, and nothing is left.
Restored and up, still exact; down, and nothing is left. Everything of docker/ is used as it is;
docker/local/compose.yaml is the only addition.
"""

import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "kafka"))

from admin import Admin

BOOTSTRAP = "127.0.0.1:19092,127.0.0.1:19093,127.0.0.1:19094"
SECONDS = 60
BROKER_AWAY_S = 12
VOLUMES = {f"pipec_{name}" for name in "kafka-1 kafka-2 kafka-3 clickhouse state".split()}
BEGIN = time.monotonic()


def tell(text):
    print(f"[{time.monotonic() - BEGIN:4.0f} s] {text}", flush=True)


def docker(*arguments):
    """What docker prints."""
    done = subprocess.run(["docker", *arguments], capture_output=True, text=True)
    if done.returncode != 0:
        raise AssertionError(f"docker {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout


def stack(*arguments, background=False):
    """What stack.sh prints; or, in the background, its process."""
    command = [ROOT / "docker" / "stack.sh", *arguments]
    pipe = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT, "text": True}
    if background:
        return subprocess.Popen(command, **pipe)
    done = subprocess.run(command, **pipe)
    assert done.returncode == 0, f"stack.sh {' '.join(arguments)}:\n{done.stdout}"
    return done.stdout


def names(kind, *arguments):
    return set(docker(kind, "ls", "--format", "{{.Name}}", *arguments).split())


def containers(service):
    """Names of the running ones."""
    label = f"label=com.docker.compose.service={service}"
    return docker("ps", "--filter", label, "--format", "{{.Names}}").split()


def check_rights():
    """The pipeline can do nothing but its work, as the kernel sees it."""
    (name,) = containers("pipeline")
    status = dict(
        line.split(":\t", 1)
        for line in docker("exec", name, "cat", "/proc/1/status").splitlines()
        if ":\t" in line
    )
    assert status["Uid"].split() == ["10001"] * 4, status["Uid"]
    for kind in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"):
        assert int(status[kind], 16) == 0, f"{kind} {status[kind]}"
    assert status["NoNewPrivs"].strip() == "1", status["NoNewPrivs"]
    tried = subprocess.run(["docker", "exec", name, "touch", "/here"], capture_output=True)
    assert b"Read-only file system" in tried.stderr, tried
    for other in docker("ps", "--format", "{{.Names}}").split():
        (found,) = json.loads(docker("inspect", other))
        for bindings in found["HostConfig"]["PortBindings"].values():
            assert all(b["HostIp"] == "127.0.0.1" for b in bindings), (other, bindings)
        (uid,) = {
            line.split()[1]
            for line in docker("exec", other, "cat", "/proc/1/status").splitlines()
            if line.startswith("Uid:")
        }
        assert uid != "0", f"{other} is root"


def kill(name, away_s):
    tell(f"docker kill {name}")
    docker("kill", name)
    time.sleep(away_s)
    docker("start", name)


def controller():
    """Name of the container of the active controller."""
    with Admin(BOOTSTRAP) as admin:
        node = admin.controller()
    (name,) = containers(f"kafka-{node}")
    return name


def memory():
    """What containers take now, as docker says."""
    text = docker("stats", "--no-stream", "--format", "{{.Name}} {{.MemUsage}}")
    return "; ".join(sorted(text.splitlines()))


def check_exact():
    stack("settle")
    found = stack("reconcile")
    assert found.rstrip().endswith("exact true"), found
    return found


def check_faults(report):
    """That there was something to find: rows of every kind went through."""
    for word in ("duplicate", "late", "poison", "out of order", "value"):
        assert word in report, f"no {word} in\n{report}"


def run_faults():
    """Traffic, and what happens meanwhile."""
    os.environ["SEED"] = "7"
    feeder = stack("traffic", str(SECONDS), background=True)
    try:
        time.sleep(SECONDS / 6)
        kill(controller(), BROKER_AWAY_S)
        time.sleep(SECONDS / 12)
        (name,) = containers("pipeline")
        kill(name, 1)
        tell(memory())
        tell("scale 2")
        stack("scale", "2")
        assert len(containers("pipeline")) == 2, containers("pipeline")
        kill(containers("pipeline")[-1], 1)
        sent = feeder.communicate(timeout=600)[0]
    finally:
        feeder.kill()
    assert feeder.returncode == 0, sent
    check_faults(sent)
    return sent


def check_nothing_left(volumes):
    left = docker("ps", "-a", "--format", "{{.Names}}").split()
    assert not left, f"containers are left: {left}"
    networks = names("network") - {"bridge", "host", "none"}
    assert not networks, f"networks are left: {networks}"
    assert names("volume") == volumes, f"volumes are {names('volume')}"


def restored(directory):
    """Ends with the stack up again, its volumes made from a backup."""
    print(stack("backup", str(directory)), end="")
    stack("down", "--volumes")
    check_nothing_left(set())
    stack("restore", str(directory))
    stack("up")
    tell("up again, from a backup and without state")


def table_of(report):
    """The lines of layers, which name what is there and how much of it."""
    found = [line for line in report.splitlines() if " topic " in line or " table " in line]
    for wanted in ("topic events.clean", "topic agg.sessions", "table lumen.events"):
        assert any(line.endswith(wanted) for line in found), f"no {wanted} in\n{report}"
    return found


def cycle(directory):
    stack("up")
    tell("up")
    check_rights()
    assert stack("doctor").rstrip().endswith("no problems")
    sent = run_faults()
    print(sent)
    stack("up")
    assert len(containers("pipeline")) == 2, containers("pipeline")
    report = check_exact()
    print(report)
    tell("exact")
    print(stack("contract-check"), end="")
    stack("down")
    check_nothing_left(VOLUMES)
    restored(directory)
    again = check_exact()
    assert table_of(again) == table_of(report), again
    tell("still exact, the same rows")


def main():
    build = Path(sys.argv[1]).resolve() / "stack"
    os.environ["STACK_FILES"] = str(ROOT / "docker" / "local" / "compose.yaml")
    os.environ["PIPEC_SECRETS"] = str(build / "secrets")
    subprocess.run([ROOT / "docker" / "local" / "prepare.py", build], check=True)
    local = ["-f", str(ROOT / "docker" / "compose.yaml"), "-f", os.environ["STACK_FILES"]]
    stand_ins = ["kafka-1", "registry", "clickhouse"]
    docker("compose", *local, "build", "--quiet", *stand_ins)
    tell("stand-ins are built")
    stack("down", "--volumes")  # what a run that was killed left, and a build that failed
    docker("container", "prune", "--force")
    docker("image", "prune", "--force", "--filter", "until=24h")  # stages of earlier builds
    backup = build / "backup"
    shutil.rmtree(backup, ignore_errors=True)
    try:
        cycle(backup)
    except BaseException:
        print(docker("ps", "-a"))
        for service in ("pipeline", "apply", "registry", "clickhouse", "kafka-1"):
            for name in containers(service):
                print(f"--- {name}\n" + docker("logs", "--tail", "30", name))
        raise
    finally:
        stack("down", "--volumes")
        shutil.rmtree(backup, ignore_errors=True)
    check_nothing_left(set())
    tell("down, nothing left")


if __name__ == "__main__":
    main()
