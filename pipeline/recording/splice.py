"""Records a call of a pipeline inside another recording: its nodes become nodes of the recording.

The nodes keep their targets: ops keep their devices and weights, and kernels stay kernels. The state of the pipeline
starts from its initial values, as the state of an op does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch

from ...ops.graph.graph import SOURCES, Graph, Node, Operator, Record, Value
from ...ops.graph.operators.names import is_mark
from ...ops.graph.program import Program
from ...ops.graph.traverse import map_leaves, walk
from ...ops.graph.types import TensorType
from ..proxies.base import is_traced
from ..proxies.make import traced
from ..proxies.tracer import Refuser, Tracer
from ..proxies.trees import concrete, same_container
from ..rules.gradients import follow_grad_mode


def hold(recorder: Refuser, program: Program, inputs: Sequence[Any]) -> None:
    """Guards the facts that a pipeline relies on: its fixed sizes, its equal sizes, and its conditions."""
    reason, facts = f"pipeline {program.name!r} takes it as a fixed size", program.facts
    known = {symbol: _size(inputs[index], dim) for symbol, (index, dim) in facts.symbols.items()}
    for index, (kind, value) in enumerate(zip(program.parameters.types, inputs, strict=True)):
        for dim, wanted in enumerate(kind.shape if isinstance(kind, TensorType) else ()):
            if isinstance(wanted, int):
                size = value.size(dim)
                _ = recorder.pin(size, reason) if is_traced(size) else size
            elif wanted in known and facts.symbols[wanted] != (index, dim):
                bool(value.size(dim) == known[wanted])
    for guard in facts.guards:
        bool(guard.compile(facts.symbols)(*known.values()))


def _size(value: Any, dim: int) -> Any:
    return value.size(dim) if isinstance(value, torch.Tensor) else value


def splice(recorder: Tracer, graph: Graph, inputs: Sequence[Any], run: Callable[[Sequence[Any]], Any]) -> Any:
    """Records the nodes of a pipeline, and returns its result on the examples.

    Args:
        recorder: the one that records the outer function.
        graph: the pipeline's.
        inputs: tensors of the recording, stand-ins, and plain values, one for each input of the graph.
        run: runs the pipeline on plain inputs.
    """
    if any(node.target in SOURCES for node in walk(graph)):
        recorder.allow_random()
    with torch._C.DisableTorchFunction(), recorder.within():
        given = recorder.arguments(list(inputs))
        result = run(concrete(list(inputs)))
    splicing = _Splicing(recorder, dict(zip(map(id, graph.inputs), given, strict=True)))
    follow_grad_mode(recorder)
    for node in graph.nodes:
        name = node.target.name if isinstance(node.target, Operator) else ""
        if name == "py.grad_mode":
            if not recorder.grad_mode:  # it stays off inside, too
                continue
            recorder.written_mode = bool(node.args[0])
        if not is_mark(name):  # its inputs are bound here
            recorder.nodes.append(splicing.node(node))
    with torch._C.DisableTorchFunction(), recorder.within():
        return splicing.result(graph.output, result)


class _Splicing:
    """Copies nodes of a graph: maps the ids of its values to values of the recording."""

    def __init__(self, recorder: Tracer, known: dict[int, Any]) -> None:
        self.recorder, self.known = recorder, known
        self.varying = any(id(leaf) in recorder.values.varying for leaf in known.values())

    def node(self, node: Node) -> Node:
        """The node over values of the recording."""
        args, kwargs = map_leaves(self._used, node.args), map_leaves(self._used, node.kwargs)
        varying = node.varying or self.varying
        self.varying = varying
        return Node(node.target, args, kwargs, map_leaves(self._made, node.output), node.line, varying)

    def _used(self, leaf: Any) -> Any:
        return self.known.get(id(leaf), leaf) if isinstance(leaf, Value) else leaf

    def _made(self, leaf: Any) -> Any:
        if not isinstance(leaf, Value):
            return leaf
        self.known[id(leaf)] = made = Value(leaf.type)
        if self.varying:
            self.recorder.values.varying.add(id(made))
        return made

    def result(self, tree: Any, result: Any) -> Any:
        """The result as the function gets it: tensors that the recorder knows, and stand-ins for numbers."""
        match tree:
            case Value():
                return self._leaf(self._used(tree), result)
            case Record() if isinstance(result, dict):
                pairs = zip(tree.items, result.items(), strict=True)
                return type(result)((key, self.result(item, part)) for item, (key, part) in pairs)
            case Record():
                return same_container(result, [self.result(*pair) for pair in zip(tree.items, result, strict=True)])
            case tuple() | list():
                return same_container(result, [self.result(*pair) for pair in zip(tree, result, strict=True)])
            case dict():
                return {key: self.result(item, result[key]) for key, item in tree.items()}
        return result

    def _leaf(self, value: Any, result: Any) -> Any:
        recorder = self.recorder
        if not isinstance(value, Value):  # an input that the outer function gave as a plain value
            return result
        varies = id(value) in recorder.values.varying
        if not isinstance(result, torch.Tensor):
            return traced(recorder, value, result, varies)
        if recorder.values.of(result) is value:
            return result
        known = result in recorder.values or id(result) in recorder.values.captured
        result = recorder.values.twin(result) if known else result
        recorder.values.add(result, value, varies)
        return result
