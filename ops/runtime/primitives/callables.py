"""The callable behind each operator's name: the fastest one that reaches the same kernel."""

from __future__ import annotations

import math
import operator
import sys
from collections.abc import Callable
from functools import cache
from typing import Any

import torch

from ...graph.errors import UnknownOperatorError
from ...graph.operators.names import ARITHMETIC, CONTROL_FLOW, MARKS, MATH, WRAPPED, allowed, check_name, grade
from . import bounded
from .nesting import MAKERS, bounded_result
from .numpy import TEXTUAL, array_function, checked
from .views import strided_copy

_get_default_dtype = torch.get_default_dtype  # these a recording replaces
_DTYPES = {getattr(torch, name): name for name in ("float16", "bfloat16", "float32", "float64")}

_PYTHON: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in ARITHMETIC},
    **{name: getattr(math, name) for name in MATH},
    "size": lambda x, dim: x.size(dim),
    "stride": lambda x, dim: x.stride(dim),
    "numel": lambda x: x.numel(),
    "array_size": lambda a, axis: a.shape[axis],
    "array_rank": lambda a: a.ndim,
    "storage_offset": lambda x: x.storage_offset(),
    "ndim": lambda x: x.dim(),
    "dtype": lambda x: str(x.dtype).removeprefix("torch."),
    "contiguous": lambda x, *args, **kwargs: x.is_contiguous(*args, **kwargs),
    "is_conj": lambda x: x.is_conj(),
    "is_neg": lambda x: x.is_neg(),
    "len": len,
    "item": lambda x: x.item(),
    "float": float,
    "bool": bool,
    "min": min,
    "max": max,
    "sum": lambda *xs: sum(xs),
    "is_nonzero": bool,
    "real": operator.attrgetter("real"),
    "imag": operator.attrgetter("imag"),
    "default_dtype": lambda: _DTYPES[_get_default_dtype()],
    "autocast": torch._C._is_any_autocast_enabled,
    "requires_grad": lambda x: x.requires_grad,
    "grad_mode": torch._C._set_grad_enabled,
    "own_backward": lambda name: None,
    "deepcopy": strided_copy,
    **dict.fromkeys(MARKS, lambda *names: None),
    **bounded.FUNCTIONS,
}

_TEMPLATES = {
    "size": "{0}.size({1})", "numel": "{0}.numel()", "item": "{0}.item()", "len": "len({0})",
    "add": "({0} + {1})", "sub": "({0} - {1})", "mul": "({0} * {1})", "floordiv": "({0} // {1})",
    "mod": "({0} % {1})", "truediv": "({0} / {1})", "neg": "(-{0})", "pow": "({0} ** {1})", "getitem": "{0}[{1}]",
    "eq": "({0} == {1})", "ne": "({0} != {1})", "lt": "({0} < {1})", "le": "({0} <= {1})",
    "gt": "({0} > {1})", "ge": "({0} >= {1})",
}  # fmt: skip

# ATen names whose Python binding takes the same arguments and reaches the same kernel: calling it costs 0.8-1.8 us
# less than the overload. Methods are bindings that exist on the tensor only.
_BINDINGS = frozenset(
    """abs acos add addcmul addmm amax amin any all arange argmax argmin asin atan atan2 avg_pool1d baddbmm
    batch_norm bitwise_and bitwise_not bitwise_or bmm cat ceil clamp clamp_max clamp_min clone conv1d conv2d conv3d
    conv_transpose1d conv_transpose2d conv_transpose3d cos cosh cumsum detach div dropout embedding eq erf exp expm1
    eye flip floor floor_divide fmod gather ge group_norm gt index_select instance_norm isfinite isinf isnan layer_norm
    le log log10 log1p log2 log_softmax logical_and logical_not logical_or logical_xor logsumexp lt
    masked_fill matmul max_pool1d max_pool2d maximum mean minimum mm mul ne neg permute pow prod reciprocal relu
    relu_ remainder repeat_interleave reshape roll rsqrt rsub scatter select selu sigmoid sign sin sinh softmax sqrt
    square squeeze stack std sub sum sigmoid_ t tan tanh tanh_ topk transpose tril triu trunc unbind unsqueeze var where
    zeros_like ones_like""".split()
)
_NN = frozenset(
    """linear gelu silu elu hardtanh leaky_relu softplus hardswish hardsigmoid mish avg_pool2d avg_pool3d
    adaptive_avg_pool2d scaled_dot_product_attention pad one_hot glu log_sigmoid""".split()
)
_METHODS = frozenset(
    ["view", "contiguous", "add_", "mul_", "sub_", "div_", "copy_", "fill_", "masked_fill_", "type_as", "repeat"]
)


def resolve(name: str) -> Callable[..., Any]:
    """The callable behind a name; the fastest one that reaches the same kernel.

    Raises:
        UnknownOperatorError: the name is not allowed, or this torch has no such operator.
    """
    check_name(name)
    family, _, rest = name.partition(".")
    if family == "py" or name in CONTROL_FLOW:
        found = _PYTHON[rest] if rest in _PYTHON else _of_library(rest) or _rare()[rest or name]
        return bounded_result(found) if name in MAKERS else found
    if family in ("numpy", "scipy"):
        return _checked(name, _of_arrays(name))
    try:
        found = _aten(rest) if family == "aten" else _walk(rest)
    except (AttributeError, RuntimeError) as error:
        raise UnknownOperatorError(
            f"operator {name!r} does not exist in torch {torch.__version__}",
            fix="Load the file with the torch version that `tracepack inspect` shows, or a newer one.",
        ) from error
    return _checked(name, found)


def _of_library(name: str) -> Callable[..., Any] | None:
    """The operator that stands for a module of Python's library, which is imported for it; None for another one."""
    if name == "date":
        from .values.dates import dated

        return dated
    if name == "decimal":
        from .values.decimals import decimal_of

        return decimal_of
    if name == "plain_code":
        from .plain_code.running import plain_code

        return plain_code
    if name in ("text", "digest", "checksum"):
        from .text.library_texts import FUNCTIONS

        return FUNCTIONS[name]
    return None


@cache
def _rare() -> dict[str, Callable[..., Any]]:
    """The operators that few pipelines call: imported by those that do, for they take time."""
    from . import control_flow, random, tables
    from .text import byte_codes, texts

    def draw(source: Any, name: str, args: Any, kwargs: Any) -> Any:
        return random.drawing_from(source, resolve(name), args, kwargs)

    drawing: dict[str, Callable[..., Any]] = {
        "generator": random.generator, "seeded": random.seeded, "draw": draw,
    }  # fmt: skip
    return {**tables.FUNCTIONS, **texts.FUNCTIONS, **byte_codes.FUNCTIONS, **control_flow.FUNCTIONS, **drawing}


def _checked(name: str, function: Callable[..., Any]) -> Callable[..., Any]:
    """An operator with the check of ours that its grade asks for."""
    if grade(name) != WRAPPED:
        return function
    from .wrapped import wrapper

    wrap = wrapper(name)
    return function if wrap is None else wrap(function)


def overload(name: str) -> Callable[..., Any]:
    """The exact ATen overload of a name, also where `resolve` gives a faster binding."""
    check_name(name)
    _, base, which = name.split(".")
    found: Callable[..., Any] = getattr(getattr(torch.ops.aten, base), which)
    return found


def _aten(rest: str) -> Callable[..., Any]:
    base, which = rest.rsplit(".", 1)
    exact = getattr(getattr(torch.ops.aten, base), which)  # raises where this torch lacks the overload
    if which == "out" or which.endswith("_out") or which in ("dimname", "names"):
        pass
    elif base in _BINDINGS:
        return getattr(torch._C._VariableFunctions, base)  # type: ignore[no-any-return]  # torch leaves it untyped
    elif base in _NN and hasattr(torch._C._nn, base):
        return getattr(torch._C._nn, base)  # type: ignore[no-any-return]  # torch leaves it untyped
    elif base in _METHODS:
        return getattr(torch.Tensor, base)  # type: ignore[no-any-return]  # torch leaves it untyped
    return exact  # type: ignore[no-any-return]  # torch leaves it untyped


def _of_arrays(name: str) -> Callable[..., Any]:
    package = name.partition(".")[0]
    try:
        return checked(array_function(name), takes_text=name.removeprefix("numpy.") in TEXTUAL)
    except ImportError as error:
        raise UnknownOperatorError(f"operator {name!r} needs scipy", fix="Install it: pip install scipy.") from error
    except AttributeError as error:
        raise UnknownOperatorError(
            f"operator {name!r} does not exist in {package} {sys.modules[package].__version__}",
            fix=f"Load the file with a newer {package}.",
        ) from error


def _walk(rest: str) -> Callable[..., Any]:
    found: Any = torch
    for part in rest.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]  # torch leaves it untyped


def template(name: str) -> str | None:
    """The source of a ``py.…`` operator that is written inline, with ``{0}`` for the first argument."""
    return _TEMPLATES.get(name.removeprefix("py.")) if name.startswith("py.") else None


@cache
def recorded_names() -> dict[Any, str]:
    """The name of every torch function that may be recorded, by the function itself.

    Where a program has replaced `torch.zeros` by a function that calls it, torch's own is what a recorder meets.
    """
    table: dict[Any, str] = {}
    for name in sorted(n for n in allowed() if n.startswith("torch.")):
        rest = name.removeprefix("torch.")
        try:
            table.setdefault(_walk(rest), name)
        except AttributeError:  # this torch version has no such function
            continue
        home = torch._C.TensorBase if rest.startswith("Tensor.") else torch._C._VariableFunctions
        own = getattr(home, rest.removeprefix("Tensor."), None)
        if own is not None:
            table.setdefault(own, name)
    return table
