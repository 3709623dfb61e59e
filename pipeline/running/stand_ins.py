"""Stand-ins in the arguments of a pipeline that a recorded function calls; only a recording imports their classes."""

from __future__ import annotations

from typing import Any

import torch

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
