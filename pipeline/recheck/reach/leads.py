"""What objects of Python lead to that neither hold items nor have attributes: the receiver of a method, a function."""

from __future__ import annotations

import dis
import gc
import logging
import operator
import random
import re
import sys
from collections.abc import Iterable, Iterator, Sequence, Set
from functools import lru_cache, partial
from itertools import pairwise
from types import (
    BuiltinMethodType,
    CodeType,
    FunctionType,
    MappingProxyType,
    MethodType,
    MethodWrapperType,
    ModuleType,
)
from typing import Any, NamedTuple
from weakref import ref

import numpy as np
import torch

from ....ops.runtime.user_code import attribute, codes_in, names_in, stored_attributes
from .contents.process_places import listeners_of, registry_of, settings_of
from .whose import MADE_AT_RUN_TIME, is_looked_into, is_of_no_module, is_users_module, is_users_own

_OF_MODULES = frozenset(("modules", "import_module", "__import__"))
_BY_ANY_TEXT = frozenset(("getattr", "getattr_static", "attrgetter", "methodcaller", "getmembers", "__dict__", "vars"))
_OF_CODE = frozenset(("eval", "exec", "compile"))
_BY_TEXT = _OF_MODULES | {"globals", "vars", "__globals__", "__dict__", "setattr", "exec", "eval", "f_globals"}
_OF_FIELDS = (
    "concurrent.futures",
    "configparser",
    "contextlib",
    "email.",
    "logging.handlers",
    "tempfile",
    "torch.optim.",
)
"""The modules of classes whose objects hold lists and dicts that a function may well change."""
MOST_WRAPPERS, MOST_PARTS = 6, 200  # of one inside another, and of their parts
_CACHE = type(lru_cache(lambda: None))
_CALLED = FunctionType | MethodType | partial | _CACHE
_NO_WRAPPERS = (
    type, ModuleType, BuiltinMethodType, MethodWrapperType, str, bytes, int, float, type(None), np.ndarray,
    torch.Tensor,
)  # fmt: skip
"""What calls nothing that it holds, or is looked into in another way."""
_VIEWS: tuple[type, ...] = (
    MappingProxyType, type({}.keys()), type({}.values()), type({}.items()), slice, operator.methodcaller,
)  # fmt: skip


def leads(thing: Any) -> list[Any]:
    """The objects behind one: behind a decorator of Python's, a bound method, a weak reference, a view, a slice."""
    found = [attribute(thing, "__wrapped__")] if callable(thing) else []
    match thing:
        case BuiltinMethodType() | MethodWrapperType():
            found.append(thing.__self__)
        case ref():
            found.append(thing())
        case _ if isinstance(thing, _VIEWS):
            found += gc.get_referents(thing)
    if type(thing).__module__.startswith(_OF_FIELDS) and hasattr(thing, "__dict__"):
        found.append(vars(thing))
    return [each for each in found if each is not None and not isinstance(each, ModuleType | type)]


def called_by(thing: Any) -> list[Any]:
    """What a descriptor or a callable of Python, numpy or torch calls, and what it hands on to that.

    Such are the functions of a `cached_property`, a `partialmethod`, an `np.vectorize`, also of one inside another.
    """
    if isinstance(thing, logging.Logger):
        return [listeners_of(thing)]
    if type(thing) is FunctionType and {"registry", "_clear_cache"} <= {*vars(thing)}:
        return [registry_of(thing)]
    if isinstance(thing, (*_NO_WRAPPERS, _CALLED)) or not (callable(thing) or hasattr(type(thing), "__get__")):
        return []
    found: list[Any] = []
    met, waiting = {id(thing)}, [(each, 1) for each in gc.get_referents(thing)]
    while waiting:
        part, depth = waiting.pop()
        if id(part) in met or isinstance(part, _NO_WRAPPERS):
            continue
        met.add(id(part))
        if isinstance(part, _CALLED) or is_looked_into(type(part)):
            found.append(part)
        elif depth < MOST_WRAPPERS and len(met) < MOST_PARTS:
            waiting += [(each, depth + 1) for each in gc.get_referents(part)]
    return found


class NamedModule(NamedTuple):
    """A module that code names: the name, the module, and the names in it that the code reads or sets."""

    title: str
    module: ModuleType
    names: list[str]


def modules_in(held: dict[str, Any], names: Sequence[str], stored: Set[str], code: CodeType) -> Iterator[NamedModule]:
    """The modules that code names or imports, and those that it names inside of them.

    Args:
        held: the globals of the code, and what its variables of outer functions hold.
        names: the names in the code.
        stored: those that it may set.
        code: the code.
    """
    met: set[int] = set()
    waiting = [(name, held[name]) for name in names if _is_module(held.get(name))]
    lines = (line for each in codes_in(code) for line in dis.get_instructions(each) if line.opname == "IMPORT_NAME")
    waiting += [(name, sys.modules[name]) for name in _named_modules(lines, names)]
    while waiting:
        name, module = waiting.pop()
        if id(module) not in met:
            met.add(id(module))
            yield NamedModule(name, module, _names_of(module, names, stored, code))
            waiting += [(each, inner) for each in names if _is_module(inner := vars(module).get(each))]


def _is_module(thing: Any) -> bool:
    return issubclass(type(thing), ModuleType)  # a proxy that stands for nothing yet has no `__class__`


def _named_modules(lines: Iterable[dis.Instruction], names: Sequence[str]) -> list[str]:
    by_text = names if not _OF_MODULES.isdisjoint(names) else ()
    return [
        name for name in (*(line.argval for line in lines), *by_text) if isinstance(sys.modules.get(name), ModuleType)
    ]


def asked_names(held: dict[str, Any], functions: Iterable[FunctionType]) -> list[str]:
    """The names among some attributes that functions name, and those that they set."""
    codes = [function.__code__ for function in functions]
    named = {name for code in codes for name in names_in(code) if not name.startswith("_")}
    return sorted(named.intersection(held).union(*map(stored_attributes, codes)))


def texts_for_names(code: CodeType) -> list[str]:
    """The texts of code that finds variables, attributes or modules by a text: each may be the name of one."""
    if _BY_TEXT.isdisjoint(names_in(code)):
        return []
    constants = [item for each in codes_in(code) for item in each.co_consts]
    flat = [part for item in constants for part in (item if isinstance(item, tuple | frozenset) else (item,))]
    texts = [text for text in flat if isinstance(text, str)]
    if not _OF_CODE.isdisjoint(names_in(code)):  # such as "module.count()"
        texts += [name for text in texts for name in re.findall(r"[^\W\d]\w*", text)]
    return list(dict.fromkeys(text for text in texts if all(map(str.isidentifier, text.split(".")))))


def _names_of(module: ModuleType, names: Sequence[str], stored: Set[str], code: CodeType) -> list[str]:
    """The names in a module that code reads, where it is the user's, or sets; all where it asks for names by a text."""
    of_user = is_users_module(module.__name__)
    by_text = of_user and not _BY_ANY_TEXT.isdisjoint(names_in(code))
    own = [name for name in vars(module) if not name.startswith("__")] if by_text else []  # its loader leads to others
    return [name for name in dict.fromkeys([*names, *own]) if name in stored or (of_user and name in vars(module))]


def open_in(scopes: Iterable[dict[str, Any]], names: Iterable[str], code: CodeType) -> Iterator[tuple[Any, list[str]]]:
    """The classes and functions of libraries that code names, with the attributes that it may set on them.

    Args:
        scopes: what stands under each name: globals, and those of modules.
        names: the names in the code.
        code: the code.
    """
    if stored := _stored_by_name(code):
        found = [held[name] for held in scopes for name in names if name in held]
        yield from ((thing, stored) for thing in found if _is_of_library(thing))


def _is_of_library(thing: Any) -> bool:
    if type(thing) is FunctionType:
        return not is_users_own(thing.__code__.co_filename)
    if type(thing) is not type or not thing.__flags__ & MADE_AT_RUN_TIME:
        return False
    return not (is_users_module(thing.__module__) or is_of_no_module(thing))


def _stored_by_name(code: CodeType) -> list[str]:
    """The attributes that code sets, but for those of its own variables alone: ``self.name = value``."""
    lines = [line for each in codes_in(code) for line in dis.get_instructions(each)]
    found = {b.argval for a, b in pairwise(lines) if b.opname == "STORE_ATTR" and not a.opname.startswith("LOAD_FAST")}
    return sorted(found)


def drawn_from(module: ModuleType, names: Sequence[str]) -> list[Any]:
    """What the functions of a module that code names draw random numbers from, or read: environment, context.

    And what Python calls for a name in a module of the user's: its ``__getattr__``, the properties of its class.
    """
    found = [getattr(vars(module).get(name), "__self__", None) for name in names]
    drawn: list[Any] = [each for each in found if isinstance(each, random.Random | np.random.RandomState)]
    asked = vars(module).get("__getattr__")
    drawn += [asked] if type(asked) is FunctionType and is_users_own(asked.__code__.co_filename) else []
    drawn += [type(module)] if is_users_module(type(module).__module__) else []
    reads = module.__name__ == "os" and not {"environ", "getenv", "putenv"}.isdisjoint(names)
    if module.__name__ == "decimal" and not {"getcontext", "setcontext", "localcontext"}.isdisjoint(names):
        drawn.append(vars(module)["getcontext"]())
    drawn += settings_of(module, names)
    return [*drawn, vars(module)["environ"]] if reads else drawn
