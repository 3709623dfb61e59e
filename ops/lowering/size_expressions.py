"""Writes torch's expressions over symbolic sizes as nodes of a graph."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]  # torch needs it, and it has no types
from torch.utils._sympy.interp import sympy_interp

# torch's name of an operation on sizes -> ours.
_NAMES = {
    **{name: name for name in ("add", "mul", "floordiv", "mod", "truediv", "pow", "abs", "sqrt")},
    **{name: name for name in ("eq", "ne", "lt", "le", "gt", "ge", "and_", "or_", "not_")},
    "python_mod": "mod", "int_truediv": "truediv", "pow_by_natural": "pow", "minimum": "min", "maximum": "max",
    "ceil_to_int": "ceil", "floor_to_int": "floor", "trunc_to_int": "trunc", "round_to_int": "round",
    "to_dtype": "float",
}  # fmt: skip
_TYPED = ("ceil_to_int", "floor_to_int", "trunc_to_int", "round_to_int", "to_dtype")  # torch passes a dtype, too


def written_out(
    expression: sympy.Expr, symbol: Callable[[sympy.Symbol], Any], apply: Callable[[str, tuple[Any, ...]], Any]
) -> Any:
    """The value of an expression.

    Args:
        expression: torch's expression for a number.
        symbol: returns the value of a symbol.
        apply: applies one of our operators, named without ``py.``, to values.

    Raises:
        AttributeError: a graph has no such operation.
    """
    return sympy_interp(_NodeArithmetic(apply), {}, expression, missing_handler=symbol)


class _NodeArithmetic:
    """The operations that torch's interpreter of expressions calls."""

    def __init__(self, apply: Callable[[str, tuple[Any, ...]], Any]) -> None:
        self._apply = apply

    def constant(self, number: Any, dtype: Any) -> Any:
        """A number of the expression as a Python number."""
        return bool(number) if dtype.itemsize == 1 else float(number) if dtype.is_floating_point else int(number)

    def __getattr__(self, name: str) -> Any:
        if name not in _NAMES:
            raise AttributeError(name)

        def operation(*args: Any) -> Any:
            return self._apply(_NAMES[name], args[:1] if name in _TYPED else args)

        return operation
