"""Flags by which the program of a case is compiled and linked in little time, and starts in half.

No case has brokers, a registry or a server, so nothing of the client libraries of these is needed:
a stand-in of each function ends the program. Everything else is linked as in any program.
"""

import os
import re
import shutil
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADERS = sorted(path for suffix in ("h", "def") for path in ROOT.glob(f"runtime/*.{suffix}"))
# Besides those of `pipec build`. No debug information: most of the time would be linking that.
WORDS = ["-O0", "-U_FORTIFY_SOURCE"]
BUILD_WORDS = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-fstack-protector-strong"]
BUILD_WORDS += ["-D_FORTIFY_SOURCE=2", "-fPIE"]
CLIENTS = ("curl_", "rd_kafka_", "MHD_")  # libcurl, librdkafka, libmicrohttpd
UNDEFINED = re.compile(rf"^ +U ((?:{'|'.join(CLIENTS)})\w+)$", re.M)


def home(build):
    """PIPEC_HOME, made beside the cases once for all processes: the headers, which are compiled
    once, and the archive without the lines for debuggers, which the linker would read through in a
    third of its time."""
    archive = build / "libpipe.a"
    newest = max(path.stat().st_mtime_ns for path in [archive, *HEADERS])
    path = build / "model-cases" / f"home-{newest}"
    if path.exists():
        return path
    unfinished = path.with_suffix(f".{os.getpid()}")
    (unfinished / "runtime").mkdir(parents=True)
    for header in HEADERS:
        (unfinished / "runtime" / header.name).symlink_to(header)
    # The compiler takes this for pipe.h if its flags are the same, else the header.
    compiled = ["-x", "c-header", "-o", unfinished / "runtime" / "pipe.h.gch"]
    command = ["cc", *BUILD_WORDS, *WORDS, *compiled, ROOT / "runtime" / "pipe.h"]
    subprocess.run(command, check=True)
    shutil.copy(build / "libpipe.flags", unfinished)
    command = ["objcopy", "--strip-debug", archive, unfinished / "libpipe.a"]
    subprocess.run(command, check=True)
    try:
        unfinished.rename(path)
    except OSError:  # another process was first
        shutil.rmtree(unfinished)
    return path


def stand_ins(build):
    """The object file, made beside the cases once for all processes."""
    archive, path = build / "libpipe.a", build / "model-cases" / "stand_ins.o"
    if path.exists() and path.stat().st_mtime >= archive.stat().st_mtime:
        return path
    path.parent.mkdir(exist_ok=True)
    listed = subprocess.run(["nm", archive], stdout=subprocess.PIPE, check=True, text=True)
    names = sorted(set(UNDEFINED.findall(listed.stdout)))
    text = "#include <stdlib.h>\n" + "".join(
        f"void {name}(void);\nvoid {name}(void) {{ abort(); }}\n" for name in names
    )
    unfinished = path.with_suffix(f".{os.getpid()}")
    command = ["cc", "-O1", "-fPIE", "-x", "c", "-c", "-o", unfinished, "-"]
    subprocess.run(command, input=text, check=True, text=True)
    unfinished.rename(path)
    return path


def flags(build, directory):
    """For CFLAGS, in the directory of a case."""
    words = [*WORDS, "-Wl,-s"]
    if shutil.which("ld.gold"):
        words.append("-fuse-ld=gold")  # links in half the time
    # From there, since CFLAGS has no way to say a path with a space, as that of the tree may be.
    return " ".join([*words, "-Wl,--as-needed", os.path.relpath(stand_ins(build), directory)])
