#!/bin/sh
# Makes the Python environment of server.py, with the engine (chdb, some 600 MB unpacked), unless it
# is there.
#   install.sh [DIR]      default build/clickhouse/venv
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${1:-$here/../../build/clickhouse/venv}
mkdir -p "$(dirname "$venv")"
exec 9>"$venv.lock" # two suites may begin at once
flock 9
if cmp -s "$here/requirements.txt" "$venv/installed"; then
    exit 0
fi
rm -rf "$venv"
python3 -m venv "$venv"
# Without what chdb needs only for data frames.
"$venv/bin/pip" install -q --no-deps --disable-pip-version-check -r "$here/requirements.txt"
"$venv/bin/python" -c 'import chdb, lz4.frame, zstandard'
cp "$here/requirements.txt" "$venv/installed"
