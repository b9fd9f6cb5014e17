"""`NAME contracts push` into a real registry: what fits is registered, what breaks is named."""

import os
import subprocess

import services
from suite_topics import build_program

NEEDS = (build_program,)
SUBJECT = "clickstream.raw-value"
BREAKING = {
    "field_removed": "version 1 of SUBJECT cannot read FILE: field `country` (string) is not "
    "written and has no default",
    "required_field_added": "FILE cannot read version 2 of SUBJECT: field `consent` (string) is "
    "not written and has no default",
    "type_changed": "FILE cannot read version 2 of SUBJECT: field `price_cents` is long, which is "
    "not read as string",
}


def push(env, registry, *arguments, code=0):
    done = subprocess.run(
        [env.program("clickstream"), "contracts", "push", *map(str, arguments)],
        env=dict(os.environ, PIPE_REGISTRY_URL=registry.url, no_proxy="*"),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
    )
    assert done.returncode == code, (done.returncode, done.stdout)
    return done.stdout


def schema_of(registry, number):
    status, answer = registry.request("GET", f"/schemas/ids/{number}")
    assert status == 200, answer
    return answer["schema"]


def test_push(env):
    with services.Registry(env.build) as registry:
        first = push(env, registry)
        lines = [line.rsplit(" schema id ", 1) for line in first.splitlines()]
        assert [line[0] for line in lines] == [f"{SUBJECT}: click v{n} is" for n in (1, 2)], first
        assert '"currency"' not in schema_of(registry, lines[0][1]), first
        assert '"currency"' in schema_of(registry, lines[1][1]), first
        assert push(env, registry) == first
        status, answer = registry.request("GET", f"/config/{SUBJECT}")
        assert status == 200 and answer["compatibilityLevel"] == "FULL_TRANSITIVE", answer
        folder = services.ROOT / "contracts/clickstream"
        again = push(env, registry, "--schema", folder / "v2.avsc")
        assert again.endswith(f"schema id {lines[1][1]}\n"), again
        for name, reason in BREAKING.items():
            file = folder / f"breaking/{name}.avsc"
            out = push(env, registry, "--schema", file, code=1)
            assert f"{SUBJECT}: {file} is refused" in out, out
            assert reason.replace("SUBJECT", SUBJECT).replace("FILE", str(file)) in out, out
        status, versions = registry.request("GET", f"/subjects/{SUBJECT}/versions")
        assert (status, versions) == (200, [1, 2]), versions


def test_no_registry(env):
    registry = services.Registry(env.build)
    try:
        out = push(env, registry, code=1)
        assert f"the schema registry at {registry.url} does not answer" in out, out
    finally:
        registry.stop()
