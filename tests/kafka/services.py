#!/usr/bin/env python3
"""Real Kafka brokers and a schema registry for tests, on 127.0.0.1.

    services.py start [--nodes 1|3] [--registry] [--secure] [--acls] [--dir DIR]
    services.py status|stop [--dir DIR]
    services.py kill|restart|pause|resume NODE [--dir DIR]

In a test:

    with services.Cluster(nodes=3, build=build) as cluster:
        cluster.admin().create_topic("events", partitions=6)
        cluster.kill(cluster.admin().controller())

What a with-block starts ends with it, and with the process, however that ends. The command starts
what stays until `stop`. java.Unavailable tells why nothing can be started here.
"""

import argparse
import contextlib
import ctypes
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
import uuid
from base64 import urlsafe_b64encode
from pathlib import Path

sys.dont_write_bytecode = True

import java
from admin import Admin
from processes import Child, free_port, own_directory
from proxy import Proxy

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
HEAP = "320m"
USER, PASSWORD = "pipec", "correct horse battery"
START_TIMEOUT_S = 120
# Older ones send a wrong nonce in the last SCRAM message, which brokers from 4.0 on refuse.
SCRAM_LEAST = (2, 6, 1)
_JVM = (
    "-XX:+UseSerialGC -XX:MaxMetaspaceSize=128m -XX:ReservedCodeCacheSize=64m -Xss512k "
    "-XX:+ExitOnOutOfMemoryError -XX:-UsePerfData -Djava.awt.headless=true "
    "-Dlog4j2.disable.jmx=true -Dorg.slf4j.simpleLogger.showDateTime=true "
    "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS "
    "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn"
).split()
# Half the CPU time of a start, and so of a restart; a broker that runs long is slower with it.
QUICK_START = ("-XX:TieredStopAtLevel=1",)


def cache_dir(build):
    return Path(build).resolve() / "kafka"


def librdkafka_version():
    """(major, minor, patch) of the installed library."""
    number = ctypes.CDLL("librdkafka.so.1").rd_kafka_version()
    return number >> 24 & 0xFF, number >> 16 & 0xFF, number >> 8 & 0xFF


def _random_id():
    # "-" at the beginning, one time in 64, would make an option of it.
    return "p" + urlsafe_b64encode(uuid.uuid4().bytes).decode()[1:].rstrip("=")


def make_certificates(directory):
    """ca.pem, and server.pem (key and certificate of 127.0.0.1 and localhost) signed by it."""
    directory = Path(directory)

    def openssl(*arguments):
        done = subprocess.run(
            ["openssl", *map(str, arguments)], cwd=directory, capture_output=True, text=True
        )
        if done.returncode != 0:
            raise RuntimeError(f"openssl {arguments[0]} failed: {done.stderr.strip()[-300:]}")

    key = ["-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256"]
    openssl("genpkey", *key, "-out", "ca.key")
    openssl("genpkey", *key, "-out", "server.key")
    ca = ["-x509", "-new", "-key", "ca.key", "-days", "30", "-subj", "/CN=pipec test CA"]
    openssl("req", *ca, "-out", "ca.pem")
    openssl("req", "-new", "-key", "server.key", "-subj", "/CN=localhost", "-out", "server.csr")
    (directory / "server.ext").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")
    signing = ["-req", "-in", "server.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-days", "30"]
    signing += ["-set_serial", "1", "-extfile", "server.ext", "-out", "server.crt"]
    openssl("x509", *signing)
    (directory / "server.pem").write_text(
        (directory / "server.key").read_text() + (directory / "server.crt").read_text()
    )


class Service:
    """What a with-block starts, it stops: also when starting fails half-way."""

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()


class Cluster(Service):
    """1 or 3 brokers, each also a controller. Node ids are 1, 2, 3.

    build       build directory; jars are cached in BUILD/kafka
    secure      also a SASL_SSL listener, SCRAM-SHA-512 and PLAIN: secure_bootstrap, security()
    users       {name: password} of that listener; Admin.set_user adds more, for SCRAM
    acls        users of the secure listener may do only what Admin.allow gave them
    proxied     also a listener behind a fault proxy: proxy, proxied_bootstrap
    properties  further broker settings, {key: value}
    directory   where data and logs go; a new one under BUILD/kafka, removed at the end, if None
    tied        brokers die with this process
    jvm         flags of the brokers' JVM: QUICK_START, or () where throughput is measured
    """

    def __init__(
        self,
        nodes=1,
        build=ROOT / "build",
        secure=False,
        acls=False,
        proxied=False,
        properties=None,
        directory=None,
        tied=True,
        users=None,
        jvm=QUICK_START,
    ):
        self.jvm = list(jvm)
        self.users = dict(users or {USER: PASSWORD})
        self.build = Path(build).resolve()
        self.java = java.find_java(17)
        self.jars = java.broker_jars(cache_dir(build), self.java)
        self.secure, self.acls, self.tied = secure or acls, acls, tied
        self.properties = dict(properties or {})
        self.owned = directory is None
        self.directory = Path(directory or own_directory(cache_dir(build), "run-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.nodes = list(range(1, nodes + 1))
        listeners = ["client", "controller"]
        listeners += ["secure"] * self.secure + ["proxied"] * proxied
        self.ports = {node: {name: free_port() for name in listeners} for node in self.nodes}
        self.children = {}
        self.proxy = None
        if proxied:
            self.proxy = Proxy({n: ("127.0.0.1", p["proxied"]) for n, p in self.ports.items()})

    # Addresses --------------------------------------------------------------------------------

    def _bootstrap(self, listener):
        return ",".join(f"127.0.0.1:{self.ports[node][listener]}" for node in self.nodes)

    @property
    def bootstrap(self):
        """PLAINTEXT, "host:port,…"."""
        return self._bootstrap("client")

    @property
    def secure_bootstrap(self):
        """SASL_SSL."""
        return self._bootstrap("secure")

    @property
    def proxied_bootstrap(self):
        """PLAINTEXT through the proxy; brokers advertise the proxy's addresses to its clients."""
        return ",".join(f"127.0.0.1:{self.proxy.ports[node]}" for node in self.nodes)

    def security(self, user=USER, password=PASSWORD, mechanism=None):
        """librdkafka properties for secure_bootstrap. mechanism: SCRAM-SHA-512 or PLAIN; None is
        SCRAM unless the installed librdkafka cannot do it with these brokers (SCRAM_LEAST)."""
        if mechanism is None:
            mechanism = "SCRAM-SHA-512" if librdkafka_version() >= SCRAM_LEAST else "PLAIN"
        return {
            "security.protocol": "SASL_SSL",
            "sasl.mechanism": mechanism,
            "sasl.username": user,
            "sasl.password": password,
            "ssl.ca.location": str(self.directory / "ca.pem"),
        }

    def admin(self, timeout_s=30):
        """A new Admin of this cluster, past the proxy and with all rights."""
        return Admin(self.bootstrap, timeout_s)

    # Configuration ----------------------------------------------------------------------------

    def _secure_properties(self):
        listener, module = "listener.name.secure", "org.apache.kafka.common.security"
        scram = f"{module}.scram.ScramLoginModule"
        users = " ".join(f'user_{name}="{password}"' for name, password in self.users.items())
        found = {
            f"{listener}.sasl.enabled.mechanisms": "SCRAM-SHA-512,PLAIN",
            f"{listener}.scram-sha-512.sasl.jaas.config": f"{scram} required;",
            f"{listener}.plain.sasl.jaas.config": (
                f"{module}.plain.PlainLoginModule required {users};"
            ),
            "ssl.keystore.type": "PEM",
            "ssl.keystore.location": self.directory / "server.pem",
            "ssl.truststore.type": "PEM",
            "ssl.truststore.location": self.directory / "ca.pem",
        }
        if self.acls:
            authorizer = "org.apache.kafka.metadata.authorizer.StandardAuthorizer"
            found["authorizer.class.name"] = authorizer
            found["super.users"] = "User:ANONYMOUS"
        return found

    def _write_properties(self, node):
        ports = self.ports[node]
        listeners = ",".join(f"{name.upper()}://127.0.0.1:{port}" for name, port in ports.items())
        shown = {n: p for n, p in ports.items() if n != "controller"}
        if self.proxy:
            shown["proxied"] = self.proxy.ports[node]
        protocols = {"secure": "SASL_SSL"}
        replicas = min(3, len(self.nodes))
        in_sync = 2 if replicas > 1 else 1
        found = {
            "process.roles": "broker,controller",
            "node.id": node,
            "controller.quorum.voters": ",".join(
                f"{other}@127.0.0.1:{self.ports[other]['controller']}" for other in self.nodes
            ),
            "controller.listener.names": "CONTROLLER",
            "listeners": listeners,
            "advertised.listeners": ",".join(
                f"{n.upper()}://127.0.0.1:{p}" for n, p in shown.items()
            ),
            "listener.security.protocol.map": ",".join(
                f"{name.upper()}:{protocols.get(name, 'PLAINTEXT')}" for name in ports
            ),
            "inter.broker.listener.name": "CLIENT",
            "log.dirs": self.data(node),
            "default.replication.factor": replicas,
            "min.insync.replicas": in_sync,
            "offsets.topic.replication.factor": replicas,
            "transaction.state.log.replication.factor": replicas,
            "transaction.state.log.min.isr": in_sync,
            "share.coordinator.state.topic.replication.factor": replicas,
            "share.coordinator.state.topic.min.isr": in_sync,
        }
        if self.secure:
            found |= self._secure_properties()
        found |= self.properties
        text = (HERE / "broker.properties").read_text()
        text += "".join(f"{key}={value}\n" for key, value in found.items())
        self._file(node, "properties").write_text(text)

    def _file(self, node, suffix):
        return self.directory / f"node{node}.{suffix}"

    def data(self, node):
        """Data directory of a node."""
        return self.directory / f"data{node}"

    def _command(self, *arguments, heap=HEAP, jvm=()):
        flags = [self.java, f"-Xms{heap}", f"-Xmx{heap}", *_JVM, *jvm]
        return flags + ["-cp", f"{self.jars}/*", *map(str, arguments)]

    def _format(self):
        """Data directories of new nodes: Kafka formats one, once for all clusters."""
        template = self.jars.parent / f"{self.jars.name}-formatted"
        if not template.exists():
            with tempfile.TemporaryDirectory(dir=template.parent) as scratch:
                properties = re.sub(
                    r"(?m)^log\.dirs=.*$",
                    f"log.dirs={scratch}/data",
                    self._file(1, "properties").read_text(),
                )
                file = Path(scratch, "properties")
                file.write_text(properties)
                tool = ["kafka.tools.StorageTool", "format", "-t", _random_id(), "-c", file]
                command = self._command(*tool, heap="128m", jvm=["-XX:TieredStopAtLevel=1"])
                done = subprocess.run(command, capture_output=True, text=True, timeout=120)
                if done.returncode != 0:
                    raise RuntimeError(f"format failed: {(done.stdout + done.stderr)[-600:]}")
                with contextlib.suppress(OSError):  # another process was first
                    Path(scratch, "data").rename(template)
        for node in self.nodes:
            shutil.copytree(template, self.data(node))
            meta = self.data(node) / "meta.properties"
            text = re.sub(r"(?m)^node\.id=.*$", f"node.id={node}", meta.read_text())
            meta.write_text(re.sub(r"(?m)^directory\.id=.*$", f"directory.id={_random_id()}", text))

    def _class_archive(self):
        """JVM flags to load classes from an archive, which a short-lived broker has written once:
        a third of the CPU time of a start."""
        release = Path(self.java).resolve().parent.parent.name
        archive = self.jars.parent / f"{self.jars.name}-{release}.jsa"
        if not archive.exists():
            with tempfile.TemporaryDirectory(dir=archive.parent) as scratch:
                made = Path(scratch, "made.jsa")
                flags = [*QUICK_START, f"-XX:ArchiveClassesAtExit={made}"]
                with Cluster(1, self.build, jvm=flags) as writer:
                    writer.stop_node(1)
                if made.exists():
                    made.rename(archive)
        return [f"-XX:SharedArchiveFile={archive}", "-Xshare:auto", "-Xlog:disable"]

    # Life -------------------------------------------------------------------------------------

    def start(self):
        """Starts all nodes and waits until transactions and groups work."""
        if self.secure:
            make_certificates(self.directory)
        for node in self.nodes:
            self._write_properties(node)
        if not self.data(1).exists():
            self._format()
        if not any("-XX:ArchiveClassesAtExit" in flag for flag in self.jvm):
            self.jvm += self._class_archive()
        for node in self.nodes:
            self._launch(node)
        self.wait_ready()
        if self.secure:
            with self.admin() as admin:
                for name, password in self.users.items():
                    admin.set_user(name, password)
        return self

    def _launch(self, node):
        properties = self._file(node, "properties")
        log = self._file(node, "log")
        command = self._command("kafka.Kafka", properties, jvm=self.jvm)
        self.children[node] = Child(command, log, cwd=self.directory, tied=self.tied)

    def wait_ready(self, timeout_s=START_TIMEOUT_S):
        """Waits until all nodes that were not killed are in the cluster, coordinators answer, every
        partition's leader serves, and all those nodes that hold it are in sync."""
        deadline = time.monotonic() + timeout_s
        while True:
            for node, child in self.children.items():
                if not child.alive():
                    raise RuntimeError(f"node {node} died:\n{child.tail()}")
            try:
                self._probe()
                return
            except Exception as error:
                if time.monotonic() > deadline:
                    raise TimeoutError(f"not ready after {timeout_s} s: {error}") from error
            time.sleep(0.1)

    def _probe(self):
        with self.admin(timeout_s=1) as admin:
            if sorted(admin.brokers()) != sorted(self.children):
                raise RuntimeError(f"brokers {sorted(admin.brokers())}")
            admin.group_coordinator("ready")
            admin.transaction_coordinator("ready")
            for topic in admin.metadata(None)["topics"]:
                for partition in topic["partitions"]:
                    wanted = set(partition["replicas"]) & set(self.children)
                    if partition["error"] or not wanted <= set(partition["isr"]):
                        raise RuntimeError(f"{topic['name']} {partition['partition']} not in sync")
                admin.offsets(topic["name"])

    def kill(self, node):
        """kill -9 of a node; returns when it is gone."""
        self.children.pop(node).kill()

    def stop_node(self, node):
        """SIGTERM: the node hands its leaderships over first."""
        self.children.pop(node).stop()

    def restart(self, node, wait=True):
        """Starts a node that was killed or stopped, with its data; wait: until it is in sync."""
        if node in self.children:
            raise ValueError(f"node {node} is running")
        self._launch(node)
        if wait:
            self.wait_ready()

    def pause(self, node):
        """SIGSTOP: the node's connections stay open, and nothing answers."""
        self.children[node].pause()

    def resume(self, node):
        """SIGCONT."""
        self.children[node].resume()

    def cpu_seconds(self):
        """CPU time of all running nodes so far."""
        return sum(child.cpu_seconds() for child in self.children.values())

    def stop(self):
        """Ends everything at once (kill -9) and removes the data, if the directory is its own."""
        for child in self.children.values():
            child.send(signal.SIGKILL)
        for child in self.children.values():
            child.wait(30)
        self.children.clear()
        if self.proxy:
            self.proxy.close()
        if self.owned:
            shutil.rmtree(self.directory, ignore_errors=True)


class Registry(Service):
    """Apicurio Registry with Confluent's REST interface at `url`; its data is in `directory`."""

    def __init__(self, build=ROOT / "build", directory=None, tied=True):
        self.java = java.find_java(21)
        self.home = java.registry_home(cache_dir(build), self.java)
        self.owned = directory is None
        self.directory = Path(directory or own_directory(cache_dir(build), "registry-run-"))
        self.directory.mkdir(parents=True, exist_ok=True)
        self.port = free_port()
        self.tied = tied
        self.child = None

    @property
    def url(self):
        """Base URL: GET {url}/schemas/ids/1, POST {url}/subjects/NAME/versions …"""
        return f"http://127.0.0.1:{self.port}/apis/ccompat/v7"

    def start(self):
        """Starts it, at first or after kill, and waits until it answers."""
        command = [self.java, "-Xmx256m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"]
        command += ["-XX:-UsePerfData", "-Dquarkus.http.host=127.0.0.1"]
        command += [f"-Dquarkus.http.port={self.port}", "-jar", self.home / "quarkus-run.jar"]
        log = self.directory / "registry.log"
        database = f"jdbc:h2:file:{self.directory}/registry"
        env = dict(os.environ, APICURIO_DATASOURCE_URL=database)
        self.child = Child(command, log, cwd=self.directory, env=env, tied=self.tied)
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            try:
                self.request("GET", "/subjects")
                return self
            except OSError as error:
                if not self.child.alive():
                    raise RuntimeError(f"the registry died:\n{self.child.tail()}") from error
                if time.monotonic() > deadline:
                    raise TimeoutError("the registry does not answer") from error
            time.sleep(0.1)

    def request(self, method, path, body=None, timeout_s=20):
        """(status, decoded JSON) of a request; body: a value sent as JSON."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"Content-Type": "application/vnd.schemaregistry.v1+json"}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=timeout_s) as answer:
                return answer.status, json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            text = error.read()
            with contextlib.suppress(ValueError):
                return error.code, json.loads(text or b"null")
            return error.code, text.decode("utf-8", "replace")

    def register(self, subject, schema):
        """Registers a schema (JSON text or decoded); returns its id."""
        text = schema if isinstance(schema, str) else json.dumps(schema)
        path = f"/subjects/{subject}/versions"
        status, answer = self.request("POST", path, {"schema": text, "schemaType": "AVRO"})
        if status != 200:
            raise RuntimeError(f"registering {subject}: {status} {answer}")
        return answer["id"]

    def set_compatibility(self, level, subject=None):
        """BACKWARD_TRANSITIVE, FULL_TRANSITIVE, NONE …; of all subjects or of one."""
        path = "/config" + (f"/{subject}" if subject else "")
        status, answer = self.request("PUT", path, {"compatibility": level})
        if status != 200:
            raise RuntimeError(f"compatibility {level}: {status} {answer}")

    def kill(self):
        """kill -9."""
        self.child.kill()

    def pause(self):
        """SIGSTOP: requests hang."""
        self.child.pause()

    def resume(self):
        """SIGCONT."""
        self.child.resume()

    def stop(self):
        if self.child:
            self.child.kill()
        if self.owned:
            shutil.rmtree(self.directory, ignore_errors=True)


# The command --------------------------------------------------------------------------------------


def _save(directory, cluster, registry):
    children = {str(node): child for node, child in cluster.children.items()}
    if registry:
        children["registry"] = registry.child
    state = {
        "ports": cluster.ports,
        "secure": cluster.secure,
        "acls": cluster.acls,
        "registry": registry and registry.port,
        "children": {name: [child.pid, child.started] for name, child in children.items()},
    }
    (directory / "services.json").write_text(json.dumps(state, indent=1) + "\n")


def _load(directory, build):
    """(Cluster, Registry or None) that `start` left running."""
    file = directory / "services.json"
    if not file.exists():
        sys.exit(f"nothing was started in {directory}")
    state = json.loads(file.read_text())
    nodes = sorted(map(int, state["ports"]))
    cluster = Cluster(
        len(nodes), build, state["secure"], state["acls"], False, None, directory, False
    )
    cluster.ports = {node: state["ports"][str(node)] for node in nodes}
    registry = None
    for name, (pid, started) in state["children"].items():
        if name == "registry":
            registry = Registry(build, directory, tied=False)
            registry.port = state["registry"]
            registry.child = Child.adopt(pid, started, directory / "registry.log")
            continue
        child = Child.adopt(pid, started, directory / f"node{name}.log")
        if child.alive():
            cluster.children[int(name)] = child
    return cluster, registry


def _show(cluster, registry):
    for node in cluster.nodes:
        child = cluster.children.get(node)
        memory = f"pid {child.pid}, {child.memory_bytes() >> 20} MiB" if child else "down"
        print(f"node {node}: {memory}")
    print(f"bootstrap {cluster.bootstrap}")
    if cluster.secure:
        print(f"secure    {cluster.secure_bootstrap}")
        for key, value in cluster.security().items():
            print(f"  {key}={value}")
    if registry:
        print(f"registry  {registry.url}" + ("" if registry.child.alive() else " (down)"))


def _start(options, directory):
    if (directory / "services.json").exists():
        sys.exit(f"something was started in {directory} before: stop it")
    if directory.exists() and any(directory.iterdir()):
        sys.exit(f"{directory} holds files that are no data of ours: take another --dir")
    cluster = Cluster(
        options.nodes, options.build, options.secure, options.acls, False, None, directory, False
    )
    registry = None
    try:
        if options.registry:
            registry = Registry(options.build, directory, tied=False)
            registry.start()
        cluster.start()
    except BaseException:
        cluster.stop()
        if registry:
            registry.stop()
        raise
    _save(directory, cluster, registry)
    _show(cluster, registry)


def _command(options, directory):
    cluster, registry = _load(directory, options.build)
    if options.command == "status":
        _show(cluster, registry)
    elif options.command == "stop":
        cluster.stop()
        if registry:
            registry.stop()
        shutil.rmtree(directory)
    else:
        node = options.node
        if node not in cluster.nodes or (node in cluster.children) == (
            options.command == "restart"
        ):
            sys.exit(f"cannot {options.command} node {node}: see services.py status")
        getattr(cluster, options.command)(node)
        _save(directory, cluster, registry)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = "start status stop kill restart pause resume".split()
    parser.add_argument("command", choices=commands)
    parser.add_argument("node", nargs="?", type=int)
    parser.add_argument("--nodes", type=int, choices=(1, 3), default=1)
    parser.add_argument("--registry", action="store_true")
    parser.add_argument("--secure", action="store_true")
    parser.add_argument("--acls", action="store_true")
    parser.add_argument("--build", default=ROOT / "build")
    parser.add_argument("--dir", help="of data and logs (BUILD/kafka/services)")
    options = parser.parse_args()
    directory = Path(options.dir or cache_dir(options.build) / "services").resolve()
    try:
        if options.command == "start":
            _start(options, directory)
        else:
            _command(options, directory)
    except (java.Unavailable, RuntimeError, TimeoutError) as problem:
        sys.exit(f"services.py: {problem}")


if __name__ == "__main__":
    main()
