"""The variables of some lines of source: which they set, which they read, and which they read before they set them.

What is not certain counts as read, and as not set: a function is then left as it is.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

Lines = Iterable[ast.AST]
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_LOOPS = (ast.For, ast.AsyncFor, ast.While)


def within(*lines: Any) -> Iterator[ast.AST]:
    """The parts of some lines that run when these run: not those of functions that are defined in them."""
    for line in lines:
        yield line
        if isinstance(line, _FUNCTIONS):
            given = line.args
            yield from within(*given.defaults, *(each for each in given.kw_defaults if each is not None))
            yield from within(*getattr(line, "decorator_list", []))
        elif not isinstance(line, ast.ClassDef):
            yield from within(*ast.iter_child_nodes(line))


def names_set(lines: Lines) -> set[str]:
    """The variables that some lines set."""
    found: set[str] = set()
    for line in lines:
        own = _own_names(line)
        for part in within(line):
            match part:
                case ast.Name(name, ast.Store() | ast.Del()) if id(part) not in own:
                    found.add(name)
                case ast.FunctionDef(name) | ast.AsyncFunctionDef(name) | ast.ClassDef(name):
                    found.add(name)
                case ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)):
                    found.add(name)
                case ast.MatchMapping(rest=str(name)):
                    found.add(name)
                case ast.alias(name, other):
                    found.add(other or name.partition(".")[0])
    return found


def _own_names(line: ast.AST) -> set[int]:
    """The ids of the names that comprehensions bind, which are theirs."""
    found = [each for each in within(line) if isinstance(each, ast.comprehension)]
    return {id(part) for each in found for part in ast.walk(each.target)}


def names_read(lines: Lines) -> set[str]:
    """The variables that some lines may read, those of functions that are defined in them included."""
    found: set[str] = set()
    for line in lines:
        match line:
            case ast.Lambda() | ast.FunctionDef() | ast.AsyncFunctionDef():
                body = line.body if isinstance(line.body, list) else [line.body]
                found |= names_read(body) - parameters(line.args) - (names_set(body) - _declared(body))
                found |= names_read(each for each in within(line) if each is not line)
            case ast.ListComp() | ast.SetComp() | ast.DictComp() | ast.GeneratorExp():
                targets = [each for part in line.generators for each in ast.walk(part.target)]
                bound = {each.id for each in targets if isinstance(each, ast.Name)}
                found |= names_read(ast.iter_child_nodes(line)) - bound
                found |= names_read([line.generators[0].iter])
            case ast.AugAssign(ast.Name(name), _, value):
                found |= {name} | names_read([value])
            case ast.Name(name, ast.Load() | ast.Del()):
                found.add(name)
            case _:
                found |= names_read(ast.iter_child_nodes(line))
    return found


def _declared(lines: Lines) -> set[str]:
    """The variables of other scopes that some lines set."""
    found = [each for line in lines for each in ast.walk(line) if isinstance(each, ast.Global | ast.Nonlocal)]
    return {name for each in found for name in each.names}


def parameters(given: ast.arguments) -> set[str]:
    """The names of the parameters of a function."""
    found = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {each.arg for each in found if each is not None}


def captured_names(lines: Lines) -> set[str]:
    """The variables that functions and generators defined in some lines read, maybe later."""
    lines = [*lines]
    at_once = {id(part) for line in lines for part in _used_at_once(line, names_set(lines))}
    parts = [part for line in lines for part in ast.walk(line) if id(part) not in at_once]
    return names_read(each for each in parts if isinstance(each, (*_FUNCTIONS, ast.GeneratorExp)))


_TAKES_ALL = ("sum", "any", "all", "min", "max", "sorted", "list", "tuple", "set", "dict", "join")
_SORTS = ("sorted", "min", "max", "sort")


def _used_at_once(line: ast.AST, own: set[str]) -> Iterator[ast.AST]:
    """The generators and functions in a line that are gone when the call to which they are given is over.

    Args:
        line: the line.
        own: the names that are no functions of Python.
    """
    for call in ast.walk(line):
        if not isinstance(call, ast.Call):
            continue
        match call.func:
            case ast.Name(name) if name not in own:
                pass
            case ast.Attribute(_, "join" | "sort" as name):
                pass
            case _:
                continue
        if name in _TAKES_ALL:
            yield from (each for each in call.args[:1] if isinstance(each, ast.GeneratorExp))
        if name in _SORTS:
            keys = (each.value for each in call.keywords if each.arg == "key")
            yield from (each for each in keys if isinstance(each, ast.Lambda))


# -- the flow ------------------------------------------------------------------------------------------------------


def certainly_set(lines: Sequence[ast.stmt]) -> set[str]:
    """The variables that are set for certain where the code goes on after some lines."""
    found: set[str] = set()
    for line in lines:
        match line:
            case ast.If(test, body, orelse):
                found |= names_set([test]) if _is_sure(test) else set()
                found |= _set_in_all([body, orelse])
            case ast.Try(body, handlers, orelse, finalbody):
                gone = {each.name for each in handlers if each.name}
                found |= _set_in_all([[*body, *orelse], *(each.body for each in handlers)]) - gone
                found |= certainly_set(finalbody)
            case ast.With(items, body):
                found |= names_set(items) | certainly_set(body)
            case ast.For() | ast.While() | ast.Match() | ast.Delete():
                pass
            case ast.FunctionDef() | ast.ClassDef() | ast.Import() | ast.ImportFrom():
                found |= names_set([line])
            case _ if _is_sure(line):
                found |= names_set([line])
    return found


def _set_in_all(sides: Sequence[Sequence[ast.stmt]]) -> set[str]:
    """The variables that are set on all sides after which the code goes on."""
    found = [certainly_set(side) for side in sides if not leaves(side)]
    return set.intersection(*found) if found else set()


def _is_sure(line: ast.AST) -> bool:
    """Whether all that a line sets is set whenever it runs."""
    parts = [part for part in within(line) if isinstance(part, ast.NamedExpr)]
    unsure = (ast.BoolOp, ast.IfExp, ast.Compare, *_COMPREHENSIONS)
    return not parts or not any(isinstance(part, unsure) for part in within(line))


def leaves(lines: Sequence[ast.stmt]) -> bool:
    """Whether the code never goes on after some lines."""
    for line in lines:
        match line:
            case ast.Return() | ast.Raise() | ast.Break() | ast.Continue():
                return True
            case ast.If(_, body, orelse) if leaves(body) and leaves(orelse):
                return True
            case ast.With(_, body) if leaves(body):
                return True
            case ast.Try(body, handlers, orelse) if all(map(leaves, ([*body, *orelse], *(e.body for e in handlers)))):
                return True
    return False


def read_first(lines: Sequence[ast.stmt], known: Iterable[str] = ()) -> set[str]:
    """The variables that some lines may read before they set them.

    Args:
        lines: the lines.
        known: what is set before.
    """
    done, found = {*known}, set[str]()
    for line in lines:
        match line:
            case ast.If(test, body, orelse):
                found |= (names_read([test]) - done) | read_first(body, done) | read_first(orelse, done)
            case ast.For(target, items, body, orelse):
                inner = done | names_set([target])
                found |= (names_read([items]) - done) | read_first(body, inner) | read_first(orelse, done)
            case ast.While(test, body, orelse):
                found |= (names_read([test]) - done) | read_first(body, done) | read_first(orelse, done)
            case ast.With(items, body):
                found |= (names_read(items) - done) | read_first(body, done | names_set(items))
            case _:
                found |= names_read([line]) - done
        done |= certainly_set([line])
    return found


def not_none(test: ast.expr, truth: bool) -> set[str]:
    """The variables that are not None where a condition has some truth."""
    match test:
        case ast.UnaryOp(ast.Not(), inner):
            return not_none(inner, not truth)
        case ast.BoolOp(operator, parts) if isinstance(operator, ast.And) is truth:
            return {name for part in parts for name in not_none(part, truth)}
        case ast.Compare(ast.Name(name), [ast.IsNot() | ast.NotEq()], [ast.Constant(None)]) if truth:
            return {name}
        case ast.Compare(ast.Name(name), [ast.Is() | ast.Eq()], [ast.Constant(None)]) if not truth:
            return {name}
        case ast.Name(name) if truth:
            return {name}
    return set()
