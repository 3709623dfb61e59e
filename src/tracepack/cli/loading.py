"""The options of `run`, `verify` and `bench` for loading an archive."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..pipeline.load import load
from ..pipeline.pipeline import Pipeline


@dataclass(frozen=True)
class Loading:
    """The options for loading an archive."""

    device: str | None = None
    trust: bool = False
    gpu_ops: str = "gpu"
    cpu_ops: str = "cpu"
    signed_by: tuple[str, ...] = ()
    packages: tuple[str, ...] = ()

    def load(self, path: str) -> Pipeline:
        """The pipeline, on the device; a number may be given as text."""
        device: Any = self.device
        if device is not None and device.lstrip("-").isdigit():
            device = int(device)
        keys = list(self.signed_by) or None
        return load(
            path, device, trust=self.trust, gpu_ops=self.gpu_ops, cpu_ops=self.cpu_ops, signed_by=keys,
            packages=self.packages,
        )  # fmt: skip
