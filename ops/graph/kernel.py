"""Kernel: code below an op that is not a graph of torch operators (Slang, a comprehension, a tokenizer).

A kernel can describe itself as plain data and assets, so that an archive can hold it, and can be built again from
them on another machine. Kernels that run on tensors inside a torch module are registered with `torch.library`
under one operator each, so that torch.export sees one node; `kernel_of_operator` finds the kernel behind it.
This module must not import torch.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from importlib import import_module
from typing import Any, ClassVar

from .errors import GraphError

Plain = None | bool | int | float | str | bytes | list["Plain"] | dict[str, "Plain"]

# Imported only when an archive or a user needs the kind: their packages are extras.
_KINDS = {
    "slang": "..slang.kernel:SlangKernel",
    "comprehension": "..comprehension.kernel:ComprehensionKernel",
    "tokenizer": "..tokenizer:TokenizerKernel",
    "torchscript": "..torchscript.kernel:TorchScriptKernel",
}
_BY_OPERATOR: dict[str, Kernel] = {}


class Kernel(ABC):
    """One callable that an archive can hold without its Python source."""

    kind: ClassVar[str]
    """The key under which `build_kernel` finds the class."""

    runs_code: ClassVar[bool] = False
    """Whether building or calling it can run arbitrary code, so that an archive needs `trust=True`."""

    varying: ClassVar[bool] = False
    """Whether the shapes of its results depend on more than the shapes of its arguments."""

    @property
    def unchecked(self) -> bool:
        """Whether it may read past a tensor whose sizes are not those that its author had in mind."""
        return False

    @property
    def stateful(self) -> bool:
        """Whether a call changes what later calls give."""
        return False

    def session(self) -> Kernel:
        """A kernel of its own with the initial state; a kernel without state is its own session."""
        return self

    def reset(self) -> None:  # noqa: B027 - nothing to do without state
        """Goes back to the initial state."""

    def attributes(self) -> dict[str, Any]:
        """Copies of what calls change, by name."""
        return {}

    # Kernels without attributes leave it as it is.
    def set_attributes(self, values: Mapping[str, Any]) -> None:  # noqa: B027
        """Sets what `attributes` gave."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name for graphs, errors and profiles."""

    @abstractmethod
    def description(self) -> dict[str, Plain]:
        """What `build` needs besides the assets; equal kernels give equal descriptions."""

    @abstractmethod
    def assets(self) -> dict[str, bytes]:
        """Files that the archive stores for this kernel, by a relative name."""

    @classmethod
    @abstractmethod
    def build(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> Kernel:
        """Makes the kernel again; compiling may wait until the first call."""

    @classmethod
    def build_trusted(cls, description: Mapping[str, Any], assets: Mapping[str, bytes]) -> Kernel:
        """Like `build`, for an archive that the caller trusts: compiled code among the assets may be loaded."""
        return cls.build(description, assets)

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs on the device of its tensors, which are contiguous."""


def build_kernel(
    kind: str, description: Mapping[str, Any], assets: Mapping[str, bytes], *, trust: bool = False
) -> Kernel:
    """Makes the kernel of a kind from what an archive stored; `trust` allows code among the assets.

    Raises:
        GraphError: the kind is not known to this version.
    """
    found = _class_of(kind)
    return found.build_trusted(description, assets) if trust else found.build(description, assets)


def _class_of(kind: str) -> type[Kernel]:
    if kind not in _KINDS:
        raise GraphError(f"unknown kind of kernel {kind!r}", expected=f"one of {sorted(_KINDS)}")
    module, name = _KINDS[kind].split(":")
    found: type[Kernel] = getattr(import_module(module, __package__), name)
    return found


def runs_code(kind: str) -> bool:
    """Whether kernels of a kind can run arbitrary code.

    Raises:
        GraphError: the kind is not known to this version.
    """
    return _class_of(kind).runs_code


def register_operator(operator: str, kernel: Kernel) -> None:
    """Says that the torch.library operator (`"tracepack::name"`) runs this kernel."""
    _BY_OPERATOR[operator] = kernel


def kernel_of_operator(operator: str) -> Kernel | None:
    """The kernel behind a torch.library operator, or None for an operator of torch."""
    return _BY_OPERATOR.get(operator)
