"""What a type of Arrow's is to an input: lists in lists, numbers or texts."""

from __future__ import annotations

import pyarrow as pa


def list_depth(kind: pa.DataType) -> int:
    """How many lists are in each other."""
    return 1 + list_depth(kind.value_type) if is_list(kind) else 0


def innermost(kind: pa.DataType) -> pa.DataType:
    """The type of what is in the innermost lists."""
    return innermost(kind.value_type) if is_list(kind) else kind


def is_list(kind: pa.DataType) -> bool:
    """Whether its values are lists."""
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind))


def is_number(kind: pa.DataType) -> bool:
    """Whether its values are numbers or bools."""
    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind))


def is_text(kind: pa.DataType) -> bool:
    """Whether its values are texts, also of a dictionary."""
    if pa.types.is_dictionary(kind):
        return is_text(kind.value_type)
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))
