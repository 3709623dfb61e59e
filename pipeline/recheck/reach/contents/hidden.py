"""Objects of Python whose content is neither items nor attributes: buffers, context variables, errors, iterators.

An iterator, a queue or a semaphore cannot be set back, and no value of a generator of random numbers stands for many
more calls. So of those it is only known whether they moved, and a function that moves one which it keeps goes on in its
next call where this one ended.
"""

from __future__ import annotations

import decimal
import gc
import operator
import os
import pickle
import random
import sys
from array import array
from collections.abc import Callable, Iterator
from contextvars import Context, ContextVar
from functools import partial
from io import BytesIO, IOBase, StringIO
from itertools import count, repeat
from multiprocessing.shared_memory import SharedMemory
from multiprocessing.sharedctypes import SynchronizedBase
from queue import SimpleQueue
from threading import Semaphore
from types import AsyncGeneratorType, CellType, CoroutineType, GeneratorType
from typing import Any

import numpy as np
import torch

from .....ops.runtime.interrupts.unheard import Unheard
from .....ops.runtime.user_code import attribute
from ..places import content_of, set_content
from .open_files import FILE, Access, file_access, told_of
from .process_places import ProcessPlace
from .word_lists import TOKENIZER, tokenizer_access

MOST_ITEMS, MOST_BYTES = 1000, 1 << 20


def access(thing: Any) -> Access | None:
    """A name for an object, and functions that read and set its content; None for other kinds."""
    match thing:
        case bytearray() if len(thing) <= MOST_BYTES:
            return BYTEARRAY, lambda: {"": bytes(thing)}, lambda items: _refill(thing, items[""])
        case array() if len(thing) * thing.itemsize <= MOST_BYTES:
            return ARRAY, lambda: {"": thing.tobytes()}, lambda items: _refill(thing, items[""])
        case StringIO() | BytesIO() if not thing.closed and thing.tell() <= MOST_BYTES:
            return BUFFER, lambda: _written(thing), lambda items: _write(thing, items)
        case BaseException():
            return type(thing).__name__, lambda: {"args": thing.args, **vars(thing)}, lambda items: _blame(thing, items)
        case random.Random() if type(thing) is not random.SystemRandom:
            return _generator(thing.getstate, thing.setstate)
        case np.random.RandomState():
            return _generator(lambda: thing.get_state(legacy=False), thing.set_state)
        case np.random.Generator():
            return _generator(lambda: thing.bit_generator.state, partial(setattr, thing.bit_generator, "state"))
        case np.random.BitGenerator():
            return _generator(lambda: thing.state, partial(setattr, thing, "state"))
        case np.random.SeedSequence():
            return DRAWS, lambda: {"": thing.n_children_spawned}, lambda items: None
        case torch.Generator():
            return _seed(thing)
        case ProcessPlace():
            return thing.name, thing.read, thing.write
        case CellType():
            return "a variable", partial(content_of, thing), partial(set_content, thing)
        case Semaphore():  # other threads may hold it: it is not set back
            return PERMITS, lambda: {"": thing._value}, lambda items: None
        case SimpleQueue():
            return QUEUE, lambda: {"": thing.qsize()}, lambda items: None
        case decimal.Context():
            return "the context of decimal", lambda: _settings(thing), lambda items: _set_all(thing, items)
        case os._Environ():
            return "the environment", lambda: dict(thing), _set_environment
        case CoroutineType() | AsyncGeneratorType() | np.nditer() | np.flatiter() | np.ndenumerate() | np.ndindex():
            return ITERATOR, lambda: {"": mark(thing)}, lambda items: None
        case IOBase() if not isinstance(thing, StringIO | BytesIO) and type(thing).__module__ != "tempfile":
            return file_access(thing)
        case Context():
            return "a context", lambda: dict(thing), lambda items: _enter(thing, items)
        case SynchronizedBase():  # other processes may count in it: it is not set back
            return "shared memory", lambda: {"": bytes(thing.get_obj())}, lambda items: None
        case SharedMemory():
            return "shared memory", lambda: {"": bytes((thing.buf or b"")[:MOST_BYTES])}, lambda items: None
        case ContextVar():
            return f"context variable {thing.name!r}", lambda: _value(thing), lambda items: _set(thing, items)
    of_python = type(thing).__module__ in sys.stdlib_module_names
    if of_python and isinstance(thing, Iterator) and not isinstance(thing, IOBase):
        return ITERATOR, lambda: {"": mark(thing)}, lambda items: None
    if type(thing).__module__ == "sqlite3" and hasattr(thing, "total_changes"):
        return DATABASE, lambda: {"": _rows(thing)}, lambda items: None
    if type(thing).__module__ in _DIGESTS and hasattr(thing, "update"):
        return DIGEST, lambda: {"": attribute(thing, "hexdigest")()}, lambda items: None
    return tokenizer_access(thing) or _memory(thing)


def counts(cache: Any) -> Access:
    """The same for the counts of a function with a cache."""
    return COUNTS, lambda: {"": tuple(cache.cache_info())}, lambda items: None


def misses(cache: Any) -> int:
    """How many results a function with a cache has computed."""
    return int(getattr(cache.cache_info(), "misses", 0))


ITERATOR, DRAWS, QUEUE = "an iterator", "a generator of random numbers", "a queue"
COUNTS, PERMITS, DATABASE = "the counts of a cache", "a semaphore", "a database"
DIGEST, _DIGESTS = "a digest", ("_hashlib", "_md5", "_sha1", "_sha2", "_sha256", "_sha512", "_sha3", "_blake2")
MOVED = frozenset((ITERATOR, DRAWS, COUNTS, PERMITS, FILE, DATABASE, TOKENIZER, DIGEST))
"""The places that a function moves on: its next call begins where this one ended."""
BYTEARRAY, ARRAY, MEMORY = "a bytearray", "an array", "a buffer"
BUFFER, POSITION = "a buffer", "position"
BYTES = frozenset((BYTEARRAY, ARRAY, MEMORY))
"""The places of plain bytes, which subscripts and methods fill."""
_BUFFERS = ("_ctypes", "mmap")


def _memory(thing: Any) -> Access | None:
    """The bytes of an object that lends its memory to be written: of ctypes, a mapped file, a view of another one."""
    if callable(thing):  # a function of C
        return None
    if not isinstance(thing, memoryview) and all(kind.__module__ not in _BUFFERS for kind in type(thing).__mro__):
        return None
    try:
        with memoryview(thing) as view:
            if view.readonly or not view.c_contiguous or view.nbytes > MOST_BYTES:
                return None
    except (TypeError, ValueError):
        return None

    def read() -> dict[Any, Any]:
        with memoryview(thing) as view:
            return {"": view.tobytes()}

    def write(items: dict[Any, Any]) -> None:
        with memoryview(thing) as view, view.cast("B") as flat:
            data = items[""]
            flat[:] = (
                data if len(data) == len(flat) else b"\x7f" * len(flat)
            )  # what does not fit stands for large numbers

    return MEMORY, read, write


def _generator(state: Callable[[], Any], set_state: Callable[[Any], None]) -> Access:
    """A generator that is given back what it had when it was found; two states are told apart by their bytes."""
    before = state()
    return DRAWS, lambda: {"": str(hash(pickle.dumps(state())))}, lambda items: set_state(before)


def _seed(generator: torch.Generator) -> Access:
    """The seed of a generator of torch, which what is drawn does not change."""
    seed, before = generator.initial_seed(), generator.get_state()

    def write(items: dict[Any, Any]) -> None:
        if items[""] == seed:
            generator.set_state(before)
        else:
            generator.manual_seed(items[""])

    return "the seed of a generator", lambda: {"": generator.initial_seed()}, write


def _blame(error: BaseException, items: dict[Any, Any]) -> None:
    error.args = items["args"]
    vars(error).clear()
    vars(error).update((name, item) for name, item in items.items() if name != "args")


_SETTINGS = ("prec", "rounding", "Emin", "Emax", "capitals", "clamp")


def _settings(context: decimal.Context) -> dict[Any, Any]:
    """What is set in a context by hand; operations set flags in it."""
    return {name: getattr(context, name) for name in _SETTINGS}


def _set_all(context: decimal.Context, items: dict[Any, Any]) -> None:
    for name, item in items.items():
        setattr(context, name, item)


def _set_environment(items: dict[Any, Any]) -> None:
    for name in os.environ.keys() - items.keys():
        del os.environ[name]
    os.environ.update((name, item) for name, item in items.items() if os.environ.get(name) != item)


def mark(thing: Any) -> Any:
    """What tells how far an iterator is: plain numbers, texts and ids; for other things the things themselves."""
    if isinstance(thing, GeneratorType | CoroutineType | AsyncGeneratorType):
        frame = next(getattr(thing, name) for name in _FRAMES if hasattr(thing, name))
        loops = (each for each in gc.get_referents(thing) if isinstance(each, Iterator))  # what it goes through now
        return None if frame is None else (frame.f_lasti, _marks(frame.f_locals.values()), _marks(loops))
    match thing:
        case np.nditer():
            return thing.iterindex
        case np.flatiter():
            return thing.index
        case np.ndenumerate() | np.ndindex():
            return _marks(vars(thing).values())
    if isinstance(thing, count | repeat):
        return repr(thing)
    if isinstance(thing, IOBase):
        return told_of(thing)
    if isinstance(thing, Iterator):
        left = operator.length_hint(thing, -1)
        return left if left >= 0 else next(_looks) if type(thing).__name__ in _UNKNOWN else _reduced(thing)
    if isinstance(thing, tuple | list):
        return _marks(thing)
    return thing if isinstance(thing, int | float | str | bool | None) else id(thing)


_FRAMES = ("gi_frame", "cr_frame", "ag_frame")
_UNKNOWN = ("callable_iterator", "reader")  # of which nobody knows how far they are: they count as moved
_looks = count()  # a number for each look: two objects could have one address


def _marks(things: Any) -> tuple[Any, ...]:
    return tuple(mark(thing) for thing, _ in zip(things, range(MOST_ITEMS), strict=False))


def _reduced(thing: Any) -> Any:
    with Unheard():  # Python 3.14 copies no iterators
        try:
            return _marks(thing.__reduce__()[1:])
        except (TypeError, AttributeError):
            return id(thing)


def _refill(thing: Any, data: bytes) -> None:
    with memoryview(thing) as view, view.cast("B") as flat:
        if len(data) == len(flat):  # a view that somebody else holds forbids another length
            flat[:] = data
            return
    del thing[:]
    if isinstance(thing, bytearray):
        thing.extend(data)
    else:
        thing.frombytes(data)


def _rows(database: Any) -> int:
    """How many rows were changed; -1 where that is not known, as in another thread than the one that opened it."""
    try:
        return int(database.total_changes)
    except Exception:
        return -1


def _written(thing: Any) -> dict[Any, Any]:
    return {} if thing.closed else {"": thing.getvalue(), POSITION: thing.tell()}


def _write(thing: Any, items: dict[Any, Any]) -> None:
    if items and not thing.closed:
        thing.seek(0)
        thing.truncate()
        thing.write(items[""])
        thing.seek(items[POSITION])


def _value(variable: ContextVar[Any]) -> dict[Any, Any]:
    try:
        return {"": variable.get()}
    except LookupError:
        return {}


def _set(variable: ContextVar[Any], items: dict[Any, Any]) -> None:
    if items:
        variable.set(items[""])


def _enter(context: Context, items: dict[Any, Any]) -> None:
    for variable, value in items.items():
        context.run(variable.set, value)
