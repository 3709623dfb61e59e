"""The options that a layer runs with: those of the call, of a cache file, of its own tuning, or the default."""

from __future__ import annotations

import warnings
from collections.abc import Sequence

import torch

from ..expr.errors import ComprehensionWarning
from ..schedule.options import Options, OptionsPair
from .cache import CacheName, TuningCache


def tuned_key(shapes: Sequence[tuple[int, ...]], device: torch.device) -> str:
    """Shapes as text, `"2x3,3x4"`, behind the kind of a device that is not the CPU."""
    text = ",".join("x".join(map(str, s)) for s in shapes)
    return text if device.type == "cpu" else f"{device.type}:{text}"


def cached_pair(
    cache: CacheName, layer: str, name: str, shapes: list[tuple[int, ...]], device: torch.device
) -> OptionsPair | None:
    """The options in a cache file for these shapes; warns of a missing file or entry.

    Args:
        cache: the name or path of the file, as given by the user.
        layer: the layer's key.
        name: of the layer.
        shapes: of its inputs.
        device: where it runs.
    """
    file = TuningCache(cache, device=device)
    forward = file.best(layer, shapes)
    if forward is None:
        if not file.said:
            threads = torch.get_num_threads()
            text = f"'{cache}' has no options for '{name}' of these sizes on {threads} threads of this machine"
            warnings.warn(text, ComprehensionWarning, stacklevel=6)
        return None
    backward = TuningCache(cache, backward=True, device=device).best(layer, shapes)
    return OptionsPair(forward, backward or Options())
