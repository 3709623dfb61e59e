"""The text of a block of plain Python, checked and written anew so that all of its operations are guarded."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from ....graph.errors import GraphError
from .language import BUILTINS, LIBRARY, OF_PATTERNS, SYNTAX, UNORDERED

ATTRIBUTE, OWN, ORDERED, BINARY, AUGMENTED, AUGMENT_ENTRY, FUNCTION, FORMATTED, JOINED, TICK, FIELDS = GUARDS = (
    "<attribute>", "<own>", "<ordered>", "<binary>", "<augmented>", "<augment_entry>", "<function>", "<formatted>",
    "<joined>", "<tick>", "<fields>",
)  # fmt: skip
"""What stands in the code for the operations; no text of a file can name them."""

_GROWING = {ast.Add: "add", ast.Mult: "mul", ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift"}
_IN_PLACE = {
    **_GROWING, ast.Sub: "sub", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.RShift: "rshift",
    ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_CONVERSIONS = {-1: "", ord("s"): "s", ord("r"): "r", ord("a"): "a"}
_SINGLE = (None, True, False)


def refused(node: ast.AST) -> str:
    """What a node has that a block must not have; empty where it may stand in one."""
    if not isinstance(node, SYNTAX):
        return type(node).__name__
    names = [value for field, value in ast.iter_fields(node) if isinstance(value, str) and field != "value"]
    if bad := [name for name in names if field_is_hidden(node, name)]:
        return f"the name {bad[0]!r}"
    match node:
        case ast.FunctionDef(decorator_list=[_, *_]):
            return "a decorator"
        case ast.ExceptHandler(kind) if not _are_errors(kind):
            return "an except without one of Python's errors"
        case ast.Compare(left, operators, others):
            sides = [left, *others]
            for place, each in enumerate(operators):
                singles = [isinstance(s, ast.Constant) and s.value in _SINGLE for s in sides[place : place + 2]]
                if isinstance(each, ast.Is | ast.IsNot) and not any(singles):
                    return "a comparison by identity"
        case ast.Constant(value) if not isinstance(value, bool | int | float | complex | str | bytes | None):
            return repr(value)
        case ast.BinOp(op=ast.MatMult()) | ast.AugAssign(op=ast.MatMult()):
            return "an operator on tensors"
        case ast.MatchValue(value) if not isinstance(value, ast.Constant):
            return "a pattern that is no constant"
        case ast.Attribute(ctx=ast.Del()):
            return "an attribute that is deleted"
    return ""


def field_is_hidden(node: ast.AST, name: str) -> bool:
    """Whether a name begins with two underscores, or belongs to something that a block does not have."""
    return name.startswith("__") or (isinstance(node, ast.Attribute) and name.startswith("_"))


def _are_errors(kind: Any) -> bool:
    parts = kind.elts if isinstance(kind, ast.Tuple) else [kind]
    return all(isinstance(each, ast.Name) and each.id in BUILTINS for each in parts)


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
        if found := refused(node):
            raise GraphError("a block of plain Python holds what none may hold", got=found)
    for line in tree.body:
        if not isinstance(line, ast.FunctionDef) and not _is_constant(line):
            raise GraphError("a block of plain Python does more than define functions", got=type(line).__name__)
    if not tree.body or not isinstance(tree.body[-1], ast.FunctionDef):
        raise GraphError("a block of plain Python has no function")
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)}
    stored |= {node.arg for node in ast.walk(tree) if isinstance(node, ast.arg)}
    if hidden := stored & {*LIBRARY, *BUILTINS}:
        raise GraphError("a block of plain Python sets the name of a module or a builtin", got=min(hidden))
    return tree


def _is_constant(line: ast.stmt) -> bool:
    """Whether a line sets a name to a literal, a pattern, or a number or set that has no literal."""
    match line:
        case ast.Assign([ast.Name()], ast.Call(ast.Attribute(ast.Name("re"), "compile"), args, [])):
            return all(isinstance(each, ast.Constant) for each in args)
        case ast.Assign([ast.Name()], value):
            return all(isinstance(each, _LITERAL) or _is_named(each) for each in _parts(value))
    return False


_LITERAL = (
    ast.Constant, ast.List, ast.Tuple, ast.Dict, ast.Set, ast.UnaryOp, ast.USub, ast.UAdd, ast.BinOp, ast.Add, ast.Sub,
    ast.Load,
)  # fmt: skip


def _is_named(part: ast.AST) -> bool:
    """Whether it is a call such as ``float('nan')`` or ``frozenset({1})``."""
    return isinstance(part, ast.Call) and isinstance(part.func, ast.Name) and part.func.id in _MAKERS


_MAKERS = ("float", "set", "frozenset")


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
    set_again = [node.id for each in tree.body if not isinstance(each, ast.Assign) for node in ast.walk(each)
                 if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
    others = {*set_again, *(node.arg for node in ast.walk(tree) if isinstance(node, ast.arg))}
    return {name: call for name, call in found.items() if name not in others}


class Guarding(ast.NodeTransformer):
    """Writes the operations of a block as calls of its guards."""

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A function of a module, or a method."""
        if isinstance(node.ctx, ast.Store):
            fields = _call(FIELDS, node, self.visit(node.value))
            return ast.copy_location(ast.Subscript(fields, ast.Constant(node.attr), ast.Store()), node)
        if isinstance(node.value, ast.Name) and node.value.id in LIBRARY:
            return _call(FUNCTION, node, ast.Constant(node.value.id), ast.Constant(node.attr))
        return _call(ATTRIBUTE, node, self.visit(node.value), ast.Constant(node.attr))

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """An operator whose result may grow."""
        self.generic_visit(node)
        name = _GROWING.get(type(node.op))
        return node if name is None else _call(BINARY, node, ast.Constant(name), node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """``a += b`` and ``table[key] += b``."""
        name = ast.Constant(_IN_PLACE[type(node.op)])
        value = self.visit(node.value)
        if isinstance(node.target, ast.Subscript):
            table, key = self.visit(node.target.value), self.visit(node.target.slice)
            return ast.copy_location(ast.Expr(_call(AUGMENT_ENTRY, node, name, table, _as_value(key), value)), node)
        if isinstance(node.target, ast.Attribute):
            fields = _call(FIELDS, node, self.visit(node.target.value))
            key = ast.copy_location(ast.Constant(node.target.attr), node)
            return ast.copy_location(ast.Expr(_call(AUGMENT_ENTRY, node, name, fields, key, value)), node)
        now = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        return ast.copy_location(ast.Assign([node.target], _call(AUGMENTED, node, name, now, value)), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An entry that is set or deleted."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _call(OWN, node, node.value)
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """An f-string."""
        return _call(JOINED, node, *(self.visit(each) for each in node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """A part of an f-string."""
        spec = ast.Constant("") if node.format_spec is None else self.visit(node.format_spec)
        return _call(FORMATTED, node, self.visit(node.value), ast.Constant(_CONVERSIONS[node.conversion]), spec)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call, whose arguments may be gone through."""
        through = isinstance(node.func, ast.Name) and node.func.id in UNORDERED
        through = through or (isinstance(node.func, ast.Attribute) and node.func.attr in _GOING_THROUGH)
        direct = isinstance(node.func, ast.Name)
        node.args = [
            _call(ORDERED, each, self.visit(each))
            if through and not isinstance(each, ast.Starred)
            else self.visit(each)
            for each in node.args
        ]
        node.keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        if direct:
            node.func = ast.copy_location(ast.Name(_called(node.func), ast.Load()), node.func)
        else:
            node.func = self.visit(node.func)
        return node

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """Items that are unpacked."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call(ORDERED, node, node.value)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """An assignment, which may unpack what is set."""
        self.generic_visit(node)
        if any(isinstance(each, ast.Tuple | ast.List) for each in node.targets):
            node.value = _call(ORDERED, node, node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """What a comprehension goes through."""
        self.generic_visit(node)
        node.iter = _call(ORDERED, node.iter, node.iter)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """What a loop goes through."""
        self.generic_visit(node)
        node.iter = _call(ORDERED, node.iter, node.iter)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        """A loop, each of whose rounds may be stopped."""
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_call(TICK, node)), node))
        return node


_GOING_THROUGH = (
    "join", "extend", "extendleft", "fromkeys", "Counter", "OrderedDict", "deque", "chain", "accumulate", "groupby",
    "islice", "nlargest", "nsmallest", "reduce", "update", "mode", "fsum",
)  # fmt: skip
"""Methods and functions of modules that go through what they are given in its order, or count it in that."""
CALLED = "<{}>"


def _called(name: ast.Name) -> str:
    return CALLED.format(name.id) if name.id in ("str", "repr", "int", "round", "pow") else name.id


def _as_value(key: Any) -> Any:
    """The key of a subscript as an argument of a call."""
    if isinstance(key, ast.Slice):
        ends = [each or ast.Constant(None) for each in (key.lower, key.upper, key.step)]
        return ast.copy_location(ast.Call(ast.Name("<slice>", ast.Load()), ends, []), key)
    return key


def _call(name: str, place: ast.AST, *args: ast.expr) -> ast.Call:
    made = ast.Call(ast.Name(name, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(made, place))
