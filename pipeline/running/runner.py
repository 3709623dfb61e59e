"""Runner: what stands between `Pipeline.run` and the generated functions of the plan.

A feed whose signature was met before goes through the generated `entry`. Every other one goes the slow way here, which
converts, checks and moves everything, and then remembers the signature.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from ...ops.graph.device import CPU, Device
from ...ops.graph.errors import SignatureError
from ...ops.graph.graph import BodyCall, KernelCall, Node, Operator
from ...ops.graph.program import Program, Slot
from ...ops.graph.traverse import walk
from ...ops.graph.types import TensorType
from ...ops.runtime.checks import tensor_check
from ...ops.runtime.node_errors import fail
from ...ops.runtime.plan import Plan
from ...ops.runtime.primitives.numpy import writes
from ...ops.runtime.state import State, is_stateful
from .binding import Binding, thawed
from .conditions import pins
from .fast_entry import EntryInputs, make_entry
from .shared_memory import refuse_lost_writes

MOST_SIGNATURES = 4096  # input signatures remembered as checked; past that they are checked again


class Runner:
    """Runs a program under one placement, from any number of threads.

    Args:
        program: what to run.
        places: the device of every op's body, by its id.
        grad: whether results keep their gradients.

    Attributes:
        binding: turns the arguments of calls into flat inputs.
        lock: held by every run of a program with state, and by whatever else touches the state.
        plan: the graph compiled for this placement.
        seen: the signatures of inputs that were checked.
    """

    def __init__(self, program: Program, places: Mapping[int, Device], grad: bool = False) -> None:
        self.program, self.grad, self.binding = program, grad, Binding(program.parameters)
        self.lock = threading.RLock()
        # Torch code that no tensor places runs with the accelerator's ops, if there are any.
        home = next((device for device in places.values() if not device.is_cpu), CPU)
        if not home.is_cpu:
            refuse_lost_writes(program.graph, _may_write)
        self.plan = Plan(program.graph, lambda body: places[id(body)], home, grad=grad)
        self.seen: set[Any] = set()

    @cached_property
    def run(self) -> Callable[[Mapping[str, Any]], Any]:
        """A run on a feed; made when it is first asked for, since it compiles the plan. State: one run at a time."""
        inputs = None if self.grad else self._entry_inputs()
        entry = self.run_slowly if inputs is None else make_entry(inputs, self.plan.fast, self.run_slowly, self.seen)
        if not self.stateful:
            return entry

        def locked(feed: Mapping[str, Any]) -> Any:
            with self.lock:
                return entry(feed)

        return locked

    def _entry_inputs(self) -> EntryInputs | None:
        """What the fast entry needs to know of the inputs; None where they are not all plain tensors."""
        items, kinds = self.program.parameters.items, [value.type for value in self.program.graph.inputs]
        types = [kind for kind in kinds if isinstance(kind, TensorType)]
        if not types or len(types) < len(kinds) or not all(isinstance(item.tree, Slot) for item in items):
            return None
        return EntryInputs([item.name for item in items], types, self.homes, self.writes)

    def run_slowly(self, feed: Mapping[str, Any]) -> Any:
        """A run that converts and checks everything, and remembers the signature of the inputs as good."""
        given = self.binding.flatten(thawed(feed) if self.writes else feed)
        self._check(given)
        checked = self.plan.checked
        flat = [at_home(value, device) for value, device in zip(given, self.homes, strict=True)]
        key = _signature_key(flat)
        fast = key is not None and key in self.seen
        result = self._execute(self.plan.fast if fast else checked, flat)
        if self.writes:
            give_back(given, flat)
        if key is not None and not fast:
            if len(self.seen) >= MOST_SIGNATURES:
                self.seen.clear()
            self.seen.add(key)
        return result

    def _execute(self, function: Callable[..., Any], flat: Sequence[Any]) -> Any:
        with torch.enable_grad() if self.grad else torch.no_grad():
            try:
                return function(*flat)
            except Exception as error:
                fail(error, function)

    @cached_property
    def homes(self) -> list[torch.device]:
        """The device on which each input is wanted, as tensors there name it."""
        return [torch.empty(0, device=str(home)).device for home in self.plan.homes]

    @cached_property
    def _check(self) -> Callable[[Sequence[Any]], None]:
        parameters = self.program.parameters
        where, blame = f"pipeline {self.program.name!r}", pins(self.program.graph)
        return tensor_check(where, parameters.names, parameters.types, self.program.facts, pins=blame)

    @cached_property
    def writes(self) -> bool:
        """Whether anything writes in place, so that it may write into an input."""
        return any(map(_may_write, walk(self.program.graph)))

    @cached_property
    def stateful(self) -> bool:
        """Whether a run changes what later runs give."""
        return is_stateful(self.program.graph)

    def state(self) -> State:
        """The state, with everything in it: generated functions bind what they use when they are made."""
        _ = self.plan.checked
        return self.plan.state


def at_home(value: Any, device: torch.device) -> Any:
    """An input on the device where it is wanted.

    Raises:
        SignatureError: it has no memory that could be moved there.
    """
    if isinstance(value, torch.Tensor) and value.is_meta and device.type != "meta":
        raise SignatureError("not a plain tensor", got="a meta tensor", expected=f"a tensor on {device}")
    return value.to(device) if isinstance(value, torch.Tensor) and value.device != device else value


def give_back(given: Sequence[Any], used: Sequence[Any]) -> None:
    """Writes to the caller's tensors what was written to the copies of them on other devices."""
    for mine, copy in zip(given, used, strict=True):
        if copy is not mine and isinstance(copy, torch.Tensor) and copy._version:
            mine.copy_(copy)


def _may_write(node: Node) -> bool:
    """Whether a node may write into its arguments, as far as names tell."""
    match node.target:
        case Operator(name):
            if writes(name):
                return True
            last = name.removeprefix("aten.").split(".")[0 if name.startswith("aten.") else -1]
            return (last.endswith("_") and not re.match(r"__(?!i|setitem)", last)) or "out" in node.kwargs
        case BodyCall(body):
            return any(map(_may_write, walk(body.graph)))
    return isinstance(node.target, KernelCall)


def _signature_key(flat: Sequence[Any]) -> Any:
    """What the checked facts can depend on: shapes, strides and containers; None where a scalar takes part."""
    if not all(isinstance(value, torch.Tensor) for value in flat):
        return None
    return tuple((value.shape, value.stride()) for value in flat)
