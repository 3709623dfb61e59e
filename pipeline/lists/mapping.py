"""`map`: a function recorded once, and run for each item of a list of any length."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import torch

from ...ops.graph.errors import SignatureError
from ...ops.tracing_hook import current
from ..proxies.lists import TracedList
from ..recording.control_flow import require_functions
from ..recording.recorder import Recorder
from .loop import Loop


def map(function: Callable[[Any], Any], items: Any) -> list[Any]:
    """Calls a function for each item of a list, of any length, and returns the list of its results.

    In a trace the function is recorded once, on the first item of the example, and the loaded pipeline runs it for as
    many items as it is given. It may call ops. All items must take the same way through it.

    Args:
        function: takes one item; it writes to nothing from outside.
        items: a list that is an argument, of texts, tensors, numbers or records; what `.tolist()` or `.split()` gave;
            or a tensor, whose rows are the items.

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
        if isinstance(items, torch.Tensor) and items in recorder.values:
            items = rows_of(recorder, items)
        if type(items) is TracedList:
            found: list[Any] = each(recorder, function, items)
            return found
    return [function(item) for item in items]


def rows_of(recorder: Recorder, tensor: torch.Tensor) -> Any:
    """The rows of a tensor as a list of any length."""
    if not recorder.rank(tensor):
        recorder.refuse("map was given a tensor without dimensions", "Give it a list, or a tensor with rows.")
    found = recorder.scalar("rows", tensor)
    found.sized_by = lambda: recorder.scalar("size", tensor, 0)
    return found


def each(recorder: Recorder, function: Callable[[Any], Any], items: TracedList) -> Any:
    """The results of a function for the items of a list of any length."""
    loop = Loop(recorder, items)
    return loop.gathered([function(item) for item in loop])
