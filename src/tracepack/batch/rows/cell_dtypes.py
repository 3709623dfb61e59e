"""What the cells of columns are to the inputs that take them, so that CSV is read as these want it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...ops.graph.types import ScalarType, TensorType, Type
from ...pipeline.pipeline import Pipeline
from ...pipeline.signature.feeds import plain_name

_CELLS = {"int": "int64", "float": "float64", "bool": "bool", "str": "str", "strings": "str"}


def wanted_dtypes(pipeline: Pipeline, named: Mapping[str, str | Sequence[str]]) -> dict[str, str]:
    """The columns that inputs take, whether the source has them or not, with the dtypes of numbers, "bool" or "str"."""
    parameters = pipeline.program.parameters
    found: dict[str, str] = {}
    for full, kind in zip(parameters.names, parameters.types, strict=True):
        dtype = _dtype_of_cells(kind)
        given = named.get(plain_name(full), plain_name(full))
        if dtype:
            found.update(dict.fromkeys((given,) if isinstance(given, str) else given, dtype))
    return found


def _dtype_of_cells(kind: Type) -> str:
    """What one cell of a column is to an input; empty where it may be several things."""
    match kind:
        case TensorType(dtype):
            return dtype
        case ScalarType(scalar):
            return _CELLS.get(scalar, "")
    return ""
