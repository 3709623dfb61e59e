"""The Plan: a Graph compiled to flat Python functions for one placement.

`Plan.run` takes flat inputs. The first time it meets an input signature it runs the checked function, which verifies
guards, op signatures and contiguity; once these held, the fast one serves that signature. An error inside either is
traced back to its node by the failing line, which costs successful runs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, cached_property
from operator import is_
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from ..graph.device import CPU, Device, parse_device
from ..graph.errors import ArchiveError
from ..graph.graph import Body, Constant, Graph, Guard, Node
from ..graph.sharing.memory import HandedOn, Touched, sharing
from ..graph.traverse import written_out
from .checks import fail_guard, input_check, output_check
from .emitter import Emitter
from .interrupts.modes import outside
from .node_errors import fail
from .placement import runs_on
from .primitives.named_tuples import record_factory
from .scope import Bindings
from .state import State

if TYPE_CHECKING:
    from .engine_call import EngineCall
    from .safety.budget import Budget


class Plan:
    """A graph ready to run.

    Args:
        graph: the graph to run.
        place: the device of every op that the graph calls; by default that for which it was scripted, or the CPU where
            this machine lacks it.
        home: the device of torch code without a tensor argument.
        state: the state of the graph; a new one by default.
        grad: whether results keep their gradients.
        budget: the limits of a run.
        engines: the calls of engines in place of nodes, by the id of the first node or of an op's body.
    """

    def __init__(
        self,
        graph: Graph,
        place: Callable[[Body], Device] | None = None,
        home: Device = CPU,
        state: State | None = None,
        grad: bool = False,
        budget: Budget | None = None,
        engines: Mapping[int, EngineCall] = MappingProxyType({}),
    ) -> None:
        self.graph, self.home, self.grad, self.budget, self.engines = graph, home, grad, budget, engines
        self.state = State() if state is None else state
        self._place = place or (lambda body: runs_on(parse_device(body.device)))
        self._constants: dict[tuple[int, Device], tuple[Constant, Any]] = {}

    def with_engines(self, engines: Mapping[int, EngineCall]) -> Plan:
        """A plan of the same graph and the same state, in which engines run some of the nodes."""
        return Plan(self.graph, self._place, self.home, self.state, self.grad, self.budget, engines)

    @cached_property
    @outside
    def checked(self) -> Callable[..., Any]:
        """The function that verifies everything; one positional argument for each graph input."""
        return self._function(checked=True)

    @cached_property
    @outside
    def fast(self) -> Callable[..., Any]:
        """The function without the checks that an input signature decides."""
        return self._function(checked=False)

    def _function(self, *, checked: bool) -> Callable[..., Any]:
        if self.budget is not None:
            self.budget.foresee_plan(written_out(self.graph)[0])
        return Emitter(self._bindings, checked=checked).function(self.graph, self.home)

    @property
    def source(self) -> str:
        """The generated Python source of the fast function."""
        # Mypy does not know the attribute, which is set dynamically.
        return self.fast.source  # type: ignore[attr-defined, no-any-return]

    @property
    def alone(self) -> EngineCall | None:
        """The engine outside of torch that runs all of the graph, with one result; None where there is more to run."""
        nodes, output = self.graph.nodes, self.graph.output
        call = self.engines.get(id(nodes[0])) if nodes else None
        if call is None or not call.apart or call.count != len(nodes) or call.kept or len(call.outputs) != 1:
            return None
        same = len(call.inputs) == len(self.graph.inputs) and all(map(is_, call.inputs, self.graph.inputs))
        return call if same and output is call.outputs[0] else None

    @property
    def homes(self) -> list[Device]:
        """The device on which each input is wanted."""
        # Mypy does not know the attribute, which is set dynamically.
        return self.checked.homes  # type: ignore[attr-defined, no-any-return]

    @cached_property
    def _bindings(self) -> Bindings:
        return Bindings(
            place=self._place,
            constant=self._constant,
            home=self.home,
            check_inputs=cache(self._input_check),  # an op that is called often has one
            check_outputs=cache(output_check),
            record=record_factory,
            guard=_guard_failure,
            kernel=self.state.kernel,
            grad=self.grad,
            budget=self.budget,
            engines=self.engines,
            reshaped={place for place in self._touched.reshaped if isinstance(place, int)},
            handed_on=self._sharing[1],
        )

    def _input_check(self, body: Body) -> Callable[..., None]:
        check = input_check(body)
        return check if self.budget is None else self.budget.ticking(check)

    @cached_property
    def _sharing(self) -> tuple[Touched, HandedOn]:
        return sharing(self.graph)

    @property
    def _touched(self) -> Touched:
        return self._sharing[0]

    @cached_property
    def _written(self) -> set[int]:
        return self._touched.constants()

    def _constant(self, constant: Constant, device: Device) -> Any:
        """The tensor of a constant on a device; a mutable one is the state's."""
        if constant.mutable:
            return self.state.tensor(constant, device)
        key = (id(constant), device)
        if key not in self._constants:
            tensor = constant.tensor if self.grad else constant.tensor.detach()
            if id(constant) in self._written:  # other pipelines of the file share this memory
                tensor = tensor.clone()
            made = tensor.to(str(device)) if str(tensor.device) != str(device) else tensor
            self._constants.setdefault(key, (constant, made))  # another thread may have made it
        return self._constants[key][1]

    def moved(self) -> bool:
        """Whether a weight lies in other memory than when it was bound: `p.data = ...` or a move gave it another one.

        Raises:
            ArchiveError: it has another dtype or shape, too.
        """
        found = False
        for constant, made in self._constants.values():
            now = constant.tensor
            if made is now or type(now) not in (torch.Tensor, torch.nn.Parameter) or id(constant) in self._written:
                continue
            if made.dtype != now.dtype or made.shape != now.shape:
                raise ArchiveError(
                    "a weight has another dtype or shape than when it was traced",
                    where=repr(constant.name),
                    got=f"{str(now.dtype).removeprefix('torch.')} {tuple(now.shape)}",
                    expected=f"{str(made.dtype).removeprefix('torch.')} {tuple(made.shape)}",
                    fix="Script and trace again, or put the weight back.",
                )
            found = found or (made.device == now.device and not _same_memory(made, now))
        return found

    @outside
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
                fail(error, function)


def _same_memory(a: torch.Tensor, b: torch.Tensor) -> bool:
    return a.layout is not torch.strided or a.numel() == 0 or a.data_ptr() == b.data_ptr()


def _guard_failure(node: Node) -> Callable[[Any], None]:
    assert isinstance(node.target, Guard)
    return fail_guard(node.target.expected, node.target.reason, node.line)
