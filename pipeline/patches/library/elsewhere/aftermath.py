"""What becomes of something that a line of the user's asks for: whether it can decide, or reach the answer.

This is read from the source, for what is seldom seen in calls: ``uuid4().int % 997 == 5``. Followed are the variables
that it goes into. It may be logged, printed and measured, stand in names of files, and decide whether that is done.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import islice
from types import CodeType, FrameType
from typing import Any

from ....recheck.reach.whose import is_users_own

_HANDING_ON = frozenset(
    "random secrets uuid datetime email numpy pandas torch calendar tracepack logging pathlib".split()
)
"""The packages whose functions give a caller what they ask for; others, such as `tempfile`, ask for their own ends."""
_EXPRESSIONS = ("<lambda>", "<listcomp>", "<setcomp>", "<dictcomp>", "<genexpr>", "<module>")
_TELLING = frozenset("debug info warning warn error exception critical log print sleep".split())
_OF_KIND = frozenset(("isinstance", "issubclass", "hasattr", "callable", "type"))
_END = "tracepack.pipeline.replay"
_STAND_INS = "tracepack.pipeline.patches."
"""Modules of what stands for clocks and random numbers while a function is tried."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_Place = tuple[int | None, ...]


def may_matter(frame: FrameType | None) -> bool:
    """Whether what a frame has asked for can decide something, or reach the answer of the traced function."""
    inner = True
    while frame is not None and frame.f_globals.get("__name__") != _END:
        code, module = frame.f_code, str(frame.f_globals.get("__name__"))
        inner = inner and not is_users_own(code.co_filename)
        if inner and module.startswith("tracepack.") and not module.startswith(_STAND_INS):
            return False  # `script`, for itself
        if not is_users_own(code.co_filename):
            if module.partition(".")[0] not in _HANDING_ON:
                return False
        elif code.co_name not in _EXPRESSIONS:
            found = _aftermath(code, *_place(frame))
            if found is not None:
                return found
        frame = frame.f_back
    return True


def is_seeded(frame: FrameType | None) -> bool:
    """Whether random numbers are drawn for a ``RandomState(seed)``, which draws some before it takes its seed."""
    while frame is not None and frame.f_globals.get("__name__") in ("random", "secrets"):
        frame = frame.f_back
    return frame is not None and _makes_seeded(frame.f_code, *_place(frame))


@lru_cache(256)
def _makes_seeded(code: CodeType, *place: int | None) -> bool:
    for node in ast.walk(tree) if (tree := _tree_of(code)) is not None else ():
        if isinstance(node, ast.Call) and (node.args or node.keywords) and _is_at(node, place):
            return _name_of(node) == "RandomState"
    return False


def _place(frame: FrameType) -> _Place:
    """The lines and columns of what a frame runs; without columns before Python 3.11."""
    line = frame.f_lineno
    if not hasattr(frame.f_code, "co_positions"):
        return line, line, None, None
    return next(islice(frame.f_code.co_positions(), frame.f_lasti // 2, None), (line, line, None, None))


def _is_at(node: ast.expr, place: _Place) -> bool:
    first, last, start, end = place
    if start is None:  # any of the line's calls
        return isinstance(node, ast.Call) and node.lineno <= (first or 0) <= (node.end_lineno or 0)
    return (node.lineno, node.end_lineno, node.col_offset, node.end_col_offset) == (first, last, start, end)


@lru_cache(256)
def _aftermath(code: CodeType, *place: int | None) -> bool | None:
    """Whether what stands at a place decides something; None where the function gives it on, or has no source."""
    function = _function_of(code)
    return None if function is None else _Trail(function, place).decides()


def _function_of(code: CodeType) -> Any:
    for node in ast.walk(tree) if (tree := _tree_of(code)) is not None else ():
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == code.co_name:
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            if first == code.co_firstlineno:
                return node
    return None


def _tree_of(code: CodeType) -> ast.Module | None:
    try:
        return _parsed("".join(linecache.getlines(code.co_filename)))
    except (SyntaxError, ValueError, RecursionError):  # no source of Python
        return None


@lru_cache(8)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


class _Trail:
    """What is asked for at a place of a function, and the variables that it goes into.

    Args:
        function: the function.
        place: the first and the last line of what asks, and the columns, as far as they are known.
    """

    def __init__(self, function: Any, place: _Place) -> None:
        self.place, self.names = place, set[str]()
        self.own = [*_within(function)]
        args = function.args
        given = [*args.posonlyargs, *args.args, *args.kwonlyargs, args.vararg, args.kwarg]
        bound = (each.id for each in self.own if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store))
        self.local = {*bound} - {each.arg for each in given if each is not None}
        while self._follow():
            pass

    def decides(self) -> bool | None:
        """Whether it decides something; None where the function gives it to its caller."""
        for node in self.own:
            match node:
                case ast.If() | ast.While() if self._holds(node.test) and not _only_tell([*node.body, *node.orelse]):
                    return True
                case ast.For() | ast.AsyncFor() if self._holds(node.iter) and not _only_tell(node.body):
                    return True
                case ast.Assert(test=asked) | ast.Match(subject=asked) if self._holds(asked):
                    return True
        given = (each for each in self.own if isinstance(each, ast.Return | ast.Yield | ast.YieldFrom))
        return None if any(each.value is not None and self._holds(each.value) for each in given) else False

    def _follow(self) -> bool:
        """Adds the variables that hold it; returns whether there are new ones."""
        before = len(self.names)
        for node in self.own:
            match node:
                case ast.Assign(targets=targets, value=value) if self._holds(value):
                    self._bind(targets)
                case ast.AnnAssign(target=target, value=ast.expr() as value) if self._holds(value):
                    self._bind([target])
                case ast.AugAssign(target=target, value=value) | ast.NamedExpr(target=target, value=value):
                    self._bind([target] if self._holds(value) else [])
                case ast.For(target=target, iter=value) | ast.AsyncFor(target=target, iter=value):
                    self._bind([target] if self._holds(value) else [])
                case ast.withitem(context_expr=value, optional_vars=ast.expr() as target) if self._holds(value):
                    self._bind([target])
                case ast.Expr(value=ast.Call() as call) if self._holds(call) and not _tells(call):
                    self._fill(call)
                case ast.FunctionDef() if any(map(self._holds, node.body)):
                    self.names.add(node.name)
        return len(self.names) > before

    def _bind(self, targets: Sequence[ast.expr]) -> None:
        for target in targets:
            for node in ast.walk(target):
                if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                    self.names.add(node.id)
                elif isinstance(node, ast.Attribute | ast.Subscript) and isinstance(node.ctx, ast.Store):
                    self.names.add(ast.unparse(node))
                    self._fill_root(node)

    def _fill(self, call: ast.Call) -> None:
        """What a call changes whose result nobody takes: its object, and what that object is given to change."""
        whose = call.func.value if isinstance(call.func, ast.Attribute) else None
        if self._is_asked(call) or (whose is not None and self._holds(whose)):
            self.names.update(each.id for each in call.args if isinstance(each, ast.Name))
        elif whose is not None:
            self._fill_root(whose)

    def _fill_root(self, node: ast.expr) -> None:
        while isinstance(node, ast.Attribute | ast.Subscript):
            node = node.value
        if isinstance(node, ast.Name) and node.id in self.local:
            self.names.add(node.id)

    def _holds(self, node: ast.AST) -> bool:
        """Whether what is asked for, or a variable that holds it, stands in code that asks for more than its kind."""
        if self._is_asked(node):
            return True
        match node:
            case ast.Call(func=ast.Name(id=name)) if name in _OF_KIND:
                return False
            case ast.Compare(ops=[ast.Is() | ast.IsNot()]):
                return False
            case ast.Name(id=name):
                return name in self.names
            case ast.Attribute() | ast.Subscript() if ast.unparse(node) in self.names:
                return True
        return any(map(self._holds, ast.iter_child_nodes(node)))

    def _is_asked(self, node: ast.AST) -> bool:
        return isinstance(node, ast.expr) and _is_at(node, self.place)


def _within(function: Any) -> Iterator[ast.AST]:
    """What stands in a function, but not in those inside of it."""
    waiting: list[ast.AST] = [*function.body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, _FUNCTIONS):
            waiting += ast.iter_child_nodes(node)


def _tells(call: ast.Call) -> bool:
    return _name_of(call) in _TELLING


def _name_of(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else str(getattr(call.func, "id", ""))


def _only_tell(body: Sequence[ast.stmt]) -> bool:
    """Whether statements do nothing but to log, to print or to wait."""
    for node in body:
        match node:
            case ast.Pass() | ast.Expr(value=ast.Constant()):
                pass
            case ast.Expr(value=ast.Call() as call) if _tells(call):
                pass
            case ast.If() if _only_tell([*node.body, *node.orelse]):
                pass
            case _:
                return False
    return True
