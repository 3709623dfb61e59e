"""Engines that only tests have, and measurements that do not hang on the machine."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from tests.engines.fakes import Interrupting, Mirror, Refusing, in_turn
from tracepack.ops.engines import catalogue


@pytest.fixture(scope="module", autouse=True)
def _one_thread() -> Iterator[None]:
    """With several threads a search tries more ways than tests expect."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture
def mirror(monkeypatch: pytest.MonkeyPatch) -> type[Mirror]:
    """The engine `mirror`, which every measurement finds faster than the flat function."""
    monkeypatch.setattr(catalogue, "_offers", dict(catalogue._offers))
    for each in (Mirror, Refusing, Interrupting):
        catalogue.register(each.name, lambda each=each: each)
    for measure in ("candidate.interleaved", "search.contest"):
        monkeypatch.setattr(f"tracepack.pipeline.optimizing.{measure}", in_turn)
    monkeypatch.setattr(Mirror, "calls", [])
    return Mirror
