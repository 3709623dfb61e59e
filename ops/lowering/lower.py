"""Lowering: from a module (or any callable on tensors) and example inputs to the Body of an op.

The body is proved on the examples before anyone relies on it: it must give what the model gives, draw no random
numbers, and its answers at sizes 0 and 1, which torch.export does not reason about, are tried and either found
equal to the model's or excluded by a guard.
"""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ..graph.errors import GuardError, TracepackError
from ..graph.graph import Body, Constant
from ..graph.types import TensorType
from .call import Call, Leaves, returned, separate
from .convert.body import convert
from .errors import fixes_ones, undecided
from .export import Flat, programs
from .gradients import Questions, without_gradients
from .isolate import Attribute, GuardedState, KeptAttributes, Live, scratch
from .validate import prove
from .writes import FixedTensors

SWITCHES = 2  # of the grad mode, by `Live` itself in one call


@dataclass(frozen=True)
class Lowered:
    """A body with what a live call needs besides: how to rebuild the output's containers."""

    body: Body
    out_spec: Any


def lower(
    model: Any,
    call: Call,
    tensors: Leaves,
    *,
    name: str,
    device: str,
    contiguous: bool,
    shared: dict[int, Constant] | None = None,
    training: bool = False,
) -> Lowered:
    """Lowers a module or a callable for one call structure.

    Args:
        model: what to lower; left as it was.
        call: the structure of the example call.
        tensors: the example's tensors.
        name: the op's name.
        device: the device that the op is scripted for.
        contiguous: whether outputs are made contiguous instead of refused.
        shared: the constants of the op's other bodies; see `convert`.
        training: whether the model keeps its own mode, instead of evaluation mode.

    Raises:
        LoweringError: torch.export cannot take it, or the result differs from the model.
    """
    flat = Flat(model, call, training)
    error: TracepackError | None = None
    sources = [f"L['flat'][{index}]" for index in range(len(tensors))]
    numbers_at = [index for index, kind in enumerate(call.kinds) if kind is None]
    fixed, questions = FixedTensors(model, name), Questions(expected=SWITCHES)

    def once() -> None:
        Live(model, training)(*call.rebuild(separate(tensors))[:2])

    with suppress(Exception), KeptAttributes(model), fixed, questions:  # what it refuses comes up where it is exported
        once()
    fixed.refuse_writes()
    notes = scratch(model, once)
    with GuardedState(model, name, notes):
        for program in programs(flat, tensors, model, name, _Reference(call, Live(model, training), name, notes)):
            try:
                body = convert(program, name, device, call.names, sources, contiguous, shared, numbers_at)
                if not _takes(body, tensors):
                    error = error or fixes_ones(name)
                    continue
                body, spec = prove(body, tensors, lambda: _Reference(call, Live(model, training), name, notes))
                if questions.decides:
                    live = _Reference(call, Live(model, training, grad=True), name, notes)
                    body = without_gradients(body, model, live, tensors)
                return Lowered(body, spec)
            except GuardError as caught:  # in another state than the first it goes another way
                error = error or undecided(f"op {name!r}, {caught.where}")
            except TracepackError as caught:
                error = error or caught
    assert error is not None
    raise error


class _Reference:
    """The model as a function from flat tensors to all that it returns; it keeps its state from call to call."""

    def __init__(self, call: Call, live: Live, name: str, notes: frozenset[Attribute]) -> None:
        self.call, self.live, self.name, self.notes = call, live, name, notes

    def __call__(self, *tensors: Any) -> Any:
        args, kwargs, objects = self.call.rebuild(tensors)
        with GuardedState(self.live.model, self.name, self.notes):  # some remember the sizes that they met
            return returned(self.live(args, kwargs), objects)

    @property
    def changed(self) -> bool:
        """Whether the calls so far changed the model's state."""
        return self.live.changed


def _takes(body: Body, tensors: Leaves) -> bool:
    """Whether the sizes that a body has fixed are the example's: torch may fix the 2 that was tried for a 1."""
    return all(
        isinstance(size, str) or size == found
        for value, tensor in zip(body.graph.inputs, tensors, strict=True)
        if isinstance(value.type, TensorType)
        for size, found in zip(value.type.shape, tensor.shape, strict=True)
    )
