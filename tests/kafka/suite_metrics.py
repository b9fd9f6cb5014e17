"""/metrics of processes that share a group, on one broker."""

import importlib.util
import re
import signal
import urllib.request

import services
from pipeline import SOURCE, Pipeline, build_programs, wait_until

CLUSTER = {"nodes": 1, "proxied": True}
NEEDS = (build_programs,)


def _metrics_tests():
    spec = importlib.util.spec_from_file_location(
        "metrics_run", services.ROOT / "tests/metrics/run.py"
    )
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


Page = _metrics_tests().Page


def addresses(path):
    """Of all processes that have written to this log, one after the other."""
    said = path.read_text() if path.exists() else ""
    return re.findall(r"listening address=(http://\S+)/metrics\n", said)


def address(child):
    return addresses(child.log)[-1]


def ask(child, path="/metrics"):
    with urllib.request.urlopen(address(child) + path, timeout=60) as answer:
        return answer.read().decode()


def scrape(child):
    return Page(ask(child))


def total(pages, name, **labels):
    return sum(page.get(name, **labels) for page in pages)


def start(run, name):
    before = len(addresses(run.env.scratch / f"{name}.log"))
    child = run.start(name)
    wait_until(lambda: len(addresses(child.log)) > before or not child.alive(), f"{name} listens")
    assert child.alive(), child.tail()
    return child


def test_two_processes_count_every_record_once(env):
    """By default both listen, the second at another port; their sum is the pipeline's."""
    with Pipeline(env) as run:
        children = [start(run, "one"), start(run, "two")]
        assert address(children[0]) != address(children[1])

        def shared():
            pages = [scrape(child) for child in children]
            return all(page.get("pipec_assigned_partitions") > 0 for page in pages)

        wait_until(shared, "both have partitions")
        run.feed(run.input)
        read = {"stream": "events", "way": "read"}

        def done():
            pages = [scrape(child) for child in children]
            return (
                total(pages, "pipec_records_total", **read) >= len(run.input)
                and total(pages, "pipec_source_lag_records") == 0
            )

        wait_until(done, "all is read")
        pages = [scrape(child) for child in children]
        assert total(pages, "pipec_records_total", **read) == len(run.input)
        latencies = total(pages, "pipec_event_to_commit_seconds_count", source="events")
        assert latencies == len(run.input), latencies
        assert total(pages, "pipec_source_lag_seconds") == 0
        for child, page in zip(children, pages):
            assert ask(child, "/readyz") == "ready\n"
            assert page.get("pipec_ready") == 1
            assert page.get("pipec_transactions_total", outcome="committed") > 0
            assert page.get("pipec_log_written_bytes_total") > 0
        for child in children:
            child.send(signal.SIGTERM)
            run.ends(child, 0)


def test_a_restart_counts_what_it_replays(env):
    """Killed, it begins at 0, and what it reads again is no new record."""
    with Pipeline(env) as run:
        half = len(run.input) // 2
        run.feed(run.input[:half])
        child = start(run, "one")
        run.wait_committed(half, since=0)
        child.kill()
        child = start(run, "one")
        run.feed(run.input[half:])
        page = None

        def done():
            nonlocal page
            page = scrape(child)
            ready = page.get("pipec_ready") == 1
            return ready and page.get("pipec_records_total", stream="events", way="read") > 0

        wait_until(done, "it reads on")
        wait_until(lambda: scrape(child).get("pipec_source_lag_records") == 0, "all is read")
        page = scrape(child)
        assert (
            page.get("pipec_records_total", stream="events", way="read") == len(run.input) - half
        ), page.text
        again = page.get("pipec_replayed_records_total")
        assert again + page.get("pipec_restored_entries_total") > 0, SOURCE
        child.send(signal.SIGTERM)
        run.ends(child, 0)
