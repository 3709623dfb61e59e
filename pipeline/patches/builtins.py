"""`float`, `int`, `bool`, `len`, `type`, `min`, `max` and `math` where the processing function itself calls them.

Python makes plain numbers of what these return, so a stand-in cannot come out of them. Therefore the function is
recorded from a copy of its code, nested functions included, in which the calls of these names go to the functions
below. Nothing else of it changes: where a name is used in another way, as in ``type(x) is float``, it stays what it is.
"""

from __future__ import annotations

import builtins
import dis
import functools
import math
import sys
import threading
from collections import ChainMap
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.operators.names import MATH
from ...ops.runtime.user_code import is_users
from ...ops.tracing_hook import current
from ..proxies.arrays import TracedArray
from ..proxies.base import is_traced
from ..proxies.scalars import TracedNumber
from ..proxies.strings import TracedStr, TracedStrings
from ..proxies.trees import concrete
from ..recording.recorder import Recorder
from .bytecode import SAYS_CALLEE, called


def _active() -> Recorder | None:
    recorder = current()
    return recorder if isinstance(recorder, Recorder) and not recorder.busy else None


def _conversion(kind: type) -> Callable[..., Any]:
    """Stands for a type of numbers that is called."""

    def convert(*args: Any, **kwargs: Any) -> Any:
        recorder = _active()
        if args and type(args[0]) is TracedStr:
            args = (str(args[0]), *args[1:])
        if recorder is None or len(args) != 1 or kwargs or not _is_number(args[0]):
            return kind(*args, **kwargs)
        return recorder.scalar(kind.__name__, args[0])

    return convert


def _is_number(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor) or issubclass(type(thing), TracedNumber | TracedArray)


def _len(thing: Any, /) -> Any:
    """Stands for `len`."""
    recorder = _active()
    if recorder is not None:
        if isinstance(thing, torch.Tensor) and thing in recorder.values and recorder.rank(thing):
            return recorder.scalar("size", thing, 0)
        if type(thing) is TracedArray and thing.ndim:
            return recorder.scalar("array_size", thing, 0)
        if type(thing) is TracedStrings:
            return recorder.scalar("len", thing)
    return len(thing)


def _type(*args: Any, **kwargs: Any) -> Any:
    """Stands for `type`, which sees through what stand-ins pretend to be."""
    return args[0].__class__ if len(args) == 1 and is_traced(args[0]) else type(*args, **kwargs)


def _isinstance(thing: Any, kinds: Any, /) -> bool:
    """Stands for `isinstance`: which class a tensor has besides `torch.Tensor` is no part of a signature."""
    found, recorder = isinstance(thing, kinds), _active()
    if not found and recorder is not None and isinstance(thing, torch.Tensor) and id(thing) in recorder.given:
        flat = kinds if isinstance(kinds, tuple) else (kinds,)
        if any(isinstance(kind, type) and issubclass(kind, torch.Tensor) for kind in flat):
            recorder.refuse(
                "which class a tensor has is no part of a pipeline's signature", "Pass it as a number or a flag."
            )
    return found


def _attribute(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for `getattr` or `hasattr`: what Python code hangs on a tensor is no part of a signature."""

    def attribute(thing: Any, name: str, /, *default: Any) -> Any:
        recorder = _active()
        given = recorder is not None and isinstance(thing, torch.Tensor) and id(thing) in recorder.given
        if recorder is not None and given and isinstance(name, str) and not hasattr(torch.Tensor, name):
            recorder.refuse(f"an attribute of a tensor, {name!r}, is no part of a signature", "Pass it as an input.")
        return plain(thing, name, *default)

    return attribute


class _Identity:
    """Stands for a constant in ``x is CONSTANT``, which becomes ``x in …``."""

    def __init__(self, constant: Any) -> None:
        self.constant = constant

    def __contains__(self, thing: Any) -> bool:
        if is_traced(thing):
            if type(thing.concrete) is not type(self.constant):
                return False
            thing = thing.tracer.pin(thing, "a branch was taken on it")
        return thing is self.constant


def _extreme(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for `min` or `max`: of numbers of one type, since which one it gives may differ from run to run."""

    def extreme(*args: Any, **kwargs: Any) -> Any:
        recorder = _active()
        items = args[0] if len(args) == 1 and type(args[0]) in (tuple, list, torch.Size) else args
        if recorder is None or kwargs or not any(map(is_traced, items)) or len({type(concrete(i)) for i in items}) > 1:
            return plain(*args, **kwargs)
        if len(items) < 2 or not all(issubclass(type(i), TracedNumber) or type(i) in (int, float) for i in items):
            return plain(*args, **kwargs)
        return recorder.scalar(plain.__name__, *items)

    return extreme


def _calculation(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function of math."""

    def calculate(*args: Any) -> Any:
        recorder = _active()
        if recorder is None or not any(issubclass(type(arg), TracedNumber) for arg in args):
            return plain(*args)
        return recorder.scalar(name, *args)

    return calculate


class _Math:
    """Stands for the module where one of its functions is looked up."""

    def __getattr__(self, name: str) -> Any:
        return _calculation(name, getattr(math, name))


_PREFIX = "_tracepack "  # with a blank: a name that no source can hold
_NAMES: dict[Any, str] = {}
"""What is called -> the name under which code finds what stands for it."""


def _stand_in(plain: Any, function: Any) -> None:
    _NAMES[plain] = name = _PREFIX + plain.__name__
    builtins.__dict__[name] = function  # where code finds a name that its module lacks


for _kind in (float, int, bool):
    _stand_in(_kind, _conversion(_kind))


def _own(thing: Any) -> Any:
    """Python's own `min` or `max`: torch.export replaces both for all threads while any exports."""
    return thing.keywords.get("real_callable", thing) if isinstance(thing, functools.partial) else thing


for _plain in map(_own, (min, max)):
    _stand_in(_plain, _extreme(_plain))
for _name in MATH:
    _stand_in(getattr(math, _name), _calculation(_name, getattr(math, _name)))
_stand_in(len, _len)
_stand_in(isinstance, _isinstance)
for _asking in (getattr, hasattr):
    _stand_in(_asking, _attribute(_asking))
_stand_in(type, _type)
_stand_in(math, _Math())


TESTED = ((3, 10), (3, 13))
"""The first and the last Python on which the copy was tested: bytecode changes with every version."""


def recordable(process: Callable[..., Any]) -> Callable[..., Any]:
    """The function, or a copy of it whose calls of some builtins can be recorded.

    Raises:
        RecordError: this Python is newer than those on which the copy was tested.
    """
    if sys.version_info[:2] > TESTED[1]:
        first, last = (f"{major}.{minor}" for major, minor in TESTED)
        raise RecordError(
            "trace runs a copy of the function with changed bytecode, which was not tested on this Python",
            got=f"{sys.version_info[0]}.{sys.version_info[1]}", expected=f"{first} to {last}",
            fix="Trace with one of those and save; archives load and run on any Python.",
        )  # fmt: skip
    if isinstance(process, MethodType) and isinstance(process.__func__, FunctionType):
        return MethodType(_copied(process.__func__), process.__self__)
    if isinstance(process, FunctionType):
        return _copied(process)
    call = type(process).__call__
    if isinstance(call, FunctionType) and is_users(call.__code__.co_filename):
        return MethodType(_copied(call), process)
    return process


class _LentCode:
    """Helpers of recorded functions, whose own code is exchanged while a recording needs it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._plain: dict[int, list[Any]] = {}  # function, its code, how many recordings need it

    @contextmanager
    def __call__(self, functions: Iterable[FunctionType]) -> Iterator[None]:
        """Lets the calls of some builtins in helpers be recorded, too."""
        mine = [function for function in functions if self._take(function)]
        try:
            yield
        finally:
            for function in mine:
                self._give_back(function)

    def _take(self, function: FunctionType) -> bool:
        with self._lock:
            if id(function) not in self._plain:
                code = _redirected(function.__code__, ChainMap(function.__globals__, builtins.__dict__))
                if code is function.__code__:
                    return False
                self._plain[id(function)] = [function, function.__code__, 0]
                function.__code__ = code
            self._plain[id(function)][2] += 1
            return True

    def _give_back(self, function: FunctionType) -> None:
        with self._lock:
            entry = self._plain[id(function)]
            entry[2] -= 1
            if entry[2] == 0:
                function.__code__ = entry[1]
                del self._plain[id(function)]


lent = _LentCode()


def _copied(function: FunctionType) -> FunctionType:
    known = ChainMap(function.__globals__, builtins.__dict__)
    code = _redirected(function.__code__, known)
    if code is function.__code__:
        return function
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return copy


def _redirected(code: CodeType, known: Mapping[str, Any]) -> CodeType:
    """The code with its calls redirected; the same object where there are none.

    Args:
        code: of a function; that of functions inside is redirected with it.
        known: what its global names mean.
    """
    constants = tuple(_redirected(c, known) if isinstance(c, CodeType) else c for c in code.co_consts)
    code, constants = _with_identity(code, constants)
    calls = list(_calls(code, known))
    names = [*code.co_names, *dict.fromkeys(name for _, name in calls)]
    if len(names) >= 256 >> SAYS_CALLEE:  # an argument of one byte holds the index, from 3.11 on doubled
        calls = []
    if not calls and all(a is b for a, b in zip(constants, code.co_consts, strict=True)):
        return code
    changed = bytearray(code.co_code)
    for offset, name in calls:
        index = names.index(name)
        changed[offset + 1] = index << 1 | changed[offset + 1] & 1 if SAYS_CALLEE else index
    return code.replace(co_code=bytes(changed), co_consts=constants, co_names=tuple(names) if calls else code.co_names)


def _with_identity(code: CodeType, constants: tuple[Any, ...]) -> tuple[CodeType, tuple[Any, ...]]:
    """Turns ``x is CONSTANT`` into a test for membership, which stand-ins answer; both instructions are of one size.

    Up to Python 3.12, that is. From 3.13 on such a test stays as it is, and is met by the replays of a recording only.
    """
    if sys.version_info >= (3, 13):
        return code, constants
    changed, found = bytearray(code.co_code), list(constants)
    instructions = list(dis.get_instructions(code))
    for before, load, test in zip([None, *instructions], instructions, instructions[1:], strict=False):
        if test.opname != "IS_OP" or load.opname != "LOAD_CONST" or (before and before.opname == "EXTENDED_ARG"):
            continue
        if type(load.argval) in (bool, int, float, str) and len(found) < 256:
            changed[load.offset + 1] = len(found)
            changed[test.offset] = dis.opmap["CONTAINS_OP"]
            found.append(_Identity(load.argval))
    if len(found) == len(constants):
        return code, constants
    return code.replace(co_code=bytes(changed), co_consts=tuple(found)), tuple(found)


def _calls(code: CodeType, known: Mapping[str, Any]) -> Iterator[tuple[int, str]]:
    """Where the code reads a global to call it, or to look up a function of math; and the name to read instead."""
    instructions = list(dis.get_instructions(code))
    neighbours = zip([None, *instructions], instructions, [*instructions[1:], None], strict=False)
    for index, (before, this, after) in enumerate(neighbours):
        if this.opname != "LOAD_GLOBAL" or this.arg is None or (before and before.opname == "EXTENDED_ARG"):
            continue
        thing = _own(known.get(str(this.argval)))
        looked_up = after is not None and after.opname in ("LOAD_ATTR", "LOAD_METHOD") and after.argval in MATH
        if thing is math:
            found = looked_up
        else:
            found = isinstance(thing, Hashable) and thing in _NAMES and called(instructions, index)
        if found:
            yield this.offset, _NAMES[thing]
