"""The inputs of an exported graph that it writes to, through any number of views.

torch's operator schemas say which arguments are written and which results share memory with an argument. A buffer
that is written is state, of which each pipeline needs a copy. One that the first call makes is a table, or refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..graph.errors import LoweringError
from ..graph.graph import Constant
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


class EmptyBuffers:
    """The buffers of a model that hold no tensor yet, and the names that are no buffers yet.

    Args:
        model: the model; a ScriptModule looks after its own.
    """

    def __init__(self, model: Any) -> None:
        plain = isinstance(model, torch.nn.Module) and not isinstance(model, torch.jit.ScriptModule)
        self.before = [(module, dict(module._buffers)) for module in model.modules()] if plain else []

    def filled(self) -> list[tuple[Any, str]]:
        """The modules and names of those that hold a tensor now."""
        return [
            (module, name)
            for module, before in self.before
            for name, now in module._buffers.items()
            if now is not None and before.get(name) is None
        ]

    def restore(self) -> None:
        """Empties them again."""
        for module, name in self.filled():
            before = next(held for each, held in self.before if each is module)
            if name in before:
                module._buffers[name] = None
            else:
                del module._buffers[name]

    def refuse_first_call(self, run: Callable[[], Any], name: str) -> None:
        """Refuses a model whose first call, which fills such a buffer, answers otherwise than the next one.

        A graph begins with the buffer that the first call left. That is right for a table that is made when it is
        needed, and wrong for a sum that begins with its first summand.

        Args:
            run: calls the model, whose other buffers are as they were.
            name: the op's name.

        Raises:
            LoweringError: the two calls answer otherwise.
        """
        filled = self.filled()
        if not filled:
            return
        self.restore()
        try:
            first, second = run(), run()
        except Exception:  # an error of the model is raised again by the export
            return
        if not _alike(first, second):
            self.restore()
            raise _filled(*filled[0], "answers otherwise than later ones", name)

    def refuse_state(self, constants: Mapping[int, tuple[torch.Tensor, Constant]], name: str) -> None:
        """Refuses a model whose first call fills a buffer that later calls write to: it would begin one call late.

        Args:
            constants: those of the graph, by the ids of the model's tensors.
            name: the op's name.

        Raises:
            LoweringError: there is such a buffer.
        """
        for module, key in self.filled():
            _, constant = constants.get(id(module._buffers[key]), (None, None))
            if constant is not None and constant.mutable:
                self.restore()
                raise _filled(module, key, "later ones write to it", name)


def _filled(module: Any, key: str, what: str, name: str) -> LoweringError:
    return LoweringError(
        f"the first call of the model fills its buffer {key!r}, and {what}",
        where=f"op {name!r}, {type(module).__name__}",
        fix="Give the buffer its first value when the model is made.",
    )


def _alike(first: Any, second: Any) -> bool:
    """Whether two results hold the same numbers."""
    a, b = pytree.tree_leaves(first), pytree.tree_leaves(second)
    return len(a) == len(b) and all(
        x.shape == y.shape and torch.allclose(x, y, equal_nan=True)
        if isinstance(x, torch.Tensor) and isinstance(y, torch.Tensor)
        else type(x) is type(y)
        for x, y in zip(a, b, strict=True)
    )
