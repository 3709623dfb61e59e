"""Stand-ins for `float`, `int`, `bool`, `len`, `type`, `min`, `max` and `math` where a recorded function calls them.

Python turns what these return into plain numbers, so they cannot return a traced value. Therefore the recorder runs a
copy of the function's code, nested functions included, in which calls of these names go to the functions below. Nothing
else changes: a name in another use, as in ``type(x) is float``, keeps its meaning.
"""

from __future__ import annotations

import builtins
import math
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from types import CodeType, FunctionType, MethodType
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.operators.names import MATH
from ...ops.lowering.patches.int_range import lent
from ...ops.runtime.interrupts.changes import Change, Lock
from ...ops.runtime.user_code import is_users
from ..proxies.arrays import TracedArray
from ..proxies.base import is_traced
from ..proxies.byte_strings import TracedBytes
from ..proxies.dicts import TracedDict
from ..proxies.lists import TracedList
from ..proxies.make import TracedOptional
from ..proxies.scalars import TracedInt, TracedNumber
from ..proxies.sets import TracedSet
from ..proxies.strings import TracedStr
from ..proxies.values.call_only import refuse_asked
from ..proxies.values.library_value import LibraryValue
from ..proxies.values.maybe import MaybeThing
from ..proxies.values.members import TracedMember
from ..recheck.reach.written.written_codes import remember
from ..recording.branch import Branch
from ..rules.advice.named_attributes import refuse_name
from ..rules.number_or_tensor import number_behind, number_of
from .identity_tests import compares_identity, with_identity
from .library import special
from .library.elsewhere import progress_bars
from .library.extremes import extreme
from .library.extremes import running as _active
from .library.hashes import hashed
from .library.values.one_object import refuse_another
from .plain_code.calling import BLOCKS
from .python.callees import register
from .python.conditions.own_answers import own_length
from .python.dunders import OPERATORS, looks_up_operators, operator_of, refuse_kept_operators
from .python.instructions import instrumented
from .python.rounds.bound_calls import with_bound_calls
from .redirect import own, redirected, stand_in
from .source.choosers import CHOOSERS
from .source.written_anew import code_to_record


def _conversion(kind: type) -> Callable[..., Any]:
    """Stands for a type of numbers that is called."""

    def convert(*args: Any, **kwargs: Any) -> Any:
        recorder = _active()
        args = args if kind is bool else tuple(map(_given, args))
        if recorder is not None and len(args) == 1 and issubclass(type(args[0]), LibraryValue | TracedMember):
            return args[0].converted(kind)
        if recorder is not None and len(args) == 1 and not kwargs and _is_number(args[0]):
            chosen = number_behind(recorder, args[0])
            return recorder.scalar(kind.__name__, args[0] if chosen is None else chosen)
        if recorder is not None and kind is int and (based := _with_base(*args, **kwargs)) is not None:
            return recorder.scalar("int", *based)
        if args and type(args[0]) is TracedStr:
            args = (str(args[0]), *args[1:])
        if args and isinstance(args[0], torch.SymInt | torch.SymFloat):
            return lent(sys._getframe(1).f_globals, kind)(*args, **kwargs)  # a model is exported
        return kind(*args, **kwargs)

    return convert


def _given(thing: Any) -> Any:
    """A thing for what takes no None: of what may be None each run checks that it is not, as Python does."""
    return thing.given() if type(thing) in (TracedOptional, MaybeThing) and _active() is not None else thing


def _with_base(text: Any = None, /, base: Any = None, **others: Any) -> tuple[Any, Any] | None:
    """The text and the base of ``int(text, base)``, where one of them is traced."""
    ours = isinstance(text, str) and base is not None and (is_traced(text) or is_traced(base))
    return (text, base) if ours and not others else None


def _is_number(thing: Any) -> bool:
    return isinstance(thing, torch.Tensor) or issubclass(type(thing), TracedNumber | TracedArray | TracedStr)


def _len(thing: Any, /) -> Any:
    """Stands for `len`."""
    recorder, thing = _active(), _given(thing)
    if recorder is not None:
        if isinstance(recorder, Branch) and isinstance(thing, torch.Tensor):
            recorder.lift(thing)
        if isinstance(thing, torch.Tensor) and thing in recorder.values and recorder.rank(thing):
            return recorder.scalar("size", thing, 0)
        if type(thing) is TracedArray and thing.ndim:
            return recorder.scalar("array_size", thing, 0)
        if type(thing) in (TracedList, TracedBytes, TracedSet):
            return thing.length()
        if type(thing) is TracedStr or issubclass(type(thing), TracedDict):
            return recorder.scalar("len", thing)
        if (found := own_length(recorder, thing)) is not None:
            return found
    return len(thing)


def _character(name: str, plain: Callable[..., Any], kind: type) -> Callable[..., Any]:
    """Stands for `ord` or `chr`."""

    def convert(thing: Any, /) -> Any:
        recorder, thing = _active(), _given(thing)
        traced = recorder is not None and issubclass(type(thing), kind)
        return recorder.scalar(name, thing) if recorder is not None and traced else plain(thing)

    return convert


def _digits(plain: Callable[[Any], str], spec: str) -> Callable[[Any], Any]:
    """Stands for `bin`, `hex` or `oct`, which write an int as a format does."""

    def written(number: Any, /) -> Any:
        recorder, number = _active(), _given(number)
        if recorder is not None and type(number) is TracedInt and type(number.concrete) is int:
            return recorder.scalar("format", number, spec, "")
        return plain(number)

    return written


def _type(*args: Any, **kwargs: Any) -> Any:
    """Stands for `type`, which sees through what stand-ins pretend to be."""
    refuse_asked(*args)
    return args[0].__class__ if len(args) == 1 and is_traced(args[0]) else type(*args, **kwargs)


def _isinstance(thing: Any, kinds: Any, /) -> bool:
    """Stands for `isinstance`: a signature does not hold whether a tensor is of a subclass of `torch.Tensor`."""
    refuse_asked(thing)
    found, recorder = isinstance(thing, kinds), _active()
    if recorder is not None and type(thing) is TracedOptional:
        other = isinstance(thing.sample, kinds)
        return other if other == isinstance(None, kinds) else recorder.scalar("ne" if other else "eq", thing, None)
    if recorder is not None and type(thing) is MaybeThing:
        return thing.is_one_of(kinds)  # type: ignore[no-any-return]  # a traced bool
    if not found and recorder is not None and isinstance(thing, torch.Tensor) and id(thing) in recorder.given:
        flat = kinds if isinstance(kinds, tuple) else (kinds,)
        if any(isinstance(kind, type) and issubclass(kind, torch.Tensor) for kind in flat):
            recorder.refuse(
                "which class a tensor has is no part of a pipeline's signature", "Pass it as a number or a flag."
            )
    return found


def _attribute(plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for `getattr` or `hasattr`: a signature does not hold attributes that Python code sets on a tensor."""

    def attribute(thing: Any, name: Any, /, *default: Any) -> Any:
        recorder = _active()
        refuse_asked(thing)
        if recorder is not None and type(name) is TracedStr:
            refuse_name(recorder, plain, thing, name.concrete)
        given = recorder is not None and isinstance(thing, torch.Tensor) and id(thing) in recorder.given
        if recorder is not None and given and isinstance(name, str) and not hasattr(torch.Tensor, name):
            recorder.refuse(f"an attribute of a tensor, {name!r}, is no part of a signature", "Pass it as an input.")
        if recorder is not None and plain is getattr and name in OPERATORS:
            return operator_of(thing, name, default)
        return plain(thing, name, *default)

    return attribute


def _identity(thing: Any, /) -> int:
    """Stands for `id`, which memory that is used again may give twice: no two recordings find the same."""
    recorder = _active()
    refuse_asked(thing)
    if recorder is not None:
        refuse_another(recorder, thing)
    return id(thing) + (id(recorder) if recorder is not None and is_traced(thing) else 0)


def _calculation(name: str, plain: Callable[..., Any]) -> Callable[..., Any]:
    """Stands for a function of math."""

    def calculate(*args: Any) -> Any:
        recorder = _active()
        args = args if recorder is None else tuple(number_of(recorder, _given(arg)) for arg in args)
        if recorder is None or not any(issubclass(type(arg), TracedNumber) for arg in args):
            return plain(*args)
        return recorder.scalar(name, *args)

    return calculate


for _kind in (float, int, bool):
    stand_in(_kind, _conversion(_kind))
for _plain in map(own, (min, max)):
    stand_in(_plain, extreme(_plain))
for _name in MATH:
    stand_in(getattr(math, _name), _calculation(_name, getattr(math, _name)))
stand_in(id, _identity)
stand_in(hash, hashed)
stand_in(len, _len)
stand_in(ord, _character("ord", ord, TracedStr))
stand_in(chr, _character("chr", chr, TracedNumber))
for _plain, _spec in ((bin, "#b"), (hex, "#x"), (oct, "#o")):
    stand_in(_plain, _digits(_plain, _spec))
stand_in(isinstance, _isinstance)
for _asking in (getattr, hasattr):
    stand_in(_asking, _attribute(_asking))
stand_in(type, _type)
register()


TESTED = ((3, 10), (3, 13))
"""The first and the last Python on which the copy was tested: bytecode changes with every version."""


def recordable(process: Callable[..., Any], deeply: bool = False) -> Callable[..., Any]:
    """The function, or a copy of it whose calls of some builtins can be recorded.

    Args:
        process: the user's function.
        deeply: whether subscripts, f-strings and comprehensions can be recorded, too.

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
        return MethodType(_copied(process.__func__, deeply), process.__self__)
    if isinstance(process, FunctionType):
        return _copied(process, deeply)
    call = type(process).__call__
    if isinstance(call, FunctionType) and is_users(call.__code__.co_filename):
        return MethodType(_copied(call, deeply), process)
    return process


class _Loan:
    """The changed code of a helper, which it has as long as any recording needs it."""

    def __init__(self, function: FunctionType, deeply: bool) -> None:
        self.function, self.plain, self.users = function, function.__code__, list[Change]()
        self.changed = _changed(function, deeply)


_loans: dict[int, _Loan] = {}
_lending = Lock()  # held for a few instructions


class LentCode(Change):
    """While it is entered, calls of some builtins in helpers of a recorded function can be recorded, too.

    Other threads run the changed code as well; outside of a recording it does what the plain code does.

    Args:
        functions: the helpers.
        deeply: whether subscripts, f-strings and comprehensions can be recorded, too.

    Raises:
        RecordError: one has an operator of a plain number as a function.
    """

    of_process = True

    def __init__(self, functions: Iterable[FunctionType], deeply: bool = False) -> None:
        self.functions, self.deeply = list(functions), deeply
        refuse_kept_operators(self.functions)

    def make(self) -> None:
        """Gives them their changed code."""
        for function in self.functions:
            with _lending():
                loan = _loans.get(id(function))
                if loan is None or not loan.users:
                    loan = _Loan(function, self.deeply)
                if loan.changed is not loan.plain:
                    loan.users = [*loan.users, self]
                    _loans[id(function)] = loan
                    function.__code__ = loan.changed

    def undo(self) -> None:
        """Restores the plain code of helpers that no other recording needs."""
        for function in self.functions:
            with _lending():
                loan = _loans.get(id(function))
                if loan is None:
                    continue
                others = [user for user in loan.users if user is not self]
                if not others and function.__code__ is loan.changed:  # code that was set meanwhile stays
                    function.__code__ = loan.plain
                loan.users = others
                if not others:
                    del _loans[id(function)]


@contextmanager
def as_written() -> Iterator[None]:
    """While it is entered, functions that are recorded have the code of their source: replays are held against that."""
    changed = [loan for loan in [*_loans.values()] if loan.users]
    for loan in changed:
        loan.function.__code__ = loan.plain
    try:
        yield
    finally:
        for loan in changed:
            loan.function.__code__ = loan.changed


def _known(function: FunctionType) -> Mapping[str, Any]:
    """What the global names in a function mean."""
    return ChainMap(function.__globals__, builtins.__dict__, CHOOSERS, BLOCKS)


def _changed(function: FunctionType, deeply: bool) -> CodeType:
    loan = _loans.get(id(function))
    plain = loan.plain if loan is not None and function.__code__ is loan.changed else function.__code__
    deeply = deeply or looks_up_operators(plain) or compares_identity(plain)
    special.register()  # scipy may have been imported since, and tqdm
    progress_bars.register()
    code = redirected(with_identity(code_to_record(plain)), _known(function), deeply)
    found = instrumented(with_bound_calls(code, _known(function))) if deeply else code
    remember(found, plain)
    return found


def _copied(function: FunctionType, deeply: bool) -> FunctionType:
    code = _changed(function, deeply)
    if code is function.__code__:
        return function
    copy = FunctionType(code, function.__globals__, function.__name__, function.__defaults__, function.__closure__)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__dict__.update(function.__dict__)
    return copy
