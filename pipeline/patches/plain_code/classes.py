"""Classes of the user's in a block: functions that make objects with their fields and methods."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any

from ....ops.runtime.primitives.plain_code.language import BUILTINS, LIBRARY
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


def is_error(kind: Any) -> bool:
    """Whether a class is one of the user's errors."""
    return is_class(kind) and issubclass(kind, Exception)


def error_of(encoding: Any, kind: type) -> ast.expr:
    """The source of a class of errors, which does no more than to have a name.

    Raises:
        UnplainError: it does more.
    """
    others = [each for each in vars(kind) if each not in _ORDINARY]
    if others or len(kind.__bases__) != 1:
        raise UnplainError(f"{kind.__name__} has a {min(others, default='second base')} of its own")
    base = encoding.source_of(kind.__bases__[0])
    return ast.Call(name_of("error_class"), [ast.Constant(kind.__name__), base], [])


def fields_of(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass, or of tuples with named ones."""
    if dataclasses.is_dataclass(kind):
        return tuple(each.name for each in dataclasses.fields(kind))
    return tuple(kind._fields) if is_named(kind) else ()


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
    held, new = _new(encoding, kind)
    begun: list[ast.stmt] = [ast.Assign([ast.Name("self", ast.Store())], new)]
    if dataclasses.is_dataclass(kind):
        arguments, fields = _of_dataclass(encoding, kind)
        lines = list[ast.stmt]()
        if attribute(kind, "__dataclass_params__").frozen:
            new.args.append(_table(fields))
        else:
            lines += [
                ast.Assign([ast.Attribute(name_of("self"), name, ast.Store())], value) for name, value in fields.items()
            ]
    else:
        arguments, lines = _of_init(encoding, held.get("__init__"))
    if "__post_init__" in held:
        function = name_of(encoding.function(held["__post_init__"]))
        lines.append(ast.Expr(ast.Call(function, [name_of("self")], [])))
    return _defined(name, arguments, [*begun, *lines, ast.Return(name_of("self"))])


def object_of(encoding: Any, thing: Any, part: Callable[[Any], ast.expr]) -> ast.expr:
    """The source of an object of a class of the user's, as it is.

    Args:
        encoding: of the block.
        thing: the object.
        part: gives the source of what it holds.

    Raises:
        UnplainError: its class does more than a block knows.
    """
    kind = type(thing)
    if is_named(kind):
        fields = ast.Tuple([ast.Constant(each) for each in kind._fields], ast.Load())
        _of_record(encoding, kind, kind.__name__)
        return ast.Call(
            ast.Call(name_of("record_class"), [ast.Constant(kind.__name__), fields], []), [*map(part, thing)], []
        )
    new = _new(encoding, kind)[1]
    new.args.append(_table({name: part(each) for name, each in vars(thing).items()}))
    return new


def _table(entries: Mapping[str, ast.expr]) -> ast.expr:
    return ast.Dict([ast.Constant(name) for name in entries], [*entries.values()])


def _new(encoding: Any, kind: type) -> tuple[dict[str, Any], ast.Call]:
    """What a class holds, and the call that makes an object of it."""
    held: dict[str, Any] = {}
    for each in reversed(kind.__mro__[:-1]):
        held |= vars(each)
    table = dataclasses.is_dataclass(kind)
    params: Any = attribute(kind, "__dataclass_params__") if table else None
    frozen = _OF_FROZEN if table and params.frozen else ()
    known = (*_ORDINARY, "__init__", "__post_init__", *(_DATACLASS if table else ()), *frozen)
    if others := [each for each in held if each.startswith("__") and each not in known]:
        raise UnplainError(f"{kind.__name__} has a {others[0]} of its own")
    if table and params.order:
        raise UnplainError(f"{kind.__name__} is a dataclass that has an order")
    if frozen and (not params.eq or "__post_init__" in held):
        raise UnplainError(f"{kind.__name__} is a dataclass that is frozen and does more")
    return held, ast.Call(
        name_of("new_object"), [ast.Constant(kind.__name__), *_parts(encoding, held, table, kind)], []
    )


_OF_FROZEN = ("__setattr__", "__delattr__")


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


def _of_dataclass(encoding: Any, kind: type) -> tuple[ast.arguments, dict[str, ast.expr]]:
    """The parameters of a dataclass, and its fields."""
    given = ast.arguments([], [], None, [], [], None, [])
    fields = dict[str, ast.expr]()
    for each in dataclasses.fields(kind):
        if not each.init or each.name.startswith("_"):
            raise UnplainError(f"{kind.__name__} has a field that it is not given")
        if not each.compare:
            raise UnplainError(f"{kind.__name__} has a field that is not compared")
        name = shown_name(each.name)
        value: ast.expr = name_of(name)
        default: ast.expr | None = None
        if each.default is not dataclasses.MISSING:
            default = encoding.source_of(each.default)
        elif each.default_factory is not dataclasses.MISSING:
            default = ast.Constant(_DEFAULT)
            asked = ast.Compare(name_of(name), [ast.Eq()], [ast.Constant(_DEFAULT)])
            value = ast.IfExp(asked, ast.Call(encoding.source_of(each.default_factory), [], []), value)
        if each.kw_only:
            given.kwonlyargs.append(ast.arg(name))
            given.kw_defaults.append(default)
        else:
            given.args.append(ast.arg(name))
            given.defaults += [] if default is None else [default]
        fields[each.name] = value
    if len({*map(shown_name, fields)}) < len(fields):
        raise UnplainError(f"{kind.__name__} has a field with the name of a builtin, and one more")
    return given, fields


def is_taken(name: str) -> bool:
    """Whether a name is that of a builtin or a module of blocks."""
    return name in BUILTINS or name in LIBRARY


def shown_name(name: str) -> str:
    """The name of a parameter that stands for a field: no function of a block sets the name of a builtin."""
    return f"{name}_" if is_taken(name) else name


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
    given = ast.arguments([], [ast.arg(shown_name(each)) for each in kind._fields], None, [], [], None, [])
    given.defaults = [encoding.source_of(each) for each in kind._field_defaults.values()]
    fields = ast.Tuple([ast.Constant(each) for each in kind._fields], ast.Load())
    made = ast.Call(name_of("record_class"), [ast.Constant(kind.__name__), fields], [])
    return _defined(name, given, [ast.Return(ast.Call(made, [name_of(shown_name(each)) for each in kind._fields], []))])


def _defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.parse("def made(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args, made.body = name, arguments, body
    return made
