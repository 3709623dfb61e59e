"""Whether nobody sees how far `any` or `all` goes through an iterator, since the recording asks all of its items."""

from __future__ import annotations

import builtins
import gc
import sys
from collections import ChainMap
from collections.abc import Iterator
from functools import cache
from types import CellType, FrameType, FunctionType, GeneratorType
from typing import Any

from ...lists.iterating import are_nobodys, references
from ...lists.loop import Loop
from ...proxies.values.plain_objects import classes_in
from .loops.constants import ConstantRounds
from .purity import is_plain_function, is_pure

_OURS = (Loop, ConstantRounds)
"""What goes through a list of any length or constants, once in the recording."""


def is_unseen(iterator: Iterator[Any], count: int) -> bool:
    """Whether nobody goes on with an iterator, nor with those that it asks, and its code does nothing but compute.

    Args:
        iterator: that `any` or `all` is given.
        count: the references to it, as `references` counts them in the stand-in.
    """
    return are_nobodys(count) and _is_alone(iterator)


def _is_alone(iterator: Any) -> bool:
    if not _computes(iterator):
        return False
    sources = [each for each in _held(iterator) if isinstance(each, Iterator) and not isinstance(each, _OURS)]
    most = _sources_count(type(iterator) is GeneratorType)
    return all(count <= most for _, count in _counted(sources)) and all(map(_is_alone, sources))


def _computes(iterator: Any) -> bool:
    """Whether the code that an iterator runs does nothing but compute."""
    if type(iterator) is GeneratorType:
        frame = iterator.gi_frame
        if frame is None:
            return True
        known = ChainMap(frame.f_locals, frame.f_globals, vars(builtins))
        shown = _classes(frame.f_locals.get(".0")).union(*map(classes_in, frame.f_locals.values()))
        return is_pure(iterator.gi_code, known, shown=shown)
    return all(map(is_plain_function, (each for each in _held(iterator) if type(each) is FunctionType)))


def _classes(loop: Any) -> frozenset[type]:
    """The classes of the objects that a loop goes through."""
    form = loop.source.objects if type(loop) is Loop else None
    found: frozenset[type] = getattr(form, "classes", frozenset())
    return found


def _held(iterator: Any) -> list[Any]:
    """What an iterator refers to, also by tuples and the cells of a function."""
    found = gc.get_referents(iterator)
    if type(iterator) is GeneratorType and sys.version_info < (3, 11):  # later ones refer to their variables
        found = gc.get_referents(*(inner for inner in found if type(inner) is FrameType))
    return found + [each for inner in found if type(inner) in (tuple, CellType) for each in gc.get_referents(inner)]


def _counted(things: list[Any]) -> list[tuple[Any, int]]:
    return [(thing, references(thing)) for thing in things]


@cache
def _sources_count(generator: bool) -> int:
    """How many references there are to what a new iterator alone goes through, as `_counted` finds them."""
    inner = iter(())
    outer = (None for _ in inner) if generator else zip(inner)
    del inner
    _computes(outer)  # which keeps a copy of a generator's variables on some versions of Python
    ((_, count),) = _counted([each for each in _held(outer) if isinstance(each, Iterator)])
    return count
