"""State that an op keeps, and that the function reads off the model behind it.

An op has buffers of its own and leaves those of its model alone. A function that calls the op and then reads the
model's buffer would find in it what the model held when it was scripted.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Graph
from ...ops.graph.memory import touched
from ...ops.graph.traverse import bodies, constants
from ...ops.op import InferenceOp


def refuse_reads(graph: Graph, ops: Iterable[InferenceOp], captured: Mapping[int, Any]) -> None:
    """Refuses a function that reads a buffer of a model whose op changes that buffer.

    Args:
        graph: the recording.
        ops: those that the function can reach.
        captured: the line that read a tensor first, by the id of the tensor, for all that the function captured.

    Raises:
        RecordError: it does; the message names the buffer and the line.
    """
    written = {
        (body.name, constant.name)
        for body in bodies(graph)
        if (changed := touched(body.graph).constants())
        for constant in constants(body.graph)
        if id(constant) in changed
    }
    for op in ops if written else ():
        model = getattr(op, "model", None)
        for name, buffer in model.named_buffers() if isinstance(model, torch.nn.Module) else ():
            if (op.name, name) in written and id(buffer) in captured:
                raise RecordError(
                    f"the function reads {name!r} of the model of op {op.name!r}, which changes in the op only",
                    where=str(captured[id(buffer)] or ""),
                    fix="Return it from the model's forward.",
                )
