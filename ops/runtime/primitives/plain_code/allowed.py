"""What the text of a block of plain Python may hold."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from ....graph.errors import GraphError
from .language import BUILTINS, LIBRARY, METHODS, MODULES, OF_PATTERNS, SYNTAX
from .objects.makers import CLASSES, MAKERS, PARTS
from .objects.model_call import OF_MODELS

_SINGLE = (None, True, False)
_NO_ERROR = "an except without one of Python's errors"


def refused(node: ast.AST) -> str:
    """What a node has that a block must not have; empty where it may stand in one."""
    if not isinstance(node, SYNTAX):
        return type(node).__name__
    names = [value for field, value in ast.iter_fields(node) if isinstance(value, str) and field != "value"]
    if bad := [name for name in names if field_is_hidden(name)]:
        return f"the name {bad[0]!r}"
    match node:
        case ast.FunctionDef(decorator_list=[_, *_]):
            return "a decorator"
        case ast.ExceptHandler(None):
            return _NO_ERROR
        case ast.Compare(left, operators, others):
            sides = [left, *others]
            for place, each in enumerate(operators):
                singles = [isinstance(s, ast.Constant) and s.value in _SINGLE for s in sides[place : place + 2]]
                if isinstance(each, ast.Is | ast.IsNot) and not any(singles):
                    return "a comparison by identity"
        case ast.Constant(value) if value is not ... and not isinstance(value, _CONSTANTS):
            return repr(value)
        case ast.AugAssign(op=ast.MatMult()):
            return "an operator on tensors"
        case ast.MatchValue(value) if not isinstance(value, ast.Constant):
            return "a pattern that is no constant"
        case ast.Attribute(ctx=ast.Del()):
            return "an attribute that is deleted"
        case ast.Try(finalbody=lines) if any(isinstance(p, _LEAVING) for line in lines for p in ast.walk(line)):
            return "a finally that leaves"  # it would hide a refusal
        case ast.comprehension(is_async=1):
            return "async"
        case ast.List(parts) | ast.Tuple(parts) | ast.Set(parts) | ast.Call(args=parts) if stars(parts) > _MOST_STARS:
            return "too many lists in one"
        case ast.Dict(keys) if keys.count(None) > _MOST_STARS:
            return "too many dicts in one"
    return ""


_CONSTANTS = (bool, int, float, complex, str, bytes, type(None))
_LEAVING = (ast.Return, ast.Break, ast.Continue)
_MOST_STARS = 8


def stars(parts: list[ast.expr]) -> int:
    """How many of some parts are unpacked."""
    return sum(isinstance(each, ast.Starred) for each in parts)


def bound_names(tree: ast.AST) -> set[str]:
    """The names that a text sets in any way: variables, parameters, functions, errors that are caught, patterns."""
    found = set[str]()
    for node in ast.walk(tree):
        match node:
            case ast.Name(name, ast.Store() | ast.Del()) | ast.arg(name) | ast.FunctionDef(name):
                found.add(name)
            case ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)) | ast.MatchStar(str(name)):
                found.add(name)
            case ast.MatchMapping(rest=str(name)):
                found.add(name)
    return found


def field_is_hidden(name: str) -> bool:
    """Whether a name begins with two underscores; attributes with one are fields of the block's own objects."""
    return name.startswith("__")


def _are_errors(node: ast.AST) -> bool:
    """Whether what a handler catches are errors of Python's or of the user's; other nodes catch nothing."""
    kind = node.type if isinstance(node, ast.ExceptHandler) else None
    return all(map(_is_error, kind.elts if isinstance(kind, ast.Tuple) else [kind]))


def _is_error(part: ast.expr | None) -> bool:
    match part:
        case (
            None
            | ast.Name()
            | ast.Attribute(ast.Name("decimal"), "InvalidOperation")
            | ast.Attribute(ast.Name("statistics"), "StatisticsError")
        ):
            return True  # a name means one of Python's errors, or a class of the block
    return False


def checked(text: str) -> ast.Module:
    """The tree of a text.

    Raises:
        GraphError: it is not one of a block.
    """
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        raise GraphError("a block of plain Python is malformed", got=str(error)[:80]) from None
    for node in ast.walk(tree):
        if found := refused(node) or ("" if _are_errors(node) else _NO_ERROR):
            raise GraphError("a block of plain Python holds what none may hold", got=found)
    if unknown := _unknown_methods(tree):
        raise GraphError("a block of plain Python asks for a method that none has", got=min(unknown))
    for line in tree.body:
        if not (has_plain_defaults(line) if isinstance(line, ast.FunctionDef) else _is_constant(line)):
            raise GraphError("a block of plain Python does more than define functions", got=type(line).__name__)
    if not tree.body or not isinstance(tree.body[-1], ast.FunctionDef):
        raise GraphError("a block of plain Python has no function")
    if hidden := bound_names(tree) & {*LIBRARY, *BUILTINS, *MODULES}:
        raise GraphError("a block of plain Python sets the name of a module or a builtin", got=min(hidden))
    if _makes_classes_elsewhere(tree):
        raise GraphError("a block of plain Python makes classes in a loop or a function", expected="lines of the block")
    return tree


def _makes_classes_elsewhere(tree: ast.Module) -> bool:
    """Whether what makes classes is named elsewhere than in lines ``name = new_class(…)`` that run once."""
    last = tree.body[-1]
    lines = [*tree.body, *(last.body if isinstance(last, ast.FunctionDef) else [])]
    calls = [each.value for each in lines if isinstance(each, ast.Assign) and isinstance(each.value, ast.Call)]
    once = {id(each.func) for each in calls}
    names = [each for each in ast.walk(tree) if isinstance(each, ast.Name) and each.id in CLASSES]
    return any(id(each) not in once for each in names)


def _unknown_methods(tree: ast.Module) -> set[str]:
    """The attributes that a text asks for which nothing of a block has; none where it makes objects or calls models."""
    names = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    asked = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
    of_things = [
        each for each in asked if not (isinstance(each.value, ast.Name) and each.value.id in (*LIBRARY, *MODULES))
    ]
    calls = any(isinstance(part, ast.arg) and part.arg.startswith(OF_MODELS) for part in ast.walk(tree))
    return set() if calls or names & {*MAKERS} else {each.attr for each in of_things} - METHODS


def _is_constant(line: ast.stmt) -> bool:
    """Whether a line sets a name to a literal, a pattern, a number or set that has no literal, or a class."""
    match line:
        case ast.Assign([ast.Name()], ast.Call(ast.Attribute(ast.Name("re"), "compile"), args, [])):
            return all(isinstance(each, ast.Constant) for each in args)
        case ast.Assign([ast.Name()], value):
            return _is_literal(value)
    return False


def _is_literal(value: ast.AST) -> bool:
    """Whether nothing is reckoned for a value: it is made of literals, names, and calls that make constants."""
    return all((isinstance(each, _LITERAL) and not _adds_names(each)) or _is_named(each) for each in _parts(value))


def _adds_names(part: ast.AST) -> bool:
    sides = (part.left, part.right) if isinstance(part, ast.BinOp) else ()
    return not all(isinstance(each, ast.Constant | ast.UnaryOp) for each in sides)


def has_plain_defaults(function: ast.FunctionDef) -> bool:
    """Whether nothing is reckoned where a function is defined."""
    given = function.args
    return all(map(_is_literal, [*given.defaults, *(each for each in given.kw_defaults if each is not None)]))


_LITERAL = (
    ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.UAdd, ast.BinOp, ast.Add, ast.Sub,
    ast.Load, ast.Name, ast.keyword,
)  # fmt: skip


def _is_named(part: ast.AST) -> bool:
    """Whether it is a call such as ``float('nan')``, ``frozenset({1})`` or ``collections.Counter({})``."""
    match part:
        case ast.Call(ast.Attribute(ast.Name("collections"), "Counter" | "OrderedDict")):
            return True
        case ast.Call(ast.Attribute(ast.Name("decimal"), "Decimal"), [ast.Constant(str())], []):
            return True
        case ast.Call(ast.Attribute(ast.Name("fractions"), "Fraction"), [ast.Constant(int()), ast.Constant(int())], []):
            return True
        case ast.Call(ast.Attribute(ast.Name("statistics"), "NormalDist"), [_, _], []):
            return True
        case ast.Call(ast.Attribute(ast.Name("datetime")), args, []):
            return all(isinstance(each, ast.Constant) for each in args)
        case ast.Attribute(ast.Name(module)):
            return module in LIBRARY or module in MODULES
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _MAKERS


_MAKERS = ("float", "set", "frozenset", "dict", "record", *CLASSES, *PARTS)


def _parts(value: ast.AST) -> Iterator[ast.AST]:
    yield value
    for each in ast.iter_child_nodes(value):
        if not (isinstance(value, ast.Call) and each is value.func):
            yield from _parts(each)


def patterns(tree: ast.Module) -> Iterator[tuple[str, ast.Call | None]]:
    """The uses of functions of re that take a pattern: the name, and the call; None where it is handed on."""
    called = {id(node.func): node for node in ast.walk(tree) if isinstance(node, ast.Call)}
    for node in ast.walk(tree):
        match node:
            case ast.Attribute(ast.Name("re"), name) if name in OF_PATTERNS:
                yield name, called.get(id(node))


def compiled_patterns(tree: ast.Module) -> dict[str, ast.Call]:
    """The names of the constants of a block that are compiled patterns, and what makes them."""
    found = dict[str, ast.Call]()
    for line in tree.body:
        match line:
            case ast.Assign([ast.Name(name)], ast.Call(ast.Attribute(ast.Name("re"), "compile")) as call):
                found[name] = call
    others = bound_names(ast.Module([line for line in tree.body if not isinstance(line, ast.Assign)], []))
    once = [line.targets[0].id for line in tree.body if isinstance(line, ast.Assign)]  # type: ignore[attr-defined]  # names alone, says `checked`
    return {name: call for name, call in found.items() if name not in others and once.count(name) == 1}
