"""Walks over graphs: the leaves of argument trees, nodes and subgraphs, bodies, constants."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush
from typing import Any

from .graph import Body, BodyCall, Constant, Graph, Node, Record, Value

_WITHOUT_GRAPH = frozenset((Value, Constant, int, float, bool, str, type(None)))
_LEAVES = _WITHOUT_GRAPH | {Graph}  # most of them


def leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Iterator[Any]:
    """Every leaf of a tree, in order; subgraphs are leaves, and so is a container for which `is_leaf` holds."""
    found: list[Any] = []
    _add_leaves(tree, found, is_leaf)
    return iter(found)


def _add_leaves(tree: Any, found: list[Any], is_leaf: Callable[[Any], bool] | None = None) -> None:
    if type(tree) in _LEAVES or (is_leaf is not None and is_leaf(tree)):
        found.append(tree)
        return
    match tree:
        case tuple() | list():
            items: Iterable[Any] = tree
        case dict():
            items = tree.values()
        case slice():
            items = (tree.start, tree.stop, tree.step)
        case Record():
            items = tree.items
        case _:
            found.append(tree)
            return
    for item in items:
        _add_leaves(item, found, is_leaf)


def _same_record(record: Record, items: tuple[Any, ...]) -> Any:
    return Record(record.name, record.fields, items)


def map_leaves(
    function: Callable[[Any], Any],
    tree: Any,
    record: Callable[[Record, tuple[Any, ...]], Any] = _same_record,
) -> Any:
    """A copy of a tree with every leaf replaced; containers of the IR keep their type.

    Args:
        function: returns the replacement of a leaf.
        tree: of tuples, lists, dicts, slices and records.
        record: builds the copy of a record from its new items: a record, or the named tuple that it stands for.
    """

    def mapped(tree: Any) -> Any:
        match tree:
            case tuple():
                return type(tree)(map(mapped, tree))
            case list():
                return list(map(mapped, tree))
            case dict():
                return {key: mapped(item) for key, item in tree.items()}
            case slice():
                return slice(*map(mapped, (tree.start, tree.stop, tree.step)))
            case Record():
                return record(tree, tuple(map(mapped, tree.items)))
        return function(tree)

    return mapped(tree)


def uses(node: Node) -> list[Any]:
    """The leaves of a node's arguments."""
    if not node.kwargs and _LEAVES.issuperset(map(type, node.args)):  # most nodes
        return list(node.args)
    found: list[Any] = []
    _add_leaves(node.args, found)
    if node.kwargs:
        _add_leaves(node.kwargs, found)
    return found


def subgraphs(node: Node) -> Iterable[Graph]:
    """The graphs inside a node: branches of a `cond`, bodies of a loop."""
    if not node.kwargs and _WITHOUT_GRAPH.issuperset(map(type, node.args)):
        return ()
    return [leaf for leaf in uses(node) if isinstance(leaf, Graph)]


def bodies(graph: Graph) -> Iterator[Body]:
    """Every op body that a graph calls, also inside of other bodies, each once, in order of first call."""
    seen: set[int] = set()
    open_ = [walk(graph)]
    while open_:
        for node in open_[-1]:
            if isinstance(node.target, BodyCall) and id(node.target.body) not in seen:
                seen.add(id(node.target.body))
                yield node.target.body
                open_.append(walk(node.target.body.graph))
                break
        else:
            open_.pop()


def callers_first(graph: Graph) -> list[Body]:
    """The bodies of `bodies`, each after all that call it; where that leaves a choice, in order of first call."""
    found = list(bodies(graph))
    called = {id(body): _called(body.graph) for body in found}
    callers = Counter(inner for each in called.values() for inner in each)
    numbers = {id(body): number for number, body in enumerate(found)}
    ready = [number for number, body in enumerate(found) if not callers[id(body)]]
    order: list[Body] = []
    while ready:
        body = found[heappop(ready)]
        order.append(body)
        for inner in called[id(body)]:
            callers[inner] -= 1
            if not callers[inner]:
                heappush(ready, numbers[inner])
    return order


def written_out(graph: Graph) -> tuple[int, int]:
    """What the plan of a graph has more than the graph, since every op is written out wherever it is called.

    Returns:
        The nodes that are added, each four parts of arguments and results counted as one more; and the depth of calls.
    """
    sizes: dict[int, tuple[int, int]] = {}
    own = 0
    for inner in [*(body.graph for body in reversed(callers_first(graph))), graph]:
        count, depth = _parts(inner.output) // 4, 0
        own += count
        for node in walk(inner):
            here = 1 + sum(map(_parts, (*node.args, *node.kwargs.values(), node.output))) // 4
            more, below = sizes[id(node.target.body.graph)] if isinstance(node.target, BodyCall) else (0, -1)
            own, count, depth = own + here, min(count + here + more, 1 << 62), max(depth, below + 1)
        sizes[id(inner)] = count, depth
    count, depth = sizes[id(graph)]
    return max(count - own, 0), depth


def _parts(tree: Any) -> int:
    """The leaves of a tree and what holds something in it, an empty container counted as a leaf."""
    match tree:
        case tuple() | list():
            return 1 + sum(map(_parts, tree)) if tree else 1
        case dict():
            return 1 + sum(map(_parts, tree.values())) if tree else 1
        case Record():
            return 1 + _parts(tree.items)
    return 1


def _called(graph: Graph) -> set[int]:
    return {id(node.target.body) for node in walk(graph) if isinstance(node.target, BodyCall)}


def named_bodies(graph: Graph) -> dict[str, Body]:
    """The bodies of a graph by name, in order of first call; the second one of a name is ``name#2``."""
    found: dict[str, Body] = {}
    counts: dict[str, int] = {}
    for body in bodies(graph):
        name = body.name
        while name in found:
            counts[body.name] = counts.get(body.name, 1) + 1
            name = f"{body.name}#{counts[body.name]}"
        found[name] = body
    return found


def every_node(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph, of its subgraphs, and of the bodies that it calls, those of each body once."""
    found = _nodes(graph, [])
    for body in bodies(graph):
        _nodes(body.graph, found)
    return iter(found)


def walk(graph: Graph) -> Iterator[Node]:
    """The nodes of a graph and of its subgraphs, not of the op bodies it calls."""
    return iter(_nodes(graph, []))


def _nodes(graph: Graph, found: list[Node]) -> list[Node]:
    for node in graph.nodes:
        found.append(node)
        for inner in subgraphs(node):
            _nodes(inner, found)
    return found


def constants(graph: Graph) -> Iterator[Constant]:
    """Every constant of a graph, of its subgraphs and of the bodies it calls, each once, in order of first use."""
    seen: set[int] = set()
    for leaf in _all_leaves(graph, set()):
        if isinstance(leaf, Constant) and id(leaf) not in seen:
            seen.add(id(leaf))
            yield leaf


def own_constants(graph: Graph) -> list[Constant]:
    """The constants of a graph and of its subgraphs, not those of the bodies that it calls, each once."""
    held = [leaf for node in walk(graph) for leaf in uses(node)]
    found = {id(leaf): leaf for leaf in [*held, *leaves(graph.output)] if isinstance(leaf, Constant)}
    return list(found.values())


def _all_leaves(graph: Graph, entered: set[int]) -> Iterator[Any]:
    """The leaves of a graph and of all that it holds; a body is entered once, where it is called first."""
    for node in graph.nodes:
        for leaf in uses(node):
            if isinstance(leaf, Graph):
                yield from _all_leaves(leaf, entered)
            else:
                yield leaf
        if isinstance(node.target, BodyCall) and id(node.target.body) not in entered:
            entered.add(id(node.target.body))
            yield from _all_leaves(node.target.body.graph, entered)
    yield from leaves(graph.output)


def calling(body: Body) -> Graph:
    """A graph that only calls a body, so that a plan of it checks the op's inputs and outputs as in any pipeline."""
    inputs = tuple(Value(value.type) for value in body.graph.inputs)
    results = tuple(Value(leaf.type) if isinstance(leaf, Value) else leaf for leaf in leaves(body.graph.output))
    values = tuple(leaf if isinstance(leaf, Value) else None for leaf in results)
    return Graph(inputs, (Node(BodyCall(body), inputs, {}, values),), results)
