"""The names of operators that a graph may hold; what they call is in `runtime.primitives`.

Four families: ``aten.NAME.OVERLOAD`` in ops lowered from models, ``torch.…`` and ``numpy.…`` in recorded processing
functions, and ``py.NAME`` for Python's operators and builtins. A name that is not on the list in `operators.txt` (made
by `tools/list_operators.py`) is never looked up: `torch.ops.aten` also reaches functions that read and write files.
"""

from __future__ import annotations

import re
from functools import cache
from importlib.resources import files

from .errors import UnknownOperatorError

# Why an operator is not on the list, by what its name holds.
_REASONS = {
    r"segment_reduce|_unsafe_|max_pool\w*_backward": "it does not check its indices, so that a file could reach "
    "outside of its memory",
    r"sparse|coalesce": "archives hold dense tensors only",
    r"resize|\bset_|storage": "it changes which memory a tensor has",
    r"backward": "it belongs to the backward pass",
    r"nested": "archives hold no nested tensors",
}

_UNARY = ("neg", "pos", "abs", "invert", "not_")
_BINARY = (
    "add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "lshift", "rshift", "and_", "or_", "xor",
    "eq", "ne", "lt", "le", "gt", "ge", "getitem", "setitem", "iadd", "isub", "imul", "itruediv", "ifloordiv",
    "imatmul", "imod", "ipow", "iand", "ior", "ixor", "ilshift", "irshift",
)  # fmt: skip
ARITHMETIC = (*_UNARY, *_BINARY)
"""Operators of Python, by their names in its module `operator`."""

MATH = (
    "ceil", "floor", "trunc", "sqrt", "exp", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "asin",
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "fabs", "hypot", "isnan", "isinf", "isfinite",
)  # fmt: skip
"""Functions of Python's math that a graph may hold."""

_READS = (
    "size", "stride", "numel", "array_size", "array_rank", "storage_offset", "ndim", "dtype", "contiguous", "is_conj",
    "is_neg", "len", "item", "int", "float", "bool", "round", "min", "max", "sum", "is_nonzero", "real", "imag",
    "cat_strings", "generator", "draw", "default_dtype", "requires_grad",
)  # fmt: skip

GRADIENTS = ("grad_mode", "own_backward")
"""What matters with gradients only: where they are switched off or on, and where a backward of the user's is lost."""

PYTHON = frozenset((*ARITHMETIC, *MATH, *_READS, *GRADIENTS))
"""Arithmetic on scalars, and what reads a scalar off a tensor: the names of the family ``py.…``."""

CONTROL_FLOW = ("cond", "while_loop")
"""Choices and loops on data, whose subgraphs arrive as functions."""


@cache
def allowed() -> frozenset[str]:
    """Every operator name that an archive may hold, apart from ``py.…``."""
    return frozenset((files(__package__) / "operators.txt").read_text().split())


def check_name(name: str) -> None:
    """Checks that a name may be called at all; needs no torch.

    Raises:
        UnknownOperatorError: it is not on the allow-list.
    """
    family, _, rest = name.partition(".")
    if family == "py" and rest in PYTHON:
        return
    if name in CONTROL_FLOW or name in allowed():
        return
    raise UnknownOperatorError(
        f"operator {name!r} is not on the list of allowed operators",
        fix="The file was made by a newer tracepack, or was tampered with.",
    )


def why_not(name: str) -> str:
    """Why an operator may not be called, to go after a message; empty where there is no more to say."""
    return next((f": {why}" for words, why in _REASONS.items() if re.search(words, name)), "")
