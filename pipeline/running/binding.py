"""The calling convention of a pipeline: named parameters, containers, and what is accepted in place of a tensor.

Its data, which an archive stores, is `Parameters` of `ops.graph.program`; here is its behaviour.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import SignatureError
from ...ops.graph.graph import Record
from ...ops.graph.program import Items, Parameters, Slot, unnamed
from ...ops.graph.text import plain_text
from ...ops.graph.traverse import map_leaves
from ...ops.graph.types import STRINGS, ListType, TensorType, Type
from ...ops.runtime.checks import check_item, not_a_tensor, wrong_keys
from .handed import Looking, is_mapping, is_sequence, not_one_dict, overrides_operators
from .marks import Marks
from .stand_ins import fix_of, fixed, is_device, is_traced_list, items_of, named, plain_value, same, tensor_of_array


class Binding:
    """Turns the arguments of a call into the flat inputs of a graph.

    Args:
        parameters: how the pipeline is called.
        marks: what else a call must keep to.
        convert: whether lists, numbers, columns and other dtypes become what the inputs are, where nothing is lost.
        written: the numbers of the flat inputs that a run writes into.
    """

    def __init__(
        self,
        parameters: Parameters,
        marks: Marks | None = None,
        convert: bool = False,
        written: Collection[int] = (),
    ) -> None:
        self._parameters, self._marks, self._convert = parameters, marks or Marks(), convert
        self._written = written

    def bind(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """Arguments of a call as a feed dict.

        Raises:
            SignatureError: too many arguments, or one given twice.
        """
        feed: dict[str, Any] = {}
        positional = [p for p in self._parameters.items if p.kind != "keyword"]
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
        flat: list[Any] = [None] * len(self._parameters.names)
        for parameter in self._parameters.items:
            value = feed[parameter.name] if parameter.name in feed else unnamed(parameter.default)
            self._fill(parameter.tree, value, parameter.name, flat)
            if parameter.name in self._marks.ordered:
                _require_order(parameter.tree, value, parameter.name)
        if self._marks.ask_for_more:
            self._marks.check(feed, self._parameters, flat, self._convert)
        return flat

    def plain(self, feed: Mapping[str, Any]) -> dict[str, Any]:
        """A feed with the leaves that `flatten` makes of it; what was left to its default stays out."""
        with Looking("an example"):
            flat = self.flatten(feed)

        def leaf(part: Any) -> Any:
            return flat[part.index] if isinstance(part, Slot) else part

        given = [p for p in self._parameters.items if p.name in feed]
        return {p.name: map_leaves(leaf, p.tree, lambda _, items: Items(items)) for p in given}

    def _check_keys(self, feed: Mapping[str, Any]) -> None:
        if not isinstance(feed, Mapping):
            raise not_one_dict(list(self._parameters.items), type(feed).__name__, self._listing())
        names = {parameter.name for parameter in self._parameters.items}
        for unknown in sorted(map(str, feed.keys() - names)):
            raise SignatureError("unknown input", where=f"input {unknown!r}", expected=self._listing())
        for missing in sorted({p.name for p in self._parameters.items if p.required} - feed.keys()):
            raise SignatureError(
                "missing input", where=f"input {missing!r}", got=sorted(map(str, feed)), expected=self._listing()
            )

    def _listing(self) -> str:
        return str(self._parameters) or "no inputs"

    def _fill(self, tree: Any, value: Any, where: str, flat: list[Any]) -> None:
        match tree:
            case Slot(index):
                kind = self._parameters.types[index]
                self._marks.check_class(self._parameters.names[index], value, kind)
                for found in self._marks.named_tuples(self._parameters.names[index], value, kind, self._convert):
                    named(*found)
                value = tensor_of_array(value)
                for array in _arrays(value) if self._written else ():
                    _require_memory(array, index in self._written, where)
                flat[index] = to_leaf(self._converted(index, value, kind, where), kind, where)
            case Record():
                self._sequence(tree.items, items_of(tree, value, where, self._convert), where, flat, tuple)
            case tuple() | list():
                self._sequence(tree, value, where, flat, type(tree))
            case dict():
                self._mapping(tree, value, where, flat)
            case _:
                value = plain_value(value)
                if not (same(fixed(value), tree) or is_device(value, tree)):
                    raise SignatureError(
                        "a fixed value differs",
                        where=f"input {where!r}", got=_brief(value), expected=plain_text(tree)[:80],
                        fix=fix_of(value, tree, where),
                    )  # fmt: skip

    def _converted(self, index: int, value: Any, kind: Type, where: str) -> Any:
        """A leaf as what its input is, where inputs are converted: not one into which a run may write."""
        if not self._convert or index in self._written:
            return value
        from .convert import converted  # what few pipelines need

        return converted(value, kind, where)

    def _sequence(self, tree: Sequence[Any], value: Any, where: str, flat: list[Any], kind: type[Any]) -> None:
        if self._convert and kind is tuple and type(value) is list and len(value) == len(tree):
            value = tuple(value)  # JSON has no tuples
        if not is_sequence(value, kind, where) or len(value) != len(tree):
            got = f"{type(value).__name__} of {len(value)}" if isinstance(value, tuple | list) else type(value).__name__
            fix = (_FREE if kind is list else self._of_tuple(where)) if type(value) is kind else ""
            raise SignatureError(
                "another structure",
                where=f"input {where!r}",
                got=got,
                expected=f"{kind.__name__} of {len(tree)}",
                fix=fix,
            )
        for index, (part, item) in enumerate(zip(tree, value, strict=True)):
            self._fill(part, item, f"{where}[{index}]", flat)

    def _of_tuple(self, where: str) -> str:
        several = any(each.name == where and each.kind == "variadic" for each in self._parameters.items)
        return _SEVERAL.format(where) if several else _TUPLE

    def _mapping(self, tree: dict[Any, Any], value: Any, where: str, flat: list[Any]) -> None:
        if not is_mapping(value, where, tree) or value.keys() != tree.keys():
            got = f"keys {list(value)}" if isinstance(value, Mapping) else type(value).__name__
            expected, fix = f"a dict with keys {list(tree)}", _OF_KEYS if isinstance(value, Mapping) else ""
            what = wrong_keys(value, tree)
            raise SignatureError(what, where=f"input {where!r}", got=got, expected=expected, fix=fix)
        for key, part in tree.items():
            self._fill(part, value[key], f"{where}[{key!r}]", flat)


_OF_KEYS = "Where the keys vary, let the function take two lists, of the keys and of the values."
_FREE = "It has the length of the example; trace says why, and what keeps it free."
_TUPLE = "Trace with a list: it may have any length, where the function goes through it and its items are alike."

_SEVERAL = "Let the function take one list in place of *{}: it may have any length, where its items are alike."


def _require_order(tree: Any, value: Any, where: str) -> None:
    """Refuses dicts whose keys come in another order, on which the answer hangs."""
    if isinstance(tree, dict):
        if list(value) != list(tree):
            raise SignatureError(
                "the keys are in another order, on which the answer depends",
                where=f"input {where!r}", got=list(value), expected=list(tree),
            )  # fmt: skip
        pairs = [(key, part, value[key]) for key, part in tree.items()]
    elif isinstance(tree, Record | tuple | list):
        parts = tree.items if isinstance(tree, Record) else tree
        pairs = [(index, *pair) for index, pair in enumerate(zip(parts, value, strict=True))]
    else:
        return
    for key, part, item in pairs:
        _require_order(part, item, f"{where}[{key!r}]")


def _brief(value: Any) -> str:
    """A value in a few words for a message: a tensor by its shape."""
    if isinstance(value, torch.Tensor):
        return f"a tensor of shape {tuple(value.shape)}"
    return repr(value)[:80]


def to_leaf(value: Any, kind: Type, where: str) -> Any:
    """A flat input from what the caller gave: arrays and DLPack objects become tensors that share their memory.

    Raises:
        SignatureError: the value is of another kind than the input.
    """
    if isinstance(kind, TensorType):
        tensor = as_tensor(bytes(value) if isinstance(value, bytearray | memoryview) else value)
        if tensor is None:
            raise not_a_tensor(f"input {where!r}", kind, value)
        return tensor
    if (kind == STRINGS or isinstance(kind, ListType)) and is_traced_list(value):
        to_leaf(value.concrete, kind, where)
        return value  # the list of its example fits
    if isinstance(kind, ListType):
        return _listed(value, kind, where)
    if isinstance(value, np.generic):
        value = value.item()
    return value if kind != STRINGS else _strings(value, where)


def _listed(value: Any, kind: ListType, where: str) -> list[Any]:
    """A list of any length with its items as the pipeline takes them."""
    if not is_sequence(value, list | tuple, where):
        raise SignatureError("not a list", where=f"input {where!r}", got=type(value).__name__, expected=kind)
    return [_item(item, kind.item, f"{where}[{index}]") for index, item in enumerate(value)]


def _item(value: Any, kind: Any, where: str) -> Any:
    if isinstance(kind, dict):
        if not is_mapping(value, where, kind) or list(value) != list(kind):
            got = f"keys {list(value)}" if isinstance(value, Mapping) else type(value).__name__
            raise SignatureError(
                wrong_keys(value, kind), where=f"input {where!r}", got=got,
                expected=f"a dict with the keys {list(kind)}, in this order",
            )  # fmt: skip
        return {key: _item(value[key], part, f"{where}[{key!r}]") for key, part in kind.items()}
    if isinstance(kind, tuple):
        if not is_sequence(value, tuple, where) or len(value) != len(kind):
            got = f"tuple of {len(value)}" if isinstance(value, tuple) else type(value).__name__
            raise SignatureError(
                "another structure", where=f"input {where!r}", got=got, expected=f"tuple of {len(kind)}"
            )
        return tuple(_item(*pair, f"{where}[{index}]") for index, pair in enumerate(zip(value, kind, strict=True)))
    found = to_leaf(value, kind, where)
    check_item(f"input {where!r}", kind, found)
    return found


def _strings(value: Any, where: str) -> list[str]:
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not is_sequence(value, list | tuple, where):
        got = type(value).__name__
        raise SignatureError("not a list of strings", where=f"input {where!r}", got=got, expected="list of str")
    others = [type(item).__name__ for item in value if not isinstance(item, str)]
    if others:
        got = f"a {type(value).__name__} with {others[0]}"
        raise SignatureError("not a list of strings", where=f"input {where!r}", got=got, expected="list of str")
    return [item.item() if isinstance(item, np.str_) else item for item in value]


def as_tensor(value: Any) -> torch.Tensor | None:
    """A tensor over the memory of a tensor, a numpy array or a DLPack object, or of bytes; None for anything else."""
    if isinstance(value, torch.Tensor):
        if type(value) in (torch.Tensor, torch.nn.Parameter):
            return value
        if type(value).__module__.startswith("torch._subclasses."):  # torch traces the caller of the pipeline
            return value
        if overrides_operators(type(value)):
            raise SignatureError(
                "the tensor is of a subclass that overrides operators",
                got=type(value).__name__,
                expected="torch.Tensor",
            )
        return value.as_subclass(torch.Tensor)
    if isinstance(value, np.ndarray):
        return _from_numpy(value)
    if isinstance(value, np.generic):
        return torch.tensor(value.item(), dtype=_from_numpy(np.zeros(1, value.dtype)).dtype)
    if type(value) is bytes:
        return torch.frombuffer(bytearray(value), dtype=torch.uint8) if value else torch.empty(0, dtype=torch.uint8)
    if hasattr(type(value), "__dlpack__"):
        found: torch.Tensor = torch.utils.dlpack.from_dlpack(value)
        return found
    return None


def _from_numpy(array: np.ndarray[Any, Any]) -> torch.Tensor:
    if type(array) not in (
        np.ndarray,
        np.memmap,
    ):  # a masked array or a matrix: its operators do other things than those of an array
        raise SignatureError(
            "the array is of a subclass that overrides operators",
            got=f"numpy {type(array).__name__}",
            expected="numpy.ndarray",
            fix="Pass numpy.asarray(array), and a mask as another array.",
        )
    if not array.flags.writeable:
        array = _Writable(array).array if array.size else array.copy()
    if any(stride < 0 for stride in array.strides):
        array = array.copy()
    try:
        return torch.from_numpy(array)
    except (TypeError, ValueError) as error:
        fix = "Pass its texts as a list: array.tolist()." if array.dtype.kind == "U" else ""
        raise SignatureError("torch has no dtype for the array", got=f"numpy {array.dtype}", fix=fix) from error


def _arrays(value: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays of an input, which may be a list of any length."""
    if isinstance(value, np.ndarray):
        yield value
    elif isinstance(value, list | tuple | dict):
        for item in value.values() if isinstance(value, dict) else value:
            yield from _arrays(item)


def _require_memory(array: np.ndarray[Any, Any], written: bool, where: str) -> None:
    """Refuses an array of which a tensor over the same memory cannot be made for a pipeline that writes into inputs.

    An array that is only read may share the memory of one that is written, so that no copy does for it either.
    """
    if written and not array.flags.writeable:
        what = "the pipeline writes into this array, which is read-only"
    elif any(stride < 0 for stride in array.strides):
        what = "the pipeline writes into its inputs, and this array has negative strides"
    else:
        return
    raise SignatureError(what, where=f"input {where!r}", fix="Pass a copy: array.copy().")


class _Writable:
    """A view of a read-only array, of which torch makes a tensor without a warning; nothing writes into it."""

    def __init__(self, array: np.ndarray[Any, Any]) -> None:
        self._base = array
        address, _ = array.__array_interface__["data"]
        self.__array_interface__ = {**array.__array_interface__, "data": (address, False)}
        self.array = np.asarray(self)
