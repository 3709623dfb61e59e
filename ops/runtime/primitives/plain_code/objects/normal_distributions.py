"""Quantiles and normal distributions of `statistics` in a block of plain Python: of no more samples than may be."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

from ..gone_through import bounded_items, require_few


def quantiles(data: Any, *, n: Any = 4, method: Any = "exclusive") -> list[Any]:
    """``statistics.quantiles``."""
    return statistics.quantiles(bounded_items(data), n=_few(n), method=method)


def _few(count: Any) -> Any:
    if isinstance(count, int) and count > 0:
        require_few(range(count))
    return count


def from_samples(data: Any) -> NormalDist:
    """``NormalDist.from_samples``."""
    return NormalDist.from_samples(bounded_items(data))


def _quantiles_of(distribution: NormalDist) -> Callable[..., list[float]]:
    return lambda n=4: distribution.quantiles(_few(n))


METHODS: Mapping[tuple[type, str], Callable[[Any], Any]] = {(NormalDist, "quantiles"): _quantiles_of}
"""What methods go to that are not Python's own."""
CLASS_METHODS: Mapping[tuple[type, str], Callable[..., Any]] = {(NormalDist, "from_samples"): from_samples}
"""The same of methods of classes."""
