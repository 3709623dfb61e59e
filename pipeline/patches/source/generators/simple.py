"""Which generator functions do nothing but compute what they yield, by their source.

Nobody sees when such a generator computes an item: it changes nothing that was not made in it, raises no errors of its
own, and is told nothing by who asks. What it has yielded it does not change later.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from ...python.loops.appending import CHANGES
from ..scoping import names_set, parameters, within

_STATEMENTS = (
    ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.For, ast.While, ast.If, ast.Return, ast.Pass, ast.Break,
    ast.Continue,
)  # fmt: skip
_SEES_VARIABLES = ("locals", "vars", "eval", "exec", "super", "__class__", "dir", "globals")
_ENDLESS = ("count", "cycle", "repeat", "iter", "next", "open", "input")
_FRESH_CALLS = ("list", "dict", "set", "deque", "Counter", "defaultdict", "bytearray")
_COPIES = (
    "list",
    "tuple",
    "set",
    "dict",
    "sorted",
    "len",
    "sum",
    "max",
    "min",
    "str",
    "int",
    "float",
    "bool",
    "frozenset",
)


def first_line(function: ast.FunctionDef) -> int:
    """The first line of a function, its decorators included."""
    return min([function.lineno, *(each.lineno for each in function.decorator_list)])


def is_generator(function: ast.FunctionDef) -> bool:
    """Whether a function yields."""
    return any(isinstance(part, ast.Yield | ast.YieldFrom) for part in within(*function.body))


def adds_to(function: ast.FunctionDef) -> set[str]:
    """The variables that an operator such as ``+=`` may change in place."""
    parts = [part for part in within(*function.body) if isinstance(part, ast.AugAssign)]
    return {part.target.id for part in parts if isinstance(part.target, ast.Name)}


def is_simple(function: ast.FunctionDef) -> bool:
    """Whether a generator function does nothing but compute what it yields."""
    lines = list(_statements(function.body))
    if function.args.vararg or function.args.kwarg or not all(map(_is_of_class, function.decorator_list)):
        return False
    if not all(isinstance(each, _STATEMENTS) and _is_plain(each) for each in lines):
        return False
    return _keeps_to_itself(function, lines) and _lets_go(function)


def _is_of_class(decorator: ast.expr) -> bool:
    return isinstance(decorator, ast.Name) and decorator.id in ("staticmethod", "classmethod")


def _statements(body: Sequence[ast.stmt]) -> Iterator[ast.stmt]:
    for line in body:
        yield line
        for name in ("body", "orelse"):
            yield from _statements(getattr(line, name, []))


def _is_plain(line: ast.stmt) -> bool:
    """Whether a statement computes, or yields as a statement of its own."""
    match line:
        case ast.Return(value):
            return value is None or (isinstance(value, ast.Constant) and value.value is None)
        case ast.While(ast.Constant()):
            return False
        case ast.For() | ast.While() if line.orelse:
            return False
    parts = [part for each in _own_parts(line) for part in ast.walk(each)]
    yields = [part for part in parts if isinstance(part, ast.Yield | ast.YieldFrom)]
    alone = not yields or (isinstance(line, ast.Expr) and yields == [line.value])
    return alone and not any(map(_does_more, parts))


def _own_parts(line: ast.stmt) -> Iterator[ast.AST]:
    """The expressions of a statement, without the statements in it."""
    for each in ast.iter_child_nodes(line):
        if not isinstance(each, ast.stmt):
            yield each


def _does_more(part: ast.AST) -> bool:
    match part:
        case ast.Await() | ast.NamedExpr() | ast.Lambda():
            return True
        case ast.Name(name):
            return name in (*_SEES_VARIABLES, "print")
        case ast.Attribute(_, _, ast.Store() | ast.Del()):
            return True
        case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(ast.Name("itertools"), name)):
            return name in _ENDLESS
        case ast.Call(keywords=named):
            return any(each.arg == "out" for each in named)
    return False


# -- what it changes -----------------------------------------------------------------------------------------------


def changed(part: ast.AST) -> str:
    """The variable whose value a part of the source changes in place; empty where it changes none.

    An operator such as ``+=`` is not looked at here.
    """
    match part:
        case ast.Subscript(owner, _, ast.Store() | ast.Del()) | ast.Attribute(owner, _, ast.Store() | ast.Del()):
            return root_of(owner)
        case ast.Call(ast.Attribute(owner, name)) if name in CHANGES or is_in_place(name):
            return root_of(owner)
    return ""


def is_in_place(name: str) -> bool:
    """Whether a method of tensors changes them, by its name."""
    return name.endswith("_") and not name.endswith("__")


def root_of(value: ast.expr) -> str:
    """The variable that an expression begins with; ``?`` where it is none."""
    while isinstance(value, ast.Attribute | ast.Subscript | ast.Call | ast.Starred):
        value = value.func if isinstance(value, ast.Call) else value.value
    return value.id if isinstance(value, ast.Name) else "?"


def _is_fresh(value: ast.expr) -> bool:
    match value:
        case ast.List() | ast.Dict() | ast.Set() | ast.ListComp() | ast.DictComp() | ast.SetComp():
            return True
        case ast.Call(ast.Name(name)) | ast.Call(ast.Attribute(_, name)):
            return name in _FRESH_CALLS
    return False


def _keeps_to_itself(function: ast.FunctionDef, lines: Sequence[ast.stmt]) -> bool:
    """Whether it changes nothing but containers that it has made itself, each known by one name."""
    values = dict[str, list[ast.expr]]()
    for line in lines:
        match line:
            case ast.Assign([ast.Name(name)], value) | ast.AnnAssign(ast.Name(name), _, ast.expr() as value):
                values.setdefault(name, []).append(value)
            case ast.Assign([ast.Tuple(names)], ast.Tuple(parts)) if len(names) == len(parts):
                for each, value in zip(names, parts, strict=True):
                    values.setdefault(each.id if isinstance(each, ast.Name) else "", []).append(value)
            case ast.Assign(targets) | ast.For(ast.expr() as targets):
                for name in names_set(targets if isinstance(targets, list) else [targets]):
                    values.setdefault(name, []).append(ast.Constant(None))
    altered = {changed(part) for part in within(*function.body)} - {""}
    own = {name for name in altered if name in values and all(map(_is_fresh, values[name]))}
    added = adds_to(function)
    others = {each.id for found in values.values() for each in found if isinstance(each, ast.Name)}
    return (
        altered == own and not (altered | added) & others and not added & parameters(function.args) - _counted(function)
    )


def _counted(function: ast.FunctionDef) -> set[str]:
    """The parameters to which only numbers are added, as in ``start += 1``."""
    found, others = set[str](), set[str]()
    for part in within(*function.body):
        match part:
            case ast.AugAssign(ast.Name(name), _, ast.Constant(int() | float() | str())):
                found.add(name)
            case ast.AugAssign(ast.Name(name)):
                others.add(name)
    return found - others


# -- what it lets go -----------------------------------------------------------------------------------------------


def _lets_go(function: ast.FunctionDef) -> bool:
    """Whether no container that was yielded is changed later: its variable gets another one first."""
    altered = {changed(part) for part in within(*function.body)} - {""}
    return _block_lets_go(function.body, altered, False) and not _yields_later(function)


def _block_lets_go(body: Sequence[ast.stmt], altered: set[str], in_loop: bool) -> bool:
    for place, line in enumerate(body):
        if isinstance(line, ast.Expr) and isinstance(line.value, ast.Yield | ast.YieldFrom):
            given = shared(line.value.value, altered) if line.value.value is not None else set()
            if any(not _is_replaced(name, body[place + 1 :], in_loop) for name in given):
                return False
        inner = in_loop or isinstance(line, ast.For | ast.While)
        for name in ("body", "orelse"):
            if not _block_lets_go(getattr(line, name, []), altered, inner):
                return False
    return True


def _is_replaced(name: str, rest: Sequence[ast.stmt], in_loop: bool) -> bool:
    """Whether a variable gets a new value before anything asks for the old one."""
    for line in rest:
        match line:
            case ast.Assign([ast.Name(found)], value) if found == name:
                return not _named(value, name)
            case ast.Assign([ast.Tuple(names)], value) if name in names_set(names):
                return not _named(value, name)
            case ast.Return():
                return True
        if _named(line, name):
            return False
    return not in_loop


def _named(part: ast.AST, name: str) -> bool:
    return any(isinstance(each, ast.Name) and each.id == name for each in ast.walk(part))


def shared(value: ast.expr, names: Collection[str], slices: bool = False) -> set[str]:
    """The variables whose values, or parts of them, are in a yielded value as they are.

    Args:
        value: what is yielded.
        names: the variables that count.
        slices: whether a slice of one shares its memory, as that of a tensor does.
    """
    match value:
        case ast.Name(name):
            return {name} & {*names}
        case ast.Call(ast.Name(name)) if name in _COPIES:
            return set()
        case ast.Call(ast.Attribute(_, "join" | "copy" | "stack" | "cat" | "tensor" | "array" | "mean")):
            return set()
        case ast.Subscript(_, ast.Slice()) if not slices:
            return set()
        case ast.Subscript(owner, _):
            return shared(owner, names, slices)
        case ast.BinOp() | ast.UnaryOp() | ast.Compare() | ast.JoinedStr():
            return set()
    parts = (each for each in ast.iter_child_nodes(value) if isinstance(each, ast.expr | ast.keyword))
    inner = (each.value if isinstance(each, ast.keyword) else each for each in parts)
    return {name for each in inner for name in shared(each, names, slices)}


def _yields_later(function: ast.FunctionDef) -> bool:
    """Whether it yields a generator expression, which would ask for variables that have gone on by then."""
    yields = [part.value for part in within(*function.body) if isinstance(part, ast.Yield | ast.YieldFrom)]
    calls = [part for value in yields if value is not None for part in ast.walk(value) if isinstance(part, ast.Call)]
    at_once = {id(each) for call in calls for each in call.args if _asks_all(call.func)}
    return any(
        isinstance(part, ast.GeneratorExp) and id(part) not in at_once
        for value in yields if value is not None
        for part in ast.walk(value)
    )  # fmt: skip


def _asks_all(function: ast.expr) -> bool:
    name = function.id if isinstance(function, ast.Name) else getattr(function, "attr", "")
    return name in (*_COPIES, "join", "any", "all", "sum", "tensor")
