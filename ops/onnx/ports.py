"""Ports: the inputs and outputs of an ONNX model, with their names, dtypes and shapes."""

from __future__ import annotations

from dataclasses import dataclass

from ..graph.errors import GraphError

TEXT = "str"
"""The dtype of strings."""
UNKNOWN = "unknown_category"
"""What the nodes are called that refuse a category; see `exact_steps`."""

_DTYPES = {
    "float": "float32", "double": "float64", "float16": "float16", "bfloat16": "bfloat16", "int8": "int8",
    "int16": "int16", "int32": "int32", "int64": "int64", "uint8": "uint8", "uint16": "uint16", "uint32": "uint32",
    "uint64": "uint64", "bool": "bool", "string": TEXT,
}  # fmt: skip
"""The names of element types in ONNX Runtime -> those of torch."""


@dataclass(frozen=True)
class Port:
    """One input or output.

    Attributes:
        name: its name in the model.
        dtype: torch's name of the dtype, or ``"str"``.
        shape: a number, a name, or None for each dimension; None where the model does not say how many there are.
    """

    name: str
    dtype: str
    shape: tuple[int | str | None, ...] | None


def port(name: str, kind: str, shape: list[int | str | None], where: str) -> Port:
    """The port that ONNX Runtime describes.

    Args:
        name: its name.
        kind: ``"tensor(float)"`` for example.
        shape: empty for a scalar, and where it is not known.
        where: the op, for messages.

    Raises:
        GraphError: it is no tensor, or of a dtype that torch lacks.
    """
    dtype = _DTYPES.get(kind.removeprefix("tensor(").removesuffix(")"))
    if dtype is None or not kind.startswith("tensor("):
        fix = "Convert the classifier with zipmap=False." if "map(" in kind else ""
        raise GraphError("no tensor, or of a dtype that torch lacks", where=f"{where}, {name!r}", got=kind, fix=fix)
    return Port(name, dtype, tuple(shape) or None)
