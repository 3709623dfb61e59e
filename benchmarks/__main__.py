"""Runs every benchmark that this machine can: `python -m benchmarks [name ...] [arguments of the named one]`."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import benchmarks

_HELPERS = ("__main__", "interleaved", "architectures", "servers", "runtimes")


def main(arguments: list[str]) -> None:
    """Runs the named benchmarks, or all; what follows the first dash belongs to those that take arguments."""
    known = [m.name for m in pkgutil.iter_modules(benchmarks.__path__) if m.name not in _HELPERS]
    dash = next((i for i, word in enumerate(arguments) if word.startswith("-")), len(arguments))
    names, rest = arguments[:dash] or known, arguments[dash:]
    for name in names:
        if name not in known:
            sys.exit(f"no benchmark {name!r}; there are {', '.join(known)}")
    for name in names:
        print(f"== {name}")
        module = importlib.import_module(f"benchmarks.{name}")
        module.main(rest) if rest else module.main()


if __name__ == "__main__":
    main(sys.argv[1:])
