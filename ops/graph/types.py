"""The types of values in a graph: tensors with symbolic sizes, Python scalars, and strings.

They are plain frozen data, know nothing of bytes, and must not import torch: the command line reads archives
without it. A type documents a value and is checked at the borders (pipeline inputs, op inputs); inside a graph
torch itself is the judge of shapes.
"""

from __future__ import annotations

from typing import Any

from .frozen_class import frozen

Dim = int | str
"""A fixed size, or an expression over symbols such as ``"N"`` or ``"2*N + 1"``."""

# torch's name -> the short name of the text form. The order is that of the archive format: append only.
DTYPES: dict[str, str] = {
    "float32": "f32",
    "float64": "f64",
    "float16": "f16",
    "bfloat16": "bf16",
    "int8": "i8",
    "int16": "i16",
    "int32": "i32",
    "int64": "i64",
    "uint8": "u8",
    "uint16": "u16",
    "uint32": "u32",
    "uint64": "u64",
    "bool": "bool",
    "complex32": "c32",
    "complex64": "c64",
    "complex128": "c128",
    "float8_e4m3fn": "f8e4m3fn",
    "float8_e4m3fnuz": "f8e4m3fnuz",
    "float8_e5m2": "f8e5m2",
    "float8_e5m2fnuz": "f8e5m2fnuz",
    "float8_e8m0fnu": "f8e8m0fnu",
}


@frozen
class TensorType:
    """A tensor of a dtype (torch's name, ``"float32"``) and a shape."""

    dtype: str
    shape: tuple[Dim, ...]

    def __str__(self) -> str:
        return f"{DTYPES.get(self.dtype, self.dtype)}[{','.join(map(str, self.shape))}]"


@frozen
class ScalarType:
    """A value that is decided at run time: int, float, bool, complex, str, strings, array (of numpy), or any."""

    kind: str

    def __str__(self) -> str:
        return self.kind


@frozen
class ListType:
    """A list of any length, whose items are all of one type.

    Attributes:
        item: a type, or a tuple or dict of them for items that are tuples or dicts; sizes of tensors are ``"?"``, or
            numbers that each item must have.
    """

    item: Any

    @property
    def kind(self) -> str:
        """Always ``"list"``."""
        return "list"

    def __hash__(self) -> int:
        return hash(str(self))

    def __str__(self) -> str:
        return f"list[{_written(self.item)}]"


def _written(item: Any) -> str:
    match item:
        case dict():
            return "{" + ", ".join(f"{key!r}: {_written(part)}" for key, part in item.items()) + "}"
        case tuple():
            return f"({', '.join(map(_written, item))})"
    return str(item)


Type = TensorType | ScalarType | ListType

INT, FLOAT, BOOL, COMPLEX = ScalarType("int"), ScalarType("float"), ScalarType("bool"), ScalarType("complex")
STR, STRINGS, ARRAY, ANY = ScalarType("str"), ScalarType("strings"), ScalarType("array"), ScalarType("any")
SCALARS: dict[type, ScalarType] = {int: INT, float: FLOAT, bool: BOOL, complex: COMPLEX, str: STR}
