"""The engine `tensorrt`: a region as an ONNX model, which ONNX Runtime hands to TensorRT where that can run it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import ClassVar

from .onnxruntime import OnnxRuntime


class TensorRt(OnnxRuntime):
    """TensorRT on a CUDA card, by ONNX Runtime's provider; the rest of a model runs by CUDA's."""

    name: ClassVar[str] = "tensorrt"
    devices: ClassVar[Sequence[str]] = ("cuda",)
    provider: ClassVar[str] = "TensorrtExecutionProvider"
    cores: ClassVar[Sequence[str]] = ()
    ways: ClassVar[Mapping[str, Sequence[str]]] = {}
