"""Expressions that are taken out of a block, and evaluated before it."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Collection
from typing import Any

from .....ops.graph.operators.names import MATH, STATISTICS
from .....ops.runtime.primitives.plain_code.language import LIBRARY
from ...source.scoping import names_read, within
from ..user_lines import place_of
from .beginnings import begins, copies, makes_tensor

_TOTAL = ("tolist", "size", "dim", "numel", "detach", "cpu", "numpy", "flatten", "float", "int", "long", "abs")
"""Methods of a tensor that fail on none."""


def never_fails(part: ast.expr) -> bool:
    """Whether an expression takes no time and fails for no data, so that a run may evaluate it though it needs not."""
    match part:
        case ast.Name() | ast.Constant():
            return True
        case ast.Attribute(value=value):
            return never_fails(value)
        case ast.Call(ast.Name("len" | "bool"), [value], []):
            return never_fails(value)
        case ast.Call(ast.Attribute(value, name), [], []):
            return name in _TOTAL and never_fails(value)
    return False


OF_BLOCKS = frozenset(("Fraction", "from_samples", *LIBRARY["bisect"], *LIBRARY["statistics"])) - {*STATISTICS}
"""Functions and classes that blocks have, and recordings have not."""
_WITH_MORE = ("fmean", "stdev", "pstdev", "variance", "pvariance", "quantiles")
"""Functions that recordings have of one argument, and blocks of more."""
_OF_NUMBERS = frozenset(("cdf", "pdf", "inv_cdf", "zscore", *LIBRARY["math"])) - {*MATH}
"""Methods of a distribution and functions of math, which may be torch's where they are asked for no plain number."""


def _gives_number(part: ast.AST) -> bool:
    match part:
        case ast.Call(ast.Name("float" | "int") | ast.Attribute(attr="item" | "tolist")):
            return True
    return False


OF_COPY = "_copied"
"""At the end of names for parts of copies, which stay in a block unless they call the op of a tokenizer."""
Part = tuple[str, Callable[[], Any]]
"""The source of an expression, and what gives its value."""
_OF_RECORDING = re.compile(r"Traced(Bool|Str)|argument '\w+'[^;]* must be (bool|str)")
"""What Python and torch say of flags and texts that are decided at run time."""


def evaluated(source: str, give: Callable[[], Any], tensors: bool) -> Part | None:
    """An expression of a block, evaluated before it; None where it stays in the block, since torch takes plain flags.

    Args:
        source: of it.
        give: gives its value.
        tensors: whether the block may have tensors.
    """
    try:
        found = give()
    except TypeError as error:
        if not tensors or not _OF_RECORDING.search(str(error)):
            raise
        return None
    return source, lambda: found


def names_called(tree: ast.AST) -> set[str]:
    """The names of functions and methods that a tree calls, and of tables in which it looks one up."""
    called = (part.func for part in ast.walk(tree) if isinstance(part, ast.Call))
    return {name for each in called if (name := _name_of(each)) is not None}


def _name_of(function: ast.expr) -> str | None:
    while isinstance(function, ast.Subscript):
        function = function.value
    match function:
        case ast.Name(name) | ast.Attribute(attr=name):
            return name
    return None


class Hoisting:
    """Takes expressions out of the statements of a block, which may be no plain Python: ``x.argmax(-1).tolist()``.

    They hang on nothing that the block sets, and each run of it evaluates them.

    Args:
        written: what the block sets.
        given: what it is given.
        tensors: whether the block may make tensors.
        calls: the names of functions that it calls itself.

    Attributes:
        found: the expressions, by the names that stand for them.
        late: those names whose expressions come after something that may change what they find.
    """

    def __init__(
        self, written: Collection[str], given: Collection[str], tensors: int, calls: Collection[str] = ()
    ) -> None:
        self.written, self.given, self.tensors, self.calls = written, given, tensors, calls
        self.found = dict[str, ast.expr]()
        self.late = set[str]()
        self.leaves = False  # whether a statement before may have left the function
        self.acts = False  # whether one before does more than set variables
        self.of_copy = ""  # the mark of what is looked at
        self.place = 0  # the line of the one that is looked at

    def statement(self, line: ast.stmt) -> ast.stmt:
        """A statement without them."""
        self.place = place_of(line) or self.place
        match line:
            case ast.Assign(value=value) if self.tensors and copies(value):
                self._copied(value)
            case ast.Assign(value=value) if self.tensors and makes_tensor(value):
                pass  # the block may write to it
            case ast.Assign(value=ast.Tuple(parts) | ast.List(parts) as value) if self.tensors:
                value.elts = [self._of_several(each) for each in parts]
            case ast.Assign(value=ast.Dict(keys, parts) as value) if self.tensors:
                value.keys = [each and self._without(each) for each in keys]
                value.values = [self._of_several(each) for each in parts]
            case ast.For():
                line.iter = self._without(line.iter)
            case ast.Assign() | ast.Return() if line.value is not None:
                line.value = self._without(line.value)
            case ast.If() if not self.leaves:
                line.test = self._truth(line.test)
        self.acts = self.acts or not begins(line, tensors=False)
        self.leaves = self.leaves or any(isinstance(part, ast.Return | ast.Raise) for part in within(line))
        return line

    def _of_several(self, part: ast.expr) -> ast.expr:
        """A value of several that a statement sets."""
        return part if makes_tensor(part) else self._copied(part) if copies(part) else self._without(part)

    def _copied(self, part: ast.expr) -> ast.expr:
        """Looks for calls in what is copied; the copy itself is made by the block, which may write to it."""
        match part:
            case ast.Call(ast.Attribute() as method) | ast.Subscript(ast.Call(ast.Attribute() as method)):
                self.of_copy = OF_COPY
                method.value = self._without(method.value)
                self.of_copy = ""
        return part

    def _truth(self, test: ast.expr) -> ast.expr:
        """A condition, which is taken out whole where it hangs on nothing that the block sets."""
        reads = names_read([test])
        if not reads & {*self.given} or reads & {*self.written}:
            return test
        return self._taken(ast.Call(ast.Name("bool", ast.Load()), [test], []))

    def _taken(self, part: ast.expr) -> ast.expr:
        name = f"H{len(self.found)}{self.of_copy}"
        for inner in ast.walk(part):
            if self.place and hasattr(inner, "lineno"):
                inner.lineno = inner.end_lineno = self.place  # type: ignore[attr-defined]  # as the user wrote it
        self.found[name] = part
        self.late |= {name} if self.acts else set()
        return ast.Name(name, ast.Load())

    def _without(self, part: Any) -> Any:
        """An expression, or the parts of it that are taken out whole."""
        if isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in ("zip", "enumerate"):
            part.args = [self._without(each) for each in part.args]  # they give what no recording holds
            return part
        reads = names_read([part]) if isinstance(part, ast.expr) else set()
        whole = isinstance(part, ast.Call) and not any(map(self._stays, ast.walk(part)))
        if whole and reads & {*self.given} and not reads & {*self.written}:
            return self._taken(part) if not self.leaves or never_fails(part) else part
        if isinstance(part, ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp):
            part.generators[0].iter = self._without(part.generators[0].iter)
            return part
        if isinstance(part, ast.Lambda | ast.IfExp):
            return part
        if isinstance(part, ast.BoolOp | ast.NamedExpr) or not isinstance(part, ast.expr | ast.keyword):
            return part
        for field, value in ast.iter_fields(part):
            if isinstance(value, list):
                setattr(part, field, [self._without(each) for each in value])
            elif isinstance(value, ast.AST):
                setattr(part, field, self._without(value))
        return part

    def _stays(self, part: ast.AST) -> bool:
        """Whether a part of a call stays in the block: a choice, a function of the block, what no recording holds."""
        match part:
            case ast.IfExp():
                return True
            case ast.Call(function) if _name_of(function) in self.calls:
                return True
            case ast.Call(ast.Name(name) | ast.Attribute(attr=name), args, named):
                with_more = name in _WITH_MORE and len(args) + len(named) > 1
                of_number = name in _OF_NUMBERS and any(_gives_number(inner) for inner in ast.walk(part))
                return name in OF_BLOCKS or with_more or of_number
        return False
