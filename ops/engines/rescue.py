"""The function that a plan calls for a region: the engine, and the region's own nodes where the engine fails.

A region is pure, so its nodes may run after an engine has failed in the middle. What they answer, or the error that
they raise, is what the pipeline would have given without the engine: an engine may refuse a size that it cannot take,
or an index beyond a table, and the user meets the line of his own code.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import torch

from ..graph.program import Artefact
from ..runtime.engine_call import EngineCall
from ..runtime.interrupts.changes import forkable
from ..runtime.interrupts.forks import forgets_in_forks
from ..runtime.node_errors import fail
from ..runtime.plan import Plan
from ..runtime.user_code import user_stacklevel
from .engine import WAY, Engine
from .region import Region
from .rest import engines_rest


class Reference:
    """The nodes of a region as a flat function, compiled at the first use."""

    def __init__(self, region: Region) -> None:
        self.region = region

    @cached_property
    def _plan(self) -> Plan:
        return Plan(self.region.graph)

    def __call__(self, *values: torch.Tensor) -> Sequence[torch.Tensor]:
        """Runs the nodes.

        Raises:
            NodeError: one failed.
        """
        function = self._plan.fast
        try:
            found: Sequence[torch.Tensor] = function(*values)
            return found
        except Exception as error:
            fail(error, function)


class Engaged:
    """An engine on one region, opened at the first call.

    Args:
        engine: the engine.
        artefact: what it made of the region.
        region: the region.
        reference: runs the region where the engine fails.

    Attributes:
        warned: whether a failure was said in a warning.
    """

    def __init__(self, engine: Engine, artefact: Artefact, region: Region, reference: Reference) -> None:
        self.engine, self.artefact, self.region, self.reference = engine, artefact, region, reference
        self._lock = forkable(threading.Lock())
        self._open: Callable[..., Sequence[torch.Tensor]] | None = None
        self.warned = False
        forgets_in_forks(self)

    @property
    def label(self) -> str:
        """The engine, and its way of lower precision where it computes in one: ``"onnxruntime int8 static"``."""
        return f"{self.engine.name} {self.way}".strip()

    @property
    def way(self) -> str:
        """Its way of lower precision; empty for the precision of the region."""
        return str(self.artefact.description.get(WAY, ""))

    def open(self) -> Callable[..., Sequence[torch.Tensor]]:
        """The function of the engine, which is made once."""
        with self._lock:  # two threads may ask at once
            if self._open is None:
                self._open = self.engine.open(self.artefact, self.region)
            return self._open

    def forget(self) -> Sequence[object]:
        """Lets go of the function, which the next call makes anew."""
        found, self._open = self._open, None
        return [] if found is None else [found]

    def call(self) -> EngineCall:
        """The call as a plan takes it."""
        region = self.region
        graph = region.graph
        return EngineCall(self.function(), graph.inputs, graph.output, region.count, region.kept, region.checks)

    def function(self) -> Callable[..., Sequence[torch.Tensor]]:
        """A function that runs the engine, and the nodes where it fails."""

        def call(*values: torch.Tensor) -> Sequence[torch.Tensor]:
            if torch.compiler.is_dynamo_compiling() or engines_rest():
                return self.reference(*values)
            for value in values:
                if not value.numel():  # runtimes are not made for empty tensors: some end the process
                    return self.reference(*values)
            try:
                return (self._open or self.open())(*values)
            except Exception as error:
                return self._rescued(values, error)

        return call

    def _rescued(self, values: Sequence[Any], error: Exception) -> Sequence[torch.Tensor]:
        found = self.reference(*values)
        if not self.warned:
            self.warned = True
            sizes = ", ".join(str(list(value.shape)) for value in values)
            text = " ".join(str(error).split())[:200]
            warnings.warn(
                f"the engine {self.label!r} fails on {self.region.name} with inputs of {sizes}, "
                f"which the flat function runs instead: {type(error).__name__}: {text}",
                stacklevel=user_stacklevel(),
            )
        return found
