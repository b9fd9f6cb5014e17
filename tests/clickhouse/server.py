#!/usr/bin/env python3
"""ClickHouse's HTTP interface over the real engine (chdb), for tests.

    server.py [--host A] [--port N] [--user NAME:PASSWORD] [--token T] [--tls CERT KEY] DIR

The tables are in DIR and survive kill -9. Prints `ready PORT` on stdout. The engine is ClickHouse's
own; this front makes an HTTP server of it as README.md beside it says, and where it differs from
one. Orders of tests: POST /fault (faults.py), /clear, /release; GET /faults, /requests, /uptime.
"""

import argparse
import base64
import contextlib
import itertools
import json
import os
import re
import select
import socket
import ssl
import struct
import sys
import threading
import time
import urllib.parse
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

sys.dont_write_bytecode = True

import chdb
import lz4.frame
import zstandard
from chdb.state.sqlitelike import Connection

from faults import Faults, exception_text

# Parameters of the interface; all others are settings.
RESERVED = set(
    "query database user password query_id quota_key session_id session_check session_timeout "
    "default_format compress decompress wait_end_of_query buffer_size stacktrace".split()
)
FORMAT = re.compile(r"\sFORMAT\s+([A-Za-z0-9_]+)\s*;?\s*$", re.I)
DATA = re.compile(r"\sFORMAT\s+([A-Za-z0-9_]+)(?:\s+|$)", re.I)
INSERT = re.compile(r"\s*INSERT\s+INTO\s", re.I)
READS = re.compile(r"\s*\(?\s*(SELECT|WITH|SHOW|DESC|DESCRIBE|EXISTS|EXPLAIN)\b", re.I)
INPUT = re.compile(r"\binput\s*\(\s*'((?:[^'\\]|\\.)*)'\s*\)", re.I | re.S)
WHOLE_BYTES = 1 << 20  # a body that is read before the engine begins with it
CODE = re.compile(r"Code: (\d+)\. (DB::Exception: .*)", re.S)
STATUS = {401: (194,), 403: (192, 193, 497, 516), 408: (159,), 501: (48,), 503: (202, 209)}
STATUS.update({404: (46, 47, 50, 56, 60, 63, 73, 81, 115), 400: (6, 26, 27, 33, 36, 38, 41)})
STATUS[400] += (53, 62, 117, 120)


def literal(text):
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def status_of(code):
    return next((status for status, codes in STATUS.items() if code in codes), 500)


class Refused(Exception):
    """An exception of the front itself."""

    def __init__(self, code, text):
        super().__init__(text)
        self.code, self.text = code, text


class Cut(Exception):
    """The connection ends here."""


class Engine:
    """The one engine of this process."""

    def __init__(self, directory):
        self.directory = os.path.abspath(directory)
        os.makedirs(self.directory, exist_ok=True)
        self.spool = os.path.join(self.directory, "user_files")
        os.makedirs(self.spool, exist_ok=True)
        for name in os.listdir(self.spool):  # of a process that was killed
            os.unlink(os.path.join(self.spool, name))
        self.keeper = Connection(self.directory)  # as long as one is open the engine lives
        self.version = chdb.engine_version
        self.serial = itertools.count()
        self.started = time.monotonic()

    def failure(self, error):
        """(code, text) of what the engine raised."""
        found = CODE.search(str(error))
        if not found:
            return 1002, f"Code: 1002. DB::Exception: {error} (version {self.version})\n"
        text = found.group(2).strip()
        return int(found.group(1)), f"Code: {found.group(1)}. {text} (version {self.version})\n"

    @contextlib.contextmanager
    def session(self, database, settings):
        """A connection of its own: settings end with it."""
        connection = Connection(self.directory)
        try:
            connection.query(f"USE `{database}`")
            settings = [*settings, ("storage_file_read_method", "read")]
            connection.query("SET " + ", ".join(f"{k} = {literal(v)}" for k, v in settings))
            yield connection
        finally:
            connection.close()

    def insert(self, connection, statement, form, pieces):
        """Runs an INSERT … FORMAT. Inserts of this interface lose the errors of views, and take no
        SELECT; so the engine reads a file or, if the body comes in pieces, a named pipe."""
        if form.lower() != "native":  # the end of a cut body would look like that of a whole one
            pieces = [b"".join(pieces)]
        if isinstance(pieces, list):
            self.insert_whole(connection, statement, form, b"".join(pieces))
            return
        path = os.path.join(self.spool, f"{next(self.serial)}.body")
        os.mkfifo(path)
        done, failed = threading.Event(), []
        pump = threading.Thread(target=self.pump, args=(path, pieces, done, failed))
        try:
            pump.start()
            connection.query(self.reading(statement, form, path))
        finally:
            done.set()
            pump.join()
            os.unlink(path)
            if failed:
                raise failed[0]

    def insert_whole(self, connection, statement, form, body):
        """The body is here: a file in memory takes the place of the pipe and its thread."""
        memory = os.memfd_create("body")
        try:
            with open(memory, "wb", closefd=False) as out:
                out.write(body)
            connection.query(self.reading(statement, form, f"/proc/self/fd/{memory}"))
        finally:
            os.close(memory)

    def reading(self, statement, form, path):
        """The statement, which reads its rows from there."""

        def as_file(found):
            return f"file({literal(path)}, {literal(form)}, '{found.group(1)}')"

        if INPUT.search(statement):
            return INPUT.sub(as_file, statement)
        return f"{statement} FROM INFILE {literal(path)} FORMAT {form}"

    def pump(self, path, pieces, done, failed):
        """Writes the pieces into the pipe, as long as the engine reads; to be run as a thread."""
        pipe = None
        try:
            while pipe is None and not done.is_set():
                try:
                    pipe = os.open(path, os.O_WRONLY | os.O_NONBLOCK)
                except OSError:  # not opened by the engine yet
                    done.wait(0.0005)
            for piece in pieces if pipe is not None else ():
                left = memoryview(piece)
                while left and not done.is_set():
                    if select.select([], [pipe], [], 0.05)[1]:
                        left = left[os.write(pipe, left) :]
        except BrokenPipeError:
            pass  # it wants no more
        except (Cut, Refused, OSError) as error:
            failed.append(error)
        finally:
            if pipe is not None:
                os.close(pipe)


class Handler(BaseHTTPRequestHandler):
    """One connection. The server has: engine, faults, users, tokens, running."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, *_):
        pass

    # ---- requests ----

    def do_GET(self):
        self.handle_request()

    def do_POST(self):
        self.handle_request()

    def handle_request(self):
        split = urllib.parse.urlsplit(self.path)
        pairs = urllib.parse.parse_qsl(split.query, keep_blank_values=True)
        self.parameters = dict(pairs)
        try:
            if split.path.strip("/") in ("ping", "") and not pairs and self.command == "GET":
                self.answer(200, b"Ok.\n")
            elif split.path == "/" or split.path == "":
                self.statement([p for p in pairs if p[0] not in RESERVED])
            else:
                self.order(split.path)
        except (Cut, ConnectionError, ssl.SSLError):
            self.cut()

    def order(self, path):
        faults = self.server.faults
        shown = None
        if path == "/fault":
            faults.add(json.loads(self.read_body()))
        elif path == "/clear":
            faults.clear()
        elif path == "/release":
            faults.release()
        elif path == "/faults":
            shown = faults.shown()
        elif path == "/requests":
            shown = faults.recorded()
        elif path == "/uptime":
            shown = time.monotonic() - self.server.engine.started
        else:
            self.answer(404, f"There is no handle {path}\n".encode())
            return
        self.answer(200, json.dumps(shown).encode())

    def statement(self, settings):
        server = self.server
        self.entry = {"query": self.parameters.get("query", ""), "settings": dict(settings)}
        self.entry.update(query_id=self.parameters.get("query_id"), bytes=0, code=None, fault=None)
        self.tag = base64.b32encode(os.urandom(10)).decode().lower()
        self.sent = False
        server.faults.record(self.entry)
        try:
            self.authenticate()
            self.body = self.decompressed()
            if not self.entry["query"]:
                self.entry["query"] = b"".join(self.body).decode("utf-8", "surrogateescape")
            order = server.faults.take(self.entry["query"])
            self.entry["fault"] = order and order["kind"]
            self.obey(order, self.entry["query"], settings)
        except Refused as refused:
            self.entry["code"] = refused.code
            text = exception_text(refused.code, refused.text, server.engine.version)
            self.fail(refused.code, text, status_of(refused.code))

    def authenticate(self):
        users, token = self.server.users, self.server.token
        given = self.headers.get("Authorization", "")
        user = self.headers.get("X-ClickHouse-User") or self.parameters.get("user", "default")
        password = self.headers.get("X-ClickHouse-Key") or self.parameters.get("password", "")
        if given.startswith("Bearer "):
            if token and given[7:] == token:
                return
            self.drain()
            raise Refused(516, "Authentication failed: the token is not valid")
        if given.startswith("Basic "):
            user, _, password = base64.b64decode(given[6:]).decode().partition(":")
        if users.get(user) != password:
            self.drain()
            raise Refused(516, f"{user}: Authentication failed: password is incorrect, or there is")

    def drain(self):
        """The body of a request that is answered without it."""
        for _ in self.pieces():
            pass

    # ---- bodies ----

    def pieces(self):
        """The body as it comes."""
        if self.headers.get("Transfer-Encoding", "").lower() == "chunked":
            while True:
                size = int(self.rfile.readline().split(b";")[0] or b"0", 16)
                if size == 0:
                    self.rfile.readline()
                    return
                yield self.rfile.read(size)
                self.rfile.readline()
        left = int(self.headers.get("Content-Length") or 0)
        while left > 0:
            piece = self.rfile.read(min(left, 1 << 16))
            if not piece:
                raise Cut
            left -= len(piece)
            yield piece

    def read_body(self):
        return b"".join(self.pieces())

    def decompressed(self):
        """What the body holds, in pieces; counts them."""
        encoding = self.headers.get("Content-Encoding") or "identity"
        makers = {
            "gzip": lambda: zlib.decompressobj(31),
            "lz4": lz4.frame.LZ4FrameDecompressor,
            "zstd": lambda: zstandard.ZstdDecompressor().decompressobj(),
        }
        if encoding not in makers and encoding != "identity":
            self.drain()
            raise Refused(48, f"Unknown compression method {encoding}")
        unpacker = makers[encoding]() if encoding != "identity" else None
        for piece in self.pieces():
            try:
                plain = unpacker.decompress(piece) if unpacker else piece
            except (zlib.error, RuntimeError, EOFError, zstandard.ZstdError) as error:
                raise Refused(354, f"The body cannot be decompressed: {error}") from error
            self.entry["bytes"] += len(plain)
            if plain:
                yield plain
        if unpacker and not unpacker.eof:
            raise Refused(354, "The body ends within a compressed frame")

    def half(self, body):
        """The first half of the body; then the connection ends."""
        wanted = int(self.headers.get("Content-Length") or 2) // 2
        for piece in body:
            if wanted <= len(piece):
                yield piece[:wanted]
                raise Cut
            wanted -= len(piece)
            yield piece
        raise Cut

    # ---- orders and execution ----

    def obey(self, order, query, settings):
        kind, server = order and order["kind"], self.server
        if kind == "cut_before":
            raise Cut
        if kind == "cut_during":
            self.body = self.half(self.body)
        if kind in ("cut_after", "late"):
            kept = list(self.body)
            if kind == "late":

                def later():
                    server.faults.wait(order)
                    self.execute(query, settings, kept, lambda *_: None)

                threading.Thread(target=later, daemon=True).start()
            raise Cut
        if kind == "delay":
            time.sleep(order["seconds"])
        if kind in ("answer", "exception"):
            if order.get("after"):
                self.execute(query, settings, self.body, lambda *_: None)
            for _ in self.body:
                pass
            if kind == "answer":
                headers = list(order.get("headers", {}).items())
                self.answer(order["status"], order.get("body", "").encode(), headers)
            else:
                self.ordered_exception(order)
            return
        if kind in ("cut_done", "cut_answer", "hold"):
            kept = []
            self.execute(query, settings, self.body, lambda *answer: kept.append(answer))
            if kind == "cut_done":
                raise Cut
            if kind == "hold":
                server.faults.wait(order)
            for answer in kept:
                self.answer(*answer, cut=kind == "cut_answer")
            return
        size = int(self.headers.get("Content-Length") or WHOLE_BYTES + 1)
        if kind is None and size <= WHOLE_BYTES:
            self.body = list(self.body)
        self.execute(query, settings, self.body, self.answer)

    def ordered_exception(self, order):
        code, place = order["code"], order.get("place", "both")
        text = exception_text(code, order.get("text", "ordered"), self.server.engine.version)
        self.entry["code"] = code
        if place == "both":
            self.fail(code, text, order.get("status", status_of(code)))
        elif place == "header":
            self.answer(200, b"", [("X-ClickHouse-Exception-Code", str(code))])
        elif place == "body":
            self.answer(200, text.encode())
        else:
            self.begin_stream("TabSeparated")
            self.stream_piece(order.get("body", "1\n").encode())
            self.stream_failure(text, cut=place == "cut")

    def execute(self, query, settings, pieces, answer):
        """Runs a statement; answers with answer(status, bytes, headers) or as a stream."""
        server = self.server
        query_id = self.parameters.get("query_id") or os.urandom(16).hex()
        with server.lock:
            if query_id in server.running:
                raise Refused(216, f"Query with id = {query_id} is already running")
            server.running.add(query_id)
        database = self.parameters.get("database") or self.headers.get("X-ClickHouse-Database")
        try:
            with server.engine.session(database or "default", settings) as connection:
                self.run(connection, query, pieces, answer, query_id)
        except (Cut, Refused, ConnectionError, ssl.SSLError):
            raise
        except Exception as error:  # whatever the engine raises
            code, text = server.engine.failure(error)
            self.entry["code"] = code
            for _ in pieces:  # a client reads no answer before it has sent all
                pass
            if self.sent:
                self.stream_failure(text, cut=False)
            else:
                answer(status_of(code), text.encode(), [("X-ClickHouse-Exception-Code", str(code))])
        finally:
            with server.lock:
                server.running.discard(query_id)

    def run(self, connection, query, pieces, answer, query_id):
        engine = self.server.engine
        headers = [("X-ClickHouse-Query-Id", query_id)]
        if self.command == "GET" and not READS.match(query):
            raise Refused(164, "Cannot execute query in readonly mode: use POST")
        if INSERT.match(query):
            found = FORMAT.search(query)
            if not found and (found := DATA.search(query)):
                pieces = [query[found.end() :].encode("utf-8", "surrogateescape")]
            if not found or found.group(1).lower() == "values":
                connection.query(query)
            else:
                engine.insert(connection, query[: found.start()], found.group(1), pieces)
            answer(200, b"", headers)
            return
        for _ in pieces:
            pass
        form = self.parameters.get("default_format", "TabSeparated")
        if found := FORMAT.search(query):
            query, form = query[: found.start()], found.group(1)
        headers.append(("X-ClickHouse-Format", form))
        if not READS.match(query):
            connection.query(query)
            answer(200, b"", headers)
        elif self.parameters.get("wait_end_of_query") == "1" or answer != self.answer:
            answer(200, connection.query(query, form).bytes() or b"", headers)
        else:
            self.stream(connection, query, form)

    def stream(self, connection, query, form):
        with connection.send_query(query, form) as result:
            for piece in result:
                if not self.sent:
                    self.begin_stream(form)
                self.stream_piece(piece.bytes())
        if not self.sent:
            self.begin_stream(form)
        self.wfile.write(b"0\r\n\r\n")

    # ---- answers ----

    def begin_stream(self, form):
        self.sent = True
        self.send_response(200)
        self.send_header("X-ClickHouse-Format", form)
        self.send_header("X-ClickHouse-Exception-Tag", self.tag)
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def stream_piece(self, piece):
        if piece:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(piece), piece))

    def stream_failure(self, text, cut):
        """An error when rows are under way; the last chunk is missing, or the stream just ends."""
        if cut:
            raise Cut
        tag, size = self.tag, len(text.encode())
        told = f"\r\n__exception__\r\n{tag}\r\n{text}{size} {tag}\r\n__exception__\r\n"
        self.stream_piece(told.encode())
        self.wfile.write(b"0\r\n\r\n")
        self.close_connection = True

    def fail(self, code, text, status):
        self.answer(status, text.encode(), [("X-ClickHouse-Exception-Code", str(code))])

    def answer(self, status, body, headers=(), cut=False):
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) + (1 if cut else 0)))
        self.end_headers()
        self.wfile.write(body)
        if cut:
            raise Cut

    def cut(self):
        """A reset, not an orderly end."""
        self.close_connection = True
        with contextlib.suppress(OSError):
            self.wfile.flush()
        with contextlib.suppress(OSError):
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, address, engine, users, token):
        super().__init__(address, Handler)
        self.engine, self.users, self.token = engine, users, token
        self.faults, self.running, self.lock = Faults(), set(), threading.Lock()

    def handle_error(self, *_):
        """Clients go away."""


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--user", default="default:")
    parser.add_argument("--token")
    parser.add_argument("--tls", nargs=2, metavar=("CERT", "KEY"))
    parser.add_argument("directory")
    options = parser.parse_args()
    user, _, password = options.user.partition(":")
    address = (options.host, options.port)
    server = Server(address, Engine(options.directory), {user: password}, options.token)
    if options.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*options.tls)
        server.socket = context.wrap_socket(
            server.socket, server_side=True, do_handshake_on_connect=False
        )
    print("ready", server.server_address[1], flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
