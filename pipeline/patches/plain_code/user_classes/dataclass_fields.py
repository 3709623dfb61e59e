"""The fields of a dataclass of the user's, and what `dataclass` was told."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

from .....ops.runtime.primitives.plain_code.objects.made_dataclasses import OF_FIELDS
from .....ops.runtime.user_code import attribute
from ..plain_literals import name_of

_PLAIN = {"init": True, "repr": True, "compare": True, "hash": None, "kw_only": False}


def fields_and_options(encoding: Any, kind: Any) -> list[ast.expr]:
    """The source of both.

    Args:
        encoding: of the block.
        kind: the dataclass.
    """
    every = attribute(kind, "__dataclass_fields__")
    own = [name for name in vars(kind).get("__annotations__", {}) if name in every]
    fields = {name: _field(encoding, every[name]) for name in own if not is_of_class(every[name])}
    said = vars(kind)["__dataclass_params__"]
    options = {name: bool(getattr(said, name)) for name in ("init", "repr", "eq", "order", "unsafe_hash", "frozen")} | {
        "slots": "__slots__" in vars(kind)
    }
    return [
        ast.Dict([*map(ast.Constant, fields)], [*fields.values()]),
        ast.Dict([*map(ast.Constant, options)], [*map(ast.Constant, options.values())]),
    ]


def is_of_class(field: Any) -> bool:
    """Whether it is a ``ClassVar``, which no object has."""
    kind: Any = getattr(dataclasses, "_FIELD_CLASSVAR")  # noqa: B009  # no public name
    return bool(field._field_type is kind)


def _field(encoding: Any, field: Any) -> ast.expr:
    given: list[ast.expr] = []
    if field.default is not dataclasses.MISSING:
        given = [ast.Constant("default"), encoding.source_of(field.default)]
    elif field.default_factory is not dataclasses.MISSING:
        given = [ast.Constant("default_factory"), encoding.source_of(field.default_factory)]
    said = {name: getattr(field, name) for name in OF_FIELDS if getattr(field, name) is not _PLAIN[name]}
    if field._field_type is getattr(dataclasses, "_FIELD_INITVAR"):  # noqa: B009  # no public name
        said["parameter"] = True
    return ast.Call(name_of("field_of"), given, [ast.keyword(name, ast.Constant(each)) for name, each in said.items()])
