"""The names of operators that a graph may hold; what they call is in `runtime.primitives`.

Families: ``aten.NAME.OVERLOAD`` in ops lowered from models, ``torch.…``, ``numpy.…`` and ``scipy.special.…`` in
recorded processing functions, and ``py.NAME`` for Python's operators and builtins. A name that is not in the table
`operators.txt` (made by `tools/list_operators.py`) is never looked up: `torch.ops.aten` also reaches functions that
read and write files.

A line of the table is ``NAME GRADE EFFECT CALLS [reason]``. The grade says how the operator is protected from hostile
arguments, CALLS how many hostile calls tested that, and the effect what it does to the memory of its arguments.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from pathlib import Path

from ..errors import UnknownOperatorError
from ..frozen_class import frozen_object

# A pattern of names -> why such operators are not on the list.
_REASONS = {
    r"segment_reduce|_unsafe_|max_pool\w*_backward": "it does not check its indices, so that a file could reach "
    "outside of its memory",
    r"sparse|coalesce": "archives hold dense tensors only",
    r"resize|\bset_|storage": "it changes which memory a tensor has",
    r"backward": "it belongs to the backward pass",
    r"nested": "archives hold no nested tensors",
}

OF_ARRAYS = ("numpy.", "scipy.")
"""What the names of functions of arrays begin with: those of numpy and of `scipy.special`."""

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
    "acos", "atan", "atan2", "sinh", "cosh", "tanh", "fabs", "hypot", "isnan", "isinf", "isfinite", "copysign", "fmod",
    "remainder", "modf", "frexp", "degrees", "radians", "asinh", "acosh", "atanh", "erf", "erfc", "isqrt", "gcd", "lcm",
    "factorial", "comb", "perm",
)  # fmt: skip
"""Functions of Python's math that a graph may hold."""

_READS = (
    "size", "stride", "numel", "array_size", "array_rank", "storage_offset", "ndim", "dtype", "contiguous", "is_conj",
    "is_neg", "len", "item", "int", "float", "bool", "round", "min", "max", "sum", "is_nonzero", "real", "imag",
    "cat_strings", "deepcopy", "generator", "seeded", "draw", "default_dtype", "autocast", "requires_grad",
)  # fmt: skip

TEXT_METHODS = (
    "lower", "upper", "strip", "lstrip", "rstrip", "replace", "split", "rsplit", "splitlines", "partition",
    "rpartition", "removeprefix", "removesuffix", "startswith", "endswith", "find", "rfind", "index", "rindex",
    "count", "title", "capitalize", "swapcase", "casefold", "zfill", "ljust", "rjust", "center", "expandtabs",
    "join", "isdigit", "isalpha", "isalnum", "isspace", "isupper", "islower", "isnumeric", "isdecimal",
    "isidentifier", "isprintable", "isascii", "istitle", "translate",
)  # fmt: skip
"""Methods of str that a graph may hold, as ``py.str_NAME``."""

REGULAR = ("re_search", "re_match", "re_fullmatch", "re_findall", "re_finditer", "re_sub", "re_split")
"""Functions of Python's re, whose first argument is the pattern and whose second is its flags."""

STATISTICS = (
    "mean", "fmean", "median", "median_low", "median_high", "stdev", "pstdev", "variance", "pvariance", "mode",
    "multimode", "quantiles",
)  # fmt: skip
"""Functions of Python's statistics that a graph may hold."""

DIGESTS = (
    "md5", "sha1", "sha224", "sha256", "sha384", "sha512", "sha3_224", "sha3_256", "sha3_384", "sha3_512", "blake2b",
    "blake2s",
)  # fmt: skip
"""Digests of hashlib that a graph may hold."""
CHECKSUMS = ("crc32", "adler32")
"""Checksums of zlib that a graph may hold."""

_TEXTS = (
    *(f"str_{name}" for name in TEXT_METHODS), *REGULAR, "re_group", "re_found", "re_start", "re_end", "ord", "chr",
    "format", "join_texts", "contains", "normalize", "combining", "category", "json_dumps",
    "encode", "decode", "same_bytes", "b64encode", "b64decode", "hex", "from_hex", "date", "decimal", "text", "digest",
    "checksum", "bytes", "pack", "unpack",
)  # fmt: skip

_TABLES = (
    "lookup", "lookup_all", "tolist", "dict", "zip", "zip_strict", "enumerate", "sorted", "total", "any", "all", "list",
    "keys", "values", "items", "rows", "index", "counted", "reversed", "statistics",
    "sorted_by", "best_by", "fsum", "prod", "math_pow", "unique", "counts", "most_common", "from_keys", "kept",
    "dropped", "with_entry", "runs", "foremost", "plain_code",
)  # fmt: skip

_WRITING = frozenset(name for name in _BINARY if name[0] == "i" and name != "invert") | {"setitem"}
_VIEWING = (
    "getitem", "pos", "real", "imag", "min", "max", "draw", "generator", "and_", "or_", "dict", "zip", "zip_strict",
    "enumerate", "sorted", "sorted_by", "best_by", "list", "values", "items", "total", "cat_strings", "rows",
    "reversed", "keys", "lookup", "lookup_all", "prod", "statistics", "unique", "from_keys", "most_common", "counts",
    "with_entry", "foremost", "plain_code",
)  # fmt: skip

DRAWING = ("py.draw", "py.generator", "py.seeded")
"""Nodes that draw random numbers, or make or seed a generator of them."""

CODE = "py.plain_code"
"""The operator whose first argument is a block of plain Python."""

GRADIENTS = ("grad_mode", "own_backward")
"""Nodes that matter with gradients only: they set the grad mode, or say that a custom backward is not recorded."""

(
    KEY_ORDER, KEYWORD_ORDER, FLOAT_ONLY, LIST_ONLY, TENSOR_ONLY, SOME_FLOAT, ON_ACCELERATOR, LEFT_OUT, ITEM_FIELDS,
    PLAIN_ONLY, NOT_OF_NUMPY, DICT_ONLY, NO_SUBCLASS,
) = MARKS = (
    "key_order", "keyword_order", "float_only", "list_only", "tensor_only", "some_float", "on_accelerator", "left_out",
    "item_fields", "plain_only", "not_of_numpy", "dict_only", "no_subclass",
)  # fmt: skip
"""Nodes that say of inputs what a call must keep to, an order of keys or a class, and on which device they belong; and
what answers where some of them are left out."""

PYTHON = frozenset((*ARITHMETIC, *MATH, *_READS, *_TEXTS, *_TABLES, *GRADIENTS, *MARKS))
"""The names of the family ``py.…``: arithmetic on scalars, and functions that read a scalar off a tensor."""

CONTROL_FLOW = ("cond", "while_loop", "map")
"""The operators of choices and loops, which take their subgraphs as functions."""


PROVEN, WRAPPED, TRUSTED = "proven", "wrapped", "trusted"
"""The grades. Proven: with arguments that fit its schema, no hostile call did harm. Wrapped: a check of ours precedes
the call. Trusted: a call can end the process, hang it, or read memory that is not the file's."""

FRESH, VIEW, WRITES, WRITES_ANY, RESHAPES = "fresh", "view", "writes", "writes-any", "reshapes"
"""The effects. Fresh: results have new memory. View: they may share that of an argument. Writes: the operator changes
its first argument; writes-any: any argument. Reshapes: it changes sizes or strides of its first argument.
"""


@frozen_object
class Row:
    """A line of the table."""

    grade: str
    effect: str
    calls: int
    reason: str


@cache
def _text() -> str:
    """The table, with a line break before each line."""
    return "\n" + Path(__file__).with_name("operators.txt").read_text("utf-8")


@lru_cache(maxsize=8192)
def row(name: str) -> Row | None:
    """The line of an operator in the table; None for operators of Python and unknown ones.

    It is searched for: to split the whole table takes longer than to load a small file.
    """
    start = _text().find(f"\n{name} ") + 1
    if not start or " " in name or "\n" in name or name.startswith("#"):
        return None
    _, grade, effect, calls, *reason = _text()[start : _text().index("\n", start)].split(" ", 4)
    return Row(grade, effect, int(calls), "".join(reason))


@cache
def allowed() -> frozenset[str]:
    """Every operator name that an archive may hold, apart from ``py.…``."""
    return frozenset(line.partition(" ")[0] for line in _text().splitlines() if line and line[0] != "#")


def grade(name: str) -> str:
    """The grade of an operator that `check_name` accepts; operators of Python are wrapped where they need it."""
    entry = row(name)
    return entry.grade if entry else PROVEN


def reason(name: str) -> str:
    """Why an operator is for trusted files only; empty for others."""
    entry = row(name)
    return entry.reason if entry else ""


def effect(name: str) -> str:
    """The effect of an operator, by its name."""
    entry = row(name)
    if entry:
        return entry.effect
    rest = name.removeprefix("py.")
    if rest in _WRITING:
        return WRITES
    return VIEW if rest in _VIEWING or name in CONTROL_FLOW else FRESH


def is_expression(name: str) -> bool:
    """Whether an operator takes a regular expression."""
    return name == "py.re_found" or name.removeprefix("py.") in REGULAR


def check_name(name: str) -> None:
    """Checks that a name may be called at all; needs no torch.

    Raises:
        UnknownOperatorError: it is not on the allow-list.
    """
    family, _, rest = name.partition(".")
    if family == "py" and rest in PYTHON:
        return
    if name in CONTROL_FLOW or row(name):
        return
    raise UnknownOperatorError(
        f"operator {name!r} is not on the list of allowed operators",
        fix="The file was made by a newer tracepack, or was tampered with.",
    )


def why_not(name: str) -> str:
    """The reason why an operator may not be called, as the end of a message; empty where none is known."""
    return next((f": {why}" for words, why in _REASONS.items() if re.search(words, name)), "")


def is_mark(name: str) -> bool:
    """Whether an operator computes nothing: it says what the binding of inputs must check, or where they belong."""
    return name.startswith("py.") and name.removeprefix("py.") in MARKS
