#!/bin/sh
# Installs the Debian packages of a list that are missing. Quick and silent when none is.
#   install-packages.sh [LIST]     a file beside this one (packages.txt)
set -eu
here=$(dirname "$0")
missing=
while read -r package; do
    status=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
    case $status in
    ii*) ;;
    *) missing="$missing $package" ;;
    esac
done <"$here/${1:-packages.txt}"
[ -n "$missing" ] || exit 0

as_root=
if [ "$(id -u)" -ne 0 ]; then
    command -v sudo >/dev/null || {
        echo "missing packages:$missing; become root or install sudo" >&2
        exit 1
    }
    as_root=sudo
fi
echo "installing:$missing" >&2
$as_root apt-get update -qq
# shellcheck disable=SC2086 # a list of words
$as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -y -qq --no-install-recommends $missing >/dev/null
