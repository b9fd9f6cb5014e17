#!/usr/bin/env python3
"""/metrics, /healthz and /readyz of a running program; the alerts and dashboards made for them.

    run.py [--build DIR] [--only PART]

Without promtool (Debian: prometheus) its checks are skipped.
"""

import argparse
import contextlib
import http.client
import json
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
DEADLINE_S = 120  # how long to wait for what must come
SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(,|$)')


class Failure(Exception):
    pass


class Skipped(Exception):
    pass


def expect(truth, message):
    if not truth:
        raise Failure(message)


# ---- The program ----


class Running:
    """A run with --listen that is stopped by SIGTERM."""

    def __init__(self, cwd, *options, listen="127.0.0.1:0"):
        self.messages = cwd / "messages"
        with self.messages.open("w") as to:
            self.process = subprocess.Popen(
                [str(PROGRAM), "run", "--embedded", "run", "--listen", listen, *options],
                cwd=cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=to,
            )
        self.host, self.port = self.wait(self.address)

    def address(self):
        found = re.search(r"listening address=http://(\S+):(\d+)/metrics\n", self.said())
        return found and (found[1].strip("[]"), int(found[2]))

    def said(self):
        return self.messages.read_text(errors="replace")

    def wait(self, condition):
        """The first true value of the condition."""
        until = time.monotonic() + DEADLINE_S
        while time.monotonic() < until:
            value = condition()
            if value:
                return value
            if self.process.poll() is not None:
                raise Failure(f"ended with {self.process.returncode}: {self.said()}")
            time.sleep(0.05)
        raise Failure(f"what was waited for does not come: {self.said()[-2000:]}")

    def ask(self, path="/metrics", method="GET", body=None):
        connection = http.client.HTTPConnection(self.host, self.port, timeout=DEADLINE_S)
        try:
            connection.request(method, path, body=body)
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read().decode()
        finally:
            connection.close()

    def scrape(self):
        status, _, text = self.ask()
        expect(status == 200, f"/metrics: {status}")
        return Page(text)

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(DEADLINE_S)
        expect(code == 0, f"exit {code}: {self.said()}")


@contextlib.contextmanager
def running(cwd, *options, **more):
    program = Running(cwd, *options, **more)
    try:
        yield program
        program.stop()
    finally:
        program.process.kill()
        program.process.wait()


# ---- The text format ----


class Page:
    """One scrape, strictly parsed: types by family; values by (name, labels)."""

    def __init__(self, text):
        self.text, self.types, self.values, self.labels = text, {}, {}, {}
        family, helped = None, set()
        expect(text.endswith("\n"), "the last line has no end")
        for line in text.splitlines():
            if line.startswith("# HELP "):
                family = line.split(" ", 3)[2]
                expect(family not in helped, f"{family} comes twice")
                helped.add(family)
            elif line.startswith("# TYPE "):
                _, _, name, kind = line.split(" ")
                expect(name == family, f"TYPE of {name} behind HELP of {family}")
                self.types[name] = kind
            else:
                self.sample(line, family)
        expect(helped == set(self.types), "a family has HELP or TYPE only")
        self.check_histograms()

    def sample(self, line, family):
        match = SAMPLE.fullmatch(line)
        expect(match, f"malformed: {line}")
        name, text, value = match.groups()
        labels, at = {}, 0
        while at < len(text or ""):
            label = LABEL.match(text, at)
            expect(label, f"malformed labels: {line}")
            expect(label[1] not in labels, f"a label comes twice: {line}")
            labels[label[1]] = label[2]
            at = label.end()
        suffixes = ("_bucket", "_sum", "_count") if self.types[family] == "histogram" else ("",)
        expect(name in [family + suffix for suffix in suffixes], f"{name} among {family}")
        key = (name, tuple(sorted(labels.items())))
        expect(key not in self.values, f"a sample comes twice: {line}")
        self.values[key] = float(value)
        self.labels.setdefault(family, set()).update(labels)

    def check_histograms(self):
        for family in (name for name, kind in self.types.items() if kind == "histogram"):
            last = {}
            for (name, labels), value in self.values.items():
                if name != family + "_bucket":
                    continue
                rest = tuple(pair for pair in labels if pair[0] != "le")
                bound = float(dict(labels)["le"])
                below, so_far = last.get(rest, (-1, 0))
                expect(bound > below and value >= so_far, f"{family}: buckets do not grow")
                last[rest] = (bound, value)
            for rest, (bound, value) in last.items():
                expect(bound == float("inf"), f"{family} has no bucket +Inf")
                expect(value == self.values[family + "_count", rest], f"{family}: count")

    def get(self, name, **labels):
        """The sum of all samples with these labels."""
        wanted = set(labels.items())
        return sum(v for (n, l), v in self.values.items() if n == name and wanted <= set(l))


# ---- Rows ----

CATEGORIES = ["lamps", "rugs", "chairs"]


def write_rows(path, first, count):
    """Clicks that are now, twice, late, wrong; their broker time is now too."""
    now = int(time.time() * 1000)
    with path.open("w") as file:
        for i in range(first, first + count):
            row = {
                "event_id": f"e{i - 1 if i % 20 == 7 else i}",
                "session_id": f"s{i // 20 % 40}",
                "event_type": "purchase" if i % 50 == 3 else "page_view",
                "category": CATEGORIES[i % 3],
                "country": "DEU" if i % 100 == 9 else "DE",
                "occurred_at": now + i - (600_000 if i % 30 == 11 else 0),
            }
            file.write(json.dumps({"key": row["session_id"], "value": row}) + "\n")


def inject(cwd, first, count):
    name = f"rows-{first}.jsonl"
    write_rows(cwd / name, first, count)
    subprocess.run(
        [str(PROGRAM), "inject", "--embedded", "run", name],
        cwd=cwd,
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )


def inspect(cwd):
    """What `inspect state` counts: columns by stream, and the equations' sums."""
    text = subprocess.run(
        [str(PROGRAM), "inspect", "run", "state"], cwd=cwd, capture_output=True, text=True
    ).stdout
    tables, equations = text.partition("\n  conservation\n")[::2]
    lines = tables.split("committed counters:\n")[1].strip().splitlines()
    columns = lines[0].split()
    streams = {}
    for line in lines[1:]:
        words = line.replace(",", "").split()
        if len(words) == len(columns) and words[1].isdigit():
            streams[words[0]] = dict(zip(columns[1:], map(int, words[1:])))
    return streams, equations


def counted(page, stream):
    """The same columns from /metrics."""

    def way(*names):
        return int(sum(page.get("pipec_records_total", stream=stream, way=n) for n in names))

    rejected = ("source_rejected", "rejected", "select_rejected", "too_old", "window_rejected")
    return {
        "in": way("read", "in"),
        "dropped": way("tombstones", "dropped", "unnest_empty"),
        "diverted": way("diverted"),
        "rejected": way(*rejected),
        "elements": way("elements"),
        "duplicates": way("duplicate"),
        "late": way("late"),
        "open": int(page.get("pipec_window_open_pairs", stream=stream)),
        "in-flight": max(way("shipped") - way("received"), 0),
        "out": way("out"),
    }


def check_equal(page, cwd, before=None):
    """Every column of every stream, less what was there before; `open` is no counter."""
    streams, _ = inspect(cwd)
    expect(len(streams) == 7, f"inspect prints {len(streams)} streams")
    for stream, columns in streams.items():
        told = counted(page, stream)
        for column, value in columns.items():
            wanted = value - (0 if before is None or column == "open" else before[stream][column])
            expect(
                told[column] == wanted,
                f"{stream}: {column} is {told[column]} in /metrics, {wanted} in inspect",
            )
    return streams


def caught_up(program, records):
    """The page once so many records are read and all that follows from them is committed."""

    def settled():
        page = program.scrape()
        way = "pipec_records_total"
        return (
            page.get(way, stream="clicks", way="read") == records
            and page.get("pipec_source_lag_records") == 0
            and page.get(way, way="shipped") == page.get(way, way="received")
            and page
        )

    return program.wait(settled)


# ---- Tests: figures ----


def test_counters_are_those_of_inspect(cwd):
    """In a first run, and in a second one, which counts from 0 again."""
    inject(cwd, 0, 3000)
    with running(cwd) as program:
        page = caught_up(program, 3000)
        for stream, column in (
            ("clean", "duplicates"),
            ("by_category", "late"),
            ("valid", "rejected"),
        ):
            expect(counted(page, stream)[column] > 0, f"the test has no {column} in {stream}")
        reasons = [dict(l)["reason"] for (n, l) in page.values if n.startswith("pipec_rejected_")]
        expect({"country_not_iso2", "purchase_without_price"} <= set(reasons), str(reasons))
        latency = page.get("pipec_event_to_commit_seconds_count", source="clicks")
        expect(latency == 3000, f"{latency} latencies of 3000 records")
        expect(page.get("pipec_bytes_total", stream="clicks", way="read") > 3000 * 20, "bytes")
        expect(page.get("pipec_assigned_partitions", stage="clicks") == 6, "assigned")
        expect(page.get("pipec_source_lag_seconds") == 0, "a lag at the end")
        rows = page.get("pipec_sink_rows_total", sink="clean_olap")
        expect(rows == counted(page, "clean")["out"], "rows of a sink")
        expect(0 <= page.get("pipec_sink_fresh_rows_total") <= rows, "fresh rows")
        commits = page.get("pipec_transactions_total", outcome="committed")
        expect(commits == page.get("pipec_commit_duration_seconds_count") > 0, "commits")
    before = check_equal(page, cwd)
    inject(cwd, 3000, 500)
    with running(cwd) as program:
        page = caught_up(program, 500)
    check_equal(page, cwd, before)


def test_counters_only_grow(cwd):
    """While traffic comes in, from scrape to scrape; at the end inspect has at least as much."""
    with running(cwd, "--traffic", "--rate", "20000/s", "--commit-interval", "20ms") as program:
        pages = [program.wait(lambda: program.ask("/readyz")[0] == 200 and program.scrape())]
        while len(pages) < 8 or pages[-1].get("pipec_records_total", way="read") < 5000:
            pages.append(program.scrape())
            expect(len(pages) < 100_000, "nothing is read")
    for one, other in zip(pages, pages[1:]):
        for key, value in one.values.items():
            if key[0].endswith(("_total", "_bucket", "_count", "_sum")):
                expect(other.values[key] >= value, f"{key} went from {value} back")
    streams, equations = inspect(cwd)
    expect("NOT EQUAL" not in equations, equations)
    expect(counted(pages[-1], "clicks")["in"] <= streams["clicks"]["in"], "more than was read")


def test_documentation_lists_what_is_exported(cwd):
    text = (ROOT / "docs/operations.md").read_text()
    rows = re.findall(r"^\| `([a-z_]+)` \| (\w+) \|[^|]+\|([^|]*)\|", text, re.M)
    documented = {
        name: (kind, set(labels.replace(",", " ").split())) for name, kind, labels in rows
    }
    inject(cwd, 0, 1000)
    with running(cwd) as program:
        page = caught_up(program, 1000)
    expect(len(documented) == len(rows), "a name is documented twice")
    expect(set(documented) == set(page.types), str(set(documented) ^ set(page.types)))
    for name, (kind, labels) in documented.items():
        expect(page.types[name] == kind, f"{name} is a {page.types[name]}, documented as {kind}")
        pipeline = {"pipeline"} if name.startswith("pipec_") else set()
        found = page.labels.get(name)
        expect(found == labels | pipeline, f"{name}: labels {found}, documented {labels}")


# ---- Tests: what is made for Prometheus and Grafana ----

USE = re.compile(r"\b((?:pipec|process)_[a-z_]+)(\{[^}]*\})?")


def expressions():
    """(file, expression) of all generated alerts and dashboards."""
    for path in sorted(ROOT.glob("generated/*/dashboard.json")):
        for panel in json.loads(path.read_text())["panels"]:
            for target in panel["targets"]:
                yield path, target["expr"]
    for path in sorted(ROOT.glob("generated/*/alerts.rules.yml")):
        text = path.read_text()
        for expression in re.findall(r"expr: \|-\n((?: {10}.*\n)+)", text):
            yield path, expression


def test_alerts_and_dashboards_use_what_is_exported(cwd):
    inject(cwd, 0, 1000)
    with running(cwd) as program:
        page = caught_up(program, 1000)
    labels = {family: found for family, found in page.labels.items()}
    uses = 0
    for path, expression in expressions():
        for name, selector in USE.findall(expression):
            family = re.sub(r"_(bucket|sum|count)$", "", name)
            family = family if page.types.get(family) == "histogram" else name
            expect(family in page.types, f"{path}: no metric {name}")
            for label in re.findall(r"([a-z_]+)\s*(?:=~|!=|=)", selector):
                expect(label in labels[family], f"{path}: {name} has no label {label}")
            uses += 1
        for grouped in re.findall(r"by \(([^)]*)\)", expression):
            for label in grouped.replace(",", " ").split():
                known = set().union(*(labels[f] for f in labels if f in expression))
                expect(label in known, f"{path}: grouped by {label}: {expression}")
    expect(uses >= 30, f"{uses} uses of metrics found")


def promtool(*arguments, **options):
    if shutil.which("promtool") is None:
        raise Skipped("promtool is not there (Debian: prometheus)")
    done = subprocess.run(
        ["promtool", *arguments], capture_output=True, text=True, timeout=DEADLINE_S, **options
    )
    expect(done.returncode == 0, done.stdout + done.stderr)


def test_promtool_accepts_rules(cwd):
    rules = sorted(ROOT.glob("generated/*/alerts.rules.yml"))
    expect(rules, "no rules are generated")
    for path in rules:
        promtool("check", "rules", path)


def test_promtool_accepts_dashboards(cwd):
    """Their expressions, as rules that record them."""
    rules = [
        {"record": f"panel_{i}", "expr": expression}
        for i, (path, expression) in enumerate(expressions())
    ]
    path = cwd / "panels.yml"  # JSON is YAML
    path.write_text(json.dumps({"groups": [{"name": "panels", "rules": rules}]}))
    promtool("check", "rules", path)


def test_promtool_accepts_metrics(cwd):
    inject(cwd, 0, 1000)
    with running(cwd) as program:
        page = caught_up(program, 1000)
    promtool("check", "metrics", input=page.text)


# ---- Tests: HTTP ----


def test_pages_and_methods(cwd):
    with running(cwd) as program:
        program.wait(lambda: program.ask("/readyz")[0] == 200)
        expect(program.ask("/healthz")[::2] == (200, "ok\n"), "/healthz")
        expect(program.ask("/readyz")[2] == "ready\n", "/readyz")
        for path in ("/metrics", "/healthz", "/readyz", "/", "/other", "/metrics/", "/../x"):
            status, headers, body = program.ask(path)
            known = path in ("/metrics", "/healthz", "/readyz")
            expect(status == (200 if known else 404), f"{path}: {status}")
            expect(headers["X-Content-Type-Options"] == "nosniff", path)
            expect(headers["Cache-Control"] == "no-store", path)
            expect("default-src 'none'" in headers["Content-Security-Policy"], path)
            head_status, head, nothing = program.ask(path, "HEAD")
            expect((head_status, nothing) == (status, ""), f"HEAD {path}")
            expect(head["Content-Type"] == headers["Content-Type"], f"HEAD {path}")
            expect(int(head["Content-Length"]) > 0, f"HEAD {path}")
        expect(program.ask()[1]["Content-Type"].startswith("text/plain; version=0.0.4"), "type")
        for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE", "NONSENSE"):
            body = b"x" * 100_000 if method in ("POST", "PUT") else None
            try:
                status, headers, _ = program.ask(method=method, body=body)
            except (ConnectionError, BrokenPipeError):
                continue  # it does not read such a body to its end
            expect((status, headers["Allow"]) == (405, "GET, HEAD"), f"{method}: {status}")


def send(program, data):
    """What comes back for raw bytes, up to the end of the connection."""
    with socket.create_connection((program.host, program.port), timeout=DEADLINE_S) as raw:
        answer = b""
        with contextlib.suppress(OSError):  # it may be closed at any time
            raw.sendall(data)
            raw.shutdown(socket.SHUT_WR)
            while part := raw.recv(65536):
                answer += part
        return answer


GARBAGE = [
    b"\x00\xff\xfe garbage \r\n\r\n",
    b"GET\r\n\r\n",
    b"GET /metrics HTTP/9.9\r\n\r\n",
    b"GET /metrics\r\n",
    b"GET " + b"/a" * 50_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\n" + b"X: y\r\n" * 20_000 + b"\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n",
    b"GET /metrics HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(200),
]


def test_garbage_is_refused(cwd):
    with running(cwd) as program:
        program.wait(lambda: program.ask("/readyz")[0] == 200)
        for data in GARBAGE:
            answer = send(program, data)
            expect(len(answer) < 200_000, f"{data[:40]}: {len(answer)} bytes back")
            expect(b"panic" not in answer, str(answer[:200]))
        expect(program.ask("/healthz")[0] == 200, "not well after garbage")


def test_many_connections(cwd):
    """More than there may be, all silent: the pipeline goes on, and later so do the pages."""
    with running(cwd, "--traffic", "--rate", "2000/s") as program:
        page = program.wait(lambda: program.ask("/readyz")[0] == 200 and program.scrape())
        held = []
        for _ in range(200):
            held.append(socket.create_connection((program.host, program.port), timeout=DEADLINE_S))
        descriptors = len(list(Path(f"/proc/{program.process.pid}/fd").iterdir()))
        expect(
            descriptors < page.get("process_open_fds") + 60,
            f"{descriptors} descriptors with 200 connections held",
        )
        records = page.get("pipec_records_total", way="read")
        program.wait(lambda: inspect(cwd)[0]["clicks"]["in"] > records + 1000)
        for connection in held:
            connection.close()

        def answers():
            with contextlib.suppress(OSError, http.client.HTTPException):
                return program.ask("/healthz")[0] == 200
            return False

        program.wait(answers)


# ---- Tests: the address ----


def run_once(cwd, *options):
    return subprocess.run(
        [str(PROGRAM), "run", *options],
        cwd=cwd,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
    )


def test_port_in_use(cwd):
    """It is told before anything is read or made."""
    with running(cwd) as program:
        where = f"127.0.0.1:{program.port}"
        done = run_once(cwd, "--embedded", "other", "--listen", where)
    wanted = f"clickstream: --listen {where}: {where} is in use by another program; give another"
    expect(done.returncode == 1 and wanted in done.stderr, done.stderr)
    expect(not (cwd / "other").exists(), "a directory was made")


def test_addresses(cwd):
    for address in ("9464", "localhost:9464", "127.0.0.1:99999", ""):
        done = run_once(cwd, "--embedded", "run", "--listen", address)
        expect(done.returncode == 2, f"{address}: exit {done.returncode}")
        expect("expected ADDRESS:PORT, for example 127.0.0.1:9464" in done.stderr, done.stderr)
    for options in ((), ("--listen", "none")):
        done = run_once(
            cwd, "--embedded", "run", "--traffic", "--count", "10", "--until-end", *options
        )
        expect(done.returncode == 0 and "listening" not in done.stderr, done.stderr)
    with running(cwd, listen="0.0.0.0:0") as program:
        expect("metrics are open to whoever reaches this address" in program.said(), "no warning")
    done = run_once(cwd, "--embedded", "run", "--listen", "203.0.113.7:9464")
    expect(done.returncode == 1 and "can't be listened at" in done.stderr, done.stderr)


def test_ipv6(cwd):
    try:
        with socket.socket(socket.AF_INET6) as probe:
            probe.bind(("::1", 0))
    except OSError as error:
        raise Skipped(f"no IPv6 on loopback: {error}") from error
    with running(cwd, listen="[::1]:0") as program:
        expect(program.ask("/healthz")[0] == 200, "/healthz")


def main():
    global PROGRAM
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build")
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    PROGRAM = options.build.resolve() / "clickstream"
    passed = failed = skipped = 0
    for name, test in [(n, t) for n, t in globals().items() if n.startswith("test_")]:
        if options.only not in name:
            continue
        scratch = Path(tempfile.mkdtemp(prefix="metrics-"))
        try:
            test(scratch)
            passed += 1
        except Skipped as reason:
            print(f"{name} skipped: {reason}", flush=True)
            skipped += 1
        except Exception as error:
            failed += 1
            print(f"{name} failed: {error}", flush=True)
            if not isinstance(error, Failure):
                traceback.print_exc(file=sys.stdout)
        shutil.rmtree(scratch, ignore_errors=True)
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
