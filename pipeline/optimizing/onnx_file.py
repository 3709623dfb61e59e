"""A whole pipeline as an ONNX file, for runtimes other than tracepack; it is held against ONNX Runtime before.

The file has the inputs and outputs of the signature, by name, with its free sizes by their letters. What ONNX cannot
say is named with the line of the function that asks for it.
"""

from __future__ import annotations

import os
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import torch

from ...ops.engines.checks.left_to_torch import Unfit
from ...ops.engines.checks.number_checks import LEFT_OUT, rounds_to_half
from ...ops.engines.engine import Declined
from ...ops.engines.exporting.onnx_export import Checking, onnx_model
from ...ops.engines.region import Barrier, Region, whole
from ...ops.graph.errors import GraphError, LoweringError, TracepackError
from ...ops.graph.graph import Value
from ...ops.graph.program import Program
from ...ops.graph.types import TensorType
from ...ops.kernels.registry import kernel_class
from ...ops.lowering.patches.silence import Silence
from ...ops.runtime.interrupts.unheard import Unheard
from ...ops.runtime.node_errors import explain
from ...ops.runtime.user_code import user_stacklevel
from ...serialization.container.replacing import replacing
from ..comparing.precision import TOLERANCES, output_names, precision
from ..running.runner import Runner
from ..signature.feeds import plain_name
from .candidate import Observed, observe
from .cases import Case
from .hard_values import HardValues, hard_values
from .trial import Bench

if TYPE_CHECKING:
    from ...ops.onnx.session import Session

SECONDS = 10.0  # for inputs with numbers that the examples do not hold
_OTHER_WAY = "Leave it out of the file, or write it with other functions."
_BOUNDS = "Say in the function which numbers may come, as x.clamp(-10, 10) does, or leave it out of the file."
_FINITE = "Give the model finite numbers, and a row at least."


def write_onnx(bench: Bench, path: str | os.PathLike[str]) -> None:
    """Exports a pipeline, checks the model on all cases, and writes it.

    Raises:
        LoweringError: ONNX cannot express it, or the model answers otherwise.
        MissingExtraError: a package of the extra `onnx` is not installed.
        ArchiveError: the file cannot be written.
    """
    program = bench.program
    where = f"pipeline {program.name!r}"
    region = _region(program, where)
    seen = observe(bench, region)
    names = dict(zip(map(id, program.graph.inputs), program.parameters.names, strict=True))
    inputs = [plain_name(names[id(value)]) for value in region.graph.inputs]
    outputs = list(_output_names(program, region))
    kernel_class("onnx")  # imports ONNX Runtime, or names the extra
    try:
        model = onnx_model(seen.task, inputs=inputs, outputs=outputs, whole=True, checking=False)
    except Declined as error:
        raise LoweringError("it cannot be expressed in ONNX", where=where, got=error) from error
    _refuse_otherwise(seen, where)
    _check_hard_values(_check(model.data, seen, outputs, where), bench, region, outputs, where)
    with replacing(path) as file:
        file.write(model.data)


def _region(program: Program, where: str) -> Region:
    found = whole(program.graph)
    if isinstance(found, Barrier):
        place = f"{where}, {found.node.line}" if found.node.line else where
        raise LoweringError(f"ONNX has no such operation: {found}", where=place)
    if isinstance(found, str):
        raise LoweringError("it cannot be expressed in ONNX", where=where, got=found)
    for name, leaf in output_names(program.graph.output):
        if not (isinstance(leaf, Value) and isinstance(leaf.type, TensorType)):
            raise LoweringError("an ONNX model gives tensors only", where=f"{where}, {name}", got=_kind(leaf))
    return found


def _kind(leaf: Any) -> str:
    return str(leaf.type) if isinstance(leaf, Value) else type(leaf).__name__


def _output_names(program: Program, region: Region) -> Iterator[str]:
    """The names of the outputs: those of a dict by its keys, others as ``out``, ``out.0``."""
    found: dict[int, str] = {}
    for name, leaf in output_names(program.graph.output):
        plain = plain_name(name)
        found.setdefault(id(leaf), plain.removeprefix("out.") if isinstance(program.graph.output, dict) else plain)
    for value in region.graph.output:
        yield found[id(value)]


def _refuse_otherwise(seen: Observed, where: str) -> None:
    """Refuses what other runtimes compute otherwise, which an engine leaves to torch.

    Raises:
        LoweringError: the pipeline has it; the message names its line.
    """
    if rounds_to_half(seen.region.graph):
        raise LoweringError("a runtime answers otherwise", where=where, got=LEFT_OUT)
    module = Checking(seen.task)
    try:
        with Silence(), torch.no_grad():
            module(*seen.task.examples[0])
    except Unfit as error:
        found = explain(error, module.function)
        place = f"{where}, {found.where}" if isinstance(found, TracepackError) and found.where else where
        raise LoweringError("a runtime answers otherwise", where=place, got=str(error), fix=_OTHER_WAY) from error


def _check(model: bytes, seen: Observed, outputs: Sequence[str], where: str) -> Session:
    """Runs the model in ONNX Runtime on every case."""
    from ...ops.onnx.session import Session

    session = Session(model, "cpu", where)
    for values in seen.inputs:
        if any(0 in value.shape for value in values):
            continue
        found = session(*[value.contiguous() for value in values])
        for name, mine, wanted in zip(outputs, found, seen.reference(*values), strict=True):
            reason = _differs(mine, wanted)
            if reason:
                raise LoweringError("the ONNX model answers otherwise", where=f"{where}, output {name!r}", got=reason)
    return session


def _check_hard_values(session: Session, bench: Bench, region: Region, outputs: Sequence[str], where: str) -> None:
    """Runs the model on inputs with numbers that the examples do not hold.

    Raises:
        LoweringError: it answers otherwise at some that are finite.
    """
    runner, until, told = bench.runner({}), time.perf_counter() + SECONDS, set[str]()
    for hard in hard_values(bench.program, bench.cases[0].leaves):
        if time.perf_counter() > until:
            return
        with Unheard():
            reason = _tried(hard, runner, session, bench, region, outputs)
        if reason and not hard.missing:
            said = f"the ONNX model answers otherwise for {hard.said}"
            raise LoweringError(said, where=where, got=reason, fix=_BOUNDS)
        if reason and hard.said not in told:
            told.add(hard.said)
            text = f"{where}: the ONNX model answers otherwise for {hard.said}: {reason}. {_FINITE}"
            warnings.warn(text, stacklevel=user_stacklevel())


def _tried(
    hard: HardValues, runner: Runner, session: Session, bench: Bench, region: Region, outputs: Sequence[str]
) -> str:  # fmt: skip
    """How the model answers otherwise; empty where it does not, and where the pipeline refuses the inputs."""
    case = Case(hard.leaves, None, False)
    try:
        runner.run(case.feed(bench.program))
    except Exception:  # an index that is out of range, for example
        return ""
    seen = observe(replace(bench, cases=[case], corners=[]), region)
    reasons = (_hard_difference(session, values, seen.reference(*values), outputs) for values in seen.inputs)
    return next(filter(None, reasons), "")


def _hard_difference(session: Session, values: Sequence[Any], answers: Sequence[Any], outputs: Sequence[str]) -> str:
    """Which output differs, and the numbers of it and of the input that show it; empty where none does."""
    try:
        found = session(*[value.contiguous() for value in values])
    except GraphError:  # an error is no wrong answer
        return ""
    for name, mine, wanted in zip(outputs, found, answers, strict=True):
        if not _differs(mine, wanted, hard=True):
            continue
        if mine.shape != wanted.shape:
            return f"output {name!r} has the shape {list(mine.shape)}, expected {list(wanted.shape)}"
        wrong = (_close(mine, wanted) if wanted.is_floating_point() else mine == wanted).logical_not()
        place = tuple(wrong.nonzero()[0].tolist())
        return (
            f"output {name!r} is {mine[place].item()}, expected {wanted[place].item()}{_shown(values, wanted, place)}"
        )
    return ""


def _differs(mine: Any, wanted: torch.Tensor, hard: bool = False) -> str:
    """How an output differs beyond rounding, which of hard values is in proportion to the largest number."""
    if not isinstance(mine, torch.Tensor) or mine.dtype != wanted.dtype or mine.shape != wanted.shape:
        return f"{getattr(mine, 'dtype', type(mine))} {list(getattr(mine, 'shape', []))}"
    if not wanted.is_floating_point():
        return "" if mine.equal(wanted) else "other integers"
    if bool(_close(mine, wanted, hard).all()):
        return ""
    return f"a difference of {float((mine.double() - wanted.double()).abs().max()):.3g}, allowed {_allowed(wanted):g}"


def _allowed(wanted: torch.Tensor) -> float:
    return TOLERANCES.get(precision(str(wanted.dtype).removeprefix("torch.")), 0.0)


def _close(mine: torch.Tensor, wanted: torch.Tensor, hard: bool = True) -> torch.Tensor:
    """Where an output is right but for rounding."""
    allowed = _allowed(wanted)
    numbers = wanted.double().abs().nan_to_num(0, 0, 0)
    scale = max(1.0, float(numbers.max())) if hard and numbers.numel() else 1.0
    return torch.isclose(mine.double(), wanted.double(), rtol=allowed, atol=allowed * scale, equal_nan=True)


def _shown(values: Sequence[torch.Tensor], wanted: torch.Tensor, place: tuple[int, ...]) -> str:
    """The number of the input at the place of an output, or the beginning of its row."""
    for value in values:
        if value.shape == wanted.shape:
            return f", for an input with {value[place].item()}"
        if place and value.dim() and value.shape[0] == wanted.shape[0]:
            return f", for a row with {value[place[0]].flatten()[:4].tolist()}"
    return ""
