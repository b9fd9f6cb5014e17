"""`NAME doctor` of Kafka and the schema registry, on one broker."""

import json
import os
import subprocess

import services
from suite_topics import EXCHANGE, SOURCE, build_program, topics

CLUSTER = {"nodes": 1}
NEEDS = (build_program,)


def doctor(env, area, **environment):
    """(exit code, [(level, what, advice)]) of what was found there."""
    done = subprocess.run(
        [env.program("clickstream"), "doctor", "--json"],
        env={**os.environ, "no_proxy": "*", **environment},
        capture_output=True,
        text=True,
        timeout=120,
    )
    answer = json.loads(done.stdout)
    assert done.returncode == (0 if answer["ok"] else 1), (done.returncode, done.stderr)
    found = [f for f in answer["findings"] if f["area"] == area]
    return done.returncode, [(f["level"], f["what"], f.get("advice")) for f in found]


def kafka(env):
    return doctor(env, "kafka", PIPE_KAFKA_BOOTSTRAP=env.cluster.bootstrap)


def problems(found):
    return [f for f in found if f[0] == "problem"]


def test_topics(env):
    """Missing, other settings, other partitions: each with what to do."""
    code, found = kafka(env)
    assert found[0][:2] == ("ok", f"1 broker at {env.cluster.bootstrap}"), found
    assert (
        code == 1
        and (
            "problem",
            f"{SOURCE} (source) is missing",
            "clickstream topics apply --sources",
        )
        in found
    ), found
    assert ("problem", f"{EXCHANGE} (exchange) is missing", "clickstream topics apply") in found
    topics(env, "apply", "--sources", code=0)
    code, found = kafka(env)
    assert code == 0 and ("ok", f"{EXCHANGE}: 6 partitions, 1 replica", None) in found, found
    with env.cluster.admin() as admin:
        admin.alter_topic(EXCHANGE, {"retention.ms": "1000"})
        admin.alter_topic(SOURCE, {"message.timestamp.type": "CreateTime"})
        admin.add_partitions("events.valid", 7)
    code, found = kafka(env)
    told = {what: advice for _, what, advice in problems(found)}
    assert code == 1 and len(told) == 3, told
    assert told[f"{EXCHANGE}: retention.ms is 1000, it must be -1"] == "clickstream topics apply"
    clock = "message.timestamp.type is CreateTime, it must be LogAppendTime: a producer's clock"
    assert any(what.startswith(f"{SOURCE}: {clock}") for what in told), told
    assert "events.valid has 7 partitions, the plan says 6" in told, told


def test_no_broker(env):
    code, found = doctor(env, "kafka", PIPE_KAFKA_BOOTSTRAP="127.0.0.1:1")
    assert code == 1 and found[0][1].startswith("no broker at 127.0.0.1:1 answers"), found


def test_registry(env):
    with services.Registry(env.build) as registry:
        address = {"PIPE_REGISTRY_URL": registry.url}
        code, found = doctor(env, "registry", **address)
        assert code == 1 and found[0][1] == f"{registry.url} answers", found
        missing = [(what, advice) for _, what, advice in problems(found) if "registered" in what]
        assert missing == [
            (f"{SOURCE}-value: click {v} is not registered", "clickstream contracts push")
            for v in ("v1", "v2")
        ], found
        pushed = subprocess.run(
            [env.program("clickstream"), "contracts", "push"],
            env={**os.environ, "no_proxy": "*", **address},
            capture_output=True,
        )
        assert pushed.returncode == 0, pushed.stderr
        code, found = doctor(env, "registry", **address)
        assert code == 0, found
        assert ("ok", f"{SOURCE}-value: compatibility is FULL_TRANSITIVE", None) in found, found
        registry.request("PUT", f"/config/{SOURCE}-value", {"compatibility": "NONE"})
        code, found = doctor(env, "registry", **address)
        assert code == 1 and problems(found)[0][1].endswith("compatibility is NONE"), found
    code, found = doctor(env, "registry", PIPE_REGISTRY_URL="http://127.0.0.1:1")
    assert code == 1 and "does not answer" in found[0][1], found
