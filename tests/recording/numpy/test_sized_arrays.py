"""Arrays and tensors that are made of a size alone: windows, frequencies, diagonals, of any size and bit by bit."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import tracepack

MADE: dict[str, Callable[[int], Any]] = {
    "hanning": lambda n: np.hanning(n),
    "hamming": lambda n: np.hamming(n),
    "blackman": lambda n: np.blackman(n),
    "bartlett": lambda n: np.bartlett(n),
    "eye": lambda n: np.eye(n),
    "a diagonal above": lambda n: np.eye(n, n + 2, k=1, dtype=np.int32),
    "a diagonal below": lambda n: np.eye(3, n, -1, bool),
    "identity": lambda n: np.identity(n, np.float32),
    "tri": lambda n: np.tri(n, 4, k=-1),
    "logspace": lambda n: np.logspace(0, 1, n),
    "rfftfreq": lambda n: np.fft.rfftfreq(n + 1, 1 / 16000),
    "fftfreq": lambda n: np.fft.fftfreq(n + 1, d=0.3),
    "rfftfreq of torch": lambda n: torch.fft.rfftfreq(n + 1, 0.1),
    "fftfreq of torch": lambda n: torch.fft.fftfreq(n + 1),
    "fftfreq of torch in float64": lambda n: torch.fft.fftfreq(n + 1, d=0.3, dtype=torch.float64),
}


def _same(one: Any, other: Any) -> bool:
    a, b = np.asarray(one), np.asarray(other)
    alike = type(one) is type(other) and (a.dtype, a.shape, a.strides) == (b.dtype, b.shape, b.strides)
    return alike and a.tobytes() == b.tobytes()


@pytest.mark.parametrize("name", MADE)
def test_it_is_made_of_any_size(name: str) -> None:
    make = MADE[name]
    of_size = tracepack.trace(lambda x: make(x.shape[0]), torch.rand(4))
    of_number = tracepack.trace(lambda n: make(n), 4)
    for size in (0, 1, 2, 3, 7, 8, 33):
        assert _same(of_size(torch.rand(size)), make(size)), size
        assert _same(of_number(size), make(size)), size


def test_the_strongest_frequency_is_found() -> None:
    def peak(x: torch.Tensor) -> float:
        return torch.fft.rfftfreq(len(x), 1 / 16000)[torch.fft.rfft(x).abs().argmax()].item()

    module = tracepack.trace(peak, torch.rand(64))
    wave = torch.sin(2 * torch.pi * 440 * torch.arange(1600) / 16000)
    assert module(wave) == peak(wave) == 440


def test_constants_are_made_as_before() -> None:
    module = tracepack.trace(lambda x: x * np.hanning(4), np.ones(4))
    assert np.array_equal(module(np.full(4, 2.0)), 2 * np.hanning(4))
