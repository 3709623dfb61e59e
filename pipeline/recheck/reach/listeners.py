"""Who hears messages: handlers and filters of logs, and what shows warnings; and whether a function reads from them.

A file tells nobody anything. So a message on a side of a choice is left out, unless the function itself reads what
becomes of it: a handler that fills a list which the function counts.
"""

from __future__ import annotations

import dis
import logging
import sys
import warnings
from collections.abc import Iterator
from types import CellType, FunctionType, MethodType, ModuleType
from typing import Any

from ....ops.runtime.user_code import codes_in, names_in
from .objects import Objects
from .whose import has_attributes, is_constant, is_users_module

_MOST, _MOST_EACH = 2000, 10  # objects that are looked at behind those who hear: in all, and more for each of them
_PLAIN_SHOW = warnings.showwarning
_LOGS: tuple[type, ...] = (logging.Logger, logging.LoggerAdapter, logging.Manager)
_KEPT = (FunctionType, MethodType, ModuleType, CellType, tuple, *_LOGS)
_BINDING = ("STORE_GLOBAL", "DELETE_GLOBAL", "STORE_DEREF", "DELETE_DEREF")


def are_heard(objects: Objects) -> bool:
    """Whether a function reads what becomes of messages.

    Args:
        objects: all that the function can reach.
    """
    heard = [*_listeners()]
    streams = (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__)
    most = _MOST + _MOST_EACH * len(heard)
    behind = Objects(heard, most, [each for each in streams if each is not None])
    if any(map(_may_change, objects.shared_with(behind))) or not _bound(behind).isdisjoint(_named(objects)):
        return True
    return behind.ends_early  # what lies beyond may be what the function reads


def _listeners() -> Iterator[Any]:
    """Handlers and filters with what they hold, and a function that shows warnings in place of Python's."""
    held: Any = logging
    known = [logging.root, *logging.root.manager.loggerDict.values()]
    waiting: list[Any] = [each for logger in known for each in getattr(logger, "filters", ())]
    waiting += [each for logger in known for each in getattr(logger, "handlers", ())]
    # Those of loggers that are in no table, too; `logging.config` empties the list, and leaves handlers where they are.
    waiting += [each for kept in getattr(held, "_handlerList", ()) if (each := kept()) is not None]
    waiting += [logging.getLogRecordFactory(), warnings.showwarning] if warnings.showwarning is not _PLAIN_SHOW else []
    met = set[int]()
    while waiting:
        thing = waiting.pop()
        if id(thing) not in met:
            met.add(id(thing))
            yield thing
            parts = [*vars(thing).values()] if has_attributes(thing) else []
            yield from parts
            waiting += [each for each in parts if isinstance(each, logging.Handler | logging.Formatter)]
            waiting += getattr(thing, "filters", ()) if isinstance(thing, logging.Handler) else ()


def _may_change(thing: Any) -> bool:
    """Whether an object may hold what a listener wrote; functions, modules, loggers and classes of others do not."""
    if isinstance(thing, type):
        return is_users_module(thing.__module__)
    return not isinstance(thing, _KEPT) and not is_constant(thing)


def _bound(objects: Objects) -> set[str]:
    """The variables from outside that functions bind."""
    codes = [code for function in objects.functions for code in codes_in(function.__code__)]
    return {str(line.argval) for code in codes for line in dis.get_instructions(code) if line.opname in _BINDING}


def _named(objects: Objects) -> set[str]:
    codes = [function.__code__ for function in objects.functions]
    return {name for code in codes for name in (*names_in(code), *code.co_freevars)}
