"""Regions: the parts of a graph that an engine may run, as graphs of their own from tensors to tensors.

A region is pure: it draws no random numbers, keeps no state, writes to no input and reads no text. So an engine may run
it in place of the nodes, and the nodes may run again where the engine fails. What is not pure stays where it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from ..graph.graph import Body, BodyCall, Constant, Graph, Guard, KernelCall, Node, Operator, Value, target_name
from ..graph.operators.names import ARITHMETIC, GRADIENTS, OF_ARRAYS, is_mark
from ..graph.sharing.memory import touched
from ..graph.traverse import bodies, every_node, leaves, subgraphs, uses
from ..graph.types import BOOL, FLOAT, INT, TensorType
from ..runtime.placement import accelerator_mark, goes_to_cpu

_NUMBERS = (INT, FLOAT, BOOL)
_READS = ("size", "numel", "ndim", "min", "max", "int", "float", "sum")
_PYTHON = frozenset(f"py.{name}" for name in (*ARITHMETIC, *_READS))
_ABOUT_SHAPES = _PYTHON - {"py.getitem"}
_INDEXING = ("torch.Tensor.__getitem__", "aten.index.Tensor")
_WITHOUT_EFFECT = frozenset(f"py.{name}" for name in GRADIENTS)


@dataclass(frozen=True, eq=False)
class Region:
    """A part of a pipeline's graph.

    Attributes:
        name: ``"op 'cell'"``, ``"nodes 3-17"``, or ``"pipeline"`` for all nodes.
        graph: the part, from tensors to a tuple of tensors.
        body: the op that it is; None for a run of nodes.
        place: the number of the op among the bodies of the pipeline, or the first node and the one after the last.
        kept: nodes that give numbers that are used outside.
        checks: nodes that decide whether the recording holds for new sizes.
        guarded: the part with its guards, where these need tensors; it decides in place of `checks`.
    """

    name: str
    graph: Graph
    body: Body | None
    place: int | tuple[int, int]
    kept: tuple[Node, ...] = ()
    checks: tuple[Node, ...] = ()
    guarded: Graph | None = None

    def key(self, graph: Graph) -> int:
        """What a plan knows it by: the id of the op's body, or of its first node in the graph of the pipeline."""
        return id(self.body) if isinstance(self.place, int) else id(graph.nodes[self.place[0]])

    @property
    def count(self) -> int:
        """The number of nodes that it stands for in the graph of the pipeline; 0 for an op."""
        return 0 if isinstance(self.place, int) else self.place[1] - self.place[0]


@dataclass(frozen=True)
class Barrier:
    """A node that no engine may run, and the reason."""

    node: Node
    reason: str

    def __str__(self) -> str:
        return f"{target_name(self.node.target)} {self.reason}"


def regions(graph: Graph) -> list[Region]:
    """The regions of a graph, runs of nodes and the ops that are called: those of most nodes first, as time may end.

    So a model on a side of a choice, or in a loop, comes before the few nodes that decide.
    """
    runs = [found for start, stop in _runs(graph) if isinstance(found := run_region(graph, start, stop), Region)]
    ops = [found for index in range(len(list(bodies(graph)))) if isinstance(found := op_region(graph, index), Region)]
    alone = {id(_only_call(run)) for run in runs} - {id(None)}
    cut = [*runs, *(op for op in ops if id(op.body) not in alone)]
    return sorted(cut, key=lambda region: -sum(1 for _ in every_node(region.graph)))


def _only_call(run: Region) -> Body | None:
    """The op that a run calls, where it does nothing else."""
    target = run.graph.nodes[0].target
    return target.body if len(run.graph.nodes) == 1 and isinstance(target, BodyCall) else None


def whole(graph: Graph) -> Region | Barrier | str:
    """The region of all nodes; or the node that no engine can run, or the reason why there is none."""
    barrier = next(barriers(graph), None)
    return barrier or run_region(graph, 0, len(graph.nodes))


def region_at(graph: Graph, place: int | tuple[int, int]) -> Region | str:
    """The region of a place that a file names; or the reason why there is none."""
    if isinstance(place, int):
        return op_region(graph, place)
    return run_region(graph, *place)


# -- what may be in one ----------------------------------------------------------------------------------------------


def barriers(graph: Graph) -> Iterator[Barrier]:
    """The nodes of a graph that cannot be part of a region."""
    varying: set[int] = set()
    on_card = accelerator_mark(graph) is not None
    for node in graph.nodes:
        varies = node.varying or any(id(leaf) in varying for leaf in uses(node))
        if varies:
            varying |= {id(leaf) for leaf in leaves(node.output)}
        reason = _barred(node)
        if not reason and varies and isinstance(node.target, Guard | BodyCall):
            reason = "is checked in every run, since its sizes depend on data"
        if not reason and on_card and goes_to_cpu(node):
            reason = "moves a tensor to the CPU"
        if reason:
            yield Barrier(node, reason)


def _barred(node: Node) -> str:
    """Why a node cannot be part of a region; empty where it can."""
    if node.varying and not all(isinstance(leaf.type, TensorType) for leaf in leaves(node.output) if leaf is not None):
        return "reads a value"
    if any(not _is_plain_value(leaf) for leaf in (*uses(node), *leaves(node.output))):
        return "works on texts, lists or arrays"
    if any(isinstance(leaf, Constant) and leaf.mutable for leaf in uses(node)):
        return "keeps state"
    match node.target:
        case KernelCall():
            return "is a kernel"
        case BodyCall(body):
            inner = next(barriers(body.graph), None)
            return f"has {inner.node.target and target_name(inner.node.target)}, which {inner.reason}" if inner else ""
        case Operator(name):
            # Runtimes do not check sizes that data decide, and some read beyond their memory where these do not fit.
            sized = node.varying and node.output is not None and not _takes_places(node, name)
            return _barred_operator(node, name) or ("has sizes that data decide" if sized else "")
    return ""


def _takes_places(node: Node, name: str) -> bool:
    """Whether a node indexes by integers, so that their sizes are those of the result, and by no mask."""
    keys = [_dtype(leaf) for leaf in leaves(node.args[1:])]
    return name in _INDEXING and not {"bool", "uint8"} & set(keys)


def _dtype(leaf: Any) -> str:
    if isinstance(leaf, Constant):
        return str(leaf.tensor.dtype).removeprefix("torch.")
    return leaf.type.dtype if isinstance(leaf, Value) and isinstance(leaf.type, TensorType) else ""


def _barred_operator(node: Node, name: str) -> str:
    if any(True for _ in subgraphs(node)):
        return "has branches"
    if name.startswith(OF_ARRAYS):
        return f"is a function of {name.partition('.')[0]}"
    if name.startswith("py.") and not (name in _PYTHON or name in _WITHOUT_EFFECT or is_mark(name)):
        return "is no operator of tensors"
    return ""


def _is_plain_value(leaf: Any) -> bool:
    return not isinstance(leaf, Value) or isinstance(leaf.type, TensorType) or leaf.type in _NUMBERS


def _is_value(leaf: Any) -> bool:
    return isinstance(leaf, Value)


def _is_silent(node: Node) -> bool:
    """Whether a node computes nothing: a guard, a mark, a switch of gradients."""
    match node.target:
        case Guard():
            return True
        case Operator(name):
            return name in _WITHOUT_EFFECT or is_mark(name)
    return False


# -- cutting ---------------------------------------------------------------------------------------------------------


def _runs(graph: Graph) -> Iterator[tuple[int, int]]:
    """The longest runs of nodes without a barrier that compute something."""
    start = 0
    found = {id(barrier.node) for barrier in barriers(graph)}
    barred = [id(node) in found for node in graph.nodes]
    for stop in range(len(graph.nodes) + 1):
        if stop == len(graph.nodes) or barred[stop]:
            if any(_computes(node) for node in graph.nodes[start:stop]):
                yield start, stop
            start = stop + 1


def _computes(node: Node) -> bool:
    return not _is_silent(node) and any(
        isinstance(leaf, Value) and isinstance(leaf.type, TensorType) for leaf in leaves(node.output)
    )


def op_region(graph: Graph, index: int) -> Region | str:
    """The region of an op, by its number among the bodies that a graph calls; or the reason why there is none."""
    found = list(bodies(graph))
    if not 0 <= index < len(found):
        return f"there is no op number {index}"
    body = found[index]
    barrier = next(barriers(body.graph), None)
    if barrier is not None:
        return str(barrier)
    outputs = _unique(leaf for leaf in leaves(body.graph.output) if isinstance(leaf, Value))
    inner = Graph(body.graph.inputs, _computing(body.graph.nodes), outputs)
    return _pure(inner) or Region(f"op {body.name!r}", inner, body, index)


def run_region(graph: Graph, start: int, stop: int) -> Region | str:
    """The region of a run of nodes; or the reason why there is none."""
    nodes = graph.nodes[start:stop]
    if not 0 <= start < stop <= len(graph.nodes) or not any(map(_computes, nodes)):
        return "the nodes compute no tensor"
    barrier = next((each for each in barriers(graph) if any(each.node is node for node in nodes)), None)
    if barrier is not None:
        return str(barrier)
    made = {id(leaf) for node in nodes for leaf in leaves(node.output) if isinstance(leaf, Value)}
    used = _unique(leaf for node in nodes for leaf in uses(node) if isinstance(leaf, Value))
    later = [leaf for node in graph.nodes[stop:] for leaf in _deep_uses(node)]
    outside = _unique(leaf for leaf in (*later, *leaves(graph.output)) if isinstance(leaf, Value) and id(leaf) in made)
    outputs = tuple(value for value in outside if isinstance(value.type, TensorType))
    numbers = [value for value in outside if not isinstance(value.type, TensorType)]
    inner = Graph(tuple(value for value in used if id(value) not in made), _computing(nodes), outputs)
    kept = _slice(nodes, inner.inputs, numbers, checking=False)
    if kept is None:
        return "a size of an inner tensor is used outside"
    checks = _slice(nodes, inner.inputs, numbers, checking=True)
    name = "pipeline" if (start, stop) == (0, len(graph.nodes)) else f"nodes {start}-{stop - 1}"
    lasting = tuple(node for node in nodes if not is_mark(target_name(node.target)))
    guarded = Graph(inner.inputs, lasting, outputs) if checks is None else None
    return _pure(inner) or Region(name, inner, None, (start, stop), kept, kept if checks is None else checks, guarded)


def _deep_uses(node: Node) -> Iterator[Any]:
    yield from uses(node)
    for graph in subgraphs(node):  # a branch takes what it reads as operands, but a file may hold another
        for inner in graph.nodes:
            yield from _deep_uses(inner)


def _computing(nodes: Sequence[Node]) -> tuple[Node, ...]:
    return tuple(node for node in nodes if not _is_silent(node))


def _unique(values: Iterable[Value]) -> tuple[Value, ...]:
    return tuple({id(value): value for value in values}.values())


def _pure(graph: Graph) -> str:
    """Why a graph is no region: it takes or gives what is no tensor, or writes to what it is given."""
    for value in (*graph.inputs, *graph.output):
        if not isinstance(value.type, TensorType):
            return "it takes a number" if value in graph.inputs else "it gives a number"
    if not graph.inputs or not graph.output:
        return "it takes or gives no tensor"
    if {id(value) for value in graph.inputs} & {id(value) for value in graph.output}:
        return "it gives back an input"
    writes = touched(graph)
    if writes.written or writes.reshaped:
        return "it writes to an input or a weight"
    return ""


def _slice(
    nodes: Sequence[Node], inputs: Sequence[Value], numbers: Iterable[Value], *, checking: bool
) -> tuple[Node, ...] | None:
    """The nodes that give the numbers, and with `checking` those that check sizes; None where these need tensors.

    A call of an op among them stands for the check of its inputs alone.
    """
    wanted = {id(value) for value in numbers}
    given = {id(value) for value in inputs}
    found: list[Node] = []
    for node in reversed(nodes):
        makes = any(id(leaf) in wanted for leaf in leaves(node.output) if isinstance(leaf, Value))
        checks = checking and isinstance(node.target, Guard | BodyCall)
        if not makes and not checks:
            continue
        light = isinstance(node.target, Guard | BodyCall) or target_name(node.target) in _ABOUT_SHAPES
        if not light or (isinstance(node.target, BodyCall) and (makes or not all(_is_value(arg) for arg in node.args))):
            return None
        found.append(node)
        wanted |= {id(leaf) for leaf in uses(node) if isinstance(leaf, Value) and id(leaf) not in given}
    return tuple(reversed(found))
