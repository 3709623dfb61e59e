"""Copies of objects of Python that calls move on, and which nothing sets back: iterators, sums of hashes."""

from __future__ import annotations

from collections.abc import Iterator
from io import IOBase
from types import BuiltinMethodType
from typing import Any

from .....ops.runtime.interrupts.unheard import Unheard

_COPYING = frozenset("_hashlib _md5 _sha1 _sha2 _sha256 _sha512 _sha3 _blake2 _hmac zlib".split())
"""Modules of Python whose objects have a method `copy`, and take data in."""
_OF_PYTHON = frozenset(("builtins", "itertools"))
_MOST_INSIDE = 100


def copied(thing: Any, made: dict[int, Any]) -> Any:
    """A copy of an object that moves, or of a method of one; None where there is no such copy, or nothing moves.

    Args:
        thing: the object.
        made: the copies so far, by the ids of the originals: what two iterators share stays shared.
    """
    if id(thing) in made:
        return made[id(thing)]
    if type(thing) is BuiltinMethodType:
        owner = copied(thing.__self__, made)
        return None if owner is None else getattr(owner, thing.__name__)
    found = None
    if type(thing).__module__ in _COPYING and hasattr(thing, "copy"):
        found = thing.copy()
    elif _is_plain_iterator(thing):
        with Unheard():  # Python 3.12 warns of copies of iterators, and 3.14 makes none
            found = _iterator(thing, made)
    if found is not None:
        made[id(thing)] = found
    return found


def _is_plain_iterator(thing: Any) -> bool:
    return type(thing).__module__ in _OF_PYTHON and isinstance(thing, Iterator) and not isinstance(thing, IOBase)


def _iterator(thing: Any, made: dict[int, Any]) -> Any:
    try:
        make, args, *state = thing.__reduce__()
        found = make(*_parts(args, made))
        if state and state[0] is not None:
            found.__setstate__(_parts(state[0], made))
    except (TypeError, ValueError, AttributeError):
        return None
    return found if type(found) is type(thing) else None


def _parts(state: Any, made: dict[int, Any]) -> Any:
    """The parts of an iterator, with copies of those that are iterators themselves.

    Raises:
        TypeError: there is none of one of them, which a copy of the whole would move.
    """
    if isinstance(state, tuple):
        return tuple(_parts(each, made) for each in state[:_MOST_INSIDE])
    if not isinstance(state, Iterator):
        return state
    if (found := copied(state, made)) is None:
        raise TypeError("an iterator of which there is no copy")
    return found
