"""The gradients of outputs that a named backward takes, checked before anything reads them.

Generated code reads tensors by address and knows neither their number nor their sizes. The definition of a backward and
the function that reorders gradients are the user's, and the latter may give other gradients at each call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn

import torch

from ..expr.dtypes import stored
from ..expr.errors import DerivativeError
from ..expr.ir import Definition, Program, TensorSpec


@dataclass(frozen=True)
class Taken:
    """The gradients that a named backward takes.

    Attributes:
        backward: its definition.
        params: the parameters behind those of the forward.
        shapes: of each, where they are known.
    """

    backward: Definition
    params: tuple[TensorSpec, ...]
    shapes: tuple[tuple[int, ...], ...] | None = None

    def check(self, given: object, device: torch.device | str) -> list[torch.Tensor]:
        """What a reorder_function gave, as a list of these gradients.

        Raises:
            DerivativeError: they are more or fewer, or of other types, sizes or devices.
        """
        if not isinstance(given, list | tuple):
            self._refuse(_shown(given))
        if len(given) != len(self.params):
            self._refuse(f"{len(given)} of them")
        for number, (tensor, param) in enumerate(zip(given, self.params, strict=True)):
            if not isinstance(tensor, torch.Tensor) or tensor.layout is not torch.strided or tensor.is_nested:
                self._refuse(f"{_shown(tensor)} for '{param.name}'")
            shape = tuple(tensor.shape) if self.shapes is None else self.shapes[number]
            if (tuple(tensor.shape), tensor.dtype) != (shape, stored(param.dtype)):
                self._refuse(f"{_shown(tensor)} for '{param.name}'", f", here {stored(param.dtype)} {shape}")
            if tensor.device != torch.device(device):
                self._refuse(f"a tensor on {tensor.device} for '{param.name}'", f", on {device}")
        return list(given)

    def _refuse(self, got: str, more: str = "") -> NoReturn:
        raise _refused(self.backward, self.params, got, more)


def reorderable(backward: Definition | None, name: str) -> Definition:
    """The named backward of a layer that gradients are to be reordered for.

    Raises:
        DerivativeError: it has none.
    """
    if backward is None:
        raise DerivativeError(f"'{name}' has no backward to reorder gradients for", fix="Name it: backward=.")
    return backward


def check_count(backward: Definition, inputs: int, reordered: Sequence[str]) -> None:
    """Refuses a selection of more or fewer gradients than a backward takes.

    Raises:
        DerivativeError: it is one.
    """
    params = backward.params[inputs:]
    if len(params) != len(reordered):
        raise _refused(backward, params, f"{len(reordered)} of them, of {list(reordered)}", "")


def _refused(backward: Definition, params: Sequence[TensorSpec], got: str, more: str) -> DerivativeError:
    names = ", ".join(f"'{p.name}'" for p in params)
    return DerivativeError(
        f"the reorder_function does not give what the backward '{backward.name}' takes",
        at=backward.place,
        got=got,
        expected=f"a list of {len(params)}: {names or 'no gradient'}{more}",
        fix="Return the gradients that it takes, in its order, out of those that are given: lambda g: [g[0]].",
    )


def _shown(given: object) -> str:
    if isinstance(given, torch.Tensor):
        return f"a tensor {given.dtype} {tuple(given.shape)}"
    return type(given).__name__


def check_types(backward: Definition, forward: Sequence[TensorSpec], seeds: Sequence[torch.dtype]) -> None:
    """Refuses a backward that reads an input, or the gradient of an output of floats, as another type.

    Raises:
        DerivativeError: it does.
    """
    dtypes = [*(stored(param.dtype) for param in forward), *seeds]
    for param, dtype in zip(backward.params, dtypes, strict=True):
        own = stored(param.dtype)
        if own != dtype and not _is_zero(param, len(forward), backward, dtype):
            raise DerivativeError(
                f"the backward '{backward.name}' takes '{param.name}' as another type",
                at=param.place,
                got=own,
                expected=dtype,
                fix="Write the type that the forward has.",
            )


def _is_zero(param: TensorSpec, inputs: int, backward: Definition, dtype: torch.dtype) -> bool:
    """Whether it is the gradient of integers: zeros, which any type can hold."""
    return not dtype.is_floating_point and param in backward.params[inputs:]


def _sparse(tensor: torch.Tensor) -> tuple[torch.layout, ...]:
    return () if tensor.layout is torch.strided else (tensor.layout,)


def check_wanted(wanted: Sequence[int], definition: Definition) -> None:
    """Refuses the place of a gradient that is none of an input's.

    Raises:
        DerivativeError: it is.
    """
    lost = [i for i in wanted if not 0 <= i < len(definition.params)]
    if lost:
        expected = f"0 to {len(definition.params) - 1}"
        raise DerivativeError("an input has no such place", where=definition.name, got=lost[0], expected=expected)


def check_gradients(program: Program, gradients: Sequence[torch.Tensor], seeds: Sequence[int], name: str) -> None:
    """Refuses gradients that are not dense or not of the outputs' types and sizes.

    Args:
        program: the forward.
        gradients: one for each output.
        seeds: the places of those that are read.
        name: of the layer.

    Raises:
        DerivativeError: they are not.
    """
    kinds = [program.tensors[o] for o in program.outputs]
    got: list[tuple[object, ...]] = [(tuple(g.shape), g.dtype, *_sparse(g)) for g in gradients]
    fits = len(got) == len(kinds) and all(got[i] == (kinds[i].shape, stored(kinds[i].dtype)) for i in seeds)
    if not fits:
        expected = [(k.shape, stored(k.dtype)) for k in kinds]
        raise DerivativeError("the gradients are not those of the outputs", where=name, got=got, expected=expected)
