"""Classes of the user's in a block: functions that make objects with their fields and methods."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
from abc import ABC, ABCMeta
from collections.abc import Callable, Mapping
from types import FunctionType
from typing import Any, Generic, Protocol

from .....ops.runtime.primitives.plain_code.language import BUILTINS, LIBRARY
from .....ops.runtime.primitives.plain_code.objects.things import SPECIAL
from .....ops.runtime.user_code import attribute, is_users
from ..plain_literals import UnplainError, is_plain, name_of

ORDINARY = (
    "__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__",
    "__orig_bases__", "__slotnames__", "__parameters__", "__init__", "__post_init__",
)  # fmt: skip
_OF_DATACLASS = ("__match_args__", "__dataclass_fields__", "__dataclass_params__", "__replace__")
_EMPTY = (object, ABC, Generic, Protocol)
"""Bases that give an object nothing that a block asks for."""
_DEFAULT = "<default>"


def is_class(thing: Any) -> bool:
    """Whether a thing is a class of the user's whose objects a block may make."""
    if type(thing) not in (type, ABCMeta) or thing.__module__ == "builtins":
        return False
    path = getattr(sys.modules.get(thing.__module__), "__file__", None)
    return path is None or is_users(path)


def is_named(kind: Any) -> bool:
    """Whether a class is one of tuples with named fields, and nothing else."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def fields_of(kind: Any) -> tuple[str, ...]:
    """The names of the fields of a dataclass, or of tuples with named ones."""
    return tuple(kind._fields) if is_named(kind) else tuple(each.name for each in _fields(kind))


def is_taken(name: str) -> bool:
    """Whether a name is that of a builtin or a module of blocks."""
    return name in BUILTINS or name in LIBRARY


def shown_name(name: str) -> str:
    """The name of a parameter that stands for a field: no function of a block sets the name of a builtin."""
    return f"{name}_" if is_taken(name) else name


def labels(kind: type) -> list[str]:
    """The marks of a class and of its bases."""
    return [f"{each.__module__}.{each.__qualname__}" for each in kind.__mro__ if each not in _EMPTY]


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
    held = _held(kind)
    table = dataclasses.is_dataclass(kind) and _is_generated(held["__init__"])
    if table:
        arguments, fields = _of_dataclass(encoding, kind)
    else:
        arguments, fields = ast.arguments([], [], ast.arg("given"), [], [], ast.arg("named"), []), ast.Dict([], [])
    made = ast.Call(name_of("new_object"), [name_of(encoding.kind_name(kind)), fields], [])
    body: list[ast.stmt] = [ast.Assign([ast.Name("self", ast.Store())], made)]
    if table and "__post_init__" in held:
        body.append(_calling(encoding, held["__post_init__"], []))
    if not table and "__init__" in held:
        body.append(_calling(encoding, held["__init__"], [ast.Starred(name_of("given"), ast.Load())], "named"))
    elif not table:
        arguments = ast.arguments([], [], None, [], [], None, [])
    return _defined(name, arguments, [*body, ast.Return(name_of("self"))])


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
        values: list[ast.expr] = [ast.Tuple([ast.Constant(each) for each in record_fields(kind)], ast.Load())]
        values.append(ast.Tuple([*map(part, thing)], ast.Load()))
        return ast.Call(name_of("record"), [ast.Constant(kind.__name__), *values], [])
    held = vars(thing)
    fields = ast.Dict([ast.Constant(each) for each in held], [*map(part, held.values())])
    return ast.Call(name_of("new_object"), [name_of(encoding.kind_name(kind)), fields], [])


def _calling(encoding: Any, function: Any, given: list[ast.expr], named: str = "") -> ast.stmt:
    keywords = [ast.keyword(None, name_of(named))] if named else []
    return ast.Expr(ast.Call(name_of(encoding.function(function)), [name_of("self"), *given], keywords))


def _held(kind: type) -> dict[str, Any]:
    """What a class and its bases hold.

    Raises:
        UnplainError: it is more than a block knows.
    """
    held: dict[str, Any] = {}
    for each in reversed(kind.__mro__):
        if each in _EMPTY:
            continue
        if not is_class(each):
            raise UnplainError(f"{kind.__name__} is a {each.__name__}")
        held |= vars(each)
    held.pop("_abc_impl", None)
    held = {name: thing for name, thing in held.items() if name not in ("_is_protocol", "_is_runtime_protocol")}
    table = dataclasses.is_dataclass(kind)
    for name, thing in held.items():
        known = name in ORDINARY or name in SPECIAL or (table and name in _OF_DATACLASS)
        hashes = name == "__hash__" and (thing is None or (table and _is_generated(thing)))
        frozen = name in ("__setattr__", "__delattr__") and table and _is_generated(thing)
        if name.startswith("__") and not (known or hashes or frozen):
            raise UnplainError(f"{kind.__name__} has a {name} of its own")
    return held


def _is_generated(function: Any) -> bool:
    """Whether `dataclass` has written a function."""
    code = attribute(inspect.unwrap(function), "__code__", None)
    return code is not None and code.co_filename == "<string>"


def kind_of(encoding: Any, kind: type, name: str, maker: str) -> ast.stmt:
    """What makes the class itself, with its methods, getters, setters and constants.

    Args:
        encoding: of the block.
        kind: the class.
        name: the name of the variable.
        maker: that of the function that makes its objects.
    """
    held, fields = _held(kind), {each.name for each in _fields(kind)}
    methods, getters, setters, constants = (dict[str, ast.expr]() for _ in range(4))
    for each, thing in held.items():
        if each in fields or (each.startswith("__") and each not in SPECIAL):
            continue
        if isinstance(thing, FunctionType) and each in SPECIAL and dataclasses.is_dataclass(kind):
            if not _is_generated(thing):
                methods[each] = _method(encoding, thing)
        elif isinstance(thing, FunctionType):
            methods[each] = _method(encoding, thing)
        elif isinstance(thing, property) and isinstance(thing.fget, FunctionType) and thing.fdel is None:
            getters[each] = name_of(encoding.function(thing.fget))
            if isinstance(thing.fset, FunctionType):
                setters[each] = name_of(encoding.function(thing.fset))
        elif isinstance(thing, staticmethod | classmethod):
            constants |= _unbound(encoding, kind, each)
        elif is_plain(thing):
            constants[each] = encoding.source_of(thing)
        else:
            raise UnplainError(f"{kind.__name__}.{each} is a {type(thing).__name__}")
    tables: list[ast.expr] = [
        ast.Dict([ast.Constant(key) for key in each], [*each.values()])
        for each in (methods, getters, setters, constants)
    ]
    marks = ast.Tuple([ast.Constant(each) for each in labels(kind)], ast.Load())
    table = ast.parse(repr(_table(kind, held)), mode="eval").body
    made = ast.Call(name_of("new_class"), [ast.Constant(kind.__name__), marks, *tables, table, name_of(maker)], [])
    return ast.Assign([ast.Name(name, ast.Store())], made)


def _method(encoding: Any, function: FunctionType) -> ast.expr:
    """A method, or a comparison that `functools.total_ordering` has made."""
    if function.__module__ == functools.__name__:
        return ast.Call(name_of("total_order"), [ast.Constant(function.__name__)], [])
    return name_of(encoding.function(function))


def _unbound(encoding: Any, kind: type, name: str) -> dict[str, ast.expr]:
    """A static method, or one of the class; nothing where the block cannot have it, which may not ask for it."""
    try:
        return {name: encoding.source_of(getattr(kind, name))}
    except UnplainError:
        return {}


def _fields(kind: Any) -> tuple[Any, ...]:
    return dataclasses.fields(kind) if dataclasses.is_dataclass(kind) else ()


def _table(kind: type, held: Mapping[str, Any]) -> Any:
    """What a block knows of a dataclass; None for another class."""
    if not dataclasses.is_dataclass(kind):
        return None
    fields = _fields(kind)
    names = tuple(each.name for each in fields)
    given = tuple((each.name, shown_name(each.name)) for each in fields if each.init)
    compared = tuple(each.name for each in fields if each.compare)
    shown = tuple(each.name for each in fields if each.repr)
    own = {name for name in ("__eq__", "__repr__", "__lt__", "__hash__") if _is_generated(held.get(name))}
    if "__hash__" in own and any(each.hash not in (None, each.compare) for each in fields):
        raise UnplainError(f"{kind.__name__} has fields that only its hash leaves out")
    return (
        given, compared if "__eq__" in own else None,
        shown if "__repr__" in own else None, _is_generated(held.get("__setattr__")), "__lt__" in own,
        "__hash__" in own, names, kind.__qualname__,
    )  # fmt: skip


def _of_dataclass(encoding: Any, kind: type) -> tuple[ast.arguments, ast.Dict]:
    """The parameters of a dataclass, and its fields."""
    given, fields = ast.arguments([], [], None, [], [], None, []), ast.Dict([], [])
    every = attribute(kind, "__dataclass_fields__").values()
    if any(each._field_type is dataclasses._FIELD_INITVAR for each in every):  # type: ignore[attr-defined]  # no public name
        raise UnplainError(f"{kind.__name__} has a parameter that is no field")
    for each in _fields(kind):
        value, default = _of_field(encoding, each)
        if value is not None:
            fields.keys.append(ast.Constant(each.name))
            fields.values.append(value)
        if not each.init:
            continue
        if each.kw_only:
            given.kwonlyargs.append(ast.arg(shown_name(each.name)))
            given.kw_defaults.append(default)
        else:
            given.args.append(ast.arg(shown_name(each.name)))
            given.defaults += [] if default is None else [default]
    if len({shown_name(each.name) for each in _fields(kind)}) < len(_fields(kind)):
        raise UnplainError(f"{kind.__name__} has a field with the name of a builtin, and one more")
    return given, fields


def _of_field(encoding: Any, field: Any) -> tuple[ast.expr | None, ast.expr | None]:
    """What a field is set to, and the default of its parameter; None for none."""
    if field.default is not dataclasses.MISSING:
        default = encoding.source_of(field.default)
        return (name_of(shown_name(field.name)) if field.init else default), default
    if field.default_factory is dataclasses.MISSING:
        return (name_of(shown_name(field.name)) if field.init else None), None
    made = ast.Call(_factory(encoding, field.default_factory), [], [])
    if not field.init:
        return made, None
    asked = ast.Call(name_of("is_default"), [name_of(shown_name(field.name)), ast.Constant(_DEFAULT)], [])
    return ast.IfExp(asked, made, name_of(shown_name(field.name))), ast.Constant(_DEFAULT)


def _factory(encoding: Any, factory: Any) -> ast.expr:
    if is_class(factory):
        return name_of(encoding.class_name(factory))
    found: ast.expr = encoding.source_of(factory)
    return found


def _of_record(encoding: Any, kind: Any, name: str) -> ast.FunctionDef:
    """The function that stands for a class of tuples with named fields."""
    given = ast.arguments([], [ast.arg(shown_name(each)) for each in record_fields(kind)], None, [], [], None, [])
    given.defaults = [encoding.source_of(each) for each in kind._field_defaults.values()]
    fields = ast.Tuple([ast.Constant(each) for each in kind._fields], ast.Load())
    made = ast.Call(name_of("record_class"), [ast.Constant(kind.__name__), fields], [])
    return _defined(name, given, [ast.Return(ast.Call(made, [name_of(shown_name(each)) for each in kind._fields], []))])


def record_fields(kind: Any) -> tuple[str, ...]:
    """The fields of a class of tuples.

    Raises:
        UnplainError: it does more than hold them.
    """
    functions = [each for each in vars(kind).values() if isinstance(each, FunctionType)]
    own = [each for each in functions if is_users(each.__code__.co_filename) and each.__code__.co_filename[:1] != "<"]
    if own or kind.__mro__[1] is not tuple:
        raise UnplainError(f"{kind.__name__} has methods of its own")
    found: tuple[str, ...] = kind._fields
    return found


def _defined(name: str, arguments: ast.arguments, body: list[ast.stmt]) -> ast.FunctionDef:
    made = ast.parse("def made(): pass").body[0]
    assert isinstance(made, ast.FunctionDef)
    made.name, made.args, made.body = name, arguments, body
    return made
