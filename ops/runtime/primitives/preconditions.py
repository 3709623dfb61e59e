"""Checks of sizes and values that precede operators which torch or numpy run on what does not fit.

Without them some end the process, others return memory that nothing was written to. `wrapped` puts them
before the calls.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import torch

from ...graph.errors import GuardError
from ...graph.traverse import leaves


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


def of_bags(function: Callable[..., Any]) -> Callable[..., Any]:
    """`embedding_bag`, which checks its offsets: torch writes no result for a bag that ends before it begins."""

    def call(*args: Any, **kwargs: Any) -> Any:
        offsets = args[2] if len(args) > 2 else kwargs.get("offsets")
        if type(offsets) is torch.Tensor:
            if offsets.dim() != 1:
                raise GuardError("the offsets of bags are no list", got=list(offsets.shape), expected="one dimension")
            if bool((offsets[1:] < offsets[:-1]).any()):
                got = offsets.tolist()[:8]
                raise GuardError("the offsets of bags fall", got=got, expected="offsets that do not fall")
        return function(*args, **kwargs)

    return call


def of_recurrent(function: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent layer that checks the number of its weights, and that all of it is of floats: torch reads past few.

    Weights follow the hidden state, then whether there are biases, the number of layers, and flags.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        lists = [arg for arg in args if isinstance(arg, list | tuple)]
        weights = kwargs.get("params", lists[-1] if lists else ())
        flags = [arg for arg in args if isinstance(arg, bool)]
        biases = flags[0] if flags else kwargs.get("has_biases")
        both = flags[2] if len(flags) > 2 else kwargs.get("bidirectional")
        layers = next((arg for arg in args if type(arg) is int), kwargs.get("num_layers", 0))
        each = layers * (2 if both else 1)
        wanted = [each * (4 if biases else 2), each * (5 if biases else 3)]  # with projections there is one more
        if len(weights) not in wanted:
            raise GuardError("the weights of a recurrent layer are too few", got=len(weights), expected=wanted[0])
        first, state = args[0] if args else kwargs.get("input", kwargs.get("data")), kwargs.get("hx", args[1:])
        hidden = [t for t in leaves(state) if isinstance(t, torch.Tensor) and t.dim() == 3]
        if not isinstance(first, torch.Tensor) or not all(t.is_floating_point() for t in (first, *hidden, *weights)):
            raise GuardError("a recurrent layer takes floats", expected="input, state and weights of floats")
        if first.dim() > 3 or not hidden:
            got = list(first.shape)
            raise GuardError("a recurrent layer takes sequences", got=got, expected="input and state of 3 dimensions")
        return function(*args, **kwargs)

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


def of_something(function: Callable[..., Any]) -> Callable[..., Any]:
    """A Fourier transform of numpy that ends in real numbers: of nothing it returns memory that nobody wrote."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given: Sequence[Any] = [leaf for leaf in leaves((args, kwargs)) if isinstance(leaf, numpy.ndarray)]
        if any(array.size == 0 for array in given):
            raise GuardError("a Fourier transform of nothing", got=list(given[0].shape), expected="some numbers")
        return function(*args, **kwargs)

    return call


TORCH: dict[str, Callable[[Callable[..., Any]], Callable[..., Any]]] = {
    **dict.fromkeys(("_weight_norm", "_weight_norm_interface"), of_weight_norm),
    **dict.fromkeys(("embedding_bag", "_embedding_bag", "_embedding_bag_forward_only"), of_bags),
    **dict.fromkeys(("linalg_eigvals", "eigvals"), of_finite),
    "native_group_norm": of_groups,
}
"""The checks by the last part of an operator's name, which its variants share."""

NUMPY = {f"numpy.fft.{name}": of_something for name in ("hfft", "ihfft", "irfft", "irfft2", "irfftn")}
"""The checks of functions of numpy."""
