"""Reads rank, dtype and layout of tensors and arrays, with a guard where sizes can decide them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Guard, Node, Operator, Value
from ...ops.graph.types import SCALARS
from ...ops.runtime.primitives.callables import resolve
from ...ops.runtime.user_code import is_asked_by_user, is_unpacked, user_line
from ..proxies.base import is_traced
from ..proxies.lists import READ, TracedList
from ..proxies.tracer import NodeWriter, Tracer
from .torch_functions import METADATA

ROWS = "the function goes through rows whose number data decides"
"""Why a recording of plain code holds for one number of them; one of other code may go through any number."""

_T: Any = torch.Tensor
_OF_GRADIENTS = [getattr(_T, name).__get__ for name in ("requires_grad", "is_leaf", "grad_fn", "grad")]
_OF_HISTORY = {
    _T._version.__get__: "the version of a tensor",
    _T.is_inference: "whether a tensor was made for inference",
}


def read_metadata(recorder: NodeWriter, func: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Reads rank, dtype or device of a tensor; rank and dtype can depend on sizes, so they are guarded."""
    with recorder.within():
        found = func(*args, **kwargs)
    if func is torch.result_type and default_decides(found, (*args, *kwargs.values())):
        recorder.pin_setting("default_dtype")
    tensor, options = (args[0], args[1:]) if args else (None, ())
    value = recorder.values.of(tensor)
    check = METADATA[func]
    if value is not None and check is None and is_asked_by_user():
        check = "requires_grad" if func in _OF_GRADIENTS else None
        if func in _OF_HISTORY:
            what = f"the function asks for {_OF_HISTORY[func]}, which no graph holds"
            raise RecordError(what, where=str(user_line() or ""), fix="Decide on sizes, dtypes or an input.")
    if value is None or check is None:
        return found
    if check != "contiguous":
        options, kwargs = (), {}
    varies = recorder.values.varies(tensor) or check in (
        "is_conj",
        "is_neg",
        "requires_grad",
    )  # these are not part of the signature of a run
    _guarded(recorder, check, (tensor, *options), kwargs, varies, f"the function asked for the {check} of a tensor")
    return found


def default_decides(found: torch.dtype, things: Sequence[Any]) -> bool:
    """Whether a dtype that is common to tensors and numbers is torch's default one because of a number."""
    tensors = [thing for thing in things if isinstance(thing, torch.Tensor)]
    return (found.is_floating_point or found.is_complex) and not any(
        tensor.is_floating_point() or tensor.is_complex() for tensor in tensors
    )


def rank(recorder: NodeWriter, tensor: torch.Tensor) -> int:
    """The rank of a tensor of the recording, guarded where sizes may decide it."""
    value = id(recorder.values.of(tensor))
    if value in recorder.values.loose:
        recorder.values.loose.discard(value)
        read_metadata(recorder, torch.Tensor.dim, (tensor,), {})
    with torch._C.DisableTorchFunction():
        return int(tensor.dim())


def array_rank(recorder: NodeWriter, array: Any) -> int:
    """The rank of a numpy array of the recording, guarded: numpy, too, drops dimensions of size 1."""
    if id(array.value) in recorder.values.loose:
        recorder.values.loose.discard(id(array.value))
        _guarded(recorder, "array_rank", (array,), {}, array.varies, "the function asked for the rank of an array")
    return int(array.concrete.ndim)


def _guarded(
    recorder: NodeWriter, check: str, args: tuple[Any, ...], kwargs: dict[str, Any], varies: bool, reason: str
) -> None:
    """Records the reading of a plain value, and the guard that it stays the same."""
    with torch._C.DisableTorchFunction(), recorder.within():
        expected = resolve(f"py.{check}")(*recorder.concrete(args), **kwargs)
    read, line = Value(SCALARS[type(expected)]), user_line()
    arguments = recorder.arguments(args)
    recorder.nodes.append(Node(Operator(f"py.{check}"), arguments, recorder.arguments(kwargs), read, line, varies))
    recorder.nodes.append(Node(Guard(expected, reason), (read,), {}, None, line))


def pin_rows(recorder: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Fixes the number of rows that a function goes through one by one, also where data decides it.

    Code that unpacks them fails for another number in Python, too.

    Args:
        recorder: the one that knows the tensor.
        args: of `torch.unbind`.
        kwargs: its keyword arguments.
    """
    tensor, dim = (*args, kwargs.get("input"))[0], (*args[1:], kwargs.get("dim", 0))[0]
    if not isinstance(tensor, torch.Tensor) or tensor not in recorder.values:
        return
    with torch._C.DisableTorchFunction():
        rank = tensor.dim()
    if not isinstance(dim, int) or dim not in range(-rank, rank):
        return
    _fix_number(
        recorder,
        recorder.scalar("size", tensor, dim % rank),
        "the function goes through the rows of a tensor one by one",
    )


def pin_pieces(recorder: Tracer, sizes: Any) -> None:
    """Fixes the number of pieces of a tensor where a list of run time says how large each is."""
    if type(sizes) is TracedList:
        _fix_number(recorder, sizes.length(), READ)


def pin_results(recorder: Tracer, args: Any, kwargs: dict[str, Any], found: Any) -> None:
    """Fixes the lengths of lists of tensors where a function of torch gives as many results, as `torch.atleast_2d`.

    Args:
        recorder: the one that knows the lists.
        args: of the function.
        kwargs: its keyword arguments.
        found: what it gave.
    """
    if type(found) not in (tuple, list):
        return
    for each in pytree.tree_leaves((args, kwargs), is_leaf=is_traced):
        if type(each) is TracedList and any(isinstance(item, _T) for item in each.concrete):
            _fix_number(recorder, each.length(), READ)


def guard_results(found: Any) -> None:
    """Lets code have the lists that an operator gives with their lengths on the example, where it cannot be free."""
    for each in found if type(found) is tuple else (found,):
        if type(each) is TracedList:
            each.guarded = True


def _fix_number(recorder: Tracer, number: Any, why: str) -> None:
    if not number.varies:
        recorder.pin(number, why)
        return
    unpacks = is_unpacked()
    recorder.plainly_used = recorder.plainly_used or ("" if unpacks else ROWS)
    reason = f"the function unpacks it into {number.concrete} values" if unpacks else ROWS
    recorder.nodes.append(Node(Guard(number.concrete, reason), (number.value,), {}, None, user_line()))
