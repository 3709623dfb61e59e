"""Runs one specialization on real tensors: sizes are worked out once for each combination of them, then remembered.

Kernels see contiguous memory only. A tensor that is already contiguous and of the call's full size, or of a single
element, is passed as it is; any other is expanded and copied first.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import prod
from typing import Any, Protocol

import torch

from .check import check_gradients, is_suspect
from .codegen import Variant
from .program import Program
from .shapes import batches_of, output_shapes
from .specialization import Specialization

Words = list[Any]
CPU = torch.device("cpu")
_new = torch.empty_strided  # 0.4 us less than torch.empty
_KEPT = 4096
"""Combinations of sizes that are remembered before the table starts anew."""


class Entry(Protocol):
    """What a target gives: runs `total` elements over numbers and addresses."""

    def __call__(self, total: int, dims: int, words: Sequence[Any]) -> None:
        """Runs the kernel."""


@dataclass(frozen=True)
class Plan:
    """What a call does for one combination of sizes.

    Attributes:
        batch: the sizes of the loop.
        total: their product.
        modes: for each slot `v`, `c` or `f`, see `codegen.Variant`.
        targets: for each slot the size to expand to, or None to pass it as it is.
        outputs: size, strides and dtype of each output, and the slot whose content it starts from, or -1.
        sizes: of the views, one after another.
        dims: the address of `sizes`.
        entry: the forward kernel.
    """

    batch: tuple[int, ...]
    total: int
    modes: str
    targets: tuple[tuple[int, ...] | None, ...]
    outputs: tuple[tuple[tuple[int, ...], tuple[int, ...], torch.dtype, int], ...]
    sizes: torch.Tensor
    dims: int
    entry: Entry
    backwards: dict[tuple[int, ...], Entry] = field(default_factory=dict)


class Launcher:
    """Runs a specialization of a program on the CPU.

    Args:
        program: holds the source.
        spec: the function with its argument kinds.
    """

    def __init__(self, program: Program, spec: Specialization) -> None:
        self._program, self._spec = program, spec
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._tensor_slots = tuple(i for i, slot in enumerate(spec.slots) if not slot.is_value)
        self._lock = threading.Lock()
        self._device = CPU
        self._checked = not spec.is_pointwise or not is_suspect(program.source)

    _pointer: Callable[[torch.Tensor], Any] = staticmethod(torch.Tensor.data_ptr)
    """What an entry is given for a tensor."""

    def plan(self, arguments: Sequence[Any]) -> Plan:
        """What to do for these arguments, from memory if their sizes were met before."""
        key = tuple([(arguments[i].shape, arguments[i].dtype) for i in self._tensor_slots])
        found = self._plans.get(key)
        if found is None:
            found = self._make_plan(arguments)
            with self._lock:
                if len(self._plans) >= _KEPT:
                    self._plans.clear()
                self._plans[key] = found
        return found

    def _make_plan(self, arguments: Sequence[Any]) -> Plan:
        spec = self._spec
        batch, batches = batches_of(spec, arguments)
        total = prod(batch)
        modes, targets = "", []
        for index, slot in enumerate(spec.slots):
            own = batches.get(index)
            single = own is not None and prod(own) == 1 and (total != 1 or slot.is_view or not own)
            modes += "v" if own is None else "c" if single else "f"
            targets.append(
                None if own is None or single or own == batch else self._expanded(batch, arguments[index], own)
            )
        sizes: list[int] = []
        for index, slot in enumerate(spec.slots):
            if slot.is_view:
                own = batches[index]
                sizes += arguments[index].shape[len(own) : len(own) + slot.type.rank]
        shapes = output_shapes(spec, batch, arguments)
        outputs = tuple(
            (shape, _strides(shape), out.type.dtype, out.slot if out.type.kind == "view" else -1)
            for shape, out in zip(shapes, spec.outputs, strict=True)
        )
        held = torch.tensor(sizes, dtype=torch.int64, device=self._device)
        entry = self._entry(Variant(modes))
        return Plan(batch, total, modes, tuple(targets), outputs, held, held.data_ptr(), entry)

    @staticmethod
    def _expanded(batch: tuple[int, ...], tensor: torch.Tensor, own: tuple[int, ...]) -> tuple[int, ...]:
        return (*batch, *tensor.shape[len(own) :])

    def _entry(self, variant: Variant) -> Entry:
        return self._program.entry(self._spec, variant)

    def _words(self, plan: Plan, arguments: Sequence[Any], keep: list[torch.Tensor]) -> Words:
        """The number or address for each slot; copies that were needed are added to `keep`."""
        words: Words = []
        for argument, mode, target in zip(arguments, plan.modes, plan.targets, strict=True):
            if mode == "v":
                words.append(argument)
            elif target is None and argument.is_contiguous():
                words.append(self._pointer(argument))
            else:
                copy = (argument if target is None else argument.expand(target)).contiguous()
                keep.append(copy)
                words.append(self._pointer(copy))
        return words

    def forward(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Runs the function.

        Args:
            arguments: for each slot a number, or a CPU tensor of the dtype that the Slang type has.

        Returns:
            One new contiguous tensor for each output.

        Raises:
            SlangDtypeError: a tensor has the wrong dtype.
            SlangShapeError: sizes do not fit.
        """
        plan = self.plan(arguments)
        outputs = [
            _new(shape, strides, dtype=dtype, device=self._device)
            if slot < 0
            else self._old_content(arguments[slot], shape)
            for shape, strides, dtype, slot in plan.outputs
        ]
        if plan.total:
            keep: list[torch.Tensor] = []
            words = self._words(plan, arguments, keep)
            words += [self._pointer(output) for output in outputs]
            plan.entry(plan.total, plan.dims, words)
        return outputs

    @staticmethod
    def _old_content(tensor: torch.Tensor, shape: tuple[int, ...]) -> torch.Tensor:
        """A copy for the function to write into: it may leave elements as they were."""
        return tensor.detach().expand(shape).clone(memory_format=torch.contiguous_format)

    def backward(
        self, arguments: Sequence[Any], gradients: Sequence[torch.Tensor | None], needs: tuple[int, ...]
    ) -> list[torch.Tensor]:
        """The gradients of some slots.

        Args:
            arguments: as `forward` took them.
            gradients: for each differentiable output; None counts as zero.
            needs: the slots whose gradients are wanted.

        Returns:
            One tensor for each of `needs`, of its argument's size.
        """
        spec, plan = self._spec, self.plan(arguments)
        wanted = [i for i in spec.differentiable_slots if i in needs or spec.slots[i].is_view]
        results = {index: self._gradient_buffer(plan, index, arguments[index]) for index in wanted}
        if plan.total:
            keep = list(self._whole(plan, gradients))
            words = [self._pointer(tensor) for tensor in keep]
            views = [self._old_content(arguments[o.slot], arguments[o.slot].shape) for o in self._written_views()]
            keep += views
            arguments_words = self._words(plan, arguments, keep)
            words = arguments_words + [self._pointer(view) for view in views] + words
            words += [self._pointer(results[index]) for index in wanted]
            entry = plan.backwards.get(needs)
            if entry is None:
                entry = plan.backwards[needs] = self._entry(Variant(plan.modes, needs))
                self._check(plan, arguments)
            entry(plan.total, plan.dims, words)
        return [_summed(results[index], arguments[index].shape) for index in needs]

    def _check(self, plan: Plan, arguments: Sequence[Any]) -> None:
        """Once for a specialization, see `check.py`."""
        if not self._checked and self._device.type == "cpu":
            self._checked = True
            with torch.no_grad():
                check_gradients(self._program.source, self._spec, arguments, plan.batch, (self.forward, self.backward))

    def _written_views(self) -> list[Any]:
        return [output for output in self._spec.outputs if output.type.kind == "view"]

    def _whole(self, plan: Plan, gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        """The outputs' gradients, contiguous, with zeros where nothing came back."""
        whole = []
        for index, gradient in zip(self._spec.differentiable_outputs, gradients, strict=True):
            shape, _, dtype, _ = plan.outputs[index]
            whole.append(
                torch.zeros(shape, dtype=dtype, device=self._device) if gradient is None else gradient.contiguous()
            )
        return whole

    def _gradient_buffer(self, plan: Plan, index: int, argument: torch.Tensor) -> torch.Tensor:
        """Views add to their gradients, and so start from zero; other slots write each element once."""
        slot = self._spec.slots[index]
        if slot.is_view:
            return torch.zeros(plan.targets[index] or argument.shape, dtype=slot.type.dtype, device=self._device)
        shape = (*plan.batch, *slot.type.shape)
        make = torch.empty if plan.total else torch.zeros
        return make(shape, dtype=slot.type.dtype, device=self._device)


def _summed(gradient: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """A gradient brought back to the size of its argument, over the sizes that were broadcast."""
    return gradient if gradient.shape == shape else gradient.sum_to_size(shape)


def _strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Of a contiguous tensor."""
    strides, step = [], 1
    for size in reversed(shape):
        strides.append(step)
        step *= max(size, 1)
    return tuple(reversed(strides))
