"""Checks the limits of a file, so that the time to read it is linear in its size.

`docs/format.md` lists all limits; the numbers are in `schema`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ..ops.graph.errors import ArchiveError
from ..ops.graph.graph import Constant, Graph
from ..ops.graph.traverse import written_out
from .container.schema import (
    DEEPEST_CALLS,
    LEAST_STATE,
    MAIN_GRAPH,
    MOST_ADDED,
    MOST_DIMENSIONS,
    MOST_ELEMENTS,
    MOST_ROWS,
    STATE_TIMES,
)
from .decoder import malformed


def check_rows(manifest: dict[str, Any]) -> None:
    """Refuses lists that are too long, and rows that share a member, so that no member is read twice.

    Raises:
        ArchiveError: there is such a list or member.
    """
    for field in ("kernels", "bodies", "constants", "examples", "example_tensors", "engines"):
        count = len(manifest.get(field, ()))
        if count > MOST_ROWS:
            raise malformed(f"$.{field}", count, f"{MOST_ROWS} rows at most")
    taken = {MAIN_GRAPH}
    for row in manifest["bodies"]:
        _take(row.get("graph") if isinstance(row, dict) else None, taken, "an op")
    for row, what in [(r, "a kernel") for r in manifest["kernels"]] + [(r, "an engine") for r in _engines(manifest)]:
        assets = row.get("assets") if isinstance(row, dict) else None
        for name in assets.values() if isinstance(assets, dict) else ():
            _take(name, taken, what)


def _engines(manifest: dict[str, Any]) -> list[Any]:
    return list(manifest.get("engines", ()))


def _take(name: Any, taken: set[str], what: str) -> None:
    if isinstance(name, str):
        if name in taken:
            raise ArchiveError("a member is used twice", where=what, got=repr(name)[:80])
        taken.add(name)


def check_expansion(graph: Graph) -> None:
    """Refuses graphs that become too large when the body of every op is inlined.

    Raises:
        ArchiveError: they do, or calls of ops are nested too deeply.
    """
    added, depth = written_out(graph)
    if added > MOST_ADDED or depth > DEEPEST_CALLS:
        raise ArchiveError(
            "the graph is too large when its ops are inlined", got=f"{added} nodes more, {depth} ops deep",
            expected=f"{MOST_ADDED} nodes more and {DEEPEST_CALLS} ops deep at most",
        )  # fmt: skip


def is_shape(shape: Sequence[Any]) -> bool:
    """Whether a list is a shape that torch accepts, also of an empty tensor."""
    if len(shape) > MOST_DIMENSIONS or not all(type(size) is int and 0 <= size <= MOST_ELEMENTS for size in shape):
        return False
    return bool(math.prod(size or 1 for size in shape) <= MOST_ELEMENTS)


def check_copies(tensors: Sequence[Any], stored: int, where: str) -> None:
    """Refuses tensors whose copies would take far more memory than the file has bytes.

    Args:
        tensors: the tensors that are copied; one that is named twice is copied twice.
        stored: bytes of the member that holds them.
        where: the name of the tensors in the message.

    Raises:
        ArchiveError: the copies take too much memory.
    """
    most = LEAST_STATE + STATE_TIMES * stored
    needed = sum(math.prod(tensor.shape) * tensor.element_size() for tensor in tensors)
    if needed > most:
        raise ArchiveError(
            "the file asks for too much memory", where=where, got=needed, expected=f"{most} bytes at most"
        )


def mutable(constants: Sequence[Constant]) -> list[Any]:
    """The tensors of the mutable constants, of which every pipeline has a copy."""
    return [constant.tensor for constant in constants if constant.mutable]
