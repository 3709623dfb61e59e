"""Objects of the user's from outside of a block, alone or in lists and dicts: each run makes them anew, as they are."""

from __future__ import annotations

import ast
from types import BuiltinFunctionType, FunctionType
from typing import Any

from .....ops.runtime.primitives.plain_code.objects.makers import HELD
from ....proxies.base import is_traced
from ..plain_literals import UnplainError, is_plain, name_of
from .classes import is_class, is_named

_CONTAINERS = (list, tuple, dict)
_FUNCTIONS = (FunctionType, BuiltinFunctionType, type)
MOST_OBJECTS = 10_000


def is_outside_object(thing: Any) -> bool:
    """Whether a thing is an object of a class of the user's, or a list, tuple or dict with one, or with functions."""
    waiting, seen = [thing], set[int]()
    while waiting:
        each = waiting.pop()
        if is_traced(each) or id(each) in seen:
            continue
        seen.add(id(each))
        if type(each) in _CONTAINERS:
            waiting += [*each, *each.values()] if type(each) is dict else each
        elif (each is not thing and isinstance(each, _FUNCTIONS)) or is_instance(each):
            return True
    return False


def is_instance(thing: Any) -> bool:
    """Whether a thing is an object of a class of the user's, or a tuple with named fields."""
    return not is_plain(thing) and (is_class(type(thing)) or is_named(type(thing)))


def _held(thing: Any) -> dict[str, Any]:
    """What an object holds, by its names."""
    slots = [vars(kind).get("__slots__", ()) for kind in type(thing).__mro__]
    names = [name for each in slots for name in ([each] if isinstance(each, str) else each)]
    held = {name: getattr(thing, name) for name in names if name[:2] != "__" and hasattr(thing, name)}
    return held | getattr(thing, "__dict__", {})


class OutsideObjects:
    """Those of one block.

    Args:
        encoding: of the block.

    Attributes:
        made: the names of the variables that hold them, with the things and what makes them, in their order.
    """

    def __init__(self, encoding: Any) -> None:
        self.encoding = encoding
        self.made = dict[int, tuple[str, Any, ast.expr]]()
        self.begun = set[int]()

    def source_of(self, thing: Any) -> ast.expr:
        """The name of a variable that holds a thing.

        Raises:
            UnplainError: a block cannot have it.
        """
        if id(thing) not in self.made:
            if id(thing) in self.begun:
                raise UnplainError("it uses objects that hold each other")
            if len(self.made) >= MOST_OBJECTS:
                raise UnplainError("it uses too many objects")
            self.begun.add(id(thing))
            try:
                found = self._made(thing)
            finally:
                self.begun.discard(id(thing))
            self.made[id(thing)] = f"O{len(self.made)}", thing, ast.Call(name_of(HELD), [found], [])
        return name_of(self.made[id(thing)][0])

    def _made(self, thing: Any) -> ast.expr:
        if type(thing) is dict:
            return ast.Dict([*map(self._part, thing)], [*map(self._part, thing.values())])
        if type(thing) is list:
            return ast.List([*map(self._part, thing)], ast.Load())
        if type(thing) is tuple:
            return ast.Tuple([*map(self._part, thing)], ast.Load())
        return self._object(thing)

    def _object(self, thing: Any) -> ast.expr:
        kind = name_of(self.encoding.class_name(type(thing)))
        if is_named(type(thing)):
            return ast.Call(name_of("record"), [kind, ast.Tuple([*map(self._part, thing)], ast.Load())], [])
        if isinstance(thing, BaseException):
            raise UnplainError(f"it uses a {type(thing).__name__}")
        held = _held(thing)
        fields = ast.Dict([*map(ast.Constant, held)], [*map(self._part, held.values())])
        return ast.Call(name_of("new_object"), [kind, fields], [])

    def _part(self, thing: Any) -> ast.expr:
        if type(thing) in _CONTAINERS and not is_plain(thing):
            return self.source_of(thing)
        found: ast.expr = self.encoding.source_of(thing)
        return found

    def names(self) -> set[str]:
        """Those names."""
        return {name for name, _, _ in self.made.values()}

    def statements(self) -> list[ast.stmt]:
        """What sets those variables."""
        return [ast.Assign([ast.Name(name, ast.Store())], value) for name, _, value in self.made.values()]
