"""The values that a signature holds: dtypes, devices, members of Enums and the like by name."""

from __future__ import annotations

from enum import Enum
from typing import Any

import torch

from ...ops.graph.graph import Literal


def fixed(value: Any) -> Any:
    """A value that a signature holds, in the form of the IR: a dtype, a device, a member of an Enum by name."""
    if isinstance(value, torch.dtype):
        return Literal("dtype", str(value).removeprefix("torch."))
    if isinstance(value, torch.device):
        return Literal("device", str(value))
    if isinstance(value, Enum):
        return Literal("enum", f"{type(value).__qualname__}.{value.name}")
    if type(value) in (slice, range):
        return Literal(type(value).__name__, repr(value))
    if type(value) is dict:
        return {key: fixed(item) for key, item in value.items()}
    return type(value)(map(fixed, value)) if type(value) in (tuple, list) else value


def same(value: Any, wanted: Any) -> bool:
    """Whether two fixed values are equal, and of one type: True is not 1; a NaN is equal to a NaN."""
    return type(value) is type(wanted) and (value == wanted or (value != value and wanted != wanted))
