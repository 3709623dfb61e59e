"""The options of `run`, `verify` and `bench` for loading an archive."""

from __future__ import annotations

import importlib.util
import re
import sys
from dataclasses import dataclass
from typing import Any

from ..ops.graph.errors import MissingExtraError
from ..pipeline.load import load
from ..pipeline.pipeline import Pipeline
from ..serialization.container.signatures import public_key
from .exit_codes import keys_of


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
        """The pipeline, on the device; a number may be given as text.

        Raises:
            UsageError: a key cannot be read; MissingExtraError: a package is not installed; others as `load`.
        """
        device: Any = self.device
        if device is not None and re.fullmatch("-?[0-9]{1,9}", device):
            device = int(device)
        for name in self.packages:
            _check_installed(name.partition(".")[0])
        return load(
            path, device, trust=self.trust, gpu_ops=self.gpu_ops, cpu_ops=self.cpu_ops, signed_by=self.keys(),
            packages=self.packages,
        )  # fmt: skip

    def keys(self) -> list[Any] | None:
        """The public keys by one of which a file must be signed; None where no signature is asked for.

        Raises:
            UsageError: one cannot be read.
        """
        return keys_of(public_key, self.signed_by) or None


def _check_installed(package: str) -> None:
    if package not in sys.modules and importlib.util.find_spec(package) is None:
        raise MissingExtraError("the package is not installed", where=f"--packages {package}")
