"""A region as an ONNX model whose matrix products compute in 8-bit integers, by ONNX Runtime's own tools.

Dynamic: weights are 8-bit integers, and each call finds the scale of its inputs; matrix products only. Static: the
scales are those of the user's examples, convolutions too.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import torch

from ...graph.errors import MissingExtraError
from ...graph.program import Artefact
from ...lowering.patches.silence import Silence
from ..engine import DYNAMIC, Declined, Task, cause, described
from .onnx_export import onnx_model
from .onnx_weights import MODEL


def quantized_artefact(task: Task, engine: str, package: str) -> Artefact:
    """The artefact of an engine that runs the quantised model, which holds its weights.

    Raises:
        Declined: the region cannot be exported, nothing in it is a product with a weight, or the tools fail.
        MissingExtraError: a package of the extra ``onnx`` is not installed.
    """
    try:
        import onnx
        from onnxruntime import quantization
    except ImportError as error:
        raise MissingExtraError(
            f"quantisation needs the package {error.name!r}, which is not installed",
            fix="Install it: pip install 'tracepack[onnx]'.",
        ) from error
    plain = onnx.load_from_string(onnx_model(task, whole=True).data)
    names = [value.name for value in plain.graph.input]
    with tempfile.TemporaryDirectory() as folder, Silence():
        path = Path(folder, MODEL)
        try:
            if task.way == DYNAMIC:
                quantization.quantize_dynamic(plain, path)
            else:
                whole, prepared = Path(folder, "whole.onnx"), Path(folder, "prepared.onnx")
                onnx.save(plain, whole)
                quantization.quant_pre_process(whole, prepared, skip_symbolic_shape=True)
                quantization.quantize_static(prepared, path, _reader(quantization, names, task.given), per_channel=True)
        except Exception as error:
            raise Declined(f"ONNX Runtime cannot quantise it: {cause(error)}") from error
        data = path.read_bytes()
    nodes = onnx.load_from_string(data).graph.node
    if not any("Integer" in node.op_type or "QuantizeLinear" in node.op_type for node in nodes):
        raise Declined("it has no product with a weight to quantise")
    return Artefact(engine, package, described(task), {MODEL: data}, {})


def _reader(quantization: Any, names: Sequence[str], inputs: Sequence[Sequence[torch.Tensor]]) -> Any:
    """What ONNX Runtime reads examples from."""

    class Calibration(quantization.CalibrationDataReader):  # type: ignore[misc]  # its base is known at run time only
        def __init__(self) -> None:
            self.left: Iterator[Sequence[torch.Tensor]] = iter(inputs)

        def get_next(self) -> dict[str, Any] | None:
            values = next(self.left, None)
            if values is None:
                return None
            arrays = {f"x{index}": value.detach().contiguous().numpy() for index, value in enumerate(values)}
            return {name: arrays[name] for name in names}  # an input that is not used is none of the model's

    return Calibration()
