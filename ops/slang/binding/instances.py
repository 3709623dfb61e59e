"""SlangInstance: a value of a struct, with the name of its type beside its fields.

A dict with the fields does for a parameter whose type is known. An instance tells the type too, by which a generic
function or an overload is chosen, and a function that changes it gives it new fields.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from ..language.errors import SlangArgumentError
from ..language.types import SlangType, field_names

Method = Callable[["SlangInstance", str], Any]
TYPE = "_type"
"""The key by which SlangPy's dicts name their struct."""


class SlangInstance:
    """A value of a Slang struct: its fields by name, and its methods as attributes.

    Args:
        type_: the struct.
        fields: a number, an array, or a dict or an instance for each field.
        method: gives a method, bound, by its name.

    Raises:
        SlangArgumentError: the fields are not those of the struct.

    Example:
        >>> import torch
        >>> from tracepack.ops.slang import load
        >>> module = load("struct Line { float a; float b; float at(float x) { return a * x + b; } };")
        >>> line = module.Line(a=torch.tensor([1.0, 2.0]), b=3.0)
        >>> line.at(10.0)
        tensor([13., 23.])
        >>> line.b
        3.0
    """

    __slots__ = ("_fields", "_method", "slang_type")

    def __init__(self, type_: SlangType, fields: Mapping[str, Any], method: Method | None = None) -> None:
        names = [field.name for field in type_.fields]
        given = {name: value for name, value in fields.items() if name != TYPE}
        if set(given) != set(names):
            raise SlangArgumentError(
                f"these are not the fields of {type_.name!r}",
                where=f"struct {type_.name}",
                got=sorted(given),
                expected=names,
            )
        self.slang_type, self._method = type_, method
        self._fields = {name: given[name] for name in names}

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._fields:
            return self._fields[name]
        if self._method is None:
            raise AttributeError(f"no field {name!r} in {self.slang_type.name!r}")
        return self._method(self, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.__slots__:
            object.__setattr__(self, name, value)
        elif name in self._fields:
            self._fields[name] = value
        else:
            raise AttributeError(f"no field {name!r} in {self.slang_type.name!r}")

    def __repr__(self) -> str:
        return f"{self.slang_type.name}({', '.join(f'{name}={value!r}' for name, value in self._fields.items())})"

    def __reduce__(self) -> tuple[Any, ...]:
        return SlangInstance, (self.slang_type, self._fields, self._method)

    def _asdict(self) -> dict[str, Any]:
        """The fields by name, as a dict; underscored like a named tuple's, for the other names are the struct's."""
        return dict(self._fields)

    def get_this(self) -> dict[str, Any]:
        """The dict that SlangPy takes for the instance."""
        return {TYPE: self.slang_type.name, **self._fields}

    def update_this(self, value: Mapping[str, Any]) -> None:
        """Takes the dict that SlangPy returns after a call that changed the instance."""
        self._fields.update({name: each for name, each in value.items() if name in self._fields})


def unknown_fields(type_: SlangType, value: Any, path: str = "") -> list[str]:
    """The entries of a value for a struct, also inside of its fields, that the struct does not have."""
    fields = fields_of(value) if type_.kind == "struct" else None
    if fields is None:
        return []
    inner = {field.name: field.type for field in type_.fields}
    found = [f"{path}{name}" for name in fields if name not in inner and name != TYPE]
    for name in inner.keys() & fields.keys():
        found += unknown_fields(inner[name], fields[name], f"{path}{name}.")
    return found


def fields_of(value: Any) -> Mapping[str, Any] | None:
    """The fields of an instance, a dict or a dataclass, else None."""
    if isinstance(value, Mapping):
        return value
    if isinstance(value, SlangInstance):
        return value._fields
    return vars(value) if dataclasses.is_dataclass(value) and not isinstance(value, type) else None


def struct_name(value: Any) -> str:
    """The name of the struct of an instance, or of a dict that names it as SlangPy's do; "" where none is told."""
    if isinstance(value, SlangInstance):
        return value.slang_type.name
    return str(value.get(TYPE, "")) if isinstance(value, Mapping) else ""


def replace_field(instance: SlangInstance, path: str, value: Any) -> None:
    """Gives a field of an instance, `.a` or one inside it, `.a.b`, a new value."""
    *inner, last = field_names(path)
    holder: Any = instance._fields
    for name in inner:
        if isinstance(holder[name], SlangInstance):
            holder = holder[name]._fields
        else:
            holder[name] = dict(holder[name])  # a copy, so that the user's own dict does not change
            holder = holder[name]
    holder[last] = value
