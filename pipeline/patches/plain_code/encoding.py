"""The text of a block: statements of the user's, with what they mean by the names of others.

What a name outside of the statements means when the function is recorded is written down: a constant as a literal, a
function of the user's as a function of the block, a function of Python's library by its own name.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import symtable
from collections.abc import Mapping, Sequence
from enum import Enum
from types import BuiltinFunctionType, FunctionType, MethodType, ModuleType
from typing import Any

from ....ops.runtime.primitives.plain_code.allowed import refused
from ....ops.runtime.primitives.plain_code.language import BUILTINS, LIBRARY
from ....ops.runtime.user_code import attribute, is_users
from ...proxies.base import is_traced
from ...proxies.dicts import TracedDict
from ...proxies.lists import TracedList
from ...proxies.make import TracedOptional
from ...proxies.scalars import TracedBool, TracedComplex, TracedFloat, TracedInt
from ...proxies.strings import TracedStr
from ..source.written_anew import definition_of
from .constants import UnplainError, is_plain, literal
from .regions import plainly

NAME = "block"
_NO_OBJECTS = ("collections", "builtins", "torch", "numpy", "tracepack", "datetime", "decimal")
"""Packages whose objects are values, of which more than an attribute may be asked."""
_VALUES = (TracedInt, TracedFloat, TracedBool, TracedComplex, TracedStr, TracedList, TracedDict, TracedOptional)
MOST_FUNCTIONS = 40
_MISSING = object()


class Encoding:
    """The text of one block, and what it is given.

    Args:
        body: the statements.
        values: what its variables are before, by their names.
        own: the names of lists and dicts that no other variable has.
        known: what global names mean.
    """

    def __init__(self, body: str, values: Mapping[str, Any], own: Sequence[str], known: Mapping[str, Any]) -> None:
        self.constants = dict[int, tuple[str, Any, ast.expr]]()
        self.functions = dict[tuple[int, int], tuple[str, Any, ast.FunctionDef | None]]()
        self.given = dict[int, tuple[str, Any]]()
        self.objects = {name: thing for name, thing in values.items() if self._is_object(thing)}
        begun = [self._begun(name, thing, name in own) for name, thing in values.items() if name not in self.objects]
        lines = ast.parse(body).body
        self.lines = [*begun, *self._function(lines, [*values], known, self.objects)]

    def text(self) -> str:
        """The source of the block."""
        arguments = [ast.arg(name) for name, _ in self.given.values()]
        inner = [made for _, _, made in self.functions.values() if made is not None]
        function = _defined(NAME, ast.arguments([], arguments, None, [], [], None, []), [*inner, *self.lines])
        found = [ast.Assign([ast.Name(name, ast.Store())], value) for name, _, value in self.constants.values()]
        return ast.unparse(ast.fix_missing_locations(ast.Module([*found, function], [])))

    def arguments(self) -> list[Any]:
        """What the block is given, in the order of its parameters."""
        return [thing for _, thing in self.given.values()]

    # -- values ----------------------------------------------------------------------------------------------------

    def _is_object(self, thing: Any) -> bool:
        kinds = (dict, list, tuple, set, frozenset, FunctionType, MethodType, ModuleType, re.Pattern)
        if is_traced(thing) or is_plain(thing) or isinstance(thing, kinds):
            return False
        return type(thing).__module__.partition(".")[0] not in _NO_OBJECTS

    def _begun(self, name: str, thing: Any, own: bool) -> ast.stmt:
        """What sets a variable to what it is before the block."""
        if own and is_traced(thing):
            made = self.source_of(thing)
            plain = thing.concrete
            value = ast.Call(_name(type(plain).__name__), [made], []) if type(plain) in (list, dict) else made
        elif own:
            value = literal(thing, self._leaf)
        else:
            value = self.source_of(thing)
        return ast.Assign([ast.Name(name, ast.Store())], value)

    def _leaf(self, thing: Any) -> ast.expr | None:
        """The source of a part of a container that the function has made: None where it is another container."""
        return self.source_of(thing) if is_traced(thing) else None

    def source_of(self, thing: Any) -> ast.expr:
        """The source of what a variable or a name means.

        Raises:
            UnplainError: a block cannot have it.
        """
        if is_traced(thing) or (isinstance(thing, list | tuple | dict) and not is_plain(thing)):
            return self._argument(thing)
        if (found := _of_library(thing)) is not None:
            return found
        if isinstance(thing, FunctionType):
            return _name(self._helper(thing, None))
        if isinstance(thing, MethodType) and isinstance(thing.__func__, FunctionType):
            return _name(self._helper(thing.__func__, thing.__self__))
        if not is_plain(thing):
            raise UnplainError(f"it uses a {type(thing).__module__}.{type(thing).__qualname__}")
        if isinstance(thing, bool | int | float | str | type(None)) and len(str(thing)) < 80:
            return literal(thing)
        if id(thing) not in self.constants:
            self.constants[id(thing)] = (f"K{len(self.constants)}", thing, literal(thing))
        return _name(self.constants[id(thing)][0])

    def _argument(self, thing: Any) -> ast.expr:
        refuse_unplain(thing)
        if id(thing) not in self.given:
            self.given[id(thing)] = (f"G{len(self.given)}", thing)
        return _name(self.given[id(thing)][0])

    # -- functions -------------------------------------------------------------------------------------------------

    def _helper(self, function: FunctionType, owner: Any) -> str:
        """The name of a function of the user's in the block."""
        key = id(function), id(owner)
        if key in self.functions:
            return self.functions[key][0]
        if len(self.functions) >= MOST_FUNCTIONS or not is_users(function.__code__.co_filename):
            raise UnplainError(f"it calls {function.__module__}.{function.__qualname__}")
        name = f"F{len(self.functions)}_{function.__name__ if function.__name__.isidentifier() else 'function'}"
        self.functions[key] = (name, (function, owner), None)
        made = definition_of(function)
        if made is None:
            raise UnplainError(f"the source of {function.__qualname__} is not at hand")
        if isinstance(made, ast.Lambda):
            made = _defined(name, made.args, [ast.Return(made.body)])
        if made.decorator_list:
            raise UnplainError(f"{function.__qualname__} has a decorator")
        made = plainly([made])[0]
        assert isinstance(made, ast.FunctionDef)
        given, objects = made.args, dict[str, Any]()
        names = [each.arg for each in (*given.posonlyargs, *given.args)]
        if owner is not None:
            if not names:
                raise UnplainError(f"{function.__qualname__} takes no object")
            objects[names[0]] = owner
            (given.posonlyargs or given.args).pop(0)
        defaults = [self.source_of(each) for each in function.__defaults__ or ()]
        named = function.__kwdefaults__ or {}
        given.defaults = defaults
        given.kw_defaults = [self.source_of(named[e.arg]) if e.arg in named else None for e in given.kwonlyargs]
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        around = {cell_name: _content(cell) for cell_name, cell in cells}
        known = {**_Globals(function.__globals__), **around}
        every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
        made.body = self._function(made.body, [e.arg for e in every if e is not None], known, objects)
        made.name = name
        self.functions[key] = (name, (function, owner), made)
        return name

    def _function(
        self, body: list[ast.stmt], given: Sequence[str], known: Mapping[str, Any], objects: Mapping[str, Any]
    ) -> list[ast.stmt]:
        """The statements of a function, with the meaning of its global names."""
        arguments = ast.arguments([], [ast.arg(n) for n in dict.fromkeys([*given, *objects])], None, [], [], None, [])
        whole = ast.fix_missing_locations(ast.Module([_defined(NAME, arguments, body)], []))
        for part in ast.walk(whole):
            if found := refused(part):
                raise UnplainError(f"it has {found}")
        outer, local = _names(symtable.symtable(ast.unparse(whole), "block", "exec"))
        local -= {*objects}
        if hidden := (local & {*BUILTINS, *LIBRARY}) | (outer & local) | (_set(whole) & {*objects}):
            raise UnplainError(f"it sets {min(hidden)!r}")
        meant = {name: known.get(name, BUILTINS.get(name, getattr(builtins, name, _MISSING))) for name in outer}
        named = _Naming(self, {**meant, **objects})
        function = named.visit(whole).body[0]
        return list(function.body)


class _Globals(dict[str, Any]):
    """The global names of a function."""


class _Naming(ast.NodeTransformer):
    """Puts what global names mean in their place.

    Args:
        encoding: the block.
        meant: what they mean.
    """

    def __init__(self, encoding: Encoding, meant: Mapping[str, Any]) -> None:
        self.encoding, self.meant = encoding, meant

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A name."""
        if node.id not in self.meant:
            return node
        thing = self.meant[node.id]
        if thing is _MISSING:
            raise UnplainError(f"{node.id!r} is not defined")
        return self.encoding.source_of(thing)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A function of a module, or what an object or a class of the user's holds."""
        found = self._held(node)
        if found is _MISSING:
            self.generic_visit(node)
            return node
        return self.encoding.source_of(found)

    def _held(self, node: ast.expr) -> Any:
        """What a chain of attributes means, where it begins at a module, a class or an object."""
        if isinstance(node, ast.Name):
            found = self.meant.get(node.id, _MISSING)
            if isinstance(found, type) and _of_library(found) is not None:
                return _MISSING  # str.lower
            opaque = isinstance(found, ModuleType | type) or (found is not _MISSING and self.encoding._is_object(found))
            return found if opaque else _MISSING
        if not isinstance(node, ast.Attribute):
            return _MISSING
        owner = self._held(node.value)
        if owner is _MISSING or is_traced(owner) or is_plain(owner):
            return _MISSING
        if isinstance(owner, Enum) and node.attr in ("name", "value"):
            return getattr(owner, node.attr)
        found = attribute(owner, node.attr, _MISSING)
        if found is _MISSING:
            raise UnplainError(f"there is no {ast.unparse(node)}")
        return found


def _of_library(thing: Any) -> ast.expr | None:
    """The name of a builtin or a function of a module that a block may use; None for another thing."""
    try:
        name = getattr(thing, "__name__", "")
    except Exception:  # its own `__getattr__` raises
        return None
    if not isinstance(thing, type | FunctionType | BuiltinFunctionType) or not isinstance(name, str):
        return None
    if BUILTINS.get(name) is thing:
        return _name(name)
    for module, names in LIBRARY.items():
        if name in names and getattr(importlib.import_module(module), name) is thing:
            return ast.Attribute(_name(module), name, ast.Load())
    return None


def refuse_unplain(thing: Any) -> None:
    """Refuses what a block cannot be given.

    Raises:
        UnplainError: it is no plain data.
    """
    if is_traced(thing):
        special = any(vars(thing).get(each) for each in ("objects", "missing", "ends", "view", "loop"))
        if type(thing) not in _VALUES or special or not is_plain(thing.concrete):
            raise UnplainError(f"it is given a {type(thing.concrete).__name__}")
        return
    if isinstance(thing, list | tuple | dict):
        if type(thing) not in (list, tuple, dict):
            raise UnplainError(f"it is given a {type(thing).__name__}")
        for each in thing.values() if isinstance(thing, dict) else thing:
            refuse_unplain(each)
    elif not is_plain(thing):
        raise UnplainError(f"it is given a {type(thing).__name__}")


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:
        return _MISSING


def _names(table: symtable.SymbolTable) -> tuple[set[str], set[str]]:
    """The names that are global in some scope of a text, and those that are local in one."""
    outer, local = set[str](), set[str]()
    for inner in table.get_children():
        found = _names(inner)
        outer, local = outer | found[0], local | found[1]
    if table.get_type() == "function":
        for symbol in table.get_symbols():
            (outer if symbol.is_global() else local).add(symbol.get_name())
    return outer, local - {".0"}


def _set(tree: ast.AST) -> set[str]:
    return {part.id for part in ast.walk(tree) if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)}


def _name(name: str) -> ast.expr:
    return ast.Name(name, ast.Load())


def _defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.parse("def made(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args, made.body = name, arguments, body or [ast.Pass()]
    return made
