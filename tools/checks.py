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
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sysconfig.get_path("scripts"))

CHECKS: dict[str, list[str]] = {
    "lint": [str(BIN / "ruff"), "check", "."],
    "format": [str(BIN / "ruff"), "format", "--check", "."],
    "types": [str(BIN / "mypy"), "-p", "tracepack"],
    "layers": [str(BIN / "lint-imports"), "--no-logo"],
}
TESTS = [sys.executable, "-m", "pytest", "-q", "-m", "not campaign"]
MOST_WORKERS = 4  # each holds torch, and compilers beside it


def workers() -> list[str]:
    """Options that run the tests on all cores that this process may use, up to a few."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return ["-n", str(min(cores, MOST_WORKERS)), "--dist", "worksteal"] if cores > 1 else []


def run(name: str, command: list[str], *, kept: bool = False) -> tuple[bool, str]:
    """Runs one check; whether it passed, and what is to be said of it: its output too where that is kept."""
    start = time.perf_counter()
    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**os.environ, "MYPYPATH": "src"},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE if kept else None,
        stderr=subprocess.STDOUT if kept else None,
        text=True,
        check=False,
    )
    said = f"== {name}: {'FAILED' if done.returncode else 'ok'} in {time.perf_counter() - start:.0f} s\n"
    return done.returncode == 0, f"{title(name, command)}\n{done.stdout}{said}" if kept else said


def title(name: str, command: list[str]) -> str:
    """The line above the output of a check."""
    return f"== {name}: {' '.join([Path(command[0]).name, *command[1:]])}"


def main() -> int:
    """Runs the checks, those without tests beside the tests; 0 if all passed."""
    passed: dict[str, bool] = {}
    with ThreadPoolExecutor(1) as beside:
        others = {name: beside.submit(run, name, command, kept=True) for name, command in CHECKS.items()}
        tests = [*TESTS, *workers(), *sys.argv[1:]]
        print(title("tests", tests), flush=True)
        passed["tests"], said = run("tests", tests)
        print(said, flush=True)
    for name, other in others.items():
        passed[name], said = other.result()
        print(said, flush=True)
    failed = [name for name, good in passed.items() if not good]
    print(f"FAILED: {', '.join(failed)}" if failed else f"all of {', '.join(passed)} passed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
