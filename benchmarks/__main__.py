"""Runs every benchmark that this machine can: `python -m benchmarks [name ...]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

_HELPERS = ("__main__", "interleaved")


def main() -> None:
    """Runs the named benchmarks, or all."""
    known = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in _HELPERS]
    for name in sys.argv[1:] or known:
        if name not in known:
            sys.exit(f"no benchmark {name!r}; there are {', '.join(known)}")
        print(f"== {name}")
        importlib.import_module(f"benchmarks.{name}").main()


if __name__ == "__main__":
    main()
