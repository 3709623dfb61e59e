"""What ``%`` makes of a constant template: texts, also with widths of run time (``"%*d" % (width, n)``), and bytes.

A graph knows ``py.mod`` of a text. A width that stands for ``*`` is written into the template first, and bytes are the
text of which each letter is a byte: so what is checked of a template, and how wide a place may be, is checked of both.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain, islice, repeat
from typing import Any

import torch

from ....proxies.base import is_free_shape, is_traced
from ....proxies.byte_strings import LETTERS, TracedBytes
from ....recording.recorder import Recorder
from ...python.operations import active, formatted, joined
from ...redirect import stand_in_of
from ..codes.byte_buffers import joined_bytes

_PLACE = re.compile(
    r"%(?:\((?P<key>[^)]*)\))?(?P<flags>[-+ #0]*)(?P<width>\*|\d*)(?:\.(?P<precision>\*|\d*))?[hlL]?(?P<kind>.)",
    re.DOTALL,
)
_OF_BYTES, _ASCII = ("s", "b"), ("r", "a")


def is_filled_anew(tree: Any) -> bool:
    """Whether what fills a template holds a stand-in, bytes among them, or a tensor of the recording."""
    recorder = active()
    if isinstance(tree, torch.Tensor):
        return recorder is not None and tree in recorder.values
    if type(tree) in (tuple, list, torch.Size):
        return any(map(is_filled_anew, tree))
    if type(tree) is dict:
        return any(map(is_filled_anew, tree.values()))
    return is_traced(tree) or type(tree) is TracedBytes


def filled_template(recorder: Recorder, template: str, values: Any) -> Any:
    """A text, ``template % values``, of which something is traced."""
    if type(values) is dict:
        return recorder.scalar("mod", template, values)
    given = values if isinstance(values, tuple) else (values,)
    text, given = _with_widths(template, given) if "*" in template else (template, given)
    given = tuple(formatted(value) if is_free_shape(value) else value for value in given)
    return recorder.scalar("mod", text, given) if is_traced(text) or is_filled_anew(given) else text % given


def _with_widths(template: str, values: tuple[Any, ...]) -> tuple[Any, tuple[Any, ...]]:
    """The template with the widths and precisions in it that stand among the values, and the other values."""
    waiting, others, parts, end = iter(values), list[Any](), list[Any](), 0
    for place in _PLACE.finditer(template):
        for name in ("width", "precision"):
            if place[name] == "*":
                number = next(waiting, None)  # Python says of None that it is no number
                number = stand_in_of(max)(number, 0) if name == "precision" else number
                parts += [template[end : place.start(name)], formatted(number, "d")]
                end = place.end(name)
        others += [] if place["kind"] == "%" else islice(waiting, 1)
    return joined([*parts, template[end:]]), (*others, *waiting)


class PlainBytes(bytes):
    """Plain bytes that are filled in, or join others, which is recorded where something of it is traced."""

    def join(self, items: Any) -> Any:
        """As for bytes."""
        return joined_bytes(bytes(self), items)

    def __mod__(self, values: Any) -> Any:
        recorder = active()
        if recorder is None or not is_filled_anew(values):
            return bytes.__mod__(self, values)
        template, given = self.decode(LETTERS), values if isinstance(values, tuple | dict) else (values,)
        if type(given) is dict:
            kinds = {place["key"]: place["kind"] for place in _PLACE.finditer(template)}
            named = {bytes(key).decode(LETTERS): value for key, value in given.items()}
            filling: Any = {key: _letters(recorder, kinds.get(key, ""), value) for key, value in named.items()}
        else:
            kinds_of_all = chain(_kinds(template), repeat(""))  # what is too much, Python refuses
            filling = tuple(_letters(recorder, kind, value) for kind, value in zip(kinds_of_all, given, strict=False))
        text = filled_template(recorder, _PLACE.sub(_as_text, template), filling)
        return TracedBytes(recorder, recorder.scalar("encode", text, LETTERS, "strict"))


def _kinds(template: str) -> Iterator[str]:
    """What each value of a template is: the kind of its place, or a width."""
    for place in _PLACE.finditer(template):
        yield from ("*" for name in ("width", "precision") if place[name] == "*")
        if place["kind"] != "%":
            yield place["kind"]


_AS_TEXT = {"b": "s", "r": "a"}
"""The kinds of places of bytes as those of a text, which has no ``%b``, and whose ``%r`` leaves letters as they are."""


def _as_text(place: re.Match[str]) -> str:
    return place[0][:-1] + _AS_TEXT.get(place["kind"], place["kind"])


def _letters(recorder: Recorder, kind: str, value: Any) -> Any:
    """What fills a place of bytes, as what fills one of a text."""
    is_bytes = isinstance(value, bytes | bytearray | TracedBytes)
    if kind in _OF_BYTES and not is_bytes:
        raise TypeError("%b requires a bytes-like object, or an object that implements __bytes__")
    if kind in _ASCII and is_bytes:
        recorder.refuse("bytes are filled in by how Python writes them", "Write %s for %r and %a.")
    if type(value) is TracedBytes:
        return value.letters()
    return bytes(value).decode(LETTERS) if is_bytes else value
