"""The language of blocks of plain Python: which syntax, builtins, methods and functions of modules one may use.

A block works on numbers, texts and containers of them. It can reach nothing that is not listed here: an attribute is
looked up by the exact type of its object, there is no import, and no name begins with an underscore.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, OrderedDict, defaultdict, deque
from collections.abc import Mapping
from dataclasses import FrozenInstanceError
from typing import Any

import torch

from ....graph.operators.names import MATH, TEXT_METHODS
from . import block_tensors, library_values
from .arrays import block_arrays

FILE = "<plain code>"
"""What stands for the file of the code of all blocks."""

_STATEMENTS = (
    ast.FunctionDef, ast.Return, ast.Delete, ast.Assign, ast.AugAssign, ast.For, ast.While, ast.If, ast.Raise, ast.Try,
    ast.Assert, ast.Nonlocal, ast.Expr, ast.Pass, ast.Break, ast.Continue, ast.Match,
)  # fmt: skip
_EXPRESSIONS = (
    ast.BoolOp, ast.NamedExpr, ast.BinOp, ast.UnaryOp, ast.Lambda, ast.IfExp, ast.Dict, ast.Set, ast.ListComp,
    ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Yield, ast.YieldFrom, ast.Compare, ast.Call, ast.FormattedValue,
    ast.JoinedStr, ast.Constant, ast.Attribute, ast.Subscript, ast.Starred, ast.Name, ast.List, ast.Tuple, ast.Slice,
)  # fmt: skip
_PARTS = (
    ast.Module, ast.arguments, ast.arg, ast.keyword, ast.comprehension, ast.ExceptHandler, ast.expr_context,
    ast.boolop, ast.operator, ast.unaryop, ast.cmpop, ast.match_case, ast.MatchValue, ast.MatchSingleton,
    ast.MatchSequence, ast.MatchMapping, ast.MatchStar, ast.MatchAs, ast.MatchOr,
)  # fmt: skip
SYNTAX = (*_STATEMENTS, *_EXPRESSIONS, *_PARTS)
"""The nodes of Python's syntax that a block may have, where `allowed.refused` has nothing against them."""

_FUNCTIONS = (
    abs, all, any, bool, chr, dict, divmod, enumerate, filter, float, frozenset, int, isinstance, iter, len, list, map,
    max, min, next, ord, pow, range, repr, reversed, round, set, sorted, str, sum, tuple, zip,
)  # fmt: skip
_ERRORS = (
    Exception, ValueError, KeyError, IndexError, TypeError, ZeroDivisionError, StopIteration, AttributeError,
    ArithmeticError, LookupError, RuntimeError, AssertionError, OverflowError, UnicodeError, NotImplementedError,
    FrozenInstanceError,
)  # fmt: skip
BUILTINS: Mapping[str, Any] = {each.__name__: each for each in (*_FUNCTIONS, *_ERRORS)}
"""Python's builtins that a block may use, by their names."""

LIBRARY: Mapping[str, tuple[str, ...]] = {
    "math": (
        *MATH, "isclose", "pow", "fsum", "dist", "gamma", "lgamma", "cbrt", "exp2", "ldexp", "nextafter",
        "ulp",
    ),
    "re": ("compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split", "escape"),
    "json": ("dumps",),
    "collections": ("Counter", "OrderedDict", "defaultdict", "deque"),
    "itertools": (
        "accumulate", "chain", "compress", "dropwhile", "filterfalse", "groupby", "islice", "pairwise", "starmap",
        "takewhile", "zip_longest",
    ),
    "functools": ("reduce", "cmp_to_key"),
    "heapq": ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "nlargest", "nsmallest"),
    "bisect": ("bisect", "bisect_left", "bisect_right", "insort", "insort_left", "insort_right"),
    "statistics": (
        "mean", "fmean", "median", "stdev", "pstdev", "variance", "pvariance", "mode", "median_low", "median_high",
        "multimode", "harmonic_mean", "geometric_mean", "correlation", "covariance", "linear_regression",
        "median_grouped", "quantiles", "NormalDist", "StatisticsError",
    ),
    "operator": ("itemgetter",),
    "dataclasses": ("asdict", "astuple", "replace"),
    "copy": ("copy", "deepcopy"),
    "unicodedata": ("normalize", "category", "combining"),
    **library_values.LIBRARY,
}  # fmt: skip
"""Functions of Python's library that a block may call, by their modules."""
CHANGE_FIRST = ("heapify", "heappop", "heappush", "heappushpop", "heapreplace", "insort", "insort_left", "insort_right")
"""Those that change their first argument."""
OF_PATTERNS = ("compile", "search", "match", "fullmatch", "findall", "finditer", "sub", "split")
"""Functions of re, whose first argument is a pattern."""

_LOOK = {
    list: ("copy", "index", "count"),
    tuple: ("index", "count"),
    torch.Size: ("index", "count", "numel"),
    dict: ("get", "keys", "values", "items", "copy"),
    set: (
        "union", "intersection", "difference", "symmetric_difference", "issubset", "issuperset", "isdisjoint", "copy",
    ),
    str: (*TEXT_METHODS, "format", "encode"),
    bytes: ("decode", "hex", "startswith", "endswith"),
    int: ("bit_length",),
    float: ("is_integer",),
    deque: ("copy", "index", "count"),
    re.Match: ("group", "groups", "groupdict", "start", "end", "span"),
    re.Pattern: ("search", "match", "fullmatch", "findall", "finditer", "sub", "split"),
    type({}.keys()): ("isdisjoint",),
    type({}.items()): ("isdisjoint",),
}  # fmt: skip
_CHANGE: Mapping[type, tuple[str, ...]] = {
    list: ("append", "extend", "insert", "pop", "remove", "clear", "sort", "reverse"),
    dict: ("setdefault", "pop", "popitem", "update", "clear"),
    set: (
        "add", "discard", "remove", "pop", "clear", "update", "intersection_update", "difference_update",
        "symmetric_difference_update",
    ),
    deque: (
        "append", "appendleft", "pop", "popleft", "extend", "extendleft", "rotate", "clear", "remove", "insert",
        "reverse",
    ),
}  # fmt: skip
LOOKING: Mapping[type, tuple[str, ...]] = {
    **_LOOK,
    frozenset: _LOOK[set],
    Counter: (*_LOOK[dict], "most_common", "elements", "total"),
    defaultdict: _LOOK[dict],
    OrderedDict: _LOOK[dict],
    **library_values.LOOKING,
}
"""Methods that change nothing, by the exact type of their object."""
CHANGING: Mapping[type, tuple[str, ...]] = {
    **_CHANGE,
    Counter: (*_CHANGE[dict], "subtract"),
    defaultdict: _CHANGE[dict],
    OrderedDict: (*_CHANGE[dict], "move_to_end"),
    **library_values.CHANGING,
}
"""Methods that change their object."""
OF_CLASSES: Mapping[type, tuple[str, ...]] = {
    dict: ("fromkeys",),
    str: ("maketrans", "lower", "upper", "strip", "lstrip", "rstrip", "title", "casefold", "split", "isdigit",
          "isalpha", "isalnum", "isspace", "isupper", "islower"),
    **library_values.OF_CLASSES,
}  # fmt: skip
"""Methods that are asked of a class, as in ``map(str.lower, words)``."""

MUTATES = frozenset(name for names in CHANGING.values() for name in names) | {
    *CHANGE_FIRST, *block_tensors.WRITING, *block_arrays.WRITING,
}  # fmt: skip
"""Names by which a block may change a container or a tensor."""
METHODS = frozenset(name for table in (LOOKING, CHANGING, OF_CLASSES) for names in table.values() for name in names) | {
    *block_tensors.METHODS, *block_tensors.WRITING, *block_tensors.PROPERTIES, *block_tensors.PARTS,
    *block_arrays.METHODS, *block_arrays.WRITING, *block_arrays.PROPERTIES, *block_arrays.OF_DTYPES,
}  # fmt: skip
"""The names of all methods."""
MODULES: Mapping[str, str] = {**block_tensors.MODULES, **block_arrays.MODULES}
"""The modules of torch and numpy, by the names that they have in a block."""
