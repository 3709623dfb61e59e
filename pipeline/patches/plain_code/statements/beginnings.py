"""Where a block of plain Python begins: with the statements that make what it changes."""

from __future__ import annotations

import ast
from collections.abc import Sequence

from .....ops.runtime.primitives.plain_code.language import MUTATES
from ...source.scoping import names_set


def begin(body: Sequence[ast.stmt], place: int, loops: int, tensors: int) -> int | None:
    """The place of the first statement, with what sets variables to new lists and the like right before it.

    None where there are fewer loops before.
    """
    for _ in range(loops):
        before = [n for n, each in enumerate(body[:place]) if isinstance(each, ast.For | ast.While)]
        if not before:
            return None
        place = before[-1]
    first = place
    while first and (
        begins(body[first - 1], tensors)
        or _changed(body[first - 1])
        or (tensors and (_asks(body[first - 1]) or viewed(body[first - 1])))
    ):
        first -= 1
    while first < place and tensors and _asks(body[first]):  # sizes stay in the recording where nothing is made before
        first += 1
    return max((n + 1 for n in range(first, place) if not _is_own(body, first, n)), default=first)


def _changed(line: ast.stmt) -> str:
    """The variable whose container a statement changes, as ``hits.sort(key=…)`` does; empty for another statement."""
    match line:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), method))) if method in MUTATES:
            return name
    return ""


def _is_own(body: Sequence[ast.stmt], first: int, place: int) -> bool:
    """Whether a statement changes, or looks at, nothing but what those from the first one on have made."""
    line = body[place]
    name = _changed(line) or ("" if begins(line, 1) or _asks(line) else viewed(line))
    return not name or name in names_set(body[first:place])


def viewed(line: ast.stmt) -> str:
    """The variable of whose tensor a statement gives another a part: ``column = table[:, 0]``; empty for others."""
    if not isinstance(line, ast.Assign) or len(line.targets) != 1 or not isinstance(line.targets[0], ast.Name):
        return ""
    whole = line.value
    while True:
        match whole:
            case ast.Call(ast.Attribute(inner, name), args, []) if name in _OF_VIEWS and all(map(_is_plain, args)):
                whole = inner
            case ast.Subscript(inner, place) if _is_plain(place):
                whole = inner
            case ast.Attribute(inner, "T"):
                whole = inner
            case ast.Name(name):
                return name
            case _:
                return ""


def _is_plain(place: ast.expr) -> bool:
    """Whether a place in a tensor, or a size of it, is made of names and constants."""
    return all(isinstance(part, (*_OF_SIZES, ast.Slice)) for part in ast.walk(place))


_OF_VIEWS = (
    "view", "reshape", "squeeze", "unsqueeze", "flatten", "ravel", "t", "transpose", "permute", "select", "narrow",
    "diagonal", "swapaxes", "view_as",
)  # fmt: skip


def begins(line: ast.stmt, tensors: int) -> bool:
    """Whether a statement defines a function, or sets variables to what asks for nothing but their own parts."""
    if isinstance(line, ast.FunctionDef):
        return True
    if not isinstance(line, ast.Assign | ast.AnnAssign) or line.value is None:
        return False
    values = line.value.elts if isinstance(line.value, ast.Tuple) else [line.value]
    makes = (makes_new, makes_object, *((makes_tensor, copies) if tensors else ()))
    return all(isinstance(each, ast.Constant | ast.UnaryOp) or any(of(each) for of in makes) for each in values)


def _asks(line: ast.stmt) -> bool:
    """Whether a statement sets variables to sizes, or to what is reckoned of numbers: ``h, w = image.shape``."""
    if not isinstance(line, ast.Assign) or isinstance(line.value, ast.Constant | ast.UnaryOp):
        return False
    return all(isinstance(part, _OF_SIZES) or _is_size(part) for part in ast.walk(line.value))


_OF_SIZES = (
    ast.Name, ast.Constant, ast.Subscript, ast.BinOp, ast.UnaryOp, ast.Tuple, ast.operator, ast.unaryop,
    ast.expr_context,
)  # fmt: skip


def _is_size(part: ast.AST) -> bool:
    match part:
        case ast.Attribute(_, "shape" | "size" | "ndim"):
            return True
        case ast.Call(ast.Name("len" | "int" | "min" | "max"), _, []):
            return True
    return False


def makes_tensor(value: ast.expr) -> bool:
    """Whether an expression makes a new tensor, which a loop may fill."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr in _OF_TENSORS


def made_names(body: Sequence[ast.stmt]) -> set[str]:
    """The variables that some statements set to arrays of numpy that they make, and to nothing else."""
    parts = [part for line in body for part in ast.walk(line)]
    made = [part.targets[0] for part in parts if isinstance(part, ast.Assign) and _makes_array(part)]
    others = [part for part in parts if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store)]
    augmented = [part.target for part in parts if isinstance(part, ast.AugAssign)]
    other = {each.id for each in others if not any(each is target for target in (*made, *augmented))}
    return {each.id for each in made if isinstance(each, ast.Name)} - other


def _makes_array(line: ast.Assign) -> bool:
    match line:
        case ast.Assign([ast.Name()], ast.Call(ast.Attribute(_, name), _, named)):
            return name in _OF_TENSORS and all(each.arg not in (None, "copy") for each in named)
    return False


_OF_TENSORS = (
    "zeros", "ones", "full", "zeros_like", "ones_like", "full_like", "clone", "new_zeros", "new_full", "eye", "empty",
    "empty_like", "copy", "array", "arange", "astype", "identity", "linspace",
)  # fmt: skip


def makes_object(value: ast.expr) -> bool:
    """Whether an expression makes an object of a class, by its name."""
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id[:1].isupper()


def copies(value: ast.expr) -> bool:
    """Whether an expression gives a new list of what it is given, if that is what such names are used for."""
    match value:
        case ast.Call(ast.Attribute(_, "tolist"), [], []) | ast.Subscript(ast.Call(ast.Attribute(_, "tolist"), [], [])):
            return True
        case ast.Subscript(ast.Name(), ast.Slice()):
            return True
    return False


def makes_new(value: ast.expr) -> bool:
    """Whether an expression makes a new list, dict or set."""
    match value:
        case ast.BinOp(one, ast.Mult(), other):
            return isinstance(one, ast.List) or isinstance(other, ast.List)
        case ast.BinOp(one, ast.Add(), other):
            return isinstance(one, ast.List | ast.ListComp) or isinstance(other, ast.List | ast.ListComp)
        case ast.Call(ast.Name() | ast.Attribute() as function):
            return ast.unparse(function).removeprefix("collections.") in _MAKERS
    return isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp)


_MAKERS = ("set", "dict", "dict.fromkeys", "list", "sorted", "Counter", "OrderedDict", "defaultdict", "deque")
