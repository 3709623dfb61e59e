"""Gradient modes that a recorded function sets, and custom backwards that it uses.

A recording runs without gradients. The recorder follows the mode that the function sets, and writes it into the graph
where it changes between two operators; a plan without gradients leaves it out.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from typing import Any

import torch

from ...ops.graph.graph import Graph, Node, Operator
from ...ops.graph.sharing.tensor_places import beside_weights
from ...ops.graph.traverse import constants, own_constants
from ...ops.lowering.gradients import has_hooks
from ...ops.runtime.user_code import OURS, TORCHS, is_users, user_line
from ..proxies.tracer import NodeWriter, Tracer

ASKS_GRAD_MODE = "the function asks whether gradients are on"
_HISTORY = "the function holds a tensor that was computed with gradients; detached before, it is a constant"
_HOOKED = "a tensor that the function holds has hooks on its gradients, which no file holds"
_BESIDE = "a tensor shares memory with a weight of other sizes or strides, and would not follow its training"
_OWN = tuple(os.path.join("pipeline", *parts) for parts in (("recording",), ("rules",), ("patches",)))


def is_asked_by_us() -> bool:
    """Whether tracepack itself, and not the recorded function, reads or sets the grad mode."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith((TORCHS, *(OURS + own for own in _OWN))):
        if frame.f_code.co_name == _DECORATES and is_users(_file_of(frame.f_locals.get("func"))):
            return False  # its caller may be ours: the traced function itself is decorated
        frame = frame.f_back
    return frame.f_code.co_filename.startswith(OURS)


_DECORATES = "decorate_context"  # torch's name for what `@torch.no_grad()` makes of a function


def _file_of(function: Any) -> str:
    """The file of a function's code; ours where it has none, as one of torch's built-in functions."""
    return str(getattr(getattr(function, "__code__", None), "co_filename", OURS))


def set_grad_mode(recorder: NodeWriter, func: Any, mode: bool) -> None:
    """Stands for `torch._C._set_grad_enabled`, which torch's own blocks call."""
    if recorder.busy or is_asked_by_us():  # an op runs its model
        func(mode)
    else:
        recorder.grad_mode = bool(mode)


def follow_grad_mode(recorder: NodeWriter) -> bool:
    """Writes the mode into the graph if it has changed since the last node, and returns it."""
    mode = recorder.grad_mode and not torch.is_inference_mode_enabled()
    if mode is not recorder.written_mode:
        recorder.written_mode = mode
        recorder.nodes.append(Node(Operator("py.grad_mode"), (mode,), {}, None, user_line()))
    return mode


def end_grad_mode(recorder: Tracer, mode: bool) -> None:
    """Ends a round of a loop in the mode in which it began: another number of rounds has to end in that one, too."""
    if follow_grad_mode(recorder) is not mode:
        recorder.refuse("a loop switches gradients on or off", "Write `with torch.no_grad():` inside of it.")


def own_backward(recorder: NodeWriter, name: str) -> None:
    """Writes into the graph that a function has a custom backward, which is not recorded."""
    _lost(recorder, f"{name} has a custom backward, which is not recorded")


def asks_grad_mode(recorder: NodeWriter) -> None:
    """Writes into the graph that the function asks for the grad mode, which is off while it is recorded."""
    _lost(recorder, ASKS_GRAD_MODE)


def without_history(graph: Graph, readers: Iterable[tuple[torch.Tensor, Any]]) -> Graph:
    """The graph, with a note where gradients of what it holds go on in what made that, or in what is hung on it.

    Args:
        graph: the recorded function.
        readers: the tensors that it captured, each with the line that read it first.
    """
    notes = {id(tensor): note for tensor, note in _lost_weights(graph)}
    lines = {id(tensor): line for tensor, line in readers}
    nodes = [Node(Operator("py.own_backward"), (note,), {}, None, lines.get(key)) for key, note in notes.items()]
    return Graph(graph.inputs, (*nodes[:1], *graph.nodes), graph.output) if nodes else graph


def _lost_weights(graph: Graph) -> Iterator[tuple[torch.Tensor, str]]:
    """The tensors that no training of the file treats as Python does, each with the reason."""
    for constant in own_constants(graph):
        if constant.tensor.grad_fn is not None:
            yield constant.tensor, _HISTORY
        elif has_hooks(constant.tensor):
            yield constant.tensor, _HOOKED
    for constant in beside_weights([each for each in constants(graph) if each.tensor.grad_fn is None]):
        yield constant.tensor, _BESIDE


def _lost(recorder: NodeWriter, text: str) -> None:
    recorder.nodes.append(Node(Operator("py.own_backward"), (text,), {}, None, user_line()))
