"""Python's trees of arguments and the IR's: containers, plain leaves, and the types of tensors."""

from __future__ import annotations

import dataclasses
import enum
from collections import OrderedDict
from collections.abc import Callable, Coroutine
from fractions import Fraction
from typing import Any, cast

import numpy as np
import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Literal
from ...ops.graph.operators.names import OF_ARRAYS
from ...ops.graph.types import ANY, ARRAY, DTYPES, SCALARS, STR, STRINGS, ListType, TensorType, Type
from ...ops.lowering.held_objects import is_held
from ...ops.runtime.primitives.callables import recorded_names
from ...ops.runtime.primitives.named_tuples import as_named_tuple, is_ordered, is_record, to_ordered, to_record
from ...ops.runtime.primitives.numpy import DTYPES as DTYPES_OF_NUMPY
from ...ops.runtime.primitives.numpy import TEXTUAL, WORDS
from ...ops.runtime.user_code import attribute, user_line
from .base import is_traced
from .byte_strings import TracedBytes
from .values.maybe import MaybeThing

Leaf = Callable[[Any], Any]


def to_ir(tree: Any, leaf: Leaf, key: Leaf, size: Callable[[Any], Any] = tuple) -> Any:
    """A Python tree in the containers of the IR.

    Args:
        tree: of tuples, lists, dicts and slices.
        leaf: converts what is none of these.
        key: converts the keys of dicts.
        size: makes the container for a `torch.Size`; operators take any tuple for one.
    """

    def converted(tree: Any) -> Any:
        if is_traced(tree):
            return leaf(tree)
        if is_record(tree):
            return to_record(tree, tuple(map(converted, tree)))
        if isinstance(tree, tuple):
            return (size if type(tree) is torch.Size else tuple)(map(converted, tree))
        if isinstance(tree, list):
            return list(map(converted, tree))
        if is_ordered(tree):
            return to_ordered(tuple(map(key, tree)), tuple(map(converted, tree.values())))
        if isinstance(tree, dict):
            return {key(k): converted(item) for k, item in tree.items()}
        if (found := as_named_tuple(tree)) is not None and not is_held(tree):
            return converted(found)
        if isinstance(tree, slice):
            return slice(*map(converted, (tree.start, tree.stop, tree.step)))
        return leaf(tree)

    return converted(tree)


MOST_LEVELS = 200  # of nested containers


def refuse_foreign(tree: Any) -> None:
    """Refuses a result whose containers are of another class, or nested without end, as a list that holds itself.

    Raises:
        RecordError: an archive cannot hold it.
    """
    level, layer = 0, [tree]
    while layer:
        for each in layer:
            _refuse_class(each)
        layer = [item for each in layer for item in _items(each)]
        level += 1
        if level > MOST_LEVELS:
            raise RecordError(
                "the function returns containers that are nested too deeply", expected=f"{MOST_LEVELS} levels"
            )


def _refuse_class(tree: Any) -> None:
    kind = type(tree)
    if is_traced(tree) and not getattr(vars(tree).get("objects"), "is_record", True):
        raise RecordError(
            "the function returns objects that are no records",
            fix="Return what is asked of them: [item.name for item in items].",
        )
    if type(tree) is MaybeThing and not tree.is_result():
        tree.refuse_return()
    if isinstance(tree, slice):
        raise RecordError("the function returns a slice, which an archive cannot hold", fix="Return its ends.")
    if is_traced(tree) or kind in (tuple, list, torch.Size) or is_record(tree) or is_ordered(tree):
        return
    base = "dict" if kind is OrderedDict else next((b.__name__ for b in (tuple, list) if isinstance(tree, b)), "")
    fix = "Give it texts for keys, or return" if kind is OrderedDict else "Return"
    if base:  # any other kind of dict comes back as a dict
        raise RecordError(
            f"the function returns a {kind.__module__}.{kind.__qualname__}, which no archive tells from a {base}",
            fix=f"{fix} {base}(result).",
        )


def _items(tree: Any) -> list[Any]:
    if is_traced(tree) or not isinstance(tree, tuple | list | dict):
        return []
    return list(tree.values() if isinstance(tree, dict) else tree)


def concrete(tree: Any) -> Any:
    """Arguments for a real call: traced scalars become plain ones."""
    if is_traced(tree):
        return tree.concrete
    if type(tree) in (tuple, torch.Size):
        return tuple(concrete(item) for item in tree)
    if is_record(tree):
        return same_container(tree, [concrete(item) for item in tree])
    if type(tree) is list:
        return [concrete(item) for item in tree]
    if type(tree) is dict:
        return {key: concrete(item) for key, item in tree.items()}
    if isinstance(tree, slice):
        return slice(*(concrete(item) for item in (tree.start, tree.stop, tree.step)))
    return tree


def plain_leaf(leaf: Any, function: str) -> Any:
    """A leaf that is neither a tensor nor traced, in the form of the IR.

    Raises:
        RecordError: an archive cannot hold it; the message names the function that it was given to.
    """
    numpys = function.startswith(OF_ARRAYS)
    if isinstance(leaf, enum.Enum) and isinstance(leaf, int | str):
        leaf = leaf.value
    for kind in ("dtype", "layout", "memory_format"):
        if isinstance(leaf, getattr(torch, kind)):
            return Literal(kind, str(leaf).removeprefix("torch."))
    if function == "torch.Tensor.type" and isinstance(leaf, type(torch.LongTensor)):
        return Literal("dtype", str(leaf.dtype).removeprefix("torch."))
    if isinstance(leaf, torch.device):
        return Literal("device", "cpu" if leaf.type == "cpu" else "op")
    if isinstance(leaf, type) and leaf in (int, float, bool, complex):
        return Literal("numpy.dtype", np.dtype(leaf).name) if numpys else Literal("dtype", _dtype_of(leaf))
    if numpys and type(leaf) is str and (name := _dtype_called(leaf, function)):
        return Literal("numpy.dtype", name)
    if leaf is None or leaf is Ellipsis or type(leaf) in (bool, int, float, complex, str, bytes):
        return leaf
    if isinstance(leaf, np.dtype) or (isinstance(leaf, type) and issubclass(leaf, np.generic)):
        leaf = np.dtype(leaf)
        if leaf.name in DTYPES_OF_NUMPY and leaf.isnative:
            return Literal("numpy.dtype", leaf.name)
    if isinstance(leaf, np.generic) and leaf.dtype.name in DTYPES_OF_NUMPY:
        return Literal(f"numpy.{leaf.dtype.name}", str(leaf.item()))
    kind_of = type(leaf)
    raise RecordError(
        f"{function} has an argument that cannot be recorded",
        where=str(user_line() or ""),
        got=f"{kind_of.__module__}.{kind_of.__qualname__}",
        expected="tensors, numbers, strings and containers of them",
        fix="Write sorted(items) for a set." if kind_of in (set, frozenset) else "",
    )


def _dtype_called(text: str, function: str) -> str:
    """The name of the dtype that a text such as ``"f4"`` stands for in a function of numpy; empty where it is none."""
    if text in WORDS or function.removeprefix("numpy.") in TEXTUAL:
        return ""
    try:
        found = np.dtype(text)
    except (TypeError, ValueError, SyntaxError):
        return ""
    return found.name if found.name in DTYPES_OF_NUMPY and found.isnative else ""


def is_recordable(leaf: Any) -> bool:
    """Whether a leaf of a result is recorded as an argument would be, rather than kept as it is."""
    if hasattr(type(leaf), "of_array") and leaf.of_array:
        leaf.tracer.refuse(
            "the function returns an array of texts, which an archive cannot hold", "Return names.tolist()."
        )
    if hasattr(type(leaf), "of_array") and getattr(leaf.objects, "kind", None) is bytes:
        fix = "Return [data.hex() for data in parts], and make bytes of it there."
        leaf.tracer.refuse("the function returns a list of bytes, which an archive cannot hold", fix)
    kinds = (torch.Tensor, np.ndarray, np.generic, np.dtype)
    of_torch = (torch.dtype, torch.device, torch.layout, torch.memory_format)
    return is_traced(leaf) or isinstance(leaf, kinds + of_torch)


def plain_form(thing: Any, name: str) -> str:
    """What makes plain containers of a record or a table of a library; empty for anything else.

    Args:
        thing: the record.
        name: what it is called.
    """
    if dataclasses.is_dataclass(thing) and not isinstance(thing, type):
        return f"dataclasses.asdict({name})"
    if hasattr(type(thing), "model_dump"):
        return f"{name}.model_dump()"
    held = attribute(thing, "__dict__")
    if type(held) is dict and held and not callable(thing) and all(map(_is_value, held.values())):
        return f"vars({name})"
    if type(thing).__module__.partition(".")[0] == "pandas":
        return f"{name}.to_dict('list')" if hasattr(type(thing), "columns") else f"{name}.to_list()"
    return ""


def _is_value(thing: Any) -> bool:
    """Whether a thing may stand in a result: a value, or a list, tuple or dict by its class."""
    return is_traced(thing) or type(thing) in _VALUES or isinstance(thing, torch.Tensor | np.ndarray)


_VALUES = (int, float, bool, complex, str, bytes, type(None), list, tuple, dict)


def plain_output(leaf: Any) -> Any:
    """A plain leaf of a result.

    Raises:
        RecordError: an archive cannot hold it.
    """
    if leaf is None or type(leaf) in (bool, int, float, complex, str, bytes):
        return leaf
    if isinstance(leaf, set | frozenset):
        raise RecordError("the function returns a set, which an archive cannot hold", fix="Return sorted(items).")
    if isinstance(leaf, Coroutine):
        leaf.close()  # else Python warns that nobody awaits it
        raise RecordError("the function returns a coroutine", fix="Call a function without async in its place.")
    if isinstance(leaf, Fraction):
        raise RecordError("the function returns a Fraction", fix="Return float(number), or numerator and denominator.")
    if isinstance(leaf, enum.Enum):
        what = f"the function returns a member of {leaf.__class__.__name__}, which an archive cannot hold"
        raise RecordError(what, fix="Return member.value, or member.name.")
    raise RecordError(
        f"the function returns {_class(leaf)}, which an archive cannot hold",
        fix="Return what it holds, such as [(layer.keys, layer.values) for layer in cache.layers], and make one of "
        "that in the next call."
        if is_held(leaf)
        else f"Return {form}: records are dicts, dataclasses or namedtuples."
        if (form := plain_form(leaf, "record"))
        else "Return data.hex(), base64.b64encode(data).decode(), or list(data), and make bytes of it there."
        if type(leaf) is TracedBytes
        else "Return tensors, arrays, numbers and strings in tuples, lists, dicts or namedtuples.",
    )


def _dtype_of(kind: type) -> str:
    """The dtype that torch takes a Python type for."""
    return str(torch.empty(0, dtype=cast(Any, kind)).dtype).removeprefix("torch.")


def same_container(result: Any, items: list[Any]) -> Any:
    """A container like the result, with its items replaced."""
    if type(result) is list:
        return items
    if hasattr(type(result), "_make"):
        return type(result)._make(items)
    if is_record(result) or type(result) is torch.Size:
        return type(result)(items)
    return tuple(items)


def tensor_type(tensor: torch.Tensor) -> Type:
    """The type of a tensor of the recording, with its sizes as they were.

    Raises:
        RecordError: it is not a dense tensor of a dtype that archives know.
    """
    name = str(tensor.dtype).removeprefix("torch.")
    if name not in DTYPES or tensor.layout is not torch.strided:
        raise RecordError(
            "a tensor of this dtype or layout cannot be recorded",
            where=str(user_line() or ""),
            got=f"{tensor.dtype}, {tensor.layout}",
        )
    return TensorType(name, tuple(int(size) for size in torch.Tensor.size(tensor)))


def value_type(thing: Any) -> Type:
    """The type of the value that stands for a thing in a loop."""
    if isinstance(thing, torch.Tensor):
        with torch._C.DisableTorchFunction():
            return tensor_type(thing)
    if isinstance(thing, list) and thing and all(type(each) is str for each in thing):
        return STRINGS
    return ARRAY if isinstance(thing, np.ndarray) else SCALARS.get(type(thing), ANY)


def is_array(thing: Any) -> bool:
    """Whether a thing is a tensor, an array, or a number of numpy."""
    return isinstance(thing, torch.Tensor | np.ndarray | np.generic)


def own_copy(thing: Any) -> Any:
    """A copy of a tensor or an array; anything else as it is."""
    if isinstance(thing, torch.Tensor):
        return thing.clone()
    return thing.copy() if isinstance(thing, np.ndarray) else thing


def list_type(items: list[Any]) -> Type | None:
    """The type of a list whose items are alike, so that it may have any length; None for any other list."""
    with torch._C.DisableTorchFunction():
        kinds = [_item_type(item) for item in items]
    if not kinds or kinds[0] is None or any(kind != kinds[0] for kind in kinds[1:]):
        return None
    return STRINGS if kinds[0] == STR else ListType(kinds[0])


def _item_type(item: Any) -> Any:
    """The type of an item: of a record a tree of types, with free sizes; None for what no list of any length holds."""
    if type(item) is torch.Tensor:
        name = str(item.dtype).removeprefix("torch.")
        plain = item.layout is torch.strided and not item.is_meta and not item.requires_grad and not vars(item)
        return TensorType(name, ("?",) * item.dim()) if name in DTYPES and plain else None
    if type(item) is list:
        return list_type(item)
    if type(item) in (tuple, dict):
        parts = list(map(_item_type, item.values() if type(item) is dict else item))
        if not parts or any(part is None for part in parts):
            return None
        if type(item) is tuple:
            return tuple(parts)
        return dict(zip(item, parts, strict=True)) if all(type(key) is str for key in item) else None
    return SCALARS.get(type(item))


def overload_of(packet: Any, args: Any, kwargs: Any) -> Any:
    """The overload that a call of a packet such as `torch.ops.aten.add` goes to."""
    with torch._C.DisableTorchFunction():
        try:
            name = torch._C._jit_resolve_packet(packet._qualified_op_name, *args, **kwargs)
        except Exception:  # torch itself refuses the call, and says so when it is made
            return packet
    return getattr(packet, name or "default")


def title(func: Any) -> str:
    """What to call a torch function in a message."""
    name = recorded_names().get(func) or torch.overrides.resolve_name(func) or getattr(func, "__qualname__", str(func))
    return str(name).replace("_VariableFunctionsClass.", "torch.").replace("_TensorBase.", "torch.Tensor.")


def _class(leaf: Any) -> str:
    """The class of an object as its user knows it."""
    return "bytes" if type(leaf) is TracedBytes else f"a {type(leaf).__module__}.{type(leaf).__qualname__}"
