"""A candidate: an engine on a region, made, looked at on the inputs that the region gets, and timed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import torch

from ...ops.engines.checks.left_to_torch import LeftToTorch
from ...ops.engines.engine import Declined, Engine, Task, lowers
from ...ops.engines.region import Region
from ...ops.engines.rescue import Engaged, Reference
from ...ops.graph.device import CPU, Device
from ...ops.graph.errors import MissingExtraError
from ...ops.graph.traverse import constants
from ...ops.runtime.engine_call import EngineCall
from ...ops.runtime.placement import settle
from ..comparing.contest import interleaved
from .engaging import SEVERAL
from .trial import Bench, Differences

MOST_BYTES = 512 << 20  # of inputs of a region that are kept
NO_FASTER = "it is no faster"
BESIDE = 4  # inputs that are timed of a region that no example reaches, as the side of a choice that none takes
LONG = 0.1  # seconds of a run, from which on an engine is timed before it is compared at all sizes


@dataclass(frozen=True)
class Observed:
    """A region with the inputs that it gets in the cases.

    Attributes:
        region: the region.
        reference: its flat function.
        inputs: the inputs, those of the user's examples first.
        answers: what the flat function gives for each of them.
        given: how many of them are of the user's examples.
        corners: how many of them, the last ones, are at corners of sizes, where an engine need not answer.
        fault: why no engine may run it; empty where one may.
    """

    region: Region
    reference: Reference
    inputs: Sequence[Sequence[torch.Tensor]]
    answers: Sequence[Sequence[torch.Tensor]]
    given: int
    corners: int
    fault: str

    @cached_property
    def task(self) -> Task:
        """The task for engines: first an example in which free sizes differ and are at least 2."""
        near = [[value.cpu() for value in values] for values in self.inputs]
        return Task(self.region, sorted(near, key=self._unsuited), torch.get_num_threads(), near[: self.given])

    def _unsuited(self, values: Sequence[torch.Tensor]) -> tuple[int, int, int, int]:
        kinds: list[Any] = [value.type for value in self.region.graph.inputs]
        found = [
            (size, kind.shape[dim], first.shape[dim])
            for value, kind, first in zip(values, kinds, self.inputs[0], strict=True)
            for dim, size in enumerate(value.shape)
            if not isinstance(kind.shape[dim], int)
        ]
        small = sum(size < 2 for size, *_ in found)
        alike = len({name for _, name, _ in found}) - len({size for size, *_ in found})
        less = sum(size < first for size, _, first in found)  # where a computed size may be 1, which an export fixes
        return small, max(0, alike), less, sum(value.numel() for value in values)


def observe(stage: Bench, region: Region) -> Observed:
    """Runs the cases with the flat function, and keeps what the region gets."""
    reference = Reference(region, stage.device or CPU)
    kept: list[Sequence[torch.Tensor]] = []
    room = MOST_BYTES

    def spy(*values: torch.Tensor) -> Sequence[torch.Tensor]:
        nonlocal room
        room -= sum(value.nbytes for value in values)
        if room > 0:
            kept.append([value.detach().clone(memory_format=torch.preserve_format) for value in values])
        return reference(*values)

    runner = stage.runner({region.key(stage.program.graph): _call(region, spy)})
    given = inner = 0
    for number, case in enumerate((*stage.cases, *stage.corners)):
        if runner.stateful:
            runner.state().reset()
        runner.run(case.feed(stage.program))
        given = len(kept) if case.given else given
        inner = len(kept) if number < len(stage.cases) else inner
    answers: list[Sequence[torch.Tensor]] = []
    fault = SEVERAL if stage.device is None else "" if kept else "it does not run on the examples"
    for values in kept:
        if fault:
            break
        drawn = torch.get_rng_state()
        answers.append(reference(*values))
        fault = _fault(region, drawn, values, answers[-1])
    return Observed(region, reference, kept, answers, given, len(kept) - inner, fault)


def _call(region: Region, function: Callable[..., Any]) -> EngineCall:
    return EngineCall(function, region.graph.inputs, region.graph.output, region.count, region.kept, region.checks)


def _fault(region: Region, drawn: torch.Tensor, values: Sequence[torch.Tensor], outputs: Sequence[torch.Tensor]) -> str:
    """Why an engine could not answer as the region does: chance, or memory that is shared, or strides.

    Args:
        region: the region.
        drawn: the state of chance before it ran.
        values: its inputs.
        outputs: what its flat function gave.
    """
    if not torch.equal(drawn, torch.get_rng_state()):
        return "it draws random numbers"
    weights = {_storage(constant.tensor) for constant in constants(region.graph)}
    taken = {_storage(value) for value in values} | weights
    for output in outputs:
        if output.numel() and _storage(output) in taken:
            return "an output shares memory with an input, a weight or another output"
        taken.add(_storage(output))
        if not output.is_contiguous() and not _made_contiguous(region):
            return "an output is not contiguous"
    return ""


def _made_contiguous(region: Region) -> bool:
    """Whether the caller of an op makes its outputs contiguous."""
    return region.body is not None and region.body.contiguous


def _storage(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr() if tensor.numel() else id(tensor)


@dataclass(frozen=True)
class Match:
    """An engine that answers as a region does.

    Attributes:
        engaged: the engine on the region.
        before: seconds of the flat function on the user's examples.
        after: seconds of the engine.
        differences: of the outputs of the pipeline.
    """

    engaged: Engaged
    before: float
    after: float
    differences: Differences


def try_engine(stage: Bench, seen: Observed, engine: Engine, seconds: float, way: str = "") -> Match | str:
    """Makes a candidate, in a way of the engine's where one is named; or says why the engine cannot run it."""
    device = seen.reference.device
    if device.kind not in engine.devices:
        return f"it does not run on {device}"
    try:
        artefact = engine.make(replace(seen.task, way=way))
        allowed = (stage.lower if lowers(way) else stage.terms).engines
        engaged = Engaged(engine, artefact, seen.region, seen.reference, allowed)
        run = engaged.open()
        inner = len(seen.inputs) - seen.corners
        full = _full(seen.inputs[:inner], seen.answers[:inner])
        timed = seen.given or min(inner, BESIDE)
        given = [values for values in seen.inputs[:timed] if all(value.numel() for value in values)]
        fault, answered = _unlike(run, engaged, full[: len(given)])
        if fault:
            return fault
        if given and not answered:
            return "it leaves the examples to the flat function, which hold a NaN, or numbers that are out of range"
        engaged.settle()
        with torch.no_grad():
            before, after = interleaved([_over(each, answered, device) for each in (seen.reference, run)], seconds)
        if before > LONG and after >= before and not lowers(way):
            return f"{NO_FASTER}: {after:.2g} s, before {before:.2g} s"
        fault, _ = _unlike(run, engaged, full[len(given) :])
    except (Declined, MissingExtraError) as error:
        return str(error)
    if fault:
        return fault
    differences = stage.verdict([engaged])
    if differences.fault:
        return differences.fault
    if not lowers(way):  # which is held to the examples alone
        for case in _full(seen.inputs[inner:], seen.answers[inner:]):
            _unlike(run, engaged, [case])
    return Match(engaged, before, after, differences)


def _full(
    inputs: Sequence[Sequence[torch.Tensor]], answers: Sequence[Sequence[torch.Tensor]]
) -> list[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]]:
    """The inputs that are not empty, with their answers."""
    return [pair for pair in zip(inputs, answers, strict=True) if all(value.numel() for value in pair[0])]


def _unlike(
    run: Callable[..., Any],
    engaged: Engaged,
    cases: Sequence[tuple[Sequence[torch.Tensor], Sequence[torch.Tensor]]],
) -> tuple[str, list[Sequence[torch.Tensor]]]:
    """How the outputs of an engine differ in kind from those of the flat function, in any of some cases.

    Besides, the inputs of the cases that it answers: others it leaves to the flat function, as it will in a pipeline.
    """
    answered: list[Sequence[torch.Tensor]] = []
    for values, wanted in cases:
        try:
            if fault := _differs(run, engaged, values, wanted):
                return fault, answered
        except LeftToTorch:
            continue
        answered.append(values)
    return "", answered


def _differs(
    run: Callable[..., Any], engaged: Engaged, values: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]
) -> str:
    """How the outputs of an engine differ in kind from those of the flat function; sizes where they agree are noted.

    Their numbers are compared later, in the outputs of the pipeline.

    Raises:
        LeftToTorch: the engine leaves the inputs to the flat function.
    """
    try:
        with torch.no_grad():
            found = run(*values)
    except LeftToTorch:
        raise
    except Exception as error:
        sizes = ", ".join(str(list(value.shape)) for value in values)
        return f"it fails at sizes {sizes}: {type(error).__name__}: {' '.join(str(error).split())[:120]}"
    taken = {_storage(value) for value in values}
    for mine, wanted in zip(found, expected, strict=True):
        if mine.numel() and _storage(mine) in taken:
            return "it gives memory that it was given, or gives it twice"
        taken.add(_storage(mine))
        if (mine.dtype, mine.shape) != (wanted.dtype, wanted.shape):
            return f"it gives {mine.dtype} {list(mine.shape)} for {wanted.dtype} {list(wanted.shape)}"
        if not mine.is_contiguous():
            return f"it gives {mine.dtype} {list(mine.shape)} with the strides {mine.stride()}"
    engaged.judge(values, found, expected)
    return ""


def _over(function: Callable[..., Any], inputs: Sequence[Sequence[torch.Tensor]], device: Device) -> Callable[[], None]:
    def run() -> None:
        for values in inputs:
            function(*values)
        settle(device)

    return run


def renamed(regions: Sequence[Region]) -> list[Region]:
    """The regions with a number after names that were taken."""
    taken: dict[str, int] = {}
    found = []
    for region in regions:
        taken[region.name] = taken.get(region.name, 0) + 1
        count = taken[region.name]
        found.append(region if count == 1 else replace(region, name=f"{region.name}#{count}"))
    return found
