"""The code that a function can come to: its own, and all that it may call by a name in it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping
from functools import cached_property, partial
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MethodDescriptorType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any

import numpy as np
import torch

from .....ops.op import InferenceOp
from .....ops.runtime.user_code import attribute, codes_in, functions_in
from ..contents.hidden import access
from ..places import is_special
from ..whose import attributes_of, is_looked_into, is_made_by_hand, is_users_own
from . import unseen
from .named_ways import OF_OBJECT, Ways
from .receivers import makers_in
from .stores import DYNAMIC, RUN_BY_STORES, Stores, joined, stores_of
from .written_codes import code_as_written

_BY_NAME = (BuiltinMethodType, MethodDescriptorType, MethodWrapperType)
_LEADING = (MethodType, partial, InferenceOp, str, bytes, range, slice, tuple, dict, list, set, deque, type(None))
_SAFE_OPERATORS = frozenset(("aten", "prim", "prims", "quantized", "inductor", "name"))
_MAKING = frozenset(("__init__", "__new__", "__post_init__", "__init_subclass__", "__set_name__", "__class_getitem__"))
_MADE_ANEW = frozenset(("type", "__class__", "replace", "copy", "deepcopy"))
_OF_FILES = frozenset("write writelines flush read readline readlines readinto seek tell close".split())
_WITH_FILES = frozenset(
    """print dump load save savez savez_compressed savetxt loadtxt genfromtxt reader writer open input pprint
    redirect_stdout redirect_stderr TextIOWrapper BufferedReader BufferedWriter""".split()
)
_CODES = ("gi_code", "cr_code", "ag_code")
_ANSWERING = frozenset(("__getattr__", "__getattribute__"))


class Comings:
    """What a function comes to.

    Args:
        ways: from the function to all objects that it can reach.
        unread: whether not all was looked at.

    Attributes:
        lent: the ids of containers that code of torch or Python writes, too.
    """

    def __init__(self, ways: Ways, unread: bool) -> None:
        self._ways, self._unread, self.lent = ways, unread or unseen.are_heard_globally(), set[int]()
        self._names, self._attributes, self._texts, self._called = set[str](), set[str](), set[str](), set[int]()
        self._calls = set[str]()  # of what is called without naming what it fills
        self._found: list[Stores] = []
        self._modules: list[ModuleType] = []

    def stores(self) -> Stores | None:
        """What all code can write that the function comes to; None for anything."""
        later: list[tuple[Any, str, Any]] = []
        waiting, met = [self._ways.start], dict[int, Any]()
        while waiting and not self._unread:
            thing = waiting.pop()
            if id(thing) not in met:
                met[id(thing)] = thing
                self._meet(thing)
                for name, other in self._ways.of(thing):
                    if isinstance(other, type) and name != OF_OBJECT:
                        self._called.add(id(other))
                    if name:
                        later.append((thing, name, other))
                    else:
                        waiting.append(other)
            if not waiting:
                waiting = [other for owner, name, other in later if self._goes(owner, name)]
                later = [each for each in later if not self._goes(*each[:2])]
        if self._unread or any(map(self._is_unread_module, self._modules)) or self._calls_operators():
            return None
        calls = self._calls | (self._texts if self._is_dynamic() else set())
        answers = not _ANSWERING.isdisjoint(self._names | self._calls)  # with what may have another name
        return joined(self._found, self._attributes, calls, lambda name: not answers and self._ways.holds_filled(name))

    def _goes(self, owner: Any, name: str) -> bool:
        """Whether code goes from an object by a name."""
        if name in self._names or name in unseen.OF_MODULES or self._is_dynamic():
            return True
        if not isinstance(owner, type):
            return is_special(name)
        if name in _MAKING:
            return id(owner) in self._called or not _MADE_ANEW.isdisjoint(self._names)
        if is_special(name):
            return name not in RUN_BY_STORES or any(each.runs(name) for each in self._found)
        if name in _OF_FILES and not _WITH_FILES.isdisjoint(self._names):
            return True
        return name == "keys" or any(name in vars(base) for base in owner.__mro__ if not unseen.is_of_user(base))

    def _is_dynamic(self) -> bool:
        return not DYNAMIC.isdisjoint(self._names)

    def _is_unread_module(self, module: ModuleType) -> bool:
        held = vars(module)
        return unseen.is_unread(module.__name__) and any(callable(held.get(name)) for name in self._names)

    def _calls_operators(self) -> bool:
        """Whether code may call an operator of torch that somebody wrote in Python."""
        return "ops" in self._names and not self._names.isdisjoint(vars(torch.ops).keys() - _SAFE_OPERATORS)

    # -- what it comes to --------------------------------------------------------------------------------------

    def _meet(self, thing: Any) -> None:
        kind = type(thing)
        if kind is str:
            self._texts.add(thing)
        elif isinstance(thing, torch.Tensor):
            self._unread = unseen.is_unread_tensor(thing)
        elif kind is FunctionType:
            self._meet_function(thing)
        elif isinstance(thing, type):
            self._unread = (
                unseen.has_unread_code(thing) if unseen.is_of_user(thing) else unseen.is_unread(thing.__module__)
            )
        elif isinstance(thing, ModuleType) and not is_made_by_hand(thing):
            self._modules.append(thing)
        elif isinstance(thing, cached_property):
            self._attributes.add(thing.attrname or "")
            for function in functions_in(thing.func):
                self._meet_function(function)
        elif isinstance(thing, np.ndarray):
            self._unread = not kind.__module__.startswith("numpy")
        elif isinstance(thing, torch.nn.Module):
            self.lent.update(map(id, unseen.internals(thing)))
            self._attributes |= unseen.OF_MODULES
            self._meet_object(thing)
        elif not (isinstance(thing, _LEADING) or (kind.__module__ == "builtins" and kind in _NUMBERS)):
            self._meet_other(thing, kind)

    def _meet_object(self, thing: Any) -> None:
        if unseen.keeps_own_state(type(thing)):
            self.lent.update(map(id, attributes_of(thing).values()))

    def _meet_other(self, thing: Any, kind: type) -> None:
        if isinstance(thing, _BY_NAME):
            self._call(thing.__name__)
        if (found := access(thing)) is not None:
            for code in filter(None, (attribute(thing, each) for each in _CODES)):
                self._meet_code(code, None)
            self._unread = self._unread or unseen.is_of_user(kind) or unseen.is_unread_iterator(thing, found[0])
        elif is_looked_into(kind):
            self._meet_object(thing)
        else:
            self._unread = self._unread or unseen.is_unread_object(thing)

    def _meet_function(self, function: FunctionType) -> None:
        if is_users_own(function.__code__.co_filename):
            self._meet_code(code_as_written(function), function.__globals__)
            self._calls |= _ANSWERING & {function.__name__}
        else:
            self._call(function.__name__)
            self._unread = self._unread or unseen.is_unread_function(function)

    def _call(self, name: str) -> None:
        self._names.add(name)
        self._calls.add(name)

    def _meet_code(self, code: CodeType, held: Mapping[str, Any] | None) -> None:
        """Reads some code, and what is defined inside of it, with its globals; None for those of one that has begun."""
        for inner in codes_in(code):
            found = stores_of(inner, None if held is None else makers_in(inner, held))
            self._found.append(found)
            self._names |= found.named
            if "cls" in inner.co_varnames:
                self._names.add("__class__")
            self._unread = self._unread or found.anywhere or not found.imports <= self._ways.modules


_NUMBERS = (int, float, complex, bool, bytearray)
