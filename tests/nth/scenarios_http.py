"""Commands that speak HTTP: with a schema registry, and with ClickHouse (the real engine)."""

import contextlib
import importlib.util
import json
import sys

from scenarios import CLICKSTREAM, ROOT, Program, Run, call

sys.path += [str(ROOT / "tests" / part) for part in ("clickhouse", "kafka", "registry")]

import service
from clicks import LONG_AGO, click, click_widened, schema, widened

TABLES = ("lumen.events", "lumen.windows", "lumen.sessions", "lumen.dlq")
FEW_CLICKS = ["--traffic", "--count", "120", "--rate", "1/s", "--seed", "5", "--progress", "never"]


def registry_stand_in():
    """A registry that a test puts schemas into: tests/registry/run.py."""
    spec = importlib.util.spec_from_file_location("registry_run", ROOT / "tests/registry/run.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Registry(), module.rows


class RegistryRun(Run):
    """Records whose schemas the registry knows, resolves, or has not."""

    uses_database = False  # "run clicks" has that
    speaks_http = True
    waits = True
    SCHEMAS = {1: schema(1), 2: schema(2), 3: widened()}

    def __init__(self, setting, pipe):
        words = ["--until-end", "--progress", "never", "--schema-wait", "0s"]
        super().__init__(setting, "run registry", pipe, words, self.inject)
        self.registry, self.rows = registry_stand_in()
        self.environment.update(self.registry.env)
        for number, text in self.SCHEMAS.items():
            self.registry.put(number, text)

    def inject(self, directory):
        values = [
            click(schema(1), 1, event_id="a"),
            click(schema(2), 2, event_id="b"),
            click_widened(3, event_id="c"),
            click(schema(2), 9, event_id="d"),
        ]
        (directory / "rows.jsonl").write_text("".join(self.rows(values, kafka_time=LONG_AGO)))
        words = ["inject", "--embedded", "run", "--source", "clicks", "rows.jsonl"]
        call([self.program, *words], directory)

    def observe(self, directory, result):
        dump = [self.program, "inspect", "run", "dump"]
        rows = {}
        for topic in ("events.valid", "events.dlq"):
            lines = call([*dump, topic], directory).splitlines()
            rows[topic] = sorted(json.dumps(json.loads(line)["value"]) for line in lines)
        return rows


class WithClickHouse:
    """The engine's tables are made anew for each run, so one runs at a time."""

    uses_database = False
    speaks_http = True
    most_points = 60  # a run takes seconds
    server = None

    def fresh(self, directory):
        super().fresh(directory)
        self.server.query("DROP DATABASE IF EXISTS lumen SYNC")
        self.begin()

    def begin(self):
        """What the server has when the command begins."""

    def tables_apply(self, directory):
        call([self.program, "tables", "apply"], directory, **self.environment)


class TableRun(WithClickHouse, Run):
    """Rows are in their tables once, whatever the client was told of an insert."""

    waits = True

    def __init__(self, setting, server, pipe):
        super().__init__(setting, "run into tables", pipe, FEW_CLICKS)
        self.server = server
        self.environment.update(server.environment())

    def begin(self):
        self.tables_apply(ROOT)

    def observe(self, directory, result):
        rows = {}
        for table in TABLES:
            found = self.server.rows(
                f"SELECT * EXCEPT (_pipe_partition, _pipe_offset) FROM {table}"
            )
            rows[table] = sorted(map(str, found))
        return rows


class TablesApply(WithClickHouse, Program):
    """A second call completes what a failed one began."""

    exits = (0, 1, 3, 4)

    def __init__(self, setting, server, pipe):
        super().__init__(setting, "tables apply", pipe, ["tables", "apply"])
        self.server = server
        self.environment.update(server.environment())

    def observe(self, directory, result):
        columns = "table, name, type, default_expression"
        query = f"SELECT {columns} FROM system.columns WHERE database = 'lumen' ORDER BY ALL"
        return {"columns": self.server.rows(query)}

    def after(self, directory, result, baseline):
        self.tables_apply(directory)
        same = self.observe(directory, result) == baseline
        return [] if same else ["a second call does not complete the tables"]


@contextlib.contextmanager
def http_scenarios(setting):
    """Yields them, and why some are missing (None: none is)."""
    yielded = [RegistryRun(setting, CLICKSTREAM)]
    with contextlib.ExitStack() as stack:
        try:
            service.python_of(setting.main_build, install=True)
        except service.Unavailable as error:
            yield yielded, str(error)
            return
        server = service.Server(setting.scratch / "clickhouse", setting.main_build)
        stack.enter_context(server)
        yielded += [
            TablesApply(setting, server, CLICKSTREAM),
            TableRun(setting, server, CLICKSTREAM),
        ]
        yield yielded, None
