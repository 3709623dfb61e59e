"""Functions of numpy and torch that make an array of a size alone, by their formulas: windows, frequencies, diagonals.

Numpy computes most of them in Python code which asks for the size, and that would fix it. The formulas are those of the
documentation of numpy and torch, in the order in which their code computes, so that results have the same bits.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np
import torch

from ....proxies.base import is_traced
from ...hooks import active

Made = Callable[..., Any]


def _around(size: Any) -> tuple[Any, Any]:
    """The places of a window, around 0, and how far they reach; of one place that is 0, and so 1 is given for it."""
    return np.arange(1 - size, size, 2).astype(np.float64), np.maximum(size - 1, 1)


def hanning(M: Any) -> Any:
    """Stands for `numpy.hanning`."""
    places, last = _around(M)
    return 0.5 + 0.5 * np.cos(np.pi * places / last)


def hamming(M: Any) -> Any:
    """Stands for `numpy.hamming`."""
    places, last = _around(M)
    return 0.54 + 0.46 * np.cos(np.pi * places / last)


def blackman(M: Any) -> Any:
    """Stands for `numpy.blackman`."""
    places, last = _around(M)
    found = 0.42 + 0.5 * np.cos(np.pi * places / last) + 0.08 * np.cos(2.0 * np.pi * places / last)
    return np.where(0 * places + M == 1, 1.0, found)  # the sum for one place is a little less than 1


def bartlett(M: Any) -> Any:
    """Stands for `numpy.bartlett`."""
    places, last = _around(M)
    return np.where(places <= 0, 1 + places / last, 1 - places / last)


def eye(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    """Stands for `numpy.eye`."""
    return (np.arange(N)[:, None] + k == np.arange(N if M is None else M)).astype(dtype)


def identity(n: Any, dtype: Any = float) -> Any:
    """Stands for `numpy.identity`."""
    return eye(n, dtype=dtype)


def tri(N: Any, M: Any = None, k: Any = 0, dtype: Any = float) -> Any:
    """Stands for `numpy.tri`."""
    return (np.arange(N)[:, None] + k >= np.arange(N if M is None else M)).astype(dtype)


def rfftfreq(n: Any, d: Any = 1.0) -> Any:
    """Stands for `numpy.fft.rfftfreq`."""
    return np.arange(0, n // 2 + 1) * (1.0 / (n * d))


def fftfreq(n: Any, d: Any = 1.0) -> Any:
    """Stands for `numpy.fft.fftfreq`."""
    return np.concatenate([np.arange(0, (n - 1) // 2 + 1), np.arange(-(n // 2), 0)]) * (1.0 / (n * d))


def torch_rfftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Stands for `torch.fft.rfftfreq`."""
    return torch.arange(n // 2 + 1, dtype=dtype or torch.get_default_dtype(), device=device) * (1.0 / (n * d))


def torch_fftfreq(n: Any, d: Any = 1.0, *, dtype: Any = None, device: Any = None) -> Any:
    """Stands for `torch.fft.fftfreq`."""
    kinds: dict[str, Any] = {"dtype": dtype or torch.get_default_dtype(), "device": device}
    places = torch.cat([torch.arange((n + 1) // 2, **kinds), torch.arange(-(n // 2), 0, **kinds)])
    return places * (1.0 / (n * d))


def _by_formula(formula: Made, plain: Made) -> Made:
    @wraps(plain)
    def made(*args: Any, **named: Any) -> Any:
        sized = active() is not None and any(map(is_traced, (*args, *named.values())))
        return formula(*args, **named) if sized and not named.keys() & _OTHERS else plain(*args, **named)

    return made


_OTHERS = {"order", "like", "out", "layout", "pin_memory", "requires_grad"}  # arguments that the formulas have not


def _hook(owner: Any, name: str, formula: Made) -> tuple[Any, str, Callable[[Made], Made]]:
    return owner, name, lambda plain: _by_formula(formula, plain)


SIZED_ARRAYS = [
    *(_hook(np, each.__name__, each) for each in (hanning, hamming, blackman, bartlett, eye, identity, tri)),
    *(_hook(np.fft, each.__name__, each) for each in (rfftfreq, fftfreq)),
    _hook(torch.fft, "rfftfreq", torch_rfftfreq),
    _hook(torch.fft, "fftfreq", torch_fftfreq),
]
"""The functions, each with its module, its name, and what makes a stand-in of it."""
