"""The guards of a pipeline as text over its inputs, for its signature and for the errors of a guard."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence

from ...ops.graph.cuts import cut_size, is_cut
from ...ops.graph.graph import Graph, Guard, Node, Operator, SourceLine, Value, target_name
from ...ops.graph.guards import syntax_tree
from ...ops.graph.traverse import leaves
from ...ops.graph.types import TensorType
from ...ops.runtime.primitives.callables import template

_ASKED = {
    "py.contiguous": "{}.is_contiguous()", "py.stride": "{}.stride({})", "py.requires_grad": "{}.requires_grad",
    "py.storage_offset": "{}.storage_offset()", "py.is_conj": "{}.is_conj()", "py.is_neg": "{}.is_neg()",
    "py.numel": "{}.numel()",
}  # fmt: skip
"""What no type of a tensor tells, as a function asks for it."""

_BLOCK = "py.plain_code"
_LONGEST_CONSTANT = 120
"""Characters of a constant in a condition; of a longer one a reader has no need."""
_LONGEST = 2000
"""Characters of the longest text of a condition: each node of a forged file can double it."""


def conditions(graph: Graph, names: Sequence[str]) -> list[str]:
    """The guards that can be written over the inputs' sizes, numbers and layouts: ``N > 2``, ``x.is_contiguous()``.

    Args:
        graph: of the pipeline.
        names: of its inputs.
    """
    makers = {id(v): node for node in graph.nodes for v in leaves(node.output)}
    texts = {id(v): n for v, n in zip(graph.inputs, names, strict=True) if not isinstance(v.type, TensorType)}
    tensors = {id(v): n for v, n in zip(graph.inputs, names, strict=True) if isinstance(v.type, TensorType)}
    found: list[str] = []
    for node in graph.nodes:
        if is_cut(node):
            found += _of_cut(node, texts, tensors, makers)
        elif isinstance(node.target, Guard):
            text = texts.get(id(node.args[0]))
            if text is not None and re.search(r"[A-Za-z]", re.sub(r"\b(not|min|max|int|float|bool)\b", "", text)):
                found.append(_stated(text, node.target.expected))
        elif isinstance(node.target, Operator):
            text = _asked(node, node.target.name, tensors) or _text(node, node.target.name, texts)
            text = text or _size_inside(node, makers)
            if text is not None and len(text) <= _LONGEST:
                several = enumerate(node.output) if isinstance(node.output, tuple | list) else ()
                texts |= {id(item): f"{text}[{place}]" for place, item in several if isinstance(item, Value)}
                texts |= {id(node.output): text} if isinstance(node.output, Value) else {}
    return list(dict.fromkeys(found))


def _of_cut(
    node: Node, texts: Mapping[int, str], tensors: Mapping[int, str], makers: Mapping[int, Node]
) -> Iterator[str]:
    """The number of pieces into which a node cuts a tensor, as Python asks for it: ``len(x.chunk(4, 1)) == 4``."""
    match cut_size(node):
        case (str(function), Value() as tensor, many, dim):
            made = makers.get(id(tensor))
            name = tensors.get(id(tensor)) or (_name_of(made) if made is not None else "")
            parts = [texts.get(id(each)) if isinstance(each, Value) else repr(each) for each in (many, dim)]
            text = f"len({name}.{function}({parts[0]}, {parts[1]}))"
            if name and None not in parts and len(text) <= _LONGEST:
                yield _stated(text, len(node.output))


def _name_of(node: Node) -> str:
    return target_name(node.target).rpartition(".")[2].strip("_")


def _stated(text: str, expected: object) -> str:
    """A condition as a Python expression without needless brackets."""
    stated = text if expected is True else f"not {text}" if expected is False else f"{text} == {expected!r}"
    try:
        return ast.unparse(syntax_tree(stated))
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the names of a file may be no identifiers
        return stated


def _asked(node: Node, name: str, tensors: Mapping[int, str]) -> str | None:
    """What is asked of an input beyond its type, as text."""
    tensor = tensors.get(id(node.args[0])) if name in _ASKED and node.args else None
    if tensor is None or node.kwargs:
        return None
    options = [_plain(arg) or "?" for arg in node.args[1:]]
    return _ASKED[name].format(tensor, *options) if _ASKED[name].count("{}") == 1 + len(options) else None


def _text(node: Node, name: str, texts: dict[int, str]) -> str | None:
    """A size, or arithmetic on sizes and plain numbers, as text."""
    if name == "py.size" and isinstance(node.args[0], Value) and isinstance(node.args[1], int):
        kind, dim = node.args[0].type, node.args[1]
        size = str(kind.shape[dim] if isinstance(kind, TensorType) and dim in range(len(kind.shape)) else "?")
        return None if "?" in size else size if size.isalnum() else f"({size})"
    parts = [texts.get(id(arg)) if isinstance(arg, Value) else _plain(arg) for arg in node.args]
    if not name.startswith("py.") or node.kwargs or not parts or None in parts:
        return None
    form = template(name)
    if name == _BLOCK:  # whose source and kind a reader has no need of
        return f"block({', '.join(map(str, parts[2:]))})"
    if form is None:
        return f"{name.removeprefix('py.')}({', '.join(map(str, parts))})"
    return form.format(*parts)


def _plain(arg: object) -> str | None:
    """A plain argument as text; None for a container with values in it."""
    if any(isinstance(leaf, Value) for leaf in leaves(arg)):
        return None
    text = repr(arg)
    return f"({text})" if len(text) <= _LONGEST_CONSTANT else "..."


def _size_inside(node: Node, makers: dict[int, Node]) -> str | None:
    """A size of an inner value, which is named by the operator that computes it: ``size(softmax, 1)``."""
    match node:
        case Node(Operator("py.size"), (Value() as value, int(dim))) if id(value) in makers:
            return f"size({_name_of(makers[id(value)])}, {dim})"
    return None


def pins(graph: Graph) -> dict[tuple[int, int], str]:
    """The sizes of inputs that a guard fixes: (input, dimension) -> the line that needs it and the reason."""
    place = {id(value): index for index, value in enumerate(graph.inputs)}
    reads: dict[int, tuple[int, int]] = {}
    found: dict[tuple[int, int], str] = {}
    for node in graph.nodes:
        match node:  # of a forged file, nodes may have any arguments
            case Node(Guard() as guard, (read, *_)) if id(read) in reads:
                found.setdefault(reads[id(read)], _blame(guard.reason, node.line))
            case Node(
                Operator("py.size"), (Value(type=TensorType(shape=shape)) as value, int(dim)), _, Value() as size
            ):
                if id(value) in place and shape:
                    reads[id(size)] = (place[id(value)], dim % len(shape))
    return found


def _blame(reason: str, line: SourceLine | None) -> str:
    why = reason.removeprefix("the recording holds for one value only, because ")
    return f"It is fixed because {why}" + (f" at {line}." if line else ".")
