"""Tensors in whose place Python has a number on other data: what `min` and `max` give of a tensor and a number.

A node of a graph gives a tensor always. That stands for both where a function computes with it. For texts and `float`
there is the number that it is in Python. To return it, or what arithmetic with numbers makes of it, is refused: the
class of the result would hang on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Constant, Node, Operator, Value
from ...ops.graph.traverse import uses
from ...ops.graph.types import TensorType
from ...ops.runtime.user_code import user_line
from ..proxies.tracer import Tracer
from ..proxies.values.members import TracedMember


@dataclass
class NumberOrTensor:
    """What is known of such a tensor.

    Attributes:
        name: of the function that chose, `min` or `max`.
        number: records the number that it is in Python.
        line: of the user's code.
    """

    name: str
    number: Callable[[], Any]
    line: Any

    @property
    def error(self) -> RecordError:
        """That the class of a result hangs on it."""
        return RecordError(
            f"{self.name} of a tensor and a number gives the one or the other, as the data decides, and so does the "
            "function",
            where=str(self.line or ""),
            fix=f"Write float({self.name}(…)) for a number, or torch.as_tensor({self.name}(…)) for a tensor.",
        )


class Chosen:
    """Those of a recording, by the ids of their values."""

    def __init__(self) -> None:
        self._known: dict[int, NumberOrTensor] = {}

    def add(self, value: Value | None, name: str, number: Callable[[], Any]) -> None:
        """Registers one."""
        self._known[id(value)] = NumberOrTensor(name, number, user_line())

    def number(self, value: Value | None) -> Any:
        """The number that a tensor is in Python; None for any other tensor."""
        found = self._known.get(id(value))
        return None if found is None else found.number()

    def explaining(self, difference: str) -> RecordError | None:
        """The error for a pipeline that gives a tensor where the function gives a number; None for any other one."""
        found = next(iter(self._known.values()), None)
        return found.error if found is not None and "a Tensor instead of" in difference else None

    def refuse(self, value: Any, nodes: Sequence[Node]) -> None:
        """Refuses to return one of them, or what arithmetic with numbers makes of one.

        Raises:
            RecordError: it is one.
        """
        found = self._behind(value, nodes) if self._known else None
        if found is not None:
            raise found.error

    def _behind(self, value: Any, nodes: Sequence[Node]) -> NumberOrTensor | None:
        known = dict(self._known)
        for node in nodes:
            tensors = [leaf for leaf in uses(node) if _is_tensor(leaf)]
            if tensors and _is_arithmetic(node) and all(id(leaf) in known for leaf in tensors):
                known[id(node.output)] = known[id(tensors[0])]
        return known.get(id(value))


def _is_tensor(leaf: Any) -> bool:
    return isinstance(leaf, Constant) or (isinstance(leaf, Value) and isinstance(leaf.type, TensorType))


_ARITHMETIC = frozenset(
    f"torch.Tensor.{name}"
    for name in """add sub rsub __rsub__ mul div __rdiv__ __rtruediv__ pow __rpow__ neg abs __floordiv__ __rfloordiv__
    remainder __mod__ __rmod__""".split()
)


def _is_arithmetic(node: Node) -> bool:
    """Whether a node is what an operator of Python gives of numbers, too."""
    return isinstance(node.target, Operator) and node.target.name in _ARITHMETIC


def number_behind(recorder: Tracer, thing: Any) -> Any:
    """The number that a tensor is in Python; None for any other thing."""
    return recorder.values.chosen.number(recorder.values.of(thing)) if isinstance(thing, torch.Tensor) else None


def number_of(recorder: Tracer, thing: Any) -> Any:
    """A tensor of no dimensions, or a member of an IntEnum, as a traced number; any other thing as it is."""
    if type(thing) is TracedMember and thing.is_plain:
        return thing.value
    if isinstance(thing, torch.Tensor) and thing in recorder.values:
        with torch._C.DisableTorchFunction():
            single = thing.dim() == 0
        if single and recorder.rank(thing) == 0:
            chosen = number_behind(recorder, thing)
            return recorder.scalar("item", thing) if chosen is None else chosen
    return thing
