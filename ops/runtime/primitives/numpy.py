"""numpy in a graph: its functions by name, its dtypes and its scalars as literals; and functions of `scipy.special`.

A recorded numpy function runs as numpy itself, on arrays over the memory of the tensors, so that values, dtypes and
aliases are numpy's own, bit for bit. Arrays are on the CPU. The allow-list of `operators` says which names a file
may use; none of them reads or writes files, or calls an argument.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import partial
from typing import Any

from ...graph.errors import GraphError, GuardError
from ...graph.graph import Node, Operator, Value
from ...graph.operators.names import OF_ARRAYS
from ...graph.traverse import leaves, uses
from ...graph.types import ARRAY
from .nesting import check_nesting

METHOD = "numpy.ndarray."
"""The prefix of methods, whose first argument is the array or the numpy scalar."""

DTYPES = frozenset(
    """bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float16 float32 float64 complex64
    complex128""".split()
)
"""numpy's names of the dtypes of recorded arrays and scalars."""

WORDS = frozenset(
    """C F A K valid same full left right wrap clip raise constant edge linear linear_ramp maximum mean median minimum
    reflect symmetric lower higher midpoint nearest inclusive ij xy ortho forward backward fro nuc quicksort
    mergesort heapsort stable introselect reduced complete r raw equiv no safe same_kind unsafe inverted_cdf
    averaged_inverted_cdf closest_observation interpolated_inverted_cdf hazen weibull median_unbiased
    normal_unbiased big little L U N T auto fd doane scott stone rice sturges sqrt even odd greedy optimal""".split()
)
_NAMES = DTYPES | {"int", "float", "complex", "single", "double", "i4", "i8", "u1", "f4", "f8", "?", "c8", "c16"}
TEXTUAL = frozenset(("einsum",))
"""Functions that take text of their own."""

_WRITING = frozenset(f"{METHOD}{name}" for name in ("sort", "fill", "partition", "put")) | {
    "py.setitem", "py.iadd", "py.isub", "py.imul", "py.itruediv", "py.ifloordiv", "py.imatmul", "py.imod",
    "py.ipow", "py.iand", "py.ior", "py.ixor", "py.ilshift", "py.irshift",
}  # fmt: skip


def writes(name: str) -> bool:
    """Whether an operator on arrays writes into its first argument."""
    return name in _WRITING


def on_cpu(node: Node) -> bool:
    """Whether a node works on arrays, which lie on the CPU."""
    if isinstance(node.target, Operator) and node.target.name.startswith(OF_ARRAYS):
        return True
    return any(isinstance(leaf, Value) and leaf.type == ARRAY for leaf in (*uses(node), *leaves(node.output)))


def array_function(name: str) -> Callable[..., Any]:
    """The function behind a name such as ``numpy.REST`` or ``scipy.special.REST``, which must be on the allow-list.

    Raises:
        AttributeError: the installed package has no such function.
        ImportError: scipy is not installed.
    """
    found: Any = importlib.import_module("scipy.special" if name.startswith("scipy.") else "numpy")
    rest = name.removeprefix("numpy.").removeprefix("scipy.special.")
    for part in rest.split("."):
        found = getattr(found, part)
    return partial(_call, part) if rest.startswith("ndarray.") else found


def ufunc_of(name: str) -> Any:
    """The universal function that a name calls, by itself or on all pairs; None where it calls something else."""
    import numpy

    try:
        found = array_function(name.removesuffix(".outer"))
    except (AttributeError, ImportError):  # which `resolve` says
        return None
    return found if isinstance(found, numpy.ufunc) else None


def is_word(text: str) -> bool:
    """Whether a text is an option or a dtype that numpy may be given: it reads many others as dtypes of objects."""
    return text in WORDS or text in _NAMES


def checked(function: Callable[..., Any], *, takes_text: bool) -> Callable[..., Any]:
    """The function, which checks texts that a run computes, and gives no array of Python's objects.

    Operators on such an array call methods of its items, without a bound on what these make.
    """
    import numpy

    fix = _FIXES.get(getattr(function, "__name__", ""), _TEXTS_IN_LISTS)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not takes_text:
            for given in args:
                if type(given) in _TEXTS_AND_LISTS:
                    _check_texts(given, fix)
            for given in kwargs.values():
                if type(given) in _TEXTS_AND_LISTS:
                    _check_texts(given, fix)
        made = function(*args, **kwargs)
        if isinstance(made, numpy.ndarray) and made.dtype.hasobject:
            raise GuardError("numpy made an array of objects", got=str(made.dtype)[:80], expected="an array of numbers")
        return made

    return call


_TEXTS_AND_LISTS = frozenset((str, bytes, list, tuple, dict))


_TEXTS_IN_LISTS = "Make texts in a list: ['yes' if value > 0 else 'no' for value in a.tolist()]."
_LEFT_IN_LISTS = "Leave texts in their list: sorted(texts), [text.lower() for text in texts], texts.index('cat')."
_FIXES = {
    "unique": "Write sorted(set(texts)), a list of the same texts.",
    **dict.fromkeys(("array", "asarray", "asanyarray"), _LEFT_IN_LISTS),
}
"""What to do about texts that a function is given, by its name."""


def _check_texts(given: Any, fix: str) -> None:
    check_nesting([given])
    waiting = [given]
    while waiting:
        item = waiting.pop()
        if isinstance(item, list | tuple):
            waiting += [inner for inner in item if isinstance(inner, str | bytes | list | tuple | dict)]
        elif not isinstance(item, str) or not (is_word(item) or _is_dtype_of_numbers(item)):
            from ..user_code import user_line  # needs torch, which those that only read a file do without

            raise GuardError(
                "numpy was given a text", where=str(user_line() or ""), got=repr(item)[:80],
                expected="one of numpy's words", fix=fix,
            )  # fmt: skip


def _is_dtype_of_numbers(text: str) -> bool:
    """Whether numpy reads a text as a dtype of numbers, and not of objects, texts or fields."""
    import numpy

    try:
        return len(text) <= _LONGEST_DTYPE and numpy.dtype(text).kind in "biufc"
    except (TypeError, ValueError, SyntaxError, Warning):  # of a name that is going out of use
        return False


_LONGEST_DTYPE = 12  # characters: complex128


def _call(method: str, array: Any, /, *args: Any, **kwargs: Any) -> Any:
    """Calls a method of an array or of a numpy scalar; refuses any other object."""
    import numpy

    if not isinstance(array, numpy.ndarray | numpy.generic):
        raise TypeError(f"numpy.ndarray.{method} was given a {type(array).__name__}")
    return getattr(array, method)(*args, **kwargs)


def numpy_object(kind: str, name: str) -> Any:
    """The dtype or scalar of a literal: kind ``numpy.dtype`` with its name, or ``numpy.float32`` with its value.

    Raises:
        GraphError: numpy has no such dtype, or the value does not fit it.
    """
    import numpy

    try:
        if kind == "numpy.dtype" and name in DTYPES:
            return numpy.dtype(name)
        scalar = kind.removeprefix("numpy.")
        if scalar in DTYPES:
            return numpy.dtype(scalar).type(_number(scalar)(name))
    except (ValueError, OverflowError) as error:
        raise GraphError(f"there is no such {kind}", where="a literal of the graph", got=repr(name[:80])) from error
    raise GraphError("the literal is not one of numpy", where="a literal of the graph", got=repr((kind, name))[:80])


def _number(scalar: str) -> Callable[[str], Any]:
    if scalar == "bool":
        return "True".__eq__
    return int if "int" in scalar else complex if scalar.startswith("complex") else float
