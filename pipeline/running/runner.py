"""The runner: runs a feed by the generated functions of the plan.

A feed of a signature that was checked before goes through the generated `entry`. Any other one goes through the slow
run here, which converts, checks and moves the inputs, and then remembers their signature.
"""

from __future__ import annotations

import re
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import torch

from ...ops.graph.device import CPU, Device
from ...ops.graph.errors import SignatureError
from ...ops.graph.graph import SOURCES, BodyCall, KernelCall, Node, Operator
from ...ops.graph.program import Program, Slot
from ...ops.graph.sharing.memory import touched
from ...ops.graph.traverse import every_node, leaves, walk
from ...ops.graph.types import SCALARS, STRINGS, TensorType
from ...ops.runtime.checks import tensor_check
from ...ops.runtime.interrupts.changes import forkable, release
from ...ops.runtime.interrupts.forks import runs_here
from ...ops.runtime.interrupts.modes import outside
from ...ops.runtime.interrupts.verbs import journaled
from ...ops.runtime.node_errors import fail
from ...ops.runtime.plan import Plan
from ...ops.runtime.primitives.numpy import writes
from ...ops.runtime.state import State, is_stateful
from ...ops.tracing_hook import current, recording
from ..left_out.way_runners import WayRunners
from .binding import Binding
from .conditions import pins
from .fast_entry import CLASSES, EntryInputs, WholePlan, make_entry, remember
from .handed import Looking, at_home, give_back
from .marks import Marks
from .transforms import Freezing, Taking, differentiated_by, is_made_graph, is_traced

if TYPE_CHECKING:
    from ...ops.runtime.engine_call import EngineCall
    from ...ops.runtime.safety.budget import Budget


class Runner:
    """Runs a program under one placement, from any number of threads.

    Args:
        program: what to run.
        places: the device of every op's body, by its id.
        grad: whether results keep their gradients.
        convert: whether inputs are converted, except for those into which the program writes.
        budget: what a run may spend.
        engines: the calls of engines in place of nodes; see `Plan`.
        state: the state to go on with; a new one by default.

    Attributes:
        marks: what a call must keep to beyond the types of the inputs.
        binding: turns the arguments of calls into flat inputs.
        lock: held by every run of a program with state, and by whatever else touches the state.
        plan: the graph compiled for this placement.
        reference: the same without engines: for calls that torch traces or transforms, which only it can follow.
        seen: the signatures of inputs that were checked.
    """

    def __init__(
        self,
        program: Program,
        places: Mapping[int, Device],
        *,
        grad: bool = False,
        convert: bool = False,
        budget: Budget | None = None,
        engines: Mapping[int, EngineCall] = MappingProxyType({}),
        state: State | None = None,
    ) -> None:
        self.program, self.grad = program, grad
        self.marks = Marks.of(program.graph)
        self.written = touched(program.graph).inputs() if self.writes else set[int]()
        self.binding = Binding(program.parameters, self.marks, convert, self.written)
        self._budget = budget
        self.ways = WayRunners(program, lambda way: Runner(way, places, grad=grad, convert=convert, budget=budget))
        self.lock = forkable(threading.RLock())
        # Torch code that was recorded on the CPU runs on the device of the accelerator's ops, if there are any.
        home = places.get(id(program.graph)) or next((place for place in places.values() if not place.is_cpu), CPU)
        if not home.is_cpu:
            from .shared_memory import refuse_lost_writes  # which accelerators alone need

            refuse_lost_writes(program.graph, may_write)
        self.reference = Plan(program.graph, lambda body: places[id(body)], home, state, grad, budget)
        self.plan = self.reference.with_engines(engines) if engines else self.reference
        self.seen: set[Any] = set()
        self._of_tensors = all(isinstance(value.type, TensorType) for value in program.graph.inputs)
        first = _first_run(self)
        self._traceable = _compiled_reference(self)
        self.run: Callable[[Mapping[str, Any]], Any] = _uncompiled(first) if self.draws else first

    def entry(self) -> Callable[[Mapping[str, Any]], Any]:
        """The function that runs a feed once the plan is compiled; runs of a pipeline with state exclude each other."""
        inputs = None if self.grad or self._budget is not None else self._entry_inputs()
        entry: Callable[[Mapping[str, Any]], Any] = self.run_slowly
        if inputs is not None:
            alone = WholePlan.of(self.plan.alone, self.program) if inputs.are_tensors else None
            function = self.plan.fast if inputs.are_tensors else self.plan.checked
            entry = make_entry(inputs, function, self.run_slowly, self.seen, alone)
            # What torch's compiler traces in its place: the signatures that were seen would fix the sizes.
            entry._torchdynamo_inline = self.run_slowly  # type: ignore[attr-defined]  # torch's
        if self.draws:
            entry = _uncompiled(entry)
        if not self.stateful:
            return entry
        lock = self.lock

        def locked(feed: Mapping[str, Any]) -> Any:
            try:
                with lock:
                    return entry(feed)
            except BaseException:
                release(lock)
                raise

        return locked

    def _entry_inputs(self) -> EntryInputs | None:
        """The inputs as the fast entry takes them; None where one of them is a container, or of no plain class."""
        # A fixed parameter is usually left out; a feed that names it goes the slow way, which compares it.
        items = [p for p in self.program.parameters.items if p.required or _has_slots(p.tree)]
        kinds = [value.type for value in self.program.graph.inputs]
        plain = all(isinstance(kind, TensorType) or kind == STRINGS or kind in CLASSES for kind in kinds)
        if self.marks.keywords or not kinds or not plain or not all(isinstance(item.tree, Slot) for item in items):
            return None
        return EntryInputs(
            [item.name for item in items], kinds, self.homes, self.writes, is_made_graph if self.freezing else None
        )

    def run_slowly(self, feed: Mapping[str, Any]) -> Any:
        """A run that converts and checks everything, and remembers the signature of the inputs as checked."""
        if self.ways.names and (way := self.way(feed)) is not self:
            return way.run(self.ways.given(feed))
        return self._run_compiled(feed) if torch.compiler.is_dynamo_compiling() else self._run_checked(feed)

    def way(self, feed: Mapping[str, Any]) -> Runner:
        """The runner for a feed: another one where arguments are left out that are None then."""
        return self.ways.of(feed) or self

    def _run_compiled(self, feed: Mapping[str, Any]) -> Any:
        """A run in code that torch's compiler can trace."""
        self._traceable()
        given = self.binding.flatten(feed)
        self._check(given)
        with torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            return self.reference.checked(*given)

    @journaled
    def _run_checked(self, feed: Mapping[str, Any]) -> Any:
        recorder = current()
        plainly = recorder is None and not is_made_graph()
        with Looking(f"pipeline {self.program.name!r}", plainly):
            given = self.binding.flatten(feed)
            if plainly:
                self._check_traced(given) if torch._C._is_tracing() else self._check(given)
        if recorder is not None:
            self._check_traced(recorder.concrete(given))
            return recorder.splice(self.program, given, self.state(), self._run_recorded)
        if not plainly:
            self.freezing.require_none()
            self._check_traced(given) if torch._C._is_tracing() else self._check(given)
        if not self.grad and (who := next(filter(None, map(differentiated_by, given)), "")):
            raise SignatureError(
                f"{who} differentiates a pipeline that keeps no gradients",
                where=f"pipeline {self.program.name!r}",
                fix="Load it with load(path, grad=True).",
            )
        flat = [at_home(value, device) for value, device in zip(given, self.homes, strict=True)]
        key = _signature_key(flat)
        plan = self.reference if any(map(is_traced, flat)) else self.plan
        fast = self._of_tensors and key is not None and key in self.seen
        with self._within(), Taking(flat, self.state() if self.stateful else None):
            result = self._execute(plan.fast if fast else plan.checked, flat)
        if self.writes:
            give_back(given, flat)
        if key is not None and not fast:
            remember(self.seen, key)
        return result

    def _run_recorded(self, given: Sequence[Any]) -> Any:
        """A run inside a recording, which takes over the nodes of this pipeline."""
        with recording(None):
            return self._run_plainly(given)

    def _run_plainly(self, given: Sequence[Any]) -> Any:
        flat = [at_home(value, device) for value, device in zip(given, self.homes, strict=True)]
        with self._within():
            result = self._execute(self.reference.checked, flat)
        if self.writes:
            give_back(given, flat)
        return result

    @outside
    def _check_traced(self, given: Sequence[Any]) -> None:
        """Runs the checks outside of the modes that trace the caller, so that they are not traced."""
        self._check(given)

    def _within(self) -> AbstractContextManager[None]:
        """The budget of a run, of which a plan that it makes is part."""
        return nullcontext() if self._budget is None else self._budget.running()

    def _execute(self, function: Callable[..., Any], flat: Sequence[Any]) -> Any:
        with self._within(), torch.set_grad_enabled(self.grad and torch.is_grad_enabled()):
            try:
                return function(*flat)
            except Exception as error:
                fail(error, function)

    @cached_property
    @outside
    def homes(self) -> list[torch.device]:
        """The device on which each input is wanted, as tensors there name it."""
        return [torch.empty(0, device=str(home)).device for home in self.plan.homes]

    @cached_property
    def _check(self) -> Callable[[Sequence[Any]], None]:
        parameters = self.program.parameters
        where, blame = f"pipeline {self.program.name!r}", pins(self.program.graph)
        return tensor_check(where, parameters.names, parameters.types, self.program.facts, pins=blame)

    @cached_property
    def freezing(self) -> Freezing:
        """What a graph that torch makes of the caller would hold as a constant."""
        return Freezing(f"pipeline {self.program.name!r}", self.program.graph)

    @cached_property
    def writes(self) -> bool:
        """Whether a node writes in place, so that a run may write into an input."""
        nodes = every_node(self.program.graph)
        return any(may_write(node) for node in nodes if not isinstance(node.target, BodyCall))

    @cached_property
    def stateful(self) -> bool:
        """Whether a run changes what later runs give."""
        return is_stateful(self.program.graph)

    @cached_property
    def draws(self) -> bool:
        """Whether a run draws random numbers from a generator."""
        return any(node.target in SOURCES for node in walk(self.program.graph))

    def state(self) -> State:
        """The state, complete: a generated function binds the tensors that it uses when it is made."""
        _ = self.plan.checked
        return self.plan.state


def _has_slots(tree: Any) -> bool:
    return any(isinstance(leaf, Slot) for leaf in leaves(tree))


def _uncompiled(entry: Callable[[Mapping[str, Any]], Any]) -> Callable[[Mapping[str, Any]], Any]:
    """An entry that torch.compile leaves alone: it loses what a draw writes into the state of a generator."""
    made: list[Any] = []

    def run(feed: Mapping[str, Any]) -> Any:
        if "torch._dynamo" not in sys.modules:  # its import takes a second
            return entry(feed)
        if not made:
            disable: Any = torch.compiler.disable  # torch leaves it untyped
            made.append(disable(entry))
        return made[0](feed)

    return run


def _compiled_reference(runner: Runner) -> Callable[[], bool]:
    """Compiles what torch's compiler traces; no other run of a pipeline with engines needs it."""

    def prepare() -> bool:
        return runner.reference.checked is not None

    prepare._dynamo_marked_constant = True  # type: ignore[attr-defined]  # see `_first_run`
    return prepare


def _first_run(runner: Runner) -> Callable[[Mapping[str, Any]], Any]:
    """Compiles the plan at the first run, so that a pipeline that is only inspected needs none."""

    def prepare() -> bool:
        runs_here()
        _ = runner.plan.checked, runner.homes, runner._check
        return True

    # torch's compiler calls this function instead of tracing into it.
    prepare._dynamo_marked_constant = True  # type: ignore[attr-defined]  # an attribute of torch's

    def first(feed: Mapping[str, Any]) -> Any:
        if runner._budget is None:
            return planned(feed)
        with runner._budget.running():
            return planned(feed)

    def planned(feed: Mapping[str, Any]) -> Any:
        prepare()
        if torch.compiler.is_dynamo_compiling():
            return runner.run_slowly(feed)
        runner.run = runner.entry()
        return runner.run(feed)

    return first


def may_write(node: Node) -> bool:
    """Whether a node may write into its arguments, by the name of its operator."""
    match node.target:
        case Operator(name):
            return _is_write(name) or "out" in node.kwargs
        case BodyCall(body):
            return any(may_write(inner) for inner in every_node(body.graph) if not isinstance(inner.target, BodyCall))
    return isinstance(node.target, KernelCall) and node.target.kernel.writes


@lru_cache(maxsize=4096)
def _is_write(name: str) -> bool:
    """Whether an operator writes in place, by its name."""
    if writes(name) or name.startswith("py."):
        return writes(name)  # `py.not_` writes nothing
    last = name.removeprefix("aten.").split(".")[0 if name.startswith("aten.") else -1]
    return last.endswith("_") and not re.match(r"__(?!i(?!nvert__|nt__|ndex__)|setitem)", last)


def _signature_key(flat: Sequence[Any]) -> Any:
    """The key under which checked inputs are remembered: shapes and strides of tensors, lengths of lists.

    None where an input is of another class or has symbolic sizes: a fake tensor, or one that `torch.jit.trace` follows.
    """
    if torch._C._is_tracing() or not all(type(value) in _REMEMBERED for value in flat):
        return None
    sized = [value for value in flat if not isinstance(value, _SCALARS)]
    return tuple(len(value) if type(value) is list else (value.shape, value.stride()) for value in sized)


_SCALARS = tuple(SCALARS)
_REMEMBERED = frozenset((torch.Tensor, torch.nn.Parameter, list, *SCALARS))
