"""What a block of plain Python may do with tensors: which methods and functions of torch, and which writes.

They give the same for the same tensors in each run, open no memory but that of their tensors, and write nothing; a
block writes to tensors that it has made itself.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from types import FunctionType
from typing import Any

import numpy as np
import torch

from ..wrapped import wrapper
from .one_run.block_refusals import refuse, within

_POINTWISE = (
    "abs", "acos", "asin", "atan", "atan2", "ceil", "clamp", "clamp_max", "clamp_min", "clip", "cos", "cosh", "deg2rad",
    "exp", "expm1", "floor", "fmod", "frac", "isfinite", "isinf", "isnan", "lerp", "log", "log10", "log1p", "log2",
    "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum", "nan_to_num", "neg", "rad2deg",
    "reciprocal", "relu", "remainder", "round", "rsqrt", "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan",
    "tanh", "trunc", "floor_divide", "hypot", "erf", "logit", "add", "sub", "mul", "div", "pow", "eq", "ne", "lt", "le",
    "gt", "ge",
)  # fmt: skip
_REDUCING = (
    "all", "allclose", "amax", "amin", "aminmax", "any", "argmax", "argmin", "argsort", "bincount", "count_nonzero",
    "cummax", "cummin", "cumprod", "cumsum", "diff", "equal", "histc", "isclose", "kthvalue", "logcumsumexp",
    "logsumexp", "max", "mean", "median", "min", "mode", "nanmean", "nanmedian", "nansum", "nanquantile", "norm",
    "prod", "quantile", "softmax", "log_softmax", "sort", "std", "sum", "topk", "trace", "unique",
    "unique_consecutive", "var",
)  # fmt: skip
_SHAPING = (
    "bmm", "chunk", "clone", "diag", "diagonal", "dot", "expand", "expand_as", "flatten", "flip", "gather",
    "index_select", "masked_fill", "masked_select", "matmul", "mm", "movedim", "mv", "narrow", "nonzero", "outer",
    "permute", "ravel", "repeat_interleave", "reshape", "roll", "scatter", "scatter_add", "select", "split", "squeeze",
    "swapaxes", "t", "take_along_dim", "tile", "transpose", "tril", "triu", "unbind", "unflatten", "unsqueeze", "where",
    "index_add", "index_copy", "index_fill", "searchsorted", "bucketize", "cross", "isin",
)  # fmt: skip
_OF_METHODS = (
    "bool", "contiguous", "cpu", "detach", "dim", "double", "float", "int", "item", "long", "ndimension", "nelement",
    "numel", "repeat", "size", "tolist", "to", "type_as", "unfold", "view", "view_as", "is_floating_point", "new_zeros",
    "new_ones", "new_full", "new_tensor", "half", "bfloat16", "short", "char", "byte", "numpy",
)  # fmt: skip
_MAKING = (
    "arange", "as_tensor", "cat", "cdist", "cov", "concat", "einsum", "eye", "full", "full_like",
    "hstack", "linspace", "meshgrid", "numel", "ones", "ones_like", "stack", "tensor", "vstack", "zeros", "zeros_like",
    "cartesian_prod", "combinations", "corrcoef", "is_tensor",
)  # fmt: skip
_FUNCTIONAL = (
    "normalize", "softmax", "log_softmax", "relu", "gelu", "silu", "sigmoid", "one_hot", "cosine_similarity", "pad",
    "softplus", "leaky_relu", "elu", "tanh", "pairwise_distance", "interpolate", "linear",
    "layer_norm", "hardtanh",
)  # fmt: skip
_LINALG = ("norm", "vector_norm", "solve", "inv", "det", "pinv", "matrix_norm")
DTYPES = (
    "float16", "float32", "float64", "bfloat16", "int8", "int16", "int32", "int64", "uint8", "bool", "half", "float",
    "double", "int", "long", "short", "complex64", "complex128",
)  # fmt: skip
_NAMED = (
    "dim", "keepdim", "dtype", "descending", "stable", "largest", "sorted", "p", "min", "max", "correction", "unbiased",
    "dims", "right", "minlength", "weights", "bins", "return_inverse", "return_counts", "diagonal", "offset",
    "as_tuple", "fill_value", "size", "steps", "start", "end", "step", "input", "other", "index", "src", "value",
    "indexing", "rounding_mode", "eps", "atol", "rtol", "equal_nan", "shifts", "repeats", "mode", "pad", "q", "k",
    "tensors", "split_size_or_sections", "chunks", "shape", "axis", "nan", "posinf", "neginf", "dim0", "dim1", "ord",
    "num_classes", "approximate", "align_corners", "scale_factor", "x1", "x2",
    "mask", "n", "m", "prepend", "append", "condition", "alpha", "beta", "interpolation", "normalized_shape", "weight",
    "bias", "negative_slope", "output_size", "return_indices", "non_blocking", "copy", "tensor", "obj",
    "min_val", "max_val", "compute_mode", "sizes", "split_size", "decimals",
)  # fmt: skip
"""Arguments by their names: all but those that write, draw, or choose where memory is."""

MODULES: Mapping[str, str] = {
    "torch": "torch", "torch_functional": "torch.nn.functional", "torch_linalg": "torch.linalg",
}  # fmt: skip
"""The modules of torch, by the names that they have in a block."""
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "torch": tuple(dict.fromkeys(
        name for name in (*_POINTWISE, *_REDUCING, *_SHAPING, *_MAKING, *DTYPES, "norm")
        if hasattr(torch, name) and name not in ("expand", "expand_as")
    )),
    "torch_functional": _FUNCTIONAL,
    "torch_linalg": _LINALG,
}  # fmt: skip
"""Functions of torch that a block may call, and dtypes."""
PARTS = ("values", "indices")
"""What one may ask a result of several tensors for, as that of ``x.max(0)``."""
PROPERTIES = ("shape", "ndim", "dtype", "T", "mT", "real", "imag")
METHODS = tuple(
    name for name in dict.fromkeys((*_POINTWISE, *_REDUCING, *_SHAPING, *_OF_METHODS)) if hasattr(torch.Tensor, name)
)
"""Methods of tensors that write nothing."""
WRITING = (
    "add_", "sub_", "mul_", "div_", "clamp_", "clamp_min_", "clamp_max_", "fill_", "zero_", "copy_", "masked_fill_",
    "index_add_", "index_copy_", "index_fill_", "scatter_", "scatter_add_", "neg_", "abs_", "exp_", "sqrt_", "relu_",
    "sigmoid_", "tanh_", "round_", "floor_", "ceil_", "pow_", "logical_and_", "logical_or_", "logical_not_",
    "masked_scatter_", "fill_diagonal_",
)  # fmt: skip
"""Methods of tensors that write them."""


def imported(name: str, *rest: Any) -> Any:
    """What torch itself imports in a call that comes from a block, which has no import and no name for this.

    Raises:
        ImportError: it is no part of torch or numpy.
    """
    if name.partition(".")[0] not in ("torch", "numpy"):
        raise ImportError(f"a block of plain Python imports {name}")
    return __import__(name, *rest)


def memory_of(thing: Any) -> int:
    """What tells the memory of a tensor from that of others."""
    return int(thing.untyped_storage()._cdata)


def tensors_in(thing: Any) -> Iterator[torch.Tensor]:
    """The tensors in lists, tuples and dicts."""
    return parts_in(thing, torch.Tensor)


def parts_in(thing: Any, kind: type) -> Iterator[Any]:
    """What is of a class in lists, tuples and dicts."""
    waiting = [thing]
    while waiting:
        each = waiting.pop()
        if isinstance(each, kind):
            yield each
        elif isinstance(each, list | tuple):
            waiting += each
        elif isinstance(each, dict):
            waiting += each.values()


def own_tensor(tensor: torch.Tensor, others: Collection[int]) -> torch.Tensor:
    """A tensor that is about to be written.

    Args:
        tensor: the tensor.
        others: the memory of tensors that the block must not write: what it was given.

    Raises:
        RefusedError: it is one of them.
    """
    if memory_of(tensor) in others:
        refuse("a block of plain Python writes to a tensor that is not its own", fix="Write to a copy: x.clone().")
    return tensor


def attribute(tensor: torch.Tensor, name: str, others: Collection[int]) -> Any:
    """A method or a property of a tensor.

    Raises:
        RefusedError: a block may not have it.
    """
    if name in PROPERTIES:
        return getattr(tensor, name)
    if name in WRITING:
        return _method(own_tensor(tensor, others), name)
    if name == "to":
        return _to(tensor)
    if name not in METHODS:
        if not hasattr(tensor, name):
            raise AttributeError(f"'Tensor' object has no attribute {name!r}")
        refuse(f"a block of plain Python asks a tensor for {name!r}", expected="a method of its list")
    return _method(tensor, name)


def _method(tensor: torch.Tensor, name: str) -> Callable[..., Any]:
    wrap = wrapper(f"torch.Tensor.{name}")
    return checked(getattr(tensor, name) if wrap is None else partial(wrap(getattr(torch.Tensor, name)), tensor))


def _to(tensor: torch.Tensor) -> Callable[..., Any]:
    def to(*args: Any, **named: Any) -> Any:
        if any(not isinstance(each, torch.dtype | torch.Tensor | bool) for each in args):
            refuse("a block of plain Python moves a tensor to a device")
        return checked(tensor.to)(*args, **named)

    return to


def checked(function: Callable[..., Any], wrapped: Callable[..., Any] | None = None) -> Callable[..., Any]:
    """A function of torch that takes no argument by which it writes, draws, or chooses a device."""
    places = _places(function) if isinstance(function, FunctionType) else ()

    def call(*args: Any, **named: Any) -> Any:
        if unknown := [name for name in (*places[: len(args)], *named) if name not in _NAMED]:
            refuse("torch is called with more than a block may use", got=f"{unknown[0]}=")
        if any(isinstance(each, torch.Generator | torch.device) for each in args):
            refuse("torch is called with a generator or a device, which a block may not use")
        if any(isinstance(each, np.ndarray) for each in (*args, *named.values())) and function is not torch.tensor:
            refuse("torch is called with an array, whose memory it may share", fix="Write torch.tensor(x).")
        return within(partial(wrapped or function, **named), *args)

    return call


def _places(function: FunctionType) -> tuple[str, ...]:
    """The names of the arguments that a function of Python takes by their places: one of C takes no ``out`` there."""
    code = function.__code__
    return code.co_varnames[: code.co_argcount]


def function(module: str, name: str) -> Any:
    """A function or a dtype of torch."""
    found = getattr(importlib.import_module(MODULES[module]), name)
    if isinstance(found, torch.dtype):
        return found
    wrap = wrapper(f"{MODULES[module]}.{name}")
    return checked(found, None if wrap is None else wrap(found))


def is_of_block(thing: Any) -> bool:
    """Whether a block may give a tensor: one that is dense and has its class alone."""
    return type(thing) is torch.Tensor and thing.layout is torch.strided


def place_of(index: Any) -> Any:
    """The place of an item in the list of a tensor's numbers; a tensor takes True for another dimension."""
    if isinstance(index, bool):
        refuse("an item of a tensor is asked for by True or False", fix="Write x[int(flag)].")
    return index


def kind_of(tensor: torch.Tensor) -> list[Any]:
    """The kind of a result that is a tensor, as `running.misfit` takes it."""
    return ["tensor", str(tensor.dtype).removeprefix("torch."), tensor.dim()]


MOST_RANK = 64
"""The dimensions of a tensor at most."""


def is_kind(parts: list[Any]) -> bool:
    """Whether it is what `kind_of` gives."""
    match parts:
        case ["tensor", str(dtype), int(rank)]:
            return dtype in DTYPES and 0 <= rank <= MOST_RANK
    return False


def device_of(tensors: Collection[torch.Tensor]) -> torch.device | None:
    """Where a block makes its tensors: where those are that it was given; None for the CPU."""
    return next((each.device for each in tensors if each.device.type != "cpu"), None)
