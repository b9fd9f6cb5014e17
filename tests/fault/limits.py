"""Too few file descriptors, too little memory: every limit from small upwards until clean."""

import resource
import signal

from harness import BEGUN, ROOT, Ended, Failure, Skipped

LOADER = 127  # the system's loader could not load the program's libraries
CLEAN_IN_A_ROW = 3


def until_clean(limits, attempt):
    """Attempts under each limit until some in a row succeed; how many failed."""
    clean = failed = 0
    for limit in limits:
        if attempt(limit):
            clean += 1
        else:
            clean, failed = 0, failed + 1
        if clean == CLEAN_IN_A_ROW:
            break
    if clean < CLEAN_IN_A_ROW:
        raise Failure("no limit was enough")
    if failed == 0:
        raise Failure("no limit was too low: it was not tested")
    return failed


def is_end_of_libc(ended):
    """libc itself stops where C++ has no memory for what a thread must destroy at its end."""
    return ended.status == -signal.SIGABRT and "Fatal glibc error" in ended.err


def in_order(ended, statuses):
    """Whether it succeeded; otherwise it has said why, in a line (the loader in its own words)."""
    if ended.status == LOADER and "shared libraries" in ended.err:
        return False
    if is_end_of_libc(ended):
        return False
    ended.expect(0, *statuses)
    return ended.status == 0


def try_all(lab, kind, limits):
    """Every command under every limit."""

    def run(limit):
        cwd = lab.empty()
        good = in_order(lab.run(cwd, BEGUN // 2, limits=[(kind, limit)]), (1, 4))
        lab.begin(cwd)
        lab.expect_whole(cwd, f"limit {limit}")
        lab.done(cwd)
        return good

    def resume(limit):
        cwd = lab.copy()
        good = in_order(lab.run(cwd, limits=[(kind, limit)]), (1, 4))
        lab.expect_whole(cwd, f"limit {limit}, begun before")
        lab.done(cwd)
        return good

    def reconcile(limit):
        ended = lab.reconcile(lab.straight, limits=[(kind, limit)])
        good = ended.status == 0
        if good != ended.out.endswith("exact true\n"):
            raise Failure(f"limit {limit}: exit {ended.status}\n{ended.out[-500:]}{ended.err}")
        told = ended.status in (1, 4, LOADER) and ended.err.strip()
        if not good and not told and not is_end_of_libc(ended):
            raise Failure(f"limit {limit}: reconcile: exit {ended.status}\n{ended.err}")
        return good

    def other(command):
        def attempt(limit):
            cwd = lab.empty()
            ended = Ended(command, cwd, limits=[(kind, limit)])
            lab.done(cwd)
            return in_order(ended, (1, 4))

        return attempt

    traffic = [lab.click, "traffic", "--to", "data", "--count", 500, "--progress", "never"]
    compiler = [lab.build / "pipec", ROOT / "tests/reconcile/orders.pipe", "--out", "c"]
    for attempt in (run, resume, reconcile, other(traffic), other(compiler)):
        until_clean(limits, attempt)


def too_few_descriptors(lab):
    try_all(lab, resource.RLIMIT_NOFILE, range(3, 200))


def too_little_memory(lab):
    if lab.sanitized:
        raise Skipped("a sanitizer maps terabytes")
    try_all(lab, resource.RLIMIT_AS, range(4 << 20, 2 << 30, 20 << 20))


TESTS = [too_few_descriptors, too_little_memory]
