"""The browser and the server that the tests of the page share."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch

import tracepack
from tests.serving.page.browser import browser as real_browser
from tests.serving.servers import cell, serving

EVIL = "<img src=x onerror=alert('name')>"


def greet(name, times: int = 2):
    return {"greeting": f"<img src=x onerror=alert('output')> {name}", "times": times * 2}


@pytest.fixture(scope="module")  # while it is open, its thread has an event loop, beside which no other one may run
def chromium() -> Iterator[Any]:
    with real_browser() as found:
        yield found


@pytest.fixture(scope="session")
def models() -> dict[str, tracepack.Pipeline]:
    pixels = torch.randint(0, 256, (2, 3, 3), dtype=torch.uint8)
    convolution = tracepack.script(torch.nn.Conv2d(3, 2, 1, bias=False))
    return {
        "cell": cell(),
        "greet": tracepack.trace(greet, "Ada"),
        "flip": tracepack.trace(lambda image: image.flip(0), pixels),
        "convolution": tracepack.trace(lambda image: convolution(image), torch.rand(2, 3, 4, 5)),
        "upper": tracepack.trace(lambda texts: tracepack.map(lambda text: text.upper(), texts), ["a", "b"]),
        "next": tracepack.trace(lambda n: n + 1, 5),
        "inverse": tracepack.trace(lambda x: torch.linalg.inv(x), torch.eye(2)),
        EVIL: tracepack.trace(lambda x: x + 1, torch.ones(2)),
    }


@pytest.fixture(scope="session")
def address(models) -> Iterator[str]:
    with serving(models) as found:
        yield found
