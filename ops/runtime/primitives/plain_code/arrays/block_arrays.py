"""What a block of plain Python may do with arrays of numpy: which methods and functions, and which writes.

They run as numpy itself, so that each bit, dtype and type is numpy's own. None of them reads files, reaches memory but
that of its arrays, calls what it is given, or makes an array of objects; a block writes to arrays that it has made.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Collection, Iterator, Mapping
from functools import partial
from inspect import unwrap
from types import FunctionType
from typing import Any

import numpy as np
import torch

from ...bounded import MOST_ITEMS
from ...numpy import DTYPES, TEXTUAL, checked
from ...wrapped import wrapper
from ..block_tensors import memory_of, parts_in, tensors_in
from ..one_run.block_refusals import refuse, within

_POINTWISE = (
    "abs", "absolute", "add", "arccos", "arccosh", "arcsin", "arcsinh", "arctan", "arctan2", "arctanh",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "cbrt", "ceil", "conj", "copysign", "cos", "cosh",
    "conjugate", "deg2rad", "degrees", "divide", "divmod", "equal", "exp", "exp2", "expm1", "fabs", "float_power",
    "floor", "floor_divide", "fmax", "fmin", "fmod", "gcd", "greater", "greater_equal", "heaviside", "hypot", "invert",
    "isfinite", "isinf", "isnan", "lcm", "left_shift", "less", "less_equal", "log", "log10", "log1p", "log2",
    "logaddexp", "logaddexp2", "logical_and", "logical_not", "logical_or", "logical_xor", "maximum", "minimum",
    "mod", "modf", "multiply", "negative", "nextafter", "not_equal", "positive", "power", "rad2deg", "radians",
    "reciprocal", "remainder", "right_shift", "rint", "sign", "signbit", "sin", "sinh", "spacing", "sqrt", "square",
    "subtract", "tan", "tanh", "true_divide", "trunc", "matmul",
)  # fmt: skip
_REDUCING = (
    "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "argpartition", "argsort", "array_equal",
    "average", "bincount", "corrcoef", "count_nonzero", "cov", "cumprod", "cumsum", "diff", "digitize", "ediff1d",
    "gradient", "histogram", "interp", "isclose", "isin", "lexsort", "max", "mean", "median", "min", "nan_to_num",
    "nanargmax", "nanargmin", "nancumprod", "nancumsum", "nanmax", "nanmean", "nanmedian", "nanmin",
    "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "percentile", "polyval", "prod", "ptp",
    "quantile", "searchsorted", "sort", "std", "sum", "trace", "unique", "var", "convolve", "correlate", "round",
    "around", "angle", "clip", "fix", "partition", "sinc",
)  # fmt: skip
_SHAPING = (
    "append", "argwhere", "array_split", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_to", "column_stack",
    "compress", "concatenate", "copy", "cross", "delete", "diag", "diagonal", "dot", "dstack", "einsum",
    "expand_dims", "extract", "flatnonzero", "flip", "fliplr", "flipud", "hsplit", "hstack", "ix_", "inner",
    "insert", "intersect1d", "kron", "moveaxis", "nonzero", "outer", "pad", "ravel", "repeat", "reshape", "roll",
    "rot90", "select", "setdiff1d", "split", "squeeze", "stack", "swapaxes", "take", "take_along_axis", "tensordot",
    "tile", "transpose", "tril", "triu", "union1d", "unravel_index", "vsplit", "vstack", "where", "ndim", "shape",
    "size", "real", "imag", "isscalar",
)  # fmt: skip
_MAKING = (
    "arange", "array", "asarray", "ascontiguousarray", "bartlett", "blackman", "empty", "empty_like", "eye", "full",
    "full_like", "hamming", "hanning", "identity", "linspace", "logspace", "meshgrid", "ones", "ones_like", "zeros",
    "zeros_like",
)  # fmt: skip
_LINALG = (
    "cholesky", "det", "eigh", "eigvalsh", "inv", "matrix_power", "norm", "pinv", "qr", "slogdet", "solve", "svd",
)  # fmt: skip
_FFT = ("fft", "fft2", "fftshift", "ifft", "ifft2", "ifftshift", "irfft", "irfft2", "rfft", "rfft2")
CLASSES: Mapping[type, str] = {np.dtype(name).type: name for name in sorted(DTYPES)}
"""The classes of numbers of numpy, and the names of their dtypes."""
_CLASSES = {"bool_": np.bool_, **{name: kind for kind, name in CLASSES.items() if name != "bool"}}
_NAMED = frozenset(
    """axis axes keepdims dtype ddof correction kind stable axis1 axis2 offset decimals side sorter initial mode shift
    kth arr repeats reps pad_width constant_values bins range density weights minlength return_index return_inverse
    return_counts return_indices equal_nan rtol atol assume_unique invert start stop num endpoint base step shape
    fill_value N M k x y xp fp left right period a b v q method n prepend append obj values indices
    indices_or_sections condlist choicelist default a_min a_max min max newshape source destination ord full_matrices
    compute_uv hermitian nan posinf neginf m rowvar bias aweights fweights indexing ndmin tup ary p x1 x2 array c s
    object order returned deg edge_order UPLO norm retstep to_begin to_end axisa axisb axisc""".split()
)
"""Arguments by their names: all but those that write, choose memory, or leave parts of a result without a value."""
_COPYING = ("array", "astype")
"""Those of which ``copy=`` says no more than whether their result is a new array."""
_NEVER = ("out", "where", "like", "subok", "overwrite_input", "copy", "casting", "device")
_BEFORE_OUT = {
    "concatenate": 2, "dot": 2, "where": 3, "inner": 2, "lexsort": 2, "bincount": 3, "arange": 4, "array": 2,
    "zeros": 2, "asarray": 2, "ascontiguousarray": 2, "ones": 2, "full": 3, "empty": 2, "unravel_index": 2,
}  # fmt: skip
"""How many arguments functions of C take by their places that write nothing."""
_METHODS = {
    "all": 1, "any": 1, "argmax": 1, "argmin": 1, "argpartition": 2, "argsort": 2, "astype": 1, "clip": 2,
    "compress": 2, "conj": 0, "conjugate": 0, "copy": 1, "cumprod": 2, "cumsum": 2, "diagonal": 3, "dot": 1,
    "flatten": 1, "item": 32, "max": 1, "mean": 2, "min": 1, "nonzero": 0, "prod": 2, "ravel": 1, "repeat": 2,
    "reshape": 32, "round": 1, "searchsorted": 3, "squeeze": 1, "std": 2, "sum": 2, "swapaxes": 2, "take": 2,
    "tolist": 0, "trace": 4, "transpose": 32, "var": 2, "fill": 1, "sort": 2, "put": 3, "is_integer": 0,
}  # fmt: skip
"""Methods, and how many arguments they take by their places that are no array for the result."""

MODULES: Mapping[str, str] = {"numpy": "numpy", "numpy_linalg": "numpy.linalg", "numpy_fft": "numpy.fft"}
"""The modules of numpy, by the names that they have in a block."""
FUNCTIONS: Mapping[str, tuple[str, ...]] = {
    "numpy": (*(name for name in (*_POINTWISE, *_REDUCING, *_SHAPING, *_MAKING) if hasattr(np, name)), *_CLASSES),
    "numpy_linalg": _LINALG,
    "numpy_fft": _FFT,
}
"""Functions of numpy that a block may call, and classes of numbers."""
PROPERTIES = ("shape", "ndim", "dtype", "size", "T", "real", "imag", "itemsize", "nbytes")
OF_DTYPES = ("name", "kind", "itemsize")
WRITING = ("sort", "fill", "put")
"""Methods of arrays that write them."""
METHODS = tuple(name for name in _METHODS if name not in WRITING)
"""Methods of arrays and of numbers of numpy that write nothing."""
_GIVEN = (np.ndarray, int, float, complex, np.generic, type(None), list, tuple, str, slice, range, np.dtype)


def is_number(thing: Any) -> bool:
    """Whether a thing is a number of numpy."""
    return type(thing) in CLASSES


def is_of_block(thing: Any) -> bool:
    """Whether a block may give an array, or a number of numpy: one of a known dtype, of no other class."""
    return (type(thing) is np.ndarray and thing.dtype.isnative and thing.dtype.type in CLASSES) or is_number(thing)


def arrays_in(thing: Any) -> Iterator[np.ndarray[Any, Any]]:
    """The arrays in lists, tuples and dicts."""
    return parts_in(thing, np.ndarray)


def place_in_memory(array: np.ndarray[Any, Any]) -> int:
    """What tells the memory of an array from that of others: the object that holds it."""
    owner: Any = array
    while isinstance(owner, np.ndarray):
        if owner.base is None:
            return id(owner)
        owner = owner.base
    return memory_of(owner) if isinstance(owner, torch.Tensor) else id(owner)


def own_array(array: np.ndarray[Any, Any], others: Collection[int]) -> np.ndarray[Any, Any]:
    """An array that is about to be written.

    Args:
        array: the array.
        others: the memory that the block must not write: that of what it was given.

    Raises:
        RefusedError: it is one of them.
    """
    if place_in_memory(array) in others:
        refuse("a block of plain Python writes to an array that is not its own", fix="Write to a copy: x.copy().")
    return array


def attribute(thing: Any, name: str, others: Collection[int]) -> Any:
    """A method or a property of an array, or of a number of numpy.

    Raises:
        RefusedError: a block may not have it.
    """
    if name in PROPERTIES:
        return getattr(thing, name)
    most = _METHODS.get(name)
    if not hasattr(thing, name):
        raise AttributeError(f"{_shown(thing)!r} object has no attribute {name!r}")
    if most is None:
        refuse(f"a block of plain Python asks a {_shown(thing)} for {name!r}", expected="a method of its list")
    if name == "tolist":
        return partial(_listed, thing)
    if name in WRITING and isinstance(thing, np.ndarray):
        thing = own_array(thing, others)
    return _checked(f"ndarray.{name}", getattr(thing, name), most)


def _shown(thing: Any) -> str:
    """The class of a thing as Python's errors have it."""
    return "numpy.ndarray" if isinstance(thing, np.ndarray) else f"numpy.{type(thing).__name__}"


def attribute_of_dtype(kind: Any, name: str) -> Any:
    """A property of a dtype."""
    if name not in OF_DTYPES:
        refuse(f"a block of plain Python asks a dtype for {name!r}", expected=", ".join(OF_DTYPES))
    return getattr(kind, name)


def _listed(thing: Any) -> Any:
    if thing.size > MOST_ITEMS:
        refuse("a list grows too large", got=thing.size, expected=f"at most {MOST_ITEMS}")
    return thing.tolist()


def function(module: str, name: str) -> Any:
    """A function or a class of numpy."""
    if module == "numpy" and name in _CLASSES:
        return _CLASSES[name]
    whole = f"{MODULES[module]}.{name}"
    called = {"empty": "zeros", "empty_like": "zeros_like"}.get(name, name)  # no memory of others
    return _checked(whole.removeprefix("numpy."), getattr(importlib.import_module(MODULES[module]), called), None)


def _checked(name: str, plain: Callable[..., Any], most: int | None) -> Callable[..., Any]:
    """A function that takes no argument by which it writes, and gives no objects.

    Args:
        name: its name in numpy.
        plain: the function.
        most: how many arguments it takes by their places at most; None where its own parameters say that.
    """
    last = name.rpartition(".")[2]
    wrap = wrapper(f"numpy.{name}")
    named = checked(plain if wrap is None else wrap(plain), takes_text=last in TEXTUAL)
    places = _places(last, plain) if most is None else ()

    def call(*args: Any, **given: Any) -> Any:
        bad = [place for place in places[: len(args)] if place in _NEVER]
        bad += [key for key in given if key not in _NAMED and not (key == "copy" and last in _COPYING)]
        if bad or (most is not None and len(args) > most):
            refuse(f"numpy.{name} is called with more than a block may use", got=f"{(bad or ['out'])[0]}=")
        for each in (*args, *given.values()):
            if not isinstance(each, _GIVEN) and not (type(each) is type and each in _DTYPE_CLASSES):
                refuse(f"numpy.{name} is given a {type(each).__name__}", expected="arrays and numbers")
        return of_numbers(within(partial(named, **given), *args))

    return call


_DTYPE_CLASSES = (int, float, bool, complex, *CLASSES)


def _places(name: str, plain: Any) -> tuple[str, ...]:
    """The names of the arguments that a function takes by their places; where those end, `out` begins."""
    if isinstance(plain, np.ufunc):
        return (*("x",) * plain.nin, *("out",) * plain.nout)
    if name in _BEFORE_OUT:
        return (*("x",) * _BEFORE_OUT[name], *("out",) * 32)
    inner = getattr(plain, "_implementation", None) or unwrap(plain)
    if not isinstance(inner, FunctionType):
        return ("out",) * 32
    return inner.__code__.co_varnames[: inner.__code__.co_argcount]


def of_numbers(found: Any) -> Any:
    """What numpy gives: no array of objects, whose own operators it would call, and none of texts."""
    if isinstance(found, np.ndarray | np.generic) and not is_of_block(found):
        refuse(f"numpy made an array of {found.dtype}", expected="an array of numbers")
    if type(found) is tuple or type(found) is list:
        for each in found:
            of_numbers(each)
    return found


def size_of(found: Any, views: bool) -> int:
    """The bytes of arrays that a function gives; of views, too, where it makes all of what it gives."""
    if not isinstance(found, np.ndarray | tuple | list):
        return 0
    return sum(each.nbytes for each in arrays_in(found) if views or each.base is None)


def kind_of(thing: Any) -> list[Any]:
    """The kind of a result that is an array or a number of numpy, as `running.misfit` takes it."""
    name = thing.dtype.name
    return ["array", name, thing.ndim] if type(thing) is np.ndarray else ["number", name]


def shared(found: Any, kind: Any, given: Any) -> str:
    """What holds memory of what a block was given, where its kind says that it does not; empty where nothing does."""
    if not isinstance(kind, list | tuple) or kind[0] not in ("array", "tuple"):
        return ""
    if kind[0] == "tuple":
        return next(filter(None, (shared(*pair, given) for pair in zip(found, kind[1:], strict=True))), "")
    if len(kind) < 4:
        return ""
    place = place_in_memory(found)
    tensors = any(memory_of(each) == place for each in tensors_in(given))
    return "an array that it was given" if tensors or place in map(place_in_memory, arrays_in(given)) else ""


def is_kind(parts: list[Any]) -> bool:
    """Whether it is what `kind_of` gives, maybe with the mark of an array that holds no memory of what is given."""
    match parts:
        case ["array", str(dtype), int(rank)] | ["array", str(dtype), int(rank), "own"]:
            return dtype in DTYPES and 0 <= rank <= 64
        case ["number", str(dtype)]:
            return dtype in DTYPES
    return False


def described(parts: list[Any]) -> str:
    """Such a kind in words."""
    return f"an array of {parts[1]} with {parts[2]} dimensions" if parts[0] == "array" else f"a numpy.{parts[1]}"
