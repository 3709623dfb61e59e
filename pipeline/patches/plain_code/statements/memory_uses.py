"""Which uses of a tensor or an array give its memory no other name, so that a copy may take its place later."""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from .....ops.runtime.primitives.plain_code.block_tensors import WRITING

LIBRARIES = ("torch", "np", "numpy", "F")
_APART = (
    "abs", "all", "allclose", "amax", "amin", "any", "argmax", "argmin", "argsort", "bincount", "bmm", "cat", "cdist",
    "ceil", "clamp", "clip", "clone", "concatenate", "cos", "count_nonzero", "cummax", "cummin", "cumprod", "cumsum",
    "equal", "exp", "floor", "gather", "index_select", "isclose", "isfinite", "isinf", "isnan", "item", "log",
    "logical_and", "logical_not", "logical_or", "logsumexp", "masked_fill", "masked_select", "matmul", "maximum",
    "mean", "median", "minimum", "mm", "nonzero", "norm", "numel", "outer", "prod", "quantile", "relu", "round",
    "searchsorted", "sigmoid", "sign", "sin", "size", "softmax", "log_softmax", "sqrt", "square", "stack", "std", "sum",
    "tanh", "tolist", "topk", "unique", "var", "where", "zeros_like", "ones_like", "full_like", "new_zeros", "new_full",
    "empty_like", "dim", "max", "min", "unravel_index",
)  # fmt: skip
"""Functions and methods of torch and numpy whose results share no memory with what they are asked of."""
_NUMBERS = ("len", "int", "float", "bool", "str", "print")
_MERELY = (ast.Compare, ast.FormattedValue, ast.If, ast.While, ast.Assert, ast.BinOp)


def is_fresh(value: ast.expr) -> bool:
    """Whether an expression, where it gives a tensor or an array, gives one with memory of its own: it is computed."""
    match value:
        case ast.BinOp() | ast.Compare() | ast.UnaryOp(ast.USub() | ast.Invert()):
            return True
        case ast.Call(ast.Attribute(attr=name), _, named):
            return name in _APART and all(each.arg not in (None, "out") for each in named)
    return False


Place = int | str
"""That of an argument of a call, or its name."""


def around_each(lines: Sequence[ast.AST]) -> dict[int, ast.AST]:
    """What each part of some lines is in, by its id."""
    return {id(each): part for line in lines for part in ast.walk(line) for each in ast.iter_child_nodes(part)}


def uses_of(name: str, lines: Sequence[ast.AST]) -> list[ast.Name]:
    """Where a variable is used, or changed by ``+=``: what sets it anew has nothing of what it held."""
    parts = [part for line in lines for part in ast.walk(line)]
    changed = {id(part.target) for part in parts if isinstance(part, ast.AugAssign)}
    names = (part for part in parts if isinstance(part, ast.Name) and part.id == name)
    return [part for part in names if isinstance(part.ctx, ast.Load) or id(part) in changed]


def _never(*_: object) -> bool:
    return False


@dataclass(frozen=True)
class MemoryUses:
    """Uses of tensors in some lines.

    Attributes:
        around: what each of their parts is in.
        writes: whether the memory may be written to.
        named: whether a variable may share the memory.
        called: whether a function of the user's may be given it, by the source of its name and the argument's place.
    """

    around: Mapping[int, ast.AST]
    writes: bool = True
    named: Callable[[str], bool] = field(default=_never)
    called: Callable[[str, Place], bool] = field(default=_never)

    def apart(self, part: ast.AST) -> bool:
        """Whether a use of what has the memory, or may have it, gives that no other name."""
        match outer := self.around.get(id(part)):
            case ast.AugAssign(target):
                return self.writes or part is not target
            case ast.UnaryOp(ast.UAdd()) | ast.BoolOp():
                return self.apart(outer)
            case ast.UnaryOp():
                return True
            case ast.IfExp(test):
                return part is test or self.apart(outer)
            case ast.Assign(targets):
                return all(self._is_named(each) for each in targets)
            case ast.Tuple() | ast.List():
                whole = self.around.get(id(outer))
                if isinstance(whole, ast.Call):
                    return _of_library(whole) in _APART
                return isinstance(whole, ast.Subscript) and whole.slice is outer
            case ast.Subscript(slice=place):
                stored = not isinstance(outer.ctx, ast.Load)
                return place is part or (self.writes and stored) or (not stored and self.apart(outer))
            case ast.Attribute():
                return self._asked(outer)
            case ast.Call() | ast.keyword():
                return self._given(part, outer)
        return isinstance(outer, _MERELY)

    def _is_named(self, target: ast.expr) -> bool:
        match target:
            case ast.Name(name):
                return self.named(name)
            case ast.Tuple(parts):
                return all(map(self._is_named, parts))
        return False

    def _asked(self, asked: ast.Attribute) -> bool:
        """Whether what a tensor is asked for shares no memory with it, or is used for no more than that."""
        call = self.around.get(id(asked))
        if isinstance(call, ast.Call) and call.func is asked:
            alone = isinstance(self.around.get(id(call)), ast.Expr)
            return asked.attr in _APART or (self.writes and alone and asked.attr in WRITING) or self.apart(call)
        return asked.attr in ("shape", "dtype", "ndim", "size", "device") or self.apart(asked)

    def _given(self, part: ast.AST, outer: ast.Call | ast.keyword) -> bool:
        """Whether a call that is given it keeps nothing of it."""
        call = outer if isinstance(outer, ast.Call) else self.around.get(id(outer))
        if not isinstance(call, ast.Call) or part is call.func:
            return False
        if isinstance(call.func, ast.Name) and call.func.id in _NUMBERS:
            return True
        name = ast.unparse(call.func)
        if isinstance(outer, ast.keyword):
            return not _of_library(call) and bool(outer.arg) and self.called(name, outer.arg or "")
        if found := _of_library(call):
            return found in _APART or self.apart(call)
        places = [at for at, each in enumerate(call.args) if each is part]
        return not any(isinstance(each, ast.Starred) for each in call.args) and self.called(name, places[0])


def _of_library(call: ast.Call) -> str:
    """The name of the function of torch or numpy that a call is one of; empty for another call."""
    root, _, name = ast.unparse(call.func).partition(".")
    return name if root in LIBRARIES else ""
