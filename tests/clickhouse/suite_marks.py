"""A run whose table is not what its positions say, or not of the shape that its inserts need: it
stands still and says so, and no row comes twice or is passed over."""

import os
import shutil
import subprocess

OWN_SERVER = True
TABLE = "lumen.events"


def call(env, server, *words):
    done = subprocess.run(
        [env.program("clickstream"), *map(str, words)],
        env={**os.environ, **server.environment()},
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=200,
    )
    return done.returncode, done.stdout


def run(env, server, directory, count, *more):
    traffic = f"--traffic --count {count} --rate 20/s --seed 3 --progress never".split()
    return call(env, server, "run", "--embedded", directory, *traffic, *more)


def filled(env, server):
    """A directory with a run whose rows are in the tables."""
    code, text = call(env, server, "tables", "apply")
    assert code == 0, text
    directory = env.scratch / "run"
    code, text = run(env, server, directory, 1000)
    assert code == 0, text
    return directory


def stands(env, server, directory, *parts):
    code, text = run(env, server, directory, 2000)
    assert code == 1, text
    for part in parts:
        assert part in text, (part, text)


def test_shape(env):
    """What `tables plan` refuses, and a roll-up that nothing fills any more."""
    with env.start_server() as server:
        directory = filled(env, server)
        rows = server.value(f"SELECT count() FROM {TABLE}")
        view = server.value(
            "SELECT create_table_query FROM system.tables WHERE engine = 'MaterializedView' "
            "AND database = 'lumen' FORMAT TSVRaw"
        )
        server.query("DROP VIEW lumen.by_minute_view SYNC")
        stands(env, server, directory, "has no materialized view lumen.by_minute_view")
        assert server.value(f"SELECT count() FROM {TABLE}") == rows
        code, text = call(env, server, "tables", "plan")
        assert code == 1 and "now are not in its roll-up" in text, text
        server.query(view)
        code, text = run(env, server, directory, 2000)
        assert code == 0, text


def test_table_is_behind(env):
    with env.start_server() as server:
        directory = filled(env, server)
        server.query(f"TRUNCATE TABLE {TABLE}")
        stands(env, server, directory, f"table {TABLE} lacks the row of topic", "--accept-gap")
        assert server.value(f"SELECT count() FROM {TABLE}") == "0"


def test_table_is_ahead(env):
    with env.start_server() as server:
        directory = filled(env, server)
        shutil.copytree(directory, env.scratch / "copy")
        code, text = run(env, server, directory, 2000)
        assert code == 0, text
        rows = server.value(f"SELECT count() FROM {TABLE}")
        stands(env, server, env.scratch / "copy", "it is ahead, as with a restored copy")
        assert server.value(f"SELECT count() FROM {TABLE}") == rows
