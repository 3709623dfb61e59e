"""Values of the arguments of a pipeline: stand-ins, where a recorded function calls it, and those that are fixed.

Only a recording imports the classes of stand-ins.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum
from typing import Any

import torch

from ...ops.graph.errors import SignatureError
from ...ops.graph.graph import Literal, Record
from ...ops.runtime.primitives.named_tuples import fields_of, is_record
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


def items_of(record: Record, value: Any, where: str, convert: bool) -> Any:
    """What stands for a named tuple: one with its fields; where inputs are converted, what holds its items, too.

    Raises:
        SignatureError: it has other fields, or none by name.
    """
    names, kind = record.fields, type(value)
    if convert and kind in (tuple, list):
        return tuple(value)
    if convert and isinstance(value, Mapping) and value.keys() == {*names}:
        return tuple(value[name] for name in names)
    named(value, names, where)
    return value


def named(value: Any, names: tuple[str, ...], where: str) -> None:
    """Refuses what is no named tuple with some fields; what a file holds as one has no names.

    Raises:
        SignatureError: it has other fields, or none by name.
    """
    if (fields := fields_of(value) if is_record(value) else names) != names:
        raise SignatureError("a named tuple has other fields", where=f"input {where!r}", got=fields, expected=names)
    if type(value) is tuple:
        raise SignatureError(
            "a plain tuple has no names", where=f"input {where!r}", got=f"tuple of {len(value)}",
            expected=f"a named tuple with the fields {', '.join(names)}",
            fix="Any class of named tuples with these fields does; load(..., convert=True) takes a tuple.",
        )  # fmt: skip


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


def is_device(value: Any, wanted: Any) -> bool:
    """Whether a text names the device that a signature holds, as ``"cpu"`` does for ``torch.device("cpu")``."""
    if type(value) is not str or not isinstance(wanted, Literal) or wanted.kind != "device":
        return False
    try:
        return str(torch.device(value)) == wanted.name
    except RuntimeError:  # no device is called so
        return False


def fix_of(value: Any, tree: Any, where: str) -> str:
    """What to do where a value differs from the one that the signature holds.

    Args:
        value: what was given.
        tree: what the signature holds.
        where: the path of the argument, such as ``"opts['k']"``.
    """
    if isinstance(value, torch.device) and type(tree) is str:
        return _AS_TEXT
    name = where.partition("[")[0].partition(".")[0]
    named = fixed(value) if tree is None else tree
    if isinstance(named, Literal):
        return _OF_NAMED.get(named.kind, "")
    if tree is None and name == where:
        return _OF_NONE.format(name)
    if tree is None:
        return _OF_ENTRY if isinstance(value, int | float | str) else _WITH_EXAMPLE
    return _OF_DEFAULT.format(name)


_AS_TEXT = "Pass str(device): the example was a text."
_WITH_EXAMPLE = "Trace the function with an example of it that is a tensor, a number or a string."
_OF_NAMED = {
    "dtype": "Trace the function once for each dtype, or let it take a bool or a text and choose by it: "
    "x.double() if double else x.float().",
    "device": "Leave the device out of the function: load(path, device=...) chooses it.",
    "enum": "Let the function take the value of the member, a number or a text, and compare that.",
    "slice": "Let the function take the numbers, and write x[start:stop].",
    "range": "Let the function take the numbers, and write range(start, stop).",
}
"""What to do where the signature holds a thing by its name, by the kind of the thing."""
_OF_ENTRY = "Trace with an example that is no None; let float('nan'), -1 or '' stand for a value that may be missing."
_OF_DEFAULT = "Trace the function with an example of it, {0}={0}, in place of its default: calls may then give any."
_OF_NONE = (
    "Give the parameter the default None, and trace the function with an example of it, {0}={0}: calls may then give "
    "it or leave it out."
)
