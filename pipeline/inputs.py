"""The calling convention of a pipeline: named parameters, containers, and what may stand for a tensor.

A `Parameters` is plain data: it is stored in the archive and rebuilt without the function. Each parameter has a
tree whose leaves are positions in the flat list of graph inputs; everything else in a tree is fixed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from ..ops.containers import is_held
from ..ops.errors import SignatureError
from ..ops.graph import Record
from ..ops.records import is_record, record_factory, to_record
from ..ops.types import SCALARS, STRINGS, TensorType, Type


@dataclass(frozen=True)
class Slot:
    """The place of a flat graph input in a parameter's tree."""

    index: int


@dataclass(frozen=True)
class Parameter:
    """One parameter of a pipeline.

    Attributes:
        name: its key in `run`'s dict.
        kind: ``"positional"``, ``"keyword"``, or ``"variadic"`` for ``*args``.
        tree: its structure.
    """

    name: str
    kind: str
    tree: Any


@dataclass(frozen=True)
class Parameters:
    """All parameters of a pipeline, with the names and types of the flat inputs.

    Attributes:
        items: the parameters in the function's order.
        names: a name for each flat input, such as ``"batch['ids']"``.
        types: a type for each flat input.
    """

    items: tuple[Parameter, ...]
    names: tuple[str, ...]
    types: tuple[Type, ...]

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a call as a feed dict.

        Raises:
            SignatureError: too many arguments, or one given twice.
        """
        feed: dict[str, Any] = {}
        positional = [p for p in self.items if p.kind != "keyword"]
        for parameter, value in zip(positional, args, strict=False):
            if parameter.kind == "variadic":
                feed[parameter.name] = args[len(positional) - 1 :]
                break
            feed[parameter.name] = value
        else:
            if len(args) > len(positional):
                raise SignatureError("too many arguments", got=len(args), expected=self._listing())
        for name, value in kwargs.items():
            if name in feed:
                raise SignatureError("an argument is given twice", where=f"input {name!r}")
            feed[name] = value
        return feed

    def flatten(self, feed: Mapping[str, Any]) -> list[Any]:
        """The flat inputs of a feed dict, tensors made of arrays where they were given.

        Raises:
            SignatureError: a missing or unknown key, another structure, or a value of a kind that no input has.
        """
        self._check_keys(feed)
        flat: list[Any] = [None] * len(self.names)
        for parameter in self.items:
            self._fill(parameter.tree, feed[parameter.name], parameter.name, flat)
        return flat

    def _check_keys(self, feed: Mapping[str, Any]) -> None:
        if not isinstance(feed, Mapping):
            raise SignatureError("run takes a dict of inputs", got=type(feed).__name__, expected=self._listing())
        names = {parameter.name for parameter in self.items}
        for missing in sorted(names - feed.keys()):
            raise SignatureError(
                "missing input", where=f"input {missing!r}", got=sorted(map(str, feed)), expected=self._listing()
            )
        for unknown in sorted(map(str, feed.keys() - names)):
            raise SignatureError("unknown input", where=f"input {unknown!r}", expected=self._listing())

    def _listing(self) -> str:
        return ", ".join(f"{name}: {kind}" for name, kind in zip(self.names, self.types, strict=True)) or "no inputs"

    def _fill(self, tree: Any, value: Any, where: str, flat: list[Any]) -> None:
        match tree:
            case Slot(index):
                flat[index] = to_leaf(value, self.types[index], where)
            case Record():
                self._sequence(tree.items, value, where, flat, tuple)
            case tuple() | list():
                self._sequence(tree, value, where, flat, type(tree))
            case dict():
                self._mapping(tree, value, where, flat)
            case _:
                if type(value) is not type(tree) or value != tree:
                    raise SignatureError(
                        "a fixed value differs", where=f"input {where!r}", got=_brief(value), expected=_brief(tree)
                    )

    def _sequence(self, tree: Sequence[Any], value: Any, where: str, flat: list[Any], kind: type[Any]) -> None:
        if not isinstance(value, kind) or len(value) != len(tree):
            got = f"{type(value).__name__} of {len(value)}" if isinstance(value, tuple | list) else type(value).__name__
            raise SignatureError(
                "another structure", where=f"input {where!r}", got=got, expected=f"{kind.__name__} of {len(tree)}"
            )
        for index, (part, item) in enumerate(zip(tree, value, strict=True)):
            self._fill(part, item, f"{where}[{index}]", flat)

    def _mapping(self, tree: dict[Any, Any], value: Any, where: str, flat: list[Any]) -> None:
        if not isinstance(value, Mapping) or value.keys() != tree.keys():
            got = f"keys {list(value)}" if isinstance(value, Mapping) else type(value).__name__
            raise SignatureError(
                "another structure", where=f"input {where!r}", got=got, expected=f"a dict with keys {list(tree)}"
            )
        for key, part in tree.items():
            self._fill(part, value[key], f"{where}[{key!r}]", flat)


def _brief(value: Any) -> str:
    """A value in a few words: a tensor by its kind."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return repr(value)[:80]


def to_leaf(value: Any, kind: Type, where: str) -> Any:
    """A flat input from what the caller gave: arrays and DLPack objects become tensors that share their memory.

    Raises:
        SignatureError: the value is of another kind than the input.
    """
    if isinstance(kind, TensorType):
        tensor = as_tensor(value)
        if tensor is None:
            raise SignatureError("not a tensor", where=f"input {where!r}", got=type(value).__name__, expected=kind)
        return tensor
    if isinstance(value, np.generic):
        value = value.item()
    return value if kind != STRINGS else _strings(value, where)


def _strings(value: Any, where: str) -> list[str]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        got = type(value).__name__
        raise SignatureError("not a list of strings", where=f"input {where!r}", got=got, expected="list of str")
    other = next((item for item in value if not isinstance(item, str)), None)
    if other is not None:
        got = f"a {type(value).__name__} with {type(other).__name__}"
        raise SignatureError("not a list of strings", where=f"input {where!r}", got=got, expected="list of str")
    return list(value)


def as_tensor(value: Any) -> torch.Tensor | None:
    """A tensor over the memory of a tensor, a numpy array or a DLPack object; None for anything else."""
    if isinstance(value, torch.Tensor):
        if type(value) in (torch.Tensor, torch.nn.Parameter):
            return value
        if (
            hasattr(type(value), "__torch_dispatch__")
            and type(value).__torch_dispatch__ is not torch.Tensor.__torch_dispatch__
        ):
            raise SignatureError(
                "a tensor subclass with behaviour of its own", got=type(value).__name__, expected="torch.Tensor"
            )
        return value.as_subclass(torch.Tensor)
    if isinstance(value, np.ndarray):
        return _from_numpy(value)
    if isinstance(value, np.generic):
        return torch.tensor(value.item(), dtype=_from_numpy(np.zeros(1, value.dtype)).dtype)
    if hasattr(value, "__dlpack__"):
        found: torch.Tensor = torch.utils.dlpack.from_dlpack(value)
        return found
    return None


def _from_numpy(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if not array.flags.writeable:
        array = _Writable(array).array if array.size else array.copy()
    if any(stride < 0 for stride in array.strides):
        array = array.copy()
    try:
        return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        raise SignatureError("an array that torch cannot take", got=f"numpy {array.dtype}") from error


def thawed(tree: Any) -> Any:
    """The same inputs with copies of read-only arrays, for a pipeline that writes into its inputs."""
    if isinstance(tree, np.ndarray):
        return tree if tree.flags.writeable else tree.copy()
    if is_record(tree):
        return type(tree)(*map(thawed, tree))
    if isinstance(tree, tuple | list):
        return type(tree)(map(thawed, tree))
    return {key: thawed(item) for key, item in tree.items()} if isinstance(tree, Mapping) else tree


class _Writable:
    """A view of a read-only array that torch takes without its warning; a pipeline that writes gets a copy instead."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._base = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self.array = np.asarray(self)


def describe(
    given: Sequence[tuple[str, str, Any]],
) -> tuple[tuple[Parameter, ...], list[str], list[Any], frozenset[int]]:
    """Takes example arguments apart: parameters, a name for each leaf, the leaves, and which of these are arrays.

    Args:
        given: name, kind and value of each argument.

    Raises:
        SignatureError: a value that no pipeline can take.
    """
    names: list[str] = []
    leaves: list[Any] = []
    arrays: set[int] = set()

    def tree(value: Any, where: str) -> Any:
        if value is None:
            return None
        if isinstance(value, list) and value and all(isinstance(item, str) for item in value):
            return slot(value, where)
        if is_record(value):
            return to_record(
                value, tuple(tree(v, f"{where}.{k}") for k, v in zip(type(value)._fields, value, strict=True))
            )
        if isinstance(value, tuple | list):
            items = [tree(item, f"{where}[{index}]") for index, item in enumerate(value)]
            return tuple(items) if isinstance(value, tuple) else items
        if isinstance(value, Mapping):
            return {key: tree(item, f"{where}[{key!r}]") for key, item in value.items()}
        return slot(value, where)

    def slot(value: Any, where: str) -> Slot:
        leaf = as_tensor(value) if not isinstance(value, np.generic) else value.item()
        leaf = value if leaf is None else leaf
        if not isinstance(leaf, torch.Tensor | list) and type(leaf) not in SCALARS:
            raise SignatureError(
                "a value that a pipeline cannot take",
                where=f"input {where!r}",
                got=f"{type(value).__module__}.{type(value).__qualname__}",
                expected="tensors, arrays, numbers, strings, and tuples, lists and dicts of them",
                fix="Pass what it holds, and make it of that in the function." if is_held(value) else "",
            )
        if isinstance(value, np.ndarray):
            arrays.add(len(leaves))
        names.append(where)
        leaves.append(leaf)
        return Slot(len(leaves) - 1)

    items = tuple(Parameter(name, kind, tree(value, name)) for name, kind, value in given)
    return items, names, leaves, frozenset(arrays)


def rebuild(tree: Any, leaves: Sequence[Any]) -> Any:
    """A parameter's value from flat leaves."""
    match tree:
        case Slot(index):
            return leaves[index]
        case Record():
            return record_factory(tree)(*(rebuild(item, leaves) for item in tree.items))
        case tuple():
            return tuple(rebuild(item, leaves) for item in tree)
        case list():
            return [rebuild(item, leaves) for item in tree]
        case dict():
            return {key: rebuild(item, leaves) for key, item in tree.items()}
    return tree
