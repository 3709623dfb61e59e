"""Tables of functions, such as ``STEPS = {"lower": lower, "strip": str.strip}``, asked for one by a traced key."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial, update_wrapper
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

import numpy as np
import torch

from .....ops.graph.operators.names import TEXT_METHODS
from .....ops.op import InferenceOp
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
    if _is_of_text(function):
        return lambda text, *args: getattr(text, function.__name__)(*args)
    return stand_in_of(function)  # type: ignore[no-any-return]  # the user's own


def _is_of_text(function: Any) -> bool:
    """Whether it is a method of str, such as `str.lower`."""
    return attribute(function, "__objclass__") is str and attribute(function, "__name__", "") in TEXT_METHODS


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
    plain = not {"__bool__", "__len__"} & set(dir(type(thing)))
    return callable(thing) and (plain or (type(thing) is torch.nn.Sequential and len(thing) > 0))


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


class ChosenSides:
    """The sides of a choice between functions or models: for each that they give, a number leaves the choice.

    Args:
        sides: what the choice calls, one of them.
    """

    def __init__(self, *sides: Callable[[], Any]) -> None:
        self._sides = sides
        self._given: list[dict[int, dict[int, Any]]] = [{} for _ in sides]

    def numbered(self) -> Iterator[Callable[[], Any]]:
        """The sides, with numbers for functions."""
        for side, function in enumerate(self._sides):
            yield _noted(function, partial(self._numbered, side))

    def _numbered(self, side: int, found: Any) -> Any:
        """What a side gives, with numbers for functions, which are noted."""
        parts, given = [*found] if type(found) is tuple else [found], dict[int, dict[int, Any]]()
        first = side * MOST_FUNCTIONS
        for place, part in enumerate(parts):
            if type(part) is ChosenFunction:
                parts[place], given[place] = part._place + first, dict(enumerate(part._functions, first))
            elif _is_constant(part):
                parts[place], given[place] = first, {first: part}
        self._given[side] = given
        return tuple(parts) if type(found) is tuple else parts[0]

    def result(self, recorder: Recorder, found: Any) -> Any:
        """What the choice gives, with functions for numbers.

        Raises:
            RecordError: one side gives a function, and one another thing.
        """
        if not any(self._given):
            return found
        parts = list(found) if type(found) is tuple else [found]
        for place in {place for given in self._given for place in given}:
            tables = [given.get(place) for given in self._given]
            functions = {number: each for table in tables if table for number, each in table.items()}
            chosen = None if None in tables else chosen_function(recorder, functions, parts[place])
            if chosen is None:
                recorder.refuse("a choice gives a function", "Call it on both sides: f(x) if condition else g(x).")
            parts[place] = chosen
        return tuple(parts) if type(found) is tuple else parts[0]


def _noted(function: Callable[[], Any], note: Callable[[Any], Any]) -> Callable[[], Any]:
    """A side whose closure has the user's function: what that changes is seen, and what is noted is not."""
    return update_wrapper(lambda: note(function()), function)


def _is_constant(thing: Any) -> bool:
    """Whether a thing is a function, a model or an op, as the user has it."""
    if isinstance(thing, BuiltinFunctionType):
        return isinstance(thing.__self__, ModuleType | type | None)
    own = isinstance(thing, FunctionType | MethodType | torch.nn.Module | InferenceOp)
    return (own and _is_plain(thing)) or _is_of_text(thing)
