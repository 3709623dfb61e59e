"""Checks of sizes and values that precede operators which torch or numpy run on what does not fit.

Without them some end the process, others return memory that nothing was written to. `wrapped` puts them
before the calls.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from ...graph.errors import GuardError
from ...graph.traverse import leaves
from .ragged.ragged_rows import of_bags, of_padded


def of_weight_norm(function: Callable[..., Any]) -> Callable[..., Any]:
    """`weight_norm`, which checks the size of the magnitudes: torch reads past too few, and divides by no rows."""

    def call(v: Any, g: Any, dim: int = 0) -> Any:
        sizes = [1] * v.dim()
        if 0 <= dim < v.dim():
            sizes[dim] = v.size(dim)
        fits = dim in (0, v.dim() - 1) and list(g.shape) == sizes and v.numel() > 0
        if not fits or g.dtype is not v.dtype or not v.is_floating_point():
            got = f"{list(v.shape)} and {list(g.shape)}, dim {dim}"
            raise GuardError("the magnitudes do not fit the weight", got=got, expected=str(sizes))
        return function(v, g.contiguous(), dim)

    return call


def of_groups(function: Callable[..., Any]) -> Callable[..., Any]:
    """`native_group_norm`, which checks that the sizes that it is told are those of its input."""

    def call(*args: Any, **kwargs: Any) -> Any:
        names = ("input", "weight", "bias", "N", "C", "HxW", "group", "eps")
        given: dict[str, Any] = dict(zip(names, args, strict=False)) | kwargs
        x = given.get("input")
        sizes: list[Any] = [given.get(key) for key in ("N", "C", "HxW", "group")]
        whole = all(isinstance(size, int | torch.SymInt) and size > 0 for size in sizes)
        n, c, rest, group = sizes if whole else (0, 0, 0, 1)
        if not isinstance(x, torch.Tensor) or not whole or n * c * rest != x.numel() or c % group:
            raise GuardError("the sizes of a group norm are not its input's", got=sizes, expected="N, C, HxW and group")
        if any(t.shape != (c,) for t in (given.get("weight"), given.get("bias")) if isinstance(t, torch.Tensor)):
            raise GuardError("the weights of a group norm do not fit its channels", expected=[c])
        return function(*args, **kwargs)

    return call


def of_finite(function: Callable[..., Any]) -> Callable[..., Any]:
    """Eigenvalues, which checks that the matrix is finite: LAPACK ends the process at NaN."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for given in leaves((args, kwargs)):
            if isinstance(given, torch.Tensor) and not bool(torch.isfinite(given).all()):
                raise GuardError("a matrix of NaN or infinities has no eigenvalues")
        return function(*args, **kwargs)

    return call


def of_finite_arrays(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of numpy's over singular values, which checks that they are of numbers: LAPACK may search for ever."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if not all(map(_is_finite, leaves((args[:1], kwargs.get("a"), kwargs.get("x"))))):
            raise GuardError("a matrix of NaN or infinities has no singular values")
        return function(*args, **kwargs)

    return call


def of_matrix_norm(function: Callable[..., Any]) -> Callable[..., Any]:
    """`numpy.linalg.norm`, which takes singular values for some orders of matrices."""
    checked = of_finite_arrays(function)

    def call(*args: Any, **kwargs: Any) -> Any:
        order = args[1] if len(args) > 1 else kwargs.get("ord")
        axis = args[2] if len(args) > 2 else kwargs.get("axis")
        given: Any = args[0] if args else kwargs.get("x")
        whole = axis is None and numpy.ndim(given) != 2
        plain = order is None or order in (1, -1, "fro") or whole or isinstance(axis, int)
        return (function if plain else checked)(*args, **kwargs)

    return call


def _is_finite(given: Any) -> bool:
    if isinstance(given, torch.Tensor):
        return bool(torch.isfinite(given).all())
    inexact = isinstance(given, numpy.ndarray | numpy.generic) and given.dtype.kind in "fc"
    return bool(numpy.isfinite(given).all()) if inexact or isinstance(given, float | complex) else True


def of_something(function: Callable[..., Any]) -> Callable[..., Any]:
    """A Fourier transform of numpy that ends in real numbers: of nothing it returns memory that nobody wrote."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given: Sequence[Any] = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, numpy.ndarray)]
        if any(array.size == 0 for array in given):
            raise GuardError("a Fourier transform of nothing", got=list(given[0].shape), expected="some numbers")
        return function(*args, **kwargs)

    return call


def of_numbers(function: Callable[..., Any]) -> Callable[..., Any]:
    """A polynomial, which checks that its arguments are numbers: for NaN torch returns what nobody wrote.

    It also checks the degree, which counts the steps of each element.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        degree = args[1] if len(args) > 1 else kwargs.get("n")
        if type(degree) is torch.Tensor:
            degree = degree.max().item() if degree.numel() else 0
        if isinstance(degree, int | float) and degree > _LARGEST_DEGREE:
            raise GuardError(
                "the degree of a polynomial is too large", got=degree, expected=f"at most {_LARGEST_DEGREE}"
            )
        if any(map(_has_nan, (*args, *kwargs.values()))):
            raise GuardError("a polynomial of NaN", expected="numbers")
        return function(*args, **kwargs)

    return call


_LARGEST_DEGREE = 1024


def _has_nan(given: Any) -> bool:
    if type(given) is torch.Tensor:  # others have no data, as in an export
        return bool(torch.isnan(given).any())
    return isinstance(given, float) and math.isnan(given)


def of_batches(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function of matrices that checks how many without elements there are: LAPACK is called for each of them."""

    def call(*args: Any, **kwargs: Any) -> Any:
        for given in leaves((args, kwargs)):
            empty = type(given) is torch.Tensor and given.numel() == 0
            if empty and math.prod(size or 1 for size in given.shape) > _MOST_EMPTY:
                got, most = list(given.shape), f"{_MOST_EMPTY} at most"
                raise GuardError("there are too many empty matrices", got=got, expected=most)
        return function(*args, **kwargs)

    return call


_MOST_EMPTY = 1 << 24


def of_rows(function: Callable[..., Any]) -> Callable[..., Any]:
    """`median`, which gets its elements one after another: of one that is shown many times torch reads what follows."""

    def row(given: Any) -> Any:
        return given.contiguous() if type(given) is torch.Tensor else given

    def call(*args: Any, **kwargs: Any) -> Any:
        return function(*map(row, args), **{key: row(given) for key, given in kwargs.items()})

    return call


def of_counts(function: Callable[..., Any]) -> Callable[..., Any]:
    """`binomial`, which checks its counts: torch draws without end for one that is infinite or NaN."""

    def call(count: Any, *args: Any, **kwargs: Any) -> Any:
        if type(count) is torch.Tensor and not bool(torch.isfinite(count).all()):
            raise GuardError("a binomial draw of no number of trials", got="infinite or NaN", expected="finite counts")
        return function(count, *args, **kwargs)

    return call


def of_pairs(function: Callable[..., Any]) -> Callable[..., Any]:
    """The distances of all pairs of rows, which checks that there are rows: torch divides by a missing size."""

    def call(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.dim() != 2:
            raise GuardError("the pairs of what has no rows", got=list(x.shape), expected="two dimensions")
        return function(x, *args, **kwargs)

    return call


def of_labels(function: Callable[..., Any]) -> Callable[..., Any]:
    """A loss over labels, which checks that there are some: of nothing torch returns memory that nobody wrote."""

    def call(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, torch.Tensor) and x.numel() == 0:
            raise GuardError("a loss of nothing", got=list(x.shape), expected="some numbers")
        return function(x, *args, **kwargs)

    return call


def of_observations(function: Callable[..., Any]) -> Callable[..., Any]:
    """`cov`, which takes a copy of a single observation: with weights torch subtracts the mean from it in place."""

    def call(x: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(x, torch.Tensor) and (x.dim() == 0 or x.shape[-1] == 1):
            x = x.clone()
        return function(x, *args, **kwargs)

    return call


def of_heads(function: Callable[..., Any]) -> Callable[..., Any]:
    """Attention that checks its keys and values: torch divides by their heads, and reads a key for each value."""

    def call(*args: Any, **kwargs: Any) -> Any:
        names = ("key", "value")
        given = [args[at] if len(args) > at else kwargs.get(name) for at, name in enumerate(names, 1)]
        sizes = [each.shape for each in given if isinstance(each, torch.Tensor) and each.dim() > 1]
        if any(shape[-2] != sizes[0][-2] for shape in sizes):
            raise GuardError("attention to other keys than values", got=[*map(list, sizes)], expected="as many of both")
        if kwargs.get("enable_gqa", False) and any(len(shape) > 2 and shape[-3] == 0 for shape in sizes):
            raise GuardError("attention in groups of no heads", got=[*map(list, sizes)])
        return function(*args, **kwargs)

    return call


_POLYNOMIALS = (
    *(f"chebyshev_polynomial_{kind}" for kind in "tuvw"), *(f"shifted_chebyshev_polynomial_{kind}" for kind in "uvw"),
    "hermite_polynomial_h", "hermite_polynomial_he",
)  # fmt: skip

TORCH: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(("_weight_norm", "_weight_norm_interface"), of_weight_norm),
    **dict.fromkeys(("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"), of_bags),
    **dict.fromkeys(("linalg_eigvals", "eigvals"), of_finite),
    **dict.fromkeys(("qr", "linalg_qr", "geqrf", "triangular_solve"), of_batches),
    **dict.fromkeys(("median", "nanmedian"), of_rows),
    "native_group_norm": of_groups,
    "binomial": of_counts,
    "cov": of_observations,
    "_pdist_forward": of_pairs,
    "_pad_packed_sequence": of_padded,
    **dict.fromkeys(("multilabel_margin_loss", "multilabel_margin_loss_forward"), of_labels),
    **dict.fromkeys(("scaled_dot_product_attention", "_scaled_dot_product_attention_math"), of_heads),
    **dict.fromkeys((f"{prefix}{name}" for prefix in ("", "special_") for name in _POLYNOMIALS), of_numbers),
}
"""The checks by the last part of an operator's name, which its variants share."""

NUMPY = {
    **{f"numpy.fft.{name}": of_something for name in ("hfft", "ihfft", "irfft", "irfft2", "irfftn")},
    **{f"numpy.linalg.{name}": of_finite_arrays for name in ("pinv", "svd")},
    "numpy.linalg.norm": of_matrix_norm,
}
"""The checks of functions of numpy."""
