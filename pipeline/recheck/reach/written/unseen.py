"""Code that nobody has read: of other packages, and of Python's library where it calls back, or reaches everything."""

from __future__ import annotations

import sys
from functools import cached_property
from types import FunctionType, GetSetDescriptorType, MemberDescriptorType
from typing import Any
from weakref import ref

import numpy as np
import torch

from .....ops.runtime.user_code import attribute, decorated
from ..contents.hidden import ITERATOR
from ..whose import attributes_of, is_constant, is_of_no_module, is_shared, is_users_module, is_users_own

_READ = frozenset("torch numpy tracepack builtins __main__ _thread".split())
_CALLING = frozenset(
    """logging warnings ctypes gc importlib runpy code codeop atexit signal subprocess multiprocessing pickle _pickle
    shelve dbm sqlite3 unittest pdb bdb trace profile cProfile timeit doctest sched""".split()
)
"""Modules of Python's library that call code which the function need not name."""
_QUIET = frozenset(
    """lock RLock Event Condition Semaphore BoundedSemaphore Barrier Queue SimpleQueue Generator finfo iinfo
    ScriptModule RecursiveScriptModule ScriptFunction Context ContextVar Token""".split()
)
_KEPT_BY_PYTHON = (FunctionType, staticmethod, classmethod, property, MemberDescriptorType, GetSetDescriptorType)
_BASES_WITHOUT_STATE = frozenset(("abc", "typing", "enum", "dataclasses", "collections.abc", "_collections_abc"))
_PLAIN_CLASSES = frozenset("Counter SimpleNamespace Namespace local _local".split())
_OF_TORCH = (torch.Tensor, torch.nn.Parameter)


def is_unread(module: Any) -> bool:
    """Whether code of a module of this name may write to whatever it is given, or call what the function hides."""
    name = module if isinstance(module, str) else ""
    first = name.partition(".")[0]
    if first in _READ:
        return False
    if first in sys.stdlib_module_names:
        return first in _CALLING
    return not is_users_module(name)


def is_unread_function(function: FunctionType) -> bool:
    """Whether a function that is not the user's may write what nobody sees, or calls one that it holds."""
    if is_unread(function.__module__):
        return True
    known = [*decorated(function)]
    held = [
        each for cell in function.__closure__ or () if type(each := attribute(cell, "cell_contents")) is FunctionType
    ]
    return any(_is_hidden(each) and all(each is not other for other in known) for each in held)


def _is_hidden(function: FunctionType) -> bool:
    """Whether a function that another one holds is the user's; not the text of a dataclass, which only reads."""
    code = function.__code__
    return is_users_own(code.co_filename) and (code.co_filename, code.co_name) != ("<string>", "__repr__")


def is_unread_object(thing: Any) -> bool:
    """Whether an object of Python, torch, numpy or a package may run code that nobody has read."""
    kind = type(thing)
    if isinstance(thing, ref):
        return thing.__callback__ is not None
    if isinstance(thing, np.ufunc):
        return getattr(np, thing.__name__, None) is not thing
    if kind.__module__ == "torch._ops":
        return not str(attribute(thing, "_qualified_op_name", "")).startswith(("aten::", "prims::"))
    if is_constant(thing):
        return kind.__name__ in ("methodcaller", "partialmethod") or is_unread(attribute(thing, "__module__", "") or "")
    if hasattr(thing, "cache_info") or kind.__module__.startswith("tracepack."):
        return False
    return kind.__name__ not in _QUIET and not (is_shared(kind) and kind.__module__ != "threading")


def is_unread_iterator(thing: Any, place: str) -> bool:
    """Whether something is an iterator, by its place, and to ask it for more may run a function that it holds."""
    if place != ITERATOR:
        return False
    name = type(thing).__name__
    plain = name.endswith("_iterator") and name != "callable_iterator"
    return not (plain or name in ("count", "cycle", "repeat", "generator", "coroutine", "async_generator"))


def is_unread_tensor(thing: torch.Tensor) -> bool:
    """Whether a tensor is of a class of the user's or of a package."""
    return type(thing) not in _OF_TORCH and not type(thing).__module__.startswith("torch.")


def has_unread_code(kind: type) -> bool:
    """Whether a class of the user's holds something that is called, and no function."""
    for found in vars(kind).values():
        parts = (found.fget, found.fset, found.fdel) if isinstance(found, property) else ()
        inner = found.__func__ if isinstance(found, staticmethod | classmethod) else None
        if any(part is not None and type(part) is not FunctionType for part in (*parts, inner)):
            return True
        if isinstance(found, (*_KEPT_BY_PYTHON, cached_property, type)) or not hasattr(type(found), "__get__"):
            continue
        if not (type(found).__module__ == "builtins" or hasattr(found, "cache_info") or is_of_user(type(found))):
            return True
    return False


def is_of_user(kind: type) -> bool:
    """Whether a class is the user's own."""
    return is_of_no_module(kind) or is_users_module(kind.__module__)


def keeps_own_state(kind: type) -> bool:
    """Whether code of Python, torch or a package writes attributes of the objects of a class."""
    return any(map(is_of_others, kind.__mro__))


def is_of_others(kind: type) -> bool:
    """Whether a class has code of Python, torch or a package, which may write attributes of its objects."""
    if kind is torch.nn.Module or not kind.__flags__ & _MADE_BY_PYTHON:
        return False
    return not (is_of_user(kind) or kind.__module__ in _BASES_WITHOUT_STATE or kind.__name__ in _PLAIN_CLASSES)


_MADE_BY_PYTHON = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE: a class that a statement made


def internals(module: torch.nn.Module) -> list[Any]:
    """The dicts in which torch keeps what a module has: parameters, buffers, hooks."""
    held = attributes_of(module)
    return [held[name] for name in OF_MODULES if name in held]


OF_MODULES = frozenset(vars(torch.nn.Module()))


def are_heard_globally() -> bool:
    """Whether torch calls hooks with every module."""
    modules: Any = torch.nn.modules.module  # which torch leaves untyped in parts
    return bool(modules._has_any_global_hook())
