"""Writes operators and literals as C++, from the text of operands."""

from __future__ import annotations

from ..expr.dtypes import DType
from ..expr.functions import BUILTINS
from ..expr.ir import Const
from .types import compute_type


def literal(e: Const) -> str:
    """The text of a constant, with its type."""
    if e.dtype.is_bool:
        return "true" if e.value else "false"
    kind = compute_type(e.dtype)
    if not e.dtype.is_float:
        suffix = "ull" if e.dtype.kind == "uint" else "ll"
        if int(e.value) == -(1 << 63):
            return f"({kind})(-9223372036854775807ll - 1)"
        return f"({kind}){int(e.value)}{suffix}"
    value = float(e.value)
    if value != value or value in (float("inf"), float("-inf")):
        text = "NAN" if value != value else "INFINITY" if value > 0 else "-INFINITY"
        return f"({kind}){text}"
    return f"({kind}){value!r}"


def arithmetic(name: str, codes: list[str], dtype: DType, lanes: str | None) -> str:
    """The text of an operator or a function; its operands have one type.

    Args:
        name: the language's own name.
        codes: the operands.
        dtype: their type.
        lanes: the template arguments of vectors of this type, or None for single values.
    """
    v = "" if lanes is None else "v"
    template = f"<{compute_type(dtype) if lanes is None else lanes}>"
    if name in ("+", "-", "*") or (name == "/" and dtype.is_float):
        return f"({codes[0]} {name} {codes[1]})"
    if name == "neg":
        return f"(-{codes[0]})"
    if name in ("/", "%"):
        function = ("fmodulo" if dtype.is_float else "imod") if name == "%" else "idiv"
        return f"{v}{function}{template}({', '.join(codes)})"
    if name in ("min", "max", "fmin", "fmax"):
        return f"{v or 's'}{name}({', '.join(codes)})"
    if name == "fma":
        return f"({codes[0]} * {codes[1]} + {codes[2]})"
    if name == "abs" and not dtype.is_float:
        return f"({codes[0]} < 0 ? -{codes[0]} : {codes[0]})"
    return _function("fabs" if name == "abs" else name, codes, dtype, lanes)


def joined(name: str, a: str, b: str, dtype: DType, has_lanes: bool) -> str:
    """One step of a reduction."""
    if name in ("+", "*"):
        code = f"{a} {name} {b}"
        return code if has_lanes or dtype.is_float else f"({compute_type(dtype)})({code})"
    return f"{'v' if has_lanes else 's'}{name}({a}, {b})"


def _function(name: str, codes: list[str], dtype: DType, lanes: str | None) -> str:
    def call(function: str, *args: str) -> str:
        return f"{f's_{function}' if lanes is None else f'v_{function}<{lanes}>'}({', '.join(args)})"

    one = f"({compute_type(dtype)})1"
    one = one if lanes is None else f"splat<{lanes}>({one})"
    if name == "rsqrt":
        return f"({one} / {call('sqrt', codes[0])})"
    if name == "sigmoid":
        return f"({one} / ({one} + {call('exp', f'-{codes[0]}')}))"
    return call(BUILTINS[name].c, *codes)
