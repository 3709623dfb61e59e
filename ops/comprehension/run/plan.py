"""The plan of a layer for given input shapes: forward, forward that keeps tensors for the backward, and backward.

The backward is the named definition where there is one, else derived. Either way only what the wanted gradients
depend on is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

import torch

from ..expr.dtypes import stored
from ..expr.errors import DerivativeError
from ..expr.ir import Definition, Program, accesses
from ..program.backward import Backward, derive, needed_nests
from ..program.prefixes import as_scans, in_blocks
from ..program.quotients import by_quotients
from ..program.specialise import specialise
from ..schedule.options import Options, OptionsPair
from .output_gradients import Taken, check_types, reorderable
from .reorder import Reorder, on_probes
from .select import Artifacts, Run, make_runner
from .tensor_guards import are_plain, guards


@dataclass
class Training:
    """A forward that keeps what its backward needs, for one set of wanted inputs."""

    forward: Run
    backward: Run
    saved: tuple[int, ...]
    """For each tensor that the backward reads: an input's place, or past the inputs an output's."""
    seeds: tuple[int, ...]
    """Outputs whose gradients the backward reads."""
    gradients: tuple[int, ...]
    """Inputs that the backward's results belong to."""
    outputs: int
    integers: tuple[int, ...]
    """Outputs without gradients."""
    kept: tuple[int, ...]
    """Inputs that the gradients depend on, besides the seeds: what higher derivatives are taken by."""
    higher: Callable[[frozenset[int]], Training]
    """The gradients as something to differentiate in turn, as a function of the kept inputs and the seeds."""
    taken: Taken | None = None
    """What a reorder_function must give."""
    zeros: tuple[tuple[int, torch.dtype], ...] = ()
    """Of the seeds those of integers, which are zero, and the types that the backward has for them."""

    plain: Callable[..., bool] | None = None
    """Whether gradients are as those that were read before: contiguous, of their types, each an output's."""

    def reads(self, gradients: Sequence[torch.Tensor]) -> bool:
        """Whether the backward can read these gradients as they are, in the order of the outputs."""
        if self.plain is not None:
            return self.plain(*gradients)
        if self.taken is None and not self.zeros and self.seeds == tuple(range(self.outputs)) and are_plain(gradients):
            self.plain = guards(gradients)
        return False

    def read(self, gradients: Sequence[torch.Tensor]) -> list[torch.Tensor]:
        """The seeds among the outputs' gradients."""
        seeds = [gradients[i] for i in self.seeds]
        for place, dtype in self.zeros:
            seeds[place] = seeds[place].to(dtype)
        return seeds


class Plan:
    """Everything that is compiled for one signature and one pair of options, each part when first needed."""

    def __init__(
        self,
        definition: Definition,
        backward: Definition | None,
        shapes: list[tuple[int, ...]],
        device: torch.device,
        clamp: bool,
        options: OptionsPair,
        artifacts: Artifacts | None,
        order: Sequence[int] | None = None,
    ) -> None:
        self.program = specialise(definition, shapes)
        self.options = options
        self.seeds = list(range(len(self.program.outputs))) if order is None else list(order)
        """Outputs whose gradients the named backward takes, in its order."""
        self._definition, self._named, self._shapes = definition, backward, shapes
        self._device, self._clamp, self._artifacts = device, clamp, artifacts
        self._forward: Run | None = None
        self._training: dict[tuple[frozenset[int], tuple[tuple[int, ...], ...] | None], Training] = {}

    def _runner(self, program: Program, options: Options) -> Run:
        return make_runner(program, options, self._device, self._clamp, self._artifacts)

    def _training_runner(self, program: Program, options: Options) -> Run:
        """Like `_runner`; a schedule that was tuned for other outputs or gradients gives way to the analysis."""
        return self._runner(program, options if options.fits(program) else Options())

    @property
    def forward(self) -> Run:
        """The forward for inference."""
        if self._forward is None:
            self._forward = self._runner(self.program, self.options.forward)
        return self._forward

    def training(self, wanted: frozenset[int], reorder: Reorder | None) -> Training:
        """Forward and backward for the gradients of the inputs at the wanted places."""
        shapes = None if reorder is None else self._reordered(reorder)
        key = (wanted, shapes)
        if key not in self._training:
            self._training[key] = self._derived(wanted) if self._named is None else self._from_named(wanted, shapes)
        return self._training[key]

    def _reordered(self, reorder: Reorder) -> tuple[tuple[int, ...], ...]:
        """The sizes of what a function gives, which another one may give otherwise."""
        p, backward = self.program, reorderable(self._named, self._definition.name)
        kinds = [p.tensors[o] for o in p.outputs]
        own = torch.device("cpu") if self._device.type == "vulkan" else self._device
        given, device = on_probes(reorder, [(k.shape, stored(k.dtype)) for k in kinds], own)
        return tuple(tuple(t.shape) for t in self._taken(backward).check(given, device))

    def _taken(self, backward: Definition, shapes: tuple[tuple[int, ...], ...] | None = None) -> Taken:
        return Taken(backward, backward.params[len(self._definition.params) :], shapes)

    def derived(self, wanted: frozenset[int]) -> tuple[Program, Backward]:
        """The forward program that keeps what the derived backward reads, and the backward."""
        return with_backward(self.program, wanted, self._clamp)

    def _derived(self, wanted: frozenset[int]) -> Training:
        return self._training_of(self.program, wanted, self.options.forward)

    def _training_of(self, program: Program, wanted: frozenset[int], options: Options) -> Training:
        """A program with its derived backward."""
        forward, backward = with_backward(program, wanted, self._clamp)
        order = [*forward.inputs, *forward.outputs]
        gradient = composed(*with_backward(program, wanted, self._clamp, again=True))
        return Training(
            forward=self._training_runner(forward, options),
            backward=self._training_runner(backward.program, self.options.backward),
            saved=tuple(order.index(s) for s in backward.saved),
            seeds=tuple(program.outputs.index(s) for s in backward.seeds),
            gradients=tuple(forward.inputs.index(g) for g in backward.gradients),
            outputs=len(program.outputs),
            integers=integers(program),
            kept=tuple(forward.inputs.index(i) for i in gradient.inputs if i in forward.inputs),
            higher=cache(lambda again: self._training_of(gradient, again, self.options.backward)),
        )

    def named(self, wanted: frozenset[int], seeds: Sequence[tuple[int, ...]]) -> Program:
        """The named backward's program, without what only unwanted gradients need.

        Raises:
            DerivativeError: it returns another number of gradients than the forward has inputs, or other shapes.
        """
        assert self._named is not None
        d, inputs = self._named, self._definition.params
        if len(d.params) != len(inputs) + len(seeds):
            raise DerivativeError(
                f"the backward '{d.name}' takes the forward's {len(inputs)} inputs and {len(seeds)} output gradients",
                at=d.place,
                got=f"{len(d.params)} parameters",
                fix="Give a reorder_function that returns the gradients it takes.",
            )
        if len(d.returns) != len(inputs):
            raise DerivativeError(
                f"the backward '{d.name}' returns {len(d.returns)} gradients, but there are {len(inputs)} inputs",
                at=d.place,
            )
        program = specialise(d, [*self._shapes, *seeds])
        for place, name in enumerate(program.outputs):
            if program.tensors[name].shape != tuple(self._shapes[place]):
                raise DerivativeError(
                    f"the gradient '{name}' does not have the shape of '{inputs[place].name}'",
                    at=d.place,
                    got=program.tensors[name].shape,
                    expected=tuple(self._shapes[place]),
                )
        kept = tuple(program.outputs[i] for i in sorted(wanted))
        return replace(program, outputs=kept, nests=needed_nests(list(program.nests), kept))

    def _from_named(self, wanted: frozenset[int], reordered: tuple[tuple[int, ...], ...] | None) -> Training:
        assert self._named is not None
        p, backward, inputs = self.program, self._named, self._definition.params
        kinds = [p.tensors[p.outputs[i]] for i in self.seeds]
        program = self.named(wanted, [k.shape for k in kinds] if reordered is None else reordered)
        own = [stored(param.dtype) for param in backward.params[len(inputs) :]]
        dtypes = own if reordered is not None else [stored(k.dtype) for k in kinds]
        check_types(backward, inputs, dtypes)
        return Training(
            forward=self.forward,
            backward=self._training_runner(program, self.options.backward),
            saved=tuple(range(len(p.inputs))),
            seeds=tuple(self.seeds if reordered is None else range(len(p.outputs))),
            gradients=tuple(sorted(wanted)),
            outputs=len(p.outputs),
            integers=integers(p),
            kept=tuple(range(len(p.inputs))),
            higher=cache(lambda again: self._training_of(program, again, self.options.backward)),
            taken=None if reordered is None else self._taken(backward, reordered),
            zeros=tuple((i, to) for i, (to, dtype) in enumerate(zip(own, dtypes, strict=True)) if to != dtype),
        )


def integers(program: Program) -> tuple[int, ...]:
    """The places of the outputs that are no floats."""
    return tuple(i for i, name in enumerate(program.outputs) if not program.tensors[name].dtype.is_float)


def with_backward(
    program: Program, wanted: frozenset[int], clamp: bool, again: bool = False
) -> tuple[Program, Backward]:
    """A program that keeps what its derived backward reads, and the backward.

    Running products and extremes have gradients of another form than a running total, so they are computed in blocks.
    """
    program = in_blocks(program, ("*", "max", "min"))
    backward = derive(program, frozenset(program.inputs[i] for i in wanted), clamp, again)
    backward = replace(backward, program=as_scans(backward.program))
    backward = backward if again else by_quotients(program, backward)
    extra = tuple(s for s in backward.saved if s not in program.inputs and s not in program.outputs)
    return replace(program, outputs=(*program.outputs, *extra)), backward


def composed(forward: Program, backward: Backward) -> Program:
    """The gradients as one program of the inputs that they depend on and the seeds."""
    b = backward.program
    nests = needed_nests([*forward.nests, *b.nests], b.outputs)
    read = {a.tensor for n in nests for e in (n.value, *n.index) for a in accesses(e)}
    seeds = b.inputs[len(backward.saved) :]
    inputs = (*(i for i in forward.inputs if i in read), *seeds)
    return Program(b.name, inputs, b.outputs, {**forward.tensors, **b.tensors}, nests)
