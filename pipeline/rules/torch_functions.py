"""Torch functions that are not plain operators: those that read sizes or metadata, those that are not recorded, and
those that are refused, each with the reason that the user reads.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Operator, SourceLine
from ...ops.runtime.primitives.views import strided_copy
from ...ops.runtime.user_code import user_line
from ..proxies.base import is_traced
from ..proxies.tracer import Tracer
from .advice.branch_forms import written_with_cond
from .assertions import all_true
from .gradients import set_grad_mode

T = torch.Tensor


@dataclass(frozen=True)
class Refusal:
    """Why a function cannot be recorded, and what to do instead."""

    what: str
    fix: str

    def fix_for(self, line: SourceLine | None) -> str:
        """What to do instead in a line: of a branch the form of both its sides."""
        form = written_with_cond(line) if self is _BRANCH else ""
        return f"Write {form}: it keeps both ways. {self.fix}" if form else self.fix


_BRANCH = Refusal(
    "a branch on a tensor cannot be recorded: only one side of it ran",
    "Use torch.where, or tracepack.cond(pred, true_fn, false_fn, *args), which records both sides; for a loop whose "
    "rounds hang on each other tracepack.while_loop, as docs/guide.md does for boxes.",
)
_NUMBER = Refusal(
    "a tensor's value cannot leave the graph as a plain number",
    "Use .item(), whose result stays in the graph; float(), int() and bool() do so too, in the traced function itself.",
)
_LIST = Refusal(
    "a tensor cannot leave the graph as a list", "Use .numpy() for an array, or torch functions instead of Python's."
)
_ARRAY = Refusal(
    "a tensor is read as an array in a way that cannot be recorded",
    "Call .numpy() on it first, and numpy's functions by their full names, such as numpy.asarray.",
)
_TEXT = Refusal(
    "a tensor's values cannot leave the graph as text", "Print it with print(), or name things by sizes instead."
)
_MEMORY = Refusal(
    "{function}: a tensor's memory cannot be reached in a recording", "Use an operator that makes a new tensor."
)
_GRAD = Refusal("{function}: gradients cannot be recorded", "Pack the inference function; train before packing.")
DEVICE = Refusal(
    "{function}: a move to a fixed device cannot be recorded: the device is chosen at load",
    "Script the op for that device instead.",
)
TRANSFORMS = Refusal(
    "torch.vmap and the other transforms of torch.func cannot be recorded",
    "Write the batch out with dimensions, or script the function that uses them.",
)

_REFUSED: dict[str, Refusal] = {
    **dict.fromkeys(("__bool__", "is_nonzero", "__contains__"), _BRANCH),
    **dict.fromkeys(("__int__", "__float__", "__complex__"), _NUMBER),
    **dict.fromkeys(("__reversed__",), _LIST),
    **dict.fromkeys(("__array__", "__array_wrap__", "__dlpack__"), _ARRAY),
    **dict.fromkeys(
        ("data_ptr", "const_data_ptr", "storage", "untyped_storage", "set_", "resize_", "resize_as_", "resize",
         "resize_as", "share_memory_", "pin_memory", "apply_", "map_", "map2_",
         "module_load", "is_shared", "record_stream", "_typed_storage", "type_"),
        _MEMORY,
    ),
    **dict.fromkeys(("backward", "register_hook", "requires_grad_", "retain_grad"), _GRAD),
    **dict.fromkeys(("cuda", "xpu", "ipu", "mtia"), DEVICE),
}  # fmt: skip


def _by_function() -> dict[Any, Refusal]:
    return {getattr(T, name): why for name, why in _REFUSED.items() if hasattr(T, name)}


_TABLE = _by_function()
_TABLE.update(dict.fromkeys((T.__repr__, T.__format__), _TEXT))
CONVERTED = Refusal(
    "a model is moved or converted in the function, which changes its weights",
    "Make an op of it before the function, as it is to be: op = tracepack.script(model.half()), or "
    "tracepack.script(model, device=0), which moves its inputs itself.",
)
_TABLE.update({torch.autograd.grad: _GRAD, torch.is_nonzero: _BRANCH})
_TABLE.update(dict.fromkeys((torch._has_compatible_shallow_copy_type, torch._C._nn._parse_to), CONVERTED))


def refusal(func: Callable[..., Any]) -> Refusal | None:
    """Why a function is refused, or None."""
    return _TABLE.get(func)


def _getters(*names: str) -> list[Any]:
    """The getters of those attributes that this torch has."""
    return [getattr(T, name).__get__ for name in names if hasattr(T, name)]


def _methods(*names: str) -> list[Any]:
    found = [getattr(T, name) for name in names if hasattr(T, name)]
    return found + [getattr(torch, name) for name in names if hasattr(torch, name)]


# The types of the inputs alone decide these, so they need no guard.
_FIXED = [
    *_getters("device", "layout", "requires_grad", "is_leaf", "is_cuda", "is_cpu", "is_meta", "is_sparse",
              "is_quantized", "is_nested", "is_mps", "is_xpu", "is_mkldnn", "is_xla", "grad_fn", "grad",
              "is_sparse_csr", "_version"),
    *_methods("result_type", "can_cast", "promote_types"),
    *_methods("is_inference", "is_pinned", "get_device"),
]  # fmt: skip
METADATA: dict[Any, str | None] = {
    **dict.fromkeys(_FIXED),
    **dict.fromkeys(_getters("ndim"), "ndim"),
    **dict.fromkeys((T.dim, T.ndimension), "ndim"),
    **dict.fromkeys([*_getters("dtype", "itemsize"), T.element_size], "dtype"),
    **dict.fromkeys(_methods("is_floating_point", "is_complex", "is_signed"), "dtype"),
    T.is_contiguous: "contiguous",
    **dict.fromkeys(_methods("is_conj"), "is_conj"),
    **dict.fromkeys(_methods("is_neg"), "is_neg"),
}
"""A function that reads metadata -> the ``py.…`` operator of its guard, where sizes could decide the answer."""


def _profiled(*names: str) -> Iterator[Any]:
    """What a span of torch's profiler calls at its begin and its end: a span is no part of what a function computes."""
    for name in names:
        packet = getattr(torch.ops.profiler, name)
        yield packet
        yield from (getattr(packet, overload) for overload in packet.overloads())


# Functions that run unrecorded, since they compute nothing that a graph needs.
IGNORED: set[Any] = {
    T.__hash__, T.__dir__, torch.device,
    *_profiled("_record_function_enter", "_record_function_enter_new", "_record_function_exit"),
}  # fmt: skip

TEXTS: set[Any] = {T.__repr__, T.__format__, T.__float__, T.__int__, T.__bool__, T.item, T.tolist}
"""Functions that turn a tensor into text, which only `print` and logging may do, and those that a format calls."""


Reader = Callable[..., Any]


def _of_recorded(reader: Reader) -> Reader:
    """Records the reading of a tensor of the recording; reads a captured tensor, which never changes, unrecorded."""

    def read(recorder: Tracer, func: Reader, tensor: Any, *args: Any, **kwargs: Any) -> Any:
        if tensor not in recorder.values:
            return func(tensor, *args, **kwargs)
        return reader(recorder, tensor, *args, **kwargs)

    return read


def _shape(recorder: Tracer, tensor: Any) -> Any:
    return torch.Size([_size(recorder, tensor, dim) for dim in range(recorder.rank(tensor))])


def _size(recorder: Tracer, tensor: Any, dim: Any = None) -> Any:
    return _shape(recorder, tensor) if dim is None else recorder.scalar("size", tensor, dim)


def _stride(recorder: Tracer, tensor: Any, dim: Any = None) -> Any:
    if dim is None:
        return tuple(recorder.scalar("stride", tensor, d) for d in range(recorder.rank(tensor)))
    return recorder.scalar("stride", tensor, dim)


def _length(recorder: Tracer, tensor: Any) -> int:
    found: int = recorder.pin(recorder.scalar("size", tensor, 0), "len() read the first size of a tensor")
    return found


def _read(name: str) -> Reader:
    return lambda recorder, tensor: recorder.scalar(name, tensor)


def _copy(recorder: Tracer, tensor: Any, memo: Any) -> Any:
    """`copy.deepcopy`, which keeps the strides."""
    with torch._C.DisableTorchFunction():
        return memo.setdefault(id(tensor), recorder.apply(Operator("py.deepcopy"), strided_copy, (tensor,), {}))


def _index(_: Any, tensor: Any) -> Any:
    """`__index__`, which torch's argument parser calls on each tensor of a list that could be a list of numbers."""
    if tensor.dtype.is_floating_point or tensor.dtype.is_complex:
        return T.__index__(tensor)  # raises the TypeError that tells the parser that it is no number
    raise RecordError(_NUMBER.what, where=str(user_line() or ""), fix=_NUMBER.fix)


def _symbolic(name: str) -> Reader:
    """A conversion of a size by torch, such as `torch.sym_int`; a plain number gives a plain number."""

    def convert(recorder: Tracer, func: Reader, number: Any) -> Any:
        if isinstance(number, T):
            return recorder.direct(func, number)
        return recorder.scalar(name, number) if is_traced(number) else func(number)

    return convert


_READERS: dict[Any, Reader] = {
    **dict.fromkeys(_getters("shape"), _shape),
    T.size: _size,
    T.stride: _stride,
    T.__len__: _length,
    **dict.fromkeys((T.numel, T.nelement, torch.numel), _read("numel")),
    T.storage_offset: _read("storage_offset"),
    T.__deepcopy__: _copy,
    T.__index__: _index,
    torch._is_all_true: all_true,
}
SIZES: dict[Any, Reader] = {function: _of_recorded(reader) for function, reader in _READERS.items()}
SIZES[torch._C._set_grad_enabled] = set_grad_mode
SIZES[T.item] = lambda recorder, func, tensor: recorder.scalar(
    "item", tensor
)  # of a captured tensor too: a weight may change


def _to_list(recorder: Tracer, func: Reader, tensor: Any) -> Any:
    found = recorder.scalar("tolist", tensor)
    if recorder.rank(tensor):
        found.sized_by = lambda: recorder.scalar("size", tensor, 0)
    return found


SIZES[T.tolist] = _to_list
SIZES.update({torch.sym_float: _symbolic("float"), torch.sym_int: _symbolic("int"), torch.sym_not: _symbolic("not_")})
"""Functions that read a size or a number off a tensor -> how the recorder makes a stand-in of it."""
