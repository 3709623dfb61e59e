"""Kernel: the code of an op that is not a graph of torch operators (Slang, a comprehension, a tokenizer).

A kernel can describe itself as plain data and assets, so that an archive can hold it, and can be built again from
them on another machine, by the class that `ops/kernels/registry.py` has for its kind. This module imports neither torch
nor anything of ours.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

Plain = None | bool | int | float | str | bytes | list["Plain"] | dict[str, "Plain"]


class Kernel(ABC):
    """One callable that an archive can hold without its Python source."""

    kind: ClassVar[str]
    """The name under which the class is registered, and which archives keep."""

    runs_code: ClassVar[bool] = False
    """Whether building or calling it can run arbitrary code, so that an archive needs `trust=True`."""

    varying: ClassVar[bool] = False
    """Whether the shapes of its results depend on more than the shapes of its arguments."""

    lists_vary: ClassVar[bool] = False
    """Whether the lengths of lists in its results do."""

    on_host: ClassVar[bool] = False
    """Whether its inputs are no tensors, but text for example, so that its op always runs on the CPU."""

    from_package: ClassVar[bool] = False
    """Whether it is code of an installed package, which its description names (see `build_named`)."""

    strided: ClassVar[bool] = False
    """Whether it takes tensors with the strides that they have, which its code may read, and whose memory it may write
    or hand on; those of any other class get contiguous tensors."""

    own_check: ClassVar[bool] = False
    """Whether the class sees to it that its outputs are contiguous, or lets them lie as they come; those of any other
    class are checked in each call."""

    @property
    def tells_sizes(self) -> bool:
        """Whether a call on tensors without data tells the sizes of its results, and fails where those of its arguments
        do not fit.
        """
        return False

    @property
    def writes(self) -> bool:
        """Whether a call may write into its arguments; where none does, `load(..., convert=True)` converts."""
        return True

    @property
    def unchecked(self) -> bool:
        """Whether it may read past the end of a tensor of other sizes than its author expected."""
        return False

    @property
    def trusts_values(self) -> bool:
        """Whether numbers in one of its tensors may make it read past the end of another, as indices do."""
        return self.unchecked

    @property
    def stateful(self) -> bool:
        """Whether a call changes the results of later calls."""
        return False

    def session(self) -> Kernel:
        """A kernel of its own with the initial state; a kernel without state is its own session."""
        return self

    def reset(self) -> None:  # noqa: B027 - nothing to do without state
        """Goes back to the initial state."""

    def attributes(self) -> dict[str, Any]:
        """Copies of the values that calls change, by name."""
        return {}

    def cost(self, *args: Any) -> tuple[int, int]:
        """The steps that a call takes, and the bytes that it makes, as far as its arguments tell: for a budget."""
        return 0, 0

    # A kernel without attributes does not override it.
    def set_attributes(self, values: Mapping[str, Any]) -> None:  # noqa: B027
        """Sets values that `attributes` returned."""

    @property
    @abstractmethod
    def name(self) -> str:
        """A short name for graphs, errors and profiles."""

    @abstractmethod
    def description(self) -> dict[str, Plain]:
        """The data that `build` needs besides the assets; equal kernels have equal descriptions."""

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

    @classmethod
    def build_named(cls, description: Mapping[str, Any], packages: Sequence[str]) -> Kernel:
        """Makes a kernel that is code of a package, if it is one of those that the caller of `load` named.

        Called in place of `build` for classes with `from_package`, which override it.
        """
        raise NotImplementedError(f"{cls.__name__} is code of no package")

    # Most kernels check their arguments when they run.
    def check_call(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:  # noqa: B027
        """Checks the arguments of a node of a file before it runs; what is decided at run time is a `Value` in them.

        Raises:
            GraphError: they ask for what the kernel does not do.
        """

    @abstractmethod
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Runs on the device of its tensors, which are contiguous."""
