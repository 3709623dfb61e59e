"""What a call hands over: objects of the caller's, which may raise anything when they are looked at."""

from __future__ import annotations

import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from types import TracebackType
from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import SignatureError, TracepackError
from ...ops.graph.frozen_class import frozen_object
from ...ops.graph.program import Parameter
from ...ops.runtime.interrupts.alarm import is_of_handler
from ...ops.runtime.user_code import is_installed


class Looking:
    """A block that looks at what was handed over: what an object raises there is an error in the inputs.

    Args:
        where: what the error names.
        explains: whether it is one; torch ends what it traces by exceptions of its own.
    """

    __slots__ = ("explains", "where")

    def __init__(self, where: str, explains: bool = True) -> None:
        self.where, self.explains = where, explains

    def __enter__(self) -> None:
        """Begins to look."""

    def __exit__(self, kind: Any, error: BaseException | None, trace: TracebackType | None) -> None:
        """Explains what was raised."""
        if not isinstance(error, Exception) or not self.explains:
            return
        if isinstance(error, TracepackError) or is_of_handler(error) or torch._C._is_tracing():
            return
        raise SignatureError(
            "an input cannot be looked at",
            where=self.where,
            got=f"an object that raises {type(error).__name__}",
            expected="tensors, arrays, numbers, strings, and tuples, lists and dicts of them",
        ) from error


class DictExpectedError(SignatureError, TypeError):
    """`run` was not given one dict, which Python calls a TypeError where the names do not fit."""


def not_one_dict(parameters: Sequence[Parameter], got: str, expected: str = "") -> DictExpectedError:
    """The error of a `run` that was called as the function is; it shows both forms.

    Args:
        parameters: those of the pipeline.
        got: what was given.
        expected: the signature.
    """
    names = [parameter.name for parameter in parameters if parameter.required] or [each.name for each in parameters]
    feed, call = (", ".join(form.format(name) for name in names) for form in ('"{0}": {0}', "{0}={0}"))
    fix = f"Write mod.run({{{feed}}}), or mod({call})."
    return DictExpectedError("run takes one dict of inputs", got=got, expected=expected or None, fix=fix)


@frozen_object
class KeptClasses:
    """How near the classes of the containers of a parameter must be to those of its example.

    Attributes:
        dicts: whether dicts may be of no subclass.
        plain: whether tuples may be no named ones, and dicts may not make up what they lack.
        exact: whether all may be of no subclass, and named tuples of one class only.
        convert: whether a plain tuple stands for a named one.
    """

    dicts: bool
    plain: bool
    exact: bool
    convert: bool

    def unlike_tuple(self, value: Any) -> Iterator[tuple[Any, str]]:
        """A tuple of a class of its own, for a plain one."""
        if (self.plain or self.exact) and isinstance(value, tuple) and type(value) is not tuple:
            yield value, "tuple"

    def unlike_record(self, value: Any, name: str) -> Iterator[tuple[Any, str]]:
        """A named tuple of a class of another name; by its name alone an archive knows a class."""
        name = name.rpartition(".")[2]
        if self.exact and name and type(value).__name__ != name and not (self.convert and type(value) is tuple):
            yield value, name

    def unlike_list(self, value: Any) -> Iterator[tuple[Any, str]]:
        """A list of a class of its own."""
        if self.exact and isinstance(value, list) and type(value) is not list:
            yield value, "list"

    def unlike_dict(self, value: Any) -> Iterator[tuple[Any, str]]:
        """A dict of a class that shows."""
        if type(value) is not dict and (
            self.dicts or self.exact or (self.plain and hasattr(type(value), "__missing__"))
        ):
            yield value, "dict"


def at_home(value: Any, device: torch.device) -> Any:
    """An input on the device that it must be on.

    Raises:
        SignatureError: it is a meta tensor, which has no memory to move.
    """
    if isinstance(value, torch.Tensor) and value.is_meta and device.type != "meta":
        raise SignatureError("not a plain tensor", got="a meta tensor", expected=f"a tensor on {device}")
    return value.to(device) if isinstance(value, torch.Tensor) and value.device != device else value


def give_back(given: Sequence[Any], used: Sequence[Any]) -> None:
    """Copies what a run wrote into moved inputs back into the caller's tensors."""
    for mine, copy in zip(given, used, strict=True):
        if copy is not mine and isinstance(copy, torch.Tensor) and (copy.is_inference() or copy._version):
            mine.copy_(copy)


_OF_NO_ITEM = frozenset(
    "__new__ __init__ __repr__ __doc__ __class_getitem__ __getnewargs__ __sizeof__ __hash__ __module__".split()
)
_OF_COPIES = frozenset("__dict__ __weakref__ __deepcopy__ __reduce__ __reduce_ex__ __setstate__".split())
_KNOWN = (list, tuple, torch.Size, dict, OrderedDict, defaultdict, Counter)


def is_sequence(value: Any, kinds: Any, where: str) -> bool:
    """Whether a value is of some of the kinds `list` and `tuple`, whose items alone a pipeline takes.

    Raises:
        SignatureError: it is of a subclass with other methods, which the function would call.
    """
    if isinstance(value, list | tuple) and _own_methods(value, vars(list).keys() | vars(tuple).keys()):
        raise _overridden(value, "list" if isinstance(value, list) else "tuple", where)
    return isinstance(value, kinds)


def is_mapping(value: Any, where: str, wanted: Mapping[Any, Any]) -> bool:
    """Whether a value is a dict or another mapping.

    Args:
        value: what is given.
        where: the place that an error names.
        wanted: has the keys that it should have.

    Raises:
        SignatureError: a key is equal to one that it should have, and of another class, as 1.0 and 1 are.
        SignatureError: it is of a subclass of dict with other methods, which the function would call. Those of an
            installed package may be there for more keys, as of a model's outputs: they must read as dict's do.
    """
    own = _own_methods(value, vars(dict).keys() | {"__missing__"}) if isinstance(value, dict) else []
    if own and not (all(map(_is_installed, own)) and _reads_as_dict(value)):
        raise _overridden(value, "dict", where)
    if not isinstance(value, Mapping):
        return False
    kinds = {key: type(key) for key in wanted}
    for key in value:
        if key.__class__ not in (kind := kinds.get(key, key.__class__), np.str_):  # of a stand-in that of its example
            raise SignatureError(
                "a key is of another class",
                where=f"input {where!r}", got=f"{key!r:.60}, a {type(key).__name__}", expected=kind.__name__,
            )  # fmt: skip
    return True


def overrides_operators(kind: type[torch.Tensor]) -> bool:
    """Whether a subclass of tensors has operators or methods of its own; packages may wrap what functions give."""
    if getattr(kind, "__torch_dispatch__", None) is not torch.Tensor.__torch_dispatch__:
        return True
    own = [each for each in kind.__mro__ if each.__module__.partition(".")[0] != "torch" and not _is_installed(each)]
    names = set(dir(torch.Tensor)) - _OF_NO_ITEM - _OF_COPIES
    return any(vars(each).keys() & names for each in own if each is not object)


def _own_methods(value: Any, names: Set[str]) -> list[type]:
    """The classes of a container that override some of the methods that Python's own has."""
    if type(value) in _KNOWN:
        return []
    names = (names | {"__bool__"}) - _OF_NO_ITEM
    return [kind for kind in type(value).__mro__ if kind not in (*_KNOWN, object) and vars(kind).keys() & names]


def _overridden(value: Any, plain: str, where: str) -> SignatureError:
    return SignatureError(
        f"the {plain} is of a subclass that overrides its methods",
        where=f"input {where!r}", got=type(value).__name__, expected=plain, fix=f"Pass {_PLAINLY[plain]}.",
    )  # fmt: skip


_PLAINLY = {"list": "list(value)", "tuple": "tuple(value)", "dict": "dict(value.items())"}


def _is_installed(kind: type) -> bool:
    """Whether a class comes from a package, or from Python."""
    file = str(getattr(sys.modules.get(kind.__module__), "__file__", "") or "")
    return is_installed(file) or kind.__module__.partition(".")[0] in sys.stdlib_module_names - {"__main__"}


def _reads_as_dict(value: dict[Any, Any]) -> bool:
    keys = [*dict.keys(value)]
    same = all(value[key] is dict.__getitem__(value, key) is value.get(key) for key in keys)
    pairs = dict(value.items()) if same and len(value) == len(keys) and [*value] == keys else {}
    return len(pairs) == len(keys) and all(pairs[key] is dict.__getitem__(value, key) for key in keys)
