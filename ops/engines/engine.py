"""Engine: what can run a region in place of the flat function, and what it is given and gives.

An engine is one class in a file of its own, which `ops/engines/catalogue.py` imports when it is first asked for. It has
two verbs: `make` turns a region into an artefact, and `open` turns an artefact into a function of tensors. An engine
that cannot take a region raises `Declined` with the reason; the region then stays with the flat function. What `make`
needs is imported there: torch's exporters take seconds to import, and a file that is loaded needs none of them.
"""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path
from typing import Any, ClassVar

import torch

from ..graph.device import CPU, Device
from ..graph.program import Artefact
from ..runtime.plan import Plan
from .region import Region


class Declined(Exception):
    """An engine cannot take a region; the text is the reason, in a few words."""


@dataclass(frozen=True)
class Task:
    """A region to be run, with what an engine may need to know of it.

    Attributes:
        region: the region.
        examples: inputs of the region on the CPU; sizes that are free are at least 2 in the first.
        threads: the number of threads.
        given: the inputs that the region gets on the user's own examples; lower precision is fitted to these.
        way: one of the engine's ways; empty for its usual one, in the precision of the region.
        shared: what engines made of the region and share, by a name of theirs.
    """

    region: Region
    examples: Sequence[Sequence[torch.Tensor]]
    threads: int
    given: Sequence[Sequence[torch.Tensor]] = ()
    way: str = ""
    shared: dict[str, Any] = field(default_factory=dict)

    def function(self, *, grad: bool = True) -> Callable[..., tuple[torch.Tensor, ...]]:
        """The region as a flat function on the CPU, without checks.

        Args:
            grad: whether nothing works in place and weights take gradients, as in the model, as torch.export likes it.
        """
        return Plan(self.region.graph, lambda body: CPU, grad=grad).fast

    def free(self, index: int) -> list[int]:
        """The dimensions of an input that may have other sizes."""
        shape: Any = self.region.graph.inputs[index].type
        return [dim for dim, size in enumerate(shape.shape) if not isinstance(size, int)]


WAY = "way"
"""The key of an artefact's description that says in which way it computes; absent for the engine's usual one."""

SIDE_BY_SIDE = "side by side"
"""The way in which parts of a region that do not depend on each other run at the same time, each with one thread."""

AWAKE = "awake"
"""The way in which threads wait for the next run without sleep for some 30 ms, on cores that others may lack."""

BF16, DYNAMIC, STATIC, TORCHAO = "bf16", "int8 dynamic", "int8 static", "int8 torchao"


def cause(error: BaseException) -> str:
    """The first line of what led to an error."""
    while error.__cause__ is not None:
        error = error.__cause__
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0] if lines else ''}"[:160]


def described(task: Task) -> dict[str, Any]:
    """The description of an artefact that needs no other."""
    return {WAY: task.way} if task.way else {}


def file_of(artefact: Artefact, name: str) -> bytes:
    """A file of an artefact.

    Raises:
        Declined: the archive that the artefact is from has no such file for it.
    """
    if name not in artefact.files:
        held = ", ".join(map(repr, artefact.files)) or "nothing"
        raise Declined(f"the archive holds no {name!r} for it, only {held:.200}")
    return artefact.files[name]


def lowers(way: str) -> bool:
    """Whether a way computes in lower precision than the region."""
    return way not in ("", SIDE_BY_SIDE, AWAKE)


class Engine(ABC):
    """One engine.

    Attributes:
        name: its name in reports and archives.
        package: the distribution that it needs, whose version artefacts keep.
        native: whether its artefacts are native code, or feed a native runtime, so that a file needs `trust=True`.
        devices: the kinds of devices that it runs on.
        ways: the ways in which it computes in lower precision, by the name of the precision, ``"bf16"`` or ``"int8"``.
        cores: the ways to use several threads that are tried besides the usual one.
        apart: whether it computes outside of torch, so that torch's grad mode is nothing to it.
    """

    name: ClassVar[str]
    package: ClassVar[str]
    native: ClassVar[bool] = True
    devices: ClassVar[Sequence[str]] = (CPU.kind,)
    ways: ClassVar[Mapping[str, Sequence[str]]] = {}
    cores: ClassVar[Sequence[str]] = ()
    apart: ClassVar[bool] = False

    @abstractmethod
    def make(self, task: Task) -> Artefact:
        """Makes the artefact of a region.

        Raises:
            Declined: the engine cannot take it.
        """

    @abstractmethod
    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        """The function of an artefact: of a tensor for each input of the region, to one for each output.

        The tensors are on the device, of the dtypes of the region, with any strides, and not empty; results have new
        memory.

        Raises:
            Declined: the artefact is malformed, or the installed package cannot take it.
        """

    def start(self, artefact: Artefact) -> None:  # noqa: B027 - most have nothing to start
        """Begins in a thread what `open` will need on the CPU; by default nothing."""

    def accepts(self, package: str) -> bool:
        """Whether the installed package can open what another version made; by default any can."""
        return True

    @classmethod
    def version(cls) -> str:
        """The package with its installed version: ``"onnxruntime 1.32.0"``."""
        return f"{cls.package} {_version(cls.package)}"


@cache
def _version(package: str) -> str:
    """The version that is installed; the parser of `metadata.version` takes milliseconds for all of a description.

    Of a package that is imported, and says the version after which the folder of its description is named, that is it:
    the search through all folders is saved.
    """
    module = sys.modules.get(package)
    said, file = str(getattr(module, "__version__", "")), getattr(module, "__file__", None)
    if said and file and (Path(file).parents[1] / f"{package}-{said}.dist-info").is_dir():
        return said
    text = metadata.distribution(package).read_text("METADATA") or ""
    lines = (line.partition(":") for line in text.partition("\n\n")[0].splitlines())
    return next((value.strip() for name, _, value in lines if name == "Version"), "") or metadata.version(package)
