"""A newer librdkafka than Debian's, for what that one cannot do: out of the Python package that
brings it along, fetched once and kept below the build directory."""

import subprocess
import sys
import zipfile
from pathlib import Path

import java

PACKAGE = "confluent-kafka==2.16.1"


def directory(build):
    """Where its librdkafka.so.1 is, for LD_LIBRARY_PATH. Raises java.Unavailable."""
    where = Path(build) / "kafka-cache" / PACKAGE.replace("==", "-")
    library = where / "librdkafka.so.1"
    if library.exists():
        return where
    where.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
    command += ["--only-binary", ":all:", "--dest", str(where), PACKAGE]
    got = subprocess.run(command, capture_output=True, text=True, timeout=java.FETCH_TIMEOUT_S)
    wheels = sorted(where.glob("*.whl"))
    if got.returncode != 0 or not wheels:
        said = (got.stderr.strip().splitlines() or ["nothing was fetched"])[-1]
        raise java.Unavailable(f"{PACKAGE} cannot be had by pip: {said}")
    with zipfile.ZipFile(wheels[0]) as wheel:
        name = next(name for name in wheel.namelist() if "/librdkafka-" in name)
        new = where / "librdkafka.new"
        new.write_bytes(wheel.read(name))
    new.rename(library)
    return where
