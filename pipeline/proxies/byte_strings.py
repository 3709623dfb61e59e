"""Stand-ins for bytes: a tensor of uint8 that behaves as bytes do, for arguments and for what `str.encode` gives.

A graph knows no bytes: an argument that is bytes is a tensor of uint8 there, and so is what a text is encoded to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ...ops.runtime.primitives.numpy import METHOD
from .tracer import Tracer

_INSTEAD = "Decode it, go through its bytes, or make an array of it: numpy.frombuffer(data, dtype=numpy.uint8)."


LETTERS = "latin-1"
"""The encoding in which each letter is one byte."""
_WHITESPACE = b" \t\n\r\x0b\x0c"
_OF_PARTS = ("find", "rfind", "index", "rindex", "count")
_OF_WHITESPACE = ("strip", "lstrip", "rstrip", "split", "rsplit")
_AS_TEXTS = (
    *_OF_WHITESPACE, *_OF_PARTS, "startswith", "endswith", "replace", "removeprefix", "removesuffix", "partition",
    "rpartition",
)  # fmt: skip
"""The methods that do to bytes what they do to the letters that stand for these: none asks what a letter is."""


def to_bytes(tensor: torch.Tensor) -> bytes:
    """The bytes that a tensor of uint8 stands for."""
    return tensor.detach().cpu().contiguous().numpy().tobytes()


def bytes_in(tracer: Tracer, array: Any, order: Any = "C") -> TracedBytes:
    """What `tobytes` gives of an array, or of a number of numpy: they stay what they are when it is written."""
    if type(order) is not str or order not in "CFA" or not order:
        tracer.refuse("bytes of an array are asked for in an order of their own", 'Write array.tobytes("C").')
    flat = tracer.array(f"{METHOD}flatten", array, order)
    return TracedBytes(tracer, torch.from_numpy(tracer.array(f"{METHOD}view", flat, np.dtype(np.uint8))))


def _is_buffer(thing: object) -> bool:
    try:
        memoryview(thing)  # type: ignore[arg-type]  # what is none says so
    except TypeError:
        return False
    return True


class TracedBytes:
    """Bytes that are decided at run time."""

    def __init__(self, tracer: Tracer, tensor: torch.Tensor) -> None:
        self.tracer, self._tensor_of_all = tracer, tensor

    @property
    def tensor(self) -> torch.Tensor:
        """Of uint8, of the recording; none once that has ended."""
        self.tracer.refuse_ended()
        return self._tensor_of_all

    @property  # type: ignore[misc]  # mypy cannot follow the dynamic class
    def __class__(self) -> type:
        return bytes

    def decode(self, encoding: str = "utf-8", errors: str = "strict") -> Any:
        """As for bytes."""
        return self.tracer.scalar("decode", self.tensor, encoding, errors)

    def letters(self) -> Any:
        """The text of which each letter is a byte."""
        return self.decode(LETTERS)

    def __repr__(self) -> str:
        return repr(str(self.tracer.pin(self.letters(), "it was turned into text")).encode(LETTERS))

    def shown(self) -> Any:
        """Their representation, which is that of the text of letters, in ASCII."""
        return self.tracer.scalar("join_texts", "b", self.tracer.scalar("format", self.letters(), "", "a"))

    def hex(self, *separators: Any) -> Any:
        """As for bytes."""
        if separators:
            self.tracer.refuse("bytes.hex was given a separator", "Write data.hex() alone.")
        return self.tracer.scalar("hex", self.tensor)

    def length(self) -> Any:
        """How many there are, traced."""
        return self.tracer.scalar("size", self.tensor, 0)

    def __len__(self) -> int:
        return int(self.tracer.pin(self.length(), "its length was read"))

    def __bool__(self) -> bool:
        return bool(self.length() != 0)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.tensor.tolist())

    def __getitem__(self, index: Any) -> Any:
        found = self.tensor[index]
        return TracedBytes(self.tracer, found) if isinstance(index, slice) else self.tracer.scalar("item", found)

    def __contains__(self, item: Any) -> bool:
        return bool(self.tracer.pin(self.holds(item), "it was searched"))

    def holds(self, item: Any) -> Any:
        """Whether there is a byte or a part, traced: the letters of latin-1 are the bytes."""
        if type(item) in (bytes, bytearray):
            part: Any = bytes(item).decode("latin-1")
        elif type(item) is TracedBytes:
            part = item.decode("latin-1")
        elif type(item) is int and 0 <= item < 256:
            part = chr(item)
        else:
            return self.tracer.refuse(f"bytes are searched for a {type(item).__name__}", "Search for constant bytes.")
        return self.tracer.scalar("contains", self.decode("latin-1"), part)

    def _tensor(self, other: object) -> Any:
        """The tensor of other bytes; None for what is none."""
        if type(other) in (bytes, bytearray):
            return torch.tensor(list(other), dtype=torch.uint8)  # type: ignore[call-overload]  # bytes, as asked above
        return other.tensor if type(other) is TracedBytes else None

    def __add__(self, other: Any) -> Any:
        more = self._tensor(other)
        return NotImplemented if more is None else TracedBytes(self.tracer, torch.cat([self.tensor, more]))

    def __radd__(self, other: Any) -> Any:
        more = self._tensor(other)
        return NotImplemented if more is None else TracedBytes(self.tracer, torch.cat([more, self.tensor]))

    def __eq__(self, other: object) -> Any:
        more = self._tensor(other)
        if more is None:
            return self._refuse_comparison(other) if _is_buffer(other) else NotImplemented
        return self.tracer.scalar("item", self.tracer.scalar("same_bytes", self.tensor, more))

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else self.tracer.scalar("not_", equal)

    def _refuse_comparison(self, other: object) -> Any:
        kind = type(other).__name__  # Python would fall back on identity
        return self.tracer.refuse(f"bytes are compared with a {kind}", "Compare with bytes: data == bytes(other).")

    def tensor_of(self, dtype: torch.dtype, count: int = -1, offset: int = 0) -> Any:
        """What `torch.frombuffer` makes of them, but for the memory, which is new."""
        data = self.tensor[offset:] if count < 0 else self.tensor[offset : offset + count * dtype.itemsize]
        return data.clone() if dtype == torch.uint8 else data.clone().view(dtype)

    def array_of(self, dtype: Any, count: int = -1, offset: int = 0) -> Any:
        """What `numpy.frombuffer` makes of them."""
        kind = np.dtype(dtype)
        wanted = getattr(torch, kind.name, None)
        if not kind.isnative or not isinstance(wanted, torch.dtype):
            self.tracer.refuse(f"bytes are read as {kind}", "Use a dtype of numbers in the byte order of this machine.")
        return self.tensor_of(wanted, count, offset).numpy()

    def __getattr__(self, name: str) -> Any:
        if not hasattr(bytes, name) and hasattr(bytearray, name):
            self.tracer.refuse(f"bytearray.{name} cannot be recorded", "Make new bytes: data = data + more.")
        if name.startswith("__") or not hasattr(bytes, name):
            raise AttributeError(f"'bytes' object has no attribute {name!r}")
        if name not in _AS_TEXTS:
            self.tracer.refuse(f"bytes.{name} cannot be recorded", _INSTEAD)

        def call(*args: Any) -> Any:
            if name in _OF_WHITESPACE and not any(arg is not None for arg in args[:1]):
                if name.endswith("split"):
                    self.tracer.refuse(
                        f"bytes.{name} without a separator cannot be recorded", 'Write data.split(b" ").'
                    )
                args = (_WHITESPACE,)
            if args and name in _OF_PARTS and type(args[0]) is int:
                args = (bytes(args[:1]), *args[1:])
            found = getattr(self.letters(), name)(*map(self._text, args))
            return self._of_texts(found)

        return call

    def _text(self, thing: Any) -> Any:
        """Bytes, or a tuple of them, as the text of which each letter is a byte; a number of a byte as it is."""
        if type(thing) is tuple:
            return tuple(map(self._text, thing))
        if type(thing) is TracedBytes:
            return thing.letters()
        return bytes(thing).decode(LETTERS) if type(thing) in (bytes, bytearray) else thing

    def _of_texts(self, found: Any) -> Any:
        """What a method of texts gives, with bytes for texts."""
        if type(found) is tuple:
            return tuple(map(self._of_texts, found))
        if isinstance(found, str):
            return TracedBytes(self.tracer, self.tracer.scalar("encode", found, LETTERS, "strict"))
        if isinstance(found, list):
            found.objects = PartsForm(self.tracer)  # type: ignore[attr-defined]  # it is a list of the recording
        return found

    __hash__ = None  # type: ignore[assignment]  # a key would fix it


@dataclass(frozen=True)
class PartsForm:
    """How bytes stand in a list that `split` makes: as texts, of which each letter is a byte."""

    tracer: Tracer
    kind = bytes
    is_compared_otherwise = True

    def plain(self, thing: Any) -> Any:
        """What stands for bytes."""
        return thing.letters()

    def __call__(self, text: Any) -> TracedBytes:
        """The bytes for which a text stands."""
        return TracedBytes(self.tracer, self.tracer.scalar("encode", text, LETTERS, "strict"))


@dataclass(frozen=True)
class BytesForm:
    """How bytes stand in a list of the graph, alone or as parts of tuples and records: as tensors of uint8.

    Attributes:
        tracer: of the recording.
        kind: bytes, or the class of the container.
        parts: the forms of its parts by their places or keys, None for one that is none.
    """

    tracer: Tracer
    kind: type
    parts: tuple[tuple[Any, BytesForm | None], ...] = ()
    is_compared_otherwise = True

    def plain(self, thing: Any) -> Any:
        """What stands for bytes, or for a container that has them."""
        if self.kind is bytes:
            return thing.tensor if type(thing) is TracedBytes else torch.tensor(list(thing), dtype=torch.uint8)
        return self._with_parts(thing, BytesForm.plain)

    def __call__(self, item: Any) -> Any:
        """The bytes, or the container that has them, for which something stands."""
        return TracedBytes(self.tracer, item) if self.kind is bytes else self._with_parts(item, BytesForm.__call__)

    def _with_parts(self, thing: Any, change: Callable[[BytesForm, Any], Any]) -> Any:
        made = {key: thing[key] if form is None else change(form, thing[key]) for key, form in self.parts}
        if self.kind is dict:
            return made
        return tuple(made.values()) if self.kind is tuple else self.kind(*made.values())


def form_of_bytes(tracer: Tracer, found: Sequence[Any]) -> BytesForm | None:
    """The form of what is bytes, or a container of one class that has some; None for anything else."""
    if found and all(isinstance(each, bytes) for each in found):
        return BytesForm(tracer, bytes) if any(type(each) is TracedBytes for each in found) else None
    keys = {_keys(each) for each in found}
    if len(keys) != 1 or None in keys:
        return None
    parts = tuple((key, form_of_bytes(tracer, [each[key] for each in found])) for key in _keys(found[0]) or ())
    return BytesForm(tracer, type(found[0]), parts) if any(form is not None for _, form in parts) else None


def _keys(thing: Any) -> tuple[Any, ...] | None:
    """The keys or places of a record or a tuple; None for anything else."""
    if type(thing) is dict:
        return tuple(thing)
    return tuple(range(len(thing))) if type(thing) is tuple or hasattr(type(thing), "_make") else None
