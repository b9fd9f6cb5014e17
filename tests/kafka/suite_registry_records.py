"""Records whose schema ids come from a real registry, on a real broker."""

import json
import os
import signal
import sys
import time

import services
from client import Record
from processes import Child
from suite_registry_contracts import push
from suite_topics import build_program, topics

sys.path.append(str(services.ROOT / "tests/registry"))
from clicks import CONTRACTS, click, click_widened, schema, widened

CLUSTER = {"nodes": 1}
NEEDS = (build_program,)
TOPIC = "clickstream.raw"
SUBJECT = f"{TOPIC}-value"
LIMIT_S = 120


def start(env, registry, *more):
    command = [env.program("clickstream"), "run", "--state", env.scratch / "state"]
    command += ["--progress", "never", "--schema-wait", "2s", *more]
    surroundings = dict(
        os.environ,
        PIPE_KAFKA_BOOTSTRAP=env.cluster.bootstrap,
        PIPE_REGISTRY_URL=registry.url,
        no_proxy="*",
    )
    return Child(command, env.scratch / "run.log", env=surroundings)


def produce(env, values):
    now = int(time.time() * 1000)
    env.client().produce(
        TOPIC, [Record(0, b"s", value(now) if callable(value) else value) for value in values]
    )


def ids_in(env, topic):
    return sorted(json.loads(record.value)["event_id"] for record in env.client().dump(topic))


def rejected(env):
    return [json.loads(record.value) for record in env.client().dump("events.dlq")]


def await_valid(env, program, expected):
    end = time.monotonic() + LIMIT_S
    while ids_in(env, "events.valid") != expected:
        assert program.alive(), program.tail()
        assert time.monotonic() < end, (ids_in(env, "events.valid"), rejected(env), program.tail())
        time.sleep(0.2)


def await_text(program, text):
    end = time.monotonic() + LIMIT_S
    while text not in program.tail():
        assert program.alive() and time.monotonic() < end, program.tail()
        time.sleep(0.1)


def stop(program):
    program.process.send_signal(signal.SIGTERM)
    assert program.wait(LIMIT_S), program.tail()
    assert program.process.returncode == 0, program.tail()


def by(written, number, event):
    return lambda now: click(written, number, event_id=event, occurred_at=now)


def test_rollout(env):
    """v1, v2, a schema that is not compiled in: in mid-stream, through a registry that dies, and
    nothing is rejected; then one that is not registered and one that breaks the contract, which
    are. A new process without state comes to the same without a registry."""
    topics(env, "apply", "--sources", code=0)
    registry = services.Registry(env.build)
    with registry:
        v1 = registry.register(SUBJECT, schema(1))
        program = start(env, registry)
        try:
            produce(env, [by(schema(1), v1, "a")])
            await_valid(env, program, ["a"])
            v2 = int(push(env, registry).split()[-1])
            produce(env, [by(schema(1), v1, "b"), by(schema(2), v2, "c")])
            await_valid(env, program, list("abc"))
            v3 = registry.register(f"other-{SUBJECT}", widened())
            time.sleep(2)  # its database is written behind
            registry.kill()
            produce(env, [lambda now: click_widened(v3, event_id="d", occurred_at=now)])
            await_text(program, "the schema registry is down")
            assert not rejected(env), rejected(env)
            registry.start()
            await_valid(env, program, list("abcd"))
            broken = json.loads((CONTRACTS / "breaking/type_changed.avsc").read_text())
            v4 = registry.register(f"elsewhere-{SUBJECT}", broken)
            values = [by(schema(2), v3 + 1000, "e"), by(broken, v4, "x"), by(schema(2), v2, "f")]
            produce(env, values)
            await_valid(env, program, list("abcdf"))
            stop(program)
        finally:
            program.kill()
        refused = sorted((row["reason"], row["detail"]) for row in rejected(env))
        expected = [
            ("schema_unknown", f"schema id {v3 + 1000} is not in the schema registry"),
            (
                "schema_unknown",
                f"schema id {v4} is not read as contract click: field `price_cents` is string, "
                "which is not read as long",
            ),
        ]
        assert refused == sorted(expected), refused
    env.scratch.joinpath("state").rename(env.scratch / "old")
    program = start(env, registry)  # which is gone: what was known is in the log
    try:
        produce(env, [lambda now: click_widened(v3, event_id="g", occurred_at=now)])
        await_valid(env, program, list("abcdfg"))
        stop(program)
    finally:
        program.kill()
