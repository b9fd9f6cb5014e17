"""A ClickHouse server for tests: the real engine behind server.py, on 127.0.0.1.

    with service.Server(scratch / "clickhouse", build) as server:
        server.query("CREATE TABLE t (a Int64) ENGINE = MergeTree ORDER BY a")
        server.fault(kind="cut_done", match="^INSERT")
        ... run the program with env={**os.environ, **server.environment()} ...
        server.kill(); server.start()
        assert server.rows("SELECT count() FROM t") == [["3"]]

A server ends with its with-block, and with the process, however that ends. The port and the data
stay over kill() and start(). Unavailable tells why no engine can be had.
"""

import contextlib
import http.client
import json
import subprocess
import sys
import time
import urllib.parse
from pathlib import Path

sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(HERE.parent / "kafka"))

from processes import Child, free_port

START_TIMEOUT_S = 60


class Unavailable(Exception):
    """The engine is not here and cannot be installed."""


class Skipped(Exception):
    """A test that cannot be run here; says why."""


class Failed(Exception):
    """The server answered an error."""

    def __init__(self, status, code, text):
        super().__init__(f"{status}, code {code}: {text.strip()}")
        self.status, self.code, self.text = status, code, text


def python_of(build, install=False):
    """The Python that has the engine; installs it if asked to, else it must be there."""
    venv = Path(build).resolve() / "clickhouse" / "venv"
    marker = venv / "installed"
    if not marker.exists() and install:
        done = subprocess.run(
            [HERE / "install.sh", venv], text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        if done.returncode != 0:
            last = (done.stdout.strip().splitlines() or ["no reason told"])[-1]
            raise Unavailable(f"chdb cannot be installed: {last}")
    if not marker.exists():
        raise Unavailable("chdb is not installed (make deps-clickhouse)")
    return venv / "bin" / "python"


class Server:
    """user, password, token, tls=(certificate, key): as the server wants them."""

    def __init__(self, directory, build, user="default", password="", token=None, tls=None):
        self.directory, self.python = Path(directory), python_of(build)
        self.user, self.password, self.token, self.tls = user, password, token, tls
        self.port, self.child = free_port(), None
        self.directory.mkdir(parents=True, exist_ok=True)

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        """Starts it on its port and waits until it answers."""
        command = [self.python, HERE / "server.py", "--port", self.port]
        command += ["--user", f"{self.user}:{self.password}"]
        command += ["--token", self.token] if self.token else []
        command += ["--tls", *self.tls] if self.tls else []
        log = self.directory / "server.log"
        self.child = Child([*command, self.directory / "data"], log)
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                if self.request("GET", "/ping")[0] == 200:
                    return
            if not self.child.alive() or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
            time.sleep(0.02)

    def kill(self):
        """kill -9."""
        self.child.kill()

    def stop(self):
        if self.child:
            self.child.kill()  # nothing is lost by it, and it is quick

    def pause(self):
        self.child.pause()

    def resume(self):
        self.child.resume()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def environment(self):
        """What a compiled pipeline needs to find it."""
        found = {"PIPE_CLICKHOUSE_URL": self.url, "PIPE_CLICKHOUSE_USER": self.user}
        if self.password:
            found["PIPE_CLICKHOUSE_PASSWORD"] = self.password
        return found

    def request(self, method, path, body=None, headers=None, timeout_s=60):
        """(status, headers, body) of one request on a connection of its own."""
        if self.tls:
            import ssl

            context = ssl._create_unverified_context()
            made = http.client.HTTPSConnection(
                "127.0.0.1", self.port, timeout=timeout_s, context=context
            )
        else:
            made = http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout_s)
        with contextlib.closing(made) as connection:
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            return answer.status, answer.headers, answer.read()

    def send(self, query, body=None, settings=None, encoding=None, timeout_s=60):
        """The bytes a statement answers. Failed: the server's error; OSError or HTTPException: the
        connection broke."""
        parameters = {"wait_end_of_query": "1", **(settings or {}), "query": query}
        headers = {"X-ClickHouse-User": self.user, "X-ClickHouse-Key": self.password}
        if encoding:
            headers["Content-Encoding"] = encoding
        path = "/?" + urllib.parse.urlencode(parameters)
        status, told, answer = self.request("POST", path, body or b"", headers, timeout_s)
        code = int(told.get("X-ClickHouse-Exception-Code", 0))
        if status != 200 or code != 0:
            raise Failed(status, code, answer.decode(errors="replace"))
        return answer

    def query(self, query, **options):
        """What a statement answers, as text."""
        return self.send(query, **options).decode()

    def rows(self, query, **options):
        """The rows of a SELECT, each a list of texts (TabSeparated)."""
        return [line.split("\t") for line in self.query(query, **options).splitlines()]

    def value(self, query, **options):
        """The one value of a SELECT."""
        return self.query(query, **options).rstrip("\n")

    # ---- orders ----

    def _order(self, path, body=None):
        status, _, answer = self.request("POST", path, json.dumps(body).encode())
        if status != 200:
            raise RuntimeError(f"{path}: {status} {answer!r}")
        return json.loads(answer)

    def fault(self, **order):
        """What shall go wrong: see faults.py."""
        self._order("/fault", order)

    def clear(self):
        self._order("/clear")

    def release(self):
        """Lets go on what is held or late."""
        self._order("/release")

    def faults(self):
        """The orders given, each with its `hits`."""
        return self._order("/faults")

    def requests(self):
        """The last requests since the start, oldest first: query, query_id, settings, bytes, code,
        fault."""
        return self._order("/requests")


class OldServer:
    """Debian's clickhouse-server 18.16, which lacks what the protocol needs. Skipped: not here."""

    PATH = "/usr/sbin/clickhouse-server"
    CONFIG = """<yandex>
  <logger><level>warning</level><console>1</console></logger>
  <http_port>{port}</http_port><tcp_port>{tcp_port}</tcp_port><listen_host>127.0.0.1</listen_host>
  <path>{directory}/</path><tmp_path>{directory}/tmp/</tmp_path>
  <users_config>{directory}/users.xml</users_config>
  <default_profile>default</default_profile><default_database>default</default_database>
  <mark_cache_size>67108864</mark_cache_size>
</yandex>"""
    USERS = """<yandex>
  <profiles><default></default></profiles><quotas><default></default></quotas>
  <users><default><password></password><networks><ip>127.0.0.1</ip></networks>
  <profile>default</profile><quota>default</quota></default></users>
</yandex>"""

    def __init__(self, directory):
        if not Path(self.PATH).exists():
            raise Skipped("Debian's clickhouse-server is not installed")
        self.directory, self.port, self.child = Path(directory).resolve(), free_port(), None
        self.directory.mkdir(parents=True, exist_ok=True)
        config = {"port": self.port, "tcp_port": free_port(), "directory": self.directory}
        (self.directory / "config.xml").write_text(self.CONFIG.format(**config))
        (self.directory / "users.xml").write_text(self.USERS)

    def __enter__(self):
        log = self.directory / "server.log"
        command = [self.PATH, f"--config-file={self.directory}/config.xml"]
        self.child = Child(command, log, cwd=self.directory)
        deadline = time.monotonic() + START_TIMEOUT_S
        while True:
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
                with contextlib.closing(connection):
                    connection.request("GET", "/ping")
                    if connection.getresponse().status == 200:
                        return self
            if not self.child.alive() or time.monotonic() > deadline:
                raise RuntimeError(f"the server did not start: {log.read_text()[-2000:]}")
            time.sleep(0.02)

    def __exit__(self, *_):
        self.child.kill()

    def environment(self):
        return {"PIPE_CLICKHOUSE_URL": f"http://127.0.0.1:{self.port}"}
