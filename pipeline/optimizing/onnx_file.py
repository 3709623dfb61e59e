"""A whole pipeline as an ONNX file, for runtimes other than tracepack; it is held against ONNX Runtime before.

The file has the inputs and outputs of the signature, by name, with its free sizes by their letters. What ONNX cannot
say is named with the line of the function that asks for it.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import Any

import torch

from ...ops.engines.engine import Declined
from ...ops.engines.exporting.onnx_export import onnx_model
from ...ops.engines.region import Barrier, Region, whole
from ...ops.graph.errors import LoweringError
from ...ops.graph.graph import Value
from ...ops.graph.program import Program
from ...ops.graph.types import TensorType
from ...ops.kernels.registry import kernel_class
from ...serialization.container.replacing import replacing
from ..comparing.precision import TOLERANCES, output_names, precision
from ..signature.feeds import plain_name
from .candidate import Observed, observe
from .trial import Bench


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
    _check(model.data, seen, outputs, where)
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


def _check(model: bytes, seen: Observed, outputs: Sequence[str], where: str) -> None:
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


def _differs(mine: Any, wanted: torch.Tensor) -> str:
    if not isinstance(mine, torch.Tensor) or mine.dtype != wanted.dtype or mine.shape != wanted.shape:
        return f"{getattr(mine, 'dtype', type(mine))} {list(getattr(mine, 'shape', []))}"
    allowed = TOLERANCES.get(precision(str(wanted.dtype).removeprefix("torch.")), 0.0)
    if torch.allclose(mine.double(), wanted.double(), rtol=allowed, atol=allowed, equal_nan=True):
        return ""
    return f"a difference of {float((mine.double() - wanted.double()).abs().max()):.3g}, allowed {allowed:g}"
