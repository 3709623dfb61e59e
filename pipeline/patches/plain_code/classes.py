"""Classes of the user's in a block: functions that make objects with their fields and methods."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Mapping
from types import FunctionType
from typing import Any

from ....ops.runtime.user_code import attribute, is_users
from .plain_literals import UnplainError, is_plain, name_of

_DATACLASS = (
    "__init__", "__eq__", "__repr__", "__match_args__", "__dataclass_fields__", "__dataclass_params__", "__hash__",
    "__replace__",
)  # fmt: skip
_ORDINARY = (
    "__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__",
)  # fmt: skip
_DEFAULT = "<default>"


def is_class(thing: Any) -> bool:
    """Whether a thing is a class of the user's whose objects a block may make."""
    if type(thing) is not type or thing.__module__ == "builtins":
        return False
    path = getattr(sys.modules.get(thing.__module__), "__file__", None)
    return path is None or is_users(path)


def is_named(kind: Any) -> bool:
    """Whether a class is one of tuples with named fields, and nothing else."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def made_by(encoding: Any, kind: type, name: str) -> ast.FunctionDef:
    """The function of a block that stands for a class.

    Args:
        encoding: of the block.
        kind: the class.
        name: the name of the function.

    Raises:
        UnplainError: the class does more than a block knows.
    """
    if is_named(kind):
        return _of_record(encoding, kind, name)
    held: dict[str, Any] = {}
    for each in reversed(kind.__mro__[:-1]):
        held |= vars(each)
    table = dataclasses.is_dataclass(kind)
    known = (*_ORDINARY, "__init__", "__post_init__", *(_DATACLASS if table else ()))
    if others := [each for each in held if each.startswith("__") and each not in known]:
        raise UnplainError(f"{kind.__name__} has a {others[0]} of its own")
    if table and (params := attribute(kind, "__dataclass_params__")) and (params.frozen or params.order):
        raise UnplainError(f"{kind.__name__} is a dataclass that is frozen or has an order")
    new = ast.Call(name_of("new_object"), [ast.Constant(kind.__name__), *_parts(encoding, held, table, kind)], [])
    begun: list[ast.stmt] = [ast.Assign([ast.Name("self", ast.Store())], new)]
    if table:
        arguments, lines = _of_dataclass(encoding, kind)
    else:
        arguments, lines = _of_init(encoding, held.get("__init__"))
    if "__post_init__" in held:
        function = name_of(encoding.function(held["__post_init__"]))
        lines.append(ast.Expr(ast.Call(function, [name_of("self")], [])))
    return _defined(name, arguments, [*begun, *lines, ast.Return(name_of("self"))])


def _parts(encoding: Any, held: Mapping[str, Any], table: bool, kind: type) -> list[ast.expr]:
    """The methods, getters and constants of a class, and whether its objects are compared by their fields."""
    methods, getters, constants = dict[str, ast.expr](), dict[str, ast.expr](), dict[str, ast.expr]()
    fields = {each.name for each in dataclasses.fields(kind)} if table else set()
    for name, thing in held.items():
        if name.startswith("__") or name in fields:
            continue
        if isinstance(thing, FunctionType):
            methods[name] = name_of(encoding.function(thing))
        elif isinstance(thing, property) and thing.fset is None and isinstance(thing.fget, FunctionType):
            getters[name] = name_of(encoding.function(thing.fget))
        elif is_plain(thing):
            constants[name] = encoding.source_of(thing)
        elif not isinstance(thing, staticmethod | classmethod) or name.startswith("_"):
            raise UnplainError(f"{kind.__name__}.{name} is a {type(thing).__name__}")
    tables: list[ast.expr] = [
        ast.Dict([ast.Constant(name) for name in each], [*each.values()]) for each in (methods, getters, constants)
    ]
    compared = table and attribute(kind, "__dataclass_params__").eq
    return [*tables, ast.Constant(compared)]


def _of_dataclass(encoding: Any, kind: type) -> tuple[ast.arguments, list[ast.stmt]]:
    """The parameters of a dataclass, and what sets its fields."""
    given = ast.arguments([], [], None, [], [], None, [])
    lines = list[ast.stmt]()
    for each in dataclasses.fields(kind):
        if not each.init or each.name.startswith("_"):
            raise UnplainError(f"{kind.__name__} has a field that it is not given")
        value: ast.expr = name_of(each.name)
        default: ast.expr | None = None
        if each.default is not dataclasses.MISSING:
            default = encoding.source_of(each.default)
        elif each.default_factory is not dataclasses.MISSING:
            default = ast.Constant(_DEFAULT)
            asked = ast.Compare(name_of(each.name), [ast.Eq()], [ast.Constant(_DEFAULT)])
            value = ast.IfExp(asked, ast.Call(encoding.source_of(each.default_factory), [], []), value)
        if each.kw_only:
            given.kwonlyargs.append(ast.arg(each.name))
            given.kw_defaults.append(default)
        else:
            given.args.append(ast.arg(each.name))
            given.defaults += [] if default is None else [default]
        lines.append(ast.Assign([ast.Attribute(name_of("self"), each.name, ast.Store())], value))
    return given, lines


def _of_init(encoding: Any, function: Any) -> tuple[ast.arguments, list[ast.stmt]]:
    """The parameters of a class with an `__init__`, and its call."""
    given = ast.arguments([], [], ast.arg("given"), [], [], ast.arg("named"), [])
    if function is None:
        return ast.arguments([], [], None, [], [], None, []), []
    star = ast.Starred(name_of("given"), ast.Load())
    call = ast.Call(
        name_of(encoding.function(function)), [name_of("self"), star], [ast.keyword(None, name_of("named"))]
    )
    return given, [ast.Expr(call)]


def _of_record(encoding: Any, kind: Any, name: str) -> ast.FunctionDef:
    """The function that stands for a class of tuples with named fields."""
    own = [each for each in vars(kind) if isinstance(vars(kind)[each], FunctionType) and not each.startswith("_")]
    if own or kind.__mro__[1] is not tuple:
        raise UnplainError(f"{kind.__name__} has methods of its own")
    given = ast.arguments([], [ast.arg(each) for each in kind._fields], None, [], [], None, [])
    given.defaults = [encoding.source_of(each) for each in kind._field_defaults.values()]
    fields = ast.Tuple([ast.Constant(each) for each in kind._fields], ast.Load())
    made = ast.Call(name_of("record_class"), [ast.Constant(kind.__name__), fields], [])
    return _defined(name, given, [ast.Return(ast.Call(made, [name_of(each) for each in kind._fields], []))])


def _defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.parse("def made(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args, made.body = name, arguments, body
    return made
