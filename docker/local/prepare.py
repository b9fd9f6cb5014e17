#!/usr/bin/env python3
"""Makes the images that docker/local/compose.yaml builds the stand-ins from, without pulling any.

    prepare.py DIR          DIR: where what was fetched is kept

The base image is debootstrapped and imported under the name that docker/Dockerfile begins with;
Kafka and the registry come from Maven, pinned by tests/kafka/*.xml, the ClickHouse engine from
PyPI, pinned by tests/clickhouse/requirements.txt. What is there already is kept. Needs root, a
Docker daemon, debootstrap and the network.
"""

import hashlib
import re
import shutil
import subprocess
import sys
from pathlib import Path

sys.dont_write_bytecode = True

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.append(str(ROOT / "tests" / "kafka"))

import java

SUITE, PYTHON = "trixie", "313"  # of Debian 13
JAVA_IMAGE, FILES_IMAGE = "pipec-local/java", "pipec-local/files"


def run(*command, **options):
    subprocess.run([str(part) for part in command], check=True, **options)


def have_image(name):
    command = ["docker", "image", "inspect", name]
    return subprocess.run(command, capture_output=True).returncode == 0


def label_of(image):
    """Its label `digest`, or nothing."""
    shown = ["docker", "image", "inspect", "--format", "{{.Config.Labels.digest}}", image]
    return subprocess.run(shown, capture_output=True, text=True).stdout.strip()


def base_image():
    """The name after ARG DEBIAN."""
    text = (ROOT / "docker" / "Dockerfile").read_text()
    return re.search(r"^ARG DEBIAN=(\S+)", text, re.M).group(1)


def make_base(cache):
    """Bootstraps Debian and imports it as the base image."""
    name = base_image()
    if have_image(name):
        return
    tree, archive = cache / SUITE, cache / f"{SUITE}.tar"
    if not archive.exists():
        shutil.rmtree(tree, ignore_errors=True)
        run("debootstrap", "--variant=minbase", SUITE, tree)
        shutil.rmtree(tree / "var/cache/apt/archives")
        run("tar", "-C", tree, "-cf", f"{archive}.partial", ".")
        shutil.rmtree(tree)
        Path(f"{archive}.partial").rename(archive)
    run("docker", "import", "--change", 'CMD ["bash"]', archive, name)


def linked(source, target):
    """A copy that shares the files' blocks."""
    run("cp", "-al", source, target)


def digest_of(*files):
    """Changes with what the imported files come from."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


def make_files(cache):
    """Imports the jars, the engine and its front, which the stand-ins' build files copy from: far
    quicker than by way of a build context."""
    front = ROOT / "tests" / "clickhouse"
    poms = [java.HERE / "pom.xml", java.HERE / "registry.xml"]
    digest = digest_of(*poms, front / "requirements.txt", *sorted(front.glob("*.py")))
    if label_of(FILES_IMAGE) == digest:
        return
    home = java.find_java(17)
    tree = cache / "files"
    shutil.rmtree(tree, ignore_errors=True)
    tree.mkdir()
    linked(java.broker_jars(cache / "kafka", home), tree / "kafka")
    linked(java.registry_home(cache / "kafka", home), tree / "registry")
    linked(python_modules(cache, front / "requirements.txt"), tree / "engine")
    shutil.copytree(front, tree / "front", ignore=shutil.ignore_patterns("__pycache__"))
    archive = cache / "files.tar"
    run("tar", "-C", tree, "--owner=0", "--group=0", "-cf", archive, ".")
    run("docker", "import", "--change", f"LABEL digest={digest}", archive, FILES_IMAGE)
    archive.unlink()
    shutil.rmtree(tree)


def python_modules(cache, requirements):
    """Directory with the modules that the front needs, for the base image's Python."""
    target, marker = cache / "site", cache / "site" / "installed"
    if marker.exists() and marker.read_bytes() == requirements.read_bytes():
        return target
    shutil.rmtree(target, ignore_errors=True)
    pip = [sys.executable, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
    pip += ["--no-deps", "--only-binary=:all:", "--python-version", PYTHON]
    run(*pip, "--target", target, "-r", requirements)
    shutil.copyfile(requirements, marker)
    return target


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    cache = Path(sys.argv[1]).resolve()
    cache.mkdir(parents=True, exist_ok=True)
    make_base(cache)
    make_files(cache)
    run("docker", "build", "-q", "-t", JAVA_IMAGE, HERE / "java")


if __name__ == "__main__":
    try:
        main()
    except (java.Unavailable, subprocess.CalledProcessError) as problem:
        sys.exit(f"prepare.py: {problem}")
