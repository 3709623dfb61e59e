"""A graph for a run without data: its numbers that data decides are unknown, and so are the conditions of its choices.

A node that makes numbers only, of data, of numbers of callers or of lists, becomes nodes that make a number of which
torch knows nothing; so a run gets past it, and no number of the example decides a size.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Any

from ....ops.graph.graph import Graph, Guard, Literal, Node, Operator, Value
from ....ops.graph.operators.names import FRESH, VIEW, effect
from ....ops.graph.traverse import leaves, map_leaves, uses, walk
from ....ops.graph.types import BOOL, FLOAT, INT, TensorType, Type

_DTYPES: dict[Type, str] = {INT: "int64", FLOAT: "float64", BOOL: "bool"}
_EXACT = frozenset(("py.add", "py.sub", "py.mul", "py.neg"))  # torch computes with numbers of which it knows nothing
_NO_TEST = Graph((), (), (False,))
_CHOICES = ("cond", "while_loop", "map")
_RESHAPES = re.compile(r"\.(squeeze_|unsqueeze_|transpose_|t_|swapaxes_|swapdims_|resize_|resize_as_|set_)(\.\w+)?$")


def without_numbers(graph: Graph) -> Graph | None:
    """The graph without conditions and numbers of data; beside choices and loops no number of the caller is known.

    None where a tensor beside them changes its sizes in place, which its twins would show.
    """
    names = [node.target.name for node in walk(graph) if isinstance(node.target, Operator)]
    unknown = list[Value]()
    if any(name in _CHOICES for name in names):
        if any(map(_RESHAPES.search, names)):
            return None
        unknown = [value for value in graph.inputs if not isinstance(value.type, TensorType)]
    found = _WithoutNumbers().rewritten(graph, unknown)
    return needed_for(found.output, found)


def needed_for(output: Any, graph: Graph) -> Graph:
    """The graph with another result, and without the nodes and guards that this does not need."""
    needed, kept = {id(leaf) for leaf in leaves(output) if isinstance(leaf, Value)}, list[Node]()
    for node in reversed(graph.nodes):
        used = {id(leaf) for leaf in uses(node) if isinstance(leaf, Value)}
        changes = isinstance(node.target, Operator) and effect(node.target.name) not in (FRESH, VIEW) and used & needed
        if changes or any(id(leaf) in needed for leaf in leaves(node.output)):
            kept.append(node)
            needed |= used
    return Graph(graph.inputs, tuple(reversed(kept)), output)


def _as_needed(operands: Any, *inputs: Sequence[Value], graphs: Sequence[Graph]) -> tuple[Any, ...]:
    """Operands, without those that no graph uses any more: lists of places, over which conditions alone went."""
    used = {id(leaf) for graph in graphs for node in graph.nodes for leaf in uses(node)}
    used |= {id(leaf) for graph in graphs for leaf in leaves(graph.output)}
    needed = [any(id(value) in used for value in values) for values in zip(*inputs, strict=True)]
    return tuple(leaf if is_so else None for leaf, is_so in zip(operands, needed, strict=True))


class _WithoutNumbers:
    """Rewrites a graph and those inside of it.

    Attributes:
        unknown: the ids of the values that data, callers or lists decide, which are no tensors.
        others: what stands for a value of the graph.
    """

    def __init__(self) -> None:
        self.unknown, self.others = set[int](), dict[int, Value]()

    def rewritten(self, graph: Graph, unknown: Collection[Value]) -> Graph:
        """A graph of which some inputs are unknown."""
        nodes = [made for value in unknown for made in self.instead(value)]
        for node in graph.nodes:
            nodes += self.node(node)
        return Graph(graph.inputs, tuple(nodes), self.renamed(graph.output))

    def inner(self, graph: Graph, unknown: Sequence[bool]) -> Graph:
        """A branch, or the body of a loop, without the nodes that only conditions need."""
        values = [value for value, is_so in zip(graph.inputs, unknown, strict=True) if is_so]
        found = self.rewritten(graph, [value for value in values if not isinstance(value.type, TensorType)])
        return needed_for(found.output, found)

    def node(self, node: Node) -> Iterator[Node]:
        """What stands for a node."""
        name = node.target.name if isinstance(node.target, Operator) else ""
        outputs = [leaf for leaf in leaves(node.output) if isinstance(leaf, Value)]
        used = any(map(self.is_unknown, uses(node)))
        numbers = bool(outputs) and all(value.type in _DTYPES for value in outputs)
        if isinstance(node.target, Guard) and used:
            return
        if numbers and name not in _CHOICES and name not in _EXACT and (node.varying or used):
            for value in outputs:
                yield from self.instead(value)
            return
        if (numbers and used) or name in _CHOICES:
            self.unknown |= {id(value) for value in outputs}
        args = self.choice(name, node.args) if name in _CHOICES else node.args
        yield Node(node.target, self.renamed(args), self.renamed(node.kwargs), node.output, node.line, node.varying)

    def choice(self, name: str, args: tuple[Any, ...]) -> tuple[Any, ...]:
        """The arguments of a choice or a loop, with graphs that are rewritten."""
        if name == "cond":
            _, first, second, operands = args
            unknown = [self.is_unknown(leaf) for leaf in operands]
            sides = self.inner(first, unknown), self.inner(second, unknown)
            return (True, *sides, _as_needed(operands, *(side.inputs for side in sides), graphs=sides))
        test, body, carried, constant, *tests = (None, *args) if name == "map" else args
        body = self.inner(body, [True] * len(carried) + [self.is_unknown(leaf) for leaf in constant])
        constant = _as_needed(constant, body.inputs[len(carried) :], graphs=(body,))
        return (body, carried, constant, *tests) if test is None else (_NO_TEST, body, carried, constant)

    def is_unknown(self, leaf: Any) -> bool:
        """Whether data, a caller or a list decides a value that is no tensor."""
        if not isinstance(leaf, Value) or isinstance(leaf.type, TensorType):
            return False
        return id(leaf) in self.unknown or leaf.type not in _DTYPES

    def instead(self, value: Value) -> Iterator[Node]:
        """Nodes that make a number of which nothing is known, in place of a value."""
        self.unknown.add(id(value))
        dtype = _DTYPES.get(value.type)
        if dtype is not None:
            empty, made = Value(TensorType(dtype, ())), Value(value.type)
            self.unknown.add(id(made))
            self.others[id(value)] = made
            yield Node(Operator("torch.empty"), ((),), {"dtype": Literal("dtype", dtype)}, empty)
            yield Node(Operator("py.item"), (empty,), {}, made, None, True)

    def renamed(self, tree: Any) -> Any:
        """A tree with the values that stand for others."""
        return map_leaves(lambda leaf: self.others.get(id(leaf), leaf), tree)
