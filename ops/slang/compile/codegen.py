"""Writes the Slang entry points that run a user's function over torch's own memory.

An entry takes the range of elements to do, a table of sizes, and one number or one pointer for each slot and output;
the user's function is called once for each element. All tensors are contiguous, so element `i` of a `float3` tensor is
at `3 * i`; a slot of mode `c` has a single element, which is read once, before the loop. Where a tensor is broadcast
along some axes only, the range runs in rows: along a row such a tensor advances by one element (mode `r`) or stays
(mode `b`), and where its row starts is worked out once for each row. The backward entry calls `bwd_diff` of
`tracepack_call`, a function with the user's parameters in which everything that needs no gradient is `no_diff`;
gradients of single-element slots are written in full and summed by torch, whose sum is pairwise.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from ..language.specialization import Output, Slot, Specialization
from ..language.types import FunctionType, SlangType, split_name
from .elements import DIFF_VIEW, pointer_type, pointers_after_slots, read, value_type, view_type, write

Target = Literal["cpu", "gpu"]
Repair = Literal["", "inlined", "stripped", "stripped inlined"]
"""The change of the user's module before Slang differentiates it, see `launch/gradient_check.py`."""
FORWARD, BACKWARD = "tracepack_forward", "tracepack_backward"
GROUP = 256
"""Threads in a group on a GPU."""


@dataclass(frozen=True)
class Variant:
    """The form of one compiled entry.

    Attributes:
        modes: for each slot `v` (a number), `c` (one element), `f` (an element for each call), `r` or `b` (broadcast
            along some axes, of which the last is not, or is, one).
        needs: for the backward entry, the slots whose gradients are wanted; None makes the forward entry.
        target: `cpu` loops over a range, `gpu` does one element for each thread.
        rank: the number of axes by which rows are found; 0 where no slot needs them.
        repair: for the backward entry, how the user's module is changed.
        rounds: for the backward entry, the limit of loops that have none of their own; 0 where all have.
    """

    modes: str
    needs: tuple[int, ...] | None = None
    target: Target = "cpu"
    rank: int = 0
    repair: Repair = ""
    rounds: int = 0

    @property
    def entry(self) -> str:
        """The name of the entry point."""
        return FORWARD if self.needs is None else BACKWARD


def generate(spec: Specialization, variant: Variant) -> str:
    """The Slang text to append to the user's module."""
    return "\n".join(_Writer(spec, variant).lines()) + "\n"


def _invocation(function: FunctionType, arguments: list[str]) -> str:
    """The call of the user's function with some arguments; a method is called on the first of them."""
    if not function.is_method:
        return f"{function.name}({', '.join(arguments)})"
    this, *rest = arguments
    return f"{this}.{split_name(function.name)[1]}({', '.join(rest)})"


class _Writer:
    """Writes one entry, from the slots and outputs of a specialization."""

    def __init__(self, spec: Specialization, variant: Variant) -> None:
        self._spec, self._variant = spec, variant
        self._backward = variant.needs is not None
        self._needs = frozenset(variant.needs or ())

    def lines(self) -> Iterator[str]:
        yield from self._call()
        yield '[shader("compute")]'
        yield f"[numthreads({1 if self._variant.target == 'cpu' else GROUP}, 1, 1)]"
        yield f"void {self._variant.entry}({', '.join(self._uniforms())})"
        yield "{"
        yield from self._hoisted()
        yield from self._loop_of_threads() if self._variant.target == "gpu" else self._loop()
        yield "}"

    def _loop_of_threads(self) -> Iterator[str]:
        yield "uint64_t tp_i = tp_begin + uint64_t(tp_id.x);"
        yield "if (tp_i < tp_end) {"
        if self._variant.rank:
            yield from self._find_row("tp_i")
            yield "uint64_t tp_j = 0;"
            yield from self._hoisted_in_row()
        yield from self._body()
        yield "}"

    def _loop(self) -> Iterator[str]:
        if not self._variant.rank:
            yield "for (uint64_t tp_i = tp_begin; tp_i < tp_end; tp_i++) {"
            yield from self._body()
            yield "}"
            return
        yield "uint64_t tp_row = tp_begin;"
        yield "while (tp_row < tp_end) {"
        yield from self._find_row("tp_row")
        yield "uint64_t tp_count = min(tp_end - tp_row, tp_left);"
        yield from self._hoisted_in_row()
        yield "for (uint64_t tp_j = 0; tp_j < tp_count; tp_j++) {"
        yield "uint64_t tp_i = tp_row + tp_j;"
        yield from self._body()
        yield "}"
        yield "tp_row += tp_count;"
        yield "}"

    def _find_row(self, position: str) -> Iterator[str]:
        """Writes the start of each broadcast slot's row, `tp_b0`, and the number of elements left in it, `tp_left`.

        The table holds, after the sizes of the views, those of the axes, then for each such slot its step along each
        axis but the last.
        """
        axes = self._dims + self._variant.rank
        strided = [number for number, mode in enumerate(self._variant.modes) if mode in "rb"]
        last = f"uint64_t(tp_dims[{axes - 1}])"
        yield f"uint64_t tp_rest = {position} / {last};"
        yield f"uint64_t tp_along = {position} - tp_rest * {last};"
        yield f"uint64_t tp_left = {last} - tp_along;"
        yield "uint64_t tp_at;"
        for number in strided:
            yield f"uint64_t tp_b{number} = {'tp_along' if self._variant.modes[number] == 'r' else '0'};"
        for axis in reversed(range(self._variant.rank - 1)):
            size = f"uint64_t(tp_dims[{self._dims + axis}])"
            yield f"tp_at = tp_rest % {size};"
            yield f"tp_rest = tp_rest / {size};"
            for order, number in enumerate(strided):
                step = axes + order * (self._variant.rank - 1) + axis
                yield f"tp_b{number} += tp_at * uint64_t(tp_dims[{step}]);"

    @cached_property
    def _dims(self) -> int:
        """The number of sizes of views at the beginning of the table."""
        return sum(slot.type.rank for slot in self._spec.slots)

    def _uniforms(self) -> Iterator[str]:
        if self._variant.target == "gpu":
            yield "uint3 tp_id : SV_DispatchThreadID"
        yield "uniform uint64_t tp_begin"
        yield "uniform uint64_t tp_end"
        yield "uniform int64_t* tp_dims"
        for index, slot in enumerate(self._spec.slots):
            yield f"uniform {value_type(slot.type) if slot.is_value else pointer_type(slot.type) + '*'} tp_s{index}"
        for name, type_ in pointers_after_slots(self._spec, self._variant.needs):
            yield f"uniform {pointer_type(type_)}* {name}"

    # The trampoline: the user's function with `no_diff` wherever no gradient is wanted.
    def _call(self) -> Iterator[str]:
        function = self._spec.function
        differentiable = function.differentiable and self._backward
        parameters, arguments = [], []
        for index, parameter in enumerate(function.parameters):
            prefix = "" if self._flows(index) or not differentiable else "no_diff "
            direction = "" if parameter.direction == "in" else f"{parameter.direction} "
            parameters.append(f"{prefix}{direction}{self._parameter_type(index)} tp_a{index}")
            arguments.append(f"tp_a{index}")
        call = _invocation(function, arguments)
        if function.result.kind != "void":
            parameters.append(f"out {function.result.name} tp_result")
            call = f"tp_result = {call}"
        if differentiable:
            # Slang does not parse `float[5].Differential`, the gradient of an array type.
            yield "T.Differential tracepack_zero<T : IDifferentiable>() { return T.dzero(); }"
            yield "[Differentiable]"
        yield f"void tracepack_call({', '.join(parameters)})"
        yield f"{{ {call}; }}"

    def _flows(self, index: int) -> bool:
        """Whether the parameter takes part in the derivative as a value (views do so by themselves)."""
        parameter = self._spec.function.parameters[index]
        if parameter.type.kind == "view" or not parameter.differentiable:
            return False
        return parameter.direction != "in" or self._spec.kinds[index] == "tensor"

    def _parameter_type(self, index: int) -> str:
        type_ = self._spec.function.parameters[index].type
        return view_type(type_, self._backward) if type_.kind == "view" else type_.name

    # Before the loop: numbers, single elements, views.
    def _hoisted(self) -> Iterator[str]:
        for index, parameter in enumerate(self._spec.function.parameters):
            slots = self._slots_of(index)
            if parameter.type.kind == "view":
                yield from self._make_view(*slots[0])
            elif slots and self._stays(slots, "vc"):
                yield f"{parameter.type.name} tp_h{index};"
                yield from self._load(slots, f"tp_h{index}")

    def _hoisted_in_row(self) -> Iterator[str]:
        for index, parameter in enumerate(self._spec.function.parameters):
            slots = self._slots_of(index)
            if slots and parameter.type.kind != "view" and self._stays(slots, "vcb") and not self._stays(slots, "vc"):
                yield f"{parameter.type.name} tp_h{index};"
                yield from self._load(slots, f"tp_h{index}")

    def _stays(self, slots: list[tuple[int, Slot]], modes: str) -> bool:
        return all(self._variant.modes[number] in modes for number, _ in slots)

    def _slots_of(self, parameter: int) -> list[tuple[int, Slot]]:
        return [(number, slot) for number, slot in enumerate(self._spec.slots) if slot.parameter == parameter]

    def _load(self, slots: list[tuple[int, Slot]], name: str) -> Iterator[str]:
        for number, slot in slots:
            if slot.is_value:
                yield f"{name}{slot.path} = {slot.type.scalar}(tp_s{number});"
            else:
                yield from read(slot.type, f"{name}{slot.path}", f"tp_s{number}", self._position(number))

    def _position(self, number: int) -> str:
        """The index of a slot's element, or "" for the only one."""
        return {"c": "", "f": "tp_i", "r": f"(tp_b{number} + tp_j)", "b": f"tp_b{number}"}[self._variant.modes[number]]

    def _parts(self, number: int, slot: Slot) -> dict[str, str]:
        """The tensors inside a view, with the pointer that each gets: none for gradients in the forward entry."""
        output = next((i for i, each in enumerate(self._spec.outputs) if each.slot == number), -1)
        data = f"tp_s{number}" if output < 0 else f"tp_o{output}"
        if not view_type(slot.type, self._backward).startswith(tuple(DIFF_VIEW.values())):
            return {"": data}
        parts = {"._primal": data}
        if "r" in slot.type.access:
            parts["._grad_out"] = f"tp_ds{number}" if self._backward else ""
        if "w" in slot.type.access:
            parts["._grad_in"] = f"tp_g{output}" if self._backward else ""
        return parts

    def _make_view(self, number: int, slot: Slot) -> Iterator[str]:
        name = f"tp_v{slot.parameter}"
        yield f"{view_type(slot.type, self._backward)} {name};"
        for path, pointer in self._parts(number, slot).items():
            if pointer:
                yield f"{name}{path}._data = {pointer};"
            yield from self._set_sizes(slot, name + path)

    @staticmethod
    def _set_sizes(slot: Slot, view: str) -> Iterator[str]:
        stride = "1u"
        for axis in reversed(range(slot.type.rank)):
            size = f"uint(tp_dims[{slot.dims + axis}])"
            yield f"{view}._shape[{axis}] = {size};"
            yield f"{view}._strides[{axis}] = {stride};"
            stride = f"{stride} * {size}"
        yield f"{view}._offset = 0;"

    # The loop's body.
    def _body(self) -> Iterator[str]:
        for index, parameter in enumerate(self._spec.function.parameters):
            yield from self._prepare(index, parameter.type)
        if self._backward:
            yield from self._run_backward()
        else:
            yield from self._run_forward()

    def _prepare(self, index: int, type_: SlangType) -> Iterator[str]:
        slots = self._slots_of(index)
        if type_.kind == "view":
            yield from self._move_view(*slots[0])
            return
        yield f"{type_.name} tp_p{index};"
        if not slots:
            return
        if self._stays(slots, "vcb"):
            yield f"tp_p{index} = tp_h{index};"
        else:
            yield from self._load(slots, f"tp_p{index}")

    def _move_view(self, number: int, slot: Slot) -> Iterator[str]:
        """Points a view at its tensor for this call; by the pointer, since SlangPy's own offset has 32 bits."""
        position = self._position(number)
        if not position:
            return
        sizes = [f"uint64_t(tp_dims[{slot.dims + axis}])" for axis in range(slot.type.rank)]
        offset = " * ".join([position, *sizes])
        for path, pointer in self._parts(number, slot).items():
            if pointer:
                yield f"tp_v{slot.parameter}{path}._data = {pointer} + {offset};"

    def _run_forward(self) -> Iterator[str]:
        function = self._spec.function
        arguments = [
            f"tp_v{index}" if parameter.type.kind == "view" else f"tp_p{index}"
            for index, parameter in enumerate(function.parameters)
        ]
        if function.result.kind != "void":
            yield f"{function.result.name} tp_result;"
            arguments.append("tp_result")
        yield f"tracepack_call({', '.join(arguments)});"
        for index, output in enumerate(self._spec.outputs):
            if output.type.kind != "view":
                yield from write(output.type, self._output_name(output), f"tp_o{index}")

    @staticmethod
    def _output_name(output: Output) -> str:
        base = "tp_result" if output.parameter < 0 else f"tp_p{output.parameter}"
        return base + output.path

    def _run_backward(self) -> Iterator[str]:
        function = self._spec.function
        arguments: list[str] = []
        for index, parameter in enumerate(function.parameters):
            yield from self._pair(index, arguments.append)
            _ = parameter
        if function.result.kind != "void" and function.result.differentiable:
            yield from self._gradient(-1, function.result, "tp_dresult")
            arguments.append("tp_dresult")
        yield f"bwd_diff(tracepack_call)({', '.join(arguments)});"
        for number in sorted(self._needs):
            slot = self._spec.slots[number]
            if not slot.is_view:
                yield from write(slot.type, f"tp_d{slot.parameter}.d{slot.path}", f"tp_ds{number}")

    def _pair(self, index: int, add: Callable[[str], None]) -> Iterator[str]:
        """The argument of `bwd_diff` for one parameter: a pair, a gradient, the plain value, or nothing."""
        parameter = self._spec.function.parameters[index]
        if parameter.type.kind == "view":
            add(f"tp_v{index}")
        elif not self._flows(index):
            if parameter.direction != "out":
                add(f"tp_p{index}")
        elif parameter.direction == "out":
            yield from self._gradient(index, parameter.type, f"tp_d{index}")
            add(f"tp_d{index}")
        elif parameter.direction == "inout":
            yield from self._gradient(index, parameter.type, f"tp_g_{index}")
            yield f"var tp_d{index} = diffPair(tp_p{index}, tp_g_{index});"
            add(f"tp_d{index}")
        else:
            yield f"var tp_d{index} = diffPair(tp_p{index});"
            add(f"tp_d{index}")

    def _gradient(self, parameter: int, type_: SlangType, name: str) -> Iterator[str]:
        """Declares the gradient of an output and reads its parts."""
        yield f"var {name} = tracepack_zero<{type_.name}>();"
        for number in self._spec.differentiable_outputs:
            output = self._spec.outputs[number]
            if output.parameter == parameter:
                yield from read(output.type, f"{name}{output.path}", f"tp_g{number}", "tp_i")
