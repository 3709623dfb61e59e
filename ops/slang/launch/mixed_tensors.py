"""Calls with tensors of torch and of SlangPy, which SlangPy runs: torch's are copied to its device, then read back."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import torch

from ..binding.instances import TYPE, fields_of, struct_name
from ..compile.program import Program
from ..language.errors import SlangArgumentError, SlangDtypeError
from ..language.specialization import Specialization
from ..language.types import FunctionType, Parameter, split_name
from .slangpy_device import import_slangpy

_ACCESS = {"in": "r", "out": "w", "inout": "rw"}
RESULT = "_result"


class Shared:
    """The torch tensors of one call as SlangPy's; one that is passed twice is one tensor there, too.

    Args:
        device: the device of SlangPy.
        backward: whether the call is one of `bwds`, which reads and adds to their `.grad`.
        signatures: the function's overloads.
    """

    def __init__(self, device: Any, backward: bool, signatures: Sequence[FunctionType]) -> None:
        self._device, self._backward, self._signatures = device, backward, signatures
        self._where = str(signatures[0])
        self._access: dict[int, str] = {}
        self._lent: dict[int, tuple[torch.Tensor, Any]] = {}

    def arguments(
        self, args: Sequence[Any], kwargs: Mapping[str, Any], result: Any
    ) -> tuple[list[Any], dict[str, Any], Any]:
        """The arguments and what takes the result, with SlangPy's tensors in place of torch's.

        Raises:
            SlangArgumentError: torch would want a gradient through the call, or one that starts from it is missing; or
                SlangPy has none.
            SlangDtypeError: SlangPy has no tensors of this dtype.
        """
        parameters = self._parameters(args, kwargs)
        if self._backward:
            self._check_gradients(parameters)
        names = [*(each.name for each in parameters[: len(args)]), *kwargs, RESULT]
        accesses = {each.name: _access(each) for each in parameters} | {RESULT: "w"}
        for name, value in zip(names, (*args, *kwargs.values(), result), strict=False):
            for tensor in _tensors(value):
                self._note(tensor, name, accesses.get(name, "rw"), parameters)
        given = {name: self._of(each) for name, each in kwargs.items()}
        return [self._of(each) for each in args], given, self._of(result)

    def _parameters(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[Parameter, ...]:
        """Those of the overload that has as many, and these names."""
        for each in self._signatures:
            own = each.parameters
            if len(own) == len(args) + len(kwargs) and {parameter.name for parameter in own}.issuperset(kwargs):
                return own
        return self._signatures[0].parameters

    def _check_gradients(self, parameters: tuple[Parameter, ...]) -> None:
        """Refuses what SlangPy 0.43 gets wrong: it takes the gradient of an `inout` value for zero.

        Raises:
            SlangArgumentError: see `arguments`.
        """
        for each in parameters:
            if each.direction == "inout" and each.type.kind != "view" and each.differentiable:
                raise SlangArgumentError(
                    f"SlangPy has no gradient through the inout parameter {each.name!r}, it gives zeros",
                    where=self._where,
                    fix="Pass torch tensors only, or return the new value.",
                )

    def _note(self, tensor: torch.Tensor, name: str, access: str, parameters: tuple[Parameter, ...]) -> None:
        """Remembers how a tensor is used.

        Raises:
            SlangArgumentError: see `arguments`.
        """
        if not self._backward and tensor.requires_grad and torch.is_grad_enabled():
            raise SlangArgumentError(
                "torch's autograd does not reach through a call with tensors of SlangPy",
                where=self._where,
                fix="Pass the torch tensor detached and call .bwds, or pass torch tensors only.",
            )
        starts = name == RESULT or any(_has_gradient(each) for each in parameters if each.name == name)
        if self._backward and "w" in access and starts and tensor.is_floating_point() and tensor.grad is None:
            raise SlangArgumentError(
                f"{name!r} has no gradient to start from",
                where=self._where,
                fix="Pass the forward call's output, and set its .grad.",
            )
        known = self._access.get(id(tensor), "")
        self._access[id(tensor)] = "rw" if known and known != access else access

    def _of(self, value: Any) -> Any:
        """A tensor of SlangPy with a torch tensor's content, also in a dict or an instance; anything else as it is."""
        given = fields_of(value)
        if given is not None:
            fields = {name: self._of(each) for name, each in given.items()}
            if all(fields[name] is each for name, each in given.items()):
                return value
            return {**fields, TYPE: struct_name(value)} if struct_name(value) else fields
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) not in self._lent:
            lent = self._copied(value)
            if self._backward and value.is_floating_point():
                lent = self._with_gradients(value, lent)
            self._lent[id(value)] = (value, lent)
        return self._lent[id(value)][1]

    def _with_gradients(self, tensor: torch.Tensor, lent: Any) -> Any:
        """With a tensor's gradient to read, to add to, or, where it is changed in place, both apart."""
        gradient = torch.zeros_like(tensor) if tensor.grad is None else tensor.grad
        if self._access.get(id(tensor)) == "rw":
            added = self._copied(torch.zeros_like(tensor))
            return lent.with_grads(grad_in=self._copied(gradient), grad_out=added, zero=False)
        lent = lent.with_grads(zero=True)
        if tensor.grad is not None:
            lent.grad.copy_from_numpy(_array(gradient))
        return lent

    def _copied(self, tensor: torch.Tensor) -> Any:
        try:
            return import_slangpy().Tensor.from_numpy(self._device, _array(tensor))
        except (TypeError, ValueError):  # of numpy, which has no bfloat16, and of SlangPy, which has no bool
            raise SlangDtypeError("SlangPy has no tensors of this dtype", where=self._where, got=tensor.dtype) from None

    def give_back(self) -> None:
        """Copies what the call wrote into the torch tensors: their content, or their `.grad` after `bwds`."""
        for tensor, lent in self._lent.values():
            access = self._access.get(id(tensor), "rw")
            if not self._backward:
                if "w" in access:
                    tensor.detach().copy_(torch.from_numpy(lent.to_numpy()).reshape(tensor.shape))
            elif "r" in access and tensor.is_floating_point() and (tensor.requires_grad or tensor.grad is not None):
                found = (lent.grad_out if access == "rw" else lent.grad).to_numpy()
                tensor.grad = torch.from_numpy(found).to(tensor.device).reshape(tensor.shape)


def _access(parameter: Parameter) -> str:
    """How a function uses what is passed: `r`, `w` or `rw`; a buffer, of which nothing is known, `rw`."""
    if parameter.type.kind == "view":
        return parameter.type.access
    known = parameter.direction != "in" or parameter.type.kind != "opaque"
    return _ACCESS[parameter.direction] if known else "rw"


def _has_gradient(parameter: Parameter) -> bool:
    return parameter.type.differentiable if parameter.type.kind == "view" else parameter.differentiable


def _tensors(value: Any) -> Iterator[torch.Tensor]:
    """The torch tensors in an argument."""
    fields = fields_of(value)
    if fields is not None:
        for each in fields.values():
            yield from _tensors(each)
    elif isinstance(value, torch.Tensor):
        yield value


def is_slangpys(args: Sequence[Any], kwargs: Mapping[str, Any], result: Any) -> bool:
    """Whether tensors of SlangPy are among the arguments, so that SlangPy must run the call."""
    for value in (*args, *kwargs.values(), result):
        kind = type(value)
        if kind is torch.Tensor or kind is float:
            continue
        fields = fields_of(value)
        if fields is not None and is_slangpys(tuple(fields.values()), {}, None):
            return True
        if (kind.__module__ or "").startswith("slangpy") and kind.__name__ != "GridArg":
            return True
    return False


def device_of(value: Any) -> Any:
    """The device of one of SlangPy's tensors, also in a struct, or None."""
    fields = fields_of(value)
    if fields is not None:
        return next(filter(None, map(device_of, fields.values())), None)
    return getattr(value, "device", None) if (type(value).__module__ or "").startswith("slangpy") else None


def sizes_of(values: Sequence[Any]) -> list[int]:
    """The sizes of all tensors of a call, SlangPy's and torch's."""
    sizes: list[int] = []
    for value in values:
        fields = fields_of(value)
        if fields is not None:
            sizes += sizes_of(list(fields.values()))
        elif not isinstance(value, type):  # `_result` may name a class of tensors
            sizes += map(int, getattr(value, "shape", ()))
    return sizes


def check_gradients(program: Program, signatures: Sequence[FunctionType]) -> None:
    """Refuses what would end this process in SlangPy: the compiler crashes on a function's gradient.

    Functions whose types only a call makes concrete are left out.

    Raises:
        NotDifferentiableError: the function has a forward derivative only.
        SlangCompileError: the compiler crashes, or does not return.
    """
    for each in signatures:
        concrete = not each.generic and all(parameter.type.kind != "opaque" for parameter in each.parameters)
        if each.differentiable and concrete:
            program.check_gradient(Specialization.of_tensors(each))


def slangpy_function(module: Any, name: str) -> Any:
    """SlangPy's function of a name; that of a struct it finds in the struct."""
    owner, own = split_name(name)
    struct = module.find_struct(owner) if owner else None
    return getattr(module, name) if struct is None else struct[own]


def _array(tensor: torch.Tensor) -> Any:
    return tensor.detach().cpu().contiguous().numpy()
