"""Operators that run behind a check of ours, since torch or numpy checks their arguments too little.

They are graded *wrapped* in the table of `graph.operators`. Hostile calls (`tests/fuzz`) of each ended the process,
hung it, or returned memory that nothing was written to. The checks of views are in `views`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

import numpy
import torch

from ...graph.errors import GuardError
from ...graph.traverse import leaves
from . import preconditions
from .bounded import as_int
from .ragged.ragged_rows import of_packed, of_recurrent
from .views import CHECKED

FILLED = (
    "torch.empty", "torch.empty_like", "torch.empty_strided", "torch.empty_permuted", "torch.Tensor.new_empty",
    "torch.Tensor.new_empty_strided", "aten.empty.memory_format", "aten.empty_like.default",
    "aten.empty_permuted.default", "aten.empty_strided.default", "aten.new_empty.default",
    "aten.new_empty_strided.default",
)  # fmt: skip
"""Operators that return uninitialised memory, which could hold earlier data of this process."""

_BOUNDS = {
    65_536: """adaptive_max_pool2d adaptive_max_pool3d adaptive_max_pool2d_with_indices tensor_split
        adaptive_max_pool3d_with_indices fractional_max_pool2d fractional_max_pool3d""",
    2**31: "matrix_power linalg_matrix_power",
    1024: "special_multigammaln multigammaln mvlgamma mvlgamma_ svd_lowrank pca_lowrank",
    2**53: "random_ random",
    6: "combinations",
}
BOUNDED = {name: most for most, names in _BOUNDS.items() for name in names.split()}
"""The largest number as an argument of an operator whose steps it counts."""

BOUNDED_NUMPY = {
    "numpy.diff": 1000, "numpy.round": 400, "numpy.around": 400, "numpy.ndarray.round": 400, "numpy.resize": 2**26,
    "numpy.trace": 65_536, "numpy.ndarray.trace": 65_536, "numpy.linalg.matrix_power": 2**31,
    "numpy.unwrap": 2**31, "numpy.vander": 65_536, "numpy.tile": 2**26, "numpy.repeat": 2**31,
    "numpy.ndarray.repeat": 2**31,
    **dict.fromkeys(("numpy.diag", "numpy.diagonal", "numpy.ndarray.diagonal"), 2**30),
}  # fmt: skip

_WINDOWS = ("torch.nn.functional.unfold", "torch.nn.functional.fold", "aten.im2col.default", "aten.col2im.default")
_RUNNING = tuple(f"numpy.{prefix}{name}" for prefix in ("", "nan", "ndarray.") for name in ("cumsum", "cumprod"))
_PACKED = ("lstm", "gru", "rnn_tanh", "rnn_relu")
_NORMS = (
    "native_batch_norm", "_native_batch_norm_legit", "_native_batch_norm_legit_functional",
    "_native_batch_norm_legit_no_training", "_batch_norm_with_update", "_batch_norm_with_update_functional",
)  # fmt: skip


def filled(function: Callable[..., torch.Tensor]) -> Callable[..., torch.Tensor]:
    """The factory, with zeros in all of the memory that it returns."""

    def make(*args: Any, **kwargs: Any) -> torch.Tensor:
        made = function(*args, **kwargs)
        if made.device.type != "meta" and made.untyped_storage().nbytes():
            whole = made.untyped_storage().nbytes() // made.element_size()
            torch.as_strided(made.detach(), (whole,), (1,), 0).zero_()  # its strides may leave gaps, or overlap
        return made

    make.__dict__["_schema"] = getattr(function, "_schema", None)
    return make


def _is_scalar(value: Any) -> bool:
    return isinstance(value, int | numpy.generic)


def bounded(function: Callable[..., Any], most: int) -> Callable[..., Any]:
    """The operator, which refuses numbers above a limit."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        for leaf in (*filter(_is_scalar, args[:1]), *leaves((args[1:], kwargs))):  # the first may be data of one number
            number = as_int(leaf)
            if number is not None and not -most <= number <= most:
                raise GuardError("an argument is too large", got=number, expected=f"at most {most}")
        return function(*args, **kwargs)

    return call


def of_norm(function: Callable[..., Any]) -> Callable[..., Any]:
    """A batch norm that checks its statistics: torch reads past short ones, and past missing ones where it needs them.

    In training it takes those of the batch. The flag is the first truth value of every form that has one.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        tensors = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
        if tensors and tensors[0].is_cuda and not tensors[0].numel():  # torch divides by its size there
            raise GuardError("a batch norm of no elements would end the process on a CUDA card", got=tensors[0].shape)
        channels = tensors[0].size(1) if tensors and tensors[0].dim() > 1 else -1
        training = next((value for value in args if isinstance(value, bool)), kwargs.get("training")) is True
        statistics = [*args[3:5], kwargs.get("running_mean"), kwargs.get("running_var")]  # after weight and bias
        known = sum(isinstance(each, torch.Tensor) for each in statistics) == 2
        if not (known or training) or any(t.shape != (channels,) for t in tensors[1:]):
            got = [list(tensor.shape) for tensor in tensors][:6]
            raise GuardError(
                "the statistics of a batch norm do not fit its channels",
                got=got,
                expected="two or four of the channels, or none in training",
            )
        return function(*args, **kwargs)

    return call


def of_pivots(function: Callable[..., Any]) -> Callable[..., Any]:
    """`ldl_solve`, which checks its batches, and the negative pivots: those of a block of two rows are a pair.

    LAPACK takes each of them for the first row of a block: after the last row it reads, and writes, past the end. Torch
    repeats the factors for a larger batch of right sides, and not the pivots.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        factors, pivots, right = _named(args, kwargs, "LD", "pivots", "B")
        rows = _rows(pivots) if type(pivots) is torch.Tensor and pivots.dim() else []
        if not all(map(_is_paired, rows)):
            raise GuardError("the pivots are none of ldl_factor", got=rows[:4], expected="negative ones in pairs")
        sizes = factors.shape[:-2], right.shape[:-2]
        if torch.broadcast_shapes(*sizes) != sizes[0]:  # type: ignore[no-untyped-call]  # torch leaves it untyped
            got = f"{list(factors.shape)} and {list(right.shape)}"
            raise GuardError("there are more right sides than factors", got=got, expected="a batch of factors as large")
        return function(*args, **kwargs)

    return call


def of_factors(function: Callable[..., Any]) -> Callable[..., Any]:
    """`lu_unpack`, which checks the sizes of its pivots: torch writes past the end for fewer of them."""

    def call(*args: Any, **kwargs: Any) -> Any:
        factors, pivots = _named(args, kwargs, "LU_data", "LU_pivots")
        wanted = (*factors.shape[:-2], min(factors.shape[-2:], default=0))
        if tuple(pivots.shape) != wanted:
            raise GuardError("the pivots do not fit the factors", got=list(pivots.shape), expected=list(wanted))
        return function(*args, **kwargs)

    return call


def _named(args: Sequence[Any], kwargs: dict[str, Any], *names: str) -> list[torch.Tensor]:
    """The first arguments of a call, which are tensors, by position or by name."""
    found = [args[place] if place < len(args) else kwargs.get(name) for place, name in enumerate(names)]
    if not all(isinstance(each, torch.Tensor) for each in found):
        raise GuardError("not a tensor", got=", ".join(type(each).__name__ for each in found))
    return found  # type: ignore[return-value]  # just checked


def _rows(pivots: torch.Tensor) -> list[list[Any]]:
    return pivots.reshape(-1, pivots.size(-1)).tolist() if pivots.numel() else []


def _is_paired(row: list[Any]) -> bool:
    place = 0
    while place < len(row):
        if row[place] < 0 and row[place + 1 : place + 2] != [row[place]]:
            return False
        place += 1 if row[place] >= 0 else 2
    return True


def of_tensors(function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator that checks that its first two arguments are tensors: with None torch ends the process."""

    def call(first: torch.Tensor, second: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if not isinstance(first, torch.Tensor) or not isinstance(second, torch.Tensor):
            raise GuardError("not a tensor", got=f"{type(first).__name__} and {type(second).__name__}")
        return function(first, second, *args, **kwargs)

    return call


def of_running(function: Callable[..., Any]) -> Callable[..., Any]:
    """A running sum of numpy, which ends the process where `out` has no dimensions."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        given = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, numpy.ndarray)]
        if len(given) > 1 and any(array.ndim == 0 for array in given):
            raise GuardError("the result array of a running sum has no dimensions", got="an array without dimensions")
        return function(*args, **kwargs)

    return call


def of_modes(function: Callable[..., Any]) -> Callable[..., Any]:
    """A grid sampler, which checks its modes: for an unknown one torch returns memory that nothing was written to."""

    def call(*args: Any, **kwargs: Any) -> Any:
        modes = [*args[2:4], *(kwargs[key] for key in ("interpolation_mode", "padding_mode") if key in kwargs)]
        if any(mode not in (0, 1, 2) for mode in modes):
            raise GuardError("no mode of a grid sampler", got=modes, expected="0, 1 or 2")
        return function(*args, **kwargs)

    return call


def of_scales(function: Callable[..., Any]) -> Callable[..., Any]:
    """An antialiased resize, which checks that its scales give no smaller sizes: beyond those torch reads outside."""

    def call(x: Any, output_size: Any = None, align_corners: bool = False, *scales: Any, **named: Any) -> Any:
        given = [*scales, *(named[key] for key in ("scales_h", "scales_w", "scale_factors") if key in named)]
        given = [*given[0]] if len(given) == 1 and isinstance(given[0], list | tuple) else given
        if output_size is not None:
            for size, wanted, scale in zip(x.shape[2:], output_size, given, strict=False):
                if scale is not None and not (0 < scale < math.inf and math.floor(size * scale) >= wanted):
                    got = f"{size} by {scale}"
                    raise GuardError("the scale gives a smaller output", got=got, expected=f"{wanted} or more")
        return function(x, output_size, align_corners, *scales, **named)

    return call


def of_least(function: Callable[..., Any]) -> Callable[..., Any]:
    """`gcd` and `lcm`, in which the least number of a dtype ends the process."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if any(bool(_is_least(operand).any()) for operand in _operands(args, kwargs)):
            raise GuardError("the least integer has no divisors in its dtype", got="the least number of its dtype")
        return function(*args, **kwargs)

    return call


def of_truncation(function: Callable[..., Any]) -> Callable[..., Any]:
    """A division, which checks integers that are cut: the least one by -1 ends the process."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if kwargs.get("rounding_mode") == "trunc":
            match _operands(args, kwargs):
                case [first, other] if bool((_is_least(first) & (other == -1)).any()):
                    got = str(first.dtype).removeprefix("torch.")
                    raise GuardError("the least integer cannot be divided by -1", got=got)
        return function(*args, **kwargs)

    return call


def _operands(args: Sequence[Any], kwargs: dict[str, Any]) -> list[torch.Tensor]:
    """Both operands in the dtype in which torch computes: that of one may come from the other, be it a number or not.

    Nothing where there are not two, which torch refuses, and where one has no data, as in an export.
    """
    given = [*args[:2], *(kwargs[name] for name in ("input", "self", "other") if name in kwargs)]
    if len(given) != 2 or any(isinstance(each, torch.Tensor) and type(each) is not torch.Tensor for each in given):
        return []
    kind = torch.result_type(*given)
    return [torch.as_tensor(operand).to(kind) for operand in given] if kind in _SIGNED else []


_SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)


def _is_least(operand: torch.Tensor) -> torch.Tensor:
    return operand == torch.iinfo(operand.dtype).min


_KERNELS: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    "linalg_ldl_solve": of_pivots, "ldl_solve": of_pivots, "lu_unpack": of_factors,
    **dict.fromkeys(("grid_sampler", "grid_sampler_2d", "grid_sampler_3d"), of_modes),
    **dict.fromkeys(("_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa", "_upsample_lanczos2d_aa"), of_scales),
    **dict.fromkeys(("gcd", "gcd_", "lcm", "lcm_"), of_least),
}  # fmt: skip
_DIVISIONS = r"aten\.(div|divide)_?\.\w+_mode|torch\.(Tensor\.)?(div|divide)_?|torch\.Tensor\.__i?(true)?div__"


def wrapper(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """The function that adds the check to an operator; None for one without a check."""
    if name in CHECKED:
        return lambda function: CHECKED[name]
    if name in FILLED:
        return filled
    if name in _WINDOWS:
        return lambda function: bounded(function, 2**31)
    if name == "aten.copy.default":
        return of_tensors
    if "div" in name and re.fullmatch(_DIVISIONS, name):
        return of_truncation
    if name.startswith("numpy."):
        most = BOUNDED_NUMPY.get(name)
        if most is not None:
            return lambda function: bounded(function, most)
        return of_running if name in _RUNNING or name.endswith(".accumulate") else preconditions.NUMPY.get(name)
    base = name.split(".")[1] if name.startswith("aten.") else name.rpartition(".")[2]
    return _of_torch(base)


def _of_torch(base: str) -> Callable[[Callable[..., Any]], Callable[..., Any]] | None:
    """The check for an operator of torch by the last part of its name, which its variants share."""
    if base in BOUNDED:
        return lambda function: bounded(function, BOUNDED[base])
    if base in _PACKED:
        return lambda function: of_packed(of_recurrent(function))
    if base in _NORMS:
        return of_norm
    return _KERNELS.get(base) or preconditions.TORCH.get(base)
