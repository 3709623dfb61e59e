"""Lists and dicts that a side changes, as new ones: ``items.append(item)`` as ``items = [*items, item]``.

A side must not change what is outside of it. A list that another name may have, too, stays as it is: a change shows
under both names in Python.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Collection, Mapping, Sequence

from .choice_expressions import CHANGING, called
from .scoping import names_set, within

_LOOKING = (
    "len",
    "sum",
    "sorted",
    "min",
    "max",
    "any",
    "all",
    "list",
    "tuple",
    "set",
    "dict",
    "str",
    "<yielded>",
)
_GOING_ON = ("enumerate", "zip")
"""What looks at a container only when it is asked for the next item, which may be later."""
_MODULES = ("torch", "np", "numpy")
_FRESH = (ast.List, ast.Dict, ast.ListComp, ast.DictComp)
_MERELY = (
    ast.Compare, ast.FormattedValue, ast.Starred, ast.BinOp, ast.UnaryOp, ast.Return, ast.If, ast.While, ast.AugAssign,
    ast.Subscript,
)  # fmt: skip
"""What looks at a list or a dict, and gives it no other name."""


def _is_fresh(value: ast.expr) -> bool:
    if isinstance(value, ast.IfExp):
        return _is_fresh(value.body) and _is_fresh(value.orelse)
    return isinstance(value, _FRESH)


def own_containers(
    body: Sequence[ast.stmt],
    is_new: Callable[[ast.expr], bool] = _is_fresh,
    looks: Callable[[ast.Name, Mapping[int, ast.AST]], bool] | None = None,
) -> set[str]:
    """The variables of some statements that have a new list or dict each, which no other variable has.

    Args:
        body: the statements.
        is_new: whether an expression makes a new one.
        looks: whether a use of it, among what is around it, gives it no other name; that of a list, if left out.
    """
    parts, looks = list(within(*body)), looks or _looks
    places = {id(target): target.id for part in parts for target, value in bound_names(part) if is_new(value)}
    fresh = {*places.values()}
    around = {id(each): part for part in parts for each in ast.iter_child_nodes(part)}
    for part in parts:
        if isinstance(part, ast.Name) and part.id in fresh:
            stays = id(part) in places if isinstance(part.ctx, ast.Store) else looks(part, around)
            fresh -= set() if stays or _is_augmented(part, around) else {part.id}
    return fresh


def bound_names(part: ast.AST) -> list[tuple[ast.Name, ast.expr]]:
    """The variables that an assignment sets, with what they are set to."""
    match part:
        case ast.Assign([ast.Name() as name], value):
            return [(name, value)]
        case ast.AnnAssign(ast.Name() as name, _, ast.expr() as value):
            return [(name, value)]
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
            pairs = zip(names, values, strict=True)
            return [(name, value) for name, value in pairs if isinstance(name, ast.Name)]
    return []


def _is_augmented(part: ast.Name, around: Mapping[int, ast.AST]) -> bool:
    return isinstance(around.get(id(part)), ast.AugAssign)


def _looks(part: ast.AST, around: Mapping[int, ast.AST]) -> bool:
    """Whether what a variable is used for gives its list or dict no other name."""
    match around.get(id(part)):
        case ast.Attribute() as method:  # kept in a variable, it would look at the list that was there before
            return isinstance(call := around.get(id(method)), ast.Call) and call.func is method
        case ast.For(iter=ast.Name()):
            return True
        case ast.Call(ast.Name(name)) as call:
            return name in _LOOKING or (name in _GOING_ON and _ends_at_once(call, around))
        case ast.comprehension() as loop:
            made = around[id(loop)]
            return not isinstance(made, ast.GeneratorExp) or _ends_at_once(made, around)
        case ast.Call(ast.Attribute(ast.Name(name), method)):
            return name in _MODULES or method == "join"
        case ast.Call(ast.Attribute(_, method)):
            return method == "join"
        case ast.IfExp() | ast.BoolOp() as outer:
            return _looks(outer, around)
        case ast.Tuple() | ast.Dict() | ast.List() as outer:
            return _is_returned(outer, around)
        case found:
            return isinstance(found, _MERELY)


def _ends_at_once(part: ast.AST, around: Mapping[int, ast.AST]) -> bool:
    """Whether an iterator is gone through right where it is made."""
    match around.get(id(part)):
        case ast.For(iter=found) | ast.comprehension(iter=found) as loop:
            if isinstance(loop, ast.comprehension) and isinstance(around[id(loop)], ast.GeneratorExp):
                return found is part and _ends_at_once(around[id(loop)], around)
            return found is part
        case ast.Call(ast.Name(name)) as call:
            return name in _LOOKING or (name in _GOING_ON and _ends_at_once(call, around))
        case ast.Call(ast.Attribute(_, method)):
            return method == "join"
    return False


def _is_returned(part: ast.AST, around: Mapping[int, ast.AST]) -> bool:
    outer = around.get(id(part))
    inner = isinstance(outer, ast.Tuple | ast.Dict | ast.List) and _is_returned(outer, around)
    return isinstance(outer, ast.Return) or inner


def altered_names(body: Sequence[ast.stmt]) -> set[str]:
    """The variables whose lists, dicts or tensors some statements change in place."""
    found: set[str] = set()
    for part in within(*body):
        match part:
            case ast.Call(ast.Attribute(ast.Name(name), method)) if method in CHANGING or method.endswith("_"):
                found.add(name)
            case ast.Subscript(ast.Name(name), _, ast.Store() | ast.Del()):
                found.add(name)
            case ast.AugAssign(ast.Name(name), ast.Add(), ast.List() | ast.ListComp()):
                found.add(name)
    return found


def changed_names(body: Sequence[ast.stmt], own: Collection[str]) -> set[str]:
    """The variables with lists and dicts of their own that some statements change."""
    found = {name for part in within(*body) if isinstance(part, ast.stmt) and (name := _changed(part))}
    return found & {*own}


def _changed(line: ast.stmt) -> str:
    match line:
        case ast.Expr(ast.Call(ast.Attribute(ast.Name(name), "append"), [_], [])):
            return name
        case ast.Assign([ast.Subscript(ast.Name(name))]) | ast.AugAssign(ast.Subscript(ast.Name(name))):
            return name
    return ""


def rebound(body: list[ast.stmt], local: Collection[str], own: Collection[str]) -> list[ast.stmt]:
    """Statements that change no list and no dict but those that they make themselves.

    Args:
        body: the statements.
        local: the variables of the function.
        own: those that have a list or a dict of their own.
    """
    made = {
        name for line in body for part in within(line) if isinstance(part, ast.Assign) for name in names_set([part])
    }
    changer = _Rebinding({*own} - made, {*local} - made)
    return [changer.visit(line) for line in body]


class _Rebinding(ast.NodeTransformer):
    """Writes the changes of some variables anew: of lists and dicts of their own, and of numbers and texts."""

    def __init__(self, names: Collection[str], local: Collection[str]) -> None:
        self.names, self.local = names, local

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function inside stays."""
        return node

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """`items.append(item)`."""
        match node.value:
            case ast.Call(ast.Attribute(ast.Name(name) as items, "append"), [item], []) if name in self.names:
                return _made(name, called("with_item", node, items, item), node)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """`items[key] = item`."""
        match node:
            case ast.Assign([ast.Subscript(ast.Name(name), key)], value) if name in self.names:
                if not isinstance(key, ast.Slice):
                    items = ast.copy_location(ast.Name(name, ast.Load()), node)
                    return _made(name, called("with_entry", node, items, key, value), node)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """`total += value`, which adds to a list or a tensor in place."""
        match node.target:
            case ast.Name(name) if name in self.local:
                before: ast.expr = ast.copy_location(ast.Name(name, ast.Load()), node)
                before = before if name in self.names else called("unshared", node, before)
                return _made(name, ast.copy_location(ast.BinOp(before, node.op, node.value), node), node)
            case ast.Subscript(ast.Name(name), ast.Constant() | ast.Name() as key) if name in self.names:
                items = ast.copy_location(ast.Name(name, ast.Load()), node)
                entry = ast.copy_location(ast.Subscript(items, key, ast.Load()), node)
                value = ast.copy_location(ast.BinOp(called("unshared", node, entry), node.op, node.value), node)
                return _made(name, called("with_entry", node, items, key, value), node)
        return node


def _made(name: str, value: ast.expr, place: ast.stmt) -> ast.stmt:
    target = ast.copy_location(ast.Name(name, ast.Store()), place)
    return ast.copy_location(ast.Assign([target], value), place)
