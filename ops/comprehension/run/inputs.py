"""The inputs of a call as the tensors that a definition takes, and tensors of the caller's to write results into."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..expr.dtypes import stored
from ..expr.errors import ComprehensionInputError
from ..expr.ir import Definition, Program, TensorSpec
from .plan import Plan
from .tensor_guards import readable


def ordered(definition: Definition, inputs: Sequence[Any], named: Mapping[str, Any]) -> tuple[Any, ...]:
    """All inputs in the order of the parameters, of which the last ones may be given by name.

    Raises:
        ComprehensionInputError: a name is no parameter's, or its parameter is given twice, or one is missing.
    """
    name, names = definition.name, [p.name for p in definition.params]
    for given in named:
        if given not in names:
            raise ComprehensionInputError(f"'{name}' has no input '{given}'", expected=names)
        if given in names[: len(inputs)]:
            raise ComprehensionInputError(f"input '{given}' of '{name}' is given twice")
    missing = [n for n in names[len(inputs) :] if n not in named]
    if missing:
        raise ComprehensionInputError(f"input '{missing[0]}' of '{name}' is missing", expected=names)
    return (*inputs, *(named[n] for n in names[len(inputs) :]))


def check_inputs(definition: Definition, inputs: Sequence[Any]) -> list[torch.Tensor]:
    """The inputs as tensors of the definition's types on one device; shapes are left to the plan.

    Raises:
        ComprehensionInputError: another number of inputs, or one of another type or device.
    """
    params = definition.params
    if len(inputs) != len(params):
        raise ComprehensionInputError(
            f"'{definition.name}' takes {len(params)} inputs", got=len(inputs), expected=[p.name for p in params]
        )
    tensors = [_tensor(given, param, definition.name) for given, param in zip(inputs, params, strict=True)]
    return _on_one_device(tensors, definition.name)


def _tensor(given: Any, param: TensorSpec, name: str) -> torch.Tensor:
    """One input; a parameter without dimensions also takes a number."""
    dtype = stored(param.dtype)
    if isinstance(given, np.ndarray):
        given = _from_numpy(given, param, name)
    if not isinstance(given, torch.Tensor):
        return _from_number(given, param, name)
    if given.layout is not torch.strided or given.is_nested:
        raise ComprehensionInputError(
            f"input '{param.name}' of '{name}' is no dense tensor", got=_layout(given), fix="Give x.to_dense()."
        )
    if given.dtype != dtype:
        raise ComprehensionInputError(
            f"input '{param.name}' of '{name}' has another type", got=given.dtype, expected=dtype
        )
    return given


def _from_number(given: Any, param: TensorSpec, name: str) -> torch.Tensor:
    given = given.item() if isinstance(given, np.generic) else given
    where, dtype = f"input '{param.name}' of '{name}'", stored(param.dtype)
    if param.dims or not isinstance(given, (bool, int, float)):
        raise ComprehensionInputError(f"{where} is no tensor", got=type(given).__name__)
    if isinstance(given, float) and not param.dtype.is_float:
        raise ComprehensionInputError(f"{where} is no {param.dtype}", got=given)
    try:
        return torch.tensor(given, dtype=dtype)
    except (RuntimeError, OverflowError) as error:
        raise ComprehensionInputError(f"{where} does not fit into {param.dtype}", got=given) from error


def as_tensors(inputs: Sequence[Any], dtypes: Sequence[torch.dtype]) -> list[Any]:
    """Arrays and numbers as tensors, without a look at their values, shapes and types."""
    inputs = [_shared(t) if isinstance(t, np.ndarray) else t for t in inputs]
    pairs = zip(inputs, dtypes, strict=False)
    tensors = [t if isinstance(t, torch.Tensor) else torch.tensor(t, dtype=d) for t, d in pairs]
    return [*tensors, *inputs[len(tensors) :]]


def _layout(given: torch.Tensor) -> str:
    return "a nested tensor" if given.is_nested else str(given.layout)


def _from_numpy(array: np.ndarray[Any, Any], param: TensorSpec, name: str) -> torch.Tensor:
    try:
        return _shared(array)
    except TypeError as error:
        raise ComprehensionInputError(
            f"input '{param.name}' of '{name}' has another type", got=array.dtype, expected=stored(param.dtype)
        ) from error


def _shared(array: np.ndarray[Any, Any]) -> torch.Tensor:
    """The array's memory as a tensor where torch can, else a copy."""
    if not issubclass(type(array), np.ndarray):  # a recorder's stand-in for one, of which nothing may be read
        return torch.from_numpy(array)
    try:
        return torch.from_numpy(array if array.flags.writeable and min(array.strides, default=0) >= 0 else array.copy())
    except ValueError:  # bytes in another order, or fields of records
        return torch.from_numpy(array.astype(array.dtype.newbyteorder("=")))


def _on_one_device(tensors: list[torch.Tensor], name: str) -> list[torch.Tensor]:
    """Tensors without dimensions go where the others are."""
    devices = {t.device for t in tensors}
    if len(devices) <= 1:
        return tensors
    shaped = {t.device for t in tensors if t.dim()}
    if len(shaped) > 1:
        raise _on_several(devices, name)
    return [t.to(next(iter(shaped or devices))) for t in tensors]


def refuse_several_devices(tensors: Sequence[torch.Tensor], name: str) -> None:
    """Refuses tensors on several devices where nothing is computed: for one on meta beside others torch asks for sizes.

    Raises:
        ComprehensionInputError: they are.
    """
    devices = {t.device for t in tensors if t.dim() or t.is_meta}  # a number goes where the others are
    if len(devices) > 1:
        raise _on_several(devices, name)


def _on_several(devices: set[torch.device], name: str) -> ComprehensionInputError:
    return ComprehensionInputError(f"the inputs of '{name}' are on several devices", got=sorted(map(str, devices)))


def refuse_missing_contents(program: Program, name: str) -> None:
    """Refuses a call without `outputs=` of a program that accumulates into what they hold.

    Raises:
        ComprehensionInputError: it does.
    """
    if program.contents:
        raise ComprehensionInputError(
            f"'{program.contents[0].split('@')[0]}' is accumulated into and has no contents",
            where=name,
            fix="Give its contents with outputs=, or write the form with '!'.",
        )


def run_into(
    plan: Plan, definition: Definition, tensors: Sequence[torch.Tensor], given: Sequence[torch.Tensor]
) -> None:
    """Runs a plan and writes its results into the tensors given, which are read first where they are contents.

    Raises:
        ComprehensionInputError: one is no tensor, has another shape or type than its result, shares memory between its
            elements, or requires a gradient.
    """
    p, name = plan.program, definition.name
    if not all(isinstance(t, torch.Tensor) for t in given):
        raise ComprehensionInputError("outputs= are no tensors", where=name, got=[type(t).__name__ for t in given])
    if torch.is_grad_enabled() and any(t.requires_grad for t in (*tensors, *given)):
        raise ComprehensionInputError("outputs= has no gradient", where=name, fix="Call under torch.no_grad().")
    kinds = [p.tensors[o] for o in p.outputs]
    if [(tuple(t.shape), t.dtype) for t in given] != [(k.shape, stored(k.dtype)) for k in kinds]:
        raise ComprehensionInputError(
            "outputs= do not fit",
            where=name,
            got=[(tuple(t.shape), t.dtype) for t in given],
            expected=[(k.shape, k.dtype.name) for k in kinds],
        )
    if any(torch._debug_has_internal_overlap(target) == 1 for target in given):
        raise ComprehensionInputError(
            "elements of outputs= share memory, so that they cannot be written one by one",
            where=name,
            got=[t.stride() for t in given],
            fix="Pass a clone.",
        )
    names = [r.name for r in definition.returns]
    contents = [readable(given[names.index(c.split("@")[0])]) for c in p.contents]
    results = plan.forward([readable(t) for t in tensors], contents)
    for target, result in zip(given, results, strict=True):
        target.copy_(result)
