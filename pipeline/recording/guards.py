"""Guards a run-time value that the function uses as a plain one, or refuses that where data decides the value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...ops.graph.errors import RecordError
from ...ops.graph.graph import Guard, Node
from ...ops.graph.types import ARRAY
from ...ops.runtime.user_code import running_instruction, user_line
from ..proxies.tracer import Tracer

_CHOOSE = "Use torch.where or tracepack.cond(pred, true_fn, false_fn, *args) for a choice that data makes."
_FIXES = {
    "taken as a plain": "float(), int() and math keep it in the graph where the traced function itself calls them.",
    "plain array": "Use numpy's functions on it, or torch.from_numpy to get a tensor.",
}


def pin(recorder: Tracer, scalar: Any, reason: str) -> Any:
    """Guards that a traced value stays equal to that of the example, and returns the value of the example.

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


_PLAINLY = (
    "it was turned into text", "it was formatted into a string", "it was used as a key", "it is the key of a dict",
    "it was searched", "its length was read", "the function goes through the rows of a tensor one by one",
)  # fmt: skip


def may_stay_free(found: Any, reason: str) -> bool:
    """Whether a guard may not be needed where operations of Python are recorded, too: subscripts, texts, loops."""
    if isinstance(found, str | list | dict) or reason in _PLAINLY or reason.startswith("the length of"):
        return True
    asked = running_instruction()
    used = reason == "it was used as a plain integer" and ("SUBSCR" in asked or "CALL" in asked)  # a key, or a range
    return asked in ("UNARY_NOT", "TO_BOOL") or used


def _brief(found: Any) -> str:
    return f"an array of shape {found.shape}" if isinstance(found, np.ndarray) else repr(found)
