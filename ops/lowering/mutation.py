"""The inputs of an exported graph that it writes to, through any number of views.

torch's operator schemas say which arguments are written and which results share memory with an argument. A buffer
that is written is state, of which each pipeline needs a copy.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import torch

from ..graph.traverse import leaves

# Operators whose schema does not say that they write running statistics -> the flag that makes them do so.
_STATISTICS = ("running_mean", "running_var")
_UNSAID = dict.fromkeys(
    (
        "aten.batch_norm.default", "aten.instance_norm.default", "aten.native_batch_norm.default",
        "aten._batch_norm_impl_index.default", "aten.cudnn_batch_norm.default", "aten.miopen_batch_norm.default",
    ),
    _STATISTICS,
)  # fmt: skip
_SWITCHES = ("training", "use_input_stats")


def mutated_inputs(graph: torch.fx.Graph) -> list[int]:
    """The positions of the placeholders whose memory some node may write."""
    origin: dict[torch.fx.Node, set[torch.fx.Node]] = {}
    written: set[torch.fx.Node] = set()
    placeholders = [node for node in graph.nodes if node.op == "placeholder"]
    for node in graph.nodes:
        if node.op == "placeholder":
            origin[node] = {node}
        elif node.op == "call_function":
            origin[node] = set().union(*(origin.get(n, set()) for n in _shared(node)))
            for target in _written(node):
                written |= origin.get(target, set())
    return [index for index, node in enumerate(placeholders) if node in written]


def written_past_branch(graph: torch.fx.Graph) -> bool:
    """Whether an input or a result of a branch is written to: a branch of a graph returns copies."""
    origin: dict[torch.fx.Node, set[torch.fx.Node]] = {}
    touched: set[torch.fx.Node] = set()
    for node in graph.nodes:
        origin[node] = {node}.union(*(origin[n] for n in _shared(node))) if node.op == "call_function" else {node}
        if isinstance(node.target, torch._ops.HigherOrderOperator):
            touched |= origin[node]
        elif any(origin[target] & touched for target in _written(node)):
            return True
    return False


def _shared(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The arguments whose memory the result may share."""
    if not isinstance(node.target, torch._ops.OpOverload):
        yield from node.all_input_nodes
        return
    for _, argument, value in _arguments(node):
        if argument.alias_info is not None:
            yield from _nodes(value)


def _written(node: torch.fx.Node) -> Iterator[torch.fx.Node]:
    """The arguments that the operator writes; a subgraph may write any of its operands."""
    if isinstance(node.target, torch._ops.HigherOrderOperator):
        for inner in _subgraphs(node):
            operands = [n for n in node.all_input_nodes if n.op != "get_attr"]
            written = mutated_inputs(inner)
            if written:
                yield from operands
        return
    if isinstance(node.target, torch._ops.OpOverload):
        unsaid = _UNSAID.get(str(node.target), ())
        switched = _argument(node, _SWITCHES)
        for name, argument, value in _arguments(node):
            writes = argument.alias_info is not None and argument.alias_info.is_write
            if writes or (name in unsaid and switched):
                yield from _nodes(value)


def _subgraphs(node: torch.fx.Node) -> Iterator[torch.fx.Graph]:
    for inner in node.all_input_nodes:
        if inner.op == "get_attr":
            module = getattr(node.graph.owning_module, str(inner.target), None)
            if isinstance(module, torch.fx.GraphModule):
                yield module.graph


def _arguments(node: torch.fx.Node) -> Iterator[tuple[str, Any, Any]]:
    schema = node.target._schema  # type: ignore[union-attr]  # the kind was checked just before
    for index, argument in enumerate(schema.arguments):
        if index < len(node.args):
            yield argument.name, argument, node.args[index]
        elif argument.name in node.kwargs:
            yield argument.name, argument, node.kwargs[argument.name]


def _argument(node: torch.fx.Node, names: tuple[str, ...]) -> Any:
    """The value of the first argument that has one of the names."""
    return next((value for name, _, value in _arguments(node) if name in names), None)


def _nodes(value: Any) -> Iterator[torch.fx.Node]:
    return (leaf for leaf in leaves(value) if isinstance(leaf, torch.fx.Node))
