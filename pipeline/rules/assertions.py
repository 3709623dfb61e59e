"""Conditions that must hold in every run: those that the function asserts, and those that torch's own code checks."""

from __future__ import annotations

from typing import Any

import torch

from ...ops.graph.graph import Guard, Node
from ...ops.runtime.user_code import user_line
from ..proxies.tracer import Tracer
from .tried.tried_lines import CAUGHT, TriedLine, tried_line

OWN_CHECKS = ("the function raises ", "an assertion of the function fails")
"""How the reasons of guards begin that the function itself demands, by an error or an assertion."""


def required(recorder: Tracer, found: Any, reason: str, error: str = "") -> bool:
    """Whether a traced number is true, which then must be so in every run.

    Args:
        recorder: of the function.
        found: the traced number.
        reason: what an error of a run says.
        error: the name of what the function raises else.

    Returns:
        Whether it is true, or belongs to a branch that the example does not take.
    """
    if not found.concrete and not recorder.untaken:
        return False
    condition = found if type(found.concrete) is bool else recorder.scalar("bool", found)
    line = tried_line(error) if error else user_line()
    reason += CAUGHT if isinstance(line, TriedLine) else ""
    recorder.nodes.append(Node(Guard(True, reason), (condition.value,), {}, None, line))
    return True


def all_true(recorder: Tracer, tensor: torch.Tensor) -> bool:
    """`torch._is_all_true`, by which `torch.distributions` checks parameters and values."""
    found = recorder.scalar("item", recorder.direct(torch.all, tensor))
    if not found.concrete:
        recorder.refuse(
            "a parameter or a value of the example lies outside of what the distribution takes",
            "Trace with one that it takes.",
        )
    return required(recorder, found, "a parameter or a value lies outside of what the distribution takes")
