"""What must be true of docker/ without a daemon: the compose file, the images' build files, the
health checks and the entry point. Each check_… is a test; an AssertionError fails it."""

import http.server
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import traceback
from contextlib import contextmanager, suppress
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]
DOCKER = ROOT / "docker"
COMPOSE, LOCAL = DOCKER / "compose.yaml", DOCKER / "local" / "compose.yaml"
MEMORY_MAX = 5 * 1000**3
PROCESSES = 2  # of the pipeline, for which the memory must do
UNITS = {"k": 1024, "m": 1024**2, "g": 1024**3}
RUNS_JAVA = re.compile(r"\bjava\b|kafka-[a-z-]+\.sh|\bkafka\.[A-Z]|\bcub\b")


def values(text):
    """With each ${NAME:-default} replaced by its default."""
    return re.sub(r"\$\{\w+:-([^}]*)\}", r"\1", text)


def loaded(path):
    return yaml.safe_load(values(path.read_text()))


def services():
    return loaded(COMPOSE)["services"]


def own(service):
    """Whether it runs the image of the pipeline."""
    return service["image"].startswith("pipec/")


def one_shot(service):
    return service.get("restart") == "no"


def size(text):
    number, unit = re.fullmatch(r"(\d+)([kmg])", text).groups()
    return int(number) * UNITS[unit]


# The compose file ---------------------------------------------------------------------------------


def check_images_are_pinned():
    for name, service in services().items():
        repository, _, tag = service["image"].rpartition(":")
        assert repository and "/" not in tag, f"{name}: {service['image']} names no version"
        assert own(service) or re.match(r"\d+\.\d+", tag), f"{name}: {tag} is no version"
    for file in DOCKER.glob("**/Dockerfile"):
        for image in re.findall(r"^(?:FROM|ARG DEBIAN=)\s*([\w./-]+:?\S*)", file.read_text(), re.M):
            assert re.search(r":\d+\.\d+", image) or "pipec-local/" in image, f"{file}: {image}"


def check_memory_is_limited():
    total = 0
    for name, service in services().items():
        limit = size(service["mem_limit"])
        assert service["memswap_limit"] == service["mem_limit"], f"{name} may swap"
        total += limit * (PROCESSES if name == "pipeline" else 1)
    assert total <= MEMORY_MAX, f"limits add up to {total}, more than {MEMORY_MAX}"
    heap = loaded(COMPOSE)["x-kafka-environment"]["KAFKA_HEAP_OPTS"]
    limit = size(services()["kafka-1"]["mem_limit"])
    assert size(re.search(r"-Xmx(\d+m)", heap).group(1)) <= limit * 0.6, "heap is not all of a JVM"


def check_ports_are_of_loopback():
    for name, service in services().items():
        for port in service.get("ports", ()):
            assert isinstance(port, str) and port.startswith("127.0.0.1:"), f"{name}: {port}"
        for word in ("network_mode", "privileged", "pid", "ipc", "devices", "cap_add"):
            assert word not in service, f"{name} has {word}"


def check_services_have_no_rights():
    for name, service in services().items():
        assert service["cap_drop"] == ["ALL"], f"{name} keeps capabilities"
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert not any("docker.sock" in str(v) for v in service["volumes"]), name
        if own(service):
            assert service["read_only"] is True, f"{name}: root file system can be written"
            assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", service["user"]), f"{name} is root"
    users = re.findall(r"^USER (\S+)", (DOCKER / "Dockerfile").read_text(), re.M)
    assert users == ["10001:10001"], users


def check_health_needs_no_java():
    script = (DOCKER / "healthy.sh").read_text()
    code = "\n".join(line.partition("#")[0] for line in script.splitlines())
    assert not RUNS_JAVA.search(code), RUNS_JAVA.search(code).group()
    for name, service in services().items():
        if one_shot(service) or "profiles" in service:
            continue
        test = service["healthcheck"]["test"]
        assert test[:3] == ["CMD", "bash", "/healthy.sh"], f"{name}: {test}"
        assert "./healthy.sh:/healthy.sh:ro" in service["volumes"], name
        assert test[3] in ("http", "kafka") and not RUNS_JAVA.search(" ".join(test)), test


def check_data_is_in_volumes():
    known = set(loaded(COMPOSE)["volumes"])
    wanted = {f"kafka-{n}": "/var/lib/kafka/data" for n in (1, 2, 3)}
    wanted |= {"clickhouse": "/var/lib/clickhouse", "pipeline": "/state"}
    for name, target in wanted.items():
        mounts = [v.split(":") for v in services()[name]["volumes"]]
        (source,) = [mount[0] for mount in mounts if mount[1] == target]
        assert source in known, f"{name}: {target} is in {source}, which is no volume"
    data = {services()[f"kafka-{n}"]["volumes"][0] for n in (1, 2, 3)}
    assert len(data) == 3, "brokers share a volume"


def check_mounted_files_exist():
    for name, service in services().items():
        for volume in service["volumes"]:
            source = volume.split(":")[0]
            if source.startswith("."):
                assert (DOCKER / source).is_file(), f"{name} mounts {source}"


def check_brokers_are_a_cluster():
    nodes, found = set(), services()
    for number in (1, 2, 3):
        environment = found[f"kafka-{number}"]["environment"]
        voters = environment["KAFKA_CONTROLLER_QUORUM_VOTERS"].split(",")
        assert f"{environment['KAFKA_NODE_ID']}@kafka-{number}:9093" in voters, voters
        told = environment["KAFKA_ADVERTISED_LISTENERS"]
        port = found[f"kafka-{number}"]["ports"][0].split(":")[1]
        assert told == f"CLIENT://kafka-{number}:9092,HOST://127.0.0.1:{port}", told
        nodes.add(environment["KAFKA_NODE_ID"])
        for key, value in environment.items():
            if key.endswith("REPLICATION_FACTOR"):
                assert value == 3, f"{key} {value}"
            if key.endswith("MIN_INSYNC_REPLICAS") or key.endswith("MIN_ISR"):
                assert value == 2, f"{key} {value}"
    assert nodes == {1, 2, 3}, nodes


def check_stand_ins_are_the_same_versions():
    pulled = {name: s["image"] for name, s in services().items() if not own(s)}
    stand_ins = {name: s["image"] for name, s in loaded(LOCAL)["services"].items()}
    assert set(pulled) == set(stand_ins), (pulled, stand_ins)
    for name, image in pulled.items():
        assert image.rpartition(":")[2] == stand_ins[name].rpartition(":")[2], name
    assert f">{pulled['kafka-1'].rpartition(':')[2]}<" in (ROOT / "tests/kafka/pom.xml").read_text()
    registry = pulled["registry"].rpartition(":")[2]
    assert f">{registry}<" in (ROOT / "tests/kafka/registry.xml").read_text(), registry
    engine = (ROOT / "tests/clickhouse/requirements.txt").read_text()
    version = ".".join(pulled["clickhouse"].rpartition(":")[2].split(".")[:2])
    assert f"chdb-core=={version}." in engine, f"{version} and {engine}"


def check_compose_accepts_the_files():
    """By docker compose, where there is one; else they were parsed above."""
    known = subprocess.run(["docker", "compose", "version"], capture_output=True)
    if known.returncode != 0:
        return "docker compose is missing"
    for files in ([COMPOSE], [COMPOSE, LOCAL]):
        arguments = [part for file in files for part in ("-f", str(file))]
        done = subprocess.run(
            ["docker", "compose", *arguments, "--profile", "*", "config", "-q"],
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
    return None


def check_linters():
    skipped = []
    config = "{extends: default, rules: {line-length: {max: 100}, document-start: disable}}"
    files = [str(COMPOSE), str(LOCAL)]
    dockerfiles = sorted(str(file) for file in DOCKER.glob("**/Dockerfile"))
    commands = [["yamllint", "-s", "-d", config, *files], ["hadolint", *dockerfiles]]
    for command in commands:
        if not shutil.which(command[0]):
            skipped.append(f"{command[0]} is missing")
            continue
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stdout + done.stderr
    return "; ".join(skipped) or None


# healthy.sh ---------------------------------------------------------------------------------------


def healthy(*arguments):
    command = ["bash", str(DOCKER / "healthy.sh"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


@contextmanager
def pages(answers):
    """Port of an HTTP server; answers: {path: (status, text)}."""

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            status, text = answers.get(self.path, (404, ""))
            self.send_response(status)
            self.end_headers()
            with suppress(OSError):  # who asks for the status does not read on
                self.wfile.write(text.encode())

        def log_message(self, *_):
            pass

    server = http.server.HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server.server_address[1]
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def check_healthy_http():
    metrics = 'lag_total 1\nlag{partition="0"} 40\nlag{partition="1"} 2\nlag_not 9\n'
    with pages({"/ok": (200, "ok"), "/ready": (503, "no"), "/metrics": (200, metrics)}) as port:
        assert healthy("http", port, "/ok").returncode == 0
        assert healthy("http", port, "/ready").returncode != 0
        assert healthy("http", port, "/none").returncode != 0
        assert healthy("metric", port, "lag").stdout == "42\n"
        assert healthy("metric", port, "other").returncode != 0
    assert healthy("http", port, "/ok").returncode != 0  # nobody listens any more


def check_healthy_kafka():
    def broker(answer):
        with socket.create_server(("127.0.0.1", 0)) as server:

            def serve():
                with suppress(OSError), server.accept()[0] as connection:
                    seen.append(connection.recv(14, socket.MSG_WAITALL))
                    connection.sendall(answer)

            seen = []
            thread = threading.Thread(target=serve)
            thread.start()
            code = healthy("kafka", server.getsockname()[1]).returncode
            thread.join()
        assert seen == [bytes.fromhex("0000000a00120000" + "00000007ffff")], seen
        return code

    assert broker(bytes.fromhex("00000016" + "00000007" + "0000" + "00000001") + bytes(12)) == 0
    assert broker(bytes.fromhex("00000016" + "00000007" + "0023" + "00000001")) != 0  # an error
    assert broker(bytes.fromhex("00000016" + "00000008" + "0000" + "00000001")) != 0  # not ours
    assert broker(b"") != 0  # a connection that is closed


# entrypoint.sh ------------------------------------------------------------------------------------


@contextmanager
def entry_point():
    """start(arguments): a process of entrypoint.sh, and the command line of the program that it
    runs, which is a script that waits for its input to end."""
    with tempfile.TemporaryDirectory() as directory:
        top = Path(directory)
        (top / "state").mkdir()
        (top / "program").write_text('#!/bin/sh\nprintf "%s " "$@"; echo; exec cat >/dev/null\n')
        (top / "program").chmod(0o755)
        environment = dict(os.environ, PIPELINE=str(top / "program"))
        environment |= {"TMPDIR": str(top / "state/tmp"), "STATE": str(top / "state")}
        running = []

        def start(*arguments):
            process = subprocess.Popen(
                ["sh", str(DOCKER / "entrypoint.sh"), *arguments],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            running.append(process)
            return process, process.stdout.readline().split()

        try:
            yield top / "state", start
        finally:
            for process in running:
                process.kill()
                process.communicate()


def check_state_directories_are_shared_out():
    with entry_point() as (state, start):
        one, first = start("run", "--listen", "x")
        assert first == ["run", "--state", f"{state}/1", "--listen", "x"], first
        assert start("run")[1] == ["run", "--state", f"{state}/2"]
        one.kill()
        one.wait()
        assert start("run")[1] == ["run", "--state", f"{state}/1"]  # of the one that was killed
        assert start("run")[1] == ["run", "--state", f"{state}/3"]
        assert start("reconcile", "--json")[1] == ["reconcile", "--json"]


def check_apply_order():
    with entry_point() as (_, start):
        process, first = start("apply")
        rest, _ = process.communicate()
        lines = [" ".join(first)] + [line.strip() for line in rest.splitlines()]
        wanted = ["topics apply --sources", "contracts push", "tables apply"]
        assert lines == wanted, lines


def checks():
    found = sys.modules[__name__]
    return [(n, getattr(found, n)) for n in vars(found) if n.startswith("check_")]


def results():
    """(name, problem or None, reason of a skip or None) of each check."""
    for name, check in checks():
        try:
            yield name, None, check()
        except Exception:  # whatever a check stumbles over
            yield name, traceback.format_exc(), None
