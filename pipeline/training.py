"""Training a loaded pipeline further: which of its constants are parameters, and under which names."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch

from ..ops.graph.errors import RecordError
from ..ops.graph.graph import Constant, Graph, Operator
from ..ops.graph.operators.names import CODE
from ..ops.graph.traverse import bodies, own_constants, subgraphs, walk
from ..ops.runtime.state import State, named


def make_trainable(held: Sequence[Constant], origins: Sequence[Any]) -> None:
    """Replaces every parameter by a copy that takes gradients; tied parameters share one copy.

    What is the same tensor without gradients lies in the memory of that copy, and follows its training.

    Args:
        held: the constants of an archive.
        origins: for each constant an object that only tied weights share: equal weights are stored once, but not tied.
    """
    made: dict[Any, torch.Tensor] = {}
    for index, (constant, origin) in enumerate(zip(held, origins, strict=True)):
        if constant.parameter and not constant.mutable and constant.tensor.is_floating_point():
            key = index if origin is None else origin
            if key not in made:
                made[key] = constant.tensor.clone().requires_grad_()
            constant.tensor = made[key]
    for constant, origin in zip(held, origins, strict=True):
        if origin is not None and origin in made and not constant.parameter and not constant.mutable:
            constant.tensor = made[origin].detach()


def named_parameters(graph: Graph) -> dict[str, torch.Tensor]:
    """The tensors that take gradients, each once, named by op and parameter."""
    found: dict[str, torch.Tensor] = {}
    seen: set[int] = set()
    for name, constant in _named(graph):
        if constant.tensor.requires_grad and id(constant.tensor) not in seen:
            seen.add(id(constant.tensor))
            count = sum(known == name or known.startswith(f"{name}#") for known in found)
            found[f"{name}#{count + 1}" if count else name] = constant.tensor
    return found


def require_gradients(graph: Graph) -> None:
    """Refuses to train a graph in which a function had a custom backward, which no recording sees.

    Raises:
        RecordError: naming it, with the line.
    """
    graphs = [("", graph), *((f"op {body.name!r}", body.graph) for body in bodies(graph))]
    for where, each in graphs:
        for node in walk(each):
            if isinstance(node.target, Operator) and node.target.name == "py.own_backward":
                raise RecordError(
                    f"gradients are not kept: {node.args[0]}",
                    where=str(node.line or where),
                    fix="Load it without grad=True, or write it with operators whose gradients are torch's.",
                )
            if node.target == Operator(CODE) and any(True for _ in subgraphs(node)):
                raise RecordError(
                    "gradients are not kept: a block of plain Python calls a model",
                    where=str(node.line or where),
                    fix="Load it without grad=True, or write the loop with tracepack.while_loop.",
                )


@contextmanager
def trained_state(graph: Graph, state: State, kept: Sequence[Constant]) -> Iterator[None]:
    """Makes what runs have changed the initial state, until the block ends: what a file of it begins with.

    Args:
        graph: the graph.
        state: its present state.
        kept: what stays as it was before the first run, such as generators.
    """
    before = [(thing, thing.tensor) for _, thing in named(graph) if isinstance(thing, Constant)]
    try:
        values = state.read(graph)
        for name, thing in named(graph):
            if isinstance(thing, Constant) and not any(thing is each for each in kept):
                thing.tensor = values[name].to(thing.tensor.device)
        yield
    finally:
        for thing, tensor in before:
            thing.tensor = tensor


def _named(graph: Graph) -> Iterator[tuple[str, Constant]]:
    for body in bodies(graph):
        for constant in own_constants(body.graph):
            yield f"{body.name}.{constant.name}", constant
    for constant in own_constants(graph):
        yield constant.name, constant
