"""The public API is what `public_api.txt` says: a change to it shows in a review.

To accept a change: `python -m tests.project.test_public_api > tests/public_api.txt`.
"""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tracepack

GOLDEN = Path(__file__).parents[1] / "public_api.txt"


def describe() -> Iterator[str]:
    """A line for every public name, and for every public member of a public class."""
    for name in tracepack.__all__:
        thing = getattr(tracepack, name)
        if inspect.isclass(thing):
            bases = ", ".join(base.__name__ for base in thing.__bases__)
            yield f"class {name}({bases})"
            if not issubclass(thing, tracepack.TracepackError) or thing is tracepack.TracepackError:
                yield from members(thing)
        elif callable(thing):
            yield f"{name}{inspect.signature(thing)}"
        else:
            yield name


def members(kind: Any) -> Iterator[str]:
    yield f"    __init__{inspect.signature(kind.__init__)}"
    ours = [base for base in reversed(kind.__mro__) if base.__module__.startswith("tracepack.")]
    for name, member in sorted({name: member for base in ours for name, member in vars(base).items()}.items()):
        if name.startswith("_") and name != "__call__":
            continue
        if inspect.isfunction(member):
            yield f"    {name}{inspect.signature(member)}"
        elif isinstance(member, property):
            # Numbers and tensors both fit.
            yield f"    {name}: {inspect.signature(member.fget).return_annotation}"  # type: ignore[arg-type]
        elif isinstance(member, staticmethod):
            yield f"    static {name}{inspect.signature(member.__func__)}"
        else:
            yield f"    {name}"


def test_the_api_is_the_golden_one() -> None:
    assert "\n".join(describe()) + "\n" == GOLDEN.read_text(encoding="utf-8"), "if meant so, see the head of this file"


def test_every_public_name_has_a_docstring() -> None:
    bare = [name for name in tracepack.__all__ if not name.startswith("_") and not getattr(tracepack, name).__doc__]
    assert bare == []


def test_importing_the_package_imports_no_torch() -> None:
    code = "import sys, tracepack, tracepack.ops.graph.errors; dir(tracepack); sys.exit('torch' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_unknown_name() -> None:
    with pytest.raises(AttributeError, match=r"^module 'tracepack' has no attribute 'nothing'$"):
        # Asking for the name is what is tested.
        tracepack.nothing  # noqa: B018


if __name__ == "__main__":
    print("\n".join(describe()))
