"""Sizes that a model carries through tensors.

A model may compute a padding or a number of chunks with tensors of no dimension, from sizes and from numbers that it
keeps in buffers, and use the result as a plain integer. torch.export then knows nothing of that integer. While a
model is exported, `Counts` follows such tensors and tells torch their values as expressions over sizes. These are
predictions: floats may round, and a buffer may hold another number by then. So `convert` guards every number that is
read off a tensor and that torch knows an expression for.
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
    """The values of a model's buffers that are whole numbers, by name."""
    named = model.named_buffers() if isinstance(model, torch.nn.Module) else ()
    return {name: buffer.item() for name, buffer in named if buffer.dim() == 0 and _is_whole(buffer)}


def _is_whole(tensor: torch.Tensor) -> bool:
    return not tensor.dtype.is_floating_point and not tensor.dtype.is_complex


class Counts(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch leaves it untyped
    """Follows the tensors of no dimension that sizes decide.

    Args:
        model: the model as torch.export runs it.
        known: what `numbers` read off it before.
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
        """Says to torch what was predicted of the numbers read since; while they are read it does not listen."""
        unsaid, self._unsaid = self._unsaid, []
        for tensor, found in unsaid:
            self._say(tensor, found)

    def _note(self, tensor: torch.Tensor, value: Any) -> None:
        self._known[id(tensor)] = (tensor, tensor._version, value)

    def _value(self, argument: Any) -> Any:
        """The number behind an argument.

        Raises:
            KeyError: it is a tensor about which nothing is known, or that was written to since.
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
        """Says to torch that what was read off a tensor is what was predicted."""
        if not _is_whole(tensor) or not isinstance(found, torch.SymInt | torch.SymBool):
            return
        try:
            value = self._value(tensor)
        except KeyError:
            return
        if isinstance(found, torch.SymBool):
            _symbolic._check(found if value else _symbolic.sym_not(found))
        elif isinstance(value, torch.SymInt):  # torch._check would not take in a quotient or a remainder
            found.node.shape_env._set_replacement(found.node.expr, value.node.expr, "read off a tensor")
        else:
            _symbolic._check(found == value)


class Reads(TorchFunctionMode):
    """Lets `Counts` speak before Python decides on a number that it read off a tensor.

    Args:
        counts: what follows the tensors.
    """

    def __init__(self, counts: Counts) -> None:
        super().__init__()
        self._counts = counts

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs a function; a tensor is turned into a bool by way of its item."""
        decides = func is torch.Tensor.__bool__ and args[0].dim() == 0
        result = torch.Tensor.item(args[0]) if decides else func(*args, **(kwargs or {}))
        self._counts.settle()
        return bool(result) if decides else result


_MATTERS = ("alpha", "rounding_mode")


def _divided(a: Any, b: Any, rounding_mode: str | None = None) -> Any:
    return a / b if rounding_mode is None else a // b  # sizes are not negative; the assertion tells if one is


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
