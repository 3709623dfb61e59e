"""The environment in which generated C++ is built with g++'s sanitizers."""

from __future__ import annotations

import subprocess
from pathlib import Path

from tracepack.ops.kernels.toolchain import find_toolchain, has_toolchain


def sanitized() -> dict[str, str]:
    """Variables for a process whose kernels are built so; empty where g++ has no address sanitizer.

    The sanitizer's library is loaded before everything, and the C++ library with it, in which it finds how exceptions
    are thrown; without that torch's end the process.
    """
    if not has_toolchain() or find_toolchain().family != "gcc":
        return {}
    paths = []
    for name in ("libasan.so", "libstdc++.so"):
        found = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        paths.append(Path(found.stdout.strip()))
    if not all(path.is_absolute() and path.exists() for path in paths):
        return {}
    return {
        "TRACEPACK_SANITIZE": "address,undefined",
        "LD_PRELOAD": " ".join(map(str, paths)),
        "ASAN_OPTIONS": "detect_leaks=0",
    }
