"""A variable that holds a match or None, or an entry of a table or None, as what it was given.

``m = re.match(p, text)``, then ``if m: … m[1] …``: a choice has the truth of a match as its condition, and a side that
goes on by the match makes it anew. So both ways are recorded; and the same of ``entry = TABLE.get(key)``, whose sides
ask the table for the entry. Where the variable is read by anything else, or what it was made of changes in between, it
stays.
"""

from __future__ import annotations

import ast
from collections.abc import Collection, Iterator, Sequence

from .choice_expressions import CHANGING, called
from .forms_of_choices import copied
from .scoping import captured_names, names_read, names_set, parameters, read_first, within

_FINDING = ("match", "search", "fullmatch")
_PLAIN = (
    ast.Name, ast.Constant, ast.Attribute, ast.Load, ast.keyword, ast.JoinedStr, ast.FormattedValue, ast.BinOp,
    ast.operator, ast.Subscript, ast.Slice, ast.Tuple, ast.List, ast.Dict, ast.UnaryOp, ast.unaryop,
)  # fmt: skip
_METHODS = (
    "strip",
    "lstrip",
    "rstrip",
    "lower",
    "upper",
    "casefold",
    "title",
    "removeprefix",
    "removesuffix",
    "replace",
)
"""Methods that change nothing, so that it does not matter how often they are called."""


def without_held_values(function: ast.FunctionDef | ast.Lambda, lines: Collection[int]) -> set[int]:
    """Puts what a variable was given in its place, where that is asked for on one of some lines.

    Returns:
        The lines of what asks for the variable then.
    """
    unnamed = _Unnamed(lines)
    if isinstance(function, ast.Lambda):
        function.body = unnamed.visit(function.body)
        return unnamed.found
    given = [each for each in within(*function.body) if isinstance(each, ast.Assign | ast.NamedExpr)]
    names = {name for each in given if each.lineno in lines and _holds(each.value) for name in names_set([each])}
    places = _Places(names - captured_names(function.body) - parameters(function.args))
    function.body = [unnamed.visit(each) for each in places.block(function.body, set())]
    return places.found | unnamed.found


def _finds(value: ast.AST) -> bool:
    """Whether an expression asks whether there is a match, of what has a name or is constant."""
    match value:
        case ast.Call(ast.Attribute(receiver, name), given, named) if name in _FINDING:
            return all(map(_is_plain, (receiver, *given, *named)))
    return False


def _asks_table(value: ast.AST) -> bool:
    """Whether an expression is `table.get(key)`."""
    match value:
        case ast.Call(ast.Attribute(table, "get"), [key], []):
            return _is_plain(table) and _is_plain(key)
    return False


def _is_plain(value: ast.AST) -> bool:
    return all(isinstance(part, _PLAIN) or _is_method(part) for part in ast.walk(value))


def _is_method(part: ast.AST) -> bool:
    match part:
        case ast.Call(ast.Attribute(_, name)):
            return name in _METHODS
    return False


def _holds(value: ast.AST) -> bool:
    return _finds(value) or _asks_table(value)


# -- what stands for a variable --------------------------------------------------------------------------------------


def _truth(value: ast.expr, place: ast.AST) -> ast.expr:
    return _of_table("held", value, place) or _not(_is_none(value, place), place)


def _is_none(value: ast.expr, place: ast.AST) -> ast.expr:
    return _of_table("lacks", value, place) or _not(_moved(value, place), place)


def _known(value: ast.expr, place: ast.AST) -> ast.expr:
    return _of_table("entry", value, place) or _moved(value, place)


def _of_table(name: str, value: ast.expr, place: ast.AST, *more: ast.expr) -> ast.expr | None:
    match value:
        case ast.Call(ast.Attribute(table, "get"), [key], []):
            return called(name, place, _moved(table, place), _moved(key, place), *more)
    return None


def _not(value: ast.expr, place: ast.AST) -> ast.expr:
    return ast.copy_location(ast.UnaryOp(ast.Not(), value), place)


def _moved(value: ast.expr, place: ast.AST) -> ast.expr:
    """A copy of an expression at another place."""
    made: ast.expr = copied(value)
    for part in ast.walk(made):
        if isinstance(part, ast.expr | ast.keyword):
            ast.copy_location(part, place)
    return made


# -- the statements --------------------------------------------------------------------------------------------------


class _Places:
    """The statements of a function that give some variables a match or an entry.

    Args:
        names: of the variables.

    Attributes:
        found: the lines that ask for the variables.
    """

    def __init__(self, names: Collection[str]) -> None:
        self.names, self.found = names, set[int]()

    def block(self, body: Sequence[ast.stmt], after: set[str]) -> list[ast.stmt]:
        """Some statements, in which calls stand for the variables.

        Args:
            body: the statements.
            after: the variables that may be read after them before they are set.
        """
        lines = [each for line in body for each in _apart(line)]
        for at in reversed(range(len(lines))):
            self._inside(lines[at], read_first(lines[at + 1 :]) | after)
        made: list[ast.stmt] = []
        while lines:
            line, *lines = lines
            if not self._replaced(line, lines, after):
                made.append(line)
        return made or [ast.copy_location(ast.Pass(), each) for each in body[:1]]

    def _inside(self, line: ast.stmt, after: set[str]) -> None:
        """Does the same with the blocks of a statement."""
        if isinstance(line, ast.If | ast.For | ast.While | ast.With):
            after = after if isinstance(line, ast.If) else after | read_first([line])
            line.body = self.block(line.body, after)
            if not isinstance(line, ast.With) and line.orelse:
                line.orelse = self.block(line.orelse, after)

    def _replaced(self, line: ast.stmt, rest: list[ast.stmt], after: set[str]) -> bool:
        """Whether a statement gives a variable a match or an entry; then the rest has that in its place."""
        match line:
            case ast.Assign([ast.Name(name)], value) if _holds(value) and name in self.names:
                end = next((at for at, each in enumerate(rest) if _gives(each, name)), len(rest))
                changed = names_set(rest[:end]) & (names_read([value]) | {name})
                if changed or _alter(rest[:end], value) or (end == len(rest) and name in after):
                    return False
                asked = _OfVariable(name, value)
                rest[:end] = [asked.visit(each) for each in rest[:end]]
                self.found |= asked.lines
                return True
        return False


def _alter(lines: Sequence[ast.stmt], value: ast.expr) -> bool:
    """Whether some statements may change the table that an expression asks, or an attribute that it reads."""
    for part in within(*lines):
        match part:
            case ast.Subscript(base, _, ast.Store() | ast.Del()) | ast.Attribute(base, _, ast.Store() | ast.Del()):
                altered = [base]
            case ast.Call(ast.Attribute(base, method), given):
                altered = [*([base] if method in CHANGING else []), *(given if _asks_table(value) else [])]
            case ast.Call(_, given) if _asks_table(value):
                altered = given
            case _:
                altered = []
        if any(names_read([each]) & names_read([_owner(value)]) for each in altered):
            return True
    return False


def _owner(value: ast.expr) -> ast.expr:
    """The pattern or the table that an expression asks."""
    match value:
        case ast.Call(ast.Attribute(owner)):
            return owner
    return value


def _gives(line: ast.stmt, name: str) -> bool:
    """Whether a statement does nothing with a variable but to give it another value."""
    return isinstance(line, ast.Assign) and name in names_set([line]) and name not in names_read([line])


def _apart(line: ast.stmt) -> Iterator[ast.stmt]:
    """A statement that gives a variable a match or an entry before it does anything else, as two."""
    match line:
        case ast.If(test) | ast.Return(ast.IfExp(test)) | ast.Assign(_, ast.IfExp(test)):
            first = test
            while not isinstance(first, ast.NamedExpr):
                match first:
                    case ast.BoolOp(_, [inner, *_]) | ast.UnaryOp(ast.Not(), inner) | ast.Compare(inner):
                        first = inner
                    case _:
                        break
            if isinstance(first, ast.NamedExpr) and _holds(first.value):
                yield ast.copy_location(ast.Assign([first.target], first.value), first)
                line = _WithoutWalrus(first).visit(line)
    yield line


class _WithoutWalrus(ast.NodeTransformer):
    """Puts the variable in the place of an expression that sets it."""

    def __init__(self, given: ast.NamedExpr) -> None:
        self.given = given

    def visit_NamedExpr(self, node: ast.NamedExpr) -> ast.AST:
        """One such expression."""
        return ast.copy_location(ast.Name(node.target.id, ast.Load()), node) if node is self.given else node


class _Replacing(ast.NodeTransformer):
    """Puts other expressions in the place of what holds a match, an entry or None: by what it is asked for."""

    def held(self, node: ast.AST) -> ast.expr | None:
        """What an expression holds; None where it is another one."""
        raise NotImplementedError  # each way of holding a value has its own

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison, maybe with None."""
        match node:
            case ast.Compare(asked, [ast.Is() | ast.IsNot() as operator], [ast.Constant(None)]):
                if (value := self.held(asked)) is not None:
                    none = _is_none(value, node)
                    return none if isinstance(operator, ast.Is) else _not(none, node)
        return self.generic_visit(node)

    def visit_If(self, node: ast.If) -> ast.AST:
        """A branch, which asks for the truth of its condition."""
        node.test = self._condition(node.test)
        return self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        """As above."""
        node.test = self._condition(node.test)
        return self.generic_visit(node)

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """As above."""
        node.ifs = list(map(self._condition, node.ifs))
        return self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        """What takes another value in the place of none."""
        first, *others = node.values
        value = self.held(first) if isinstance(node.op, ast.Or) else None
        if value is None:
            return self.generic_visit(node)
        other = others[0] if len(others) == 1 else ast.copy_location(ast.BoolOp(ast.Or(), others), others[0])
        if _is_plain(other) and (entry := _of_table("entry_or", value, first, other)) is not None:
            return entry
        return ast.copy_location(ast.IfExp(_truth(value, first), _known(value, first), self.visit(other)), node)

    def _condition(self, test: ast.expr) -> ast.expr:
        if (value := self.held(test)) is not None:
            return _truth(value, test)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            test.operand = self._condition(test.operand)
        elif isinstance(test, ast.BoolOp):
            test.values = [self._condition(each) for each in test.values]
        return test


class _OfVariable(_Replacing):
    """The places that read a variable.

    Attributes:
        lines: where they are.
    """

    def __init__(self, name: str, value: ast.expr) -> None:
        self.name, self.value, self.lines = name, value, set[int]()

    def held(self, node: ast.AST) -> ast.expr | None:
        """What the variable holds."""
        if not isinstance(node, ast.Name) or node.id != self.name or not isinstance(node.ctx, ast.Load):
            return None
        self.lines.add(node.lineno)
        return self.value

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A variable."""
        return node if self.held(node) is None else _known(self.value, node)


class _Unnamed(_Replacing):
    """The places on some lines that ask a table for an entry without giving it a name.

    Attributes:
        found: the lines of such places.
    """

    def __init__(self, lines: Collection[int]) -> None:
        self.lines, self.found = lines, set[int]()

    def held(self, node: ast.AST) -> ast.expr | None:
        """The call that asks."""
        if not isinstance(node, ast.expr) or node.lineno not in self.lines or not _asks_table(node):
            return None
        self.found.add(node.lineno)
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """A part of an entry."""
        return self._of_entry(node)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """As above."""
        return self._of_entry(node)

    def _of_entry(self, node: ast.Subscript | ast.Attribute) -> ast.AST:
        if (value := self.held(node.value)) is not None:
            node.value = _known(value, node.value)
        return self.generic_visit(node)
