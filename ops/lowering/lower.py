"""Lowering: from a module (or any callable on tensors) and example inputs to the Body of an op.

The body is compared with the model on the examples before it is used: it must give the same results and draw no random
numbers. torch.export does not reason about sizes of 0 and 1, so the body is tried at these, too; where its results
differ from those of the model, a guard excludes the size.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..graph.errors import GuardError, SignatureError, TracepackError
from ..graph.graph import Body
from ..graph.types import TensorType
from ..runtime.checks import input_check
from ..runtime.plan import Plan
from ..runtime.primitives.random import draws_undone
from .agreement.flat_results import same_leaves
from .agreement.library_ways import require_plain_way
from .agreement.small_ways import with_small_ways
from .autocast import AutocastQuestions
from .call import Call, Leaves, returned, separate
from .convert.body import convert
from .convert.layout_guards import guards_of
from .convert.nodes import Shared
from .errors import fixes_ones, undecided
from .export import Flat, program_at, programs
from .gradients import Questions, with_plain_inputs, without_gradients, without_hooks
from .layouts import LayoutQuestions
from .mutation import EmptyBuffers
from .patches.layers.nested_rows import NestedRows
from .patches.plain.askers import Heard
from .patches.plain.lending import LentQuestions
from .patches.plain.ran import RanFunctions
from .user_model.buffers import KeptData, Live
from .user_model.held_weights import HeldWeights
from .user_model.isolate import Attribute, GuardedState, KeptModel, scratch, without_scratch
from .user_model.quantized import with_plain_layers, with_plain_tensors
from .user_model.settling import FirstCall, Settled, other_inputs
from .user_model.twin import twin
from .user_model.writes import FixedTensors
from .validate import prove, size_trial

SWITCHES = 2  # the switches of the grad mode that `Live` makes in one call


@dataclass(frozen=True)
class Lowered:
    """A body, and the containers of its output for a call outside of a recording."""

    body: Body
    out_spec: Any

    def fits(self, tensors: Leaves) -> bool:
        """Whether the body takes these inputs: their types and sizes, and how they lie in memory where that matters."""
        try:
            input_check(self.body)(*tensors)
            if self._layouts is not None:
                self._layouts.run(tensors)
        except (SignatureError, GuardError):
            return False
        return True

    @cached_property
    def _layouts(self) -> Plan | None:
        guards = guards_of(self.body.graph)
        return None if guards is None else Plan(guards)


class _NoTwin(Exception):
    """The model's twin fails in its first call, perhaps because the model is known somewhere by its identity."""


def lower(model: Any, call: Call, tensors: Leaves, **options: Any) -> Lowered:
    """Lowers a module or a callable for one call structure: on a twin of the module, where there is one.

    Args:
        model: the model, which is not changed.
        call: the structure of the example call.
        tensors: the example's tensors.
        options: those of `lower_itself`.

    Raises:
        LoweringError: torch.export refuses it, or the body gives other results than the model.
    """
    other = with_plain_tensors(with_plain_layers(model, twin(model), name=options["name"]))
    if other is not None:
        with suppress(_NoTwin), KeptData(model):
            return lower_itself(other, call, tensors, is_twin=True, **options)
    with KeptModel(model), KeptData(model):
        return lower_itself(model, call, tensors, **options)


def lower_itself(
    model: Any,
    call: Call,
    tensors: Leaves,
    *,
    name: str,
    device: str,
    contiguous: bool,
    shared: Shared | None = None,
    training: bool = False,
    is_twin: bool = False,
) -> Lowered:
    """Lowers the module that is given.

    Args:
        model: the model, into which torch.export puts stand-ins meanwhile.
        call: the structure of the example call.
        tensors: the example's tensors.
        name: the op's name.
        device: the device that the op is scripted for.
        contiguous: whether non-contiguous outputs are made contiguous instead of refused.
        shared: the constants of the op's other bodies; see `convert`.
        training: whether the model keeps its own mode, and is not put into evaluation mode.
        is_twin: whether the model is a twin of the user's.

    Raises:
        _NoTwin: the twin fails in its first call.
        LoweringError: torch.export refuses it, or the body gives other results than the model.
    """
    flat, first = Flat(model, call, training), FirstCall(model)
    error: TracepackError | None = None
    empty, autocast, ran = EmptyBuffers(model), AutocastQuestions(), RanFunctions()
    constants: Shared = {} if shared is None else shared
    fixed, questions, layouts = FixedTensors(model, name), Questions(model, expected=SWITCHES), LayoutQuestions()

    def once() -> Any:
        return Live(model, training)(*call.rebuild(separate(tensors))[:2])

    def again() -> None:
        with FirstCall(model):
            once()

    with draws_undone(again):
        try:
            with first, fixed, questions, layouts, autocast, ran:
                once()
            fixed.confirm(again)
        except Exception:  # an error of the model is raised again by the export, which explains it
            if is_twin:
                raise _NoTwin from None
        fixed.refuse_writes()
        if first.sets_flags and (found := _after_first(
            _answers(call, tensors, model, training), model,
            partial(
                lower_itself, model, call, tensors, name=name, device=device, contiguous=contiguous, shared=shared,
                training=training, is_twin=is_twin,
            ),
        )):  # fmt: skip
            return found
        layouts.refuse(name)
        empty.refuse_first_call(once, name)
        notes = scratch(model, once)
        flat.lent, flat.heard.compares_bools = LentQuestions(ran.askers), ran.compares_bools

        def reference(grad: bool = False) -> _Reference:
            return _Reference(call, Live(model, training, grad), name, notes)

        write = partial(_body_of, call, len(tensors), questions.held, name=name, device=device, contiguous=contiguous)

        with GuardedState(model, name, notes):
            for program in programs(flat, tensors, model, name, reference()):
                try:
                    body = write(program, shared=constants)
                    empty.refuse_state(constants, name)
                    if not _takes(body, tensors):
                        error = error or fixes_ones(name)
                        continue
                    with NestedRows() as nested:
                        asks = [each or _has_script(model) for each in (layouts.strides, flat.heard.chooses_by_sizes)]
                        body, spec = prove(body, tensors, reference, *asks)
                    nested.refuse(name)
                    body = with_small_ways(
                        body, tensors, flat.heard, partial(_body_at, flat, model, write),
                        size_trial(body, tensors, reference),
                    )  # fmt: skip
                    require_plain_way(body, tensors, reference, flat.heard)
                    if questions.asks:
                        body = with_plain_inputs(body, reference, tensors)
                    if questions.decides:
                        body = without_gradients(body, model, reference(grad=True), tensors, questions.custom)
                    return Lowered(autocast.guarded(without_hooks(body, model, questions.held)), spec)
                except GuardError as caught:  # in another state than the first the model takes another branch
                    error = error or undecided(f"op {name!r}, {caught.where}")
                except TracepackError as caught:
                    error = error or caught
    assert error is not None
    raise error


def _answers(call: Call, tensors: Leaves, model: Any, training: bool) -> list[Callable[[], Any]]:
    """Calls of a model with the example and with other inputs; each tells its results and whether it wrote a buffer."""

    def answer(inputs: Leaves) -> tuple[Any, bool]:
        live = Live(model, training)
        args, kwargs, objects = call.rebuild(separate(inputs))
        return pytree.tree_leaves(returned(live(args, kwargs), objects)), live.changed

    return [partial(answer, inputs) for inputs in other_inputs(tensors)]


def _after_first(answers: list[Callable[[], Any]], model: Any, whole: Callable[[], Lowered]) -> Lowered | None:
    """What the model is lowered to as its first call leaves it; None where that keeps more than flags and hooks."""
    with Settled(model, answers, same_leaves) as later:
        return whole() if later.holds else None


def _body_of(
    call: Call, count: int, weights: HeldWeights, program: Any, shared: Shared | None = None, **options: Any
) -> Body:
    """The body that an export gives, for a call with so many inputs."""
    sources = [f"L['flat'][{index}]" for index in range(count)]
    numbers = [index for index, kind in enumerate(call.kinds) if kind is None]
    body = convert(program, inputs=call.names, sources=sources, shared=shared, numbers=numbers, **options)
    weights.tie(body.graph)
    return body


def _body_at(flat: Flat, model: Any, write: Callable[..., Body], others: Leaves, heard: Heard) -> Body | None:
    """What an export for other inputs gives; None where that fails."""
    try:
        return write(program_at(flat, others, model, heard))
    except Exception:  # torch.export raises errors of many kinds
        return None


def _has_script(model: Any) -> bool:
    """Whether a part of a model is TorchScript, which asks its questions unheard."""
    parts = model.modules() if isinstance(model, torch.nn.Module) else (model,)
    return any(isinstance(part, torch.jit.ScriptModule | torch.jit.ScriptFunction) for part in parts)


class _Reference:
    """The model as a function from flat tensors to flat results; it keeps its state from call to call."""

    def __init__(self, call: Call, live: Live, name: str, notes: frozenset[Attribute]) -> None:
        self.call, self.live, self.name, self.notes = call, live, name, notes

    def __call__(self, *tensors: Any) -> Any:
        args, kwargs, objects = self.call.rebuild(tensors)
        with GuardedState(self.live.model, self.name, self.notes):  # some models remember the sizes of earlier calls
            without_scratch(self.live.model, self.notes)  # an export leaves its stand-ins there
            return returned(self.live(args, kwargs), objects)

    @property
    def changed(self) -> bool:
        """Whether the calls so far changed the model's state."""
        return self.live.changed


def _takes(body: Body, tensors: Leaves) -> bool:
    """Whether the fixed sizes of a body are those of the example: torch may fix a 2 that was tried in place of a 1."""
    return all(
        isinstance(size, str) or size == found
        for value, tensor in zip(body.graph.inputs, tensors, strict=True)
        if isinstance(value.type, TensorType)
        for size, found in zip(value.type.shape, tensor.shape, strict=True)
    )
