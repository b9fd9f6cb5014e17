"""What `NAME doctor` says of a user's rights, and that those it names are enough to run."""

import os
import subprocess

import services
from suite_doctor import doctor, problems
from suite_topics import EXCHANGE, SOURCE, build_program, topics

CLUSTER = {"nodes": 1, "secure": True, "acls": True}
NEEDS = (build_program,)
GROUP = "pipec.clickstream"
ASKS = (2, 3, 0)  # librdkafka from there on can ask


def secure(env):
    settings = {"bootstrap": env.cluster.secure_bootstrap, **env.cluster.security()}
    return {f"PIPE_KAFKA_{k.upper().replace('.', '_')}": v for k, v in settings.items()}


def kafka(env):
    return doctor(env, "kafka", **secure(env))


def allow(env, *operations):
    """On every topic of the plan."""
    with env.cluster.admin() as admin:
        for begin in ("clickstream.", "events.", "agg.", "pipec.clickstream."):
            for operation in operations:
                admin.allow(services.USER, "topic", begin, operation, "prefixed")


def run_to_end(env):
    command = [env.program("clickstream"), "run", "--until-end", "--progress", "never"]
    command += ["--state", str(env.scratch / "state")]
    done = subprocess.run(
        command,
        env={**os.environ, **secure(env), "no_proxy": "*"},
        capture_output=True,
        text=True,
        timeout=120,
    )
    return done.returncode, done.stderr


def test_rights(env):
    topics(env, "apply", "--sources", code=0)
    code, found = kafka(env)
    assert code == 1 and any("allow DESCRIBE" in what for _, what, _ in problems(found)), found
    allow(env, "describe", "describe_configs")
    code, found = kafka(env)
    if services.librdkafka_version() < ASKS:
        (note,) = (f for f in found if "cannot ask what this user may" in f[1])
        assert code == 0 and note[0] == "note" and "WRITE" in note[2], found
    else:
        told = [what for _, what, _ in problems(found)]
        assert f"{SOURCE} is read, and this user may not" in told, found
        assert f"{SOURCE} is written, and this user may not" not in told, found
        assert f"{EXCHANGE} is written, and this user may not" in told, found
    allow(env, "read", "write")
    code, found = kafka(env)
    assert code == 0 and not problems(found), found


def test_enough_to_run(env):
    """With the rights that doctor and docs/operations.md name, and no other."""
    topics(env, "apply", "--sources", code=0)
    allow(env, "read", "write")
    code, said = run_to_end(env)
    assert code != 0 and "authorization failed" in said.lower(), (code, said)
    with env.cluster.admin() as admin:
        admin.allow(services.USER, "group", GROUP, "read", "prefixed")
        for operation in ("describe", "write"):
            admin.allow(
                services.USER, "transactional_id", f"pipec.{GROUP}.", operation, "prefixed"
            )
    code, said = run_to_end(env)
    assert code == 0, said
