"""A call of one form: converts arguments to slots, and outputs to the result for the user."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch

from .binding.arguments import bind, check_range, flatten_argument, is_tensor_like
from .binding.grid import grid_shape, index_tensor
from .binding.instances import SlangInstance, fields_of, replace_field
from .language.dtypes import BOUNDS
from .language.errors import SlangArgumentError, SlangDtypeError, SlangShapeError
from .language.specialization import Output, Slot
from .language.types import FLOATS, Parameter, SlangType, field_names
from .launch.operation import Operation


class Call:
    """Calls of a function whose arguments have certain types and dtypes.

    Args:
        operation: the operation that runs.
        positional: the number of arguments by position.
        bound: the arguments of the first such call, by parameter.
    """

    def __init__(self, operation: Operation, positional: int, bound: Mapping[str, Any]) -> None:
        self.operation = operation
        self._function = operation.spec.function
        self._direct = self._direct_order(positional, bound)
        self._integers = self._direct_integers()
        self._only_numbers = not any(map(_has_tensor, bound.values()))
        self._written = [
            (number, output)
            for number, output in enumerate(operation.spec.outputs)
            if output.parameter >= 0 and is_tensor_like_of(bound, self._function.parameters[output.parameter].name)
        ]
        written = {number for number, _ in self._written}
        self._returned = [number for number in range(len(operation.spec.outputs)) if number not in written]
        self._single = self._returned == [0] and not self._written and not self._only_numbers
        self._single = self._single and operation.spec.outputs[0].path == ""

    def _direct_order(self, positional: int, bound: Mapping[str, Any]) -> tuple[int | str, ...] | None:
        """The position of each slot's argument, if every argument is itself a slot."""
        names = [parameter.name for parameter in self._function.parameters]
        order: list[int | str] = []
        for slot in self.operation.spec.slots:
            name = names[slot.parameter]
            if slot.path or not _is_slot_already(bound[name], slot):
                return None
            order.append(slot.parameter if slot.parameter < positional else name)
        return tuple(order)

    def _direct_integers(self) -> list[tuple[int, Parameter]]:
        """The slots that are Python integers, whose range is checked."""
        parameters, slots = self._function.parameters, self.operation.spec.slots
        return [(i, parameters[s.parameter]) for i, s in enumerate(slots) if s.is_value and s.type.scalar in BOUNDS]

    def __call__(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Runs, and returns the result and the `out` parameters that were not passed."""
        flat = self.flatten(args, kwargs)
        if self._written and torch.is_grad_enabled():
            self._set_aside(flat)
        outputs = self.operation(*flat)
        return outputs[0] if self._single else self._finish(args, kwargs, outputs)

    def watched(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """The same with nothing but the operator, positions and writes visible to a torch function mode."""
        bound = bind(self._function, args, kwargs)
        for parameter in self._function.parameters:
            shape = grid_shape(bound.get(parameter.name))
            if shape is not None:  # its sizes may be the recording's own
                bound[parameter.name] = index_tensor(shape, parameter.type, _device_of(bound))
        with torch._C.DisableTorchFunction():
            flat = self._flatten(bound)
        self._set_aside(flat)
        outputs = self.operation.through_operator(flat)
        return outputs[0] if self._single else self._finish(args, kwargs, outputs)

    def _finish(self, args: Sequence[Any], kwargs: Mapping[str, Any], outputs: Sequence[torch.Tensor]) -> Any:
        if self._written:
            self._write(bind(self._function, args, kwargs), outputs)
        return self._assemble(outputs)

    def flatten(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        """One number or tensor for each slot."""
        if self._direct is not None:
            # The type was checked just before.
            flat = [args[at] if type(at) is int else kwargs[at] for at in self._direct]  # type: ignore[index]
            for index, parameter in self._integers:
                if type(flat[index]) is int:
                    check_range(self._function, parameter.name, parameter.type.scalar, flat[index])
            return flat
        return self._flatten(bind(self._function, args, kwargs))

    def _flatten(self, bound: Mapping[str, Any]) -> list[Any]:
        device, flat = _device_of(bound), []
        kinds = self.operation.spec.kinds
        for parameter, kind in zip(self._function.parameters, kinds, strict=True):
            if kind != "absent":
                flat += flatten_argument(self._function, parameter, kind, bound[parameter.name], device)
        return flat

    def _set_aside(self, flat: list[Any]) -> None:
        """Copies the tensors that the call overwrites, since the backward kernel needs their old content."""
        for _, output in self._written:
            if output.slot >= 0:
                flat[output.slot] = flat[output.slot].clone()

    def _write(self, bound: Mapping[str, Any], outputs: Sequence[torch.Tensor]) -> None:
        for number, output in self._written:
            parameter = self._function.parameters[output.parameter].name
            if isinstance(bound[parameter], SlangInstance):
                replace_field(bound[parameter], output.path, self._python(outputs[number], output))
            else:
                fill(_at(bound[parameter], output.path), outputs[number], parameter + output.path, str(self._function))

    def _assemble(self, outputs: Sequence[torch.Tensor]) -> Any:
        """A tensor or a dict for the result and each returned parameter; a tuple if there are several."""
        groups: dict[int, dict[str, Any]] = {}
        for number in self._returned:
            output = self.operation.spec.outputs[number]
            groups.setdefault(output.parameter, {})[output.path] = self._python(outputs[number], output)
        values = [_nested(self._type_of(parameter), leaves) for parameter, leaves in groups.items()]
        return None if not values else values[0] if len(values) == 1 else tuple(values)

    def _python(self, tensor: torch.Tensor, output: Output) -> Any:
        single = self._only_numbers and output.type.kind == "scalar" and tensor.dim() == 0
        return tensor.item() if single else tensor

    def _type_of(self, parameter: int) -> SlangType:
        return self._function.result if parameter < 0 else self._function.parameters[parameter].type

    def backward(self, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> None:
        """SlangPy's `bwds` on torch tensors: from the outputs' `.grad` to the inputs' `.grad`.

        Raises:
            SlangArgumentError: an output has no gradient.
        """
        operation, spec = self.operation, self.operation.spec
        operation.check_differentiable()
        bound = bind(self._function, args, kwargs)
        flat = [each.detach() if isinstance(each, torch.Tensor) else each for each in self.flatten(args, kwargs)]
        sources = {-1: result, **{i: bound.get(p.name) for i, p in enumerate(self._function.parameters)}}
        gradients = []
        for number in spec.differentiable_outputs:
            output = spec.outputs[number]
            gradients.append(self._incoming(sources[output.parameter], output))
        targets = {i: self._target(bound, i) for i in spec.differentiable_slots}
        needs = tuple(i for i, target in targets.items() if target is not None)
        with torch.no_grad():
            for index, gradient in zip(needs, operation.run_backward_by_hand(flat, gradients, needs), strict=True):
                target: Any = targets[index]
                # The gradient of a tensor that was changed in place becomes that of its old content.
                fresh = target.grad is None or any(output.slot == index for output in spec.outputs)
                target.grad = gradient if fresh else target.grad.add_(gradient)

    def _incoming(self, source: Any, output: Output) -> torch.Tensor:
        tensor = None if source is None else _at(source, output.path)
        if not isinstance(tensor, torch.Tensor) or tensor.grad is None:
            name = "_result" if output.parameter < 0 else self._function.parameters[output.parameter].name
            raise SlangArgumentError(
                f"{name + output.path!r} has no gradient to start from",
                where=str(self._function),
                fix="Pass the forward call's output, and set its .grad.",
            )
        return tensor.grad

    def _target(self, bound: Mapping[str, Any], index: int) -> torch.Tensor | None:
        slot = self.operation.spec.slots[index]
        if slot.type.access == "w":
            return None
        value = _at(bound[self._function.parameters[slot.parameter].name], slot.path)
        wanted = isinstance(value, torch.Tensor) and (value.requires_grad or value.grad is not None)
        return value if wanted else None


def fill(target: Any, found: torch.Tensor, name: str, where: str) -> None:
    """Writes an output into the tensor or array that the user passed for it; that may have more axes in front.

    Raises:
        SlangDtypeError: it has another dtype than the Slang type.
        SlangShapeError: the output does not fit into its sizes.
        SlangArgumentError: elements of it share memory, it is a read-only array, or neither tensor nor array.
    """
    if not isinstance(target, (torch.Tensor, np.ndarray)):
        raise SlangArgumentError(
            f"nothing can be written to {name!r}",
            where=where,
            got=repr(target),
            fix="Pass a tensor for each field, or leave the argument out where it is `out`.",
        )
    own = _memory_of(target, name, where) if isinstance(target, np.ndarray) else target
    with torch._C.DisableTorchFunction():  # a recording must see the write, and no read of a size
        _check_fit(own, found, name, where)
    try:
        own.copy_(found.detach() if isinstance(target, np.ndarray) else found)
    except RuntimeError as error:
        if torch._debug_has_internal_overlap(own) != 1:
            raise
        raise SlangArgumentError(
            f"elements of the tensor for {name!r} share memory, so that they cannot be written one by one",
            where=where,
            got=f"strides {own.stride()} for sizes {tuple(own.shape)}",
            fix="Pass a clone of it.",
        ) from error
    if isinstance(target, np.ndarray) and any(step < 0 for step in target.strides):
        np.copyto(target, own.numpy())


def _memory_of(array: np.ndarray, name: str, where: str) -> torch.Tensor:
    """A tensor on an array's memory, or on a copy of one with negative strides, which torch has not.

    Raises:
        SlangArgumentError: the array is read-only; torch would write to it all the same, and a mapped file ends the
            process.
        SlangDtypeError: torch has not its type.
    """
    if not array.flags.writeable:
        raise SlangArgumentError(f"the array for {name!r} is read-only", where=where, fix="Pass a copy of it.")
    try:
        return torch.from_numpy(array.copy() if any(step < 0 for step in array.strides) else array)
    except (TypeError, ValueError):  # for numbers of another byte order
        raise SlangDtypeError(
            f"the array for {name!r} has a type that torch has not", where=where, got=array.dtype
        ) from None


def _check_fit(own: torch.Tensor, found: torch.Tensor, name: str, where: str) -> None:
    if own.dtype != found.dtype:
        raise SlangDtypeError(
            f"the tensor for {name!r} has the wrong dtype", where=where, got=own.dtype, expected=found.dtype
        )
    front = own.dim() - found.dim()
    if front < 0 or any(size not in (1, to) for size, to in zip(found.shape, own.shape[front:], strict=True)):
        raise SlangShapeError(
            f"the tensor for {name!r} has the wrong sizes",
            where=where,
            got=tuple(own.shape),
            expected=tuple(found.shape),
        )


def _is_slot_already(value: Any, slot: Slot) -> bool:
    """Whether a value is itself a slot; this holds for all calls of one form, since a form fixes the type."""
    if isinstance(value, torch.Tensor):
        return True
    if not slot.is_value:
        return False
    if slot.type.scalar in FLOATS:
        return type(value) in (float, int)
    return type(value) is (bool if slot.type.scalar == "bool" else int)


def is_tensor_like_of(bound: Mapping[str, Any], name: str) -> bool:
    """Whether the argument of a written parameter is an array, or a struct of them, to be written in place."""
    value = bound.get(name)
    return isinstance(value, SlangInstance) or _holds_array(value)


def _holds_array(value: Any) -> bool:
    """Whether a value is a tensor or an array of numpy, or a struct with one."""
    fields = fields_of(value)
    return (
        any(map(_holds_array, fields.values())) if fields is not None else isinstance(value, (torch.Tensor, np.ndarray))
    )


def _has_tensor(value: Any) -> bool:
    return is_tensor_like(value) or _first_tensor(value) is not None or grid_shape(value) is not None


def _device_of(bound: Mapping[str, Any]) -> torch.device | None:
    with torch._C.DisableTorchFunction():
        return next((v.device for v in map(_first_tensor, bound.values()) if v is not None), None)


def _first_tensor(value: Any) -> torch.Tensor | None:
    if isinstance(value, torch.Tensor):
        return value
    fields = fields_of(value)
    if fields is not None:
        return next((found for found in map(_first_tensor, fields.values()) if found is not None), None)
    return None


def _at(value: Any, path: str) -> Any:
    for part in field_names(path):
        fields = fields_of(value)
        value = getattr(value, part) if fields is None else fields[part]
    return value


def _nested(type_: SlangType, leaves: Mapping[str, Any], path: str = "") -> Any:
    """The value of a type from its leaves: nested dicts for a struct."""
    if type_.kind != "struct":
        return leaves[path]
    path += "[]" * len(type_.shape)
    return {field.name: _nested(field.type, leaves, f"{path}.{field.name}") for field in type_.fields}
