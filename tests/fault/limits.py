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


def in_order(ended, advice):
    """Whether it succeeded; otherwise it has said why, and what to do, in a line (the loader in its
    own words)."""
    if ended.status == LOADER and "shared libraries" in ended.err:
        return False
    if is_end_of_libc(ended):
        return False
    ended.expect(0, 1)
    if ended.status != 0:
        ended.one_line(advice)
    return ended.status == 0


def try_all(lab, kind, limits, advice):
    """Every command under every limit."""

    def run(limit):
        cwd = lab.empty()
        good = in_order(lab.run(cwd, BEGUN // 2, limits=[(kind, limit)]), advice)
        lab.begin(cwd)
        lab.expect_whole(cwd, f"limit {limit}")
        lab.done(cwd)
        return good

    def resume(limit):
        cwd = lab.copy()
        good = in_order(lab.run(cwd, limits=[(kind, limit)]), advice)
        lab.expect_whole(cwd, f"limit {limit}, begun before")
        lab.done(cwd)
        return good

    def reconcile(limit):
        ended = lab.reconcile(lab.straight, limits=[(kind, limit)])
        good = ended.status == 0
        if good != ended.out.endswith("exact true\n"):
            raise Failure(f"limit {limit}: exit {ended.status}\n{ended.out[-500:]}{ended.err}")
        told = ended.status in (1, LOADER) and ended.err.strip()
        if not good and not told and not is_end_of_libc(ended):
            raise Failure(f"limit {limit}: reconcile: exit {ended.status}\n{ended.err}")
        return good

    def other(command):
        def attempt(limit):
            cwd = lab.empty()
            ended = Ended(command, cwd, limits=[(kind, limit)])
            lab.done(cwd)
            return in_order(ended, advice)

        return attempt

    traffic = [lab.click, "traffic", "--to", "data", "--count", 500, "--progress", "never"]
    compiler = [lab.build / "pipec", ROOT / "tests/reconcile/orders.pipe", "--out", "c"]
    for attempt in (run, resume, reconcile, other(traffic), other(compiler)):
        until_clean(limits, attempt)


def too_few_descriptors(lab):
    try_all(lab, resource.RLIMIT_NOFILE, range(3, 200), "ulimit -n")


def too_little_memory(lab):
    if lab.sanitized:
        raise Skipped("a sanitizer maps terabytes")
    try_all(lab, resource.RLIMIT_AS, range(4 << 20, 2 << 30, 20 << 20), "ulimit -v")


def too_small_a_stack(lab):
    """Told, where the libraries' own beginnings would need more; less is raised if it may be."""
    program = ROOT / "tests/reconcile/orders.pipe"
    for size in (64 << 10, 320 << 10, (1 << 20) - 1):
        limit = [(resource.RLIMIT_STACK, size)]
        for command in ([lab.click, "--version"], [lab.build / "pipec", "check", program]):
            Ended(command, lab.scratch, limits=limit).expect(1).one_line("ulimit -s")
    limit = [(resource.RLIMIT_STACK, 1 << 20)]
    cwd = lab.copy()
    lab.run(cwd, limits=limit).expect(0)
    lab.reconcile(cwd, limits=limit).expect(0)
    lab.done(cwd)
    Ended([lab.build / "pipec", "check", program], lab.scratch, limits=limit).expect(0)
    soft = ["bash", "-c", 'ulimit -Ss 64; exec "$0" --version', lab.click]
    if not Ended(soft, lab.scratch).expect(0).out.startswith("clickstream, plan"):
        raise Failure("a limit that may be raised was not raised")


TESTS = [too_few_descriptors, too_little_memory, too_small_a_stack]
