"""The code of functions that are written anew, made from their source as Python made the code that they have.

The file is compiled as it is, and again with the changed function. The first shows which part of the source a function
has its code from, and that the source is still the one which Python read; where it is not, the function stays.
"""

from __future__ import annotations
import __future__

import ast
import linecache
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from types import CodeType, FunctionType, MappingProxyType
from typing import Any

from ....ops.runtime.interrupts.unheard import Unheard
from ....ops.runtime.user_code import codes_in
from ...recheck.reach.written.written_codes import code_as_written
from ...rules.tried.suppressed_errors import as_tries
from ..plain_code.statements.regions import with_blocks
from .choice_expressions import OWN_SIDE, ChoiceExpressions
from .choice_statements import FunctionBody
from .forms_of_choices import copied
from .generators.as_list import Key, with_lists
from .held_values import without_held_values
from .scoping import parameters, within

_anew: ContextVar[Mapping[tuple[str, CodeType], CodeType] | None] = ContextVar("anew", default=None)
_listed: ContextVar[Mapping[str, frozenset[Key]]] = ContextVar("listed", default=MappingProxyType({}))


@contextmanager
def written_anew(
    functions: Iterable[FunctionType], lines: Collection[tuple[str, int]], blocks: Collection[Any] = ()
) -> Iterator[None]:
    """While it is entered, recordings run functions whose choices and loops on some lines are calls.

    Args:
        functions: those that may be changed.
        lines: paths and numbers of lines.
        blocks: the regions of code that become blocks of plain Python.
    """
    made: dict[tuple[str, CodeType], CodeType] = {}
    for code in {function.__code__ for function in functions}:
        own = frozenset(number for path, number in lines if path == code.co_filename)
        plain = frozenset(each for each in blocks if each.path == code.co_filename)
        asked = own | {each.line for each in plain}
        if asked & _lines_of(code) and (found := _rewritten(code, own, plain)) is not None:
            made[code.co_filename, code] = found
    token = _anew.set(made)
    try:
        yield
    finally:
        _anew.reset(token)


@contextmanager
def generators_as_lists(generators: Mapping[str, frozenset[Key]]) -> Iterator[None]:
    """While it is entered, recordings run some generator functions as ones that make all of their items when called.

    Args:
        generators: the paths of files -> the names and the first lines of those in it.
    """
    token = _listed.set(generators)
    try:
        yield
    finally:
        _listed.reset(token)


def code_to_record(code: CodeType) -> CodeType:
    """The code of a function, or of the function that is written anew in its place."""
    made = (_anew.get() or {}).get((code.co_filename, code))
    if made is None and _keys(code):
        made = _changed(code, code.co_filename, frozenset(), frozenset(), _keys(code))
    return code if made is None else made


def _keys(code: CodeType) -> frozenset[Key]:
    """The generators in the code of a function that are lists."""
    keys = _listed.get().get(code.co_filename, frozenset())
    return keys & {(each.co_name, each.co_firstlineno) for each in codes_in(code)} if keys else keys


def choices_of(function: FunctionType, numbers: Collection[int]) -> set[int]:
    """The lines of a function, among some, on which there are choices that can be written anew."""
    code = function.__code__
    return {each for each in _lines_of(code) & {*numbers} if _rewritten(code, frozenset([each])) is not None}


def block_code(function: FunctionType, region: Any) -> CodeType | None:
    """The code of a function with a block in it: equal ones have the same; None where there is none."""
    code = function.__code__
    if region.line not in _lines_of(code):
        return None
    return _rewritten(code, frozenset(), frozenset([region]))


def _lines_of(code: CodeType) -> set[int]:
    return {number for each in codes_in(code) for _, _, number in each.co_lines() if number is not None}


def _rewritten(code: CodeType, lines: frozenset[int], blocks: frozenset[Any] = frozenset()) -> CodeType | None:
    return _changed(code, code.co_filename, lines, blocks, _keys(code))


@lru_cache(256)
def _changed(
    code: CodeType, path: str, lines: frozenset[int], blocks: frozenset[Any], listed: frozenset[Key]
) -> CodeType | None:
    """The code of a function whose choices on some lines are calls; None where there are none, or no source.

    Python takes equal codes of two files for one; the path tells them apart.
    """
    try:
        with Unheard():
            return _written("".join(linecache.getlines(path)), code, lines, blocks, listed)
    except (SyntaxError, ValueError, RecursionError):  # no source of Python
        return None


@lru_cache(8)
def _parsed(source: str) -> ast.Module:
    return ast.parse(source)


def _written(
    source: str, code: CodeType, lines: frozenset[int], blocks: frozenset[Any], listed: frozenset[Key]
) -> CodeType | None:
    """The code, of the function of the file that it was made from; only the statement around it is compiled."""
    statements, imports = _parsed(source).body, _imports(source)
    for around in (each for each in statements if _first_line(each) <= code.co_firstlineno <= (each.end_lineno or 0)):
        place = _place(_compiled(around, imports, code), code)
        for number in range(0 if place is None else sum(map(_has(code), ast.walk(around)))):
            changed = copied(around)
            function = as_tries(list(filter(_has(code), ast.walk(changed)))[number], source)
            lists = with_lists(function, listed) > 0 and not lines and not blocks
            blocked = isinstance(function, ast.FunctionDef | ast.Lambda) and with_blocks(
                function, blocks, code.co_freevars
            )
            if place is None or not (_writes(function, lines) or blocked or lists):
                continue
            found = _at(_compiled(changed, imports, code), place)
            if found is not None and found != code and found.co_freevars == code.co_freevars:
                return _with_own_names(found, code.co_name)
    return None


def definition_of(function: FunctionType) -> ast.FunctionDef | ast.Lambda | None:
    """The definition of a function in its file, as a copy; None where it is not there, or not as Python read it."""
    code = code_as_written(function)
    try:
        with Unheard():
            source = "".join(linecache.getlines(code.co_filename))
            statements, imports = _parsed(source).body, _imports(source)
            for around in (e for e in statements if _first_line(e) <= code.co_firstlineno <= (e.end_lineno or 0)):
                found = list(filter(_has(code), ast.walk(around)))
                found = found if len(found) == 1 else [each for each in found if _makes(each, code)][:1]
                if found and _place(_compiled(around, imports, code), code) is not None:
                    made: ast.FunctionDef | ast.Lambda = as_tries(copied(found[0]), source)
                    return made
    except (SyntaxError, ValueError, RecursionError):  # no source of Python
        pass
    return None


def _makes(node: ast.AST, code: CodeType) -> bool:
    """Whether a lambda that asks for no variables around it is what some code was made from: others share its line."""
    return (
        isinstance(node, ast.Lambda)
        and code
        in compile(
            ast.Expression(node), code.co_filename, "eval", code.co_flags & _ANNOTATIONS, dont_inherit=True
        ).co_consts
    )


_ANNOTATIONS = __future__.annotations.compiler_flag


def _compiled(line: ast.stmt, imports: Sequence[ast.stmt], code: CodeType) -> CodeType:
    """A statement, compiled in the mode of some code, which may be that of what ran it: of a test of documents."""
    flags = code.co_flags & _ANNOTATIONS
    made: CodeType = compile(ast.Module([*imports, line], []), code.co_filename, "exec", flags, dont_inherit=True)
    return made


@lru_cache(8)
def _imports(source: str) -> list[ast.stmt]:
    """What binds the names that a file imports: from 3.11 on Python writes another call for a function of a module."""
    lines = (each for each in within(*_parsed(source).body) if isinstance(each, ast.Import | ast.ImportFrom))
    names = dict.fromkeys(each.asname or each.name.partition(".")[0] for line in lines for each in line.names)
    found = ast.Import([ast.alias(name) for name in names if name != "*"])
    return [ast.fix_missing_locations(found)] if found.names else []


def _first_line(line: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(line, "decorator_list", [])
    return min([line.lineno, *(each.lineno for each in decorators)])


def _has(code: CodeType) -> Callable[[ast.AST], bool]:
    """Whether a part of the source may be what some code was made from."""

    def may_be(node: ast.AST) -> bool:
        if not isinstance(node, ast.FunctionDef):
            return isinstance(node, ast.Lambda) and (code.co_name, code.co_firstlineno) == ("<lambda>", node.lineno)
        return (code.co_name, code.co_firstlineno) == (node.name, _first_line(node))

    return may_be


_UNSEEN = ("locals", "vars", "eval", "exec", "super", "__class__", "dir")
"""What a function asks for that knows its variables, or where it is defined."""


def _is_unseen(part: ast.AST) -> bool:
    return isinstance(part, ast.Name) and part.id in _UNSEEN


def _writes(function: ast.AST, lines: frozenset[int]) -> bool:
    """Whether a function has choices on some lines, which are written anew in its tree."""
    if not isinstance(function, ast.FunctionDef | ast.Lambda):
        return False
    body = function.body if isinstance(function, ast.FunctionDef) else [function.body]
    if any(isinstance(each, ast.Yield | ast.YieldFrom | ast.Await) for each in within(*body)):
        return False
    if isinstance(function, ast.FunctionDef) and any(map(_is_unseen, ast.walk(function))):
        return False
    held = without_held_values(function, lines)
    given = parameters(function.args)
    if isinstance(function, ast.FunctionDef):
        made = FunctionBody(lines | held, given, function.body)
        function.body = made.rewritten(function.body)
        return made.count > 0 or bool(held)
    choices = ChoiceExpressions(lines | held, given)
    function.body = choices.visit(function.body)
    return choices.count > 0 or bool(held)


def _place(made: CodeType, code: CodeType) -> tuple[int, ...] | None:
    """The way to code that is equal to that of a function, as numbers of codes in codes; None where there is none."""
    for number, each in enumerate(_inner(made)):
        if each == code:
            return (number,)
        if (found := _place(each, code)) is not None:
            return (number, *found)
    return None


def _inner(code: CodeType) -> list[CodeType]:
    return [each for each in code.co_consts if isinstance(each, CodeType)]


def _at(made: CodeType, place: tuple[int, ...]) -> CodeType | None:
    """The code at the end of a way."""
    for number in place:
        inner = _inner(made)
        if number >= len(inner):
            return None
        made = inner[number]
    return made


def _with_own_names(code: CodeType, name: str) -> CodeType:
    """The code with the name of the function for that of its sides, which errors and warnings show."""
    side = code.co_name.startswith(OWN_SIDE) or OWN_SIDE in code.co_varnames
    own = name if side else code.co_name
    inner = (_with_own_names(each, own) if isinstance(each, CodeType) else each for each in code.co_consts)
    return code.replace(co_name=own, co_consts=tuple(inner))
