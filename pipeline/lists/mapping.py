"""`map`: a function recorded once, and run for each item of a list of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ...ops.graph.errors import SignatureError
from ...ops.tracing_hook import current
from ..proxies.arrays import TracedArray
from ..proxies.lists import TracedList
from ..recording.control_flow import require_functions
from ..recording.recorder import Recorder
from .loop import Loop
from .walking.iterators import ListIterator
from .walking.silent_bars import SilentBar


def map(function: Callable[[Any], Any], items: Any) -> list[Any]:
    """Calls a function for each item of a list, of any length, and returns the list of its results.

    In a trace the function is recorded once, on the first item of the example, and the loaded pipeline runs it for as
    many items as it is given. It may call ops. All items must take the same way through it.

    Args:
        function: takes one item; it writes to nothing from outside.
        items: a list that is an argument, of texts, tensors, numbers or records; what `.tolist()` or `.split()` gave;
            or a tensor or an array, whose rows are the items.

    Returns:
        The results in a list.

    Raises:
        SignatureError: the first argument is no function, or the second one no list.
        RecordError: in a trace, where the example is empty, or the function draws random numbers or changes a tensor
            from outside.

    Example:
        >>> import torch, tracepack
        >>> def process(texts):
        ...     return tracepack.map(lambda text: text.strip().lower(), texts)
        >>> mod = tracepack.trace(process, [" One", "Two "])
        >>> mod.run({"texts": ["A", " B", "c "]})
        ['a', 'b', 'c']
    """
    recorder = current()
    require_functions("map", function)
    if not isinstance(items, Iterable):
        raise SignatureError("map takes a list of items", got=type(items).__name__, expected="a list or a tensor")
    if isinstance(recorder, Recorder):
        if type(items) is TracedArray or (isinstance(items, torch.Tensor) and items in recorder.values):
            items = rows_of(recorder, items)
        if type(items) is TracedList:
            found: list[Any] = each(recorder, function, items)
            return found
    return [function(item) for item in items]


def rows_of(recorder: Recorder, rows: Any) -> Any:
    """The rows of a tensor or an array as a list of any length."""
    array = type(rows) is TracedArray
    if not (rows.ndim if array else recorder.rank(rows)):
        recorder.refuse("map was given a tensor without dimensions", "Give it a list, or a tensor with rows.")
    found = recorder.scalar("rows", rows)
    found.sized_by = lambda: recorder.scalar("array_size" if array else "size", rows, 0)
    return found


def as_rows(recorder: Recorder | None, items: Any) -> Any:
    """The rows of a tensor or an array of the recording as a list of any length; anything else as it is."""
    if recorder is None:
        return items
    if type(items) is SilentBar:
        return as_rows(recorder, items.iterable)
    if type(items) is ListIterator:
        return items.taken()
    if type(items) is TracedArray:
        return rows_of(recorder, items) if items.ndim else items
    own = isinstance(items, torch.Tensor) and items in recorder.values
    return rows_of(recorder, items) if own and recorder.rank(items) else items


def each(recorder: Recorder, function: Callable[[Any], Any], items: TracedList) -> Any:
    """The results of a function for the items of a list of any length."""
    loop = Loop(recorder, items)
    return loop.gathered([function(item) for item in loop])
