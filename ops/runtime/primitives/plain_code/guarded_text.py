"""The text of a block of plain Python, written anew so that all of its operations are guarded."""

from __future__ import annotations

import ast
from typing import Any

from .allowed import stars
from .arrays.block_arrays import MODULES as OF_ARRAYS
from .language import BUILTINS, LIBRARY, MODULES, OF_CLASSES

GUARDS = (
    "<attribute>", "<own>", "<ordered>", "<bounded>", "<each_ordered>", "<gathered>", "<few>", "<augmented>",
    "<augment_entry>", "<function>", "<formatted>", "<joined>", "<tick>", "<changed>", "<attributes>", "<counted>",
    "<entry>", "<caught>", "<paid>",
)  # fmt: skip
"""What stands in the code for the operations; no text of a file can name them."""
ATTRIBUTE, OWN, ORDERED, BOUNDED, EACH_ORDERED, GATHERED, FEW, *_REST = GUARDS
AUGMENTED, AUGMENT_ENTRY, FUNCTION, FORMATTED, JOINED, TICK, *_LAST = _REST
CHANGED, ATTRIBUTES, COUNTED, ENTRY, CAUGHT, PAID = _LAST
PAYING = (GATHERED, FEW, AUGMENTED, FORMATTED, JOINED, PAID)
"""Those whose results are counted under a budget."""
GIVING = (ATTRIBUTE, FUNCTION)
"""Those that give what is called then."""

_GROWING = {ast.Add: "add", ast.Mult: "mul", ast.Mod: "mod", ast.Pow: "pow", ast.LShift: "lshift"}
_IN_PLACE = {
    **_GROWING, ast.Sub: "sub", ast.Div: "truediv", ast.FloorDiv: "floordiv", ast.RShift: "rshift",
    ast.BitAnd: "and_", ast.BitOr: "or_", ast.BitXor: "xor",
}  # fmt: skip
_WITH_ARRAYS = {**_IN_PLACE, ast.MatMult: "matmul"}
_CONVERSIONS = {-1: "", ord("s"): "s", ord("r"): "r", ord("a"): "a"}


class Guarding(ast.NodeTransformer):
    """Writes the operations of a block as calls of its guards.

    Args:
        sets: whether there may be sets among its values.
        metered: whether each round and each call is looked at, not only the rounds of `while`.
        arrays: whether there may be arrays, which grow by all operators.
    """

    def __init__(self, sets: bool, metered: bool = False, arrays: bool = False) -> None:
        self.sets, self.metered, self.operators = sets, metered, _WITH_ARRAYS if arrays else _GROWING
        self.paid = arrays and metered

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        """A function."""
        self.generic_visit(node)
        if self.metered:
            node.body.insert(0, _ticked(node))
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """A function."""
        self.generic_visit(node)
        if self.metered:
            both = ast.Tuple([_call(TICK, node), node.body], ast.Load())
            node.body = ast.copy_location(ast.Subscript(both, ast.Constant(1), ast.Load()), node)
        return node

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        """A function of a module, or a method."""
        if isinstance(node.ctx, ast.Store):
            node.value = _call(CHANGED, node, self.visit(node.value))
            return node
        if isinstance(node.value, ast.Name) and node.value.id in (*LIBRARY, *MODULES):
            return _call(FUNCTION, node, ast.Constant(node.value.id), ast.Constant(node.attr))
        if isinstance(node.value, ast.Name) and any(node.value.id == each.__name__ for each in OF_CLASSES):
            return _call(ATTRIBUTE, node, node.value, ast.Constant(node.attr))
        return _call(ATTRIBUTE, node, self.visit(node.value), ast.Constant(node.attr))

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> ast.AST:
        """What catches an error: none of Python's own bounds, which a block comes to sooner than the function."""
        self.generic_visit(node)
        node.body.insert(0, ast.copy_location(ast.Expr(_call(CAUGHT, node)), node))
        return node

    def visit_YieldFrom(self, node: ast.YieldFrom) -> ast.AST:
        """What a generator goes through."""
        self.generic_visit(node)
        node.value = _call(ORDERED, node, node.value)
        return node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        """An operator whose result may grow."""
        self.generic_visit(node)
        name = self.operators.get(type(node.op))
        return node if name is None else _call(OPERATOR.format(name), node, node.left, node.right)

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        """``a += b`` and ``table[key] += b``, which asks for what is there before it asks for b."""
        name = ast.Constant(_IN_PLACE[type(node.op)])
        value = self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            if isinstance(node.target, ast.Subscript):
                table, key = self.visit(node.target.value), _as_value(self.visit(node.target.slice))
            else:
                table = _call(ATTRIBUTES, node, self.visit(node.target.value))
                key = ast.copy_location(ast.Constant(node.target.attr), node)
            entry = _call(ENTRY, node, table, key)
            return ast.copy_location(ast.Expr(_call(AUGMENT_ENTRY, node, name, entry, value)), node)
        now = ast.copy_location(ast.Name(node.target.id, ast.Load()), node)
        return ast.copy_location(ast.Assign([node.target], _call(AUGMENTED, node, name, now, value)), node)

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        """An entry that is set or deleted."""
        self.generic_visit(node)
        if not isinstance(node.ctx, ast.Load):
            node.value = _call(OWN, node, node.value)
        return _call(PAID, node, node) if self.paid and isinstance(node.ctx, ast.Load) else node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        """A comparison, which gives an array where it compares one."""
        self.generic_visit(node)
        return _call(PAID, node, node) if self.paid else node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        """The same of an operator on one thing."""
        return self.visit_Compare(node)  # type: ignore[arg-type]  # as one

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        """An f-string."""
        return _call(JOINED, node, *(self.visit(each) for each in node.values))

    def visit_FormattedValue(self, node: ast.FormattedValue) -> ast.AST:
        """A part of an f-string."""
        spec = ast.Constant("") if node.format_spec is None else self.visit(node.format_spec)
        return _call(FORMATTED, node, self.visit(node.value), ast.Constant(_CONVERSIONS[node.conversion]), spec)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        """A builtin that is bounded."""
        if not isinstance(node.ctx, ast.Load) or node.id not in CALLED_GUARDED:
            return node
        return ast.copy_location(ast.Name(CALLED.format(node.id), ast.Load()), node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """A call; `isinstance` asks for the type itself."""
        match node.func, node.args:
            case ast.Name("isinstance"), [thing, kind] if _names_builtins(kind) and not node.keywords:
                node.args = [self.visit(thing), node.args[1]]
                return node
            case ast.Name("min" | "max"), [ast.expr(), ast.expr(), *_] if not stars(node.args):
                node.args = [self.visit(each) for each in node.args]
                node.keywords = [self.visit(each) for each in node.keywords]
                return node
        kinds = [*node.args, *(each.value for each in node.keywords)] if self._takes_dtype(node.func) else []
        for each in kinds:
            match each:
                case ast.Name("int"):
                    each.id = DTYPE
        self.generic_visit(node)
        return node

    def _takes_dtype(self, function: ast.expr) -> bool:
        """Whether a call may be one of numpy that is given a dtype."""
        match function:
            case ast.Attribute(ast.Name(module), _) if module in OF_ARRAYS:
                return True
            case ast.Attribute(_, "astype"):
                return True
        return False

    def visit_Starred(self, node: ast.Starred) -> ast.AST:
        """Items that are unpacked."""
        self.generic_visit(node)
        if isinstance(node.ctx, ast.Load):
            node.value = _call(BOUNDED, node, node.value)
        return node

    def visit_List(self, node: ast.List) -> ast.AST:
        """A list with all items of others."""
        return self._with_others(node, node.elts)

    def visit_Tuple(self, node: ast.Tuple) -> ast.AST:
        """A tuple with all items of others."""
        return self._with_others(node, node.elts)

    def visit_Set(self, node: ast.Set) -> ast.AST:
        """A set with all items of others."""
        return self._with_others(node, node.elts)

    def visit_Dict(self, node: ast.Dict) -> ast.AST:
        """A dict with all entries of others."""
        self.generic_visit(node)
        return _call(FEW, node, node) if None in node.keys else node

    def _with_others(self, node: Any, parts: list[ast.expr]) -> ast.AST:
        self.generic_visit(node)
        grows = stars(parts) > 0 and isinstance(getattr(node, "ctx", ast.Load()), ast.Load)
        return _call(FEW, node, node) if grows else node

    def visit_ListComp(self, node: ast.ListComp) -> ast.AST:
        """A comprehension; one of several loops is as a generator, which is counted."""
        if len(node.generators) == 1:
            return self._kept(node)
        made = ast.copy_location(ast.GeneratorExp(node.elt, node.generators), node)
        return _call(GATHERED, node, self.visit(made))

    def visit_SetComp(self, node: ast.SetComp) -> ast.AST:
        """A comprehension; one of several loops is as a generator, which is counted."""
        if _filters(node):
            self.generic_visit(node)
            loop = node.generators[0].iter
            assert isinstance(loop, ast.Call)
            assert isinstance(loop.func, ast.Name)
            loop.func.id = COUNTED  # its order decides nothing
            return node
        if len(node.generators) == 1:
            return self._kept(node)
        made = ast.copy_location(ast.GeneratorExp(node.elt, node.generators), node)
        return _call(CALLED.format("set"), node, self.visit(made))

    def visit_DictComp(self, node: ast.DictComp) -> ast.AST:
        """A comprehension; one of several loops is as a generator, which is counted."""
        if len(node.generators) == 1:
            return self._kept(node)
        pair = ast.copy_location(ast.Tuple([node.key, node.value], ast.Load()), node)
        made = ast.copy_location(ast.GeneratorExp(pair, node.generators), node)
        return _call(CALLED.format("dict"), node, self.visit(made))

    def _kept(self, node: Any) -> ast.AST:
        self.generic_visit(node)
        loop: ast.comprehension = node.generators[0]
        match loop.iter:
            case ast.Call(ast.Name(name)) if name == ORDERED:
                loop.iter.func = ast.copy_location(ast.Name(BOUNDED, ast.Load()), loop.iter)
            case _:
                loop.iter = _call(BOUNDED, loop.iter, loop.iter)
        found: ast.AST = node
        return found

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        """An assignment, which may unpack what is set."""
        self.generic_visit(node)
        unpacked = [each for each in node.targets if isinstance(each, ast.Tuple | ast.List)]
        if any(isinstance(part, ast.Tuple | ast.List) for each in unpacked for part in each.elts):
            node.value = _call(self._order(unpacked[0]), node, node.value)
        elif unpacked or any(map(_is_slice, node.targets)):
            node.value = _call(ORDERED, node, node.value)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        """What a comprehension goes through."""
        self.generic_visit(node)
        if self.metered:
            node.ifs.insert(0, ast.UnaryOp(ast.Not(), _call(TICK, node.iter)))
        node.iter = _call(self._order(node.target), node.iter, node.iter)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        """What a loop goes through."""
        self.generic_visit(node)
        if self.metered:
            node.body.insert(0, _ticked(node))
        node.iter = _call(self._order(node.target), node.iter, node.iter)
        return node

    def _order(self, target: ast.expr) -> str:
        return EACH_ORDERED if self.sets and isinstance(target, ast.Tuple | ast.List) else ORDERED

    def visit_While(self, node: ast.While) -> ast.AST:
        """A loop, each of whose rounds may be stopped."""
        self.generic_visit(node)
        node.body.insert(0, _ticked(node))
        return node


CALLED, OPERATOR = "<{}>", "<operator {}>"
DTYPE = "<dtype int>"
"""What stands for the class of whole numbers where it is a dtype."""
CALLED_GUARDED = (
    "isinstance", "str", "repr", "int", "round", "pow", "list", "tuple", "dict", "set", "frozenset", "enumerate",
    "iter", "zip", "map", "filter", "reversed", "sorted", "min", "max", "sum",
)  # fmt: skip
"""Builtins that `guarded.CALLS` has."""


def makes_sets(tree: ast.AST) -> bool:
    """Whether a text may make a set."""
    return any(
        isinstance(node, ast.Set | ast.SetComp | ast.BitAnd | ast.BitOr | ast.BitXor | ast.Sub)
        or (isinstance(node, ast.Name) and node.id in ("set", "frozenset"))
        for node in ast.walk(tree)
    )


def _filters(node: ast.SetComp) -> bool:
    """Whether a set holds items of another one of which something is true: ``{w for w in words if w in KNOWN}``."""
    match node.generators:
        case [ast.comprehension(ast.Name(name), _, conditions)]:
            parts = [part for each in conditions for part in ast.walk(each)]
            plain = all(isinstance(each, _OF_CONDITIONS) or _only_asks(each) for each in parts)
            return plain and isinstance(node.elt, ast.Name) and node.elt.id == name
    return False


_OF_CONDITIONS = (
    ast.Name, ast.Constant, ast.Compare, ast.BoolOp, ast.UnaryOp, ast.Subscript, ast.Attribute, ast.Slice,
    ast.expr_context, ast.boolop, ast.unaryop, ast.cmpop,
)  # fmt: skip
_ASKING = ("startswith", "endswith", "isalpha", "isdigit", "isalnum", "isupper", "islower", "istitle", "isspace", "get")


def _only_asks(part: ast.AST) -> bool:
    """Whether it is a call that changes nothing."""
    match part:
        case ast.Call(ast.Name("len")):
            return True
        case ast.Call(ast.Attribute(_, name)):
            return name in _ASKING
    return False


def _names_builtins(kind: ast.expr) -> bool:
    """Whether an expression holds nothing but names: ``int``, ``(int, str)`` or ``int | str``."""
    match kind:
        case ast.Tuple(parts):
            return all(map(_names_builtins, parts))
        case ast.BinOp(left, ast.BitOr(), right):
            return _names_builtins(left) and _names_builtins(right)
    return isinstance(kind, ast.Name) and kind.id in BUILTINS


def _is_slice(target: ast.expr) -> bool:
    return isinstance(target, ast.Subscript) and isinstance(target.slice, ast.Slice)


def _as_value(key: Any) -> Any:
    """The key of a subscript as an argument of a call."""
    if isinstance(key, ast.Slice):
        ends = [each or ast.Constant(None) for each in (key.lower, key.upper, key.step)]
        return ast.copy_location(ast.Call(ast.Name("<slice>", ast.Load()), ends, []), key)
    return key


def _ticked(place: ast.stmt) -> ast.stmt:
    return ast.copy_location(ast.Expr(_call(TICK, place)), place)


def _call(name: str, place: ast.AST, *args: ast.expr) -> ast.Call:
    made = ast.Call(ast.Name(name, ast.Load()), list(args), [])
    return ast.fix_missing_locations(ast.copy_location(made, place))
