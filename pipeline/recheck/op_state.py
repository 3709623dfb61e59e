"""State that an op keeps, and that the function reads off the model behind it.

An op has buffers of its own and leaves those of its model alone. A function that calls the op and then reads the
model's buffer would find in it what the model held when it was scripted. And tensors that a file does not keep
as they lie.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Graph
from ...ops.graph.program import Program
from ...ops.graph.sharing.memory import touched
from ...ops.graph.traverse import bodies, constants
from ...ops.op import InferenceOp
from .answers import difference


def refuse_reads(graph: Graph, ops: Iterable[InferenceOp], captured: Sequence[tuple[torch.Tensor, Any]]) -> None:
    """Refuses a function that reads a buffer of a model whose op changes that buffer.

    Args:
        graph: the recording.
        ops: those that the function can reach.
        captured: all tensors that the function captured, each with the line that read it first.

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
            readers = [line for tensor, line in captured if (op.name, name) in written and _lies_in(tensor, buffer)]
            if readers:
                raise RecordError(
                    f"the function reads {name!r} of the model of op {op.name!r}, which changes in the op only",
                    where=str(readers[0] or ""),
                    fix="Return it from the model's forward.",
                )


def refuse_gaps(program: Program, run: Callable[[Program], Any]) -> None:
    """Refuses a pipeline that would answer otherwise from its file, where a tensor with gaps or overlaps lies dense.

    Args:
        program: the pipeline.
        run: makes a pipeline of it and calls that with the example.

    Raises:
        RecordError: it would.
    """
    odd = [constant for constant in constants(program.graph) if not _is_dense(constant.tensor)]
    if not odd:
        return
    before, wanted = [constant.tensor for constant in odd], run(program)
    try:
        for constant in odd:
            constant.tensor = constant.tensor.contiguous()
        found = difference(wanted, run(program), exact=True)
    finally:
        for constant, tensor in zip(odd, before, strict=True):
            constant.tensor = tensor
    if found:
        raise RecordError(
            "the answer hangs on the strides of a captured tensor with gaps or overlaps, which no file keeps",
            got=found,
            expected=f"a dense tensor in place of {odd[0].name!r}",
            fix="Capture tensor.contiguous().",
        )


def _is_dense(tensor: torch.Tensor) -> bool:
    """Whether a tensor is contiguous in some order of its dimensions, as a file keeps it."""
    if tensor.is_contiguous() or tensor.layout is not torch.strided:
        return True
    steps: tuple[int, ...] = tensor.stride()
    order = sorted(range(tensor.dim()), key=lambda dim: (steps[dim], tensor.shape[dim]), reverse=True)
    return tensor.permute(order).is_contiguous()


def _lies_in(tensor: torch.Tensor, buffer: torch.Tensor) -> bool:
    """Whether a tensor, or an array behind it, lies in the memory of a buffer."""
    if tensor is buffer or any(each.layout is not torch.strided or each.is_meta for each in (tensor, buffer)):
        return tensor is buffer
    memory = buffer.untyped_storage()
    return 0 <= tensor.data_ptr() - memory.data_ptr() < memory.nbytes()
