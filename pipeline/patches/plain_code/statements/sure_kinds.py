"""The kinds of what a block gives, where its text leaves no doubt: one that is guessed would stop a run.

A variable has a kind where all that it is ever set to has it. A float that is given may be a whole number in a run, as
Python takes one, so that only what is computed of it may be known: `a / b`, `math.dist(p, q)`.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from typing import Any

from .....ops.runtime.primitives.plain_code.language import LIBRARY
from ...source.scoping import leaves

_NUMBER = "number"  # an int or a float
_MOST_TURNS = 20
_INTS = ("ceil", "comb", "factorial", "floor", "gcd", "isqrt", "lcm", "perm", "trunc")
_OF_ONE_KIND = {"str": "str", "repr": "str", "chr": "str", "len": "int", "int": "int", "ord": "int", "bool": "bool"}
_OF_TEXTS = {
    **dict.fromkeys((
        "capitalize", "casefold", "center", "expandtabs", "format", "join", "ljust", "lower", "lstrip", "removeprefix",
        "removesuffix", "replace", "rjust", "rstrip", "strip", "swapcase", "title", "translate", "upper", "zfill",
    ), "str"),
    **dict.fromkeys((
        "endswith", "isalnum", "isalpha", "isascii", "isdecimal", "isdigit", "isidentifier", "islower", "isnumeric",
        "isprintable", "isspace", "istitle", "isupper", "startswith",
    ), "bool"),
    **dict.fromkeys(("count", "find", "index", "rfind", "rindex"), "int"),
}  # fmt: skip
"""What methods of a text give."""
_ARITHMETIC = (ast.Add, ast.Sub, ast.Mult, ast.FloorDiv, ast.Mod)


def kinds_of_result(text: str, given: Sequence[Any]) -> Any:
    """The kind of what the returns of a block give, with the parts that all of them have; "any" where it is not sure.

    Args:
        text: of the block.
        given: what it is given on the example, where that is a number or a text.
    """
    function = ast.parse(text).body[-1]
    assert isinstance(function, ast.FunctionDef)
    returns = [part.value for line in function.body for part in own_parts(line) if isinstance(part, ast.Return)]
    if not leaves(function.body):
        return "any"
    known = _SureKinds(function, given)
    match returns:
        case [ast.Tuple(first), *_] if first and not any(isinstance(each, ast.Starred) for each in first):
            if all(isinstance(each, ast.Tuple) and len(each.elts) == len(first) for each in returns):
                parts = zip(*(each.elts for each in returns if isinstance(each, ast.Tuple)), strict=True)
                return ["tuple", *map(known.of_all, parts)]
        case [ast.Dict(keys), *_] if keys and all(isinstance(k, ast.Constant) and type(k.value) is str for k in keys):
            named = [k.value for k in keys if isinstance(k, ast.Constant)]
            if all(
                isinstance(each, ast.Dict) and [getattr(k, "value", ...) for k in each.keys] == named
                for each in returns
            ):
                entries = zip(*(each.values for each in returns if isinstance(each, ast.Dict)), strict=True)
                return ["keys", *([name, known.of_all(each)] for name, each in zip(named, entries, strict=True))]
    return known.of_all(returns)


def own_parts(part: ast.AST) -> Any:
    """The parts of a statement but those of functions that are defined in it."""
    yield part
    if not isinstance(part, ast.FunctionDef | ast.Lambda):
        for each in ast.iter_child_nodes(part):
            yield from own_parts(each)


class _SureKinds:
    """The kinds of the expressions of a block.

    Args:
        function: the block.
        given: what it is given on the example.
    """

    def __init__(self, function: ast.FunctionDef, given: Sequence[Any]) -> None:
        names = [each.arg for each in function.args.args]
        self.known: dict[str, str | None] = dict(zip(names, map(_of_given, given), strict=False))
        parts = [part for line in function.body for part in ast.walk(line)]
        sets = _SetNames(parts)
        self.known |= {name: None if name in sets.unsure or name in names else "" for name in sets.values}
        self._settle({name: values for name, values in sets.values.items() if self.known[name] == ""})

    def _settle(self, values: Mapping[str, Sequence[ast.expr | None]]) -> None:
        """Finds the kinds of variables, from all kinds down: one may be set to what hangs on it."""
        for _ in range(_MOST_TURNS):
            found = {name: self._joined(parts) for name, parts in values.items()}
            if all(self.known[name] == kind for name, kind in found.items()):
                return
            self.known |= found
        self.known |= dict.fromkeys(values)

    def of_all(self, parts: Sequence[ast.expr | None]) -> str:
        """The kind that all of some expressions have; "any" where they have none."""
        found = self._joined(parts)
        return "any" if found in (None, _NUMBER, "") else found or "any"

    def _joined(self, parts: Sequence[ast.expr | None]) -> str | None:
        kinds = {None if each is None else self._of(each) for each in parts} - {""}
        return kinds.pop() if len(kinds) == 1 else None if kinds else ""

    def _of(self, part: ast.expr) -> str | None:
        """The kind of an expression: None where it may be of several, empty while nothing is known of it."""
        match part:
            case ast.Constant(value):
                return type(value).__name__ if type(value) in (bool, int, float, str) else None
            case ast.Name(name):
                return self.known.get(name, "") if name in self.known else None
            case ast.JoinedStr():
                return "str"
            case ast.Compare(left, operators, others):
                return self._of_question(operators, [left, *others])
            case ast.UnaryOp(ast.Not()):
                return "bool"
            case ast.UnaryOp(ast.USub() | ast.UAdd(), inner):
                return _of_arithmetic(self._of(inner), "int")
            case ast.BinOp(left, operator, right):
                return _of_operator(operator, self._of(left), self._of(right))
            case ast.BoolOp(values=parts):
                return self._joined(parts)
            case ast.IfExp(_, one, other):
                return self._joined([one, other])
            case ast.Call(function, args, named):
                return self._of_call(function, args, [each.arg for each in named])
        return None

    def _of_question(self, operators: Sequence[ast.cmpop], parts: Sequence[ast.expr]) -> str | None:
        asked = all(isinstance(each, ast.In | ast.NotIn | ast.Is | ast.IsNot) for each in operators)
        kinds = {self._of(each) for each in parts}
        return "bool" if asked or None not in kinds else None

    def _of_call(self, function: ast.expr, args: Sequence[ast.expr], named: Sequence[str | None]) -> str | None:
        kinds = [self._of(each) for each in args]
        match function:
            case ast.Name(name) if name in self.known or any(isinstance(each, ast.Starred) for each in args):
                return None
            case ast.Name("max" | "min") if len(args) > 1 and named in ([], ["key"]):
                return self._joined(args)
            case ast.Name("float") if not named:
                return "float"
            case ast.Name("abs") if len(args) == 1:
                return _of_arithmetic(kinds[0], "int")
            case ast.Name("round") if len(args) == 1 and kinds[0] in ("int", "float", _NUMBER):
                return "int"
            case ast.Name("round") if len(args) == 2 and kinds[0] in ("int", "float"):
                return kinds[0]
            case ast.Name(name):
                return _OF_ONE_KIND.get(name)
            case ast.Attribute(ast.Name("math"), name) if "math" not in self.known and name in LIBRARY["math"]:
                return _of_math(name)
            case ast.Attribute(ast.Name("bisect"), name) if "bisect" not in self.known and name.startswith("bisect"):
                return "int"
            case ast.Attribute(value, name) if self._of(value) == "str":
                return _OF_TEXTS.get(name)
        return None


def _of_given(thing: Any) -> str | None:
    kind = type(thing).__name__ if type(thing) in (bool, int, float, str) else None
    return _NUMBER if kind == "float" else kind


def _of_math(name: str) -> str | None:
    if name in ("prod", "pow", "sumprod", "frexp", "modf", "inf", "nan", "pi", "e", "tau") or name.startswith("is"):
        return "bool" if name in ("isclose", "isfinite", "isinf", "isnan") else None
    return "int" if name in _INTS else "float"


def _of_arithmetic(one: str | None, other: str | None) -> str | None:
    """The kind of a number that is computed of two, of whose kinds flags count as whole numbers."""
    kinds = {"int" if each == "bool" else each for each in (one, other)}
    if not kinds <= {"int", "float", _NUMBER, ""}:
        return None
    if "" in kinds:
        return ""
    return "float" if "float" in kinds else _NUMBER if _NUMBER in kinds else "int"


def _of_operator(operator: ast.operator, one: str | None, other: str | None) -> str | None:
    if "str" in (one, other):
        adds = isinstance(operator, ast.Add) and {one, other} <= {"str", ""}
        repeats = isinstance(operator, ast.Mult) and {one, other} <= {"str", "int", "bool", ""}
        return "str" if adds or repeats or (one == "str" and isinstance(operator, ast.Mod)) else None
    found = _of_arithmetic(one, other)
    if isinstance(operator, ast.Div):
        return "float" if found else found
    return found if isinstance(operator, _ARITHMETIC) else None


class _SetNames:
    """What the variables of a block are set to.

    Args:
        parts: of the block.

    Attributes:
        values: what each is set to by statements.
        unsure: those that are set otherwise, too.
    """

    def __init__(self, parts: Sequence[ast.AST]) -> None:
        self.values = dict[str, list[ast.expr | None]]()
        sure = set[int]()
        for part in parts:
            for target, value in _bound(part):
                self.values.setdefault(target.id, []).append(value)
                sure.add(id(target))
        stores = [part for part in parts if isinstance(part, ast.Name) and not isinstance(part.ctx, ast.Load)]
        self.unsure = {part.id for part in stores if id(part) not in sure}
        for part in parts:
            match part:
                case ast.FunctionDef(name) | ast.ExceptHandler(_, str(name)) | ast.MatchAs(_, str(name)):
                    self.unsure.add(name)
                case ast.MatchStar(str(name)) | ast.MatchMapping(rest=str(name)) | ast.arg(name):
                    self.unsure.add(name)
        for name in self.unsure:
            self.values.setdefault(name, [])


def _bound(part: ast.AST) -> list[tuple[ast.Name, ast.expr | None]]:
    match part:
        case ast.Assign([ast.Tuple(names)], ast.Tuple(values)) if len(names) == len(values):
            pairs = zip(names, values, strict=True)
            return [(name, value) for name, value in pairs if isinstance(name, ast.Name)]
        case ast.Assign(targets, value):
            return [(name, value) for name in targets if isinstance(name, ast.Name)]
        case ast.AugAssign(ast.Name() as name, operator, value):
            return [(name, ast.BinOp(ast.Name(name.id, ast.Load()), operator, value))]
        case ast.For(ast.Name() as name, ast.Call(ast.Name("range"))):
            return [(name, ast.Constant(0))]
        case ast.For(ast.Tuple([ast.Name() as name, _]), ast.Call(ast.Name("enumerate"))):
            return [(name, ast.Constant(0))]
    return []
