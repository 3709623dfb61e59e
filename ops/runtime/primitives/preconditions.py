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
    """`embedding_bag`, which checks its offsets: torch writes no result for a bag that ends before it begins.

    Where the largest of each bag is asked, indices without a bag end the process.
    """

    def call(*args: Any, **kwargs: Any) -> Any:
        offsets = args[2] if len(args) > 2 else kwargs.get("offsets")
        if type(offsets) is torch.Tensor:
            if offsets.dim() != 1:
                raise GuardError("the offsets of bags are no list", got=list(offsets.shape), expected="one dimension")
            if bool((offsets[1:] < offsets[:-1]).any()):
                got = offsets.tolist()[:8]
                raise GuardError("the offsets of bags fall", got=got, expected="offsets that do not fall")
            given = [*args[:2], kwargs.get("input"), kwargs.get("indices")]
            found = [each for each in given if type(each) is torch.Tensor and not each.is_floating_point()]
            modes = [each for each in (*args[4:7], kwargs.get("mode")) if type(each) in (int, str)]
            last = (
                args[7:8] if not args or args[0].is_floating_point() else args[9:10]
            )  # the weight comes first, or not
            bags = offsets.numel() - bool(last[0] if last else kwargs.get("include_last_offset", False))
            if bags <= 0 and found and found[0].numel() and (2 in modes or "max" in modes):
                raise GuardError("there are indices and no bag", got=offsets.tolist(), expected="offsets of a bag")
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


def of_packed(function: Callable[..., Any]) -> Callable[..., Any]:
    """A recurrent layer that checks its packed sequence: torch reads past the data of a malformed one."""

    def call(*args: Any, **kwargs: Any) -> Any:
        if len(args) > 1 and isinstance(args[1], torch.Tensor) and not _is_hidden_state(args, kwargs):
            _check_packed(args[0], args[1])
        elif isinstance(kwargs.get("batch_sizes"), torch.Tensor):
            _check_packed(args[0] if args else kwargs.get("data"), kwargs["batch_sizes"])
        return function(*args, **kwargs)

    return call


def _is_hidden_state(args: Sequence[Any], kwargs: dict[str, Any]) -> bool:
    """Whether the sequence is not packed: then weights and a flag follow the second tensor, its hidden state.

    In the form for a packed sequence a tensor follows it, or two lists where the layer is an LSTM.
    """
    flag = args[3] if len(args) > 3 else kwargs.get("has_biases")
    whole = isinstance(flag, bool) and "params" not in kwargs and "hx" not in kwargs
    return whole and len(args) > 2 and isinstance(args[2], list | tuple)


def of_padded(function: Callable[..., Any]) -> Callable[..., Any]:
    """What takes a packed sequence apart, and checks it: torch writes past its result for a malformed one."""

    def call(data: torch.Tensor, batch_sizes: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if isinstance(data, torch.Tensor) and type(batch_sizes) is torch.Tensor:
            _check_packed(data, batch_sizes, range(1, data.dim() + 1))
        return function(data, batch_sizes, *args, **kwargs)

    return call


def _check_packed(data: Any, sizes: torch.Tensor, dimensions: Sequence[int] = (2,)) -> None:
    right = sizes.dim() == 1 and sizes.dtype is torch.int64 and sizes.numel() > 0 and sizes.device.type == "cpu"
    right = right and isinstance(data, torch.Tensor) and data.dim() in dimensions
    counts = sizes.tolist() if right else []
    if not counts or counts != sorted(counts, reverse=True) or counts[-1] < 1 or sum(counts) != data.size(0):
        raise GuardError(
            "the packed sequence is malformed",
            got=f"batch sizes {counts[:8]}",
            expected="falling batch sizes that add up to all rows",
        )


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
