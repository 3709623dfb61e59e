"""Whose a thing is: the user's own, or one of Python, torch, numpy, an installed package or this one."""

from __future__ import annotations

import sys
import threading
import types
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import numpy as np
import torch

from ....ops.runtime.user_code import is_installed, is_users

_OF_PYTHON = frozenset(
    """SimpleNamespace defaultdict OrderedDict Counter UserDict UserList UserString ChainMap Queue LifoQueue
    PriorityQueue WeakKeyDictionary WeakValueDictionary WeakSet _local Namespace ExitStack
    AsyncExitStack""".split()
)


_CONSTANT = frozenset(
    """Pattern Path PosixPath PurePath PurePosixPath Decimal Fraction date time datetime timedelta timezone UUID
    frozenset ellipsis NotImplementedType memory_format layout dtype Version""".split()
)
MADE_AT_RUN_TIME = 1 << 9  # CPython's Py_TPFLAGS_HEAPTYPE: a class that may have attributes set
_OF_FUNCTIONS = ("builtins", "functools", "operator", "numpy", "torch._ops")
_OF_THREADS = frozenset("threading _thread concurrent multiprocessing asyncio queue socket selectors tracepack".split())


def is_constant(thing: Any) -> bool:
    """Whether an object of Python, torch or numpy cannot be changed, or is a function of theirs."""
    of_functions = callable(thing) and type(thing).__module__ in _OF_FUNCTIONS
    return of_functions or isinstance(thing, np.generic | type) or type(thing).__name__ in _CONSTANT


def is_shared(kind: type) -> bool:
    """Whether objects of a class belong to several threads, so that nothing may be set back in them."""
    return kind.__module__.partition(".")[0] in _OF_THREADS


def is_users_own(path: str) -> bool:
    """Whether code is the user's, and not of an installed package."""
    return is_users(path) and not is_installed(path)


def is_users_module(name: str) -> bool:
    """Whether a module of this name is the user's own."""
    module = sys.modules.get(name)
    return name == "__main__" or is_users_own(str(attributes_of(module).get("__file__") or "<"))


def is_made_by_hand(module: ModuleType) -> bool:
    """Whether a module comes from no file and no importer, as one that code made by `types.ModuleType`."""
    held = attributes_of(module)
    plain, name = held.get("__spec__") is None and held.get("__file__") is None, held.get("__name__")
    return name != "__main__" and (plain or sys.modules.get(str(name)) is not module)


def attributes_of(thing: Any) -> Mapping[str, Any]:
    """The attributes that an object has itself; none where it has no dict."""
    return vars(thing) if has_attributes(thing) else {}


def has_attributes(thing: Any) -> bool:
    """Whether an object has a dict of attributes; its own `__getattr__`, which may raise anything, is not asked."""
    if issubclass(type(thing), threading.local):  # which shows its own of each thread
        return True
    try:
        return isinstance(object.__getattribute__(thing, "__dict__"), Mapping)
    except AttributeError:
        return False


def is_of_no_module(kind: type) -> bool:
    """Whether a class was made by code that ran without a module that is known.

    So does `exec` with a dict of its own, and a file that was loaded by its path. Classes that functions of `types`
    and `dataclasses` make say that they are of the module `types`.
    """
    module = kind.__module__
    unnamed = module == "builtins" or (module == "types" and not hasattr(types, kind.__name__))
    return (unnamed or module.partition(".")[0] not in sys.modules) and bool(kind.__flags__ & MADE_AT_RUN_TIME)


def is_looked_into(kind: type) -> bool:
    """Whether the attributes of objects of a class are examined: not of classes of Python, torch, numpy or ours."""
    if issubclass(kind, torch.nn.Module):
        return not issubclass(kind, torch.jit.ScriptModule)
    module = kind.__module__
    if is_of_no_module(kind):
        return True
    if module.startswith(("torch.", "numpy.", "tracepack.")) or module in ("torch", "numpy", "builtins"):
        return False
    if module.partition(".")[0] in sys.stdlib_module_names:
        return kind.__name__ in _OF_PYTHON
    return True
