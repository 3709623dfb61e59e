"""Which statements of a function become a block of plain Python, and the call that stands in their place."""

from __future__ import annotations

import ast
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

from ....ops.runtime.primitives.plain_code.allowed import refused
from ..source.changed_containers import own_containers
from ..source.scoping import certainly_set, names_read, names_set, parameters, read_first, within
from .beginnings import begin, begins, makes_new, makes_tensor
from .user_lines import parsed, place_of, same_place, written


@dataclass(frozen=True)
class Statements:
    """A statement of a function, by a line in it.

    Attributes:
        path: of the file; line: the number of the line.
        rest: whether all that follows up to the end of the function belongs to it.
        result: whether the function is the traced one, so that nothing is asked of what it gives.
        loops: how many loops before it belong to it, too.
        tensors: whether it may have tensors and arrays; above 1, whether what goes on with its results may be given a
            number of numpy, which Python's own may take the place of on other data.
        more: how many statements after it belong to it, too.
    """

    path: str
    line: int
    rest: bool
    result: bool = False
    loops: int = 0
    tensors: int = 0
    more: int = 0


def with_blocks(function: ast.FunctionDef, regions: Collection[Statements], free: Collection[str]) -> int:
    """Writes a call in place of the statements of some regions; returns in place of how many regions.

    Args:
        function: changed in place.
        regions: those of the file.
        free: the variables of functions around it.
    """
    count = 0
    for region in sorted(regions, key=lambda each: -each.line):
        place = next((n for n, each in enumerate(function.body) if _holds(each, region.line)), None)
        if place is None:
            continue
        first, end = (
            begin(function.body, place, region.loops, region.tensors),
            len(function.body) if region.rest else place + 1 + region.more,
        )
        made = (
            None
            if first is None or end > len(function.body)
            else _CutOut(function, first, end, free).call(region.result, region.tensors)
        )
        if made is not None:
            function.body[first:end] = [made]
            count += 1
    return count


def _holds(line: ast.stmt, number: int) -> bool:
    return line.lineno <= number <= (line.end_lineno or line.lineno)


class _CutOut:
    """Some statements of a function.

    Args:
        function: the function.
        first: the place of the first statement; end: that after the last one.
        free: the variables of functions around it.
    """

    def __init__(self, function: ast.FunctionDef, first: int, end: int, free: Collection[str]) -> None:
        self.before, self.body, self.after = function.body[:first], function.body[first:end], function.body[end:]
        self.own = own_containers(self.before, makes_new) - parameters(function.args)
        given = parameters(function.args)
        declared = [part for part in within(*function.body) if isinstance(part, ast.Global | ast.Nonlocal)]
        self.shared = {name for part in declared for name in part.names}
        self.free, self.known = {*free}, given | certainly_set(self.before)
        self.maybe = given | names_set(self.before)
        self.local = given | names_set(function.body)
        self.captured = _captured(self.before + self.after)

    def call(self, result: bool, tensors: int) -> ast.stmt | None:
        """The statement that stands in their place; None where they cannot be a block.

        Args:
            result: whether what they return is the result of the traced function.
            tensors: whether they may have tensors, and numbers of numpy.
        """
        returns = any(isinstance(part, ast.Return) for part in within(*self.body))
        bad = any(refused(part) for line in plainly(self.body) for part in ast.walk(line))
        if bad or (returns and self.after) or (not returns and not self.after):
            return None
        own = [part for part in within(*self.body) if isinstance(part, ast.Yield | ast.YieldFrom)]
        changed = names_set(self.body)
        if own or changed & (self.shared | self.captured):
            return None
        asked = names_read(self.body) & (self.local | self.free)
        unsure = (read_first(self.body) & self.local & self.maybe) - self.known
        if unsure:
            return None
        later = set() if returns else read_first(self.after)
        kept = (later & changed & self.known) - certainly_set(self.body)  # what it may leave as it is
        given = sorted((asked & (self.known | self.free)) | kept)
        body, hoisting = self._hoisted(changed, {*given}, tensors)
        if returns:
            call = _called(body, given, (self.own & {*given}, ()), result, tensors, hoisting)
            return _placed(ast.Return(call), self.body[0])
        results = sorted(later & (changed | (self.own & asked)))
        if not results or not {*results} <= self.known | certainly_set(self.body):
            return None
        parts: list[ast.expr] = [ast.Name(each, ast.Load()) for each in results]
        text = [*body, ast.Return(ast.Tuple(parts, ast.Load()))]
        call = _called(text, given, (self.own & {*given}, names_read(self.after)), False, tensors, hoisting)
        targets: list[ast.expr] = [ast.Name(each, ast.Store()) for each in results]
        return _placed(ast.Assign([ast.Tuple(targets, ast.Store())], call), self.body[0])

    def _hoisted(self, changed: set[str], given: set[str], tensors: int) -> tuple[list[ast.stmt], Hoisting]:
        """The statements without what is taken out of them: nothing that reads a list which they may have changed."""
        altered = set[str]()
        while True:
            hoisting = Hoisting(changed | altered, given, tensors)
            body = [hoisting.statement(line) for line in plainly(self.body)]
            late = [part for name, part in hoisting.found.items() if name in hoisting.late]
            more = (names_read(late) & names_read(body) & self.own) - altered
            if not more:
                return body, hoisting
            altered |= more


def _captured(lines: Sequence[ast.stmt]) -> set[str]:
    """The variables that functions defined elsewhere read, maybe later."""
    functions = [part for line in lines for part in ast.walk(line) if isinstance(part, ast.FunctionDef | ast.Lambda)]
    return names_read(functions)


def plainly(lines: Sequence[ast.stmt]) -> list[ast.stmt]:
    """Statements without annotations and without texts that document them."""
    whole = _Unannotated().visit(ast.Module(parsed(written(lines, own=True)), []))
    found: list[ast.stmt] = whole.body
    return found


SAME = "is_same_object"
"""The function of a block that stands for ``is``."""
WITHOUT_GRADIENTS = "without_gradients"
"""The function of a text that stands for `with torch.no_grad():`, by what it is given."""
ASKED = (
    WITHOUT_GRADIENTS, SAME, "is_same_class", "is_exactly", "class_name", "class_asked", "base_method", "place_of",
)  # fmt: skip
"""Functions of a block that stand for forms of Python."""
_OF_OPERATORS = {
    "__getitem__": "lambda key, items=None: items[key]",
    "__contains__": "lambda key, items=None: key in items",
}


def _single(*parts: ast.expr) -> bool:
    return any(isinstance(each, ast.Constant) and each.value in (None, True, False) for each in parts)


def _class_asked(part: ast.expr) -> ast.expr | None:
    """Whose class ``type(thing)`` or ``thing.__class__`` asks for; None for another expression."""
    match part:
        case ast.Call(ast.Name("type"), [thing], []) | ast.Attribute(thing, "__class__"):
            return thing
    return None


def _class_of(thing: ast.expr) -> ast.expr:
    return ast.copy_location(ast.Call(ast.Name("class_asked", ast.Load()), [thing], []), thing)


def _second(pair: tuple[ast.expr | None, ast.expr]) -> bool:
    """Puts the thing before the class that it is held against."""
    return pair[0] is None


class _Unannotated(ast.NodeTransformer):
    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        """``x: int = 1`` as ``x = 1``."""
        self.generic_visit(node)
        return None if node.value is None else same_place(ast.Assign([node.target], node.value), node)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        """A function without annotations."""
        self.generic_visit(node)
        node.returns, node.body = None, [each for each in node.body if each is not None] or [ast.Pass()]
        return node

    def visit_arg(self, node: ast.arg) -> Any:
        """A parameter."""
        node.annotation = None
        return node

    def visit_Attribute(self, node: ast.Attribute) -> Any:
        """``scores.__getitem__`` as a function that asks ``scores`` for an entry."""
        match node:
            case ast.Attribute(inner, "__name__") if (thing := _class_asked(inner)) is not None:
                return ast.copy_location(ast.Call(ast.Name("class_name", ast.Load()), [self.visit(thing)], []), node)
        self.generic_visit(node)
        if node.attr == "__class__":
            return _class_of(node.value)
        form = _OF_OPERATORS.get(node.attr)
        if form is None or not isinstance(node.ctx, ast.Load):
            return node
        made = ast.parse(form, mode="eval").body
        assert isinstance(made, ast.Lambda)
        made.args.defaults = [node.value]
        return made

    def visit_Compare(self, node: ast.Compare) -> Any:
        """``state is State.IDLE`` as a call: only members of an Enum are compared by identity."""
        name, things = SAME, [node.left, *node.comparators]
        kinds = [_class_asked(each) for each in things]
        if len(things) == 2 and any(kinds) and isinstance(node.ops[0], ast.Is | ast.IsNot | ast.Eq | ast.NotEq):
            name = "is_same_class" if all(kinds) else "is_exactly"
            things = [kind or thing for kind, thing in sorted(zip(kinds, things, strict=True), key=_second)]
        elif len(things) != 2 or not isinstance(node.ops[0], ast.Is | ast.IsNot) or _single(*things):
            self.generic_visit(node)
            return node
        call = ast.Call(ast.Name(name, ast.Load()), [self.visit(each) for each in things], [])
        return call if isinstance(node.ops[0], ast.Is | ast.Eq) else ast.UnaryOp(ast.Not(), call)

    def visit_Call(self, node: ast.Call) -> Any:
        """``type(self)`` as a call of a function of the block."""
        thing = _class_asked(node)
        self.generic_visit(node)
        return node if thing is None else _class_of(node.args[0])

    def visit_With(self, node: ast.With) -> Any:
        """``with torch.no_grad():`` as its statements, after one that says so; any other one stays."""
        self.generic_visit(node)
        match node.items:
            case [ast.withitem(ast.Call(ast.Attribute(_, "no_grad" | "inference_mode") as asked, [], []), None)]:
                made = ast.Expr(ast.Call(ast.Name(WITHOUT_GRADIENTS, ast.Load()), [asked], []))
                return [same_place(made, node), *node.body]
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        """A text alone, which documents something."""
        self.generic_visit(node)
        return None if isinstance(node.value, ast.Constant) else node


class Hoisting:
    """Takes expressions out of the statements of a block, which may be no plain Python: ``x.argmax(-1).tolist()``.

    They hang on nothing that the block sets, and each run of it evaluates them.

    Args:
        written: what the block sets.
        given: what it is given.
        tensors: whether the block may make tensors.

    Attributes:
        found: the expressions, by the names that stand for them.
        late: those names whose expressions come after something that may change what they find.
    """

    def __init__(self, written: Collection[str], given: Collection[str], tensors: int) -> None:
        self.written, self.given, self.tensors = written, given, tensors
        self.found = dict[str, ast.expr]()
        self.late = set[str]()
        self.leaves = False  # whether a statement before may have left the function
        self.acts = False  # whether one before does more than set variables
        self.place = 0  # the line of the one that is looked at

    def statement(self, line: ast.stmt) -> ast.stmt:
        """A statement without them."""
        self.place = place_of(line) or self.place
        match line:
            case ast.Assign(value=value) if self.tensors and makes_tensor(value):
                pass  # the block may write to it
            case ast.Assign(value=ast.Tuple(parts) as value) if self.tensors:
                value.elts = [each if makes_tensor(each) else self._without(each) for each in parts]
            case ast.For():
                line.iter = self._without(line.iter)
            case ast.Assign() | ast.Return() if line.value is not None:
                line.value = self._without(line.value)
            case ast.If() if not self.leaves:
                line.test = self._truth(line.test)
        self.acts = self.acts or not begins(line, tensors=False)
        self.leaves = self.leaves or any(isinstance(part, ast.Return | ast.Raise) for part in within(line))
        return line

    def _truth(self, test: ast.expr) -> ast.expr:
        """A condition, which is taken out whole where it hangs on nothing that the block sets."""
        reads = names_read([test])
        if not reads & {*self.given} or reads & {*self.written}:
            return test
        return self._taken(ast.Call(ast.Name("bool", ast.Load()), [test], []))

    def _taken(self, part: ast.expr) -> ast.expr:
        name = f"H{len(self.found)}"
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
        if isinstance(part, ast.Call) and reads & {*self.given} and not reads & {*self.written}:
            return self._taken(part)
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


def _called(
    body: list[ast.stmt],
    given: Sequence[str],
    own: tuple[Collection[str], Collection[str]],
    result: bool,
    tensors: int,
    hoisting: Hoisting,
) -> ast.Call:
    text = written(body)
    parts = tuple((name, ast.unparse(each), name in hoisting.late) for name, each in hoisting.found.items())
    names = tuple(tuple(sorted(each)) for each in own)
    given_first: list[Any] = [text, tuple(given), names, result, parts, tensors]
    nothing = ast.arguments([], [], None, [], [], None, [])
    values: list[ast.expr] = [ast.Lambda(nothing, each) for each in hoisting.found.values()]
    values += [ast.Name(each, ast.Load()) for each in given]
    return ast.Call(ast.Name("<run_block>", ast.Load()), [*map(ast.Constant, given_first), *values], [])


def _placed(made: ast.stmt, place: ast.stmt) -> ast.stmt:
    ast.copy_location(made, place)
    return ast.fix_missing_locations(made)
