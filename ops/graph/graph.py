"""The one IR of the project: a Graph of Nodes over typed Values.

The body of an op lowered from a model and a traced processing function are both Graphs, so that one verifier, one
printer, one codec and one plan serve both. Uses point at Values by object, never by name. The order of the nodes is
the order of execution and is kept by everything: in-place operators and aliasing depend on it. This module knows
nothing of bytes or torch; a `Constant` carries its tensor as an opaque payload.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from .frozen_class import frozen, frozen_object
from .guards import Expression
from .kernel import Kernel
from .types import TensorType, Type


@dataclass(eq=False, slots=True, repr=False)
class Value:
    """A result of one node, or one input of a graph."""

    type: Type


@dataclass(eq=False, slots=True, repr=False)
class Constant:
    """A tensor that the graph holds: a weight, a buffer, a tensor that the function captured.

    A mutable constant is state: its tensor is the initial value, and every pipeline works on a copy of its own. A
    parameter is a constant that training changes. Of those of a file `origin` tells which are one tensor: others may
    share its memory, where they were equal when it was written.
    """

    tensor: Any
    name: str
    mutable: bool = False
    parameter: bool = False
    origin: int | None = None

    def type(self) -> TensorType | None:
        """Its dtype and sizes; None where the tensor was not read from its file."""
        if not hasattr(self.tensor, "dtype"):
            return None
        return TensorType(str(self.tensor.dtype).removeprefix("torch."), tuple(self.tensor.shape))


@frozen
class Literal:
    """A torch object written into the graph by name: kind ``dtype``, ``device``, ``layout``, ``memory_format``.

    The device ``"op"`` stands for the device of the op that the graph belongs to, and is substituted at load.
    """

    kind: str
    name: str


@frozen
class Operator:
    """An operator by name: ``aten.add.Tensor``, ``torch.Tensor.view``, ``py.floordiv``."""

    name: str


SOURCES = (Operator("py.generator"), Operator("py.seeded"))
"""The operators that make a source of random numbers."""


@frozen_object
class KernelCall:
    """Applies a kernel."""

    kernel: Kernel


@frozen_object
class Guard:
    """Checks that its one argument equals the value that the recording relied on."""

    expected: bool | int | float | str | list[Any] | None
    reason: str


@frozen_object
class BodyCall:
    """Applies an op by its lowered body."""

    body: Body


Target = Operator | KernelCall | Guard | BodyCall


@frozen
class SourceLine:
    """The user's line that a node was recorded from; the file without its folders."""

    file: str
    line: int
    function: str
    code: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}: {self.code}"


@dataclass(eq=False, slots=True, repr=False)
class Node:
    """One application of a target.

    Attributes:
        args: trees (tuple, list, dict, slice) of Values, Constants, Literals, Graphs and plain Python values.
        output: a tree (tuple, list, dict) of the Values that it produces, or None for a node run for its effect.
        varying: True where the shape or the value of the result depends on data, not only on input shapes, so
            that facts checked about it must be checked on every run.
    """

    target: Target
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    output: Any = None
    line: SourceLine | None = None
    varying: bool = False


@dataclass(eq=False, slots=True, repr=False)
class Graph:
    """Inputs, nodes in order of execution, and a tree of outputs.

    An output tree may hold Values, Constants and plain Python values in tuples, lists, dicts and records.
    """

    inputs: tuple[Value, ...]
    nodes: tuple[Node, ...]
    output: Any


@frozen_object
class Facts:
    """The assumptions of an op's body about its inputs.

    Attributes:
        symbols: for each symbol the flat input and the dimension that define it.
        guards: expressions over the symbols that must hold, in the grammar of `guards`.
    """

    symbols: dict[str, tuple[int, int]]
    guards: tuple[Expression, ...]


@dataclass(eq=False, repr=False)
class Body:
    """One lowered form of an op: a graph, what it assumes, and the device that the op was scripted for.

    Attributes:
        inputs: a name for every flat input, such as ``"x"`` or ``"mask[0]"``.
        contiguous: whether a non-contiguous output is made contiguous rather than refused.
        engine: the engine that the user named for it; empty for none. It is not stored: a program keeps the choice.
    """

    name: str
    device: str
    graph: Graph
    facts: Facts
    inputs: tuple[str, ...]
    contiguous: bool = False
    engine: str = ""


@frozen
class Record:
    """A tuple with named fields in an output tree: a namedtuple, or one of torch's return types.

    Attributes:
        name: ``"torch.return_types.max"``, or the bare class name of a namedtuple.
    """

    name: str
    fields: tuple[str, ...]
    items: tuple[Any, ...]


class SizeTuple(tuple[Any, ...]):
    """A tuple in an output tree of which a run makes a `torch.Size`."""

    __slots__ = ()


def target_name(target: Target) -> str:
    """The short name of a target, for text and errors."""
    match target:
        case Operator(name):
            return name
        case KernelCall(kernel):
            return kernel.name
        case BodyCall(body):
            return body.name
        case Guard():
            return "guard"
