"""The function that a plan calls for a region: the engine, and the region's own nodes where the engine fails.

A region is pure, so its nodes may run after an engine has failed in the middle. What they answer, or the error that
they raise, is what the pipeline would have given without the engine: an engine may refuse a size that it cannot take,
or an index beyond a table, and the user meets the line of his own code.

What an engine was made from may have taken one side of a branch on a size, and no compiler says all that it fixed. So
the first call with new sizes runs the nodes besides; where the engine's answer differs, theirs is given, and these
sizes stay with them. Sizes for which a search has done that are part of the artefact, and where the exporter proved
that it decided the same for all sizes between those, the engine answers alone there.
"""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import torch

from ..graph.device import CPU, Device
from ..graph.errors import shown
from ..graph.program import Artefact
from ..graph.traverse import constants
from ..graph.types import TensorType
from ..runtime.engine_call import EngineCall
from ..runtime.interrupts.changes import forkable
from ..runtime.interrupts.forks import forgets_in_forks
from ..runtime.interrupts.modes import before_dispatch, count_modes, is_followed, is_functional, is_tracing
from ..runtime.node_errors import fail
from ..runtime.plan import Plan
from ..runtime.user_code import user_stacklevel
from .checks.answer_checks import allowed, has_nan, is_alike, tells
from .checks.left_to_torch import LeftToTorch
from .engine import WAY, Engine
from .memory.early_start import started
from .memory.file_pages import release
from .memory.huge_pages import NewMemory
from .region import Region
from .rest import state
from .size_boxes import BOXES, SizeBoxes

MOST_SIZES = 4096  # that are remembered

Sizes = tuple[torch.Size, ...]

SIZES = "sizes"
"""The key of an artefact's description that holds the sizes at which it was compared with the nodes."""


class Reference:
    """The nodes of a region as a flat function on a device, compiled at the first use."""

    def __init__(self, region: Region, device: Device = CPU) -> None:
        self.region, self.device = region, device

    @cached_property
    def _plan(self) -> Plan:
        return Plan(self.region.graph, lambda body: self.device, self.device)

    def __call__(self, *values: torch.Tensor) -> Sequence[torch.Tensor]:
        """Runs the nodes.

        Raises:
            NodeError: one failed.
        """
        function = self._plan.fast
        try:
            with torch.no_grad():  # which a call of the engine alone leaves as it is
                found: Sequence[torch.Tensor] = function(*values)
            return found
        except Exception as error:
            fail(error, function)

    @cached_property
    def _guarded(self) -> Plan:
        return Plan(self.region.guarded or self.region.graph, lambda body: self.device, self.device)

    def guarded(self, *values: torch.Tensor) -> Sequence[torch.Tensor]:
        """Runs the nodes with the guards that need them.

        Raises:
            GuardError: the recording does not hold for these inputs.
            NodeError: a node failed.
        """
        if self.region.guarded is None:
            return self(*values)
        function = self._guarded.checked
        try:
            with torch.no_grad():  # which a call of the engine alone leaves as it is
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
        reference: runs the region where the engine fails, on the device of both.
        tolerance: by how much outputs of the pipeline may differ because of it; 0 for no more than by rounding.

    Attributes:
        warned: whether a failure was said in a warning.
    """

    def __init__(
        self, engine: Engine, artefact: Artefact, region: Region, reference: Reference, tolerance: float = 0.0
    ) -> None:
        self.engine, self.artefact, self.region, self.reference = engine, artefact, region, reference
        self.tolerance = tolerance
        self._lock = forkable(threading.Lock())
        self._open: Callable[..., Sequence[torch.Tensor]] | None = None
        self._memory: NewMemory | None = None
        self.warned = False
        self._alike = set(_compared_sizes(artefact, engine))  # at these sizes
        self._agrees = dict.fromkeys(self._alike, True)  # and where that follows
        self._boxes = SizeBoxes.read_all(artefact.description.get(BOXES))
        self._agreed: list[SizeBoxes] | None = None  # those that count at the sizes of `_alike`
        self._within = allowed(region.graph, tolerance)
        forgets_in_forks(self)

    @property
    def label(self) -> str:
        """The engine, and its way where it has one: ``"onnxruntime int8 static"``."""
        return f"{self.engine.name} {self.way}".strip()

    @property
    def way(self) -> str:
        """Its way; empty for the engine's usual one."""
        return str(self.artefact.description.get(WAY, ""))

    @property
    def size(self) -> int:
        """The bytes that the artefact adds to a file: its own, and weights that the region does not have."""
        held = {id(constant) for constant in constants(self.region.graph)}
        folded: list[int] = [each.tensor.nbytes for each in self.artefact.constants.values() if id(each) not in held]
        return sum(map(len, self.artefact.files.values())) + sum(folded)

    def open(self) -> Callable[..., Sequence[torch.Tensor]]:
        """The function of the engine, which is made once."""
        with self._lock:  # two threads may ask at once
            if self._open is None:
                weights = [constant.tensor for constant in self.artefact.constants.values()]
                early = started(self.artefact)
                self._memory = early.memory if early else NewMemory(sum(weight.nbytes for weight in weights))
                self._open = self.engine.open(self.artefact, self.region, self.reference.device)
                self._memory.gather_soon()
                self._agree()
                release(weights)
            return self._open

    def settle(self) -> None:
        """Does at once what else follows soon after the function was opened, so that it can be timed."""
        if self._memory is not None:
            self._memory.gather()

    def forget(self) -> Sequence[object]:
        """Lets go of the function, which the next call makes anew."""
        found, self._open = self._open, None
        return [] if found is None else [found]

    def call(self) -> EngineCall:
        """The call as a plan takes it."""
        region = self.region
        graph = region.graph
        return EngineCall(
            self.function(), graph.inputs, graph.output, region.count, region.kept, region.checks, self.engine.apart
        )

    def function(self) -> Callable[..., Sequence[torch.Tensor]]:
        """A function that runs the engine, and the nodes where it fails or answers otherwise."""
        agrees, free = self._agrees, self.region.guarded is not None or _has_free_sizes(self.region)
        known_sizes, compiling = agrees.get, torch.compiler.is_dynamo_compiling
        casts = torch._C._is_any_autocast_enabled  # no engine knows of the casts of autocast

        def call(*values: torch.Tensor) -> Sequence[torch.Tensor]:
            if compiling() or state.exactly or casts() or is_followed(values):
                return self.reference(*values)
            sizes = tuple([value.shape for value in values])
            known = known_sizes(sizes) if free else True
            if known is not True:
                for value in values:
                    if not value.numel():  # runtimes are not made for empty tensors: some end the process
                        return self.reference(*values)
                if state.alone:
                    known = True
                elif known is False:
                    return self.reference(*values)
            if not known and not self._is_between(sizes):
                return self._compared(values)
            return self._answered(values)

        def call_one(value: torch.Tensor) -> Sequence[torch.Tensor]:
            # What most calls of a small model come to, at once: each function that they run is read from memory anew.
            # Whatever may be in the way, `call` asks again.
            if count_modes() or before_dispatch[0] is not None or is_tracing() or is_functional(value) or casts():
                return call(value)
            if state.exactly:
                return call(value)
            sizes = (value.shape,)
            if free and known_sizes(sizes) is not True and (sizes in agrees or not self._is_between(sizes)):
                return call(value)
            try:
                return (self._open or self.open())(value)
            except Exception as error:
                return self._rescued((value,), error)

        if _is_empty(self.region):
            return self.reference
        return call_one if len(self.region.graph.inputs) == 1 else call

    def _answered(self, values: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The answer of the engine, or of the nodes where it fails."""
        try:
            return (self._open or self.open())(*values)
        except Exception as error:
            return self._rescued(values, error)

    def _rescued(self, values: Sequence[torch.Tensor], error: Exception) -> Sequence[torch.Tensor]:
        """The answer of the nodes after the engine has failed."""
        found = self.reference.guarded(*values)
        self._say(values, error)
        return found

    def _is_between(self, sizes: Sizes) -> bool:
        """Whether the engine is right at new sizes because it is at those around them, which is noted."""
        if self.region.guarded is not None:
            return False
        agreed = self._agree() if self._agreed is None else self._agreed
        if sizes not in self._alike:
            for boxes in agreed:
                if boxes.hold(sizes):
                    break
            else:
                return False
        self._note(sizes, True)
        return True

    def _agree(self) -> list[SizeBoxes]:
        """Finds the boxes that count, which takes longer than to ask them: not at the first call of a new size."""
        self._agreed = [boxes.agreed(self._alike) for boxes in self._boxes]
        return self._agreed

    def _note(self, sizes: Sizes, agrees: bool) -> None:
        if len(self._agrees) >= MOST_SIZES:
            self._agrees.clear()
        self._agrees[sizes] = agrees

    def _say(self, values: Sequence[Any], error: Exception) -> None:
        """Warns that the flat function answers for the engine."""
        text = " ".join(str(error).split())[:200]
        if isinstance(error, LeftToTorch):
            self._warn("does not answer", values, f"which are left to the flat function: {text}")
        else:
            self._warn("fails", values, f"which the flat function runs instead: {type(error).__name__}: {text}")

    def _compared(self, values: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
        """The answer of the engine if it is like that of the nodes, else theirs; for the calls to come it is noted.

        The nodes run first: where sizes do not fit, they raise, and some runtimes read and write beyond their memory.
        """
        wanted = self.reference.guarded(*values)
        try:
            found = (self._open or self.open())(*values)
        except Exception as error:
            self._say(values, error)
            return wanted
        agrees = self.judge(values, found, wanted)
        if agrees is False:
            self._warn("answers otherwise than the flat function", values, "which runs these sizes from now on")
        return wanted if agrees is False or has_nan(wanted) else found

    def judge(
        self, values: Sequence[torch.Tensor], found: Sequence[torch.Tensor], wanted: Sequence[torch.Tensor]
    ) -> bool | None:
        """Whether the answer of the engine is like that of the nodes, which is noted; None where that says nothing."""
        if has_nan(wanted):
            return None  # runtimes differ in what they make of a NaN
        agrees = all(is_alike(theirs, mine, self._within) for mine, theirs in zip(found, wanted, strict=True))
        if agrees and not any(map(tells, wanted)):
            return None
        sizes = tuple(value.shape for value in values)
        self._note(sizes, agrees)
        if agrees and len(self._alike) < MOST_SIZES:
            self._alike.add(sizes)
            self._agree()
        return agrees

    def described(self) -> Artefact:
        """The artefact with the sizes at which the engine agrees."""
        sizes = [list(map(list, sizes)) for sizes in sorted(self._alike)]
        return replace(self.artefact, description={**self.artefact.description, SIZES: sizes})

    def _warn(self, what: str, values: Sequence[torch.Tensor], then: str) -> None:
        if not self.warned:
            self.warned = True
            sizes = ", ".join(str(list(value.shape)) for value in values)
            warnings.warn(
                shown(f"the engine {self.label!r} {what} on {self.region.name} with inputs of {sizes}, {then}"),
                stacklevel=user_stacklevel(),
            )


def _compared_sizes(artefact: Artefact, engine: Engine) -> list[Sizes]:
    """The sizes at which an artefact was compared, with the package that is installed; none where another one did."""
    sizes = artefact.description.get(SIZES, ())
    if not sizes or artefact.package != engine.version():
        return []
    try:
        return [tuple(map(torch.Size, each)) for each in sizes]
    except TypeError:  # malformed: they are compared anew
        return []


def _has_free_sizes(region: Region) -> bool:
    kinds = [value.type for value in region.graph.inputs]
    return any(not isinstance(size, int) for kind in kinds if isinstance(kind, TensorType) for size in kind.shape)


def _is_empty(region: Region) -> bool:
    """Whether an input has a fixed size of zero: runtimes are not made for empty tensors, and some end the process."""
    kinds = [value.type for value in region.graph.inputs]
    return any(size == 0 and isinstance(size, int) for kind in kinds for size in getattr(kind, "shape", ()))
