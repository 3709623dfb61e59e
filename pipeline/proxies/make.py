"""Which stand-in a value gets while a function is recorded; that of a value that may be None, and what may hold one."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from ...ops.graph.graph import Guard, Node, Value
from ...ops.runtime.user_code import user_line
from .arrays import TracedArray
from .base import Traced, is_traced
from .branches import MAY_BE_NONE
from .dicts import TracedDict
from .lists import TracedList
from .scalars import TracedBool, TracedComplex, TracedFloat, TracedInt
from .strings import TracedMatch, TracedStr
from .tracer import Tracer
from .values.dates import DATES, TracedDate
from .values.decimals import TracedDecimal

_KINDS: list[tuple[tuple[type, ...], type[Any]]] = [
    ((bool, np.bool_), TracedBool),
    ((int, np.integer), TracedInt),
    ((float, np.floating), TracedFloat),
    ((complex, np.complexfloating), TracedComplex),
    ((str,), TracedStr),
    ((list,), TracedList),
    ((dict,), TracedDict),
    ((re.Match,), TracedMatch),
    ((np.ndarray,), TracedArray),
    (DATES, TracedDate),
    ((Decimal,), TracedDecimal),
]


def traced(tracer: Tracer, value: Value, concrete: Any, varies: bool) -> Any:
    """The stand-in for a run-time value; None for a kind that has none."""
    for kinds, stand_in in _KINDS:
        if isinstance(concrete, kinds):
            return stand_in(tracer, value, concrete, varies)
    return None


def traced_argument(tracer: Tracer, value: Value, concrete: Any) -> Any:
    """The stand-in for an argument that is no tensor."""
    found = traced(tracer, value, concrete, varies=False)
    if type(found) is TracedList:
        found.given = True
    return found


class TracedOptional(Traced):
    """A number or a text that is decided at run time, or None, as data decides.

    It answers for both what Python asks of both. Where the code asks it for more, as for a sum or a method, it is not
    None: every run checks that, as Python does.

    Attributes:
        sample: what it may be besides None, by an example.
    """

    def __init__(self, tracer: Tracer, value: Value, concrete: Any, varies: bool, sample: Any) -> None:
        self._bind(tracer, value, concrete, varies)
        self.sample = sample
        tracer.plainly_used = MAY_BE_NONE

    def known(self) -> Any:
        """The number or the text, where it is known that it is not None."""
        return self.tracer.scalar("getitem", [self], 0)

    def given(self) -> Any:
        """The number or the text; every run checks that it is not None."""
        missing = self.tracer.scalar("eq", self, None)
        guard = Guard(False, "a value is None, and the function asks it for what None has not")
        missing.tracer.nodes.append(Node(guard, (missing.value,), {}, None, user_line()))
        return self.known()

    def _pin(self, reason: str) -> Any:
        fix = "Choose what stands for None before: label or 'none', or -1.0 if number is None else number."
        return self.tracer.refuse(f"a value that may be None cannot leave the graph: {reason}", fix)

    def __eq__(self, other: object) -> Any:
        return self.tracer.scalar("eq", self, other)

    def __ne__(self, other: object) -> Any:
        return self.tracer.scalar("ne", self, other)

    def __bool__(self) -> bool:
        return bool(self.tracer.scalar("bool", self))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self.given(), name)

    __hash__ = Traced.__hash__


def _of_given(name: str) -> Any:
    return lambda self, *args: getattr(self.given(), name)(*args)


def _of_two(function: Callable[[Any, Any], Any], reflected: bool = False) -> Any:
    return lambda self, other: function(other, self.given()) if reflected else function(self.given(), other)


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow"):
    setattr(TracedOptional, f"__{_name}__", _of_two(getattr(operator, _name)))
    setattr(TracedOptional, f"__r{_name}__", _of_two(getattr(operator, _name), reflected=True))
for _name in ("lt", "le", "gt", "ge", "neg", "abs", "round", "getitem", "iter", "contains"):
    setattr(TracedOptional, f"__{_name}__", _of_given(f"__{_name}__"))


def sample_of(entries: Sequence[Any]) -> Any:
    """What stands for a table's entries where some may be None and the others are numbers or texts of one type.

    Returns:
        An entry that is not None; None where the table has other entries, or none of them may be None.
    """
    found = [
        each.sample if type(each) is TracedOptional else each.concrete if is_traced(each) else each for each in entries
    ]
    given = [each for each in found if each is not None]
    optional = len(given) < len(found) or any(type(each) is TracedOptional for each in entries)
    alike = len(set(map(type, given))) == 1 and type(given[0]) in (str, int, float, bool)
    return given[0] if optional and alike else None


_TELL_NOTHING = ("len", "eq", "ne", "bool", "contains", "keys", "format", "json_dumps")
"""What gives nothing of what a dict holds."""
_FILLS = ("with_entry", "dict")


def holds_none(thing: Any) -> bool:
    """Whether a thing is None, or holds it somewhere, or may do so as data decides."""
    if is_traced(thing):
        return type(thing) is TracedOptional or marked(thing)
    if isinstance(thing, tuple | list | dict):
        return any(map(holds_none, thing.values() if isinstance(thing, dict) else thing))
    return thing is None


def marked(thing: Any) -> bool:
    """Whether a container of run time may hold None."""
    if type(thing) is TracedList:
        return thing.with_none is not None
    return issubclass(type(thing), TracedDict) and thing.with_none


def gives_none_in_it(name: str, args: tuple[Any, ...]) -> bool:
    """Whether an operator of Python gives what may be None, or holds it, by the dict that it asks or fills."""
    if name in _FILLS:
        return any(map(holds_none, args))
    return name not in _TELL_NOTHING and any(issubclass(type(arg), TracedDict) and arg.with_none for arg in args)
