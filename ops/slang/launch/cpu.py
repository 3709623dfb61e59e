"""Runs one specialization on real tensors; the plan for a combination of sizes is made once and remembered.

Kernels see contiguous memory only. A tensor that is contiguous is passed as it is, broadcast or not; any other is
copied first.

A tensor that a function writes starts as a copy of what the user passed, and so does the gradient that comes in for
it: a store clears the gradient of its element, and the rest is the gradient of the old content.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import torch

from ..binding.layout import contiguous_strides, layout_of
from ..binding.shapes import check_strided, output_shapes
from ..compile.codegen import Repair, Variant
from ..compile.elements import slots_with_gradients
from ..compile.program import Program
from ..language.errors import SlangArgumentError, SlangCompileError, SlangIndexError
from ..language.loop_texts import ROUNDS, rounds_by_sizes
from ..language.specialization import Specialization
from .call_plan import Backward, Entry, Plan
from .fakes import on_another_device
from .gradient_check import Ways, is_suspect, repair_for, repairs

Words = list[Any]
CPU = torch.device("cpu")
_new = torch.empty_strided  # 0.4 us less than torch.empty
_KEPT = 4096
"""The number of combinations of sizes that are remembered before the table is cleared."""
THREADED_AFTER = 200e-6
"""Seconds from which a function of whole tensors is split over threads: its work per call is known from runs only."""


class Launcher:
    """Runs a specialization of a program on the CPU.

    Args:
        program: the program of the source.
        spec: the function with its argument kinds.
        device: the device of the tensors.
        repair: the way to compile its backward kernels; None finds it by a check.
    """

    def __init__(
        self, program: Program, spec: Specialization, device: torch.device = CPU, repair: Repair | None = None
    ) -> None:
        self._program, self._spec, self._device = program, spec, device
        suspect = is_suspect(program.source)
        self._repair: Repair = repair if repair is not None else repairs(program.source)[0] if suspect else ""
        self._is_trial = repair is not None
        self._plans: dict[tuple[Any, ...], Plan] = {}
        self._tensor_slots = tuple(i for i, slot in enumerate(spec.slots) if not slot.is_value)
        self._lock = threading.Lock()
        self._checked = repair is not None or not spec.is_pointwise or not suspect
        # Calls that may read what others write must run one after the other.
        self._ordered = any(slot.type.access == "rw" for slot in spec.slots)

    _pointer: Callable[[torch.Tensor], Any] = staticmethod(torch.Tensor.data_ptr)
    """Converts a tensor to the argument of an entry."""

    def plan(self, arguments: Sequence[Any]) -> Plan:
        """The plan for these arguments, which is remembered for their sizes."""
        try:
            key = tuple([(arguments[i].shape, arguments[i].dtype, arguments[i].device) for i in self._tensor_slots])
        except RuntimeError:  # a nested tensor has no shape
            check_strided(self._spec, arguments)
            raise
        found = self._plans.get(key)
        if found is None:
            found = self._make_plan(arguments)
            with self._lock:
                if len(self._plans) >= _KEPT:
                    self._plans.clear()
                self._plans[key] = found
        return found

    def _make_plan(self, arguments: Sequence[Any]) -> Plan:
        self._check_devices(arguments)
        layout = layout_of(self._spec, arguments)
        shapes = output_shapes(self._spec, layout.batch, arguments)
        outputs = tuple(
            (shape, contiguous_strides(shape), out.type.dtype, out.slot if out.type.kind == "view" else -1)
            for shape, out in zip(shapes, self._spec.outputs, strict=True)
        )
        table = torch.tensor(layout.table, dtype=torch.int64, device=self._device)
        entry = self._entry(Variant(layout.modes, rank=layout.rank))
        return Plan(layout, prod(layout.batch), outputs, table, self._pointer(table), entry)

    def _check_devices(self, arguments: Sequence[Any]) -> None:
        for index in self._tensor_slots:
            if arguments[index].device != self._device:
                raise on_another_device(self._spec, index, arguments[index].device, self._device)

    def _entry(self, variant: Variant) -> Entry:
        return self._program.entry(self._spec, variant)

    def _words(self, plan: Plan, arguments: Sequence[Any], keep: list[torch.Tensor]) -> Words:
        """The number or address for each slot; copies that were needed are added to `keep`."""
        words: Words = []
        for argument, mode in zip(arguments, plan.layout.modes, strict=True):
            if mode == "v":
                words.append(argument)
            elif argument.layout is torch.strided and argument.is_contiguous() and not argument.is_neg():
                words.append(self._pointer(argument))
            else:
                check_strided(self._spec, arguments)
                copy = argument.contiguous().resolve_neg()
                keep.append(copy)
                words.append(self._pointer(copy))
        return words

    def forward(self, arguments: Sequence[Any]) -> list[torch.Tensor]:
        """Runs the function.

        Args:
            arguments: for each slot a number, or a tensor of the dtype that the Slang type has.

        Returns:
            One new contiguous tensor for each output.

        Raises:
            SlangArgumentError: the tensors are not all on one device.
            SlangDtypeError: a tensor has the wrong dtype.
            SlangShapeError: sizes do not fit.
        """
        plan = self.plan(arguments)
        outputs = [
            _new(shape, strides, dtype=dtype, device=self._device) if slot < 0 else _copy(arguments[slot])
            for shape, strides, dtype, slot in plan.outputs
        ]
        if plan.total:
            keep: list[torch.Tensor] = []
            words = self._words(plan, arguments, keep)
            words += [self._pointer(output) for output in outputs]
            threads = self._threads(plan, None)
            if threads == 1:
                self._run(plan, plan.entry, None, words)
            else:
                plan.entry.split(plan.total, plan.dims, [words] * threads)
        return outputs

    def _threads(self, plan: Plan, direction: tuple[int, ...] | None) -> int:
        """How many threads to use, forward or for one of the backward kernels; a pointwise entry sees to that."""
        pays = not self._ordered and plan.seconds.get(direction, 0.0) > THREADED_AFTER
        return min(torch.get_num_threads(), plan.total) if pays else 1

    def _run(self, plan: Plan, entry: Entry, direction: tuple[int, ...] | None, words: Words) -> None:
        """Runs on one thread, and keeps the time of the first run where sizes do not tell the work."""
        if self._spec.is_pointwise or direction in plan.seconds:
            entry(plan.total, plan.dims, words)
            return
        start = time.perf_counter()
        entry(plan.total, plan.dims, words)
        plan.seconds[direction] = time.perf_counter() - start

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
        plan = self.plan(arguments)
        backward = plan.backwards.get(needs)
        if backward is None:
            if plan.total:
                self._check(plan, arguments)
            backward = plan.backwards[needs] = self._make_backward(plan, needs, self._fewest_rounds(plan))
        try:
            return self._differentiate(plan, backward, arguments, gradients, needs)
        except SlangIndexError as error:
            if not error.in_array or not 0 < backward.rounds < ROUNDS:
                raise
        backward = plan.backwards[needs] = self._make_backward(plan, needs, ROUNDS)
        return self._differentiate(plan, backward, arguments, gradients, needs)

    def check_backward(self, arguments: Sequence[Any], gradients: Sequence[torch.Tensor], needs: Sequence[int]) -> None:
        """Refuses what no autograd gives to `backward`, whose kernel reads tensors by address.

        Raises:
            SlangArgumentError: the gradients are not those of the outputs, or a slot of `needs` has none.
        """
        plan, spec = self.plan(arguments), self._spec
        lost = [index for index in needs if index not in spec.differentiable_slots]
        if lost:
            raise SlangArgumentError(
                "an argument has no gradient", where=str(spec.function), got=lost[0], expected=spec.differentiable_slots
            )
        kinds = [plan.outputs[index] for index in spec.differentiable_outputs]
        expected = [f"{dtype} {tuple(shape)} on {self._device}" for shape, _, dtype, _ in kinds]
        got = [f"{g.dtype} {tuple(g.shape)} on {g.device}" for g in gradients]
        got = [
            f"{each}, {g.layout}" if g.layout is not torch.strided else each
            for each, g in zip(got, gradients, strict=True)
        ]
        if got != expected:
            raise SlangArgumentError(
                "the gradients are not those of the outputs", where=str(spec.function), got=got, expected=expected
            )

    def _fewest_rounds(self, plan: Plan) -> int:
        """The first limit to try for loops that have none: a loop over a tensor has as many rounds as its sizes say."""
        if not self._program.source.limits_loops:
            return 0
        sizes = plan.layout.table[: sum(slot.type.rank for slot in self._spec.slots)]
        return rounds_by_sizes(sizes) if sizes else ROUNDS

    def _differentiate(
        self,
        plan: Plan,
        backward: Backward,
        arguments: Sequence[Any],
        gradients: Sequence[torch.Tensor | None],
        needs: tuple[int, ...],
    ) -> list[torch.Tensor]:
        incoming = self._incoming(plan, gradients)
        results = self._results(plan, backward, incoming, arguments)
        if plan.total:
            keep = [_copy(arguments[slot]) for *_, slot in plan.outputs if slot >= 0]
            after = [self._pointer(tensor) for tensor in (*keep, *incoming)]
            words = self._words(plan, arguments, keep) + after
            self._run_backward(plan, backward, needs, words, results)
        return [_summed(results[index], arguments[index].shape) for index in needs]

    def _make_backward(self, plan: Plan, needs: tuple[int, ...], rounds: int) -> Backward:
        layout, slots = plan.layout, slots_with_gradients(self._spec, needs)
        shared = [index for index in slots if self._spec.slots[index].is_view and layout.modes[index] != "f"]
        variant = Variant(layout.modes, needs, rank=layout.rank, repair=self._repair, rounds=rounds)
        try:
            entry = self._entry(variant)
        except SlangCompileError:
            if self._is_trial or not self._repair:
                raise
            self._repair = ""
            entry = self._entry(replace(variant, repair=""))
        return Backward(entry, slots, sorted({*needs, *slots}), shared, rounds)

    def _run_backward(
        self, plan: Plan, backward: Backward, needs: tuple[int, ...], words: Words, results: dict[int, torch.Tensor]
    ) -> None:
        entry, slots, shared = backward.entry, backward.slots, backward.shared
        threads = self._threads(plan, needs)
        if threads == 1 or (shared and torch.are_deterministic_algorithms_enabled()):
            self._run(plan, entry, needs, words + [self._pointer(results[index]) for index in slots])
            return
        # All calls add to the gradient of a shared tensor, so each thread has its own to add to.
        each = [results, *({**results, **_zeros(results, shared)} for _ in range(threads - 1))]
        entry.split(plan.total, plan.dims, [words + [self._pointer(own[i]) for i in slots] for own in each])
        for own in each[1:]:
            for index in shared:
                results[index].add_(own[index])

    def _check(self, plan: Plan, arguments: Sequence[Any]) -> None:
        """Finds the way to compile the backward kernels, once, see `gradient_check.py`."""
        if not self._checked:
            with torch.no_grad():
                source, spec = self._program.source, self._spec
                self._repair = repair_for(source, spec, arguments, plan.layout.batch, self._ways)
            self._checked = True

    def _ways(self, repair: Repair) -> Ways:
        """The functions that run forward and backward on CPU tensors, with the backward kernel compiled in one way."""
        trial = Launcher(self._program, self._spec, CPU, repair)
        return trial.forward, trial.backward

    def _incoming(self, plan: Plan, gradients: Sequence[torch.Tensor | None]) -> list[torch.Tensor]:
        """The outputs' gradients, contiguous, with zeros where there is none; copies for views, see the module."""
        incoming = []
        for index, gradient in zip(self._spec.differentiable_outputs, gradients, strict=True):
            shape, _, dtype, slot = plan.outputs[index]
            if gradient is None or gradient._is_zerotensor():  # zeros without memory
                incoming.append(torch.zeros(shape, dtype=dtype, device=self._device))
            elif slot >= 0:
                incoming.append(_copy(gradient))
            else:
                incoming.append(gradient.contiguous().resolve_neg())
        return incoming

    def _results(
        self, plan: Plan, backward: Backward, incoming: Sequence[torch.Tensor], arguments: Sequence[Any]
    ) -> dict[int, torch.Tensor]:
        """New tensors for the gradients of slots."""
        left = {
            plan.outputs[number][3]: gradient
            for number, gradient in zip(self._spec.differentiable_outputs, incoming, strict=True)
        }
        results = {}
        for index in backward.results:
            type_ = self._spec.slots[index].type
            if type_.access == "w" or (type_.access == "rw" and not self._program.source.reads_gradients):
                results[index] = left[index]
            elif type_.kind == "view":
                results[index] = torch.zeros(arguments[index].shape, dtype=type_.dtype, device=self._device)
            else:  # the kernel writes each element once
                make = torch.empty if plan.total else torch.zeros
                shape = (*plan.layout.batch, *type_.shape)
                results[index] = make(shape, dtype=type_.dtype, device=self._device)
        return results


def _copy(tensor: torch.Tensor) -> torch.Tensor:
    """A contiguous copy, for writes."""
    return tensor.detach().clone(memory_format=torch.contiguous_format)


def _zeros(results: dict[int, torch.Tensor], indices: Sequence[int]) -> dict[int, torch.Tensor]:
    return {index: torch.zeros_like(results[index]) for index in indices}


def _summed(gradient: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    """A gradient of the size of its argument, summed over the axes that were broadcast."""
    return gradient if gradient.shape == shape else gradient.sum_to_size(shape)
