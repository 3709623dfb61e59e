"""Settings of the process that decide what operators do: the default dtype of torch, the error state of numpy."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Any

import numpy as np
import torch

from ...ops.graph.graph import Body, BodyCall, Graph, Literal, Node, Operator, Value
from ...ops.graph.traverse import leaves, walk
from ...ops.graph.types import ARRAY, TensorType
from ...ops.lowering.autocast import with_autocast_guard
from ...ops.lowering.convert.layout_guards import guarded_setting
from ...ops.runtime.placement import with_accelerator
from ..proxies.tracer import Refuser
from .advice.plain_models import MODEL, UNDER_AUTOCAST
from .gradients import ASKS_GRAD_MODE

_COMPLEX = {"float16": "complex32", "float32": "complex64", "float64": "complex128", "bfloat16": "complex64"}


def with_settings(graph: Graph, dtype: str, asked: Collection[str], examples: Iterable[Any]) -> Graph:
    """The graph of a whole function with guards on settings of torch on which its results depend, and with its device.

    Args:
        graph: of the function.
        dtype: torch's default dtype while it was recorded.
        asked: the settings for which the function asks: `default_dtype`, `autocast`, `grad_mode`.
        examples: its flat inputs.
    """
    graph = with_accelerator(graph, examples)
    if "grad_mode" in asked:  # a pipeline answers as without gradients, and keeps none
        note = Node(Operator("py.own_backward"), (ASKS_GRAD_MODE,), {}, None)
        graph = Graph(graph.inputs, (note, *graph.nodes), graph.output)
    if "autocast" in asked:
        graph = with_autocast_guard(graph)
    if "default_dtype" not in asked and not _hangs_on_default(graph, dtype):
        return graph
    reason = "the results depend on torch's default dtype, which was another one when the function was recorded"
    return guarded_setting(graph, "default_dtype", dtype, reason)


def _hangs_on_default(graph: Graph, dtype: str) -> bool:
    return any(_takes_default(node, {dtype, _COMPLEX[dtype]}) for node in _all_nodes(graph))


def _all_nodes(graph: Graph) -> Iterator[Node]:
    for node in walk(graph):
        yield node
        if isinstance(node.target, BodyCall):
            body: Body = node.target.body
            yield from _all_nodes(body.graph)


# Operators whose dtype is that of their arguments, or fixed.
_SETTLED = frozenset((
    "torch.from_numpy", "py.draw", "cond", "while_loop",
    *(f"torch.Tensor.{name}" for name in ("float", "double", "half", "bfloat16", "cfloat", "cdouble", "chalf")),
))  # fmt: skip


def _takes_default(node: Node, defaults: set[str]) -> bool:
    """Whether an operator makes a tensor of the default dtype from arguments without a floating-point dtype."""
    if not isinstance(node.target, Operator) or node.target.name in _SETTLED:
        return False
    made = [leaf.type for leaf in leaves(node.output) if isinstance(leaf, Value)]
    if not any(isinstance(kind, TensorType) and kind.dtype in defaults for kind in made):
        return False
    return not any(map(_gives_dtype, leaves((node.args, node.kwargs))))


def _gives_dtype(leaf: Any) -> bool:
    """Whether an argument carries a floating-point dtype: a tensor, an array, or a dtype itself."""
    match leaf:
        case Value(TensorType(dtype, _)):
            return "float" in dtype or "complex" in dtype
        case Value():
            return leaf.type == ARRAY
        case Literal():
            return "dtype" in leaf.kind
    tensor = getattr(leaf, "tensor", None)  # that of a constant
    return tensor is not None and bool(tensor.is_floating_point() or tensor.is_complex())


def refuse_errstate(recorder: Refuser) -> None:
    """Refuses to record numpy where it is set to raise an error or call a function on a division by zero or overflow.

    Raises:
        RecordError: `numpy.geterr` says so.
    """
    if not RAISES.isdisjoint(np.geterr().values()):
        refuse_raising(recorder)


RAISES = frozenset(("raise", "call", "log"))
"""What numpy does at a division by zero that no graph does."""


def refuse_raising(recorder: Refuser) -> None:
    """Refuses numpy that is set to do so."""
    recorder.refuse(
        "numpy.errstate that raises errors cannot be recorded: a graph does not raise them",
        "Test for such values with numpy.isfinite.",
    )


def refuse_autocast(recorder: Refuser) -> None:
    """Refuses to record under autocast: its casts are written into the graph of an op alone.

    Raises:
        RecordError: it is on; with the form for the model, or for a function with what runs under it.
    """
    if not torch._C._is_any_autocast_enabled():
        return
    kind = next((kind for kind in ("cpu", "cuda") if torch.is_autocast_enabled(kind)), "cpu")
    made = f'tracepack.script(torch.autocast("{kind}", dtype={torch.get_autocast_dtype(kind)})({MODEL}))'
    recorder.refuse(
        UNDER_AUTOCAST,
        f"Make an op of the model, or of a function with those lines, before, and call that without autocast: "
        f"op = {made}.",
    )


def default_dtype() -> str:
    """The name of torch's default dtype."""
    return str(torch.empty(0).dtype).removeprefix("torch.")
