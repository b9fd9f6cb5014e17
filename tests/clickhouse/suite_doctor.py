"""`NAME doctor` of ClickHouse and of the state directory: what is wrong, and what to do about it.
(Kafka and the registry: tests/kafka/suite_doctor.py.)"""

import json
import os
import subprocess

import service
from suite_tables import applied, program

OWN_SERVER = True


def doctor(env, server, *words, **environment):
    """(exit code, [(area, level, what, advice)])."""
    done = subprocess.run(
        [program(env), "doctor", "--json", *words],
        env={**os.environ, **(server.environment() if server else {}), **environment},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        timeout=120,
    )
    answer = json.loads(done.stdout)
    found = [(f["area"], f["level"], f["what"], f.get("advice")) for f in answer["findings"]]
    problems = any(level == "problem" for _, level, _, _ in found)
    assert answer["pipeline"] == "tables" and answer["ok"] == (not problems)
    assert done.returncode == (1 if problems else 0), (done.returncode, done.stderr)
    return done.returncode, found


def problem(found, part):
    """The advice of the one problem, which has these words."""
    problems = [f for f in found if f[1] == "problem"]
    assert len(problems) == 1 and part in problems[0][2], (part, problems)
    return problems[0][3]


def test_nothing_configured(env):
    """What is not configured is said to be."""
    code, found = doctor(env, None)
    assert code == 0
    assert [(area, level) for area, level, _, _ in found] == [
        (area, "skipped") for area in ("kafka", "registry", "clickhouse", "state")
    ]
    assert found[2][2] == "PIPE_CLICKHOUSE_URL is not set"
    done = subprocess.run([program(env), "doctor"], text=True, stdout=subprocess.PIPE)
    assert done.returncode == 0 and "no problems" not in done.stdout
    assert done.stdout.splitlines()[-1].startswith("nothing was checked: "), done.stdout


def test_all_is_well(env):
    with env.start_server() as server:
        applied(env, server)
        code, found = doctor(env, server)
        assert any("are remembered" in f[2] for f in found), found
        said = [what for area, level, what, _ in found if area == "clickhouse" and level == "ok"]
        assert code == 0
        assert said[0].startswith("version 26.9.2.1 at http://127.0.0.1:"), said
        for name in ("events", "current", "counts", "bad", "plain"):
            assert f"shop.{name} takes inserts" in said, said
        assert said[-1] == "a token counts for INSERT SELECT"
        left = server.rows("SELECT name FROM system.tables WHERE name LIKE '%doctor%'")
        assert left == []
        counts = "SELECT count() FROM shop.events", "SELECT count() FROM shop.bad"
        assert [server.value(query) for query in counts] == ["0", "0"]
        done = subprocess.run(
            [program(env), "doctor"],
            env={**os.environ, **server.environment()},
            text=True,
            stdout=subprocess.PIPE,
        )
        assert done.returncode == 0 and done.stdout.endswith("no problems\n"), done.stdout


def test_tables(env):
    """What `tables` would put right or refuse."""
    with env.start_server() as server:
        code, found = doctor(env, server)
        missing = [f for f in found if f[1] == "problem"]
        assert not any("are remembered" in f[2] for f in found), found
        assert len(missing) == 10 and all(f[3] == "tables tables apply" for f in missing), missing
        applied(env, server)
        server.query("ALTER TABLE shop.bad MODIFY SETTING non_replicated_deduplication_window = 3")
        advice = problem(doctor(env, server)[1], "non_replicated_deduplication_window is 3")
        assert advice == "tables tables apply"
        applied(env, server)
        server.query("ALTER TABLE shop.bad ADD COLUMN seen Bool")
        code, found = doctor(env, server)
        assert code == 0 and any("column seen (Bool) is not of the plan" in f[2] for f in found)


def test_server(env):
    """Nobody there, a wrong password, too old, another clock, no rights, tokens ignored."""
    with env.start_server(user="writer", password="s3cret-word") as server:
        applied(env, server)
        wrong = doctor(env, server, PIPE_CLICKHOUSE_PASSWORD="no")[1]
        assert "user and password" in problem(wrong, "code 516")
        assert "s3cret" not in str(wrong)
        clock = "26.9.2.1\t10\t{}\tfar\tdeduplicate_insert,deduplicate_insert_select\n"
        hour = int(server.value("SELECT toUnixTimestamp(now())")) + 3600
        for body, part in (
            ("24.3.5.46\t10\t1700000000\told\t\n", "24.3.5.46"),
            (clock.format(hour), "s ahead of ours"),
        ):
            server.fault(kind="answer", status=200, body=body, match="^SELECT version")
            problem(doctor(env, server)[1], part)
        server.fault(kind="exception", code=497, match="^INSERT INTO shop.bad")
        advice = problem(doctor(env, server)[1], "shop.bad takes no inserts: code 497")
        assert "grant INSERT and SELECT" in advice
        server.fault(kind="exception", code=497, match="^CREATE TABLE")
        code, found = doctor(env, server)
        assert code == 0 and any("could not be tried: code 497" in f[2] for f in found), found
        twice = {"kind": "answer", "status": 200, "body": "2\n"}
        server.fault(**twice, match=r"^SELECT count\(\) FROM shop._pipe_doctor_")
        problem(doctor(env, server)[1], "a token does not count for INSERT SELECT")
        server.kill()
        found = doctor(env, server)[1]
        problem(found, server.url)
        assert not any("are remembered" in f[2] for f in found), found  # nobody has seen it


def test_window_of_small_blocks(env):
    """Blocks that are full before their time come more often: tokens are remembered for less."""
    text = (service.HERE / "tables.pipe").read_text().replace("tests/", f"{service.ROOT}/tests/")
    end = "table 'shop.bad' exactly once;"
    assert end in text
    with env.start_server() as server:
        applied(env, server)
        for pace, word, window in (
            ("commit every 1s", "ok", "838"),
            ("commit every 1s or 64KiB", "problem", "25"),
            ("commit every 200ms or 1MiB", "problem", "52"),
        ):
            pipe, path = env.scratch / "tables.pipe", env.scratch / "tables"
            pipe.write_text(text.replace(end, end.replace("exactly", f"{pace} exactly")))
            command = [env.build / "pipec", "build", pipe, "-o", path, "--out", env.scratch / "g"]
            home = {**os.environ, "PIPEC_HOME": str(service.ROOT)}
            subprocess.run(command, check=True, env=home, capture_output=True)
            environment = {**os.environ, **server.environment()}
            done = subprocess.run([path, "doctor", "--json"], env=environment, capture_output=True)
            told = [f for f in json.loads(done.stdout)["findings"] if "shop.bad: " in f["what"]]
            assert [f["level"] for f in told] == [word], (pace, told)
            assert f" {window} s" in told[0]["what"], (pace, told)


def test_debian_server(env):
    with service.OldServer(env.scratch / "old") as server:
        problem(doctor(env, server)[1], "ClickHouse 18.16")


def test_state(env):
    """The directory that the run keeps its state in."""
    state = env.scratch / "state"

    def told(path):
        code, found = doctor(env, None, "--state", path)
        return code, [f for f in found if f[0] == "state"]

    code, found = told(state)
    assert code == 0 and "is not there yet" in found[0][2]
    state.mkdir()
    code, found = told(state)
    assert code == 0 and "holds no state yet" in found[0][2] and "MiB are free" in found[1][2]
    (env.scratch / "file").write_text("x")
    code, found = told(env.scratch / "file")
    assert code == 1 and found[0][2].endswith("is not a directory")
    (state / "state").mkdir()
    (state / "state" / "CURRENT").write_text("MANIFEST-000001\n")
    code, found = told(state)
    assert code == 1 and "can't be opened" in found[0][2], found
    done = subprocess.run(
        [program(env), "run", "--embedded", env.scratch / "run", "--until-end"],
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert done.returncode == 0, done.stdout
    code, found = told(env.scratch / "run")
    assert code == 0 and "holds state of this plan" in found[0][2], found


def test_usage(env):
    for words, code in (
        (["--frob"], 2),
        (["--state"], 2),
        (["--embedded", "x"], 2),
        (["--kafka", "x"], 2),
        (["--help"], 0),
    ):
        done = subprocess.run(
            [program(env), "doctor", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        assert done.returncode == code, (words, done.stderr)
