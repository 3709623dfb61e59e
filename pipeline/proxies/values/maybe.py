"""What is a tuple, an object or a member of an Enum, or None, as data decides: after a loop, and of an empty list."""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn, Protocol, cast

import torch
from torch.utils import _pytree as pytree

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import Guard, Node, Operator, Value
from ....ops.graph.types import ANY, SCALARS
from ....ops.runtime.user_code import user_line
from ....ops.tracing_hook import current
from ..base import is_traced
from ..branches import MAY_BE_NONE
from ..tracer import Tracer

_NOTHING = {str: "'none'", int: "-1", float: "-1.0", bool: "False"}
"""What may stand for None in messages."""


class ResultWriter(Protocol):
    """What a recorder does for results."""

    @property
    def nodes(self) -> list[Node]:
        """The recorded nodes, in order."""
        ...

    def arguments(self, tree: Any) -> Any:
        """Arguments in the form of the IR."""
        ...

    def output(self, result: Any) -> Any:
        """What is given as a result, in the form of the IR."""
        ...


class MaybeThing:
    """Such a thing: code may ask whether it is None. Where it asks for more, every run checks that it is not.

    Args:
        tracer: of the recording.
        missing: whether it is None.
        thing: what it is else.

    Attributes:
        asked: the line that has asked last whether it is None.
    """

    asked: Any = None

    def __init__(self, tracer: Tracer, missing: Any, thing: Any) -> None:
        self._tracer, self.missing, self.thing = tracer, missing, thing
        tracer.plainly_used = MAY_BE_NONE

    def with_thing(self, thing: Any) -> MaybeThing:
        """The same with another form of the thing."""
        return MaybeThing(self._tracer, self.missing, thing)

    def packed(self, recorder: ResultWriter) -> Any:
        """The value of the graph that is None or the thing, as a result."""
        if not is_traced(self.missing):
            return recorder.output(None if self.missing else self.thing)
        value, args = Value(ANY), ([recorder.output(self.thing), None], recorder.arguments(self.missing))
        recorder.nodes.append(Node(Operator("py.getitem"), args, {}, value, None, True))
        return value

    def given(self) -> Any:
        """The thing; every run checks that it is not None."""
        if is_traced(self.missing):
            given = self._tracer.scalar("not_", self.missing)  # of the recording that goes on, which may be a branch
            guard = Guard(True, "a value is None, and the function asks it for what None has not")
            given.tracer.nodes.append(Node(guard, (given.value,), {}, None, user_line()))
        return self.thing

    def is_none(self) -> Any:
        """Whether it is None."""
        self.asked = user_line()
        return self.missing

    def truth(self) -> Any:
        """As a condition."""
        given = self._tracer.scalar("not_", self.is_none())
        if not is_traced(self.thing) and isinstance(self.thing, tuple | list | dict):
            return given if self.thing else False
        if is_traced(self.thing) and isinstance(self.thing, list | dict):
            return self._unless_none(self._tracer.scalar("ne", self._tracer.scalar("len", self.thing), 0))
        own: Any = self.thing.__class__
        known = issubclass(own, Enum) or isinstance(self.thing, torch.Tensor) or is_traced(self.thing)
        if not known and not hasattr(own, "__bool__") and not hasattr(own, "__len__"):
            return given  # an object counts as true
        kind = "member of an Enum" if issubclass(own, Enum) else own.__name__
        return self._tracer.refuse(f"a {kind} or None is a condition", "Write `is not None`.")

    def _unless_none(self, found: Any) -> Any:
        """What holds for the thing; false where it is None."""
        return self._tracer.scalar("getitem", [found, False], self.missing)

    def is_one_of(self, kinds: Any) -> Any:
        """Whether it is an object of some classes."""
        own, none = isinstance(self.thing, kinds), isinstance(None, kinds)
        return own if own == none else self.is_none() if none else self._tracer.scalar("not_", self.is_none())

    def is_result(self) -> bool:
        """Whether it may be a result: it is no object of a class."""
        own: Any = self.thing.__class__
        return is_traced(self.thing) or issubclass(own, tuple | list | dict | torch.Tensor)

    def refuse_return(self) -> NoReturn:
        """Refuses it as a result, at the branch that has asked for None, if there is one: it may go both ways.

        Raises:
            RecordError: always.
        """
        own: Any = self.thing.__class__
        if issubclass(own, Enum):
            kind, form = "member of an Enum", "'none' if found is None else found.name"
        elif not issubclass(own, tuple):
            kind, form = own.__name__, "'none' if found is None else found.name, or its other parts"
        else:
            parts = ", ".join(_NOTHING.get(type(getattr(part, "concrete", part)), "…") for part in self.thing)
            kind, form = "tuple", f"{'' if own is tuple else own.__name__}({parts}) if found is None else found"
        what = f"the function returns a {kind} or None, as data decides{', after a branch on it' if self.asked else ''}"
        raise RecordError(what, where=str(self.asked or ""), fix=f"Choose what stands for None: {form}.")

    def __bool__(self) -> bool:
        return bool(self.truth())

    def __eq__(self, other: object) -> Any:
        if other is None:
            return self.is_none()
        if _is_plain(self.thing) and _is_plain(other):
            return self._unless_none(self._tracer.scalar("eq", self.thing, other))
        return self.given() == other

    def __ne__(self, other: object) -> Any:
        if other is None:
            return self._tracer.scalar("not_", self.is_none())
        return self._tracer.scalar("not_", self == other) if _is_plain(self.thing) else self.given() != other

    def _as_text(self, *_: Any) -> Any:
        fix = "Choose what stands for None before: 'none' if found is None else f'{found}'."
        return self._tracer.refuse("a thing that may be None is turned into text", fix)

    __str__ = __repr__ = __format__ = _as_text

    def __len__(self) -> int:
        return len(self.given())

    def __iter__(self) -> Any:
        return iter(self.given())

    def __getitem__(self, key: Any) -> Any:
        return self.given()[key]

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or not hasattr(self.thing, name):
            raise AttributeError(f"{type(self.thing).__name__!r} object has no attribute {name!r}")
        return getattr(self.given(), name)

    __hash__ = None  # type: ignore[assignment]  # its parts have none


def _is_plain(thing: Any) -> bool:
    """Whether a thing is made of lists, tuples and dicts of numbers and texts, so that Python compares it by parts."""
    if is_traced(thing):
        return type(thing.concrete) in SCALARS or isinstance(thing.concrete, list | dict)
    if type(thing) in (tuple, list, dict):
        return all(map(_is_plain, thing.values() if isinstance(thing, dict) else thing))
    return type(thing) in SCALARS


pytree.register_pytree_node(
    MaybeThing,
    lambda found: ([found.missing, found.thing], None),
    lambda parts, _: MaybeThing(cast(Any, current()), *parts),
)
