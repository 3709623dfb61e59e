"""TorchScriptKernel: a model that cannot be lowered, kept as TorchScript bytes. Loading one can run code."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from operator import attrgetter
from typing import Any, ClassVar

import torch
from torch.utils import _pytree as pytree

from ..graph.errors import LoweringError, OpaqueOpWarning
from ..graph.kernel import Kernel
from ..runtime.checks import require_contiguous
from ..runtime.user_code import user_stacklevel
from .inspect import changing, filled, from_bytes, in_evaluation, relocated, to_bytes, writes_tensors


class TorchScriptKernel(Kernel):
    """A ScriptModule kept as TorchScript.

    Args:
        data: the bytes that `torch.jit.save` wrote.
        name: the op's name.
        reason: why it could not be lowered.
        changes: the names of the attributes that calls may change.
        contiguous: whether a non-contiguous output is made contiguous, and not refused; None, which older files
            have, leaves it.
        writes: whether a call may write into a tensor that it is given.
    """

    kind: ClassVar[str] = "torchscript"
    own_check: ClassVar[bool] = True
    strided: ClassVar[bool] = True
    runs_code: ClassVar[bool] = True
    lists_vary: ClassVar[bool] = True

    def __init__(
        self, data: bytes, name: str, reason: str, changes: Sequence[str] = (), contiguous: bool | None = None,
        writes: bool = True,
    ) -> None:  # fmt: skip
        self.data, self._name, self.reason, self.changes = data, name, reason, tuple(changes)
        self.contiguous, self._writes = contiguous, writes
        self._modules: dict[str, Any] = {}
        self._latest: Any = None  # the module of the last call, which has the present state

    @property
    def name(self) -> str:
        """The op's name."""
        return self._name

    def description(self) -> dict[str, Any]:
        """The op's name, why it is opaque, what becomes of outputs that are not contiguous, and whether it writes."""
        return {
            "name": self._name, "reason": self.reason, "changes": list(self.changes), "contiguous": self.contiguous,
            "writes": self._writes,
        }  # fmt: skip

    def assets(self) -> dict[str, bytes]:
        """The TorchScript file."""
        return {"module.pt": self.data}

    @classmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> TorchScriptKernel:
        """Keeps the bytes; they are loaded at the first call."""
        changes = [str(path) for path in description.get("changes", ())]
        kept = description.get("contiguous")
        contiguous, writes = None if kept is None else bool(kept), bool(description.get("writes", True))
        name, reason = str(description["name"]), str(description["reason"])
        return cls(assets["module.pt"], name, reason, changes, contiguous, writes)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs the module on the device of its first tensor.

        Raises:
            NonContiguousOutputError: an output is not contiguous.
        """
        tensors = _tensors((args, kwargs))
        result = self._module(str(tensors[0].device) if tensors else "cpu")(*args, **kwargs)
        if self.contiguous:
            return pytree.tree_map_only(torch.Tensor, torch.Tensor.contiguous, result)
        if self.contiguous is not None:
            require_contiguous(self.name, _tensors(result))
        return result

    def _module(self, device: str) -> Any:
        """The module on a device, with the present state."""
        if device not in self._modules:
            self._modules[device] = relocated(from_bytes(self.data, device), device)
        module, before = self._modules[device], self._latest
        if before is not None and before is not module:
            _write(module, self.changes, _read(before, self.changes), device)
        self._latest = module
        return module

    @property
    def tells_sizes(self) -> bool:
        """Whether its code, which runs then, keeps nothing of the tensors without data that it is given."""
        return not self.changes and not self._writes

    @property
    def writes(self) -> bool:
        """Whether its code may write into a tensor that it is given; of older files nothing is known."""
        return self._writes

    @property
    def stateful(self) -> bool:
        """Whether its code changes an attribute."""
        return bool(self.changes)

    def session(self) -> TorchScriptKernel:
        """A kernel of the same module with its own state."""
        return TorchScriptKernel(self.data, self._name, self.reason, self.changes, self.contiguous, self._writes)

    def reset(self) -> None:
        """Makes the next call load the module again."""
        self._modules, self._latest = {}, None

    def attributes(self) -> dict[str, Any]:
        """Copies of the attributes that calls may change: tensors, numbers and strings."""
        return _read(self._latest or self._module("cpu"), self.changes)

    def set_attributes(self, values: Mapping[str, Any]) -> None:
        """Sets attributes of the present module."""
        module = self._latest or self._module("cpu")
        _write(module, self.changes, values, None)


def _tensors(tree: Any) -> list[torch.Tensor]:
    return [leaf for leaf in pytree.tree_leaves(tree) if isinstance(leaf, torch.Tensor)]


def opaque(model: Any, name: str, error: LoweringError, contiguous: bool) -> TorchScriptKernel:
    """The kernel for a ScriptModule that cannot be lowered; warns.

    Raises:
        LoweringError: the module changes a list, a dict or an object that it keeps, which nobody could set back.
    """
    if kept := filled(model):
        raise LoweringError(
            f"the ScriptModule changes what its attribute {kept!r} holds while it runs, and a graph cannot hold that",
            where=f"op {name!r}", fix="Keep state in a registered buffer and change it in place.",
        ) from error  # fmt: skip
    reason = error.got or error.what
    warnings.warn(
        f"op {name!r} is kept as TorchScript, so that its archive loads with trust=True only: {reason}",
        OpaqueOpWarning,
        stacklevel=user_stacklevel(),
    )
    module = in_evaluation(model)
    return TorchScriptKernel(
        to_bytes(module), name, str(error)[:500], changing(module), contiguous, writes_tensors(module)
    )


def _read(module: Any, paths: Sequence[str]) -> dict[str, Any]:
    """Copies of attributes that are tensors, numbers or strings."""
    found: dict[str, Any] = {}
    for path in paths:
        value = attrgetter(path)(module)
        if isinstance(value, torch.Tensor):
            found[path] = value.detach().clone()
        elif value is None or isinstance(value, bool | int | float | str):
            found[path] = value
    return found


def _write(module: Any, paths: Sequence[str], values: Mapping[str, Any], device: str | None) -> None:
    for path in paths:
        if path in values:
            *owner, name = path.split(".")
            value = values[path]
            if isinstance(value, torch.Tensor):
                with torch.inference_mode(False):  # later runs write to it
                    value = value.detach().clone() if device is None else value.to(device, copy=True)
            setattr(attrgetter(".".join(owner))(module) if owner else module, name, value)
