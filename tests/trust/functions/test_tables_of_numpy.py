"""Arrays of the function's own that are asked by an array of places: colours of classes, rows of the identity."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from tests.trust.trials import refused, trial

COLOURS = np.array([[0, 0, 0], [255, 0, 0], [0, 255, 0]], np.uint8)
SCALES = np.array([1.5, 2.5, 3.5])
PLACES = np.array([0, 2, 1, 1])
OTHERS = [(np.array([], np.int64),), (np.array([-1, 0]),), (np.array([[0, 1], [2, 2]]),), (np.arange(6)[::-2] // 2,)]


def made(places: Any) -> Any:
    table = np.array([1.0, 2.0, 3.0])
    table[0] = 9
    return table[places], table


def written(places: Any) -> Any:
    found = SCALES[places]
    found += 1
    return found, SCALES


@pytest.mark.parametrize(
    "process",
    [
        lambda places: COLOURS[places],
        lambda places: SCALES[places % 3].sum() + SCALES[0],
        lambda places: np.eye(3, dtype=np.float32)[places],
        lambda places: SCALES[places] > 2,
        made,
        written,
    ],
)
def test_an_array_is_asked_by_places(process: Any) -> None:
    assert trial(lambda: process, PLACES, others=OTHERS) == "right"


def test_the_colours_of_the_best_classes() -> None:
    def process(scores: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy(COLOURS[scores.argmax(-1).numpy()])

    assert trial(lambda: process, torch.rand(2, 4, 3), others=[(torch.rand(1, 5, 3),)]) == "right"


def test_a_write_into_an_array_of_the_functions_own_is_refused() -> None:
    def process(places: Any) -> Any:
        SCALES[places] += 1
        return SCALES[places]

    refused(trial(lambda: process, PLACES), "cannot leave the graph", "SCALES[places] += 1")
