"""The runtime's client (runtime/clickhouse*.c) against the engine, with every fault: what it says
became of a statement, and what did."""

import base64
import os
import subprocess

import service

PROGRAMS = ("clickhouse-driver",)


class Answer:
    """What the driver printed: outcome, status, code, error of each request; the lines behind."""

    def __init__(self, text):
        self.results, self.lines = [], []
        for line in text.splitlines():
            word = line.split(" ", 1)[0]
            if word in ("done", "refused", "retry", "unknown", "fatal"):
                outcome, status, code, error = line.split(" ", 3)
                self.results.append((outcome, int(status), int(code), error))
            else:
                self.lines.append(line)
        assert self.results, text
        self.outcome, self.status, self.code, self.error = self.results[0]


def drive(env, sql, *options, body=None, environment=None, server=None):
    server = server or env.server
    if body is not None:
        path = env.scratch / "body"
        path.write_bytes(body)
        options = ("-b", path, *options)
    done = subprocess.run(
        [env.program("clickhouse-driver"), *options, sql],
        env={**os.environ, **server.environment(), **(environment or {})},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=120,
    )
    text = done.stdout.decode(errors="replace")
    assert done.returncode == 0, text
    return Answer(text)


def table(env, name=None, server=None):
    name = name or env.name
    (server or env.server).query(
        f"CREATE TABLE {name} (a Int64) ENGINE = MergeTree ORDER BY a "
        "SETTINGS non_replicated_deduplication_window = 100"
    )
    return name


def numbers(env, count=1000, first=0):
    return env.server.send(
        f"SELECT number::Int64 AS a FROM numbers({first}, {count}) FORMAT Native"
    )


def insert(env, *options, body=None):
    query = f"INSERT INTO {env.name} (a) FORMAT Native"
    return drive(env, query, *options, body=numbers(env) if body is None else body)


def count(env):
    return int(env.server.value(f"SELECT count() FROM {env.name}"))


def test_statements(env):
    """Tables are made, filled, read; an insert says every setting that it depends on."""
    made = drive(env, f"CREATE TABLE {env.name} (a Int64) ENGINE = MergeTree ORDER BY a")
    assert made.outcome == "done" and made.lines == ["server 26.9.2.1"], made.lines
    assert insert(env, "-z", "-t", "t1").outcome == "done"
    assert count(env) == 1000
    read = drive(env, f"SELECT count(), sum(a) FROM {env.name} FORMAT TabSeparated")
    assert (read.outcome, read.lines[0]) == ("done", "1000\t499500"), read.lines
    sent = [r for r in env.server.requests() if r["query"].startswith(f"INSERT INTO {env.name}")]
    settings = sent[-1]["settings"]
    for name, value in {
        "async_insert": "0",
        "insert_deduplicate": "1",
        "deduplicate_insert": "enable",
        "deduplicate_insert_select": "enable_even_for_bad_queries",
        "insert_deduplication_token": "t1",
        "max_insert_threads": "1",
        "max_execution_time": "60",
    }.items():
        assert settings.get(name) == value, (name, settings)


def test_settings_of_the_call(env):
    table(env)
    result = insert(
        env, "-t", "x", "-s", "max_execution_time=7", "-s", "max_partitions_per_insert_block=9"
    )
    assert result.outcome == "done"
    settings = env.server.requests()[-1]["settings"]
    assert settings["max_execution_time"] == "7"
    assert settings["max_partitions_per_insert_block"] == "9"


def test_pieces(env):
    """A long answer comes in pieces and is never held."""
    sql = "SELECT number FROM numbers(3000000) FORMAT RowBinary"
    read = drive(env, sql, "-k")
    assert (read.outcome, read.lines[0]) == ("done", "24000000 bytes"), read.lines


def test_many_at_once(env):
    table(env)
    results = insert(env, "-n", "32", "-t", "same").results
    assert [r[0] for r in results] == ["done"] * 32
    assert count(env) == 1000


def test_errors_of_the_server(env):
    """Its code decides; its words are told on one line."""
    table(env)
    for sql, code in (
        ("SELECT * FROM nosuch", 60),
        ("SELECT nosuch FROM " + env.name, 47),
        ("SELEC 1", 62),
        ("SELECT * FROM nosuch.t", 81),
    ):
        answer = drive(env, sql)
        assert (answer.outcome, answer.code) == ("fatal", code), answer.results
        assert "\n" not in answer.error and answer.error.startswith(f"code {code}: ")
    wrong = drive(env, f"INSERT INTO {env.name} (b) FORMAT Native", body=numbers(env))
    assert (wrong.outcome, wrong.code) == ("fatal", 16), wrong.results
    typed = env.server.send("SELECT number::Int32 AS a FROM numbers(3) FORMAT Native")
    refused = insert(env, body=typed)
    assert refused.outcome == "fatal", refused.results  # nothing is converted silently
    assert count(env) == 0


def test_codes(env):
    """Errors that pass, that say nothing, that stay: in header and body, or in one of them."""
    table(env)
    for code, expected in (
        (252, "retry"),
        (241, "retry"),
        (159, "retry"),
        (202, "retry"),
        (242, "retry"),
        (243, "retry"),
        (999, "retry"),
        (209, "unknown"),
        (210, "unknown"),
        (319, "unknown"),
        (497, "fatal"),
        (53, "fatal"),
    ):
        for place in ("both", "header", "body"):
            env.server.fault(kind="exception", code=code, place=place, match="^INSERT")
            answer = insert(env)
            assert (answer.outcome, answer.code) == (expected, code), (place, answer.results)
    assert count(env) == 0


def test_error_behind_rows(env):
    """In the stream of an answer with status 200: by its tag, by the words of an older server, or
    with the connection broken."""
    sql = "SELECT number, throwIf(number = 2000000) FROM numbers(9000000) FORMAT TabSeparated"
    answer = drive(env, sql, "-k")
    assert (answer.outcome, answer.code) == ("fatal", 395), answer.results
    env.server.fault(kind="exception", code=241, place="tag", match="^SELECT 7")
    answer = drive(env, "SELECT 7 FORMAT TabSeparated", "-k")
    assert (answer.outcome, answer.code) == ("retry", 241), answer.results
    env.server.fault(kind="exception", code=241, place="cut", match="^SELECT 7")
    answer = drive(env, "SELECT 7 FORMAT TabSeparated", "-k")
    assert answer.outcome == "unknown", answer.results
    env.server.fault(kind="exception", code=241, place="body", match="^SELECT 7")
    answer = drive(env, "SELECT 7 FORMAT TabSeparated", "-k")
    assert (answer.outcome, answer.code) == ("retry", 241), answer.results


def test_words_of_an_error_in_rows(env):
    """Rows that hold what looks like an exception are rows."""
    text = "Code: 60. DB::Exception: Table x does not exist. (UNKNOWN_TABLE) (version 26.9.2.1)"
    answer = drive(env, f"SELECT '{text}' FORMAT TabSeparated", "-k")
    assert answer.outcome == "done", answer.results


def test_cut_connections(env):
    """Cut before, in the middle of and behind the body, behind the insert, within the answer: no
    verdict, each time; the rows are there or not, and once after the same again."""
    table(env)
    for kind, there in (
        ("cut_before", 0),
        ("cut_during", 0),
        ("cut_after", 0),
        ("cut_done", 1000),
        ("cut_answer", 1000),
    ):
        env.server.query(f"TRUNCATE TABLE {env.name} SYNC")
        env.server.fault(kind=kind, match="^INSERT")
        assert insert(env, "-z", "-t", kind).outcome == "unknown", kind
        assert count(env) == there, kind
        hits = [order["hits"] for order in env.server.faults()]
        assert hits[-1] == 1, hits
        assert insert(env, "-z", "-t", kind).outcome == "done"
        assert count(env) == 1000, kind


def test_nothing_is_sent_twice_silently(env):
    """A connection that breaks without an answer is not tried again by itself."""
    table(env)
    env.server.fault(kind="cut_after", match="^INSERT", count=-1)
    assert insert(env).outcome == "unknown"
    inserts = [r for r in env.server.requests() if r["query"].startswith(f"INSERT INTO {env.name}")]
    assert len(inserts) == 1, inserts


def test_answers_that_are_not_of_clickhouse(env):
    """A proxy in between: 502 and 504 say nothing, also behind a success; 404
    and redirects pass, 413 stays."""
    table(env)
    for status, after, expected in (
        (502, False, "unknown"),
        (504, True, "unknown"),
        (500, True, "unknown"),
        (429, False, "retry"),
        (404, False, "retry"),
        (413, False, "fatal"),
        (301, False, "retry"),
        (308, False, "retry"),
    ):
        order = {"status": status, "after": after, "body": "<html>\r\nno\x01</html>"}
        env.server.fault(kind="answer", match="^INSERT", **order)
        answer = insert(env, "-t", f"{status}")
        assert (answer.outcome, answer.status) == (expected, status), answer.results
        assert answer.error.endswith("<html> no </html>"), answer.error
    assert count(env) == 2000
    env.server.fault(kind="answer", match="^INSERT", status=200, body="hello")
    assert insert(env).outcome == "unknown"
    headers = {"X-ClickHouse-Exception-Code": "99999999999999999999x"}
    env.server.fault(kind="answer", match="^INSERT", status=500, body="a\u0085b", headers=headers)
    answer = insert(env)
    assert (answer.outcome, answer.code) == ("unknown", 0), answer.results
    assert "whose code is no number (HTTP 500): a b" in answer.error, answer.error


def test_url_that_is_too_long(env):
    """An insert's statement is in the URL; who refuses it for its length says so by a status."""
    table(env)
    query = f"INSERT INTO {env.name} (a) /* {'x' * 9000} */ FORMAT Native"
    for status in (414, 431, 400):
        env.server.fault(kind="answer", match="^INSERT", status=status, body="")
        answer = drive(env, query, body=numbers(env))
        assert answer.outcome == "fatal" and "the request's URL has 9" in answer.error, answer.error
        assert "http_max_uri_size" in answer.error, answer.error
    env.server.fault(kind="answer", match="^INSERT", status=414, body="")
    assert "URL" not in insert(env).error
    assert drive(env, query, body=numbers(env)).outcome == "done"


def test_proxies_of_the_surroundings(env):
    """http_proxy and its like are for browsers: rows and passwords go to the server itself."""
    table(env)
    nowhere = {n: "http://127.0.0.1:1" for n in ("http_proxy", "HTTP_PROXY", "all_proxy")}
    answer = drive(env, f"SELECT count() FROM {env.name}", environment={**nowhere, "no_proxy": ""})
    assert answer.outcome == "done", answer.results


def test_deadline_with_the_insert_going_on(env):
    """The answer is awaited in vain: no verdict, although the rows are in."""
    table(env)
    env.server.fault(kind="hold", match="^INSERT")
    assert insert(env, "-d", "1500", "-t", "a").outcome == "unknown"
    assert count(env) == 1000
    env.server.release()
    assert insert(env, "-t", "a").outcome == "done"
    assert count(env) == 1000


def test_nobody_there(env):
    """Refused, surely not acted on; also while a killed server is not back."""
    with env.start_server() as server:
        table(env, server=server)
        server.kill()
        answer = drive(env, f"SELECT count() FROM {env.name}", server=server)
        assert answer.outcome == "refused" and answer.lines == ["server unknown"], answer.results
        server.start()
        answer = drive(env, f"SELECT count() FROM {env.name}", server=server)
        assert answer.outcome == "done" and answer.lines[0] == "0"


def test_server_that_hangs(env):
    """No answer to the question what it is: refused at the deadline, for nothing was sent."""
    with env.start_server() as server:
        server.pause()
        answer = drive(env, "SELECT 1", "-d", "300", server=server)
        assert answer.outcome == "refused", answer.results
        server.resume()


def test_credentials(env):
    """User and password, or a token, from variables and files; none of it in an error."""
    with env.start_server(user="writer", password="s3cret-word", token="tok-en") as server:
        assert drive(env, "SELECT 1", server=server).outcome == "done"
        wrong = {"PIPE_CLICKHOUSE_PASSWORD": "wr0ng-word"}
        answer = drive(env, "SELECT 1", server=server, environment=wrong)
        assert (answer.outcome, answer.code) == ("fatal", 516), answer.results
        assert "wr0ng" not in answer.error and "s3cret" not in answer.error
        path = env.scratch / "token"
        path.write_text("tok-en\n")
        token = {"PIPE_CLICKHOUSE_PASSWORD": "", "PIPE_CLICKHOUSE_TOKEN_FILE": str(path)}
        assert drive(env, "SELECT 1", server=server, environment=token).outcome == "done"
        sent = env.scratch / "nosuch"
        missing = subprocess.run(
            [env.program("clickhouse-driver"), "SELECT 1"],
            env={**os.environ, "PIPE_CLICKHOUSE_URL_FILE": str(sent)},
            stdout=subprocess.PIPE,
        )
        assert b"PIPE_CLICKHOUSE_URL_FILE names a file that can't be read" in missing.stdout


def test_urls(env):
    env.server.query(f"CREATE DATABASE {env.name}")
    url = f"{env.server.url}/{env.name}"
    answer = drive(env, "SELECT currentDatabase()", environment={"PIPE_CLICKHOUSE_URL": url})
    assert answer.lines[0] == env.name
    for url, part in (
        ("http://u:SecretX@127.0.0.1:1", "must not hold credentials"),
        ("http://u:SecretX/y@127.0.0.1:1", "must not hold credentials"),
        ("http://127.0.0.1:99999", "PIPE_CLICKHOUSE_URL must be http://"),
        ("tcp://127.0.0.1:9000", "must be http://"),
        ("http://127.0.0.1:1/a/b", "must be http://"),
        ("http://127.0.0.1:1?x=1", "must be http://"),
    ):
        done = subprocess.run(
            [env.program("clickhouse-driver"), "SELECT 1"],
            env={**os.environ, "PIPE_CLICKHOUSE_URL": url},
            stdout=subprocess.PIPE,
        )
        assert done.returncode == 1 and part in done.stdout.decode(), done.stdout
        assert b"SecretX" not in done.stdout


def test_credentials_that_break_lines(env):
    for name, value in (
        ("USER", "a:b"),
        ("USER", "a\r\nX: y"),
        ("PASSWORD", "a\nb"),
        ("TOKEN", "t\rx"),
    ):
        done = subprocess.run(
            [env.program("clickhouse-driver"), "SELECT 1"],
            env={**os.environ, **env.server.environment(), f"PIPE_CLICKHOUSE_{name}": value},
            stdout=subprocess.PIPE,
        )
        assert done.returncode == 1, done.stdout
        assert f"PIPE_CLICKHOUSE_{name} must not hold".encode() in done.stdout, done.stdout


def test_server_that_tells_secrets(env):
    """What it says of the request is shown without the credentials, also where the text is cut."""
    with env.start_server(user="writer", password="s3cret-word") as server:
        basic = base64.b64encode(b"writer:s3cret-word").decode()
        for before in ("", "x" * 470):
            text = f"{before} got {basic} of s3cret-word"
            server.fault(kind="exception", code=36, text=text, match="^SELECT 42")
            answer = drive(env, "SELECT 42", server=server)
            assert answer.code == 36 and "***" in answer.error, answer.error
            assert "s3cr" not in answer.error and basic[:6] not in answer.error, answer.error


def test_tls(env):
    """The server's certificate is checked against the file given."""
    import services

    certificates = env.scratch / "certificates"
    certificates.mkdir()
    services.make_certificates(certificates)
    server_pem = str(certificates / "server.pem")
    with env.start_server(tls=(server_pem, server_pem)) as server:
        trusted = {"PIPE_CLICKHOUSE_CA_FILE": str(certificates / "ca.pem")}
        assert drive(env, "SELECT 1", server=server, environment=trusted).outcome == "done"
        answer = drive(env, "SELECT 1", server=server)
        assert answer.outcome == "refused", answer.results


def test_too_old(env):
    """A server before 24.8 is refused, with its version."""
    old = "24.3.5.46\t10\t1700000000\told\t\n"
    env.server.fault(kind="answer", status=200, body=old, match="^SELECT version")
    answer = drive(env, "SELECT 1")
    assert answer.outcome == "fatal", answer.results
    assert "24.3.5.46" in answer.error and "24.8 or later" in answer.error


def test_older_server(env):
    """What 24.8 does not know is not said to it; a setting that went away asks again."""
    table(env)
    old = "24.8.5.46\t10\t1700000000\told\t\n"
    env.server.fault(kind="answer", status=200, body=old, match="^SELECT version")
    assert insert(env, "-t", "x").outcome == "done"
    settings = env.server.requests()[-1]["settings"]
    assert "deduplicate_insert" not in settings and settings["insert_deduplicate"] == "1"
    env.server.fault(kind="exception", code=115, match="^INSERT")
    answer = insert(env, "-t", "y")
    assert (answer.outcome, answer.lines) == ("retry", ["server unknown"]), answer.lines


def test_debian_server(env):
    """A real server far too old: it is named, by every command."""
    with service.OldServer(env.scratch / "old") as server:
        answer = drive(env, "SELECT 1", server=server)
        assert answer.outcome == "fatal", answer.results
        assert "ClickHouse 18.16" in answer.error and "24.8 or later" in answer.error
