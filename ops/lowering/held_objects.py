"""Objects that hold tensors, such as the caches of transformers, as trees that torch's pytree can walk.

A model may take such an object, change it and return it. For a graph it is replaced by a `Held`: its class, its plain
attributes, and its tensors and numbers as children. Torch's own registry of such classes is not used: it is global, and
the classes belong to other packages. Only objects of the classes in `_FAMILIES` are replaced; their packages are never
imported here.
"""

from __future__ import annotations

import copy
import sys
from typing import Any

import torch
from torch.utils import _pytree as pytree

# Module -> the base classes whose objects are replaced.
_FAMILIES = {"transformers.cache_utils": ("Cache", "CacheLayerMixin", "LinearAttentionCacheLayerMixin")}
_STATIC = (bool, str, bytes, type(None), torch.dtype, torch.device, type)


class Held:
    """An object as a tree.

    Attributes:
        context: its class, its plain attributes, and the names of the attributes that are children.
        children: the values of these attributes; objects among them are Held, too.
    """

    def __init__(self, context: HeldContext, children: list[Any]) -> None:
        self.context, self.children = context, children


class HeldContext:
    """The fixed part of an object; two are equal if their texts are."""

    def __init__(self, kind: type, names: tuple[str, ...], static: dict[str, Any], place: int) -> None:
        self.kind, self.names, self.static, self.place = kind, names, static, place

    def __repr__(self) -> str:
        fixed = {name: str(value) for name, value in sorted(self.static.items())}
        return f"{self.kind.__module__}.{self.kind.__qualname__}({self.names}, {fixed}, {self.place})"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, HeldContext) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class Same:
    """Stands for an object that was met before, such as an argument that the model returns."""

    def __init__(self, place: int) -> None:
        self.place = place


pytree.register_pytree_node(
    Held,
    lambda held: (held.children, held.context),
    lambda children, context: Held(context, list(children)),
    flatten_with_keys_fn=lambda held: (
        [(pytree.GetAttrKey(n), c) for n, c in zip(held.context.names, held.children, strict=True)],
        held.context,
    ),
    serialized_type_name="tracepack.Held",
)
pytree.register_pytree_node(
    Same, lambda same: ([], same.place), lambda _, place: Same(place), serialized_type_name="tracepack.Same"
)


def is_held(thing: Any) -> bool:
    """Whether a thing is an object that becomes a `Held`."""
    return isinstance(thing, _classes())


def _classes() -> tuple[type, ...]:
    found: list[type] = []
    for module, names in _FAMILIES.items():
        if module in sys.modules:
            found += [getattr(sys.modules[module], name) for name in names if hasattr(sys.modules[module], name)]
    return tuple(found)


def pack(tree: Any, met: list[Any]) -> Any:
    """A tree with objects replaced by `Held`; those met before become `Same`.

    Args:
        tree: the tree to copy.
        met: the objects met before, in order; new ones are added.
    """
    kinds = _classes()
    return _pack(tree, met, kinds) if kinds else tree


def _pack(tree: Any, met: list[Any], kinds: tuple[type, ...]) -> Any:
    def leaf(thing: Any) -> Any:
        if not isinstance(thing, kinds):
            return thing
        for place, other in enumerate(met):
            if other is thing:
                return Same(place)
        met.append(thing)
        place = len(met) - 1
        return Held(*_state(thing, place, met, kinds))

    return pytree.tree_map(leaf, tree, is_leaf=lambda thing: isinstance(thing, kinds))


def _state(thing: Any, place: int, met: list[Any], kinds: tuple[type, ...]) -> tuple[HeldContext, list[Any]]:
    attributes = {name: value for name, value in vars(thing).items() if name != "_pin"}
    static = {name: value for name, value in attributes.items() if _is_static(value)}
    names = tuple(name for name in attributes if name not in static)
    return HeldContext(type(thing), names, static, place), [_pack(attributes[n], met, kinds) for n in names]


def _is_static(value: Any) -> bool:
    """Whether a value is fixed: a bool, a text, or a container of these; a number may be a size."""
    if type(value) in (list, tuple, dict) and value:
        return all(map(_is_static, value.values() if isinstance(value, dict) else value))
    return isinstance(value, _STATIC)


def state(objects: list[Any], met: list[Any]) -> list[Any]:
    """The present attributes of objects, which a call may have changed, as trees."""
    kinds = _classes()
    return [Held(*_state(thing, place, met, kinds)) for place, thing in enumerate(objects)]


def unpack(tree: Any, met: list[Any]) -> Any:
    """The tree with new objects in place of each `Held`; they are added to `met`."""
    return pytree.tree_map(lambda node: _made(node, met), tree, is_leaf=lambda node: isinstance(node, Held | Same))


def _made(node: Any, met: list[Any]) -> Any:
    if isinstance(node, Same):
        return met[node.place]
    if not isinstance(node, Held):
        return node
    kind: Any = node.context.kind
    thing = kind.__new__(kind)
    met.append(thing)
    _restore(thing, node, met)
    return thing


def objects_in(tree: Any) -> list[Any]:
    """The objects of a tree that `pack` replaces, in its order."""
    met: list[Any] = []
    pack(tree, met)
    return met


def finish(returned: Any, objects: list[Any]) -> Any:
    """The result of a call, from the results of its graph; the caller's objects get their new attributes."""
    states, result = returned
    met = list(objects)
    for thing, held in zip(objects, states, strict=True):
        _restore(thing, held, met)
    return unpack(result, met)


def _restore(thing: Any, held: Held, met: list[Any]) -> None:
    attributes = dict(zip(held.context.names, (unpack(child, met) for child in held.children), strict=True))
    vars(thing).clear()
    vars(thing).update({**copy.deepcopy(held.context.static), **attributes})


def equal_content(a: Any, b: Any) -> bool:
    """Whether two things are one object, or plain values and containers of equal content."""
    if a is b:
        return True
    if type(a) is not type(b):
        return False
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(equal_content, a, b))
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(equal_content(a[key], b[key]) for key in a)
    return isinstance(a, int | float | complex | str | bytes | set | frozenset) and bool(a == b)
