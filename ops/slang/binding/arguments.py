"""Turns what a user passes (tensors, numpy arrays, numbers, sequences, dicts, dataclasses, grids) into slots.

A call is resolved once for each combination of argument types and dtypes: which overload, which concrete types,
which kind each argument has. Later calls of the same form only flatten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ..language.dtypes import BOUNDS, SCALARS
from ..language.errors import SlangArgumentError, SlangDtypeError
from ..language.specialization import ArgumentKind, Specialization
from ..language.types import FLOATS, FunctionType, Parameter, SlangType, field_names
from .grid import grid, grid_shape, index_tensor
from .instances import TYPE, SlangInstance, fields_of, struct_name, unknown_fields

_WHOLE = (bool, int, np.integer, np.bool_)
_PLAIN_NUMBERS = (bool, int, float)
_NUMBERS = (bool, int, float, np.integer, np.floating, np.bool_, torch.SymInt, torch.SymFloat)


def kind_of(value: Any) -> Any:
    """The part of a value that decides how a call is resolved: a tensor's dtype, else the Python type."""
    if isinstance(value, (torch.Tensor, np.ndarray)):
        return value.dtype
    if isinstance(value, Mapping):
        return (dict, value.get(TYPE), _kinds_of(value))
    if isinstance(value, SlangInstance):
        return (SlangInstance, value.slang_type.name, _kinds_of(fields_of(value)))
    if isinstance(value, torch.SymInt):
        return int
    return type(value)


def _kinds_of(fields: Any) -> tuple[tuple[str, Any], ...]:
    return tuple([(key, kind_of(each)) for key, each in fields.items() if key != TYPE])


def deciding_sizes(function: FunctionType) -> int:
    """The number of last sizes that can decide a generic type."""
    if not function.generic:
        return 0
    names = [parameter.type.name for parameter in function.parameters]
    return 2 if any("matrix<" in name for name in names) else int(any("vector<" in name for name in names))


def sized_kind_of(value: Any, sizes: int) -> Any:
    """`kind_of` with the sizes that can decide a generic type."""
    kind = kind_of(value)
    return (kind, *map(int, value.shape[-sizes:])) if sizes and is_tensor_like(value) else kind


def stand_in(kind: Any) -> Any:
    """An example value of a kind of `sized_kind_of`, to resolve a call; None where the kind does not determine one."""
    match kind:
        case (torch.dtype() as dtype, *sizes):
            return torch.empty(sizes, dtype=dtype, device="meta")
        case torch.dtype() as dtype:
            return torch.empty(0, dtype=dtype, device="meta")
        case (type() as told, struct, tuple() as items):
            values = {key: stand_in(each) for key, each in items}
            if told is SlangInstance or any(each is None for each in values.values()):
                return None
            return {**values, TYPE: struct} if struct else values
    if kind is grid:
        return grid(())
    return kind() if kind in (*_PLAIN_NUMBERS, tuple, list) else None


def is_tensor_like(value: Any) -> bool:
    """Whether a value is an array of some library."""
    return isinstance(value, (torch.Tensor, np.ndarray))


def bind(function: FunctionType, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The argument of each parameter; `out` parameters may be left out.

    Raises:
        SlangArgumentError: too many, unknown, repeated or missing arguments.
    """
    names = [parameter.name for parameter in function.parameters]
    if len(args) > len(names):
        raise SlangArgumentError(
            "too many arguments", where=str(function), got=len(args), expected=f"at most {len(names)}"
        )
    bound = dict(zip(names, args, strict=False))
    for name, value in kwargs.items():
        if name not in names:
            raise SlangArgumentError(f"no parameter {name!r}", where=str(function), expected=f"one of {names}")
        if name in bound:
            raise SlangArgumentError(f"parameter {name!r} was given twice", where=str(function))
        bound[name] = value
    for parameter in function.parameters:
        optional = parameter.direction == "out" and parameter.type.kind != "view"
        if parameter.name not in bound and not optional:
            fix = (
                "A tensor that the function writes must be passed, its size cannot be known."
                if _written(parameter)
                else "A default of the Slang source is not used: pass the number."
                if parameter.has_default
                else ""
            )
            raise SlangArgumentError(f"parameter {parameter.name!r} is missing", where=str(function), fix=fix)
    return bound


def _written(parameter: Parameter) -> bool:
    return parameter.type.kind == "view" and "w" in parameter.type.access


def check_result(function: FunctionType) -> None:
    """Refuses a function whose result no torch tensor can hold, and a generic one whose types no call has told.

    Raises:
        SlangArgumentError: it is one.
    """
    if function.generic:
        raise SlangArgumentError(
            f"the generic function {function.name!r} has no kernel before its types are known",
            where=str(function),
            fix=f'Name them, `module["{function.name}<float>"]`, or call the function itself.',
        )
    result = function.result
    if result.kind in ("opaque", "view") or (result.kind == "struct" and not any(result.leaves())):
        raise SlangArgumentError(
            f"{function.name!r} returns {result.name}, for which there is no torch tensor",
            where=str(function),
            fix="Return a scalar, vector, matrix, array or a struct of them, or write to `out` parameters.",
        )


def argument_kind(function: FunctionType, parameter: Parameter, bound: Mapping[str, Any]) -> ArgumentKind:
    """The kind of one argument, which a specialization fixes.

    Raises:
        SlangArgumentError: the parameter's type cannot be given from Python.
    """
    if parameter.type.kind == "opaque":
        raise SlangArgumentError(
            f"parameter {parameter.name!r} has the type {parameter.type.name}, which takes no torch tensor",
            where=str(function),
            fix="Use scalars, vectors, matrices, arrays, structs of them, or SlangPy's tensor types; "
            "for an interface pass an instance of a struct, module.P(...).",
        )
    if parameter.direction == "out" and parameter.type.kind != "view":
        return "absent"
    value = bound[parameter.name]
    unknown = unknown_fields(parameter.type, value) if isinstance(value, Mapping) else []
    if unknown:
        raise SlangArgumentError(
            f"{parameter.type.name!r} has no field {unknown[0]!r}",
            where=str(function),
            got=_shown(value),
            expected=[field.name for field in parameter.type.fields],
        )
    return "value" if parameter.type.kind == "scalar" and isinstance(value, _NUMBERS) else "tensor"


def argument_type_name(function: FunctionType, parameter: Parameter, value: Any) -> str:
    """The Slang type by which a generic function is specialized for a value."""
    if parameter.type.kind != "opaque":
        return parameter.type.name
    declared = parameter.type.name
    if name := struct_name(value):
        return name
    if isinstance(value, _NUMBERS) and not is_tensor_like(value):
        return "bool" if isinstance(value, bool) else "int" if isinstance(value, _WHOLE) else "float"
    if isinstance(value, np.ndarray):
        value = torch.from_numpy(value)
    if not isinstance(value, torch.Tensor) or value.dtype not in SCALARS:
        raise SlangArgumentError(
            f"no type for the generic parameter {parameter.name!r}",
            where=str(function),
            got=_shown(value),
            fix=f"Pass module.P(...) for a struct P, or name the types: module['{function.name}<P>']."
            if isinstance(value, Mapping)
            else "",
        )
    scalar = SCALARS[value.dtype]
    if declared.startswith("vector<"):
        return f"vector<{scalar},{value.shape[-1]}>"
    if declared.startswith("matrix<"):
        return f"matrix<{scalar},{value.shape[-2]},{value.shape[-1]}>"
    return scalar


def fits(function: FunctionType, bound: Mapping[str, Any]) -> bool:
    """Whether an overload takes these arguments, by their dtypes."""
    return all(
        _fits(parameter.type, bound[parameter.name]) for parameter in function.parameters if parameter.name in bound
    )


def _fits(type_: SlangType, value: Any) -> bool:
    if fields_of(value) is not None:
        return type_.kind == "opaque" or (type_.kind == "struct" and struct_name(value) in ("", type_.name))
    if isinstance(value, torch.Tensor):
        return type_.kind == "opaque" or (type_.scalar != "" and type_.dtype == value.dtype)
    if isinstance(value, np.ndarray):
        return type_.kind == "opaque" or (type_.scalar != "" and _numpy_dtype(value) == type_.dtype)
    if isinstance(value, _WHOLE):
        return type_.kind == "scalar" and type_.scalar not in FLOATS
    if isinstance(value, _NUMBERS):
        return type_.kind == "scalar" and type_.scalar in FLOATS
    return True


def _numpy_dtype(array: Any) -> torch.dtype | None:
    try:
        return torch.from_numpy(np.empty(0, array.dtype)).dtype
    except (TypeError, ValueError):  # no type of torch's, or another order of bytes
        return None


def flatten_argument(
    function: FunctionType, parameter: Parameter, kind: ArgumentKind, value: Any, device: torch.device | None
) -> list[Any]:
    """One number or tensor for each slot of an argument.

    Raises:
        SlangArgumentError: the value's structure is not that of the type.
    """
    if kind == "value":
        return [_number(function, parameter, value)]
    name = parameter.name
    if parameter.type.kind != "struct":
        return [_tensor(function, name, parameter.type, value, device)]
    return [
        _tensor(function, name + leaf.path, leaf.type, _field(function, name, value, leaf.path), device)
        for leaf in parameter.type.leaves()
    ]


def _number(function: FunctionType, parameter: Parameter, value: Any) -> Any:
    scalar = parameter.type.scalar
    if type(value) not in _PLAIN_NUMBERS and not isinstance(value, (np.generic, bool)):
        return value  # the number is a symbolic size of torch or of a recording
    if scalar == "bool":
        return bool(value)
    if scalar in FLOATS:
        return float(value)
    if isinstance(value, (float, np.floating)) and not float(value).is_integer():
        raise SlangDtypeError(
            f"the number for {parameter.name!r} is not whole", where=str(function), got=value, expected=scalar
        )
    check_range(function, parameter.name, scalar, int(value))
    return int(value)


def check_range(function: FunctionType, name: str, scalar: str, value: int) -> None:
    """Refuses a number that the Slang integer cannot hold.

    Raises:
        SlangDtypeError: it is too small or too large.
    """
    lowest, highest = BOUNDS[scalar]
    if not lowest <= value <= highest:
        raise SlangDtypeError(
            f"the number for {name!r} does not fit",
            where=str(function),
            got=value,
            expected=f"{scalar}, {lowest} to {highest}",
        )


def check_numbers(spec: Specialization, arguments: Sequence[Any]) -> None:
    """Refuses numbers of slots that do not fit, as a pipeline's sizes and inputs may be."""
    for index, scalar in spec.integers:
        check_range(spec.function, spec.slot_name(index), scalar, arguments[index])


def _field(function: FunctionType, name: str, value: Any, path: str) -> Any:
    """The value at a path such as `.a.b` in a dict, a dataclass or an object."""
    at = name
    for part in field_names(path):
        fields = fields_of(value)
        if fields is None or part not in fields:
            raise SlangArgumentError(
                f"{at!r} has no field {part!r}",
                where=str(function),
                got=_shown(value),
                expected=f"a dict or a dataclass with {name}{path}",
            )
        value = fields[part]
        at = f"{at}.{part}"
    return value


def _shown(value: Any) -> str:
    return f"a dict of {sorted(map(str, value))}" if isinstance(value, Mapping) else type(value).__name__


def _has_fractions(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_has_fractions, value))
    return isinstance(value, (float, np.floating)) and not float(value).is_integer()


def _tensor(function: FunctionType, name: str, type_: SlangType, value: Any, device: torch.device | None) -> Any:
    if isinstance(value, torch.Tensor):
        return value
    shape = grid_shape(value)
    if shape is not None:
        return index_tensor(shape, type_, device)
    if isinstance(value, np.ndarray):
        if _numpy_dtype(value) is None:
            raise SlangDtypeError(
                f"the array for {name!r} has the wrong dtype",
                where=str(function),
                got=value.dtype,
                expected=type_.scalar,
            )
        whole = np.ascontiguousarray(value)
        found = torch.from_numpy(whole if whole.flags.writeable else whole.copy())  # torch warns of a read-only one
        return found if device is None else found.to(device)
    if isinstance(value, (*_NUMBERS, list, tuple)):
        try:
            found = torch.tensor(value, dtype=type_.dtype, device=device)
            if type_.scalar in BOUNDS and _has_fractions(value):
                raise ValueError("numbers that are not whole")
            return found
        except (OverflowError, RuntimeError, TypeError, ValueError) as error:
            raise SlangArgumentError(
                f"no tensor can be made for {name!r}", where=str(function), got=error, expected=type_.name
            ) from None
        except AttributeError:  # torch's, for a number of a recording
            raise SlangArgumentError(
                f"the number for {name!r} is decided at run time",
                where=str(function),
                expected="a tensor for a field of a struct",
            ) from None
    raise SlangArgumentError(
        f"parameter {name!r} cannot take this",
        where=str(function),
        got=type(value).__name__,
        expected=f"a tensor, an array or a number for {type_.name}",
    )
