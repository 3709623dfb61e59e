"""What a kernel gives to be stored: kernels of other packages may give what no archive can hold. No torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ..ops.graph.errors import ArchiveError
from ..ops.graph.kernel import Kernel
from .container.schema import DEEPEST

_PLAIN = (
    f"None, booleans, integers of 64 bits, floats, str, bytes, and lists and dicts of them, {DEEPEST} levels at most"
)
_LONGEST = 200  # characters of a place


def check_description(kernel: Kernel) -> dict[str, Any]:
    """The description of a kernel.

    Raises:
        ArchiveError: it is no dict of plain values; the message names the place.
    """
    found: Any = kernel.description()
    if type(found) is not dict:
        raise _refused(kernel, "description", found, "a dict")
    _examine(found, "description", 0, lambda where, value: _refused(kernel, where, value, _PLAIN))
    return found


def check_assets(kernel: Kernel) -> dict[str, bytes]:
    """The assets of a kernel.

    Raises:
        ArchiveError: they are no dict of names and bytes; the message names the one.
    """
    found: Any = kernel.assets()
    if type(found) is not dict:
        raise _refused(kernel, "assets", found, "a dict")
    for name, data in found.items():
        if type(name) is not str:
            raise _refused(kernel, "name of an asset", name, "str")
        if type(data) is not bytes:
            raise _refused(kernel, f"asset {name!r:.80}", data, "bytes")
    return found


def _examine(value: Any, where: str, depth: int, refused: Callable[[str, Any], ArchiveError]) -> None:
    kind = type(value)
    if kind is dict and depth < DEEPEST:
        for key, item in value.items():
            if type(key) not in (str, int) or not _is_stored(key):
                raise refused(f"key of {where}", key)
            _examine(item, f"{where}[{key!r:.80}]", depth + 1, refused)
    elif kind in (list, tuple) and depth < DEEPEST:
        for index, item in enumerate(value):
            _examine(item, f"{where}[{index}]", depth + 1, refused)
    elif not _is_stored(value):
        raise refused(where, value)


def _is_stored(value: Any) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**64
    if type(value) is str:
        return not any("\ud800" <= character <= "\udfff" for character in value)
    return value is None or type(value) in (bool, float, bytes)


def _refused(kernel: Kernel, where: str, value: Any, expected: str) -> ArchiveError:
    place = where if len(where) <= _LONGEST else f"{where[:_LONGEST]}..."
    return ArchiveError(
        "an archive cannot hold this",
        where=f"kernel {kernel.name!r} of kind {kernel.kind!r}, {place}",
        got=f"{value!r:.60} ({type(value).__module__}.{type(value).__qualname__})",
        expected=expected,
    )
