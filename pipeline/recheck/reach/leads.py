"""What objects of Python lead to that neither hold items nor have attributes: the receiver of a method, a reference."""

from __future__ import annotations

import gc
import random
from collections.abc import Iterator, Sequence
from types import BuiltinMethodType, MappingProxyType, MethodWrapperType, ModuleType
from typing import Any
from weakref import ref

import numpy as np

_VIEWS: tuple[type, ...] = (MappingProxyType, type({}.keys()), type({}.values()), type({}.items()))


def leads(thing: Any) -> list[Any]:
    """The objects behind one: behind a decorator of Python's, a bound method, a weak reference, a view of a dict."""
    found = [getattr(thing, "__wrapped__", None)] if callable(thing) else []
    match thing:
        case BuiltinMethodType() | MethodWrapperType():
            found.append(thing.__self__)
        case ref():
            found.append(thing())
        case _ if isinstance(thing, _VIEWS):
            found += gc.get_referents(thing)
    return [each for each in found if each is not None and not isinstance(each, ModuleType | type)]


def modules_in(held: dict[str, Any], names: Sequence[str]) -> Iterator[tuple[str, ModuleType]]:
    """The modules that code names, by their names, and those that it names inside of them."""
    met: set[int] = set()
    waiting = [(name, held[name]) for name in names if isinstance(held.get(name), ModuleType)]
    while waiting:
        name, module = waiting.pop()
        if id(module) not in met:
            met.add(id(module))
            yield name, module
            waiting += [(each, inner) for each in names if isinstance(inner := vars(module).get(each), ModuleType)]


def drawn_from(module: ModuleType, names: Sequence[str]) -> list[Any]:
    """What the functions of a module that code names draw random numbers from; the environment, where it reads that."""
    found = [getattr(vars(module).get(name), "__self__", None) for name in names]
    drawn = [each for each in found if isinstance(each, random.Random | np.random.RandomState)]
    reads = module.__name__ == "os" and not {"environ", "getenv", "putenv"}.isdisjoint(names)
    return [*drawn, vars(module)["environ"]] if reads else drawn
