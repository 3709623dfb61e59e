"""Copies of bytecode in which the calls of some global names go to stand-ins.

A copy reaches a stand-in through its own constants. So no name is added to the user's module or to `builtins`, and a
nested function that outlives the recording goes on working: its stand-ins then do what Python's own functions do.
"""

from __future__ import annotations

import dis
import functools
import math
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from types import CodeType, FunctionType, MethodType
from typing import Any

from ..proxies.base import is_free_shape, is_traced
from .bytecode import SAYS_CALLEE, called

STAND_INS: dict[str, Any] = {}
"""The name of a builtin, or of a function of math, -> what is called in its place."""

_NAMES: dict[Any, str] = {}
"""A builtin, or a function of math, -> its name among the stand-ins."""


_MORE_NAMES: dict[Any, str] = {}
"""The same for functions that are replaced only where operations are recorded, too."""


def stand_in(plain: Callable[..., Any], function: Callable[..., Any], name: str = "") -> None:
    """Registers a stand-in for a builtin, for a function of math, or under a name for one of a package."""
    _NAMES[plain] = name or plain.__name__
    STAND_INS[_NAMES[plain]] = function


def deep_stand_in(plain: Callable[..., Any], function: Callable[..., Any]) -> None:
    """Registers a stand-in that takes part only where operations of Python are recorded, too."""
    owner = plain.__module__ or getattr(plain, "__self__", plain).__qualname__  # of a method of a class
    _MORE_NAMES[plain] = f"{owner}.{plain.__name__}"
    STAND_INS[_MORE_NAMES[plain]] = function


def stand_in_of(function: Any) -> Any:
    """What stands for a builtin; any other function itself."""
    try:
        name = _NAMES.get(function) or _MORE_NAMES.get(function)
    except Exception:  # it cannot be hashed
        return function
    return function if name is None else STAND_INS[name]


def name_of(function: Any) -> str:
    """The name of what a function stands for, without its module; empty where it is no stand-in."""
    return next((name.rpartition(".")[2] for name, each in STAND_INS.items() if each is function), "")


def called_name(callee: Any) -> str:
    """The name of the builtin whose stand-in the code of a recorded function calls; empty for any other function."""
    code = callee.__code__ if type(callee) is FunctionType and SAYS_CALLEE else None
    if code is not None and code.co_name in STAND_INS and code is _constant(code.co_name):
        return code.co_name.rpartition(".")[2]
    return name_of(stand_in_of(callee))


def own(thing: Any) -> Any:
    """The builtin behind a replacement: torch.export replaces `min` and `max` in all threads while one exports."""
    return thing.keywords.get("real_callable", thing) if isinstance(thing, functools.partial) else thing


def redirected(code: CodeType, known: Mapping[str, Any], deeply: bool = False) -> CodeType:
    """The code with its calls redirected; the same object where there are none.

    Args:
        code: of a function; that of functions inside is redirected with it.
        known: what its global names mean.
        deeply: whether the stand-ins that go with operations of Python take part.
    """
    constants = tuple(redirected(c, known, deeply) if isinstance(c, CodeType) else c for c in code.co_consts)
    calls = list(_calls(code, known, {**_NAMES, **_MORE_NAMES} if deeply else _NAMES))
    if not calls and all(a is b for a, b in zip(constants, code.co_consts, strict=True)):
        return code
    changed, found = bytearray(code.co_code), list(constants)
    for call in calls:
        loading = call.loading(len(found))
        if len(loading) == call.end - call.start:
            changed[call.start : call.end] = loading
            found.append(call.constant)
    return code.replace(co_code=bytes(changed), co_consts=tuple(found))


@dataclass(frozen=True)
class _Call:
    """A call to redirect: the instructions that load the callee.

    Attributes:
        start: offset of the first byte; end: of the byte after the last one.
        constant: code that calls the stand-in, or the stand-in itself.
        pushes: whether the instructions also push the NULL that a call wants beside a function.
    """

    start: int
    end: int
    constant: Any
    pushes: bool

    def loading(self, index: int) -> bytes:
        """Instructions that load the stand-in by the constant at an index, of the same length where there is room."""
        made = [("LOAD_CONST", index & 255)]
        if index > 255:
            made.insert(0, ("EXTENDED_ARG", index >> 8))
        if isinstance(self.constant, CodeType):
            made.append(("MAKE_FUNCTION", 0))
        if self.pushes:
            made.insert(len(made) if sys.version_info >= (3, 13) else 0, ("PUSH_NULL", 0))
        made += [("NOP", 0)] * ((self.end - self.start) // 2 - len(made))
        return bytes(byte for name, argument in made for byte in (dis.opmap[name], argument))


def _template(*args: Any, **kwargs: Any) -> Any:
    from tracepack.pipeline.patches.redirect import STAND_INS  # it runs with the globals of the user's function

    return STAND_INS["?"](*args, **kwargs)


@functools.cache
def _constant(name: str) -> Any:
    """The constant for a stand-in: code that calls it, since torch's compiler takes no function as a constant.

    On Python 3.10 it is the stand-in itself, since there is room for one instruction only.
    """
    if not SAYS_CALLEE:
        return _Math() if name == math.__name__ else STAND_INS[name]
    code = _template.__code__
    return code.replace(co_name=name, co_consts=tuple(name if each == "?" else each for each in code.co_consts))


class _Math:
    """Stands for the module `math` on Python 3.10."""

    def __getattr__(self, name: str) -> Any:
        return STAND_INS.get(name) or STAND_INS.get(f"math.{name}") or getattr(math, name)


class Uncached:
    """Stands for a function with `functools.lru_cache`, whose cache shall keep nothing of a recording."""

    def __init__(self, plain: Any) -> None:
        self.plain = plain

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Calls the function: without the cache where an argument is traced."""
        traced = any(map(_holds_traced, (*args, *kwargs.values())))
        return (_behind(self.plain) if traced else self.plain)(*args, **kwargs)


def _behind(cache: Any) -> Any:
    """The function whose results a cache keeps."""
    function = cache.__wrapped__
    return MethodType(function, cache.__self__) if isinstance(cache, MethodType) else function


def _holds_traced(thing: Any) -> bool:
    return any(map(_holds_traced, thing)) if type(thing) is tuple else is_traced(thing) or is_free_shape(thing)


def _calls(code: CodeType, known: Mapping[str, Any], names: Mapping[Any, str]) -> Iterator[_Call]:
    """Where the code loads a global to call it, or looks up a function of math.

    From Python 3.11 on the lowest bit of an instruction's argument says whether it pushes NULL for a call beside.
    """
    instructions, named = list(dis.get_instructions(code)), {id(each): name for each, name in names.items()}
    triples = zip([None, *instructions], instructions, instructions[1:], instructions[2:], strict=False)
    for index, (before, this, after, end) in enumerate(triples):
        if this.opname != "LOAD_GLOBAL" or this.arg is None or (before and before.opname == "EXTENDED_ARG"):
            continue
        thing = own(known.get(str(this.argval)))
        if thing is math:
            name = names.get(getattr(math, str(after.argval), None))
            if after.opname not in ("LOAD_ATTR", "LOAD_METHOD") or name is None or after.is_jump_target:
                continue
            if not SAYS_CALLEE:
                yield _Call(this.offset, after.offset, _constant(math.__name__), pushes=False)
            else:
                pushes = bool(this.arg & 1) or _is_method(after)
                yield _Call(this.offset, end.offset, _constant(name), pushes)
        elif isinstance(thing, functools._lru_cache_wrapper) and called(instructions, index):
            yield _Call(this.offset, after.offset, Uncached(thing), pushes=SAYS_CALLEE)
        elif id(thing) in named and called(instructions, index):  # an object of the user's may refuse to be hashed
            yield _Call(this.offset, after.offset, _constant(named[id(thing)]), pushes=SAYS_CALLEE)


def _is_method(load: dis.Instruction) -> bool:
    """Whether an attribute is loaded to be called."""
    return load.opname == "LOAD_METHOD" or (sys.version_info >= (3, 12) and bool((load.arg or 0) & 1))
