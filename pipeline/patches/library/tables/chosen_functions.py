"""Tables of functions, such as ``STEPS = {"lower": lower, "strip": str.strip}``, asked for one by a traced key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
import torch

from .....ops.graph.operators.names import TEXT_METHODS
from .....ops.runtime.user_code import asking_frame, attribute
from ....proxies.values.call_only import CallOnly
from ....recording.control_flow import cond
from ....recording.recorder import Recorder
from ...python.loops.constants import Key, goes_both_ways, running_sides, went_both_ways
from ...redirect import stand_in_of

MOST_FUNCTIONS = 32


def as_recorded(function: Any) -> Callable[..., Any]:
    """The function, or what stands for a builtin or a method of str."""
    if type(function) is ChosenFunction:
        return function
    if attribute(function, "__objclass__") is str and attribute(function, "__name__", "") in TEXT_METHODS:
        return lambda text, *args: getattr(text, function.__name__)(*args)
    return stand_in_of(function)  # type: ignore[no-any-return]  # the user's own


class ChosenFunction(CallOnly):
    """Stands for a function of a table: each call goes all ways, and the file runs the one of the key.

    Args:
        recorder: of the function that asks the table.
        functions: those of the table.
        place: the number of the one that the key has.
        asked: where the code asks the table.
    """

    def __init__(self, recorder: Recorder, functions: Sequence[Any], place: Any, asked: Key) -> None:
        super().__init__(recorder)
        self._functions, self._place, self._asked = functions, place, asked

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """As for the function that the key has."""
        with running_sides(self._asked), self._tracer.refusing():  # the function may handle errors of its own
            return self._called(0, args, kwargs)

    def _called(self, number: int, args: Any, kwargs: Any) -> Any:
        """What the functions from a number on give."""
        own = partial(as_recorded(self._functions[number]), *args, **kwargs)
        if number + 1 == len(self._functions):
            return own()
        return cond(self._place == number, own, lambda: self._called(number + 1, args, kwargs))


def _is_plain(thing: Any) -> bool:
    """Whether a thing can be called, and Python takes it for true as it does any function."""
    return callable(thing) and not {"__bool__", "__len__"} & set(dir(type(thing)))


def chosen_function(recorder: Recorder, table: Any, key: Any, *default: Any) -> ChosenFunction | None:
    """What stands for the function under a key; None for a table of other things, or where that was tried in vain.

    Args:
        recorder: of the running function.
        table: a dict, a list or a tuple.
        key: of the recording.
        *default: for a key that the table lacks.
    """
    if type(table) not in (dict, list, tuple):
        return None
    functions = [*(table.values() if type(table) is dict else table), *default]
    frame = asking_frame()
    if frame is None or not 1 < len(functions) <= MOST_FUNCTIONS or not all(map(_is_plain, functions)):
        return None
    asked = (frame.f_code.co_filename, frame.f_code.co_firstlineno, frame.f_code.co_name, frame.f_lasti)
    if not goes_both_ways(asked):
        return None
    went_both_ways()  # they run where it is called
    places = dict(zip(table, range(len(table)), strict=True)) if type(table) is dict else list(range(len(table)))
    place = recorder.scalar("lookup", places, key, *([len(table)] if default else []))
    return ChosenFunction(recorder, functions, place, asked)


def chosen_tensor(recorder: Recorder, table: Any, key: Any, *default: Any) -> Any:
    """The tensor or the array of a table that a key of the recording asks for: the file takes that of the key.

    It is None for a table of other things, and where the entries were found to have several types or ranks.
    """
    entries = [*(table.values() if type(table) is dict else table), *default] if type(table) in _TABLES else []
    kinds = {np.ndarray if isinstance(entry, np.ndarray) else type(entry) for entry in entries}
    if len(kinds) != 1 or not kinds <= {torch.Tensor, torch.nn.Parameter, np.ndarray}:
        return None
    given = [partial(_itself, entry) for entry in entries]
    functions = dict(zip(table, given, strict=False)) if type(table) is dict else given[: len(table)]
    found = chosen_function(recorder, functions, key, *given[len(table) :])
    return None if found is None else found()


_TABLES = (dict, list, tuple)


def _itself(entry: Any) -> Any:
    return entry
