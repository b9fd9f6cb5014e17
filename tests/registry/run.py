#!/usr/bin/env python3
"""Schema ids from a registry, embedded: a stand-in for one answers, is away, or answers wrongly.

tests/kafka/suite_registry.py does the same with a real one.
"""

import argparse
import base64
import contextlib
import http.server
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from clicks import CONTRACTS, LONG_AGO, ROOT, click, click_widened, schema, widened

LIMIT_S = 120


class Failure(Exception):
    pass


def check(condition, *what):
    if not condition:
        raise Failure(" ".join(map(str, what)))


def call(command, cwd, expect=0, env=None):
    result = subprocess.run(
        [str(part) for part in command],
        cwd=cwd,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=LIMIT_S,
        env=dict(os.environ, **(env or {})),
    )
    check(result.returncode == expect, command, "exit", result.returncode, result.stdout[-4000:])
    return result.stdout


# ---- A registry ----


class Answers(http.server.BaseHTTPRequestHandler):
    """What the test says: `mode` of the server, and its schemas by id."""

    protocol_version = "HTTP/1.1"

    def do_GET(self):
        registry = self.server
        registry.asked.append((self.path, self.headers.get("Authorization")))
        number = int(self.path.rsplit("/", 1)[-1])
        registry.seen(number)
        if registry.mode == "hang":
            registry.released.wait(LIMIT_S)
        known = registry.schemas.get(number)
        if registry.mode in ("503", "401", "404"):
            self.answer(int(registry.mode), b"<html>no registry</html>")
        elif registry.mode == "garbage":
            self.answer(200, b'{"schema": 1}')
        elif registry.mode == "endless":
            self.answer(200, b'"' + b"x" * (2 << 20) + b'"')
        elif known is None:
            self.answer(404, json.dumps({"error_code": 40403, "message": "no"}).encode())
        else:
            self.answer(200, json.dumps(known).encode())

    def answer(self, status, body):
        with contextlib.suppress(OSError):
            self.send_response(status)
            self.send_header("Content-Type", "application/vnd.schemaregistry.v1+json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *_):
        pass


class Registry(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass  # clients go away in the middle

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answers)
        self.mode, self.schemas, self.asked = "good", {}, []
        self.released = threading.Event()
        self.seen = lambda number: None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def env(self):
        return {"PIPE_REGISTRY_URL": f"http://127.0.0.1:{self.server_port}", "no_proxy": "*"}

    def put(self, number, schema, **more):
        text = schema if isinstance(schema, str) else json.dumps(schema)
        self.schemas[number] = {"schema": text, **more}

    def ids_asked(self):
        return [int(path.rsplit("/", 1)[-1]) for path, _ in self.asked]


# ---- Runs ----


def rows(values, kafka_time=LONG_AGO):
    for payload in values:
        yield json.dumps(
            {
                "partition": 0,
                "kafka_time": kafka_time,
                "key": "s",
                "value_base64": base64.b64encode(payload).decode(),
            }
        ) + "\n"


class Run:
    """One run directory of the clickstream."""

    def __init__(self, build, cwd, registry):
        self.program, self.cwd, self.registry = build / "clickstream", cwd, registry

    def inject(self, values, **options):
        with open(self.cwd / "rows.jsonl", "a") as file:
            file.writelines(rows(values, **options))
        command = [self.program, "inject", "--embedded", "run", "--source", "clicks", "rows.jsonl"]
        call(command, self.cwd)

    def command(self, *more):
        options = ["--embedded", "run", "--until-end", "--progress", "never"]
        return [self.program, "run", *options, *more]

    def run(self, *more, env=None, expect=0):
        return call(
            self.command(*more), self.cwd, expect, self.registry.env if env is None else env
        )

    def start(self, *more):
        log = open(self.cwd / "log", "w")
        command = [str(part) for part in self.command(*more)]
        env = dict(os.environ, **self.registry.env)
        return subprocess.Popen(command, cwd=self.cwd, env=env, stdout=log, stderr=log)

    def dump(self, topic):
        lines = call([self.program, "inspect", "run", "dump", topic], self.cwd).splitlines()
        return [json.loads(line) for line in lines if line.startswith("{")]

    def valid(self):
        return [self.row(line) for line in self.dump("events.valid")]

    def rejected(self):
        return [self.row(line) for line in self.dump("events.dlq")]

    @staticmethod
    def row(line):
        inner = line.get("value", line)
        return json.loads(inner) if isinstance(inner, str) else inner

    def check_exact(self):
        out = call([self.program, "reconcile", "run"], self.cwd)
        check("exact true" in out, out)


def wait_for(condition, what):
    end = time.monotonic() + LIMIT_S
    while not condition():
        check(time.monotonic() < end, "nothing after", LIMIT_S, "s:", what)
        time.sleep(0.01)


# ---- Tests ----


def versions_and_others(run, registry):
    """Both versions by their ids, a schema that is resolved, one that can't be, and none."""
    registry.put(1, schema(1))
    registry.put(2, schema(2))
    registry.put(3, widened())
    registry.put(4, json.loads((CONTRACTS / "breaking/type_changed.avsc").read_text()))
    registry.put(5, 'syntax = "proto3";', schemaType="PROTOBUF")
    run.inject(
        [
            click(schema(1), 1, event_id="a"),
            click(schema(2), 2, event_id="b", currency="USD"),
            click_widened(3, event_id="c", currency="CHF", price_cents=7),
            click(schema(2), 4, event_id="d"),
            click(schema(2), 5, event_id="e"),
            click(schema(2), 6, event_id="f"),
            click(schema(1), 1, event_id="g"),
        ]
    )
    out = run.run()
    valid = {row["event_id"]: row for row in run.valid()}
    check(sorted(valid) == ["a", "b", "c", "g"], valid)
    found = [valid[key]["currency"] for key in "abc"]
    check(found == ["EUR", "USD", "CHF"], found)
    check(valid["c"]["price_cents"] == 7 and valid["c"]["referrer"] == "r", valid["c"])
    details = {row["reason"] + ": " + row["detail"] for row in run.rejected()}
    check(
        details
        == {
            "schema_unknown: schema id 4 is not read as contract click: field `price_cents` is "
            "string, which is not read as long",
            "schema_unknown: schema id 5 is not read as contract click: is a PROTOBUF schema, not "
            "an Avro schema",
            "schema_unknown: schema id 6 is not in the schema registry",
        },
        details,
    )
    check("is read as the contract" in out and "records of this id are rejected" in out, out)
    run.check_exact()


def verdicts_outlive_the_registry(run, registry):
    """Replay, with and without state, asks no registry and comes to the same; reconcile too."""
    registry.put(3, widened())
    run.inject([click_widened(3, event_id="a"), click(schema(2), 6, event_id="b")])
    run.run()
    before = run.dump("events.valid"), run.dump("events.dlq")
    registry.schemas.clear()
    registry.put(6, schema(2))
    for state in ("kept", "removed"):
        if state == "removed":
            call(["rm", "-rf", "run/state"], run.cwd)
        registry.asked.clear()
        run.run(env={})
        check(not registry.asked, registry.asked)
        check((run.dump("events.valid"), run.dump("events.dlq")) == before, state)
        run.check_exact()
    run.inject([click_widened(3, event_id="c")])
    run.run(env={})
    check([row["event_id"] for row in run.valid()] == ["a", "c"], run.valid())
    run.check_exact()


def wait_for_replication(run, registry):
    """A schema that is registered while its record waits: nothing is rejected."""
    asked = []

    def seen(number):
        asked.append(number)
        if len(asked) == 2:
            registry.put(2, schema(2))

    registry.seen = seen
    run.inject([click(schema(2), 2, event_id="a")], kafka_time=int(time.time() * 1000))
    out = run.run("--schema-wait", "1h")
    check(len(run.valid()) == 1 and not run.rejected(), out)
    check("waiting for a schema" in out, out)
    check(registry.ids_asked() == [2] * len(asked), registry.asked)


def bounded_wait(run, registry):
    """An id that stays unknown is rejected after the wait, once for all records that have it."""
    values = [click(schema(2), 9, event_id=str(number)) for number in range(500)]
    run.inject(values, kafka_time=int(time.time() * 1000))
    run.run("--schema-wait", "1s")
    check(len(run.rejected()) == 500 and not run.valid(), len(run.rejected()))
    check(len(registry.asked) < 10, registry.asked)
    run.check_exact()


def old_records_do_not_wait(run, registry):
    """Ids that are no more likely to come, for their records are old, hold nothing up."""
    run.inject([click(schema(2), number, event_id="x") for number in range(100, 300)])
    run.run("--schema-wait", "1h")
    check(len(run.rejected()) == 200, len(run.rejected()))
    run.check_exact()


def down(run, registry):
    """Whatever is no answer of a registry: the partition waits, and nothing is rejected."""
    for mode in ("503", "401", "404", "garbage", "endless"):
        registry.mode = mode
        registry.asked.clear()
        number = {"503": 21, "401": 22, "404": 23, "garbage": 24, "endless": 25}[mode]
        registry.put(number, schema(2))
        run.inject([click(schema(2), number, event_id=mode)])
        program = run.start("--schema-wait", "0s")
        try:
            wait_for(lambda: len(registry.asked) >= 3 or program.poll() is not None, mode)
            check(program.poll() is None, (run.cwd / "log").read_text())
            registry.mode = "good"
            check(program.wait(LIMIT_S) == 0, (run.cwd / "log").read_text())
        finally:
            program.kill()
        text = (run.cwd / "log").read_text()
        check(text.count("the schema registry is down") == 1, text)
        check("the schema registry answers again" in text, text)
    check(len(run.valid()) == 5 and not run.rejected(), run.rejected())
    run.check_exact()


def stopped_while_it_waits(run, registry):
    """SIGTERM and kill -9 while the registry hangs: the run ends, and goes on later."""
    registry.put(2, schema(2))
    registry.mode = "hang"
    run.inject([click(schema(2), 2, event_id="a")])
    for signal_number, code in ((signal.SIGTERM, 0), (signal.SIGKILL, -9)):
        registry.asked.clear()
        program = run.start()
        wait_for(lambda: registry.asked, "a request")
        program.send_signal(signal_number)
        check(program.wait(LIMIT_S) == code, (run.cwd / "log").read_text())
    registry.mode = "good"
    registry.released.set()
    run.run()
    check(len(run.valid()) == 1 and not run.rejected(), run.rejected())
    run.check_exact()


def credentials(run, registry):
    """They are sent, and told to nobody."""
    registry.put(2, schema(2))
    run.inject([click(schema(2), 2, event_id="a")])
    (run.cwd / "password").write_text("hush-hush\n")
    env = registry.env | {
        "PIPE_REGISTRY_USER": "me",
        "PIPE_REGISTRY_PASSWORD_FILE": str(run.cwd / "password"),
    }
    out = run.run(env=env)
    expected = "Basic " + base64.b64encode(b"me:hush-hush").decode()
    check([header for _, header in registry.asked] == [expected], registry.asked)
    check("hush-hush" not in out, out)
    port = registry.server_port
    out = run.run(env={"PIPE_REGISTRY_URL": f"http://me:hush-hush@127.0.0.1:{port}"}, expect=2)
    check("hush-hush" not in out and "must not hold credentials" in out, out)


def no_such_logical_type(run, registry):
    """The same canonical form: without logical types it is the version, with another it is not."""
    for number, kind in ((2, "long"), (3, {"type": "long", "logicalType": "timestamp-micros"})):
        written = schema(2)
        for field in written["fields"]:
            if field["name"] == "occurred_at":
                field["type"] = kind
        registry.put(number, written)
        run.inject([click(written, number, event_id=str(number))])
    run.run()
    check([row["event_id"] for row in run.valid()] == ["2"], run.valid())
    details = [row["detail"] for row in run.rejected()]
    check(
        len(details) == 1 and "field `occurred_at` is long: timestamp-micros" in details[0], details
    )


TESTS = [
    versions_and_others,
    verdicts_outlive_the_registry,
    wait_for_replication,
    bounded_wait,
    old_records_do_not_wait,
    down,
    stopped_while_it_waits,
    credentials,
    no_such_logical_type,
]


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", default="build")
    parser.add_argument("only", nargs="*")
    options = parser.parse_args()
    build = (ROOT / options.build).resolve()
    passed = failed = 0
    for test in TESTS:
        if options.only and test.__name__ not in options.only:
            continue
        registry = Registry()
        with tempfile.TemporaryDirectory() as scratch:
            try:
                test(Run(build, Path(scratch), registry), registry)
                passed += 1
                print(f"ok   {test.__name__}", flush=True)
            except Exception as error:  # whatever goes wrong is this test's failure
                failed += 1
                print(f"FAIL {test.__name__}: {type(error).__name__}: {error}", flush=True)
        registry.released.set()
        registry.shutdown()
    print(f"{passed} passed, {failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
