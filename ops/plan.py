"""The Plan: a Graph compiled to flat Python functions for one placement.

`Plan.run` takes flat inputs. The first time it meets an input signature it runs the checked function, which verifies
guards, op signatures and contiguity; once these held, the fast one serves that signature. An error inside either is
traced back to its node by the failing line, at no cost to the runs that succeed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from types import FrameType, TracebackType
from typing import Any

import torch

from .device import CPU, Device
from .emit import Bindings, Emitter
from .errors import GuardError, NodeError, TracepackError
from .graph import Body, Constant, Graph, Guard, Node, Value, target_name, uses
from .records import record_factory
from .signature import fail_guard, input_check, output_check
from .types import TensorType


class Plan:
    """A graph ready to run.

    Args:
        graph: what to run.
        place: the device of every op that the graph calls; ops run where they were scripted by default.
        home: the device of torch code that no tensor decides.
    """

    def __init__(self, graph: Graph, place: Callable[[Body], Device] | None = None, home: Device = CPU) -> None:
        self.graph, self.home = graph, home
        self._place = place or (lambda body: CPU)
        self._constants: dict[tuple[int, Device], Any] = {}

    @cached_property
    def checked(self) -> Callable[..., Any]:
        """The function that verifies everything; one positional argument for each graph input."""
        return Emitter(self._bindings, checked=True).function(self.graph, self.home)

    @cached_property
    def fast(self) -> Callable[..., Any]:
        """The function without the checks that an input signature decides."""
        return Emitter(self._bindings, checked=False).function(self.graph, self.home)

    @property
    def source(self) -> str:
        """The generated Python source of the fast function."""
        return self.fast.source  # type: ignore[attr-defined, no-any-return]

    @property
    def homes(self) -> list[Device]:
        """The device on which each input is wanted."""
        return self.checked.homes  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def _bindings(self) -> Bindings:
        return Bindings(
            place=self._place,
            constant=self._constant,
            home=self.home,
            check_inputs=input_check,
            check_outputs=output_check,
            record=record_factory,
            guard=_guard_failure,
        )

    def _constant(self, constant: Constant, device: Device) -> Any:
        """The tensor of a constant on a device; state is copied, so that plans do not share it."""
        key = (id(constant), device)
        if key not in self._constants:
            tensor = constant.tensor.detach()
            if constant.mutable:
                tensor = tensor.clone()
            self._constants[key] = tensor.to(str(device)) if str(tensor.device) != str(device) else tensor
        return self._constants[key]

    def constant(self, constant: Constant) -> Any:
        """The tensor that this plan works on for a constant used by torch code."""
        return self._constant(constant, self.home)

    def run(self, inputs: Sequence[Any], *, checked: bool = True) -> Any:
        """Runs the graph on flat inputs, without gradients.

        Raises:
            NodeError: an operator failed; the message names the node and the user's line.
            SignatureError, GuardError, NonContiguousOutputError: a check failed.
        """
        function = self.checked if checked else self.fast
        with torch.no_grad():
            try:
                return function(*inputs)
            except Exception as error:
                raise explain(error, function) from (None if isinstance(error, TracepackError) else error)


def _guard_failure(node: Node) -> Callable[[Any], None]:
    assert isinstance(node.target, Guard)
    return fail_guard(node.target.expected, node.target.reason, node.line)


def explain(error: BaseException, function: Callable[..., Any]) -> BaseException:
    """The error to raise for one that escaped from a generated function: it names the node and the user's line.

    Our own errors, and those that mean the machine rather than the graph, are returned as they are.
    """
    if isinstance(error, TracepackError | MemoryError):
        return error
    frame, line = _plan_frame(error.__traceback__, function)
    node = function.nodes.get(line) if frame else None  # type: ignore[attr-defined]
    if frame is None or node is None:
        return error
    where = f"node {target_name(node.target)}"
    where += f" ({node.line})" if node.line else ""
    if isinstance(error, ValueError) and "values to unpack" in str(error):
        return GuardError("the operator gave another number of results than when it was recorded", where=where)
    return NodeError(f"{_first_line(error)}; {_arguments(node, frame)}", where=where)


def _plan_frame(trace: TracebackType | None, function: Callable[..., Any]) -> tuple[FrameType | None, int]:
    found: tuple[FrameType | None, int] = (None, 0)
    while trace is not None:
        if trace.tb_frame.f_code is function.__code__:
            found = (trace.tb_frame, trace.tb_lineno)
        trace = trace.tb_next
    return found


def _first_line(error: BaseException) -> str:
    text = str(error).strip().split("\n")[0]
    text = text.split("Exception raised from")[0].strip()
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def _arguments(node: Node, frame: FrameType) -> str:
    """The shapes at hand when a node failed."""
    tensors = [value for value in frame.f_locals.values() if isinstance(value, torch.Tensor)]
    kinds = [str(leaf.type) for leaf in uses(node) if isinstance(leaf, Value) and isinstance(leaf.type, TensorType)]
    shown = ", ".join(f"{str(t.dtype).removeprefix('torch.')}{list(t.shape)}" for t in tensors[-4:])
    return f"recorded with ({', '.join(kinds)}), tensors at hand: {shown or 'none'}"
