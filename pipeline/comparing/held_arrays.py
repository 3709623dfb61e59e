"""The arrays of numpy that a traced function reads, which are constants of the file: whether they were written since.

A recording sees what is computed of its inputs. What numpy computes of an array that the function holds, it does not
see, so that such an array is what it was when the function was traced; a tensor is what it is at each run.
"""

from __future__ import annotations

import warnings
import zlib
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from weakref import ref

import numpy as np

from ...ops.graph.graph import Graph
from ...ops.graph.traverse import constants
from ...ops.runtime.user_code import user_stacklevel
from ..recheck.reach.objects import Objects
from .array_reads import reads_items

Made = TypeVar("Made")
_MOST_BYTES = 1 << 28  # that are looked at in all: a checksum takes a tenth of a second


class HeldArrays:
    """The arrays that a function can reach, as they were when it was traced.

    Args:
        process: the function.
        graph: its recording; an array that shares the memory of one of its constants is no constant, unless code reads
            its items as numbers, too.
    """

    def __init__(self, process: Callable[..., Any], graph: Graph) -> None:
        shared = {constant.tensor.untyped_storage().data_ptr() for constant in constants(graph) if _is_dense(constant)}
        self._held: list[tuple[str, ref[Any], int]] = []
        left, objects = _MOST_BYTES, Objects(process)
        codes = [function.__code__ for function in objects.functions]
        for name, array in objects.arrays():
            left -= array.nbytes
            is_live = shared.intersection(_memory(array)) and not reads_items(codes, _names_of(array, objects))
            if left >= 0 and not is_live:
                self._held.append((name, ref(array), _checksum(array)))

    def warn(self) -> None:
        """Warns of those that were written to since."""
        for name, held, before in self._held:
            array = held()
            if array is not None and _checksum(array) != before:
                warnings.warn(
                    f"the array of numpy {name} was written to after the trace; the pipeline and its file have what it "
                    "held then. Trace again, or hold it as a tensor, which is read anew",
                    stacklevel=user_stacklevel(),
                )


def holding(pipeline: Made, process: Callable[..., Any]) -> Made:
    """A pipeline that knows the arrays of the function that it was traced from."""
    known: Any = pipeline
    known._held = HeldArrays(process, known.graph)
    return pipeline


def _is_dense(constant: Any) -> bool:
    return constant.tensor.device.type == "cpu" and str(constant.tensor.layout) == "torch.strided"


def _names_of(array: Any, objects: Objects) -> set[str]:
    return {name for name, things in objects.named().items() if any(thing is array for thing in things)}


def _memory(array: Any) -> Iterator[int]:
    """The addresses of an array and of those that it is a view of."""
    while isinstance(array, np.ndarray):
        yield array.ctypes.data
        array = array.base


def _checksum(array: np.ndarray[Any, Any]) -> int:
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data) if array.size else 0
