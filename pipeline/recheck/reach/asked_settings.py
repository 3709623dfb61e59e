"""Whether a function can ask for a setting of torch where no recorder sees it: by another name, or by `finfo()`."""

from __future__ import annotations

import dis
from collections.abc import Collection
from itertools import pairwise
from types import CodeType
from typing import Any

import torch

from ....ops.graph.errors import RecordError
from ....ops.graph.graph import Graph, Node, Operator
from ....ops.runtime.user_code import codes_in, first_line, names_in
from ...rules.gradients import ASKS_GRAD_MODE
from ...rules.settings import with_default_dtype
from .objects import Objects

_DEFAULT_DTYPE = (torch.get_default_dtype, torch.finfo)  # all but finfo are replaced while functions are recorded
_GRAD_MODE = torch.is_grad_enabled
_INFERENCE_MODE = torch.is_inference_mode_enabled


def with_settings(graph: Graph, dtype: str, asked: bool, objects: Objects) -> Graph:
    """The graph of a function with a guard on the default dtype, and a note on the gradient mode, where it needs them.

    Args:
        graph: of a whole function.
        dtype: torch's default dtype while it was recorded.
        asked: whether the recorder saw that the function asks for it.
        objects: what the function reaches.

    Raises:
        RecordError: it can ask whether inference mode is on.
    """
    if _may_ask(objects, _INFERENCE_MODE, "is_inference_mode_enabled"):
        raise RecordError(
            "the function asks whether inference mode is on, which no graph holds",
            where=str(first_line(objects.functions[0]) or "") if objects.functions else "",
            fix="Pass it as a flag.",
        )
    if _may_ask(objects, _GRAD_MODE, "is_grad_enabled"):
        note = Node(Operator("py.own_backward"), (ASKS_GRAD_MODE,), {}, None, first_line(objects.functions[0]))
        graph = Graph(graph.inputs, (note, *graph.nodes), graph.output)
    return with_default_dtype(graph, dtype, asked or _may_ask_default_dtype(objects))


def _may_ask(objects: Objects, asking: Any, name: str) -> bool:
    """Whether a function reaches what tells a mode by another name than torch's, where a recorder sees it."""
    if objects.reaches(asking):
        return bool(objects.functions)
    codes = [code for function in objects.functions for code in codes_in(function.__code__)]
    return any(_has_text(code, {name}) or {"_C", name} <= set(names_in(code)) for code in codes)


def _may_ask_default_dtype(objects: Objects) -> bool:
    """Whether what a function reaches holds what tells the default dtype, or code that names it.

    ``torch.finfo(dtype)`` asks for none. Any other name of `finfo` is taken to be called without an argument.
    """
    if any(map(objects.reaches, _DEFAULT_DTYPE)):
        return True
    return any(_names_dtype(code) for function in objects.functions for code in codes_in(function.__code__))


def _names_dtype(code: CodeType) -> bool:
    names = names_in(code)
    asked = "get_default_dtype" in names or ("finfo" in names and _without_argument(code))
    return asked or _has_text(code, {"get_default_dtype", "finfo"})


def _has_text(code: CodeType, names: Collection[str]) -> bool:
    """Whether code holds one of the names as a text: ``getattr(torch, "finfo")``."""
    return any(isinstance(item, str) and item in names for item in code.co_consts)


def _without_argument(code: CodeType) -> bool:
    lines = [line for line in dis.get_instructions(code) if line.opname != "PUSH_NULL"]
    return any(line.argval == "finfo" and not after.opname.startswith("LOAD_") for line, after in pairwise(lines))
