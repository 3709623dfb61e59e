#!/usr/bin/env bash
# Makes a virtual environment, with the first Python that is new enough: $PYTHON, python3, or a numbered one.
# Usage: tools/make_venv.sh FOLDER
set -euo pipefail
folder=$1

if [[ -x $folder/bin/python ]] && "$folder/bin/python" -m pip --version >/dev/null 2>&1; then
    exit 0
fi

usable() { "$1" -c 'import sys; sys.exit(not (3, 10) <= sys.version_info[:2] < (3, 14))' >/dev/null 2>&1; }

found=""
for candidate in ${PYTHON:-python3 python3.11 python3.12 python3.13 python3.10}; do
    if usable "$candidate"; then
        found=$candidate
        break
    fi
done
if [[ -z $found ]]; then
    echo "tracepack needs Python 3.10 to 3.13; none was found. Install one, or name it: make PYTHON=/path/to/python3" >&2
    exit 1
fi
echo "making $folder with $("$found" --version)"
rm -rf "$folder"

# Some distributions ship python3 without ensurepip; virtualenv brings its own pip. It is fetched into a folder of its
# own, so that nothing is installed for the user.
if ! "$found" -m venv "$folder" >/dev/null 2>&1; then
    rm -rf "$folder"
    helper=$(mktemp -d)
    trap 'rm -rf "$helper"' EXIT
    "$found" -m pip install --quiet --target "$helper" virtualenv >/dev/null 2>&1 || true
    if ! PYTHONPATH=$helper "$found" -m virtualenv --quiet "$folder"; then
        echo "$found can make no virtual environment. Install its venv module (on Debian and Ubuntu:" \
            "apt install python3-venv), then run make again." >&2
        exit 1
    fi
fi
