"""The syntax tree of a text, without types and sizes; each node has its place."""

from __future__ import annotations

from dataclasses import dataclass

from ..expr.errors import Place


@dataclass(frozen=True)
class Node:
    """The base of all syntax nodes."""

    place: Place


@dataclass(frozen=True)
class Number(Node):
    """A literal; `1` is an int32, `1.0` and `1e0` are floats."""

    value: int | float


@dataclass(frozen=True)
class Name(Node):
    """An identifier alone: an index variable, a size, a let, or a tensor of rank 0."""

    name: str


@dataclass(frozen=True)
class SizeOf(Node):
    """`A.1`, the size of a tensor's dimension."""

    tensor: str
    dim: int


@dataclass(frozen=True)
class Apply(Node):
    """`f(a, b)`: an access, a built-in, or a cast, which only the names in scope can tell apart."""

    name: str
    args: tuple[Node, ...]


@dataclass(frozen=True)
class Operator(Node):
    """A unary, binary or ternary (`?:`) operator."""

    op: str
    args: tuple[Node, ...]


@dataclass(frozen=True)
class RangeClause(Node):
    """`where i in low:high`, half open."""

    name: str
    low: Node
    high: Node


@dataclass(frozen=True)
class LetClause(Node):
    """`where x = value`."""

    name: str
    value: Node


@dataclass(frozen=True)
class ExistsClause(Node):
    """`where exists value`: its accesses bound index variables without being evaluated."""

    value: Node


@dataclass(frozen=True)
class TensorDecl(Node):
    """A parameter or an annotated result; `dims` is None where only a name was written."""

    name: str
    scalar: str | None
    dims: tuple[str | int, ...] | None


@dataclass(frozen=True)
class StatementSyntax(Node):
    """`target(indices) op value where clauses`."""

    target: str
    indices: tuple[Name, ...]
    op: str
    value: Node
    clauses: tuple[Node, ...]


@dataclass(frozen=True)
class DefSyntax(Node):
    """One `def`."""

    name: str
    params: tuple[TensorDecl, ...]
    returns: tuple[TensorDecl, ...]
    body: tuple[StatementSyntax, ...]
