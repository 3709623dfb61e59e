"""Chooses the overload of a function for the arguments of a call, and makes its generic types concrete."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..language.errors import SlangArgumentError
from ..language.types import FunctionType, Parameter, SlangType
from .arguments import argument_type_name, bind, fits, kind_of
from .grid import grid_shape, index_tensor
from .instances import SlangInstance, struct_name

Specialize = Callable[[str, Sequence[str]], FunctionType | None]
_AXES = 64
"""The most axes of a tensor, for torch."""
TypeNamed = Callable[[str], SlangType | None]
Chosen = tuple[FunctionType, dict[str, Any]]


def choose(
    signatures: Sequence[FunctionType],
    args: Sequence[Any],
    kwargs: Mapping[str, Any],
    specialize: Specialize,
    type_named: TypeNamed,
) -> Chosen:
    """The concrete overload that takes these arguments, and the argument of each of its parameters.

    Args:
        signatures: the overloads.
        args: by position.
        kwargs: by name.
        specialize: returns the signature of a generic function, by its name, for the types of its arguments.
        type_named: returns a struct by its name.

    Raises:
        SlangArgumentError: no overload takes the arguments.
    """
    overloads = signatures
    if len(overloads) > 1:
        fitting = [each for each in overloads if _binds(each, args, kwargs)]
        if not fitting:
            raise SlangArgumentError(
                f"no overload of {signatures[0].name!r} takes these arguments",
                where=" | ".join(map(str, overloads)),
                got=", ".join(str(kind_of(each)) for each in (*args, *kwargs.values())),
            )
        overloads = (fitting[0],)
    function = overloads[0]
    bound = bind(function, args, kwargs)
    if function.generic:
        return _concrete(function, bound, specialize), bound
    return _of_instances(function, bound, type_named), bound


def _of_instances(function: FunctionType, bound: Mapping[str, Any], type_named: TypeNamed) -> FunctionType:
    """The function with the passed struct as type where it takes an interface; Slang converts between them."""
    if all(parameter.type.kind != "opaque" for parameter in function.parameters):
        return function
    parameters = tuple(
        _of_instance(parameter, bound.get(parameter.name), type_named) for parameter in function.parameters
    )
    return replace(function, parameters=parameters)


def _of_instance(parameter: Parameter, value: Any, type_named: TypeNamed) -> Parameter:
    if parameter.type.kind != "opaque":
        return parameter
    name = struct_name(value)
    found = value.slang_type if isinstance(value, SlangInstance) else type_named(name) if name else None
    return parameter if found is None else replace(parameter, type=found, differentiable=found.differentiable)


def _binds(function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> bool:
    try:
        return fits(function, bind(function, args, kwargs))
    except SlangArgumentError:
        return False


def _concrete(function: FunctionType, bound: Mapping[str, Any], specialize: Specialize) -> FunctionType:
    names = [argument_type_name(function, each, bound.get(each.name)) for each in function.parameters]
    found = specialize(function.name, names)
    if found is None:
        raise SlangArgumentError(
            f"the generic function {function.name!r} does not take these types",
            where=str(function),
            got=", ".join(names),
        )
    return found


def _as_tensor(function: FunctionType, name: str, type_: SlangType, bound: Mapping[str, Any]) -> torch.Tensor:
    """The tensor that a map moves: an argument as it is, or the positions of a grid."""
    if name not in bound:
        raise SlangArgumentError(f"parameter {name!r} has a map, and was not passed", where=str(function))
    shape = grid_shape(bound[name])
    if shape is not None:
        return index_tensor(shape, type_, next((v.device for v in bound.values() if isinstance(v, torch.Tensor)), None))
    try:
        return torch.as_tensor(bound[name])
    except (RuntimeError, TypeError, ValueError):
        raise SlangArgumentError(
            f"the axes of {name!r} cannot be mapped",
            where=str(function),
            got=type(bound[name]).__name__,
            expected="a tensor, an array or a number",
        ) from None


def check_maps(function: FunctionType, maps: Mapping[str, Any]) -> None:
    """Refuses a map that does not give each axis of an argument a place of its own.

    Raises:
        SlangArgumentError: it does not.
    """
    for name, axes in maps.items():
        is_list = isinstance(axes, (tuple, list)) and all(type(axis) is int and 0 <= axis < _AXES for axis in axes)
        if not is_list or len(set(axes)) != len(axes):
            raise SlangArgumentError(
                f"the map of {name!r} places no axes",
                where=str(function),
                got=repr(axes),
                expected="a different axis of the call for each axis of the argument, (0,) or (1, 0)",
            )


def place_axes(chosen: Chosen, maps: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """The arguments of a mapped call with their axes moved as the map says, so that they broadcast as in a plain call.

    Args:
        chosen: the result of `choose`.
        maps: parameter -> for each of its own axes the axis of the call.

    Raises:
        SlangArgumentError: a map has another number of axes than its argument.
    """
    function, bound = chosen
    rank = 1 + max([-1, *(axis for axes in maps.values() for axis in axes)])  # which torch.compile takes
    types = {parameter.name: parameter.type for parameter in function.parameters}
    for name, axes in maps.items():
        own = len(types[name].shape) + types[name].rank
        tensor = _as_tensor(function, name, types[name], bound)
        if tensor.dim() - own != len(axes):
            raise SlangArgumentError(
                f"the map of {name!r} has {len(axes)} axes", where=str(function), expected=tensor.dim() - own
            )
        order = sorted(range(len(axes)), key=axes.__getitem__)
        moved = tensor.permute(*order, *range(len(axes), tensor.dim()))
        bound[name] = moved[tuple(slice(None) if axis in axes else None for axis in range(rank))]
    return bound
