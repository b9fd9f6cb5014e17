"""Files of RocksDB, of the log and of the state, that are cut, changed or gone."""

import os
import shutil

from harness import Failure

BIG = ("MANIFEST-", ".log", ".sst")  # the others hold no rows


def flipped(part):
    def damage(path):
        size = path.stat().st_size
        at = min(int(size * part), size - 1)
        with open(path, "r+b") as file:
            file.seek(at)
            byte = file.read(1)[0]
            file.seek(at)
            file.write(bytes([byte ^ 0x10]))

    return damage


def cut(part):
    return lambda path: os.truncate(path, int(path.stat().st_size * part))


def cut_byte(path):
    os.truncate(path, path.stat().st_size - 1)


def longer(path):
    with open(path, "ab") as file:
        file.write(bytes(range(64)))


def gone(path):
    path.unlink()


SMALL_DAMAGES = {"first byte": flipped(0), "emptied": cut(0), "gone": gone}
DAMAGES = {
    **SMALL_DAMAGES,
    "quarter": flipped(0.25),
    "middle": flipped(0.5),
    "last byte": flipped(1),
    "cut in half": cut(0.5),
    "cut by a byte": cut_byte,
    "longer": longer,
}


def manifest_ends(path):
    """Where records of a MANIFEST end: cut there, it is well-formed and says less."""
    data, at, ends = path.read_bytes(), 0, []
    while at + 7 <= len(data):
        at += 7 + int.from_bytes(data[at + 4 : at + 6], "little")
        ends.append(at)
    return ends[:-1]


def damages_of(path):
    """[(name, function)] for a file."""
    found = list((DAMAGES if any(kind in path.name for kind in BIG) else SMALL_DAMAGES).items())
    if path.stat().st_size == 0:
        return [(name, damage) for name, damage in found if name in ("gone", "longer")]
    if path.name.startswith("MANIFEST-"):
        for end in manifest_ends(path):
            found.append((f"cut at {end}", lambda path, end=end: os.truncate(path, end)))
    return found


def each_damage(lab, part):
    """Directories with one damage each, and what it is."""
    for path in sorted((lab.base / "run" / part).iterdir()):
        for name, damage in damages_of(path):
            cwd = lab.copy()
            damage(cwd / "run" / part / path.name)
            yield cwd, f"{part}/{path.name}: {name}"
            lab.done(cwd)


def is_told(lab, cwd, what, *words):
    """Whether a run stops at the damage; then with one line that has these words."""
    ended = lab.run(cwd)
    if ended.status not in (0, 1, 3) or "Sanitizer" in ended.err:
        raise Failure(f"{what}: exit {ended.status}\n{ended.err}")
    if ended.status == 0:
        return False
    try:
        ended.one_line(*words)
    except Failure as failure:
        raise Failure(f"{what}: {failure}") from None
    return True


def damaged_state_is_told_or_made_again(lab):
    told = 0
    for cwd, what in each_damage(lab, "state"):
        if is_told(lab, cwd, what, "state", "delete"):
            told += 1
            shutil.rmtree(cwd / "run/state")
        lab.expect_whole(cwd, what)
    if told == 0:
        raise Failure("no damage was found")


def damaged_log_is_told(lab):
    """At opening, or at the latest by who reads it: never is a wrong row taken for right."""
    told = 0
    for cwd, what in each_damage(lab, "log"):
        if is_told(lab, cwd, what, "log"):
            told += 1
            continue
        verdict = lab.reconcile(cwd)
        if verdict.status == 0 and verdict.out.endswith("exact true\n"):
            lab.expect_rows(cwd, what)
        elif verdict.status != 1 or not any(
            word in verdict.out + verdict.err for word in ("damaged", "Corruption", "IO error")
        ):
            raise Failure(f"{what}: {verdict.out[-3000:]}{verdict.err}")
        else:
            told += 1
    if told == 0:
        raise Failure("no damage was found")


TESTS = [damaged_state_is_told_or_made_again, damaged_log_is_told]
