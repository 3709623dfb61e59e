"""Engines for tests: they answer as the flat function does, or wrongly, and count their calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

import pytest
import torch

from tracepack.ops.engines.engine import Declined, Engine, Task
from tracepack.ops.engines.region import Region
from tracepack.ops.graph.device import Device
from tracepack.ops.graph.program import Artefact
from tracepack.ops.graph.traverse import constants
from tracepack.ops.kernels.toolchain import has_toolchain
from tracepack.ops.runtime.plan import Plan

COMPILING = [
    pytest.mark.campaign,  # it compiles for half a minute
    pytest.mark.skipif(not has_toolchain(), reason="needs a C++ compiler, and this machine has none"),
]


class Mirror(Engine):
    """Runs the nodes themselves, as `change` alters their results."""

    name: ClassVar[str] = "mirror"
    package: ClassVar[str] = "torch"
    change: ClassVar[Callable[[torch.Tensor], torch.Tensor]] = staticmethod(lambda tensor: tensor)
    calls: ClassVar[list[str]] = []
    same_version: ClassVar[bool] = True

    def make(self, task: Task) -> Artefact:
        held = {f"w{index}": constant for index, constant in enumerate(constants(task.region.graph))}
        return Artefact(self.name, self.version(), {"inputs": len(task.examples[0])}, {"note": b"a mirror"}, held)

    def open(self, artefact: Artefact, region: Region, device: Device) -> Callable[..., Sequence[torch.Tensor]]:
        assert artefact.files["note"] == b"a mirror"
        assert [held.tensor.shape for held in artefact.constants.values()] == [
            held.tensor.shape for held in constants(region.graph)
        ]
        plan = Plan(region.graph)

        def run(*values: torch.Tensor) -> list[torch.Tensor]:
            assert len(values) == artefact.description["inputs"]
            type(self).calls.append(region.name)
            return [type(self).change(found).contiguous() for found in plan.run(values, checked=False)]

        return run

    def accepts(self, package: str) -> bool:
        return self.same_version and package == self.version()


class Refusing(Mirror):
    """Takes no region."""

    name: ClassVar[str] = "refusing"

    def make(self, task: Task) -> Artefact:
        raise Declined("it takes nothing")


class Interrupting(Mirror):
    """Is interrupted with Ctrl-C."""

    name: ClassVar[str] = "interrupting"

    def make(self, task: Task) -> Artefact:
        raise KeyboardInterrupt


def in_turn(ways: Sequence[Callable[[], Any]], seconds: float) -> list[float]:
    """A measurement in which each way is faster than the one before."""
    for way in ways:
        way()
    return [1.0 / (index + 1) for index in range(len(ways))]
