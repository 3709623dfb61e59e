"""Containers of the classes that a function names, and named tuples of other classes with the same fields.

No trial with a class of our own tells whether ``isinstance(pair, Point)`` holds for a ``Point``: it must be one.
"""

from __future__ import annotations

import keyword
from collections import OrderedDict, namedtuple
from collections.abc import Callable, Iterable, Sequence
from functools import cache, partial
from itertools import islice
from operator import methodcaller
from typing import Any

import torch

from ....ops.runtime.primitives.named_tuples import fields_of, is_record
from ...proxies.trees import same_container
from ..glimpses import of_class, parameter

Maker = Callable[[Any], Any]

_KNOWN = (tuple, list, dict, OrderedDict, torch.Size)
_MOST = 8  # classes, and names of fields, that are tried


def made_of_named(classes: Iterable[type]) -> list[Maker]:
    """What puts containers of each of some classes in the place of plain ones, and of such with the same fields."""
    kinds = dict.fromkeys(kind for kind in classes if issubclass(kind, tuple | list | dict) and kind not in _KNOWN)
    return [partial(_changed, partial(_of_class, kind)) for kind in islice(kinds, _MOST)]


def made_of_fields(names: Iterable[str]) -> list[Maker]:
    """What makes named tuples of tuples that have a field of each of some names, last or first."""
    found = (name for name in dict.fromkeys(names) if _is_field(name))
    pairs = ((name, last) for name in islice(found, _MOST) for last in (True, False))
    return [partial(_changed, partial(_with_field, *pair)) for pair in pairs]


def with_other_records(tree: Any) -> Any:
    """The same tree with named tuples of a class of ours, which has the same fields."""
    return _changed(lambda part: _other(fields_of(part))(*part) if is_record(part) else part, tree)


def tensors_of_named(classes: Iterable[type]) -> list[Maker]:
    """What makes the tensors of a leaf Parameters, and objects of each of some classes of tensors."""
    kinds = [kind for kind in classes if issubclass(kind, torch.Tensor) and not kind.__module__.startswith("torch")]
    return [parameter, *(partial(of_class, methodcaller("as_subclass", kind)) for kind in kinds[:_MOST])]


def _changed(make: Maker, tree: Any) -> Any:
    """The tree with what `make` gives for each container in it, whose parts are changed before."""
    if isinstance(tree, dict):
        return make({key: _changed(make, item) for key, item in tree.items()})
    if isinstance(tree, tuple | list):
        items = [_changed(make, item) for item in tree]
        return make(same_container(tree, items) if is_record(tree) else type(tree)(items))
    return tree


def _of_class(kind: Any, part: Any) -> Any:
    """A container of a class where it may stand for what is given: of the same kind, with the same fields."""
    fields = getattr(kind, "_fields", None)
    if is_record(part):
        return tuple.__new__(kind, part) if fields == fields_of(part) else part
    if type(part) is tuple and issubclass(kind, tuple):
        return tuple.__new__(kind, part) if fields is None or len(fields) == len(part) else part
    if type(part) in (list, dict) and issubclass(kind, type(part)):
        return _filled(kind, part)
    return part


def _filled(kind: Any, part: Any) -> Any:
    """An object of a user's class of lists or dicts with some content; what its `__init__` wants is not known."""
    try:
        made = kind.__new__(kind)
        made.extend(part) if isinstance(part, list) else made.update(part)
    except Exception:  # of the user's class
        return part
    return made


def _is_field(name: str) -> bool:
    return name.isidentifier() and not keyword.iskeyword(name) and name[0] != "_" and not hasattr(tuple, name)


def _with_field(name: str, last: bool, part: Any) -> Any:
    if type(part) is not tuple or not part:
        return part
    place = len(part) - 1 if last else 0
    return _other(tuple(name if number == place else f"other_{number}" for number in range(len(part))))(*part)


@cache
def _other(fields: Sequence[str]) -> Any:
    return namedtuple("Other", fields)
