"""The classes of the containers that a function takes: they are no part of a signature, but an answer may hang on them.

A function is recorded with containers of the classes that its example has. A call may pass any dict for a dict, so the
function must give the same for a dict and for an OrderedDict.
"""

from __future__ import annotations

import copy
from collections import OrderedDict, defaultdict, namedtuple
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial
from typing import Any

import torch

from ....ops.runtime.primitives.named_tuples import is_record
from ...proxies.trees import same_container

_PLAIN = (tuple, list, dict)


def is_special(tree: Any) -> bool:
    """Whether a tree holds a container that is no plain tuple, list, dict or named tuple."""
    if isinstance(tree, Mapping | list | tuple) and type(tree) not in _PLAIN and not is_record(tree):
        return True
    return any(map(is_special, _items(tree)))


def has_dict(tree: Any) -> bool:
    """Whether a tree holds a dict."""
    return isinstance(tree, dict) or any(map(has_dict, _items(tree)))


def alike(original: Any, tree: Any) -> Any:
    """A plain tree with containers of the classes that those of another tree have, as far as they can be copied."""
    if isinstance(tree, dict) and isinstance(original, Mapping):
        return _filled(original, {key: alike(original[key], item) for key, item in tree.items()})
    if isinstance(tree, list) and isinstance(original, list):
        return _filled(original, _pairs(original, tree))
    if isinstance(tree, tuple) and isinstance(original, tuple):
        items = _pairs(original, tree)
        return same_container(tree, items) if is_record(tree) else _made(type(original), items)
    return tree


def ordered(tree: Any) -> Any:
    """The same tree with an OrderedDict for every dict."""
    return _with_dicts(tree, OrderedDict)


def plain(tree: Any) -> Any:
    """The same tree with a plain dict for every dict."""
    return _with_dicts(tree, dict)


def other_classes() -> list[Callable[[Any], Any]]:
    """What makes of a tree one of other classes, each of which a call may pass for tuples or dicts."""
    return [_with_named_tuples, _with_sizes, partial(_with_dicts, kind=partial(defaultdict, _made_up))]


def holds_others(tree: Any) -> bool:
    """Whether a tree of arguments holds a tuple or a dict."""
    items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return any(type(item) is tuple or isinstance(item, dict) or holds_others(item) for item in items)


def holds_any(tree: Any) -> bool:
    """Whether a tree of arguments holds a tuple, a list or a dict."""
    items = tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ()
    return any(isinstance(item, tuple | list | dict) for item in items)


def _made_up() -> int:
    return 7


def _with_named_tuples(tree: Any) -> Any:
    return _with_tuples(tree, lambda items: _namedtuple(len(items))(*items))


def _with_sizes(tree: Any) -> Any:
    return _with_tuples(tree, lambda items: torch.Size(items) if all(type(each) is int for each in items) else items)


@cache
def _namedtuple(size: int) -> Any:
    return namedtuple("Given", [f"item{number}" for number in range(size)])


def _with_tuples(tree: Any, make: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return {key: _with_tuples(item, make) for key, item in tree.items()}
    items = [_with_tuples(item, make) for item in tree] if isinstance(tree, tuple | list) else []
    if type(tree) is tuple:
        return make(tuple(items))
    return same_container(tree, items) if is_record(tree) else items if type(tree) is list else tree


def classes_of(items: list[Any]) -> list[Callable[[Any], Any]]:
    """What makes tuples of lists: of the one that is given, and of those in it where it holds some."""
    return [tuple, lambda each: list(map(_as_tuples, each))] if any(map(_holds_list, items)) else [tuple]


def _holds_list(tree: Any) -> bool:
    return isinstance(tree, list) or any(map(_holds_list, _items(tree)))


def _as_tuples(tree: Any) -> Any:
    if isinstance(tree, dict):
        return {key: _as_tuples(item) for key, item in tree.items()}
    if isinstance(tree, list | tuple):
        items = list(map(_as_tuples, tree))
        return same_container(tree, items) if is_record(tree) else tuple(items)
    return tree


def _with_dicts(tree: Any, kind: Callable[[Any], Any]) -> Any:
    if isinstance(tree, dict):
        return kind((key, _with_dicts(item, kind)) for key, item in tree.items())
    items = [_with_dicts(item, kind) for item in tree] if isinstance(tree, tuple | list) else []
    if type(tree) in (tuple, list):
        return type(tree)(items)
    return same_container(tree, items) if is_record(tree) else tree


def _items(tree: Any) -> Iterable[Any]:
    if isinstance(tree, Mapping):
        return tree.values()
    return tree if isinstance(tree, tuple | list) else ()


def _pairs(original: Any, tree: Any) -> list[Any]:
    return [alike(*pair) for pair in zip(original, tree, strict=True)]


def _made(kind: type, items: list[Any]) -> Any:
    try:
        return kind(items)
    except TypeError:
        return tuple(items)


def _filled(original: Any, items: Any) -> Any:
    """A copy of a container with other items; the items themselves where it cannot be written."""
    if type(original) in _PLAIN:
        return items
    try:
        found = copy.copy(original)
        if isinstance(items, dict) and list(found) != list(items):  # the trial is one of another order of keys
            found.clear()
        for key in items if isinstance(items, dict) else range(len(items)):
            found[key] = items[key]
    except Exception:  # the user's own class, or a mapping that cannot be written
        return items
    return found


def shared_leaves(leaves: Sequence[Any]) -> list[Any]:
    """The leaves that a run shares with its caller: lists of numbers and texts it leaves as they are."""
    return [each for each in leaves if not (isinstance(each, list) and is_plain_data(each))]


def is_plain_data(thing: Any) -> bool:
    """Whether a leaf holds no tensor."""
    if isinstance(thing, list | tuple):
        return all(map(is_plain_data, thing))
    return all(map(is_plain_data, thing.values())) if isinstance(thing, dict) else not isinstance(thing, torch.Tensor)
