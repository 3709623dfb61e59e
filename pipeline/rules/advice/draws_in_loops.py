"""What a loop of any length writes in place of a draw of random numbers in it: all of them are drawn before it."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator
from functools import partial

from ....ops.graph.graph import Node, Operator, SourceLine
from .branch_forms import form_of, holds

_BEFORE = "Draw them before the loop: noise = {}, and {} for i, x in enumerate(xs)."
_FORMS = {
    "randn": ("torch.randn(len(xs), generator=g)", "noise[i]"),
    "randint": ("torch.randint(low, high, (len(xs),), generator=g)", "int(noise[i])"),
    "multinomial": ("torch.rand(len(xs), generator=g)", "int(torch.searchsorted((x / x.sum()).cumsum(0), noise[i]))"),
}
_PLAIN = ("torch.rand(len(xs), generator=g)", "noise[i]")
_SIZED = ("randn", "rand")
_Loop = ast.For | ast.ListComp


def form_of_draw(node: Node | None, line: SourceLine | None = None) -> str:
    """The form for a draw.

    Args:
        node: that draws; None where it is not known.
        line: on which it is drawn; the form is that line's where it has one.
    """
    if form := drawn_before_loop(line or (node.line if node is not None else None), ""):
        return f"{form}."
    found = node.target.name if node is not None and isinstance(node.target, Operator) else ""
    name = str(node.args[1]) if node is not None and found == "py.draw" else found
    return _BEFORE.format(*_FORMS.get(name.rpartition(".")[2].removesuffix("_like"), _PLAIN))


def drawn_before_loop(line: SourceLine | None, generator: str) -> str:
    """The loop of a line with its draws before it; empty where the line draws in none, or draws what has no such form.

    The draws are of sizes that do not hang on the item, or of the shape of the item, which all of them have then.

    Args:
        line: the line.
        generator: the name of one for draws that name none; empty within `drawing`, which has one.
    """
    return form_of(line, partial(_form, generator))


def _form(generator: str, tree: ast.AST, line: SourceLine) -> str:
    loops = [each for each in ast.walk(tree) if isinstance(each, _Loop) and _draws_on(each, line)]
    if not loops:
        return ""
    loop = loops[-1]  # the innermost
    if isinstance(loop, ast.ListComp) and (len(loop.generators) > 1 or loop.generators[0].ifs):
        return ""
    head = loop.generators[0] if isinstance(loop, ast.ListComp) else loop
    if not isinstance(head.iter, ast.Name):
        return ""
    body = loop.elt if isinstance(loop, ast.ListComp) else ast.Module(loop.body, [])
    draws = sorted(_draws(body), key=lambda each: (each.lineno, each.col_offset))
    names = ["noise", *(f"noise_{number}" for number in range(2, len(draws) + 1))]
    made = [_of_all(each, head.iter.id, head.target, generator) for each in draws]
    if not all(made):
        return ""
    first = f"{', '.join(names[: len(draws)])} = {', '.join(made)}"
    again = f"for i, {ast.unparse(head.target)} in enumerate({head.iter.id})"
    if isinstance(loop, ast.For):
        return (
            f"Draw before the loop: {first}; then `{again}:` with {', '.join(f'{n}[i]' for n in names[: len(draws)])}"
        )
    taken = {ast.dump(each): name for each, name in zip(draws, names, strict=False)}
    item = ast.unparse(_DrawnBefore(taken).visit(copy.deepcopy(loop.elt)))
    return f"Draw before the loop: {first}; then [{item} {again}]"


def _draws_on(loop: _Loop, line: SourceLine) -> bool:
    parts = loop.body if isinstance(loop, ast.For) else [loop.elt]
    return any(holds(each, line.line) for part in parts for each in _draws(part))


def _draws(part: ast.AST) -> Iterator[ast.Call]:
    for each in ast.walk(part):
        match each:
            case ast.Call(ast.Attribute(ast.Name("torch"), "randn" | "rand" | "randint" | "randn_like" | "rand_like")):
                yield each


def _of_all(draw: ast.Call, items: str, target: ast.expr, generator: str) -> str:
    """The draw for all items; empty where there is none."""
    assert isinstance(draw.func, ast.Attribute)
    name, loose = draw.func.attr, {each.id for each in ast.walk(target) if isinstance(each, ast.Name)}
    options = [each for each in draw.keywords if each.arg != "generator"]
    source = next((ast.unparse(each.value) for each in draw.keywords if each.arg == "generator"), generator)
    last = "".join(f", {ast.unparse(each)}" for each in options) + f", generator={source}" * bool(source)
    args = [ast.unparse(each) for each in draw.args]
    of_item = isinstance(target, ast.Name) and (
        (name.endswith("_like") and args == [target.id]) or (name in _SIZED and args == [f"{target.id}.shape"])
    )
    if of_item:
        return f"torch.{name.removesuffix('_like')}(torch.stack({items}).shape{last})"
    if loose & {each.id for each in ast.walk(draw) if isinstance(each, ast.Name)} or not args:
        return ""
    match draw.args[-1]:
        case ast.Tuple(sizes) | ast.List(sizes):
            size = ", ".join([f"len({items})", *map(ast.unparse, sizes)])
            return f"torch.{name}({', '.join([*args[:-1], f'({size},)' if not sizes else f'({size})'])}{last})"
    return f"torch.{name}(len({items}), {', '.join(args)}{last})" if name in _SIZED else ""


class _DrawnBefore(ast.NodeTransformer):
    """Puts what was drawn before in place of draws."""

    def __init__(self, names: dict[str, str]) -> None:
        self.names = names

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Replaces one draw."""
        name = self.names.get(ast.dump(node))
        return self.generic_visit(node) if name is None else ast.parse(f"{name}[i]", mode="eval").body
