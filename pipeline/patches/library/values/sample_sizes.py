"""The sizes of a value that `torch.distributions` takes: a broadcast, where torch's own check branches on each size."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch.distributions import Distribution

from ...hooks import Hooks, active
from ..elsewhere.set_settings import SETTINGS
from .compared_texts import COMPARISONS


class _NoSizes(tuple[int, ...]):
    """Sizes of which none is left, whatever is put behind them."""

    __slots__ = ()

    def __add__(self, other: object) -> tuple[int, ...]:
        return ()


class _SizesChecked:
    """A distribution as its check of a value sees it, where its sizes are known to fit."""

    _batch_shape = _NoSizes()

    def __init__(self, found: Distribution) -> None:
        self._found = found

    def __getattr__(self, name: str) -> Any:
        return getattr(self._found, name)


def _validated(plain: Callable[..., None]) -> Callable[..., None]:
    @wraps(plain)
    def validate_sample(self: Distribution, value: Any) -> None:
        if active() is None or not isinstance(value, torch.Tensor):
            return plain(self, value)
        events = len(self._event_shape)
        if value.dim() >= events:  # torch's own operators refuse sizes that do not fit
            sizes = (*self._batch_shape, *[1] * events)
            broadcast: Any = torch.broadcast_tensors
            value = broadcast(value, value.new_ones(()).expand(sizes))[0]
        return plain(_SizesChecked(self), value)

    return validate_sample


samples = Hooks([(Distribution, "_validate_sample", _validated), *COMPARISONS, *SETTINGS])
"""Shows to the recorders of all threads what a distribution takes, what `difflib` does, and what settings are set."""
