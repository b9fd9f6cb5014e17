"""Java and the Maven artifacts that the Kafka tests run: found, fetched once, cached.

Artifacts are pinned by pom.xml and registry.xml beside this file and kept in CACHE/NAME-HASH, HASH
being that of the pom: a changed version is fetched anew, an unchanged one needs no network. What
cannot be had raises Unavailable, whose text says what to install: the reason of a skipped test.
"""

import contextlib
import fcntl
import glob
import hashlib
import os
import re
import shutil
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
FETCH_TIMEOUT_S = 600


class Unavailable(Exception):
    """A service cannot be started on this machine; the text says why and what to do."""


def _version(java):
    """Major version of a java program, 0 if it does not run."""
    release = Path(java).resolve().parent.parent / "release"
    if release.exists():
        found = re.search(r'^JAVA_VERSION="(?:1\.)?(\d+)', release.read_text(), re.M)
        if found:
            return int(found.group(1))
    with contextlib.suppress(OSError, subprocess.SubprocessError):
        text = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60).stderr
        found = re.search(r'version "(?:1\.)?(\d+)', text)
        if found:
            return int(found.group(1))
    return 0


def find_java(least):
    """Path of the oldest java that is at least of major version `least`."""
    candidates = glob.glob("/usr/lib/jvm/*/bin/java")
    if os.environ.get("JAVA_HOME"):
        candidates.append(os.path.join(os.environ["JAVA_HOME"], "bin", "java"))
    if shutil.which("java"):
        candidates.append(shutil.which("java"))
    fit = sorted((_version(java), java) for java in set(candidates) if os.access(java, os.X_OK))
    for version, java in fit:
        if version >= least:
            return java
    seen = ", ".join(sorted({str(version) for version, _ in fit})) or "none"
    raise Unavailable(
        f"needs Java {least} or newer, found: {seen}; install docker/packages-kafka.txt"
        + (f" or openjdk-{least}-jre-headless" if least > 17 else "")
    )


def fetched(name, pom, goal, cache, java):
    """Directory with what `goal` of Maven's dependency plugin makes of a pom; made if missing."""
    digest = hashlib.sha256((HERE / pom).read_bytes()).hexdigest()[:12]
    cache = Path(cache)
    target = cache / f"{name}-{digest}"
    if target.exists():
        return target
    maven = shutil.which("mvn")
    if not maven:
        raise Unavailable(
            f"{name} is not cached and mvn is missing; install docker/packages-kafka.txt"
        )
    cache.mkdir(parents=True, exist_ok=True)
    with open(cache / f"{name}.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if target.exists():
            return target
        partial = cache / f"{name}-{digest}.partial"
        shutil.rmtree(partial, ignore_errors=True)
        command = [maven, "-q", "-B", "-f", str(HERE / pom), f"dependency:{goal}"]
        command += ["-DincludeScope=runtime", f"-DoutputDirectory={partial}"]
        command += [f"-DmarkersDirectory={partial}/.markers"]
        home = str(Path(java).resolve().parent.parent)
        try:
            done = subprocess.run(
                command,
                capture_output=True,
                text=True,
                timeout=FETCH_TIMEOUT_S,
                env=dict(os.environ, JAVA_HOME=home),
            )
        except subprocess.TimeoutExpired:
            raise Unavailable(f"Maven did not fetch {pom} within {FETCH_TIMEOUT_S} s") from None
        if done.returncode != 0 or not partial.exists():
            lines = [line for line in (done.stdout + done.stderr).splitlines() if "ERROR" in line]
            raise Unavailable(f"Maven cannot fetch {pom}: {' '.join(lines[:1])[:300]}")
        partial.rename(target)
    return target


def broker_jars(cache, java):
    return fetched("broker", "pom.xml", "copy-dependencies", cache, java)


def registry_home(cache, java):
    """Directory that holds the registry's quarkus-run.jar."""
    top = fetched("registry", "registry.xml", "unpack-dependencies", cache, java)
    if not (top / "quarkus-run.jar").exists():
        raise Unavailable(f"{top} holds no quarkus-run.jar; remove it to fetch it again")
    return top
