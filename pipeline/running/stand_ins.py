"""Values of the arguments of a pipeline: stand-ins, where a recorded function calls it, and those that are fixed.

Only a recording imports the classes of stand-ins.
"""

from __future__ import annotations

from enum import Enum
from typing import Any

import torch

from ...ops.graph.graph import Literal
from ...ops.tracing_hook import current


def is_traced_list(value: Any) -> bool:
    """Whether a value stands for a list of any length."""
    if current() is None:
        return False
    from ..proxies.lists import TracedList

    return type(value) is TracedList


def tensor_of_array(value: Any) -> Any:
    """The tensor over the memory of a recorded array, which the recording sees; anything else as it is."""
    if current() is None:
        return value
    from ..proxies.arrays import TracedArray

    return torch.from_numpy(value) if type(value) is TracedArray else value


def plain_value(value: Any) -> Any:
    """What a stand-in is in the example, guarded, for an argument that a pipeline has fixed; anything else as it is.

    Raises:
        RecordError: data decides it.
    """
    recorder = current()
    return value if recorder is None else recorder.plain(value)


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
