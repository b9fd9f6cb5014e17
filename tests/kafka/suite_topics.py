"""`NAME topics plan|apply` of the clickstream pipeline, on one broker."""

import os
import subprocess

import services

CLUSTER = {"nodes": 1}
SOURCE = "clickstream.raw"
EXCHANGE = "pipec.clickstream.by_category.exchange"


def build_program(env):
    command = ["make", "--no-print-directory", "-s", f"BUILD={env.build}"]
    home = dict(os.environ, PIPEC_HOME=str(services.ROOT))
    subprocess.run(command + [str(env.build / "clickstream")], check=True, env=home)


NEEDS = (build_program,)


def topics(env, *arguments, code):
    """What the command prints, by topic."""
    done = subprocess.run(
        [env.program("clickstream"), "topics", *arguments],
        env=dict(os.environ, PIPE_KAFKA_BOOTSTRAP=env.cluster.bootstrap),
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    lines = {}
    for line in done.stdout.splitlines():
        name, colon, rest = line.partition(": ")
        if colon:
            lines.setdefault(name, []).append(rest)
    return lines


def test_all_of_it(env):
    missing = topics(env, "plan", code=1)
    assert missing[EXCHANGE] == ["missing: exchange, 6 partitions"], missing
    with env.cluster.admin() as admin:
        assert not set(missing) & set(admin.topics())
        made = topics(env, "apply", code=1)
        assert "its producers make it" in made.pop(SOURCE)[0]
        assert all(lines == ["made, with 6 partitions"] for lines in made.values()), made
        assert set(made) == set(missing) - {SOURCE}
        assert SOURCE not in admin.topics()
        topics(env, "apply", "--sources", code=0)
        topics(env, "plan", code=0)
        check_settings(env, admin)
        check_partitions(env, admin)


def check_settings(env, admin):
    """What matters is put right; what else was set for a topic stays."""
    configs = admin.topic_configs(EXCHANGE)
    assert configs["retention.ms"] == "-1" and configs["retention.bytes"] == "-1", configs
    assert configs["message.timestamp.type"] == "LogAppendTime", configs
    admin.alter_topic(EXCHANGE, {"retention.ms": "1000", "segment.ms": "12345"})
    drift = topics(env, "plan", code=1)
    assert drift == {EXCHANGE: ["retention.ms is 1000, should be -1"]}, drift
    changed = topics(env, "apply", code=0)
    assert changed[EXCHANGE] == ["retention.ms was 1000, now -1"], changed
    topics(env, "plan", code=0)
    configs = admin.topic_configs(EXCHANGE)
    assert configs["segment.ms"] == "12345" and configs["retention.ms"] == "-1", configs


def check_partitions(env, admin):
    """They are never changed."""
    admin.add_partitions("events.valid", 7)
    for what in ("plan", "apply"):
        (line,) = topics(env, what, code=1)["events.valid"]
        assert line.startswith("has 7 partitions, the plan says 6"), line
    assert len(admin.topic("events.valid")["partitions"]) == 7


def test_no_broker(env):
    """What is wrong with the command line is told without one."""
    clean = {k: v for k, v in os.environ.items() if not k.startswith("PIPE_KAFKA_")}
    for arguments, part in ((["plan"], "PIPE_KAFKA_BOOTSTRAP"), (["maybe"], "maybe")):
        done = subprocess.run(
            [env.program("clickstream"), "topics", *arguments],
            env=clean,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 2 and part in done.stderr, done.stderr
