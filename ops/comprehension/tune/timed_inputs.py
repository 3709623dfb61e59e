"""The tensors that a search times candidates on: the user's own, or random ones of the sizes given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from ..expr.dtypes import stored
from ..expr.errors import ComprehensionInputError
from ..expr.ir import Definition
from ..run.tensor_guards import PLAIN

_NOTHING = "Tune at the sizes that it runs at; a call with empty tensors needs no options."


def example_tensors(definition: Definition, inputs: Sequence[Any]) -> list[Any]:
    """Random tensors where sizes were given; integers point into the smallest dimension of any input.

    Raises:
        ComprehensionInputError: sizes that are no whole numbers above 0.
    """
    for number, given in enumerate(inputs[: len(definition.params)]):
        if isinstance(given, tuple | list) and not all(type(size) is int and size > 0 for size in given):
            name = definition.params[number].name
            raise ComprehensionInputError(
                f"the sizes of input '{name}' of '{definition.name}' are no whole numbers above 0",
                where="autotune",
                got=given,
                fix=_NOTHING,
            )
    shapes = [tuple(x.shape) if isinstance(x, torch.Tensor) else x for x in inputs]
    smallest = max(min((d for s in shapes if isinstance(s, tuple | list) for d in s), default=1), 1)
    found: list[Any] = []
    for given, param in zip(inputs, definition.params, strict=False):
        if not isinstance(given, tuple | list):
            found.append(given)
            continue
        shape, dtype = tuple(given), stored(param.dtype)
        values = torch.randn(shape) if param.dtype.is_float else torch.randint(0, smallest, shape)
        found.append(values.to(dtype))
    return [*found, *inputs[len(found) :]]


def check_examples(definition: Definition, tensors: Sequence[torch.Tensor]) -> None:
    """Refuses tensors that cannot be timed: without elements, or without memory.

    Raises:
        ComprehensionInputError: there is one.
    """
    for param, tensor in zip(definition.params, tensors, strict=True):
        what = f"input '{param.name}' of '{definition.name}'"
        if tensor.numel() == 0:
            raise ComprehensionInputError(
                f"{what} has no elements, so that there is nothing to time",
                where="autotune",
                got=tuple(tensor.shape),
                fix=_NOTHING,
            )
        if type(tensor) not in PLAIN or tensor.is_meta:
            raise ComprehensionInputError(
                f"{what} is no plain tensor, so that there is nothing to time",
                where="autotune",
                got="a tensor on meta" if tensor.is_meta else type(tensor).__name__,
                fix="Tune on real tensors, outside of FakeTensorMode, and call the layer there then.",
            )
