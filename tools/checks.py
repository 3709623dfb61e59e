"""Runs every check of the project, all of them even if one fails, and says at the end which failed.

What is marked `campaign` takes minutes a test and is left to `make share`.

`make test` calls it with the interpreter of the environment; arguments are passed on to pytest.
"""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sysconfig.get_path("scripts"))

CHECKS: dict[str, list[str]] = {
    "lint": [str(BIN / "ruff"), "check", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "types": [str(BIN / "mypy"), "-p", "tracepack"],
    "layers": [str(BIN / "lint-imports"), "--no-logo"],
    "tests": [sys.executable, "-m", "pytest", "-q", "-m", "not campaign"],
}
MOST_WORKERS = 4  # each holds torch, and compilers beside it


def workers() -> list[str]:
    """Options that run the tests on all cores that this process may use, up to a few."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["-n", str(min(cores, MOST_WORKERS)), "--dist", "worksteal"] if cores > 1 else []


def main() -> int:
    """Runs the checks; 0 if all passed."""
    environment = {**os.environ, "MYPYPATH": "src"}
    failed: list[str] = []
    for name, command in CHECKS.items():
        print(f"== {name}: {' '.join([Path(command[0]).name, *command[1:]])}", flush=True)
        start = time.perf_counter()
        extra = [*workers(), *sys.argv[1:]] if name == "tests" else []
        code = subprocess.run(
            [*command, *extra], cwd=ROOT, env=environment, stdin=subprocess.DEVNULL, check=False
        ).returncode
        if code:
            failed.append(name)
        print(f"== {name}: {'FAILED' if code else 'ok'} in {time.perf_counter() - start:.0f} s\n", flush=True)
    print(f"FAILED: {', '.join(failed)}" if failed else f"all of {', '.join(CHECKS)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
