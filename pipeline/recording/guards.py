"""What happens where a run-time value becomes a plain one: a guard, or a refusal where data decides it."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Guard, Node
from ...ops.graph.types import ARRAY
from ...ops.runtime.user_code import user_line
from ..proxies.tracer import Tracer

_CHOOSE = "Use torch.where or tracepack.cond(pred, true_fn, false_fn, *args) for a choice that data makes."
_FIXES = {
    "taken as a plain": "float(), int() and math keep it in the graph where the traced function itself calls them.",
    "plain array": "Use numpy's functions on it, or torch.from_numpy to get a tensor.",
}


def pin(recorder: Tracer, scalar: Any, reason: str) -> Any:
    """Guards that a traced value stays what it is, and returns that.

    Raises:
        RecordError: data decides it.
    """
    line = user_line()
    if scalar.varies or scalar.value.type == ARRAY:
        with recorder.refusing():
            raise RecordError(
                f"a value that data decides cannot leave the graph: {reason}",
                where=str(line or ""),
                got=_brief(scalar.concrete),
                fix=next((fix for word, fix in _FIXES.items() if word in reason), _CHOOSE),
            )
    if isinstance(scalar.concrete, np.generic):
        recorder.pin(recorder.scalar("item", scalar), reason)
    else:
        guard = Guard(scalar.concrete, f"the recording holds for one value only, because {reason}")
        recorder.nodes.append(Node(guard, (scalar.value,), {}, None, line))
    return scalar.concrete


def _brief(found: Any) -> str:
    return f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else repr(found)


def pin_rows(recorder: Tracer, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Fixes the number of rows that a function goes through one by one.

    Args:
        recorder: whose tensor it is.
        args: of `torch.unbind`.
        kwargs: likewise.
    """
    tensor, dim = (*args, kwargs.get("input"))[0], (*args[1:], kwargs.get("dim", 0))[0]
    if isinstance(tensor, torch.Tensor) and tensor in recorder.values and not recorder.values.varies(tensor):
        with torch._C.DisableTorchFunction():
            rank = tensor.dim()
        if isinstance(dim, int) and dim in range(-rank, rank):
            rows = recorder.scalar("size", tensor, dim % rank)
            recorder.pin(rows, "the function goes through the rows of a tensor one by one")
