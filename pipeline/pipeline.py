"""Pipeline: a processing function as data, ready to run, save and inspect; what `trace` and `load` return."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any

import torch

from ..ops.arrays import writes
from ..ops.device import CPU, Device
from ..ops.devices import present
from ..ops.errors import TracepackError
from ..ops.explain import explain
from ..ops.generators import seeded_state
from ..ops.graph import Body, BodyCall, Constant, Facts, Graph, KernelCall, Node, Operator, bodies, walk
from ..ops.placement import place_all
from ..ops.plan import Plan
from ..ops.signature import tensor_check
from ..ops.state import State, is_stateful
from ..ops.text import guards_text, types_text
from .conditions import conditions, pins
from .entry import make_entry
from .inputs import Parameters, thawed
from .sharing import refuse_lost_writes
from .training import named_parameters

MOST_SIGNATURES = 4096  # input signatures remembered as checked; past that they are checked again


class Pipeline:
    """A processing function that runs without its source.

    Call it like the function that it was traced from, or `run` it on a dict. It may be called from several threads.

    Args:
        name: the function's name.
        graph: what it does.
        parameters: how it is called.
        facts: what is known about the sizes of its inputs.
        device: where ops of accelerators run; None leaves them where they were scripted.
        gpu_ops: ``"cpu"`` moves ops of accelerators to the CPU.
        source: the mapped file, kept so that other loads of it share its weights.
        grad: whether results keep their gradients, to train the pipeline further.
    """

    def __init__(
        self,
        name: str,
        graph: Graph,
        parameters: Parameters,
        facts: Facts,
        *,
        device: Device | None = None,
        gpu_ops: str = "gpu",
        source: Any = None,
        grad: bool = False,
    ) -> None:
        self.source, self.grad = source, grad
        self.name, self.graph, self.parameters, self.facts = name, graph, parameters, facts
        self._device, self._gpu_ops = device, gpu_ops
        self._places = place_all(graph, device, present(), gpu_ops)
        if not self._home.is_cpu:
            refuse_lost_writes(graph, _may_write)
        self.lock = threading.RLock()
        self._entry: Callable[[Mapping[str, Any]], Any] | None = None

    # -- running ---------------------------------------------------------------------------------------------

    def run(self, feed: Mapping[str, Any]) -> Any:
        """Runs the pipeline on named inputs.

        Args:
            feed: for each name of `input_names` a tensor, a numpy array or a DLPack object (both without a copy on
                the CPU), a number or strings, in the containers that the function was traced with.

        Returns:
            What the function returns, in the same containers, without gradients.

        Raises:
            SignatureError: an input is missing, unknown, or of another dtype, rank, size or structure.
            GuardError: the recording does not hold for these inputs.
            NodeError: an operator failed; the message names the user's line.
            NonContiguousOutputError: an op's output is not contiguous.

        Example:
            >>> import torch, tracepack
            >>> mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
            >>> mod.run({"x": torch.ones(2)})
            tensor([2., 2.])
        """
        entry = self._entry
        if entry is None:
            entry = self._entry = make_entry(self)
        return entry(feed)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the pipeline with the function's own calling convention; see `run`."""
        return self.run(self.parameters.bind(args, kwargs))

    def run_slowly(self, feed: Mapping[str, Any], seen: set[Any]) -> Any:
        """A run that converts and checks everything, and remembers the signature of the inputs as good."""
        flat = self.parameters.flatten(thawed(feed) if self._writes else feed)
        self._check(flat)
        function = self.plan.checked
        flat = [_home(value, device) for value, device in zip(flat, self.plan.homes, strict=True)]
        key = _signature_key(flat)
        fast = key is not None and key in seen
        result = self.execute(self.plan.fast if fast else function, flat)
        if key is not None and not fast:
            if len(seen) >= MOST_SIGNATURES:
                seen.clear()
            seen.add(key)
        return result

    def execute(self, function: Callable[..., Any], flat: Sequence[Any]) -> Any:
        """Runs a generated function, without gradients unless the pipeline trains, its errors explained."""
        with torch.enable_grad() if self.grad else torch.no_grad():
            try:
                return function(*flat)
            except Exception as error:
                self.fail(error, function)

    def weights(self) -> dict[str, torch.Tensor]:
        """The parameters of a pipeline loaded with `grad=True`, by the name of the op and its own: what to train.

        Example:
            >>> import torch, tracepack, io
            >>> op, file = tracepack.script(torch.nn.Linear(4, 2), name="head"), io.BytesIO()
            >>> tracepack.trace(lambda x: op(x), torch.rand(3, 4)).save(file)
            >>> mod = tracepack.load(file.getvalue(), grad=True)
            >>> optimizer = torch.optim.SGD(mod.weights().values(), 0.1)
            >>> mod(torch.rand(3, 4)).square().mean().backward()
            >>> optimizer.step()
            >>> sorted(mod.weights())
            ['head.bias', 'head.weight']
        """
        return named_parameters(self.graph) if self.grad else {}

    # -- state -----------------------------------------------------------------------------------------------

    @cached_property
    def stateful(self) -> bool:
        """Whether a run changes what later runs give: a buffer that a model writes to, a counter, a generator."""
        return is_stateful(self.graph)

    def state(self) -> dict[str, Any]:
        """Copies of all that runs change, by the name of the op and its buffer; empty for most pipelines.

        Example:
            >>> import torch, tracepack
            >>> class Counter(torch.nn.Module):
            ...     def __init__(self):
            ...         super().__init__()
            ...         self.register_buffer("runs", torch.zeros((), dtype=torch.long))
            ...     def forward(self, x):
            ...         self.runs += 1
            ...         return x * self.runs
            >>> op = tracepack.script(Counter())
            >>> mod = tracepack.trace(lambda x: op(x), torch.ones(2))
            >>> mod(torch.ones(2)), mod(torch.ones(2)), mod.state()
            (tensor([1., 1.]), tensor([2., 2.]), {'Counter.runs': tensor(2)})
            >>> mod.reset()
            >>> mod(torch.ones(2))
            tensor([1., 1.])
        """
        with self.lock:
            return self._bound().read(self.graph)

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Sets all that runs change to what `state` gave, from this pipeline or another of the same file.

        Raises:
            SignatureError: a name is missing or unknown, or a tensor has another dtype or shape.
        """
        with self.lock:
            self._bound().write(self.graph, state)

    def reset(self) -> None:
        """Goes back to the state that is saved with the pipeline, before its first run."""
        with self.lock:
            self._bound().reset()

    def session(self) -> Pipeline:
        """The same pipeline with a state of its own, in its initial state, over the same weights.

        Runs of one pipeline with state happen one after the other, also when several threads call it; a session for
        each stream of data keeps the streams apart.
        """
        options: dict[str, Any] = {"device": self._device, "gpu_ops": self._gpu_ops, "source": self.source}
        return Pipeline(self.name, self.graph, self.parameters, self.facts, grad=self.grad, **options)

    def _bound(self) -> State:
        """The state, with everything in it: generated functions bind what they use when they are made."""
        _ = self.plan.checked
        return self.plan.state

    def seed(self, number: int) -> None:
        """Seeds the generators that the pipeline keeps from run to run: the first with `number`, the next one more.

        They belong to this pipeline alone; a loaded one starts where they stood when the function was traced.
        """
        for offset, constant in enumerate(_generators(self.graph)):
            self.plan.constant(constant).copy_(seeded_state(number + offset))

    @staticmethod
    def fail(error: Exception, function: Callable[..., Any]) -> None:
        """Raises the error that a user should see for one inside a generated function."""
        explained = explain(error, function)
        if explained is error:
            raise error
        raise explained from (None if isinstance(error, TracepackError) else error)

    @cached_property
    def _check(self) -> Callable[[Sequence[Any]], None]:
        return tensor_check(
            f"pipeline {self.name!r}", self.parameters.names, self.parameters.types, self.facts, pins(self.graph)
        )

    @cached_property
    def _writes(self) -> bool:
        """Whether anything writes in place, so that it may write into an input."""
        return any(map(_may_write, walk(self.graph)))

    @cached_property
    def plan(self) -> Plan:
        """The graph compiled for this placement; `plan.source` shows what runs."""
        return Plan(self.graph, self._place, self._home, grad=self.grad)

    def _place(self, body: Body) -> Device:
        return self._places[id(body)]

    @property
    def _home(self) -> Device:
        """Where torch code runs that no tensor places: with the accelerator's ops, if there are any."""
        return next((device for device in self._places.values() if not device.is_cpu), CPU)

    # -- looking ---------------------------------------------------------------------------------------------

    @property
    def input_names(self) -> list[str]:
        """The keys of `run`'s dict."""
        return [parameter.name for parameter in self.parameters.items]

    @property
    def signature(self) -> str:
        """Inputs and outputs with dtypes and sizes: an integer is fixed, a letter is free, equal letters are equal."""
        inputs = ", ".join(f"{n}: {t}" for n, t in zip(self.parameters.names, self.parameters.types, strict=True))
        text = f"({inputs}) -> {types_text(self.graph.output)}"
        asked = dict.fromkeys([*self.facts.guards, *conditions(self.graph, self.parameters.names)])
        return text + (f" where {guards_text(list(asked))}" if asked else "")

    @property
    def placement(self) -> dict[str, str]:
        """The device on which each op runs."""
        found: dict[str, str] = {}
        for body in bodies(self.graph):
            count = sum(known == body.name or known.startswith(f"{body.name}#") for known in found)
            found[f"{body.name}#{count + 1}" if count else body.name] = str(self._places[id(body)])
        return found

    def __repr__(self) -> str:
        return f"<Pipeline {self.name!r} {self.signature}>"

    # -- saving ----------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str] | Any, *, examples: Sequence[Mapping[str, Any]] = ()) -> None:
        """Writes the pipeline with all that it needs into one file, whole or not at all.

        Saving the same pipeline twice gives the same bytes.

        Args:
            path: the file, by custom ``*.tpk``, or a binary file object.
            examples: feed dicts; their inputs and the outputs that they give now are stored as golden examples.

        Raises:
            ArchiveError: the file cannot be written; one that was there before stays as it was.

        Example:
            >>> import torch, tracepack, tempfile, os
            >>> mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
            >>> path = os.path.join(tempfile.mkdtemp(), "double.tpk")
            >>> mod.save(path, examples=[{"x": torch.ones(3)}])
            >>> tracepack.load(path).run({"x": torch.ones(2)})
            tensor([2., 2.])
        """
        from .store import save

        save(self, path, examples)


def _generators(graph: Graph) -> list[Constant]:
    """The states of the generators that a graph keeps."""
    made = [node for node in walk(graph) if isinstance(node.target, Operator) and node.target.name == "py.generator"]
    return [node.args[0] for node in made if node.args[1]]


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


def _home(value: Any, device: Device) -> Any:
    if isinstance(value, torch.Tensor) and str(value.device) != str(device):
        return value.to(str(device))
    return value


def _signature_key(flat: Sequence[Any]) -> Any:
    """What the checked facts can depend on: shapes, strides and containers; None where a scalar takes part."""
    if not all(isinstance(value, torch.Tensor) for value in flat):
        return None
    return tuple((value.shape, value.stride()) for value in flat)
