"""Pipeline: a processing function as data, ready to run, save and inspect; what `trace` and `load` return."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import torch

from ..ops.graph.device import Device
from ..ops.graph.errors import SignatureError
from ..ops.graph.graph import Constant, Graph, Operator
from ..ops.graph.program import Program
from ..ops.graph.traverse import named_bodies, walk
from ..ops.runtime.interrupts.verbs import undisturbed
from ..ops.runtime.placement import place_all, present
from ..ops.runtime.user_code import user_stacklevel
from .opening import Origin, carried, opened_again
from .optimizing.optimizable import Optimizable
from .running.handed import not_one_dict


class Pipeline(Optimizable):
    """A processing function that runs without its source.

    Call it like the function that it was traced from, or `run` it on a dict. It may be called from several threads.

    Args:
        program: its graph and how it is called.
        device: where ops of accelerators run; None leaves them where they were scripted.
        gpu_ops: ``"cpu"`` moves ops of accelerators to the CPU.
        cpu_ops: ``"gpu"`` moves ops of the CPU to the accelerator.
        convert: whether inputs that are no tensors, or of another dtype, are converted; see `load`.
        grad: whether results keep their gradients, to train the pipeline further.
        budget: what one run may spend, ``{"seconds": 2.0, "bytes": 1 << 30}`` or one of them; see `load`.
    """

    def __init__(
        self,
        program: Program,
        *,
        device: Device | None = None,
        gpu_ops: str = "gpu",
        cpu_ops: str = "cpu",
        convert: bool = False,
        grad: bool = False,
        budget: Mapping[str, float] | None = None,
    ) -> None:
        if grad:
            from .training import require_gradients

            require_gradients(program.graph)
        self.program, self.grad = program, grad
        self.origin: Origin | None = None  # set where a file is opened
        self._held: Any = None  # the arrays of the function, where it was traced in this process
        self._options: dict[str, Any] = {
            "device": device, "gpu_ops": gpu_ops, "cpu_ops": cpu_ops, "convert": convert, "grad": grad,
            "budget": budget,
        }  # fmt: skip
        self._places = place_all(program.graph, device, present(), gpu_ops, cpu_ops)
        plain = grad or budget is not None  # gradients and budgets are the flat function's
        self._engaged = []
        if program.engines and not plain:
            from .optimizing.engaging import engage  # as above: what few pipelines need is imported by these

            self._engaged = engage(program, self._places.values())
        self._runner = self._new_runner(None)
        if convert and (written := self._runner.written):
            names = ", ".join(repr(program.parameters.names[index]) for index in sorted(written))
            warnings.warn(
                f"pipeline {program.name!r}: convert=True converts all but {names}: a run may write into the caller's",
                stacklevel=user_stacklevel(),
            )

    # -- running ---------------------------------------------------------------------------------------------

    def run(self, /, feed: Mapping[str, Any] | None = None, *more: Any, **named: Any) -> Any:
        """Runs the pipeline on named inputs.

        Args:
            feed: for each name of `input_names` a tensor, a numpy array or a DLPack object (both without a copy on
                the CPU, but for arrays with negative strides), a number or strings, in the containers that the
                function was traced with.
            *more: nothing; it is there for an error that shows the form.
            **named: nothing, too.

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
        if feed is None or more or named:
            given = [*(type(each).__name__ for each in (feed, *more) if each is not None), *(f"{n}=…" for n in named)]
            raise not_one_dict(self.program.parameters.items, f"run({', '.join(given)})")
        return self._runner.run(feed)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Runs the pipeline with the function's own calling convention; see `run`."""
        return self._runner.run(self._runner.binding.bind(args, kwargs))

    def weights(self) -> dict[str, torch.Tensor]:
        """What to train of a pipeline loaded with `grad=True`, by the name of the op and its own.

        These are its parameters, and other tensors that required gradients.

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
        if not self.grad:
            return {}
        from .training import named_parameters

        return named_parameters(self.graph)

    # -- state -----------------------------------------------------------------------------------------------

    @property
    def stateful(self) -> bool:
        """Whether a run changes what later runs give: a buffer that a model writes to, a counter, a generator."""
        return self._runner.stateful

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
        with self._runner.lock:
            return self._runner.state().read(self.graph)

    def load_state(self, state: Mapping[str, Any]) -> None:
        """Restores what `state` returned, of this pipeline or another one of the same file.

        Raises:
            SignatureError: it is no dict, a name is missing or unknown, or a tensor has another dtype or shape.
        """
        if not isinstance(state, Mapping):
            raise SignatureError(
                "no state of a pipeline", got=type(state).__name__, expected="the dict that state() gave"
            )
        with self._runner.lock:
            self._runner.state().write(self.graph, state)

    def reset(self) -> None:
        """Restores the state that the archive holds, as it was before the first run."""
        with self._runner.lock:
            self._runner.state().reset()

    def session(self) -> Pipeline:
        """The same pipeline with a state of its own, in its initial state, over the same weights.

        Runs of one pipeline with state happen one after the other, also when several threads call it; a session for
        each stream of data keeps the streams apart.
        """
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)  # the weights and the engines are the same
        made._runner = made._new_runner(None)
        return made

    def seed(self, number: int) -> None:
        """Seeds the generators that the pipeline keeps from run to run: the first with `number`, the next one more.

        The generators belong to this pipeline alone; a loaded one starts with the states that they had at the trace,
        and so does a pipeline whose function calls this one.
        """
        from ..ops.runtime.primitives.random import seeded_state

        for offset, constant in enumerate(_generators(self.graph)):
            self._runner.plan.constant(constant).copy_(seeded_state(number + offset))

    # -- looking ---------------------------------------------------------------------------------------------

    @property
    def placement(self) -> dict[str, str]:
        """The device on which each op runs."""
        return {name: str(self._places[id(body)]) for name, body in named_bodies(self.graph).items()}

    def __reduce__(self) -> Any:
        """Pickles as the path and the hash of the file that it was loaded from, or as an archive's bytes.

        Options of `load`, trust among them, and the state go with it. `copy.deepcopy` gives a pipeline of the same
        file, whose weights are mapped once, with a state of its own.

        Example:
            >>> import pickle, torch, tracepack
            >>> mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
            >>> pickle.loads(pickle.dumps(mod)).run({"x": torch.ones(2)})
            tensor([2., 2.])
        """
        return opened_again, (type(self), *carried(self))

    def __repr__(self) -> str:
        return f"<Pipeline {self.name!r} {self.signature}>"

    # -- saving ----------------------------------------------------------------------------------------------

    @undisturbed
    def save(
        self,
        path: str | os.PathLike[str] | Any,
        *,
        examples: Sequence[Mapping[str, Any]] | None = None,
        tolerance: float | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """Writes the pipeline with all that it needs into one file; a failed save leaves no file, or the old one.

        Saving the same pipeline twice gives the same bytes. One that trains (`load(..., grad=True)`) is written with
        the running statistics, and other buffers that its models changed, as they are now; any other one begins with
        those of the trace, or of its file.

        Args:
            path: the file, by custom ``*.tpk``, or a binary file object.
            examples: feed dicts; their inputs and the outputs that they give now are stored as golden examples. By
                default those of the file that the pipeline was loaded from, with the outputs that they give now.
            tolerance: by how much a replay may differ from them, relative and absolute; by default 1e-10 for an
                output that is computed from float64 alone, 1e-4 where float32 is on the way to it, and 2e-2 where
                half precision or less is. Integers are exact by default, booleans and strings always.
            metadata: what is to be known about the file: text, numbers, booleans, None, and lists and dicts of them.
                `metadata` gives it back, and `tracepack inspect` shows it. By default that of the pipeline.

        Raises:
            ArchiveError: the file cannot be written; one that was there before stays as it was.
            SignatureError: the examples do not fit, the tolerance is no number of at least 0 or has no examples, or the
                metadata holds something else than plain values.

        Example:
            >>> import torch, tracepack, tempfile, os
            >>> mod = tracepack.trace(lambda x: x * 2, torch.ones(3))
            >>> path = os.path.join(tempfile.mkdtemp(), "double.tpk")
            >>> mod.save(path, examples=[{"x": torch.ones(3)}])
            >>> tracepack.load(path).run({"x": torch.ones(2)})
            tensor([2., 2.])
        """
        if self._held is not None:
            self._held.warn()
        if self._runner.plan.moved():  # or the file would hold other weights than gave its golden examples
            self._runner = self._new_runner(self._runner.state())
        if not (self.grad and self.stateful):
            self._save(path, examples, tolerance, metadata)
            return
        from .training import trained_state

        with self._runner.lock, trained_state(self.graph, self._runner.state(), _generators(self.graph)):
            self._save(path, examples, tolerance, metadata)

    def _save(self, path: Any, examples: Any, tolerance: float | None, metadata: Mapping[str, Any] | None) -> None:
        from ..serialization.golden import kept_examples
        from ..serialization.program import save_program
        from ..serialization.user_metadata import check_metadata
        from .comparing.golden import golden_terms, record_examples

        kept, kept_tolerance = kept_examples(self.program.source) if examples is None else ([], None)
        recorded = list(record_examples(self, kept if examples is None else examples, self._plain))
        if tolerance is not None and not recorded:
            raise SignatureError(
                "a tolerance needs golden examples", got=repr(tolerance), fix="Pass examples=[...] with it."
            )
        program = self.program if metadata is None else replace(self.program, metadata=check_metadata(metadata))
        tolerance = kept_tolerance if tolerance is None else tolerance
        save_program(
            path, program, recorded, golden_terms(self.graph, self.placement.values(), tolerance) if recorded else None
        )


def _generators(graph: Graph) -> list[Constant]:
    """The states of the generators that a graph keeps, once each: a pipeline may be called several times."""
    made = [node for node in walk(graph) if isinstance(node.target, Operator) and node.target.name == "py.generator"]
    return [*{id(node.args[0]): node.args[0] for node in made if node.args[1]}.values()]
