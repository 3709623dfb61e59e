"""What stands for classes and functions that read buffers, or make bytes: `bytes`, `torch.frombuffer`, `b"".join`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from types import GeneratorType
from typing import Any

import numpy as np
import torch

from ....lists.mapping import each
from ....lists.walking.iterators import collected
from ....proxies.arrays import TracedArray
from ....proxies.base import is_traced
from ....proxies.byte_strings import LETTERS, TracedBytes
from ....proxies.lists import TracedList
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ....rules.assertions import required
from ...python.operations import active, holds_traced

_OF_TENSOR = "Write x.numpy().tobytes() for the bytes in its memory, or bytes(x.tolist()) for a byte of each number."

_SAVED = "Return the tensor, and save what the call gives; or return base64.b64encode(x.numpy().tobytes()).decode()."


def as_bytes(data: Any) -> Any:
    """Bytes that are decided at run time for an array of the recording, as a function reads it; others as they are."""
    return data.tobytes() if type(data) is TracedArray else data


def require_bytes(buffer: TracedBytes, least: Any) -> None:
    """Checks in every run that a buffer holds what is read of it: a slice would be as long as there are bytes."""
    recorder = active()
    enough = recorder is None or (type(least) is int and least <= 0) or buffer.length() >= least
    if recorder is not None and enough is not True and not required(recorder, enough, "a buffer is too short"):
        raise ValueError(f"the buffer has fewer bytes than the {least} that are read")


def from_buffer(
    buffer: Any, *, dtype: torch.dtype, count: int = -1, offset: int = 0, requires_grad: bool = False
) -> Any:
    """Stands for `torch.frombuffer`, which takes no empty buffer."""
    if type(buffer) is TracedBytes:
        require_bytes(buffer, offset + (1 if count < 0 else count * dtype.itemsize))
        return buffer.tensor_of(dtype, count, offset)
    return torch.frombuffer(buffer, dtype=dtype, count=count, offset=offset, requires_grad=requires_grad)


def array_from_buffer(buffer: Any, dtype: Any = float, count: int = -1, offset: int = 0, **options: Any) -> Any:
    """Stands for `numpy.frombuffer`."""
    if type(buffer) is TracedBytes:
        require_bytes(buffer, offset + (0 if count < 0 else count * np.dtype(dtype).itemsize))
        return buffer.array_of(dtype, count, offset)
    return np.frombuffer(buffer, dtype, count, offset, **options)


def buffer_of(kind: type) -> Callable[..., Any]:
    """Stands for `bytes`, `bytearray` or `memoryview`, which are the bytes themselves to whoever only reads them."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if args and type(args[0]) is TracedStr and len(args) + len(kwargs) > 1:
            return args[0].encode(*args[1:], **kwargs)
        recorder = active()
        if len(args) != 1 or kwargs or recorder is None:
            return kind(*args, **kwargs)
        return args[0] if type(args[0]) is TracedBytes else _made(recorder, kind, args[0])

    return call


def _made(recorder: Recorder, kind: type, given: Any) -> Any:
    """Bytes of an array, or of numbers; of anything else what Python makes of it."""
    if type(given) is TracedArray:
        if kind is memoryview or given.ndim == 0:  # of a number alone Python makes as many zeros
            recorder.refuse(f"{kind.__name__} is given an array that is decided at run time", "Write array.tobytes().")
        return given.tobytes()
    if isinstance(given, torch.Tensor) and given in recorder.values:
        recorder.refuse(f"{kind.__name__} is given a tensor", _OF_TENSOR)
    if kind is memoryview:
        return kind(given)
    items = collected(recorder, given) if isinstance(given, GeneratorType) else given
    items = list(items) if isinstance(items, Iterator) else items
    if type(items) is TracedList or (type(items) in (list, tuple) and holds_traced(items)):
        return TracedBytes(recorder, recorder.scalar("bytes", items))
    return kind(items)


def saved(thing: Any, *args: Any, **options: Any) -> Any:
    """Stands for `torch.save`, which writes no tensor of the recording."""
    recorder, leaves = active(), torch.utils._pytree.tree_leaves(thing)
    if recorder is not None and any(isinstance(leaf, torch.Tensor) and leaf in recorder.values for leaf in leaves):
        recorder.refuse("torch.save is given a tensor that is decided at run time", _SAVED)
    return torch.save(thing, *args, **options)


def joined_bytes(separator: bytes, items: Any) -> Any:
    """Stands for `bytes.join`: the texts of which each letter is a byte are joined."""
    recorder = active()
    found = items if recorder is None else collected(recorder, items)
    if recorder is None or not (type(found) is TracedList or any(type(part) is TracedBytes for part in found)):
        return separator.join(found)
    texts = each(recorder, _letters, found) if type(found) is TracedList else [_letters(part) for part in found]
    text = recorder.scalar("str_join", separator.decode(LETTERS), texts)
    return TracedBytes(recorder, recorder.scalar("encode", text, LETTERS, "strict"))


def _letters(part: Any) -> Any:
    if is_traced(part) or not isinstance(part, bytes | bytearray | TracedBytes):
        raise TypeError(f"a bytes-like object is required, not '{type(part).__name__}'")
    return part.letters() if type(part) is TracedBytes else bytes(part).decode(LETTERS)
