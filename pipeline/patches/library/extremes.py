"""Stand-ins for `min` and `max`, where a recorded function calls them.

Of a tensor and a number Python gives the one or the other, by the data; a node of a graph gives a tensor always. It
stands for both where a function computes with it. The number behind it is recorded beside it, for `float` and texts; to
return it is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any, NoReturn

import numpy as np
import torch

from ....ops.graph.errors import RecordError
from ....ops.tracing_hook import current
from ...lists.walking.iterators import collected
from ...proxies.base import is_traced
from ...proxies.lists import TracedList
from ...proxies.scalars import TracedNumber
from ...proxies.trees import concrete
from ...proxies.values.known_values import VALUE_CLASSES
from ...recording.recorder import Recorder


def running() -> Recorder | None:
    """The recorder of the running function, also where it prints."""
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy else None


def _are_near(recorder: Recorder, items: Any) -> bool:
    """Whether all are numbers, or tensors of no dimensions and of one dtype that holds those numbers."""
    tensors = [item for item in items if isinstance(item, torch.Tensor)]
    if not tensors or len(items) < 2 or any(item not in recorder.values for item in tensors):
        return False
    with torch._C.DisableTorchFunction():
        kinds = {(item.dtype, item.dim()) for item in tensors}
    others = [item for item in items if not isinstance(item, torch.Tensor)]
    whole = kinds in ({(torch.float32, 0)}, {(torch.float64, 0)}) or (len(kinds) == 1 and not others)
    plain = all(issubclass(type(item), TracedNumber) or type(item) in (int, float) for item in others)
    return whole and plain and not any(map(recorder.rank, tensors))


def _nearest(recorder: Recorder, plain: Callable[..., Any], items: Any) -> Any:
    """The least or largest one as `min` and `max` choose it: the first of equal ones, and of a NaN the first."""
    found, taken = items[0], []
    for item in items[1:]:
        better = item < found if plain.__name__ == "min" else item > found
        taken.append(better)
        found = torch.where(better, item, found) if isinstance(better, torch.Tensor) else plain(found, item)
    if not all(isinstance(item, torch.Tensor) for item in items):
        value = recorder.values.of(found)
        recorder.values.chosen.add(value, plain.__name__, lambda: _number(recorder, items, taken))
    return found


def _number(recorder: Recorder, items: Any, taken: list[Any]) -> Any:
    """The least or largest one as a number, by which of them was taken."""
    found, *others = [recorder.scalar("float", item) for item in items]
    for item, better in zip(others, taken, strict=True):
        found = recorder.scalar("lookup", [found, item], recorder.scalar("bool", better))
    return found


def _decided(plain: Callable[..., Any], loop: Any, items: Any) -> Any:
    """The least or largest one in a loop over a list of any length, which takes a way for each."""
    found = items[0]
    for item in items[1:]:
        better = item < found if plain.__name__ == "min" else item > found
        found = item if (loop.decide(better) if is_traced(better) else better) else found
    return found


_DECIDED = "data decides which of them it is, and so the type of the result"


def _refuse_kinds(recorder: Recorder, name: str, items: Any) -> NoReturn:
    """Refuses numbers of several types."""
    kinds = {type(concrete(item)) for item in items}
    of_numpy = {f"numpy.{kind.__name__}" for kind in kinds if issubclass(kind, np.generic)}
    if not of_numpy:
        recorder.refuse(f"{name} of an int and a float: {_DECIDED}", f"Write numbers of one type: {name}(0.0, x).")
    found = " and ".join([*sorted(of_numpy), *sorted({kind.__name__ for kind in kinds} & {"int", "float", "bool"})])
    plain = "int" if all(issubclass(kind, np.integer | int) for kind in kinds) else "float"
    recorder.refuse(f"{name} of {found}: {_DECIDED}", f"Write numbers of one type: {name}({plain}(x), y).")


def extreme(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for `min` or `max` of numbers: with two types the type of the result could differ by run."""

    def extreme(*args: Any, **kwargs: Any) -> Any:
        recorder = running()
        if recorder is not None and len(args) == 1 and not kwargs:
            args = (collected(recorder, args[0]),) if isinstance(args[0], GeneratorType) else args
            if type(args[0]) is TracedList:
                return recorder.scalar(plain.__name__, args[0])
        items = args[0] if len(args) == 1 and type(args[0]) in (tuple, list, torch.Size) else args
        if recorder is not None and not kwargs and _are_near(recorder, items):
            return _nearest(recorder, plain, items)
        if recorder is None or kwargs or len(items) < 2 or not any(map(is_traced, items)):
            return plain(*args, **kwargs)
        if all(isinstance(item, VALUE_CLASSES) for item in items):
            return recorder.scalar(plain.__name__, *items)
        if not all(issubclass(type(i), TracedNumber | np.generic) or type(i) in (int, float) for i in items):
            return plain(*args, **kwargs)
        if len({type(concrete(i)) for i in items}) == 1:
            return recorder.scalar(plain.__name__, *items)
        loop = recorder.rounds.open[-1] if recorder.rounds.open else None
        if loop is not None and not loop.closed:
            return _decided(plain, loop, items)
        try:
            return plain(*items)
        except RecordError:
            name, recorder.refused = plain.__name__, None  # the reason below says more
            _refuse_kinds(recorder, name, items)

    return extreme
