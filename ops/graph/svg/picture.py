"""Draws graphs as SVG: ops as coloured boxes with their device, torch operators between them, types on the edges."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise
from typing import Any

from ..errors import printable
from ..graph import BodyCall, Graph, Guard, KernelCall, Literal, Node, Operator, Record, Value, target_name
from ..text import plain_text
from ..traverse import leaves, map_leaves, uses
from ..types import TensorType
from .layout import Box, Layout, lay_out

MARGIN, TITLE = 28.0, 34.0
_CHARACTER = {"name": 7.9, "small": 6.3}  # average widths of characters in the fonts below, rounded up
_STYLE = """
  .card { fill: #ffffff; stroke: #e4e7ec; }
  text { font: 13px system-ui, "Segoe UI", "DejaVu Sans", sans-serif; fill: #1d2939; }
  .title { font-weight: 600; font-size: 14px; }
  .small, .type { font: 10.5px ui-monospace, "SF Mono", "DejaVu Sans Mono", monospace; fill: #667085; }
  .type { paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; }
  .end rect { fill: #f2f4f7; stroke: #98a2b3; }
  .torch rect { fill: #ffffff; stroke: #cfd4dc; }
  .op rect { fill: #eef4ff; stroke: #6172f3; stroke-width: 1.5px; }
  .op .name { font-weight: 600; fill: #2d3282; }
  .kernel rect { fill: #fdf2fa; stroke: #dd2590; stroke-width: 1.5px; }
  .kernel .name { font-weight: 600; fill: #851651; }
  .guard rect { fill: #fffaeb; stroke: #dc6803; stroke-dasharray: 4 3; }
  .edge { fill: none; stroke: #98a2b3; stroke-width: 1.4px; stroke-linecap: round; }
"""


@dataclass
class _Drawn:
    """A box with its text, and the Values that it produces and uses."""

    kind: str
    name: str
    notes: list[str]
    gives: list[Value] = field(default_factory=list)
    takes: list[Value] = field(default_factory=list)

    def box(self) -> Box:
        """The box, as large as its text."""
        wide = [len(self.name) * _CHARACTER["name"], *(len(note) * _CHARACTER["small"] for note in self.notes)]
        return Box(max(wide) + 26, 28.0 + 15.0 * len(self.notes))


def svg(panels: list[tuple[str, Graph, list[str]]]) -> str:
    """A picture of graphs, one below the other.

    Args:
        panels: for each a title, the graph, and a name for every input.
    """
    drawn = [_panel(title, graph, names) for title, graph, names in panels]
    width = max(wide for wide, _, _ in drawn) + 2 * MARGIN
    body, y = [], 0.0
    for _, high, lines in drawn:
        body += [f'<g transform="translate({_n(MARGIN)},{_n(y + MARGIN)})">', *lines, "</g>"]
        y += high + MARGIN
    height = y + MARGIN
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{_n(width)}" height="{_n(height)}" '
            f'viewBox="0 0 {_n(width)} {_n(height)}" role="img">',
            f"<style>{_STYLE}</style>",
            '<defs><marker id="tip" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" fill="#98a2b3"/></marker></defs>',
            f'<rect class="card" x="0.5" y="0.5" width="{_n(width - 1)}" height="{_n(height - 1)}" rx="10"/>',
            *body,
            "</svg>",
            "",
        ]
    )


def _panel(title: str, graph: Graph, names: list[str]) -> tuple[float, float, list[str]]:
    drawn = _things(graph, names)
    boxes = [thing.box() for thing in drawn]
    edges, carried = _edges(drawn)
    last = frozenset(i for i, thing in enumerate(drawn) if thing.kind == "end" and not thing.gives)
    layout = lay_out(boxes, edges, last=last)
    lines = [f'<text class="title" x="0" y="12">{_text(title)}</text>', f'<g transform="translate(0,{_n(TITLE)})">']
    lines += _edges_svg(layout, {id(box) for box in boxes})
    lines += [_shape(thing, box) for thing, box in zip(drawn, boxes, strict=True)]
    inputs = {id(box) for thing, box in zip(drawn, boxes, strict=True) if thing.kind == "end"}
    lines += _types(layout, carried, inputs)
    lines.append("</g>")
    return max(layout.width, len(title) * 8.2), layout.height + TITLE, lines


# -- from a graph to things --------------------------------------------------------------------------------------


def _things(graph: Graph, names: list[str]) -> list[_Drawn]:
    sizes = _sizes(graph)
    inputs = zip(names, graph.inputs, strict=True)
    things = [_Drawn("end", name, [str(value.type)], gives=[value]) for name, value in inputs]
    things += [_thing(node, sizes) for node in graph.nodes if not _is_size(node, sizes)]
    things += [_Drawn("end", name, [], takes=[value]) for name, value in named_outputs(graph.output)]
    return things


def _sizes(graph: Graph) -> dict[int, str]:
    """Sizes that only other nodes use: they are written as symbols there, without edges."""
    shown = {id(value) for value in leaves(graph.output)}
    shown |= {id(leaf) for node in graph.nodes if isinstance(node.target, Guard) for leaf in uses(node)}
    found: dict[int, str] = {}
    for node in graph.nodes:
        match node:
            case Node(target=Operator("py.size"), args=(Value(type=TensorType(shape=shape)), int(dim)), output=Value()):
                if id(node.output) not in shown and -len(shape) <= dim < len(shape):
                    found[id(node.output)] = str(shape[dim])
    return found


def _is_size(node: Node, sizes: dict[int, str]) -> bool:
    return isinstance(node.output, Value) and id(node.output) in sizes


def _thing(node: Node, sizes: dict[int, str]) -> _Drawn:
    gives = [v for v in leaves(node.output) if isinstance(v, Value)]
    takes = _unique(v for v in uses(node) if isinstance(v, Value) and id(v) not in sizes)
    match node.target:
        case BodyCall(body):
            return _Drawn("op", body.name, [f"@{body.device}"], gives, takes)
        case KernelCall(kernel):
            return _Drawn("kernel", kernel.name, [], gives, takes)
        case Guard(expected, _):
            return _Drawn("guard", f"must be {expected!r}", [], gives, takes)
    return _Drawn("torch", _short(target_name(node.target)), _notes(node, sizes), gives, takes)


def _short(name: str) -> str:
    """An operator's name without its family: ``torch.Tensor.mul`` is ``mul``, ``aten.add.Tensor`` is ``add``."""
    parts = name.removesuffix(".__get__").split(".")
    return parts[1] if parts[0] == "aten" else parts[-1]


def _notes(node: Node, sizes: dict[int, str]) -> list[str]:
    """The arguments without an edge, in one short line."""

    def text(arg: Any) -> str:
        return plain_text(map_leaves(lambda leaf: Literal("size", sizes[id(leaf)]) if id(leaf) in sizes else leaf, arg))

    parts = [text(arg) for arg in node.args if not isinstance(arg, Value) or id(arg) in sizes]
    named = {name: arg for name, arg in node.kwargs.items() if not isinstance(arg, Value) or id(arg) in sizes}
    parts += [f"{name}={text(arg)}" for name, arg in named.items()]
    line = ", ".join(part for part in parts if part)
    return [line if len(line) <= 34 else line[:33] + "…"] if line else []


def named_outputs(tree: Any, name: str = "") -> list[tuple[str, Value]]:
    """The Values of an output tree with names: a dict's keys, ``out`` and positions elsewhere.

    Example:
        >>> from tracepack.ops.graph.types import INT
        >>> v = Value(INT)
        >>> [n for n, _ in named_outputs({"probs": v, "state": (v, v)})]
        ['probs', 'state[0]', 'state[1]']
    """
    match tree:
        case Value():
            return [(name or "out", tree)]
        case dict():
            keys = [(f"{name}[{key!r}]" if name or not isinstance(key, str) else key, v) for key, v in tree.items()]
            return [found for key, value in keys for found in named_outputs(value, key)]
        case tuple() | list():
            pairs = enumerate(tree)
            return [found for index, v in pairs for found in named_outputs(v, f"{name or 'out'}[{index}]")]
        case Record():
            return named_outputs(tree.items, name)
    return []


def _unique(values: Iterable[Value]) -> list[Value]:
    return list({id(value): value for value in values}.values())


def _edges(drawn: list[_Drawn]) -> tuple[list[tuple[int, int]], list[Value]]:
    """Edges between boxes, with the value of each; several values between two boxes are several edges."""
    home: dict[int, int] = {}
    edges, carried = [], []
    for number, thing in enumerate(drawn):
        for value in thing.takes:
            if id(value) in home:
                edges.append((home[id(value)], number))
                carried.append(value)
        home |= {id(value): number for value in thing.gives}
    return edges, carried


# -- from boxes to SVG -------------------------------------------------------------------------------------------


def _shape(thing: _Drawn, box: Box) -> str:
    radius = box.height / 2 if thing.kind == "end" else 7.0
    y = box.y + 18.5
    lines = [
        f'<g class="{thing.kind}">'
        f'<rect x="{_n(box.x)}" y="{_n(box.y)}" width="{_n(box.width)}" height="{_n(box.height)}" rx="{_n(radius)}"/>'
        f'<text class="name" x="{_n(box.middle)}" y="{_n(y)}" text-anchor="middle">{_text(thing.name)}</text>'
    ]
    for index, note in enumerate(thing.notes):
        at = f'x="{_n(box.middle)}" y="{_n(y + 15 * (index + 1))}"'
        lines.append(f'<text class="small" {at} text-anchor="middle">{_text(note)}</text>')
    return "".join(lines) + "</g>"


def _edges_svg(layout: Layout, ends: set[int]) -> list[str]:
    """Smooth lines from box to box; where edges run together, one line is drawn once."""
    steps = {(id(upper), id(lower)): (upper, lower) for path in layout.paths for upper, lower in pairwise(path)}
    return [_step(upper, lower, id(lower) in ends) for upper, lower in steps.values()]


def _step(upper: Box, lower: Box, tip: bool) -> str:
    bend = (lower.y - upper.bottom) / 2
    start, end = f"{_n(upper.middle)},{_n(upper.bottom)}", f"{_n(lower.middle)},{_n(lower.y)}"
    curve = f"M{start} C{_n(upper.middle)},{_n(upper.bottom + bend)} {_n(lower.middle)},{_n(lower.y - bend)} {end}"
    return f'<path class="edge" d="{curve}"' + (' marker-end="url(#tip)"/>' if tip else "/>")


def _types(layout: Layout, carried: list[Value], inputs: set[int]) -> list[str]:
    """The type of each value once, below the box that produces it; those of inputs are inside of their boxes."""
    lines, seen = [], set()
    for path, value in zip(layout.paths, carried, strict=True):
        start, end = path[0], path[1]
        key = (id(start), str(value.type))
        if id(start) in inputs or key in seen:
            continue
        seen.add(key)
        x, y = (2 * start.middle + end.middle) / 3, start.bottom + (end.y - start.bottom) * 0.42
        lines.append(f'<text class="type" x="{_n(x)}" y="{_n(y)}" text-anchor="middle">{_text(str(value.type))}</text>')
    return lines


def _n(number: float) -> str:
    return f"{number:.1f}".removesuffix(".0")


def _text(text: str) -> str:
    return escape(printable(text))
