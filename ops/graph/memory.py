"""The inputs and constants whose memory a graph may write, by the names of its operators.

The pass follows, for every value, the places whose memory it may share: inputs of the graph, by number, and constants.
The table of operators says which of them return or write the memory of an argument; in doubt they count as doing so.
A body is followed once, however often it is called.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from .graph import BodyCall, Constant, Graph, Node, Operator, Value
from .operators.names import FRESH, OF_ARRAYS, RESHAPES, WRITES, WRITES_ANY, effect
from .traverse import leaves, subgraphs, uses
from .types import ARRAY, BOOL, FLOAT, INT, STR, TensorType

Place = int | Constant
"""An input of the graph by its number, or a constant."""

_NOWHERE: frozenset[Place] = frozenset()


@dataclass(eq=False, repr=False)
class Touched:
    """The writes of a graph.

    Attributes:
        written: the places whose elements it may change.
        reshaped: the places whose sizes or strides it may change.
        outputs: for each leaf of its output the places whose memory it may share.
    """

    written: set[Place] = field(default_factory=set)
    reshaped: set[Place] = field(default_factory=set)
    outputs: list[frozenset[Place]] = field(default_factory=list)

    def constants(self) -> set[int]:
        """The ids of the constants that are written or reshaped."""
        return {id(place) for place in self.written | self.reshaped if isinstance(place, Constant)}

    def inputs(self) -> set[int]:
        """The numbers of the inputs that are written."""
        return {place for place in self.written if isinstance(place, int)}


def touched(graph: Graph) -> Touched:
    """The writes of a graph to its inputs and constants."""
    found = _Follower({}).graph(graph)
    numbers = {index for index, value in enumerate(graph.inputs) if value.type in _NUMBERS}
    found.written -= numbers  # the check of the inputs lets nothing else be one
    return found


_NUMBERS = (INT, FLOAT, BOOL, STR)
"""Types of values without memory of their own."""


class _Follower:
    """Follows memory through one graph.

    Args:
        known: the writes of bodies and subgraphs, by the id of the graph.
    """

    def __init__(self, known: dict[int, Touched]) -> None:
        self.known = known
        self.places: dict[int, frozenset[Place]] = {}
        self.found = Touched()

    def graph(self, graph: Graph) -> Touched:
        """The writes of a graph whose inputs are new places."""
        if id(graph) not in self.known:
            inner = _Follower(self.known)
            inner.places = {id(value): frozenset([index]) for index, value in enumerate(graph.inputs)}
            for node in graph.nodes:
                inner.node(node)
            inner.found.outputs = [inner.of([leaf]) for leaf in leaves(graph.output)]
            self.known[id(graph)] = inner.found
        return self.known[id(graph)]

    def of(self, items: Iterable[Any]) -> frozenset[Place]:
        """The places whose memory some leaves may share."""
        found: set[Place] = set()
        for leaf in items:
            if isinstance(leaf, Value):
                found |= self.places.get(id(leaf), _NOWHERE)
            elif isinstance(leaf, Constant):
                found.add(leaf)
        return frozenset(found)

    def node(self, node: Node) -> None:
        """Adds the writes of a node."""
        match node.target:
            case BodyCall(body):
                self._call(node, self.graph(body.graph))
            case Operator(name):
                inner = [self.graph(graph) for graph in subgraphs(node)]
                if inner:
                    self._branches(node, inner)
                else:
                    self._operator(node, name)

    def _call(self, node: Node, body: Touched) -> None:
        given = [self.of(leaves(arg)) for arg in node.args]
        self.found.written |= _through(body.written, given)
        self.found.reshaped |= _through(body.reshaped, given)
        for value, places in zip(leaves(node.output), body.outputs, strict=False):
            if value is not None:
                self.places[id(value)] = frozenset(_through(places, given))

    def _branches(self, node: Node, inner: list[Touched]) -> None:
        """Adds the writes of a choice or a loop, in which any operand may become any input and result."""
        given = self.of(leaf for leaf in uses(node) if not isinstance(leaf, Graph))
        everything = set(given)
        for branch in inner:
            kept = {place for places in branch.outputs for place in places if isinstance(place, Constant)}
            everything |= kept
            self.found.written |= _of_branch(branch.written, given)
            self.found.reshaped |= _of_branch(branch.reshaped, given)
        self._define(node, frozenset(everything))

    def _operator(self, node: Node, name: str) -> None:
        if name == "py.draw" and len(node.args) == 4:
            _, inner, args, kwargs = node.args
            self._operator(Node(Operator(inner), tuple(args), kwargs, node.output), inner)
            return
        kind, given = effect(name), self.of(uses(node))
        first = self.of(leaves(node.args[:1])) if node.args else given
        if kind == WRITES_ANY and not _is_norm(name):
            self.found.written |= given
        elif kind in (WRITES, RESHAPES) or _writes_by_option(node, name):
            self.found.written |= first
        if kind == RESHAPES:
            self.found.reshaped |= first
        self.found.written |= self.of([*_receivers(node, name), *_statistics(node, name)])
        is_new = kind == FRESH or (name in _COPYING and node.kwargs.get("copy", True) is True)
        self._define(node, _NOWHERE if is_new and not _hands_on(node, name) else given)

    def _define(self, node: Node, places: frozenset[Place]) -> None:
        for value in leaves(node.output):
            if value is not None:
                self.places[id(value)] = places


_COPYING = ("numpy.array", "numpy.meshgrid")
"""Functions that give new memory unless an option asks for a copy only where one is needed."""


def _of_branch(places: set[Place], given: frozenset[Place]) -> set[Place]:
    """The places of a branch as places of the outer graph: any of its inputs may be any operand."""
    kept: set[Place] = {place for place in places if isinstance(place, Constant)}
    return kept | given if len(kept) < len(places) else kept


def _through(places: Iterable[Place], given: list[frozenset[Place]]) -> set[Place]:
    """The places of a body as places of its caller."""
    found: set[Place] = set()
    for place in places:
        if isinstance(place, Constant):
            found.add(place)
        elif place < len(given):
            found |= given[place]
    return found


def _receivers(node: Node, name: str) -> list[Any]:
    """The arguments into which a node writes its result."""
    found = [*leaves(node.kwargs.get("out"))]
    if name.startswith(OF_ARRAYS) and name not in _THREE_ARRAYS:
        first = 3 if name.endswith(".clip") else 2
        found += [leaf for leaf in leaves(node.args[first:]) if isinstance(leaf, Value | Constant)]
    return found


# Functions of numpy whose third argument is no array for the result.
_THREE_ARRAYS = frozenset(
    f"numpy.{name}" for name in "where interp insert select gradient average searchsorted histogram".split()
)


def _statistics(node: Node, name: str) -> list[Any]:
    """Arguments that layers also write: running statistics of a norm in training, an embedding with `max_norm`."""
    base = _base(name)
    if base in ("embedding", "embedding_bag"):
        longest = node.kwargs.get("max_norm", node.args[3] if len(node.args) > 3 else None)
        return [] if longest is None or name.startswith("aten.") else list(leaves(node.args))
    if not _is_norm(name) or name.endswith(".no_stats"):
        return []
    options = ("training", "train", "use_input_stats")
    given = [node.kwargs[key] for key in options if key in node.kwargs] or list(node.args[5:6])
    always = _base(name) == "_batch_norm_with_update"  # has no such option
    if given and given[0] is False and not always:
        return []
    named = [node.kwargs.get(key) for key in ("running_mean", "running_var")]
    first = 1 if name.startswith("torch.nn.functional.") else 3  # elsewhere weight and bias come before them
    return [leaf for leaf in leaves([*node.args[first : first + 2], *named]) if leaf is not None]


def _is_norm(name: str) -> bool:
    """Whether an operator normalises, and may update running statistics; it never writes to its weight and bias."""
    return _base(name).endswith(("batch_norm", "instance_norm", "batch_norm_legit", "batch_norm_with_update"))


def _base(name: str) -> str:
    return name.split(".")[1] if name.startswith("aten.") else name.rpartition(".")[2]


INPLACE_AT = {
    **dict.fromkeys(("relu", "relu6", "hardswish", "hardsigmoid", "silu", "mish", "selu"), 1),
    **dict.fromkeys(("elu", "celu", "leaky_relu"), 2),
    **dict.fromkeys(("hardtanh", "threshold", "dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"), 3),
    **{"feature_alpha_dropout": 3, "rrelu": 4},
}
"""The functions of `torch.nn.functional` that can be asked to work in place, and at which position."""

_OVERWRITING_AT = {
    f"numpy.{prefix}{name}": place
    for prefix in ("", "nan")
    for name, place in (("median", 3), ("percentile", 4), ("quantile", 4))
}
"""The functions of numpy that can be asked to overwrite their input, and at which position."""


def _writes_by_option(node: Node, name: str) -> bool:
    """Whether an option asks to work in place."""
    options = node.kwargs
    if options.get("inplace") not in (None, False) or options.get("overwrite_input") not in (None, False):
        return True
    if name == "numpy.nan_to_num":
        return options.get("copy") not in (None, True) or len(node.args) > 1
    if name in _OVERWRITING_AT:
        place = _OVERWRITING_AT[name]
        return any(option is not False for option in node.args[place : place + 1])
    if name.startswith("torch.nn.functional."):
        place = INPLACE_AT.get(name.rpartition(".")[2], len(node.args))
        return any(option is not False for option in node.args[place : place + 1])
    return False


def _hands_on(node: Node, name: str) -> bool:
    return "out" in node.kwargs or _writes_by_option(node, name) or (name in JOINING and may_join(node))


JOINING = ("py.add", "py.mul")
"""Operators that make new tensors of tensors, but of lists a list that holds the same things."""
_NO_LISTS = (*_NUMBERS, ARRAY)


def may_join(node: Node) -> bool:
    """Whether a sum or product may be one of lists; what runs another one refuses lists."""
    return any(
        isinstance(arg, list | tuple)
        or (isinstance(arg, Value) and not isinstance(arg.type, TensorType) and arg.type not in _NO_LISTS)
        for arg in node.args
    )
