"""Sizes that a model carries through tensors.

A model may compute a padding or a number of chunks with tensors without dimensions, from sizes and from numbers in its
buffers, and use the result as a plain integer, about which torch.export knows nothing. While a model is exported,
`Counts` follows such tensors and tells torch their values as expressions over sizes. These values are predictions: a
float may be rounded, and a buffer may change later. So `convert` adds a guard for each number that is read off a tensor
and for which torch has an expression.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable
from typing import Any

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_symbolic: Any = torch  # torch leaves these functions untyped
_READ = torch.ops.aten._local_scalar_dense.default


def numbers(model: Any) -> dict[str, Any]:
    """The names of a model's buffers that hold one integer, with their values."""
    named = model.named_buffers() if isinstance(model, torch.nn.Module) else ()
    return {name: buffer.item() for name, buffer in named if buffer.dim() == 0 and _is_whole(buffer)}


def _is_whole(tensor: torch.Tensor) -> bool:
    return not tensor.dtype.is_floating_point and not tensor.dtype.is_complex


class Counts(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Follows the tensors without dimensions that sizes decide.

    Args:
        model: the model as torch.export runs it.
        known: the values of its buffers, from `numbers`.
    """

    def __init__(self, model: Any, known: dict[str, Any]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # torch leaves it untyped
        self._known: dict[int, tuple[torch.Tensor, int, Any]] = {}
        self._unsaid: list[tuple[torch.Tensor, Any]] = []
        if known:
            for name, buffer in model.named_buffers():
                if name in known:
                    self._note(buffer, known[name])

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs an operator, and predicts its result."""
        kwargs = kwargs or {}
        self.settle()
        result = func(*args, **kwargs)
        if func is _READ:
            self._unsaid.append((args[0], result))
        elif isinstance(result, torch.Tensor) and result.dim() == 0 and func._schema.name in _RULES:
            self._predict(_RULES[func._schema.name], args, kwargs, result)
        return result

    def settle(self) -> None:
        """Tells torch the predictions for the numbers read since the last call; during a read it takes none."""
        unsaid, self._unsaid = self._unsaid, []
        for tensor, found in unsaid:
            self._say(tensor, found)

    def _note(self, tensor: torch.Tensor, value: Any) -> None:
        self._known[id(tensor)] = (tensor, tensor._version, value)

    def _value(self, argument: Any) -> Any:
        """The number behind an argument.

        Raises:
            KeyError: it is a tensor without a prediction, or one that was written to since.
        """
        if not isinstance(argument, torch.Tensor):
            return argument
        _, version, value = self._known[id(argument)]
        if argument._version != version:
            raise KeyError
        return value

    def _predict(self, rule: Callable[..., Any], args: Any, kwargs: Any, result: torch.Tensor) -> None:
        try:
            value = rule(*map(self._value, args), **{k: v for k, v in kwargs.items() if k in _MATTERS})
        except (KeyError, TypeError, ArithmeticError, ValueError):
            return
        if isinstance(value, float | torch.SymFloat) and _is_whole(result):
            value = _symbolic.sym_int(value)
        self._note(result, value)

    def _say(self, tensor: torch.Tensor, found: Any) -> None:
        """Tells torch that a number read off a tensor equals its prediction."""
        if not _is_whole(tensor) or not isinstance(found, torch.SymInt | torch.SymBool):
            return
        try:
            value = self._value(tensor)
        except KeyError:
            return
        if isinstance(found, torch.SymBool):
            _symbolic._check(found if value else _symbolic.sym_not(found))
        elif isinstance(value, torch.SymInt):  # torch._check does not use an equation with a quotient or a remainder
            found.node.shape_env._set_replacement(found.node.expr, value.node.expr, "read off a tensor")
        else:
            _symbolic._check(found == value)


class Reads(TorchFunctionMode):
    """Makes `Counts` tell torch its predictions before Python uses a number that was read off a tensor.

    Args:
        counts: the mode that follows the tensors.
    """

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs a function; the bool of a tensor becomes the bool of its item."""
        decides = func is torch.Tensor.__bool__ and args[0].dim() == 0
        result = torch.Tensor.item(args[0]) if decides else func(*args, **(kwargs or {}))
        self._counts.settle()
        return bool(result) if decides else result


_MATTERS = ("alpha", "rounding_mode")


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    return a / b if rounding_mode is None else a // b  # torch takes sizes as not negative; an assertion checks that


def _same(a: Any, *args: Any) -> Any:
    return a


_RULES: dict[str, Callable[..., Any]] = {
    **{f"aten::{name}": _same for name in ("_to_copy", "clone", "detach", "lift_fresh", "alias", "scalar_tensor")},
    "aten::add": lambda a, b, alpha=1: a + b * alpha,
    "aten::sub": lambda a, b, alpha=1: a - b * alpha,
    "aten::rsub": lambda a, b, alpha=1: b - a * alpha,
    "aten::mul": operator.mul,
    "aten::div": _divided,
    "aten::floor_divide": operator.floordiv,
    "aten::remainder": operator.mod,
    "aten::neg": operator.neg,
    "aten::reciprocal": lambda a: 1 / a,
    "aten::ceil": math.ceil,
    "aten::floor": math.floor,
    "aten::maximum": torch.sym_max,
    "aten::minimum": torch.sym_min,
    **{f"aten::{name}": getattr(operator, name) for name in ("eq", "ne", "lt", "le", "gt", "ge")},
    "aten::logical_not": torch.sym_not,
}  # fmt: skip
