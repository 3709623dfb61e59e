"""Bounds on the bits of numbers, which decide where generated code needs no check of an operator of Python.

Sizes, elements and literals have 64 bits, and a sum or product of few of them has a few more. Operators on values
without a known bound (inputs of a loop's body, results of torch) are called through `bounded`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...graph.graph import Node, Operator, Value
from ...graph.operators.names import MATH
from ..primitives.bounded import MOST_BITS

INLINE_BITS = 4096
"""The bits of the largest integer that code without a check may compute."""

_GROWING = frozenset(("add", "sub", "mul", "pow", "mod", "lshift"))
_WORDS = frozenset(("size", "stride", "numel", "storage_offset", "ndim", "len", "item", "array_size", "array_rank"))
_SIZES = frozenset(("size", "stride", "array_size"))
_BITS = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "not_", "bool", "is_nonzero", "contiguous", "is_conj", "is_neg"))


def inlined(node: Node, name: str, bits: Mapping[int, int]) -> bool:
    """Whether an operator of Python may be written without a check, by the bits of its operands.

    Args:
        node: the node that applies it.
        name: the name of the operator, ``py.…``.
        bits: the bits of the values that are known to be numbers, by the value's id.
    """
    rest = name.removeprefix("py.")
    if rest not in _GROWING:
        return True
    found = _result(rest, [_of(arg, bits) for arg in node.args], node.args)
    return found is not None and found <= INLINE_BITS


def bits_of(node: Node, bits: Mapping[int, int]) -> int | None:
    """The largest number of bits of a node's result; None where it has no bound."""
    if not isinstance(node.target, Operator) or not node.target.name.startswith("py."):
        return None
    rest = node.target.name.removeprefix("py.")
    found = _result(rest, [_of(arg, bits) for arg in node.args], node.args)
    return None if found is None else min(found, MOST_BITS)


def _of(arg: Any, bits: Mapping[int, int]) -> int | None:
    if isinstance(arg, Value):
        return bits.get(id(arg))
    if isinstance(arg, float):
        return 64
    return arg.bit_length() if isinstance(arg, int) else None


_WHOLE = ("isqrt", "gcd", "lcm", "factorial", "comb", "perm")  # functions of math that give integers of any size


def _result(rest: str, given: list[int | None], args: tuple[Any, ...]) -> int | None:
    """The bits of a result from those of the operands."""
    if rest in _SIZES and not (len(args) == 2 and type(args[1]) is int):
        return None  # all of them, perhaps
    if rest in _WORDS or rest in ("truediv", "float"):
        return 64
    if rest in _BITS:
        return 1
    if rest in MATH and rest not in ("frexp", "modf", *_WHOLE):  # the first two give pairs
        return 1100 if rest in ("ceil", "floor", "trunc") else 64
    known = [count for count in given if count is not None]
    if len(known) != len(given) or not known:
        return None
    return _of_numbers(rest, known, args)


def _of_numbers(rest: str, known: list[int], args: tuple[Any, ...]) -> int | None:
    match rest:
        case "add" | "sub":
            return max(known) + 1
        case "mul" | "lcm":
            return sum(known)
        case "pow":
            exponent = args[1] if len(args) == 2 else None
            return known[0] * max(abs(exponent), 1) if type(exponent) is int else None
        case "neg" | "pos" | "abs" | "floordiv" | "mod" | "int" | "min" | "max" | "and_" | "or_" | "xor" | "rshift":
            return max(known) + 1
        case "isqrt" | "gcd":
            return max(known)
    return None
