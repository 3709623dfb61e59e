#!/usr/bin/env bash
# Runs every test and benchmark that needs a CUDA card, on a machine with one, and writes docs/gpu.md from what they say.
# The page is written also where tests fail: it then says which, and the script ends with 1.
#
# Usage: tools/gpu_check.sh [arguments of `python -m benchmarks gpu`]
# JOBS=N      how many processes run the tests; 4 by default
# PYTHON=...  an interpreter with torch for CUDA and the extras; by default the environment of `make`, made if need be
#             (make takes TORCH_PIP="--index-url ..." to choose torch's build)
set -euo pipefail
cd "$(dirname "$0")/.."

python=${PYTHON:-.venv/bin/python}
if [[ -z ${PYTHON:-} && ! -x $python ]]; then
    make .venv/.stamps/dev
fi
export PYTHONPATH="src${PYTHONPATH:+:$PYTHONPATH}"
if ! "$python" -c 'import sys, torch; sys.exit(not torch.cuda.is_available())'; then
    echo "gpu_check: torch finds no CUDA card here, so there is nothing to check" >&2
    exit 1
fi

found=$(mktemp -d)
trap 'rm -rf "$found"' EXIT
tests=0
"$python" -m pytest -q -m "gpu or card" -p no:benchmark -n "${JOBS:-4}" --junitxml="$found/tests.xml" || tests=$?
if [[ ! -s $found/tests.xml ]]; then
    echo "gpu_check: pytest ended with $tests and told nothing; docs/gpu.md is unchanged" >&2
    exit 1
fi
"$python" -m benchmarks gpu --results "$found/gpu.json" "$@"
cp "$found/gpu.json" benchmarks/results/gpu.json
"$python" tools/make_gpu_page.py "$found/tests.xml" "$found/gpu.json"
[[ $tests == 0 ]]
