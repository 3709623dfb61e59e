"""The types of Slang parameters, as plain frozen data, and what they mean for tensors.

A parameter of a scalar, vector, matrix or array type takes one tensor whose trailing sizes are the type's
`shape`; a struct takes one tensor for each of its *leaves*, an array of structs the same with the array's sizes before
the leaf's own. A *view* (`ITensor`, `IDiffTensor` and their like)
takes a whole tensor. Everything here is data: no compiler, no tensor, so that signatures can be cached and packed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import torch

Kind = Literal["scalar", "vector", "matrix", "array", "struct", "view", "void", "opaque"]
Direction = Literal["in", "out", "inout"]

FLOATS = frozenset({"half", "float", "double"})
THIS = "this"
"""The name of a method's first parameter, the struct; a word of Slang's own, so no parameter of a user's has it."""

_MEMBER = re.compile(r"(?P<owner>.*)::(?P<own>\w+(?:<.*>)?)$")


@dataclass(frozen=True)
class SlangType:
    """One Slang type.

    Attributes:
        kind: how tensors are passed for it.
        name: as Slang writes it, `vector<float,3>`.
        scalar: the scalar at its bottom, `float`; "" for structs and opaque types.
        shape: the trailing sizes that a tensor of it has; of a struct, the sizes of the array that holds it.
        fields: of a struct.
        rank: of a view.
        access: of a view: `r`, `w` or `rw`.
        differentiable: whether Slang has a gradient for it.
    """

    kind: Kind
    name: str
    scalar: str = ""
    shape: tuple[int, ...] = ()
    fields: tuple[Field, ...] = ()
    rank: int = 0
    access: str = ""
    differentiable: bool = False

    @property
    def numel(self) -> int:
        """The number of scalars in one value."""
        count = 1
        for size in self.shape:
            count *= size
        return count

    @property
    def dtype(self) -> torch.dtype:
        """The dtype of its tensors."""
        from .dtypes import DTYPES  # imports torch, which the compiler's process does without

        return DTYPES[self.scalar]

    def leaves(self, path: str = "") -> Iterator[Leaf]:
        """The tensors that one value is made of, in the order of declaration."""
        if self.kind != "struct":
            yield Leaf(path, self, self.differentiable)
            return
        path += "[]" * len(self.shape)
        for field in self.fields:
            for leaf in field.type.leaves(f"{path}.{field.name}"):
                flows = leaf.differentiable and field.differentiable
                yield Leaf(leaf.path, leaf.type.in_array(self.shape), flows)

    def in_array(self, sizes: tuple[int, ...]) -> SlangType:
        """The type of an array of this one; itself where there are no sizes."""
        if not sizes:
            return self
        kind: Kind = "struct" if self.kind == "struct" else "array"
        name = self.name + "".join(f"[{size}]" for size in sizes)
        return replace(self, kind=kind, name=name, shape=(*sizes, *self.shape))

    def plain(self) -> dict[str, Any]:
        """The type as data that JSON and msgpack hold."""
        data: dict[str, Any] = {"kind": self.kind, "name": self.name}
        defaults = SlangType("void", "")
        for key in ("scalar", "rank", "access", "differentiable"):
            if getattr(self, key) != getattr(defaults, key):
                data[key] = getattr(self, key)
        if self.shape:
            data["shape"] = list(self.shape)
        if self.fields:
            data["fields"] = [field.plain() for field in self.fields]
        return data

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> SlangType:
        """The inverse of `plain`."""
        rest = {key: value for key, value in data.items() if key not in {"shape", "fields"}}
        fields = tuple(Field.of_plain(field) for field in data.get("fields", ()))
        return cls(**rest, shape=tuple(data.get("shape", ())), fields=fields)


@dataclass(frozen=True)
class Field:
    """A field of a struct; `differentiable` is false where the field is `no_diff`."""

    name: str
    type: SlangType
    differentiable: bool

    def plain(self) -> dict[str, Any]:
        """The field as data."""
        return {"name": self.name, "type": self.type.plain(), "differentiable": self.differentiable}

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> Field:
        """The inverse of `plain`."""
        return cls(data["name"], SlangType.of_plain(data["type"]), data["differentiable"])


@dataclass(frozen=True)
class Leaf:
    """One tensor of a value.

    Attributes:
        path: `.a.b` inside a struct, `.a[].b` where `a` is an array of structs, "" for a value that is itself a tensor.
        type: of the tensor.
        differentiable: whether gradients flow.
    """

    path: str
    type: SlangType
    differentiable: bool


def split_name(name: str) -> tuple[str, str]:
    """The struct or namespace of a name and the rest: `n::P::f<float>` gives `n::P` and `f<float>`."""
    found = _MEMBER.match(name)
    return (found["owner"], found["own"]) if found else ("", name)


def field_names(path: str) -> list[str]:
    """The names in a leaf's path, as a user's dicts have them."""
    return path.replace("[]", "").split(".")[1:]


@dataclass(frozen=True)
class Parameter:
    """A parameter of a function; `differentiable` is false where it is `no_diff`, `has_default` true after `x = 1`."""

    name: str
    type: SlangType
    direction: Direction = "in"
    differentiable: bool = False
    has_default: bool = False

    def __str__(self) -> str:
        prefix = "" if self.direction == "in" else f"{self.direction} "
        return f"{prefix}{self.type.name} {self.name}"

    def plain(self) -> dict[str, Any]:
        """The parameter as data."""
        data: dict[str, Any] = {"name": self.name, "type": self.type.plain()}
        data |= {"direction": self.direction, "differentiable": self.differentiable}
        return {**data, "default": True} if self.has_default else data

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> Parameter:
        """The inverse of `plain`."""
        type_ = SlangType.of_plain(data["type"])
        return cls(data["name"], type_, data["direction"], data["differentiable"], data.get("default", False))


@dataclass(frozen=True)
class FunctionType:
    """The signature of a function; a generic one holds types that only a call makes concrete."""

    name: str
    parameters: tuple[Parameter, ...]
    result: SlangType
    differentiable: bool = False
    generic: bool = False

    @property
    def is_method(self) -> bool:
        """Whether its first parameter is the struct that it is called on; no other can have that name."""
        return bool(self.parameters) and self.parameters[0].name == THIS

    def __str__(self) -> str:
        prefix = "[Differentiable] " if self.differentiable else ""
        return f"{prefix}{self.result.name} {self.name}({', '.join(map(str, self.parameters))})"

    def plain(self) -> dict[str, Any]:
        """The signature as data."""
        return {
            "name": self.name,
            "parameters": [parameter.plain() for parameter in self.parameters],
            "result": self.result.plain(),
            "differentiable": self.differentiable,
            "generic": self.generic,
        }

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> FunctionType:
        """The inverse of `plain`."""
        parameters = tuple(Parameter.of_plain(parameter) for parameter in data["parameters"])
        result = SlangType.of_plain(data["result"])
        return cls(data["name"], parameters, result, data["differentiable"], data["generic"])
