"""What an expression of integers means, by whole numbers without end: the rules of `docs/comprehension.md`, once more.

It shares nothing with the package: no parser, no types, no ranges.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch

CONDITION = "bool"


class Outside(Exception):
    """An index that was computed is not in its dimension."""


@dataclass(frozen=True)
class Expr:
    """A part of an expression.

    Attributes:
        kind: ``"literal"``, ``"variable"``, ``"read"`` (of a tensor), ``"cast"``, or an operator as it is written.
        args: the parts below it.
        name: of a variable or a tensor, the type of a cast, or a literal's digits.
    """

    kind: str
    args: tuple[Expr, ...] = ()
    name: str = ""

    def __str__(self) -> str:
        match self.kind, self.args:
            case (("literal" | "variable"), ()):
                return self.name
            case (("read" | "cast"), (inner,)):
                return f"{self.name}({inner})"
            case (("min" | "max" | "abs"), args):
                return f"{self.kind}({', '.join(map(str, args))})"
            case "?:", (condition, one, other):
                return f"({condition} ? {one} : {other})"
            case operator, (one,):
                return f"{operator}({one})"
            case operator, (one, other):
                return f"({one} {operator} {other})"
        raise AssertionError(self)


def wrapped(value: int, dtype: str) -> int:
    """What a type of integers keeps of a number: its lowest bits."""
    bits = int(dtype.rpartition("int")[2])
    value %= 1 << bits
    return value - (1 << bits) if dtype[0] == "i" and value >> bits - 1 else value


def joined(one: str, other: str) -> str:
    """The type of an operation: the wider one's width, signed unless both are not."""
    bits = max(int(dtype.rpartition("int")[2]) for dtype in (one, other))
    return f"uint{bits}" if one[0] == other[0] == "u" else f"int{bits}"


def literal_type(digits: str) -> str:
    """An int32 where it is one, else an int64."""
    return "int32" if int(digits) < 1 << 31 else "int64"


def dtype_of(expr: Expr, tensors: Mapping[str, torch.Tensor]) -> str:
    """The type of an expression."""
    match expr.kind:
        case "literal":
            return literal_type(expr.name)
        case "variable":
            return "int32"
        case "read":
            return str(tensors[expr.name].dtype).removeprefix("torch.")
        case "cast":
            return expr.name
        case "<" | ">" | "<=" | ">=" | "==" | "!=" | "&&" | "||" | "!":
            return CONDITION
    kinds = [dtype_of(a, tensors) for a in (expr.args[1:] if expr.kind == "?:" else expr.args)]
    return joined(*kinds) if len(kinds) == 2 else kinds[0]


@dataclass(frozen=True)
class Reference:
    """Computes expressions.

    Attributes:
        tensors: that they read, of one dimension.
        clamp: whether an index outside takes the nearest element.
    """

    tensors: Mapping[str, torch.Tensor]
    clamp: bool

    def value(self, expr: Expr, variables: Mapping[str, int]) -> int:
        """The value of an expression at a place.

        Raises:
            Outside: an index is not in its dimension, where that is not clamped.
        """
        here: Callable[[Expr], int] = lambda e: self.value(e, variables)  # noqa: E731 - short
        args, dtype = expr.args, dtype_of(expr, self.tensors)
        match expr.kind:
            case "literal":
                return int(expr.name)
            case "variable":
                return variables[expr.name]
            case "read":
                return self._read(self.tensors[expr.name], here(args[0]))
            case "cast":
                return wrapped(here(args[0]), dtype)
            case "?:":
                return wrapped(here(args[1] if here(args[0]) else args[2]), dtype)
            case "&&":
                return here(args[0]) & here(args[1])  # both sides are computed, and so their indices are
            case "||":
                return here(args[0]) | here(args[1])
            case "!":
                return int(not here(args[0]))
        common = dtype if dtype != CONDITION else joined(*(dtype_of(a, self.tensors) for a in args))
        numbers = [wrapped(here(a), common) for a in args]
        found = _OPERATORS[expr.kind, len(numbers)](*numbers)
        return int(found) if dtype == CONDITION else wrapped(found, dtype)

    def _read(self, tensor: torch.Tensor, index: int) -> int:
        size = len(tensor)
        if not 0 <= index < size:
            if not self.clamp:
                raise Outside(index)
            index = min(max(index, 0), size - 1)
        return int(tensor[index].item())

    def reduced(self, operator: str, values: Sequence[int], dtype: str) -> int:
        """What `+=!`, `*=!`, `max=!` or `min=!` makes of values of a type."""
        if operator in ("max=!", "min=!"):
            return max(values) if operator == "max=!" else min(values)
        total = 0 if operator == "+=!" else 1
        for value in values:
            total = wrapped(total + value if operator == "+=!" else total * value, dtype)
        return total


_OPERATORS: dict[tuple[str, int], Callable[..., int]] = {
    ("+", 2): lambda a, b: a + b,
    ("-", 2): lambda a, b: a - b,
    ("*", 2): lambda a, b: a * b,
    ("/", 2): lambda a, b: a // b if b else 0,
    ("%", 2): lambda a, b: a % b if b else 0,
    ("-", 1): lambda a: -a,
    ("abs", 1): abs,
    ("min", 2): min,
    ("max", 2): max,
    ("<", 2): lambda a, b: a < b,
    (">", 2): lambda a, b: a > b,
    ("<=", 2): lambda a, b: a <= b,
    (">=", 2): lambda a, b: a >= b,
    ("==", 2): lambda a, b: a == b,
    ("!=", 2): lambda a, b: a != b,
}
