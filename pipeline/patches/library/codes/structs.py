"""What stands for functions of `struct`: numbers in the bytes of a constant format, and texts of bytes beside them."""

from __future__ import annotations

import re
import struct
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import Any

import torch

from ....proxies.base import is_traced
from ....proxies.byte_strings import TracedBytes
from ....proxies.strings import TracedStr
from ....recording.recorder import Recorder
from ....rules.number_or_tensor import number_of
from ...python.operations import active
from .byte_buffers import as_bytes, require_bytes
from .digests import OF_BYTES

_PLACE = re.compile(r"(\d*)([a-zA-Z?])")
_ORDERS = "@=<>!"
_ALIGNED = "[^0-9@scxbB?]"
"""The codes before which there may be a gap."""
_CONSTANT = 'Write struct.pack("<3f", *xs) + struct.pack("<f", last): what stands behind *xs goes into one of its own.'
_ARRAYS = "np.frombuffer(data, dtype=np.int16).tolist(), or np.array(xs, dtype=np.int16).tobytes()"


def _is_ours(values: tuple[Any, ...]) -> bool:
    recorder = active()
    return recorder is not None and any(
        is_traced(each) or type(each) is TracedBytes or (isinstance(each, torch.Tensor) and each in recorder.values)
        for each in values
    )


def _constant(recorder: Recorder, form: Any) -> str:
    """A format as text, without spaces."""
    if type(form) is TracedStr and not form.varies:
        form = recorder.pin(form, "it is a format of struct")
    if type(form) not in (str, bytes):
        recorder.refuse("the format of struct is no constant text", _CONSTANT)
    text = form if isinstance(form, str) else form.decode("ascii")
    struct.calcsize(text)  # Python's own error
    if "p" in text or "P" in text:
        recorder.refuse("a format of struct has a p or a P", "Write the length as B, and the bytes as s.")
    return "".join(text.split())


def _places(form: str) -> Iterator[tuple[int, str, int]]:
    """The places of a format: how often each code stands there, the code, and where its bytes begin."""
    for place in _PLACE.finditer(form):
        count, code = int(place[1] or 1), place[2]
        width = struct.calcsize(f"{count}{code}" if form[:1] not in _ORDERS else f"{form[0]}{count}{code}")
        yield count, code, struct.calcsize(form[: place.end()]) - width


def pack(form: Any, /, *values: Any) -> Any:
    """Stands for `struct.pack`."""
    recorder = active()
    if recorder is None or not (_is_ours(values) or is_traced(form)):
        return struct.pack(form, *values)
    form = _constant(recorder, form)
    numbers = [number_of(recorder, each) for each in values]
    if not re.search("[sc]", form):
        return TracedBytes(recorder, recorder.scalar("pack", form, *numbers))
    if form[0] not in _ORDERS[1:] and not re.search(_ALIGNED, form):
        form = f"={form.lstrip('@')}"
    if form[0] not in _ORDERS[1:]:
        recorder.refuse(
            "a format of struct has bytes between numbers that are aligned", 'Write an order before: "<4sI".'
        )
    return _packed_in_parts(recorder, form, numbers)


def _packed_in_parts(recorder: Recorder, form: str, values: list[Any]) -> Any:
    """What `pack` makes of a format with bytes in it, which has no gaps."""
    waiting, found = [*values], TracedBytes(recorder, recorder.scalar("pack", form[0]))
    for count, code, _ in _places(form):
        taken = 0 if code == "x" else 1 if code == "s" else count
        if len(waiting) < taken:
            raise struct.error("pack expected more items for packing")
        given, waiting = waiting[:taken], waiting[taken:]
        if code not in "sc":
            found = found + TracedBytes(recorder, recorder.scalar("pack", f"{form[0]}{count}{code}", *given))
        for each in given if code in "sc" else ():
            found = found + _of_width(each, count if code == "s" else 1, exactly=code == "c")
    if waiting:
        raise struct.error("pack expected fewer items for packing")
    return found


def _of_width(data: Any, width: int, exactly: bool) -> Any:
    """Bytes that are cut, or filled with zeros, to a width."""
    if is_traced(data) or not isinstance(data, bytes | bytearray | TracedBytes):
        raise struct.error("argument for 's' must be a bytes object")
    if exactly and type(data) is TracedBytes:
        data.tracer.refuse("struct.pack is given a byte of run time for c", "Write s, and data[:1].")
    if exactly and len(data) != 1:
        raise struct.error("char format requires a bytes object of length 1")
    return (data + bytes(width))[:width]


def unpack(form: Any, buffer: Any, /) -> Any:
    """Stands for `struct.unpack`."""
    recorder, buffer = active(), as_bytes(buffer)
    if recorder is None or type(buffer) is not TracedBytes:
        return struct.unpack(form, buffer)
    form = _constant(recorder, form)
    numbers = iter(recorder.scalar("unpack", re.sub("[sc]", "x", form), buffer.tensor))
    found = list[Any]()
    for count, code, start in _places(form):
        width, times = (count, 1) if code == "s" else (1, count)
        if code in "sc":
            found += [buffer[start + at * width : start + (at + 1) * width] for at in range(times)]
        elif code != "x":
            found += [next(numbers) for _ in range(count)]
    return tuple(found)


def unpack_from(form: Any, /, buffer: Any, offset: Any = 0) -> Any:
    """Stands for `struct.unpack_from`."""
    recorder, buffer = active(), as_bytes(buffer)
    if recorder is None or type(buffer) is not TracedBytes:
        return struct.unpack_from(form, buffer, offset)
    form = _constant(recorder, form)
    size = struct.calcsize(form)
    require_bytes(buffer, offset + size)
    return unpack(form, buffer[offset : offset + size])


def _left_out(name: str) -> Callable[..., Any]:
    """Stands for a function that is refused where bytes of the recording take part."""
    plain = getattr(struct, name)

    def call(*args: Any, **options: Any) -> Any:
        recorder = active()
        if recorder is not None and _is_ours((*map(as_bytes, args), *options.values())):
            recorder.refuse(f"struct.{name} cannot be recorded", f"Write {_ARRAYS}.")
        return plain(*args, **options)

    return call


OF_STRUCT: dict[str, tuple[ModuleType, Callable[..., Any]]] = {
    "pack": (struct, pack),
    "unpack": (struct, unpack),
    "unpack_from": (struct, unpack_from),
    **{name: (struct, _left_out(name)) for name in ("iter_unpack", "pack_into")},
}
OF_CODES = OF_BYTES | OF_STRUCT
"""The name of a function of `struct`, `hashlib` or `zlib` -> its module, and what stands for it."""


def of_object(thing: Any, name: str) -> Callable[..., Any] | None:
    """What stands for a method of a `struct.Struct`; None for one of anything else."""
    if type(thing) is not struct.Struct or name not in OF_STRUCT:
        return None
    return partial(OF_STRUCT[name][1], thing.format)
