"""A specialization: a function with concrete types and the kind of each argument, for one operator and one kernel.

The arguments are flattened to *slots*, one number or one tensor each, and the results to *outputs*. Both are fixed
by the signature and the kinds; sizes, and which tensors are broadcast, are not part of a specialization.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

from .types import FLOATS, FunctionType, Leaf, Parameter, SlangType, field_names

ArgumentKind = Literal["value", "tensor", "absent"]
"""A Python number, one or more tensors, or an `out` parameter that the call allocates."""


@dataclass(frozen=True)
class Slot:
    """One argument of the operator.

    Attributes:
        parameter: the index of the Slang parameter.
        path: the field inside a struct, `.a.b`, or "".
        type: of this number or tensor.
        is_value: whether it is a Python number.
        differentiable: whether a gradient can flow into it.
        dims: the position of a view's sizes in the array of all sizes; -1 for other slots.
    """

    parameter: int
    path: str
    type: SlangType
    is_value: bool
    differentiable: bool
    dims: int = -1

    @property
    def is_view(self) -> bool:
        """Whether the function takes the whole tensor."""
        return self.type.kind == "view"


@dataclass(frozen=True)
class Output:
    """One tensor that the operator returns.

    Attributes:
        parameter: the index of the Slang parameter that it comes from, or -1 for the function's own result.
        path: the field inside a struct, or "".
        type: of the tensor.
        differentiable: whether a gradient can come back through it.
        slot: for `inout` parameters and writable views, the slot that holds the old content; else -1.
    """

    parameter: int
    path: str
    type: SlangType
    differentiable: bool
    slot: int = -1


@dataclass(frozen=True)
class Specialization:
    """A function with concrete types and the kind of each argument.

    Attributes:
        function: the concrete signature.
        kinds: the kind of each parameter's argument.
    """

    function: FunctionType
    kinds: tuple[ArgumentKind, ...]

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """The arguments of the operator, in order."""
        slots: list[Slot] = []
        dims = 0
        for index, (parameter, kind) in enumerate(zip(self.function.parameters, self.kinds, strict=True)):
            if kind == "absent":
                continue
            for leaf in parameter.type.leaves():
                view = leaf.type.kind == "view"
                slots.append(self._slot(index, parameter, leaf, kind == "value", dims if view else -1))
                dims += leaf.type.rank
        return tuple(slots)

    @cached_property
    def outputs(self) -> tuple[Output, ...]:
        """The results of the operator: the function's own, then those of its parameters."""
        function = self.function
        outputs: list[Output] = []
        if function.result.kind != "void":
            outputs += [
                Output(-1, leaf.path, leaf.type, function.differentiable and leaf.differentiable)
                for leaf in function.result.leaves()
            ]
        for index, parameter in enumerate(function.parameters):
            if parameter.direction == "in" and "w" not in parameter.type.access:
                continue
            outputs += [self._output(index, parameter, leaf) for leaf in parameter.type.leaves()]
        return tuple(outputs)

    @cached_property
    def is_pointwise(self) -> bool:
        """Whether each element of the results depends on one element of each argument alone."""
        return not any(slot.is_view for slot in self.slots)

    @cached_property
    def differentiable_slots(self) -> tuple[int, ...]:
        """The indices of the slots into which gradients can flow."""
        return tuple(index for index, slot in enumerate(self.slots) if slot.differentiable)

    @cached_property
    def differentiable_outputs(self) -> tuple[int, ...]:
        """The indices of the outputs through which gradients come back."""
        return tuple(index for index, output in enumerate(self.outputs) if output.differentiable)

    @cached_property
    def lost_slots(self) -> tuple[int, ...]:
        """The slots of floats into which no gradient flows because their struct declares no derivative."""
        if not self.function.differentiable:
            return ()
        return tuple(
            index
            for index, slot in enumerate(self.slots)
            if not (slot.is_value or slot.differentiable or slot.is_view) and slot.type.scalar in FLOATS
            and _in_plain_struct(self.function.parameters[slot.parameter].type, slot.path)
        )  # fmt: skip

    @cached_property
    def integers(self) -> tuple[tuple[int, str], ...]:
        """The slots that are whole numbers, each with its type."""
        numbers = ((index, slot.type.scalar) for index, slot in enumerate(self.slots) if slot.is_value)
        return tuple((index, scalar) for index, scalar in numbers if scalar not in FLOATS and scalar != "bool")

    def slot_name(self, index: int) -> str:
        """The slot as the user wrote it, `x.a`."""
        slot = self.slots[index]
        return self.function.parameters[slot.parameter].name + slot.path

    def plain(self) -> dict[str, Any]:
        """The specialization as data."""
        return {"function": self.function.plain(), "kinds": list(self.kinds)}

    @classmethod
    def of_plain(cls, data: Mapping[str, Any]) -> Specialization:
        """The inverse of `plain`."""
        return cls(FunctionType.of_plain(data["function"]), tuple(data["kinds"]))

    @classmethod
    def of_tensors(cls, function: FunctionType) -> Specialization:
        """The one with a tensor for each parameter; an `out` parameter is left to the call."""
        parameters = function.parameters
        absent = [each.direction == "out" and each.type.kind != "view" for each in parameters]
        return cls(function, tuple("absent" if each else "tensor" for each in absent))

    def _slot(self, index: int, parameter: Parameter, leaf: Leaf, is_value: bool, dims: int) -> Slot:
        view = leaf.type.kind == "view"
        flows = self.function.differentiable and not is_value
        # Slang marks every view `no_diff`; its own load and store carry the gradients.
        wanted = leaf.differentiable and (parameter.differentiable or view)
        return Slot(index, leaf.path, leaf.type, is_value, flows and wanted, dims)

    def _output(self, index: int, parameter: Parameter, leaf: Leaf) -> Output:
        view = leaf.type.kind == "view"
        flows = self.function.differentiable and leaf.differentiable and (parameter.differentiable or view)
        if parameter.direction == "out" and not view:
            return Output(index, leaf.path, leaf.type, flows)
        matching = (
            number for number, slot in enumerate(self.slots) if slot.parameter == index and slot.path == leaf.path
        )
        return Output(index, leaf.path, leaf.type, flows, next(matching))


def _in_plain_struct(type_: SlangType, path: str) -> bool:
    """Whether a field lies in a struct that is not `IDifferentiable`."""
    for name in field_names(path):
        if type_.kind == "struct" and not type_.differentiable:
            return True
        type_ = next(field.type for field in type_.fields if field.name == name)
    return False
