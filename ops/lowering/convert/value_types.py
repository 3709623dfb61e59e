"""The types of the results of torch's fx nodes: dtypes by name, shapes over our symbols."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch

from ...graph.errors import LoweringError
from ...graph.graph import Value
from ...graph.types import ANY, BOOL, DTYPES, FLOAT, INT, TensorType, Type
from ..sizes import over_letters


def dtype_name(dtype: torch.dtype) -> str:
    """The name of a dtype of the IR.

    Raises:
        LoweringError: the IR has no such dtype.
    """
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise LoweringError(f"tensors of dtype {name} cannot be packed", expected=", ".join(DTYPES))
    return name


def output_values(value: Any, letters: Mapping[str, str | int]) -> Any:
    """Values for the result of a node, in a tree of the same structure."""
    if isinstance(value, tuple | list):
        return tuple(output_values(item, letters) for item in value)
    return None if value is None else Value(value_type(value, letters))


def value_type(value: Any, letters: Mapping[str, str | int]) -> Type:
    """The type of a fake tensor or a symbolic number of torch.export, with sizes over our symbols."""
    match value:
        case torch.Tensor():
            shape = tuple(s if isinstance(s, int) else over_letters(str(s), letters) for s in value.shape)
            return TensorType(dtype_name(value.dtype), shape)
        case bool() | torch.SymBool():
            return BOOL
        case int() | torch.SymInt():
            return INT
        case float() | torch.SymFloat():
            return FLOAT
    return ANY
