"""What is a tuple, an object or a member of an Enum, or None, as data decides: after a loop, and of an empty list."""

from __future__ import annotations

from enum import Enum
from typing import Any, NoReturn, cast

import torch
from torch.utils import _pytree as pytree

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import Guard, Node, Operator, Value
from ....ops.graph.types import ANY
from ....ops.runtime.user_code import user_line
from ....ops.tracing_hook import current
from ..base import is_traced
from ..branches import MAY_BE_NONE
from ..tracer import Tracer

_NOTHING = {str: "'none'", int: "-1", float: "-1.0", bool: "False"}
"""What may stand for None in messages."""


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

    def packed(self, recorder: Any) -> Any:
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
        if isinstance(self.thing, tuple):
            return given if self.thing else False
        own: Any = self.thing.__class__
        if not issubclass(own, Enum) and not hasattr(own, "__bool__") and not hasattr(own, "__len__"):
            return given  # an object counts as true
        kind = "member of an Enum" if issubclass(own, Enum) else own.__name__
        return self._tracer.refuse(f"a {kind} or None is a condition", "Write `is not None`.")

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
        return self.is_none() if other is None else self.given() == other

    def __ne__(self, other: object) -> Any:
        return self._tracer.scalar("not_", self.is_none()) if other is None else self.given() != other

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


pytree.register_pytree_node(
    MaybeThing,
    lambda found: ([found.missing, found.thing], None),
    lambda parts, _: MaybeThing(cast(Any, current()), *parts),
)
