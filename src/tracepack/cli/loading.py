"""How a command loads its archive: the options that `run`, `verify` and `bench` share."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..pipeline.load import load
from ..pipeline.pipeline import Pipeline


@dataclass(frozen=True)
class Loading:
    """How a command loads its archive: the options that they share."""

    device: str | None = None
    trust: bool = False
    gpu_ops: str = "gpu"

    def load(self, path: str) -> Pipeline:
        """The pipeline, on the device; a number may be given as text."""
        device: Any = self.device
        if device is not None and device.lstrip("-").isdigit():
            device = int(device)
        return load(path, device, trust=self.trust, gpu_ops=self.gpu_ops)
