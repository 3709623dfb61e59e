"""Layers as operators of `torch.library`, so that torch.export, torch.compile and recorders see one node each.

Two operators belong to a layer: `tracepack::tc_<name>_<hash>` and, for autograd below a tracer, the same with
`_backward`, which runs the forward again for what the backward reads. Equal layers share their operators.
"""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import Any, NoReturn, Protocol

import torch

from .expr.dtypes import stored
from .expr.ir import Definition
from .program.specialise import specialise
from .run.autograd import no_second_derivative
from .run.plan import Plan

NAMESPACE = "tracepack"
_LIBRARY: Any = torch.library.Library(NAMESPACE, "FRAGMENT")  # type: ignore[no-untyped-call]  # torch leaves it untyped
_REGISTERED: dict[str, Operators] = {}


class Recordable(Protocol):
    """What a layer has that its operators use."""

    name: str
    definition: Definition

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
        self._results = len(layer.definition.returns)
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
        return found if self._results == 1 else list(found)

    # -- registration ------------------------------------------------------------------------------------

    def _define(self) -> None:
        args = ", ".join(f"Tensor a{i}" for i in range(self._count))
        results = "Tensor" if self._results == 1 else f"({', '.join(['Tensor'] * self._results)})"
        _LIBRARY.define(f"{self._base}({args}) -> {results}")
        _LIBRARY.define(f"{self._base}_backward(Tensor[] inputs, Tensor[] gradients, int[] wanted) -> Tensor[]")
        _LIBRARY.impl(self._base, self._forward, "CompositeExplicitAutograd")
        _LIBRARY.impl(f"{self._base}_backward", self._backward, "CompositeExplicitAutograd")
        torch.library.register_fake(self.name, self._fake, lib=_LIBRARY)
        torch.library.register_fake(f"{self.name}_backward", self._fake_backward, lib=_LIBRARY)
        torch.library.register_autograd(self.name, self._autograd, setup_context=self._save, lib=_LIBRARY)
        torch.library.register_autograd(f"{self.name}_backward", self._final, lib=_LIBRARY)

    def _forward(self, *inputs: torch.Tensor) -> Any:
        tensors = [t.contiguous().resolve_neg() for t in self.layer.check_inputs(inputs)]
        found = self.layer.plan(tensors).forward(tensors)
        return found[0] if self._results == 1 else tuple(found)

    def _backward(
        self, inputs: list[torch.Tensor], gradients: list[torch.Tensor], wanted: list[int]
    ) -> list[torch.Tensor]:
        tensors = [t.contiguous().resolve_neg() for t in inputs]
        training = self.layer.plan(tensors).training(frozenset(wanted), None)
        everything = [*tensors, *training.forward(tensors)]
        seeds = [gradients[i].contiguous().resolve_neg() for i in training.seeds]
        found = training.backward([*(everything[i] for i in training.saved), *seeds])
        by_place = dict(zip(training.gradients, found, strict=True))
        return [by_place[i] if i in by_place else torch.zeros_like(tensors[i]) for i in wanted]

    def _fake(self, *inputs: torch.Tensor) -> Any:
        program = specialise(self.layer.definition, [tuple(t.shape) for t in inputs])
        kinds = [program.tensors[o] for o in program.outputs]
        device = inputs[0].device if inputs else torch.device("cpu")
        found = [torch.empty(k.shape, dtype=stored(k.dtype), device=device) for k in kinds]
        return found[0] if self._results == 1 else tuple(found)

    @staticmethod
    def _fake_backward(
        inputs: list[torch.Tensor], gradients: list[torch.Tensor], wanted: list[int]
    ) -> list[torch.Tensor]:
        return [torch.empty(inputs[i].shape, dtype=inputs[i].dtype, device=inputs[i].device) for i in wanted]

    @staticmethod
    def _save(ctx: Any, inputs: tuple[torch.Tensor, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs)

    def _final(self, ctx: Any, *gradients: torch.Tensor) -> NoReturn:
        raise no_second_derivative(self.layer.name)

    def _autograd(self, ctx: Any, *gradients: torch.Tensor) -> Any:
        inputs = ctx.saved_tensors
        wanted = [i for i, needed in enumerate(ctx.needs_input_grad) if needed]
        operator = getattr(torch.ops.tracepack, f"{self._base}_backward")
        found = operator(list(inputs), list(gradients), wanted)
        results: list[torch.Tensor | None] = [None] * len(inputs)
        for place, gradient in zip(wanted, found, strict=True):
            results[place] = gradient
        return tuple(results)
