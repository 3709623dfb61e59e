"""Classes of the user's in a block: what makes each of them anew, of functions of the block."""

from __future__ import annotations

import ast
import dataclasses
import functools
import inspect
import sys
from _abc import _get_dump  # type: ignore[import-not-found]  # typeshed lacks it
from abc import ABC, ABCMeta
from types import FunctionType, MemberDescriptorType
from typing import Any, Generic, Protocol

from .....ops.runtime.primitives.plain_code.language import BUILTINS
from .....ops.runtime.primitives.plain_code.objects.made_classes import ORDERS, SPECIAL
from .....ops.runtime.user_code import attribute, is_users
from ..plain_literals import UnplainError, enum_base, name_of
from .dataclass_fields import fields_and_options, is_of_class

_ORDINARY = (
    "__module__", "__doc__", "__dict__", "__weakref__", "__annotations__", "__qualname__", "__firstlineno__",
    "__static_attributes__", "__annotate__", "__annotate_func__", "__annotations_cache__", "__abstractmethods__",
    "__orig_bases__", "__slotnames__", "__parameters__", "__slots__", "_abc_impl", "_is_protocol",
    "_is_runtime_protocol",
)  # fmt: skip
_OF_DATACLASS = (
    "__match_args__", "__dataclass_fields__", "__dataclass_params__", "__replace__", "__getstate__", "__setstate__",
    "__setattr__", "__delattr__",
)  # fmt: skip
_EMPTY = (object, ABC, Generic, Protocol)
"""Bases that give an object nothing that a block asks for."""
_OF_ENUMS = ("__str__", "__repr__", "__lt__", "__le__", "__gt__", "__ge__", "__len__", "__bool__", "__call__")


def is_class(thing: Any) -> bool:
    """Whether a thing is a class of the user's whose objects a block may make."""
    if type(thing) not in (type, ABCMeta) or thing.__module__ == "builtins":
        return False
    path = getattr(sys.modules.get(thing.__module__), "__file__", None)
    return path is None or is_users(path)


def is_named(kind: Any) -> bool:
    """Whether a class is one of tuples with named fields, and nothing else."""
    return isinstance(kind, type) and issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_of_user(thing: Any) -> bool:
    """Whether a thing is a class that a block makes anew."""
    return isinstance(thing, type) and (is_class(thing) or is_named(thing) or bool(enum_base(thing)))


def source_of_class(encoding: Any, kind: Any) -> ast.Call:
    """What makes a class.

    Args:
        encoding: of the block.
        kind: the class.

    Raises:
        UnplainError: the class does more than a block knows.
    """
    names: list[ast.expr] = [ast.Constant(kind.__name__), ast.Constant(kind.__qualname__)]
    if base := enum_base(kind):
        members: dict[str, ast.expr] = {name: ast.Constant(each.value) for name, each in kind.__members__.items()}
        return _made("enum_class", [*names, ast.Constant(base), _dict(members), _dict(_parts_of_enum(encoding, kind))])
    if is_named(kind):
        fields = ast.Tuple([ast.Constant(each) for each in kind._fields], ast.Load())
        defaults = ast.Tuple([encoding.source_of(each) for each in kind._field_defaults.values()], ast.Load())
        return _made("record_class", [*names, fields, defaults, _dict(_parts_of_tuple(encoding, kind))])
    table = "__dataclass_params__" in vars(kind)
    parts = _dict(_parts(encoding, kind, table))
    given = [*names, _bases(encoding, kind), parts]
    abstract = sorted(attribute(kind, "__abstractmethods__", ()))
    more: list[ast.expr] = [ast.Tuple([*map(ast.Constant, abstract)], ast.Load())] if abstract else []
    if type(kind) is ABCMeta and any(_get_dump(kind)[:1][0]):
        raise UnplainError(f"{kind.__name__} has subclasses that are registered")
    if table:
        return _made("data_class", [*given, *fields_and_options(encoding, kind), *more])
    return _made("new_class", [*given, *more])


def _made(name: str, given: list[ast.expr]) -> ast.Call:
    return ast.Call(name_of(name), given, [])


def _dict(parts: dict[str, ast.expr]) -> ast.expr:
    return ast.Dict([*map(ast.Constant, parts)], [*parts.values()])


def _bases(encoding: Any, kind: type) -> ast.expr:
    found: list[ast.expr] = []
    for each in kind.__bases__:
        if is_class(each):
            found.append(name_of(encoding.class_name(each)))
        elif each not in _EMPTY:
            if not issubclass(each, Exception) or BUILTINS.get(each.__name__) is not each:
                raise UnplainError(f"{kind.__name__} is a {each.__name__}")
            found.append(name_of(each.__name__))
    return ast.Tuple(found, ast.Load())


def is_generated(function: Any) -> bool:
    """Whether `dataclass` has written a function."""
    code = attribute(inspect.unwrap(function), "__code__", None)
    return code is not None and (code.co_filename == "<string>" or function.__module__ == dataclasses.__name__)


def _parts(encoding: Any, kind: type, table: bool) -> dict[str, ast.expr]:
    """What a class itself holds, without the fields of a dataclass."""
    found = dict[str, ast.expr]()
    fields = attribute(kind, "__dataclass_fields__", {}) if table else {}
    own = {name: thing for name, thing in vars(kind).items() if name not in _ORDINARY}
    if not table and "__slots__" in vars(kind):
        slots = vars(kind)["__slots__"]
        names = (slots,) if isinstance(slots, str) else tuple(slots)
        found["__slots__"] = ast.Tuple([*map(ast.Constant, names)], ast.Load())
    for name, thing in own.items():
        is_field = name in fields and name in vars(kind).get("__annotations__", {}) and not is_of_class(fields[name])
        slot = isinstance(thing, MemberDescriptorType)
        written = table and (name in _OF_DATACLASS or (name.startswith("__") and is_generated(thing)))
        hashless = name == "__hash__" and thing is None and "__eq__" in vars(kind)
        if is_field or slot or hashless or (written and (is_generated(thing) or not isinstance(thing, FunctionType))):
            continue
        if name.startswith("__") and name not in SPECIAL:
            raise UnplainError(f"{kind.__name__} has a {name} of its own")
        found[name] = _part(encoding, kind, name, thing)
    return found


def _part(encoding: Any, kind: type, name: str, thing: Any) -> ast.expr:
    """A part of a class; what no block can have is one that refuses to be asked for."""
    if name.startswith("__"):
        return _encoded(encoding, kind, name, thing)
    with encoding.undone_if_unplain() as attempt:
        attempt.found = _encoded(encoding, kind, name, thing)
    refused = ast.Call(name_of("refused_part"), [ast.Constant(f"{kind.__qualname__}.{name}")], [])
    return attempt.found or refused


def _encoded(encoding: Any, kind: type, name: str, thing: Any) -> ast.expr:
    match thing:
        case FunctionType():
            if thing.__module__ == functools.__name__:  # `total_ordering` has made it
                root = next((each for each, function in ORDERS.items() if function is thing), None)
                if root is None:
                    raise UnplainError(f"{kind.__name__}.{name} is a function of functools")
                return _made("total_order", [*map(ast.Constant, root)])
            return name_of(encoding.function(thing))
        case property(fget=FunctionType(), fdel=None):
            both = [thing.fget, thing.fset] if thing.fset else [thing.fget]
            return _made("property_of", [name_of(encoding.function(each)) for each in both])
        case functools.cached_property():
            return _made("cached_of", [name_of(encoding.function(thing.func))])
        case staticmethod() if isinstance(thing.__func__, FunctionType):
            return _made("static_of", [name_of(encoding.function(thing.__func__))])
        case classmethod() if isinstance(thing.__func__, FunctionType):
            return _made("class_method_of", [name_of(encoding.function(thing.__func__))])
    if hasattr(type(thing), "__get__"):
        raise UnplainError(f"{kind.__name__}.{name} is a {type(thing).__name__}")
    found: ast.expr = encoding.source_of(thing)
    return found


def _parts_of_enum(encoding: Any, kind: Any) -> dict[str, ast.expr]:
    """The methods and properties of an Enum."""
    found = dict[str, ast.expr]()
    for name, thing in vars(kind).items():
        if name in kind.__members__ or name == "_generate_next_value_" or not _is_users_part(thing, kind.__module__):
            continue
        if name.startswith("_") and name not in _OF_ENUMS:
            raise UnplainError(f"{kind.__name__} has a {name} of its own")
        found[name] = _part(encoding, kind, name, thing)
    return found


def _parts_of_tuple(encoding: Any, kind: Any) -> dict[str, ast.expr]:
    """The methods and properties of a class of tuples with named fields."""
    if kind.__mro__[1] is not tuple:
        raise UnplainError(f"{kind.__name__} is a {kind.__mro__[1].__name__}")
    own = {name: thing for name, thing in vars(kind).items() if _is_users_part(thing, kind.__module__)}
    for name in own:
        if name.startswith("_") and name not in SPECIAL:
            raise UnplainError(f"{kind.__name__} has a {name} of its own")
    return {name: _part(encoding, kind, name, thing) for name, thing in own.items()}


def _is_users_part(thing: Any, module: str) -> bool:
    """Whether a part of a class comes from the user, and not from the library that makes such classes."""
    function = thing
    if isinstance(thing, property):
        function = thing.fget
    elif isinstance(thing, classmethod | staticmethod):
        function = thing.__func__
    elif isinstance(thing, functools.cached_property):
        function = thing.func
    if not isinstance(function, FunctionType):
        return False
    path = function.__code__.co_filename
    return is_users(path) and (path[:1] != "<" or function.__module__ == module)
