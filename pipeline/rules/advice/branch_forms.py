"""The branch of a line of the user, written with `tracepack.cond`, so that both sides of it are recorded.

What is said at a trace shows the user's own names. It has to work as it is written, so nothing is said of a branch that
is more than a choice between values: one that binds names in a row that hang on each other, or loops.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from pathlib import PurePath
from typing import TypeGuard

from ....ops.graph.graph import SourceLine

_MOST_LETTERS = 300


def written_with_cond(line: SourceLine | None) -> str:
    """The branch that a line takes, with `tracepack.cond`; empty where there is no such form, or no source."""
    if line is None or line.code.lstrip().startswith(("while ", "assert ", "match ", "case ")):
        return ""
    return form_of(line, _form)


def form_of(line: SourceLine | None, written: Callable[[ast.AST, SourceLine], str]) -> str:
    """A form for a line, by the source that has it; empty where there is none, or several files say otherwise."""
    if line is None:
        return ""
    try:
        forms = {written(tree, line) for tree in _sources(line)}
    except (SyntaxError, ValueError, RecursionError):  # no source of Python, or what has no such form
        return ""
    # Two files of one name may have the same line; Python 3.10 writes a lambda without arguments with a blank.
    found = forms.pop().replace("lambda :", "lambda:") if len(forms) == 1 else ""
    return found if len(found) <= _MOST_LETTERS and "\n" not in found else ""


def _sources(line: SourceLine) -> Iterator[ast.AST]:
    """The files that have the line; a line knows its file without the folders."""
    for path in list(linecache.cache):
        text = linecache.getline(path, line.line).strip() if PurePath(path).name == line.file else ""
        if text and text[: len(line.code)] == line.code:
            yield _parsed("".join(linecache.getlines(path)))


@lru_cache(8)
def _parsed(source: str) -> ast.AST:
    return ast.parse(source)


def _form(tree: ast.AST, line: SourceLine) -> str:
    for node in ast.walk(tree):
        for block in (getattr(node, name, None) for name in ("body", "orelse", "finalbody")):
            lines: list[ast.stmt] = block if isinstance(block, list) else []
            for place, each in enumerate(lines):
                if isinstance(each, ast.If) and any(holds(test, line.line) for test in _tests(each)):
                    return _of_statement(lines[place:]) or _of_hanging(node, lines, place)
    values = [each for each in ast.walk(tree) if _is_choice(each) and holds(each, line.line)]
    inner = {id(part) for each in values for part in ast.walk(each) if part is not each}
    outermost = [each for each in values if id(each) not in inner]
    return ", ".join(ast.unparse(_choice(each)) for each in outermost) if all(map(is_plain, outermost)) else ""


def _is_choice(node: ast.AST) -> TypeGuard[ast.expr]:
    return isinstance(node, ast.IfExp | ast.BoolOp) or (isinstance(node, ast.Compare) and len(node.ops) > 1)


def _tests(branch: ast.If) -> Iterator[ast.expr]:
    """The conditions of an `if` with its `elif`."""
    yield branch.test
    match branch.orelse:
        case [ast.If() as other]:
            yield from _tests(other)


def holds(node: ast.expr | ast.stmt, number: int) -> bool:
    """Whether a part of the source stands on a line."""
    return node.lineno <= number <= (node.end_lineno or node.lineno)


def is_plain(node: ast.AST) -> bool:
    """Whether an expression may stand in a lambda, and gives no None but by a choice of its own."""
    own, walked = (ast.NamedExpr, ast.Await, ast.Yield, ast.YieldFrom, ast.Starred), list(ast.walk(node))
    calls = {ast.unparse(each.func) for each in walked if isinstance(each, ast.Call)}
    inner = [each for each in walked if isinstance(each, ast.IfExp) and each not in list(_choices(node))]
    alone = calls.isdisjoint(("eval", "exec", "locals", "super")) and not any(isinstance(each, own) for each in walked)
    return alone and not any(map(_is_none, [node, *(side for each in inner for side in (each.body, each.orelse))]))


def _choices(node: ast.AST) -> Iterator[ast.IfExp]:
    """A choice, and those that are a side of it."""
    if isinstance(node, ast.IfExp):
        yield node
        for side in (node.body, node.orelse):
            yield from _choices(side)


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


# -- statements ----------------------------------------------------------------------------------------------------


def _of_statement(block: Sequence[ast.stmt]) -> str:
    """The statement that takes the place of an `if`, the first of the rest of a block."""
    first = block[0]
    assert isinstance(first, ast.If)
    if (appended := _appended(first)) is not None:
        return appended
    if (value := _returned(block)) is not None:
        return f"return {ast.unparse(value)}" if is_plain(value) else ""
    if (before := _returned_before_others(block)) is not None:
        return before
    names = list(dict.fromkeys(name for each in _chain(first) for name in _bound(each)))
    if not names or any(name == "" for name in names):
        return ""
    value = _assigned(first, names)
    return f"{', '.join(names)} = {ast.unparse(value)}" if value is not None and is_plain(value) else ""


def _appended(branch: ast.If) -> str | None:
    """What adds an item to a list or not."""
    match branch:
        case ast.If(body=[ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [item], []))], orelse=[]) if (
            is_plain(branch.test) and is_plain(item)
        ):
            more = f"tracepack.cond({_test(branch.test)}, lambda: [{ast.unparse(item)}], lambda: [])"
            if isinstance(item, ast.Constant | ast.Name) and not isinstance(branch.test, ast.BoolOp):
                more = f"[{ast.unparse(item)}] * int(bool({ast.unparse(branch.test)}))"
            return f"{name} = {name} + {more}"
    return None


def _returned(block: Sequence[ast.stmt]) -> ast.expr | None:
    """The value that a block returns, whichever way it takes."""
    match block:
        case [ast.Return(value), *_]:
            return value
        case [ast.If() as branch, *rest] if is_plain(branch.test):
            one, other = _returned(branch.body), _returned([*branch.orelse, *rest])
            return None if one is None or other is None else _cond(branch.test, one, other)
    return None


def _returned_before_others(block: Sequence[ast.stmt]) -> str | None:
    """What returns a value, or goes on with several lines, which become a function."""
    match block:
        case [ast.If(test, [ast.Return(ast.expr() as value)], []), *rest, ast.Return(ast.expr() as last)]:
            if not rest or not all(map(is_plain, (test, value, last))):
                return None
            given = ", ".join(f"{name}={name}" for name in _rebound(rest))
            form = f"return tracepack.cond({_test(test)}, lambda: {_side(value)}, rest)"
            return f"{form}, where def rest({given}): has the lines after it,"
    return None


def _rebound(lines: Sequence[ast.stmt]) -> list[str]:
    """The names that some lines read before they set them."""
    found, known = list[str](), set[str]()
    for line in lines:
        parts = list(ast.walk(line))
        loops = [each.target for each in parts if isinstance(each, ast.For | ast.comprehension)]
        own = {each.id for loop in loops for each in ast.walk(loop) if isinstance(each, ast.Name)}
        names = [each for each in parts if isinstance(each, ast.Name) and each.id not in own]
        changed = [each.target for each in parts if isinstance(each, ast.AugAssign)]
        read = [each for each in names if isinstance(each.ctx, ast.Load) or each in changed]
        found += [each.id for each in read if each.id not in known]
        known |= {each.id for each in names if isinstance(each.ctx, ast.Store)}
    return [name for name in dict.fromkeys(found) if name in known]


def _of_hanging(function: ast.AST, lines: Sequence[ast.stmt], place: int) -> str:
    """What takes the place of an `if` whose lines hang on each other: they become functions."""
    branch = lines[place]
    if not isinstance(function, ast.FunctionDef) or not isinstance(branch, ast.If) or not is_plain(branch.test):
        return ""
    if not all(map(_sets_names, [*branch.body, *branch.orelse])):
        return ""
    read = {part.id for each in lines[place + 1 :] for part in ast.walk(each) if isinstance(part, ast.Name)}
    names = [name for name in _set_in([*branch.body, *branch.orelse]) if name in read]
    known = {each.arg for each in function.args.args} | {*_set_in(lines[:place])}
    known |= {*_set_in(branch.body)} & {*_set_in(branch.orelse)}
    if not names or not known.issuperset(names):
        return ""
    found = ", ".join(names)
    kept = found if len(names) == 1 else f"({found})"
    test, side = _test(branch.test), _defined("side", branch.body, known)
    if not branch.orelse:
        form = f"{found} = tracepack.cond({test}, side, lambda: {kept})"
        return f"{form}, where {side} has the lines of the branch and returns {found},"
    form = f"{found} = tracepack.cond({test}, side, other), where {side} has the lines of the branch"
    return f"{form}, {_defined('other', branch.orelse, known)} those of else, and both return {found},"


def _sets_names(statement: ast.stmt) -> bool:
    """Whether a statement does nothing but set variables."""
    parts = ast.walk(statement)
    stored = [
        part for part in parts if isinstance(part, ast.Attribute | ast.Subscript) and isinstance(part.ctx, ast.Store)
    ]
    return isinstance(statement, ast.Assign | ast.AugAssign) and is_plain(statement) and not stored


def _defined(name: str, lines: Sequence[ast.stmt], known: set[str]) -> str:
    """How a function of some lines begins: it is given what they read before they set it."""
    return f"def {name}({', '.join(f'{each}={each}' for each in _rebound(lines) if each in known)}):"


def _set_in(lines: Sequence[ast.stmt]) -> list[str]:
    """The names that some lines set, in order."""
    parts = [part for each in lines for part in ast.walk(each) if isinstance(part, ast.Name)]
    return list(dict.fromkeys(part.id for part in parts if isinstance(part.ctx, ast.Store)))


def _chain(branch: ast.If) -> Iterator[Sequence[ast.stmt]]:
    """The sides of an `if` with its `elif`."""
    yield branch.body
    match branch.orelse:
        case [ast.If() as other]:
            yield from _chain(other)
        case []:
            pass
        case block:
            yield block


def _bound(block: Sequence[ast.stmt]) -> dict[str, ast.expr]:
    """The names that a side sets, with their values; one without letters where it does more than that."""
    found: dict[str, ast.expr] = {}
    for each in block:
        match each:
            case ast.Assign([ast.Name(name)], value):
                pairs = [(name, value)]
            case ast.Assign([ast.Tuple(targets)], ast.Tuple(values)) if len(targets) == len(values):
                pairs = [(getattr(target, "id", ""), value) for target, value in zip(targets, values, strict=True)]
            case ast.AugAssign(ast.Name(name), operator, value):
                pairs = [(name, ast.BinOp(ast.Name(name), operator, value))]
            case _:
                return {"": ast.Constant(None)}
        read = {part.id for _, value in pairs for part in ast.walk(value) if isinstance(part, ast.Name)}
        if read & found.keys():  # it needs what the line before it has set
            return {"": ast.Constant(None)}
        found |= dict(pairs)
    return found


def _assigned(branch: ast.If, names: Sequence[str]) -> ast.expr | None:
    """What the names become; each that a side does not set keeps its value."""
    if not is_plain(branch.test):
        return None
    match branch.orelse:
        case [ast.If() as chained]:
            other = _assigned(chained, names)
        case block:
            other = _together(_bound(block), names)
    return None if other is None else _cond(branch.test, _together(_bound(branch.body), names), other)


def _together(values: dict[str, ast.expr], names: Sequence[str]) -> ast.expr:
    found = [values.get(name, ast.Name(name)) for name in names]
    return found[0] if len(found) == 1 else ast.Tuple(found)


# -- expressions ---------------------------------------------------------------------------------------------------


def _choice(value: ast.expr) -> ast.expr:
    """An expression, whose choice is one by `tracepack.cond`."""
    match value:
        case ast.IfExp(test, body, orelse):
            return _cond(test, body, orelse)
        case ast.BoolOp(operator, [one, *others]):
            rest = others[0] if len(others) == 1 else ast.BoolOp(operator, others)
            sides = (rest, one) if isinstance(operator, ast.And) else (one, rest)
            return _cond(one, *sides)
        case ast.Compare(left, [first, *others], [middle, *more]) if others:
            return _cond(ast.Compare(left, [first], [middle]), ast.Compare(middle, others, more), ast.Constant(False))
    return value


def _cond(test: ast.expr, one: ast.expr, other: ast.expr) -> ast.expr:
    """The choice as a call.

    Raises:
        ValueError: it is one between constants of different types, which `tracepack.cond` refuses.
    """
    if _is_none(one) or _is_none(other):
        if not all(_is_none(each) or _is_number_or_text(each) for each in (one, other)):
            raise ValueError("None, and what may be a tensor")
    elif isinstance(one, ast.Constant) and isinstance(other, ast.Constant) and type(one.value) is not type(other.value):
        raise ValueError("two types")
    text = f"tracepack.cond({_test(test)}, lambda: {_side(one)}, lambda: {_side(other)})"
    return ast.parse(text, mode="eval").body


def _is_number_or_text(value: ast.expr) -> bool:
    """Whether an expression gives a number or a text for certain, which may stand beside None."""
    match value:
        case ast.Constant(str() | int() | float()) | ast.JoinedStr():
            return True
        case ast.Call(ast.Attribute(_, name)):
            return name in ("item", "lower", "upper", "strip", "title")
        case ast.Call(ast.Name(name)):
            return name in ("str", "int", "float", "len", "round")
        case ast.IfExp(_, body, orelse):
            return all(_is_none(each) or _is_number_or_text(each) for each in (body, orelse))
    return False


def _side(value: ast.expr) -> str:
    return ast.unparse(_choice(value) if isinstance(value, ast.IfExp) else value)


def _test(test: ast.expr) -> str:
    """A condition as an argument, where Python asks for no truth: `and` and `or` are choices then."""
    match test:
        case ast.UnaryOp(ast.Not(), ast.BoolOp() as inner):
            return f"not {_test(inner)}"
        case ast.BoolOp(operator, [one, *others]):
            rest = others[0] if len(others) == 1 else ast.BoolOp(operator, others)
            first, last = _truth(one), _truth(rest)
            if _cannot_fail(rest):
                return f"{first} {'and' if isinstance(operator, ast.And) else 'or'} {last}"
            sides = (last, "False") if isinstance(operator, ast.And) else ("True", last)
            return f"tracepack.cond({first}, lambda: {sides[0]}, lambda: {sides[1]})"
        case ast.Compare(_, [_, *others], [middle, *more]) if others:
            return ast.unparse(test if _cannot_fail(ast.Compare(middle, others, more)) else _choice(test))
    return ast.unparse(test)


def _truth(test: ast.expr) -> str:
    """A condition as a bool."""
    text = _test(test)
    own = isinstance(test, ast.Compare) or (isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not))
    return text if own or isinstance(test, ast.BoolOp) else f"bool({text})"


def _cannot_fail(test: ast.expr) -> bool:
    """Whether a condition may be asked for where Python would not: it compares variables, and lengths of them."""
    for each in ast.walk(test):
        match each:
            case ast.Call(ast.Name("len"), [ast.Name()], []):
                pass
            case ast.Call() | ast.Subscript() | ast.Attribute() | ast.BinOp() | ast.IfExp() | ast.BoolOp():
                return False
    return isinstance(test, ast.Compare)
