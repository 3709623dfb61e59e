"""Layers as operators of `torch.library`, so that torch.export, torch.compile and recorders see one node each.

Two operators belong to a layer: `tracepack::tc_<name>_<hash>` and, for autograd below a tracer, the same with
`_backward`, which runs the forward again for what the backward reads. Equal layers share their operators.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import torch

from ..kernels.torch_library import NAMESPACE, Gradient, define, have_tangents, in_forward_mode
from .expr.dtypes import stored
from .expr.ir import Definition
from .program.specialise import specialise
from .run.autograd import no_second_derivative, refuse_batched
from .run.inputs import refuse_several_devices
from .run.output_gradients import check_gradients, check_wanted
from .run.plan import Plan
from .run.tensor_guards import readable
from .run.watched import no_forward_mode

_REGISTERED: dict[str, Operators] = {}


class Recordable(Protocol):
    """The parts of a layer that its operators use."""

    name: str
    definition: Definition
    as_list: bool

    def check_inputs(self, inputs: Sequence[Any]) -> list[torch.Tensor]:
        """The inputs as tensors of the definition's types."""

    def plan(self, tensors: Sequence[torch.Tensor]) -> Plan:
        """What runs for these inputs."""


class Operators:
    """The operators of one layer."""

    def __init__(self, layer: Recordable, base: str) -> None:
        self.name = f"{NAMESPACE}::{base}"
        self._layer, self._base = weakref.ref(layer), base
        self._count = len(layer.definition.params)
        self._results, self._as_list = len(layer.definition.returns), layer.as_list
        self._keep: Recordable | None = None
        if self.name not in _REGISTERED:
            self._define()
            _REGISTERED[self.name] = self
        registered = _REGISTERED[self.name]
        registered._keep, registered._layer = layer, self._layer  # the latest, with its options, serves recordings

    @property
    def layer(self) -> Recordable:
        """The layer, which its first registration keeps alive."""
        found = self._layer()
        assert found is not None
        return found

    def call(self, inputs: Sequence[torch.Tensor]) -> Any:
        """Calls the operator; one output comes as a tensor, several as a list."""
        found = getattr(torch.ops.tracepack, self._base)(*inputs)
        return found if self._results == 1 and not self._as_list else list(found)

    # -- registration ------------------------------------------------------------------------------------

    def _define(self) -> None:
        args = ", ".join(f"Tensor a{i}" for i in range(self._count))
        results = "Tensor" if self._results == 1 else f"({', '.join(['Tensor'] * self._results)})"
        if self._as_list and self._results == 1:
            results = "Tensor[]"
        gradient = Gradient(self._autograd, self._save)
        define(self._base, f"({args}) -> {results}", self._forward, self._fake, gradient=gradient)
        schema = "(Tensor[] inputs, Tensor[] gradients, int[] wanted) -> Tensor[]"
        backward, fake = self._backward, self._fake_backward
        define(f"{self._base}_backward", schema, backward, fake, gradient=Gradient(self._final))

    def _forward(self, *inputs: torch.Tensor) -> Any:
        if have_tangents(inputs):
            raise no_forward_mode(self.layer.name)
        tensors = [readable(t) for t in self.layer.check_inputs(inputs)]
        found = self.layer.plan(tensors).forward(tensors)
        return self._shaped(found)

    def _shaped(self, found: list[torch.Tensor]) -> Any:
        """The results as the operator's schema has them."""
        if self._results > 1:
            return tuple(found)
        return list(found) if self._as_list else found[0]

    def _backward(
        self, inputs: list[torch.Tensor], gradients: list[torch.Tensor], wanted: list[int]
    ) -> list[torch.Tensor]:
        tensors = [readable(t) for t in self.layer.check_inputs(inputs)]
        check_wanted(wanted, self.layer.definition)
        plan = self.layer.plan(tensors)
        training = plan.training(frozenset(wanted), None)
        check_gradients(plan.program, gradients, training.seeds, self.layer.name)
        everything = [*tensors, *training.forward(tensors)]
        seeds = [readable(seed) for seed in training.read(gradients)]
        found = training.backward([*(everything[i] for i in training.saved), *seeds])
        by_place = dict(zip(training.gradients, found, strict=True))
        return [by_place[i] if i in by_place else torch.zeros_like(tensors[i]) for i in wanted]

    def _fake(self, *inputs: torch.Tensor) -> Any:
        if in_forward_mode():
            raise no_forward_mode(self.layer.name)
        refuse_several_devices(inputs, self.layer.name)
        program = specialise(self.layer.definition, [tuple(t.shape) for t in inputs])
        kinds = [program.tensors[o] for o in program.outputs]
        device = inputs[0].device if inputs else torch.device("cpu")
        return self._shaped([torch.empty(k.shape, dtype=stored(k.dtype), device=device) for k in kinds])

    def _fake_backward(
        self, inputs: list[torch.Tensor], gradients: list[torch.Tensor], wanted: list[int]
    ) -> list[torch.Tensor]:
        refuse_several_devices([*inputs, *gradients], self.layer.name)
        return [torch.empty(inputs[i].shape, dtype=inputs[i].dtype, device=inputs[i].device) for i in wanted]

    @staticmethod
    def _save(ctx: Any, inputs: tuple[torch.Tensor, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def _final(self, ctx: Any, *gradients: torch.Tensor) -> NoReturn:
        raise no_second_derivative(self.layer.name)

    def _autograd(self, ctx: Any, *gradients: torch.Tensor) -> Any:
        if self._as_list and self._results == 1:
            gradients = tuple(gradients[0])  # the schema has one list
        refuse_batched(gradients)
        inputs = ctx.saved_tensors
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
        operator = getattr(torch.ops.tracepack, f"{self._base}_backward")
        found = operator(list(inputs), list(gradients), wanted)
        results: list[torch.Tensor | None] = [None] * len(inputs)
        for place, gradient in zip(wanted, found, strict=True):
            results[place] = gradient
        return tuple(results)
