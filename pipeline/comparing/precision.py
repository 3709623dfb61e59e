"""The lowest precision on the way to each output of a graph, which decides how exactly a golden example can repeat it.

A float64 output that was computed from float32 is as exact as float32 is. The pass follows values forward through
nodes, branches, loops and op bodies. A write into a tensor also reaches all that may share its memory, so it goes
backward to what the tensor was made from, and forward again from there. Where it cannot tell, it takes the lower
precision. Each value is met once for each precision, so a pass is linear in the size of the graph.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ...ops.graph.graph import Body, BodyCall, Constant, Graph, Literal, Node, Operator, Record, Value
from ...ops.graph.traverse import leaves, uses
from ...ops.graph.types import TensorType

NAMES = ("", "float64", "float32", "float16")
"""A precision's name by its rank: none, where no floating number takes part, then lower and lower."""

TOLERANCES = {"float64": 1e-10, "float32": 1e-4, "float16": 2e-2}
"""The relative and absolute tolerance of each precision: another machine's libraries may sum in another order."""

_RANKS = {"float64": 1, "complex128": 1, "float": 1, "complex": 1, "float32": 2, "complex64": 2}
_HALF = ("float16", "bfloat16", "complex32", "float8")  # with what is below

# Operators whose result says what a tensor is like, not what is in it.
_SHAPES = frozenset(
    f"py.{name}"
    for name in """size stride numel storage_offset ndim contiguous is_conj is_neg dtype array_size array_rank
    len""".split()
)

# Operators of floating numbers whose result jumps: a last bit of the argument decides.
_STEPS = frozenset(
    """round around rint floor ceil trunc fix sign sgn frac heaviside hardshrink threshold floor_divide floordiv
    remainder fmod mod fake_quantize_per_tensor_affine fake_quantize_per_channel_affine""".split()
)


def output_precisions(graph: Graph, may_write: Callable[[Node], bool]) -> dict[str, str]:
    """The lowest precision on the way to each output that floating numbers take part in, by the output's name.

    Args:
        graph: of a pipeline, with the bodies that it calls.
        may_write: whether a node may write into its arguments.
    """
    flow = _Flow(may_write)
    flow.graph(graph)
    found = flow.ranks()
    ranks = {name: found.get(id(leaf), 0) for name, leaf in output_names(graph.output)}
    return {name: NAMES[rank] for name, rank in ranks.items() if rank}


def stepped_outputs(graph: Graph, may_write: Callable[[Node], bool]) -> set[str]:
    """The outputs with a step on their way from floating numbers: a rounding, a comparison, an index, an integer.

    Args:
        graph: of a pipeline, with the bodies that it calls.
        may_write: whether a node may write into its arguments.
    """
    flow = _Flow(may_write)
    flow.graph(graph)
    found = flow.stepped()
    return {name for name, leaf in output_names(graph.output) if id(leaf) in found}


def output_names(tree: Any, name: str = "out") -> Iterator[tuple[str, Any]]:
    """Every leaf of an output tree with its name, such as ``out['probs'][0]``."""
    if isinstance(tree, Record):
        tree = tree.items
    if isinstance(tree, tuple | list):
        for index, item in enumerate(tree):
            yield from output_names(item, f"{name}[{index}]")
    elif isinstance(tree, dict):
        for key, item in tree.items():
            yield from output_names(item, f"{name}[{key!r}]")
    else:
        yield name, tree


def precision(dtype: str) -> str:
    """The precision of a floating dtype, or of Python's ``float`` and ``complex``."""
    return NAMES[_rank(dtype)]


def _rank(dtype: str) -> int:
    return 3 if dtype.startswith(_HALF) else _RANKS.get(dtype, 0)


def _own_rank(leaf: Any) -> int:
    """The precision that a value has by itself, wherever it comes from."""
    match leaf:
        case Value(type=TensorType(dtype)):
            return _rank(dtype)
        case Value():
            return _rank(str(leaf.type))
        case Constant():
            return _rank(str(getattr(leaf.tensor, "dtype", "")).removeprefix("torch."))
        case Literal():  # a cast of a numpy array, whose own type does not name its dtype
            return _rank(leaf.name if leaf.kind.endswith("dtype") else leaf.kind.removeprefix("numpy."))
    return 0


def _is_whole(leaf: Value | Constant) -> bool:
    """Whether a value is an integer or a boolean, or a tensor of them."""
    if not isinstance(leaf, Value):
        return False
    return not _rank(leaf.type.dtype) if isinstance(leaf.type, TensorType) else str(leaf.type) in ("int", "bool")


def _jumps(operator: str) -> bool:
    return any(part.rstrip("_") in _STEPS for part in operator.split("."))


def _held(tree: Iterable[Any]) -> Iterator[Value | Constant]:
    """The Values and Constants of a tree. Plain numbers and literals are left out: one object may be in many places."""
    return (leaf for leaf in tree if isinstance(leaf, Value | Constant))


class _Flow:
    """Where values go: edges between the ids of values, and of one hub for each node.

    Attributes:
        own: the precision that a value has by itself.
        to: what is computed from a value.
        back: what a value may share memory with, because it was made from it.
        written: what a node writes into.
        steps: the hubs of nodes whose result jumps, and the values that are no floating numbers.
    """

    def __init__(self, may_write: Callable[[Node], bool]) -> None:
        self.may_write = may_write
        self.own: dict[int, int] = {}
        self.to: dict[int, list[int]] = defaultdict(list)
        self.back: dict[int, list[int]] = defaultdict(list)
        self.written: dict[int, list[int]] = {}
        self.steps: set[int] = set()
        self._bodies: set[int] = set()

    def graph(self, graph: Graph) -> None:
        """Adds a graph, the graphs inside its nodes, and the bodies that it calls."""
        for leaf in _held((*graph.inputs, *leaves(graph.output))):
            self.own[id(leaf)] = _own_rank(leaf)
        for node in graph.nodes:
            self._node(node)

    def _node(self, node: Node) -> None:
        given, made = list(uses(node)), list(_held(leaves(node.output)))
        for leaf in _held((*given, *made)):
            self.own[id(leaf)] = _own_rank(leaf)
        self.steps |= {id(leaf) for leaf in _held(made) if _is_whole(leaf)}
        match node.target:
            case BodyCall(body):
                self._call(node, body, list(_held(given)), list(leaves(node.output)))
            case Operator(name) if name in _SHAPES or name.startswith("aten.sym_"):
                pass
            case _:
                self._application(node, given, made)

    def _call(self, node: Node, body: Body, given: list[Any], made: list[Any]) -> None:
        if id(body) not in self._bodies:
            self._bodies.add(id(body))
            self.graph(body.graph)
        results = list(leaves(body.graph.output))
        if len(given) == len(body.graph.inputs) and len(made) == len(results):
            self._edges(zip(given, body.graph.inputs, strict=True))
            self._edges(zip(results, made, strict=True))
        else:
            self._through(id(node), given, body.graph.inputs)
            self._through(id(node.target), results, made)

    def _application(self, node: Node, given: list[Any], made: list[Any]) -> None:
        inner = [leaf for leaf in given if isinstance(leaf, Graph)]
        sources = list(_held(given))
        for graph in inner:  # a branch, or a loop, whose results are its next inputs
            self.graph(graph)
            sources += _held(leaves(graph.output))
            made = [*made, *graph.inputs]
        self._through(id(node), sources, made)
        if isinstance(node.target, Operator) and _jumps(node.target.name):
            self.steps.add(id(node))
        self.own[id(node)] = max([_own_rank(leaf) for leaf in given if isinstance(leaf, Literal)], default=0)
        if self.may_write(node):
            self.written[id(node)] = [id(leaf) for leaf in sources]

    def _through(self, hub: int, sources: Iterable[Any], targets: Iterable[Any]) -> None:
        """From every source to every target, by way of a hub, so that the edges stay few."""
        for leaf in _held(sources):
            self._edge(id(leaf), hub)
        for leaf in _held(targets):
            self._edge(hub, id(leaf))

    def _edges(self, pairs: Iterable[tuple[Any, Any]]) -> None:
        for a, b in pairs:
            if isinstance(a, Value | Constant) and isinstance(b, Value | Constant):
                self._edge(id(a), id(b))

    def _edge(self, source: int, target: int) -> None:
        self.to[source].append(target)
        self.back[target].append(source)

    def ranks(self) -> dict[int, int]:
        """The lowest precision on the way to each value, by its id."""
        found: dict[int, int] = {}
        for rank in range(len(NAMES) - 1, 0, -1):
            for value in self._reached([value for value, own in self.own.items() if own >= rank]):
                found.setdefault(value, rank)
        return found

    def stepped(self) -> set[int]:
        """The ids of all values that floating numbers reach over a step."""
        ranks = self.ranks()
        return self._reached([step for step in self.steps if step in ranks])

    def _reached(self, sources: list[int]) -> set[int]:
        """The ids of all values that are computed from the sources."""
        low, dirty = set[int](), set[int]()
        waiting = [(source, False) for source in sources]
        while waiting:
            value, wrote = waiting.pop()
            if value not in low:
                low.add(value)
                waiting += [(target, False) for target in self.to.get(value, ())]
                waiting += [(target, True) for target in self.written.get(value, ())]
            if wrote and value not in dirty:
                dirty.add(value)
                waiting += [(source, True) for source in self.back.get(value, ())]
        return low
